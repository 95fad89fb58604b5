#!/usr/bin/env python3
"""Searches large graphs to a time limit: gap, nodes, memory and how soon mappings are good.

    bench/scale_bench.py [--build build/release] [--quick] [--limit 60] [--record] [--continue]
                         [NAME...]
    bench/scale_bench.py --speed-up [--limit 60] [--record] [NAME...]

Instances are those of scale_instances.py.  --quick takes ten seconds for each.  A search ends with its proof: what then looks beyond the scope is not
measured.  `best after 1 s` is how far the best mapping of the first second is above the
best one of the whole search.  Names are prefixes: `bert12` is all of these.  --continue leaves
rows on record that are not measured again, if all else is as it was.  --speed-up compares the
proofs of one thread with those of several, where one takes more than half a second, of five runs each the one of the median time.  `at first` is the gap, and the limit
that it took, before large graphs had bounds and mappings of their own.
"""

import argparse
import json
import math
import os
import pathlib
import signal
import subprocess
import tempfile
import time

import scale_instances
import support

LIMIT, QUICK = 60, 10
SLOW = 0.5  # seconds
RUNS = 5  # of a proof that is compared: on several threads no two are alike
AT_FIRST = {"training_2": "0 (0.2 s)", "training_4": "2.3 % (30 s)", "training_8": "3.6 % (30 s)",
            "training_96": "4.8 % (30 s)"}


def chosen(names):
    """The instances whose names begin with one of these; all without any."""
    return [name for name in scale_instances.instances()
            if not names or name.startswith(tuple(names))]


def best_within(events, seconds):
    """The objective of the best mapping that was found so soon; None: there was none."""
    found = [event["objective"] for event in events
             if event["event"] == "incumbent" and event["time"] <= seconds]
    return min(found, default=None)


def is_proved(events):
    """Whether the events so far say that nothing is better; the last one may be half written."""
    lines = events.read_text().splitlines()[:-1] if events.exists() else []
    return any(json.loads(line).get("gap") == 0 for line in lines)


def run(config, build, threads, limit):
    before = support.processor_time()
    with tempfile.TemporaryDirectory() as folder:
        events = pathlib.Path(folder) / "events"
        output = pathlib.Path(folder) / "output"
        with output.open("w") as out, subprocess.Popen(
                [build / "dfsearch", config, "--threads", str(threads), "--time-limit",
                 f"{limit} s", "--memory-limit", "4 GiB", "--top", "1", "--quiet", "--json", "-",
                 "--events", str(events)],
                stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.PIPE, text=True) as done:
            while done.poll() is None:
                time.sleep(0.02)
                if is_proved(events):
                    done.send_signal(signal.SIGINT)
                    break
            message = done.communicate()[1]
        lines = events.read_text().splitlines() if events.exists() else []
        text = output.read_text()
    if done.returncode not in (0, 4, 5):
        raise SystemExit(f"{config}: exit status {done.returncode}\n{message}")
    result = json.loads(text)
    search = result["search"]
    soon = best_within(map(json.loads, lines), 1.0)
    return {"limit": limit, "gap": result["gap"], "step_time": result["step_time"],
            "nodes": search["proof"]["nodes"], "memory": search["memory"]["used"],
            "time": search["proof"]["time"], "processor": support.processor_time() - before,
            "first": search["first_incumbent"], "best": search["best_incumbent"],
            "above_best": soon / result["step_time"] - 1 if soon and result["step_time"] else None}


def percent(value):
    return "" if value is None else "0" if value == 0 else f"{100 * value:.2g} %"


def row_of(name, result):
    def known(key, text):
        return "" if result[key] is None else text(result[key])

    return [name, f"{result['limit']} s", AT_FIRST.get(name, ""),
            known("gap", percent), known("time", support.seconds),
            known("nodes", lambda n: f"{n:,.0f}"), known("memory", lambda b: f"{b / 1e6:,.0f} MB"),
            known("first", support.seconds), known("above_best", percent)]


