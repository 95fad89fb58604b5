"""What tests of plans share: a small config and what holds of every result."""

import pathlib

from support import CliTest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CONFIGS = ROOT / "configs"
# 16 chips, everything left open; solved in milliseconds.
SMALL = """\
workload: {kind: llm_training, hidden: 1024, heads: 16, head_dim: 64, vocabulary: 32768,
           sequence: 1024, layers: 12, global_batch: 64}
system:
  chips: 16
  accelerator: {cores: 100, lanes: 32, stages: 16, frequency: 1 GHz, sram: 20 MiB}
  memory: {bandwidth: 1 TB/s, capacity: 2 GB}
  network:
    - {topology: switch, degree: 8, bandwidth: 300 GB/s, latency: 5 us}
    - {topology: ring, bandwidth: 25 GB/s, latency: 10 us}
execution:
  efficiency: {matrix: {efficiency: [[1 GFLOP, 0.9], [0 FLOP, 0.1]]}}
training: {}
"""
# Nothing of it can be proved in a second: thousands of micro-batches and degrees.
LARGE = ["workload.global_batch=735134400", "workload.layers=1260", "system.chips=5040"]
ROLES = ["tensor", "context", "expert", "pipeline", "data"]


def changes(*words):
    return [word for change in words for word in ("--set", change)]


def without_effort(result):
    return {key: value for key, value in result.items() if key != "search"}


class PlanCase(CliTest):
    def setUp(self):
        super().setUp()
        self.config = self.write("c.yaml", SMALL)

    def check_whole(self, result, chips, layers):
        """What holds of every result with a plan."""
        degrees = result["parallelism"]
        self.assertEqual(list(degrees), ROLES)
        product = 1
        for role in ("tensor", "context", "pipeline", "data"):
            product *= degrees[role]
        self.assertEqual(product, chips)
        shares = {role: 1 for role in ROLES}
        for dimension in result["network"]:
            for role, degree in dimension.items():
                if role not in ("order", "fill"):  # of a mesh
                    shares[role] *= degree
        shares["data"] *= shares["expert"]
        if result["plan"]["layout"] == "whole_experts":
            shares["expert"] *= shares["tensor"]
        self.assertEqual(shares, degrees)
        self.assertEqual(sum(result["plan"]["layers"]), layers)
        self.assertEqual(len(result["plan"]["layers"]), degrees["pipeline"])
        self.assertAlmostEqual(sum(result["time"].values()) / result["step_time"], 1, delta=1e-12)
        self.assertLessEqual(result["lower_bound"], result["step_time"])
        # The runtime's memory is counted only with a stack.
        memory = {"runtime": 0} | result["memory"]
        parts = ("weights", "gradients", "optimizer", "activations", "working", "ends", "runtime")
        self.assertAlmostEqual(sum(memory[part] for part in parts) / memory["total"], 1,
                               delta=1e-12)
