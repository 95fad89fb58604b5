#!/usr/bin/env python3
"""`dfsearch.solve` and `evaluate` of Python against the program: forms of configs, options, events,
interrupts, errors.

usage: solve_test.py DFSEARCH, with the package in PYTHONPATH
"""

import copy
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import dfsearch

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/cli"))
from support import SMALL as SMALL_TEXT, random_graph  # noqa: E402

PROGRAM = sys.argv.pop(1)
CONFIGS = ROOT / "configs"
GRAPH = CONFIGS / "gpt3_1t.yaml"
PLAN = CONFIGS / "training/llama3_70b_2048_h100.yaml"
EXECUTION = CONFIGS / "calculon_22b_h100.yaml"
DEPLOYMENT = CONFIGS / "serving/llama3_70b_16_h100.yaml"
SPLIT = CONFIGS / "seven_nm_split.yaml"
FREE = CONFIGS / "gpt3_1t_free.yaml"
DECODE = {"workload": {"from": "gpt3_175b_prefill"}, "system": {"from": "sn10_8x1_ring"}}
HARD = random_graph()  # has an answer at once, and no proof for minutes
SMALL = {
    "workload": {
        "kind": "graph", "global_batch": 8, "sequence": 64,
        "kernels": [{"name": "Up", "kind": "weight_gemm", "M": 1024, "K": 256, "N": 64},
                    {"name": "Down", "kind": "weight_gemm", "M": 256, "K": 1024, "N": 64}],
        "tensors": [{"from": "Up", "to": "Down"}]},
    "system": {"chips": 2,
               "accelerator": {"cores": 16, "lanes": 16, "stages": 8, "frequency": "1 GHz",
                               "sram": "1 MiB"},
               "memory": {"bandwidth": "100 GB/s", "capacity": "1 GB"},
               "network": [{"topology": "ring", "degree": 2, "bandwidth": "25 GB/s",
                            "strategy": "tensor"}]}}


def program(*arguments):
    done = subprocess.run([PROGRAM, *map(str, arguments), "--quiet", "--json", "-"], text=True,
                          capture_output=True, check=False, timeout=120)
    return json.loads(done.stdout)


class Forms(unittest.TestCase):
    """A file, a path, a text, a dictionary."""

    def test_all_forms_of_a_config_have_one_answer(self):
        for forms in ((GRAPH, str(GRAPH), "gpt3_1t", GRAPH.read_text()),
                      (SMALL, json.dumps(SMALL), json.dumps(SMALL, indent=1)),
                      (DECODE, json.dumps(DECODE))):
            found = [dfsearch.solve(form) for form in forms]
            self.assertTrue(all(result.proved for result in found))
            self.assertEqual(len({result.step_time for result in found}), 1)
        self.assertTrue(dfsearch.solve(SMALL_TEXT).proved)

    def test_a_dictionary_is_left_as_it_was(self):
        before = copy.deepcopy(SMALL)
        dfsearch.solve(SMALL, changes={"system.chips": 1, "system.network.0.degree": 1})
        self.assertEqual(SMALL, before)


class Same(unittest.TestCase):
    """All kinds of questions have the answers of the program, with all options."""

    STACK = {"execution": {"stack": "te", "chip": "h100_80gb"}}
    CASES = (
        (GRAPH, (), {}), (PLAN, (), {}), (EXECUTION, (), {}), (DEPLOYMENT, (), {}), (SPLIT, (), {}),
        (PLAN, ("--top", "3"), {"top": 3}), (EXECUTION, ("--count",), {"count": True}),
        (EXECUTION, ("--what-if",), {"what_if": True}), (FREE, ("--gap", "0.5"), {"gap": 0.5}),
        (FREE, ("--node-limit", "20"), {"nodes": 20}),
        (CONFIGS / "training/qwen3_30b_16_h100.yaml",
         ("--robust", "--set", "execution={stack: te, chip: h100_80gb}"),
         {"robust": True, "changes": STACK}),
        (GRAPH, ("--set", "system.memory.bandwidth=10 GB/s"),
         {"changes": ["system.memory.bandwidth=10 GB/s"]}),
        (GRAPH, ("--set", "system.memory.bandwidth=10 GB/s"),
         {"changes": {"system.memory.bandwidth": "10 GB/s"}}),
        (DEPLOYMENT, ("--set", "serving.tensor=[4]", "--set", "serving.modes=[aggregated]"),
         {"changes": {"serving.tensor": [4], "serving.modes": ["aggregated"]}}))

    def test_answers(self):
        for config, arguments, options in self.CASES:
            with self.subTest(config=config.name, **options):
                ours = dfsearch.solve(config, threads=1, deterministic=True, **options).to_dict()
                theirs = program(config, "--threads", "1", "--deterministic", *arguments)
                for answer in (ours, theirs):
                    del answer["search"]  # has times
                self.assertEqual(ours, theirs)


