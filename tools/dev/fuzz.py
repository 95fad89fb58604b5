#!/usr/bin/env python3
"""Runs the fuzzers of a build and prints their findings.

usage: fuzz.py [--build BUILD] [SECONDS] [TARGET...]

Each target runs for SECONDS (60), from its seeds (made of the repository's own
files, and tests/fuzz/seeds), the findings of former times (tests/fuzz/found) and what
earlier runs kept in BUILD/corpus.  A finding does not end a run: its input is written
to BUILD/crashes, and the target goes on with the time that is left, up to ten times.
The exit status is 1 if there was any finding.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Names stand beside their enumerations.
NAMES = ["src/graph/**/*.hpp", "src/model/**/*.hpp", "src/technology/*.hpp"]
# Where the words are that an input of a target may hold.
WORDS = {
    "checkpoint": ["src/io/checkpoint/checkpoint_file.cpp"],
    "config": ["src/io/config/*.cpp", "src/base/units_text.cpp", *NAMES],
    "dfmodel": ["src/io/dfmodel/dfmodel.proto", "src/io/dfmodel/*.cpp"],
    "huggingface": ["src/io/huggingface/*.cpp"],
    "mapping": ["src/io/result/*.cpp", *NAMES],
    "solution": ["src/io/lp/*.cpp", *NAMES],
}
WORD = {
    ".cpp": re.compile(r'"([A-Za-z][A-Za-z0-9_]{0,30}|[A-Za-z]*B/s)"'),
    ".hpp": re.compile(r'"([A-Za-z][A-Za-z0-9_]{0,30})"'),
    ".proto": re.compile(r"\b([A-Za-z][A-Za-z0-9_]{0,50})\b"),
}
LONGEST_INPUT = 8192
MOST_FINDINGS = 10
# A slow input is a finding, too; libFuzzer writes these names of files.
ARTIFACT = re.compile(r"^(crash|timeout|oom|leak|slow-unit)-")


def write_dictionary(target, file):
    words = set()
    for pattern in WORDS[target]:
        sources = sorted(ROOT.glob(pattern))
        if not sources:
            sys.exit(f"fuzz: {target}: no file is {pattern}: have its sources moved?")
        for source in sources:
            words |= set(WORD[source.suffix].findall(source.read_text()))
    if not words:
        sys.exit(f"fuzz: no words for {target}: have its sources moved?")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(f'"{word}"\n' for word in sorted(words)))


class Campaign:
    """All runs of one target."""

    def __init__(self, build, target):
        self.target = target
        self.program = build / "tests/fuzz" / f"fuzz_{target}"
        self.corpus = build / "corpus" / target
        self.crashes = build / "crashes" / target
        self.log = build / "logs" / f"{target}.log"
        self.dictionary = build / "dictionaries" / f"{target}.dict"
        self.inputs = [build / "seeds" / target, ROOT / "tests/fuzz/seeds" / target,
                       ROOT / "tests/fuzz/found" / target]
        self.seconds = self.executions = self.edges = self.runs = 0
        self.findings = []

    def prepare(self):
        for folder in (self.corpus, self.crashes, self.log.parent):
            folder.mkdir(parents=True, exist_ok=True)
        write_dictionary(self.target, self.dictionary)
        self.log.write_text("")

    def command(self, seconds):
        return [str(self.program), f"-max_total_time={max(1, round(seconds))}", "-timeout=10",
                "-report_slow_units=5", "-rss_limit_mb=2048", f"-max_len={LONGEST_INPUT}",
                f"-dict={self.dictionary}", f"-artifact_prefix={self.crashes}/",
                "-print_final_stats=1", str(self.corpus),
                *(str(folder) for folder in self.inputs if folder.is_dir())]

    def artifacts(self):
        return {file.name for file in self.crashes.iterdir() if ARTIFACT.match(file.name)}

    def run(self, seconds):
        begin = time.monotonic()
        while time.monotonic() - begin < seconds and self.runs < MOST_FINDINGS:
            before = self.artifacts()
            status = self.run_once(seconds - (time.monotonic() - begin))
            found = sorted(self.artifacts() - before)
            if status != 0 and not found:
                # Before the first input, or one that was written before.
                found = [f"exit status {status}, see {self.log}"]
            self.findings += found
            if status == 0:
                break
        self.seconds = time.monotonic() - begin

    def run_once(self, seconds):
        self.runs += 1
        with self.log.open("r+") as log:
            start = log.seek(0, os.SEEK_END)
            log.write(" ".join(self.command(seconds)) + "\n")
            log.flush()
            status = subprocess.run(self.command(seconds), cwd=ROOT, stdin=subprocess.DEVNULL,
                                    stdout=log, stderr=subprocess.STDOUT, check=False).returncode
        with self.log.open(errors="replace") as log:
            log.seek(start)
            text = log.read()
        for count in re.findall(r"^stat::number_of_executed_units: (\d+)", text, re.M):
            self.executions += int(count)
        self.edges = max([self.edges, *map(int, re.findall(r" cov: (\d+)", text))])
        return status

    def row(self):
        rate = self.executions / self.seconds if self.seconds else 0.0
        kept = sum(1 for _ in self.corpus.iterdir())
        return [self.target, f"{self.seconds:.0f}", str(self.executions), f"{rate:.0f}",
                str(self.edges), str(kept), str(len(self.findings))]


def table(rows):
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join("  ".join(cell.ljust(width) if i == 0 else cell.rjust(width)
                               for i, (cell, width) in enumerate(zip(row, widths)))
                     for row in rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/fuzz")
    parser.add_argument("words", nargs="*", metavar="SECONDS TARGET...")
    arguments = parser.parse_args()
    words, build = arguments.words, arguments.build.resolve()
    seconds = float(words.pop(0)) if words and words[0].replace(".", "", 1).isdigit() else 60.0
    unknown = [word for word in words if word not in WORDS]
    if unknown:
        parser.error(f"there is no target '{unknown[0]}', only {', '.join(sorted(WORDS))}")
    subprocess.run([build / "tests/fuzz/fuzz_seeds", build / "seeds"], cwd=ROOT, check=True)
    campaigns = [Campaign(build, target) for target in words or sorted(WORDS)]
    for campaign in campaigns:
        campaign.prepare()
        print(f"fuzz: {campaign.target} for {seconds:.0f} s", file=sys.stderr, flush=True)
        campaign.run(seconds)
    print(table([["target", "seconds", "executions", "exec/s", "edges", "corpus", "findings"],
                 *(campaign.row() for campaign in campaigns)]))
    findings = [campaign for campaign in campaigns if campaign.findings]
    for campaign in findings:
        print(f"\n{campaign.target}: {campaign.crashes}, what was wrong in {campaign.log}")
        print("\n".join(f"  {finding}" for finding in campaign.findings))
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
