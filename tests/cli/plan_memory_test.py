#!/usr/bin/env python3
"""Plans that do not fit: why, what would fit, and machines of fewer chips.

usage: plan_memory_test.py DFSEARCH [TEST ...]
"""

import concurrent.futures
import json
import re

import support
from plan_case import CONFIGS, PlanCase, changes, without_effort


class Memory(PlanCase):
    def test_nothing_fits(self):
        given = changes("system.memory.capacity=600 MB", "training={zero: 0, recompute: none}",
                        "parallelism={tensor: 1, context: 1, pipeline: 2, data: 8}")
        result = self.result(self.config, *given, status=3)
        self.assertEqual(result["status"], "infeasible")
        for key in ("objective", "lower_bound", "gap", "plan", "time", "memory"):
            self.assertIsNone(result[key])
        why = result["infeasible"]
        self.assertEqual((why["limit"], why["available"]), ("memory", 600e6))
        self.assertGreater(why["needed"], why["available"])
        report = self.run_tool(self.config, *given, status=3).stdout
        flat = re.sub(r"\s+", " ", report)
        self.assertIn(f"a chip of stage {why['stage']}, the fullest, needs", flat)
        self.assertIn(f"({why['needed']:.0f} bytes) of memory, and has 600 MB:", flat)
        self.assertIn("what helps", report)
        self.assertTrue(why["remedies"])
        # The stated need fits, and a byte less does not.
        needed = int(why["needed"])
        self.assertEqual(needed, why["needed"])
        for change, status in ((0, 0), (-1, (3, 5))):
            self.run_tool(self.config, *given, "--set",
                          f"system.memory.capacity={needed + change} B", status=status)
        second = self.result(self.config, *changes(
            "system.memory.second={capacity: 1 MB, bandwidth: 1 GB/s}",
            "training.offload=[weights]"), status=3)["infeasible"]
        self.assertEqual((second["limit"], second["available"]), ("second memory", 1e6))
        self.assertEqual(second["needed"], second["memory"]["second"])
        self.assertEqual([remedy["key"] for remedy in second["remedies"]], ["offload"])

    def test_degrees_that_are_given_change_beside_chips(self):
        # All degrees are given, so other chips alone make no plan.
        config = self.write("c.yaml", """\
workload: {model: llama2_70b, sequence: 2048, global_batch: 64, micro_batch: 1, mask: causal}
system: {from: a100_dgx, chips: 16}
parallelism: {tensor: 1, context: 1, pipeline: 1, data: 16}
training: {zero: 3, recompute: full}
""")
        # Software that holds less may run it; textbooks are 18 bytes a weight.
        why = self.result(config, status=5)["infeasible"]
        chips, = (change for change in why["changes"] if change["key"] == "system.chips")
        self.assertTrue(chips["is_enough"])
        self.assertEqual(chips["also"], ["parallelism.data"])
        data = chips["parallelism"]["data"]
        self.run_tool(config, *changes(f"system.chips={chips['tried']}", f"parallelism.data={data}"))
        self.run_tool(config, *changes(f"system.chips={chips['tried']}"), status=(3, 5))
        report = re.sub(r"\s+", " ", self.run_tool(config, status=5).stdout)
        self.assertIn(f"{chips['tried']} chips with data {data} would fit", report)
        # One sample cannot use more chips: no change of the chips is listed.
        found = self.result(config, *changes("workload.global_batch=16"), status=5)["infeasible"]
        for change in found["changes"]:
            self.assertTrue(change["is_enough"] or change["key"] != "system.chips")

    def test_numbers_that_are_enough_are_and_what_is_nearer_is_not(self):
        given = changes("system.memory.capacity=60 MB", "workload.global_batch=48")
        why = self.result(self.config, *given, status=3)["infeasible"]
        self.assertTrue(why["changes_complete"])
        numbers = {change["key"]: change for change in why["changes"]}
        self.assertEqual(list(numbers), ["system.memory.capacity", "system.chips",
                                         "workload.sequence", "workload.global_batch"])
        memory = numbers["system.memory.capacity"]
        self.assertEqual(memory["tried"], why["needed"])
        self.assertEqual(memory["given"], 60e6)
        # Every count that a switch of 8 chips allows is searched by itself; some have no degrees.
        chips = numbers["system.chips"]
        self.assertTrue(chips["is_enough"] and chips["is_nearest"])
        self.assertGreater(chips["tried"], 24)
        for count in range(16, chips["tried"] + 1, 8):
            with self.subTest(chips=count):
                self.run_tool(self.config, *given, "--set", f"system.chips={count}",
                              status=0 if count == chips["tried"] else (2, 3))
        report = re.sub(r"\s+", " ", self.run_tool(self.config, *given, status=3).stdout)
        self.assertIn(f"what helps {chips['tried']} chips would fit:", report)
        for key in ("workload.sequence", "workload.global_batch"):
            change = numbers[key]
            value = change["given"] // 2
            while value >= change["tried"]:
                enough = change["is_enough"] and value == change["tried"]
                self.run_tool(self.config, *given, "--set", f"{key}={value}",
                              status=0 if enough else 3)
                value //= 2

    def test_learned_positions_count_beside_a_tied_embedding(self):
        # 100,000 of them of 1,024 are 102.4 million parameters more, on every chip.
        given = changes("system.memory.capacity=60 MB", "workload.global_batch=48",
                        "workload.tied=true", "parallelism.pipeline=1", "system.chips=8")
        more = changes("workload.positions=100000")
        few, many = ({change["key"]: change for change in self.result(
            self.config, *given, *positions, status=3)["infeasible"]["changes"]}["system.chips"]
                     for positions in ([], more))
        self.assertTrue(few["is_enough"])
        self.assertGreater(many["tried"], few["tried"])
        self.run_tool(self.config, *given, *more, "--chips", many["tried"])
        self.run_tool(self.config, *given, *more, "--chips", few["tried"], status=3)

    def test_a_70b_model_on_8_h100_is_told_to_take_16(self):
        # 16 bytes a parameter and 2 of gradients: 70.6e9 * 18 B are 14.95 chips of 84.99 GB by
        # themselves, so 15, which divide nothing, would have little room for what is kept.
        config = self.write("llama.yaml", """\
            workload: {model: llama3_70b, global_batch: 128, mask: causal}
            system: {from: h100_dgx, chips: 8}
            training: {}
            """)
        numbers = {change["key"]: change for change in
                   self.result(config, status=5)["infeasible"]["changes"]}
        self.assertEqual(numbers["system.chips"]["tried"], 16)
        self.run_tool(config, "--chips", "8", status=5)
        self.run_tool(config, "--chips", "16")

    def test_only_the_low_ends_of_memory_prove_that_nothing_fits(self):
        config = self.write("seven.yaml", """\
            workload: {model: llama2_7b, sequence: 4096, global_batch: 128, micro_batch: 2,
                       mask: causal}
            system: {from: a100_dgx, chips: 8}
            parallelism: {tensor: 1, context: 1, pipeline: 1, data: 8}
            execution: {stack: megatron23, chip: a100_80gb}
            training: {zero: 1, recompute: none}
            """)
        found = self.result(config, status=4)
        judged = found["memory"]["judgement"]
        self.assertEqual((found["decided"], judged["verdict"]), ("low", "may not fit"))
        self.assertLessEqual(judged["low"], judged["visible"])
        self.assertGreater(judged["typical"], judged["visible"])
        self.assertIn("may not fit: typical", self.run_tool(config, status=4).stdout)
        # No search stands behind a plan that is evaluated, and its status is that of the search.
        plan = self.write("plan.json", json.dumps(found))
        text = self.run_tool("evaluate", config, "--mapping", plan, status=4).stdout
        self.assertIn("may not fit: typical", text)
        self.assertNotIn("best plan", text)
        self.run_tool("evaluate", config, "--mapping", plan, "--set",
                      "system.memory.capacity=95 GB")
        larger = self.result(config, "--set", "system.memory.capacity=95 GB")
        self.assertEqual(larger["decided"], "typical")
        small = ["--set", "system.memory.capacity=60 GB"]
        text = self.run_tool(config, *small, status=3).stdout
        self.assertIn("infeasible, proved", text)
        self.assertIn("even at the low ends of all constants of memory", text)
        untold = [*small, "--set", "training.recompute=unknown",
                  "--set", "system.memory.capacity=30 GB"]
        self.assertIn("no plan was found to fit", self.run_tool(config, *untold, status=5).stdout)
        high = self.run_tool(config, "--set", "training.decide=high", status=5).stdout
        self.assertIn("no plan was found to fit, at the high ends", high)
        # Memory that goes to the host is guessed, also with a stack of the shelf.
        host = self.run_tool("llama3_70b_2048_h100", "--set", "system.chips=8", "--set",
                             "execution={stack: {from: te, software: {offload_layers: 1}}, "
                             "chip: h100_80gb}", status=5).stdout
        self.assertIn("no plan was found to fit, with guessed constants of memory", host)

    def test_textbooks_prove_nothing_of_software_that_holds_less(self):
        # FSDP trains it on these chips (huggingface.co/blog/ram-efficient-pytorch-fsdp): 16 bytes a
        # weight and not 18.
        config = self.write("seventy.yaml", """\
            workload: {model: llama2_70b, sequence: 2048, global_batch: 16, micro_batch: 1}
            system: {from: a100_dgx, chips: 16}
            parallelism: {tensor: 1, context: 1, pipeline: 1, data: 16}
            training: {zero: 3, recompute: full}
            """)
        held = {one["stack"]: one["verdict"]
                for one in self.result(config, status=5)["infeasible"]["software"]}
        self.assertIn("no plan was found to fit, by memory formulas of textbooks",
                      self.run_tool(config, status=5).stdout)
        # Each stack by itself, with the chip of these machines.
        for file in sorted((CONFIGS / "stacks").glob("*.yaml")):
            given = ["--set", f"execution={{stack: {file.stem}, chip: a100_80gb}}"]
            found = self.result(config, *given, status=(0, 3, 4))
            verdict = found["memory"] and found["memory"]["judgement"]["verdict"]
            if found["status"] == "feasible":  # at the low ends, or with options that hold less
                verdict = "may not fit"
            self.assertEqual(held.get(file.stem), verdict, file.stem)
        self.assertEqual((held["titan"], held["torchtune"]), ("fits, not at the high end", "fits"))
        self.assertNotIn("megatron", held)
        small = self.result(config, "--set", "system.memory.capacity=30 GB", status=3)
        self.assertEqual(small["infeasible"]["software"], [])
        self.assertIn("infeasible, proved: no plan fits",
                      self.run_tool(config, "--set", "system.memory.capacity=30 GB", status=3).stdout)
        dataflow = ["--set", "execution.style=dataflow", "--set", "system.accelerator.sram=1 GB"]
        self.assertIsNone(self.result(config, *dataflow, status=3)["infeasible"]["software"])
        self.assertIn("infeasible, proved by memory formulas of textbooks: no plan fits",
                      re.sub(r"\s+", " ", self.run_tool(config, *dataflow, status=3).stdout))


    def test_layers_of_several_kinds_need_what_each_kind_needs(self):
        # Three layers have no experts: if all needed as little, half of the plans might fit.
        config = self.write("large.yaml", """\
            workload: {model: deepseek_v3_2, sequence: 16384, global_batch: 30, mask: causal}
            system: {from: b200_dgx, chips: 64}
            execution: {stack: te_graphs, chip: b200}
            training: {schedule: 1f1b}
            """)
        found = self.result(config, "--threads", "1", status=3)
        weights = 671.9e9 / 64 * (2 + 4 + 4 + 8)  # all states, divided among all chips
        self.assertGreater(weights, 0.9 * found["machine"]["memory"]["capacity"])
        self.assertLess(found["search"]["nodes"], 200)

    def test_a_chunked_loss_may_compute_the_head_by_chunks(self):
        config = self.write("million.yaml", """\
            workload: {model: qwen3_8b, sequence: 1048576, global_batch: 1, micro_batch: 1,
                       mask: causal}
            system: {from: h100_dgx, chips: 8}
            parallelism: {tensor: 1, pipeline: 1, context: 8, data: 1}
            execution: {stack: titan, chip: h100_80gb}
            training: {zero: 3, recompute: full, loss: chunked}
            """)
        found = self.result(config, status=4)
        self.assertEqual(found["assumed"], ["training.loss=fused_linear"])
        by_head = self.result(config, "--set", "training.loss=fused_linear", status=4)
        self.assertEqual(by_head["assumed"], [])
        self.assertEqual(found["memory"], by_head["memory"])
        self.assertEqual(found["memory"]["judgement"]["verdict"], "may not fit")
        # Logits of 131072 tokens in 16 bits.
        self.assertGreater(84.99e9 - found["memory"]["judgement"]["low"], 0)
        self.assertGreater(found["memory"]["judgement"]["low"] + 2 * 131072 * 151936, 84.99e9)
        self.run_tool(config, "--set", "training.loss=whole", status=3)
        less = self.result(config, "--set", "system.memory.capacity=80 GB", status=3)
        self.assertEqual(less["infeasible"]["memory"]["judgement"]["verdict"], "infeasible")
        # With the inputs of layers on the host a run had a peak of 56.2 GB (huggingface/trl pull
        # 6846).
        moved = ["--set", "training.loss=fused_linear", "--set",
                 "execution.stack={from: titan, software: {offload_layers: 36}}"]
        self.assertAlmostEqual(self.result(config, *moved)["memory"]["judgement"]["typical"] / 56.2e9,
                               1, delta=0.04)

    def test_utilization_counts_no_gradients_of_frozen_weights(self):
        config = self.write("adapters.yaml", """\
            workload: {model: llama3_70b, global_batch: 16, lora: {rank: 16, targets: down}}
            system: {from: a100_dgx, chips: 64, memory: {capacity: 120 GB}}
            execution: {stack: te_graphs, chip: a100_80gb}
            training: {recompute: none, schedule: 1f1b}
            """)
        found = self.result(config)
        # Matrices of 80 layers and of the head; attention sees all 8192 tokens.
        matrices = 80 * (8192 * (2 * 8192 + 2 * 1024) + 3 * 8192 * 28672) + 128256 * 8192
        attention = 80 * 4 * 8192 * 8192
        flop = 16 * 8192 * (4 * matrices + 3 * attention)
        peak = 64 * 312e12
        self.assertAlmostEqual(found["utilization"], flop / found["step_time"] / peak, delta=1e-3)
        self.assertLess(found["utilization"], 1)

    def test_remedies_of_deterministic_searches_do_not_depend_on_time(self):
        config = self.write("small.yaml", """\
            workload: {model: gpt_oss_120b, global_batch: 8, micro_batch: 1}
            system: {from: a100_dgx, chips: 32, memory: {capacity: 12 GB}}
            execution: {stack: titan_eager, chip: a100_80gb}
            training: {gradients: made, loss: fused_linear, schedule: 1f1b}
            parallelism: {context: 4}
            """)
        with concurrent.futures.ThreadPoolExecutor(6) as pool:
            found = list(pool.map(lambda _: self.result(config, "--deterministic", status=3),
                                  range(6)))
        changes_found = {json.dumps(one["infeasible"]["changes"]) for one in found}
        self.assertEqual(len(changes_found), 1)

    def test_fewer_chips_than_a_switch_joins_are_a_part_of_it(self):
        text = """\
            workload: {model: llama3_8b, global_batch: 64, mask: causal}
            system: {from: h100_dgx, chips: %d}
            training: {}
            """
        part = self.write("part.yaml", text % 4)
        report = re.sub(r"\s+", " ", self.run_tool(part).stdout)
        self.assertIn("switch of 4 (in place of 8) at 450 GB/s; switch of 1", report)
        # The config of the same machine, written out.
        for chips in (4, 6):
            given = self.result(part, "--chips", chips, "--set", f"system.network.0.degree={chips}")
            self.assertEqual(without_effort(given),
                             without_effort(self.result(part, "--chips", chips)))
        # Twelve of eight are no part; the message has what would be one.
        wrong = self.run_tool(part, "--chips", 12, status=2).stderr
        self.assertIn("--set system.network.0.degree=4 replaces the 8 of the innermost dimension", wrong)
        self.run_tool("check", part, "--chips", 12, "--set", "system.network.0.degree=4")
        # A part of a ring is a line.
        line = self.run_tool(part, "--system", "tpu_v5e", "--chips", 4, status=3).stdout
        self.assertIn("line of 4 (in place of 16)", re.sub(r"\s+", " ", line))
        missing = self.write("none.yaml", text.replace("system: {from: h100_dgx, chips: %d}", ""))
        self.assertIn("missing key 'chips': add --chips N",
                      self.run_tool(missing, "--system", "h100_dgx", status=2).stderr)

    def test_two_memories_each_need_what_they_are_told_and_no_byte_less(self):
        for limits in (("40 MB", "10 GB"), ("600 MB", "1 MB")):
            given = changes(f"system.memory.capacity={limits[0]}",
                            f"system.memory.second={{capacity: {limits[1]}, bandwidth: 1 GB/s}}",
                            "training.offload=[weights]")
            why = self.result(self.config, *given, status=3)["infeasible"]
            for change in why["changes"]:
                if "memory" not in change["key"]:
                    continue
                enough = round(change["tried"])
                for less, status in ((0, 0), (1, 3)):
                    self.run_tool(self.config, *given, "--set",
                                  f"{change['key']}={enough - less} B", status=status)

    def test_a_second_memory_is_advised_where_plans_would_use_it(self):
        second = "a second memory to offload to"
        tight = "system.memory.capacity=1 MB"
        for given, is_advised in (((), True), (("training.framework=torchtitan",), False),
                                  (("execution={stack: te, chip: h100_80gb}",), False),
                                  (("system.memory.second={capacity: 1 MB, bandwidth: 1 GB/s}",),
                                   False)):
            with self.subTest(given):
                report = self.run_tool(self.config, *changes(tight, "training={}", *given),
                                       status=3).stdout
                self.assertIn("what helps    memory of", report)
                self.assertEqual(second in re.sub(r"\s+", " ", report), is_advised)


    def test_expert_ranks_divide_the_weights_of_experts(self):
        config = self.write("experts.yaml", """\
            workload: {model: mixtral_8x7b, sequence: 4096, global_batch: 64}
            system: {from: h100_dgx, chips: 8, memory: {capacity: 10 TB}}
            execution: {stack: te, chip: h100_80gb}
            parallelism: {tensor: 1, context: 1, pipeline: 1, data: 8}
            training: {zero: 1}
            """)
        weights = [self.result(config, *changes(f"parallelism.expert={ranks}"))["memory"]["weights"]
                   for ranks in (1, 2, 8)]
        experts = 2 * 32 * 8 * 3 * 4096 * 14336  # bytes of three matrices each in 32 layers
        self.assertEqual([weights[0] - each for each in weights],
                         [0, experts / 2, experts * 7 / 8])

    def test_experts_that_may_not_fit_have_other_switches(self):
        config = self.write("experts.yaml", """\
workload: {model: qwen3_30b_a3b, sequence: 4096, global_batch: 64, mask: causal}
system: {from: h100_dgx, chips: 8, memory: {capacity: 70 GB}}
execution: {stack: te, chip: h100_80gb}
training: {}
""")
        found = self.result(config, status=4)
        self.assertEqual(found["memory"]["judgement"]["verdict"], "may not fit")
        self.assertTrue(found["switches"])
        # They decide times, and no time depends on the memory.
        large = self.result(config, "--set", "system.memory.capacity=1 TB",
                            *changes(*(f"parallelism.{role}={degree}" for role, degree
                                       in found["parallelism"].items()),
                                     "training.recompute=" +
                                     json.dumps(found["plan"]["recompute"])))
        self.assertEqual([(one["switch"], one["value"]) for one in found["switches"]],
                         [(one["switch"], one["value"]) for one in large["switches"]])

    def test_what_a_stack_computes_again_is_searched_or_refused(self):
        config = CONFIGS / "training" / "mixtral_8x22b_128_h100.yaml"
        free = self.result(config)["step_time"]
        for given in ("none", "[layernorm, moe_act]", "moe_act", "[core_attn, moe]", "full"):
            with self.subTest(given):
                pinned = self.result(config, *changes(f"training.recompute={given}"))
                self.assertLessEqual(free, pinned["step_time"])
        refused = self.run_tool(config, *changes("training.recompute=op_sac"), status=2).stderr
        self.assertIn("('execution.stack.recompute'), got op_sac", refused)
        own = self.result(config, *changes("training.recompute=op_sac",
                                           "execution.stack.recompute=[none, op_sac]"))
        self.assertEqual(own["plan"]["recompute"], "op_sac")
        untold = self.result(config, *changes("training.recompute=unknown"))
        self.assertIn("recompute: unknown, timed as none", untold["scope"])
        # A stack without full takes it, and the search for others says that it was not tried.
        lacks = changes("execution.stack.recompute=[none, moe]")
        self.assertIn("recompute: no whole layers", self.result(config, *lacks)["scope"])
        self.result(config, *lacks, *changes("training.recompute=full"))

    def test_no_part_of_a_step_is_a_rounding(self):
        for name, *given in (("llama3_70b_64_h100", "parallelism.pipeline=1"),
                             ("llama3_70b_256_sn30", "parallelism.pipeline=2", "training.zero=0")):
            with self.subTest(name):
                found = self.result(CONFIGS / "training" / f"{name}.yaml",
                                    *changes("workload.micro_batch=4", *given))
                for part, time in found["time"].items():
                    if isinstance(time, float):
                        self.assertTrue(time == 0 or time >= 1e-12 * found["step_time"], part)

    def test_the_peak_that_products_of_fewer_bits_exceed_is_named(self):
        config = CONFIGS / "training" / "qwen3_30b_16_h100.yaml"
        for precision, of in (("fp8", "of the 16-bit peak of"), ("bf16", "of the peak of")):
            given = changes(f"execution.precision={precision}")
            self.assertIn(of, self.run_tool(config, *given).stdout)

    def test_no_part_of_memory_is_negative_by_rounding(self):
        config = self.write("rounded.yaml", """\
workload: {kind: llm_training, hidden: 256, heads: 8, kv_heads: 1, head_dim: 32, layers: 8,
           vocabulary: 1000, sequence: 2048, global_batch: 4}
system: {from: h100_dgx, chips: 16}
training: {loss: {kind: chunked, chunk: 256}, objective: edp, framework: deepspeed}
execution: {stack: fsdp_hf, chip: h100_80gb}
parallelism: {context: 1}
""")
        self.assertGreaterEqual(self.result(config)["memory"]["gradients"], 0.0)


if __name__ == "__main__":
    support.main()
