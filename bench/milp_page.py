"""docs/benchmarks.md from bench/results/milp.json and milp_large.json."""

import math
import sys

import milp_instances
import milp_rivals
import support
from markdown_text import wrapped

RECORDED = support.RESULTS / "milp.json"
LARGE = support.RESULTS / "milp_large.json"
PAGE = support.ROOT / "docs" / "benchmarks.md"

# What a rival may differ from dfsearch by, relative: its own tolerance.
TOLERANCE = 1e-6

HEAD = """# Against MILP solvers

This page answers how long dfsearch and general MILP solvers take for the same problems.
`bench/milp_bench.py --page` writes it from [bench/results/milp.json](../bench/results/milp.json),
which has every number.

The solvers are those that Debian packages; they solve the linear programs of [milp.md](milp.md).
Each runs alone, with one thread on the same machine, to a gap of 0. Network, micro-batch and tile
are fixed; for the real layers at the values of dfsearch's optimum. The programs have a tight
linearisation and no symmetry of empty partitions.
"""


def percent(value):
    if value is None:
        return ""
    if value < 5e-7:
        return "0"
    return f"{100 * value:.{1 if value >= 0.01 else 3}f} %"


def gap(optimum, bound):
    return None if bound is None else max(0.0, (optimum - bound) / optimum)


def ratio_text(value):
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"


def proved(result):
    return result["status"] == "optimal"


def lp_root(row):
    """The bound of the linear relaxation; CBC prints six digits of it, HiGHS all."""
    roots = {name: r["root"] for name, r in row["rivals"].items() if r["root"] is not None}
    return roots.get("HiGHS", max(roots.values(), default=None))


def time_text(result):
    if result is None:
        return ""
    if proved(result):
        return support.seconds(result["time"])
    return f"limit ({result['limit']} s)" if result["status"] == "limit" else result["status"]


def proof_text(ours):
    return support.seconds(ours["proof"]) if proved(ours) and "proof" in ours else ""


def ratio(row, rival):
    """How many times longer the rival takes; at least, or at most, where one was stopped."""
    result, ours = row["rivals"].get(rival), row["dfsearch"]
    if result is None or result["status"] not in ("optimal", "limit"):
        return ""
    if not proved(ours) and not proved(result):
        return ""
    mark = "" if proved(ours) and proved(result) else "> " if proved(ours) else "< "
    return mark + ratio_text(result["time"] / ours["time"])


def best_of(row):
    """The least step time that anybody found."""
    found = [row["dfsearch"]["objective"]]
    found += [r["evaluated"] for r in row["rivals"].values() if r["evaluated"] is not None]
    return min(found)


def disagreements(rows):
    """Texts, one for each rival whose proof contradicts dfsearch's; none, one hopes."""
    found = []
    for row in rows:
        ours = row["dfsearch"]
        for rival, result in row["rivals"].items():
            what = None
            if proved(result) and proved(ours):
                if abs(result["objective"] - ours["objective"]) > TOLERANCE * ours["objective"]:
                    what = f"proves {result['objective']!r} s, dfsearch {ours['objective']!r} s"
                elif result["evaluated"] is None or (
                        abs(result["evaluated"] - ours["objective"])
                        > TOLERANCE * ours["objective"]):
                    what = f"its solution costs {result['evaluated']!r} s here"
            elif result["status"] == "infeasible":
                what = "says that nothing fits"
            elif proved(result) and not (
                    ours["bound"] * (1 - TOLERANCE) <= result["objective"]
                    <= ours["objective"] * (1 + TOLERANCE)):
                what = (f"proves {result['objective']!r} s, outside of the bounds of dfsearch,"
                        f" {ours['bound']!r} s to {ours['objective']!r} s")
            elif proved(ours) and result["bound"] is not None and (
                    result["bound"] > ours["objective"] * (1 + TOLERANCE)):
                what = f"claims a bound of {result['bound']!r} s, above the optimum"
            if what:
                found.append(f"{row['name']}: {rival} {what}")
    return found


