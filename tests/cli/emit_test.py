#!/usr/bin/env python3
"""Launch arguments say what the plan or deployment of the result says.

usage: emit_test.py DFSEARCH [TEST ...]
"""

import copy
import json
import math
import pathlib
import re
import shlex
import tomllib

import support
from support import CliTest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PLAN = ROOT / "configs/training/qwen3_30b_16_h100.yaml"
STACK = "execution={stack: te, chip: h100_80gb}"
SERVING = ROOT / "configs/serving/llama3_70b_16_h100.yaml"


def arguments(text):
    """A command as a dictionary of its options."""
    words = shlex.split(re.sub(r"(?m)^#.*$", "", text).replace("\\\n", " "))
    found, key = {}, None
    for word in words:
        if word.startswith("--"):
            key = word
            found[key] = None
        elif key is not None:
            found[key] = word
    return found


class Emit(CliTest):
    def emit(self, result, framework, *words, status=0):
        self.write("r.json", json.dumps(result))
        return self.run_tool("emit", "r.json", "--for", framework, *words, status=status)

    def plan(self, **changes):
        done = self.run_tool(PLAN, "--set", STACK, "--quiet", "--json", "-")
        result = json.loads(done.stdout)
        for key, value in changes.items():
            place = result if key in result else (
                result["parallelism"] if key in result["parallelism"] else result["plan"])
            place[key] = value
        return result

    def deployment(self, *changes):
        words = [word for change in changes for word in ("--set", change)]
        return self.result(SERVING, *words)

    def test_megatron_has_the_degrees_of_the_plan(self):
        result = self.plan()
        found = arguments(self.emit(result, "megatron").stdout)
        degrees = result["parallelism"]
        for role, key in (("tensor", "--tensor-model-parallel-size"),
                          ("context", "--context-parallel-size"),
                          ("pipeline", "--pipeline-model-parallel-size")):
            self.assertEqual(int(found[key]), degrees[role])
        self.assertEqual(int(found["--global-batch-size"]), result["workload"]["global_batch"])
        self.assertEqual(int(found["--micro-batch-size"]), result["micro_batch"])
        self.assertEqual(int(found["--seq-length"]), result["workload"]["sequence"])
        # Whole experts: expert ranks include the tensor ranks.
        if degrees["expert"] > 1:
            whole = result["plan"]["layout"] == "whole_experts"
            self.assertEqual(int(found["--expert-model-parallel-size"]), degrees["expert"])
            self.assertEqual(int(found["--expert-tensor-parallel-size"]),
                             1 if whole else degrees["tensor"])

    def test_megatron_says_what_a_plan_keeps_and_divides(self):
        found = arguments(self.emit(self.plan(zero=1, recompute="full"), "megatron").stdout)
        self.assertIn("--use-distributed-optimizer", found)
        self.assertEqual(found["--recompute-granularity"], "full")
        found = arguments(self.emit(self.plan(zero=0, recompute="none"), "megatron").stdout)
        self.assertNotIn("--use-distributed-optimizer", found)
        self.assertNotIn("--recompute-granularity", found)
        found = arguments(self.emit(self.plan(zero=3, recompute="selective"), "megatron").stdout)
        self.assertEqual(found["--data-parallel-sharding-strategy"], "optim_grads_params")
        self.assertEqual(found["--recompute-granularity"], "selective")

    def test_modules_are_words_of_their_own_and_are_read_back(self):
        modules = ["layernorm", "moe_act"]
        choice = ("--set", f"training.recompute=[{', '.join(modules)}]")
        done = self.run_tool(PLAN, "--set", STACK, *choice, "--quiet", "--json", "-")
        result = json.loads(done.stdout)
        self.assertEqual(result["plan"]["recompute"], modules)
        text = self.emit(result, "megatron").stdout
        self.assertRegex(text, r"(?m)--recompute-modules layernorm moe_act( |$)")
        self.write("launch.sh", text)
        done = self.run_tool("evaluate", PLAN, "--set", STACK, "--mapping", "launch.sh", "--quiet",
                             "--json", "-")
        again = json.loads(done.stdout)
        self.assertEqual((again["plan"]["recompute"], again["step_time"]),
                         (modules, result["step_time"]))
        said = json.loads(self.emit(result, "deepspeed", "--anyway").stdout)["_not_said_here"]
        self.assertIn("checkpoint each layer in the model, of it alone: layernorm moe_act", said)
        self.assertIn("no modules", self.emit(result, "torchtitan", status=3).stderr)
        for framework in ("megatron", "torchtitan"):
            self.emit(self.plan(recompute="unknown"), framework, status=3)
        result["plan"]["recompute"] = ["layernorm", "moe; touch pwned"]
        self.emit(result, "megatron", status=2)

    def test_tokens_are_sent_to_experts_as_was_timed(self):
        for dispatcher in ("alltoall", "deepep", "hybridep"):
            with self.subTest(dispatcher):
                stack = f"execution.stack.software.dispatcher={dispatcher}"
                done = self.run_tool(PLAN, "--set", STACK, "--set", stack, "--set",
                                     "parallelism.expert=8", "--quiet", "--json", "-")
                found = arguments(self.emit(json.loads(done.stdout), "megatron").stdout)
                is_plain = dispatcher == "alltoall"
                self.assertEqual(found["--moe-token-dispatcher-type"],
                                 dispatcher if is_plain else "flex")
                self.assertEqual(found.get("--moe-flex-dispatcher-backend"),
                                 None if is_plain else dispatcher)

    def test_megatron_starts_the_processes_of_each_node(self):
        result = self.plan()  # 16 chips, eight to a node
        text = self.emit(result, "megatron").stdout
        self.assertIn("torchrun --nnodes 2 --nproc_per_node 8 pretrain_gpt.py", text)
        result["machine"]["network"][0] |= {"degree": 16, "topology": "torus2d"}
        text = self.emit(result, "megatron").stdout
        self.assertIn("torchrun pretrain_gpt.py", text)
        self.assertIn("# give torchrun the --nnodes and --nproc_per_node of your machine: 16 ", text)

    def test_ranks_are_numbered_as_the_plan_has_them_in_the_network(self):
        # 16 chips, eight to a node.  Rank r is chip r % 8 of node r // 8.
        result = self.plan(layout="least_kept")
        for network, flag, said in (
                ([{"tensor": 2, "data": 4}, {"data": 2}], False, False),
                ([{"tensor": 2, "data": 4}, {"pipeline": 2}], False, False),
                ([{"tensor": 8}, {"context": 2}], False, False),
                ([{"pipeline": 8}, {"data": 2}], True, False),
                ([{"tensor": 2, "pipeline": 4}, {"pipeline": 2}], False, False),
                ([{"tensor": 4, "pipeline": 2}, {"data": 2}], True, False),
                ([{"data": 8}, {"tensor": 2}], False, True),
                ([{"context": 2, "data": 4}, {"tensor": 2}], False, True),
                ([{"pipeline": 2, "data": 4}, {"pipeline": 2}], False, False)):
            with self.subTest(network):
                result["network"] = network
                for role in ("tensor", "context", "expert", "pipeline", "data"):
                    result["parallelism"][role] = math.prod(d.get(role, 1) for d in network)
                for order, is_ours in ((("tensor", "context", "data", "pipeline"), not flag),
                                       (("tensor", "context", "pipeline", "data"), flag)):
                    if is_ours and not said:
                        self.check_numbers(network, order)
                text = self.emit(result, "megatron").stdout
                self.assertEqual("--use-tp-pp-dp-mapping" in text, flag)
                self.assertEqual("# ranks are numbered tensor, context, data" in text, said)
                framework = ("torchtitan", "deepspeed")[network[0].get("data", 1) > 1]
                self.assertEqual("ranks are numbered tensor, context, data" in
                                 self.emit(result, framework, "--anyway").stdout, flag or said)

    def check_numbers(self, network, order):
        """Counts ranks one by one: how many of each role there are in a node and beside it."""
        degrees = [math.prod(d.get(role, 1) for d in network) for role in order]
        places = {}
        for rank in range(16):
            digits, left = [], rank
            for degree in degrees:
                digits.append(left % degree)
                left //= degree
            places[tuple(digits)] = (rank % 8, rank // 8)
        for i, role in enumerate(order):
            group = [place for digits, place in places.items()
                     if not any(d for j, d in enumerate(digits) if j != i)]
            self.assertEqual([len({place[d] for place in group}) for d in (0, 1)],
                             [d.get(role, 1) for d in network])

    def test_megatron_says_how_context_ranks_exchange(self):
        # With a stack a ring; without one what the exchanges of the plan are.
        self.assertNotIn("--cp-comm-type", self.emit(self.plan(context=1), "megatron").stdout)
        found = arguments(self.emit(self.plan(context=2), "megatron").stdout)
        self.assertEqual(found["--cp-comm-type"], "p2p")
        model = {"kind": "llm_training", "hidden": 1024, "head_dim": 64, "layers": 4,
                 "vocabulary": 32768, "sequence": 8192, "global_batch": 4}
        for heads, kv_heads, said in ((16, 16, "a2a"), (16, 1, ("p2p", "all_gather"))):
            config = {"workload": {**model, "heads": heads, "kv_heads": kv_heads},
                      "system": {"from": "h100_dgx", "chips": 8},
                      "parallelism": {"context": 8}, "training": {"framework": "megatron"}}
            self.write("c.json", json.dumps(config))
            result = self.result("c.json")
            found = arguments(self.emit(result, "megatron").stdout)
            kinds = {each["exchange"] for part in result["work"]["parts"].values()
                     for each in part["exchanges"] if each["role"] == "context"}
            self.assertEqual(found["--cp-comm-type"] == "a2a", "all_to_all" in kinds)
            self.assertIn(found["--cp-comm-type"], said)

    def test_the_precision_that_the_step_rests_on_is_said(self):
        result = self.plan()
        self.assertEqual(result["workload"]["precision"], "bf16")
        # Recipes by their names in Transformer Engine and in Megatron's --fp8-recipe.
        for precision, recipe in (("bf16", None), ("fp8", "delayed"), ("fp8-cs", "tensorwise"),
                                  ("fp8-mx", "blockwise"), ("mxfp8", "mxfp8")):
            with self.subTest(precision):
                result["workload"]["precision"] = precision
                found = arguments(self.emit(result, "megatron").stdout)
                self.assertIn("--bf16", found)
                self.assertEqual(found.get("--fp8-recipe"), recipe)
                self.assertEqual(found.get("--fp8-format"), recipe and "hybrid")
                for other in ("torchtitan", "deepspeed"):
                    self.assertEqual(f"linear layers are in {precision}" in
                                     self.emit(result, other, "--anyway").stdout,
                                     recipe is not None)
        result["workload"]["precision"] = "fp16"
        self.assertIn("--fp16", arguments(self.emit(result, "megatron").stdout))
        self.assertIn("fp16", json.loads(self.emit(result, "deepspeed", "--anyway").stdout))

    def test_a_search_emits_its_answer(self):
        for config, framework in ((PLAN, "megatron"), (PLAN, "torchtitan"), (SERVING, "vllm")):
            with self.subTest(framework):
                told = ["--set", f"training.framework={framework}"] if config == PLAN else []
                self.run_tool(config, *told, "--emit", f"{framework}=out.txt", "--json", "r.json",
                              "--quiet")
                later = self.run_tool("emit", "r.json", "--for", framework).stdout
                self.assertEqual((self.folder / "out.txt").read_text(), later)
        self.run_tool(PLAN, "--set", "execution=null", "--emit", "chakra=t", "--json", "r.json",
                      "--quiet")
        self.run_tool("emit", "r.json", "--for", "chakra", "-o", "u")
        names = sorted(path.name[1:] for path in self.folder.glob("t.*"))
        self.assertGreater(len(names), 2)
        for name in names:
            self.assertEqual((self.folder / f"t{name}").read_bytes(),
                             (self.folder / f"u{name}").read_bytes())

    def test_a_result_is_not_written_over(self):
        text = json.dumps(self.plan())
        self.write("r.json", text)
        for framework, name in (("chakra", "r"), ("chakra", "./r"), ("megatron", "r.json")):
            said = self.run_tool("emit", "r.json", "--for", framework, "-o", name, status=2).stderr
            self.assertIn("over the result that is read", said)
            self.assertEqual((self.folder / "r.json").read_text(), text)

    def test_megatron_places_uneven_stages(self):
        plan = self.plan(layers=[0, 2, 2, 1], pipeline=4, schedule="1f1b", chunks=1)
        layout = arguments(self.emit(plan, "megatron").stdout)["--pipeline-model-parallel-layout"]
        self.assertEqual(layout, "E|t*2|t*2|t*1L")
        stages = [sum(map(int, re.findall(r"t\*(\d+)", stage))) for stage in layout.split("|")]
        self.assertEqual(stages, plan["plan"]["layers"])

    def test_what_a_framework_cannot_run_is_refused(self):
        result = self.plan(schedule="zb_h1", layout="front_2")
        done = self.emit(result, "megatron", status=3)
        reasons = ("schedules are 1f1b and interleaved", "no library has the layouts of the front")
        for reason in reasons:
            self.assertIn(f"r.json: megatron cannot run this: {reason}", done.stderr)
        self.assertIn("--anyway", done.stderr)
        self.assertEqual(done.stdout, "")
        text = self.emit(result, "megatron", "--anyway").stdout
        for reason in reasons:
            self.assertIn(f"# cannot be run: {reason}", text)
        # A number of layers that no chunk divides.
        split = self.plan(layers=[6, 4], pipeline=2, schedule="interleaved", chunks=5,
                          micro_batches=8)
        self.assertIn("5 chunks do not hold 6, 4 layers",
                      self.emit(split, "megatron", status=3).stderr)
        # A search that is asked for such arguments keeps its answer.
        told = ("--set", "training.schedule=gpipe", "--set", "parallelism.pipeline=2",
                "--set", "workload.global_batch=64", "--quiet")
        done = self.run_tool(PLAN, *told, "--emit", "megatron=z.sh", "--json", "-", status=2)
        self.assertIn("cannot run this", done.stderr)
        self.assertIsNotNone(json.loads(done.stdout)["step_time"])
        self.assertFalse((self.folder / "z.sh").exists())

    def test_every_framework_refuses_what_it_does_not_run(self):
        # Reasons written by hand from the checks in the frameworks' sources.
        for framework, changes, reason in (
                ("torchtitan", {"zero": 1}, "ZeRO 1 is not there"),
                ("torchtitan", {"tensor": 8, "layout": "least_kept", "zero": 2},
                 "tensor ranks divide the heads of keys and values"),
                ("torchtitan", {"zero": 0, "data": 4, "pipeline": 2, "expert": 1},
                 "replicas beside tensor ranks or stages"),
                ("torchtitan", {"context": 4, "expert": 2, "zero": 3},
                 "expert ranks are a multiple of the context ranks"),
                ("torchtitan", {"pipeline": 8, "micro_batches": 4, "zero": 3},
                 "at least one micro-batch for each stage"),
                ("megatron", {"tensor": 2, "layout": "least_sent"}, "need sequence parallelism"),
                ("megatron", {"offload": ["activations"], "pipeline": 2},
                 "activations are offloaded without a pipeline"),
                ("megatron", {"offload": ["optimizer"], "zero": 0},
                 "the optimizer is offloaded with ZeRO 1 to 3"),
                ("deepspeed", {"zero": 3, "expert": 2}, "expert ranks go with ZeRO 0 to 2"),
                ("deepspeed", {"zero": 2, "pipeline": 2}, "a pipeline goes with ZeRO 0 and 1"),
                ("deepspeed", {"zero": 3, "tensor": 2, "layout": "least_sent"},
                 "tensor ranks go with ZeRO 0 to 2"),
                ("deepspeed", {"tensor": 2, "layout": "least_kept"}, "layout least_sent")):
            with self.subTest(framework=framework, changes=changes):
                plain = {"tensor": 1, "context": 1, "expert": 1, "pipeline": 1, "data": 16,
                         "layout": "least_sent", "schedule": "1f1b", "chunks": 1, "zero": 2,
                         "recompute": "none", "micro_batches": 64, "offload": []}
                result = self.plan(**plain)
                result["workload"]["global_batch"] = 16 * 64 * result["micro_batch"]
                result = self.changed(result, **changes)
                self.assertIn(reason, self.emit(result, framework, status=3).stderr)

    @staticmethod
    def changed(result, **changes):
        for key, value in changes.items():
            place = result if key in result else (
                result["parallelism"] if key in result["parallelism"] else result["plan"])
            place[key] = value
        if "micro_batches" in changes:
            replicas = result["parallelism"]["data"]
            result["workload"]["global_batch"] = (replicas * result["micro_batch"]
                                                  * changes["micro_batches"])
        return result

    def test_stages_with_slots_of_ends(self):
        both = self.plan(layers=[2, 3, 3, 2], pipeline=4, schedule="interleaved", chunks=3,
                         micro_batches=8, tensor=1, zero=1)
        found = arguments(self.emit(both, "megatron").stdout)
        self.assertIn("--account-for-embedding-in-pipeline-split", found)
        self.assertIn("--account-for-loss-in-pipeline-split", found)
        self.assertEqual(found["--num-virtual-stages-per-pipeline-rank"], "3")
        own = self.plan(layers=[2, 6, 6, 4], pipeline=4, schedule="interleaved", chunks=2,
                        micro_batches=8, tensor=1, zero=1)
        found = arguments(self.emit(own, "megatron").stdout)
        self.assertEqual(found["--decoder-first-pipeline-num-layers"], "2")
        self.assertEqual(found["--decoder-last-pipeline-num-layers"], "4")
        # torchtitan takes each chunk in turn; embedding and loss may count as a layer there, too.
        for plan in (both, own):
            plan["plan"] |= {"zero": 3, "recompute": "none"}
        text = tomllib.loads(self.emit(both, "torchtitan").stdout)["parallelism"]
        self.assertEqual([text["pipeline_parallel_first_stage_less_layers"],
                          text["pipeline_parallel_last_stage_less_layers"],
                          text["pipeline_parallel_layers_per_stage"]], [1, 1, 1])
        chunks = tomllib.loads(self.emit(own, "torchtitan").stdout)["parallelism"][
            "module_fqns_per_model_part"]
        layers = [[name for name in chunk if name.startswith("layers.")] for chunk in chunks]
        self.assertEqual([len(chunk) for chunk in layers], [1, 3, 3, 2] * 2)
        self.assertEqual(sum(layers, []), [f"layers.{i}" for i in range(18)])
        self.assertEqual((chunks[0][0], chunks[-1][-2:]), ("tok_embeddings", ["norm", "output"]))

    def test_torchtitan(self):
        result = self.plan(zero=3, recompute="full")
        found = tomllib.loads(self.emit(result, "torchtitan").stdout)
        parallelism, degrees = found["parallelism"], result["parallelism"]
        ranks = math.prod(parallelism[key] for key in (
            "data_parallel_replicate_degree", "data_parallel_shard_degree",
            "tensor_parallel_degree", "context_parallel_degree", "pipeline_parallel_degree"))
        self.assertEqual(ranks, result["machine"]["chips"])
        self.assertEqual(parallelism["expert_parallel_degree"], degrees["expert"])
        self.assertEqual(found["training"]["global_batch_size"],
                         result["workload"]["global_batch"])
        self.assertEqual(found["activation_checkpoint"]["mode"], result["plan"]["recompute"])
        # Replicas that divide the experts are replicas of all else: the ranks stay the chips.
        result = self.plan(zero=3, expert=2, recompute="none")
        divided = tomllib.loads(self.emit(result, "torchtitan").stdout)["parallelism"]
        self.assertEqual(divided["expert_parallel_degree"], 2)
        self.assertEqual(divided["data_parallel_shard_degree"],
                         parallelism["data_parallel_shard_degree"])

    def test_deepspeed(self):
        result = self.plan(zero=1)
        found = json.loads(self.emit(result, "deepspeed").stdout)
        replicas = result["parallelism"]["data"]  # those that divide experts included
        self.assertEqual(found["train_batch_size"], found["train_micro_batch_size_per_gpu"]
                         * found["gradient_accumulation_steps"] * replicas)
        self.assertEqual(found["zero_optimization"]["stage"], result["plan"]["zero"])

    def test_servers_of_each_role(self):
        result = self.deployment()
        best = result["serving"]["best"]
        self.assertEqual(best["mode"], "disaggregated")
        for framework, tensor, pipeline in (
                ("vllm", "--tensor-parallel-size", "--pipeline-parallel-size"),
                ("sglang", "--tp-size", "--pp-size"), ("trtllm", "--tp_size", "--pp_size")):
            with self.subTest(framework):
                servers = self.emit(result, framework).stdout.split("\n\n")
                self.assertEqual(len(servers), 2)
                for text, role in zip(servers, ("prefill", "decode")):
                    found = arguments(text)
                    ranks = best[role]["tensor"] * best[role]["attention_data"]
                    self.assertEqual(int(found[tensor]),
                                     best[role]["tensor"] if framework == "vllm" else ranks)
                    self.assertEqual(int(found[pipeline]), best[role]["pipeline"])
                    self.assertIn(f"# {role}: {best[role]['replicas']} x ", text)
                    length = {"vllm": "--max-model-len", "sglang": "--context-length",
                              "trtllm": "--max_seq_len"}[framework]
                    self.assertEqual(int(found[length]), 2000 + 500)

    def test_manifests_have_the_arguments_of_the_server(self):
        """Each service of a manifest has the words of the command of that role, and its chips."""
        for framework, manifest, modes, own in (
                ("vllm", "dynamo", "disaggregated", {"--disaggregation-mode"}),
                ("vllm", "llm-d", "disaggregated", set()), ("vllm", "dynamo", "aggregated", set()),
                ("sglang", "dynamo", "disaggregated", {"--disaggregation-transfer-backend"}),
                ("vllm", "llm-d", "aggregated", set())):
            with self.subTest(framework=framework, manifest=manifest, modes=modes):
                result = self.deployment(f"serving.modes=[{modes}]",
                                         f"serving.framework={framework}")
                best = result["serving"]["best"]
                roles = [best] if modes == "aggregated" else [best["prefill"], best["decode"]]
                commands = self.emit(result, framework).stdout.split("\n\n")
                text = self.emit(result, manifest).stdout
                self.assertEqual(text.count("# weights in"), commands[0].count("# weights in"))
                blocks = re.split(r" +args:\n", text)[1:]
                self.assertEqual(len(blocks), len(roles))
                for role, command, block, before in zip(roles, commands, blocks,
                                                        re.split(r" +args:\n", text)):
                    words = [json.loads(word) for word in re.findall(r"(?m)^ +- (\".*\")$", block)]
                    asked, found = arguments(command), arguments(shlex.join(words))
                    self.assertEqual({key: value for key, value in found.items()
                                      if key not in own | {"--model", "--model-path"}},
                                     {key: value for key, value in asked.items()
                                      if key != "--model-path"})
                    self.assertEqual(set(found) & own, own)
                    chips = role["tensor"] * role["attention_data"] * role["pipeline"]
                    self.assertIn(f"replicas: {role['replicas']}\n", before)
                    self.assertIn(f'gpu: "{chips}"', before if manifest == "dynamo" else block)

    def test_manifests_of_servers_over_several_nodes(self):
        result = self.deployment("serving.modes=[aggregated]")
        best = result["serving"]["best"]
        best["tensor"], best["pipeline"], best["attention_data"] = 8, 2, 1
        text = self.emit(result, "dynamo").stdout
        self.assertIn("multinode:\n        nodeCount: 2\n", text)
        self.assertIn('gpu: "8"\n', text)
        self.assertIn("a server of 16 chips on nodes of 8",
                      self.emit(result, "llm-d", status=3).stderr)
        result["pools"][0]["network"][0]["degree"] = 5
        best["pipeline"] = 1
        best["tensor"] = 7
        self.assertIn("a server of 7 chips, which cannot be divided evenly over nodes of 5",
                      self.emit(result, "dynamo", status=3).stderr)
        result["framework"] = {"name": "trtllm"}
        self.assertIn("use --for trtllm", self.emit(result, "dynamo", status=3).stderr)

    def test_a_server_that_does_both(self):
        result = self.deployment("serving.modes=[aggregated]")
        best = result["serving"]["best"]
        found = arguments(self.emit(result, "vllm").stdout)
        self.assertEqual(int(found["--max-num-batched-tokens"]), best["chunk"] + best["batch"])
        self.assertEqual(int(found["--max-num-seqs"]), best["batch"] * best["pipeline"])
        pool = result["pools"][0]
        share = pool["usable"] / pool["memory"]["capacity"]
        self.assertLess(share, 1)
        self.assertAlmostEqual(float(found["--gpu-memory-utilization"]), share, places=4)
        found = arguments(self.emit(result, "sglang").stdout)
        self.assertEqual(int(found["--chunked-prefill-size"]), best["chunk"])
        self.assertAlmostEqual(float(found["--mem-fraction-static"]), share, places=4)
        self.assertIn("enable_chunked_prefill: true", self.emit(result, "trtllm").stdout)

    def test_a_server_of_several_stages_and_ranks(self):
        """A rank runs a batch in each of its stages; limits of vLLM and TensorRT-LLM are of a rank,
        those of SGLang of all ranks, and an iteration has a chunk beside a token of each request."""
        result = self.deployment("serving.modes=[aggregated]",
                                 "workload.precision={weights: bf16, cache: fp8}")
        for framework, (tensor, pipeline, ranks), words in (
                ("vllm", (2, 3, 4),
                 {"--tensor-parallel-size": 2, "--pipeline-parallel-size": 3,
                  "--data-parallel-size": 4, "--max-num-seqs": 30,
                  "--max-num-batched-tokens": 522}),
                ("sglang", (2, 1, 4), {"--tp-size": 8, "--pp-size": 1, "--dp-size": 4,
                                       "--max-running-requests": 40,
                                       "--chunked-prefill-size": 512}),
                ("trtllm", (2, 3, 1), {"--tp_size": 2, "--pp_size": 3, "--max_batch_size": 10,
                                       "--max_num_tokens": 522})):
            result["serving"]["best"].update(tensor=tensor, pipeline=pipeline,
                                             attention_data=ranks, batch=10, chunk=512)
            with self.subTest(framework):
                text = self.emit(result, framework).stdout
                found = arguments(text)
                self.assertEqual({key: int(found[key]) for key in words}, words)
                self.assertIn("kv-cache-dtype fp8" if framework != "trtllm" else "dtype: fp8", text)

    def test_the_load_of_the_answer_is_a_line_of_a_benchmark(self):
        for change, said in (
                ("workload.rate=3 /s", " --request-rate 3\n"),
                ("workload.concurrency=20", " --num-prompts 200 --max-concurrency 20 --request-rate inf"),
                ("workload.num_requests=500", " --num-prompts 500 --request-rate inf")):
            result = self.deployment("serving.modes=[aggregated]", "serving.limits={}",
                                     "serving.chunk=[2048]", "serving.batch=[16, 64]", change)
            text = self.emit(result, "vllm").stdout
            self.assertIn("# its load: vllm bench serve --model MODEL --dataset-name random "
                          "--random-input-len 2000 --random-output-len 500", text)
            self.assertIn(said, text)
        result["workload"]["requests"][0]["prefix"] = 300
        self.assertIn("--random-input-len 1700 --random-output-len 500 --random-prefix-len 300",
                      self.emit(result, "vllm").stdout)

    def test_precisions_that_are_given(self):
        result = self.deployment("workload.precision={weights: fp8, cache: fp8}")
        for framework, said in (("vllm", "--kv-cache-dtype fp8"),
                                ("sglang", "--kv-cache-dtype fp8_e4m3"),
                                ("trtllm", "kv_cache_config: {dtype: fp8}")):
            text = self.emit(result, framework).stdout
            self.assertIn(said, text)
            self.assertIn("# weights in fp8\n", text)
            self.assertEqual("--quantization fp8" in text, framework != "trtllm")
        plain = self.emit(self.deployment("workload.precision={cache: fp8}"), "vllm").stdout
        self.assertNotIn("--quantization", plain)
        self.assertIn('"precision": "fp8"', self.emit(result, "inferencex").stdout)

    def test_rows_of_inferencex(self):
        for changes in ([], ["serving.modes=[aggregated]"]):
            result = self.deployment(*changes)
            best, figures = result["serving"]["best"], result["serving"]["figures"]
            row, = json.loads(self.emit(result, "inferencex").stdout)
            self.assertEqual((row["isl"], row["osl"], row["framework"]), (2000, 500, "dfsearch"))
            self.assertEqual(row["disagg"], best["mode"] == "disaggregated")
            for key, of in (("mean_ttft", "ttft"), ("mean_tpot", "tpot"), ("mean_e2el", "e2e")):
                self.assertAlmostEqual(row[key], figures[of])
            self.assertAlmostEqual(row["mean_intvty"], figures["tokens_per_s_per_user"])
            self.assertAlmostEqual(row["output_tput_per_gpu"], figures["tokens_per_s_per_chip"])
            self.assertAlmostEqual(row["tput_per_gpu"], 5 * figures["tokens_per_s_per_chip"])
            self.assertAlmostEqual(row["conc"], figures["requests_per_s"] * figures["e2e"])
            if row["disagg"]:
                self.assertEqual(row["num_prefill_gpu"] + row["num_decode_gpu"], figures["chips"])
            else:
                self.assertEqual(row["tp"], best["tensor"] * best["attention_data"])
        front = self.deployment("serving.objective=front")
        rows = json.loads(self.emit(front, "inferencex").stdout)
        points = front["serving"]["front"]
        self.assertEqual(len(rows), len(points))
        for row, point in zip(rows, points):
            self.assertAlmostEqual(row["output_tput_per_gpu"], point["tokens_per_s_per_chip"])
            self.assertEqual(row["num_gpu"], point["chips"])
        self.assertIn("one best deployment", self.emit(front, "vllm", status=2).stderr)

    def test_results_of_another_kind(self):
        plan, deployment = self.plan(), self.deployment()
        error = self.emit(deployment, "megatron", status=2).stderr
        self.assertIn("r.json: expected the result of a config with 'training'", error)
        self.assertIn("llm_serving", self.emit(plan, "vllm", status=2).stderr)
        broken = copy.deepcopy(plan)
        del broken["plan"]["zero"]
        self.assertIn("r.json: is not a complete result", self.emit(broken, "megatron", status=2).stderr)


if __name__ == "__main__":
    support.main()
