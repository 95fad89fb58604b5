#!/usr/bin/env python3
"""The table of machines in docs/systems.md, from the configs of the shelf.

Figures are those that `dfsearch list systems` reads.  The files name their sources in comments:
`# peak: ...`, `# SRAM: ...`, `# memory: ...`, `# network: ...`.  `# rates: ...` says whether a
stack has measured kernels of the chip, scaled ones or none.  --check fails if the page has another
table, or if a file names no source of a figure.

usage: system_table.py DFSEARCH [--check]
"""

import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "systems.md"
FOLDER = ROOT / "configs" / "systems"
FIGURES = ("peak", "SRAM", "memory", "network", "rates")
CURVES = re.compile(r"(measured|scaled), (configs/curves/\w+\.yaml): ")


def systems(dfsearch):
    done = subprocess.run([dfsearch, "list", "systems", "--json", "-"], timeout=60,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return json.loads(done.stdout)["systems"]


def source_of(name, figure):
    """What the file says of a figure: the line of its comment and those that go on with it."""
    text = (FOLDER / f"{name}.yaml").read_text(encoding="utf-8")
    found = re.search(rf"^# {figure}: (.*(?:\n#   .*)*)", text, re.MULTILINE)
    if not found:
        sys.exit(f"configs/systems/{name}.yaml: names no source of the {figure}, expected a "
                 f"comment '# {figure}: ...'")
    return re.sub(r"\n#\s+", " ", found[1])


def is_scaled(curves):
    """What reports of the chip say, from the file or the one that it adds to."""
    text = curves.read_text(encoding="utf-8")
    if "\nscaled: true\n" in text:
        return True
    base = re.search(r"^from: (\w+)$", text, re.MULTILINE)
    return bool(base) and is_scaled(curves.parent / f"{base[1]}.yaml")


def check_sources(name):
    """Each figure has one; measured and scaled rates name a file of curves."""
    rates = [source_of(name, figure) for figure in FIGURES][-1]
    curves = CURVES.match(rates)
    if not rates.startswith("ideal") and not (curves and (ROOT / curves[2]).exists()):
        sys.exit(f"configs/systems/{name}.yaml: rates: expected 'ideal...', or measured or scaled "
                 f"and a file of configs/curves, got '{rates}'")
    if curves and (curves[1] == "scaled") != is_scaled(ROOT / curves[2]):
        sys.exit(f"configs/systems/{name}.yaml: rates: {curves[1]}, and {curves[2]} says otherwise")


def quantity(number, unit):
    """A number of SI base units with three digits and a prefix, or more if they are there."""
    for prefix, factor in (("P", 1e15), ("T", 1e12), ("G", 1e9), ("M", 1e6)):
        if number >= factor:
            return f"{float(f'{number / factor:.4g}'):g} {prefix}{unit}"
    return f"{number:g} {unit}"


def memory(tier):
    return f"{quantity(tier['capacity'], 'B')}, {quantity(tier['bandwidth'], 'B/s')}"


def dimension(figures):
    kind = (figures["topology"] or "group").replace("_", " ")
    degree = f" of {figures['degree']}" if figures["degree"] else ""
    return f"{kind}{degree}, {quantity(figures['bandwidth'], 'B/s')}"


def row(cells):
    return "| " + " | ".join(cells) + " |\n"


def overview(entries):
    text = row(["system", "chips", "peak", "SRAM", "memory", "network, innermost first", "rates"])
    text += "|" + "---|" * 7 + "\n"
    for entry in entries:
        check_sources(entry["name"])
        tiers = [entry["memory"], entry["memory"]["second"]]
        text += row([
            f"[{entry['name']}](../configs/systems/{entry['name']}.yaml)",
            str(entry["chips"] or ""),
            quantity(entry["peak"], "FLOP/s"),
            quantity(entry["sram"], "B") if entry["sram"] else "",
            "; then ".join(memory(tier) for tier in tiers if tier),
            "; ".join(map(dimension, entry["network"])),
            re.match(r"\w+", source_of(entry["name"], "rates"))[0],
        ])
    return text


def with_table(page, table):
    begin, end = "<!-- systems: begin -->\n", "<!-- systems: end -->\n"
    if begin not in page or end not in page:
        sys.exit(f"{PAGE} has no place for the table")
    before, _, rest = page.partition(begin)
    return before + begin + table + end + rest.partition(end)[2]


def main():
    arguments = [word for word in sys.argv[1:] if word != "--check"]
    if len(arguments) != 1:
        sys.exit(__doc__)
    entries = systems(arguments[0])
    if [entry["name"] for entry in entries] != sorted(f.stem for f in FOLDER.glob("*.yaml")):
        sys.exit(f"{arguments[0]} has other systems than {FOLDER}: build it again")
    page = PAGE.read_text(encoding="utf-8")
    new = with_table(page, overview(entries))
    if "--check" not in sys.argv:
        PAGE.write_text(new, encoding="utf-8")
    elif page != new:
        sys.exit(f"{PAGE} has another table; tools/dev/system_table.py writes it")


if __name__ == "__main__":
    main()
