"""bench/results/milp.json, milp_large.json: what was measured of each instance and solver, when.

A measurement is kept as soon as it is there, so that a comparison of many hours
can be stopped and continued; every one says its time limit, the date, dfsearch's
commit and the share of the processors that other processes took.
"""

import json
import os
import sys

import milp_page
import support


class Record:
    def __init__(self, path, facts, names, save):
        """`facts`: machine, versions of the rivals; `names`: all instances, in order."""
        self.path, self.facts, self.names, self.save = path, facts, names, save
        self.rows, old = {}, {}
        if path.exists():
            old = json.loads(path.read_text())
            self.rows = {row["name"]: {"cpu": old["machine"]["cpu"]} | row
                         for row in old["results"]}
        if old and any(old["machine"]["rivals"].get(name, version) != version
                       for name, version in facts["rivals"].items()):
            if save:
                sys.exit(f"{path} is of other versions of the solvers: remove it to record all"
                         " instances here")
            self.rows = {}
        elif old:
            facts["rivals"] = old["machine"]["rivals"] | facts["rivals"]

    def missing(self, name, rival, limit):
        measured = self.of_this_machine(name)["rivals"].get(rival)
        return measured is None or measured["limit"] != limit

    def of_this_machine(self, name):
        """The row, if it is of this processor: a row compares times, so it is of one."""
        row = self.rows.get(name)
        return row if row and row["cpu"] == self.facts["cpu"] else {"rivals": {}}

    def put(self, row, solver, outcome):
        """`row`: what describes the instance; `outcome`: of dfsearch or of a rival."""
        old = self.of_this_machine(row["name"])
        new = self.rows[row["name"]] = {**row, "cpu": self.facts["cpu"],
                                        "dfsearch": old.get("dfsearch"), "rivals": old["rivals"]}
        if solver == "dfsearch":
            new["dfsearch"] = outcome
        else:
            new["rivals"][solver] = outcome
        if self.save:
            self.write()

    def chosen(self, names):
        return [self.rows[name] for name in names]

    def write(self):
        support.RESULTS.mkdir(exist_ok=True)
        rows = self.chosen(name for name in self.names if name in self.rows)
        text = json.dumps({"machine": self.facts, "results": rows}, indent=1, allow_nan=False)
        draft = self.path.with_suffix(".tmp")
        draft.write_text(text + "\n")
        os.replace(draft, self.path)
        write_page()


def page_now():
    return milp_page.page(*(json.loads(path.read_text())
                            for path in (milp_page.RECORDED, milp_page.LARGE)))


def write_page():
    milp_page.PAGE.write_text(page_now())


def check_page():
    if milp_page.PAGE.read_text() != page_now():
        sys.exit(f"{milp_page.PAGE} is not what bench/milp_bench.py --page writes")
