#!/usr/bin/env python3
"""Large graphs that users have, for `./dev bench scale`.

    bench/scale_instances.py FOLDER [NAME...]

Writes configs as JSON, which is YAML: whole models unrolled, the graphs of graph_instances.py, and
a recommendation model whose embedding tables are kernels of their own.
"""

import json
import pathlib
import random
import sys

import graph_instances
from graph_text import SEQUENCE, Graph

CHIP = {"cores": 640, "lanes": 32, "stages": 6, "frequency": "1.25 GHz"}


def tables(count, seed):
    """A recommendation model with a kernel for each embedding table, three sizes of them."""
    rng = random.Random(f"tables {count} {seed}")
    graph = Graph()
    batch, pooled = 512, 15
    last = []
    for i in range(5):
        last = [graph.kernel(f"bottom_{i}", "weight_gemm", *last, M=6750, K=6750, N=batch)]
    for i in range(count):
        rows = rng.choice((64, 96, 128))
        last.append(graph.kernel(f"table_{i}", "elementwise", M=rows, N=batch,
                                 memory=f"{rows * batch * pooled * 2} B"))
    last = [graph.kernel("interaction", "elementwise", *last, M=6750, N=batch)]
    for i in range(15):
        last = [graph.kernel(f"top_{i}", "weight_gemm", *last, M=6750, K=6750, N=batch)]
    return graph


def recommendation(count):
    """Such a model on one chip."""
    graph = tables(count, 1)
    return {"workload": {"kind": "graph", "sequence": SEQUENCE, "kernels": graph.kernels,
                         "tensors": graph.tensors},
            "system": {"chips": 1, "accelerator": {**CHIP, "sram": "640 MiB"},
                       "memory": {"bandwidth": "2 TB/s"}},
            "execution": {"style": "dataflow", "overlap": "perfect", "compute_utilization": 0.9},
            "equations": {"shapes": "unchecked"}}


def training(layers):
    """Training GPT3-1T, a stage of so many layers, on 1,024 SN30."""
    torus = [{"topology": "ring", "degree": degree, "bandwidth": "50 GB/s", "strategy": strategy}
             for degree, strategy in ((8, "tensor"), (128, "pipeline"))]
    return {"workload": {"kind": "llm_training", "hidden": 25600, "heads": 160, "head_dim": 160,
                         "sequence": SEQUENCE, "layers": 128 * layers, "word": "2 B",
                         "global_batch": 3072, "micro_batch": 1, "repeat_layers": layers},
            "system": {"chips": 1024,
                       "accelerator": {**CHIP, "cores": 1280, "sram": "640 MiB"},
                       "memory": {"bandwidth": "300 GB/s"}, "network": torus},
            "execution": {"style": "dataflow", "partitions": 8 * layers, "overlap": "perfect",
                          "compute_utilization": 0.9},
            "equations": "published"}


def llama(kind, unrolled, **workload):
    """Llama 3 8B or 70B with so many layers unrolled."""
    return {"kind": kind, "head_dim": 128, "word": "2 B", "micro_batch": 1,
            "repeat_layers": unrolled, **workload}


def prefill_8b(layers, **execution):
    return {"workload": llama("llm_prefill", layers, hidden=4096, heads=32, sequence=SEQUENCE,
                              layers=32, mlp=14336, global_batch=16),
            "system": {"from": "sn10_8x1_ring"},
            "execution": {"style": "dataflow", "overlap": "perfect", **execution}}


def prefill_175b(layers, **search):
    """GPT3-175B."""
    return {"workload": {"kind": "llm_prefill", "hidden": 12288, "heads": 96, "head_dim": 128,
                         "sequence": SEQUENCE, "layers": layers, "word": "2 B",
                         "global_batch": 64, "micro_batch": 1, "repeat_layers": layers},
            "system": {"from": "sn10_8x1_ring"},
            "execution": {"style": "dataflow", "overlap": "perfect", "compute_utilization": 0.9},
            **search}


def training_70b(layers):
    return {"workload": llama("llm_training", layers, hidden=8192, heads=64, sequence=4096,
                              layers=80, mlp=28672, global_batch=512),
            "system": {"from": "sn30_2d_torus"},
            "execution": {"style": "dataflow", "overlap": "perfect", "compute_utilization": 0.9,
                          "partitions": 8 * layers},
            "search": {"sharding": "least_bytes"}}


def instances():
    """{name: function that gives the config}"""
    found = {f"training_{n}": lambda n=n: training(n) for n in (2, 4, 8, 96)}
    found["training_70b_8"] = lambda: training_70b(8)
    found["prefill_175b_12"] = lambda: prefill_175b(12, search={"sharding": "least_bytes"})
    found["prefill_175b_12_joint"] = lambda: prefill_175b(12)
    found["prefill_8b_32_joint"] = lambda: prefill_8b(32, compute_utilization=0.9)
    found["prefill_8b_8_joint_cores"] = lambda: prefill_8b(8)
    for name in graph_instances.names():
        found[name] = lambda n=name: graph_instances.config(n)
    found["tables_800"] = lambda: recommendation(800)
    return found


def write(folder, names):
    """Their files."""
    folder.mkdir(parents=True, exist_ok=True)
    known = instances()
    files = {}
    for name in names:
        files[name] = folder / f"{name}.json"
        files[name].write_text(json.dumps(known[name](), indent=1) + "\n")
    return files


def main():
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    write(pathlib.Path(sys.argv[1]), sys.argv[2:] or list(instances()))


if __name__ == "__main__":
    main()
