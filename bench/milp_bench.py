#!/usr/bin/env python3
"""dfsearch against the MILP solvers of the distribution, on the same instances.

    bench/milp_bench.py [--limit 600] [--short] [--record] [--build build/release] [NAME...]
    bench/milp_bench.py --alone [--record] [NAME...]
    bench/milp_bench.py --page [--check]

Each instance is solved by dfsearch, exported with the decisions of its winner, and
given to CBC, HiGHS (of SciPy) and GLPK, those that are installed, one after the
other.  With --alone it is dfsearch only, and the solvers are as recorded.  Their solutions are read back and costed.  --record keeps the numbers in
bench/results/milp.json, with NAME those of some instances beside the others there, and
writes docs/benchmarks.md from them; --page writes the
page alone, with --check it only looks whether it is up to date.  Ends with status 1
if a solver proves something else than dfsearch.
"""

import argparse
import json
import pathlib
import re
import resource
import subprocess
import sys
import tempfile
import time

import milp_instances
import milp_page
import milp_rivals
import support

LIMIT = 600        # what a patient user gives
SHORT_LIMIT = 10
SHORT_KERNELS = 18
RUNS = 5


def processor_time():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


class Contest:
    """One instance: its config, what dfsearch finds, its linear program."""

    def __init__(self, instance, binary, folder, limit):
        self.instance, self.binary, self.limit = instance, binary, limit
        self.model = folder / "model.mps"
        self.mapping = folder / "mapping.json"
        self.solution = folder / "model.sol"
        self.config = instance.file
        if self.config is None:
            self.config = folder / "config.yaml"
            self.config.write_text(instance.config)
        # The winner over all tiles decides the tile that everybody then has.
        winner = self.tool("--mapping", str(self.mapping))
        self.fixed = ["--set", f"workload.tile={winner['tile']}"] if winner["tile"] > 1 else []
        self.run("export", str(self.config), *instance.overrides(), "--mapping",
                 str(self.mapping), "-o", str(self.model))
        self.head = self.model.read_text()

    def run(self, *words):
        return subprocess.run([self.binary, *words], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, check=False)

    def tool(self, *words):
        return support.dfsearch(self.config, *self.instance.overrides(), "--threads", "1",
                                "--time-limit", f"{self.limit} s", *words, binary=self.binary)

    def dfsearch(self):
        times, walls = [], []
        for _ in range(RUNS):
            wall, before = time.monotonic(), processor_time()
            result = self.tool(*self.fixed)
            times.append(processor_time() - before)
            walls.append(time.monotonic() - wall)
            if result["status"] != "optimal":
                break  # the limit takes as long every time
        return result, {
            "status": "optimal" if result["status"] == "optimal" else "limit",
            "root": result["search"]["root_bound"], "objective": result["objective"],
            "bound": result["lower_bound"], "nodes": result["search"]["nodes"],
            "time": support.median(times), "wall": support.median(walls),
            "search_time": result["search"]["time"]}

    def step_time(self, objective):
        """From the units of the model to seconds, by the comment in its head."""
        if objective is None:
            return None
        unit, factor, transfer = map(float, re.search(
            r"step time = objective x (\S+) x (\S+) s \+ (\S+) s", self.head).groups())
        return objective * unit * factor + transfer

    def rival(self, solver):
        self.solution.unlink(missing_ok=True)
        result = solver.solve(self.model, self.limit, self.solution)
        for key in ("root", "objective", "bound"):
            result[key] = self.step_time(result[key])
        result["evaluated"] = None
        if result["objective"] is not None and self.solution.exists():
            done = self.run("evaluate", str(self.config), *self.instance.overrides(), "--mapping",
                            str(self.mapping), "--solution", str(self.solution), "--json", "-")
            if done.returncode == 0:
                result["evaluated"] = json.loads(done.stdout)["step_time"]
        return result

    def size(self):
        rows = re.search(r"\nROWS\n(.*)\nCOLUMNS\n", self.head, re.S)[1].count("\n")
        columns = {line.split()[0] for line in re.search(
            r"\nCOLUMNS\n(.*)\nRHS\n", self.head, re.S)[1].splitlines() if "'MARKER'" not in line}
        return rows, len(columns)


