"""Runs of dfsearch, and pages of docs/ whose tables and numbers are computed anew in place.

The words and heads of a page stand in the page alone.  A script finds a table by its section, and a
number by the sentence around it, and replaces them; all else stays as it is.
"""

import argparse
import csv
import dataclasses
import functools
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
CONFIGS, DOCS = ROOT / "configs", ROOT / "docs"
IMAGES = DOCS / "images"


def run(program, *words, statuses=(0,)):
    """Standard output of a run from the root of the repository."""
    done = subprocess.run([program, *map(str, words)], cwd=ROOT, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=1800, check=False)
    if done.returncode not in statuses:
        raise RuntimeError(f"{words}: exit status {done.returncode}\n{done.stderr}")
    return done.stdout


def run_json(program, *words, output=("--json", "-"), **options):
    return json.loads(run(program, *words, *output, **options))


def run_on(program, command, config, *words, **options):
    """The JSON of a command on a config, which is a file or a tree of values."""
    if not isinstance(config, dict):
        return run_json(program, command, config, *words, **options)
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "config.json")
        file.write_text(json.dumps(config), encoding="utf-8")
        return run_json(program, command, file, *words, **options)


def predicted(program, table, *words):
    """The rows that `predict` writes for a table."""
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder, "out.csv")
        run(program, "predict", table, "-o", out, "--quiet", *words)
        return rows_of(out)


def rows_of(table):
    return list(csv.DictReader(table.read_text(encoding="utf-8").splitlines()))


def repeated(option, values):
    return [word for value in values for word in (option, value)]


def solve(program, config, *changes, threads=1, **options):
    return run_on(program, "solve", config, *repeated("--set", changes), "--quiet", "--threads",
                  threads, **options)


@dataclasses.dataclass(frozen=True)
class Study:
    rows: dict   # result by the labels of a point, in the order of the axes
    time: float  # seconds of the whole process
    ratios: dict  # by name

    def __getitem__(self, labels):
        return self.rows[labels]


@functools.cache
def study(program, name):
    """All points of a study of configs/studies/.  Raises RuntimeError if one is not proved."""
    begin = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        run(program, "study", CONFIGS / "studies" / f"{name}.yaml", "-o", folder, "--threads", 2,
            "--quiet")
        taken = time.perf_counter() - begin
        lines = pathlib.Path(folder, "results.ndjson").read_text(encoding="utf-8").splitlines()
        state = json.loads(pathlib.Path(folder, "study.json").read_text(encoding="utf-8"))
    rows = {}
    for row in sorted(map(json.loads, lines), key=lambda row: row["index"]):
        labels = tuple(row["point"].values())
        if row["status"] != "optimal" or row["gap"] != 0:
            raise RuntimeError(f"{name}: {', '.join(labels)}: {row['status']}, gap {row['gap']}")
        rows[labels] = row
    return Study(rows, taken, {ratio["name"]: ratio for ratio in state["ratios"]})


# Numbers.


def number(value):
    return f"{value:.10g}"


def percent(share, form=".1f"):
    return f"{100 * share:{form}} %"


def seconds(value):
    return f"{1e3 * value:.4g} ms" if value < 1.0 else f"{value:.4g} s"


def quantity(value, unit):
    """A number of SI base units with up to four digits and a prefix."""
    for prefix, factor in (("P", 1e15), ("T", 1e12), ("G", 1e9), ("M", 1e6)):
        if value >= factor:
            return f"{float(f'{value / factor:.4g}'):g} {prefix}{unit}"
    return f"{value:g} {unit}"


# Pages.


def row_text(cells):
    return "|" + "".join(f" {cell} |" if cell != "" else " |" for cell in cells) + "\n"


TABLE = re.compile(r"(?<=\n)(\|.*\n\|[-|]+\|\n)((?:\|.*\n)*)")


class Page:
    """A page of docs/; `times` says whether measured times are replaced as well."""

    def __init__(self, name, times=False):
        self.file, self.times = DOCS / name, times
        self.text = self.before = self.file.read_text(encoding="utf-8")

    def _table(self, section, place):
        heading = re.search(rf"^(#+) {re.escape(section)}.*\n", self.text, re.MULTILINE)
        if heading is None:
            raise RuntimeError(f"{self.file.name}: no section '{section}'")
        end = re.compile(rf"^#{{1,{len(heading[1])}}} ", re.MULTILINE).search(self.text,
                                                                          heading.end())
        tables = TABLE.finditer(self.text, heading.end(), end.start() if end else len(self.text))
        found = list(tables)
        if place >= len(found):
            raise RuntimeError(f"{self.file.name}, '{section}': {len(found)} tables")
        return found[place]

    def rows(self, section, place=0):
        """The cells of a table below its head."""
        lines = self._table(section, place)[2].splitlines()
        return [[cell.strip() for cell in line[1:-1].split("|")] for line in lines]

    def table(self, section, rows, place=0):
        found = self._table(section, place)
        self.text = (self.text[:found.start(2)] + "".join(map(row_text, rows))
                     + self.text[found.end(2):])

    def numbers(self, sentence, *values):
        """Each {} of the sentence, which the page has once, stands for one word."""
        words = [r"(\S+?)".join(map(re.escape, word.split("{}"))) for word in sentence.split()]
        found = list(re.finditer(r"(?<!\S)" + r"\s+".join(words) + r"(?!\S)", self.text))
        if len(found) != 1:
            raise RuntimeError(f"{self.file.name}: has {len(found)} times '{sentence}'")
        for i in reversed(range(len(values))):
            begin, end = found[0].span(i + 1)
            self.text = f"{self.text[:begin]}{values[i]}{self.text[end:]}"
        return found[0].groups()


def renew(texts, write):
    """Writes the files that have another text, or returns a complaint about each."""
    wrong = []
    for file, text in texts.items():
        if file.is_file() and file.read_text(encoding="utf-8") == text:
            continue
        if write:
            file.write_text(text, encoding="utf-8")
        else:
            wrong.append(f"{file.relative_to(ROOT)} has other numbers, expected those of --write")
    return wrong


def options(description, *more):
    """The words of a script that renews pages: the program and --write, besides its own."""
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("program", metavar="DFSEARCH", type=lambda name: str(pathlib.Path(
        name).resolve()))
    parser.add_argument("--write", action="store_true", help="renew the pages")
    for name, keys in more:
        parser.add_argument(name, **keys)
    return parser.parse_args()


def finish(wrong):
    if wrong:
        sys.exit("\n".join(wrong))
