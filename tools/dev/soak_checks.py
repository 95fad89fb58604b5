"""Checks that hold for every run of `dfsearch solve` with any options (docs/results.md).

Each function returns complaints, empty if all is well.
"""

import json
import math

PROVED, WRONG_INPUT, INFEASIBLE, STOPPED, STOPPED_WITHOUT = 0, 2, 3, 4, 5
STATUS_OF_EXIT = {PROVED: "optimal", INFEASIBLE: "infeasible", STOPPED: "feasible",
                  STOPPED_WITHOUT: "no_solution"}
ALARMS = ("internal error", "terminate called", "ssertion", "Sanitizer", "runtime error")

# Lateness that a time limit or a signal may have, beside the allowance for load (soak_process.py).
LATE, LATE_SHARE = 0.2, 0.02
# Bytes that a process takes beside those that --memory-limit counts: libraries, stacks, results.
BESIDE_LIMIT = 64 << 20
# No problem of the soak test needs more without a limit within its second.
MOST_MEMORY = 3 << 30


def faults(*rows):
    """The texts of the rows whose condition holds."""
    return [text for wrong, text in rows if wrong]


def check_process(done, options):
    """Checks the process alone: its end, its messages, its memory."""
    limit = options.get("memory_limit")
    most = limit + BESIDE_LIMIT if limit else MOST_MEMORY
    return faults(
        (done.hung, "does not end"),
        (done.orphans, "left processes behind"),
        *((word in done.stderr, f"standard error has '{word}'") for word in ALARMS),
        (done.status < 0 and -done.status != done.signalled, f"ended by signal {-done.status}"),
        (done.status >= 0 and done.status not in (*STATUS_OF_EXIT, WRONG_INPUT),
         f"exit status {done.status}"),
        (done.status == WRONG_INPUT and not done.stderr.strip(), "exit status 2 without a message"),
        (done.peak > most,
         f"took {done.peak / 2**20:.1f} MiB, allowed are {most / 2**20:.1f} MiB"))


def check_time(done, options):
    """Checks that a limit and a signal stop the search soon."""
    limit = options.get("time_limit", math.inf)
    due = {f"a limit of {limit} s": limit * (1 + LATE_SHARE)}
    if done.signalled:
        due[f"a signal after {done.signal_time:.3f} s"] = done.signal_time
    return faults(*(
        (done.status >= 0 and done.wall > moment + LATE + done.load_allowance,
         f"took {done.wall:.3f} s under {cause}; the load of the machine excuses "
         f"{done.load_allowance:.3f} s") for cause, moment in due.items()))


def may_be_cut(done, options):
    """Whether a limit or a signal may have ended the work after a proof: the choice among equals,
    the next best, the reason why nothing fits."""
    return (done.signalled is not None or "memory_limit" in options
            or done.wall > 0.8 * options.get("time_limit", math.inf))


def check_result(result, done, options):
    """Checks that the JSON agrees with the exit status, with the options, and with itself."""
    status, reason = result["status"], result["stopped_by"]
    objective, lower, gap = (result[key] for key in ("objective", "lower_bound", "gap"))
    top_open = any(e["status"] != "optimal" for e in result["top"])
    if options.get("top") and status == "optimal" and top_open:
        expected = STOPPED
    else:
        expected = {name: code for code, name in STATUS_OF_EXIT.items()}.get(status)
    causes = {None: True, "time": "time_limit" in options, "nodes": "node_limit" in options,
              "signal": done.signalled is not None, "memory": "memory_limit" in options}
    found = faults(
        (done.status >= 0 and done.status not in (expected, *options.get("also", ())),
         f"exit status {done.status}, the JSON says {status}"),
        (not causes.get(reason, False), f"stopped by {reason}, which nobody asked for"),
        (status == "no_solution" and lower is None,
         "no_solution, though nothing is left to be searched: it is infeasible"),
        (status == "infeasible" and not result["infeasible"] and not may_be_cut(done, options),
         "infeasible without a reason"))
    if status in ("optimal", "feasible"):
        true_gap = (objective - lower) / objective if objective > 0 else 0.0
        found += faults(
            (not (math.isfinite(objective) and 0 <= lower <= objective),
             f"lower bound {lower!r}, objective {objective!r}"),
            (not math.isclose(gap, true_gap, rel_tol=1e-9, abs_tol=1e-15),
             f"gap {gap!r}, but it is {true_gap!r}"),
            ((status == "optimal") != (gap <= options.get("gap", 0)),
             f"{status} with a gap of {gap!r}"))
    elif objective is not None or gap is not None:
        found.append(f"{status} with an objective")
    return found + (_check_top(result) if result["top"] else [])


def _check_top(result):
    top = result["top"]
    # An answer leaves only worse ones behind, within its own gap.
    proved = [e for e in top if e["status"] == "optimal"]
    degrees = [tuple(e["parallelism"].values()) for e in top if e["parallelism"]]
    return faults(
        (top[0]["objective"] != result["objective"],
         "the first of the top is another than the result"),
        (any(b["objective"] < a["lower_bound"] for a, b in zip(proved, proved[1:])),
         "the top is not in order"),
        (len(set(degrees)) != len(degrees), "a parallelism stands twice in the top"))


def check_resumed(result, before):
    """Checks that a run that goes on from where one before was stopped has at least its mapping and
    nodes; bounds are derived again and may be lower at first."""
    # Nodes of a next best that nobody asked for are not in the checkpoint.
    next_best = len(before["top"]) > 1 or before["top_complete"]
    nodes, nodes_before = result["search"]["nodes"], before["search"]["nodes"]
    return faults(
        (before["objective"] is not None and (
            result["objective"] is None or result["objective"] > before["objective"]),
         f"found {result['objective']!r}, the run it goes on from had {before['objective']!r}"),
        (not next_best and nodes < nodes_before,
         f"counts {nodes} nodes, the run it goes on from had {nodes_before}"))


def check_events(text, result, killed):
    """Checks for whole lines from `start` to `done`, in the order of time, with bounds below the
    objectives."""
    try:
        events = [json.loads(line) for line in text.splitlines()]
    except ValueError as error:
        return [f"an event is no JSON: {error}"]
    if not events:
        return [] if killed else ["no events"]
    # The time of a checkpoint is the time of the state it holds, which takes a while to write.
    times = [event["time"] for event in events if event["event"] != "checkpoint"]
    first = [e for e in events if e.get("rank") == 1 and e["objective"] is not None]
    better = [e["objective"] for e in first if e["event"] == "incumbent"]
    found = faults(
        (not text.endswith("\n"), "the last event is cut short"),
        (events[0]["event"] != "start" or (not killed and events[-1]["event"] != "done"),
         f"events from {events[0]['event']} to {events[-1]['event']}"),
        (times != sorted(times), "events are not in the order of time"),
        (better != sorted(better, reverse=True) or len(set(better)) != len(better),
         "an incumbent is not better than the one before"))
    for event in first:
        found += faults(
            (event["lower_bound"] > event["objective"] or not 0 <= event["gap"] <= 1,
             f"an event has its bound above its objective: {event}"),
            (result and result["objective"] is not None and (
                event["lower_bound"] > result["objective"]
                or event["objective"] < result["lower_bound"]),
             f"an event contradicts the result: {event}"))
    if result and not killed:
        found += faults(*(
            (events[-1].get(key) != result[key], f"the last event has another {key} than the JSON")
            for key in ("status", "stopped_by", "objective", "lower_bound", "gap")))
    return found
