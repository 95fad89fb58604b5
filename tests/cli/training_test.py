#!/usr/bin/env python3
"""Configs with a section `training`: shipped ones, plans that are given, limits, signals.

usage: training_test.py DFSEARCH [TEST ...]
"""

import itertools
import json
import re
import signal
import time

import support
from plan_case import CONFIGS, LARGE, ROOT, PlanCase, changes
from support import CliTest


class Solve(PlanCase):
    def test_shipped_configs_are_solved_with_a_proof(self):
        files = sorted((CONFIGS / "training").glob("*.yaml"))
        self.assertGreaterEqual(len(files), 9)
        for file in files:
            with self.subTest(file.name):
                result = self.result(file, "--quiet")
                self.assertEqual((result["status"], result["gap"]), ("optimal", 0))
                self.assertEqual(result["lower_bound"], result["step_time"])
                head = self.run_tool("check", file).stdout
                chips, layers = (int(re.search(rf"(\d+) {what}", head)[1])
                                 for what in ("chips", "layers"))
                self.check_whole(result, chips, layers)
                self.assertIn(f"model         {result['model']['parameters']} parameters", head)

    def test_the_table_of_measured_steps_is_planned_with_its_degrees(self):
        # Korthikanti et al., arXiv 2205.05198, table 3: tensor, pipeline and micro-batch.
        for size, tensor, pipeline, micro_batch in (("22b", 8, 1, 4), ("175b", 8, 8, 1),
                                                    ("530b", 8, 35, 1), ("1t", 8, 64, 1)):
            for kind in ("full", "selective"):
                with self.subTest(f"{size} {kind}"):
                    result = self.result(CONFIGS / "training" / f"megatron_{size}_{kind}.yaml")
                    degrees = result["parallelism"]
                    self.assertEqual((degrees["tensor"], degrees["pipeline"],
                                      result["micro_batch"], result["plan"]["recompute"]),
                                     (tensor, pipeline, micro_batch, kind))

    def test_check_says_what_was_asked(self):
        text = self.run_tool("check", self.config).stdout
        self.assertRegex(text, r"c\.yaml: valid\nworkload      llm_training: 12 layers, hidden 1024")
        self.assertIn("\nmodel ", text)
        self.assertIn("\nmachine       16 chips of 102.4 TFLOP/s, 2 GB memory at 1 TB/s; switch",
                      text)

    def test_a_plan_can_stand_in_a_config(self):
        found = self.result(self.config)
        again = self.result(self.config, *changes(
            "training=" + json.dumps(found["plan"]),
            "parallelism=" + json.dumps(found["parallelism"]),
            f"workload.micro_batch={found['micro_batch']}"))
        for key in ("step_time", "parallelism", "network", "micro_batch", "plan", "time", "memory"):
            self.assertEqual(again[key], found[key])

    def test_given_layers_are_no_better_than_searched_ones(self):
        # The stages of least pace differ from the stages of the least step.
        given = changes("parallelism={tensor: 1, context: 1, pipeline: 4, data: 4}",
                        "training.schedule=1f1b", "system.memory.capacity=80 GB")
        free = self.result(self.config, *given)["step_time"]
        for layers in ([3, 3, 3, 3], [3, 4, 4, 1], [4, 4, 3, 1], [3, 4, 3, 2], [4, 3, 3, 2]):
            pinned = self.result(self.config, *given, *changes(f"training.layers={layers}"))
            self.assertLessEqual(free, pinned["step_time"])

    def test_limits(self):
        before = time.monotonic()
        large = self.result(self.config, *changes(*LARGE), "--time-limit", "1 ms", status=5)
        self.assertEqual(large["stopped_by"], "time")
        self.assertLess(time.monotonic() - before, 30)
        some = [self.run_tool(self.config, "--node-limit", nodes, "--threads", "1", status=(0, 4, 5))
                for nodes in range(2, 40)]
        kept = [done.stdout for done in some if done.returncode == 4]
        self.assertTrue(kept)
        self.assertIn("stopped by the node limit with a plan; gap ", kept[0])
        self.assertIn("\nparallelism ", kept[0])

    def test_a_signal_stops_a_long_search(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(number):
                process = self.start(self.config, *changes(*LARGE), "--json", "-")
                time.sleep(1)
                self.assertIsNone(process.poll(), "the search is too short to be stopped")
                process.send_signal(number)
                out, err = process.communicate(timeout=60)
                self.assertIn(process.returncode, (4, 5), err)
                self.assertEqual(json.loads(out)["stopped_by"], "signal")

    def test_a_given_plan_is_evaluated(self):
        self.run_tool(self.config, "--quiet", "--json", "r.json", "--top", "3")
        best = self.read_json("r.json")
        again = self.result("evaluate", self.config, "--mapping", "r.json")
        self.assertEqual((again["status"], again["lower_bound"], again["gap"]),
                         ("feasible", None, None))
        self.assertEqual((again["status"], again["step_time"]), ("feasible", best["step_time"]))
        self.assertEqual(again["plan"], best["plan"])
        self.assertIn("a plan that was given; it fits", self.run_tool(
            "evaluate", self.config, "--mapping", "r.json").stdout)
        second = best["top"][1]
        self.write("second.json", json.dumps(second))
        again = self.result("evaluate", self.config, "--mapping", "second.json")
        self.assertEqual(again["step_time"], second["step_time"])
        tight = ["--set", "system.memory.capacity=1 MB"]
        done = self.run_tool("evaluate", self.config, "--mapping", "r.json", *tight, status=3)
        self.assertIn("infeasible", done.stdout)

    def test_the_best_place_on_a_mesh_is_the_least_of_all(self):
        mesh = ("--set", "system.network=[{topology: mesh, width: 4, height: 4, "
                "bandwidth: 5 GB/s, latency: 1 us}]", "--set", "parallelism={tensor: 2, context: 2}",
                "--set", "parallelism.pipeline=2")
        best = self.result(self.config, *mesh)
        place = best["network"][0]
        times = {}
        for order in itertools.permutations(place["order"]):
            for fill in ("straight", "snake", "rows", "snake_rows"):
                best["network"] = [dict(place, order=order, fill=fill)]
                self.write("r.json", json.dumps(best))
                again = self.result("evaluate", self.config, *mesh, "--mapping", "r.json")
                self.assertEqual(again["network"], [dict(place, order=list(order), fill=fill)])
                times[order, fill] = again["step_time"]
        self.assertEqual(min(times.values()), best["step_time"])
        self.assertGreater(len(set(times.values())), 2)
        for wrong in ({"order": ["foo"]}, {"order": place["order"][1:]}, {"fill": "foo"},
                      {"degree": 16}, {"tensor": 3}):
            best["network"] = [dict(place, **wrong)]
            self.write("r.json", json.dumps(best))
            for command in (("evaluate", self.config, "--mapping"), (self.config, "--hint")):
                error = self.run_tool(*command, "r.json", *mesh, status=2).stderr
                self.assertIn("r.json:", error)
        for text, error in (("foo: 1", "unknown key 'foo'"), ("plan: 3", "plan: expected a map"),
                            ("micro_batch: [1]", "micro_batch: expected a number"),
                            ("network: 3", "network: expected a list")):
            self.write("h.yaml", "{parallelism: {tensor: 2}, " + text + "}")
            self.assertIn(error, self.run_tool("evaluate", self.config, "--mapping", "h.yaml",
                                               status=2).stderr)
        best["network"] = [place, place]
        self.write("r.json", json.dumps(best))
        self.assertIn("expected 1 dimensions, got 2", self.run_tool(
            "evaluate", self.config, "--mapping", "r.json", *mesh, status=2).stderr)


class Questions(CliTest):
    """The table of section 6 of docs/training.md."""

    ROW = re.compile(r"^\| [^|]+ \| `([\w/]+)` \| ([\d.]+) (m?s) \| ([\d.]+) % \|", re.MULTILINE)

    def test_the_answers_are_those_of_the_page(self):
        rows = self.ROW.findall((ROOT / "docs" / "training.md").read_text())
        self.assertEqual(len(rows), 7)
        for config, time_text, unit, share in rows:
            with self.subTest(config):
                result = self.result(CONFIGS / f"{config}.yaml", "--threads", "2")
                self.assertEqual(result["status"], "optimal")
                self.assertEqual(result["gap"], 0)
                step = result["step_time"] * (1e3 if unit == "ms" else 1.0)
                self.assertEqual(f"{step:.2f}", time_text)
                self.assertEqual(f"{100 * result['utilization']:.1f}", share)


if __name__ == "__main__":
    support.main()
