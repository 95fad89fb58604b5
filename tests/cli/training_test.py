#!/usr/bin/env python3
"""Configs with a section `training`: shipped ones, options, limits, signals, exit statuses, and the
tables of docs/formats.md and docs/results.md.

usage: training_test.py DFSEARCH [TEST ...]
"""

import json
import os
import pathlib
import re
import signal
import subprocess
import time
import unittest

import support
from support import CliTest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CONFIGS = ROOT / "configs"
FORMATS = (ROOT / "docs" / "formats.md").read_text()
RESULTS = (ROOT / "docs" / "results.md").read_text()
# 16 chips, everything left open; solved in milliseconds.
SMALL = """\
workload: {kind: llm_training, hidden: 1024, heads: 16, head_dim: 64, vocabulary: 32768,
           sequence: 1024, layers: 12, global_batch: 64}
system:
  chips: 16
  accelerator: {cores: 100, lanes: 32, stages: 16, frequency: 1 GHz, sram: 20 MiB}
  memory: {bandwidth: 1 TB/s, capacity: 2 GB}
  network:
    - {topology: switch, degree: 8, bandwidth: 300 GB/s, latency: 5 us}
    - {topology: ring, bandwidth: 25 GB/s, latency: 10 us}
execution:
  efficiency: {matrix: {efficiency: [[1 GFLOP, 0.9], [0 FLOP, 0.1]]}}
training: {}
"""
# Nothing of it can be proved in a second: thousands of micro-batches and degrees.
LARGE = ["workload.global_batch=735134400", "workload.layers=1260", "system.chips=5040"]
ROLES = ["tensor", "context", "expert", "pipeline", "data"]


def changes(*words):
    return [word for change in words for word in ("--set", change)]


def without_effort(result):
    return {key: value for key, value in result.items() if key != "search"}


