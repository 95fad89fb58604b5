#!/usr/bin/env python3
"""Models by name and from the config files of their checkpoints, through the command line.

usage: model_test.py DFSEARCH [unittest arguments]
"""

import json
import pathlib

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
QWEN = {
    "model_type": "qwen3", "hidden_size": 4096, "intermediate_size": 12288,
    "num_hidden_layers": 36, "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128,
    "vocab_size": 151936, "max_position_embeddings": 4096, "tie_word_embeddings": False,
}
KEYS = ["parameters", "active_parameters", "matmul_parameters", "training_flop_per_token",
        "causal_training_flop_per_token", "cache_bytes_per_token"]
CONFIGS = pathlib.Path(__file__).resolve().parents[2] / "configs" / "workloads"


def without_run(result):
    del result["search"]
    return result


# Several threads may find another one of equal mappings.
ONE_THREAD = ("--quiet", "--json", "-", "--threads", "1")


class ModelTest(CliTest):
    def solved(self, workload, *flags):
        self.write("c.yaml", f"workload: {{{workload}}}" + SYSTEM)
        result = json.loads(self.run_tool("c.yaml", *ONE_THREAD, *flags).stdout)
        return without_run(result)

    def test_models_of_the_shelf_are_mapped_with_a_proof(self):
        for name in ("llama3_8b", "mixtral_8x7b", "deepseek_v2", "gpt2_xl"):
            for kind in ("llm_training", "llm_prefill", "llm_decode"):
                with self.subTest(name=name, kind=kind):
                    result = self.solved(f"model: {name}, kind: {kind}, global_batch: 64")
                    self.assertEqual((result["status"], result["gap"]), ("optimal", 0))
                    self.assertEqual(list(result["model"]), KEYS)

    def test_a_name_means_the_file_of_the_shelf(self):
        for name in ("llama3_8b", "qwen3_30b_a3b"):
            by_name = self.solved(f"model: {name}, global_batch: 64")
            self.assertEqual(self.solved(f"from: {CONFIGS / name}.yaml, global_batch: 64"), by_name)
            self.assertEqual(self.solved("model: gpt3_175b, global_batch: 64", "--set",
                                         f"workload.model={name}"), by_name)

    def test_a_layer_written_out_gives_the_same_result(self):
        for kind in ("llm_training", "llm_decode"):
            result = self.solved(f"model: deepseek_v3, kind: {kind}, global_batch: 64")
            graph = self.run_tool("graph", "c.yaml").stdout
            self.assertIn("kind: graph", graph)
            self.write("g.yaml", graph + SYSTEM)
            again = json.loads(self.run_tool("g.yaml", *ONE_THREAD).stdout)
            again = without_run(again)
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

    def test_an_imported_model_is_that_of_the_shelf(self):
        self.write("config.json", json.dumps(QWEN))
        self.run_tool("import", "config.json", "-o", "model.yaml")
        self.write("i.yaml", (self.folder / "model.yaml").read_text() + SYSTEM)
        imported = json.loads(self.run_tool("i.yaml", *ONE_THREAD, "--set",
                                            "training=null").stdout)
        imported = without_run(imported)
        self.assertEqual(imported, self.solved("model: qwen3_8b, global_batch: 64"))

if __name__ == "__main__":
    main()
