#!/usr/bin/env python3
"""Every key of every kind of question counts, is refused, or is listed as one without effect.

Of each kind some configs are changed key by key, to values of its JSON Schema, until the worth of
their best answer is another one.  Values that change no worth are then set together, one of each
key, and a search shows whether they change the answer.  The keys that change no answer of any
config of the kind must be those of the table "Keys without effect" of docs/formats.md, and these
must not.

usage: keys_test.py DFSEARCH [TEST ...]
"""

import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import urllib.parse

from support import CliTest, main, printed_schema

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEFINITIONS = {}  # of the schema that the program prints

# Keys of the JSON that repeat the config or are measured.
REPEATED = {"dfsearch", "workload", "machine", "pools", "limits", "graph", "search", "model",
            "top", "beyond_scope", "stopped_by", "notes", "not_modelled"}

QUANTITIES = {"time": ("3 us", "5 ms", "100 s"), "bandwidth": ("1 GB/s", "1 MB/s", "9 TB/s"),
              "size": ("2 B", "64 kB", "1 B", "5 GB"), "frequency": ("100 MHz", "7 GHz"),
              "rate": ("1 TFLOP/s", "5 PFLOP/s"), "power": ("7 W", "900 W")}

# Values of keys that go with others, by their path.
SAMPLES = {
    "execution.efficiency.matrix": [{"efficiency": [["0 FLOP", 0.5]]}],
    "execution.efficiency.vector": [{"efficiency": [["0 FLOP", 0.5]]}],
    "execution.efficiency.memory": [{"efficiency": [["0 B", 0.5]]}],
    "execution.efficiency.second": [{"efficiency": [["0 B", 0.05]]}],
    "system.memory.second": [{"capacity": "1 TB", "bandwidth": "100 GB/s"}],
    "training.layers": [[16, 16], [9, 8, 8, 7], [5, 9, 9, 9]],
}
MEMORY = "system.memory={bandwidth: 1 TB/s, capacity: %s, second: {capacity: 1 TB, bandwidth: 60 GB/s}}"

# Configs with sections that small ones have not, so that keys inside them can be changed.
PLAN = ["workload={model: llama3_8b, global_batch: 64, sequence: 2048}",
        "system={from: h100_dgx, chips: 16}", "price={accelerator: 1000, link: 1, memory: 1}",
        "power={accelerator: 100, link: 1, memory: 1}"]
EXPERTS = ["workload={model: deepseek_v2, global_batch: 64, sequence: 2048, layers: 4}", *PLAN[1:]]
LARGE_LOSS = [*PLAN, "parallelism={tensor: 1, pipeline: 1, context: 1}", "workload.micro_batch=4"]
# A product and a pass over its result in every number format, and in the one that a framework uses.
FORMATS = ("fp64", "fp32", "tf32", "bf16", "fp16", "fp8", "fp6", "fp4", "int8")
KERNELS = [f"{{name: {kind}{k}, kind: {kind}, M: 512, {size}N: 64{math}}}"
           for k, math in enumerate([*(f", math: {word}" for word in FORMATS), ""])
           for kind, size in (("weight_gemm", "K: 512, "), ("elementwise", ""))]
CHAIN = [f"{{from: {a}{k}, to: {b}{k + j}}}" for k in range(len(FORMATS) + 1)
         for a, b, j in (("weight_gemm", "elementwise", 0), ("elementwise", "weight_gemm", 1))][:-1]
PEAKS = ", ".join(f"{word}: {10 * k + 10} GFLOP/s" for k, word in enumerate(FORMATS))
OF_FORMATS = [
    "workload={kind: graph, word: 4 B, global_batch: 8, sequence: 64, kernels: [%s], tensors: [%s]}"
    % (", ".join(KERNELS), ", ".join(CHAIN)),
    "system={chips: 4, peaks: {matrix: {%s}, vector: {%s}}, accelerator: {sram: 64 MiB}, "
    "memory: {bandwidth: 1 TB/s, capacity: 1 GB}, network: [%s, %s]}"
    % (PEAKS, PEAKS, *2 * ["{topology: ring, degree: 2, bandwidth: 2 GB/s, strategy: tensor}"]),
    "execution={partitions: 20}"]
