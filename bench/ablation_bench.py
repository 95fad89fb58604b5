#!/usr/bin/env python3
"""What each bound of the search is worth: the effort without it.

    bench/ablation_bench.py [--build build/release] [--limit 20] [--runs 3] [--record] [NAME...]

Instances of bench/search_bench.py, of bench/scale_instances.py and of
bench/milp_instances.py are searched with all bounds, then without each of them
in turn (`--no-bound`), on one thread in deterministic mode: the nodes are the
same on every machine.  A bound that others make up for shows no difference: it
may be the only one elsewhere.  Times are the median of a few runs, of one where
that takes over a second.  Ends with status 1 if a search without a bound proves
another optimum.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import milp_instances
import scale_instances
import search_bench
import support

LIMIT = 20
RUNS = 3
SHORT = 1.0  # seconds; what takes longer is run once

SEARCHED = ("gpt3_1t", "gpt3_1t_core_allocation", "gpt3_1t_joint_10_gbps", "gpt3_1t_joint_cores",
            "gpt3_1t_4096_h100", "llama3_70b", "v100_prefill", "layers_40",
            "layers_40_core_allocation", "experts_8")
OF_SCALE = ("training_4", "efficientnet_b0_s640", "ppocr4_det_s640")
OF_MILP = ("dlrm, 1280 MiB", "random 20 (seed 2), 32 MiB", "random 30 (seed 3), 32 MiB")


def instances(folder):
    found = {name: search_bench.instances()[name] for name in SEARCHED}
    for name in OF_SCALE:
        config = folder / f"{name}.json"
        config.write_text(json.dumps(scale_instances.instances()[name]()))
        found[name] = search_bench.Instance(config, "")
    for instance in milp_instances.instances():
        if instance.name not in OF_MILP:
            continue
        config = instance.file
        if config is None:
            config = folder / f"{len(found)}.yaml"
            config.write_text(instance.config)
        found[instance.name] = search_bench.Instance(config, "", tuple(instance.overrides()))
    return found


def bounds(build):
    """Their names, as the program lists them."""
    done = subprocess.run([build / "dfsearch", "none.yaml", "--no-bound", "?"],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    return re.search(r"expected (.*), got", done.stderr)[1].replace(" or ", ", ").split(", ")


def measure(instance, build, limit, runs, bound, quiet):
    """Of the proof alone: what chooses among equal optima always uses all bounds."""
    words = ["--deterministic", "--time-limit", f"{limit} s"]
    words += ["--no-bound", bound] if bound else []
    results = []
    while len(results) < runs:
        results.append(quiet.measure(lambda: search_bench.run(instance, build, 1, *words)))
        if results[-1]["time"] > SHORT:
            break
    first = results[0]
    return {**{key: first[key] for key in ("status", "step_time", "gap", "root_bound")},
            "nodes": first["proof"]["nodes"],
            "time": support.median([result["proof"]["time"] for result in results])}


def proved(result):
    return result["status"] == "optimal"


def ratio_text(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def effort_text(result, default, key):
    """How many times the default's; where a limit ended it the gap that was left."""
    if proved(result):
        return f"{result[key] / default[key]:.2f}" if key == "time" else ratio_text(
            result[key] / default[key])
    left = left_text(result)
    if not proved(default):
        return left
    return f"> {ratio_text(result[key] / default[key])} ({left})"


def left_text(result):
    return "no mapping" if result["gap"] is None else f"gap {percent(result['gap'])}"


def percent(gap):
    return "0" if gap <= 0 else "below 0.01 %" if gap < 1e-4 else f"{100 * gap:.3g} %"


def root_text(result, default):
    """Of the best mapping's point; that of another point says nothing.  The limit may come before
    it is known."""
    if not proved(result) or result["root_bound"] is None:
        return ""
    return percent(1 - result["root_bound"] / default["step_time"])


def tables(measured):
    names = list(next(iter(measured.values())))[1:]
    head = ["without", *measured]
    default = {instance: of_bound["default"] for instance, of_bound in measured.items()}

    def rows(first, cell):
        yield ["nothing: all used", *map(first, default.values())]
        for name in names:
            yield [f"`{name}`", *[cell(of_bound[name], default[instance])
                                  for instance, of_bound in measured.items()]]

    return "\n\n".join([
        "Nodes of the proof, as a multiple of those with all bounds; `>`: the limit ended the search, with the "
        "gap that was left:",
        support.table(head, rows(lambda r: f"{r['nodes']} nodes" +
                                 ("" if proved(r) else f", {left_text(r)}"),
                                 lambda r, d: effort_text(r, d, "nodes"))),
        "Time, likewise; only as good as the machine was quiet, so the nodes say more:",
        support.table(head, rows(lambda r: support.seconds(r["time"]),
                                 lambda r, d: effort_text(r, d, "time"))),
        "Root gap: how far the bound of the best mapping's network, tile and micro-batch, before "
        "any branching, is below the optimum:",
        support.table(head, rows(lambda r: root_text(r, r), root_text))])


def disagreements(measured):
    for name, by_bound in measured.items():
        for bound, result in by_bound.items():
            if proved(result) and result["step_time"] != by_bound["default"]["step_time"]:
                yield f"{name}: without {bound} another optimum is proved"


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    support.add_options(parser)
    parser.add_argument("names", nargs="*", metavar="NAME", help="instances that begin so")
    parser.add_argument("--limit", type=int, default=LIMIT, metavar="SECONDS",
                        help=f"for each search ({LIMIT})")
    parser.add_argument("--runs", type=int, default=RUNS)
    options = parser.parse_args()

    build = options.build.resolve()
    facts = support.machine(build)
    quiet = support.Quiet(options.patience)
    measured = {}
    with tempfile.TemporaryDirectory() as folder:
        suite = instances(pathlib.Path(folder))
        chosen = {name: instance for name, instance in suite.items()
                  if not options.names or name.startswith(tuple(options.names))}
        if not chosen:
            parser.error(f"no instance has such a name; there are {'; '.join(suite)}")
        for name, instance in chosen.items():
            print(name, file=sys.stderr, flush=True)
            measured[name] = {
                bound or "default": measure(instance, build, options.limit, options.runs, bound,
                                            quiet)
                for bound in ("", *bounds(build))}
    facts |= {"others": quiet.worst, "limit": options.limit, "runs": options.runs}
    text = tables(measured)
    print(support.machine_text(facts), text, sep="\n\n")
    if options.record:
        support.record("ablation", facts, f"Limit: {options.limit} s for each search.\n\n{text}")
    wrong = list(disagreements(measured))
    print(*wrong, sep="\n", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
