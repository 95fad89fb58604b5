#!/usr/bin/env python3
"""Renews docs/dfmodel_studies.md: the studies of the DFModel paper, with published runs beside.

    ./dev validate [--write]

Runs the studies of configs/studies/.  The page names the published run of a point by its link.  Exit
status 1 if a point is not proved, or if the page has other numbers (times aside).
"""

import re

import tables
import validate
from tables import number, percent

CHIPS = ("h100", "tpu_v4", "sn30", "wse2")
NETWORKS = ("2d_torus", "3d_torus", "dragonfly", "dgx1", "dgx2")
SYSTEMS = {"systems_gpt3": "GPT3-1T", "systems_dlrm": "DLRM", "systems_hpl": "HPL",
           "systems_fft": "FFT"}
# Studies whose points may have a published run, and the sections that they fill.
PLAIN = {"sram_dram": "SRAM against memory", "rail_only": "Rails only",
         "memory_3d": "Memory in three dimensions"}
PRINTED = {("decode", "16"): 1188}  # tokens/s of Fig. 20


def digits(value):
    """Three of them, or all before the point."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def machine_cell(row):
    return (f"{percent(row['utilization'])} {row['bound_by']} / "
            f"{digits(row['cost_efficiency'] / 1e9)} / {digits(row['power_efficiency'] / 1e9)}")


def renew_systems(page, study, run):
    """The table of 80 machines, networks beside each other, and the best machines."""
    values = []
    for figure, form in (("utilization", lambda share: percent(share).split()[0]),
                         ("cost_efficiency", lambda value: digits(value / 1e9)),
                         ("power_efficiency", lambda value: digits(value / 1e9))):
        best = max(run.rows, key=lambda labels: run[labels][figure])  # noqa: B023
        values += [form(run[best][figure]), *best]
    machine = "({} {} {} {})"
    page.numbers(f"`{study}`: at most {{}} % {machine}, {{}} GFLOP/s for a dollar {machine} and {{}}"
                 f" for a watt {machine}.", *values)
    page.table(SYSTEMS[study], [
        [chip, memory, link, *(machine_cell(run[chip, network, memory, link])
                               for network in NETWORKS)]
        for chip in CHIPS for memory in ("ddr", "hbm") for link in ("pcie", "nvlink")])


def published_cell(program, old):
    """The step of the published run that the cell names, and the step over our optimum."""
    found = re.match(r"\[(\d+)\]", old)
    if found is None:
        return ""
    case = validate.Case(validate.record_of(int(found[1])))
    case.solution, _ = validate.solve(program, validate.file_of(case.record))
    return (f"{validate.link(case.record)}: {number(case.published_step)} s, "
            f"{validate.ratio_cell(case)}")


def renew_plain(page, section, program, run):
    """A row for each point of all axes but the first, whose choices are side by side."""
    kinds = ["compute", "memory", "network"]
    kinds += [kind for kind in ("bubble", "transfer")
              if any(row["time_shares"][kind] > 0 for row in run.rows.values())]
    lines, old = {}, page.rows(section)
    for (_, *labels), row in run.rows.items():
        line = lines.setdefault(tuple(labels), list(labels))
        before = old[list(lines).index(tuple(labels))]
        shares = " / ".join(f"{100 * row['time_shares'][kind]:.0f}" for kind in kinds)
        line += [f"{number(row['step_time'])} s", percent(row["utilization"]), shares]
        line.append(published_cell(program, before[len(line)]))
    page.table(section, lines.values())


def renew_serving(page, run):
    lines = {}
    for (kind, tensor), row in run.rows.items():
        serving = row["serving"]
        time = serving["time_to_first_token"] or serving["time_per_output_token"]
        printed = PRINTED.get((kind, tensor))
        lines.setdefault(tensor, [f"{tensor} x {16 // int(tensor)}"]).extend(
            [f"{1000 * time:.5g} ms", f"{serving['tokens_per_second']:,.1f}"
             + (f" ({printed:,})" if printed else "")])
    page.table("Serving", lines.values())


def renew_speculation(page, run):
    rows = {}
    for (drafts, model, _, window), row in run.rows.items():
        token = row["serving"]["time_per_output_token"]
        rows.setdefault((drafts, model), {}).setdefault(window, []).append(f"{1 / token:.1f}")
    page.table("Speculative decoding", [[*labels, *map(" / ".join, windows.values())]
                                        for labels, windows in rows.items()])


def renewed(program, times=False):
    page = tables.Page("dfmodel_studies.md", times)
    runs = {study: tables.study(program, study) for study in SYSTEMS}
    for study, run in runs.items():
        renew_systems(page, study, run)
    if times:
        page.numbers("The 4 studies took {} s here,", f"{sum(run.time for run in runs.values()):.1f}")
    for study, section in PLAIN.items():
        renew_plain(page, section, program, tables.study(program, study))
    renew_serving(page, tables.study(program, "serving"))
    renew_speculation(page, tables.study(program, "speculation"))
    return {page.file: page.text}


def main():
    options = tables.options(__doc__)
    tables.finish(tables.renew(renewed(options.program, options.write), options.write))


if __name__ == "__main__":
    main()
