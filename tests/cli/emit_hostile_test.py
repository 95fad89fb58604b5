#!/usr/bin/env python3
"""No string of a result becomes a line of a script, whatever stands in it.

usage: emit_hostile_test.py DFSEARCH [TEST ...]
"""

import copy
import json
import pathlib
import random
import re
import subprocess
import tomllib

import support
from support import CliTest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PLAN = ROOT / "configs/training/qwen3_30b_16_h100.yaml"
SERVING = ROOT / "configs/serving/llama3_70b_16_h100.yaml"
STACK = "execution={stack: te, chip: h100_80gb}"
TOUCH = "/usr/bin/touch pwned"
# Pieces that end a word, a string or a comment in some language, or begin a command.
PIECES = ("\n", "\r\n", "'", '"', "`", "$(", ")", "#", "%", "\\", "\0", ";", "|", "&", " ", "\x1b[31m",
          "\u009b", "\u2028", "é", "=", "[", "]", "{", "}", "'''", '"""', ": ", "- ", "full", "fp8")


def strings_of(value, way=()):
    """The ways to all strings, of lists those of the first element alone."""
    if isinstance(value, str):
        yield way
    elif isinstance(value, dict):
        for key in value:
            yield from strings_of(value[key], (*way, key))
    elif isinstance(value, list) and value:
        yield from strings_of(value[0], (*way, 0))


def replaced(value, way, text):
    value = copy.deepcopy(value)
    inner = value
    for key in way[:-1]:
        inner = inner[key]
    inner[way[-1]] = text
    return value


class HostileResults(CliTest):
    def results(self):
        for name, words in (
                ("plan", (PLAN,)), ("stack", (PLAN, "--set", STACK)), ("pair", (SERVING,)),
                ("server", (SERVING, "--set", "serving.modes=[aggregated]")),
                ("front", (SERVING, "--set", "serving.objective=front")),
                ("fp8", (SERVING, "--set", "workload.precision={weights: [fp8, bf16]}")),
                ("mapping", (ROOT / "configs/gpt3_1t.yaml",)),
                ("execution", (ROOT / "configs/calculon_22b_h100.yaml",))):
            yield name, self.result(*words)

    def emitted(self, result, framework):
        """Of a refusal the message, else None and what was written."""
        self.write("r.json", json.dumps(result))
        done = self.run_tool("emit", "r.json", "--for", framework, "-o", "out", status=(0, 2, 3))
        if done.returncode != 0:
            self.assertRegex(done.stderr, r"^r\.json: |^r\.json:\d+:\d+: ")
            self.assertNotRegex(done.stderr, "[\0-\x09\x0b-\x1f\x7f-\x9f]")
            return done.stderr, ""
        file = self.folder / "out"
        return None, file.read_bytes().decode() if file.exists() else ""

    def check(self, text, framework):
        """The text is one of its language, and a script of it starts nothing of its own."""
        self.assertNotRegex(text, "[\0-\x09\x0b-\x1f\x7f-\x9f]")
        if framework in ("deepspeed", "inferencex"):
            json.loads(text)
        elif framework == "torchtitan":
            self.assertLessEqual(set(tomllib.loads(text)),
                                 {"training", "parallelism", "activation_checkpoint"})
        elif framework in ("dynamo", "llm-d"):
            for line in text.splitlines():
                self.assertRegex(line, r'^(#.*| *(- )?"(\\.|[^"\\])*"| *(- )?[\w./]+:'
                                 r'( ([\w./:${}-]+|"\d+"|\[python3, -m, dynamo\.\w+\]))?)$')
        elif framework != "chakra":
            self.write("script.sh", text)
            shell = ["/bin/bash", "--norc", "--noprofile"]
            self.assertEqual(subprocess.run([*shell, "-n", "script.sh"], cwd=self.folder,
                                            capture_output=True, check=False).stderr, b"")
            subprocess.run([*shell, "script.sh"], cwd=self.folder, env={"PATH": "/nowhere"},
                           capture_output=True, check=False)
            commands = [line for line in text.splitlines() if line and not line.startswith(("#", " "))]
            for line in commands:
                self.assertRegex(line, r"^(CUDA_DEVICE_MAX_CONNECTIONS=\d torchrun |vllm |python3 -m "
                                 r"sglang\.launch_server |trtllm-serve )")
        self.assertFalse((self.folder / "pwned").exists(), text)

    def test_strings_stay_strings(self):
        formats = support.printed_formats(self.program)
        draw = random.Random(5)
        emitted = 0
        for name, result in self.results():
            for way in strings_of(result):
                for framework in formats:
                    text = "".join(draw.choice(PIECES) for _ in range(draw.randrange(4)))
                    text += draw.choice(("\n", "$(", "`", ";", "'\n", '"\n')) + TOUCH
                    text += draw.choice(("\n#", ")", "`", "", "\n'", "\n\""))
                    with self.subTest(result=name, way=way, framework=framework, text=text):
                        refused, script = self.emitted(replaced(result, way, text), framework)
                        if refused is None:
                            emitted += 1
                            self.check(script, framework)
        self.assertGreater(emitted, 100)

    def test_a_word_of_a_fixed_set_is_checked_with_its_place(self):
        plan = dict(self.results())["stack"]
        for way, others in ((("plan", "recompute"),
                             "none, selective, full, op_sac, unknown, core_attn, mlp, layernorm, "
                             "moe_act, moe or mla_up_proj"),
                            (("plan", "schedule"), "1f1b, interleaved, zb_h1 or gpipe"),
                            (("plan", "layout"), "least_sent, least_kept"),
                            (("workload", "precision"), "bf16, fp16")):
            for framework in ("megatron", "torchtitan", "deepspeed"):
                with self.subTest(way=way, framework=framework):
                    text = json.dumps(replaced(plan, way, "full\ntouch pwned"), indent=1)
                    line = next(i for i, each in enumerate(text.splitlines(), 1) if "pwned" in each)
                    self.write("r.json", text)
                    said = self.run_tool("emit", "r.json", "--for", framework, status=2).stderr
                    self.assertRegex(said, rf"^r\.json:{line}:\d+: {'.'.join(way)}: expected "
                                     + re.escape(others))
                    self.assertIn(r"got 'full\ntouch pwned'", said)
        plan["plan"]["offload"] = ["weights", "\x1b"]
        self.assertRegex(self.emitted(plan, "megatron")[0],
                         r"plan\.offload\.1: expected weights, activations or optimizer, got '\\x1b'")

    def test_counts_are_checked_as_well(self):
        results = dict(self.results())
        formats = support.printed_formats(self.program)
        for name, way in (("plan", ("plan", "chunks")), ("plan", ("parallelism", "pipeline")),
                          ("plan", ("micro_batch",)), ("plan", ("network", 0, "data")),
                          ("pair", ("serving", "best", "decode", "batch")),
                          ("server", ("serving", "best", "tensor"))):
            for value in (0, -1, 1.5, 2**62, 1e300):
                for framework in formats:
                    with self.subTest(way=way, framework=framework, value=value):
                        refused, _ = self.emitted(replaced(results[name], way, value), framework)
                        self.assertIsNotNone(refused)
        # Degrees that contradict each other.
        for way in (("parallelism", "pipeline"), ("plan", "layers")):
            wrong = replaced(results["plan"], way, 4 if way[0] == "parallelism" else [1, 2, 3])
            self.assertIn("expected", self.emitted(wrong, "chakra")[0])


if __name__ == "__main__":
    support.main()
