#!/usr/bin/env python3
"""HPL, FFT and collectives in closed form, on machines of the shelf.

usage: closed_forms_test.py DFSEARCH [TEST ...]
"""

import json
import re

from support import CliTest, main


class ClosedFormsTest(CliTest):
    def system(self, name, chips):
        return self.write(f"{name}.yaml", f"system: {{from: {name}, chips: {chips}}}\n")

    def answer(self, *words):
        return self.result(*words)

    def test_hpl_takes_what_eight_h100_took(self):
        node = self.system("h100_dgx", 8)
        words = ("linpack", node, "--n", 264192, "--rate", "49.74 TFLOP/s")
        given = self.answer(*words, "--grid", "4x2", "--block", 1024)
        # 365.4 TFLOP/s by Voltage Park, to which the rate is fitted.
        self.assertAlmostEqual(given["flop_per_s"] / 365.4e12, 1, delta=0.01)
        self.assertEqual([given["grid"], given["block"]], [[4, 2], 1024])
        best = self.answer(*words)
        self.assertLessEqual(best["time"], given["time"])
        self.assertLess(best["utilization"], 1)
        self.assertLessEqual(best["memory"], 80 * 2**30)
        self.assertIn("P 4 x Q 2", self.run_tool(*words, "--grid", "4x2").stdout)

    def test_hpl_of_all_of_el_capitan_is_below_its_peak(self):
        best = self.answer("linpack", self.system("mi300a", 44544), "--n", 25446528)
        self.assertLess(best["utilization"], 0.95)
        self.assertGreater(best["flop_per_s"], 1.742e18)  # measured, at a lower rate of products

    def test_an_fft_passes_through_memory(self):
        one = self.answer("fourier", self.system("h100_dgx", 1), "--points", 2**30)
        self.assertAlmostEqual(one["time"] / (4 * 8 * 2**30 / 3.35e12), 1, places=9)
        self.assertEqual(one["passes"], [2])
        self.assertLessEqual(one["lower_bound"], one["time"])
        many = self.answer("fourier", self.system("a100_dgx", 2048), "--points", "1024x1024x1024")
        self.assertEqual(many["layout"], "pencil")

    def test_collectives_use_all_axes_of_a_torus(self):
        pod = self.system("tpu_v5p", 4096)
        ways = self.answer("collective", pod, "--operation", "all_gather", "--bytes", "1 GB")
        at_once, in_turn = (way["time"] for way in ways["algorithms"])
        self.assertAlmostEqual((at_once - 24e-6) / (1e9 / 600e9), 4095 / 4096, places=9)
        self.assertGreater(in_turn, 2.9 * at_once)
        self.assertLessEqual(ways["lower_bound"], at_once)
        node = self.system("h100_dgx", 8)
        measured = self.answer("collective", node, "--bytes", "512 MiB", "--nccl", "h100")
        self.assertAlmostEqual(measured["algorithms"][-1]["time"], 2.153152e-3, places=9)

    def test_a_byte_takes_the_latencies_of_its_hops(self):
        # Two nodes of eight: 5 us within a node, 10 us to the other one.
        nodes = self.system("h100_dgx", 16)
        for operation, times in (("all_reduce", {"flat rings of NCCL": 2 * (14 * 5 + 10),
                                                 "SHARP in the network": 2 * (7 * 5 + 10)}),
                                 ("all_gather", {"flat rings of NCCL": 14 * 5 + 10}),
                                 ("all_to_all", {"over rails alone": 5 + 10})):
            ways = self.answer("collective", nodes, "--operation", operation, "--bytes", "1 B")
            found = {way["algorithm"]: way["time"] for way in ways["algorithms"]}
            for name, time in times.items():
                self.assertAlmostEqual(found[name] * 1e6, time, places=3)

    def test_a_part_of_a_ring_is_a_line(self):
        slice_of = self.system("tpu_v5e", 4)
        ways = self.answer("collective", slice_of, "--operation", "all_gather", "--bytes",
                           "33554432 B")
        self.assertAlmostEqual(ways["algorithms"][0]["time"], 33554432 * 0.75 / 50e9 + 3e-6, places=9)

    def test_sections_beside_the_machine_need_not_fit_it(self):
        # The price has one link, and the network of another machine two dimensions.
        self.write("own.yaml", "workload: {kind: graph, kernels: [], tensors: []}\n"
                   "system: {chips: 2, accelerator: {cores: 8, lanes: 8, stages: 8, frequency: 1 "
                   "GHz, sram: 1 MB}, memory: {bandwidth: 1 GB/s}, "
                   "network: [{topology: ring, bandwidth: 1 GB/s}]}\n"
                   "price: {accelerator: 1, memory: 1, link: [2], switch: 1}\n"
                   "execution: {framework: jax}\n")
        for words in (("linpack", "--n", 1000), ("fourier", "--points", 2**20),
                      ("collective", "--bytes", "1 GB")):
            command, *rest = words
            given = self.answer(command, "own.yaml", "--system", "h100_dgx", "--chips", 8, *rest)
            own = self.answer(command, self.system("h100_dgx", 8), *rest)
            given.pop("config"), own.pop("config")
            self.assertEqual(given, own)

    def test_a_config_holds_options_as_keys(self):
        for command, section, words in (
            ("linpack", "{n: 20000, block: [128, 256], grid: 4x2, lookahead: false,"
             " rate: 40 TFLOP/s}",
             ("--n", 20000, "--block", 128, "--block", 256, "--grid", "4x2", "--no-lookahead",
              "--rate", "40 TFLOP/s")),
            ("fourier", "{points: 256x256x256, element: c128, real: true, transposed: false,"
             " layout: pencil, repack: 2}",
             ("--points", "256x256x256", "--element", "c128", "--real", "--layout", "pencil",
              "--repack", 2)),
            ("collective", "{bytes: 1 MB, operation: all_to_all}",
             ("--bytes", "1 MB", "--operation", "all_to_all"))):
            with self.subTest(command):
                held = self.write("held.yaml", "system: {from: h100_dgx, chips: 8}\n"
                                  f"{command}: {section}\n")
                keys, flags = self.answer(command, held), self.answer(
                    command, self.system("h100_dgx", 8), *words)
                keys.pop("config"), flags.pop("config")
                self.assertEqual(keys, flags)
                self.assertIn(f"held.yaml:2:1: {command}: this section is read by 'dfsearch {command}'",
                              self.run_tool("solve", held, status=2).stderr)
        held = self.write("held.yaml", "system: {from: h100_dgx, chips: 8}\n"
                          "linpack: {n: 20000, block: 128, lookahead: true}\n")
        over = self.answer("linpack", held, "--block", 256, "--no-lookahead")
        self.assertEqual([over["block"], over["lookahead"]], [256, False])
        changed = self.answer("linpack", held, "--set", "linpack.block=512")
        self.assertEqual([changed["n"], changed["block"], changed["lookahead"]], [20000, 512, True])

    def test_wrong_keys_are_refused_where_they_are(self):
        for section, message in (
            ("{n: 0}", "c.yaml:2:14: n: expected a whole number from 1 to 1000000000, got '0'"),
            ("{n: [1, 2]}", "c.yaml:2:14: n: expected one value, got a list"),
            ("{n: 64, blocks: 8}", "unknown key 'blocks'"),
            ("{n: 64, json: a}", "unknown key 'json'"),
            ("{n: 64, no-lookahead: true}", "unknown key 'no-lookahead'"),
            ("{n: 64, lookahead: 2}", "c.yaml:2:29: lookahead: expected true"),
            ("{block: 64}", "linpack: missing --n N"),
            ("{n: {}}", "c.yaml:2:14: n: expected"),
            ("[]", "linpack: expected a map"),
        ):
            with self.subTest(section):
                config = self.write("c.yaml", f"system: {{from: h100_dgx}}\nlinpack: {section}\n")
                done = self.run_tool("linpack", config, "--chips", 8, status=2)
                self.assertIn(message, done.stderr)

    def test_the_schema_has_the_keys_that_the_reader_expects(self):
        definitions = json.loads(self.run_tool("schema").stdout)["definitions"]
        for section, flags in (("linpack", {"lookahead"}), ("fourier", {"real", "transposed"}),
                               ("collective", set())):
            with self.subTest(section):
                file = self.write("c.yaml", f"system: {{from: h100_dgx}}\n{section}: {{absent: 1}}\n")
                text = self.run_tool(section, file, status=2).stderr
                expected = re.search("unknown key 'absent', expected (.*)", text)[1]
                keys = definitions[section]["properties"]
                self.assertCountEqual(keys, expected.replace(" or ", ", ").split(", "))
                self.assertEqual({key for key in keys if "type" in keys[key]}, flags)
                self.assertIs(definitions[section]["additionalProperties"], False)
                self.assertTrue(all(keys[key]["description"] for key in keys))


if __name__ == "__main__":
    main()