WITH_STACK = "execution={stack: te, chip: h100_80gb}"
# Two products, whose network is free or a pipeline.
GRAPH = [
    "workload={kind: graph, global_batch: 8, sequence: 64, layers: 4, boundary: 1 MB, kernels: "
    "[{name: A, kind: weight_gemm, M: 512, K: 512, N: 64}, {name: B, kind: weight_gemm, M: 512, "
    "K: 512, N: 64}], tensors: [{from: A, to: B}]}",
    "system={chips: 4, accelerator: {cores: 4, lanes: 8, stages: 8, frequency: 1 GHz, sram: 1 MB}, "
    "memory: {bandwidth: 100 GB/s, capacity: 1 GB}, network: [%s, %s]}"
    % (2 * ("{topology: ring, degree: 2, bandwidth: 2 GB/s}",)), "execution={partitions: 4}"]
FEW = ["serving.modes=aggregated", "serving.limits=null", "serving.pipeline=1",
       "workload.concurrency=16"]
KINDS = {
    "plan": ("config of a plan", "configs/training/qwen3_30b_16_h100.yaml", [
        ["execution=null", *PLAN],
        ["execution={efficiency: h100}", *EXPERTS],
        ["execution=null", *PLAN, MEMORY % "9 GB", "training={zero: 0, recompute: none}"],
        ["execution=null", *PLAN, "parallelism={tensor: 2, data: 2, pipeline: 4}",
         "workload.attention=unfused", "workload.micro_batch=1"],
        ["execution={style: dataflow}", *PLAN]]),
    "plan with a stack": ("config of a plan", "configs/training/qwen3_30b_16_h100.yaml", [
        [WITH_STACK, *PLAN],
        [WITH_STACK, *EXPERTS],
        ["execution={stack: titan, chip: h100_80gb, precision: fp8-cs}", *PLAN,
         "parallelism={tensor: 2, data: 2, pipeline: 4}", "training={zero: 1}"],
        ["execution={stack: megatron21, chip: h100_80gb}", *PLAN, "parallelism={tensor: 16}",
         "workload.micro_batch=1"],
        ["execution={stack: titan, chip: gb200, precision: nvfp4}", *EXPERTS,
         "system={from: gb200_nvl72, chips: 72}", "workload.global_batch=72"],
        [WITH_STACK, *PLAN, "parallelism={context: 4}", "workload.head_dim=64"],
        *([*LARGE_LOSS, f"execution={{stack: {{from: titan, logits: {{{kind}: 9}}}}, chip: h100_80gb}}",
           f"training={{loss: {kind}, zero: 3, recompute: none}}"]
          for kind in ("chunked", "compiled", "foak", "fused")),
        ["execution={stack: fsdp_hf, chip: h100_80gb}", *PLAN, "training={zero: 3}",
         "workload.lora={rank: 16}"],
        [WITH_STACK, *EXPERTS, "parallelism={tensor: 1, pipeline: 1, context: 1, expert: 16}",
         "execution.stack.software={dispatcher: alltoall}"],
        [WITH_STACK, *EXPERTS, "parallelism={tensor: 4}"],
        [WITH_STACK, *EXPERTS, "training={recompute: [moe]}",
         "execution.stack.software={balance: natural, sinks: regressed}"],
        [*LARGE_LOSS, "training={zero: 3, recompute: none}",
         "execution={stack: {from: titan, loss: {kind: chunked}}, chip: h100_80gb}"],
        [WITH_STACK, *PLAN, "system.chips=512", "workload.global_batch=512",
         "parallelism={tensor: 1, pipeline: 1, context: 1}"],
        *([WITH_STACK, f"workload={{from: {model}, layers: 8, global_batch: 64, sequence: 4096}}",
           "system.chips=64", "parallelism={tensor: 1, pipeline: 1, context: 1, expert: 16}"]
          for model in ("qwen3_next_80b", "deepseek_v3_2")),
        ([], "configs/training/nemotron_3_nano_8_gb200.yaml")]),
    "deployment": ("config of a deployment", "configs/serving/llama3_70b_16_h100.yaml", [
        [],
        ["serving.modes=aggregated", "serving.limits=null", "workload.concurrency=16",
         "workload.speculation={kind: mtp, depth: 2, acceptance: 0.7}", "serving.pipeline=1",
         "serving.tensor=[4, 8]", "serving.chunk=[256, 1024]"],
        ["workload.model=qwen3_30b_a3b", "serving.expert=[1, 2, 4]", "serving.modes=aggregated"],
        ["workload.model=deepseek_v2", "serving.modes=disaggregated"],
        ["workload.model=deepseek_v2", "serving.modes=aggregated", "serving.limits=null",
         "serving.engine=vllm_v1", "serving.tensor=1", "serving.attention_data=8",
         "serving.expert=8", "workload.concurrency=256", "workload.length_spread=0.1"],
        ["serving.pools.0.system={from: h100_dgx, execution: {style: dataflow}}",
         "workload.model=llama3_8b"],
        ["serving.objective=front", "serving.tensor=[2, 4]"],
        ["serving.modes=aggregated", "serving.objective=cost", "workload.rate=5 /s",
         "workload.precision={weights: nvfp4}", "serving.pipeline=1", "serving.tensor=[2, 4]"],
        ([], "configs/serving/qwen3_next_80b_8_h200.yaml"),
        (["serving.modes=aggregated", "serving.objective=throughput", "serving.limits=null",
          "workload.concurrency=512", "serving.tensor=1", "serving.pipeline=1",
          "serving.attention_data=64", "serving.expert=64",
          "serving.pools.0.system.engine.dispatch=per_node"],
         "configs/serving/deepseek_v3_64_h200.yaml"),
        [*FEW, "workload.precision={weights: nvfp4, products: nvfp4}", "serving.tensor=[2, 4]",
         "serving.pools.0.system={from: b200_dgx, engine: {from: typical}, "
         "peak: {bf16: 2.25 PFLOP/s, nvfp4: 9 PFLOP/s}}"],
        [*FEW, "workload.precision={weights: bf16}", "serving.tensor=16",
         "serving.pools.0.system={from: tpu_v5e}", "workload.model=llama3_8b"],
        [*FEW, "serving.engine=vllm_v1", "serving.tensor=4", "serving.utilization=0.95",
         "serving.pools.0.system.engine={from: vllm_h200}"]]),
    "execution": ("config of an execution", "configs/calculon_22b_h100.yaml", [
        ["system.chips=16"], ["system.chips=16", "workload.kind=llm_prefill"]]),
    "mapping": ("config", "configs/gpt3_1t.yaml", [
        ["workload.layers=8"],
        (["execution.levels=true"], "configs/v100_prefill.yaml"),
        ([], "configs/dlrm.yaml"),
        ([], "configs/hpl.yaml"),
        ([], "configs/lstm_v100.yaml"),
        ([], "configs/llama3_8b_decode_dataflow.yaml"),
        (["search.sharding=joint", "system.network.0.latency=5 us"], "configs/llama3_8b_prefill.yaml"),
        ([], "configs/fft.yaml"),
        (["search.sharding=joint", "sharding.axes=2"], "configs/gpt3_175b_dataflow_4x2.yaml"),
        ["workload.layers=8", MEMORY % "2 GB", "system.memory.latency=1 us"],
        (["system={from: h100_dgx, chips: 16}", "workload.global_batch=32"],
         "configs/llama3_8b_prefill.yaml"),
        ([], "configs/encoder_decoder_stages.yaml"),
        OF_FORMATS,
        GRAPH,
        [*GRAPH, "parallelism={pipeline: 4}"],
        ([], "configs/transformers/mixtral_8x7b_decode.yaml")]),
}


