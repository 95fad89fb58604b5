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
            # Weights are whole on replicas alone, or where there is one replica.
            "torchtitan": [["training.schedule=[1f1b, interleaved, gpipe]",
                            "training.layout=least_kept", *zero]
                           for zero in (["training.zero=[2, 3]"],
                                        ["training.zero=0", "parallelism.context=1",
                                         "parallelism.data=1"],
                                        ["training.zero=0", "parallelism={data: 16}"])],
            "deepspeed": [["training.schedule=1f1b", "training.layout=least_sent", *zero]
                          for zero in (["training.zero=[0, 1]"],
                                       ["training.zero=2", "parallelism.pipeline=1"],
                                       ["training.zero=3", "parallelism.pipeline=1",
                                        "parallelism.tensor=1"])]}
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
                self.run_tool("emit", "r.json", "--for", framework)  # status 0: it runs
                report = self.run_tool(self.config, *told).stdout
                self.assertRegex(report, rf"framework +{framework}; the best plan of any framework "
                                         "is .* better")

    def test_nothing_is_found_for_a_framework_that_it_cannot_run(self):
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
                            self.run_tool("emit", "r.json", "--for", framework)
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

    def test_a_plan_is_timed_at_the_place_of_its_file(self):
        given = changes("parallelism.pipeline=8", "parallelism.data=2")
        deepspeed = changes("training.framework=deepspeed")
        evaluate = ("evaluate", self.config, *given, "--mapping")
        there = self.result(self.config, *given, *deepspeed)
        self.write("r.json", json.dumps(there))
        self.assertLess(self.result(self.config, *given)["step_time"], there["step_time"])
        for framework in ((), deepspeed):
            again = self.result(*evaluate, "r.json", *framework)
            self.assertEqual((again["step_time"], again["network"], again["status"]),
                             (there["step_time"], there["network"], "feasible"))
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
        self.assertIn("megatron numbers ranks in an order", report)

    def test_interleaved_stages_are_those_that_megatron_divides(self):
        # Every division of the layers by itself, judged as Megatron-LM does: embedding and loss may
        # count as layers, or the ends have layers of their own.
        def is_divided(layers, chunks):
            first, *between, last = layers
            own = all(n % chunks == 0 and n > 0 for n in layers) and len(set(between)) < 2
            slots = [{first + e, *between, last + l} for e in (0, 1) for l in (0, 1)]
            return own or any(len(s) == 1 and min(s) % chunks == 0 for s in slots)

        def divisions(stages, layers):
            if stages == 1:
                return [[layers]]
            return [[n, *rest] for n in range(layers + 1)
                    for rest in divisions(stages - 1, layers - n)]

        uneven = 0
        for layers, stages, batch, memory, stack in ((9, 2, 16, "80 GB", True),
                                                     (10, 4, 16, "20 GB", True),
                                                     (7, 2, 8, "80 GB", False),
                                                     (8, 2, 8, "24 GB", False)):
            execution = "execution: {stack: te, chip: h100_80gb}\n" if stack else ""
            layouts = "layout: [least_sent, least_kept], "  # libraries have none of the front
            config = self.write("c.yaml", f"""\
workload: {{model: llama3_8b, layers: {layers}, global_batch: {batch}}}
system: {{from: h100_dgx, chips: 8, memory: {{capacity: {memory}}}}}
{execution}parallelism: {{tensor: 2, context: 1, pipeline: {stages}}}
training: {{{layouts}recompute: full, zero: [0, 1], schedule: interleaved}}
""")
            with self.subTest(layers):
                found = self.result(config)
                self.assertEqual(found["step_time"], self.result(
                    config, *changes("training.framework=megatron"))["step_time"])
                steps = []
                for i, each in enumerate(divisions(stages, layers)):
                    for chunks in range(2, 6):
                        # Plans whose layers are not divided are sampled.
                        if not is_divided(each, chunks) and (i + chunks) % 17:
                            continue
                        given = self.run_tool(config, *changes(
                            f"training.chunks={chunks}", f"training.layers={each}"),
                            "--json", "-", status=(0, 2, 3))
                        # Layers that chunks do not divide leave no plan, whatever memory there is.
                        answer = json.loads(given.stdout or '{"no_plan": "refused"}')
                        self.assertEqual(answer.get("no_plan") is not None,
                                         not is_divided(each, chunks))
                        if given.returncode == 0:
                            steps.append(answer["step_time"])
                self.assertEqual(found["step_time"], min(steps))
                self.write("r.json", json.dumps(found))
                self.run_tool("emit", "r.json", "--for", "megatron")
                uneven += len(set(found["plan"]["layers"])) > 1
        self.assertGreater(uneven, 0)

    def test_embedding_and_loss_count_as_layers(self):
        config = self.write("c.yaml", """\
workload: {model: llama3_405b, sequence: 8192, global_batch: 512, micro_batch: 1}
system: {from: h100_dgx, chips: 1024}
parallelism: {tensor: 8, context: 2, pipeline: 8, data: 8}
execution: {stack: te, chip: h100_80gb, precision: fp8-cs}
training: {framework: megatron, zero: 1, schedule: interleaved, chunks: 8}
""")
        # Memory is no matter here.
        found = self.result(config, *changes("system.memory.capacity=200 GB"))
        self.assertEqual(found["plan"]["layers"], [15, *[16] * 6, 15])
        self.write("r.json", json.dumps(found))
        text = self.run_tool("emit", "r.json", "--for", "megatron").stdout
        for flag in ("--num-virtual-stages-per-pipeline-rank 8",
                     "--account-for-embedding-in-pipeline-split",
                     "--account-for-loss-in-pipeline-split"):
            self.assertIn(flag, text)

    def test_one_chip_divides_nothing(self):
        config = self.write("c.yaml", """\
workload: {model: mistral_7b, layers: 4, sequence: 2048, global_batch: 8}
system: {from: a100_dgx, chips: 1}
training: {}
""")
        steps = {self.result(config, *changes(f"training.zero={zero}"))["step_time"]
                 for zero in ([0], 1, 2, 3, [1, 3])}
        self.assertEqual(len(steps), 1)

    def test_why_there_is_no_plan(self):
        report = self.run_tool(self.config, *changes(
            "training.framework=torchtitan", "training.zero=0", "parallelism={tensor: 4, data: 2}",
            "training.layout=least_kept"), status=3).stdout
        self.assertIn("torchtitan runs no plan with all given values: replicas beside tensor ranks "
                      "or stages", " ".join(report.split()))
        found = self.result(self.config, *changes(
            "parallelism={tensor: 2}", "training.layout=front_16"), status=3)
        self.assertEqual(found["no_plan"], "no plan has all given values; leave out "
                                           "parallelism, or training.layout")

    def test_what_a_framework_never_runs_is_an_error(self):
        wrong = self.run_tool(self.config, *changes(
            "training.framework=torchtitan", "training.schedule=zb_h1", "training.zero=1",
            "training.layout=front_1"), status=2).stderr
        self.assertEqual(wrong.count("torchtitan supports none of these values"), 3)


    def test_each_second_product_is_recomputed_by_torchtitan_alone(self):
        config = self.write("c.yaml", """\
workload: {kind: llm_training, hidden: 256, heads: 8, head_dim: 32, layers: 4, vocabulary: 1000,
           mask: causal, sequence: 2048, global_batch: 4}
system: {from: h100_dgx, chips: 4}
execution: {stack: titan, chip: h100_80gb}
training: {recompute: op_sac}
""")
        self.result(config, *changes("training.framework=torchtitan"))
        for framework in ("megatron", "deepspeed"):
            wrong = self.run_tool(config, *changes(f"training.framework={framework}"),
                                  status=2).stderr
            self.assertIn(f"recompute: {framework} supports none of these values: op_sac, each second "
                          "product",
                          wrong)

    def test_expert_ranks_that_include_tensor_ranks_need_a_stack(self):
        # Megatron runs it, with expert tensor parallelism of one.
        config = self.write("c.yaml", """\
workload: {model: qwen3_30b_a3b, sequence: 4096, global_batch: 256, mask: causal}
system: {from: h100_dgx, chips: 32}
parallelism: {tensor: 4, expert: 8, pipeline: 2}
training: {framework: megatron}
""")
        self.assertIn("layout whole_experts", self.result(config, status=3)["no_plan"])
        found = self.result(config, *changes("execution={stack: te, chip: h100_80gb}"))
        self.assertEqual(found["plan"]["layout"], "whole_experts")


    def test_a_workload_that_cannot_be_read_is_not_compared_with_a_stack(self):
        config = self.write("c.yaml", """\
workload: {model: llama3_70b, global_batch: nan, mask: causal}
system: {from: h100_dgx, chips: 64}
execution: {stack: te, chip: h100_80gb}
training: {}
""")
        wrong = self.run_tool(config, status=2).stderr
        self.assertIn("global_batch", wrong)
        self.assertNotIn("mask", wrong)


if __name__ == "__main__":
    support.main()
