"""What holds for every run of `dfsearch solve`, whatever it was asked for (docs/results.md).

Each function returns complaints, empty if all is well.
"""

import json
import math
import signal

PROVED, WRONG_INPUT, INFEASIBLE, STOPPED, STOPPED_WITHOUT = 0, 2, 3, 4, 5
STATUS_OF_EXIT = {PROVED: "optimal", INFEASIBLE: "infeasible", STOPPED: "feasible",
                  STOPPED_WITHOUT: "no_solution"}
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)

# What a time limit or a signal may be late by, beside the allowance for load (soak_process.py).
LATE, LATE_SHARE = 0.2, 0.02
# Bytes that a process takes beside what --memory-limit counts: libraries, stacks, results.
BESIDE_LIMIT = 64 << 20
# No problem of the soak test needs more without a limit within its second.
MOST_MEMORY = 3 << 30


def check_process(done, options):
    """Of the process alone: how it ended, what it said, its memory."""
    found = []
    if done.hung:
        found.append("does not end")
    if done.orphans:
        found.append("left processes behind")
    for word in ("internal error", "terminate called", "ssertion", "Sanitizer", "runtime error"):
        if word in done.stderr:
            found.append(f"standard error has '{word}'")
    if done.status < 0 and -done.status != done.signalled:
        found.append(f"ended by signal {-done.status}")
    elif done.status not in (*STATUS_OF_EXIT, WRONG_INPUT) and done.status >= 0:
        found.append(f"exit status {done.status}")
    if done.status == WRONG_INPUT and not done.stderr.strip():
        found.append("exit status 2 without a message")
    limit = options.get("memory_limit")
    most = limit + BESIDE_LIMIT if limit else MOST_MEMORY
    if done.peak > most:
        found.append(f"took {done.peak / 2**20:.1f} MiB, allowed are {most / 2**20:.1f} MiB")
    return found


def overrun(done, options):
    """Seconds beyond the time limit, as they are; None without one."""
    limit = options.get("time_limit")
    return None if limit is None else done.wall - limit


def check_time(done, options):
    """That a limit and a signal stop the search soon."""
    if done.status < 0:
        return []
    limit = options.get("time_limit", math.inf)
    due = {f"a limit of {limit} s": limit * (1 + LATE_SHARE)}
    if done.signalled:
        due[f"a signal after {done.signal_time:.3f} s"] = done.signal_time
    return [f"took {done.wall:.3f} s under {cause}; the load of the machine excuses "
            f"{done.load_allowance:.3f} s"
            for cause, moment in due.items() if done.wall > moment + LATE + done.load_allowance]


def may_be_cut(done, options):
    """Whether a limit or a signal may have ended what follows a proof: the choice among equals,
    the next best, the reason why nothing fits."""
    return (done.signalled is not None or "memory_limit" in options
            or done.wall > 0.8 * options.get("time_limit", math.inf))


def check_result(result, done, options):
    """Of the JSON: it agrees with the exit status, with what was asked, and with itself."""
    found = []
    status, reason = result["status"], result["stopped_by"]
    top_open = [e for e in result["top"] if e["status"] != "optimal"]
    if options.get("top") and status == "optimal" and top_open:
        expected = STOPPED
    else:
        expected = {name: code for code, name in STATUS_OF_EXIT.items()}.get(status)
    if done.status >= 0 and done.status not in (expected, *options.get("also", ())):
        found.append(f"exit status {done.status}, the JSON says {status}")
    causes = {None: True, "time": "time_limit" in options, "nodes": "node_limit" in options,
              "signal": done.signalled is not None, "memory": "memory_limit" in options}
    if not causes.get(reason, False):
        found.append(f"stopped by {reason}, which nobody asked for")
    objective, lower, gap = (result[key] for key in ("objective", "lower_bound", "gap"))
    if status in ("optimal", "feasible"):
        if not (math.isfinite(objective) and 0 <= lower <= objective):
            found.append(f"lower bound {lower!r}, objective {objective!r}")
        true_gap = (objective - lower) / objective if objective > 0 else 0.0
        if not math.isclose(gap, true_gap, rel_tol=1e-9, abs_tol=1e-15):
            found.append(f"gap {gap!r}, but it is {true_gap!r}")
        if (status == "optimal") != (gap <= options.get("gap", 0)):
            found.append(f"{status} with a gap of {gap!r}")
    elif objective is not None or gap is not None:
        found.append(f"{status} with an objective")
    if status == "no_solution" and lower is None:
        found.append("no_solution, though nothing is left to be searched: it is infeasible")
    if status == "infeasible" and not result["infeasible"] and not may_be_cut(done, options):
        found.append("infeasible without a reason")
    return found + _check_top(result)


def _check_top(result):
    top, found = result["top"], []
    if not top:
        return found
    if top[0]["objective"] != result["objective"]:
        found.append("the first of the top is another than the result")
    # An answer leaves only worse ones behind, as far as its own gap tells.
    proved = [e for e in top if e["status"] == "optimal"]
    if any(b["objective"] < a["lower_bound"] for a, b in zip(proved, proved[1:])):
        found.append("the top is not in order")
    degrees = [tuple(e["parallelism"].values()) for e in top if e["parallelism"]]
    if len(set(degrees)) != len(degrees):
        found.append("a parallelism stands twice in the top")
    return found


def check_resumed(result, before):
    """A run that goes on from where one before was stopped knows at least its mapping and
    nodes; bounds are derived again and may be lower at first."""
    found = []
    if before["objective"] is not None and (
            result["objective"] is None or result["objective"] > before["objective"]):
        found.append(f"found {result['objective']!r}, the run it goes on from had "
                     f"{before['objective']!r}")
    # Those for a next best that nobody asked for are not in the checkpoint.
    next_best = len(before["top"]) > 1 or before["top_complete"]
    if not next_best and result["search"]["nodes"] < before["search"]["nodes"]:
        found.append(f"counts {result['search']['nodes']} nodes, the run it goes on from had "
                     f"{before['search']['nodes']}")
    return found


def check_events(text, result, killed):
    """Whole lines from `start` to `done`, in the order of time, bounds below what was found."""
    lines = text.splitlines(keepends=True)
    try:
        events = [json.loads(line) for line in lines]
    except ValueError as error:
        return [f"an event is no JSON: {error}"]
    if not events:
        return [] if killed else ["no events"]
    found = []
    if not text.endswith("\n"):
        found.append("the last event is cut short")
    if events[0]["event"] != "start" or (not killed and events[-1]["event"] != "done"):
        found.append(f"events from {events[0]['event']} to {events[-1]['event']}")
    # That of a checkpoint is the time of the state it holds, which takes a while to write.
    times = [event["time"] for event in events if event["event"] != "checkpoint"]
    if times != sorted(times):
        found.append("events are not in the order of time")
    first = [e for e in events if e.get("rank") == 1 and e["objective"] is not None]
    better = [e["objective"] for e in first if e["event"] == "incumbent"]
    if better != sorted(better, reverse=True) or len(set(better)) != len(better):
        found.append("an incumbent is not better than the one before")
    for event in first:
        if event["lower_bound"] > event["objective"] or not 0 <= event["gap"] <= 1:
            found.append(f"an event has its bound above its objective: {event}")
        if result and result["objective"] is not None and (
                event["lower_bound"] > result["objective"]
                or event["objective"] < result["lower_bound"]):
            found.append(f"an event contradicts the result: {event}")
    if result and not killed:
        for key in ("status", "stopped_by", "objective", "lower_bound", "gap"):
            if events[-1][key] != result[key]:
                found.append(f"the last event has another {key} than the JSON")
    return found
