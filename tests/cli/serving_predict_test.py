#!/usr/bin/env python3
"""Predictions of measured deployments: how far off they are, the same by a second writing of the
equations, and tables that are wrong.

usage: serving_predict_test.py DFSEARCH [TEST ...]
"""

import collections
import csv
import functools
import math
import pathlib
import subprocess
import sys
import unittest

from support import CliTest, main

CONFIGS = pathlib.Path(__file__).resolve().parents[2] / "configs"
sys.path.insert(0, str(CONFIGS.parent / "tests" / "support"))
import reference_serving as twin  # noqa: E402

try:
    import yaml
except ImportError:
    yaml = None

TABLE = CONFIGS / "measured" / "serving.csv"
JOBS = CONFIGS / "measured" / "serving_jobs.csv"
# The most that the time per output token may be off on average, in percent.
LIMITS = {"dense": 8, "experts": 13}
DENSE = ("Llama-3.1-70B", "Llama-3.1-8B", "Qwen3-32B")
MODELS = {"Llama-3.1-8B": "llama3_8b", "Llama-3.1-70B": "llama3_70b", "Qwen3-32B": "qwen3_32b",
          "Qwen3-235B": "qwen3_235b_a22b", "DeepSeek": "deepseek_v3", "MiniMax": "minimax_m2",
          "gpt-oss": "gpt_oss_120b", "Kimi": "kimi_k2"}
# The system, the curves and the chip of the engine.
SYSTEMS = {"h100_sxm": ("h100_dgx", "h100", "h100"), "h200_sxm": ("h200_dgx", "h200", "h200"),
           "b200_sxm": ("b200_dgx", "b200", "b200"), "b300_sxm": ("b300_dgx", "b300", "b200"),
           "gb200": ("gb200_nvl72", "gb200", "b200"), "gb300": ("gb300_nvl72", "gb300", "b200")}
NUMBERS = {"": "bf16", "fp8": "fp8", "fp8_block": "fp8", "nvfp4": "nvfp4", "int4_wo": "int4"}


@functools.lru_cache
def shelf(kind, name):
    tree = yaml.safe_load((CONFIGS / kind / f"{name}.yaml").read_text())
    return shelf(kind, tree.pop("from")) | tree if "from" in tree else tree


def mended(tensor, ranks, expert):
    """Degrees, of which some rows have the ranks squared."""
    if ranks > 1 and tensor == ranks and expert == tensor * ranks:
        return 1, ranks, ranks
    return (1, expert, expert) if ranks > 1 and tensor == 1 and ranks == expert**2 else (
        tensor, ranks, expert)


def replica(row, prefix, model):
    """The degrees that the columns of a role give, and the batch."""
    def count(column):
        return max(int(row[prefix + column] or 1), 1)
    found = {"pool": "x", "tensor": count("tp_size"), "pipeline": count("pp_size"),
             "attention_data": 1, "expert": 1,
             "replicas": count("num_workers") if prefix else 1}
    requests = count("batch_size")
    if "experts" in model:
        degrees = count("tp_size"), count("attention_dp_size"), count("moe_ep_size")
        tensor, ranks, expert = degrees if prefix else mended(*degrees)
        found |= {"tensor": tensor, "attention_data": ranks,
                  "expert": math.gcd(tensor * ranks, model["experts"]["count"], expert)}
        requests *= degrees[1] / ranks
    return found | {"batch": max(math.floor(requests / found["pipeline"] + 0.5), 1)}


def precision(row, model, peaks):
    """Checkpoints in 4 bits keep attention in 16, integers and mxfp4 all but the experts."""
    dense, experts = (NUMBERS[row[f"{part}_quant_mode"]] for part in ("gemm", "moe"))
    found = {"head": "bf16", "weights": dense, "cache": "bf16"}
    small = (experts if "experts" in model else dense) != "bf16"
    if row["backend"] == "trtllm" or (row["backend"] == "vllm" and small):
        found["cache"] = "fp8"
    if "experts" in model:
        if experts == "nvfp4" and "window" in model:
            experts = "mxfp4"
        alone = experts in ("mxfp4", "int4")
        found["weights"] = "bf16" if alone else experts
        products = "fp8" if experts == "mxfp4" else experts
        if experts == "int4" or experts not in peaks:
            products = "bf16"
        found["modules"] = {"router": "bf16", "experts": {"weights": experts, "products": products}}
        if experts in ("nvfp4", "mxfp4", "int4"):
            found["modules"]["attention"] = "bf16"
    return found | ({} if found["weights"] in peaks else {"products": "bf16"})


