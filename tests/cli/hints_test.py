#!/usr/bin/env python3
"""Answers that are given: a hint changes no answer or is refused, evaluate says what is ruled out,
and every result is read back.

usage: hints_test.py DFSEARCH [TEST ...]
"""

import copy
import itertools
import json
import random

import support
from kinds import KINDS, deployment
from plan_case import CONFIGS
from support import CliTest

# What is asked of each kind, narrower than what hints may say; of each a function that draws hints
# from the answer with everything open.
NARROW = {
    "mapping": ("--set", "workload.micro_batch=1"),
    "least bytes": ("--set", "workload.micro_batch=2"),
    "stages": ("--set", "workload.micro_batch=1"),
    "chip": ("--set", "parallelism.tensor=8"),
    "split": (),
    "plan": ("--set", "parallelism.tensor=[4, 8]", "--set", "training.zero=[0, 1]"),
    "stack": ("--set", "parallelism.tensor=[4, 8]", "--set", "training.recompute=full"),
    "execution": ("--set", "calculon.tensor=8", "--set", "calculon.recompute=full"),
    "deployment": ("--set", "serving.tensor=[2]", "--set", "serving.batch=[1, 4]",
                   "--set", "serving.prefill.replicas=[1, 2]"),
    "front": ("--set", "serving.tensor=[2]", "--set", "serving.framework=sglang"),
    "fleet": (),
}


def drawn_mapping(rng, answer):
    """Its decisions, some of them other ones."""
    hint = {key: copy.deepcopy(answer[key])
            for key in ("network", "micro_batch", "tile", "partitions", "sharding")}
    for part in hint["partitions"]:
        for key in set(part) - {"index", "kernels"}:
            del part[key]
    change = rng.randrange(5)
    if change == 0:
        hint["micro_batch"] = rng.choice([1, 2, 4, 8])
    elif change == 1:
        hint["tile"] = rng.randrange(1, 65)
    elif change == 2:
        kernel = rng.choice(list(hint["sharding"]))
        hint["sharding"][kernel] = rng.choice(["none", "M", "N", "K", "outer"])
    elif change == 3:
        dimension = rng.choice(hint["network"])
        dimension["strategy"] = rng.choice(["tensor", "pipeline", "data"])
    else:
        kernels = [kernel for part in hint["partitions"] for kernel in part["kernels"]]
        indices = sorted(rng.randrange(4) for _ in kernels)
        hint["partitions"] = [{"index": index, "kernels": [k for k, i in zip(kernels, indices)
                                                           if i == index]}
                              for index in sorted(set(indices))]
    return hint


def drawn_plan(rng, _):
    return {"parallelism": {"tensor": rng.choice([1, 2, 4, 8]), "pipeline": rng.choice([1, 2, 4])},
            "micro_batch": rng.choice([1, 2, 4]),
            "plan": rng.choice([{"zero": rng.randrange(4)},
                                {"recompute": rng.choice(["none", "full"])},
                                {"schedule": rng.choice(["1f1b", "gpipe", "interleaved"])}])}


def drawn_execution(rng, answer):
    hint = copy.deepcopy(answer["execution"])
    tensor = rng.choice([1, 2, 4, 8])
    hint |= {"tensor": tensor, "pipeline": 1, "data": 16 // tensor, "chunks": 1,
             "recompute": rng.choice(["none", "full"]),
             "sharding": rng.random() < 0.5 and tensor < 16}
    return {"execution": hint}


def drawn_deployment(rng, _):
    def role(chunk):
        found = {"pool": "x", "tensor": rng.choice([1, 2, 4]), "pipeline": rng.choice([1, 2]),
                 "attention_data": rng.choice([1, 1, 2]), "replicas": rng.randrange(1, 5),
                 "batch": rng.choice([1, 4, 16, 64, 200])}
        return found | ({"chunk": rng.choice([256, 512])} if chunk else {})
    if rng.random() < 0.5:
        return {"mode": "aggregated"} | role(True)
    return {"mode": "disaggregated", "prefill": role(False), "decode": role(False)}


DRAWN = {"mapping": drawn_mapping, "least bytes": drawn_mapping, "stages": drawn_mapping,
         "chip": drawn_mapping, "split": drawn_mapping, "plan": drawn_plan, "stack": drawn_plan,
         "execution": drawn_execution, "deployment": drawn_deployment, "front": drawn_deployment}


