#!/usr/bin/env python3
"""dfsearch against the reference model (tests/support), an independent one in Python.

Both evaluate random configs and mappings: times agree to 1e-10 and verdicts are equal, and so are
the optima of small prefill layers and the shardings of least bytes.

usage: reference_test.py DFSEARCH [unittest arguments]
"""

import json
import math
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS / "support"))
import reference_model  # noqa: E402
import reference_search  # noqa: E402
import reference_transformer  # noqa: E402

DATAFLOWS = ("output", "weight", "input")
RANDOM_CASES = 120  # well under a minute; more find no more
AGREEMENT = 1e-10  # of two doubles computed in different orders, one of them in ticks

dfsearch_binary = None


def dfsearch(command, config, *arguments, mapping=None):
    """Exit status and result of a run."""
    with tempfile.TemporaryDirectory() as folder:
        config_file = pathlib.Path(folder, "config.json")
        config_file.write_text(json.dumps(config), encoding="utf-8")
        call = [dfsearch_binary, command, str(config_file), *arguments, "--json", "-"]
        if mapping is not None:
            mapping_file = pathlib.Path(folder, "mapping.json")
            mapping_file.write_text(json.dumps(mapping), encoding="utf-8")
            call += ["--mapping", str(mapping_file)]
        done = subprocess.run(call, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=600, check=False)
    if done.returncode not in (0, 3):
        raise AssertionError(f"exit status {done.returncode}\n{done.stderr}")
    return done.returncode, json.loads(done.stdout)


def random_network(rng):
    network, chips = [], 1
    for strategy in rng.sample(["tensor", "pipeline", "data", "tensor"], rng.randint(1, 3)):
        degree = rng.choice([1, 2, 2, 3, 4, 8])
        chips *= degree
        network.append({
            "topology": rng.choice(["ring", "fully_connected", "switch"]), "degree": degree,
            "bandwidth": f"{rng.choice([0.5, 5, 50])} GB/s", "strategy": strategy,
            "latency": f"{rng.choice([0, 0, 70, 900])} ns",
        })
    return network, chips


def random_equations(rng):
    return {
        "preset": rng.choice(["physical", "published"]),
        "all_reduce_passes": rng.choice([1, 2]),
        "virtual_stages": rng.choice(["layers", "layers_minus_one", 1, 2]),
        "weight_traffic": rng.choice(["resident", "per_step", "per_step", "per_sample"]),
        "shards": rng.choice(["whole", "whole", "even"]),
        "layer_seams": rng.choice(["charged", "charged", "free"]),
    }


def random_config(rng):
    network, chips = random_network(rng)
    pipeline = math.prod(d["degree"] for d in network if d["strategy"] == "pipeline")
    data = math.prod(d["degree"] for d in network if d["strategy"] == "data")
    heads, head_dim = rng.randint(2, 9), rng.choice([5, 8, 16, 24])
    micro_batch = rng.randint(1, 3)
    execution = {"overlap": rng.choice(["perfect", "none", "compute_memory"])}
    if rng.random() < 0.2:
        execution["style"] = "kernel_by_kernel"
    elif rng.random() < 0.8:
        execution["partitions"] = rng.randint(2, 8)
    if rng.random() < 0.5:
        execution["compute_utilization"] = rng.choice([0.5, 0.9, 1.0])
    price = {"accelerator": 1000.5, "memory": 1.5, "link": 2.0, "switch": 24.0}
    power = {"accelerator": 444.25, "memory": 0.125,
             "link": [rng.choice([0.05, 0.01]) for _ in network], "switch": 0.052}
    return {
        "workload": {
            "kind": rng.choice(["llm_training", "llm_prefill"]), "hidden": heads * head_dim,
            "heads": heads, "head_dim": head_dim, "sequence": rng.randint(10, 300),
            "layers": pipeline * rng.randint(1, 3) + rng.randint(0, 1),
            "word": f"{rng.choice([1, 2, 4])} B",
            "global_batch": data * micro_batch * rng.randint(1, 8), "micro_batch": micro_batch,
        },
        "system": {
            "chips": chips,
            "accelerator": {
                "cores": rng.choice([8, 45, 300]), "lanes": rng.choice([2, 4, 16]),
                "stages": rng.choice([1, 3, 16]), "frequency": "1.3 GHz",
                "sram": f"{rng.choice([40, 400, 4000, 40000])} kB",
            },
            "memory": {"bandwidth": f"{rng.choice([10, 100, 1000])} GB/s",
                       "capacity": f"{rng.choice([2, 20, 2000])} MB"},
            "network": network,
        },
        "execution": execution, "price": price, "power": power,
        "equations": random_equations(rng),
    }


