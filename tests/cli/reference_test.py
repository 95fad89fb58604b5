#!/usr/bin/env python3
"""Graphs of random workloads against a second writing of their generators (tests/support).

usage: reference_test.py DFSEARCH [unittest arguments]
"""

import collections
import json
import pathlib
import random
import sys

from support import CliTest, main

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS / "support"))
import reference_transformer  # noqa: E402
import reference_workloads as twin  # noqa: E402

RANDOM_CASES = 120
SRAM = 40_000
SYSTEM = {"chips": 1, "memory": {"bandwidth": "1 GB/s"},
          "accelerator": {"cores": 8, "lanes": 2, "stages": 2, "frequency": "1 GHz",
                          "sram": f"{SRAM} B"}}
OWN = {"all_to_all": "all_to_all", "transpose": "transpose", "grid_broadcast": "broadcast",
       "grid_point_to_point": "message", "flat_gradient_all_reduce": "flat_gradient"}
PLAIN = ("element_flops", "matrices", "parameters", "tokens", "coupled")


def random_llm(rng):
    heads, head_dim = rng.randint(2, 9), rng.choice([5, 8, 16, 24])
    return {"kind": rng.choice(["llm_training", "llm_prefill"]), "hidden": heads * head_dim,
            "heads": heads, "head_dim": head_dim, "sequence": rng.randint(10, 300),
            "layers": rng.randint(1, 9), "global_batch": rng.randint(1, 8),
            "word": f"{rng.choice([1, 2, 4])} B"}


def random_machine_workload(rng):
    """DLRM, HPL, FFT or decode."""
    word = f"{rng.choice([1, 2, 4])} B"
    kind = rng.choice(["dlrm_training", "dlrm_inference", "hpl", "fft", "llm_decode"])
    if kind == "hpl":
        block, iterations = rng.randint(1, 40), rng.randint(1, 12)
        return {"kind": kind, "n": block * iterations + rng.randint(0, 300), "block": block,
                "iterations": iterations, "word": word}
    if kind == "fft":
        return {"kind": kind, "length": rng.randint(4, 10**7), "radix": rng.randint(2, 40),
                "word": word}
    if kind == "llm_decode":
        heads, head_dim = rng.randint(2, 9), rng.choice([5, 8, 16])
        return {"kind": kind, "hidden": heads * head_dim, "heads": heads, "head_dim": head_dim,
                "mlp": rng.randint(2, 200), "context": rng.randint(1, 500),
                "layers": rng.randint(1, 9), "global_batch": rng.randint(1, 6), "word": word}
    return {"kind": kind, "mlp": rng.randint(2, 90), "bottom": rng.randint(1, 4),
            "top": rng.randint(0, 5), "tables": rng.randint(1, 30), "pooled_rows": rng.randint(1, 9),
            "rows": rng.randint(1, 5000), "embedding": rng.randint(1, 40),
            "local_batch": rng.randint(1, 60), "global_batch": rng.randint(1, 5), "word": word}


def random_lstm(rng):
    return {"kind": "lstm", "hidden": rng.randint(2, 40), "vocabulary": rng.randint(2, 300),
            "layers": rng.randint(1, 3), "steps": rng.randint(1, 7),
            "local_batch": rng.randint(1, 9), "folded": rng.random() < 0.5,
            "word": f"{rng.choice([1, 2, 4])} B", "global_batch": rng.randint(1, 6)}


