#!/usr/bin/env python3
"""Mappings against what their machines can do.

usage: machines_test.py DFSEARCH [TEST ...]
"""

from support import CliTest, main


class MachinesTest(CliTest):
    def test_a_peak_of_16_bits_beside_cores_is_theirs(self):
        config = "workload: {from: gpt3_175b_prefill}\nsystem: {from: h100_dgx, chips: 8}\n"
        self.write("config.yaml", config)
        said = self.run_tool("check", "config.yaml", "--set",
                             "system.peaks.matrix.bf16=2000 TFLOP/s", status=2).stderr
        self.assertIn("bf16: the cores have a peak of 989.4 TFLOP/s", said)
        self.run_tool("check", "config.yaml", "--set", "system.accelerator.frequency=2 GHz")


if __name__ == "__main__":
    main()
