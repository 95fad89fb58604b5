#!/usr/bin/env python3
"""Results of searches: JSON, report, mapping files, exit statuses.

usage: solve_test.py DFSEARCH [TEST ...]
"""

import json
import pathlib
import re

import support
from support import SMALL, TRAINING, WHOLE_KERNELS, CliTest, random_graph

ROOT = pathlib.Path(__file__).resolve().parents[2]


def documented(head):
    """The keys of a table of docs/results.md whose first line begins like this, in order."""
    text = (ROOT / "docs" / "results.md").read_text()
    rows = text.split(f"\n| {head} |", 1)[1].split("\n\n", 1)[0].split("\n| ")[1:]
    return [key for row in rows for key in re.findall(r"`(\w+)`", row.split(" |")[0])]


# Keys of options come with these alone.
KEYS = [key for key in documented("key | value") if key not in ("ruled_out", "what_if")]


def without_search(result):
    return {key: value for key, value in result.items() if key != "search"}


class Result(CliTest):
    def setUp(self):
        super().setUp()
        self.write("c.yaml", SMALL)
        self.write("training.yaml", TRAINING)

    def test_without_bounds_the_result_is_the_same_and_says_so(self):
        whole = self.result("training.yaml")
        self.assertEqual(whole["search"]["no_bound"], [])
        result = self.result("--no-bound", "symmetry", "--no-bound", "hidden", "--no-bound=hidden",
                             "training.yaml")
        for key in ("status", "objective", "lower_bound", "gap"):
            self.assertEqual(result[key], whole[key])
        self.assertEqual(result["search"]["no_bound"], ["hidden", "symmetry"])
        self.assertEqual(result["search"]["threads"], whole["search"]["threads"])
        proof = whole["search"]["proof"]
        self.assertLessEqual(proof["nodes"], whole["search"]["nodes"])
        self.assertLessEqual(proof["time"], whole["search"]["time"])
        self.assertGreater(proof["nodes"], 0)

    def test_every_key_is_there_in_order(self):
        result = self.result("c.yaml")
        self.assertEqual(list(result), KEYS)
        self.assertEqual(result["status"], "optimal")
        self.assertEqual(result["gap"], 0)
        self.assertEqual(result["objective"], result["lower_bound"])
        self.assertEqual(result["parallelism"], {"tensor": 2, "pipeline": 1, "data": 1})
        for partition in result["partitions"]:
            self.assertEqual(list(partition), documented("key of a partition | value"))
            self.assertEqual(list(partition["cores"]), partition["kernels"])
        placed = sorted(k for partition in result["partitions"] for k in partition["kernels"])
        self.assertEqual(placed, ["Act", "Down", "In", "Up"])
        self.assertEqual(set(result["sharding"]), set(placed))
        infeasible = self.result("c.yaml", "--set", "system.memory.capacity=1 kB", status=3)
        self.assertEqual(list(infeasible), KEYS)

    def test_results_repeat_what_was_asked(self):
        result = self.result("c.yaml")
        self.assertEqual(result["workload"],
                         {"kind": "graph", "layers": 1, "sequence": 64, "global_batch": 8})
        self.assertEqual(result["machine"], {
            "chips": 2, "peak": 2 * 16 * 16 * 8 * 1e9, "sram": 2**20,
            "memory": {"bandwidth": 100e9, "capacity": 1e9}, "second_memory": None,
            "network": [{"topology": "ring", "degree": 2, "bandwidth": 25e9, "latency": 0}]})
        self.assertEqual(result["graph"]["kernels"], [
            {"name": "In", "kind": "elementwise", "phase": "forward", "flop": 256 * 64},
            {"name": "Up", "kind": "weight_gemm", "phase": "forward", "flop": 2 * 1024 * 256 * 64},
            {"name": "Act", "kind": "elementwise", "phase": "forward", "flop": 1024 * 64},
            {"name": "Down", "kind": "weight_gemm", "phase": "forward",
             "flop": 2 * 1024 * 256 * 64}])
        self.assertEqual(result["graph"]["tensors"], [
            {"from": "In", "to": "Up", "bytes": 2 * 256 * 64},
            {"from": "Up", "to": "Act", "bytes": 2 * 1024 * 64},
            {"from": "Act", "to": "Down", "bytes": 2 * 1024 * 64}])

    def test_partitions_say_their_flop_and_bytes(self):
        for words in ((), ("--set", "execution.partitions=2", "--set",
                           "execution.compute_utilization=0.5")):
            result = self.result("c.yaml", *words)
            flop = {kernel["name"]: kernel["flop"] for kernel in result["graph"]["kernels"]}
            partitions = result["partitions"]
            for partition in partitions:
                both = sum(flop[kernel] for kernel in partition["kernels"])
                self.assertAlmostEqual(partition["flop"] / (both / 2), 1, delta=1e-12)
                self.assertAlmostEqual(partition["memory_bytes"], partition["memory"] * 100e9)
                self.assertAlmostEqual(partition["network_bytes"], partition["network"] * 25e9)
            for kind, intensity in result["operational_intensity"].items():
                moved = sum(partition[kind + "_bytes"] for partition in partitions)
                done = sum(partition["flop"] for partition in partitions)
                if intensity is None:
                    self.assertEqual(moved, 0)
                else:
                    self.assertAlmostEqual(intensity / (done / moved), 1, delta=1e-12)

    def test_json_to_standard_output_is_json_alone(self):
        done = self.run_tool("c.yaml", "--threads", "1", "--json", "-")
        self.assertTrue(done.stdout.startswith("{"))
        self.assertTrue(done.stdout.endswith("}\n"))
        self.run_tool("c.yaml", "--threads", "1", "--json", "r.json", "--mapping", "m.json")
        file = self.read_json("r.json")
        self.assertEqual(without_search(file), without_search(json.loads(done.stdout)))
        self.assertEqual((self.folder / "r.json").read_text(), (self.folder / "m.json").read_text())

    def test_overrides_count(self):
        plain = self.result("c.yaml")
        slower = self.result("c.yaml", "--set", "system.memory.bandwidth=1 GB/s")
        self.assertGreater(slower["step_time"], plain["step_time"])
        twice = self.result("c.yaml", "--set", "system.memory.bandwidth=1 GB/s",
                            "--set", "system.memory.bandwidth=100 GB/s")
        self.assertEqual(twice["step_time"], plain["step_time"])

    def test_the_report_says_the_same_as_the_json(self):
        result = self.result("training.yaml")
        report = self.run_tool("training.yaml").stdout
        self.assertIn(f"({result['step_time']!r} s)", report)
        self.assertIn("optimal, proved: gap 0", report)
        self.assertIn("tensor 4, pipeline 1, data 2", report)
        for partition in result["partitions"]:
            self.assertRegex(report, rf"(?m)^ *{partition['index']}  .*{partition['kernels'][0]}")
        self.assertLessEqual(max(map(len, report.splitlines())), 100)


