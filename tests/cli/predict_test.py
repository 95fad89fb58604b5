#!/usr/bin/env python3
"""Predictions of measured runs: the errors that docs/truth.md names, against a second writing of
the equations, and tables that are wrong.

usage: predict_test.py DFSEARCH [TEST ...]
"""

import collections
import csv
import pathlib
import sys
import unittest

from support import CliTest, main

ROOT = pathlib.Path(__file__).resolve().parents[2]
MEASURED = ROOT / "configs" / "measured"
sys.path.append(str(ROOT / "tests" / "support"))
try:
    import reference_stack
except ImportError:  # without python3-yaml
    reference_stack = None

# The most that a group may be off on average, in percent.
LIMITS = {"all": 9, "mosaicml": 7, "vtrain one node": 8, "vtrain many nodes": 8, "bridge dense": 9,
          "bridge experts": 18, "selene": 5.5, "torchtitan": 10}
HEADER = ("id,gpu,gpus,hidden,heads,kv_heads,head_dim,mlp,layers,vocabulary,precision,sequence,"
          "global_batch,micro_batch,tensor,pipeline,stack\n")
ROW = "a,h100_80gb,8,4096,32,32,128,16384,32,32000,bf16,2048,64,2,2,1,megatron23\n"


def groups(row):
    yield "all"
    for name, group in (("mosaicml/", "mosaicml"), ("pytorch/torchtitan", "torchtitan"),
                        ("Narayanan", "selene"), ("Korthikanti", "selene")):
        if row["source"].startswith(name):
            yield group
    if "vTrain" in row["source"]:
        yield "vtrain one node" if "single" in row["source"] else "vtrain many nodes"
    if "Megatron-Bridge" in row["source"]:
        yield "bridge experts" if row["experts"] else "bridge dense"


