"""Language models with the parameters of two LSTM layers, on 512 chips (DeepFlow, figure 10).

configs/figures/deepflow_lstm_parallel.yaml has the machine; strategies and loops are searched. A
kernel is a GEMM of all gates over all steps and samples at once.
"""

import json

import technology_figures
from technology_figures import NODES

VOCABULARY, HIDDEN, LAYERS, TOKENS = 800_000, 16_384, 2, 640


def parameters(hidden, layers):
    return 2 * VOCABULARY * hidden + 8 * layers * hidden**2


def models(most_layers, tolerance=0.01):
    """Widths in steps of 1,024, and layers."""
    wanted = parameters(HIDDEN, LAYERS)
    return [(hidden, layers) for layers in range(1, most_layers + 1)
            for hidden in range(1024, 2 * HIDDEN, 1024)
            if abs(parameters(hidden, layers) / wanted - 1) <= tolerance]


def graph(hidden, layers):
    kernels, tensors = [], []

    def gemm(name, m, k, **more):
        kernels.append({"name": name, "kind": "weight_gemm", "M": m, "K": k, "N": TOKENS, **more})

    def pointwise(name, m, **more):
        kernels.append({"name": name, "kind": "elementwise", "M": m, "N": TOKENS, **more})

    def backward(name, m, k):
        gemm(name + "_bwd", k, m, phase="backward", weight_of=name)
        kernels.append({"name": name + "_update", "kind": "gemm", "M": m, "K": TOKENS, "N": k,
                        "phase": "backward", "tiled": "K", "weight_of": name,
                        "communication": {"type": "gradient_all_reduce"}})

    def hand(source, target, **more):
        tensors.append({"from": source, "to": target, **more})

    for i in range(1, layers + 1):
        gemm(f"G{i}", 4 * hidden, 2 * hidden)
        pointwise(f"A{i}", 4 * hidden)
        hand(f"G{i}", f"A{i}")
        if i > 1:
            hand(f"A{i - 1}", f"G{i}", rows=2 * hidden, value=1)
    gemm("S", VOCABULARY, hidden)
    backward("S", VOCABULARY, hidden)
    pointwise("L", VOCABULARY, phase="backward")
    hand(f"A{layers}", "S", rows=hidden, value=1)
    hand("S", "L")
    hand("L", "S_bwd")
    hand("L", "S_update")
    hand(f"A{layers}", "S_update", rows=hidden, value=1)
    above = "S_bwd"
    for i in range(layers, 0, -1):
        pointwise(f"A{i}_bwd", 4 * hidden, phase="backward")
        backward(f"G{i}", 4 * hidden, 2 * hidden)
        hand(above, f"A{i}_bwd")
        hand(f"A{i}_bwd", f"G{i}_bwd")
        hand(f"A{i}_bwd", f"G{i}_update")
        if i > 1:
            hand(f"A{i - 1}", f"G{i}_update", rows=2 * hidden, value=1)
        above = f"G{i}_bwd"
    return {"kind": "graph", "word": "2 B", "sequence": TOKENS, "global_batch": 512,
            "micro_batch": 1, "kernels": kernels, "tensors": tensors}


def step(program, hidden, layers, node):
    return technology_figures.solve(
        program, "lstm_parallel", "workload=" + json.dumps(graph(hidden, layers)),
        technology_figures.at_node(node))["step_time"]


def steps(program, most_layers=3):
    """Seconds by model and node; the search is exact."""
    return {model: {node: step(program, *model, node) for node in NODES}
            for model in models(most_layers)}