def speed_up(names, files, build, options, limit, quiet):
    """{instance: a result of one thread, one of several}, of those that one proves, not at once"""
    measured = {}
    for name in names:
        def of(threads, runs, file=files[name]):
            results = [quiet.measure(lambda: run(file, build, threads, limit)) for _ in range(runs)]
            return sorted(results, key=lambda result: result["time"])[runs // 2]

        first = of(1, 1)
        if first["gap"] == 0 and first["time"] > SLOW:
            measured[name] = (of(1, RUNS), of(options.threads, RUNS))
            print(*speed_up_row(name, measured[name]), sep=" | ", flush=True)
    return measured


def speed_up_row(name, pair):
    one, more = pair
    late = "" if more["gap"] == 0 else "not within "
    return [name, support.seconds(one["time"]), late + support.seconds(more["time"]),
            f"{one['time'] / more['time']:.2f}", f"{one['nodes']:,}",
            f"{more['nodes'] / one['nodes']:.2f}",
            f"{more['processor'] / one['processor']:.2f}"]


def speed_up_text(measured, threads):
    times = [one["time"] / more["time"] for one, more in measured.values()]
    if not times:
        return "no instance is proved by one thread, and not at once"
    mean = math.exp(sum(map(math.log, times)) / len(times))
    return (f"Geometric mean of the speed-ups: {mean:.2f}; median {support.median(times):.2f}.\n\n"
            + support.table(["instance", "proof, 1 thread", f"{threads} threads", "speed-up",
                             "nodes", "node inflation", "processor time"],
                            [speed_up_row(*of) for of in measured.items()]))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    support.add_options(parser)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--limit", type=int, metavar="SECONDS")
    parser.add_argument("--continue", dest="keep", action="store_true")
    parser.add_argument("--speed-up", action="store_true")
    parser.add_argument("--threads", type=int, default=min(2, os.cpu_count() or 1))
    options = parser.parse_args()

    limit = options.limit or (QUICK if options.quick else LIMIT)
    names = chosen(options.names)
    if not names:
        parser.error("no instance has such a name")
    build = options.build.resolve()
    facts = support.machine(build)
    quiet = support.Quiet(options.patience)
    measured = {}
    with tempfile.TemporaryDirectory() as folder:
        files = scale_instances.write(pathlib.Path(folder), names)
        if options.speed_up:
            measured = speed_up(names, files, build, options, limit, quiet)
            facts |= {"others": quiet.worst, "threads": options.threads}
            text = speed_up_text(measured, options.threads)
            print(support.machine_text(facts), text, sep="\n\n")
            if options.record:
                support.record("speed_up", facts, text)
            return
        for name in names:
            measured[name] = quiet.measure(
                lambda file=files[name]: run(file, build, options.threads, limit))
            print(*row_of(name, measured[name]), sep=" | ", flush=True)
    facts |= {"others": quiet.worst, "threads": options.threads}
    if options.keep:
        kept = json.loads((support.RESULTS / "scale.json").read_text())
        same = ("cpu", "compiler", "flags", "threads", "commit")
        if any(str(kept["machine"][key]).rstrip("+") != str(facts[key]).rstrip("+")
               for key in same):
            raise SystemExit("what is on record was measured elsewhere or of another build")
        facts["others"] = max(facts["others"], kept["machine"]["others"])
        known = {**kept["results"], **measured}
        measured = {name: known[name] for name in chosen([]) if name in known}
    text = (f"{options.threads} threads, 4 GiB.\n\n" +
            support.table(["instance", "limit", "at first", "gap", "time", "nodes", "memory",
                           "first mapping", "best after 1 s"],
                          [row_of(name, result) for name, result in measured.items()]))
    print(support.machine_text(facts), text, sep="\n\n")
    if options.record:
        whole = {"machine": facts, "results": measured}  # which --continue reads
        (support.RESULTS / "scale.json").write_text(json.dumps(whole, indent=1) + "\n")
        support.record("scale", facts, text)


if __name__ == "__main__":
    main()
