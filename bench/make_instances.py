#!/usr/bin/env python3
"""Makes bench/instances/*.yaml: graphs with a shape that no shipped config has.

    bench/make_instances.py [FOLDER]

Each shape is hard, or easy, for a reason of its own, which stands in the first
lines of its file.  Extents are those of small transformers, so that tens of
kernels compete for the SRAM of one chip; the seed of a random one is its own
and fixed, so the files are the same on every machine.
"""

import dataclasses
import pathlib
import random
import sys
import textwrap

SEQUENCE = 2048


class Graph:
    """Kernels and tensors, in the order in which they are added."""

    def __init__(self):
        self.kernels = []
        self.tensors = []
        self.inputs = {}

    def kernel(self, name, kind, *producers, N=SEQUENCE, **extents):
        self.kernels.append({"name": name, "kind": kind, **extents, "N": N})
        self.inputs[name] = 0
        for producer in producers:
            self.connect(producer, name)
        return name

    def connect(self, producer, consumer):
        """A GEMM has two operands: the first tensor is one, all others the other."""
        self.inputs[consumer] += 1
        self.tensors.append(
            {"from": producer, "to": consumer, "operand": min(2, self.inputs[consumer])})


def chain(length, seed):
    """Weights and elementwise kernels one after the other."""
    rng = random.Random(seed)
    graph = Graph()
    last = []
    for i in range(length):
        rows = rng.choice([512, 1024, 2048])
        if rng.random() < 0.5:
            last = [graph.kernel(f"gemm_{i}", "weight_gemm", *last, M=rows, K=1024)]
        else:
            last = [graph.kernel(f"map_{i}", "elementwise", *last, M=rows)]
    return graph


def layers(depth, width, seed):
    """Each kernel reads about half of those one layer before."""
    rng = random.Random(seed)
    graph = Graph()
    before = []
    for d in range(depth):
        now = []
        for w in range(width):
            kind = rng.choice(["weight_gemm", "weight_gemm", "gemm", "elementwise"])
            extents = {"M": rng.choice([256, 512, 1024, 2048])}
            if kind != "elementwise":
                extents["K"] = rng.choice([256, 512, 1024])
            producers = [name for name in before if rng.random() < 0.5]
            now.append(graph.kernel(f"layer_{d}_{w}", kind, *producers, **extents))
        before = now
    return graph


def experts(count, inner, tokens):
    """A mixture of experts: a router, equal experts of three kernels, their sum."""
    graph = Graph()
    router = graph.kernel("router", "elementwise", M=1024)
    outputs = []
    for e in range(count):
        up = graph.kernel(f"up_{e}", "weight_gemm", router, M=inner, K=1024, N=tokens)
        gelu = graph.kernel(f"gelu_{e}", "elementwise", up, M=inner, N=tokens)
        outputs.append(
            graph.kernel(f"down_{e}", "weight_gemm", gelu, M=1024, K=inner, N=tokens))
    graph.kernel("combine", "elementwise", *outputs, M=1024)
    return graph


@dataclasses.dataclass
class Instance:
    graph: Graph
    why: str
    sram: str
    cores: int = 640
    link: str = "50 GB/s"
    utilization: float = 0.9  # 0: cores are allocated


def instances():
    return {
        "chain_100": Instance(
            chain(100, seed=1), sram="4 MiB",
            why="A chain of 100 kernels.  Its order ideals are its prefixes, so segments of the"
            " one topological order hold the optimum: all the time goes into tables and bounds."),
        "layers_40": Instance(
            layers(10, 4, seed=1), sram="4 MiB",
            why="Forty kernels in ten layers, half of all tensors between neighbours.  Orders are"
            " many and nothing is symmetric: bounds and dominance do the work."),
        "layers_40_core_allocation": Instance(
            layers(10, 4, seed=1), sram="4 MiB", cores=128, link="200 GB/s", utilization=0,
            why="layers_40 with cores allocated, few enough of them that compute and network"
            " bind about equally: what an allocation for every closed partition costs."),
        "experts_8": Instance(
            experts(8, inner=4096, tokens=256), sram="8 MiB",
            why="Eight equal experts that share the tokens.  Without breaking their symmetry"
            " every optimum has 8! twins."),
    }


def flow(record):
    return "{" + ", ".join(f"{key}: {value}" for key, value in record.items()) + "}"


def text(name, instance):
    execution = {"style": "dataflow", "overlap": "perfect"}
    if instance.utilization:
        execution["compute_utilization"] = instance.utilization
    lines = [f"# {line}" for line in textwrap.wrap(instance.why, 78)]
    lines += [
        "# Made by bench/make_instances.py.",
        "workload:",
        "  kind: graph",
        f"  sequence: {SEQUENCE}",
        "  kernels:",
        *[f"    - {flow(kernel)}" for kernel in instance.graph.kernels],
        "  tensors:",
        *[f"    - {flow(tensor)}" for tensor in instance.graph.tensors],
        "system:",
        "  chips: 8",
        f"  accelerator: {{cores: {instance.cores}, lanes: 32, stages: 6, frequency: 1.25 GHz,"
        f" sram: {instance.sram}}}",
        "  memory: {bandwidth: 200 GB/s}",
        f"  network: [{{topology: ring, degree: 8, bandwidth: {instance.link},"
        " strategy: tensor}]",
        f"execution: {flow(execution)}",
        "equations: {shapes: unchecked}",
        "search: {sharding: least_bytes}",
    ]
    return "\n".join(lines) + "\n"


def main():
    default = pathlib.Path(__file__).resolve().parent / "instances"
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else default
    folder.mkdir(parents=True, exist_ok=True)
    for name, instance in instances().items():
        (folder / f"{name}.yaml").write_text(text(name, instance))


if __name__ == "__main__":
    main()
