#!/usr/bin/env python3
"""Renews the tables of the shelf: machines in docs/systems.md, models in docs/transformers.md.

    tools/dev/shelf_tables.py DFSEARCH [--write] [systems|models]

Numbers are those that `dfsearch list systems` and `dfsearch graph` print.  A file of
configs/systems/ names the source of each figure in a comment, `# peak: ...`; `# rates: ...` names
measured kernels of the chip, scaled ones or none.  A model names its published
number of parameters.  Exit status 1 if a page has other numbers, a figure has no source, or a
published number of parameters differs.
"""

import re
import sys

import tables
from tables import CONFIGS, ROOT, quantity

FIGURES = ("peak", "SRAM", "memory", "network", "rates")
CURVES = re.compile(r"(measured|scaled), (configs/curves/\w+\.yaml): ")


def comment(file, name):
    """The text of the comment `# NAME: ...` with its further lines, or an empty text."""
    found = re.search(rf"^# {name}: (.*(?:\n#   .*)*)", file.read_text(encoding="utf-8"), re.MULTILINE)
    return re.sub(r"\n#\s+", " ", found[1]) if found else ""


def is_scaled(curves):
    """Whether the file, or the one that it adds to, is marked as scaled."""
    text = curves.read_text(encoding="utf-8")
    if "\nscaled: true\n" in text:
        return True
    base = re.search(r"^from: (\w+)$", text, re.MULTILINE)
    return bool(base) and is_scaled(curves.parent / f"{base[1]}.yaml")


def check_sources(file):
    """Each figure has a source; measured and scaled rates name a file of curves."""
    name = file.relative_to(ROOT)
    for figure in FIGURES:
        if not comment(file, figure):
            sys.exit(f"{name}: names no source of the {figure}, expected a comment '# {figure}: ...'")
    rates = comment(file, "rates")
    curves = CURVES.match(rates)
    if not rates.startswith("ideal") and not (curves and (ROOT / curves[2]).exists()):
        sys.exit(f"{name}: rates: expected 'ideal...', or measured or scaled and a file of"
                 f" configs/curves, got '{rates}'")
    if curves and (curves[1] == "scaled") != is_scaled(ROOT / curves[2]):
        sys.exit(f"{name}: rates: {curves[1]}, and {curves[2]} says otherwise")


def dimension(figures):
    kind = (figures["topology"] or "group").replace("_", " ")
    degree = f" of {figures['degree']}" if figures["degree"] else ""
    return f"{kind}{degree}, {quantity(figures['bandwidth'], 'B/s')}"


def system_row(entry):
    name = f"configs/systems/{entry['name']}.yaml"
    check_sources(ROOT / name)
    tiers = [f"{quantity(tier['capacity'], 'B')}, {quantity(tier['bandwidth'], 'B/s')}"
             for tier in (entry["memory"], entry["memory"]["second"]) if tier]
    return [f"[{entry['name']}](../{name})", str(entry["chips"] or ""),
            quantity(entry["peak"], "FLOP/s"), quantity(entry["sram"], "B") if entry["sram"] else "",
            "; then ".join(tiers), "; ".join(map(dimension, entry["network"])),
            re.match(r"\w+", comment(ROOT / name, "rates"))[0]]


def systems(program):
    page = tables.Page("systems.md")
    entries = tables.run_json(program, "list", "systems")["systems"]
    if [entry["name"] for entry in entries] != sorted(
            file.stem for file in (CONFIGS / "systems").glob("*.yaml")):
        sys.exit(f"{program} has other systems than configs/systems: build it again")
    page.table("Machines of today", map(system_row, entries))
    return page


def model_row(counts, file):
    published = comment(file, "parameters")
    sequence = int(re.search(r"^sequence: (\d+)", file.read_text(encoding="utf-8"), re.M).group(1))
    if re.fullmatch(r"[\d,]+", published):
        if int(published.replace(",", "")) != counts["parameters"]:
            sys.exit(f"{file}: {counts['parameters']:,} parameters, published are {published}")
    used = comment(file, "used by a token")
    flop = [f"{counts[key] / 1e9:,.1f}" for key in ("training_flop_per_token",
                                                    "causal_training_flop_per_token")]
    return [f"`{file.stem}`", f"{counts['parameters']:,}", published,
            f"{counts['active_parameters']:,} ({used})" if used else "all",
            f"{counts['matmul_parameters']:,}", f"{sequence:,}", "; ".join(flop),
            f"{counts['cache_bytes_per_token']:,}"]


def models(program):
    page = tables.Page("transformers.md")
    files = [file for file in sorted((CONFIGS / "workloads").glob("*.yaml"))
             if re.search("^(vocabulary|family):", text := file.read_text(encoding="utf-8"), re.M)
             and "kind: lstm" not in text]  # shapes of transformers
    counts = {entry["name"]: entry["model"]
              for entry in tables.run_json(program, "list", "workloads")["workloads"]}
    page.table("7. The shelf", [model_row(counts[file.stem], file) for file in files])
    return page


PAGES = {"systems": systems, "models": models}


def main():
    options = tables.options(__doc__, ("pages", {"nargs": "*", "metavar": "systems|models"}))
    pages = [PAGES[name](options.program) for name in options.pages or PAGES]
    tables.finish(tables.renew({page.file: page.text for page in pages}, options.write))


if __name__ == "__main__":
    main()
