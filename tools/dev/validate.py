#!/usr/bin/env python3
"""Holds dfsearch against every published run, and writes docs/validation.md and the tables of
docs/truth.md.

    tools/dev/validate.py DFSEARCH [--write]

Every case of tests/golden/published.json is taken from configs/published/: `dfsearch evaluate`
costs the published mapping, `dfsearch solve` finds the optimum under the same pins and switches.
Prints the table; exit status 1 if a difference has no reason, an optimum is above the published
step or not proved, or a page says something else (times aside).
"""

import argparse
import dataclasses
import functools
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import measured_steps  # noqa: E402
import published_configs  # noqa: E402
import runs_picture  # noqa: E402
import truth_tables  # noqa: E402
import validation_page  # noqa: E402

PAGE = published_configs.ROOT / "docs" / "validation.md"
EXACT = 1e-9  # what two solvers that work in doubles may differ by
SOLVER_GAP = 1e-3  # the published runs stop there
WITHIN_GAP = "within the gap of 0.001 at which the published solver stops"


@dataclasses.dataclass
class Case:
    """A published run and what dfsearch says of it; results are None where there is no config."""

    record: dict
    evaluation: dict | None = None  # of the published mapping, if that is known
    solution: dict | None = None
    solve_time: float = 0.0  # of the whole process

    @property
    def published_step(self):
        return self.record.get("published", {}).get("step_time")

    @property
    def comparable(self):
        """Whether all inputs are known: then the optimum must not be above the published step."""
        return "solve" in self.record["checks"]

    @property
    def difference(self):
        """Step time of the published mapping over the published one, less 1; None without one."""
        if self.evaluation is None or self.evaluation["infeasible"]:
            return None
        return self.evaluation["step_time"] / self.published_step - 1

    @property
    def ratio(self):
        """The published step time over the optimum; None without one."""
        if self.solution is None or self.solution["step_time"] is None:
            return None
        return self.published_step / self.solution["step_time"]

    @property
    def reasons(self):
        """Why published and own figures differ, or why they are not compared."""
        found = [self.record.get("reason")]
        if self.comparable and self.ratio is not None:
            if self.ratio > 1 + SOLVER_GAP:
                found.append(self.record["published"].get("ended"))
            elif self.ratio > 1 + EXACT and found == [None]:
                found = [WITHIN_GAP]
        return [reason for reason in found if reason]

    def problems(self):
        """What is wrong with this case, one text each."""
        differs = self.evaluation is None or self.difference is None or abs(self.difference) > EXACT
        better = self.comparable and self.ratio is not None and self.ratio > 1 + EXACT
        if (differs or better or not self.comparable) and not self.reasons:
            yield "differs without a reason"
        if self.comparable:
            if self.solution["status"] != "optimal" or self.solution["gap"] != 0:
                yield f"status {self.solution['status']}, gap {self.solution['gap']}"
            elif self.ratio < 1 - EXACT:
                yield f"the optimum is {1 / self.ratio - 1:.1e} above the published step"


def run_json(program, *words, **options):
    """The result of a run, also of one that finds nothing."""
    done = subprocess.run([program, *map(str, words), "--json", "-"], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=600, check=False, **options)
    if done.returncode not in (0, 3):
        raise RuntimeError(f"{words}: exit status {done.returncode}\n{done.stderr}")
    return json.loads(done.stdout)


@functools.cache
def solve(program, config):
    """Result, and time of the whole process."""
    begin = time.perf_counter()
    result = run_json(program, "solve", config, "--quiet", "--threads", "2")
    return result, time.perf_counter() - begin


def evaluate(program, config, mapping):
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "mapping.json")
        file.write_text(json.dumps(mapping), encoding="utf-8")
        return run_json(program, "evaluate", config, "--mapping", file)


def run_case(program, record):
    case = Case(record)
    config = published_configs.file_of(record)
    if config is not None:
        if "mapping" in record:
            case.evaluation = evaluate(program, config, record["mapping"])
        case.solution, case.solve_time = solve(program, config)
    return case


def run_all(program):
    """All published runs."""
    return [run_case(program, record) for record in published_configs.records()]


def problems(cases):
    return [f"case {case.record['id']}: {text}" for case in cases for text in case.problems()]


def without_times(page):
    """The page with the measured times left out: the last cells of the first table, and the sum."""
    runs, reasons, rest = page.partition("\n| number |")
    runs = re.sub(r"\| [\d.]+ m?s \|$", "|", runs, flags=re.MULTILINE)
    return runs + reasons + re.sub(r"[\d.]+ s here", "here", rest)


def is_current(page):
    """Whether docs/validation.md is this page, but for the times."""
    return PAGE.is_file() and without_times(PAGE.read_text(encoding="utf-8")) == without_times(page)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("program", metavar="DFSEARCH")
    parser.add_argument("--write", action="store_true", help="write the pages and the picture")
    options = parser.parse_args()
    program = str(pathlib.Path(options.program).resolve())
    cases = run_all(program)
    measured = measured_steps.steps(program)
    page = validation_page.page(cases, measured)
    print(validation_page.table(cases))
    wrong = problems(cases) + measured_steps.problems(measured)
    truth, picture = truth_tables.renewed(program), runs_picture.picture(program)
    if options.write:
        PAGE.write_text(page, encoding="utf-8")
        truth_tables.PAGE.write_text(truth, encoding="utf-8")
        runs_picture.PICTURE.write_text(picture, encoding="utf-8")
    elif not (is_current(page) and truth == truth_tables.PAGE.read_text(encoding="utf-8") and
              picture == runs_picture.PICTURE.read_text(encoding="utf-8")):
        wrong.append("a page or picture says something else: ./dev validate --write")
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
