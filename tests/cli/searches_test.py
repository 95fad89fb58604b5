#!/usr/bin/env python3
"""What holds of the search for an answer of every kind: threads, limits, checkpoints, events, files.

usage: searches_test.py DFSEARCH [TEST ...]
"""

import json

import support
from display_test import timeless
from hints_test import certain
from kinds import KINDS
from support import CliTest

SMALLER = KINDS["mapping"].replace("global_batch: 8", "global_batch: 4")
WATCHED = [kind for kind in KINDS if kind != "fleet"]  # which has one answer, at its end
CHECKPOINTS = [kind for kind in WATCHED if kind != "stages"]
GAPS = ("mapping", "least bytes", "stages", "split", "plan", "stack", "execution")
FLOORS = {"plan": "nodes", "stack": "nodes", "deployment": "leaves", "front": "leaves"}
# The degrees that pin one of the best answers, in the section of the config.
RANKED = {"plan": "parallelism", "stack": "parallelism", "execution": "calculon"}


class Searches(CliTest):
    def of_each_kind(self, check, kinds=tuple(KINDS)):
        for kind in kinds:
            with self.subTest(kind):
                check(kind, self.write("c.yaml", KINDS[kind]))
                for path in set(self.folder.iterdir()):
                    path.unlink()

    def test_any_number_of_threads_finds_the_same(self):
        def check(kind, config):
            one = certain(self.result(config, "--threads", "1"), kind)
            self.assertEqual(one["status"], "optimal")
            for options in (["--threads", "2"], ["--threads", "64"], ["--deterministic"]):
                self.assertEqual(certain(self.result(config, *options), kind), one)

        self.of_each_kind(check)

    def test_deterministic_searches_do_the_same(self):
        def check(_, config):
            results = [timeless(self.result(config, "--deterministic", "--threads", threads))
                       for threads in ("1", "8")]
            for result in results:
                result["search"].pop("threads", None)
            self.assertEqual(results[0], results[1])

        self.of_each_kind(check)

    def test_limits_end_the_search(self):
        def check(kind, config):
            keys = list(self.result(config))
            for options, reason in ((("--node-limit", "1"), "nodes"),
                                    (("--time-limit", "1 ns"), "time")):
                if (kind, reason) == ("fleet", "nodes"):  # which takes a single one
                    continue
                status = 5 if reason == "time" else (4, 5)
                done = self.run_tool(config, *options, "--threads", "1", "--json", "r.json",
                                     status=status)
                result = self.read_json("r.json")
                self.assertEqual(list(result), keys)
                self.assertEqual(
                    (done.returncode, result["stopped_by"]),
                    ({"feasible": 4, "no_solution": 5}[result["status"]], reason))
                self.assertIn({"nodes": "stopped by the node limit",
                               "time": "stopped by the time limit"}[reason],
                              " ".join(done.stdout.split()))
            one = ("--threads", "1", "--deterministic")
            wide = self.result(config, "--gap", "0.5", *one)
            self.assertEqual(wide["status"], "optimal")
            self.assertLessEqual(wide["gap"], 0.5)
            # Where a config has a limit, it holds unless an option has another one.
            if kind in GAPS:
                of_config = ("--set", "search.gap=0.5", *one)
                self.assertGreater(wide["gap"], 0)
                self.assertEqual(certain(self.result(config, *of_config)), certain(wide))
                self.assertEqual(self.result(config, *of_config, "--gap", "0")["gap"], 0)

        self.of_each_kind(check)

    def test_a_search_goes_on_from_its_checkpoint(self):
        def check(kind, config):
            words = (config, "--top", "2", "--threads", "1")
            whole = self.result(*words)
            stopped = set()
            for nodes in (1, 5, 40):
                files = ("--checkpoint", "c", *(("--resume", "c") if nodes > 1 else ()))
                done = self.run_tool(*words, *files, "--node-limit", nodes, status=(0, 4, 5))
                stopped.add(done.returncode)
                self.assertEqual(certain(self.result(*words, "--resume", "c"), kind),
                                 certain(whole, kind))
            self.assertNotEqual(stopped, {0})
            self.write("other.yaml", SMALLER if kind != "mapping" else KINDS["plan"])
            for option in ("--resume", "--checkpoint"):
                kept = (self.folder / "c").read_bytes()
                self.assertRegex(self.run_tool("other.yaml", option, "c", status=2).stderr,
                                 "^c: is a checkpoint of another ")
                self.assertEqual((self.folder / "c").read_bytes(), kept)

        self.of_each_kind(check, CHECKPOINTS)

    def test_events(self):
        def check(kind, config):
            done = self.run_tool(config, "--events", "-", "--json", "r.json")
            self.assertEqual(done.stderr, "")
            result = self.read_json("r.json")
            begin, *between, end = [json.loads(line) for line in done.stdout.splitlines()]
            self.assertEqual((begin["event"], end["event"]), ("start", "done"))
            self.assertEqual(begin["workload"], (result["workload"] or {}).get("kind"))
            found = [event for event in between if event["event"] == "incumbent"]
            objectives = [event["objective"] for event in found]
            self.assertEqual(objectives, sorted(objectives, reverse=True))
            self.assertEqual((end["status"], end["stopped_by"]), ("optimal", None))
            if kind != "front":  # which has no single objective
                for key in ("objective", "lower_bound", "gap"):
                    self.assertEqual(end[key], result[key])
                self.assertEqual(objectives[-1], result["objective"])
            for key in ("parallelism", "split"):
                if key in found[-1] and kind != "split":
                    self.assertEqual(found[-1][key], result[key])

        self.of_each_kind(check, WATCHED)

    def test_without_floors_the_answer_is_the_same_and_later(self):
        def check(kind, config):
            words = (config, "--deterministic", "--threads", "1")
            whole, without = self.result(*words), self.result(*words, "--no-bound", "floors")
            self.assertEqual(certain(without), certain(whole))
            effort = FLOORS[kind]
            self.assertGreater(without["search"][effort], whole["search"][effort])

        self.of_each_kind(check, FLOORS)

    def test_the_best_answers_are_the_best_of_their_degrees(self):
        def check(kind, config):
            result = self.result(config, "--top", "3")
            times = [found["step_time"] for found in result["top"]]
            self.assertEqual(times, sorted(times))
            self.assertEqual(times[0], result["step_time"])
            self.assertFalse(result["top_complete"])
            degrees = [tuple(found["parallelism"].values()) for found in result["top"]]
            self.assertEqual(len(set(degrees)), 3)
            for found in result["top"]:
                pins = [word for role, degree in found["parallelism"].items()
                        for word in ("--set", f"{RANKED[kind]}.{role}={degree}")]
                one = self.result(config, *pins)
                for key in set(found) & set(one) - {"lower_bound", "gap"}:
                    self.assertEqual(one[key], found[key], key)
            every = self.result(config, "--top", "1000", *pins[:2])
            self.assertTrue(every["top_complete"])

        self.of_each_kind(check, RANKED)

    def test_a_full_disk_costs_no_answer(self):
        def check(_, config):
            done = self.run_tool(config, "--mapping", "/dev/full", "--json", "r.json", status=2)
            self.assertIn("/dev/full: cannot be written: No space left on device", done.stderr)
            self.assertIn("optimal, proved", done.stdout)
            self.assertEqual(self.read_json("r.json")["status"], "optimal")

        self.of_each_kind(check)

    def test_reports_fit_a_screen_and_verbose_shows_the_columns(self):
        def check(_, config):
            done = self.run_tool(config)
            self.assertEqual(done.stderr, "")
            self.assertLessEqual(max(map(len, done.stdout.splitlines())), 100)
            head, *lines = self.run_tool(config, "--verbose").stderr.splitlines()
            self.assertRegex(head, r"^ *time +nodes +open +incumbent +util +lower bound +gap")
            for line in lines:
                self.assertRegex(line, r"^ *[\d.]+ s +\d+ +\d+ ")
            self.assertTrue(lines)

        self.of_each_kind(check, WATCHED)


if __name__ == "__main__":
    support.main()
