"""docs/validation.md: the published runs, and the figures of the paper, as Markdown."""

import re

import measured_steps
import published_configs
import published_figures as figures
from markdown_text import wrapped


HEAD = ["case", "published step", "its mapping here", "optimum", "bound", "published / optimum",
        "MILP time", "MILP gap", "reason", "time here"]

INTRODUCTION = """\
# Validation

Every published run of DFModel whose inputs or log is at hand, beside dfsearch. `./dev validate`
checks this page and `./dev validate --write` writes it, with the inputs of `configs/published/` and
the mappings and reasons of `tests/golden/` ([README](../tests/golden/README.md)).

## Published runs

Each row is a config under `configs/published/`, with everything pinned that the published run
pinned, and under the equations of its time (`equations: published`). *Its mapping here* is what
`dfsearch evaluate` gives for the published mapping: `=` if within 1e-9, else the relative
difference; `unknown` if the log does not hold it. *Optimum* is found with the same pins; *bound* is
`=` if the gap is closed. *Published / optimum* is in parentheses where inputs had to be guessed, so
that it proves nothing. Time and gap of the MILP are those of the log, on 8 to 144 threads; *time
here* is of the whole process on two threads.

"""

FIGURES = """\
## Table VI of the paper: mappings of GPT3-175B on eight SN10

[dfmodel_studies.md](dfmodel_studies.md) has the sweeps of the paper, [papers.md](papers.md) every
claim.

"""


def number(value):
    return f"{value:.10g}"


def table_of(head, rows):
    text = "|" + "".join(f" {cell} |" for cell in head) + "\n" + "|---" * len(head) + "|\n"
    for row in rows:
        text += "|" + "".join(f" {cell} |" if cell != "" else " |" for cell in row) + "\n"
    return text


def small(value):
    """A ratio close to 1."""
    if abs(value - 1) <= 1e-9:
        return "1"
    return f"1 {value - 1:+.1e}" if abs(value - 1) < 1e-4 else f"{value:.4f}"


def duration(seconds):
    return f"{seconds:.1f} s" if seconds >= 1 else f"{1000 * seconds:.0f} ms"


# ------------------------------------------------------------------ published runs


def title(record, start=""):
    name = f"{record['path'].split('/')[0].replace('LLM_Serving', 'LLM')}: {record['name']}"
    file = published_configs.file_of(record)
    link = f"[{record['id']}]({start}configs/published/{file.name})" if file else str(record["id"])
    return f"{link} {name}"


def mapping_cell(case):
    if case.solution is None:
        return ""
    if case.evaluation is None:
        return "unknown"
    if case.evaluation["infeasible"]:
        return f"does not fit: {case.evaluation['infeasible']['resource']}"
    if abs(case.difference) <= 1e-9:
        return number(case.evaluation["step_time"]) + " ="
    return f"{number(case.evaluation['step_time'])} ({case.difference:+.1e})"


def solution_cells(case):
    if case.solution is None:
        return ["", "", ""]
    if case.ratio is None:
        return ["does not fit", "", ""]
    step, bound = case.solution["step_time"], case.solution["lower_bound"]
    ratio = small(case.ratio)
    return [number(step), "=" if bound == step else number(bound),
            ratio if case.comparable else f"({ratio})"]


def milp_cells(published):
    time, gap = published.get("optimizer_time"), published.get("gap")
    return [f"{time:.4g} s" if time else "", gap.replace("%", " %") if gap else ""]


def numbered_reasons(cases):
    """{reason: number}, by first use."""
    numbers = {}
    for case in cases:
        for reason in case.reasons:
            numbers.setdefault(reason, len(numbers) + 1)
    return numbers


def rows(cases, start):
    numbers = numbered_reasons(cases)
    for case in cases:
        step = case.published_step
        yield [title(case.record, start), f"{number(step)} s" if step else "", mapping_cell(case),
               *solution_cells(case), *milp_cells(case.record.get("published", {})),
               ", ".join(str(numbers[reason]) for reason in case.reasons),
               duration(case.solve_time) if case.solution else ""]


def reasons_text(cases):
    return table_of(["number", "reason"], [[n, reason] for reason, n in numbered_reasons(cases).items()])


