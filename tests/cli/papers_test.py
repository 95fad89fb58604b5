#!/usr/bin/env python3
"""Worked cases of the two papers (tests/golden/papers.json) against dfsearch.

usage: papers_test.py DFSEARCH [unittest arguments]
"""

import itertools
import json
import math
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "dev"))
import paper_cases  # noqa: E402
from support import CliTest, main  # noqa: E402


class PaperCases(CliTest):
    def test_cases_agree(self):
        for case in paper_cases.cases():
            with self.subTest(case["name"], group=case["group"]):
                wrong = paper_cases.differing(case, paper_cases.ask(self.program, case))
                if case["name"] in paper_cases.OTHERWISE:
                    self.assertTrue(wrong, "it is answered as expected")
                else:
                    self.assertEqual(wrong, [])

    def test_what_differs_is_told(self):
        case = {"name": "a", "group": "space", "expected": {"x": 1.0, "y": [2, "z"]}}
        self.assertEqual(paper_cases.differing(case, {"x": 1.0 + 1e-12, "y": [2, "z"]}), [])
        self.assertEqual(len(paper_cases.differing(case, {"x": 1.0 + 1e-8, "y": [3, "w"]})), 3)
        self.assertEqual(len(paper_cases.differing(case, {"y": [2, "z"]})), 1)

    def test_intensities_are_those_of_all_tiles(self):
        """Of small GEMMs, of which some extents no power of two divides, in 6,144 words."""
        words, shapes = 6144, ((64, 300, 7), (1, 500, 33), (96, 96, 96), (1000, 1, 1000))
        names = [name for shape in shapes for name in ("--shape", "x".join(map(str, shape)))]
        done = self.run_tool("gemm", ROOT / "configs" / "chips" / "v100.yaml", *names, "--word",
                             "1 KiB", "--intensities", "1", "--intensities", "6", "--json", "-")
        for shape, gemm in zip(shapes, json.loads(done.stdout)["gemms"], strict=True):
            for of, chips in zip(gemm["intensities"], (1, 6), strict=True):
                with self.subTest(shape, chips=chips):
                    wanted = of_tiles(shape, chips, words)
                    self.assertEqual(set(of["strategies"]), set(wanted))
                    every = sum(wanted.values(), [])
                    for got, values in ((of["all"], every), *(
                            (of["strategies"][name], values) for name, values in wanted.items())):
                        for one, other in zip(got, quartiles(values), strict=True):
                            self.assertAlmostEqual(one, other, delta=1e-12 * other)

    def test_the_best_dataflow_of_each_kernel_is_faster_than_one_for_all(self):
        def step(dataflow):
            return paper_cases.solve(
                self.program, ROOT / "configs" / "llama3_8b_decode_dataflow.yaml",
                f"system.accelerator.dataflow={dataflow}")["step_time"]

        page = (ROOT / "docs" / "model.md").read_text(encoding="utf-8")
        self.assertIn(f"takes {step('best'):.2f} s in place of {step('output'):.2f} s", page)
        self.assertLess(step("best"), min(step("weight"), step("input")))

    def test_the_best_dataflow_is_refused_where_registers_take_time(self):
        levels = "{registers: {scope: core, capacity: 1 MB, bandwidth: 1 TB/s}}"
        done = self.run_tool(
            "check", ROOT / "configs" / "llama3_8b_decode_dataflow.yaml", "--set",
            f"system.levels={levels}", "--set", "execution.levels=true", status=2)
        self.assertIn("expected 'accelerator.dataflow' to be output, weight or input, got best",
                      done.stderr)

    def test_the_space_counts_what_is_open(self):
        def space(*changes):
            return paper_cases.solve(self.program, ROOT / "configs" / "gpt3_1t.yaml", *changes)[
                "search"]["space"]

        whole = space()
        self.assertAlmostEqual(whole["partitions"], 41 * math.log10(6), delta=1e-12)
        pinned = space("execution.pins.Q=0", "sharding.pins.FFN0=M")
        self.assertAlmostEqual(pinned["partitions"], 40 * math.log10(6), delta=1e-12)
        self.assertAlmostEqual(whole["shardings"] - pinned["shardings"], math.log10(2), delta=1e-12)
        self.assertEqual(space("execution.style=kernel_by_kernel")["partitions"], 0)


def of_tiles(shape, chips, words):
    """FLOP for a word of each tile and operand that stays, by strategy; written from the page."""
    m, k, n = shape
    shards = {f"RC-{rows}-{chips // rows}": (-(-m // rows), k, -(-n * rows // chips))
              for rows in range(1, chips + 1) if chips % rows == 0}
    shards[f"CR-{chips}"] = (m, -(-k // chips), n)
    found = {}
    for name, (m, k, n) in shards.items():
        found[name] = []
        for a, b, c in itertools.product(*([2**i for i in range(e.bit_length())] for e in (m, k, n))):
            if a * b + b * c + a * c > words:
                continue
            left, right = m * k * -(-n // c), k * n * -(-m // a)
            pieces = m * n * (2 * -(-k // b) - 1)
            found[name] += [2 * m * k * n / moved for moved in (
                m * n + left + right, m * k + right + pieces, k * n + left + pieces)]
    return found


def quartiles(values):
    values = sorted(values)
    places = [share * (len(values) - 1) / 4 for share in range(5)]
    return [values[int(at)] + (at - int(at)) * (values[min(int(at) + 1, len(values) - 1)]
                                                - values[int(at)]) for at in places]


if __name__ == "__main__":
    main()
