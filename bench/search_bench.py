#!/usr/bin/env python3
"""Searches named instances with one thread and with several.

    bench/search_bench.py [--build build/release] [--runs 5] [--threads 2] [--record] [NAME...]
    bench/search_bench.py --against OTHER_BUILD [NAME...]

Runs alternate, so that a machine that gets slower or faster meanwhile does so
for all; figures are medians.  Times are those of the search, without loading and
reporting.  The speed-up of the least times of all runs tells what the program does on
a processor of its own; that of the medians what it did on this machine, whose other
guests take their share.  Node inflation is nodes with several threads over nodes with one: a
speed-up below or above the number of threads is a matter of scaling only if it
is about 1.  With --against, two builds alternate on one thread: equal nodes mean
that their times can be compared, other nodes want an explanation first.
"""

import argparse
import dataclasses
import os
import pathlib

import support
from support import BENCH, ROOT


@dataclasses.dataclass
class Instance:
    config: pathlib.Path
    why: str
    arguments: tuple = ()


def instances():
    configs, own = ROOT / "configs", BENCH / "instances"
    return {
        "gpt3_1t": Instance(
            configs / "gpt3_1t.yaml",
            "forward and backward in six partitions, SRAM nearly full: the shape users have"),
        "gpt3_1t_core_allocation": Instance(
            configs / "gpt3_1t_core_allocation.yaml",
            "the same, and every partition costs an allocation of cores"),
        "gpt3_1t_free": Instance(
            configs / "gpt3_1t_free.yaml",
            "degrees and strategies searched: thousands of outer points"),
        "gpt3_1t_joint": Instance(
            configs / "gpt3_1t.yaml",
            "sharding searched with the fusion: the bound of compute is reached",
            ("--set", "search.sharding=joint")),
        "gpt3_1t_joint_10_gbps": Instance(
            configs / "gpt3_1t.yaml",
            "the same over slow links: every loop of a large GEMM is a trade",
            ("--set", "search.sharding=joint", "--set", "system.network.0.bandwidth=10 GB/s")),
        "gpt3_1t_joint_cores": Instance(
            configs / "gpt3_1t_core_allocation.yaml",
            "sharding, fusion and cores together",
            ("--set", "search.sharding=joint")),
        "gpt3_1t_4096_h100": Instance(
            configs / "gpt3_1t_4096_h100.yaml",
            "three free dimensions: a hundred thousand outer points"),
        "gpt3_1t_4096_h100_kernel_by_kernel": Instance(
            configs / "gpt3_1t_4096_h100.yaml",
            "the same without fusion: bounds of outer points and little else",
            ("--set", "execution.style=kernel_by_kernel")),
        "gpt3_1t_4096_h100_cores": Instance(
            configs / "gpt3_1t_4096_h100.yaml",
            "the same with cores allocated in every partition",
            ("--set", "execution.compute_utilization=null",
             "--set", "search.sharding=least_bytes")),
        "llama3_70b": Instance(
            configs / "transformers" / "llama3_70b.yaml",
            "degrees and shardings searched together: the bound over all shardings"),
        "v100_prefill": Instance(
            configs / "v100_prefill.yaml",
            "shardings kernel by kernel, as splits of budgets search them a thousand times"),
        "gpt3_175b_dataflow_8x1": Instance(
            configs / "gpt3_175b_dataflow_8x1.yaml",
            "prefill; many tiles tie, so every one of them is opened"),
        "gpt3_175b_dataflow_4x2": Instance(
            configs / "gpt3_175b_dataflow_4x2.yaml",
            "prefill; the bounds of tiles alone close most of them"),
        "gpt3_175b_vendor_8x1": Instance(
            configs / "gpt3_175b_vendor_8x1.yaml", "most kernels pinned"),
        "gpt3_175b_kernel_by_kernel_8x1": Instance(
            configs / "gpt3_175b_kernel_by_kernel_8x1.yaml",
            "no fusion to search: the cost of the frame around it"),
        "chain_100": Instance(
            own / "chain_100.yaml", "one topological order, 100 kernels: tables and bounds"),
        "layers_40": Instance(
            own / "layers_40.yaml", "many orders, no symmetry: bounds and dominance"),
        "layers_40_core_allocation": Instance(
            own / "layers_40_core_allocation.yaml",
            "the same with cores allocated: many costly partitions"),
        "experts_8": Instance(own / "experts_8.yaml", "symmetric: eight equal experts"),
    }


