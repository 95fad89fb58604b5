#!/usr/bin/env python3
"""Holds dfsearch against every published run, in docs/validation.md and docs/truth.md.

    tools/dev/validate.py DFSEARCH [--write]

Every case of tests/golden/published.json is taken from configs/published/: `dfsearch evaluate`
costs the published mapping, `dfsearch solve` finds the optimum under the same pins and switches.
Exit status 1 if a difference has no reason, an optimum is above the published step or not proved,
the measured steps of Megatron are missed by more than 5 %, or a page or picture has other numbers
(times aside).
"""

import dataclasses
import functools
import json
import pathlib
import re
import tempfile
import time

import runs_picture
import tables
import truth_tables
from tables import number, percent

GOLDEN = tables.ROOT / "tests" / "golden" / "published.json"
FOLDER = tables.CONFIGS / "published"
COMMON_FOLDERS = {"DSE", "system", "Compare_w_existing"}  # not in names of files
EXACT = 1e-9  # relative difference that two solvers in doubles may have
SOLVER_GAP = 1e-3  # the published runs stop there
WITHIN_GAP = "within the gap of 0.001 at which the published solver stops"
# Seconds of a step that Megatron measured on Selene (Korthikanti et al., 2022, table 5).
MEASURED = {"22b": {"full": 1.42, "selective": 1.10}, "175b": {"full": 18.13, "selective": 13.75},
            "530b": {"full": 49.05, "selective": 37.83}, "1t": {"full": 94.42, "selective": 71.49}}
MOST_ON_AVERAGE = 0.05  # error of measured steps
MAPPINGS = (35, 36, 37, 38)  # cases of Table VI of the paper


@functools.cache
def records():
    return json.loads(GOLDEN.read_text(encoding="utf-8"))


def record_of(number):
    return next(record for record in records() if record["id"] == number)


def file_of(record):
    """The config of a record, or None for a run that no config expresses."""
    if "config" not in record:
        return None
    words = [word for word in record["path"].split("/") if word not in COMMON_FOLDERS]
    name = re.sub(r"[^a-z0-9]+", "_", "_".join(words).lower())
    return FOLDER / f"{record['id']:02}_{name}.yaml"


@dataclasses.dataclass
class Case:
    """A published run and the results of dfsearch, None where there is no config."""

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
        """Complaints about this case, one text each."""
        differs = self.evaluation is None or self.difference is None or abs(self.difference) > EXACT
        better = self.comparable and self.ratio is not None and self.ratio > 1 + EXACT
        if (differs or better or not self.comparable) and not self.reasons:
            yield "differs without a reason"
        if self.comparable:
            if self.solution["status"] != "optimal" or self.solution["gap"] != 0:
                yield f"status {self.solution['status']}, gap {self.solution['gap']}"
            elif self.ratio < 1 - EXACT:
                yield f"the optimum is {1 / self.ratio - 1:.1e} above the published step"


@functools.cache
def solve(program, config):
    """Result, and time of the whole process."""
    begin = time.perf_counter()
    result = tables.solve(program, config, threads=2, statuses=(0, 3))
    return result, time.perf_counter() - begin


def evaluate(program, config, mapping):
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "mapping.json")
        file.write_text(json.dumps(mapping), encoding="utf-8")
        return tables.run_json(program, "evaluate", config, "--mapping", file, statuses=(0, 3))


def run_case(program, record):
    case = Case(record)
    config = file_of(record)
    if config is not None:
        if "mapping" in record:
            case.evaluation = evaluate(program, config, record["mapping"])
        case.solution, case.solve_time = solve(program, config)
    return case


def run_all(program):
    """All published runs."""
    return [run_case(program, record) for record in records()]


def problems(cases):
    return [f"case {case.record['id']}: {text}" for case in cases for text in case.problems()]


# Cells.


def small(value):
    """A ratio close to 1."""
    if abs(value - 1) <= EXACT:
        return "1"
    return f"1 {value - 1:+.1e}" if abs(value - 1) < 1e-4 else f"{value:.4f}"


def link(record):
    file = file_of(record)
    return f"[{record['id']}](../configs/published/{file.name})" if file else str(record["id"])


def ratio_cell(case):
    text = small(case.ratio)
    return text if case.comparable else f"({text})"


def mapping_cell(case):
    if case.solution is None:
        return ""
    if case.evaluation is None:
        return "unknown"
    if case.evaluation["infeasible"]:
        return f"does not fit: {case.evaluation['infeasible']['resource']}"
    if abs(case.difference) <= EXACT:
        return number(case.evaluation["step_time"]) + " ="
    return f"{number(case.evaluation['step_time'])} ({case.difference:+.1e})"


def solution_cells(case):
    if case.solution is None:
        return ["", "", ""]
    if case.ratio is None:
        return ["does not fit", "", ""]
    step, bound = case.solution["step_time"], case.solution["lower_bound"]
    return [number(step), "=" if bound == step else number(bound), ratio_cell(case)]