class MappingFiles(CliTest):
    def test_a_mapping_evaluates_to_the_step_time_of_the_search(self):
        for text in (SMALL, TRAINING):
            config = self.write("c.yaml", text)
            found = self.result(config, "--mapping", "m.json")
            again = self.result("evaluate", config, "--mapping", "m.json")
            self.assertEqual(again["step_time"], found["step_time"])
            self.assertEqual(again["status"], "feasible")
            self.assertEqual(again["partitions"], found["partitions"])
            self.assertEqual(again["sharding"], found["sharding"])
            # Not only the same number: the same bytes.
            (self.folder / "again.json").write_text(json.dumps(again))
            third = self.result("evaluate", config, "--mapping", "again.json")
            self.assertEqual(third, again)

    def test_a_hint_is_taken_and_a_wrong_one_refused(self):
        config = self.write("c.yaml", TRAINING)
        found = self.result(config, "--mapping", "m.json")
        hinted = self.result(config, "--hint", "m.json")
        self.assertEqual(without_search(hinted), without_search(found))
        done = self.run_tool(config, "--set", "execution.partitions=41", "--hint", "m.json")
        self.assertIn("'dfsearch evaluate CONFIG --mapping FILE' does", done.stderr)
        too_small = ["--set", "system.accelerator.sram=20 MB"]
        done = self.run_tool(config, *too_small, "--hint", "m.json")
        self.assertIn("m.json: the hint does not fit and is dropped: SRAM: ", done.stderr)
        other = self.write("other.yaml", SMALL)
        done = self.run_tool(other, "--hint", "m.json", status=2)
        self.assertRegex(done.stderr, r"m\.json:\d+:\d+: kernels: the workload has no kernel")

    def test_evaluate_says_why_a_mapping_does_not_fit(self):
        config = self.write("c.yaml", SMALL)
        self.write("m.yaml", "micro_batch: 1\ntile: 1\npartitions: [{kernels: [Up, Act, Down]}, "
                             "{kernels: [In]}]\n")
        result = self.result("evaluate", config, "--mapping", "m.yaml", status=3)
        self.assertEqual(result["status"], "infeasible")
        self.assertEqual(result["infeasible"]["resource"], "precedence")
        self.assertEqual(result["infeasible"]["where"], "In -> Up")
        report = self.run_tool("evaluate", config, "--mapping", "m.yaml", status=3).stdout
        self.assertIn("precedence: In -> Up leads from partition 1 back to partition 0", report)


