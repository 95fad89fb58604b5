#!/usr/bin/env python3
"""Exported linear programs: usage, both formats, there and back through solvers.

What needs CBC or GLPK is skipped where they are not installed.

usage: export_test.py DFSEARCH [TEST ...]
"""

import shutil
import subprocess
import unittest

import support
from support import CliTest

# A program is about one sharding: the sharding of least bytes needs no mapping to be known.
LEAST = "search: {sharding: least_bytes}\n"
SMALL = support.SMALL + LEAST
TRAINING = support.TRAINING + LEAST


def needs(program, package):
    return unittest.skipUnless(shutil.which(program), f"{program} is not installed ({package})")


class Usage(CliTest):
    def setUp(self):
        super().setUp()
        self.config = self.write("c.yaml", SMALL)

    def test_the_format_is_asked_for_or_that_of_the_file(self):
        self.run_tool("export", "c.yaml", "--set", "workload.tile=16", "-o", "f.lp")
        self.assertIn("\nSubject To\n", (self.folder / "f.lp").read_text())
        self.run_tool("export", "c.yaml", "--set", "workload.tile=16", "-o", "f.lp", "--format",
                      "mps")
        self.assertIn("\nROWS\n", (self.folder / "f.lp").read_text())
        text = self.run_tool("export", "c.yaml", "--set", "workload.tile=16").stdout
        self.assertEqual(text.splitlines()[1:],
                         (self.folder / "f.lp").read_text().splitlines()[1:])
        self.assertTrue(text.endswith("ENDATA\n"))
        for name in ("A[Up,0]", "B[In,Up,1]", "D[Act,Down,3]", "L[In,Up,2]", "H[Up,2]", "T[3]"):
            self.assertIn(f" {name} ", text)

    def test_open_decisions_are_asked_for_or_taken_from_a_result(self):
        done = self.run_tool("export", "c.yaml", "-o", "f.mps", status=2)
        self.assertIn("does not decide workload.tile", done.stderr)
        self.assertIn("--mapping", done.stderr)
        self.assertEqual(self.files(), ["c.yaml"])
        self.run_tool("c.yaml", "--mapping", "m.json")
        self.run_tool("export", "c.yaml", "--mapping", "m.json", "-o", "f.mps")

    def test_a_solution_that_does_not_fit_is_judged(self):
        self.write("f.sol", "A[Down,0] 1\nA[In,1] 1\nA[Up,1] 1\nA[Act,1] 1\n")
        words = ("evaluate", "c.yaml", "--set", "workload.tile=16", "--solution", "f.sol")
        result = self.result(*words, status=3)
        self.assertEqual(result["infeasible"]["resource"], "precedence")


class Solvers(CliTest):
    """`solve` returns the solution file that the solver wrote for a program."""

    def check_there_and_back(self, suffix, solve):
        prefill = TRAINING.replace("llm_training", "llm_prefill")
        for text in (SMALL, prefill.replace("partitions: 8", "partitions: 3")):
            config = self.write("c.yaml", text)
            found = self.result(config, "--mapping", "m.json")
            self.run_tool("export", config, "--mapping", "m.json", "-o", f"f.{suffix}")
            solve(self.folder / f"f.{suffix}", self.folder / "f.sol")
            again = self.result("evaluate", config, "--mapping", "m.json", "--solution", "f.sol")
            self.assertAlmostEqual(again["step_time"] / found["step_time"], 1, delta=1e-6)

    @needs("cbc", "coinor-cbc")
    def test_cbc_finds_what_dfsearch_finds(self):
        def cbc(model, solution):
            subprocess.run(["cbc", model, "ratio", "0", "sec", "60", "solve", "solu", solution],
                           check=True, stdout=subprocess.DEVNULL, timeout=120)

        self.check_there_and_back("mps", cbc)
        self.check_there_and_back("lp", cbc)

    @needs("glpsol", "glpk-utils")
    def test_glpk_finds_what_dfsearch_finds(self):
        def glpsol(model, solution):
            kind = "--lp" if model.suffix == ".lp" else "--freemps"
            subprocess.run(["glpsol", kind, model, "--cuts", "--tmlim", "60", "-o", solution],
                           check=True, stdout=subprocess.DEVNULL, timeout=120)

        self.check_there_and_back("mps", glpsol)
        self.check_there_and_back("lp", glpsol)

    @needs("cbc", "coinor-cbc")
    def test_a_sharding_is_costed_with_the_partitions_of_a_mapping(self):
        config = self.write("c.yaml", TRAINING)
        self.run_tool(config, "--mapping", "m.json")
        self.run_tool("export", config, "--part", "sharding", "-o", "s.mps")
        subprocess.run(["cbc", "s.mps", "solve", "solu", "s.sol"], cwd=self.folder, check=True,
                       stdout=subprocess.DEVNULL, timeout=120)
        result = self.result("evaluate", config, "--mapping", "m.json", "--solution", "s.sol")
        self.assertEqual(result["status"], "feasible")
        alone = self.run_tool("evaluate", config, "--solution", "s.sol", status=2)
        self.assertIn("no partitions", alone.stderr)


if __name__ == "__main__":
    support.main()
