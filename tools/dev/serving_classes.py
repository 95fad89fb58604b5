#!/usr/bin/env python3
"""Renews `measured` of the engines of the shelf: classes of deployments and how far off they are.

    tools/dev/serving_classes.py DFSEARCH [--write]

Errors are those that `dfsearch predict` writes for the tables of configs/measured.  Exit status 1 if
an engine has other classes, and --write is not given.
"""

import tables
from tables import CONFIGS

TABLES = ("serving.csv", "serving_jobs.csv")
FAR = 0.4


def error_of(row):
    """Relative error, positive if predicted too slow; None without a measurement or in doubt."""
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
    options = tables.options(__doc__)
    rows = [row for table in TABLES
            for row in tables.predicted(options.program, CONFIGS / "measured" / table)]
    texts = {}
    for engine, of_class in classes(rows).items():
        file = CONFIGS / "engines" / f"{engine}.yaml"
        texts[file] = file.read_text(encoding="utf-8").split("measured:\n")[0] + block(of_class)
    tables.finish(tables.renew(texts, options.write))


if __name__ == "__main__":
    main()