def time_table(rows, rivals):
    split = any("proof" in row["dfsearch"] for row in rows)
    head = ["instance", "kernels", "partitions: used, allowed", "rows x columns", "LP root gap",
            "dfsearch root gap", "dfsearch", *["time to the proof"] * split, *rivals,
            *[f"{rival} / dfsearch" for rival in rivals]]
    lines = []
    for row in rows:
        lines.append([
            row["name"], row["kernels"], f"{row['used']}, {row['partitions']}",
            f"{row['rows']} x {row['columns']}", percent(gap(best_of(row), lp_root(row))),
            percent(gap(best_of(row), row["dfsearch"]["root"])), time_text(row["dfsearch"]),
            *[proof_text(row["dfsearch"])] * split,
            *[time_text(row["rivals"].get(r)) for r in rivals],
            *[ratio(row, r) for r in rivals]])
    return support.table(head, lines)


def root_gaps(rows):
    """How tight the bounds are before any branching, where the linear relaxation is known.
    Geometric means are of gap + 1 %, less 1 %, for a gap may be 0."""
    rows = [row for row in rows if lp_root(row) is not None]
    if not rows:
        return "- No bound of a linear relaxation is known."

    def mean(gaps):
        return math.prod(g + 0.01 for g in gaps) ** (1 / len(gaps)) - 0.01
    ours = [gap(best_of(row), row["dfsearch"]["root"]) for row in rows]
    theirs = [gap(best_of(row), lp_root(row)) for row in rows]
    closed = sum(g <= TOLERANCE for g in ours)
    tighter = sum(a < b - TOLERANCE for a, b in zip(ours, theirs))
    both = sum(a <= TOLERANCE and b <= TOLERANCE for a, b in zip(ours, theirs))
    return (f"- Before any branching dfsearch closes the gap of {closed} of {len(rows)} instances;"
            f" the geometric mean of its gaps is {percent(max(0.0, mean(ours)))}, that of the"
            f" linear relaxation {percent(max(0.0, mean(theirs)))} (means of gap + 1 %, less 1 %)."
            f" Its bound is above that of the linear relaxation on {tighter}, and on {both} both"
            " close the gap.")


def summary(rows, rivals):
    unproved = [row["name"] for row in rows if not proved(row["dfsearch"])]
    proofs = [f"**dfsearch** {len(rows) - len(unproved)}"
              + (f" (all but {'; '.join(unproved)})" if unproved else "")]
    faster = []
    for rival in rivals:
        measured = [row for row in rows if rival in row["rivals"]]
        solved = [row for row in measured if proved(row["rivals"][rival])]
        wins = [row["name"] for row in solved if not proved(row["dfsearch"])
                or row["rivals"][rival]["time"] < row["dfsearch"]["time"]]
        proofs.append(f"**{rival}** {len(solved)}"
                      + (f" of {len(measured)}" if len(measured) < len(rows) else ""))
        if wins:
            faster.append(f"{rival} on {len(wins)}: {'; '.join(wins)}")
    lines = [f"- Instances proved within the limit, of {len(rows)}: {', '.join(proofs)}. "
             + (f"Faster than dfsearch: {'. '.join(faster)}." if faster
                else "No other solver is faster than dfsearch on any instance.")]
    for row in rows:
        ours = row["dfsearch"]["objective"]
        better = {rival: 1 - r["evaluated"] / ours for rival, r in row["rivals"].items()
                  if r["evaluated"] is not None and r["evaluated"] < ours * (1 - TOLERANCE)}
        lines += [f"- On {row['name']} {rival} finds a mapping that is {percent(by)} better than"
                  f" that of dfsearch when both are stopped." for rival, by in better.items()]
    closer = [row["name"] for row in rows
              if (lp_root(row) or 0.0) > row["dfsearch"]["root"] * (1 + TOLERANCE)]
    lines.append("- At the root the bound of the linear relaxation is above that of dfsearch on "
                 + (f"{len(closer)} instances: {'; '.join(closer)}." if closer else "none."))
    lines.append(root_gaps(rows))
    wrong = disagreements(rows)
    lines.append(f"- Every proved optimum agrees with that of dfsearch to {TOLERANCE:g}, and so "
                 "does the cost of the solution read back by `evaluate --solution`." if not wrong
                 else "- **They disagree:** " + "; ".join(wrong) + ".")
    return "\n".join(lines)


