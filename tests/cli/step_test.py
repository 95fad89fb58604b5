#!/usr/bin/env python3
"""Searches for whole steps, plans and executions, that are hinted, watched, killed and resumed.

usage: step_test.py DFSEARCH [TEST ...]
"""

import pathlib
import random
import re
import signal
import time

import support
from support import CliTest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CONFIGS = ROOT / "configs"

PLAN = CONFIGS / "training" / "llama3_70b_2048_h100.yaml"
EXECUTION = CONFIGS / "calculon_1t.yaml"


def answer_of(result):
    return {key: value for key, value in result.items() if key != "search"}


class Steps(CliTest):
    def test_a_mapping_is_a_hint(self):
        for config in (PLAN, EXECUTION):
            with self.subTest(config.name):
                first = self.result(config, "--mapping", "m.json")
                self.assertEqual(self.read_json("m.json"), first)
                again = self.result(config, "--hint", "m.json", "--node-limit", "1", status=4)
                self.assertEqual(again["step_time"], first["step_time"])
                proved = self.result(config, "--hint", "m.json")
                self.assertEqual(answer_of(proved), answer_of(first))

    def test_a_part_of_a_plan_is_a_hint(self):
        self.write("part.yaml", "parallelism: {tensor: 4, pipeline: 8}\nmicro_batch: 1\n"
                                "plan: {zero: 1, recompute: none}\n")
        hinted = self.result(PLAN, "--hint", "part.yaml", "--node-limit", "1", status=4)
        self.assertEqual(hinted["parallelism"]["tensor"], 4)
        self.assertEqual(hinted["parallelism"]["pipeline"], 8)
        self.assertEqual(hinted["plan"]["zero"], 1)

    def test_hints_that_do_not_fit_are_dropped_for_the_reason_of_evaluate(self):
        self.write("large.yaml", "parallelism: {tensor: 1, pipeline: 1}\nplan: {zero: 0}\n")
        done = self.run_tool(PLAN, "--hint", "large.yaml", "--quiet", "--json", "r.json")
        reason = re.fullmatch(r"large.yaml: the hint does not fit and is dropped: (.*)\n",
                              done.stderr)[1]
        # The reason equals the one of evaluate.
        told = self.run_tool("evaluate", PLAN, "--mapping", "large.yaml", status=3).stdout
        self.assertRegex(reason, r"^a chip.* needs .* of memory, and has .* too much$")
        self.assertIn(reason, " ".join(told.split()))

    def test_what_a_tenth_more_brings(self):
        changes = {
            "peak": ["system.accelerator.frequency=1.375 GHz"],
            "SRAM": ["system.accelerator.sram=704 MiB"],
            "memory bandwidth": ["system.memory.bandwidth=330 GB/s"],
            "memory capacity": ["system.memory.capacity=1209462760000 B"],
            "network bandwidth": ["system.network.0.bandwidth=55 GB/s",
                                  "system.network.1.bandwidth=55 GB/s"]}
        # One machine under a mapping and under plans, without and with fused kernels.
        mapping = CONFIGS / "gpt3_1t.yaml"
        plan = self.write("plan.yaml", f"""\
workload: {{model: megatron_22b, global_batch: 64}}
system: {{from: {mapping}, chips: 32, network: [{{topology: ring, degree: 4, bandwidth: 50 GB/s}},
                                              {{topology: ring, degree: 8, bandwidth: 50 GB/s}}]}}
training: {{}}
""") or self.folder / "plan.yaml"
        for config, base in ((mapping, []), (plan, []),
                             (plan, ["--set", "execution={style: dataflow}"])):
            found = self.result(config, *base, "--what-if")
            rows = {row["more"]: row for row in found["what_if"]}
            has_sram = config == mapping or base
            self.assertEqual(list(rows), [m for m in changes if m != "SRAM" or has_sram])
            for more, row in rows.items():
                with self.subTest(config=str(config), base=base, more=more):
                    sets = [word for change in changes[more] for word in ("--set", change)]
                    other = self.result(config, *base, *sets)
                    self.assertTrue(row["proved"])
                    self.assertAlmostEqual(row["objective"] / other["step_time"], 1.0, delta=1e-8)
                    self.assertLessEqual(row["objective"], found["step_time"] * (1 + 1e-9))
        text = self.run_tool(mapping, "--what-if").stdout
        self.assertIn("change of the objective with a tenth more of one quantity", text)

    def test_an_answer_of_what_if_that_is_not_proved_has_its_status(self):
        config = CONFIGS / "gpt3_1t.yaml"
        # Only the search of the config itself has the hint.
        self.run_tool(config, "--mapping", "h.json")
        alone = ("--threads", "1", "--deterministic", "--hint", "h.json")
        least = self.result(config, *alone)["search"]["proof"]["nodes"]
        met = set()
        for nodes in (least, 1000 * least):
            done = self.run_tool(config, *alone, "--what-if", "--node-limit", nodes, "--json",
                                 "w.json", status=(0, 4))
            found = self.read_json("w.json")
            self.assertEqual(found["status"], "optimal")
            proved = all(row["proved"] for row in found["what_if"])
            self.assertEqual(done.returncode, 0 if proved else 4)
            met.add(proved)
        self.assertEqual(met, {False, True})

    def test_robust(self):
        stack = ("--set", "execution={stack: te, chip: h100_80gb}")
        found = self.result(PLAN, *stack, "--robust")
        plain = self.result(PLAN, *stack)
        robust = found.pop("robust")
        self.assertIsNone(plain.pop("robust"))
        self.assertEqual(answer_of(found), answer_of(plain))
        self.assertEqual(robust["status"], "optimal")
        self.assertEqual(len(robust["scenarios"]), 13)
        self.assertEqual(robust["regret"], max(s["robust"] / s["best"] for s in robust["scenarios"]) - 1)
        self.assertLessEqual(robust["regret"],
                             max(s["typical_best"] / s["best"] for s in robust["scenarios"]) - 1)
        self.assertEqual(robust["scenarios"][0]["best"], plain["step_time"])
        # Releases of the software make all plans slower or faster alike, so no scenario has them.
        for end, name, release in ((0, "all low", 0.95), (1, "all high", 1.07)):
            bound = next(s for s in robust["scenarios"] if s["name"] == name)
            self.assertAlmostEqual(bound["typical_best"] * release, plain["interval"][end], places=9)
        few = self.result(PLAN, *stack, "--robust", "--node-limit", "1", status=4)["robust"]
        self.assertEqual(few["status"], "feasible")
        self.assertIsNone(few["regret"])

    def test_killed_at_random_moments_the_answer_is_the_same(self):
        straight = self.result(PLAN, "--top", "2")
        draw = random.Random(5)
        resume = []
        for _ in range(4):
            process = self.start(PLAN, "--top", "2", "--checkpoint", "c", *resume)
            time.sleep(draw.uniform(0.1, 0.6))
            process.send_signal(signal.SIGKILL)
            process.wait()
            if (self.folder / "c").exists():
                resume = ["--resume", "c"]
        self.assertTrue(resume)
        resumed = self.result(PLAN, "--top", "2", *resume)
        self.assertEqual(answer_of(resumed), answer_of(straight))

if __name__ == "__main__":
    support.main()
