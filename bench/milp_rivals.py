"""MILP solvers of the distribution, one class each, behind one interface.

`solve` gives what every solver has, in the units of the model: status (optimal,
limit, infeasible, failed), root (bound of the linear relaxation), bound,
objective, nodes, time (of the processor) and wall; None where there is no value.
All run on one thread, to a gap of 0, and may take MEMORY bytes.
"""

import json
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import time

BENCH = pathlib.Path(__file__).resolve().parent
MEMORY = 6 << 30


def run(command, limit):
    """Output, wall and processor time; a solver that overruns twice its limit is ended."""
    def used():
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    def bounded():
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))

    start, before = time.monotonic(), used()
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=2 * limit + 10,
                              check=False, preexec_fn=bounded)
        text = done.stdout
    except subprocess.TimeoutExpired as late:
        text = (late.stdout or b"").decode(errors="replace")
    return text, time.monotonic() - start, used() - before


def last(pattern, text):
    found = re.findall(pattern, text)
    return found[-1] if found else None


def number(text):
    return None if text is None else float(text)


class Cbc:
    name, package = "CBC", "coinor-cbc"

    def available(self):
        return shutil.which("cbc") is not None

    def version(self):
        text, _, _ = run(["cbc", "quit"], 10)
        return "CBC " + (last(r"Version: (\S+)", text) or "")

    def solve(self, model, limit, solution):
        text, wall, processor = run(
            ["cbc", str(model), "sec", str(limit), "timeMode", "elapsed", "ratio", "0", "allow",
             "0", "threads", "0", "solve", "solu", str(solution)], limit)
        objective = number(last(r"(?m)^Objective value:\s+(\S+)", text))
        bound = number(last(r"(?m)^Lower bound:\s+(\S+)", text))
        root = number(last(r"Continuous objective value is (\S+)", text))
        if "Result - Optimal" in text or "Search completed" in text and objective is not None:
            status, bound = "optimal", objective
        # When its time is over within the first linear program it calls that one infeasible.
        elif (re.search(r"infeasible", text) and objective is None and "Stopped" not in text
              and wall < limit):
            status = "infeasible"
        else:
            status = "limit"
            # "possible" lines come while it searches; the last one holds at the end.
            bound = bound or number(last(r"best possible (\S+) \(", text)) or root
        return {"status": status, "root": root, "objective": objective, "bound": bound,
                "nodes": number(last(r"Enumerated nodes:\s+(\d+)", text)), "wall": wall,
                "time": processor}


class Highs:
    name, package = "HiGHS", "python3-scipy"

    python = None

    def available(self):
        for python in (sys.executable, "/usr/bin/python3"):
            if run([python, "-c", "from scipy.optimize import milp; print('yes')"],
                   30)[0].strip() == "yes":
                self.python = python
                return True
        return False

    def version(self):
        text = run([self.python, "-c", "import scipy; print(scipy.__version__)"], 30)[0]
        return f"HiGHS of SciPy {text.strip()}"

    def solve(self, model, limit, solution):
        text, wall, processor = run(
            [self.python, str(BENCH / "milp_highs.py"), str(model), str(limit), str(solution)],
            limit)
        try:
            result = json.loads(last(r"(?m)^\{.*\}$", text) or "")
        except ValueError:
            return {"status": "failed", "root": None, "objective": None, "bound": None,
                    "nodes": None, "wall": wall, "time": processor}
        result.pop("version")
        if result["bound"] is None:
            result["bound"] = number(last(r"Dual bound\s+(-?\d\S*)", text))
            result["nodes"] = number(last(r"Nodes\s+(\d+)", text))
        return result


class Glpk:
    name, package = "GLPK", "glpk-utils"

    def available(self):
        return shutil.which("glpsol") is not None

    def version(self):
        text, _, _ = run(["glpsol", "--version"], 10)
        return "GLPK " + (last(r"GLPSOL.*?(\d+\.\d+)", text) or "")

    def solve(self, model, limit, solution):
        text, wall, processor = run(
            ["glpsol", "--freemps", str(model), "--cuts", "--fpump", "--mipgap", "0", "--tmlim",
             str(limit), "-o", str(solution)], limit)
        relaxation = text.partition("OPTIMAL LP SOLUTION FOUND")
        root = number(last(r"obj =\s+(\S+)", relaxation[0])) if relaxation[1] else None
        mip = re.findall(r"mip =\s+(not found yet|\S+) >=\s+(tree is empty|\S+)"
                         r".*?\((\d+); (\d+)\)", relaxation[2])
        incumbent, bound, nodes = (mip[-1][0], mip[-1][1], int(mip[-1][3])) if mip else (
            None, None, None)
        objective = None if incumbent in (None, "not found yet") else float(incumbent)
        bound = None if bound in (None, "tree is empty", "-inf") else number(bound)
        if "INTEGER OPTIMAL SOLUTION FOUND" in text:
            status, bound = "optimal", objective
        elif "NO INTEGER FEASIBLE" in text or "NO PRIMAL FEASIBLE" in text:
            status = "infeasible"
        else:
            # It may also end by an assertion of its own.
            status = "limit" if "TIME LIMIT EXCEEDED" in text or wall > limit else "failed"
            bound = root if bound is None else bound
        return {"status": status, "root": root, "objective": objective, "bound": bound,
                "nodes": nodes, "wall": wall, "time": processor}


ALL = (Cbc(), Highs(), Glpk())


def installed(report):
    """The rivals that are there; `report` is told of the others."""
    found = []
    for rival in ALL:
        if rival.available():
            found.append(rival)
        else:
            report(f"{rival.name} is skipped: not installed (package {rival.package})")
    return found
