#!/usr/bin/env python3
"""Configs of kind llm_serving: worked cases of an independent evaluator, deployments at random
against tests/support/reference_serving.py, options, exit statuses and wrong inputs.

usage: serving_test.py DFSEARCH [TEST ...]
"""

import copy
import itertools
import json
import math
import pathlib
import random
import re
import sys

import kinds
import support
from support import CliTest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))
import reference_serving as twin  # noqa: E402

CONFIG = str(ROOT / "configs" / "serving" / "llama3_70b_16_h100.yaml")
CASES = json.loads((ROOT / "tests" / "golden" / "serving_cases.json").read_text())["cases"]
SMALL = kinds.DEPLOYMENT | {"serving": {
    "pools": kinds.DEPLOYMENT["serving"]["pools"], "tensor": [1, 2, 4], "pipeline": 1,
    "attention_data": 1, "batch": [1, 4, 16, 64], "chunk": [512], "prefill": {"batch": 1}}}
EXPERTS = {"count": 6, "used": 2, "mlp": 1024}


def changed(config, path, value):
    config = copy.deepcopy(config)
    *way, last = path.split(".")
    at = config
    for key in way:
        at = at[int(key)] if isinstance(at, list) else at[key]
    if value is None:
        del at[last]
    else:
        at[last] = value
    return config