def reference(row, model, names):
    """What the second writing makes of a row."""
    system, chip, engine = names
    machine, curves = shelf("systems", system), shelf("curves", chip)
    peaks = {number: curves[f"peak_{bits}bit"] for number, bits in
             (("bf16", 16), ("fp8", 8), ("nvfp4", 4), ("mxfp4", 4)) if f"peak_{bits}bit" in curves}
    mean = 0.9 if row["source"].startswith("InferenceX") else 1
    tokens = [math.floor(mean * int(row[column]) + 0.5) for column in ("isl", "osl")]
    world = twin.World({
        "workload": {"model": model, "input": tokens[0], "output": max(tokens[1], 2),
                     "concurrency": 1, "rounds": 10,
                     "length_spread": 0.11 if mean < 1 else 0, "precision": precision(row, model, peaks)},
        "serving": {"cache_reserve": "mean",
                    "batched_tokens": 8192, "pools": [{
            "name": "x", "chips": 1, "system": machine | {
                "peak": peaks, "engine": shelf("engines", f"{row['backend']}_{engine}")}}]}})
    if row["mode"] == "disagg":
        one = {"mode": "disaggregated", "prefill": replica(row, "prefill_", model),
               "decode": replica(row, "decode_", model)}
        world.conc = math.prod(one["decode"][key] for key in
                               ("replicas", "attention_data", "pipeline", "batch"))
        return world.evaluate(one)
    found = replica(row, "", model)
    world.conc = found["batch"] * found["attention_data"] * found["pipeline"]
    return world.evaluate(found | {"mode": "aggregated", "chunk": 8192})


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
        guessed = collections.Counter(row["doubtful"] for row in rows if "guessed" in row["doubtful"])
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
        # These rows have neither batch nor workers.
        self.assertEqual(without, {"zhipuai/GLM-5": 12, "deepseek-ai/DeepSeek-R1": 615,
                                   "moonshotai/Kimi-K2.5": 11, "openai/gpt-oss-120b": 21})
        self.assertEqual(guessed, {"the rates of deltanet are guessed": 157,
                                   "the rates of index are guessed": 43})
        # The verdicts of the rows are those of the report, and follow from the memory at each level.
        verdicts = collections.Counter(row["verdict"] for row in rows if row["verdict"])
        line = next(line for line in report.splitlines() if line.startswith("memory of "))
        self.assertEqual(line, f"memory of {sum(verdicts.values())} deployments that ran: " +
                         "; ".join(f"{n} {verdict}" for verdict, n in sorted(verdicts.items())))
        self.assertLess(verdicts["infeasible"] / sum(verdicts.values()), 0.025)
        for row in rows:
            if not row["verdict"]:
                continue
            low, typical, high = (float(row[f"{level}_gb"]) for level in ("low", "typical", "high"))
            self.assertLessEqual(low, typical)
            self.assertLessEqual(typical, high)
            self.assertEqual(row["fits"] == "yes",
                             row["verdict"] in ("fits", "fits, not at the high end"), row["id"])
        for kind, limit in LIMITS.items():
            mean = 100 * sum(errors[kind]) / len(errors[kind])
            self.assertLess(mean, limit, kind)
            line = next(line for line in report.splitlines() if line.endswith(f"aggregated, {kind}"))
            self.assertEqual(line.split()[:2], [str(len(errors[kind])), f"{mean:.1f}"])
        self.assertGreater(len(errors["dense"]), 460)
        self.assertGreater(len(errors["experts"]), 800)

    def test_far_rows_have_cautions_and_engines_their_classes(self):
        for table in (TABLE, JOBS):
            self.run_tool("predict", table, "-o", "out.csv")
            with open(self.folder / "out.csv", newline="") as file:
                rows = [row for row in csv.DictReader(file) if row["class"] and not row["doubtful"]]
            far = [row for row in rows
                   if abs(float(row["rate_error"] or row["tpot_error"] or 0)) > 0.4]
            self.assertGreater(len(far), 2)
            for row in far:
                self.assertTrue(row["caution"], row["id"])
            # One far row of Llama 4 Maverick gives all eight of its class on Hopper a caution.
            share = 0.5 if table == TABLE else 0.8
            self.assertLess(sum(bool(row["caution"]) for row in rows), share * len(rows))
        done = subprocess.run([sys.executable, CONFIGS.parent / "tools/dev/serving_classes.py",
                               self.program], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stdout), (0, ""))

    def test_jobs_are_as_far_off_as_the_page_states(self):
        report = self.run_tool("predict", JOBS, "-o", "out.csv").stdout
        with open(self.folder / "out.csv", newline="") as file:
            rows = list(csv.DictReader(file))
        with open(JOBS, newline="") as file:
            points = list(csv.DictReader(file))
        errors = collections.defaultdict(list)
        for point, row in zip(points, rows):
            kind = "dense" if "Llama-3" in point["model_path"] else "experts"
            error = float(row["tokens_per_s_per_gpu"]) / float(
                point["output_tokens_per_s_per_gpu"]) - 1
            self.assertAlmostEqual(float(row["rate_error"]), error, places=3)
            errors[kind].append(abs(error))
        for kind, limit in (("dense", 8), ("experts", 17)):
            mean = 100 * sum(errors[kind]) / len(errors[kind])
            self.assertLess(mean, limit, kind)
            line = next(line for line in report.splitlines()
                        if line.endswith(f"throughput of jobs, {kind}"))
            self.assertEqual(line.split()[:2], [str(len(errors[kind])), f"{mean:.1f}"])
        self.assertEqual((len(errors["dense"]), len(errors["experts"])), (10, 54))

    def test_the_classes_of_a_model_on_a_system(self):
        text = self.run_tool("support", "gpt_oss_120b", "h200_dgx").stdout
        self.assertIn("vllm_h200", text)
        self.assertIn("experts in 4 bits, up to 64 at once", text)
        self.assertNotIn("dense", text)
        self.assertIn("no deployment was measured",
                      self.run_tool("support", "llama3_70b", "a100_dgx").stdout)
        for words in (("m", "h200_dgx"), ("llama3_70b", "s"), ("llama3_70b",)):
            self.run_tool("support", *words, status=2)

    @unittest.skipUnless(yaml, "python3-yaml is not installed")
    def test_a_second_writing_of_the_equations_predicts_the_same(self):
        self.run_tool("predict", TABLE, "-o", "out.csv")
        with open(self.folder / "out.csv", newline="") as file:
            rows = list(csv.DictReader(file))
        with open(TABLE, newline="") as file:
            points = list(csv.DictReader(file))
        count = 0
        for point, row in list(zip(points, rows))[::9]:
            # Models of several kinds of layers have no second writing.
            name = next((name for name in MODELS if name in point["model_path"]), None)
            if not row["predicted_tpot_ms"] or not name:
                continue
            figures = reference(point, shelf("workloads", MODELS[name]), SYSTEMS[point["system"]])
            # tests/model/serving/server_memory_test.cpp has the memory of servers.
            for key, value in (("predicted_tpot_ms", 1e3 * figures["tpot"]),
                               ("predicted_ttft_ms", 1e3 * figures["ttft"])):
                self.assertAlmostEqual(float(row[key]) / value, 1, delta=1e-5, msg=f"{point}")
            count += 1
        self.assertGreater(count, 150)

    def test_points_that_contradict_themselves_are_told_apart(self):
        for changes, doubt in (
                ({}, ""), ({"tp_size": "16", "id": "a"}, "more chips than a node has"),
                ({"tp_size": "3", "id": "a"}, "the model has no such degrees"),
                ({"tp_size": "2", "id": "c1_tp4_1"}, "the name of this row has another tensor degree"),
                ({"model_path": "deepseek-ai/DeepSeek-V3", "tp_size": "8", "moe_tp_size": "4",
                  "moe_ep_size": "1", "id": "a"}, "degrees of experts and of attention differ"),
                ({"backend": "vllm", "source": "aic gap analysis", "isl": "4000"},
                 "the batch of this row is a limit, not the load")):
            report, row = self.one(**changes)
            self.assertEqual(row["doubtful"], doubt)
            self.assertEqual("in doubt, and left out above" in report, doubt != "")

    def test_what_is_not_on_the_shelf_is_counted(self):
        for changes, reason in (({"model_path": "m"}, "no built-in model of this name"),
                                ({"system": "s"}, "no built-in system of this name"),
                                ({"backend": "b"}, "no built-in engine of this name")):
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


if __name__ == "__main__":
    main()