def alternatives(schema):
    """A schema and all that it may be in its stead."""
    if isinstance(schema, list):
        schema = {"anyOf": schema}
    if "$ref" in schema:
        name = urllib.parse.unquote(schema["$ref"].rsplit("/", 1)[1])
        yield from alternatives(DEFINITIONS[name])
        return
    yield schema
    for word in ("anyOf", "allOf", "oneOf"):
        for other in schema.get(word, ()):
            yield from alternatives(other)
    for word in ("then", "else"):
        if word in schema:
            yield from alternatives(schema[word])


def values_of(schema):
    """Some values that a key may have."""
    found = []
    for one in alternatives(schema):
        found += one.get("enum", [])
        kind = one.get("type")
        if kind == "boolean":
            found += [True, False]
        elif kind == "integer":
            found += [2, 4, 1, 16, 8, 3, 0, 1000]
        elif kind == "number":
            found += [0.5, 2, 14, 0.01, 0, 100]
        elif kind == "string":
            found += QUANTITIES.get(one.get("title"), ())
            if "[.][.]" in one.get("pattern", ""):
                found += ["..2", "2.."]
        elif kind == "array":
            found += [[value] for value in values_of(one.get("items", {}))[:2]]
    return found


def keys_of(schema, path=(), depth=0):
    """All paths of keys with their schemas; of lists the first element."""
    keys = {}
    if depth > 7:
        return keys
    for one in alternatives(schema):
        inner = [(key, value) for key, value in one.get("properties", {}).items()]
        if one.get("type") == "array":
            inner.append(("0", one.get("items", {})))
        for key, value in inner:
            if key != "0":
                keys.setdefault(".".join((*path, key)), []).append(value)
            for longer, schemas in keys_of(value, (*path, key), depth + 1).items():
                keys.setdefault(longer, []).extend(schemas)
    return keys