class Graph(CliTest):
    def test_a_printed_graph_gives_the_same_step_time(self):
        config = self.write("c.yaml", TRAINING)
        system = TRAINING[TRAINING.index("system:"):]
        text = self.run_tool("graph", config).stdout
        graph = self.write("graph.yaml", text + system)
        self.assertEqual(self.result(graph)["step_time"], self.result(config)["step_time"])
        self.run_tool("graph", config, "-o", "again.yaml")
        self.assertEqual((self.folder / "again.yaml").read_text(), text)
        self.assertEqual(self.run_tool("graph", graph).stdout, text)

    def test_json_reads_back_as_well(self):
        config = self.write("c.yaml", SMALL)
        text = self.run_tool("graph", config, "--format", "json").stdout
        system = SMALL[SMALL.index("system:"):].replace("\n  ", "\n    ")
        self.assertEqual(list(json.loads(text)), ["workload"])
        workload = json.dumps(json.loads(text)["workload"])
        graph = self.write("graph.yaml", f"workload: {workload}\n{system}")
        self.assertEqual(self.result(graph)["step_time"], self.result(config)["step_time"])

    def test_pictures_are_clustered_by_a_mapping(self):
        config = self.write("c.yaml", TRAINING)
        found = self.result(config, "--mapping", "m.json")
        plain = self.run_tool("graph", config, "--format", "dot").stdout
        self.assertNotIn("cluster", plain)
        text = self.run_tool("graph", config, "--format", "dot", "--mapping", "m.json").stdout
        self.assertEqual(text.count("subgraph cluster_"), len(found["partitions"]))
        self.assertEqual(text.count(" -> "), 53)


class ExitStatus(CliTest):

    def test_infeasible_is_three_with_the_reason(self):
        config = self.write("c.yaml", WHOLE_KERNELS)
        for change, resource in (("system.memory.capacity=1 kB", "memory"),
                                 ("system.accelerator.sram=64 B", "sram")):
            with self.subTest(change):
                reason = self.result(config, "--set", change, status=3)["infeasible"]
                self.assertEqual(reason["resource"], resource)
                self.assertGreater(reason["needed"], reason["available"])
                report = self.run_tool(config, "--set", change, status=3).stdout
                self.assertIn("infeasible, proved: no mapping fits", report)
                self.assertIn("too much", report)
                self.assertIn("would fit", report)

    def test_what_would_help_does_and_a_byte_less_does_not(self):
        config = self.write("c.yaml", WHOLE_KERNELS)
        for key, value in (("system.memory.capacity", "1 kB"),
                           ("system.accelerator.sram", "64 B")):
            changes = self.result(config, "--set", f"{key}={value}",
                                  status=3)["infeasible"]["changes"]
            self.assertIn(key.rsplit(".", 1)[-1].replace("capacity", "memory"),
                          [change["raise"] for change in changes])
            for change in changes:
                if change["raise"] not in ("memory", "sram"):
                    continue
                self.assertEqual(change["enough"], change["at_least"])
                enough = round(change["enough"])
                self.run_tool(config, "--set", f"{key}={enough} B")
                self.run_tool(config, "--set", f"{key}={enough - 1} B", status=3)

    def test_the_report_says_which_rates_it_is_of(self):
        config = self.write("c.yaml", SMALL)
        self.assertIn("\nrates         ideal, the peaks of the cores", self.run_tool(config).stdout)
        text = self.run_tool(config, "--set", "execution.compute_utilization=0.8").stdout
        self.assertIn("\nrates         ideal, except that compute reaches 80 % of the peak", text)

    def test_equal_rows_of_a_long_table_are_one(self):
        dlrm = ROOT / "configs" / "dlrm.yaml"
        partitions = self.result(dlrm)["partitions"]
        report = self.run_tool(dlrm).stdout
        self.assertIn("\npartitions, for one batch of a chip\n", report)
        rows = re.findall(r"^ *(\d+)(?:-(\d+))? .* (?:compute|memory|network) ", report, re.M)
        covered = [i for first, last in rows
                   for i in range(int(first), int(last or first) + 1)]
        self.assertEqual(covered, [partition["index"] for partition in partitions])
        self.assertLess(len(rows), len(partitions) / 2)
        counts = [int(n) for n in re.findall(r"\((\d+) alike\)", report)]
        self.assertEqual(sum(counts) + len(rows) - len(counts), len(partitions))
        # The report marks partitions that need more than the chip's SRAM as cut into pieces.
        self.assertRegex(re.sub(r"\s+", " ", report),
                         r"SRAM at most 104.9 MB of 118.5 MB .* partitions with \* take up to 132.6 MB")

    def test_stopped_without_a_mapping_is_five(self):
        config = self.write("hard.yaml", random_graph())
        result = self.result(config, "--node-limit", "1", "--mapping", "m.json", status=5)
        self.assertEqual(result["status"], "no_solution")
        self.assertEqual(result["stopped_by"], "nodes")
        self.assertIsNone(result["partitions"])
        self.assertGreaterEqual(result["lower_bound"], 0)
        self.assertEqual(self.files(), ["hard.yaml"])
        report = self.run_tool(config, "--node-limit", "1", status=5).stdout
        self.assertIn("stopped by the node limit before a mapping was found", report)

if __name__ == "__main__":
    support.main()
