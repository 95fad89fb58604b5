#!/usr/bin/env python3
"""The memory of a plan with a stack: parts by hand, and laws between plans.

usage: stack_memory_test.py DFSEARCH [TEST ...]
"""

import kinds
import support
from plan_case import changes


class StackMemory(support.CliTest):
    def setUp(self):
        super().setUp()
        self.config = self.write("stack.yaml", kinds.STACK)

    def memory(self, *sets):
        return self.result(self.config, *changes("training.recompute=none", *sets))["memory"]

    def test_stages_of_a_pipeline_keep_whole_gradients_up_to_zero_2(self):
        """Its micro-batches add up gradients, which are divided where there is one stage alone."""
        def gradients(zero, stages):
            return self.memory(f"training.zero={zero}", "training.schedule=1f1b",
                               f"parallelism={{tensor: 4, context: 1, pipeline: {stages}}}"
                               )["gradients"]
        replicas = 16 // 4
        self.assertEqual(gradients(2, 1) * replicas, gradients(1, 1))
        self.assertEqual(gradients(2, 2), gradients(1, 2))
        self.assertEqual(gradients(2, 4), gradients(1, 4))

    def test_an_adapter_has_a_row_for_each_input_and_output_of_its_matrix(self):
        """Of rank 16 on 32 layers: 32 heads, or 8 of keys and values, of 64 beside 4,096."""
        for target, sides in (("q", 4096 + 32 * 64), ("k", 4096 + 8 * 64), ("v", 4096 + 8 * 64),
                              ("o", 32 * 64 + 4096), ("down", 14336 + 4096), ("up", 4096 + 14336),
                              ("gate", 4096 + 14336)):
            with self.subTest(target):
                memory = self.memory(f"workload.lora={{rank: 16, targets: {target}}}",
                                     "workload.head_dim=64", "training.zero=0",
                                     "parallelism={tensor: 1, context: 1, pipeline: 1}")
                elements = 32 * 16 * sides
                self.assertEqual(memory["gradients"], 4 * elements)
                self.assertEqual(memory["optimizer"], 2 * 4 * elements)


if __name__ == "__main__":
    support.main()