def listed(kind):
    """The keys without effect of docs/formats.md, as regular expressions."""
    text = (ROOT / "docs/formats.md").read_text()
    table = text[text.index("## Keys without effect"):]
    patterns = []
    for row in re.findall(r"(?m)^\| (.*?) \| (.*?) \| .* \|$", table):
        if row[0] in (kind, "any"):
            for key in re.findall(r"`([^`]*)`", row[1]):
                pattern = re.escape(key).replace(r"\*", ".*")
                patterns.append(re.compile(pattern + r"(\..*)?"))
    return patterns


STOPPED = {"stopped": True}


class Base:
    """A config, the changes to it, and its answers before any other change."""

    def __init__(self, file, changes):
        self.file, self.changes = file, changes
        self.solved = self.evaluated = self.mapping = None
        self.hits = {}  # by section: the keys that count here


class Keys(CliTest):
    def answer(self, base, changes, mapping=None):
        """What the program answers, and how it refuses; with a mapping what that is worth."""
        words = [str(ROOT / base.file), "--json", "-", "--quiet"]
        if mapping:
            words = ["evaluate", *words, "--mapping", mapping]
        else:
            words += ["--threads", "1", "--time-limit", "60s"]
        for change in (*base.changes, *changes):
            words += ["--set", change]
        done = subprocess.run(self.command(*words), capture_output=True, text=True, timeout=300,
                              check=False, cwd=ROOT)
        if done.returncode == 2:
            return None, done.stderr
        self.assertIn(done.returncode, (0, 3, 4, 5), (words, done.stderr))
        if done.returncode == 5 and not done.stdout:  # the machine was too busy to read it in time
            return STOPPED, ""
        found = json.loads(done.stdout)
        if found["stopped_by"] is not None:
            return STOPPED, ""
        return {key: value for key, value in found.items() if key not in REPEATED}, done.stdout

    def prepare(self, base, name):
        """The answers of the config itself."""
        base.solved, text = self.answer(base, ())
        self.assertNotIn(base.solved, (None, STOPPED), text)
        mapping = self.write(name, text)
        base.evaluated, _ = self.answer(base, (), mapping)
        if base.evaluated is not None:  # where nothing fits there is no mapping
            base.mapping = mapping

    def tried(self, base, path, values):
        """Whether a value changes the worth of the best answer, and the values that do not."""
        same, refused = [], []
        for value in values:
            change = f"{path}={json.dumps(value)}"
            after, text = self.answer(base, [change], base.mapping)
            plain = base.evaluated if base.mapping else base.solved
            if after is None and base.mapping and f"{base.mapping}:" in text:
                # The workload has other kernels, for which this mapping is none.
                (after, text), plain = self.answer(base, [change]), base.solved
            if after is None:
                refused.append(text.replace(change, ""))
                if refused.count(refused[-1]) > 2:
                    break  # whatever its value
            if after is not None and after != STOPPED:
                if after != plain:
                    return True, []
                same.append(change)
        return False, same

    def counting(self, base, round_of):
        """The keys of a map to changes that change the answer of a search.

        All changes are made at once, and halves of them only where the answer is another one.
        """
        if not round_of:
            return []
        after, _ = self.answer(base, list(round_of.values()))
        if after == base.solved:
            return []
        if len(round_of) == 1:
            return list(round_of) if after is not None and after != STOPPED else []
        keys = list(round_of)
        half = len(keys) // 2
        return [key for some in (keys[:half], keys[half:])
                for key in self.counting(base, {key: round_of[key] for key in some})]

    def check_kind(self, kind):
        root, config, many = KINDS[kind]
        keys = keys_of(DEFINITIONS[root])
        if root != "config of a deployment":
            for name in ("system", "system of a technology"):
                for path, schemas in keys_of(DEFINITIONS[name], ("system",)).items():
                    keys.setdefault(path, []).extend(schemas)
        keys = {path: schemas for path, schemas in keys.items() if not path.startswith("search.")}
        bases = [Base(*(reversed(one) if isinstance(one, tuple) else (config, one)))
                 for one in many]
        for i, base in enumerate(bases):
            self.prepare(base, f"{i}.json")

        def of_key(path):
            """Whether the key changes the worth of an answer, else by config what changes none."""
            values = list(SAMPLES.get(path, ()))
            for schema in keys[path]:
                values += [value for value in values_of(schema) if value not in values]
            same = []
            section = path.rsplit(".", 1)[0]
            for base in sorted(bases, key=lambda base: -base.hits.get(section, 0)):
                has_effect, accepted = self.tried(base, path, values)
                if has_effect:
                    base.hits[section] = base.hits.get(section, 0) + 1
                    return path, True, []
                same.append((base, accepted))
            return path, False, same

        effects, rest = {}, {}
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for path, has_effect, same in pool.map(of_key, keys):
                # A word alone that is accepted is the config's.
                if has_effect:
                    effects[path] = True
                elif any(len(accepted) > 1 for _, accepted in same):
                    effects[path] = False
                for base, accepted in same:
                    if accepted:
                        rest.setdefault(base, {})[path] = accepted
            # What does not change the worth of the answer may have another one be the best.
            for base, changes in rest.items():
                for k in range(max(map(len, changes.values()))):
                    left = {path: given[k] for path, given in changes.items()
                            if k < len(given) and not effects.get(path)}
                    for path in self.counting(base, left) if base.mapping else ():
                        effects[path] = True
        patterns = listed(kind)
        silent = sorted(path for path, effect in effects.items() if not effect)
        unlisted = [path for path in silent
                    if not any(pattern.fullmatch(path) for pattern in patterns)]
        self.assertEqual(unlisted, [], "keys of which no value changes an answer")
        counted = [path for path, effect in effects.items()
                   if effect and any(pattern.fullmatch(path) for pattern in patterns)]
        self.assertEqual(counted, [], "keys that are listed as without effect and have one")
        self.assertGreater(sum(effects.values()), 25)


for _kind in KINDS:
    setattr(Keys, "test_of_a_" + _kind.replace(" ", "_"),
            lambda self, kind=_kind: self.check_kind(kind))


if __name__ == "__main__":
    DEFINITIONS.update(json.loads(printed_schema())["definitions"])
    main()