class ServingTest(CliTest):
    def solve(self, config, *arguments, status=0):
        self.write("c.json", json.dumps(config))
        done = self.run_tool("c.json", "--quiet", "--json", "-", *arguments, status=status)
        return json.loads(done.stdout)

    def evaluate(self, config, deployment):
        self.write("c.json", json.dumps(config))
        self.write("d.json", json.dumps(deployment))
        done = self.run_tool("evaluate", "c.json", "--mapping", "d.json", "--json", "-",
                             status=(0, 3, 5))
        return json.loads(done.stdout)["serving"]

    def agree(self, got, want, most=1e-11):
        for key, value in want.items():
            if value is None or (isinstance(value, float) and math.isinf(value)):
                self.assertIsNone(got[key], key)
            elif isinstance(value, (int, float)):
                self.assertLessEqual(abs(got[key] - value), most * abs(value), key)
            else:
                self.assertEqual(got[key], value, key)

    def test_worked_deployments(self):
        for case in CASES:
            if "deployment" not in case or case["deployment"] is None:
                continue
            with self.subTest(case["name"]):
                want = dict(case["expect"])
                want.pop("mode")
                self.agree(self.evaluate(case["input"], case["deployment"])["figures"], want)

    def test_worked_searches(self):
        for case in CASES:
            if case.get("deployment"):
                continue
            with self.subTest(case["name"]):
                want = case["expect"]
                status = 3 if want.get("best", 1) is None else 0
                got = self.solve(case["input"], "--count", "--threads", "2", status=status)
                self.assertEqual(got["search"]["deployments"], want["deployments"])
                self.assertEqual(got["search"]["feasible"], want["feasible"])
                if "front" in want:
                    # Either of two equal points may be listed.
                    self.assertEqual(len(got["serving"]["front"]), len(want["front"]))
                    for point, step in zip(got["serving"]["front"], want["front"]):
                        keys = ("tokens_per_s_per_user", "tokens_per_s_per_chip",
                                "dollars_per_mtoken")
                        self.agree(point, {key: step[key] for key in keys}, 1e-9)
                elif want["best"]:
                    self.assertEqual(got["serving"]["best"], want["best"])
                    figures = dict(want["figures"])
                    figures.pop("mode")
                    self.agree(got["serving"]["figures"], figures)

    def test_deployments_at_random_are_those_of_the_twin(self):
        dice, windows, values = random.Random(7), random.Random(8), random.Random(10)
        for world in range(150):
            config = copy.deepcopy(dice.choice(CASES)["input"])
            if windows.random() < 0.6:
                model = config["workload"]["model"]
                model["window"] = windows.choice([1, 60, 900, 3000])
                if windows.random() < 0.7:
                    model["full_attention_every"] = windows.randint(2, min(7, model["layers"]))
            if values.random() < 0.5:
                config["workload"]["model"]["value_dim"] = values.choice([16, 64, 100, 200])
            config["serving"].pop("limits", None)
            config["serving"]["cache_reserve"] = dice.choice(["full", "mean", "max"])
            for pool in config["serving"]["pools"]:
                pool["chips"] = 64
            reference = twin.World(config)
            one = {name: [dice.choice(values)] for name, values in {
                "tensor": [1, 2, 4, 8], "pipeline": [1, 2, 3], "attention_data": [1, 2],
                "expert": [1, 2], "batch": [1, 3, 17, 150], "chunk": [100, 1500, 9000],
                "replicas": [1, 2]}.items()}
            config["serving"].update(one, modes=[dice.choice(["aggregated", "disaggregated"])],
                                     prefill={"batch": [dice.choice([1, 3])]})
            reference = twin.World(config)
            for deployment in itertools.islice(twin.deployments(reference), 1):
                with self.subTest(world=world, deployment=deployment):
                    want = reference.evaluate(deployment)
                    want.pop("mode")
                    self.agree(self.evaluate(config, deployment)["figures"], want, 1e-10)

    def test_jobs_are_those_of_the_twin(self):
        dice = random.Random(9)
        for world in range(12):
            config = copy.deepcopy(dice.choice(CASES)["input"])
            for key in ("rate", "concurrency", "rounds", "length_spread"):
                config["workload"].pop(key, None)
            config["workload"]["num_requests"] = dice.choice([1, 3, 20, 100])
            config["serving"].pop("limits", None)
            config["serving"]["chunked_prefill"] = dice.random() < 0.5
            for pool in config["serving"]["pools"]:
                pool["chips"] = 64
                if dice.random() < 0.6:
                    pool["system"].setdefault("engine", {})["graph_sizes"] = [1, 2, 8, 32, 128]
            config["serving"].update(modes=["aggregated"], tensor=[dice.choice([1, 4])],
                                     pipeline=[dice.choice([1, 2])], attention_data=[1], expert=[1],
                                     batch=[dice.choice([7, 17, 150])], replicas=[1, 2],
                                     chunk=[dice.choice([300, 1500, 9000])])
            reference = twin.World(config)
            for deployment in itertools.islice(twin.deployments(reference), 2):
                with self.subTest(world=world, deployment=deployment):
                    want = reference.evaluate(deployment)
                    want.pop("mode")
                    got = self.evaluate(config, deployment)["figures"]
                    self.assertGreater(got["makespan"], 0)
                    self.agree(got, want, 1e-9)

    def test_precisions_are_a_choice_like_others(self):
        every = {"weights": ["bf16", "fp8"], "cache": ["fp8", "bf16"]}
        config = changed(SMALL, "workload.precision", every)
        best = self.solve(config, "--count", "--mapping", "m.json")
        alone = [self.solve(changed(SMALL, "workload.precision", dict(zip(every, numbers))), "--count")
                 for numbers in itertools.product(*every.values())]
        for key in ("deployments", "feasible"):
            self.assertEqual(best["search"][key], sum(one["search"][key] for one in alone))
        self.assertEqual(best["serving"]["value"], max(one["serving"]["value"] for one in alone))
        self.assertEqual(best["serving"]["best"]["precision"],
                         {"weights": "fp8", "cache": "fp8", "products": "fp8", "head": "fp8"})
        self.write("c.json", json.dumps(config))
        done = self.run_tool("evaluate", "c.json", "--mapping", "m.json", "--json", "-")
        self.assertEqual(json.loads(done.stdout)["serving"]["value"], best["serving"]["value"])
        self.assertIn("# weights in fp8\n", self.run_tool("emit", "m.json", "--for", "vllm").stdout)

    def test_a_pool_takes_the_machine_of_a_file_that_says_chips_and_strategies(self):
        for name in ("sn40l_16x1_ring", "sn10_8x1_ring"):
            config = changed(SMALL, "serving.pools.0.system", {"from": name})
            self.assertEqual(self.solve(config)["pools"][0]["chips"], 8)

    def test_a_layer_with_dataflow_takes_what_its_best_mapping_does(self):
        # The smaller ones hold a third of a layer: three and four partitions.
        sizes = (("520 MB", 4096), ("520 MB", 65536), ("17 MB", 4096), ("12 MB", 4096))
        for overlap, (sram, context) in itertools.product(("none", "perfect", "compute_memory"),
                                                          sizes):
            done = self.run_tool(
                ROOT / "configs" / "llama3_8b_decode.yaml", "--quiet", "--json", "-",
                *(word for change in (f"execution.overlap={overlap}", "equations=physical",
                                      "execution.partitions=8", f"workload.context={context}",
                                      f"system.accelerator.sram={sram}")
                  for word in ("--set", change)))
            mapped = json.loads(done.stdout)
            self.assertEqual(mapped["status"], "optimal")
            served = self.solve({
                "workload": {
                    "kind": "llm_serving", "input": context - 1, "prefix": context - 2, "output": 2,
                    "model": {"hidden": 4096, "layers": 32, "heads": 32, "mlp": 14336,
                              "gated": False, "vocabulary": 1}},
                "serving": {
                    "pools": [{"name": "x", "chips": 16, "system": {
                        "from": "sn40l_16x1_ring", "accelerator": {"sram": sram},
                        "execution": {"style": "dataflow", "overlap": overlap},
                        "engine": {"shares": {"matrix": 0.9, "attention": 0.9}}}}],
                    "modes": "aggregated", "tensor": 16, "batch": 1,
                    "objective": "interactivity"}})
            longer = (mapped["serving"]["time_per_output_token"]
                      / served["serving"]["figures"]["iteration"])
            self.assertGreaterEqual(longer, 1)
            self.assertLess(longer, 1.003)

    def test_a_result_is_a_deployment_file_and_a_hint(self):
        self.run_tool(CONFIG, "--quiet", "--json", "r.json", "--mapping", "m.json")
        best = self.read_json("r.json")["serving"]
        done = self.run_tool("evaluate", CONFIG, "--mapping", "m.json", "--json", "-")
        again = json.loads(done.stdout)["serving"]
        self.assertEqual(again["best"], best["best"])
        self.assertEqual(again["figures"], best["figures"])
        hinted = self.run_tool(CONFIG, "--quiet", "--hint", "m.json", "--json", "-")
        self.assertEqual(json.loads(hinted.stdout)["serving"]["best"], best["best"])
        dropped = self.run_tool(CONFIG, "--quiet", "--hint", "m.json",
                                "--set", "serving.limits.tpot=19 ms")
        self.assertIn("the hint does not fit and is dropped: it breaks tpot", dropped.stderr)

    def test_evaluate_judges_a_deployment_as_the_search_does(self):
        """At the low end of the memory of a server's release alone: no proof either way."""
        config = {
            "workload": {"kind": "llm_serving", "model": "llama3_70b", "input": 1000,
                         "output": 500},
            "serving": {"pools": [{"name": "h", "chips": 2, "system": {
                "from": "h100_dgx", "engine": "vllm_h100", "memory": {"capacity": "85 GB"}}}],
                        "modes": "aggregated", "objective": "throughput"}}
        searched = self.solve(config, status=5)
        self.write("d.json", json.dumps(searched["serving"]["may_not_fit"]))
        key = "serving.pools.0.system.memory.capacity"
        # 70.6 GB of weights and 0.9 of what a chip has; the passes of a server need 5 to 8 GB.
        for capacity, status, verdict in (("85 GB", 5, "no_solution"), ("84 GB", 3, "infeasible"),
                                          ("95 GB", 0, "feasible")):
            self.write("c.json", json.dumps(changed(config, key, capacity)))
            given = self.run_tool("evaluate", "c.json", "--mapping", "d.json", "--json", "e.json",
                                  status=status)
            judged = self.read_json("e.json")
            self.assertEqual(judged["status"], verdict)
            self.assertEqual(judged["serving"]["may_not_fit"] is not None, status == 5)
            self.assertEqual("at the low end of the memory only" in given.stdout, status == 5)
            if status == 5:
                self.assertEqual(judged["serving"]["may_not_fit"],
                                 searched["serving"]["may_not_fit"])
        self.run_tool("evaluate", "c.json", "--mapping", "d.json", "--set", f"{key}=85 GB",
                      "--set", "serving.limits.tpot=1 us", status=3)
        # A fleet of this deployment alone, which serves 0.01 requests a second and no 100.
        part = {"model": "a", "count": 1, "deployment": searched["serving"]["may_not_fit"]}
        self.write("f.json", json.dumps({"serving": {"fleet": [part]}}))
        fleet = {"serving": changed(config["serving"], "objective", "cost")}
        fleet["serving"]["pools"][0]["system"]["price"] = "2 $/h"
        for capacity, rate, status in (("85 GB", 0.01, 5), ("84 GB", 0.01, 3), ("95 GB", 0.01, 0),
                                       ("85 GB", 100, 3)):
            model = {"name": "a", "workload": config["workload"] | {"rate": f"{rate} /s"}}
            self.write("c.json", json.dumps(changed(fleet, key, capacity)
                                            | {"fleet": {"models": [model], "budget": {}}}))
            given = self.run_tool("evaluate", "c.json", "--mapping", "f.json", status=status)
            self.assertEqual("at the low end of the memory only" in given.stdout, status == 5)
            if status == 5:
                self.run_tool("c.json", "--quiet", status=5)

    def test_an_infeasible_question_says_what_would_help(self):
        config = SMALL | {"serving": SMALL["serving"] | {"limits": {"tpot": "1 us"}}}
        result = self.solve(config, status=3)
        remedy, = result["infeasible"]["remedies"]
        self.assertEqual(remedy["limit"], "tpot")
        self.assertIn("infeasible, proved: no deployment satisfies limits.tpot of 1 us\n",
                      self.run_tool("c.json", status=3).stdout)
        config["serving"]["limits"]["tpot"] = f"{remedy['enough']} s"
        self.assertEqual(self.solve(config)["serving"]["figures"]["tpot"], remedy["enough"])
        less = math.nextafter(remedy["enough"], 0)
        self.solve(changed(config, "serving.limits.tpot", f"{less} s"), status=3)

    def test_where_no_limit_is_given_the_report_says_what_is_in_the_way(self):
        small = changed(SMALL, "serving.pools.0.system.memory.capacity", "50 MB")
        result = self.solve(small, status=3)
        report = " ".join(self.run_tool("c.json", status=3).stdout.split())
        self.assertIn("infeasible, proved: no deployment satisfies the memory of the chips", report)
        remedy, = result["infeasible"]["remedies"]
        self.assertEqual(remedy["limit"], "memory")
        for bytes_, status in ((remedy["enough"], 0), (remedy["enough"] - 1, 3)):
            self.solve(changed(small, "serving.pools.0.system.memory.capacity",
                               f"{bytes_:.0f} B"), status=status)
        closed = changed(changed(SMALL, "workload.concurrency", 3), "serving.batch", 4)
        self.solve(closed)  # users who have no slot wait for one
        closed = changed(closed, "serving.modes", "disaggregated")
        figures = self.solve(closed)["serving"]["figures"]  # and so with prefill apart
        self.assertAlmostEqual(figures["requests_per_s"] * figures["e2e"], 3, delta=1e-9)

    def test_open_loops_of_an_independent_program(self):
        """Llama 8B on one H100 at a light and a heavy load, by a program that shares no code."""
        model = {"hidden": 4096, "layers": 32, "heads": 32, "kv_heads": 8, "head_dim": 128,
                 "mlp": 14336, "vocabulary": 128256}
        engine = {"layer": "50 us", "request": "10 us", "prefill": "5 ms", "answer": "30 ms",
                  "usable": 0.9, "shares": {"matrix": 0.7, "attention": 0.5, "memory": 0.9,
                                            "cache": 0.7, "network": 0.75}}
        h100 = {"peak": "989 TFLOP/s", "memory": {"bandwidth": "3350 GB/s", "capacity": "85 GB"},
                "network": [{"degree": 8, "bandwidth": "450 GB/s", "latency": "2 us"}],
                "engine": engine}
        for rate, tpot, ttft, share in (
                (2, 0.007167670211737, 0.06211966352626, 0.01442937888164),
                (18, 0.02084576202115, 0.09219106390705, 0.2955384937741)):
            config = {"workload": {"kind": "llm_serving", "model": model, "input": 1000,
                                   "output": 200, "rate": f"{rate} /s", "length_spread": 0.3},
                      "serving": {"pools": [{"name": "h100", "chips": 1, "system": h100}],
                                  "modes": ["aggregated"], "tensor": [1], "pipeline": [1],
                                  "batch": [300], "chunk": [2048]}}
            figures = self.solve(config)["serving"]["figures"]
            self.agree(figures, {"tpot": tpot, "ttft": ttft, "mixed_share": share}, 1e-11)

    def test_a_rate_that_is_the_capacity_is_served(self):
        fp8 = {"weights": "fp8", "cache": "fp8"}
        h100 = {"from": "h100_dgx", "peak": {"bf16": "989 TFLOP/s", "fp8": "1979 TFLOP/s"},
                "price": "2 $/h", "power": "700 W", "engine": "typical"}
        sn40l = {"from": "sn40l_16x1_ring", "price": "2 $/h", "power": "700 W",
                 "execution": {"style": "dataflow", "overlap": "none"}}
        for system, precision, choices in (
                (h100, fp8, {"modes": "disaggregated", "utilization": {"decode": 0.9, "prefill": 0.95},
                             "prefill": {"tensor": 4, "replicas": 8, "batch": 1},
                             "decode": {"tensor": 4, "replicas": 3, "batch": "1..13"}}),
                (sn40l, {}, {"modes": "aggregated", "tensor": 1, "pipeline": 8, "chunk": [512],
                             "replicas": 1, "attention_data": 1, "batch": "1..1"})):
            config = {"workload": {"kind": "llm_serving", "model": "llama3_70b", "input": 2000,
                                   "output": 500, "precision": precision},
                      "serving": {"pools": [{"name": "x", "chips": 128, "system": system}],
                                  "pipeline": 1, "objective": "cost"} | choices}
            best = self.solve(config)["serving"]
            rate = f"{best['figures']['capacity']} /s"
            again = self.solve(changed(config, "workload.rate", rate))["serving"]
            self.assertEqual((again["best"], again["value"]), (best["best"], best["value"]))

    def test_what_is_left_out_is_searched(self):
        for model, chips in ((None, 4), (EXPERTS, 6)):
            for modes in ("aggregated", "disaggregated"):
                config = copy.deepcopy(SMALL)
                if model:
                    config["workload"]["model"]["experts"] = model
                    del config["workload"]["model"]["mlp"]  # all layers have experts
                    config["serving"]["pools"][0]["system"]["network"][0]["degree"] = 8
                config["serving"] = {"pools": config["serving"]["pools"], "modes": [modes],
                                     "batch": [1, 7, 40], "prefill": {"batch": [1, 3]},
                                     "limits": {"ttft": "30 ms"}}
                config["serving"]["pools"][0]["chips"] = chips
                with self.subTest(experts=bool(model), modes=modes):
                    world = twin.World(config)
                    of_twin = [(one, world.evaluate(one)) for one in twin.deployments(world)]
                    kept = [figures for _, figures in of_twin if not figures["infeasible"]]
                    found = self.solve(config, "--count")
                    self.assertEqual(found["search"]["deployments"], len(of_twin))
                    self.assertEqual(found["search"]["feasible"], len(kept))
                    most = max(figures["tokens_per_s"] for figures in kept)
                    self.assertAlmostEqual(found["serving"]["value"] / most, 1, delta=1e-9)
        # Pinned replicas leave the ranks open; batches have the limits of the page.
        pinned = {"pools": SMALL["serving"]["pools"], "replicas": 1, "limits": {"ttft": "30 ms"}}
        listed = pinned | {"tensor": [1, 2, 4, 8], "pipeline": "1..8", "attention_data": "1..8",
                           "expert": 1, "batch": "1..1024", "prefill": {"batch": "1..1024"},
                           "chunk": [1 << i for i in range(4, 17)]}
        results = [self.solve(SMALL | {"serving": each}) for each in (pinned, listed)]
        self.assertEqual(results[0]["serving"], results[1]["serving"])
        self.assertEqual(results[0]["search"]["deployments"], results[1]["search"]["deployments"])

    def test_a_framework_gets_the_best_of_what_it_runs(self):
        config = copy.deepcopy(SMALL)
        config["workload"]["model"]["experts"] = {"count": 8, "used": 2, "mlp": 1024}
        del config["workload"]["model"]["mlp"]  # no layer is without experts
        config["workload"]["speculation"] = {"kind": "mtp", "acceptance": 0.8, "depths": [0, 2]}
        config["serving"] |= {"modes": ["aggregated"], "pipeline": [1, 2], "expert": [1, 2, 4, 8],
                              "attention_data": [1, 2], "objective": "interactivity"}

        def best(framework=None, depths=(0, 2), **lists):
            asked = config | {
                "workload": config["workload"] | {"speculation":
                    config["workload"]["speculation"] | {"depths": list(depths)}},
                "serving": config["serving"] | lists
                | ({"framework": framework} if framework else {})}
            return self.solve(asked)

        staged = ({"depths": [0]}, {"pipeline": 1})
        lists = {
            "vllm": [{"tensor": t, "attention_data": a, "expert": [1, t * a] if t * a > 1 else 1}
                     | rest for t, a in itertools.product((1, 2, 4), (1, 2)) for rest in staged],
            "sglang": [{"pipeline": 1, "depths": [0]}],
            "trtllm": [one | rest for one in ({"tensor": 1}, {"attention_data": 1})
                       for rest in staged]}
        of_any = best()
        gains = []
        for framework, choices in lists.items():
            with self.subTest(framework):
                found = best(framework)
                least = min(best(**one)["objective"] for one in choices)
                self.assertEqual(found["objective"], least)
                said = found["framework"]
                self.assertEqual((said["name"], said["value_of_any"], said["bound_of_any"]),
                                 (framework, of_any["serving"]["value"],
                                  of_any["serving"]["value"]))
                self.assertEqual(said["of_any"][0]["deployment"], of_any["serving"]["best"])
                self.assertEqual(said["gain"], found["objective"] / of_any["objective"] - 1.0)
                gains.append(said["gain"])
                self.write("r.json", json.dumps(found))
                self.run_tool("emit", "r.json", "--for", framework)  # status 0: it runs
        self.assertGreater(max(gains), 0.0)
        self.write("r.json", json.dumps(of_any))
        refused = [each for each in lists if self.run_tool("emit", "r.json", "--for", each,
                                                           status=(0, 3)).returncode == 3]
        self.assertGreater(len(refused), 0)
        for each in refused:
            self.assertIn("# cannot be run: ",
                          self.run_tool("emit", "r.json", "--for", each, "--anyway").stdout)

    def test_a_framework_of_fronts_fleets_and_hints(self):
        front = ("serving.objective=front", "serving.pipeline=[1, 2]", "serving.framework=sglang")
        words = [word for each in front for word in ("--set", each)]
        self.write("c.json", json.dumps(SMALL))
        self.assertRegex(self.run_tool("c.json", *words).stdout,
                         r"framework +sglang; the front of any framework is .* better, proved: \d+ "
                         "deploy")
        fleet = changed(self.fleet(), "serving.framework", "vllm")
        self.assertEqual(self.solve(fleet)["framework"]["gain"], 0.0)
        pinned = SMALL | {"serving": SMALL["serving"] | {"pipeline": 2, "modes": ["aggregated"]}}
        self.solve(pinned, "--mapping", "m.json")
        open_ = changed(SMALL, "serving.pipeline", [1, 2])
        self.write("c.json", json.dumps(changed(open_, "serving.framework", "sglang")))
        dropped = self.run_tool("c.json", "--quiet", "--hint", "m.json")
        self.assertIn("is dropped: sglang does not run it", dropped.stderr)

    def test_a_study_of_chips_models_requests_and_limits(self):
        study = ROOT / "configs" / "studies" / "serving_chips.yaml"
        self.run_tool("study", study, "-o", "s")
        rows = self.read_rows("s", "results.ndjson")
        self.assertEqual(len(rows), 72)
        dice = random.Random(1)
        for row in dice.sample(rows, 6):
            printed = self.run_tool("study", study, "--print", str(row["index"])).stdout
            self.write("p.yaml", printed)
            status = 3 if row["status"] == "infeasible" else 0
            done = self.run_tool("p.yaml", "--quiet", "--json", "-", status=status)
            self.assertEqual(json.loads(done.stdout)["serving"]["figures"],
                             row["serving"]["figures"])
        best = self.read_json("s", "front.json")["points"]
        cost = [row["serving"]["figures"]["dollars_per_mtoken"] for row in rows
                if row["status"] == "optimal"]
        self.assertEqual([point["dollars_per_mtoken"] for point in best], [min(cost)])

    def fleet(self, **budget):
        """The same requests as two models on two pools."""
        pool = SMALL["serving"]["pools"][0]
        cheap = changed(pool, "system.price", "0.4 $/h") | {"name": "cheap", "chips": 2}
        cheap["system"]["memory"] = {"bandwidth": "1 TB/s", "capacity": "64 GB"}
        models = [{"name": name, "workload": SMALL["workload"] | {"rate": f"{rate} /s"},
                   "limits": {"tpot": "2 ms"}} for name, rate in (("a", 1), ("b", 120))]
        return {"fleet": {"models": models, "budget": budget},
                "serving": SMALL["serving"] | {"pools": [pool, cheap], "objective": "cost"}}

    def test_the_cheapest_mix_serves_all_rates(self):
        result = self.solve(self.fleet(), "--html", "page.html")
        self.assertIn("Fleet", (self.folder / "page.html").read_text())
        serving = result["serving"]
        dollars = {pool["name"]: pool["price"] for pool in result["pools"]}
        cost = 0
        for name, rate in (("a", 1), ("b", 120)):
            parts = [part for part in serving["fleet"] if part["model"] == name]
            self.assertGreaterEqual(sum(p["count"] * p["capacity"] for p in parts), rate)
            for part in parts:
                self.assertLessEqual(part["tpot"], 2e-3)
                roles = [part["deployment"].get(key) for key in ("prefill", "decode")]
                for role in filter(None, roles if any(roles) else [part["deployment"]]):
                    chips = role["tensor"] * role["pipeline"] * role["attention_data"]
                    cost += part["count"] * role["replicas"] * chips * dollars[role["pool"]]
        self.assertAlmostEqual(cost, serving["value"])
        self.assertEqual(result["objective"], serving["value"])
        # Joules of a deployment are those that it has alone at its capacity.
        config = self.fleet()
        for pool in config["serving"]["pools"]:
            del pool["system"]["power"]
            pool["system"]["energy"] = {"static": "100 W", "memory": "5 pJ/bit"}
        alone = {"workload": SMALL["workload"],
                 "serving": config["serving"] | {"limits": {"tpot": "2 ms"}}}
        for before, part in zip(serving["fleet"], self.solve(config)["serving"]["fleet"]):
            tokens = before["capacity"] * SMALL["workload"]["output"]
            self.assertAlmostEqual(before["joule_per_token"] * tokens, 500 * before["chips"])
            self.assertEqual(before, part | {"joule_per_token": before["joule_per_token"]})
            figures = self.evaluate(alone, part["deployment"])["figures"]
            self.assertGreater(part["joule_per_token"], 0)
            self.assertEqual(part["joule_per_token"], figures["joule_per_token"])
        # A budget of just that is enough, and with less nothing is.
        self.assertEqual(self.solve(self.fleet(price=f"{cost} $/h"))["serving"]["value"], cost)
        self.solve(self.fleet(price=f"{cost * 0.999} $/h"), status=3)
        chips = self.solve(self.fleet() | {"serving": self.fleet()["serving"]
                                           | {"objective": "chips"}})["objective"]
        self.solve(self.fleet(chips=int(chips)))
        self.solve(self.fleet(chips=int(chips) - 1), status=3)


