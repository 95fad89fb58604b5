#!/usr/bin/env python3
"""Launch arguments as hints: what is emitted is read back as the same plan, in scripts as users
have them, and contradictions are told where they stand.

usage: launch_test.py DFSEARCH [TEST ...]
"""

import json
import pathlib
import re

import support
from support import CliTest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CONFIGS = sorted((ROOT / "configs/training").glob("*.yaml"))
DENSE = ROOT / "configs/training/llama3_70b_64_h100.yaml"
SCRIPT = """\
#!/bin/bash
# --tensor-model-parallel-size 64 is too many
TP=8
export PP="${PIPELINE:-2}"
GPT_ARGS="
    --num-layers 80 --seq-length 8192 --tensor-model-parallel-size $TP
    --hidden-size 8192"
MORE=(--pipeline-model-parallel-size ${PP} --sequence-parallel
      --lr 1e-5 --use-distributed-optimizer)
torchrun --nproc-per-node 8 pretrain_gpt.py \\
  $GPT_ARGS ${MORE[@]} \\
  --micro-batch-size=1 --pipeline-model-parallel-layout 'Et*40|t*39,tL' \\
  --recompute-granularity full --recompute-method uniform --recompute-num-layers 1
"""
TITAN = """\
# Llama 3 70B
[model]
name = "llama3"   # of torchtitan

[training]
seq_len = 8192
local_batch_size = 8

[parallelism]
data_parallel_replicate_degree = 1
data_parallel_shard_degree = -1
tensor_parallel_degree = 8
pipeline_parallel_degree = 2
pipeline_parallel_schedule = "1F1B"
pipeline_parallel_microbatch_size = 1
"""


