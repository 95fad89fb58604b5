#!/usr/bin/env python3
"""Mappings against what their machines can do: SRAM, arrays, tori, peaks, memory and energy.

usage: machines_test.py DFSEARCH [TEST ...]
"""

import json

from support import CliTest, main

ARRAY = """\
workload: {kind: graph, word: 1 B, tensors: [],
  kernels: [{name: G, kind: weight_gemm, M: 256, K: 768, N: 256}]}
system: {chips: 1, memory: {bandwidth: 1 TB/s}, accelerator:
  {cores: 1, lanes: 128, stages: 128, frequency: 1 GHz, sram: 10 MB, dataflow: weight}}
"""
GATHER = """\
workload: {kind: graph, network: tensor, tensors: [], kernels: [
  {name: G, kind: elementwise, communication: {type: all_gather, bytes: 1 GB}}]}
system: {from: tpu_v5p, chips: 4096}
"""
LARGE = """\
workload: {kind: graph, word: 8 B, out_of_core: true, tensors: [{from: A, to: B}], kernels: [
  {name: A, kind: gemm, M: 32768, K: 64, N: 32768}, {name: B, kind: elementwise, M: 32768, N: 32768}]}
system: {chips: 1, accelerator: {cores: 64, lanes: 32, stages: 32, frequency: 1 GHz, sram: 50 MB},
  memory: {bandwidth: 1 TB/s}}
"""
GROUP = """\
workload: {{kind: graph, network: tensor, tensors: [], kernels: [
  {{name: G, kind: elementwise, communication: {{type: {}, bytes: 1 MB{}}}}}]}}
system: {{chips: 8, accelerator: {{cores: 1, lanes: 8, stages: 8, frequency: 1 GHz, sram: 10 MB}},
  memory: {{bandwidth: 1 TB/s}}, network: [
    {{topology: ring, degree: 4, bandwidth: 100 GB/s, latency: 7 us}},
    {{topology: switch, degree: 2, bandwidth: 50 GB/s, latency: 9 us}}]}}
"""
MESH = """
workload: {kind: llm_training, model: llama3_8b, sequence: 4096, global_batch: 16}
system:
  chips: 16
  accelerator: {cores: 132, lanes: 32, stages: 32, frequency: 1.7 GHz, sram: 50 MB}
  memory: {bandwidth: 3 TB/s, capacity: 800 GB}
  network: [{topology: torus2d, width: 4, height: 4, bandwidth: 20 GB/s}]
parallelism: {tensor: 1, context: 1, pipeline: 1}
training: {zero: 0, data_overlap: false}
"""