class Waiting(CliTest):
    def test_what_is_known_to_be_off_stands_beside_what_is_recommended(self):
        page = (ROOT / "docs" / "serving.md").read_text()
        points, off, bias = re.search(
            r"^ +(\d+) +([\d.]+) +[\d.]+ +([-+][\d.]+) .* disaggregated$", page, re.M).groups()
        config = ROOT / "configs" / "serving" / "llama3_70b_16_h100.yaml"
        report = re.sub(r"\s+", " ", self.run_tool(config).stdout)
        told = re.search(r"for (\d+) measured deployments with separate prefill, predicted times per "
                         r"token are (\d+) % off, (\d+) % too (fast|slow) on average.* By the model "
                         r"it is ([\d.]+) % better than the best aggregated deployment, which is "
                         r"(less|more) than that error", report)
        self.assertEqual(told.groups()[:4], (points, f"{float(off):.0f}", f"{abs(float(bias)):.0f}",
                                             "fast" if bias[0] == "-" else "slow"))
        alone = [self.result(config, "--set", f"serving.modes={mode}")["tokens_per_second"]
                 for mode in ("disaggregated", "aggregated")]
        ahead = 100.0 * (alone[0] / alone[1] - 1.0)
        self.assertAlmostEqual(float(told[5]), ahead, delta=0.01)
        self.assertEqual(told[6], "less" if ahead < int(told[2]) else "more")
        aggregated = self.run_tool(config, "--set", "serving.modes=aggregated").stdout
        self.assertNotIn("separate prefill", aggregated)
        caution = "no deployment was measured with typical"  # which is fitted to nothing
        self.assertIn(caution, aggregated)
        self.assertNotIn(caution, self.run_tool(
            config, "--set", "serving.modes=aggregated", "--set",
            "serving.pools.0.system.engine=vllm_h100").stdout)

    def test_requests_of_one_token_have_no_speed(self):
        one = changed(SMALL, "workload.output", 1)
        for objective in ("throughput", "cost", "energy", "chips", "ttft", "e2e"):
            for flags in ((), ("--top", "2"), ("--verbose",)):
                for loop in ((), ("--set", "workload.concurrency=8"), ("--set", "workload.rate=9 /s")):
                    with self.subTest(objective=objective, flags=flags, loop=loop):
                        self.write("one.json", json.dumps(one))
                        done = self.run_tool("one.json", "--set", f"serving.objective={objective}",
                                             *loop, *flags, "--json", "r.json")
                        text = done.stdout + (self.folder / "r.json").read_text()
                        self.assertNotRegex(text, r"(?i)\b(inf|nan)\b")
                        self.assertIn("first token", text)

    def test_chips_that_stay_idle_are_told(self):
        config = ROOT / "configs" / "serving" / "llama3_70b_16_h100.yaml"
        result = self.result(config, "--set", "serving.pools.0.chips=19")
        used = result["serving"]["figures"]["chips"]
        self.assertLess(used, 19)
        report = self.run_tool(config, "--set", "serving.pools.0.chips=19").stdout
        self.assertIn(f"\nidle          {19 - used} of 19 chips h100\n", report)
        self.assertNotIn("\nidle ", self.run_tool(config).stdout)

    def test_a_queue_that_grows_without_end_is_reported(self):
        for limits, waits in (("{tpot: 50 ms}", True), ("{tpot: 50 ms, ttft: 2 s}", False)):
            report = self.run_tool(CONFIG, "--set", f"serving.limits={limits}",
                                   "--json", "r.json").stdout
            ttft = self.read_json("r.json")["serving"]["figures"]["ttft"]
            self.assertEqual(ttft is None, waits)
            self.assertEqual("so the queue grows without end" in " ".join(report.split()), waits)


