#!/usr/bin/env python3
"""The stream of events, and that the log never falls silent.

usage: events_test.py DFSEARCH [TEST ...]
"""

import math
import os
import subprocess

import support
from support import SMALL, WHOLE_KERNELS, CliTest, random_graph


class Events(CliTest):
    def setUp(self):
        super().setUp()
        self.small = self.write("small.yaml", SMALL)
        self.hard = self.write("hard.yaml", random_graph())

    def events(self, *words, status=0):
        self.run_tool(*words, "--events", "e.ndjson", "--json", "r.json", status=status)
        return self.read_rows("e.ndjson")

    def test_incumbents_have_the_times_of_the_result(self):
        events = self.events(self.small)
        self.assertEqual(events[0]["kernels"], 4)
        result = self.read_json("r.json")
        found = [e for e in events if e["event"] == "incumbent"]
        self.assertAlmostEqual(found[-1]["time"], result["search"]["best_incumbent"], delta=0.1)
        self.assertAlmostEqual(found[0]["time"], result["search"]["first_incumbent"], delta=0.1)
        infeasible = self.events(self.write("whole.yaml", WHOLE_KERNELS), "--set",
                                 "system.accelerator.sram=64 B", status=3)
        self.assertEqual(infeasible[-1]["status"], "infeasible")
        self.assertIsNone(infeasible[-1]["objective"])

    def test_progress_comes_every_second_with_a_finite_gap(self):
        events = self.events(self.hard, "--time-limit", "3500 ms", "--quiet", status=4)
        self.assertEqual(events[-2]["event"], "stop")
        self.assertEqual(events[-2]["reason"], "time")
        progress = [e for e in events if e["event"] == "progress"]
        self.assertGreaterEqual(len(progress), 2)
        times = [e["time"] for e in events]
        self.assertEqual(times, sorted(times))
        found = False
        for event in events:
            if event["event"] not in ("progress", "incumbent"):
                continue
            found = found or event["event"] == "incumbent"
            if found:
                self.assertIsInstance(event["gap"], (int, float))
                self.assertTrue(math.isfinite(event["gap"]))
                self.assertTrue(0 <= event["gap"] <= 1)

    def test_a_deterministic_search_tells_the_same_every_time(self):
        def told(threads):
            done = self.run_tool(
                medium, "--deterministic", "--threads", threads, "--verbose",
                "--events", "e.ndjson")
            events = self.read_rows("e.ndjson")
            for event in events:
                del event["time"]
                event.pop("threads", None)
            return events, [line.split(" s ", 1)[-1] for line in done.stderr.splitlines()]

        medium = self.write("medium.yaml", random_graph(kernels=36))
        first = told("1")
        self.assertGreaterEqual(len([e for e in first[0] if e["event"] == "progress"]), 3)
        self.assertEqual(told("2"), first)

    def test_the_log_speaks_though_a_node_takes_long(self):
        # Opening the first point of this one is most of the work.
        wide = self.write("wide.yaml", random_graph(kernels=1500))
        events = self.events(wide, "--time-limit", "2500 ms", status=(4, 5))
        times = [0.0] + [e["time"] for e in events if e["event"] == "progress"]
        gaps = [b - a for a, b in zip(times, times[1:])]
        self.assertGreaterEqual(len(gaps), 2)
        self.assertLess(max(gaps), 1.9, events)

    def test_checkpoints_and_resumed_searches_are_told(self):
        events = self.events(self.small, "--checkpoint", "c.ck")
        told = [e for e in events if e["event"] == "checkpoint"]
        self.assertEqual(told[-1]["file"], "c.ck")
        self.assertEqual(told[-1]["bytes"], (self.folder / "c.ck").stat().st_size)
        again = self.events(self.small, "--resume", "c.ck")
        self.assertEqual(again[0]["nodes"], told[-1]["nodes"])
        self.assertGreater(again[0]["time"], 0)

    def test_a_closed_pipe_or_a_full_disk_loses_the_events_only(self):
        read_end, write_end = os.pipe()
        os.close(read_end)
        done = subprocess.run(
            self.command(self.small, "--events", "-", "--json", "r.json"), cwd=self.folder,
            stdin=subprocess.DEVNULL, stdout=write_end, stderr=subprocess.PIPE, text=True,
            timeout=60, check=False,
        )
        os.close(write_end)
        self.assertEqual(done.returncode, 2)
        self.assertIn("standard output: cannot be written: Broken pipe; the search goes on",
                      done.stderr)
        self.assertEqual(self.read_json("r.json")["status"], "optimal")
        full = self.run_tool(self.small, "--events", "/dev/full", status=2)
        self.assertIn("/dev/full: cannot be written: No space left on device", full.stderr)
        self.assertIn("optimal, proved", full.stdout)
        missing = self.run_tool(self.small, "--events", "missing/e.ndjson", status=2)
        self.assertIn("missing/e.ndjson: cannot be written", missing.stderr)
        self.assertEqual(missing.stdout, "")


if __name__ == "__main__":
    support.main()
