#!/usr/bin/env python3
"""What a proof covers: shardings are searched unless a rule fixes them, and then results say so.

usage: scope_test.py DFSEARCH [TEST ...]
"""

import json

import support
from support import CliTest

ROOT = support.pathlib.Path(__file__).resolve().parents[2]
V100 = ROOT / "configs" / "technologies" / "v100.yaml"
LEAST = ("--set", "search.sharding=least_bytes")
JOINT = ("--set", "search.sharding=joint")

# Decoding on machines of the shelf, where the sharding that communicates least holds all weights of
# some matrices on each chip.
LLAMA_70B = """
workload: {model: llama3_70b, kind: llm_decode, batch: 8, global_batch: 1}
system: {from: h100_dgx, chips: 8}
parallelism: {tensor: 8}
"""
LLAMA_405B = """
workload: {model: llama3_405b, kind: llm_decode, batch: 16, global_batch: 1}
system: {from: sn40l, chips: 16}
parallelism: {tensor: 16}
"""
BUDGET = """
workload: {kind: llm_prefill, hidden: 4096, heads: 32, head_dim: 128, sequence: 2048, layers: 32,
           global_batch: 16, micro_batch: 1}
system:
  chips: 8
  technology: {from: TECHNOLOGY}
  budget: {step: 0.25, area: {package: 1230 mm2, die: 815 mm2}, power: {total: POWER}}
  network: [{topology: ring, degree: 8, link: inter, strategy: tensor}]
execution: {style: kernel_by_kernel, levels: true}
"""


class ScopeTest(CliTest):
    def solve(self, text, *words, status=(0, 3, 4)):
        path = self.folder / "config.yaml"
        path.write_text(text)
        done = self.run_tool(path, *words, "--json", "r.json", "--threads", "2", "--time-limit",
                             "60 s", status=status)
        return done.stdout, self.read_json("r.json")

    def test_all_shardings_are_searched_by_default(self):
        for text in (LLAMA_70B, LLAMA_405B):
            with self.subTest(text):
                report, free = self.solve(text, status=0)
                self.assertIn("result        optimal, proved: gap 0\n", report)
                self.assertEqual((free["scope"], free["beyond_scope"]), ([], None))
                self.assertEqual(free["objective"], self.solve(text, *JOINT)[1]["objective"])
                report, least = self.solve(text, *LEAST)
                self.assertEqual(least["scope"], ["sharding: least_bytes"])
                self.assertIn("proved for the sharding that communicates least: ", report)
                self.assertIn("\nscope         sharding: least_bytes beforehand; ", report)
                if least["objective"] is not None:
                    self.assertLessEqual(free["objective"], least["objective"])
                beyond = least["beyond_scope"]
                self.assertLessEqual(beyond["lower_bound"], free["objective"])
                if beyond["status"] == "optimal":
                    self.assertEqual(beyond["objective"], free["objective"])

    def test_a_published_run_keeps_its_answer_and_says_what_else_there_is(self):
        config = ROOT / "configs" / "gpt3_1t.yaml"
        done = self.run_tool(config, "--json", "r.json")
        result = self.read_json("r.json")
        self.assertEqual(result["objective"], 78.99476956918743)
        self.run_tool(config, *JOINT, "--json", "joint.json")
        joint = self.read_json("joint.json")
        self.assertEqual(joint["scope"], [])
        self.assertEqual(result["beyond_scope"],
                         {key: joint[key] for key in ("status", "objective", "lower_bound")})
        self.assertIn("with search.sharding: joint the best is 71.35 s\n",
                      done.stdout.replace("\n              ", " "))
        quiet = self.run_tool(config, "--quiet", "--json", "-")
        self.assertEqual(json.loads(quiet.stdout)["beyond_scope"], result["beyond_scope"])

    def test_what_the_config_says_wins_over_the_preset(self):
        plain = LLAMA_70B
        for equations, rule in (("physical", "joint"), ("published", "least_bytes"),
                                ("{all_reduce_passes: 1}", "joint"),
                                ("{preset: published, all_reduce_passes: 1}", "least_bytes")):
            for words, wanted in (((), rule), (LEAST, "least_bytes"), (JOINT, "joint")):
                with self.subTest(equations=equations, words=words):
                    _, result = self.solve(f"{plain}equations: {equations}\n", *words)
                    scope = ["sharding: least_bytes"] if wanted == "least_bytes" else []
                    self.assertEqual(result["scope"], scope)

    def test_plans_name_the_layouts_that_are_not_searched(self):
        front = "layout: on the front of bytes sent and kept"
        tokens = "layouts of context and expert ranks: least_sent"
        for degrees, layout, scope in (("tensor: 1, context: 1, expert: 1", "", []),
                                       ("tensor: 4, context: 1, expert: 1", "", [front]),
                                       ("tensor: 4, context: 1, expert: 1", "layout: least_kept",
                                        []),
                                       ("tensor: 1, context: 2, expert: 1", "", [tokens]),
                                       ("context: [1, 2], expert: 1", "", [front, tokens])):
            with self.subTest(degrees=degrees, layout=layout):
                report, result = self.solve(
                    "workload: {model: llama3_8b, kind: llm_training, sequence: 8192,"
                    " global_batch: 64}\n"
                    f"system: {{from: h100_dgx, chips: 64}}\ntraining: {{{layout}}}\n"
                    f"parallelism: {{{degrees}}}\n", status=0)
                self.assertEqual(result["scope"], scope)
                alone = "result        optimal, proved: gap 0\n" in report
                self.assertEqual(alone, not scope)

    def test_a_budget_that_cannot_be_met_says_why(self):
        for power in ("1 W", "300 W"):
            with self.subTest(power):
                text = BUDGET.replace("POWER", power).replace("TECHNOLOGY", str(V100))
                if power == "300 W":  # there are chips, and none holds the model
                    text += "search: {sharding: least_bytes}\n"
                    text = text.replace("layers: 32", "layers: 32000")
                report, result = self.solve(text, status=3)
                self.assertEqual(result["infeasible"]["resource"], "budget")
                self.assertIn("no split of the budgets", result["infeasible"]["text"])
                self.assertIn("reason        no split of the budgets makes a chip", report)


if __name__ == "__main__":
    support.main()