def remaining(case):
    """What the published mapping, as costed here if it is known, takes over the optimum."""
    return case.ratio * (1 + (case.difference or 0))


def summary(cases):
    known = [case for case in cases if case.comparable]
    held = [case for case in cases if case.evaluation]
    exact = [case for case in held if case.difference is not None and abs(case.difference) <= 1e-9]
    misfits = [case for case in held if case.difference is None]
    better = [case for case in known if case.ratio > 1 + 1e-9]
    most = max(known, key=remaining)
    milp = [case.record["published"]["optimizer_time"] for case in known
            if case.record["published"]["optimizer_time"]]
    searched = [case for case in cases if case.solution]
    ours = sum(case.solve_time for case in searched)
    return (
        f"{len(cases)} runs, {len(known)} of them with all inputs known. {len(held)} published"
        f" mappings are known: {len(exact)} cost what was published,"
        f" {len(held) - len(exact) - len(misfits)} differ and {len(misfits)} do not fit, for the"
        f" reasons given. All {len(known)} optima are proved with gap 0 and none is above the"
        f" published step: {len(known) - len(better)} are equal, {len(better)} are below it. The"
        f" best mapping is up to {remaining(most):.2f} times as fast as the published one (case"
        f" {most.record['id']}). Price, power and FLOP are the published ones in all"
        f" {len(searched)} runs that have a config. The {len(milp)} logs with all inputs and a time"
        f" add up to {sum(milp):,.0f} s of the MILP; all {len(searched)} searches took {ours:.2f} s"
        " here.\n"
    )


def table(cases):
    """For a terminal: columns aligned, no links."""
    cells = [HEAD, *rows(cases, "")]
    for row in cells[1:]:
        row[0] = re.sub(r"\[(.*?)\]\(.*?\)", r"\1", row[0])
    widths = [max(len(row[i]) for row in cells) for i in range(len(HEAD))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip()
             for row in cells]
    return "\n".join(lines) + "\n\nreasons\n" + reasons_text(cases) + "\n" + summary(cases)


# ------------------------------------------------------------------ figures


def mappings(by_id):
    first = by_id[figures.MAPPINGS[0][1]]
    lines = []
    for label, case_id, speedup in figures.MAPPINGS:
        case = by_id[case_id]
        gain = first.published_step / case.solution["step_time"]
        mine = first.published_step / case.evaluation["step_time"]
        lines.append([label, title(case.record, "../").split(" ")[0], f"{speedup}x", f"{mine:.2f}x",
                      f"{case.solution['step_time']:.2f} s", f"{gain:.2f}x", small(case.ratio)])
    return (
        table_of(["mapping", "case", "published speed-up", "published mapping here", "optimum",
                  "its speed-up", "what remained"], lines)
        + "\nThe same with rounded inputs: `gpt3_175b_kernel_by_kernel_8x1.yaml`,"
        " `gpt3_175b_vendor_8x1.yaml`, `gpt3_175b_dataflow_8x1.yaml` and"
        " `gpt3_175b_dataflow_4x2.yaml` in `configs/`. The optimum in the vendor's row keeps the"
        " partitions that its compiler chooses. Without pins it is that of DFModel's row: the mapping"
        " found by the MILP is not optimal in its own model.\n\n"
    )


MEASURED = """\
## Measured steps

Eight steps that Megatron measured on Selene (Korthikanti et al., 2022, table 5), as
[training.md](training.md) predicts them, with nothing fitted but the published curves of the A100.
The error is (measured - predicted)/measured. Calculon's equations are in
[calculon.md](calculon.md), section 9, chips of DeepFlow in
[technology_validation.md](technology_validation.md).

"""


def page(cases, measured):
    by_id = {case.record["id"]: case for case in cases}
    runs = (table_of(HEAD, rows(cases, "../")) + "\n" + reasons_text(cases) + "\n"
            + summary(cases) + "\n")
    return wrapped(INTRODUCTION + runs + FIGURES + mappings(by_id) + MEASURED
                   + table_of(measured_steps.HEAD, measured_steps.rows(measured)))
