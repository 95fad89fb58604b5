#!/usr/bin/env python3
"""What is published of DeepFlow / CrossFlow, regenerated: docs/technology_validation.md.

    tools/dev/technology_figures.py DFSEARCH [FIGURE...]
    tools/dev/technology_figures.py DFSEARCH --write

Runs every point of the figures, of all if none is named; exit status 1 says that the page has other
numbers.  With --write it makes the page, which takes some minutes.  The words are here, the configs
in configs/figures/deepflow_*.yaml and configs/chips/.
"""

import json
import math
import pathlib
import subprocess
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "technology_validation.md"
FIGURES = "configs/figures"
NODES = ("n12", "n10", "n7", "n5", "n3", "n2", "n1")
MEMORIES = (("HBM2", "1 TB/s"), ("HBM4", "3.3 TB/s"))
NETWORKS = (("NDR", "100 GB/s"), ("XDR", "200 GB/s"), ("GDR", "400 GB/s"))
SIZES = (2048, 3072, 4096, 5120, 6144)


class Dfsearch:
    def __init__(self, program):
        self.program = pathlib.Path(program).resolve()

    def run(self, *words):
        done = subprocess.run(
            [self.program, *map(str, words), "--json", "-"], cwd=ROOT, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=1800, check=False)
        if done.returncode != 0:
            sys.exit(f"{words}: status {done.returncode}\n{done.stderr}")
        return json.loads(done.stdout)

    def solve(self, config, *changes):
        sets = [word for change in changes for word in ("--set", change)]
        return self.run(f"{FIGURES}/{config}.yaml", *sets, "--quiet")