def random_model(rng, workload):
    """Any keys of a layer by rule on top of a workload; not all of them go together."""
    keys = {"vocabulary": rng.randint(1, 400)}
    workload.pop("mlp", None)
    maybe = {
        "value_dim": rng.randint(2, 20), "gated": rng.random() < 0.5, "qk_norm": True,
        "norm": rng.choice(["rms", "layer"]), "bias": rng.choice(["none", "qkv", "all"]),
        "positions": rng.randint(1, 100), "tied": True, "window": rng.randint(1, 300),
        "dropout": True, "post_norm": True, "mlp": rng.randint(2, 200),
        "kv_heads": rng.choice([x for x in range(1, 10) if workload["heads"] % x == 0]),
    }
    keys.update((key, value) for key, value in maybe.items() if rng.random() < 0.4)
    if rng.random() < 0.4:
        keys.pop("post_norm", None)
        keys.pop("mlp", None)
        count = rng.randint(1, 9)
        keys["experts"] = {"count": count, "used": rng.randint(1, count), "mlp": rng.randint(2, 90),
                           "shared": rng.randint(0, 2), "router_bias": rng.random() < 0.5,
                           "capacity_factor": rng.choice([1, 1.25, 2])}
    if rng.random() < 0.35:
        for key in ("kv_heads", "bias", "qk_norm", "positions"):
            keys.pop(key, None)
        keys["latent_attention"] = {
            "query_rank": rng.choice([0, 7]), "key_value_rank": rng.randint(2, 12),
            "rope_dim": rng.randint(1, workload["head_dim"] - 1)}
    if workload["kind"] == "llm_decode":
        keys["batch"] = rng.randint(1, 9)
    elif rng.random() < 0.5:
        keys["mask"] = rng.choice(["causal", "full"])
    elif "latent_attention" not in keys:
        keys["attention"] = "unfused"
    return {**workload, **keys}


def random_by_rule(rng):
    workload = random_llm(rng)
    workload["kind"] = rng.choice(["llm_training", "llm_prefill", "llm_decode"])
    if workload["kind"] == "llm_decode":
        workload["context"] = workload.pop("sequence")
    return random_model(rng, workload)


def number(text):
    return twin.quantity(text, "B")


def kernel_of(written, index):
    """A kernel of a graph as the second writing has it."""
    kind = written["kind"]
    given = written.get("communication", [])
    given = given if isinstance(given, list) else [given]
    attention = written.get("attention")
    return twin.Kernel(
        name=written["name"], outer=written.get("outer", 1), m=written.get("M", 1),
        k=written.get("K", 1), n=written.get("N", 1),
        systolic=kind in ("gemm", "weight_gemm", "attention") or written.get("mode") == "systolic",
        weights=kind == "weight_gemm", inputs=2 if kind in ("gemm", "elementwise2") else 1,
        backward=written.get("phase") == "backward", tiled=written["tiled"],
        gradient=any(each["type"] == "gradient_all_reduce" for each in given),
        spread=written.get("spread", "tensor"),
        own=tuple((OWN[each["type"]], number(each.get("bytes", 0))) for each in given
                  if each["type"] in OWN),
        memory=number(written.get("memory", 0)),
        sharded_memory=number(written.get("sharded_memory", 0)),
        attention=attention and (attention["keys"], attention.get("window"),
                                 attention.get("causal", False)),
        weight_of=index.get(written.get("weight_of")), steps=written.get("steps", 1),
        **{key: written.get(key, 0) for key in PLAIN})


def plain(kernel):
    """With nothing in the place of matrices and tokens that are all there are."""
    tokens = kernel.outer * (kernel.k if kernel.tiled == "K" else kernel.n)
    return kernel._replace(matrices=kernel.matrices or kernel.outer,
                           tokens=0 if kernel.tokens == tokens else kernel.tokens)


def tensors_of(ends, kernels, is_by_rule):
    """Tensors, of ends with operand, rows and value, in a form that compares: rows of a part and of
    the whole alike, tensors of one value whatever its number.  The rules for layers leave the order of
    two operands open."""
    whole = {kernel.name: kernel.outer * kernel.m for kernel in kernels}
    fixed = {kernel.name for kernel in kernels if kernel.attention or not is_by_rule}
    found, values = [], collections.defaultdict(set)
    for source, target, operand, rows, value in ends:
        found.append((source, target, rows or whole[source], operand if target in fixed else 0))
        if value is not None:
            values[source, value].add(target)
    return sorted(found), sorted((source, sorted(group)) for (source, _), group in values.items())


