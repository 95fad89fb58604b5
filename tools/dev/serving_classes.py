#!/usr/bin/env python3
"""Renews `measured` of the engines of the shelf: classes of deployments and how far off they are.

    tools/dev/serving_classes.py DFSEARCH [--write]

Errors are those that `dfsearch predict` writes for the tables of configs/measured.  Exit status 1 if
an engine has other classes, and --write is not given.
"""

import csv
import pathlib
import subprocess
import sys
import tempfile

CONFIGS = pathlib.Path(__file__).resolve().parents[2] / "configs"
TABLES = ("serving.csv", "serving_jobs.csv")
FAR = 0.4


def predictions(program, table):
    """The rows that `predict` writes."""
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "out.csv"
        subprocess.run([program, "predict", table, "-o", out, "--quiet"], check=True,
                       stdout=subprocess.DEVNULL)
        with open(out, newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))


def error_of(row):
    """Positive: too slow.  None: nothing was measured, or in doubt."""
    if row["doubtful"]:
        return None
    if row["rate_error"]:
        return -float(row["rate_error"])
    return float(row["tpot_error"]) if row["tpot_error"] else None


def classes(rows):
    """The errors of each engine by class."""
    found = {}
    for row in rows:
        error = error_of(row)
        if row["class"] and error is not None:
            found.setdefault(row["engine"], {}).setdefault(row["class"], []).append(error)
    return found


def block(of_class):
    """The lines of `measured`."""
    lines = ["measured:"]
    for name in sorted(of_class):
        errors = of_class[name]
        mean = sum(map(abs, errors)) / len(errors)
        bias = sum(errors) / len(errors)
        beyond = sum(abs(error) > FAR for error in errors)
        lines.append(f"  - {name[:-1]}, rows: {len(errors)}, off: {mean:.3g}, bias: {bias:.2f}"
                     + (f", beyond: {beyond}" if beyond else "") + "}")
    return "\n".join(lines) + "\n"


def main():
    program, write = sys.argv[1], "--write" in sys.argv[2:]
    rows = [row for table in TABLES for row in predictions(program, CONFIGS / "measured" / table)]
    status = 0
    for engine, of_class in classes(rows).items():
        file = CONFIGS / "engines" / f"{engine}.yaml"
        text = file.read_text(encoding="utf-8")
        head = text.split("measured:\n")[0]
        new = head + block(of_class)
        if new == text:
            continue
        status = 1
        if write:
            file.write_text(new, encoding="utf-8")
        else:
            print(f"{file}: other classes; {sys.argv[0]} DFSEARCH --write renews them")
    sys.exit(0 if write else status)


if __name__ == "__main__":
    main()
