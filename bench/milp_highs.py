#!/usr/bin/env python3
"""Solves a free MPS file, as dfsearch writes it, with the HiGHS inside SciPy.

    bench/milp_highs.py MODEL.mps SECONDS SOLUTION

One line of JSON to standard output, and the log of HiGHS before or after it; the
columns that are not 0 to SOLUTION.  Without a solution SciPy gives no bound: the
log has it.  A script of its own, since the Python that has SciPy need not be the
one that runs the benchmark.  Times are those of the solve alone, without imports
and reading.
"""

import json
import sys
import time

import numpy
import scipy
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csc_matrix


class Model:
    """What of MPS io/lp/lp_text.cpp uses: N, L, E, G rows, markers, UP and FX bounds."""

    def __init__(self, path):
        self.rows, self.senses, self.columns = {}, [], {}
        self.cost, self.integer, self.lower, self.upper = [], [], [], []
        self.entries, self.right, self.objective = [], {}, None
        section, self.in_integers = None, False
        with open(path) as lines:
            for line in lines:
                if line.startswith("*") or not line.strip():
                    continue
                words = line.split()
                if line.startswith(" "):
                    getattr(self, "read_" + section)(words)
                else:
                    section = words[0].lower()

    def read_rows(self, words):
        if words[0] == "N":
            self.objective = words[1]
        else:
            self.rows[words[1]] = len(self.senses)
            self.senses.append(words[0])

    def read_columns(self, words):
        name, row, value = words
        if row == "'MARKER'":
            self.in_integers = value == "'INTORG'"
            return
        if name not in self.columns:
            self.columns[name] = len(self.cost)
            self.cost.append(0.0)
            self.integer.append(self.in_integers)
            self.lower.append(0.0)
            self.upper.append(numpy.inf)
        if row == self.objective:
            self.cost[self.columns[name]] = float(value)
        else:
            self.entries.append((self.rows[row], self.columns[name], float(value)))

    def read_rhs(self, words):
        self.right[self.rows[words[1]]] = float(words[2])

    def read_bounds(self, words):
        column, value = self.columns[words[2]], float(words[3])
        self.upper[column] = value
        if words[0] == "FX":
            self.lower[column] = value

    def solve(self, seconds, integers):
        right = numpy.array([self.right.get(r, 0.0) for r in range(len(self.senses))])
        low = numpy.where(numpy.array(self.senses) == "L", -numpy.inf, right)
        high = numpy.where(numpy.array(self.senses) == "G", numpy.inf, right)
        row, column, value = zip(*self.entries)
        matrix = csc_matrix((value, (row, column)), shape=(len(self.senses), len(self.cost)))
        wall, processor = time.monotonic(), time.process_time()
        result = milp(numpy.array(self.cost), integrality=numpy.array(self.integer) * integers,
                      bounds=Bounds(self.lower, self.upper),
                      constraints=LinearConstraint(matrix, low, high),
                      options={"time_limit": seconds, "mip_rel_gap": 0.0, "disp": bool(integers)})
        return result, time.monotonic() - wall, time.process_time() - processor


def main():
    path, seconds, solution = sys.argv[1], float(sys.argv[2]), sys.argv[3]
    model = Model(path)
    relaxed, _, _ = model.solve(seconds, 0)
    result, wall, processor = model.solve(seconds, 1)
    if result.x is not None:
        with open(solution, "w") as file:
            for name, value in zip(model.columns, result.x):
                if value != 0:
                    file.write(f"{name} {value!r}\n")
    print(json.dumps({
        "version": f"SciPy {scipy.__version__}",
        "status": {0: "optimal", 1: "limit", 2: "infeasible"}.get(result.status, "failed"),
        "root": relaxed.fun if relaxed.status == 0 else None, "objective": result.fun,
        "bound": result.mip_dual_bound, "nodes": result.mip_node_count, "wall": wall,
        "time": processor}))


if __name__ == "__main__":
    main()