class Predict(CliTest):
    """Every test runs in an empty folder."""

    def predicted(self, name):
        table = self.run_tool("predict", MEASURED / f"{name}.csv", "-o", "out.csv").stdout
        with open(self.folder / "out.csv", newline="") as file:
            rows = list(csv.DictReader(file))
        with open(MEASURED / f"{name}.csv", newline="") as file:
            measured = list(csv.DictReader(file))
        self.assertEqual([row["id"] for row in rows], [row["id"] for row in measured])
        return table, list(zip(measured, rows))

    def test_the_errors_of_measured_runs_are_those_of_the_page(self):
        table, rows = self.predicted("training")
        errors, held, alike = collections.defaultdict(list), 0, collections.defaultdict(list)
        for run, row in rows:
            if not row["predicted_s"]:
                self.assertEqual(run["hidden"], "")
                continue
            measured, time = float(run["step_s"]), float(row["predicted_s"])
            self.assertAlmostEqual(float(row["error"]), time / measured - 1, places=3)
            self.assertLess(float(row["low_s"]), time)
            self.assertGreater(float(row["high_s"]), time)
            parts = sum(float(row[key]) for key in row
                        if key.endswith("_s") and key not in
                        ("step_s", "predicted_s", "low_s", "high_s"))
            self.assertAlmostEqual(parts / time, 1, delta=2e-3, msg=run["id"])
            held += float(row["low_s"]) <= measured <= float(row["high_s"])
            for group in groups(run):
                errors[group].append(abs(time / measured - 1))
            if "vtrain one node" in groups(run):
                alike[tuple(run[key] for key in ("hidden", "layers", "gpus", "global_batch"))].append(
                    (measured, time))
        for group, most in LIMITS.items():
            with self.subTest(group):
                self.assertLess(100 * sum(errors[group]) / len(errors[group]), most)
        self.assertGreater(held / len(errors["all"]), 0.88)
        pairs = [(a, b) for plans in alike.values() for a in plans for b in plans if a[0] < b[0]]
        self.assertGreater(sum(a[1] < b[1] for a, b in pairs) / len(pairs), 0.9)
        regrets = [min(plans, key=lambda p: p[1])[0] / min(plans)[0] - 1 for plans in alike.values()]
        self.assertLess(sum(regrets) / len(regrets), 0.04)
        self.assertRegex(table, r"1071 +[0-9.]+ .* all\n")

    def test_what_fits_and_the_peak_of_memory_are_those_of_the_page(self):
        table, rows = self.predicted("nanotron")
        known = [(run, row) for run, row in rows if run["status"] in ("Success", "OOM")]
        right = [(run["status"] == "Success") == (row["fits"] == "yes") for run, row in known]
        self.assertGreater(sum(right) / len(right), 0.95)
        off = [abs(float(row["memory_gib"]) / float(run["reserved_gb"]) - 1) for run, row in known
               if run["status"] == "Success" and run["reserved_gb"]]
        self.assertLess(sum(off) / len(off), 0.16)
        self.assertIn("are told right to fit or not", table)

    @unittest.skipUnless(reference_stack, "python3-yaml is not installed")
    def test_a_second_writing_of_the_equations_says_the_same(self):
        count, far = 0, []
        for name in ("training", "nanotron"):
            for run, row in self.predicted(name)[1]:
                if not row["predicted_s"] or int(run["pipeline"]) > 1:
                    continue
                count += 1
                time = reference_stack.Run(run).step()
                if abs(float(row["predicted_s"]) / time - 1) > 1e-3:
                    far.append((run["id"], float(row["predicted_s"]), time))
        self.assertGreater(count, 1000)
        self.assertEqual(far, [])

    def test_what_is_wrong_with_a_table_is_told_with_row_and_column(self):
        def message(text):
            return self.run_tool("predict", self.write("runs.csv", text), status=2).stderr
        self.assertIn("1 runs", self.run_tool("predict", self.write("runs.csv", HEADER + ROW)).stdout)
        for old, new, place, what in (
                ("h100_80gb", "h1000", "2:3", "there is no measured chip 'h1000'"),
                ("megatron23", "megatron", "2:", "there is no stack 'megatron'"),
                ("bf16", "int3", "2:", "expected bf16, fp16, fp8"),
                ("bf16", "nvfp4", "2:", "no measured products of this precision"),
                ("8,4096", "9,4096", "2:13", "expected tensor 2 x pipeline 1"),
                ("4096,32", "4096.5,32", "2:15", "expected a whole number from 1"),
                ("4096,32", "x,32", "2:15", "expected a number from 0, got 'x'")):
            with self.subTest(new):
                error = message(HEADER + ROW.replace(old, new, 1))
                self.assertIn(f"runs.csv:{place}", error)
                self.assertIn(what, error)
        self.assertIn("micro_batch: this column is missing",
                      message(HEADER.replace("micro_batch,", "") + ROW))
        self.assertIn("expected 17 cells, got 16", message(HEADER + ROW.replace("a,", "", 1)))
        self.assertIn("expected a line with the names of columns", message(""))

    def test_pages_are_written_whole_or_not_at_all(self):
        table = self.write("runs.csv", HEADER + ROW)
        for words in (("--html", "-"), ("--html", "a", "-o", "a"), ("--html", "none/page.html"),
                      ("--by", "chip"), ("--worst", "0"), ("--threads", "0")):
            self.assertIn(words[0], self.run_tool("predict", table, *words, status=2).stderr +
                          " --html" * ("none" in words[1]))
        self.write("page.html", "before")
        self.write("wrong.csv", HEADER + ROW.replace("bf16", "int3"))
        self.run_tool("predict", "wrong.csv", "--html", "page.html", status=2)
        self.assertEqual((self.folder / "page.html").read_text(), "before")
        self.run_tool("predict", table, "--html", "page.html")
        self.assertTrue((self.folder / "page.html").read_text().endswith("</html>\n"))


if __name__ == "__main__":
    main()