def certain(result, kind=""):
    """The answer and how sure it is; of mappings the cost, as any of equally good ones is found."""
    if kind in ("mapping", "chip", "split", "stages"):
        return {key: result[key] for key in ("status", "objective", "lower_bound", "gap", "scope")}
    return {key: value for key, value in result.items()
            if key not in ("search", "top", "top_complete", "beyond_scope")}


class Hints(CliTest):
    def test_random_hints_change_no_proved_answer(self):
        """Of each kind: the same answer, bound and gap as without, or the hint is refused."""
        for kind, draw in DRAWN.items():
            rng = random.Random(kind)
            config = self.write("c.yaml", KINDS[kind])
            asked = (config, *NARROW[kind], "--threads", "1")
            whole = self.result(config, "--threads", "1")
            plain = certain(self.result(*asked), kind)
            refused = 0
            for _ in range(30):
                hint = draw(rng, whole)
                self.write("h.json", json.dumps(hint))
                with self.subTest(kind=kind, hint=hint):
                    done = self.run_tool(*asked, "--hint", "h.json", "--json", "r.json",
                                         status=(0, 2))
                    refused += done.returncode == 2 or "is dropped" in done.stderr
                    if done.returncode == 2:
                        continue
                    result = self.read_json("r.json")
                    self.assertEqual(certain(result, kind), plain)
                    if kind == "split":
                        continue
                    judged = self.run_tool("evaluate", *asked[:-2], "--mapping", "h.json",
                                           status=(0, 3))
                    if judged.returncode == 3:
                        self.assertIn("is dropped", done.stderr)
            self.assertGreater(refused, 0, kind)
            self.assertLess(refused, 30, kind)

    def test_what_the_config_rules_out(self):
        """The two questions that were proved with an answer of another one."""
        narrow = deployment(tensor=[1], pipeline=[1], batch=[1], chunk=[256], replicas=[1],
                            modes=["aggregated"])
        good = {"mode": "aggregated", "pool": "x", "tensor": 1, "replicas": 1, "batch": 1,
                "chunk": 256}
        config = self.write("c.json", narrow)
        plain = certain(self.result(config))
        for key, value, said in (("tensor", 4, "tensor: expected 1 as in the config, got 4"),
                                 ("pipeline", 2, "pipeline: expected 1 as in the config, got 2"),
                                 ("replicas", 2, "replicas: expected 1 as in the config, got 2"),
                                 ("batch", 2, "batch: expected 1 as in the config, got 2"),
                                 ("chunk", 64, "chunk: expected 256 as in the config, got 64"),
                                 ("replicas", 9, "pool: needs 9 chips, the pool has 8")):
            with self.subTest(key):
                self.write("h.json", json.dumps(good | {key: value}))
                self.ruled_out(config, said, plain)
        self.write("h.json", json.dumps(good))
        self.assertEqual(certain(self.result(config, "--hint", "h.json")), plain)

    def test_two_sides_share_the_chips_of_a_pool(self):
        config = self.write("c.json", deployment(modes=["disaggregated"], pipeline=[1]))
        side = {"pool": "x", "tensor": 4, "batch": 1}
        self.write("h.json", json.dumps({"mode": "disaggregated", "prefill": side,
                                         "decode": side | {"replicas": 2}}))
        self.ruled_out(config, "together need 12 chips, the pool has 8", certain(self.result(config)))

    def test_a_framework_and_modes_are_part_of_the_question(self):
        pair = {"mode": "aggregated", "pool": "x", "tensor": 1, "pipeline": 2, "batch": 1,
                "chunk": 512}
        self.write("h.json", json.dumps(pair))
        config = self.write("c.json", deployment(framework="sglang"))
        self.ruled_out(config, "sglang does not run it: chunks of prefill are not supported",
                       certain(self.result(config)))
        config = self.write("c.json", deployment(modes=["disaggregated"]))
        self.ruled_out(config, "mode: expected disaggregated as in the config, got aggregated",
                       certain(self.result(config)))

    def test_plans_and_executions_outside_the_choices(self):
        for kind, change, hint, said in (
                ("plan", "parallelism.tensor=[4, 8]", {"parallelism": {"tensor": 2}},
                 "tensor: expected 4 or 8 as in the config, got 2"),
                ("plan", "training.zero=0", {"plan": {"zero": 1}, "parallelism": {"tensor": 4}},
                 "zero: expected 0 as in the config, got 1"),
                ("stack", "training.schedule=1f1b",
                 {"parallelism": {"pipeline": 2}, "plan": {"schedule": "interleaved"}},
                 "schedule: expected 1f1b as in the config, got interleaved"),
                ("execution", "calculon.tensor=8", {"execution": {"tensor": 4}},
                 "tensor: expected 8 as in the config, got 4")):
            with self.subTest(said):
                self.write("h.json", json.dumps(hint))
                asked = (self.write("c.yaml", KINDS[kind]), "--set", change)
                self.ruled_out(asked, said, certain(self.result(*asked, "--threads", "1")))

    def test_mappings_outside_the_choices(self):
        open_network = KINDS["mapping"].replace(", degree: 2", "").replace(", strategy: tensor", "")
        config = self.write("c.yaml", open_network)
        self.result(config, "--set", "parallelism.tensor=2", "--mapping", "h.json")
        asked = (config, "--set", "parallelism.tensor=1")
        self.ruled_out(asked, "the config's parallelism allows", certain(self.result(*asked)))
        config = self.write("c.yaml", KINDS["stages"])
        self.write("h.json", json.dumps(drawn_sharding(self.result(config))))
        done = self.run_tool(config, "--hint", "h.json")
        self.assertIn("is dropped: sharding: ", done.stderr)

    def ruled_out(self, asked, said, plain):
        """By evaluate with status 3, in the report and in the JSON; the hint is dropped."""
        asked = asked if isinstance(asked, tuple) else (asked,)
        done = self.run_tool("evaluate", *asked, "--mapping", "h.json", "--json", "e.json",
                             status=3)
        self.assertIn(said, " ".join(done.stdout.split()))
        judged = self.read_json("e.json")
        self.assertEqual(judged["status"], "infeasible")
        self.assertTrue(any(said in reason for reason in judged["ruled_out"]), judged["ruled_out"])
        done = self.run_tool(*asked, "--threads", "1", "--hint", "h.json", "--json", "r.json")
        self.assertIn("h.json: the hint does not fit and is dropped: ", done.stderr)
        self.assertIn(said, done.stderr)
        self.assertEqual(certain(self.read_json("r.json")), plain)