class Options(unittest.TestCase):
    def test_a_time_limit_leaves_an_answer_and_a_bound(self):
        result = dfsearch.solve(HARD, time_limit=0.3)
        self.assertEqual(result.stopped_by, "time")
        self.assertFalse(result.proved)
        if result.objective is not None:
            self.assertLessEqual(result.bound, result.objective)

    def test_a_hint(self):
        first = dfsearch.solve(PLAN)
        for hint in (first, first.to_dict()):
            self.assertEqual(dfsearch.solve(PLAN, hint=hint, nodes=1).step_time, first.step_time)

    def test_several_at_once(self):
        found = []
        workers = [threading.Thread(target=lambda: found.append(dfsearch.solve(GRAPH).step_time))
                   for _ in range(4)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        self.assertEqual(found, [found[0]] * 4)


class Events(unittest.TestCase):
    def test_better_answers_are_told(self):
        events = []
        result = dfsearch.solve(HARD, on_progress=events.append, time_limit=1)
        told = [event for event in events if event["event"] == "incumbent"]
        self.assertTrue(told)
        if result.objective is not None:
            self.assertAlmostEqual(told[-1]["objective"], result.objective)

    def test_what_a_listener_raises_is_raised(self):
        def listener(event):
            raise KeyError(event["event"])

        began = time.monotonic()
        with self.assertRaises(KeyError):
            dfsearch.solve(HARD, on_progress=listener, time_limit=60)
        self.assertLess(time.monotonic() - began, 30)

    def test_other_threads_run_meanwhile(self):
        ticks = []
        stop = threading.Event()

        def tick():
            while not stop.wait(0.01):
                ticks.append(time.monotonic())

        worker = threading.Thread(target=tick)
        worker.start()
        dfsearch.solve(HARD, time_limit=0.5)
        stop.set()
        worker.join()
        self.assertGreater(len(ticks), 5)


class Interrupts(unittest.TestCase):
    def interrupted(self, text, after=0.7):
        with subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True) as process:
            time.sleep(after)
            process.send_signal(signal.SIGINT)
            out, error = process.communicate(timeout=30)
        return process.returncode, out, error

    def test_ctrl_c_leaves_the_best_so_far(self):
        status, out, error = self.interrupted(
            "import dfsearch\n"
            f"r = dfsearch.solve({HARD!r}, threads=1)\n"
            "print(r.stopped_by, r.objective is not None)\n", after=2)
        self.assertEqual((status, out), (0, "signal True\n"), error)

    def test_a_handler_of_the_user_is_called(self):
        status, out, _ = self.interrupted(
            "import dfsearch, signal\n"
            "def handler(*_): raise RuntimeError('mine')\n"
            "signal.signal(signal.SIGINT, handler)\n"
            f"r = dfsearch.solve({HARD!r}, threads=1)\n"
            "print(r.stopped_by)\n", after=2)
        self.assertEqual((status, out), (0, "signal\n"))


class Errors(unittest.TestCase):
    def refused(self, *arguments, **options):
        with self.assertRaises(dfsearch.InputError) as caught:
            dfsearch.solve(*arguments, **options)
        return caught.exception

    def test_what_is_wrong_is_named(self):
        serving = CONFIGS / "serving" / "own_chip.yaml"
        for named, config, options in (
                ("no.yaml", "no.yaml", {}), ("wings", GRAPH, {"changes": {"system.wings": 2}}),
                ("none.json", GRAPH, {"hint": "none.json"}), ("--robust", GRAPH, {"robust": True}),
                ("stack", PLAN, {"robust": True}), ("--what-if", serving, {"what_if": True})):
            with self.subTest(named):
                error = self.refused(config, **options)
                self.assertIn(named, str(error))
                self.assertIsInstance(error, ValueError)

    def test_all_that_is_wrong_at_once(self):
        wrong = copy.deepcopy(SMALL)
        wrong["system"]["chips"] = 0
        wrong["system"]["memory"]["bandwidth"] = "fast"
        error = self.refused(wrong)
        self.assertEqual(len(error.messages), 2)
        self.assertTrue(all(": expected" in message for message in error.messages))

    def test_nothing_fits(self):
        result = dfsearch.solve(GRAPH, changes={"system.memory.capacity": "1 GB"})
        self.assertEqual(result.status, "infeasible")
        self.assertIsNone(result.step_time)
        self.assertTrue(result.proved)