def random_machine_workload(rng, data):
    """DLRM, HPL, FFT or decode, and whether all dimensions serve one strategy."""
    word = f"{rng.choice([1, 2, 4])} B"
    kind = rng.choice(["dlrm_training", "dlrm_inference", "hpl", "fft", "llm_decode"])
    if kind == "hpl":
        block, iterations = rng.randint(1, 40), rng.randint(1, 12)
        return {"kind": kind, "n": block * iterations + rng.randint(0, 300), "block": block,
                "iterations": iterations, "word": word}, True
    if kind == "fft":
        return {"kind": kind, "length": rng.randint(4, 10**7), "radix": rng.randint(2, 40),
                "word": word}, True
    if kind == "llm_decode":
        heads, head_dim = rng.randint(2, 9), rng.choice([5, 8, 16])
        return {"kind": kind, "hidden": heads * head_dim, "heads": heads, "head_dim": head_dim,
                "mlp": rng.randint(2, 200), "context": rng.randint(1, 500),
                "layers": rng.randint(1, 9), "global_batch": data * rng.randint(1, 6),
                "word": word}, False
    return {"kind": kind, "mlp": rng.randint(2, 90), "bottom": rng.randint(1, 4),
            "top": rng.randint(0, 5), "tables": rng.randint(1, 30), "pooled_rows": rng.randint(1, 9),
            "rows": rng.randint(1, 5000), "embedding": rng.randint(1, 40),
            "local_batch": rng.randint(1, 60), "global_batch": rng.randint(1, 5), "word": word}, True


def random_machine_config(rng):
    config = random_config(rng)
    network = config["system"]["network"]
    data = math.prod(d["degree"] for d in network if d["strategy"] == "data")
    workload, one_strategy = random_machine_workload(rng, data)
    chips = config["system"]["chips"]
    if one_strategy:
        for dimension in network:
            dimension.pop("strategy")
        if workload["kind"].startswith("dlrm"):
            workload["global_batch"] *= chips
        if rng.random() < 0.3:
            workload["copies"] = rng.randint(2, 4)
            config["system"]["chips"] *= workload["copies"]
    for dimension in network:
        if rng.random() < 0.5:
            dimension["latency"] = f"{rng.randint(1, 900)} ns"
    memory = config["system"]["memory"]
    if rng.random() < 0.4:
        memory["capacity"] = f"{rng.choice([20, 200, 2000, 20000])} kB"
        slower = 0.1 * float(memory["bandwidth"].split()[0])
        memory["second"] = {"bandwidth": f"{slower} GB/s", "capacity": "2000 MB"}
    config["equations"].update(
        all_to_all=rng.choice(["per_dimension", "bisection"]),
        all_to_all_pairs=rng.choice(["auto", "n2_2", "n2_4", "n_n1_2"]),
        dlrm_gradient_bandwidth=rng.choice(["network", "3 GB/s"]))
    return {**config, "workload": workload}


def random_lstm_config(rng):
    config = random_config(rng)
    data = math.prod(d["degree"] for d in config["system"]["network"] if d["strategy"] == "data")
    config["workload"] = {
        "kind": "lstm", "hidden": rng.randint(2, 40), "vocabulary": rng.randint(2, 300),
        "layers": rng.randint(1, 3), "steps": rng.randint(1, 7), "local_batch": rng.randint(1, 9),
        "folded": rng.random() < 0.5, "word": f"{rng.choice([1, 2, 4])} B",
        "global_batch": data * rng.randint(1, 6)}
    config["system"]["memory"]["latency"] = f"{rng.choice([0, 90, 5000])} ns"
    return config


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


def random_rule_config(rng):
    config = random_config(rng)
    workload = config["workload"]
    workload["kind"] = rng.choice(["llm_training", "llm_prefill", "llm_decode"])
    if workload["kind"] == "llm_decode":
        workload["context"] = workload.pop("sequence")
    config["workload"] = random_model(rng, workload)
    return config


def random_partitions(rng, problem):
    """Mostly in order and in their phases, so that half of the mappings fit."""
    if problem.kernel_by_kernel:
        return list(range(len(problem.kernels)))
    limit = problem.partition_limit
    half = limit // 2 if any(k.backward for k in problem.kernels) else limit
    vector = []
    for i, kernel in enumerate(problem.kernels):
        low, high = (half, limit - 1) if kernel.backward else (0, max(half - 1, 0))
        before = [vector[t.source] for t in problem.tensors if t.target == i]
        low = min(max([low] + before), high)
        vector.append(rng.randint(low, high) if rng.random() < 0.3 else low)
    if rng.random() < 0.1:
        vector[rng.randrange(len(vector))] = rng.randrange(limit)
    return vector


