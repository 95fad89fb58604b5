#!/usr/bin/env python3
"""Models by name, through the command line.

usage: model_test.py DFSEARCH [unittest arguments]
"""

from support import CliTest, main

SYSTEM = """
system:
  chips: 64
  accelerator: {cores: 1056, lanes: 16, stages: 16, frequency: 1.837 GHz, sram: 113 MiB}
  memory: {bandwidth: 3072 GB/s, capacity: 96 GiB}
  network: [{topology: ring, degree: 8, bandwidth: 450 GB/s},
            {topology: switch, degree: 8, bandwidth: 50 GB/s}]
execution: {compute_utilization: 0.6}
search: {sharding: least_bytes}
"""
KEYS = ["parameters", "active_parameters", "matmul_parameters", "training_flop_per_token",
        "causal_training_flop_per_token", "cache_bytes_per_token"]


def without_run(result):
    del result["search"]
    return result


# Several threads may find another one of equal mappings.
ONE_THREAD = ("--threads", "1")


class ModelTest(CliTest):
    def solved(self, workload, *flags):
        self.write("c.yaml", f"workload: {{{workload}}}" + SYSTEM)
        result = self.result("c.yaml", *ONE_THREAD, *flags)
        return without_run(result)

    def test_models_of_the_shelf_are_mapped_with_a_proof(self):
        for name in ("llama3_8b", "mixtral_8x7b", "deepseek_v2", "gpt2_xl"):
            for kind in ("llm_training", "llm_prefill", "llm_decode"):
                with self.subTest(name=name, kind=kind):
                    result = self.solved(f"model: {name}, kind: {kind}, global_batch: 64")
                    self.assertEqual((result["status"], result["gap"]), ("optimal", 0))
                    self.assertEqual(list(result["model"]), KEYS)

    def test_a_model_that_is_set_gives_the_result_of_its_file(self):
        by_name = self.solved("from: gpt2_xl, global_batch: 64", "--set",
                              "workload={model: llama3_8b, global_batch: 64}")
        self.assertEqual(by_name["model"]["parameters"], 8030261248)
        self.assertEqual(self.solved("from: llama3_8b, global_batch: 64"), by_name)
        self.assertEqual(self.solved("model: gpt2_xl, global_batch: 64, sequence: 8192", "--set",
                                     "workload.model=llama3_8b"), by_name)

    def test_a_layer_written_out_gives_the_same_result(self):
        for kind in ("llm_training", "llm_decode"):
            result = self.solved(f"model: deepseek_v3, kind: {kind}, global_batch: 64")
            graph = self.run_tool("graph", "c.yaml").stdout
            self.assertIn("kind: graph", graph)
            self.write("g.yaml", graph + SYSTEM)
            again = without_run(self.result("g.yaml", *ONE_THREAD))
            again["workload"]["kind"] = kind  # a graph, now
            if kind == "llm_training":  # of whose samples nobody knows the tokens
                for rate in ("tokens_per_second", "tokens_per_s_per_chip"):
                    self.assertIsNone(again[rate])
                    again[rate] = result[rate]
            self.assertEqual(again, result)

    def test_flop_of_a_step_are_those_of_the_layers(self):
        result = self.solved("model: llama3_8b, global_batch: 64")
        model = result["model"]
        head = 6 * 4096 * 128256  # which is in no layer
        self.assertEqual(result["flop"],
                         (model["training_flop_per_token"] - head) * 64 * 8192)

if __name__ == "__main__":
    main()