def run(instance, build, threads, *words):
    result = support.dfsearch(instance.config, *instance.arguments, "--threads", str(threads),
                              "--top", "1", *words, binary=build / "dfsearch")
    search = result["search"]
    return {
        "status": result["status"],
        "step_time": result["step_time"],
        "gap": result["gap"],
        "root_bound": search["root_bound"],
        "proof": search["proof"],
        "nodes": search["nodes"],
        "opened": search["outer_points"] - search["pruned"]["outer_points"],
        "outer_points": search["outer_points"],
        "time": search["time"],
        "first": search["first_incumbent"],
        "best": search["best_incumbent"],
    }


def middle(runs):
    """Medians of what varies, from runs that agree on the rest."""
    if len({(r["status"], r["step_time"]) for r in runs}) > 1 and runs[0]["status"] == "optimal":
        raise SystemExit("the runs of an instance disagree on the optimum")
    return {**runs[0], "least_time": min(r["time"] for r in runs),
            **{key: support.median([r[key] for r in runs])
               for key in ("nodes", "opened", "time", "first", "best", "gap", "step_time")}}


def alternate(instance, contestants, count, quiet):
    """contestants: {label: (build, threads)}; an unrecorded run before each, as processors that
    were idle, above all those of a shared machine, are slow to wake."""
    runs = {label: [] for label in contestants}
    for _ in range(count):
        for label, (build, threads) in contestants.items():
            both = quiet.measure(lambda: [run(instance, build, threads) for _ in range(2)])
            runs[label].append(both[-1])
    return {label: middle(of_label) for label, of_label in runs.items()}


def status_text(result):
    return "optimal" if result["gap"] == 0 else f"gap {100 * result['gap']:.3g} %"


def thread_rows(measured, threads):
    for name, by_threads in measured.items():
        one, many = by_threads["1"], by_threads[str(threads)]
        yield [name, status_text(one), support.seconds(one["step_time"]), f"{one['nodes']:.0f}",
               f"{one['nodes'] / one['time']:,.0f}", f"{one['opened']:.0f} / {one['outer_points']}",
               support.seconds(one["first"]), support.seconds(one["best"]),
               support.seconds(one["time"]), support.seconds(many["time"]),
               f"{one['time'] / many['time']:.2f}",
               f"{one['least_time'] / many['least_time']:.2f}", f"{many['nodes'] / one['nodes']:.2f}"]


def against_rows(measured):
    for name, by_build in measured.items():
        new, old = by_build["new"], by_build["old"]
        yield [name, f"{old['nodes']:.0f}", f"{new['nodes']:.0f}", support.seconds(old["time"]),
               support.seconds(new["time"]), f"{old['time'] / new['time']:.2f}"]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    support.add_options(parser)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--against", type=pathlib.Path, metavar="OTHER_BUILD")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--threads", type=int, default=min(2, os.cpu_count() or 1))
    options = parser.parse_args()

    suite = instances()
    unknown = set(options.names) - set(suite)
    if unknown:
        parser.error(f"no instance {', '.join(sorted(unknown))}; there are {', '.join(suite)}")
    if options.against and options.record:
        parser.error("--record is for a single build")
    chosen = {name: suite[name] for name in options.names or suite}
    build = options.build.resolve()
    facts = support.machine(build)
    quiet = support.Quiet(options.patience)
    if options.against:
        contestants = {"old": (options.against.resolve(), 1), "new": (build, 1)}
    else:
        contestants = {str(threads): (build, threads) for threads in {1, options.threads}}
    measured = {}
    for name, instance in chosen.items():
        measured[name] = alternate(instance, contestants, options.runs, quiet)
    facts["others"] = quiet.worst
    print(support.machine_text(facts))

    if options.against:
        head = ["instance", "nodes", "nodes, new", "time", "time, new", "old / new"]
        print(support.table(head, against_rows(measured)))
        return
    head = ["instance", "status", "step time", "nodes", "nodes/s", "points opened", "first mapping", "best mapping",
            "proof, 1 thread",
            f"{options.threads} threads", "speed-up", "of the least times", "node inflation"]
    text = support.table(head, thread_rows(measured, options.threads))
    print(text)
    if options.record:
        reasons = support.table(["instance", "why it is there"],
                                [[name, instance.why] for name, instance in chosen.items()])
        support.record("search", facts, f"{text}\n\n{reasons}")


if __name__ == "__main__":
    main()
