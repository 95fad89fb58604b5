#!/usr/bin/env python3
"""Setups of DFModel as configs.

The setups under tests/data/dfmodel are read a second time here, by a parser of
protobuf text that knows nothing of their schema, and compared with what the
program makes of them.

usage: import_test.py DFSEARCH [TEST ...]
"""

import json
import pathlib
import re

import support
from support import TRAINING, CliTest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SETUPS = ROOT / "tests" / "data" / "dfmodel"
GENERATED = re.compile("(dlrm|hpl|fft)")

TOKEN = re.compile(r'#[^\n]*|"[^"]*"|[{}:]|[^\s{}:"#]+')
KINDS = {
    "gemm_input1_weight": "weight_gemm",
    "gemm_input1_input2": "gemm",
    "elementwise_input1": "elementwise",
    "elementwise_input1_input2": "elementwise2",
}
TILED = {"OUTER_TILING": "outer", "M_TILING": "M", "K_TILING": "K", "N_TILING": "N",
         "NO_TILING": "none"}


def parsed(text):
    """A message as a dictionary from names to lists of values."""
    tokens = [token for token in TOKEN.findall(text) if not token.startswith("#")]
    tokens.reverse()

    def message():
        fields = {}
        while tokens and tokens[-1] != "}":
            name = tokens.pop()
            if tokens[-1] == ":":
                tokens.pop()
                value = tokens.pop().strip('"')
            else:
                tokens.pop()
                value = message()
                tokens.pop()
            fields.setdefault(name, []).append(value)
        return fields

    return message()