class Evaluate(unittest.TestCase):
    def test_results_of_each_kind(self):
        for config in (GRAPH, PLAN, EXECUTION, DEPLOYMENT):
            with self.subTest(config.name):
                best = dfsearch.solve(config)
                again = dfsearch.evaluate(config, best)
                self.assertEqual(again.status, "feasible")
                if best.step_time is not None:
                    self.assertEqual(again.step_time, best.step_time)

    def test_a_dictionary_and_a_file(self):
        best = dfsearch.solve(GRAPH)
        self.assertEqual(dfsearch.evaluate(GRAPH, best.to_dict()).step_time, best.step_time)
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "result.json")
            best.save(file)
            self.assertEqual(dfsearch.evaluate(GRAPH, file).step_time, best.step_time)

    def test_notes_on_launch_arguments(self):
        with tempfile.TemporaryDirectory() as folder:
            script = os.path.join(folder, "run.sh")
            with open(script, "w", encoding="utf-8") as file:
                file.write("torchrun pretrain_gpt.py --tensor-model-parallel-size 4 "
                           "--pipeline-model-paralel-size 1 --micro-batch-size 1\n")
            config = CONFIGS / "training/qwen3_30b_16_h100.yaml"
            stack = {"execution": {"stack": "te", "chip": "h100_80gb"}}
            for result in (dfsearch.evaluate(config, script, changes=stack),
                           dfsearch.solve(config, hint=script, changes=stack)):
                self.assertTrue(any("did you mean '--pipeline-model-parallel-size'?" in note
                                    for note in result.notes), result.notes)
                self.assertTrue(result.report.startswith(result.notes[0] + "\n"))
            self.assertEqual(dfsearch.solve(GRAPH).notes, [])

    def test_the_name_of_a_model_wants_a_machine(self):
        with self.assertRaisesRegex(dfsearch.InputError, "^llama3_8b: this file has a model but no machine"):
            dfsearch.solve("llama3_8b")
        small = {"workload.sequence": 1024, "workload.global_batch": 8}
        named = dfsearch.solve("llama3_8b", changes={"system": {"from": "h100_dgx", "chips": 8}, **small})
        whole = dfsearch.solve({"workload": {"model": "llama3_8b"}, "training": {},
                                "system": {"from": "h100_dgx", "chips": 8}}, changes=small)
        self.assertEqual(named.to_dict()["plan"], whole.to_dict()["plan"])
        # Rates of other chips do not stay; the number of chips does.
        with self.assertRaisesRegex(dfsearch.InputError, "these are other chips than those of the config"):
            dfsearch.solve(CONFIGS / "training/qwen3_30b_16_h100.yaml",
                           changes={"system": {"from": "b200_dgx"}})
        other = dfsearch.solve(CONFIGS / "training/qwen3_30b_16_h100.yaml",
                               changes={"system": {"from": "b200_dgx"}, "execution.chip": "b200"})
        self.assertEqual(other.to_dict()["machine"]["chips"], 16)

    def test_a_checkpoint_in_32_bits_has_a_note(self):
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "config.json")
            with open(file, "w", encoding="utf-8") as out:
                json.dump({"model_type": "llama", "hidden_size": 1024, "intermediate_size": 2048,
                           "num_hidden_layers": 4, "num_attention_heads": 8, "vocab_size": 1000,
                           "max_position_embeddings": 1024, "torch_dtype": "float32"}, out)
            result = dfsearch.solve(file, changes={"system": {"from": "h100_dgx", "chips": 8}})
            note = f"{file}: Stored in float32, computed in bf16 unless the config says otherwise."
            self.assertEqual((result.notes, result.to_dict()["notes"]), ([note], [note]))
            self.assertIn("Stored in float32", result.report)

    def test_no_temporary_file_stays(self):
        before = set(os.listdir(tempfile.gettempdir()))
        dfsearch.evaluate(GRAPH, dfsearch.solve(GRAPH).to_dict())
        left = set(os.listdir(tempfile.gettempdir())) - before
        self.assertFalse([name for name in left if name.startswith("dfsearch-")])

    def test_on_another_machine(self):
        best = dfsearch.solve(GRAPH)
        slower = dfsearch.evaluate(GRAPH, best, changes={"system.memory.bandwidth": "10 GB/s"})
        self.assertGreater(slower.step_time, best.step_time)

    def test_what_is_no_mapping(self):
        with self.assertRaises(dfsearch.InputError):
            dfsearch.evaluate(GRAPH, {"color": "blue"})


if __name__ == "__main__":
    unittest.main()
