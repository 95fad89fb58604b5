"""The instances that dfsearch and MILP solvers are compared on.

Real layers and seeded random graphs, each with three sizes of SRAM, so that the
best mapping has few, several and many partitions.  Large graphs are those of
scale_instances.py, as they are there.  Network, micro-batch and tile are decided:
the linear programs take them as given.
"""

import dataclasses
import json
import pathlib
import random

import scale_instances
from graph_text import Graph, flow
from support import ROOT

CONFIGS = ROOT / "configs"


@dataclasses.dataclass
class Instance:
    name: str
    config: str                 # the text of a config, or
    file: pathlib.Path | None   # a config that is there
    kernels: int
    sram: str
    partitions: int             # at most
    published: str = ""         # what Gurobi took for the nearest published run
    seed: int | None = None
    changes: tuple = ()         # of the config, as --set takes them

    def overrides(self):
        sizes = (f"system.accelerator.sram={self.sram}", f"execution.partitions={self.partitions}")
        return [word for change in self.changes + sizes for word in ("--set", change)]


def of_config(name, kernels, sizes, published="", changes=()):
    """`sizes`: pairs of SRAM and number of partitions; the second is the published one."""
    return [Instance(f"{name}, {sram}", "", CONFIGS / f"{name}.yaml", kernels, sram, partitions,
                     published if place == 1 else "", changes=changes)
            for place, (sram, partitions) in enumerate(sizes)]


def random_graph(kernels, seed):
    """Each kernel reads one to three of the six before it; a third has weights."""
    rng = random.Random(seed)
    graph = Graph()
    for i in range(kernels):
        kind = rng.choice(["weight_gemm", "gemm", "elementwise"])
        extents = {"M": rng.choice([256, 512, 1024, 2048, 4096])}
        if kind != "elementwise":
            extents["K"] = rng.choice([256, 512, 1024, 2048])
        before = [f"k{j}" for j in range(max(0, i - 6), i)]
        producers = rng.sample(before, min(len(before), rng.randint(1, 3)))
        graph.kernel(f"k{i}", kind, *producers, **extents)
    return graph


def text(graph, machine, workload):
    return "\n".join([
        "workload:", "  kind: graph", *workload,
        "  kernels:", *[f"    - {flow(kernel)}" for kernel in graph.kernels],
        "  tensors:", *[f"    - {flow(tensor)}" for tensor in graph.tensors],
        *machine, "execution: {style: dataflow, overlap: perfect, compute_utilization: 0.9}",
        "equations: {shapes: unchecked}", ""])


EIGHT_CHIPS = (
    "system:", "  chips: 8",
    "  accelerator: {cores: 640, lanes: 32, stages: 6, frequency: 1.25 GHz, sram: 8 MiB}",
    "  memory: {bandwidth: 200 GB/s}",
    "  network: [{topology: ring, degree: 8, bandwidth: 100 GB/s, strategy: tensor}]")

RANDOM = {  # kernels, seed: SRAM and number of partitions
    (12, 1): (("24 MiB", 4), ("12 MiB", 6), ("6 MiB", 10)),
    (20, 2): (("64 MiB", 4), ("32 MiB", 8), ("24 MiB", 12)),
    (30, 3): (("96 MiB", 4), ("32 MiB", 10), ("16 MiB", 20)),
}

LARGE = {  # of scale_instances.py: kernels, SRAM, number of partitions, tile
    "training_2": (82, "640 MiB", 16, 4),
}


def large_instances():
    """Their tiles are given, since several may be as good and make different programs."""
    known = scale_instances.instances()
    return [Instance(name, json.dumps(known[name]()), None, kernels, sram, partitions,
                     changes=(f"workload.tile={tile}",))
            for name, (kernels, sram, partitions, tile) in LARGE.items()]


def instances():
    found = of_config("gpt3_175b_dataflow_8x1", 18,
                      [("480 MiB", 4), ("320 MiB", 4), ("40 MiB", 18)],
                      "limit of 1200 s on 144 threads, 1.154 times our step time")
    found += of_config("gpt3_1t", 41, [("2560 MiB", 6), ("640 MiB", 6), ("320 MiB", 16)],
                       "262.7 s to gap 0.001 on 144 threads, the same step time")
    # Shipped kernel by kernel, which leaves nothing to decide.
    found += of_config("dlrm", 60, [("4096 MiB", 8), ("1280 MiB", 12), ("640 MiB", 24)],
                       changes=("execution.style=dataflow",))
    for (kernels, seed), sizes in RANDOM.items():
        graph = text(random_graph(kernels, seed), EIGHT_CHIPS,
                     ["  sequence: 2048", "  tile: 256"])
        for sram, partitions in sizes:
            found.append(Instance(f"random {kernels} (seed {seed}), {sram}", graph, None, kernels,
                                  sram, partitions, seed=seed))
    return found
