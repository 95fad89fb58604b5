#!/usr/bin/env python3
"""Makes docs/dfmodel_studies.md: the studies of the DFModel paper, with what is published beside.

    ./dev validate [--write]

Runs the studies of configs/studies/ and the published configs whose points are in them.  Exit
status 1 if a point is not proved, if an optimum under the pins of a published run is above the
published step, or if the page says something else (times aside).
"""

import argparse
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import published_configs  # noqa: E402
import study_runs  # noqa: E402
import validate  # noqa: E402
from markdown_text import wrapped  # noqa: E402
from published_figures import PUBLISHED, RAIL_STEPS, SERVING_TOKENS  # noqa: E402
from validation_page import number, small, table_of  # noqa: E402

PAGE = published_configs.ROOT / "docs" / "dfmodel_studies.md"

CHIPS = ("h100", "tpu_v4", "sn30", "wse2")
NETWORKS = ("2d_torus", "3d_torus", "dragonfly", "dgx1", "dgx2")
MEMORIES = ("ddr", "hbm")
LINKS = ("pcie", "nvlink")

SYSTEMS = {"systems_gpt3": "GPT3-1T", "systems_dlrm": "DLRM", "systems_hpl": "HPL",
           "systems_fft": "FFT"}

INTRODUCTION = """\
# The studies of DFModel

The studies of the DFModel paper (Ko et al.), each a file of `configs/studies/` and one command
([studies.md](studies.md)). `./dev validate --write` writes this page, and a test holds it to the
program. Every point is proved with gap 0.

```sh
dfsearch study configs/studies/rail_only.yaml -o rail_only
```

Published runs are in [validation.md](validation.md); where one is of a point below, its step stands
beside ours, and what it is times the optimum under the run's own pins, in parentheses where inputs
had to be guessed.

"""

SYSTEMS_TEXT = """\
## 80 machines, four workloads

1,024 chips of four kinds in five networks, with two memories and two links. The top of each file
says which inputs come from a published set-up and which follow from the pattern of the others. A
cell of the tables of 80 has the utilization, what most of the step goes to, and the GFLOP/s for a
dollar and for a watt.

"""


def check(names, published):
    """What is above a published step though all its inputs are known, one text each."""
    for study in names:
        for labels, case_id in PUBLISHED.get(study, {}).items():
            case = published[case_id]
            if case.comparable and case.ratio is not None and case.ratio < 1 - validate.EXACT:
                yield f"{study}: {', '.join(labels)}: above case {case_id}"


def published_cases(program):
    wanted = {case for points in PUBLISHED.values() for case in points.values()}
    cases = {}
    for record in published_configs.records():
        if record["id"] in wanted:
            case = validate.Case(record)
            case.solution, _ = validate.solve(program, published_configs.file_of(record))
            cases[record["id"]] = case
    return cases


def ratio(case):
    text = small(case.ratio)
    return text if case.comparable else f"({text})"


def published_cell(case):
    link = f"[{case.record['id']}](../configs/published/" \
           f"{published_configs.file_of(case.record).name})"
    return f"{link}: {number(case.published_step)} s, {ratio(case)}"


def percent(share):
    return f"{100 * share:.1f} %"


def heat_map(run, cell):
    """Networks beside each other, everything else below each other."""
    lines = [[chip, memory, link, *(cell(run[chip, network, memory, link])
                                    for network in NETWORKS)]
             for chip in CHIPS for memory in MEMORIES for link in LINKS]
    return table_of(["chip", "memory", "link", *NETWORKS], lines) + "\n"


def kinds_of_time(run):
    """What the steps of a study are spent on; bubble and transfer only if a pipeline has them."""
    found = ["compute", "memory", "network"]
    return found + [kind for kind in ("bubble", "transfer")
                    if any(row["time_shares"][kind] > 0 for row in run.rows.values())]


def shares(row, kinds):
    """In whole percent."""
    return " / ".join(f"{100 * row['time_shares'][kind]:.0f}" for kind in kinds)