class Import(CliTest):
    def setups(self, generated):
        found = [file for file in sorted(SETUPS.glob("*.txt"))
                 if bool(GENERATED.match(file.stem)) == generated]
        self.assertGreaterEqual(len(found), 4)
        return found

    def graph_of(self, setup):
        self.run_tool("import", setup, "-o", "config.yaml")
        text = self.run_tool("graph", "config.yaml", "--format", "json").stdout
        return json.loads(text)["workload"]

    def test_graphs_agree_with_a_second_reader(self):
        for setup in self.setups(generated=False):
            with self.subTest(setup.stem):
                graph = parsed(setup.read_text())["dataflow_graph"][0]
                names = {kernel["id"][0]: kernel["name"][0] for kernel in graph["kernels"]}
                workload = self.graph_of(setup)
                self.assertEqual(len(workload["kernels"]), len(graph["kernels"]))
                for ours, theirs in zip(workload["kernels"], graph["kernels"]):
                    variant = (set(theirs) & set(KINDS)).pop()
                    body = theirs[variant][0]
                    self.assertEqual(ours["name"], theirs["name"][0])
                    self.assertEqual(ours["kind"], KINDS[variant])
                    self.assertEqual(ours["tiled"], TILED[body["tiling"][0]])
                    for loop in ("outer", "M", "K", "N"):
                        self.assertEqual(str(ours.get(loop, 1)), body.get(loop, ["1"])[0], loop)
                    self.assertEqual(ours.get("phase") == "backward", theirs["fwd_bwd"] == ["BWD"])
                self.assertEqual(
                    [(tensor["from"], tensor["to"]) for tensor in workload["tensors"]],
                    [(names[c["startIdx"][0]], names[c["endIdx"][0]])
                     for c in graph["connections"]],
                )

    def test_every_imported_graph_is_solved(self):
        for setup in self.setups(generated=False) + self.setups(generated=True):
            with self.subTest(setup.stem):
                self.run_tool("import", setup, "-o", "config.yaml")
                done = self.result("config.yaml", "--gap", "0")
                self.assertEqual(done["status"], "optimal")

    def test_the_published_example_comes_to_its_published_result(self):
        """A training run on 1,024 SN30: the graph as DFModel's generator makes it,
        the rest as its documentation has it, completed by the block `llm` and
        the word, which are left out there."""
        graph = (SETUPS.parent / "published_example.txt").read_text()
        self.write("setup.txt", graph + """
system {
  num_chip: 1024
  accelerator { core: 1280 systolic_width: 32 systolic_height: 6 sram_cap: 671088640.0 freq: 1.25 }
  r_r { x: 8 y: 128 link_bw_x: 50.0 link_bw_y: 50.0 par_x: "TP" par_y: "PP" }
  memory { dram_bw: 300.0 dram_cap: 1099511600000.0 }
}
execution {
  llm { hidden_dim: 25600 head_dim: 160 num_head: 160 seq_len: 2048 num_layer: 128
        global_batch_size: 3072 micro_batch_size: 1 }
  execution_style: DATAFLOW num_config: 6 perfect_overlap: true compute_util: 0.9 word: 2
}
gurobi { thread: 144 gap: 0.001 time: 1200 }
""")
        self.run_tool("import", "setup.txt", "-o", "config.yaml")
        done = self.result("config.yaml", "--gap", "0")
        # Printed value: 0.7748055154407518, from a 32-bit 0.9 = 0.8999999761581421.
        self.assertAlmostEqual(done["utilization"], 0.7748055154407518, delta=3e-8)

    def test_what_import_writes_is_what_from_reads(self):
        model = ROOT / "tests" / "fuzz" / "seeds" / "huggingface" / "llama.json"
        self.run_tool("import", model, "-o", "model.yaml")
        self.write("c.yaml", "workload: {from: model.yaml, sequence: 1024, global_batch: 8}\n"
                             "system: {from: h100_dgx, chips: 8}\n")
        self.assertIn("sequence 1024", self.run_tool("check", "c.yaml").stdout)
        self.run_tool("import", SETUPS / "r_execution.txt", "-o", "setup.yaml")
        self.write("both.yaml", (self.folder / "setup.yaml").read_text())
        self.write("parts.yaml", re.sub(r"(?m)^(workload|system):\n(?:[ #].*\n)+", "", (
            self.folder / "setup.yaml").read_text())
            + "workload: {from: setup.yaml}\nsystem: {from: setup.yaml}\n")
        self.assertIn("from: setup.yaml", (self.folder / "parts.yaml").read_text())
        self.assertEqual(self.result("parts.yaml")["step_time"],
                         self.result("both.yaml")["step_time"])

    def test_a_file_of_another_program_is_a_config_given_a_machine(self):
        for seed in ("llama.json", "qwen3.json"):
            source = ROOT / "tests" / "fuzz" / "seeds" / "huggingface" / seed
            self.write("config.json", source.read_text())
            written = self.run_tool("import", "config.json").stdout
            self.write("c.yaml", written + "system: {from: h100_dgx, chips: 8}\n")
            words = ["--system", "h100_dgx", "--chips", "8", "--set", "workload.sequence=1024",
                     "--set", "workload.global_batch=8"]
            shown = self.run_tool("check", "config.json", *words).stdout
            self.assertIn("sequence 1024", shown)
            self.assertEqual(shown.splitlines()[1:],
                             self.run_tool("check", "c.yaml", *words[4:]).stdout.splitlines()[1:])
            # As a part of another config, too.
            self.write("part.yaml", "workload: {from: config.json, sequence: 1024, "
                                    "global_batch: 8}\nsystem: {from: h100_dgx, chips: 8}\n"
                                    "training: {}\n")
            self.assertEqual(self.run_tool("check", "part.yaml").stdout.splitlines()[1:],
                             shown.splitlines()[1:])
            error = self.run_tool("config.json", status=2).stderr
            self.assertRegex(error, "^config.json: this file has a model but no machine; expected --system "
                                    "NAME.*'dfsearch import config.json -o FILE'")
        # A setup has a machine of its own.
        setup = SETUPS / "r_execution.txt"
        self.run_tool("import", setup, "-o", "setup.yaml")
        self.write("setup.txt", setup.read_text())
        self.assertEqual(self.result("setup.txt")["step_time"],
                         self.result("setup.yaml")["step_time"])

    def test_a_model_of_other_layers_needs_a_stack(self):
        self.write("config.json", json.dumps({"model_type": "mamba", "hidden_size": 768,
                                              "num_hidden_layers": 24, "vocab_size": 50280}))
        counts = json.loads(self.run_tool("import", "--counts", "config.json").stdout)
        self.assertEqual(counts["parameters"], 129135360)  # state-spaces/mamba-130m-hf
        self.assertEqual(counts["layers"], {"text": "24x(mamba1)"})
        section = self.run_tool("import", "config.json", "-o", "m.yaml").stdout
        self.assertEqual(section, "")
        self.assertIn("family: mamba", (self.folder / "m.yaml").read_text())
        error = self.run_tool("config.json", "--system", "h100_dgx", "--chips", 8, status=2).stderr
        self.assertIn("which the layers 24 mamba1 do not have", error)
        report = self.run_tool("config.json", "--system", "h100_dgx", "--chips", 8, "--set",
                               "execution={stack: te, chip: h100_80gb}").stdout
        self.assertRegex(report, "caution +guessed: the rates of the blocks mamba1")

    def test_phi_3_mini_has_its_published_parameters(self):
        hidden, mlp, layers, vocabulary = 3072, 8192, 32, 32064
        self.write("config.json", json.dumps({
            "architectures": ["Phi3ForCausalLM"], "model_type": "phi3", "hidden_size": hidden,
            "intermediate_size": mlp, "num_hidden_layers": layers, "num_attention_heads": 32,
            "num_key_value_heads": 32, "vocab_size": vocabulary, "tie_word_embeddings": False}))
        counts = json.loads(self.run_tool("import", "--counts", "config.json").stdout)
        layer = 4 * hidden**2 + 3 * hidden * mlp + 2 * hidden
        counted = layers * layer + 2 * vocabulary * hidden + hidden
        self.assertEqual(counted, 3_821_079_552)  # of microsoft/Phi-3-mini-4k-instruct
        self.assertEqual(counts["parameters"], counted)

    def test_a_family_of_a_folder(self):
        (self.folder / "mine").mkdir()
        (self.folder / "mine/a.yaml").write_text("types: [mine]\nlike: llama\n"
                                                 "fields: {hidden_size: 64, my_width: 32}\n"
                                                 "layers: {mlp: {dense: {width: my_width}}}\n")
        self.write("config.json", json.dumps({"model_type": "mine", "num_hidden_layers": 2}))
        text = self.run_tool("import", "config.json", "--families", "mine").stdout
        self.assertIn("mlp: 32\n", text)
        self.write("c.yaml", "workload: {family: mine, kind: llm_training, sequence: 64, "
                             "global_batch: 8}\nsystem: {from: h100_dgx, chips: 8}\ntraining: {}\n")
        self.assertIn("hidden 64", self.run_tool("check", "c.yaml", "--families", "mine").stdout)
        (self.folder / "mine/a.yaml").write_text("types: [mine]\nlike: llama\n"
                                                 "let: {a: my_heads}\n")
        error = self.run_tool("import", "config.json", "--families", "mine", status=2).stderr
        self.assertEqual(error, "mine/a.yaml:3:10: unknown field or expression "
                                "'my_heads'\n")

    def test_a_system_in_place_of_that_of_a_config(self):
        self.write("c.yaml", TRAINING)
        self.write("mine.yaml", re.sub(r"(?m)^  ", "", re.search(
            r"(?ms)^system:\n(.*?)^execution", TRAINING).group(1)))
        plain = self.run_tool("check", "c.yaml").stdout.splitlines()[1:]
        self.assertEqual(self.run_tool("check", "c.yaml", "--system", "mine.yaml")
                         .stdout.splitlines()[1:], plain)
        other = self.run_tool("check", "c.yaml", "--system", "h100_dgx", "--chips", "16").stdout
        self.assertIn("16 chips of 989.4 TFLOP/s", other)

    def test_a_checkpoint_of_the_model_optimizer_is_read_with_what_lies_beside_it(self):
        model = {"model_type": "qwen3", "hidden_size": 1024, "intermediate_size": 3072,
                 "num_hidden_layers": 28, "num_attention_heads": 16, "num_key_value_heads": 8,
                 "head_dim": 128, "vocab_size": 151936}
        self.write("config.json", json.dumps(model))
        plain = self.run_tool("import", "config.json").stdout
        self.assertNotIn("precision", plain)
        self.write("hf_quant_config.json", json.dumps(
            {"producer": {"name": "modelopt"},
             "quantization": {"quant_algo": "NVFP4", "kv_cache_quant_algo": "FP8",
                              "exclude_modules": ["lm_head"]}}))
        note = ("# Stored in {weights: nvfp4, head: bf16, cache: fp8}, computed in bf16 unless the "
                "config says otherwise.\n# It is quantized; beside 'model' a workload of kind llm_serving has\n"
                "#   precision: {weights: nvfp4, head: bf16, cache: fp8}\n")
        self.assertEqual(self.run_tool("import", "config.json").stdout,
                         plain.replace("workload:", note + "workload:"))
        self.write("hf_quant_config.json", "{")
        wrong = self.run_tool("import", "config.json", status=2)
        self.assertIn("hf_quant_config.json:1:1: expected JSON", wrong.stderr)

    def test_a_checkpoint_of_another_type_is_computed_in_16_bits_and_the_answer_has_a_note(self):
        model = json.loads((ROOT / "tests/fuzz/seeds/huggingface/llama.json").read_text())
        machine = ["--system", "h100_dgx", "--chips", "8", "--set", "workload.global_batch=8",
                   "--set", "workload.sequence=1024"]
        plain = None
        for stored in ("bfloat16", "float32", "float8_e4m3fn"):
            self.write("config.json", json.dumps({**model, "torch_dtype": stored}))
            self.write("c.yaml", "workload: {from: config.json, sequence: 1024, global_batch: 8}\n"
                                 "system: {from: h100_dgx, chips: 8}\ntraining: {}\n")
            for words in (["config.json", *machine], ["c.yaml"]):
                with self.subTest(stored=stored, words=words):
                    found = self.result(*words)
                    notes = found.pop("notes")
                    report = self.run_tool(*words).stdout
                    if stored == "bfloat16":
                        self.assertEqual(notes, [])
                        self.assertNotIn("note ", report)
                    else:
                        self.assertEqual(notes, [f"config.json: Stored in {stored}, computed in bf16 "
                                                 "unless the config says otherwise."])
                        self.assertIn(notes[0], " ".join(report.split()))
                    del found["search"]
                    plain = plain or found
                    self.assertEqual(found, plain)
            # In 32 bits only if the config says so.
            self.assertNotEqual(
                self.result("c.yaml", "--set", "workload.word=4 B")["step_time"],
                plain["step_time"])



if __name__ == "__main__":
    support.main()