def random_mapping(rng, config):
    problem = reference_model.load(config)
    slow = config["workload"]["kind"].startswith(("dlrm", "lstm")) or len(problem.kernels) > 25
    if slow:  # the choice would take too long
        sharding = [reference_model.sharding_choices(k)[0] for k in problem.kernels]
    else:
        sharding = reference_model.least_bytes_sharding(problem)
    if rng.random() < 0.6:
        sharding = [rng.choice(reference_model.sharding_choices(k)) for k in problem.kernels]
    if rng.random() < 0.05:
        sharding[rng.randrange(len(sharding))] = rng.choice(reference_model.LOOPS)
    vector = random_partitions(rng, problem)
    names = [kernel.name for kernel in problem.kernels]
    with_cores = problem.utilization is None and rng.random() < 0.3
    partitions = []
    for index in sorted(set(vector)):
        members = [i for i, part in enumerate(vector) if part == index]
        partition = {"index": index, "kernels": [names[i] for i in members]}
        if with_cores:
            partition["cores"] = {
                names[i]: [rng.randint(1, 3), rng.randint(1, 1 + problem.kernels[i].systolic)]
                for i in members
            }
        partitions.append(partition)
    sequence = problem.sequence
    return {
        "micro_batch": config["workload"].get("micro_batch", 1), "tile": rng.randint(1, sequence),
        "partitions": partitions, "sharding": dict(zip(names, sharding)),
        "network": [{"degree": d["degree"], "strategy": problem.strategy or d["strategy"]}
                    for d in config["system"]["network"]],
    }


