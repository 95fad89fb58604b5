#!/usr/bin/env python3
"""Renews docs/technology_validation.md: published figures of DeepFlow / CrossFlow.

    tools/dev/technology_figures.py DFSEARCH [--write] [FIGURE...]

Runs every point of the figures, of all if none is named, which takes some minutes; exit status 1 if
the page has other numbers.  The configs are configs/figures/deepflow_*.yaml and configs/chips/.
"""

import math
import os
import sys

import tables
from tables import repeated, seconds

NODES = ("n12", "n10", "n7", "n5", "n3", "n2", "n1")
MEMORIES = (("HBM2", "1 TB/s"), ("HBM4", "3.3 TB/s"))
NETWORKS = (("NDR", "100 GB/s"), ("XDR", "200 GB/s"), ("GDR", "400 GB/s"))
SIZES = (2048, 3072, 4096, 5120, 6144)
LAUNCH = ("--published", "--set", "execution.launch_overhead=9 us")


def solve(program, config, *changes):
    return tables.solve(program, f"configs/figures/deepflow_{config}.yaml", *changes,
                        threads=os.cpu_count())


def gemm(program, chip, *words):
    return tables.run_json(program, "gemm", f"configs/chips/{chip}.yaml", *words)


def percent(value):
    return tables.percent(value if abs(value) > 1e-9 else 0, ".3g")


def lstm(hidden, vocabulary, tokens):
    """Changes of the extents of the kernels of configs/figures/deepflow_lstm_*.yaml."""
    d, v, n = hidden, vocabulary, tokens
    gemms = [(4 * d, 2 * d, n), (4 * d, 1, n), (4 * d, 2 * d, n), (4 * d, 1, n), (v, d, n),
             (d, v, n), (v, n, d), (v, 1, n)]
    for _ in range(2):
        gemms += [(4 * d, 1, n), (2 * d, 4 * d, n), (4 * d, n, 2 * d)]
    changes = [f"workload.sequence={n}"]
    for i, (m, k, columns) in enumerate(gemms):
        changes += [f"workload.kernels.{i}.M={m}", f"workload.kernels.{i}.N={columns}"]
        if k > 1:
            changes.append(f"workload.kernels.{i}.K={k}")
    # Tensors that hold a part of an output, the hidden state twice or once.
    for i, rows in ((2, 2 * d), (3, d), (7, d), (11, 2 * d)):
        changes.append(f"workload.tensors.{i}.rows={rows}")
    return changes


def figure_1(program, page):
    rows = []
    for chips in (8, 64, 512, 4096, 65536):
        row = [chips]
        for loop in ("M", "K"):
            result = solve(program, "gemm_sharded", f"system.chips={chips}",
                           f"system.network.0.degree={chips}", f"sharding.pins.GEMM={loop}")
            intensity = result["operational_intensity"]["network"]
            row += ["no traffic" if intensity is None else f"{intensity:.4g}",
                    seconds(result["step_time"])]
        rows.append(row)
    page.table("Figure 1:", rows)


def cubes(sizes):
    """Shapes of all GEMMs whose extents are among the sizes, as options."""
    return repeated("--shape", [f"{m}x{k}x{n}" for m in sizes for k in sizes for n in sizes])


def p4_times(program):
    return gemm(program, "p4", *LAUNCH, *cubes(range(4096, 32769, 4096)))["gemms"]


def differences(gemms):
    """Relative differences of the published times in order, by the level that binds."""
    found = {}
    for each in gemms:
        binds = max(each["times"], key=each["times"].get)
        found.setdefault(binds, []).append(each["published_time"] / each["time"] - 1.0)
    return {binds: sorted(values) for binds, values in found.items()}