def row(case, numbers, time_cell):
    record, step, published = case.record, case.published_step, case.record.get("published", {})
    milp, gap = published.get("optimizer_time"), published.get("gap")
    group = record["path"].split("/")[0].replace("LLM_Serving", "LLM")
    return [f"{link(record)} {group}: {record['name']}", f"{number(step)} s" if step else "",
            mapping_cell(case), *solution_cells(case), f"{milp:.4g} s" if milp else "",
            gap.replace("%", " %") if gap else "",
            ", ".join(str(numbers[reason]) for reason in case.reasons), time_cell]


def duration(case):
    if not case.solution:
        return ""
    return f"{case.solve_time:.1f} s" if case.solve_time >= 1 else f"{1000 * case.solve_time:.0f} ms"


def renew_runs(page, cases):
    numbers = {}  # of reasons, by first use
    for case in cases:
        for reason in case.reasons:
            numbers.setdefault(reason, len(numbers) + 1)
    times = map(duration, cases) if page.times else (
        cells[-1] for cells in page.rows("Published runs"))
    page.table("Published runs", [row(case, numbers, cell) for case, cell in zip(
        cases, times, strict=True)])
    page.table("Published runs", [[n, reason] for reason, n in numbers.items()], 1)


def renew_summary(page, cases):
    known = [case for case in cases if case.comparable]
    held = [case for case in cases if case.evaluation]
    exact = [case for case in held if case.difference is not None and abs(case.difference) <= EXACT]
    misfits = [case for case in held if case.difference is None]
    better = [case for case in known if case.ratio > 1 + EXACT]

    def remaining(case):
        """Time of the published mapping, as costed here if it is known, over the optimum."""
        return case.ratio * (1 + (case.difference or 0))

    most = max(known, key=remaining)
    milp = [case.record["published"]["optimizer_time"] for case in known
            if case.record["published"]["optimizer_time"]]
    searched = [case.solve_time for case in cases if case.solution]
    page.numbers("{} runs, {} of them with all inputs known.", len(cases), len(known))
    page.numbers("{} published mappings are known: {} cost what was published, {} differ and {} do"
                 " not fit,", len(held), len(exact), len(held) - len(exact) - len(misfits),
                 len(misfits))
    page.numbers("All {} optima are proved", len(known))
    page.numbers("{} are equal, {} are below it. The best mapping is up to {} times as fast as the"
                 " published one (case {}).", len(known) - len(better), len(better),
                 f"{remaining(most):.2f}", most.record["id"])
    page.numbers("in all {} runs that have a config. The {} logs with all inputs and a time add up"
                 " to {} s of the MILP; all {} searches", len(searched), len(milp),
                 f"{sum(milp):,.0f}", len(searched))
    if page.times:
        page.numbers("searches took {} s here.", f"{sum(searched):.2f}")


def renew_mappings(page, cases):
    """Table VI; the paper's labels and speed-ups stand in the page."""
    chosen = [case for case in cases if case.record["id"] in MAPPINGS]
    first, rows = chosen[0].published_step, []
    for case, old in zip(chosen, page.rows("Table VI"), strict=True):
        rows.append([old[0], link(case.record), old[2],
                     f"{first / case.evaluation['step_time']:.2f}x",
                     f"{case.solution['step_time']:.2f} s",
                     f"{first / case.solution['step_time']:.2f}x", small(case.ratio)])
    page.table("Table VI", rows)


def renew_measured(page, program):
    """Steps that plans predict beside measured ones; returns a complaint about their errors."""
    rows, errors = [], []
    for model, kinds in MEASURED.items():
        for kind, measured in kinds.items():
            name = f"configs/training/megatron_{model}_{kind}.yaml"
            result = tables.run_json(program, "solve", name, "--quiet")
            errors.append((measured - result["step_time"]) / measured)  # positive: too fast
            rows.append([f"[{model.upper()}](../{name})", kind, f"{measured:.2f} s",
                         f"{result['step_time']:.4g} s", percent(errors[-1], ".2f"),
                         f"{result['memory']['total'] / 2**30:.2f} GiB"])
    mean = sum(map(abs, errors)) / len(errors)
    page.table("Measured steps", [*rows, ["mean of the sizes", "", "", "", percent(mean, ".2f"), ""]])
    return [] if mean <= MOST_ON_AVERAGE else [f"measured steps: {percent(mean)} off on average"]


def renewed(program, cases, times=False):
    """docs/validation.md with the numbers of these cases, and complaints about them."""
    page = tables.Page("validation.md", times)
    renew_runs(page, cases)
    renew_summary(page, cases)
    renew_mappings(page, cases)
    return page, problems(cases) + renew_measured(page, program)


def main():
    options = tables.options(__doc__)
    page, wrong = renewed(options.program, run_all(options.program), options.write)
    tables.finish(wrong + tables.renew(
        {page.file: page.text, truth_tables.PAGE: truth_tables.renewed(options.program, leave_out=True),
         runs_picture.PICTURE: runs_picture.picture(options.program)}, options.write))


if __name__ == "__main__":
    main()