def contest(instance, binary, rivals, limit, recorded=None):
    """`recorded`: the outcome of the rivals, if they need not compete again."""
    with tempfile.TemporaryDirectory() as folder:
        field = Contest(instance, binary, pathlib.Path(folder), limit)
        result, ours = field.dfsearch()
        rows, columns = field.size()
        row = {"name": instance.name, "kernels": instance.kernels, "seed": instance.seed,
               "sram": instance.sram, "partitions": instance.partitions,
               "used": len(result["partitions"]), "tile": result["tile"], "rows": rows,
               "columns": columns, "published": instance.published, "dfsearch": ours,
               "rivals": recorded or {}}
        print(f"{instance.name}: {ours['objective']:.9g} s in {support.seconds(ours['time'])}",
              flush=True)
        for solver in rivals:
            outcome = row["rivals"][solver.name] = field.rival(solver)
            print(f"  {solver.name}: {outcome['status']}, {outcome['objective']} s, bound"
                  f" {outcome['bound']} s, {outcome['nodes']} nodes,"
                  f" {support.seconds(outcome['time'])}", flush=True)
    return row


def write_page(check):
    text = milp_page.page(json.loads(milp_page.RECORDED.read_text()))
    if check:
        if milp_page.PAGE.read_text() != text:
            sys.exit(f"{milp_page.PAGE} is not what bench/milp_bench.py --page writes")
    else:
        milp_page.PAGE.write_text(text)


def keep(facts, rows, names):
    """All rows, or some of them in the place of older ones of the same conditions."""
    if names:
        old = json.loads(milp_page.RECORDED.read_text())
        for key in ("cpu", "limit", "rivals"):
            if old["machine"][key] != facts[key]:
                sys.exit(f"{key} is not that of the recorded results: record all instances")
        new = {row["name"]: row | {"commit": facts["commit"], "date": facts["date"],
                                   "others": facts["others"]} for row in rows}
        facts, rows = old["machine"], [new.get(row["name"], row) for row in old["results"]]
    support.RESULTS.mkdir(exist_ok=True)
    whole = {"machine": facts, "results": rows}
    milp_page.RECORDED.write_text(json.dumps(whole, indent=1, allow_nan=False) + "\n")
    write_page(check=False)


def chosen_instances(options, parser):
    suite = milp_instances.instances()
    if options.short:
        suite = [i for i in suite if i.kernels <= SHORT_KERNELS]
    if options.names:
        suite = [i for i in suite if any(i.name.startswith(name) for name in options.names)]
        if not suite:
            parser.error("no instance has such a name")
    return suite


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    support.add_options(parser)
    parser.add_argument("names", nargs="*", metavar="NAME", help="instances that begin so")
    parser.add_argument("--limit", type=int, help=f"seconds for each solver ({LIMIT})")
    parser.add_argument("--short", action="store_true",
                        help=f"up to {SHORT_KERNELS} kernels, {SHORT_LIMIT} s")
    parser.add_argument("--alone", action="store_true", help="dfsearch only")
    parser.add_argument("--page", action="store_true", help="only write docs/benchmarks.md")
    parser.add_argument("--check", action="store_true", help="only check that page")
    options = parser.parse_args()
    if options.page or options.check:
        return write_page(options.check)

    recorded = json.loads(milp_page.RECORDED.read_text()) if options.alone else None
    limit = options.limit or (SHORT_LIMIT if options.short else LIMIT)
    if recorded:
        limit = recorded["machine"]["limit"]
    suite = chosen_instances(options, parser)
    if options.record and options.short:
        parser.error("--record is for the limit of the others, not for --short")
    build = options.build.resolve()
    rivals = [] if recorded else milp_rivals.installed(print)
    outcomes = {row["name"]: row["rivals"] for row in recorded["results"]} if recorded else {}
    facts = support.machine(build)
    facts |= {"limit": limit, "runs": RUNS,
              "rivals": recorded["machine"]["rivals"] if recorded
              else {solver.name: solver.version() for solver in rivals}}
    rows, share = support.Quiet.others(
        lambda: [contest(i, build / "dfsearch", rivals, limit, outcomes.get(i.name))
                 for i in suite])
    facts["others"] = share
    if options.record:
        keep(facts, rows, options.names or options.alone)
    print(milp_page.summary(rows, list(facts["rivals"]), limit))
    return 1 if milp_page.disagreements(rows) else 0


if __name__ == "__main__":
    sys.exit(main())
