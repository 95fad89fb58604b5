#!/usr/bin/env python3
"""Families of large graphs, for `./dev bench scale`: every one a function of its sizes and seed.

    bench/scale_instances.py FOLDER [NAME...]

Writes configs as JSON, which is YAML: whole models unrolled, ragged layers, fork and join, grids,
series-parallel graphs, experts and embedding tables as kernels of their own.
"""

import json
import pathlib
import random
import sys

from make_instances import SEQUENCE, Graph

EXTENTS = (512, 1024, 1536, 2048, 3072, 4096)
CHIP = {"cores": 640, "lanes": 32, "stages": 6, "frequency": "1.25 GHz"}
RAGGED = [(50, 4), (50, 8), (100, 4), (100, 8), (200, 4), (200, 16), (500, 8)]
SEEDS = 30  # of each size of ragged graphs


def weighted(graph, rng, name, *producers):
    """A weight GEMM, or for a third of them an elementwise kernel."""
    rows = rng.choice(EXTENTS)
    if rng.random() < 2 / 3:
        return graph.kernel(name, "weight_gemm", *producers, M=rows, K=rng.choice(EXTENTS))
    return graph.kernel(name, "elementwise", *producers, M=rows)


def ragged(count, width, seed):
    """Layers of 1 to `width` kernels, each fed by one of the layer before, now and then by two."""
    rng = random.Random(f"ragged {count} {width} {seed}")
    graph, before = Graph(), []
    while len(graph.kernels) < count:
        now = []
        for _ in range(min(rng.randint(1, width), count - len(graph.kernels))):
            producers = [rng.choice(before)] if before else []
            if before and rng.random() < 0.15:
                producers += [other for other in [rng.choice(before)] if other not in producers]
            now.append(weighted(graph, rng, f"kernel_{len(graph.kernels)}", *producers))
        before = now
    return graph


def fork_join(stages, width, seed):
    """Again and again `width` chains of one to three kernels between a fork and a join."""
    rng = random.Random(f"fork_join {stages} {width} {seed}")
    graph = Graph()
    last = graph.kernel("source", "elementwise", M=1024)
    for stage in range(stages):
        ends = []
        for branch in range(width):
            end = last
            for i in range(rng.randint(1, 3)):
                end = weighted(graph, rng, f"kernel_{stage}_{branch}_{i}", end)
            ends.append(end)
        last = graph.kernel(f"join_{stage}", "elementwise", *ends, M=1024)
    return graph


def grid(rows, columns, seed):
    """Each kernel reads its neighbours above and to the left."""
    rng = random.Random(f"grid {rows} {columns} {seed}")
    graph, names = Graph(), {}
    for row in range(rows):
        for column in range(columns):
            producers = [names[at] for at in ((row - 1, column), (row, column - 1)) if at in names]
            names[row, column] = weighted(graph, rng, f"kernel_{row}_{column}", *producers)
    return graph


def series_parallel(count, seed):
    """An edge is replaced by two, one after the other or side by side, until there are enough."""
    rng = random.Random(f"series_parallel {count} {seed}")
    edges, vertices = [(0, 1)], 2
    while vertices < count:
        begin, end = edges.pop(rng.randrange(len(edges)))
        middle = [vertices + i for i in range(rng.randint(1, 2))]
        vertices += len(middle)
        edges += [edge for v in middle for edge in ((begin, v), (v, end))]
    followers = {v: sorted({b for a, b in edges if a == v}) for v in range(vertices)}
    order, seen = [], set()

    def visit(vertex):
        if vertex in seen:
            return
        seen.add(vertex)
        for follower in followers[vertex]:
            visit(follower)
        order.append(vertex)

    visit(0)
    graph = Graph()
    for v in reversed(order):
        producers = [f"kernel_{a}" for a in reversed(order) if v in followers[a]]
        weighted(graph, rng, f"kernel_{v}", *producers)
    return graph


def summed(graph, name, outputs, how, **more):
    """The sum of many values: by one kernel, or by two at a time."""
    if how == "fan":
        return graph.kernel(name, "elementwise", *outputs, M=1024, **more)
    outputs, number = list(outputs), 0
    while len(outputs) > 1:
        both = [outputs.pop(0), outputs.pop(0)]
        added = graph.kernel(f"{name}_{number}", "elementwise2", *both, M=1024, **more)
        number += 1
        if how == "chain":
            outputs.insert(0, added)
        else:
            outputs.append(added)
    return outputs[0]


