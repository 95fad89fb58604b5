#!/usr/bin/env python3
"""Language models of LSTM layers through the command line: against the same kernels by a
closed form written here, and what malformed configs say.

usage: lstm_test.py DFSEARCH [TEST ...]
"""

import itertools
import json
import math
import pathlib

from support import CliTest, main

CONFIGS = pathlib.Path(__file__).resolve().parents[2] / "configs"
PEAK = 2 * 16 * 16 * 100 * 1e9  # FLOP/s of SYSTEM
SHARE, BANDWIDTH, WORD = 0.8, 500e9, 2
SYSTEM = """
system:
  chips: 1
  accelerator: {{cores: 100, lanes: 16, stages: 16, frequency: 1 GHz, sram: {sram} B}}
  memory: {{bandwidth: 500 GB/s{latency}}}
execution: {{style: kernel_by_kernel, compute_utilization: 0.8}}
"""
SHAPE = {"hidden": 256, "vocabulary": 3000, "layers": 2, "steps": 5, "local_batch": 24}


def kernels(d, v, layers, steps, batch, folded):
    """FLOP, elements moved and of the weight, and steps of each kernel that runs alone."""
    n = steps * batch
    once = 1 if folded else steps
    for _ in range(layers):
        yield 8 * d * d * n, d * n + 4 * d * n, 4 * d * d, once  # the gates' share from below
        # The gates' share from the step before.
        yield 8 * d * d * n, d * n + 4 * d * n, 4 * d * d, steps
        # The gates twice, the state twice; h to the layer above and its update, to the next step
        # and its update; all gates to the backward pass.
        yield 4 * d * n, 8 * d * n + 2 * d * n + 4 * d * n + 4 * d * n, 0, steps
        # Backward: h from above and from the next step, the gates, the state twice; to both GEMMs
        # and the update.
        yield 4 * d * n, (d + d + 4 * d + 2 * d) * n + 3 * (4 * d * n), 0, steps
        yield 8 * d * d * n, 4 * d * n + d * n, 4 * d * d, steps
        yield 8 * d * d * n, 4 * d * n + d * n, 4 * d * d, once
        yield 16 * d * d * n, 4 * d * n + 2 * d * n, 0, 1  # update
    yield d * n, d * n + 2 * d * n, 0, once  # the embedding, to a GEMM and its update
    yield 2 * v * d * n, d * n + v * n, v * d, once
    yield v * n, 2 * v * n, 0, once  # softmax
    yield v * n, v * n + 2 * v * n, 0, once
    yield 2 * v * d * n, v * n + d * n, v * d, once
    yield 2 * v * d * n, v * n + d * n, 0, 1  # update
    yield d * n, 2 * d * n, 0, once


def time_alone(d, v, layers, steps, batch, folded, fits, latency=0.0):
    total = 0.0
    for flop, moved, weight, repeats in kernels(d, v, layers, steps, batch, folded):
        loaded = 0 if fits else weight
        traffic = WORD * (moved + (repeats - 1) * loaded) / BANDWIDTH + repeats * latency
        total += max(flop / (SHARE * PEAK), traffic) + WORD * loaded / BANDWIDTH
    return total


def config(sram, latency="", **keys):
    workload = {"kind": "lstm", "global_batch": 1, **SHAPE, **keys}
    lines = "".join(f"  {key}: {json.dumps(value)}\n" for key, value in workload.items())
    return "workload:\n" + lines + SYSTEM.format(sram=sram, latency=latency)


