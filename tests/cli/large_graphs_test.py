#!/usr/bin/env python3
"""Graphs of thousands of kernels have a first mapping at once.

It takes less than a tenth of a second on a quiet machine; the allowance here is what a busy one
needs.

usage: large_graphs_test.py DFSEARCH [TEST ...]
"""

import json
import sys
import time

import support
from support import CliTest

ROOT = support.pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
import graph_instances  # noqa: E402

ALLOWANCE = 5.0  # seconds


class LargeGraphs(CliTest):
    def search(self, config, status):
        file = self.write("config.json", json.dumps(config))
        begin = time.monotonic()
        # The test ends with the first mapping.
        done = self.run_tool(file, "--threads", 1, "--node-limit", 2, "--no-bound", "duals",
                             "--quiet", "--json", "-", status=status)
        self.assertLess(time.monotonic() - begin, ALLOWANCE)
        return done

    def assert_has_mapping(self, config):
        result = json.loads(self.search(config, status=(0, 4)).stdout)
        self.assertGreater(result["search"]["incumbents"], 0)
        self.assertEqual(len(result["sharding"]), len(config["workload"]["kernels"]))

    def test_a_transformer_of_five_thousand_operators(self):
        graph = graph_instances.bert(192, 1024, is_fine=True)
        self.assertGreater(len(graph.kernels), 4_900)
        self.assert_has_mapping(graph_instances.on_chip(graph, is_allocated=False))

    def test_repeated_layers_with_any_sharding_and_any_network(self):
        """Before the points of a network are bounded and loops are searched, which takes long."""
        for config, changes in (
            ("transformers/llama3_70b", ["workload.repeat_layers=80", "search.sharding=joint"]),
            ("gpt3_1t_free", ["workload.repeat_layers=128"]),
            ("gpt3_1t_core_allocation", ["workload.repeat_layers=64", "execution.partitions=384"]),
        ):
            with self.subTest(config):
                words = [word for change in changes for word in ("--set", change)]
                begin = time.monotonic()
                # The root is a node, and its first network another one.
                result = self.result(ROOT / "configs" / f"{config}.yaml", *words, "--threads", 1,
                                     "--node-limit", 2, "--quiet", status=4)
                self.assertGreater(result["search"]["incumbents"], 0)
                self.assertLess(time.monotonic() - begin, ALLOWANCE)

    def test_the_answer_is_the_same_with_any_number_of_threads(self):
        file = self.write("config.json", json.dumps(graph_instances.config("resnet50_s640")))
        answers = []
        for threads in (1, 2, 8):
            done = self.run_tool(file, "--threads", threads, "--top", 1, "--quiet", "--json", "-",
                                 "--deterministic")
            result = json.loads(done.stdout)
            self.assertEqual(result["status"], "optimal")
            answers.append([result[key] for key in (
                "objective", "tile", "micro_batch", "sharding", "partitions")])
        self.assertEqual(answers[1:], answers[:1] * 2)

    def test_a_search_stopped_among_ties_keeps_the_best(self):
        """Whenever the limit comes, the answer is the best that was told."""
        file = self.write("config.json",
                          json.dumps(graph_instances.config("densenet121_s640")))
        for tenths in range(2, 14):
            events = self.folder / f"events_{tenths}"
            done = self.run_tool(file, "--threads", 1, "--top", 1, "--quiet", "--json", "-",
                                 "--events", events, "--time-limit", f"{100 * tenths} ms",
                                 status=(0, 4, 5))
            result = json.loads(done.stdout)
            told = [json.loads(line) for line in events.read_text().splitlines()]
            best = min(event["objective"] for event in told if event.get("objective"))
            self.assertEqual(result["objective"], best)
            proved = any(event.get("gap") == 0 for event in told)
            self.assertEqual(result["gap"] == 0, proved)

    def test_a_grid_too_entangled_for_a_sharding_that_matters(self):
        """Each kernel reads its neighbours above and to the left."""
        graph, side = graph_instances.Operators(), 70
        for row in range(side):
            for column in range(side):
                above = [f"kernel_{row - 1}_{column}"] if row else []
                left = [f"kernel_{row}_{column - 1}"] if column else []
                kind = "elementwise" if len(above + left) < 2 else "elementwise2"
                graph.add(f"kernel_{row}_{column}", kind, *above, *left, M=1024, N=2048)
        config = graph_instances.on_chip(graph, is_allocated=False)
        self.assert_has_mapping(config)
        config["system"] |= {"chips": 8, "network": [
            {"topology": "ring", "degree": 8, "bandwidth": "50 GB/s", "strategy": "tensor"}]}
        config["search"] = {"sharding": "least_bytes"}
        done = self.search(config, status=2)
        self.assertIn("sharding: the tensors entangle too many kernels", done.stderr)


if __name__ == "__main__":
    support.main()
