"""Runs of a random config: ways to the same answer, and ways to be stopped."""

import concurrent.futures
import json
import re
import signal

import soak_case
import soak_checks as checks

PATIENCE = 1.0  # seconds for a proof; most take some hundredths of one
STOPS = (signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
SWITCHES = {  # overrides that make another problem of a config
    "system.memory.bandwidth": ("1 MB/s", "7 GB/s"),
    "system.accelerator.sram": ("1 kB", "1 GB"),
    "execution.overlap": ("none", "perfect"),
    "execution.partitions": (1, 3),
    "search.sharding": ("joint", "least_bytes"),
}


def explore(case):
    """Makes all runs of one config."""
    random = case.random
    if random.random() < 0.65:
        probe = case.solve(time_limit=0.3, threads=2, quiet=True)
        if probe and probe["objective"] is not None:
            case.tighten(probe)
    first = case.solve(threads=threads(random), time_limit=PATIENCE, mapping="m.json",
                       events="e.ndjson")
    if first is None:
        return
    if first["objective"] is not None:
        for _ in range(random.randint(0, 2)):
            perturb(case, first)
    for way in random.choices(list(WAYS), list(WAYS.values()), k=random.randint(2, 5)):
        if way in RUNS:
            case.solve(**{"threads": threads(random), "time_limit": PATIENCE} | RUNS[way](case))
        else:
            way(case, first)
        if case.complaints:
            return


def threads(random):
    return random.choice((1, 2, 2, 3, 4, 5, 6, 7, 8, 64))


def needed(first):
    """About how long a run takes from start to end."""
    return first["search"]["time"] + 0.01


def some_bounds(case):
    names = re.findall(r"(?m)^  (\w+) .*\(\d[\d., ]*\)$", case.runner.help)
    return case.random.sample(names, case.random.randint(1, 3))


def limits(case):
    """A limit of time or nodes, and further options that change the way to it."""
    random = case.random
    if random.random() < 0.5:
        options = {"time_limit": round(10 ** random.uniform(-3, -0.7), 4)}
    else:
        options = {"node_limit": int(10 ** random.uniform(0, 3.5))}
    if random.random() < 0.3:
        options["top"] = random.randint(1, 4)
    return options | WRITTEN | {"deterministic": random.random() < 0.3}


WRITTEN = {"mapping": "m.json", "events": "e.ndjson"}
# Options of one more run, by the name of the way.
RUNS = {
    "again": lambda case: WRITTEN | {"verbose": True},
    "without_bounds": lambda case: {"no_bound": some_bounds(case)},
    "ranked": lambda case: {"top": case.random.randint(1, 5),
                            "deterministic": case.random.random() < 0.3},
    "with_gap": lambda case: {"gap": case.random.choice((0.001, 0.01, 0.1, 0.5, 1)),
                              "mapping": "m.json"},
    "limited_memory": lambda case: WRITTEN | {
        "memory_limit": int(2 ** case.random.uniform(24, 28))},
    "limited": limits,
}


# Ways to the same answer.


def deterministic(case, _first):
    """Any number of threads expands equal nodes, also up to a limit of nodes."""
    options = {"deterministic": True, "time_limit": PATIENCE}
    if case.random.random() < 0.5:
        options["node_limit"] = case.random.randint(1, 3000)
    results = []
    for count in (1, threads(case.random)):
        results.append(case.solve(threads=count, **options))
        if results[-1] is None or case.cut:
            return
    nodes = [r["search"]["nodes"] for r in results]
    if nodes[0] != nodes[1]:
        case.complain(f"--deterministic expands {nodes[0]} nodes on one thread, then {nodes[1]}")
    for result in results:
        del result["search"]
    if results[0] != results[1]:
        case.complain("--deterministic has two results")


def hinted(case, first):
    if first["objective"] is None:
        return
    (case.folder / "hint.json").write_text(json.dumps(first))
    case.solve(threads=threads(case.random), time_limit=PATIENCE, hint="hint.json")


def written_as_graph(case, first):
    """The graph written out is the same problem."""
    done = case.run("graph", case.file, "--format", "json")
    if done.status != 0:
        case.complain(f"graph ends with {done.status}", done.stderr)
        return
    values = dict(case.config.values)
    values["workload"] = json.loads(done.stdout)["workload"]
    (case.folder / "graph.json").write_text(json.dumps(values))
    done = case.run("graph.json", "--threads", threads(case.random), "--time-limit",
                    f"{PATIENCE} s", "--json", "-")
    for what in checks.check_process(done, {}):
        case.complain(what, done.stderr)
    if done.status not in (0, checks.INFEASIBLE) or first["gap"] or first["stopped_by"]:
        return
    result = json.loads(done.stdout)
    for key in ("status", "objective", "partitions", "sharding", "network", "tile", "micro_batch"):
        if result[key] != first[key] and done.wall < 0.8 * PATIENCE:
            case.complain(f"the graph written out has another {key}: {result[key]!r}")


def at_once(case, first):
    """Several runs at the same time, with the same files to write."""
    options = {"json": "r.json", "mapping": "m.json", "checkpoint": "c.ck",
               "time_limit": 3 * PATIENCE}
    words = [case.file, *soak_case.words_of(options)]
    count = case.random.randint(2, 3)
    (case.folder / "c.ck").unlink(missing_ok=True)
    with concurrent.futures.ThreadPoolExecutor(count) as pool:
        runs = [pool.submit(case.run, *words, "--threads", threads(case.random))
                for _ in range(count)]
    for done in (run.result() for run in runs):
        for what in checks.check_process(done, {}):
            case.complain(what, done.stderr)
        if done.status == checks.WRONG_INPUT:
            case.complain("a run beside another one fails", done.stderr)
    result = json.loads((case.folder / "r.json").read_text(encoding="utf-8"))
    if not result["stopped_by"] and not first["stopped_by"]:
        if result["objective"] != first["objective"]:
            case.complain("runs at the same time have another answer")
    case.solve(threads=2, time_limit=PATIENCE, resume="c.ck")
    (case.folder / "c.ck").unlink()


# Ways to be stopped.


def killed(case, first):
    """Stopped at random moments, each time going on from the checkpoint; the last run to the end
    must have the answer of an uninterrupted one."""
    random, file = case.random, case.folder / "c.ck"
    file.unlink(missing_ok=True)
    fixed = {"top": random.randint(1, 3)} if random.random() < 0.3 else {}
    before = None  # the last run that ended by itself
    for _ in range(random.randint(1, 4)):
        options = {"threads": threads(random), "checkpoint": "c.ck", **fixed}
        if file.exists():
            options["resume"] = "c.ck"
            case.figures.resumes += 1
        stop = None
        if random.random() < 0.6 and case.runner.signals:
            stop = random.choice(STOPS), random.uniform(0, 1.2) * needed(first)
        else:
            options["node_limit"] = int(10 ** random.uniform(0, 2.5))
        if random.random() < 0.3:
            options["events"] = "e.ndjson"
        if random.random() < 0.2:
            options["no_bound"] = some_bounds(case)
        if random.random() < 0.2:
            options["gap"] = random.choice((0.01, 0.3))
        if random.random() < 0.2:
            options["deterministic"] = True
        result = case.solve(stop=stop, time_limit=PATIENCE, **options)
        check_resumed(case, result, before)
        before = result or before
        if "gap" in options and fixed:
            before = None  # an answer near enough to its bound is searched anew for a smaller gap
    resume = {"resume": "c.ck"} if file.exists() else {}
    case.figures.resumes += len(resume)
    result = case.solve(threads=threads(random), time_limit=PATIENCE, mapping="m.json", **resume,
                        **fixed)
    check_resumed(case, result, before)
    file.unlink(missing_ok=True)


def check_resumed(case, result, before):
    if result and before:
        for what in checks.check_resumed(result, before):
            case.complain(what)


def full_disk(case, first):
    """One output goes to a full disk; the others are there all the same."""
    if first["objective"] is None:
        return
    full = case.random.choice((*soak_case.OUTPUTS, "report"))
    options = {"json": "r.json", "mapping": "m.json", "events": "e.ndjson", "checkpoint": "c.ck"}
    (case.folder / "c.ck").unlink(missing_ok=True)
    if full == "report":
        case.solve(**options, time_limit=PATIENCE, stdout="/dev/full", also=(2,))
    else:
        # A mapping that a limit keeps from being found cannot fail to be written.
        case.solve(**options | {full: "/dev/full"}, time_limit=PATIENCE, also=(2,))
    (case.folder / "c.ck").unlink(missing_ok=True)


# Other problems.


def overridden(case, first):
    """A changed key makes another problem, on which the mapping of the config is tried."""
    key = case.random.choice(list(SWITCHES))
    change = f"{key}={case.random.choice(SWITCHES[key])}"
    for count in (1, threads(case.random)):
        result = case.solve(threads=count, time_limit=PATIENCE, set=[change])
        if result is None:
            return
    if first["objective"] is not None:
        write_mapping(case, first, with_sharding=False)
        case.evaluate("perturbed.json", {"set": [change]})


def write_mapping(case, result, with_sharding):
    keys = ["partitions", "parallelism", "network", "tile", "micro_batch"]
    mapping = {key: result[key] for key in keys + ["sharding"] * with_sharding}
    (case.folder / "perturbed.json").write_text(json.dumps(mapping))


def perturb(case, result):
    """A mapping near the one found: if it fits, no proof may be above it."""
    random = case.random
    near = json.loads(json.dumps(result))
    sets = {p["index"]: p["kernels"] for p in near["partitions"]}
    for _ in range(random.randint(1, 3)):
        move = random.choice(("kernel", "kernel", "kernel", "merge", "tile", "micro_batch"))
        source = random.choice(list(sets))
        if move == "kernel":
            kernel = sets[source].pop(random.randrange(len(sets[source])))
            sets.setdefault(max(0, source + random.choice((-1, 1, 1, 2))), []).append(kernel)
        elif move == "merge" and len(sets) > 1:
            kernels = sets.pop(source)
            sets[random.choice(list(sets))] += kernels
        elif move in ("tile", "micro_batch"):
            near[move] = random.choice((1, near[move] + 1, max(1, near[move] // 2)))
        sets = {index: kernels for index, kernels in sets.items() if kernels}
    near["partitions"] = [{"index": i, "kernels": k} for i, k in sorted(sets.items())]
    write_mapping(case, near, with_sharding=case.config.joint)
    case.evaluate("perturbed.json", {})


WAYS = {"again": 10, "without_bounds": 12, "ranked": 10, "with_gap": 8, "limited_memory": 12,
        "limited": 14, deterministic: 10, hinted: 8, at_once: 3, written_as_graph: 6, killed: 20,
        full_disk: 5, overridden: 10}
