#!/usr/bin/env python3
"""Searches that are killed, stopped or starved of disk, and go on.

usage: checkpoint_test.py DFSEARCH [TEST ...]
"""

import json
import os
import random
import resource
import signal
import time
import unittest

import support
from support import SMALL, CliTest, random_graph

# Some two seconds to the proof, and no proof within minutes.
HARD = random_graph(kernels=42, seed=1)
ENDLESS = random_graph()
# Three choices of degrees for each of two dimensions.
FREE = SMALL.replace("chips: 2", "chips: 4").replace(
    "degree: 2, bandwidth: 25 GB/s, strategy: tensor}",
    "bandwidth: 25 GB/s}\n    - {topology: switch, bandwidth: 10 GB/s}",
)


def without_search(result):
    return {key: value for key, value in result.items() if key != "search"}


class Checkpoints(CliTest):
    def setUp(self):
        super().setUp()
        self.config = self.write("hard.yaml", HARD)

    def test_killed_at_ten_random_moments_the_answer_is_the_same(self):
        begin = time.monotonic()
        straight = self.result(self.config, "--threads", "2", "--quiet")
        needed = time.monotonic() - begin
        self.assertEqual(straight["status"], "optimal")
        seed = 11
        draw = random.Random(seed)
        resume = []
        for moment in range(10):
            process = self.start(self.config, "--threads", "2", "--quiet", "--checkpoint", "c.ck",
                                 *resume)
            time.sleep(draw.uniform(0.05, 0.4) * needed)
            process.kill()
            process.communicate()
            if (self.folder / "c.ck").exists():
                resume = ["--resume", "c.ck"]
            with self.subTest(seed=seed, moment=moment):
                # What is there loads and is true.
                if resume:
                    part = self.result(self.config, *resume, "--time-limit", "1 ms",
                                       status=(0, 4, 5))
                    self.assertGreater(part["search"]["nodes"], 0)
                    self.assertLessEqual(part["lower_bound"], straight["objective"])
        if needed > 1:
            self.assertEqual(resume, ["--resume", "c.ck"])
        resumed = self.result(self.config, "--threads", "1", "--quiet", *resume)
        self.assertEqual(without_search(resumed), without_search(straight))

    def test_sigterm_leaves_a_file_to_go_on_from(self):
        self.config = self.write("endless.yaml", ENDLESS)
        process = self.start(self.config, "--checkpoint", "c.ck", "--json", "r.json")
        time.sleep(0.4)
        process.send_signal(signal.SIGTERM)
        stdout, stderr = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 4, (stdout, stderr))
        stopped = self.read_json("r.json")
        self.assertEqual(stopped["stopped_by"], "signal")
        resumed = self.result(self.config, "--resume", "c.ck", "--node-limit", "50", status=4)
        self.assertLessEqual(resumed["objective"], stopped["objective"])
        self.assertGreaterEqual(resumed["lower_bound"], stopped["lower_bound"])
        self.assertGreaterEqual(resumed["search"]["nodes"], stopped["search"]["nodes"] + 50)
        self.assertEqual(self.files(), ["c.ck", "endless.yaml", "hard.yaml", "r.json"])

    def test_a_bound_that_was_proved_stays_proved(self):
        # Bounds of shardings decided in part are not recomputed when their nodes are read.
        config = "configs/transformers/llama3_70b.yaml"
        stopped = self.result(config, "--deterministic", "--node-limit", "600", "--checkpoint",
                              "c.ck", status=4)
        resumed = self.result(config, "--deterministic", "--node-limit", "1", "--resume", "c.ck",
                              status=4)
        self.assertGreater(stopped["lower_bound"], 0)
        self.assertGreaterEqual(resumed["lower_bound"], stopped["lower_bound"])

    def test_a_finished_search_answers_at_once(self):
        config = self.write("free.yaml", FREE)
        first = self.result(config, "--top", "3", "--checkpoint", "c.ck")
        again = self.result(config, "--top", "3", "--resume", "c.ck", "--checkpoint", "c.ck")
        self.assertEqual(without_search(again), without_search(first))
        self.assertEqual(again["search"]["nodes"], first["search"]["nodes"])
        infeasible = ["--set", "system.accelerator.sram=64 B", "--set",
                      "equations.lone_kernels=whole", "--checkpoint", "i.ck"]
        first = self.result(config, *infeasible, status=3)
        again = self.result(config, *infeasible, "--resume", "i.ck", status=3)
        self.assertEqual(without_search(again), without_search(first))

    def test_the_same_command_goes_on_from_its_checkpoint(self):
        self.config = self.write("endless.yaml", ENDLESS)
        nodes = 0
        for _ in range(3):
            done = self.run_tool(self.config, "--node-limit", "100", "--checkpoint", "c.ck",
                                 "--quiet", "--json", "-", status=4)
            part = json.loads(done.stdout)
            self.assertGreaterEqual(part["search"]["nodes"], nodes + 100)
            told = f"c.ck: the search goes on from this checkpoint of the same config, which has {nodes}"
            self.assertEqual(told in done.stderr, nodes > 0, done.stderr)
            nodes = part["search"]["nodes"]
        # The answer equals the one of a search that nothing interrupted.
        free = self.write("free.yaml", FREE)
        straight = self.result(free)
        self.result(free, "--node-limit", "5", "--checkpoint", "f.ck", status=(0, 4, 5))
        again = self.result(free, "--checkpoint", "f.ck")
        for key in ("status", "objective", "lower_bound", "gap"):  # some other mapping is as good
            self.assertEqual(again[key], straight[key])
        before = (self.folder / "c.ck").read_bytes()
        error = self.run_tool(free, "--checkpoint", "c.ck", status=2).stderr
        self.assertIn("c.ck: is a checkpoint of another config", error)
        self.assertEqual((self.folder / "c.ck").read_bytes(), before)

    def test_a_full_disk_is_told_and_keeps_the_old_file(self):
        self.config = self.write("endless.yaml", ENDLESS)
        self.run_tool(self.config, "--node-limit", "100", "--checkpoint", "c.ck", status=4)
        before = (self.folder / "c.ck").read_bytes()
        done = self.run_tool(
            self.config, "--resume", "c.ck", "--checkpoint", "c.ck", "--node-limit", "100",
            status=2,
            preexec_fn=lambda: (signal.signal(signal.SIGXFSZ, signal.SIG_IGN),
                                resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))),
        )
        self.assertIn("c.ck: cannot be written: File too large; the search goes on", done.stderr)
        self.assertIn("the last checkpoint is missing", done.stderr)
        self.assertIn("stopped by the node limit", done.stdout)  # the answer is not lost
        self.assertEqual((self.folder / "c.ck").read_bytes(), before)
        self.assertEqual(self.files(), ["c.ck", "endless.yaml", "hard.yaml"])
        self.run_tool(self.config, "--checkpoint", "/dev/full", "--node-limit", "50", status=2)

    def test_threads_and_limits_are_no_part_of_the_problem(self):
        self.config = self.write("endless.yaml", ENDLESS)
        self.run_tool(self.config, "--node-limit", "100", "--checkpoint", "c.ck", "--deterministic",
                      status=4)
        self.run_tool(self.config, "--resume", "c.ck", "--node-limit", "50", "--threads", "1",
                      "--gap", "0.01", "--top", "2", status=4)

    @unittest.skipIf(os.cpu_count() is None, "the number of processors is unknown")
    def test_many_threads_on_a_small_machine_do_not_thrash(self):
        self.config = self.write("endless.yaml", ENDLESS)
        counts = [self.result(self.config, "--threads", n, "--node-limit", "600", status=4)
                  for n in (os.cpu_count(), 64)]
        self.assertLessEqual(counts[1]["search"]["threads"], os.cpu_count())
        self.assertLess(counts[1]["search"]["time"], 5 * counts[0]["search"]["time"] + 1)