class LstmTest(CliTest):
    def step_time(self, text):
        self.write("c.yaml", text)
        result = self.result("c.yaml")
        self.assertEqual((result["status"], result["gap"]), ("optimal", 0))
        return result["step_time"]

    def shipped(self, name, *more):
        return self.result(CONFIGS / f"{name}.yaml", *more)

    def test_a_chip_takes_what_its_kernels_take_one_by_one(self):
        d, v, layers, steps, batch = SHAPE.values()
        weights = WORD * (v * d + 8 * d * d * layers)
        for folded, fits in itertools.product((True, False), repeat=2):
            for latency in (0, 3e-6):
                with self.subTest(folded=folded, fits=fits, latency=latency):
                    text = config(weights if fits else weights - 1,
                                  f", latency: {latency * 1e9} ns", folded=folded)
                    expected = time_alone(d, v, layers, steps, batch, folded, fits, latency)
                    self.assertTrue(math.isclose(self.step_time(text), expected, rel_tol=1e-9))

    def test_it_is_the_time_of_a_model_of_the_chip_alone_but_for_other_passes(self):
        """Of the same GEMMs, which compute longer than they move anything; passes of a cell are of
        10 D B elements there, and weights never wait."""
        bandwidth = 992856609547.8203  # of configs/chips/v100.yaml
        for batch, d, v in ((2048, 2048, 2048), (1024, 3072, 5120)):
            done = self.run_tool("gemm", CONFIGS / "chips/v100.yaml", "--lstm",
                                 f"{batch}x{d}x{v}x2x20", "--json", "-")
            (alone,) = json.loads(done.stdout)["lstms"]
            sizes = [f"--set=workload.{key}={value}" for key, value in
                     {"hidden": d, "vocabulary": v, "local_batch": batch}.items()]
            for folded in ("true", "false"):
                found = self.shipped("lstm_v100", *sizes, f"--set=workload.folded={folded}")
                n = 20 * batch
                passes = 2 * (18 + 20 - 2 * 10) * d * n + (3 + 2 - 4) * d * n + (2 + 3 - 4) * v * n
                loads = 2 * (v * d + 2 * 8 * d * d)
                expected = alone["folded" if folded == "true" else "step_by_step"]["time"]
                expected += WORD * (passes + loads) / bandwidth
                self.assertTrue(math.isclose(found["step_time"], expected, rel_tol=1e-9))

    def test_weights_stay_where_both_that_take_turns_share_a_partition(self):
        """By hand.  A has a weight of 32 B in four steps, C one of 512 B, and the SRAM 540 B."""
        graph = """workload:
  kind: graph
  sequence: 8
  tile: 1
  global_batch: 1
  kernels:
    - {name: A, kind: weight_gemm, M: 4, K: 4, N: 8, steps: 4}
    - {name: B, kind: elementwise, M: 4, N: 8, steps: 4}
    - {name: C, kind: weight_gemm, M: 64, K: 4, N: 8}
  tensors:
    - {from: A, to: B}
    - {from: B, to: A, next_step: true}
    - {from: B, to: C}
system:
  chips: 1
  accelerator: {cores: 100, lanes: 16, stages: 16, frequency: 1 GHz, sram: 540 B}
  memory: {bandwidth: 1 kB/s}
execution: {compute_utilization: 0.8}
"""
        # Together: B stores 64 B for C, and 64 B twice for the next step; C loads 64 B.
        self.assertTrue(math.isclose(self.step_time(graph), (64 + 2 * 64 + 32 + 64 + 512) / 1e3,
                                     rel_tol=1e-9))
        # Apart A and B exchange 64 B, and A reads its weight three times more.
        self.assertTrue(math.isclose(
            self.step_time(graph.replace("{compute", "{style: kernel_by_kernel, compute")),
            ((64 + 64 + 3 * 32 + 32) + 3 * 64 + (64 + 512)) / 1e3, rel_tol=1e-9))

    def test_a_written_graph_is_read_back_to_the_same(self):
        for folded in (True, False):
            text = config(10**6, folded=folded)
            self.write("c.yaml", text)
            graph = self.run_tool("graph", "c.yaml").stdout
            self.assertIn("next_step: true", graph)
            self.write("g.yaml", graph + SYSTEM.format(sram=10**6, latency=""))
            self.assertEqual(self.step_time(text), self.result("g.yaml")["step_time"])

    def test_layers_over_stages_are_a_wave(self):
        """Equal stages of one layer: S + L - 1 cells in place of S L."""
        result = self.shipped("lstm_wave")
        times = [stage["time"] for stage in result["stages"]]
        jobs = 20 * 4
        expected = (sum(times) + (jobs - 1) * max(times)) / 20
        self.assertTrue(math.isclose(result["step_time"], expected, rel_tol=1e-12))
        folded = self.shipped("lstm_wave", "--set=workload.folded=true")
        self.assertLess(result["step_time"], folded["step_time"])


if __name__ == "__main__":
    main()
