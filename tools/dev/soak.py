#!/usr/bin/env python3
"""Runs the program on thousands of small random configs, in ways that must agree.

    tools/dev/soak.py DFSEARCH [COUNT] [--seed S] [--jobs N] [--keep FOLDER]
                      [--no-signals]

Each config is solved several times: with other threads, bounds, limits and hints, killed and
resumed, onto full disks, beside other runs.  Every run is checked for the promises of
docs/results.md, and all runs of a config must agree: no proof above a mapping that any of them
found, the same answer from all that prove one (soak_checks.py, soak_case.py).

The configs have the seeds S, S + 1, ...; `soak.py DFSEARCH 1 --seed N` runs the one of seed N
again.  A config that fails is kept in FOLDER/N with its command lines.  Exit status 1 on any.
"""

import argparse
import collections
import concurrent.futures
import os
import pathlib
import random
import shutil
import sys
import tempfile
import threading
import time
import traceback

import soak_case
import soak_configs
import soak_process
import soak_ways

KEEP = pathlib.Path(__file__).resolve().parents[2] / "build" / "soak"


class Figures:
    """Numbers of the table at the end; written by all cases at once."""

    def __init__(self):
        self.begin = time.monotonic()
        self._lock = threading.Lock()
        self.configs = collections.Counter()  # by kind
        self.results = collections.Counter()  # by status
        self.stops = collections.Counter()  # by signal, if it came before the end
        self.runs = self.resumes = self.failures = self.peak = 0
        self.overruns = [(0.0, 0.0, 0.0)]  # seconds beyond the limit, the limit, the load's excuse

    def count_run(self, done):
        with self._lock:
            self.runs += 1
            self.peak = max(self.peak, done.peak)
            if done.signalled:
                self.stops[done.signalled.name] += 1

    def count_solve(self, done, options):
        limit = options.get("time_limit")
        if limit is not None:
            with self._lock:
                self.overruns.append((done.wall - limit, limit, done.load_allowance))

    def count_result(self, result):
        with self._lock:
            self.results[result["status"]] += 1

    def count_case(self, case):
        with self._lock:
            self.configs[case.config.kind] += 1
            self.failures += bool(case.complaints)

    def progress(self, count):
        done = self.configs.total()
        seconds = time.monotonic() - self.begin
        left = seconds / max(done, 1) * (count - done)
        return (f"{done} of {count} configs, {self.runs} runs, {self.failures} failures, "
                f"{seconds:.0f} s, {left:.0f} s to go")

    def table(self):
        over, limit, excused = max(self.overruns)
        inexcusable = max(over - excused for over, _, excused in self.overruns)
        rows = {
            "configs": f"{self.configs.total()}: {_counts(self.configs)}",
            "runs": f"{self.runs} in {time.monotonic() - self.begin:.0f} s",
            "results": _counts(self.results),
            "stopped": _counts(self.stops) or "none by a signal",
            "resumed": self.resumes,
            "memory": f"at most {self.peak / 2**20:.1f} MiB",
            "time limits": f"exceeded by at most {over:.3f} s (limit {limit} s, the load excuses "
                           f"{excused:.3f} s); at most {inexcusable:.3f} s beyond excuses",
            "failures": self.failures,
        }
        return "\n".join(f"{name:<12} {text}" for name, text in rows.items())


def _counts(counter):
    return ", ".join(f"{name} {count}" for name, count in sorted(counter.items()))


def run_case(seed, runner, figures, keep):
    """Explores one config; returns its failure as text, or nothing."""
    with tempfile.TemporaryDirectory(prefix="dfsearch-soak-") as folder:
        case = soak_case.Case(runner, folder, random.Random(f"soak {seed}"), figures)
        try:
            soak_ways.explore(case)
        except Exception:  # noqa: BLE001: one bad case must not hide the others
            case.complain(traceback.format_exc())
        figures.count_case(case)
        if not case.complaints:
            return None
        place = keep / str(seed)
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(folder, place)
        text = f"seed {seed} ({case.config.kind}), kept in {place}\n"
        text += "".join(f"  {what}\n" for what in case.complaints)
        (place / "commands.txt").write_text("\n".join(case.log) + "\n\n" + text, encoding="utf-8")
        return text


def show_progress(figures, count, end):
    while not end.wait(20.0):
        print(figures.progress(count), file=sys.stderr, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", metavar="DFSEARCH")
    parser.add_argument("count", metavar="COUNT", nargs="?", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 2,
                        help="configs at a time (one for each processor)")
    parser.add_argument("--keep", type=pathlib.Path, default=KEEP,
                        help="where failures are kept (build/soak)")
    parser.add_argument("--no-signals", action="store_true",
                        help="stop by limits only, so that each time nearly the same happens")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="dfsearch-soak-") as folder:
        # A build meanwhile does not change the program under test.
        program = shutil.copy(arguments.program, pathlib.Path(folder, "dfsearch"))
        soak_configs.read_schema(program)
        return run_all(arguments, soak_process.Runner(str(program), not arguments.no_signals))


def run_all(arguments, runner):
    figures = Figures()
    print(f"soak: {arguments.count} configs from seed {arguments.seed} on", flush=True)
    end = threading.Event()
    watcher = threading.Thread(target=show_progress, args=(figures, arguments.count, end))
    watcher.start()
    try:
        with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
            seeds = range(arguments.seed, arguments.seed + arguments.count)
            for failure in pool.map(
                    lambda seed: run_case(seed, runner, figures, arguments.keep), seeds):
                if failure:
                    print(failure, flush=True)
    finally:
        end.set()
        watcher.join()
    print(figures.table())
    return 1 if figures.failures else 0


if __name__ == "__main__":
    sys.exit(main())