class Ranking(CliTest):
    def setUp(self):
        super().setUp()
        self.config = self.write("free.yaml", FREE)

    def test_the_best_parallelisms_are_ranked_and_distinct(self):
        result = self.result(self.config, "--top", "4")
        top = result["top"]
        self.assertGreaterEqual(len(top), 3)
        self.assertEqual(top[0]["objective"], result["objective"])
        self.assertEqual(top[0]["parallelism"], result["parallelism"])
        times = [entry["objective"] for entry in top]
        self.assertEqual(times, sorted(times))
        degrees = [tuple(entry["parallelism"].values()) for entry in top]
        self.assertEqual(len(set(degrees)), len(top))
        for entry in top:
            self.assertEqual(entry["objective"], entry["lower_bound"])
            # The answer stays the same if it is the only choice.
            only = [f"parallelism.{name}={degree}" for name, degree in entry["parallelism"].items()]
            alone = self.result(self.config, "--top", "1", *sum((["--set", o] for o in only), []))
            self.assertEqual(alone["objective"], entry["objective"])
            self.assertEqual(alone["parallelism"], entry["parallelism"])
            self.assertTrue(alone["top_complete"])
        report = self.run_tool(self.config, "--top", "4").stdout
        self.assertIn("best parallelisms", report)

    def test_the_next_best_comes_unasked_unless_one_is_enough(self):
        # Several mappings are equally good, and two threads may find another one of them first.
        one = ["--threads", "1"]
        default = self.result(self.config, *one)
        ranked = self.result(self.config, "--top", "2", *one)
        self.assertEqual(default["top"], ranked["top"])
        self.assertIn("next best", self.run_tool(self.config).stdout)
        single = self.result(self.config, "--top", "1", *one)
        self.assertEqual(single["top"], ranked["top"][:1])
        self.assertNotIn("next best", self.run_tool(self.config, "--top", "1").stdout)
        fixed = self.write("fixed.yaml", SMALL)
        self.assertNotIn("next best", self.run_tool(fixed).stdout)
        self.assertEqual(len(self.result(fixed, "--top", "5")["top"]), 1)

    def test_all_that_were_asked_for_must_be_proved(self):
        nodes = self.result(self.config, "--top", "1")["search"]["nodes"]
        part = self.result(self.config, "--top", "9", "--node-limit", nodes + 1, "--deterministic",
                           status=4)
        self.assertIn(part["top"][-1]["stopped_by"], ("nodes",))
        self.result(self.config, "--node-limit", nodes + 1)


if __name__ == "__main__":
    support.main()