class MachinesTest(CliTest):
    def answer(self, text, *words):
        self.write("config.yaml", text)
        done = self.run_tool("config.yaml", "--quiet", "--threads", 1, "--json", "-", *words)
        return json.loads(done.stdout)

    def test_what_stays_in_an_array_moves_into_it(self):
        # SCALE-Sim counts 4608 cycles (its issue 51).
        self.assertAlmostEqual(self.answer(ARRAY)["step_time"] / 4.608e-6, 1, places=9)
        free = self.answer(ARRAY, "--set", "equations.array_loads=free")
        self.assertAlmostEqual(free["step_time"] / 3.072e-6, 1, places=9)
        # Blocks of the operand that stays are as high as the array, or as it is itself.
        for m, k, n in ((256, 768, 256), (300, 90, 40), (50, 200, 700), (1000, 129, 128), (7, 5, 3)):
            of = {"output": (m, n, k, 0), "weight": (m, k, n, min(k, 128)),
                  "input": (n, k, m, min(k, 128))}
            cycles = {dataflow: -(-lanes // 128) * -(-stages // 128) * (streamed + loaded)
                      for dataflow, (lanes, stages, streamed, loaded) in of.items()}
            cycles["best"] = min(cycles.values())
            for dataflow, count in cycles.items():
                kernel = f"workload.kernels.0={{name: G, kind: weight_gemm, M: {m}, K: {k}, N: {n}}}"
                found = self.answer(ARRAY, "--set", kernel, "--set", "system.memory.bandwidth=1 PB/s",
                                    "--set", f"system.accelerator.dataflow={dataflow}")
                self.assertAlmostEqual(found["step_time"] / (count * 1e-9), 1, places=9)

    def test_a_torus_gathers_over_all_links(self):
        at_once = 1e9 * 4095 / 4096 / 600e9 + 24e-6
        self.assertAlmostEqual(self.answer(GATHER)["step_time"] / at_once, 1, places=6)
        in_turn = self.answer(GATHER, "--set", "equations.gather=in_turn")
        self.assertGreater(in_turn["step_time"], 5.5 * at_once)
        self.write("config.yaml", GATHER)
        self.assertIn("both_ways: only valid with the topology ring, line, mesh", self.run_tool(
            "config.yaml", "--set", "system.network.0.topology=switch", status=2).stderr)

    def test_a_group_of_all_chips_takes_what_tensor_ranks_take(self):
        for kind in ("all_reduce", "all_gather", "all_to_all"):
            all_, ranks = (self.answer(GROUP.format(kind, group))["step_time"]
                           for group in (", group: [8]", ""))
            self.assertAlmostEqual(all_ / ranks, 1, places=12)
        # Three quarters twice over the ring of four, and six messages.
        four = self.answer(GROUP.format("all_reduce", ", group: [4]"))["step_time"]
        self.assertAlmostEqual(four / (2 * 0.75 * 1e6 / 100e9 + 6 * 7e-6), 1, places=9)

    def test_a_mesh_sends_gradients_both_ways(self):
        ways = [self.answer(MESH, "--set", f"system.network.0.both_ways={both}")
                for both in ("false", "true")]
        # A ring of all chips as a snake along the torus, with every link for itself.
        self.assertEqual([way["network"][0]["data"] for way in ways], [16, 16])
        one, two = (way["time"]["data"] for way in ways)
        self.assertAlmostEqual(one / two, 2, places=6)

    def test_values_beyond_all_sram_cross_memory_once_each_way(self):
        for words in ((), ("--set", "execution.style=kernel_by_kernel")):
            found = self.answer(LARGE, *words)
            self.assertAlmostEqual(found["partitions"][-1]["time"], 8 * 32768**2 / 1e12 *
                                   (1 if words else 2), places=9)
        free = self.answer(LARGE, "--set", "equations.out_of_core=free")
        self.assertLess(free["step_time"], 8 * 32768**2 / 1e12)

    def test_weights_beside_a_partition_are_those_of_its_stage(self):
        for kernels, stages in ((4, 1), (8, 2)):
            names = "ABCDEFGH"[:kernels]
            config = {
                "workload": {
                    "kind": "graph", "sequence": 4096, "global_batch": 4, "layers": 1, "tile": 512,
                    "kernels": [{"name": name, "kind": "weight_gemm", "M": 1024, "K": 1024,
                                 "N": 4096} for name in names],
                    "tensors": [{"from": a, "to": b} for a, b in zip(names, names[1:])]},
                "system": {
                    "chips": stages, "memory": {"bandwidth": "20 GB/s"},
                    "accelerator": {"cores": 64, "lanes": 32, "stages": 32, "frequency": "1 GHz",
                                    "sram": "10 MB"},
                    "network": [{"topology": "ring", "degree": stages, "bandwidth": "1 TB/s",
                                 "strategy": "pipeline"}]},
                "execution": {"stages": "graph" if stages > 1 else "layers"}}
            self.write("config.json", json.dumps(config))
            done = self.run_tool("config.json", "--threads", 1, "--json", "found.json")
            partitions = self.read_json("found.json")["partitions"]
            fused = max(part["sram"] for part in partitions if len(part["kernels"]) == 2)
            # Two weights beside those of the partition; four fit the SRAM, and stay.
            self.assertEqual(fused, 2 * 2 * 1024**2 + 4 * 1024 * 512 * 2)
            self.assertIn(f"; {(fused + 2 * 2 * 1024**2) / 1e6:.4g} MB with the weights of other",
                          done.stdout.replace("\n", " "))

    def test_hpl_as_a_graph_is_proved_for_its_updates(self):
        text = """workload: {kind: hpl, word: 8 B, n: 100000, block: 512, iterations: 20}
system: {from: mi300a, chips: 16}
"""
        self.assertEqual(self.answer(text)["scope"][0], "HPL: trailing updates alone")

    def test_a_step_takes_the_energy_of_its_work(self):
        text = """workload: {kind: graph, tensors: [], kernels: [
  {name: G, kind: weight_gemm, M: 8192, K: 8192, N: 8192}]}
system: {from: h100_dgx, chips: 1}
energy: {static: 340 W, flop: {bf16: 0.6 pJ/FLOP}, memory: 6.25 pJ/bit, cap: 1 MW}
"""
        found = self.answer(text)
        energy, time = found["energy"], found["step_time"]
        math = 2 * 8192**3 * 0.6e-12
        self.assertAlmostEqual(energy["math"] / math, 1, places=9)
        self.assertAlmostEqual(energy["static"] / (340 * time), 1, places=9)
        self.assertAlmostEqual(energy["memory"] / (2 * 8192**2 * 50e-12), 1, places=6)
        self.assertAlmostEqual(energy["joules"], sum(
            energy[part] for part in ("static", "math", "memory", "links")), places=9)
        self.assertAlmostEqual(energy["edp"] / (energy["joules"] * time), 1, places=9)
        capped = self.answer(text, "--set", "energy.cap=500 W")["energy"]
        self.assertAlmostEqual(capped["watts"], 500, places=6)
        self.assertGreater(capped["time"], time)
        self.assertIn("static", self.run_tool("config.yaml").stdout)
        # The shelf has the energies of an H100, with its cap, and no others are guessed.
        plain = text.split("energy:")[0]
        self.assertAlmostEqual(self.answer(plain)["energy"]["watts"], 679, places=6)
        self.assertIsNone(self.answer(plain.replace("h100_dgx", "a100_dgx"))["energy"])


if __name__ == "__main__":
    main()