class Solve(CliTest):
    def setUp(self):
        super().setUp()
        self.config = self.write("c.yaml", SMALL)

    def check_whole(self, result, chips, layers):
        """What holds of every result with a plan."""
        degrees = result["parallelism"]
        self.assertEqual(list(degrees), ROLES)
        product = 1
        for role in ("tensor", "context", "pipeline", "data"):
            product *= degrees[role]
        self.assertEqual(product, chips)
        shares = {role: 1 for role in ROLES}
        for dimension in result["network"]:
            for role, degree in dimension.items():
                if role not in ("order", "fill"):  # of a mesh
                    shares[role] *= degree
        shares["data"] *= shares["expert"]
        self.assertEqual(shares, degrees)
        self.assertEqual(sum(result["plan"]["layers"]), layers)
        self.assertEqual(len(result["plan"]["layers"]), degrees["pipeline"])
        self.assertAlmostEqual(sum(result["time"].values()) / result["step_time"], 1, delta=1e-12)
        self.assertLessEqual(result["lower_bound"], result["step_time"])
        memory = {"runtime": 0} | result["memory"]  # that of the runtime is counted with a stack
        parts = ("weights", "gradients", "optimizer", "activations", "working", "ends", "runtime")
        self.assertAlmostEqual(sum(memory[part] for part in parts) / memory["total"], 1,
                               delta=1e-12)

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

    def test_what_is_not_timed_with_a_stack_is_refused(self):
        config = CONFIGS / "training" / "llama3_70b_64_h100.yaml"
        second = "system.memory.second={bandwidth: 100 GB/s, capacity: 500 GB}"
        for key, value in (("schedule", "[1f1b, zb_h1]"), ("offload", "[weights]")):
            done = self.run_tool("check", config, "--set", second, "--set",
                                 f"training.{key}={value}", status=2)
            self.assertRegex(done.stderr, rf"{key}: expected .* not timed with a stack")

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
        self.assertEqual(self.run_tool("check", self.config, "--set", "training.zero=4",
                                       status=2).stderr,
                         "--set training.zero=4: zero: expected a whole number from 0 to 3, "
                         "got '4'\n")

    def test_any_number_of_threads_finds_the_same(self):
        expected = without_effort(self.result(self.config, "--threads", "1"))
        self.check_whole(expected, 16, 12)
        self.assertEqual(expected["status"], "optimal")
        for options in (["--threads", "2"], ["--threads", "64"], ["--deterministic"]):
            with self.subTest(options):
                self.assertEqual(without_effort(self.result(self.config, *options)), expected)

    def test_without_floors_the_answer_is_the_same_and_later(self):
        whole = self.result(self.config, "--deterministic")
        without = self.result(self.config, "--deterministic", "--no-bound", "floors")
        self.assertEqual(without_effort(without), without_effort(whole))
        self.assertGreater(without["search"]["nodes"], whole["search"]["nodes"])

    def test_a_framework_gets_the_best_of_what_it_runs(self):
        layouts = "training.layout=[least_sent, least_kept]"
        lists = {
            "megatron": [["training.schedule=[1f1b, interleaved]", layouts]],
            "torchtitan": [["training.schedule=[1f1b, interleaved, gpipe]", *ranks, *zero]
                           for ranks in (["parallelism.tensor=1"], ["training.layout=least_kept"])
                           for zero in (["training.zero=[2, 3]"],
                                        ["training.zero=0", "parallelism.context=1"])],
            "deepspeed": [["training.schedule=1f1b", "training.zero=[0, 1]", layouts],
                          ["training.schedule=1f1b", "parallelism.pipeline=1", layouts]]}
        best_of_any = self.result(self.config)["step_time"]
        for framework, choices in lists.items():
            # Memory that makes ZeRO and stages matter, and one that does not.
            for memory in ("2 GB", "600 MB"):
                with self.subTest(framework=framework, memory=memory):
                    given = [f"system.memory.capacity={memory}"]
                    steps = [self.result(self.config, *changes(*given, *one), status=(0, 3))
                             ["step_time"] for one in choices]
                    best = min(step for step in steps if step is not None)
                    found = self.result(self.config,
                                        *changes(*given, f"training.framework={framework}"))
                    self.assertEqual(found["step_time"], best)
                    any_of_all = self.result(self.config, *changes(*given))["step_time"]
                    self.assertEqual(found["framework"],
                                     {"name": framework, "step_time_of_any": any_of_all,
                                      "lower_bound_of_any": any_of_all,
                                      "gain": best / any_of_all - 1.0})
                    if memory == "2 GB":
                        self.assertEqual(any_of_all, best_of_any)

    def test_a_framework_can_run_what_is_found_for_it(self):
        for framework in ("megatron", "torchtitan", "deepspeed"):
            with self.subTest(framework):
                told = changes("system.memory.second={bandwidth: 40 GB/s, capacity: 1 TB}",
                               "system.memory.capacity=600 MB", f"training.framework={framework}")
                self.write("r.json", self.run_tool(self.config, *told, "--json", "-").stdout)
                text = self.run_tool("emit", "r.json", "--for", framework).stdout
                for lack in ("is not there", "is none that", "stay on the chip", "nothing is",
                             "goes with", "run 1f1b"):
                    self.assertNotIn(lack, text)
                report = self.run_tool(self.config, *told).stdout
                self.assertRegex(report, rf"framework +{framework}; the best plan of any is .* better")

    def test_nothing_is_found_for_a_framework_that_it_cannot_run(self):
        cannot = ("is not there", "are not interleaved", "is none that", "stay on the chip",
                  "nothing is", "goes with", "run 1f1b", "divide the weights", "least_kept")
        found = 0
        models = ("model: llama3_8b, layers: 7", "model: qwen3_30b_a3b, layers: 5")
        for model in models:
            for chips, batch, memory, ranks in ((8, 16, 40, "[2, 4]"), (16, 48, 16, "1"),
                                                (16, 32, 24, "2")):
                config = self.write("c.yaml", f"""\
workload: {{{model}, global_batch: {batch}}}
system: {{from: h100_dgx, chips: {chips}, memory: {{capacity: {memory} GB}}}}
execution: {{stack: te, chip: h100_80gb}}
parallelism: {{tensor: {ranks}}}
training: {{}}
""")
                for framework in ("megatron", "torchtitan", "deepspeed"):
                    with self.subTest(model=model, chips=chips, framework=framework):
                        done = self.run_tool(config, *changes(f"training.framework={framework}"),
                                             "--json", "r.json", "--quiet", status=(0, 3))
                        if done.returncode == 0:
                            found += 1
                            text = self.run_tool("emit", "r.json", "--for", framework).stdout
                            for lack in cannot:
                                self.assertNotIn(lack, text)
        self.assertGreater(found, 12)

    def test_interleaved_stages_of_megatron_are_equal(self):
        # With a stack chunks may differ, but not under Megatron: its best plan is the best of those
        # without chunks, and of those whose equal stages are given one after the other.
        differ = False
        for layers, batch, memory in ((19, 32, "80 GB"), (14, 16, "20 GB"), (12, 8, "40 GB")):
            config = self.write("c.yaml", f"""\
workload: {{model: llama3_8b, layers: {layers}, global_batch: {batch}}}
system: {{from: h100_dgx, chips: 16, memory: {{capacity: {memory}}}}}
execution: {{stack: te, chip: h100_80gb}}
parallelism: {{tensor: [1, 2], context: 1, pipeline: [2, 4, 8, 16]}}
training: {{recompute: full, zero: [0, 1]}}
""")
            with self.subTest(layers):
                found = self.result(config, *changes("training.framework=megatron"))
                self.write("r.json", json.dumps(found))
                text = self.run_tool("emit", "r.json", "--for", "megatron").stdout
                self.assertNotIn("not interleaved", text)
                steps = [self.result(config, *changes("training.schedule=1f1b"), status=(0, 3))
                         ["step_time"]]
                for stages in (2, 4, 8, 16):
                    if layers % stages:
                        continue
                    each = layers // stages
                    for chunks in (c for c in range(2, each + 1) if each % c == 0):
                        given = self.run_tool(config, *changes(
                            "training.schedule=interleaved", f"training.chunks={chunks}",
                            f"training.layers={[each] * stages}", f"parallelism.pipeline={stages}"),
                            "--json", "-", status=(0, 2, 3))
                        if given.returncode == 0:
                            steps.append(json.loads(given.stdout)["step_time"])
                self.assertEqual(found["step_time"], min(step for step in steps if step))
                free = self.result(config)["plan"]
                differ = differ or (free["chunks"] > 1 and len(set(free["layers"])) > 1)
        self.assertTrue(differ)

    def test_what_a_framework_never_runs_is_an_error(self):
        wrong = self.run_tool(self.config, *changes(
            "training.framework=torchtitan", "training.schedule=zb_h1", "training.zero=1",
            "training.layout=front_1"), status=2).stderr
        self.assertEqual(wrong.count("torchtitan runs none of these"), 3)

    def test_deterministic_searches_do_the_same_and_say_the_same(self):
        def said(*options):
            text = self.run_tool(self.config, "--deterministic", *options).stdout
            # The effort has the time and the threads in it, and nothing else that changes.
            return re.sub(r" in [\d.]+ [mun]?s on \d+ threads?;", "", text.replace("\n      ", " "))

        def effort(threads):
            search = self.result(self.config, "--deterministic", "--threads", threads)["search"]
            return [search[key] for key in ("nodes", "measured", "evaluated", "pruned")]

        self.assertEqual(said("--threads", "1"), said("--threads", "1"))
        self.assertEqual(effort("1"), effort("8"))

    def test_a_plan_can_stand_in_a_config(self):
        found = self.result(self.config)
        again = self.result(self.config, *changes(
            "training=" + json.dumps(found["plan"]),
            "parallelism=" + json.dumps(found["parallelism"]),
            f"workload.micro_batch={found['micro_batch']}"))
        for key in ("step_time", "parallelism", "network", "micro_batch", "plan", "time", "memory"):
            self.assertEqual(again[key], found[key])

    def test_the_best_of_several_parallelisms(self):
        result = self.result(self.config, "--top", "3")
        times = [found["step_time"] for found in result["top"]]
        self.assertEqual(times, sorted(times))
        self.assertEqual(times[0], result["step_time"])
        self.assertFalse(result["top_complete"])
        degrees = [tuple(found["parallelism"].values()) for found in result["top"]]
        self.assertEqual(len(set(degrees)), 3)
        for found in result["top"]:
            one = self.result(self.config, "--set",
                              "parallelism=" + json.dumps(found["parallelism"]))
            for key in ("step_time", "network", "micro_batch", "plan", "memory"):
                self.assertEqual(one[key], found[key])
        self.assertEqual(len(self.result(self.config)["top"]), 1)
        all_of = self.result(self.config, "--top", "1000", "--set", "parallelism.tensor=1")
        self.assertTrue(all_of["top_complete"])

    def test_rates_of_files_are_taken(self):
        plain = self.result(self.config, "--set", "execution=null")["step_time"]
        self.write("rates.yaml", "matrix: {efficiency: [[0 FLOP, 0.25]]}\n")
        slow = self.result(self.config, "--set", "execution.efficiency=rates.yaml", "--set",
                           "execution.efficiency.vector={efficiency: [[0 FLOP, 0.25]]}")
        flat = self.result(self.config, "--set", "execution={compute_utilization: 0.25}")
        self.assertEqual(slow["step_time"], flat["step_time"])
        self.assertGreater(slow["step_time"], plain)

    def test_curves_of_the_shelf_are_shares(self):
        # A chip of other peaks keeps them; its vector engine is the share of the file.
        for chip, share in (("h100", 0.12), ("a100", 0.25)):
            told = self.result(self.config, "--set", f"execution.efficiency={chip}")
            self.assertEqual(told["machine"]["peak"], 102.4e12)
            peak = 102.4e12 * share
            self.write("rates.yaml", re.sub(r"of_matrix: [\d.]+", f"peak: {peak} FLOP/s", (
                CONFIGS / "efficiencies" / f"{chip}.yaml").read_text()))
            same = self.result(self.config, "--set", "execution.efficiency=rates.yaml")
            self.assertEqual(same["step_time"], told["step_time"])

    def test_rates_of_the_machine_that_a_stack_does_not_use_are_named(self):
        config = CONFIGS / "training" / "llama3_70b_64_h100.yaml"
        whole = self.result(config)["step_time"]
        for key, said in (("memory.bandwidth", "memory at 3.35 TB/s, not 1 GB/s"),
                          ("network.0.bandwidth", "links in a node at 340 GB/s, not 1 GB/s"),
                          ("network.1.bandwidth", "links between nodes at 50 GB/s, not 1 GB/s")):
            change = ("--set", f"system.{key}=1 GB/s")
            report = re.sub(r"\s+", " ", self.run_tool(config, *change).stdout)
            self.assertIn(said, report)
            self.assertEqual(self.result(config, *change)["step_time"], whole)
        self.assertNotIn("caution", self.run_tool(config).stdout)

    def test_a_mapping_of_training_names_the_plan_where_there_is_one(self):
        hint = "a plan of a step of training counts all: --set training={}"
        for config, has_plan in (("transformers/llama3_70b", True), ("gpt3_1t", False)):
            path = CONFIGS / f"{config}.yaml"
            report = self.run_tool(path, "--node-limit", "200", "--quiet", status=(0, 4)).stdout
            self.assertIn("not counted: gradients", report)
            self.assertEqual(hint in re.sub(r"\s+", " ", report), has_plan)
            self.run_tool("check", path, "--set", "training={}", status=0 if has_plan else 2)

    def test_on_chip_memory_is_said_not_to_count(self):
        report = self.run_tool(self.config).stdout
        self.assertEqual(report.count("not modelled"), 1)
        self.assertIn("on-chip memory (20.97 MB given)", report)
        result = self.result(self.config)
        self.assertEqual(result["not_modelled"], ["system.accelerator.sram"])
        more = self.result(self.config, "--set", "system.accelerator.sram=1 GB")
        self.assertEqual(more["step_time"], result["step_time"])
        self.write("study.yaml", "study: {name: s, objective: step_time}\nbase: {from: c.yaml}\n"
                                 "axes: [{name: sram, key: system.accelerator.sram, values: "
                                 "[10 MB, 20 MB]}]\n")
        study = self.run_tool("study", "study.yaml", "-o", "out", "--quiet").stdout
        self.assertIn("not modelled  on-chip memory, which axis sram varies", study)

    def test_given_layers_are_no_better_than_searched_ones(self):
        # Stages with the least pace are not those of the least step.
        given = changes("parallelism={tensor: 1, context: 1, pipeline: 4, data: 4}",
                        "training.schedule=1f1b", "system.memory.capacity=80 GB")
        free = self.result(self.config, *given)["step_time"]
        for layers in ([3, 3, 3, 3], [3, 4, 4, 1], [4, 4, 3, 1], [3, 4, 3, 2], [4, 3, 3, 2]):
            pinned = self.result(self.config, *given, *changes(f"training.layers={layers}"))
            self.assertLessEqual(free, pinned["step_time"])

    def test_nothing_fits(self):
        given = changes("system.memory.capacity=600 MB", "training={zero: 0, recompute: none}",
                        "parallelism={tensor: 1, context: 1, pipeline: 2, data: 8}")
        result = self.result(self.config, *given, status=3)
        self.assertEqual(result["status"], "infeasible")
        for key in ("objective", "lower_bound", "gap", "plan", "time", "memory"):
            self.assertIsNone(result[key])
        why = result["infeasible"]
        self.assertEqual((why["limit"], why["available"]), ("memory", 600e6))
        self.assertGreater(why["needed"], why["available"])
        report = self.run_tool(self.config, *given, status=3).stdout
        flat = re.sub(r"\s+", " ", report)
        self.assertIn(f"a chip of stage {why['stage']}, the fullest, needs", flat)
        self.assertIn(f"({why['needed']:.0f} bytes) of memory, and has 600 MB:", flat)
        self.assertIn("what helps", report)
        self.assertTrue(why["remedies"])
        # With so much it fits, and with a byte less it does not.
        needed = int(why["needed"])
        self.assertEqual(needed, why["needed"])
        for change, status in ((0, 0), (-1, 3)):
            self.run_tool(self.config, *given, "--set",
                          f"system.memory.capacity={needed + change} B", status=status)
        second = self.result(self.config, *changes(
            "system.memory.second={capacity: 1 MB, bandwidth: 1 GB/s}",
            "training.offload=[weights]"), status=3)["infeasible"]
        self.assertEqual((second["limit"], second["available"]), ("second memory", 1e6))
        self.assertEqual(second["needed"], second["memory"]["second"])
        self.assertEqual([remedy["key"] for remedy in second["remedies"]], ["offload"])

    def test_numbers_that_are_enough_are_and_what_is_nearer_is_not(self):
        given = changes("system.memory.capacity=60 MB", "workload.global_batch=48")
        why = self.result(self.config, *given, status=3)["infeasible"]
        self.assertTrue(why["changes_complete"])
        numbers = {change["key"]: change for change in why["changes"]}
        self.assertEqual(list(numbers), ["system.memory.capacity", "system.chips",
                                         "workload.sequence", "workload.global_batch"])
        memory = numbers["system.memory.capacity"]
        self.assertEqual(memory["tried"], why["needed"])
        self.assertEqual(memory["given"], 60e6)
        # Every count that a switch of 8 chips allows is searched by itself; some have no degrees.
        chips = numbers["system.chips"]
        self.assertTrue(chips["is_enough"] and chips["is_nearest"])
        self.assertGreater(chips["tried"], 24)
        for count in range(16, chips["tried"] + 1, 8):
            with self.subTest(chips=count):
                self.run_tool(self.config, *given, "--set", f"system.chips={count}",
                              status=0 if count == chips["tried"] else (2, 3))
        report = re.sub(r"\s+", " ", self.run_tool(self.config, *given, status=3).stdout)
        self.assertIn(f"what helps {chips['tried']} chips would fit:", report)
        for key in ("workload.sequence", "workload.global_batch"):
            change = numbers[key]
            value = change["given"] // 2
            while value >= change["tried"]:
                enough = change["is_enough"] and value == change["tried"]
                self.run_tool(self.config, *given, "--set", f"{key}={value}",
                              status=0 if enough else 3)
                value //= 2

    def test_a_70b_model_on_8_h100_is_told_to_take_24(self):
        # 16 bytes a parameter and 2 of gradients: 70.6e9 * 18 B are 15.9 chips of 80 GB by
        # themselves, so 16 have no room for what is kept.
        config = self.write("llama.yaml", """\
            workload: {model: llama3_70b, global_batch: 128, mask: causal}
            system: {from: h100_dgx, chips: 8}
            training: {}
            """)
        numbers = {change["key"]: change for change in
                   self.result(config, status=3)["infeasible"]["changes"]}
        self.assertEqual(numbers["system.chips"]["tried"], 24)
        self.run_tool(config, "--chips", "16", status=3)
        self.run_tool(config, "--chips", "24")

    def test_fewer_chips_than_a_switch_joins_are_a_part_of_it(self):
        text = """\
            workload: {model: llama3_8b, global_batch: 64, mask: causal}
            system: {from: h100_dgx, chips: %d}
            training: {}
            """
        part = self.write("part.yaml", text % 4)
        report = re.sub(r"\s+", " ", self.run_tool(part).stdout)
        self.assertIn("switch of 4 (in place of 8) at 450 GB/s; switch of 1", report)
        # The same machine written out.
        for chips in (4, 6):
            given = self.result(part, "--chips", chips, "--set", f"system.network.0.degree={chips}")
            self.assertEqual(without_effort(given),
                             without_effort(self.result(part, "--chips", chips)))
        # Twelve of eight are no part; the message has what would be one.
        wrong = self.run_tool(part, "--chips", 12, status=2).stderr
        self.assertIn("--set system.network.0.degree=4 takes so many in place of 8", wrong)
        self.run_tool("check", part, "--chips", 12, "--set", "system.network.0.degree=4")
        # A part of a ring is none.
        ring = self.run_tool(part, "--system", "tpu_v5e", "--chips", 4, status=2).stderr
        self.assertIn("expected a divisor", ring)
        missing = self.write("none.yaml", text.replace("system: {from: h100_dgx, chips: %d}", ""))
        self.assertIn("missing key 'chips': add --chips N",
                      self.run_tool(missing, "--system", "h100_dgx", status=2).stderr)

    def test_rates_are_called_scaled_where_the_page_of_systems_does(self):
        page = (ROOT / "docs" / "systems.md").read_text()
        config = CONFIGS / "training" / "llama3_70b_2048_h100.yaml"
        for chip in ("h100", "h200", "b200", "b300", "gb200", "gb300"):
            row = re.search(rf"^\| \[{chip}_(?:dgx|nvl72)\].*\| (\w+) \|$", page, re.M)
            report = self.run_tool("check", config, "--set",
                                   f"execution={{stack: te, chip: {chip}}}").stdout
            self.assertRegex(report, rf"(?m)^rates +{row[1]}\b", chip)

    def test_two_memories_each_need_what_they_are_told_and_no_byte_less(self):
        for limits in (("40 MB", "10 GB"), ("600 MB", "1 MB")):
            given = changes(f"system.memory.capacity={limits[0]}",
                            f"system.memory.second={{capacity: {limits[1]}, bandwidth: 1 GB/s}}",
                            "training.offload=[weights]")
            why = self.result(self.config, *given, status=3)["infeasible"]
            for change in why["changes"]:
                if "memory" not in change["key"]:
                    continue
                enough = round(change["tried"])
                for less, status in ((0, 0), (1, 3)):
                    self.run_tool(self.config, *given, "--set",
                                  f"{change['key']}={enough - less} B", status=status)

    def test_a_second_memory_is_advised_where_plans_would_use_it(self):
        second = "a second memory to offload to"
        tight = "system.memory.capacity=1 MB"
        for given, is_advised in (((), True), (("training.framework=torchtitan",), False),
                                  (("execution={stack: te, chip: h100_80gb}",), False),
                                  (("system.memory.second={capacity: 1 MB, bandwidth: 1 GB/s}",),
                                   False)):
            with self.subTest(given):
                report = self.run_tool(self.config, *changes(tight, "training={}", *given),
                                       status=3).stdout
                self.assertIn("what helps    memory of", report)
                self.assertEqual(second in re.sub(r"\s+", " ", report), is_advised)

    def test_rates_of_another_chip_are_told(self):
        config = CONFIGS / "training" / "llama3_70b_2048_h100.yaml"
        # Peaks of data sheets: 2250 TFLOP/s and 1979 (8 bits) are not 989; the same chip, or one
        # with as much as that, is none to warn of.
        for chip, precision, named in (("b200", "bf16", r"b200, whose peak is 2\.25 PFLOP/s"),
                                       ("a100_80gb", "bf16", r"a100_80gb, whose peak is 312 T"),
                                       ("b300", "bf16", r"b300, whose peak is 2\.25 PFLOP/s"),
                                       ("h100_80gb", "bf16", None), ("h100_80gb", "fp8", None),
                                       ("h200", "bf16", None)):
            with self.subTest(chip=chip, precision=precision):
                text = re.sub(r"\s+", " ", self.run_tool("check", config, "--set", "execution={"
                              f"stack: te, chip: {chip}, precision: {precision}}}").stdout)
                if named is None:
                    self.assertNotIn("whose peak is", text)
                else:
                    self.assertRegex(text, f"caution the rates are measured on {named}")
                    self.assertIn("this machine's chips have one of 989.4 TFLOP/s", text)
        for file in sorted((CONFIGS / "training").glob("*.yaml")):
            self.assertNotIn("caution", self.run_tool("check", file).stdout)

    def test_limits(self):
        # First plans come before the proof.
        stopped = self.result(self.config, "--node-limit", "1", status=4)
        self.assertEqual((stopped["status"], stopped["stopped_by"]), ("feasible", "nodes"))
        late = self.result(self.config, "--time-limit", "1 ns", status=5)
        self.assertEqual((late["status"], late["stopped_by"]), ("no_solution", "time"))
        wide = self.result(self.config, "--gap", "0.5", "--threads", "1")
        self.assertEqual(wide["status"], "optimal")
        self.assertLessEqual(wide["gap"], 0.5)
        before = time.monotonic()
        large = self.result(self.config, *changes(*LARGE), "--time-limit", "1 ms", status=5)
        self.assertEqual(large["stopped_by"], "time")
        self.assertLess(time.monotonic() - before, 30)
        text = self.run_tool(self.config, "--time-limit", "1 ns", status=5).stdout
        self.assertIn("stopped by the time limit before a plan was found", text)
        some = [self.run_tool(self.config, "--node-limit", nodes, "--threads", "1", status=(0, 4, 5))
                for nodes in range(2, 40)]
        kept = [done.stdout for done in some if done.returncode == 4]
        self.assertTrue(kept)
        self.assertIn("stopped by the node limit with a plan; gap ", kept[0])
        self.assertIn("\nparallelism ", kept[0])

    def test_a_signal_stops_a_long_search(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(number):
                process = subprocess.Popen(
                    self.command(self.config, *changes(*LARGE), "--json", "-"),
                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                    preexec_fn=lambda: [signal.signal(s, signal.SIG_DFL)
                                        for s in (signal.SIGINT, signal.SIGTERM)])
                self.addCleanup(process.kill)
                time.sleep(1)
                self.assertIsNone(process.poll(), "the search is too short to be stopped")
                process.send_signal(number)
                out, err = process.communicate(timeout=60)
                self.assertIn(process.returncode, (4, 5), err)
                self.assertEqual(json.loads(out)["stopped_by"], "signal")

    def test_options_that_do_not_apply(self):
        self.assertEqual(self.run_tool(self.config, "--no-bound", "memory", status=2).stderr,
                         "--no-bound: a config with 'training' has 'floors' alone, got 'memory'\n")
        self.assertIn("unknown key 'objective'",
                      self.run_tool(self.config, "--objective", "step_time", status=2).stderr)
        for words in (["graph", "c.yaml"], ["export", "c.yaml"], ["chip", "c.yaml"],
                      ["gemm", "c.yaml", "--shape", "8x8x8"]):
            with self.subTest(words):
                self.assertEqual(self.run_tool(*words, status=2).stderr,
                                 "c.yaml:12:1: training: a plan of training steps has no mapping: "
                                 "only solve, evaluate and check take it\n")
        self.assertEqual(self.files(), ["c.yaml"])

    def test_a_given_plan_is_evaluated(self):
        self.run_tool(self.config, "--quiet", "--json", "r.json", "--top", "3")
        best = json.loads((self.folder / "r.json").read_text())
        again = self.result("evaluate", self.config, "--mapping", "r.json")
        self.assertEqual((again["status"], again["lower_bound"], again["gap"]),
                         ("feasible", None, None))
        self.assertEqual((again["status"], again["step_time"]), ("feasible", best["step_time"]))
        self.assertEqual(again["plan"], best["plan"])
        self.assertIn("a plan that was given, which fits", self.run_tool(
            "evaluate", self.config, "--mapping", "r.json").stdout)
        second = best["top"][1]
        self.write("second.json", json.dumps(second))
        again = self.result("evaluate", self.config, "--mapping", "second.json")
        self.assertEqual(again["step_time"], second["step_time"])
        tight = ["--set", "system.memory.capacity=1 MB"]
        done = self.run_tool("evaluate", self.config, "--mapping", "r.json", *tight, status=3)
        self.assertIn("infeasible", done.stdout)
        self.assertIn("none.json", self.run_tool("evaluate", self.config, "--mapping",
                                                 "none.json", status=2).stderr)

    def test_all_errors_are_told_at_once(self):
        self.write("wrong.yaml", SMALL.replace("chips: 16", "chips: many").replace(
            "training: {}", "training: {zero: 4, recompute: some, chunk: 2}"))
        error = self.run_tool("wrong.yaml", status=2).stderr
        for message in ("chips: expected", "zero: expected", "recompute: expected",
                        "unknown key 'chunk'"):
            self.assertIn(message, error)
        calculon = (CONFIGS / "calculon_22b_h100.yaml").read_text()
        wrong = calculon.replace("{maximum_batch: 256}", "{maximum_batch: 0, tensr: 8}")
        self.write("wrong.yaml", wrong.replace("from: systems/", f"from: {CONFIGS}/systems/"))
        error = self.run_tool("wrong.yaml", "--set", "workload.heads=none", status=2).stderr
        for message in ("heads: expected", "maximum_batch: expected", "unknown key 'tensr'"):
            self.assertIn(message, error)

    def test_a_machine_that_is_derived_is_refused(self):
        done = self.run_tool("check", CONFIGS / "v100_prefill.yaml", *changes(
            "workload={model: gpt2_xl, global_batch: 64}", "training={}",
            "system.network.0.strategy=null"), status=2)
        self.assertRegex(done.stderr, r"v100_prefill\.yaml:6:3: technology: expected no such key "
                                      "beside 'training', but 'accelerator' and 'memory'")

    def test_outputs(self):
        done = self.run_tool(self.config, "--json", "r.json", "--quiet", "--top", "2")
        self.assertEqual(done.stderr, "")
        self.assertLessEqual(max(map(len, done.stdout.splitlines())), 100)
        self.assertEqual(json.loads((self.folder / "r.json").read_text())["status"], "optimal")
        self.assertEqual(self.run_tool(self.config).stderr, "")
        verbose = self.run_tool(self.config, "--verbose").stderr.splitlines()
        self.assertRegex(verbose[0], r"^ *time +nodes +open +incumbent +util +lower bound +gap")
        self.assertGreater(len(verbose), 1)
        for line in verbose[1:]:
            self.assertRegex(line, r"^ *[\d.]+ s +\d+ +\d+ +\S+ \w+ +[\d.]+% +\S+ \w+ +[\d.]+% [TH]$")
        self.assertRegex(self.run_tool(self.config, "--json", "missing/r.json", status=2).stderr,
                         "^missing/r.json: cannot be written: ")
        self.assertEqual(self.files(), ["c.yaml", "r.json"])

    @unittest.skipUnless(os.path.exists("/dev/full"), "no /dev/full")
    def test_what_cannot_be_written_is_an_error(self):
        for words in ([], ["--json", "-"]):
            with self.subTest(words), open("/dev/full", "w") as full:
                done = self.run_tool(self.config, *words, stdout=full, status=2)
                self.assertIn("standard output: cannot be written: No space left", done.stderr)
        done = self.run_tool(self.config, "--json", "/dev/full", status=2)
        self.assertIn("/dev/full: cannot be written: No space left on device", done.stderr)
        self.assertIn("optimal, proved", done.stdout)


def tables(page, heading, first):
    """The rows, as lists of cells, of the tables below a heading whose head begins so."""
    section = re.split(r"\n##+ ", page.partition(f"\n{heading}\n")[2])[0]
    found = re.findall(rf"^\| {re.escape(first)} \|.*\n\|---.*\n((?:\|.*\n)+)", section,
                       re.MULTILINE)
    return [[cell.strip() for cell in line.strip("|").split(" |")]
            for line in "".join(found).splitlines()]


def keys(rows, column=0):
    return [key for row in rows for key in re.findall(r"`([\w.]+)`", row[column])]


class Page(CliTest):
    def setUp(self):
        super().setUp()
        self.write("c.yaml", SMALL)

    def expected(self, path):
        """The keys that the program expects in the map with this path."""
        text = self.run_tool("check", "c.yaml", "--set", f"{path}.zzzzzzzzzzzz=1".lstrip("."),
                             status=2).stderr
        return re.search("expected (.*)", text)[1].replace(" or ", ", ").split(", ")

    def test_the_tables_have_the_keys_of_configs(self):
        sections = tables(FORMATS, "## Plans of training steps", "section")
        self.assertCountEqual(keys(sections) + ["training"], self.expected(""))
        parallelism = next(row[1] for row in tables(FORMATS, "## Plans of training steps", "section")
                           if row[0] == "`system`")
        roles = [word for word in re.findall(r"`(\w+)`", parallelism) if word in ROLES]
        self.assertCountEqual(roles, self.expected("parallelism"))
        search = next(row[1] for row in sections if row[0] == "`search`")
        self.assertCountEqual(re.findall(r"`(\w+)`", search), self.expected("search"))
        self.assertCountEqual(keys(tables(FORMATS, "### The section `training`", "key")),
                              self.expected("training"))
        listed = tables(FORMATS, "### Rates of a chip", "key")
        rates = [row for row in listed if row[0].startswith("`efficiency.")]
        self.assertCountEqual(keys(listed[:-len(rates)]), self.expected("execution"))
        self.assertCountEqual([key.partition(".")[2] for key in keys(rates)],
                              self.expected("execution.efficiency"))
        for row in rates:
            inner = re.findall(r"[{,] *(\w+):", row[1])
            self.assertCountEqual(inner, self.expected(f"execution.{keys([row])[0]}"))

    def test_the_table_has_the_words_that_a_key_may_have(self):
        count = 0
        for row in tables(FORMATS, "### The section `training`", "key"):
            if not re.fullmatch(r"`\w+`(, `\w+`)+, or a list of them", row[1]):
                continue
            count += 1
            text = self.run_tool("check", "c.yaml", "--set",
                                 f"training.{row[0].strip('`')}=zzzzzzzzzzzz", status=2).stderr
            known = re.search("expected (.*), got ", text)[1].replace(" or ", ", ").split(", ")
            self.assertCountEqual(keys([row], 1), known)
        self.assertEqual(count, 3)

    def test_the_table_of_the_result_has_its_keys(self):
        result = self.result("c.yaml")
        listed = tables(RESULTS, "## Plans of training steps", "key of the JSON")
        self.assertEqual(keys(listed), list(result))

        def inner(key):
            return next(re.findall(r"`(\w+)`", row[1]) for row in listed if f"`{key}`" in row[0])

        for key in ("parallelism", "plan", "time"):
            self.assertCountEqual(inner(key), result[key])
        self.assertCountEqual(inner("memory"), result["memory"])
        self.assertCountEqual(inner("search"), result["search"])
        self.assertEqual(inner("top"), list(result["top"][0]))
        none = self.result("c.yaml", *changes("system.memory.capacity=1 MB", "training.zero=0"),
                           status=3)
        self.assertEqual(list(none), list(result))
        self.assertCountEqual(inner("infeasible"), none["infeasible"])

    def test_help_names_this_kind(self):
        text = self.run_tool("--help").stdout
        self.assertIn("'training'", text)
        self.assertIn("configs/training/", text)


class Questions(CliTest):
    """The table of section 6 of docs/training.md."""

    ROW = re.compile(r"^\| [^|]+ \| `([\w/]+)` \| ([\d.]+) (m?s) \| ([\d.]+) % \|", re.MULTILINE)

    def test_the_answers_are_those_of_the_page(self):
        rows = self.ROW.findall((ROOT / "docs" / "training.md").read_text())
        self.assertEqual(len(rows), 6)
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