def table(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    lines += ["| " + " | ".join(map(str, row)) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def wrapped(text):
    """The paragraphs of a page at 100 columns; headings and tables as they are."""
    blocks = [block if block.startswith(("#", "|")) else
              textwrap.fill(block, 100, break_long_words=False, break_on_hyphens=False)
              for block in text.strip("\n").split("\n\n")]
    return "\n\n".join(blocks) + "\n"


def seconds(value):
    return f"{1e3 * value:.4g} ms" if value < 1.0 else f"{value:.4g} s"


def percent(value):
    return f"{100.0 * value if abs(value) > 1e-9 else 0:.3g} %"


def lstm(hidden, vocabulary, tokens):
    """The extents of the kernels of configs/figures/deepflow_lstm_*.yaml, in their order."""
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
    # Values that are a part of an output: the hidden state, twice or once.
    for i, rows in ((2, 2 * d), (3, d), (7, d), (11, 2 * d)):
        changes.append(f"workload.tensors.{i}.rows={rows}")
    return changes


def figure_1(tool):
    rows = []
    for chips in (8, 64, 512, 4096, 65536):
        row = [chips]
        for loop in ("M", "K"):
            result = tool.solve("deepflow_gemm_sharded", f"system.chips={chips}",
                                f"system.network.0.degree={chips}", f"sharding.pins.GEMM={loop}")
            intensity = result["operational_intensity"]["network"]
            row += ["no traffic" if intensity is None else f"{intensity:.4g}",
                    seconds(result["step_time"])]
        rows.append(row)
    return f"""## Figure 1: one GEMM of 65,536 x 65,536 x 65,536 over many V100

`{FIGURES}/deepflow_gemm_sharded.yaml`. FLOP for a byte on the network, and the time, if rows
are shared out (M) or the sum is (K). Assumed: a ring, and that sharing out rows moves nothing. The
figure's point holds: with K the intensity falls as 1 / p, and past some ten chips the network is all
there is.

""" + table(["chips", "M: intensity", "M: step", "K: intensity", "K: step"], rows)


def figure_6(tool):
    sizes = range(4096, 32769, 4096)
    shapes = [f"{m}x{k}x{n}" for m in sizes for k in sizes for n in sizes]
    words = [word for shape in shapes for word in ("--shape", shape)]
    times = tool.run("gemm", "configs/chips/p4.yaml", "--published", "--set",
                     "execution.launch_overhead=9 us", *words)["gemms"]
    ratios = sorted(gemm["published_time"] / gemm["time"] - 1.0 for gemm in times)
    bound = sum(max(gemm["times"], key=gemm["times"].get) != "compute" for gemm in times)
    rows = [[len(times), percent(ratios[0]), percent(ratios[len(ratios) // 2]),
             percent(ratios[-1]), bound]]
    small = (64, 256, 1024, 4096, 16384)
    words = [word for m in small for k in small for n in small
             for word in ("--shape", f"{m}x{k}x{n}")]
    differences = {}
    for gemm in tool.run("gemm", "configs/chips/v100.yaml", "--published", *words)["gemms"]:
        binds = max(gemm["times"], key=gemm["times"].get)
        differences.setdefault(binds, []).append(gemm["published_time"] / gemm["time"] - 1.0)
    mixed = [[binds, len(found), percent(min(found)), percent(sorted(found)[len(found) // 2]),
              percent(max(found))] for binds, found in sorted(differences.items())]
    return f"""## Figure 6: GEMMs of 4 K to 32 K on a P4

`configs/chips/p4.yaml`, launch overhead 9 us, m, k and n in steps of 4 K. The procedure of the
public code beside (21) of [technology.md](technology.md): the relative difference of the published
time.

""" + table(["shapes", "least", "median", "greatest", "not bound by compute"], rows) + """
All are bound by computing, so both say the same but for the FLOP, which the public code counts as
m n (2 k - 1).

The same on a V100 without a launch, for m, k and n of 64, 256, 1024, 4096 and 16,384, by what binds
here:

""" + table(["bound by", "shapes", "least", "median", "greatest"], mixed) + """
Where memory binds both move each operand once. Where the L2 binds the published time is the lesser
one: its first two tiles may take half as much again as the memory further in has, and a result that
does not stay counts once between levels, not once for each piece of the sum.
"""


def sharded_steps(tool, sizes, degrees, loops):
    """The steps of cubed GEMMs of these sizes on a grid of chips, a loop along each axis."""
    network = ", ".join(f"{{topology: ring, degree: {degree}, link: inter, strategy: tensor}}"
                        for degree in degrees)
    return [tool.solve("deepflow_gemm_sharded",
                       *(f"workload.kernels.0.{extent}={size}" for extent in "MKN"),
                       "workload.kernels.0.tiled=none", f"system.chips={math.prod(degrees)}",
                       f"system.network=[{network}]", f"sharding.axes={len(degrees)}",
                       f"sharding.pins.GEMM={'/'.join(loops)}")["step_time"] for size in sizes]


def strategies_of_figure_7():
    """Each with the degrees of its axes and a loop along each."""
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


def figure_7(tool):
    sizes = (4096, 8192, 16384, 32768)
    names = {}  # of strategies that take the same times
    for name, degrees, loops in strategies_of_figure_7():
        steps = tuple(map(seconds, sharded_steps(tool, sizes, degrees, loops)))
        names.setdefault(steps, []).append(name)
    rows = [[", ".join(same), *steps] for steps, same in names.items()]
    return f"""## Figure 7: the same on 1, 2, 4 and 8 V100 of a DGX-1

`{FIGURES}/deepflow_gemm_sharded.yaml`. RC-a-b divides the rows of the result into a and its columns
into b parts, CR-a the sum into a. Assumed: rings of the wires of a V100's budget, 25.8 GB/s in a
direction, along each axis; which link the paper used is not known. Times overlap with communication,
and parts of the result stay where they are made.

""" + table(["strategy", *(f"m = k = n = {size:,}" for size in sizes)], rows)


def figure_8(tool):
    rows = []
    for hidden in SIZES[::2]:
        for vocabulary in (SIZES[0], SIZES[-1]):
            row = [hidden, vocabulary]
            for batch in SIZES:
                result = tool.solve("deepflow_lstm_v100", *lstm(hidden, vocabulary, 20 * batch))
                row.append(f"{result['step_time']:.4g} s, {percent(result['utilization'])}")
            rows.append(row)
    return f"""## Figure 8: an LSTM language model on a V100

`{FIGURES}/deepflow_lstm_v100.yaml`: a step of training and the share of the peak, for batches
of 2 K to 6 K; 30 of the 125 points. Assumed: 20 steps and all four gates are one GEMM of each layer,
in two bytes, and any memory; the serial chain of steps is lost, and the reload of weights at each
step. Point-wise kernels move through memory here, through registers there.

""" + table(["hidden", "vocabulary"] + [f"batch {batch}" for batch in SIZES], rows)


def at_node(node):
    return f"system.technology.from=../technologies/nodes/{node}.yaml"


def step_at(tool, node, memory, network):
    return tool.solve("deepflow_lstm_512", at_node(node), f"system.memory.bandwidth={memory}",
                      f"system.network.0.bandwidth={network}")


def bound_by_level(result):
    """The share of compute time in partitions that an on-chip level bounds."""
    levels = ("registers", "L1", "L2")
    whole = sum(part["time"] for part in result["partitions"])
    return sum(part["compute"] for part in result["partitions"]
               if part["bound_by"] in levels) / whole


def figure_9(tool):
    steps, shares = {}, {}
    for node in NODES:
        for memory, bandwidth in MEMORIES:
            for network, speed in NETWORKS:
                result = step_at(tool, node, bandwidth, speed)
                steps[node, memory, network] = result["step_time"]
                shares[node, memory, network] = result["time_shares"], bound_by_level(result)
    rows = [[f"{memory}, {network}"] + [seconds(steps[node, memory, network]) for node in NODES]
            for memory, _ in MEMORIES for network, _ in NETWORKS]
    text = f"""## Figure 9: logic, memory and network

`{FIGURES}/deepflow_lstm_512.yaml`: 512 chips, each with its share of the batch. Assumed: the
split of the budgets of a V100, scaled to 850 mm2; the nodes of the authors' stored runs (area 0.67, power and
energy 0.54, voltage 0.9 each), not the factors of the text, 1.8 and 1.3; a switch of all chips with one port; any memory capacity. A
step of training:

""" + table(["memory, network"] + [node.upper() for node in NODES], rows)
    slow, fast = ("HBM2", "NDR"), ("HBM4", "GDR")

    def gain(before, after, kind):
        return steps[(before, *kind)] / steps[(after, *kind)] - 1.0

    facts = []
    for kind in (slow, fast):
        time_shares, level = shares[("n12", *kind)]
        late, _ = shares[("n3", *kind)]
        facts.append([", ".join(kind), percent(gain("n12", "n7", kind)),
                      percent(gain("n7", "n3", kind)), percent(gain("n3", "n1", kind)),
                      percent(level), percent(time_shares["network"]), percent(late["network"])])
    network = [steps[node, "HBM2", "NDR"] / steps[node, "HBM2", "GDR"] - 1.0
               for node in ("n12", "n3", "n1")]
    memory = [steps[node, "HBM2", "NDR"] / steps[node, "HBM4", "NDR"] - 1.0
              for node in ("n12", "n3", "n1")]
    return text + """
How much faster a step gets, the share of it that the L2 bounds at N12, and that of the network:

""" + table(["", "N12 to N7", "N7 to N3", "N3 to N1", "L2 at N12", "network at N12",
             "network at N3"], facts) + f"""
The paper claims *a jump from N12 to N7*, *a step that is flat beyond N3*, and that *then the network
matters most*. With the slowest memory and network the step gains
{percent(gain("n12", "n7", slow))} from N12 to N7 and {percent(gain("n3", "n1", slow))} from N3 to N1.
A network of four times the bandwidth brings {percent(network[0])} at N12, {percent(network[1])} at N3
and {percent(network[2])} at N1; a memory of 3.3 times {percent(memory[0])}, {percent(memory[1])} and
{percent(memory[2])}. So these three are confirmed, but for a fast network, with which logic goes on
to matter beyond N3. That *N12 is bound by its L2* is not confirmed: kernels that it bounds take
{percent(shares[("n12", *slow)][1])} of the step, since (18) of [technology.md](technology.md) has the
least traffic over all tiles and the GEMMs are large.
"""


def shares_of(result):
    return "; ".join(f"{budget} " + ", ".join(f"{part} {share:.2g}" for part, share in
                                              parts.items())
                     for budget, parts in result["split"].items() if parts)


def figure_10(tool):
    rows, opened = [], []
    for node in ("n12", "n7", "n3"):
        alone = step_at(tool, node, "1 TB/s", "100 GB/s")["step_time"]
        parallel, split, everything = (tool.solve(f"deepflow_lstm_{config}", at_node(node))
                                       for config in ("parallel", "split", "codesign"))
        best, least = parallel["step_time"], split["step_time"]
        rows.append([node.upper(), seconds(alone), seconds(best), percent(alone / best - 1.0),
                     seconds(least), percent(best / least - 1.0), shares_of(split)])
        opened.append([node.upper(), seconds(everything["step_time"]),
                       percent(everything["gap"]), shares_of(everything)])
    return f"""## Figure 10: parallelism, and architecture with it

`{FIGURES}/deepflow_lstm_parallel.yaml`: two dimensions of 8 and 64 chips, each of any strategy, and
every kernel sharded along its best loop, searched together; HBM2 and NDR. Then
`{FIGURES}/deepflow_lstm_split.yaml`: areas and powers of cores, registers, L1 and L2 as well, on a
grid of 0.05, 28,997,325 splits. Both are proved.

""" + table(["node", "each chip its samples", "parallelism searched", "faster",
             "budgets searched, too", "faster by", "split"], rows) + f"""
The paper claims a factor of about 2 for parallelism alone and 20 to 30 % more with the architecture
at new nodes, both by gradient descent. By exact search parallelism is worth more at new nodes, where
the network is what is short, and the architecture less: its 20 to 30 % are those of N7. At N12 it is
worth more, since the split of a V100 leaves 46 % of its die unused.

With `{FIGURES}/deepflow_lstm_codesign.yaml` all axes are open at once: memory and links are made of
the budgets as well, 12,244,352,019,900 splits, and a GEMM divides two loops of any kind. Each is
proved within a minute of one thread.

""" + table(["node", "step", "gap", "split"], opened)


def figure_11(tool):
    rows = []
    for node in ("n7", "n3"):
        row = [node.upper()]
        before = None
        for chips in (1, 2, 4, 8):
            result = tool.solve("deepflow_lstm_package", at_node(node),
                                f"system.network.0.degree={chips}",
                                f"system.network.2.degree={64 // chips}")
            step = result["step_time"]
            row += [seconds(step)] + ([percent(before / step - 1.0)] if before else [])
            before = step
        rows.append(row)
    return f"""## Figure 11: chips of a package

`{FIGURES}/deepflow_lstm_package.yaml`: 1, 2, 4 and 8 chips fully connected with links of 2 TB/s,
the packages in two switches of 100 GB/s, 8 and the rest; all dimensions of any strategy, loops searched.
HBM2. The step, and how much faster it is than with half as many in a package:

""" + table(["node", "1", "2", "faster", "4", "faster", "8", "faster"], rows) + """
The paper claims at most 32 %, and little beyond 4 chips. That 4 suffice is confirmed: no mapping gains
by 8. In all it is 3.7 % at N7, where computing takes the time, and 37 % at N3.
"""


HEAD = """# What is published of DeepFlow, regenerated

DeepFlow / CrossFlow (Ardalani, Pal, Gupta) publishes inputs and predictions, not measurements.
`tools/dev/technology_figures.py build/release/dfsearch --write` makes this page. Chips that the
authors' runs stored agree with `dfsearch chip` to every printed digit (`tests/cli/chip_test.py`);
equations are in [technology.md](technology.md).

"""


FIGURES_OF = {"1": figure_1, "6": figure_6, "7": figure_7, "8": figure_8, "9": figure_9,
              "10": figure_10, "11": figure_11}


def main():
    words = [word for word in sys.argv[1:] if word != "--write"]
    if not words or any(word not in FIGURES_OF for word in words[1:]):
        sys.exit(__doc__)
    tool = Dfsearch(words[0])
    if "--write" in sys.argv:
        PAGE.write_text(HEAD + "\n".join(wrapped(figure(tool)) for figure in FIGURES_OF.values()))
        return
    text = PAGE.read_text()
    wrong = [name for name in words[1:] or FIGURES_OF if wrapped(FIGURES_OF[name](tool)) not in text]
    if wrong:
        sys.exit(f"{PAGE.name} has other numbers for figure {', '.join(wrong)}; "
                 "tools/dev/technology_figures.py --write mends it")


if __name__ == "__main__":
    main()
