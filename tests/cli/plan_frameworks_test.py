#!/usr/bin/env python3
"""Plans for a framework: the best of what it can run, and nothing that it cannot.

usage: plan_frameworks_test.py DFSEARCH [TEST ...]
"""

import json

import support
from plan_case import ROLES, PlanCase, changes

# The first one runs fastest.
USUAL = ("tensor", "context", "expert", "data", "pipeline")
STAGES_INSIDE = ("tensor", "context", "expert", "pipeline", "data")


def places(degrees, order, node):
    """Counts one by one: what ranks that are numbered so have in a node and beside it."""
    of = dict(zip(ROLES, degrees))
    inside, beside = {}, {}
    step = 1
    for role in order:
        chips = [digit * step for digit in range(of[role])]
        inside[role] = len({chip % node for chip in chips})
        beside[role] = len({chip // node for chip in chips})
        step *= of[role]
    return tuple(inside[role] for role in ROLES), tuple(beside[role] for role in ROLES)


class Frameworks(PlanCase):
    def test_a_framework_gets_the_best_of_what_it_runs(self):
        layouts = "training.layout=[least_sent, least_kept]"
        lists = {
            "megatron": [["training.schedule=[1f1b, interleaved]", layouts]],
            "torchtitan": [["training.schedule=[1f1b, interleaved, gpipe]", *ranks, *zero]
                           for ranks in (["parallelism.tensor=1"], ["training.layout=least_kept"])
                           for zero in (["training.zero=[2, 3]"],
                                        ["training.zero=0", "parallelism.context=1"])],
            "deepspeed": [["training.schedule=1f1b", "training.zero=[0, 1]", layouts],
                          ["training.schedule=1f1b", "parallelism.pipeline=1", layouts]]}
        best_of_any = self.result(self.config)["step_time"]
        for framework, choices in lists.items():
            # Memory that makes ZeRO and stages matter, and one that does not.
            for memory in ("2 GB", "600 MB"):
                with self.subTest(framework=framework, memory=memory):
                    given = [f"system.memory.capacity={memory}"]
                    steps = [self.result(self.config, *changes(*given, *one), status=(0, 3))
                             ["step_time"] for one in choices]
                    best = min(step for step in steps if step is not None)
                    found = self.result(self.config,
                                        *changes(*given, f"training.framework={framework}"))
                    self.assertEqual(found["step_time"], best)
                    any_of_all = self.result(self.config, *changes(*given))["step_time"]
                    self.assertEqual(found["framework"],
                                     {"name": framework, "step_time_of_any": any_of_all,
                                      "lower_bound_of_any": any_of_all,
                                      "gain": best / any_of_all - 1.0})
                    if memory == "2 GB":
                        self.assertEqual(any_of_all, best_of_any)

    def test_a_framework_can_run_what_is_found_for_it(self):
        for framework in ("megatron", "torchtitan", "deepspeed"):
            with self.subTest(framework):
                told = changes("system.memory.second={bandwidth: 40 GB/s, capacity: 1 TB}",
                               "system.memory.capacity=600 MB", f"training.framework={framework}")
                self.write("r.json", self.run_tool(self.config, *told, "--json", "-").stdout)
                text = self.run_tool("emit", "r.json", "--for", framework).stdout
                for lack in ("is not there", "is none that", "stay on the chip", "nothing is",
                             "goes with", "run 1f1b"):
                    self.assertNotIn(lack, text)
                report = self.run_tool(self.config, *told).stdout
                self.assertRegex(report, rf"framework +{framework}; the best plan of any is .* better")

    def test_nothing_is_found_for_a_framework_that_it_cannot_run(self):
        cannot = ("is not there", "are not interleaved", "is none that", "stay on the chip",
                  "nothing is", "goes with", "run 1f1b", "divide the weights", "least_kept")
        found = 0
        models = ("model: llama3_8b, layers: 7", "model: qwen3_30b_a3b, layers: 5")
        for model in models:
            for chips, batch, memory, ranks in ((8, 16, 40, "[2, 4]"), (16, 48, 16, "1"),
                                                (16, 32, 24, "2")):
                config = self.write("c.yaml", f"""\
workload: {{{model}, global_batch: {batch}}}
system: {{from: h100_dgx, chips: {chips}, memory: {{capacity: {memory} GB}}}}
execution: {{stack: te, chip: h100_80gb}}
parallelism: {{tensor: {ranks}}}
training: {{}}
""")
                for framework in ("megatron", "torchtitan", "deepspeed"):
                    with self.subTest(model=model, chips=chips, framework=framework):
                        done = self.run_tool(config, *changes(f"training.framework={framework}"),
                                             "--json", "r.json", "--quiet", status=(0, 3))
                        if done.returncode == 0:
                            found += 1
                            text = self.run_tool("emit", "r.json", "--for", framework).stdout
                            for lack in cannot:
                                self.assertNotIn(lack, text)
        self.assertGreater(found, 12)

    def test_ranks_lie_where_the_framework_numbers_them(self):
        differ = 0
        for degrees in ((2, 1, 1, 2, 4), (4, 1, 1, 2, 2), (1, 2, 1, 4, 2), (1, 1, 1, 2, 8),
                        (1, 1, 1, 8, 2), (1, 1, 1, 4, 4)):
            given = changes(*(f"parallelism.{role}={degree}" for role, degree in zip(ROLES, degrees)
                              if role != "expert"))
            free = self.result(self.config, *given, *changes("training.schedule=1f1b"))
            for framework, orders in (("megatron", (USUAL, STAGES_INSIDE)),
                                      ("deepspeed", (USUAL,))):
                with self.subTest(degrees=degrees, framework=framework):
                    found = self.result(self.config, *given, *changes(
                        f"training.framework={framework}", "training.schedule=1f1b"))
                    network = tuple(tuple(of.get(role, 1) for role in ROLES)
                                    for of in found["network"])
                    self.assertIn(network, [places(degrees, order, 8) for order in orders])
                    self.assertGreaterEqual(found["step_time"], free["step_time"])
                    differ += found["network"] != free["network"]
        self.assertGreater(differ, 0)

    def test_a_plan_at_another_place_than_its_file_has_it_is_said_to_be(self):
        given = changes("parallelism.pipeline=8", "parallelism.data=2")
        deepspeed = changes("training.framework=deepspeed")
        evaluate = ("evaluate", self.config, *given, "--mapping")
        self.run_tool(self.config, *given, *deepspeed, "--quiet", "--json", "r.json")
        self.assertIn("r.json:", self.run_tool(*evaluate, "r.json").stderr)
        self.assertNotIn("best place", self.run_tool(*evaluate, "r.json", *deepspeed).stderr)
        # The best place has the stages inside a node.
        script = "--pipeline-model-parallel-size 8 --micro-batch-size 1"
        self.write("a.sh", script)
        self.assertIn("a.sh: the plan is timed at its best place in the network, where these",
                      self.run_tool(*evaluate, "a.sh").stderr)
        self.write("a.sh", script + " --use-tp-pp-dp-mapping")
        self.assertNotIn("best place", self.run_tool(*evaluate, "a.sh").stderr)

    def test_places_that_the_framework_does_not_have_leave_no_plan(self):
        pins = changes("system.network.0.strategy=pipeline", "system.network.1.strategy=tensor")
        self.run_tool(self.config, *pins)
        report = self.run_tool(self.config, *pins, *changes("training.framework=megatron"),
                               status=3).stdout
        self.assertIn("no plan has these degrees in this network", report)

    def test_interleaved_stages_of_megatron_are_equal(self):
        # With a stack chunks may differ, but not under Megatron: its best plan is the best of those
        # without chunks, and of those whose equal stages are given one after the other.
        differ = False
        for layers, batch, memory in ((19, 32, "80 GB"), (14, 16, "20 GB"), (12, 8, "40 GB")):
            config = self.write("c.yaml", f"""\
workload: {{model: llama3_8b, layers: {layers}, global_batch: {batch}}}
system: {{from: h100_dgx, chips: 16, memory: {{capacity: {memory}}}}}
execution: {{stack: te, chip: h100_80gb}}
parallelism: {{tensor: [1, 2], context: 1, pipeline: [2, 4, 8, 16]}}
training: {{recompute: full, zero: [0, 1]}}
""")
            with self.subTest(layers):
                found = self.result(config, *changes("training.framework=megatron"))
                self.write("r.json", json.dumps(found))
                text = self.run_tool("emit", "r.json", "--for", "megatron").stdout
                self.assertNotIn("not interleaved", text)
                steps = [self.result(config, *changes("training.schedule=1f1b"), status=(0, 3))
                         ["step_time"]]
                for stages in (2, 4, 8, 16):
                    if layers % stages:
                        continue
                    each = layers // stages
                    for chunks in (c for c in range(2, each + 1) if each % c == 0):
                        given = self.run_tool(config, *changes(
                            "training.schedule=interleaved", f"training.chunks={chunks}",
                            f"training.layers={[each] * stages}", f"parallelism.pipeline={stages}"),
                            "--json", "-", status=(0, 2, 3))
                        if given.returncode == 0:
                            steps.append(json.loads(given.stdout)["step_time"])
                self.assertEqual(found["step_time"], min(step for step in steps if step))
                free = self.result(config)["plan"]
                differ = differ or (free["chunks"] > 1 and len(set(free["layers"])) > 1)
        self.assertTrue(differ)

    def test_what_a_framework_never_runs_is_an_error(self):
        wrong = self.run_tool(self.config, *changes(
            "training.framework=torchtitan", "training.schedule=zb_h1", "training.zero=1",
            "training.layout=front_1"), status=2).stderr
        self.assertEqual(wrong.count("torchtitan runs none of these"), 3)


if __name__ == "__main__":
    support.main()