def span(values):
    """'a', or 'a to b' of several."""
    first, final = min(values), max(values)
    return f"{first} to {final}" if first != final else f"{first}"


def conditions(facts, rows):
    """Machine, versions, time limits; each measurement has its own in the JSON."""
    outcomes = [outcome for row in rows for outcome in [row["dfsearch"], *row["rivals"].values()]]
    limits = {}
    for row in rows:
        for outcome in [row["dfsearch"], *row["rivals"].values()]:
            limits.setdefault(outcome["limit"], []).append(row["name"])
    elsewhere = {}
    for row in rows:
        if row["cpu"] != facts["cpu"]:
            elsewhere.setdefault(row["cpu"], []).append(row["name"])
    *fewer, longest = sorted(limits)
    text = (f"{support.platform_text(facts)}; measured {span([o['date'] for o in outcomes])};"
            f" other processes took up to {100 * max(o['others'] for o in outcomes):.0f} % of the"
            f" processors meanwhile. {', '.join(facts['rivals'].values())}. Time limit: {longest} s"
            " for each solver and instance")
    text += "".join(
        f"; {limit} s, less than a patient user gives, for those marked so" for limit in fewer)
    return text + "".join(
        f"; {', '.join(names)} on {cpu}" for cpu, names in elsewhere.items()) + "."


def large_section(whole):
    facts, rows = whole["machine"], whole["results"]
    rivals = list(facts["rivals"])
    measured = {(row["name"], rival) for row in rows for rival in row["rivals"]}
    missing = {solver.name: [name for name in milp_instances.LARGE
                             if (name, solver.name) not in measured] for solver in milp_rivals.ALL}
    stopped = [round(result["time"]) for row in rows for result in row["rivals"].values()
               if result["status"] == "limit"]
    return [
        "", "## Large graphs", "",
        "The graphs of `bench/scale_instances.py` have 50 to 100 kernels"
        " ([bench/README.md](../bench/README.md) describes them). The rules are the same, with"
        f" {milp_rivals.MEMORY >> 30} GiB of memory for each solver. The dfsearch of these runs"
        " continued after its proof, to choose among equal optima, which it does no longer; its"
        " time includes both parts.",
        "", conditions(facts, rows) + (
            f" Limits count wall time; solvers that they stopped had {span(stopped)} s of a"
            " processor."
            if stopped else ""),
        "", summary(rows, rivals),
        *[f"- {rival} was not run on {', '.join(names)}." if rival in rivals
          else f"- {rival} was not run on them."
          for rival, names in missing.items() if names],
        "", time_table(rows, rivals)]


def page(whole, large):
    facts, rows = whole["machine"], whole["results"]
    rivals = list(facts["rivals"])
    return wrapped("\n".join([
        HEAD, conditions(facts, rows),
        "",
        "Times are processor times of the whole process, for HiGHS of the solve alone; for dfsearch"
        f" they are medians of {facts['runs']} runs. `>` is at least; *failed*: the solver ended by"
        " an assertion of its own. Root gaps are those of the linear relaxation before cuts and of"
        " `search.root_bound`, relative to the best step time found.",
        "", "## In short", "", summary(rows, rivals),
        "", "## Time to the proof", "", time_table(rows, rivals),
        *large_section(large),
        "", "Random graphs have the seeds in their names; `bench/milp_instances.py` makes them.",
        ""]))