def digits(value):
    """Three of them, or all before the point."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def figures(row):
    return (f"{percent(row['utilization'])} {row['bound_by']} / {digits(row['cost_efficiency'] / 1e9)} / "
            + digits(row["power_efficiency"] / 1e9))


def most(run, figure):
    """The machine with the most of a figure, and how much that is."""
    best = max(run.rows, key=lambda labels: run[labels][figure])
    return " ".join(best), run[best][figure]


def systems_section(study, run):
    (fastest, share), (cheapest, dollar), (coolest, watt) = (
        most(run, figure) for figure in ("utilization", "cost_efficiency", "power_efficiency"))
    return (
        f"### {SYSTEMS[study]}\n\n`{study}`: at most {percent(share)} ({fastest}),"
        f" {digits(dollar / 1e9)} GFLOP/s for a dollar ({cheapest}) and {digits(watt / 1e9)} for a watt ({coolest}).\n\n"
        + heat_map(run, figures))


def plain_section(study, title, text, axes, run, published):
    """A row for each point of all axes but the first, whose choices are side by side."""
    kinds, lines, choices = kinds_of_time(run), {}, []
    for (choice, *labels), row in run.rows.items():
        choices += [choice] * (choice not in choices)
        case = PUBLISHED[study].get((choice, *labels))
        lines.setdefault(tuple(labels), []).extend(
            [f"{number(row['step_time'])} s", percent(row["utilization"]), shares(row, kinds),
             published_cell(published[case]) if case else ""])
    head = axes[1:]
    for choice in choices:
        head += [f"{axes[0]}: {choice.replace('_', ' ')}", "utilization",
                 " / ".join(kinds) + ", %", "published run"]
    return (f"## {title}\n\n`{study}`: {text}\n\n"
            + table_of(head, [[*labels, *cells] for labels, cells in lines.items()]) + "\n")


def serving_section(run):
    lines = {}
    for (kind, tensor), row in run.rows.items():
        serving = row["serving"]
        time = serving["time_to_first_token"] or serving["time_per_output_token"]
        printed = SERVING_TOKENS.get((kind, tensor))
        lines.setdefault(tensor, [f"{tensor} x {16 // int(tensor)}"]).extend(
            [f"{1000 * time:.5g} ms", f"{serving['tokens_per_second']:,.1f}"
             + (f" ({printed:,})" if printed else "")])
    return (
        f"## Serving (Fig. 20)\n\n`serving`: "
        "Llama-3 8B on sixteen SN40L; the paper prints one rate, here in parentheses.\n\n"
        + table_of(["tensor x pipeline", "prefill: time to first token", "tokens/s",
                    "decode: time per output token", "tokens/s"], lines.values()) + "\n")


def speculation_section(run):
    rows = {}
    for (drafts, model, _, window), row in run.rows.items():
        token = row["serving"]["time_per_output_token"]
        rows.setdefault((drafts, model), {}).setdefault(window, []).append(f"{1 / token:.1f}")
    return (
        f"## Speculative decoding (Fig. 21)\n\n`speculation`:"
        " tokens/s of a user of Llama-3.1 405B on sixteen SN40L, with drafts of a smaller model, by"
        " the window, the levels that are drafted, at an acceptance of 0.5, 0.7 and 0.9. What the"
        " figure shows holds: trees need the smallest draft and a short window; in sequences 68M and"
        " 8B are good and 70B is too heavy; window and acceptance raise a sequence together. The"
        " equations of its set-ups, which add FLOP, bytes and exchanges ([serving.md](serving.md),"
        " (5) takes the longer of FLOP and bytes), give up to 2 % less for sequences, and for trees"
        " of 256 tokens up to 14 % less.\n\n"
        + table_of(["drafts", "model", *range(1, 9)],
                   [[*labels, *map(" / ".join, windows.values())]
                    for labels, windows in rows.items()]) + "\n")


def page(program):
    """The page, and what is wrong."""
    runs = {name: study_runs.run(program, name)
            for name in (*SYSTEMS, "sram_dram", "rail_only", "serving", "speculation",
                         "memory_3d")}
    published = published_cases(program)
    total = sum(runs[name].time for name in SYSTEMS)
    text = INTRODUCTION + SYSTEMS_TEXT
    text += (f"The {len(SYSTEMS)} studies took {total:.1f} s here, from start to results and pages,"
             " on two threads.\n\n")
    for name in SYSTEMS:
        text += systems_section(name, runs[name])
    text += plain_section(
        "sram_dram", "SRAM against memory (Fig. 19)",
        "GPT3-175B on eight SN10. Only the set-up of the largest point was read: the middle and"
        " small SRAM are what the paper calls 300 MB and 150 MB, and the number of partitions is"
        " left open.", ["style", "SRAM", "memory"], runs["sram_dram"], published)
    text += plain_section(
        "rail_only", "Rails only (Fig. 7)",
        "GPT3-1T on 16,384 H100, eight for a layer and two stages, whatever the domain. As"
        " published, tensor and data groups both count all chips of a domain as fast neighbours;"
        " physically the tensor group fills it first. Both curves flatten, the published one from"
        " domains of 16 on, the physical one from 64. The logs of domains of "
        + ", ".join(RAIL_STEPS) + " give "
        + ", ".join(f"{step:.10g}" for step in RAIL_STEPS.values()) + " s.",
        ["rule", "chips of a domain"], runs["rail_only"], published)
    text += serving_section(runs["serving"]) + speculation_section(runs["speculation"])
    text += plain_section(
        "memory_3d", "Memory in three dimensions (Fig. 22)",
        "a forward pass of a transformer of 100 trillion parameters on eight chips (the text of the"
        " paper says training, on 1,024). The share of the die that cores have; SRAM has the rest."
        " *Pieces*: what those of a weight that is cut move again (`weight_pieces` in"
        " [formats.md](formats.md)).",
        ["pieces", "memory", "share"], runs["memory_3d"], published)
    return wrapped(text.rstrip("\n") + "\n"), list(check(runs, published))


def without_times(text):
    return re.sub(r"took [\d.]+ s here", "took here", text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", metavar="DFSEARCH")
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.name}")
    options = parser.parse_args()
    text, wrong = page(str(pathlib.Path(options.program).resolve()))
    old = PAGE.read_text(encoding="utf-8") if PAGE.is_file() else ""
    if options.write:
        PAGE.write_text(text, encoding="utf-8")
    elif without_times(old) != without_times(text):
        wrong.append("docs/dfmodel_studies.md says something else: ./dev validate --write")
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