class ReferenceTest(CliTest):
    def check(self, draw, is_by_rule=False):
        for seed in range(RANDOM_CASES):
            workload = draw(random.Random(seed))
            with self.subTest(seed=seed, workload=workload):
                self.write("c.json", json.dumps({"workload": workload, "system": SYSTEM}))
                written = json.loads(
                    self.run_tool("graph", "c.json", "--format", "json").stdout)["workload"]
                kernels, tensors, seams = twin.graph(workload)
                index = {each["name"]: i for i, each in enumerate(written["kernels"])}
                for each, kernel in zip(written["kernels"], kernels, strict=True):
                    found = kernel_of(each, index)
                    if workload["kind"] in ("hpl", "fft"):  # a matrix beyond all SRAM
                        word = number(workload["word"])
                        passes = twin.passes_of_memory(kernel, SRAM, word)
                        moved = 2 * passes * kernel.m ** 2 * word  # of a square matrix
                        kernel = kernel._replace(sharded_memory=moved)
                    if is_by_rule and not kernel.systolic:
                        found = found._replace(inputs=kernel.inputs)
                    self.assertEqual(plain(found), plain(kernel))
                names = [kernel.name for kernel in kernels]
                inner, crossing = [], []
                for each in written["tensors"]:
                    leaves = "next_layer" in each or "next_step" in each
                    (crossing if leaves else inner).append(each)
                self.assertCountEqual([(each["from"], each["to"]) for each in crossing], seams)
                self.assertEqual(
                    tensors_of([(each["from"], each["to"], each["operand"], each.get("rows"),
                                 each.get("value")) for each in inner], kernels, is_by_rule),
                    tensors_of([(names[t.source], names[t.target], *t[2:]) for t in tensors],
                               kernels, is_by_rule))
                self.assertEqual(number(written.get("stored", 0)), twin.stored(workload))
                if is_by_rule:
                    self.assertEqual(written["counts"]["parameters"],
                                     reference_transformer.parameters(workload))

    def test_published_layers(self):
        self.check(random_llm)

    def test_layers_by_rule(self):
        self.check(random_by_rule, is_by_rule=True)

    def test_machines_and_decoding(self):
        self.check(random_machine_workload)

    def test_layers_of_lstm(self):
        self.check(random_lstm)

    def test_a_layer_is_sharded_so_that_least_bytes_move(self):
        network = [{"topology": "ring", "degree": 2, "bandwidth": "1 GB/s", "strategy": "tensor"}]
        self.write("c.yaml", json.dumps({
            "workload": {"kind": "llm_training", "hidden": 32, "heads": 4, "head_dim": 8,
                         "sequence": 128, "layers": 1, "word": "2 B", "global_batch": 1},
            "system": {**SYSTEM, "chips": 2, "network": network},
            "execution": {"style": "kernel_by_kernel"}, "search": {"sharding": "least_bytes"}}))
        found = self.result("c.yaml")
        split = collections.defaultdict(set)
        for kernel, loop in found["sharding"].items():
            split[loop].add(kernel)
        self.assertEqual(split["K"], {"PROJ_GEMM", "FFN1", "FFN0_bwd", "V_bwd"})
        self.assertEqual(split["M"], {
            "FFN0", "GeLU", "Loss_bwd", "FFN1_bwd", "GeLU_bwd", "PROJ_GEMM_bwd",
            *(f"{gemm}_bwd_weight_update"
              for gemm in ("FFN1", "FFN0", "PROJ_GEMM", "V", "K", "Q"))})
        self.assertEqual(len(split["outer"]), 15)  # what the heads compute
        self.assertEqual(len(split["none"]), 10)


if __name__ == "__main__":
    main()
