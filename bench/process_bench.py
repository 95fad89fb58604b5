#!/usr/bin/env python3
"""Times whole processes, from start to exit, beside the published MILP runs.

    bench/process_bench.py [--build build/release] [--runs 20] [--record]

One thread each, by hyperfine: medians of `--runs` runs after three that do not
count, output to /dev/null.  The instances are shipped configs and those inputs of
published DFModel runs (tests/golden/published.json) whose logs say how the
solver ended.  A published step time above ours is a mapping that the solver left
or, where the end is `gap`, could leave within its tolerance.
"""

import argparse
import dataclasses
import json
import pathlib
import subprocess
import tempfile

import support
from support import ROOT

GOLDEN = ROOT / "tests" / "golden" / "published.json"


@dataclasses.dataclass
class Milp:
    """A published run of DFModel's program under Gurobi."""
    step_time: float
    time: float = 0.0  # seconds; 0: the log does not say
    end: str = ""

    def text(self):
        taken = f"{self.time:.1f} s" if self.time else "time not logged"
        return f"{taken}; {self.end}"


# How the published runs of the shipped configs ended.
SHIPPED = {
    "gpt3_1t": Milp(78.99477102558083, 262.7, "gap 0.001 reached, 144 threads"),
    "gpt3_1t_core_allocation": None,
    "gpt3_1t_free": None,
    "gpt3_175b_dataflow_8x1": Milp(1020.5244997642667, end="limit 1200 s in the set-up, 144 threads"),
    "gpt3_175b_dataflow_4x2": Milp(
        800.9758461146134, end="limit 1200 s, interrupted by hand, 144 threads"),
    "gpt3_175b_vendor_8x1": Milp(
        1212.251846411307, end="limit 1200 s, interrupted by hand, 144 threads"),
    "gpt3_175b_kernel_by_kernel_8x1": Milp(
        4909.147625881573, end="limit 1200 s, interrupted by hand, 144 threads"),
}

# Published results of records of published.json, by id; the description comes first.
PUBLISHED = {
    5: ("GPT3-1T, SN30, DDR, NVLink", 180.01, "limit 180 s, gap 27 %, 8 threads"),
    11: ("GPT3-1T, TPU, kernel by kernel", 180.01, "limit 180 s, gap 32 %, 8 threads"),
    6: ("GPT3-1T, SN30, HBM, NVLink, 7 partitions, cores allocated", 0,
        "limit 3600 s in the set-up, 144 threads"),
    1: ("GPT3-1T, H100, kernel by kernel, cores allocated", 322.52, "limit 300 s, 48 threads"),
    29: ("GPT3-175B, 8 x 1, cores allocated", 10.86, "stopped before its limit"),
    30: ("GPT3-175B, 4 x 2, cores allocated", 183.34, "limit 180 s, gap 94.6 %"),
    33: ("GPT3-175B, 8 x 1, no overlap, cores allocated", 182.56, "limit 180 s"),
    27: ("GPT3-175B, 8 x 1, kernel by kernel, cores allocated", 189.17, "limit 180 s"),
    39: ("GPT3-175B, large SRAM and DRAM, cores allocated", 602.30, "limit 600 s, 144 threads"),
    45: ("GPT3-175B, the same kernel by kernel", 186.57, "limit 180 s, 144 threads"),
    72: ("3-D memory, kernel by kernel, cores allocated", 625.42, "limit 600 s"),
}


@dataclasses.dataclass
class Run:
    name: str
    config: pathlib.Path
    milp: Milp | None


def runs(folder):
    for name, milp in SHIPPED.items():
        yield Run(f"`{name}.yaml`", ROOT / "configs" / f"{name}.yaml", milp)
    records = {record["id"]: record for record in json.loads(GOLDEN.read_text())}
    for number, (what, time, end) in PUBLISHED.items():
        config = pathlib.Path(folder, f"published_{number}.yaml")
        config.write_text(json.dumps(records[number]["config"]))
        milp = Milp(records[number]["published"]["step_time"], time, end)
        yield Run(f"{what} (case {number})", config, milp)


def time_process(binary, run, count, folder):
    """Wall clock of `count` processes, as hyperfine reports it."""
    exported = pathlib.Path(folder, "hyperfine.json")
    subprocess.run(
        ["hyperfine", "--shell=none", "--warmup=3", f"--runs={count}", "--style=none",
         f"--export-json={exported}", f"{binary} --config {run.config} --threads 1"],
        cwd=ROOT, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    return json.loads(exported.read_text())["results"][0]


def measured(run, timing, binary):
    result = support.dfsearch(run.config, "--threads", "1", binary=binary)
    better = run.milp.step_time / result["step_time"] if run.milp else None
    return {
        "name": run.name,
        "status": result["status"],
        "step_time": result["step_time"],
        "utilization": result["utilization"],
        "nodes": result["search"]["nodes"],
        "search_time": result["search"]["time"],
        "median": timing["median"],
        "min": timing["min"],
        "max": timing["max"],
        "cpu": timing["user"] + timing["system"],
        "milp": dataclasses.asdict(run.milp) if run.milp else None,
        "milp_over_ours": better,
    }


def row(run, result):
    milp_time, published, ratio, faster = "no published run", "", "", ""
    if run.milp:
        milp_time = run.milp.text()
        published = f"{run.milp.step_time:.6g} s"
        ratio = f"{result['milp_over_ours']:.4f}"
        if run.milp.time:
            faster = f"{run.milp.time / result['median']:,.0f}"
    return [run.name, support.seconds(result["median"]), milp_time, faster,
            f"{result['step_time']:.6g} s, {result['status']}", published, ratio, result["nodes"]]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    support.add_options(parser)
    parser.add_argument("--runs", type=int, default=20)
    options = parser.parse_args()

    build = options.build.resolve()
    binary = build / "dfsearch"
    facts = support.machine(build)
    quiet = support.Quiet(options.patience)
    results = []
    with tempfile.TemporaryDirectory() as folder:
        chosen = list(runs(folder))
        for run in chosen:
            timing = quiet.measure(lambda: time_process(binary, run, options.runs, folder))
            results.append(measured(run, timing, binary))
    facts["others"] = quiet.worst
    print(support.machine_text(facts))
    head = ["instance", "dfsearch, median", "MILP", "times faster", "step time", "MILP's",
            "MILP's / ours", "nodes"]
    text = support.table(head, [row(*pair) for pair in zip(chosen, results)])
    print(text)
    if options.record:
        support.record("process", facts, text)


if __name__ == "__main__":
    main()
