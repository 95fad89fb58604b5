#!/usr/bin/env python3
"""Studies: points a second on threads and on ranks, and fronts of large spaces.

    bench/studies_bench.py [--build build/release] [--runs 3] [--record]

Each run is a process with a folder of its own, from start to the page; figures are medians.  What
rank 0 does by itself is measured with points that take next to nothing: its rate is the most that
any number of ranks can be fed at.
"""

import argparse
import json
import pathlib
import shutil
import subprocess
import tempfile
import time

import support
from support import ROOT

STUDIES = ROOT / "configs" / "studies"
# Two kernels on a chip: a point takes as long as to read it and to write its row.
TINY = """\
workload:
  kind: graph
  kernels:
    - {name: Up, kind: weight_gemm, M: 64, K: 64, N: 64}
    - {name: Act, kind: elementwise, M: 64, N: 64}
  tensors: [{from: Up, to: Act}]
system:
  chips: 1
  accelerator: {cores: 4, lanes: 8, stages: 8, frequency: 1 GHz, sram: 1 MiB}
  memory: {bandwidth: 10 GB/s}
execution: {compute_utilization: 0.8}
"""
TINY_STUDY = """\
study: {name: tiny, solve: all}
base: {from: tiny.yaml}
axes:
  - {name: memory, key: system.memory.bandwidth, from: 1 GB/s, to: 100 GB/s, steps: 4000}
"""


def run(binary, study, ranks, *words):
    """Seconds of one study, and its study.json."""
    launch = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", str(ranks)]
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        subprocess.run([*(launch if ranks else []), binary, "study", study, "-o", folder, "--quiet",
                        *words], stdout=subprocess.DEVNULL, check=True)
        taken = time.perf_counter() - start
        return taken, json.loads(pathlib.Path(folder, "study.json").read_text())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    support.add_options(parser)
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_args()
    binary = arguments.build / "dfsearch"
    facts = support.machine(arguments.build)
    quiet = support.Quiet(arguments.patience)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "tiny.yaml").write_text(TINY)
        tiny = pathlib.Path(folder, "tiny_study.yaml")
        tiny.write_text(TINY_STUDY)
        cases = [(STUDIES / "systems_gpt3.yaml", ("--all",)), (tiny, ()),
                 (STUDIES / "million.yaml", ())]
        ways = [("1 thread", 0, 1), ("2 threads", 0, 2)]
        if shutil.which("mpirun"):
            ways += [(f"{n} rank{'s' if n > 1 else ''} of a thread", n, 1) for n in (1, 2, 4)]
        for study, words in cases:
            first = None
            for name, ranks, threads in ways:
                if study.stem == "million" and ranks:
                    continue
                taken = []
                for _ in range(1 if study.stem == "million" else arguments.runs):
                    seconds, state = quiet.measure(
                        lambda: run(binary, study, ranks, *words, "--threads", str(threads)))
                    taken.append(seconds)
                seconds = support.median(taken)
                first = first or seconds
                rows.append([f"`{study.stem}`", name, state["points"], state["solved"],
                             support.seconds(seconds), f"{state['solved'] / seconds:.3g}",
                             f"{first / seconds:.2f}"])
    facts["others"] = quiet.worst
    text = support.table(["study", "on", "points", "solved", "time", "solved a second", "speed-up"],
                         rows)
    print(text)
    if arguments.record:
        support.record("studies", facts, text)


if __name__ == "__main__":
    main()
