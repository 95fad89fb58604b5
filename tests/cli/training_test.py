#!/usr/bin/env python3
"""Configs with a section `training`: shipped ones, options, limits, signals, exit statuses, and the
tables of docs/formats.md and docs/results.md.

usage: training_test.py DFSEARCH [TEST ...]
"""

import itertools
import json
import os
import re
import signal
import time
import unittest

import support
from plan_case import CONFIGS, LARGE, ROLES, ROOT, SMALL, PlanCase, changes, without_effort
from support import CliTest

FORMATS = (ROOT / "docs" / "formats.md").read_text()
RESULTS = (ROOT / "docs" / "results.md").read_text()


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

    def test_given_layers_are_no_better_than_searched_ones(self):
        # The stages of least pace differ from the stages of the least step.
        given = changes("parallelism={tensor: 1, context: 1, pipeline: 4, data: 4}",
                        "training.schedule=1f1b", "system.memory.capacity=80 GB")
        free = self.result(self.config, *given)["step_time"]
        for layers in ([3, 3, 3, 3], [3, 4, 4, 1], [4, 4, 3, 1], [3, 4, 3, 2], [4, 3, 3, 2]):
            pinned = self.result(self.config, *given, *changes(f"training.layers={layers}"))
            self.assertLessEqual(free, pinned["step_time"])

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
                process = self.start(self.config, *changes(*LARGE), "--json", "-")
                time.sleep(1)
                self.assertIsNone(process.poll(), "the search is too short to be stopped")
                process.send_signal(number)
                out, err = process.communicate(timeout=60)
                self.assertIn(process.returncode, (4, 5), err)
                self.assertEqual(json.loads(out)["stopped_by"], "signal")

    def test_a_given_plan_is_evaluated(self):
        self.run_tool(self.config, "--quiet", "--json", "r.json", "--top", "3")
        best = json.loads((self.folder / "r.json").read_text())
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

    def test_outputs(self):
        done = self.run_tool(self.config, "--json", "r.json", "--top", "2")
        self.assertEqual(done.stderr, "")
        self.assertLessEqual(max(map(len, done.stdout.splitlines())), 100)
        self.assertEqual(json.loads((self.folder / "r.json").read_text())["status"], "optimal")
        self.assertEqual(self.run_tool(self.config).stderr, "")
        verbose = self.run_tool(self.config, "--verbose").stderr.splitlines()
        self.assertRegex(verbose[0], r"^ *time +nodes +open +incumbent +util +lower bound +gap")
        self.assertGreater(len(verbose), 1)
        for line in verbose[1:]:
            self.assertRegex(line, r"^ *[\d.]+ s +\d+ +\d+ +\S+ \w+ +[\d.]+% +\S+ \w+ +<?[\d.]+% [TH]$")
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
            if not re.fullmatch(r"`\w+`(, `\w+`)+ or a list of them", row[1]):
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

        for key in ("parallelism", "time"):
            self.assertCountEqual(inner(key), result[key])
        self.assertLess(set(result["plan"]),
                        set(keys(tables(FORMATS, "### The section `training`", "key"))))
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
