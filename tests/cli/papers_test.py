#!/usr/bin/env python3
"""Worked cases of the two papers (tests/golden/papers.json) against dfsearch.

usage: papers_test.py DFSEARCH [unittest arguments]
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools" / "dev"))
import paper_cases  # noqa: E402
from support import CliTest, main  # noqa: E402


class PaperCases(CliTest):
    def test_cases_that_can_be_asked_agree(self):
        asked = set()
        for case in paper_cases.cases():
            with self.subTest(case["name"], group=case["group"]):
                found = paper_cases.ask(self.program, case)
                if found is None:
                    self.assertIn(case["group"], paper_cases.MISSING)
                    continue
                asked.add(case["group"])
                wrong = paper_cases.differing(case, found)
                if case["name"] in paper_cases.OTHERWISE:
                    self.assertTrue(wrong, "it is answered as expected")
                else:
                    self.assertEqual(wrong, [])
        self.assertLessEqual({"ratio", "machine", "memory_3d", "rail", "latency", "roofline", "fig8"},
                             asked)

    def test_what_differs_is_told(self):
        case = {"name": "a", "group": "space", "expected": {"x": 1.0, "y": [2, "z"]}}
        self.assertEqual(paper_cases.differing(case, {"x": 1.0 + 1e-12, "y": [2, "z"]}), [])
        self.assertEqual(len(paper_cases.differing(case, {"x": 1.0 + 1e-8, "y": [3, "w"]})), 3)


if __name__ == "__main__":
    main()
