#!/usr/bin/env python3
"""Rates of kernels, memory and links in plans, and what reports say of them.

usage: plan_rates_test.py DFSEARCH [TEST ...]
"""

import re

import support
from plan_case import CONFIGS, ROOT, PlanCase


class Rates(PlanCase):
    def test_rates_of_files_are_taken(self):
        plain = self.result(self.config, "--set", "execution=null")["step_time"]
        self.write("rates.yaml", "matrix: {efficiency: [[0 FLOP, 0.25]]}\n")
        slow = self.result(self.config, "--set", "execution.efficiency=rates.yaml", "--set",
                           "execution.efficiency.vector={efficiency: [[0 FLOP, 0.25]]}")
        flat = self.result(self.config, "--set", "execution={compute_utilization: 0.25}")
        self.assertEqual(slow["step_time"], flat["step_time"])
        self.assertGreater(slow["step_time"], plain)

    def test_curves_of_the_shelf_are_shares(self):
        # A chip of other peaks keeps them; its vector engine is the share of the file.
        for chip, share in (("h100", 0.12), ("a100", 0.25)):
            told = self.result(self.config, "--set", f"execution.efficiency={chip}")
            self.assertEqual(told["machine"]["peak"], 102.4e12)
            peak = 102.4e12 * share
            self.write("rates.yaml", re.sub(r"of_matrix: [\d.]+", f"peak: {peak} FLOP/s", (
                CONFIGS / "efficiencies" / f"{chip}.yaml").read_text()))
            same = self.result(self.config, "--set", "execution.efficiency=rates.yaml")
            self.assertEqual(same["step_time"], told["step_time"])

    def test_rates_of_the_machine_that_a_stack_does_not_use_are_named(self):
        config = CONFIGS / "training" / "llama3_70b_64_h100.yaml"
        whole = self.result(config)["step_time"]
        for key, said in (("memory.bandwidth", "memory at 3.35 TB/s, not 1 GB/s"),
                          ("network.0.bandwidth", "links in a node at 340 GB/s, not 1 GB/s"),
                          ("network.1.bandwidth", "links between nodes at 50 GB/s, not 1 GB/s")):
            change = ("--set", f"system.{key}=1 GB/s")
            report = re.sub(r"\s+", " ", self.run_tool(config, *change).stdout)
            self.assertIn(said, report)
            self.assertEqual(self.result(config, *change)["step_time"], whole)
        self.assertNotIn("caution", self.run_tool(config).stdout)

    def test_a_mapping_of_training_names_the_plan_where_there_is_one(self):
        hint = "a plan of a training step counts all of these: --set training={}"
        for config, has_plan in (("transformers/llama3_70b", True), ("gpt3_1t", False)):
            path = CONFIGS / f"{config}.yaml"
            report = self.run_tool(path, "--node-limit", "200", status=(0, 4)).stdout
            self.assertIn("not counted: gradients", report)
            self.assertEqual(hint in re.sub(r"\s+", " ", report), has_plan)
            self.run_tool("check", path, "--set", "training={}", status=0 if has_plan else 2)

    def test_on_chip_memory_is_said_not_to_count(self):
        report = self.run_tool(self.config).stdout
        self.assertEqual(report.count("not modelled"), 1)
        self.assertIn("on-chip memory (20.97 MB given)", report)
        result = self.result(self.config)
        self.assertEqual(result["not_modelled"], ["system.accelerator.sram"])
        more = self.result(self.config, "--set", "system.accelerator.sram=1 GB")
        self.assertEqual(more["step_time"], result["step_time"])
        self.write("study.yaml", "study: {name: s, objective: step_time}\nbase: {from: c.yaml}\n"
                                 "axes: [{name: sram, key: system.accelerator.sram, values: "
                                 "[10 MB, 20 MB]}]\n")
        study = self.run_tool("study", "study.yaml", "-o", "out", "--quiet").stdout
        self.assertIn("not modelled  on-chip memory, which axis sram varies", study)

    def test_rates_are_called_scaled_where_the_page_of_systems_does(self):
        page = (ROOT / "docs" / "systems.md").read_text()
        config = CONFIGS / "training" / "llama3_70b_2048_h100.yaml"
        for chip in ("h100", "h200", "b200", "b300", "gb200", "gb300"):
            row = re.search(rf"^\| \[{chip}_(?:dgx|nvl72)\].*\| (\w+) \|$", page, re.M)
            report = self.run_tool("check", config, "--set",
                                   f"execution={{stack: te, chip: {chip}}}").stdout
            self.assertRegex(report, rf"(?m)^rates +{row[1]}\b", chip)

    def test_rates_of_another_chip_are_told(self):
        config = CONFIGS / "training" / "llama3_70b_2048_h100.yaml"
        # Peaks of data sheets: 2250 TFLOP/s and 1979 (8 bits) are not 989; the same chip, or one
        # with as much as that, is none to warn of.
        for chip, precision, named in (("b200", "bf16", r"b200, whose peak is 2\.25 PFLOP/s"),
                                       ("a100_80gb", "bf16", r"a100_80gb, whose peak is 312 T"),
                                       ("b300", "bf16", r"b300, whose peak is 2\.25 PFLOP/s"),
                                       ("h100_80gb", "bf16", None), ("h100_80gb", "fp8", None),
                                       ("h200", "bf16", None)):
            with self.subTest(chip=chip, precision=precision):
                text = re.sub(r"\s+", " ", self.run_tool("check", config, "--set", "execution={"
                              f"stack: te, chip: {chip}, precision: {precision}}}").stdout)
                if named is None:
                    self.assertNotIn("whose peak is", text)
                else:
                    self.assertRegex(text, f"caution rates were measured on {named}")
                    self.assertIn("but the chips of this machine have a peak of 989.4 TFLOP/s", text)
        # Rings of one node differ from the measured links alike, which is said once.
        text = re.sub(r"\s+", " ", self.run_tool("check", config, "--system", "tpu_v6e", "--set",
                                                 "execution={stack: maxtext_v6e, chip: tpu_v6e}",
                                                 "--set", "system.chips=128").stdout)
        self.assertEqual(text.count("the rate of products contains all exchanges"), 1)
        self.assertNotIn("PB/s", text)
        for file in sorted((CONFIGS / "training").glob("*.yaml")):
            # Rates of blocks that no measured run decided are guessed, and said to be.
            text = re.sub(r"caution +guessed", "", self.run_tool("check", file).stdout)
            self.assertNotIn("caution", text)


if __name__ == "__main__":
    support.main()
