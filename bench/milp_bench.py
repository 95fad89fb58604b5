#!/usr/bin/env python3
"""dfsearch against the MILP solvers of the distribution, on the same instances.

    bench/milp_bench.py [--limit 600] [--short | --large] [--record] [--build DIR] [NAME...]
    bench/milp_bench.py --record --continue [--large] [NAME...]
    bench/milp_bench.py --alone [--large] [--record] [NAME...]
    bench/milp_bench.py --page [--check]

Each instance is solved by dfsearch, exported with the decisions of its winner, and
given to CBC, HiGHS (of SciPy) and GLPK, those that are installed, one after the
other.  Their solutions are read back and costed.  With --alone it is dfsearch only,
and the solvers are as recorded.  --record keeps each measurement as it comes in
bench/results/milp.json, beside those of other instances there, and writes
docs/benchmarks.md from it; --continue leaves out what is there with this time limit.
--large takes graphs of 50 to 100 kernels, which have bench/results/milp_large.json.
--page writes the page alone, with --check it only looks whether it is up to date.
Ends with status 1 if a solver proves something else than dfsearch.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import milp_instances
import milp_page
import milp_record
import milp_rivals
import support

LIMIT = 600        # what a patient user gives
SHORT_LIMIT = 10
SHORT_KERNELS = 18
RUNS = 5


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
        times, walls, proofs = [], [], []
        for _ in range(RUNS):
            wall, before = time.monotonic(), support.processor_time()
            result = self.tool(*self.fixed)
            times.append(support.processor_time() - before)
            walls.append(time.monotonic() - wall)
            # The search tells it by the clock, which runs while others compute, too.
            search = result["search"]
            proofs.append(times[-1] * search["proof"]["time"] / search["time"])
            if result["status"] != "optimal":
                break  # the limit takes as long every time
        return {
            "used": len(result["partitions"]), "tile": result["tile"],
            "status": "optimal" if result["status"] == "optimal" else "limit",
            "root": result["search"]["root_bound"], "objective": result["objective"],
            "bound": result["lower_bound"], "nodes": result["search"]["nodes"],
            "time": support.median(times), "wall": support.median(walls),
            "search_time": result["search"]["time"], "proof": support.median(proofs)}

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


def contest(instance, binary, rivals, limit, facts, record):
    """Puts the outcome of dfsearch, then of each rival into the record."""
    def measured(action):
        outcome, others = support.Quiet.others(action)
        return outcome | {"limit": limit, "commit": facts["commit"], "date": facts["date"],
                          "others": round(others, 3)}

    with tempfile.TemporaryDirectory() as folder:
        field = Contest(instance, binary, pathlib.Path(folder), limit)
        rows, columns = field.size()
        ours = measured(field.dfsearch)
        row = {"name": instance.name, "kernels": instance.kernels, "seed": instance.seed,
               "sram": instance.sram, "partitions": instance.partitions,
               "used": ours.pop("used"), "tile": ours.pop("tile"), "rows": rows,
               "columns": columns, "published": instance.published}
        record.put(row, "dfsearch", ours)
        print(f"{instance.name}: {ours['objective']:.9g} s in {support.seconds(ours['time'])}",
              flush=True)
        for solver in rivals:
            outcome = measured(lambda: field.rival(solver))
            record.put(row, solver.name, outcome)
            print(f"  {solver.name}: {outcome['status']}, {outcome['objective']} s, bound"
                  f" {outcome['bound']} s, {outcome['nodes']} nodes,"
                  f" {support.seconds(outcome['time'])}", flush=True)


def chosen_instances(suite, options, parser):
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
    parser.add_argument("--large", action="store_true", help="graphs of 50 to 100 kernels")
    parser.add_argument("--alone", action="store_true", help="dfsearch only")
    parser.add_argument("--continue", action="store_true", dest="go_on",
                        help="only the solvers not yet recorded with this limit")
    parser.add_argument("--page", action="store_true", help="only write docs/benchmarks.md")
    parser.add_argument("--check", action="store_true", help="only check that page")
    options = parser.parse_args()
    if options.check:
        return milp_record.check_page()
    if options.page:
        return milp_record.write_page()
    if options.record and options.short:
        parser.error("--record is for the limit of the others, not for --short")
    if options.large and options.short:
        parser.error("--large has no graph that --short takes")

    limit = options.limit or (SHORT_LIMIT if options.short else LIMIT)
    everything, path = ((milp_instances.large_instances(), milp_page.LARGE) if options.large
                        else (milp_instances.instances(), milp_page.RECORDED))
    suite = chosen_instances(everything, options, parser)
    build = options.build.resolve()
    rivals = [] if options.alone else milp_rivals.installed(print)
    facts = support.machine(build) | {
        "runs": RUNS, "rivals": {solver.name: solver.version() for solver in rivals}}
    record = milp_record.Record(path, facts, [i.name for i in everything], options.record)
    for instance in suite:
        wanted = [solver for solver in rivals
                  if not options.go_on or record.missing(instance.name, solver.name, limit)]
        if wanted or options.alone or not options.go_on:
            contest(instance, build / "dfsearch", wanted, limit, facts, record)
    rows = record.chosen(i.name for i in suite)
    print(milp_page.summary(rows, list(facts["rivals"])))
    return 1 if milp_page.disagreements(rows) else 0


if __name__ == "__main__":
    sys.exit(main())
