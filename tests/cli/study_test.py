#!/usr/bin/env python3
"""`dfsearch study`: points, fronts, ranks, limits, wrong input.

usage: study_test.py DFSEARCH [unittest arguments]
"""

import csv
import json
import math
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

from study_case import STUDY, TIGHT, StudyCase
from support import main, random_graph

ROOT = pathlib.Path(__file__).resolve().parents[2]


class StudyTest(StudyCase):
    def test_all_points_are_rows_with_the_results_of_their_configs(self):
        self.run_study("all", "--all")
        rows = [json.loads(line) for line in self.rows("all")]
        self.assertEqual(len(rows), 25)
        self.assertEqual(len({row["index"] for row in rows}), 25)
        for row in rows[::6]:
            config = self.run_tool("study", self.study, "--print", str(row["index"])).stdout
            again = self.solve(self.write("point.yaml", config))
            for key in ("status", "step_time", "price", "power", "utilization", "time_shares"):
                self.assertEqual(row[key], again[key], key)
        state = self.json_of("all", "study.json")
        self.assertEqual((state["points"], state["solved"], state["complete"]), (25, 25, True))
        self.assertEqual(state["axes"][1]["values"][0], 1e10)

    def test_a_printed_config_is_solved_in_any_folder(self):
        """Keys of the shelf stay such: a stack needs that, and peaks follow the cores."""
        configs = ROOT / "configs/training"
        for base, key, values in (
                ("llama3_70b_64_h100", "execution.precision", "[bf16, fp8]"),
                (configs / "llama3_70b_64_h100.yaml", "system.memory.capacity", "[60 GiB, 141 GB]"),
                (configs / "llama3_70b_64_h100.yaml", "execution.stack", "[te, megatron]"),
                ("llama3_70b_2048_h100", "system.accelerator.frequency", "[1 GHz, 1.9 GHz]"),
                ("llama3_70b_2048_h100", "system.from", "[h100_dgx, a100_dgx]")):
            study = self.write("shelf.yaml", "study: {name: shelf, objective: step_time, solve: all}\n"
                               f"base: {{from: {base}}}\n"
                               f"axes: [{{name: a, key: {key}, values: {values}}}]\n")
            self.run_study(key, study=study)
            for row in map(json.loads, self.rows(key)):
                text = self.run_tool("study", study, "--print", str(row["index"])).stdout
                folder = self.folder / "elsewhere"
                folder.mkdir(exist_ok=True)
                config = folder / "point.yaml"
                config.write_text(text)
                again = self.result(config, status=(0, 3, 5))
                for figure in ("status", "step_time", "memory"):
                    self.assertEqual(row[figure], again[figure], (key, row["point"]))

    def solve(self, config):
        return self.result(config)

    def test_the_front_is_that_of_all_points_and_needs_fewer(self):
        self.run_study("all", "--all")
        self.run_study("front")
        found, expected = self.json_of("front", "front.json"), self.json_of("all", "front.json")
        self.assertTrue(found["exact"])
        self.assertEqual(found, expected)
        self.assertLess(len(self.rows("front")), 25)
        points = [json.loads(line) for line in self.rows("all")]
        best = min(row["step_time"] for row in points if row["step_time"])
        self.assertEqual(found["points"][0]["step_time"], best)

    def test_fronts_of_joules_are_those_of_all_points(self):
        """Also under a cap, which lowers the clock of points that do much work a second."""
        for i, (figures, cap) in enumerate((figures, cap) for figures in ("joules, step_time", "edp")
                                           for cap in ("1 kW", "30 W")):
            energy = (f"{{static: 20 W, flop: {{bf16: 5 pJ/FLOP}}, memory: 1 pJ/bit, cap: {cap}}}")
            study = self.write("e.yaml", STUDY.replace("step_time, price", figures).replace(
                "{from: small.yaml}", f"{{from: small.yaml, set: {{energy: {energy}}}}}"))
            self.run_study(f"every{i}", "--all", study=study)
            self.run_study(f"some{i}", study=study)
            self.assertEqual(self.json_of(f"some{i}", "front.json"),
                             self.json_of(f"every{i}", "front.json"))
            self.assertLess(len(self.rows(f"some{i}")), len(self.rows(f"every{i}")))

    def test_the_front_of_some_of_a_million_points_is_that_of_all(self):
        million = ROOT / "configs" / "studies" / "million.yaml"
        chosen = []
        for axis, kept in (("cores", "1240,2200"), ("sram", "720 MiB,1200 MiB"),
                           ("memory", "489.016 GB/s,3000 GB/s"),
                           ("tensor_link", "160.036 GB/s,506.098 GB/s,900 GB/s"),
                           ("pipeline_link", "160.036 GB/s,900 GB/s")):
            chosen += ["--only", f"{axis}={kept}"]
        self.run_study("some", *chosen, study=million)
        self.run_study("every", "--all", *chosen, study=million)
        self.assertEqual(len(self.rows("every")), 3 * 2**4)
        self.assertLess(len(self.rows("some")), 3 * 2**4 / 2)
        self.assertEqual(self.json_of("some", "front.json"), self.json_of("every", "front.json"))

    def test_the_table_has_units_and_every_point(self):
        self.run_study("all", "--all")
        with open(self.folder_of("all") / "results.csv", newline="") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual([int(row["index"]) for row in rows], sorted(
            json.loads(line)["index"] for line in self.rows("all")))
        self.assertIn("step_time [s]", rows[0])
        by_index = {json.loads(line)["index"]: json.loads(line) for line in self.rows("all")}
        for row in rows:
            step = by_index[int(row["index"])]["step_time"]
            self.assertEqual(row["step_time [s]"], "" if step is None else repr(step))

    def test_the_table_has_the_plan_of_each_point_in_si_units(self):
        config = (ROOT / "configs/training/megatron_22b_selective.yaml").resolve()
        study = self.write("plans.yaml", f"""\
study: {{name: plans, solve: all}}
base: {{from: {config}}}
axes:
  - {{name: memory, key: system.memory.capacity, values: [1 GB, 80 GB]}}
""")
        self.run_study("plans", study=study)
        with open(self.folder_of("plans") / "results.csv", newline="") as file:
            none, row = csv.DictReader(file)
        answer = next(json.loads(line) for line in self.rows("plans") if '"80 GB"' in line)
        self.assertEqual([none["memory [B]"], row["memory [B]"]], ["1000000000", "80000000000"])
        self.assertEqual(none["status"], "infeasible")
        for group, unit in (("parallelism", ""), ("time", " [s]"), ("memory", " [B]")):
            parts = {key: value for key, value in answer[group].items()
                     if isinstance(value, (int, float)) and not isinstance(value, bool)}
            self.assertGreater(len(parts), 2)
            for key, value in parts.items():
                self.assertEqual(float(row[f"{group}.{key}{unit}"]), value)
                self.assertEqual(none[f"{group}.{key}{unit}"], "")
        self.assertEqual(row["micro_batch"], str(answer["micro_batch"]))
        for key in ("schedule", "recompute", "layout", "zero"):
            self.assertEqual(row[f"plan.{key}"], str(answer["plan"][key]))
        self.assertEqual(json.loads(row["plan.layers"]), answer["plan"]["layers"])

    def test_deterministic_results_are_the_same_to_the_byte(self):
        for threads in ("1", "2", "64"):
            self.run_study("t" + threads, "--all", "--deterministic", "--threads", threads)
        one, two, many = (sorted(self.rows("t" + t)) for t in ("1", "2", "64"))
        self.assertEqual(one, two)
        self.assertEqual(one, many)

    def test_parts_make_the_whole(self):
        for words in ([], ["--all"]):
            name = "whole" + "".join(words)
            self.run_study(name, "--deterministic", *words)
            parts = []
            for k in (1, 2, 3):
                parts.append(f"{name}{k}")
                self.run_study(parts[-1], "--deterministic", "--shard", f"{k}/3", *words)
            folders = [self.folder_of(part) for part in parts]
            self.run_tool("study", "merge", *folders, "-o", self.folder_of(name + "m"))
            self.assertEqual(self.json_of(name, "front.json"), self.json_of(name + "m", "front.json"))
            if words:
                self.assertEqual(sorted(self.rows(name)), sorted(self.rows(name + "m")))
            self.assert_error("is missing", "study", "merge", *folders[:2], "-o", self.folder_of("x"))
            self.assert_error("given twice", "study", "merge", folders[0], folders[0], "-o",
                              self.folder_of("x"))
        other = self.write("other.yaml", STUDY.replace("512 KiB", "640 KiB"))
        self.run_study("other", "--shard", "2/3", study=other)
        self.assert_error("of another study", "study", "merge", self.folder_of("whole1"),
                          self.folder_of("other"), "-o", self.folder_of("x"))

    RATIOS = """
ratios:
  - {name: fast links, of: {link: fast}, over: {link: slow}, printed: {utilization: 1.9, step_time: 0.5}}
  - name: some
    of: {memory: [10 GB/s, 1000 GB/s]}
    over: {sram: 512 KiB}
    except: [{link: slow}, {sram: 2 MiB, memory: 10 GB/s}]
    times: {of: {memory: 1000 GB/s}, price: 3}
"""

    def test_ratios_are_of_geometric_means(self):
        text = STUDY.replace("front: [step_time, price]", "solve: all") + self.RATIOS
        done = self.run_study("r", study=self.write("ratios.yaml", text))
        rows = [json.loads(line) for line in self.rows("r")]

        def mean(figure, chosen, factor=lambda point: 1):
            values = [row[figure] * factor(row["point"]) for row in rows if chosen(row["point"])]
            return len(values), math.prod(values) ** (1 / len(values))

        def some(point):
            return point["link"] == "fast" and (point["sram"], point["memory"]) != (
                "2 MiB", "10 GB/s")

        fast, other = self.json_of("r", "study.json")["ratios"]
        for ratio, figures, of, over, factor in (
                (fast, ("step_time", "utilization", "price", "cost_efficiency"),
                 lambda p: p["link"] == "fast", lambda p: p["link"] == "slow", lambda p: 1),
                (other, ("step_time", "power"),
                 lambda p: some(p) and p["memory"] in ("10 GB/s", "1000 GB/s"),
                 lambda p: some(p) and p["sram"] == "512 KiB", lambda p: 1),
                (other, ("price",),
                 lambda p: some(p) and p["memory"] in ("10 GB/s", "1000 GB/s"),
                 lambda p: some(p) and p["sram"] == "512 KiB",
                 lambda p: 3 if p["memory"] == "1000 GB/s" else 1)):
            for figure in figures:
                above, below = mean(figure, of, factor), mean(figure, over, factor)
                self.assertEqual((ratio["of"], ratio["over"]), (above[0], below[0]))
                self.assertAlmostEqual(ratio[figure], above[1] / below[1], delta=1e-12)
        value = f"{fast['utilization']:.1f}"
        self.assertEqual(fast["printed"]["utilization"],
                         {"digits": "1.9", "agrees": value == "1.9"})
        self.assertIn("fast links: 0.5", done.stdout)

    def test_ratios_of_points_without_an_answer_have_none(self):
        text = STUDY.replace("front: [step_time, price]", "solve: all") + self.RATIOS
        study = self.write("ratios.yaml", text)
        self.run_study("r", "--only", "link=slow", study=study)
        fast, other = self.json_of("r", "study.json")["ratios"]
        self.assertEqual((fast["of"], fast["over"], other["of"]), (0, 15, 0))
        self.assertNotIn("utilization", fast)
        self.assertFalse(fast["printed"]["utilization"]["agrees"])

    CHARTS = """
charts:
  - {name: a, kind: lines, x: sram, y: price, series: [link, memory], only: {link: slow}, log: true}
"""

    def test_charts_are_no_part_of_the_points(self):
        self.run_study("c")
        charted = self.write("charted.yaml", STUDY + self.CHARTS)
        done = self.run_study("c", study=charted)
        self.assertEqual(self.json_of("c", "study.json")["charts"], [
            {"name": "a", "kind": "lines", "x": ["sram"], "y": ["price"],
             "series": ["link", "memory"], "only": {"link": ["slow"]}, "log": True}])
        self.assertEqual(done.returncode, 0)

    def test_labels_choose_points(self):
        self.run_study("only", "--all", "--only", "link=slow", "--only", "sram=512 KiB,2 MiB")
        points = [json.loads(line)["point"] for line in self.rows("only")]
        self.assertEqual(len(points), 10)
        self.assertEqual({p["link"] for p in points}, {"slow"})

    def test_points_are_listed_and_printed(self):
        listed = self.run_tool("study", self.study, "--points").stdout.splitlines()
        self.assertEqual(len(listed), 25)
        self.assertEqual(listed[0], "0  sram=64 KiB, memory=10 GB/s, link=slow")
        by_name = self.run_tool("study", self.study, "--print",
                                "sram=64 KiB,memory=10 GB/s,link=slow").stdout
        self.assertEqual(by_name, self.run_tool("study", self.study, "--print", "0").stdout)
        dry = self.run_tool("study", self.study, "--dry-run").stdout
        self.assertIn("25 points", dry)

    def test_a_point_that_fits_nowhere_or_has_no_config_is_a_row(self):
        text = TIGHT.replace("values: [64 KiB, 512 KiB, 2 MiB]", "values: [1 KiB, 2 MiB]")
        text = text.replace("except: [{link: fast, sram: 64 KiB}]\n", "")
        self.run_study("tight", "--all", study=self.write("tight.yaml", text))
        reasons = {json.loads(line)["reason"] for line in self.rows("tight")
                   if json.loads(line)["status"] == "infeasible"}
        self.assertTrue(reasons and all(reasons))

    def test_a_signal_stops_and_the_same_command_goes_on(self):
        study = self.write("many.yaml", STUDY.replace("steps: 5", "steps: 2000"))
        folder = self.folder_of("stopped")
        command = [self.program, "study", study, "-o", folder, "--all", "--quiet"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True)
        rows = folder / "results.ndjson"
        self.wait_for(lambda: rows.exists() and rows.stat().st_size > 0)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate()
        self.assertEqual(process.returncode, 4)
        self.assertIn("the same command goes on", out)
        self.assertFalse(self.json_of("stopped", "study.json")["complete"])
        before = len(self.rows("stopped"))
        again = self.run_tool("study", study, "-o", folder, "--all", "--time-limit", "3 s",
                              status=range(6))
        self.assertIn(again.returncode, (0, 4))
        self.assertGreater(len(self.rows("stopped")), before)

    def test_a_million_million_points_are_soon_counted(self):
        axes = "".join(f"  - {{name: a{i}, key: {key}, from: {least} GB/s, to: 80 GB/s, "
                       "steps: 1000}\n" for i, (key, least) in enumerate((
                           ("system.network.0.bandwidth", 5), ("system.memory.bandwidth", 10))))
        more = "".join(f"  - {{name: {name}, key: {name}.accelerator, from: 1, to: 1000, "
                       "steps: 1000}\n" for name in ("price", "power"))
        study = self.write("vast.yaml", "study: {name: vast, front: [step_time, price]}\n"
                           "base: {from: small.yaml}\naxes:\n" + axes + more +
                           "except: [{price: ['1', '2'], power: ['3', '4', '5']}]\n")
        dry = self.run_tool("study", study, "--dry-run").stdout
        self.assertIn(f"{10**12 - 6 * 10**6} points", dry)

    def test_axes_walk_together_and_bases_are_an_axis(self):
        text = STUDY.replace("base: {from: small.yaml}",
                             "base: {a: {from: small.yaml}, b: {from: small.yaml, "
                             "set: {workload.global_batch: 16}}}")
        text = text.replace("steps: 5, scale: log", "steps: 3").replace(
            "except:", "zip: [sram, memory]\nexcept:")
        study = self.write("study.yaml", text)
        listed = self.run_tool("study", study, "--points").stdout.splitlines()
        self.assertEqual(len(listed), 2 * 3 * 2 - 2)
        self.assertIn("base=b, sram=2 MiB, memory=1000 GB/s, link=fast", listed[-1])
        self.run_study("bases", "--all", study=study)
        rows = [json.loads(line) for line in self.rows("bases")]
        again = self.write("list.yaml", text.replace("base: {a: {", "base: [{name: a, ").replace(
            "}, b: {from", "}, {name: b, from").replace("16}}}", "16}}]"))
        self.assertEqual(self.run_tool("study", again, "--points").stdout.splitlines(), listed)
        steps = {row["point"]["base"]: row["step_time"] for row in rows
                 if row["point"]["sram"] == "2 MiB" and row["point"]["link"] == "fast"}
        self.assertGreater(steps["b"], steps["a"])

    def ranks(self, count, *words):
        """The command on so many ranks; they share the cores there are."""
        if "with MPI" not in self.run_tool("--version").stdout or not shutil.which("mpirun"):
            self.assertNotIn("CI", os.environ, "MPI is not installed")
            self.skipTest("MPI is not installed")
        return ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", str(count), self.program,
                "study", *map(str, words)]

    def test_many_ranks_find_what_one_process_finds(self):
        self.run_study("alone", "--all", "--deterministic")
        self.run_study("front_alone")
        for count in (2, 8):
            for folder, words in ((f"r{count}", ("--all", "--deterministic")), (f"f{count}", ())):
                done = subprocess.run(
                    self.ranks(count, self.study, "-o", self.folder_of(folder), *words),
                    capture_output=True, text=True, timeout=100, check=False)
                self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(sorted(self.rows("alone")), sorted(self.rows(f"r{count}")))
            self.assertEqual(self.json_of("front_alone", "front.json"),
                             self.json_of(f"f{count}", "front.json"))

    def test_a_rank_that_dies_costs_its_points_in_flight(self):
        study = self.write("many.yaml", STUDY.replace("steps: 5", "steps: 200"))
        folder = self.folder_of("dying")
        words = [study, "-o", folder, "--all", "--deterministic", "--threads", "1"]
        process = subprocess.Popen(self.ranks(3, *words), stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        rows = folder / "results.ndjson"
        self.wait_for(lambda: rows.exists() and rows.stat().st_size > 0)
        children = subprocess.run(["pgrep", "-P", str(process.pid)], capture_output=True,
                                  text=True, check=True).stdout.split()
        os.kill(int(children[-1]), signal.SIGKILL)
        process.wait()
        before = len(self.rows("dying"))
        self.assertGreater(before, 0)
        subprocess.run(self.ranks(3, *words), stdout=subprocess.DEVNULL, check=True, timeout=100)
        self.assertEqual(len(self.rows("dying")), 1000)
        self.run_study("alone", "--all", "--deterministic", study=study)
        self.assertEqual(sorted(self.rows("alone")), sorted(self.rows("dying")))

    def test_a_signal_to_a_rank_alone_leaves_its_points_to_others(self):
        """Not as rows without a solution, which no later run would solve."""
        self.write("hard.yaml", random_graph())
        study = self.write("hard_study.yaml", """\
study: {name: hard, solve: all}
base: {from: hard.yaml}
axes: [{name: sram, key: system.accelerator.sram, values: [2 MiB, 3 MiB, 4 MiB, 5 MiB, 6 MiB]}]
""")
        process = subprocess.Popen(
            self.ranks(2, study, "-o", self.folder_of("told"), "--threads", "1",
                       "--time-limit", "4 s"),
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.wait_for((self.folder_of("told") / "study.json").exists)
        time.sleep(1)
        children = subprocess.run(["pgrep", "-P", str(process.pid)], capture_output=True,
                                  text=True, check=True).stdout.split()
        os.kill(int(children[-1]), signal.SIGTERM)  # the last rank
        process.wait(timeout=100)
        for line in self.rows("told"):
            self.assertNotEqual(json.loads(line)["stopped_by"], "signal", line)

    def test_paths_of_the_shelf_are_found_from_anywhere(self):
        shelf = self.write("shelf.yaml", """\
study: {name: shelf, front: [step_time]}
base: {from: configs/gpt3_1t.yaml}
axes: [{name: sram, key: system.accelerator.sram, values: [500 MB, 600 MB]}]
""")
        self.run_tool("study", shelf, "--dry-run")
        self.write("own.yaml", "workload: {from: configs/workloads/gpt3_175b_prefill.yaml}\n"
                               "system: {from: configs/systems/sn10_8x1_ring.yaml}\n")
        self.assertIn("8 chips", self.run_tool("check", "own.yaml").stdout)
        # A file of this path goes before; other paths are none of the shelf's.
        (self.folder / "configs").mkdir()
        self.write("configs/gpt3_1t.yaml", "workload: 1\n")
        self.assert_error("workload", "study", shelf, "--dry-run")
        self.write("own.yaml", "workload: {from: other/gpt3_175b_prefill.yaml}\n")
        self.assert_error("cannot read", "own.yaml")

    def test_no_cell_is_a_formula_for_a_spreadsheet(self):
        text = """\
study: {name: cells, solve: all}
base: {from: small.yaml}
axes:
  - name: choice
    choices:
      "=1+2": {search.gap: 0}
      "+cmd|' /C calc'!A0": {search.gap: 0.1}
      "@SUM(A1)": {search.gap: 0.2}
      "-2+3": {search.gap: 0.3}
      "-2": {search.gap: 0.4}
      "+1.5": {search.gap: 0.5}
      plain: {search.gap: 0.6}
"""
        self.run_study("cells", study=self.write("cells.yaml", text))
        with open(self.folder_of("cells") / "results.csv", newline="", encoding="utf-8") as file:
            cells = [row["choice"] for row in csv.DictReader(file)]
        self.assertEqual(cells, ["'=1+2", "'+cmd|' /C calc'!A0", "'@SUM(A1)", "'-2+3", "-2", "+1.5",
                                 "plain"])

    def test_a_later_axis_may_set_a_part_where_all_points_are_solved(self):
        text = """\
study: {name: parts, solve: all}
base: {from: small.yaml}
axes:
  - name: network
    choices:
      ring:
        system.network: [{topology: ring, degree: 2, bandwidth: 1 GB/s, strategy: tensor}]
      two:
        system.network: [{topology: ring, degree: 2, bandwidth: 1 GB/s, strategy: tensor},
                         {topology: switch, degree: 1, bandwidth: 1 GB/s, strategy: data}]
  - name: link
    choices:
      slow: {system.network.*.bandwidth: 2 GB/s}
      fast: {system.network.*.bandwidth: 20 GB/s}
"""
        study = self.write("parts.yaml", text)
        self.run_study("parts", study=study)
        for line in self.rows("parts"):
            row = json.loads(line)
            config = self.write("one.yaml", self.run_tool(
                "study", study, "--print", str(row["index"])).stdout)
            bandwidth = "2" if row["point"]["link"] == "slow" else "20"
            alone = self.result(config, "--quiet", "--set",
                                f"system.network.0.bandwidth={bandwidth} GB/s")
            self.assertEqual(row["step_time"], alone["step_time"])
        steps = {tuple(row["point"].values()): row["step_time"]
                 for row in map(json.loads, self.rows("parts"))}
        self.assertGreater(steps["ring", "slow"], steps["ring", "fast"])
        # Bounds of boxes of points treat each axis by itself.
        self.assert_error("sets 'system.network.*.bandwidth', as does the axis 'network'", "study",
                          self.write("front.yaml", text.replace("solve: all", "objective: step_time")),
                          "--dry-run")
        # A star is any index, and the same key twice is never right.
        for key in ("system.network.0.bandwidth", "system.network.*.bandwidth"):
            wrong = text + f"  - {{name: again, key: '{key}', values: [1 GB/s, 2 GB/s]}}\n"
            self.assert_error(f"sets '{key}', as does the axis 'link'", "study",
                              self.write("wrong.yaml", wrong), "--dry-run")

    def test_plans_and_executions_are_points_as_well(self):
        text = f"""\
study: {{name: plans, objective: step_time}}
base: {{plan: {{from: {ROOT}/configs/training/llama3_70b_2048_h100.yaml}},
       calculon: {{from: {ROOT}/configs/calculon_22b_h100.yaml}}}}
axes:
  - {{name: gap, key: search.gap, values: [0, 0.5]}}
"""
        self.run_study("plans", "--all", study=self.write("plans.yaml", text))
        rows = {json.loads(line)["index"]: json.loads(line) for line in self.rows("plans")}
        self.assertEqual(len(rows), 4)
        for row in rows.values():
            self.assertEqual(row["status"], "optimal")
            self.assertGreater(row["step_time"], 0.0)

    def listed(self, folder, *words, study=None):
        """The report, and of its last table figures and labels."""
        text = self.run_study(folder, *words, study=study).stdout
        return text, re.findall(r"^ *(\S+ \S+|none)  (\S+=[^()\n]*\S)(?: \((.*)\))?$", text, re.M)

    def test_the_best_points_are_listed_in_their_order(self):
        study = self.write("best.yaml", STUDY.replace("front: [step_time, price]",
                                                      "objective: step_time, solve: all"))
        text, rows = self.listed("best", study=study)
        by_time = sorted(map(json.loads, self.rows("best")), key=lambda row: row["step_time"])
        self.assertEqual(len(rows), 5)
        times = [row["step_time"] for row in by_time[:5]]
        time_of = {", ".join(f"{axis}={label}" for axis, label in row["point"].items()):
                   row["step_time"] for row in by_time}
        for (time_, point, remark), seconds in zip(rows, times):
            self.assertEqual(time_of.pop(point), seconds)
            number, unit = time_.split()
            scale = {"s": 1, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}[unit]
            self.assertAlmostEqual(float(number) * scale / seconds, 1, places=2)
            self.assertEqual(remark, "")
        self.assertNotIn("rates", text)

    def test_of_few_points_all_are_listed(self):
        few = ["--only", "link=slow", "--only", "sram=512 KiB", "--all"]
        for folder, goal in (("front", "front: [step_time, price]"),
                             ("best", "objective: step_time"),
                             ("limits", "objective: step_time, limits: {step_time: ..1e-9}"),
                             ("no goal", "solve: all")):
            study = self.write("few.yaml", STUDY.replace("front: [step_time, price]", goal))
            text = self.run_study(folder, *few, study=study).stdout
            labels = re.findall(r"memory=([^,]+), link=slow", text)
            self.assertEqual(len(labels), 5, text)
            self.assertEqual(len(set(labels)), 5)
            self.assertEqual(text.count("(outside the limits)"), 5 if folder == "limits" else 0)
        none = self.write("none.yaml", TIGHT.replace("[64 KiB,", "[1 B, 64 KiB,"))
        text = self.run_study("none", "--only", "sram=1 B,512 KiB", "--only", "link=slow",
                              "--all", study=none).stdout
        self.assertEqual(len(re.findall("none +none  sram=1 B, ", text)), 5, text)
        # The table has the first sentence of the reason in the report of the point alone.
        flat = re.sub(r"\s+", " ", text)
        self.assertEqual(len(re.findall(r"\(infeasible: SRAM: \w+ needs at least", flat)), 5, text)

    def test_rates_that_differ_in_kind_are_told(self):
        text = f"""\
study: {{name: rates, objective: step_time, solve: all}}
base: {{from: {ROOT}/configs/training/megatron_22b_selective.yaml}}
axes:
  - name: chip
    choices:
      curve: {{search.gap: 0}}
      peak: {{execution.efficiency: null}}
      real: {{execution: {{stack: megatron21, chip: a100_80gb}}}}
  - {{name: batch, key: workload.global_batch, values: [4, 8]}}
"""
        report = self.run_study("rates", study=self.write("rates.yaml", text)).stdout
        joined = " ".join(report.split())
        self.assertIn("rates ideal (the peaks of the chip) in 2 points, chip peak; by a given "
                      "efficiency in 2 points, chip curve; measured in 2 points, chip real. Figures "
                      "of one kind do not compare with those of another", joined)
        # Each row says its own.
        for chip, kind in (("peak", "ideal"), ("curve", "efficiency"), ("real", "measured")):
            self.assertEqual(len(re.findall(rf"  {kind} +chip={chip}, batch=[48]", report)), 2)
        kinds = {(row["point"]["chip"], row["rates"]) for row in map(json.loads, self.rows("rates"))}
        self.assertEqual(kinds, {("curve", "efficiency"), ("peak", "ideal"), ("real", "measured")})
        with open(self.folder_of("rates") / "results.csv", newline="") as file:
            self.assertEqual({(row["chip"], row["rates"]) for row in csv.DictReader(file)}, kinds)
        # Parts put together say the same.
        for k in (1, 2):
            self.run_study(f"part{k}", "--shard", f"{k}/2", study=self.folder / "rates.yaml")
        merged = self.run_tool("study", "merge", self.folder_of("part1"), self.folder_of("part2"),
                               "-o", self.folder_of("whole")).stdout
        self.assertEqual(merged, report)

    def test_rows_have_the_cautions_of_their_answers(self):
        text = f"""\
study: {{name: cautions, objective: step_time, solve: all}}
base: {{from: {ROOT}/configs/training/megatron_22b_selective.yaml}}
axes:
  - name: chip
    choices:
      own: {{execution: {{stack: megatron21, chip: a100_80gb}}}}
      other: {{execution: {{stack: megatron21, chip: h100_80gb}}}}
"""
        self.run_study("cautions", study=self.write("cautions.yaml", text))
        lines = {row["point"]["chip"]: row for row in map(json.loads, self.rows("cautions"))}
        self.assertNotIn("cautions", lines["own"])
        self.assertRegex(lines["other"]["cautions"][0], "^rates were measured on ")
        with open(self.folder_of("cautions") / "results.csv", newline="") as file:
            rows = {row["chip"]: row["cautions"] for row in csv.DictReader(file)}
        self.assertEqual(rows, {"own": "", "other": " ".join(lines["other"]["cautions"])})

    def test_the_report_adds_up_the_spaces_of_the_points(self):
        text = self.run_study("space", "--all").stdout
        spaces = [10 ** json.loads(line)["search"]["space"] for line in self.rows("space")]
        told = re.search(r"^space +10\^(\S+) answers that (\d+) points have", text, re.M)
        self.assertAlmostEqual(float(told.group(1)), math.log10(sum(spaces)), delta=0.006)
        self.assertEqual(int(told.group(2)), len(spaces))

    def test_tokens_of_a_plan_go_by_chips_and_dollars(self):
        text = f"""\
study: {{name: dollars, front: [tokens_per_s_per_chip, tokens_per_s_per_dollar]}}
base: {{from: {ROOT}/configs/training/llama3_70b_2048_h100.yaml,
       set: {{price: {{accelerator: 30000, memory: 0.5, link: [1, 4], switch: 2}}}}}}
axes:
  - {{name: batch, key: workload.global_batch, values: [1024, 2048]}}
"""
        self.run_study("dollars", "--all", study=self.write("dollars.yaml", text))
        for line in self.rows("dollars"):
            row = json.loads(line)
            tokens = row["tokens_per_second"]
            self.assertAlmostEqual(row["tokens_per_s_per_chip"], tokens / 2048, delta=1e-9 * tokens)
            self.assertAlmostEqual(row["tokens_per_s_per_dollar"] * row["price"], tokens,
                                   delta=1e-9 * tokens)


if __name__ == "__main__":
    main()
