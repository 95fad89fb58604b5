"""A small config of each kind of question, for what holds of all of them."""

import copy
import json
import pathlib

import support

CONFIGS = pathlib.Path(__file__).resolve().parents[2] / "configs"

STAGES = """\
workload:
  kind: graph
  global_batch: 8
  sequence: 64
  kernels:
    - {name: A, kind: weight_gemm, M: 1024, K: 256, N: 64}
    - {name: B, kind: elementwise, M: 1024, N: 64}
    - {name: C, kind: weight_gemm, M: 256, K: 1024, N: 64}
    - {name: D, kind: weight_gemm, M: 512, K: 256, N: 64}
  tensors: [{from: A, to: B}, {from: B, to: C}, {from: C, to: D}]
system:
  chips: 4
  accelerator: {cores: 16, lanes: 16, stages: 8, frequency: 1 GHz, sram: 1 MiB}
  memory: {bandwidth: 100 GB/s, capacity: 1 GB}
  network:
    - {topology: ring, degree: 2, bandwidth: 25 GB/s, strategy: tensor}
    - {topology: ring, degree: 2, bandwidth: 25 GB/s, strategy: pipeline}
execution: {stages: graph, partitions: 4, overlap: perfect}
search: {sharding: least_bytes}
"""
PLAN = """\
workload: {model: llama3_8b, kind: llm_training, sequence: 8192, global_batch: 64}
system: {from: h100_dgx, chips: 16}
training: {}
parallelism: {context: 1}
"""
STACK = """\
workload: {model: llama3_8b, kind: llm_training, sequence: 8192, global_batch: 64}
system: {from: h100_dgx, chips: 16}
execution: {stack: te, chip: h100_80gb}
training: {framework: megatron}
parallelism: {context: 1}
"""
EXECUTION = f"""\
workload: {{kind: llm_training, hidden: 6144, mlp: 24576, sequence: 2048, heads: 64, head_dim: 96,
           layers: 48}}
system: {{from: {CONFIGS}/systems/calculon_h100_80g.yaml, chips: 16}}
equations: calculon
calculon: {{maximum_batch: 64}}
"""
DEPLOYMENT = {
    "workload": {
        "kind": "llm_serving",
        "model": {"hidden": 1024, "layers": 8, "heads": 16, "kv_heads": 4, "head_dim": 64,
                  "mlp": 4096, "vocabulary": 32000},
        "input": 500, "output": 100},
    "serving": {
        "pools": [{"name": "x", "chips": 8, "system": {
            "peak": {"bf16": "1 PFLOP/s", "fp8": "2 PFLOP/s"},
            "memory": {"bandwidth": "2 TB/s", "capacity": "64 GB"},
            "network": [{"degree": 4, "bandwidth": "100 GB/s", "latency": "1 us"},
                        {"bandwidth": "10 GB/s", "latency": "5 us"}],
            "price": "1 $/h", "power": "500 W"}}],
        "tensor": [1, 2, 4], "pipeline": [1, 2], "attention_data": [1], "expert": [1],
        "batch": [1, 4, 16, 64], "chunk": [512]}}


def deployment(**serving):
    """The config with other keys in its section 'serving', as text."""
    config = copy.deepcopy(DEPLOYMENT)
    config["serving"].update(serving)
    return json.dumps(config)


def fleet():
    config = copy.deepcopy(DEPLOYMENT)
    workload = config.pop("workload")
    models = [{"name": name, "workload": workload | {"rate": f"{rate} /s"},
               "limits": {"tpot": "5 ms"}} for name, rate in (("a", 1), ("b", 20))]
    config["serving"]["objective"] = "cost"
    return json.dumps({"fleet": {"models": models, "budget": {}}} | config)


KINDS = {
    "mapping": support.SMALL,
    "least bytes": support.SMALL + "search: {sharding: least_bytes}\n",
    "stages": STAGES,
    "chip": (CONFIGS / "v100_prefill.yaml").read_text().replace(
        "technologies/", f"{CONFIGS}/technologies/"),
    "split": (CONFIGS / "seven_nm_split.yaml").read_text()
             .replace("0.03, inter: 0.05}", "0.03, inter: 0.05, L2: 0.3}")
             .replace("0.15, L1: 0.05}", "0.15, L1: 0.05, L2: 0.1}"),
    "plan": PLAN,
    "stack": STACK,
    "execution": EXECUTION,
    "deployment": deployment(),
    "front": deployment(objective="front"),
    "fleet": fleet(),
}
