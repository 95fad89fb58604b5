#!/usr/bin/env python3
"""dfsearch against the published results (tests/golden/README.md), as `./dev validate` does.

Evaluating a published mapping gives the published step time, or differs as the record says;
solving gives a proved optimum that is not above it, and the one that exhaustion found.
docs/validation.md and configs/published/ are up to date.

usage: validation_test.py DFSEARCH [unittest arguments]
"""

import dataclasses
import json
import math
import pathlib
import sys
import tempfile
import unittest

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "support"), str(ROOT / "tools" / "dev")]
import explained_cases  # noqa: E402
import tables  # noqa: E402
import validate  # noqa: E402

AGREEMENT = 1e-10  # of two doubles computed in different orders, one of them in ticks

dfsearch_binary = None


def anything_that_fits(config):
    """The machine of a config with an easy way to use it: every kernel alone, one row a tile."""
    system = {**config["system"], "memory": dict(config["system"]["memory"])}
    system["memory"].pop("capacity", None)
    easy = {**config, "system": system, "execution": {"style": "kernel_by_kernel"}}
    easy.pop("sharding", None)
    return easy, {
        "micro_batch": config["workload"].get("micro_batch", 1), "tile": 1,
        "partitions": [{"kernels": [name]} for name in explained_cases.kernel_names(config)],
    }


def evaluate(config, mapping):
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "config.json")
        file.write_text(json.dumps(config), encoding="utf-8")
        return validate.evaluate(dfsearch_binary, file, mapping)


class PublishedTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cases = validate.run_all(dfsearch_binary)

    def assert_close(self, actual, expected, tolerance, what):
        if not math.isclose(actual, expected, rel_tol=tolerance, abs_tol=0):
            self.fail(f"{what}: {actual!r}, expected {expected!r}, {actual / expected - 1:+.3e}")

    def for_cases(self, check, test):
        for case in self.cases:
            if check in case.record["checks"]:
                with self.subTest(id=case.record["id"], name=case.record["name"]):
                    test(case, case.record["published"])

    def test_nothing_differs_without_a_reason_and_nothing_is_worse(self):
        self.assertEqual(validate.problems(self.cases), [])

    def test_the_page_is_current(self):
        page, wrong = validate.renewed(dfsearch_binary, self.cases)
        self.assertEqual(wrong, [])
        self.assertEqual(page.text, page.before, "out of date: ./dev validate --write")

    def test_the_page_is_compared_without_times_only(self):
        def differs(times=False, **changes):
            page = tables.Page("validation.md", times)
            validate.renew_runs(page, [dataclasses.replace(case, **changes) if case.solution else case
                                       for case in self.cases])
            return page.text != page.before

        self.assertFalse(differs(solve_time=77.0))
        self.assertTrue(differs(solve_time=77.0, times=True))
        self.assertTrue(differs(evaluation=None))

    def test_the_configs_are_those_of_the_records(self):
        def texts(value):  # YAML reads 1e-07 as a text
            if isinstance(value, dict):
                return {key: texts(part) for key, part in value.items()}
            return list(map(texts, value)) if isinstance(value, list) else str(value)

        files = {validate.file_of(record): record for record in validate.records()
                 if "config" in record}
        self.assertEqual(set(files), set(validate.FOLDER.iterdir()))
        for file, record in files.items():
            text = file.read_text(encoding="utf-8")
            self.assertEqual(texts(yaml.safe_load(text)), texts(record["config"]), file)
            self.assertTrue(text.startswith(f"# Case {record['id']}, {record['name']}:"), file)

    def test_price_and_power(self):
        def test(case, published):
            result = evaluate(*anything_that_fits(case.record["config"]))
            for key in ("price", "power", "flop"):
                if published[key] is not None:
                    self.assert_close(result[key], published[key], 1e-12, key)

        self.for_cases("price", test)

    def test_published_mappings_evaluate_as_published(self):
        def test(case, published):
            expected, result = case.record["expected"], case.evaluation
            if "infeasible" in expected:
                self.assertEqual(result["infeasible"]["resource"], expected["infeasible"])
                return
            self.assertIsNone(result["infeasible"])
            tolerance, ratio = expected["tolerance"], 1 + expected["difference"]
            step = published["step_time"] * ratio
            self.assert_close(result["step_time"], step, tolerance, "step time")
            if published["utilization"] is not None:
                utilization = published["utilization"] / ratio
                self.assert_close(result["utilization"], utilization, tolerance, "utilization")
            self.check_partitions(result, published, expected)

        self.for_cases("evaluate", test)

    def test_runs_that_no_config_can_say_are_explained(self):
        records = {case.record["id"]: case.record for case in self.cases}
        step = evaluate(*explained_cases.rail_only(records[58]))["step_time"]
        self.assert_close(step, records[58]["published"]["step_time"], 1e-12, "step time")
        sharding = evaluate(*anything_that_fits(records[74]["config"]))["sharding"]
        self.assert_close(explained_cases.reread_step(records[74], sharding),
                          records[74]["published"]["step_time"], 1e-13, "step time")

    def check_partitions(self, result, published, expected):
        times = {part["index"]: part["time"] for part in result["partitions"]}
        first = published.get("first_partition", 0)
        for index, time in enumerate(published.get("partition_times", []), start=first):
            if index in expected["slack_partitions"]:
                self.assertLessEqual(times[index], time)
            elif time > 0:
                self.assert_close(times[index], time, expected["tolerance"], f"partition {index}")
            else:
                self.assertNotIn(index, times)

    def test_optima_are_those_of_exhaustion(self):
        def test(case, _):
            if case.record["optimum"] is not None:
                self.assert_close(case.solution["step_time"], case.record["optimum"], AGREEMENT,
                                  "optimum")

        self.for_cases("solve", test)


class ProblemsTest(unittest.TestCase):
    """What would be wrong is found."""

    def case(self, step, status="optimal", gap=0, mapping_step=10.0, **record):
        return validate.Case(
            {"id": 1, "checks": ["evaluate", "solve"], "published": {"step_time": 10.0}, **record},
            {"step_time": mapping_step, "infeasible": None},
            {"step_time": step, "status": status, "gap": gap})

    def test_a_case_that_agrees_is_no_problem(self):
        self.assertEqual(list(self.case(10.0).problems()), [])

    def test_an_optimum_above_the_published_step(self):
        self.assertIn("above", next(self.case(10.0 + 1e-7).problems()))

    def test_an_open_gap(self):
        self.assertIn("feasible", next(self.case(10.0, status="feasible", gap=0.1).problems()))

    def test_a_difference_without_a_reason(self):
        for case in (self.case(10.0, mapping_step=10.0 + 1e-7), self.case(9.0)):
            self.assertEqual(list(case.problems()), ["differs without a reason"])
            case.record["reason"] = "a reason"
            self.assertEqual(list(case.problems()), [])


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    dfsearch_binary = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main()