def experts(count, how, training):
    """A mixture of experts with kernels of their own, equal ones, that share the tokens."""
    inner, tokens = 4096, SEQUENCE * 4 // count
    graph = Graph()
    router = graph.kernel("router", "elementwise", M=1024)
    parts = []
    for e in range(count):
        up = graph.kernel(f"up_{e}", "weight_gemm", router, M=inner, K=1024, N=tokens)
        gelu = graph.kernel(f"gelu_{e}", "elementwise", up, M=inner, N=tokens)
        down = graph.kernel(f"down_{e}", "weight_gemm", gelu, M=1024, K=inner, N=tokens)
        parts.append((up, gelu, down))
    summed(graph, "combine", [down for _, _, down in parts], how)
    if not training:
        return graph
    back = {"phase": "backward"}
    update = {**back, "tiled": "K"}
    gradient = graph.kernel("gradient", "elementwise", M=1024, **back)
    gradients = []
    for e, (up, gelu, _) in enumerate(parts):
        of_gelu = graph.kernel(f"down_{e}_bwd", "weight_gemm", gradient, M=inner, K=1024, N=tokens,
                               **back)
        graph.kernel(f"down_{e}_update", "gemm", gradient, gelu, M=1024, K=tokens, N=inner, **update)
        of_up = graph.kernel(f"gelu_{e}_bwd", "elementwise2", of_gelu, up, M=inner, N=tokens, **back)
        gradients.append(graph.kernel(f"up_{e}_bwd", "weight_gemm", of_up, M=1024, K=inner, N=tokens,
                                      **back))
        graph.kernel(f"up_{e}_update", "gemm", of_up, router, M=inner, K=tokens, N=1024, **update)
    summed(graph, "gradient_of_input", gradients, how, **back)
    return graph


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


def of_graph(graph, system, **execution):
    return {"workload": {"kind": "graph", "sequence": SEQUENCE, "kernels": graph.kernels,
                         "tensors": graph.tensors},
            "system": system,
            "execution": {"style": "dataflow", "overlap": "perfect", "compute_utilization": 0.9,
                          **execution},
            # Random graphs: who reads what is drawn, whatever its shape.
            "equations": {"shapes": "unchecked"}}


def one_chip(graph, sram="24 MiB", bandwidth="100 GB/s"):
    return of_graph(graph, {"chips": 1, "accelerator": {**CHIP, "sram": sram},
                            "memory": {"bandwidth": bandwidth}})


def eight_chips(graph, sram, sharding="joint"):
    config = of_graph(graph, {
        "chips": 8, "accelerator": {**CHIP, "sram": sram}, "memory": {"bandwidth": "200 GB/s"},
        "network": [{"topology": "ring", "degree": 8, "bandwidth": "50 GB/s",
                     "strategy": "tensor"}]})
    return {**config, "search": {"sharding": sharding}}


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


def instances():
    """{name: function that gives the config}"""
    found = {f"training_{n}": lambda n=n: training(n) for n in (2, 4, 8, 96)}
    for count, width in RAGGED:
        for seed in range(1, SEEDS + 1):
            found[f"ragged_{count}_{width}_{seed}"] = (
                lambda c=count, w=width, s=seed: one_chip(ragged(c, w, s)))
    found["ragged_5000_8"] = lambda: one_chip(ragged(5000, 8, 1))
    found["fork_join_8_4"] = lambda: one_chip(fork_join(8, 4, 1))
    found["fork_join_24_8"] = lambda: one_chip(fork_join(24, 8, 1))
    found["grid_8_8"] = lambda: one_chip(grid(8, 8, 1))
    found["grid_16_16"] = lambda: one_chip(grid(16, 16, 1))
    found["grid_70_70"] = lambda: one_chip(grid(70, 70, 1))
    found["series_parallel_60"] = lambda: one_chip(series_parallel(60, 1))
    found["series_parallel_240"] = lambda: one_chip(series_parallel(240, 1))
    for how in ("fan", "tree", "chain"):
        for kind, trains in (("", False), ("_training", True)):
            for word, sharding in (("", "least_bytes"), ("_joint", "joint")):
                found[f"experts_64_{how}{kind}{word}"] = (
                    lambda h=how, t=trains, s=sharding: eight_chips(experts(64, h, t), "16 MiB", s))
    found["tables_800"] = lambda: one_chip(tables(800, 1), "640 MiB", "2 TB/s")
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