class ReferenceTest(unittest.TestCase):
    KEYS = ("step_time", "utilization", "flop", "price", "power", "cost_efficiency",
            "power_efficiency", "layers_per_stage", "bubble_factor")

    def check_case(self, config, mapping):
        """Returns whether the mapping fits, which both must say."""
        status, result = dfsearch("evaluate", config, mapping=mapping)
        try:
            cost = reference_model.evaluate(reference_model.load(config), mapping)
        except reference_model.Infeasible as reason:
            self.assertEqual(status, 3, f"the reference model says {reason}")
            return False
        self.assertEqual(status, 0, result["infeasible"])
        pairs = [(key, result[key], cost[key]) for key in self.KEYS]
        pairs += [("memory." + key, result["memory"][key], cost[key])
                  for key in ("weights", "activations", "stored")]
        pairs += [("intensity", result["operational_intensity"]["memory"] or 0,
                   cost["memory_intensity"] or 0)]
        if cost["latency"] is not None:
            serving = result["serving"]
            latency = serving["time_to_first_token"] or serving["time_per_output_token"]
            pairs += [("latency", latency, cost["latency"]),
                      ("tokens/s", serving["tokens_per_second"], cost["tokens_per_second"])]
        for mine, theirs in zip(result["partitions"], cost["partitions"], strict=True):
            pairs += [(f"partition {theirs['index']} {key}", mine[key], theirs[key])
                      for key in ("compute", "memory", "network", "time", "sram")]
        for what, actual, expected in pairs:
            # Ticks are absolute: what is small beside the layer may be off by one.
            allowed = AGREEMENT * cost["layer_time"] if what.startswith("partition") else 0
            # Quotients with little memory time in them have the same tolerance.
            relative = 1e-6 if what == "intensity" else AGREEMENT
            if not math.isclose(actual, expected, rel_tol=relative, abs_tol=allowed):
                self.fail(f"{what}: {actual!r}, the reference model says {expected!r}")
        return True

    def test_random_mappings_cost_the_same(self):
        fitting = 0
        for seed in range(RANDOM_CASES):
            with self.subTest(seed=seed):
                rng = random.Random(seed)
                config = random_config(rng)
                fitting += self.check_case(config, random_mapping(rng, config))
        # Both kinds must occur, or the test proves little.
        self.assertGreater(fitting, RANDOM_CASES // 5)
        self.assertLess(fitting, RANDOM_CASES)

    def test_random_mappings_on_the_whole_machine_cost_the_same(self):
        fitting = 0
        for seed in range(RANDOM_CASES):
            with self.subTest(seed=seed):
                rng = random.Random(seed)
                config = random_machine_config(rng)
                fitting += self.check_case(config, random_mapping(rng, config))
        self.assertGreater(fitting, RANDOM_CASES // 5)
        self.assertLess(fitting, RANDOM_CASES)

    def test_random_mappings_of_layers_by_rule_cost_the_same(self):
        fitting = 0
        for seed in range(RANDOM_CASES):
            with self.subTest(seed=seed):
                rng = random.Random(seed)
                config = random_rule_config(rng)
                mapping = random_mapping(rng, config)
                config["system"]["accelerator"]["dataflow"] = rng.choice(DATAFLOWS + ("best",))
                fitting += self.check_case(config, mapping)
                _, result = dfsearch("evaluate", config, mapping=mapping)
                self.assertEqual(result["model"]["parameters"],
                                 reference_transformer.parameters(config["workload"]))
        self.assertGreater(fitting, RANDOM_CASES // 5)
        self.assertLess(fitting, RANDOM_CASES)

    def test_random_mappings_through_memories_with_latencies_cost_the_same(self):
        fitting = 0
        for seed in range(RANDOM_CASES):
            with self.subTest(seed=seed):
                rng = random.Random(seed)
                config = random_machine_config(rng) if seed % 2 else random_config(rng)
                config["execution"]["levels"] = True
                config["system"]["memory"]["latency"] = f"{rng.choice([0, 90, 5000])} ns"
                config["system"]["accelerator"]["bundle"] = rng.randint(1, 3)
                config["system"]["accelerator"]["dataflow"] = rng.choice(DATAFLOWS)
                config["system"]["levels"] = {
                    name: {"scope": rng.choice(["core", "bundle", "chip"]),
                           "capacity": f"{rng.randint(1, 400)} kB",
                           "bandwidth": f"{rng.randint(1, 400)} GB/s",
                           "latency": f"{rng.choice([0, 40, 3000])} ns"}
                    for name in rng.sample(["registers", "L1", "L2"], rng.randint(1, 3))
                }
                fitting += self.check_case(config, random_mapping(rng, config))
        self.assertGreater(fitting, RANDOM_CASES // 5)
        self.assertLess(fitting, RANDOM_CASES)

    def test_random_mappings_of_lstm_layers_cost_the_same(self):
        fitting = 0
        for seed in range(RANDOM_CASES):
            with self.subTest(seed=seed):
                rng = random.Random(seed)
                config = random_lstm_config(rng)
                fitting += self.check_case(config, random_mapping(rng, config))
        self.assertGreater(fitting, RANDOM_CASES // 5)
        self.assertLess(fitting, RANDOM_CASES)

    def test_random_optima_are_the_same(self):
        for seed in range(20):
            with self.subTest(seed=seed):
                rng = random.Random(seed)
                config = random_config(rng)
                config["workload"].update(kind="llm_prefill", sequence=rng.randint(5, 40))
                config["system"]["memory"].pop("capacity")  # the exhaustion does not know it
                config["system"]["memory"]["latency"] = f"{rng.choice([0, 400, 9000])} ns"
                config["search"] = {"sharding": "least_bytes"}  # nor any other sharding
                problem = reference_model.load(config)
                expected = reference_search.optimum(problem)
                _, result = dfsearch("solve", config, "--quiet")
                if expected is None:
                    self.assertEqual(result["status"], "infeasible")
                    continue
                self.assertEqual(result["status"], "optimal")
                ratio = result["step_time"] / expected
                self.assertTrue(math.isclose(ratio, 1, rel_tol=AGREEMENT), f"{ratio - 1:+.3e}")
                config["search"] = {"sharding": "joint"}
                _, joint = dfsearch("solve", config, "--quiet")
                self.assertLessEqual(joint["step_time"], result["step_time"])
                cost = reference_model.evaluate(problem, joint)
                self.assertTrue(math.isclose(joint["step_time"], cost["step_time"],
                                             rel_tol=AGREEMENT))

    def test_the_least_bytes_sharding_is_the_same(self):
        for seed in range(20):
            with self.subTest(seed=seed):
                rng = random.Random(seed)
                config = random_config(rng)
                mapping = random_mapping(rng, config)
                mapping.pop("sharding")  # then dfsearch chooses it
                _, result = dfsearch("evaluate", config, mapping=mapping)
                problem = reference_model.load(config)
                names = [kernel.name for kernel in problem.kernels]
                expected = dict(zip(names, reference_model.least_bytes_sharding(problem)))
                self.assertEqual(result["sharding"], expected)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    dfsearch_binary = sys.argv.pop(1)
    unittest.main()
