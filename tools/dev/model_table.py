#!/usr/bin/env python3
"""The table of models in docs/transformers.md, from the configs of the shelf.

Counts are the program's, published figures those that the configs name.  --check fails
if the page has another table, or if a published count of parameters differs.

usage: model_table.py DFSEARCH [--check]
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "transformers.md"
BEGIN, END = "<!-- models: begin -->\n", "<!-- models: end -->\n"
SYSTEM = """
system:
  chips: 1
  accelerator: {cores: 1, lanes: 1, stages: 1, frequency: 1 GHz, sram: 1 MB}
  memory: {bandwidth: 1 GB/s}
"""


def shelf():
    """The files that hold the shape of a transformer by rule."""
    texts = {file: file.read_text(encoding="utf-8")
             for file in sorted((ROOT / "configs" / "workloads").glob("*.yaml"))}
    return [file for file, text in texts.items()
            if "vocabulary:" in text and "kind: lstm" not in text]


def comment(text, name):
    found = re.search(rf"^# {name}: (.*)$", text, re.MULTILINE)
    return found[1] if found else ""


def counts(dfsearch, name):
    with tempfile.TemporaryDirectory() as folder:
        config = pathlib.Path(folder, "model.yaml")
        config.write_text(f"workload: {{model: {name}}}" + SYSTEM, encoding="utf-8")
        done = subprocess.run([dfsearch, "graph", str(config), "--format", "json"], timeout=60,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.stderr)
    workload = json.loads(done.stdout)["workload"]
    return workload["counts"], workload["sequence"]


def giga(flop):
    return f"{flop / 1e9:,.1f}"


def row(dfsearch, file):
    text = file.read_text(encoding="utf-8")
    found, sequence = counts(dfsearch, file.stem)
    published = comment(text, "parameters")
    if re.fullmatch(r"[\d,]+", published):
        if int(published.replace(",", "")) != found["parameters"]:
            sys.exit(f"{file}: {found['parameters']:,} parameters, published are {published}")
    used = comment(text, "used by a token")
    active = f"{found['active_parameters']:,}" + (f" ({used})" if used else "")
    cache = int(found["cache_bytes_per_token"].removesuffix(" B"))
    cells = [f"`{file.stem}`", f"{found['parameters']:,}", published,
             active if used else "all", f"{found['matmul_parameters']:,}", f"{sequence:,}",
             f"{giga(found['training_flop_per_token'])}; "
             f"{giga(found['causal_training_flop_per_token'])}", f"{cache:,}"]
    return "| " + " | ".join(cells) + " |\n"


def table(dfsearch):
    head = ["model", "parameters", "published", "used by a token (published)", "N", "sequence",
            "GFLOP for a token; causal", "cache, B for a token"]
    lines = "".join(row(dfsearch, file) for file in shelf())
    return f"| {' | '.join(head)} |\n|{'---|' * len(head)}\n{lines}"


def main():
    arguments = [word for word in sys.argv[1:] if word != "--check"]
    if len(arguments) != 1:
        sys.exit(__doc__)
    page = PAGE.read_text(encoding="utf-8")
    before, _, rest = page.partition(BEGIN)
    old, _, after = rest.partition(END)
    new = table(arguments[0])
    if "--check" not in sys.argv:
        PAGE.write_text(before + BEGIN + new + END + after, encoding="utf-8")
    elif old != new:
        sys.exit(f"{PAGE} has another table; tools/dev/model_table.py writes it")


if __name__ == "__main__":
    main()