class Speculation(CliTest):
    """Figure 21 of DFModel: its observations, and its times from the equations of its set-ups."""

    MODELS = {"68M": (768, 2, 3072), "8B": (4096, 32, 14336), "70B": (8192, 80, 28672),
              "405B": (16384, 126, 53248)}
    WINDOWS = range(1, 9)

    def published(self, model, tokens):
        """Seconds of a pass: FLOP, bytes and exchanges one after the other."""
        hidden, layers, mlp = self.MODELS[model]
        parameters = 4 * hidden**2 + 2 * hidden * mlp
        compute = tokens * (2 * parameters + 4 * 4096 * hidden) / (16 * 0.9 * 638.976e12)
        memory = (2 * parameters + 4 * 4096 * hidden) / (16 * 1638.4e9)
        network = 2 * (2 * 15 / 16 * 2 * hidden * tokens / 50e9 + 30 * 150e-9)
        return layers * (compute + memory + network)

    def test_the_observations_of_the_figure(self):
        self.run_tool("study", ROOT / "configs" / "studies" / "speculation.yaml", "-o", "s")
        rows = self.read_rows("s", "results.ndjson")
        self.assertEqual(len(rows), 144)
        speed = {}
        for row in rows:
            at = row["point"]
            where = at["kind"], at["draft"], float(at["acceptance"]), int(at["window"])
            speed[where] = 1 / row["serving"]["time_per_output_token"]

        def best(kind, draft, acceptance):
            return max(self.WINDOWS, key=lambda window: speed[kind, draft, acceptance, window])

        for draft, acceptance, window in ((d, a, w) for d in ("68M", "8B", "70B")
                                          for a in (0.5, 0.7, 0.9) for w in self.WINDOWS):
            gained = (1 - acceptance**(window + 1)) / (1 - acceptance)
            expected = gained / (window * self.published(draft, 1)
                                 + self.published("405B", window + 1))
            self.assertAlmostEqual(speed["sequence", draft, acceptance, window] / expected, 1,
                                   delta=0.02)
            # Trees need the smallest draft.
            self.assertLessEqual(speed["tree", draft, acceptance, window],
                                 speed["tree", "68M", acceptance, window])
        for acceptance in (0.5, 0.7, 0.9):
            # Trees need a short window, where they may be better than sequences.
            self.assertIn(best("tree", "68M", acceptance), (3, 4, 5))
            self.assertGreater(speed["tree", "68M", acceptance, 3],
                               speed["sequence", "68M", acceptance, 3])
            self.assertLess(speed["tree", "68M", acceptance, 8],
                            speed["sequence", "68M", acceptance, 8] / 1.5)
            # In sequences 68M and 8B are good, 70B is too heavy.
            top = [speed["sequence", draft, acceptance, best("sequence", draft, acceptance)]
                   for draft in ("68M", "8B", "70B")]
            self.assertGreater(top[1], 0.8 * top[0])
            self.assertLess(top[2], 0.7 * top[0])
        # Window and acceptance raise sequences together.
        for draft in ("68M", "8B"):
            self.assertEqual(best("sequence", draft, 0.9), 8)
            self.assertLess(best("sequence", draft, 0.5), best("sequence", draft, 0.7) + 1)
            for window in self.WINDOWS:
                values = [speed["sequence", draft, acceptance, window]
                          for acceptance in (0.5, 0.7, 0.9)]
                self.assertEqual(values, sorted(values))


if __name__ == "__main__":
    support.main()