def drawn_sharding(answer):
    """The same mapping with the loops of a GEMM changed."""
    changed = copy.deepcopy(answer)
    changed["sharding"]["A"] = "K" if answer["sharding"]["A"] != "K" else "N"
    return changed


class ReadBack(CliTest):
    """Every result of every kind is a hint and a mapping, whatever options wrote it."""

    OPTIONS = (("--what-if",), ("--top", "3"), ("--count",), ("--robust",), ("--deterministic",),
               ("--gap", "0.5"))

    def test_the_product_of_kinds_and_options(self):
        for kind, text in KINDS.items():
            config = self.write("c.yaml", text)
            for count in (0, 1, 2):
                for options in itertools.combinations(self.OPTIONS, count):
                    words = [word for option in options for word in option]
                    with self.subTest(kind=kind, words=words):
                        done = self.run_tool(config, "--threads", "1", *words, "--json", "r.json",
                                             "--mapping", "m.json", status=(0, 2))
                        if done.returncode == 2:  # of this kind it is not asked
                            continue
                        self.read_back(config, "r.json")
                        self.assertEqual((self.folder / "m.json").read_bytes(),
                                         (self.folder / "r.json").read_bytes())

    def read_back(self, config, name):
        result = self.read_json(name)
        done = self.run_tool(config, "--threads", "1", "--hint", name, "--json", "again.json")
        self.assertNotIn("dropped", done.stderr)
        again = self.read_json("again.json")
        objective = result["objective"]
        if objective is not None:
            self.assertLessEqual(again["objective"], objective * (1 + 1e-12))
        self.assertEqual(again["status"], "optimal")
        done = self.run_tool("evaluate", config, "--mapping", name, "--json", "again.json")
        again = self.read_json("again.json")
        self.assertEqual((again["status"], again["objective"]), ("feasible", objective))


    def test_plans_of_layers_of_several_kinds_are_read_back(self):
        config = CONFIGS / "training/nemotron_3_nano_8_gb200.yaml"
        found = self.result(config)
        self.write("r.json", json.dumps(found))
        again = self.result(config, "--hint", "r.json")
        self.assertEqual(again["objective"], found["objective"])
        self.run_tool("evaluate", config, "--mapping", "r.json", "--json", "again.json")
        again = self.read_json("again.json")
        self.assertEqual(again["objective"], found["objective"])


if __name__ == "__main__":
    support.main()
