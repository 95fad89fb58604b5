#!/usr/bin/env python3
"""Predictions of measured deployments: how far off they are, and tables that are wrong.

usage: serving_predict_test.py DFSEARCH [TEST ...]
"""

import collections
import csv
import pathlib
import unittest

from support import CliTest, main

TABLE = pathlib.Path(__file__).resolve().parents[2] / "configs" / "measured" / "serving.csv"
# The most that the time per output token may be off on average, in percent.
LIMITS = {"dense": 10, "experts": 18}
DENSE = ("Llama-3.1-70B", "Llama-3.1-8B", "Qwen3-32B")


class ServingPredict(CliTest):
    """Every test runs in an empty folder."""

    def table(self, name, changes=(), drop=()):
        """The first aggregated point of a dense model of the table, changed."""
        with open(TABLE, newline="") as file:
            row = next(row for row in csv.DictReader(file)
                       if row["mode"] == "agg" and "Llama-3.1-70B" in row["model_path"])
        row = {key: value for key, value in (row | dict(changes)).items() if key not in drop}
        return self.write(name, ",".join(row) + "\n" + ",".join(row.values()) + "\n")

    def one(self, **changes):
        table = self.table("one.csv", changes)
        report = self.run_tool("predict", table, "-o", "out.csv").stdout
        return report, next(csv.DictReader((self.folder / "out.csv").read_text().splitlines()))

    def test_the_errors_of_the_shipped_points(self):
        report = self.run_tool("predict", TABLE, "-o", "out.csv").stdout
        with open(self.folder / "out.csv", newline="") as file:
            rows = list(csv.DictReader(file))
        with open(TABLE, newline="") as file:
            points = list(csv.DictReader(file))
        self.assertEqual([row["id"] for row in rows], [row["id"] for row in points])
        errors, without = collections.defaultdict(list), collections.Counter()
        for point, row in zip(points, rows):
            if not row["predicted_tpot_ms"]:
                self.assertTrue(row["note"])
                without[point["model_path"]] += 1
                continue
            predicted, measured = float(row["predicted_tpot_ms"]), float(point["silicon_tpot_ms"])
            self.assertAlmostEqual(float(row["tpot_error"]), predicted / measured - 1, places=3)
            parts = sum(float(row[f"{part}_ms"]) for part in
                        ("weights", "cache", "products", "network", "host"))
            self.assertAlmostEqual(parts / predicted, 1, delta=2e-3, msg=row["id"])
            if point["mode"] == "agg" and not row["doubtful"]:
                dense = any(name in point["model_path"] for name in DENSE)
                errors["dense" if dense else "experts"].append(abs(predicted / measured - 1))
        # Those models attend to a part of the context, or hold it in another form.
        self.assertEqual(without, {"Qwen/Qwen3.5-397B-A17B": 187, "zhipuai/GLM-5": 57})
        for kind, limit in LIMITS.items():
            mean = 100 * sum(errors[kind]) / len(errors[kind])
            self.assertLess(mean, limit, kind)
            line = next(line for line in report.splitlines() if line.endswith(f"aggregated, {kind}"))
            self.assertEqual(line.split()[:2], [str(len(errors[kind])), f"{mean:.1f}"])
        self.assertGreater(len(errors["dense"]), 480)
        self.assertGreater(len(errors["experts"]), 800)

    def test_points_that_contradict_themselves_are_told_apart(self):
        for changes, doubt in (
                ({}, ""), ({"tp_size": "16", "id": "a"}, "more chips than a node has"),
                ({"tp_size": "2", "id": "c1_tp4_1"}, "the name says another tensor degree"),
                ({"model_path": "deepseek-ai/DeepSeek-V3", "tp_size": "8", "moe_tp_size": "4",
                  "moe_ep_size": "1", "id": "a"}, "degrees of experts and of attention differ"),
                ({"backend": "vllm", "source": "aic gap analysis", "isl": "4000"},
                 "the batch is a limit, not the load")):
            report, row = self.one(**changes)
            self.assertEqual(row["doubtful"], doubt)
            self.assertEqual("in doubt, and left out above" in report, doubt != "")

    def test_what_is_not_on_the_shelf_is_counted(self):
        for changes, reason in (({"model_path": "m"}, "no such model on the shelf"),
                                ({"system": "s"}, "no such system on the shelf"),
                                ({"backend": "b"}, "no such engine on the shelf")):
            report, row = self.one(**changes)
            self.assertEqual((row["note"], row["predicted_tpot_ms"]), (reason, ""))
            self.assertIn(f"not predicted: 1 points of {row['model_path']}, {reason}", report)

    def test_a_deployment_is_faster_on_a_faster_chip_and_slower_with_more_requests(self):
        def tpot(**changes):
            return float(self.one(id="a", **changes)[1]["predicted_tpot_ms"])
        load = {"batch_size": "16", "tp_size": "4"}
        self.assertLess(tpot(system="h200_sxm", **load), tpot(system="h100_sxm", **load))
        self.assertLess(tpot(**load), tpot(**load | {"batch_size": "64"}))
        self.assertLess(tpot(**load | {"gemm_quant_mode": "fp8"}),
                        tpot(**load | {"gemm_quant_mode": ""}))
        self.assertEqual(tpot(**load | {"pp_size": "0"}), tpot(**load | {"pp_size": "1"}))

    def test_wrong_tables_exit_2_with_row_and_column(self):
        for changes, what in (
                ({"tp_size": "x"}, "2:{}: tp_size: expected a number from 0, got 'x'"),
                ({"batch_size": "1.5"}, "2:{}: batch_size: expected a whole number from 0, got '1.5'"),
                ({"isl": "0"}, "2:{}: isl: expected a whole number from 1, got '0'"),
                ({"osl": "1"}, "2:{}: osl: expected a whole number from 2, got '1'"),
                ({"mode": "both"}, "2:{}: mode: expected agg or disagg, got 'both'"),
                ({"gemm_quant_mode": "int3"}, "2:{}: gemm_quant_mode: expected bf16, fp8"),
                ({"silicon_tpot_ms": "-1"}, "2:{}: silicon_tpot_ms: expected a number from 0")):
            path = self.table("wrong.csv", changes)
            (name,) = changes
            head, row = path.read_text().splitlines()
            at = head.split(",").index(name)
            column = len(",".join(row.split(",")[:at])) + 2
            error = self.run_tool("predict", path, "-o", "none.csv", status=2).stderr
            self.assertIn(f"wrong.csv:{what.format(column)}", error)
            self.assertFalse((self.folder / "none.csv").exists())
        path = self.table("short.csv", drop=("tp_size", "decode_num_workers"))
        error = self.run_tool("predict", path, status=2).stderr
        for column in ("tp_size", "decode_num_workers"):
            self.assertIn(f"short.csv:1:1: {column}: this column is missing", error)
        for words in (("--html", "a.html"), ("--fit", "a.yaml"), ("--stacks", ".")):
            error = self.run_tool("predict", TABLE, *words, status=2).stderr
            self.assertIn("only with a table of training runs", error)


if __name__ == "__main__":
    main()