class Launch(CliTest):
    def solve(self, *words, status=(0, 4)):
        return self.result(*words, status=status)

    def evaluated(self, config, text, name, *words):
        self.write(name, text)
        done = self.run_tool("evaluate", config, "--mapping", name, "--json", "-", *words,
                             status=(0, 3))
        return json.loads(done.stdout)

    def test_what_is_emitted_is_read_back(self):
        read = 0
        for config in CONFIGS:
            for framework, name in (("megatron", "a.sh"), ("torchtitan", "a.toml")):
                with self.subTest(config=config.name, framework=framework):
                    # What a config gives is another framework's as often as not.
                    free = ["--set", f"training={{framework: {framework}}}"]
                    done = self.run_tool(config, *free, "--time-limit", "1 s", "--quiet", "--json",
                                         "-", status=(0, 3, 4, 5))
                    found = json.loads(done.stdout)
                    if found["step_time"] is None:
                        continue
                    self.write("r.json", json.dumps(found))
                    if "kinds" in found["workload"]:
                        refused = self.run_tool("emit", "r.json", "--for", framework, status=3)
                        self.assertIn("layers of several kinds", refused.stderr)
                        continue
                    text = self.run_tool("emit", "r.json", "--for", framework).stdout
                    again = self.evaluated(config, text, name, *free)
                    read += 1
                    self.assertEqual(again["parallelism"], found["parallelism"])
                    self.assertEqual(again["micro_batch"], found["micro_batch"])
                    open_keys = {"layers", "network", "chunks"}
                    for key in set(found["plan"]) - open_keys:
                        self.assertEqual(again["plan"][key], found["plan"][key], key)
                    # Layers and chunks that the arguments leave open are the best ones.
                    self.assertLessEqual(again["step_time"], found["step_time"])
        self.assertGreater(read, len(CONFIGS))

    def test_a_script_as_users_have_it(self):
        again = self.evaluated(DENSE, SCRIPT, "run.sh")
        self.assertEqual(again["parallelism"], {"tensor": 8, "context": 1, "expert": 1, "data": 4,
                                                "pipeline": 2})
        self.assertEqual(again["plan"]["layers"], [40, 40])
        self.assertEqual((again["plan"]["zero"], again["plan"]["recompute"],
                          again["plan"]["layout"], again["plan"]["schedule"]),
                         (1, "full", "least_kept", "1f1b"))
        self.run_tool(DENSE, "--hint", "run.sh", "--node-limit", "1", "--quiet", status=(0, 4))

    def test_stages_that_differ_are_read(self):
        plain = ("--tensor-model-parallel-size 8 --sequence-parallel --use-distributed-optimizer "
                 "--pipeline-model-parallel-size 4 --micro-batch-size 1 --num-layers 80 "
                 "--recompute-granularity full --recompute-method uniform "
                 "--recompute-num-layers 1 ")
        for words, chunks, layers in (
                ("--decoder-first-pipeline-num-layers 16 --decoder-last-pipeline-num-layers 16 "
                 "--num-virtual-stages-per-pipeline-rank 8", 8, [16, 24, 24, 16]),
                ("--decoder-last-pipeline-num-layers 14 --num-virtual-stages-per-pipeline-rank 2",
                 2, [22, 22, 22, 14]),
                ("--pipeline-model-parallel-layout 'Et*8|t*12|t*12|t*8|t*8|t*12|t*12|t*8L'", 2,
                 [16, 24, 24, 16])):
            with self.subTest(words):
                again = self.evaluated(DENSE, plain + words, "run.sh")
                self.assertEqual((again["plan"]["chunks"], again["plan"]["layers"]),
                                 (chunks, layers))
        few = ("--set", "workload.layers=78")
        again = self.evaluated(DENSE, plain.replace("80", "78")
                               + "--account-for-embedding-in-pipeline-split "
                               "--account-for-loss-in-pipeline-split "
                               "--num-layers-per-virtual-pipeline-stage 4", "run.sh", *few)
        self.assertEqual((again["plan"]["chunks"], again["plan"]["layers"]), (5, [19, 20, 20, 19]))

    def test_of_a_given_plan_nothing_is_said_of_others(self):
        free = ("--set", "training={framework: megatron}")
        again = self.evaluated(DENSE, SCRIPT, "run.sh", *free)
        self.assertEqual((again["status"], again["framework"]), ("feasible", None))
        report = self.run_tool("evaluate", DENSE, "--mapping", "run.sh", *free).stdout
        self.assertNotRegex(report, "(?m)^framework")
        # Another plan is faster, so a gain of nothing would have been wrong.
        self.assertLess(self.solve(DENSE, *free, status=0)["step_time"], again["step_time"])

    def test_a_hint_is_judged_beside_the_best(self):
        again = self.evaluated(DENSE, SCRIPT, "run.sh")
        best = self.solve(DENSE, status=0)["step_time"]
        report = self.run_tool(DENSE, "--hint", "run.sh").stdout
        found = re.search(r"(?m)^hint +(\S+) s, (\S+) % slower than the best found$", report)
        self.assertAlmostEqual(float(found[1]), again["step_time"], delta=1e-3 * best)
        self.assertAlmostEqual(float(found[2]), 100 * (again["step_time"] / best - 1), delta=1e-2)
        self.assertNotRegex(self.run_tool(DENSE).stdout, "(?m)^hint")
        # The best one itself.
        self.run_tool(DENSE, "--quiet", "--json", "best.json")
        self.assertRegex(self.run_tool(DENSE, "--hint", "best.json").stdout,
                         r"(?m)^hint +\S+ s, and nothing faster was found$")
        # A value that the config allows in none of its plans.
        self.assertRegex(self.run_tool(DENSE, "--hint", "run.sh", "--set", "training.zero=3").stdout,
                         "(?m)^hint +fits, but")

    def test_a_toml_as_users_have_it(self):
        again = self.evaluated(DENSE, TITAN, "run.toml", "--set", "training={}")
        self.assertEqual((again["parallelism"]["tensor"], again["parallelism"]["pipeline"]), (8, 2))
        self.assertEqual((again["plan"]["zero"], again["plan"]["layout"]), (2, "least_kept"))

    def test_selective_recomputation_of_fused_attention_is_none_with_a_note(self):
        for flag in ("--recompute-granularity selective", "--recompute-activations"):
            text = f"--tensor-model-parallel-size 8 --micro-batch-size 1 \\\n  {flag}\n"
            self.write("a.sh", text)
            words = ["evaluate", DENSE, "--mapping", "a.sh", "--set", "execution={}", "--set",
                     "workload.attention=fused", "--json", "-"]
            done = self.run_tool(*words, status=(0, 3))
            self.assertRegex(done.stderr, r"^a.sh:2:3: recompute: selective is taken as none, as")
            self.write("a.sh", "--tensor-model-parallel-size 8 --micro-batch-size 1\n")
            plain = self.run_tool(*words, status=(0, 3))
            self.assertEqual(plain.stderr, "")
            self.assertEqual(json.loads(done.stdout)["plan"], json.loads(plain.stdout)["plan"])
            # Without a framework's arguments it stays an error.
            self.write("m.yaml", "plan: {recompute: selective}\n")
            words[3] = "m.yaml"
            self.assertIn("which fused attention does not keep",
                          self.run_tool(*words, status=2).stderr)

    def test_misspelt_flags_are_told_with_the_nearest(self):
        for text, notes in (
                ("--tensor-model-paralel-size 8 --micro-batch-size 1",
                 ["a.sh:1:1: --tensor-model-paralel-size: this argument is ignored, did you mean "
                  "'--tensor-model-parallel-size'?"]),
                ("--micro-batch-size 1\n--pipeline-parallel-size 2 --use-distributed-optimiser",
                 ["a.sh:2:1: --pipeline-parallel-size: this argument is ignored, did you mean "
                  "'--pipeline-model-parallel-size'?",
                  "a.sh:2:28: --use-distributed-optimiser: this argument is ignored, did you mean "
                  "'--use-distributed-optimizer'?"]),
                # Flags of Megatron-LM that have nothing to do with the plan.
                ("--micro-batch-size 1 --rampup-batch-size 1 --num-attention-heads 64 --optimizer "
                 "adam --max-position-embeddings 8192 --num-query-groups 8 --num-experts 8", []),
                ("[parallelism]\ntensor_parallel_degre = 8\npipeline_parallel_degree = 2",
                 ["a.sh:2:1: parallelism.tensor_parallel_degre: this argument is ignored, did you mean "
                  "'parallelism.tensor_parallel_degree'?"])):
            with self.subTest(text):
                self.write("a.sh", text + "\n")
                done = self.run_tool("evaluate", DENSE, "--mapping", "a.sh", "--set", "training={}",
                                     "--json", "-", status=(0, 3))
                self.assertEqual(done.stderr.splitlines(), notes)


if __name__ == "__main__":
    support.main()
