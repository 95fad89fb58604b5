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
import scale_instances  # noqa: E402

ALLOWANCE = 5.0  # seconds
TIE_NODES = 2_048  # of a tree of ties of a hundred kernels


class LargeGraphs(CliTest):
    def search(self, config, status):
        file = self.write("config.json", json.dumps(config))
        begin = time.monotonic()
        # What comes after the first mapping is no matter of this test.
        done = self.run_tool(file, "--threads", 1, "--node-limit", 2, "--no-bound", "duals",
                             "--quiet", "--json", "-", status=status)
        self.assertLess(time.monotonic() - begin, ALLOWANCE)
        return done

    def assert_has_mapping(self, config):
        result = json.loads(self.search(config, status=4).stdout)
        self.assertGreater(result["search"]["incumbents"], 0)
        self.assertEqual(len(result["sharding"]), len(config["workload"]["kernels"]))

    def test_a_ragged_graph(self):
        self.assert_has_mapping(scale_instances.one_chip(scale_instances.ragged(5000, 8, 1)))

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

    def test_the_answer_is_one_of_many_best_with_any_number_of_threads(self):
        """Its second tree finds none of the best mappings, a third one does."""
        file = self.write("config.json", json.dumps(
            scale_instances.one_chip(scale_instances.ragged(100, 4, 2))))
        answers = []
        for threads in (1, 2, 8):
            done = self.run_tool(file, "--threads", threads, "--top", 1, "--quiet", "--json", "-")
            result = json.loads(done.stdout)
            self.assertEqual(result["status"], "optimal")
            search = result["search"]
            self.assertGreater(search["nodes"] - search["proof"]["nodes"], TIE_NODES)
            answers.append([result[key] for key in (
                "objective", "tile", "micro_batch", "sharding", "partitions")])
        self.assertEqual(answers[1:], answers[:1] * 2)

    def test_a_search_stopped_among_ties_keeps_the_best(self):
        """Whenever the limit comes, the answer is the best that was told."""
        file = self.write("config.json", json.dumps(
            scale_instances.one_chip(scale_instances.ragged(200, 4, 2))))
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
        graph = scale_instances.grid(70, 70, 1)
        self.assert_has_mapping(scale_instances.one_chip(graph))
        config = scale_instances.eight_chips(graph, "24 MiB")
        config["search"] = {"sharding": "least_bytes"}
        done = self.search(config, status=2)
        self.assertIn("sharding: the tensors entangle too many kernels", done.stderr)


if __name__ == "__main__":
    support.main()