def spread(values):
    return [percent(values[i]) for i in (0, len(values) // 2, -1)]


def figure_6(program, page):
    found = differences(p4_times(program))
    ratios = sorted(value for values in found.values() for value in values)
    page.table("Figure 6:", [[len(ratios), *spread(ratios),
                              len(ratios) - len(found.get("compute", ()))]])
    mixed = gemm(program, "v100", "--published", *cubes((64, 256, 1024, 4096, 16384)))["gemms"]
    page.table("Figure 6:", [[binds, len(values), *spread(values)]
                             for binds, values in sorted(differences(mixed).items())], 1)


def sharded_steps(program, sizes, degrees, loops):
    """The steps of cubed GEMMs of these sizes on a grid of chips, a loop along each axis."""
    network = ", ".join(f"{{topology: ring, degree: {degree}, link: inter, strategy: tensor}}"
                        for degree in degrees)
    return [solve(program, "gemm_sharded",
                  *(f"workload.kernels.0.{extent}={size}" for extent in "MKN"),
                  "workload.kernels.0.tiled=none", f"system.chips={math.prod(degrees)}",
                  f"system.network=[{network}]", f"sharding.axes={len(degrees)}",
                  f"sharding.pins.GEMM={'/'.join(loops)}")["step_time"] for size in sizes]


def strategies_of_figure_7():
    """Names of strategies, degrees of their axes, and the loop along each axis."""
    for chips in (1, 2, 4, 8):
        for rows in (each for each in (1, 2, 4, 8) if chips % each == 0):
            columns = chips // rows
            name = f"RC-{rows}-{columns}"
            if columns == 1:
                yield name, (rows,), ("M",)
            elif rows == 1:
                yield name, (columns,), ("N",)
            else:
                yield name, (rows, columns), ("M", "N")
        if chips > 1:
            yield f"CR-{chips}", (chips,), ("K",)


def figure_7(program, page):
    sizes = (4096, 8192, 16384, 32768)
    names = {}  # of strategies that take the same times
    for name, degrees, loops in strategies_of_figure_7():
        steps = tuple(map(seconds, sharded_steps(program, sizes, degrees, loops)))
        names.setdefault(steps, []).append(name)
    page.table("Figure 7:", [[", ".join(same), *steps] for steps, same in names.items()])


def figure_8(program, page):
    def cell(hidden, vocabulary, batch):
        result = solve(program, "lstm_v100", *lstm(hidden, vocabulary, 20 * batch))
        return f"{result['step_time']:.4g} s, {percent(result['utilization'])}"

    page.table("Figure 8:", [[hidden, vocabulary,
                              *(cell(hidden, vocabulary, batch) for batch in SIZES)]
                             for hidden in SIZES[::2] for vocabulary in (SIZES[0], SIZES[-1])])


def at_node(node):
    return f"system.technology.from=../technologies/nodes/{node}.yaml"


def step_at(program, node, memory="1 TB/s", network="100 GB/s"):
    return solve(program, "lstm_512", at_node(node), f"system.memory.bandwidth={memory}",
                 f"system.network.0.bandwidth={network}")


def bound_by_level(result):
    """The share of compute time in partitions that an on-chip level bounds."""
    levels = ("registers", "L1", "L2")
    whole = sum(part["time"] for part in result["partitions"])
    return sum(part["compute"] for part in result["partitions"]
               if part["bound_by"] in levels) / whole


def figure_9(program, page):
    found = {(node, memory, network): step_at(program, node, bandwidth, speed) for node in NODES
             for memory, bandwidth in MEMORIES for network, speed in NETWORKS}
    page.table("Figure 9:", [
        [f"{memory}, {network}", *(seconds(found[node, memory, network]["step_time"])
                                   for node in NODES)]
        for memory, _ in MEMORIES for network, _ in NETWORKS])
    slow, fast = ("HBM2", "NDR"), ("HBM4", "GDR")

    def gain(before, after):
        return percent(found[before]["step_time"] / found[after]["step_time"] - 1.0)

    def nodes(before, after, kind):
        return gain((before, *kind), (after, *kind))

    page.table("Figure 9:", [
        [", ".join(kind), nodes("n12", "n7", kind), nodes("n7", "n3", kind),
         nodes("n3", "n1", kind), percent(bound_by_level(found[("n12", *kind)])),
         *(percent(found[(node, *kind)]["time_shares"]["network"]) for node in ("n12", "n3"))]
        for kind in (slow, fast)], 1)

    def words(*texts):
        return [text.split()[0] for text in texts]

    page.numbers("network the step gains {} % from N12 to N7 and {} % from N3 to N1.",
                 *words(nodes("n12", "n7", slow), nodes("n3", "n1", slow)))
    for sentence, other in (
            ("A network of four times the bandwidth brings {} % at N12, {} % at N3 and {} % at N1;",
             ("HBM2", "GDR")),
            ("a memory of 3.3 times {} %, {} % and {} %.", ("HBM4", "NDR"))):
        page.numbers(sentence, *words(*(gain((node, *slow), (node, *other))
                                        for node in ("n12", "n3", "n1"))))
    page.numbers("kernels that it bounds take {} % of the step,",
                 *words(percent(bound_by_level(found[("n12", *slow)]))))


def shares_of(result):
    return "; ".join(f"{budget} " + ", ".join(f"{part} {share:.2g}" for part, share in
                                              parts.items())
                     for budget, parts in result["split"].items() if parts)


def figure_10(program, page):
    rows, opened = [], []
    for node in ("n12", "n7", "n3"):
        alone = step_at(program, node)["step_time"]
        parallel, split, everything = (solve(program, f"lstm_{config}", at_node(node))
                                       for config in ("parallel", "split", "codesign"))
        best, least = parallel["step_time"], split["step_time"]
        rows.append([node.upper(), seconds(alone), seconds(best), percent(alone / best - 1.0),
                     seconds(least), percent(best / least - 1.0), shares_of(split)])
        opened.append([node.upper(), seconds(everything["step_time"]),
                       percent(everything["gap"]), shares_of(everything)])
    page.table("Figure 10:", rows)
    page.table("Figure 10:", opened, 1)


def figure_11(program, page):
    rows = []
    for node in ("n7", "n3"):
        steps = [solve(program, "lstm_package", at_node(node), f"system.network.0.degree={chips}",
                       f"system.network.2.degree={64 // chips}")["step_time"]
                 for chips in (1, 2, 4, 8)]
        row = [node.upper(), seconds(steps[0])]
        for before, step in zip(steps, steps[1:]):
            row += [seconds(step), percent(before / step - 1.0)]
        rows.append(row)
    page.table("Figure 11:", rows)


FIGURES = {"1": figure_1, "6": figure_6, "7": figure_7, "8": figure_8, "9": figure_9,
           "10": figure_10, "11": figure_11}


def main():
    options = tables.options(__doc__, ("figures", {"nargs": "*", "metavar": "FIGURE"}))
    if not set(options.figures) <= set(FIGURES):
        sys.exit(__doc__)
    page = tables.Page("technology_validation.md")
    for name in options.figures or FIGURES:
        FIGURES[name](options.program, page)
    tables.finish(tables.renew({page.file: page.text}, options.write))


if __name__ == "__main__":
    main()
