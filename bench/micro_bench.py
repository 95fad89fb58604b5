#!/usr/bin/env python3
"""Runs the micro benchmarks nine times over, interleaved, and shows medians.

    bench/micro_bench.py [--build build/release] [--record] [GOOGLE BENCHMARK'S OPTIONS...]

What each of them is, and what its data imitate, stands in bench/micro/*.cpp.
"""

import argparse
import json
import pathlib
import subprocess
import tempfile

import support
UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
# Keys of a Google Benchmark record that are not counters of ours.
KNOWN = {"name", "run_name", "run_type", "repetitions", "threads", "iterations", "real_time",
         "cpu_time", "time_unit", "aggregate_name", "aggregate_unit", "family_index",
         "per_family_instance_index", "repetition_index"}


def measure(binary, arguments):
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder, "benchmark.json")
        subprocess.run(
            [binary, "--benchmark_repetitions=9", "--benchmark_enable_random_interleaving=true",
             "--benchmark_min_time=0.05", "--benchmark_out_format=json",
             f"--benchmark_out={out}", *arguments],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
        repetitions = [record for record in json.loads(out.read_text())["benchmarks"]
                       if record["run_type"] == "iteration"]
    results = {}
    for record in repetitions:
        of_name = results.setdefault(record["run_name"], {"times": [], "counters": {}})
        of_name["times"].append(record["cpu_time"] * UNITS[record["time_unit"]])
        of_name["counters"].update({k: v for k, v in record.items() if k not in KNOWN})
    return {name: {"median": support.median(r["times"]), "min": min(r["times"]),
                   "max": max(r["times"]), **r["counters"]}
            for name, r in sorted(results.items())}


def counters_text(result):
    counters = {k: v for k, v in result.items() if k not in ("median", "min", "max")}
    return ", ".join(f"{value:,.0f} {key.replace('items_per_second', 'items/s')}"
                     for key, value in counters.items())


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    support.add_options(parser)
    options, rest = parser.parse_known_args()

    build = options.build.resolve()
    facts = support.machine(build)
    quiet = support.Quiet(options.patience)
    results = quiet.measure(lambda: measure(build / "bench" / "dfsearch_bench", rest))
    facts["others"] = quiet.worst
    print(support.machine_text(facts))
    text = support.table(
        ["benchmark", "CPU time, median", "least", "what it did"],
        [[f"`{name}`", support.seconds(r["median"]), support.seconds(r["min"]), counters_text(r)]
         for name, r in results.items()])
    print(text)
    if options.record:
        support.record("micro", facts, text)


if __name__ == "__main__":
    main()
