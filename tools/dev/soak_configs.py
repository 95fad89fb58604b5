"""Random configs of every kind of workload, drawn from the schema of the program.

Small ones: most are proved within milliseconds.  The capacities that bind (SRAM, memory) are not
known before a mapping is; `tighten` sets capacities near the use of a mapping found with plenty.
"""

import dataclasses
import json
import math
import subprocess
import urllib.parse

PLENTY = "1 PB"
SCHEMA = {}  # definitions by name, once `read_schema` has run
UNITS = {"size": ("B",), "bandwidth": ("kB/s", "MB/s", "GB/s"), "time": ("ns", "us"),
         "frequency": ("kHz", "MHz")}
LOOPS = ("outer", "M", "K", "N")
# Kinds with their weights, and the strategy of all dimensions of the network, if there is only one.
KINDS = {
    "graph": (44, None), "llm_training": (10, None), "llm_prefill": (10, None),
    "llm_decode": (8, None), "dlrm_training": (6, "data"), "dlrm_inference": (6, "data"),
    "hpl": (8, "tensor"), "fft": (8, "tensor"), "lstm": (8, None),
}
BATCHES, COPIES, BYTES = range(12, 73, 12), (20, (1, 2, 3)), range(5001)
ROWS = {
    # For a definition of the schema and a key: the percentage of configs with the key, and its values
    # (None: any value of the schema; a function of the values drawn before may return none at all).
    "llm": {
        "heads": (100, range(1, 9)), "head_dim": (100, (1, 4, 16, 32)),
        "hidden": (100, lambda drawn: (drawn["heads"] * drawn["head_dim"],)),
        "sequence": (100, (1, 6, 24, 64, 128)), "layers": (100, range(1, 13)),
        "global_batch": (100, BATCHES), "mlp": (30, range(1, 301)),
        "micro_batch": (60, (1, 1, 1, 2)), "word": (20, ("1 B", "2 B", "4 bit", "4 B")),
        "tile": (65, lambda drawn: range(1, drawn["sequence"] + 1)),
    },
    "dlrm": {
        "mlp": (100, range(1, 301)), "bottom": (100, range(1, 6)), "top": (100, range(6)),
        "tables": (100, range(1, 31)), "rows": (100, range(1, 10001)),
        "embedding": (100, range(1, 65)), "pooled_rows": (100, range(1, 21)),
        "local_batch": (100, range(1, 65)), "global_batch": (100, range(36, 217, 36)),
        "all_to_all": (25, range(100001)), "memory": (25, range(100001)), "copies": COPIES,
    },
    "hpl": {
        "block": (100, range(1, 17)), "iterations": (100, range(1, 13)), "copies": COPIES,
        "n": (100, lambda drawn: [drawn["block"] * drawn["iterations"] + n for n in range(101)]),
    },
    "fft": {
        "length": (100, [2**n * k // 8 + k % 2 for n in range(3, 31) for k in range(5, 9)]),
        "radix": (100, range(2, 33)), "copies": COPIES,
    },
    "lstm": {
        "hidden": (100, (1, 4, 16, 33)), "vocabulary": (100, range(1, 301)),
        "layers": (100, (1, 1, 2)), "steps": (100, range(1, 7)), "local_batch": (100, range(1, 9)),
        "global_batch": (100, (12, 24, 36)), "folded": (40, None), "micro_batch": (60, (1, 1, 2)),
        "tile": (80, lambda drawn: range(1, drawn["steps"] * drawn["local_batch"] + 1)),
    },
    "graph": {
        "sequence": (75, (1, 2, 6, 16, 60)), "layers": (50, range(1, 10)),
        "boundary": (40, range(9001)), "micro_batch": (30, (1, 1, 2)), "copies": (8, (2, 3)),
        "network": (15, None), "stored": (15, range(90001)), "out_of_core": (16, None),
        "serving": (15, None), "global_batch": (100, BATCHES),
        "tile": (30, lambda drawn: range(1, drawn.get("sequence", 1) + 1)),
    },
    "serving": {"pass": (100, ("prefill", "decode")), "tokens": (100, range(1, 10)),
                "boundary": (100, (64,))},
    "kernel": {
        "kind": (100, ("weight_gemm", "gemm", "elementwise", "elementwise2")),
        "M": (100, (1, 3, 8, 16, 60, 256)),
        "K": (100, lambda drawn: drawn["kind"].endswith("gemm") and (1, 2, 7, 16, 64)),
        "outer": (20, (2, 3, 4)), "mode": (5, None), "tiled": (12, None), "memory": (10, BYTES),
        "sharded_memory": (4, BYTES), "repeat": (5, (2, 3)), "skip_weight": (10, None),
        "communication": (10, None),
    },
    "communication": {
        "type": (100, ("all_reduce", "all_gather", "point_to_point")),
        "bytes": (100, lambda drawn: "gradient" not in drawn["type"] and BYTES),
    },
    "dimension": {"topology": (100, ("ring", "fully_connected", "switch")),
                  "bandwidth": (100, range(1, 401)), "latency": (25, range(1, 901))},
    "accelerator": {
        "cores": (100, (1, 2, 5, 8, 16, 61, 128)), "lanes": (100, range(1, 17)),
        "stages": (100, range(1, 9)), "frequency": (100, range(1, 2001)), "sram": (100, (PLENTY,)),
    },
    "execution": {"style": (15, None), "overlap": (60, None),
                  "compute_utilization": (60, [n / 100 for n in range(5, 101)])},
    "parallelism": dict.fromkeys(("tensor", "pipeline", "data"),
                                 (50, ("..2", "1..", "1..4", [1, 2, 3], "..4"))),
    "price": dict.fromkeys(("memory", "link", "switch"), (100, (0, 1, 2.5, 30)))
    | {"accelerator": (100, range(1, 1001))},
    "search of mappings": {"sharding": (25, ("joint", "joint", "least_bytes"))},
}
ROWS["llm decode"] = {key: row for key, row in ROWS["llm"].items() if key != "tile"}
# Kernels that exchange values with the whole machine.
WIDE = {
    "kernel": ROWS["kernel"] | {"sharded_memory": (25, BYTES), "communication": (40, None),
                                "spread": (30, None)},
    "communication": ROWS["communication"] | {"type": (100, None)},
}


def read_schema(program):
    printed = subprocess.run([program, "schema"], stdout=subprocess.PIPE, check=True).stdout
    SCHEMA.update(json.loads(printed)["definitions"])
    ROWS["equations"] = {**dict.fromkeys(SCHEMA["equations"]["properties"], (30, None)),
                         "preset": (50, ("physical", "published"))}


@dataclasses.dataclass
class Config:
    """A config as nested maps, and facts about it that the soak test needs."""

    kind: str
    values: dict
    hard: bool = False  # hardly proved in a second

    @property
    def joint(self):
        return self.values.get("search", {}).get("sharding") == "joint"


def chance(random, percent):
    return random.random() * 100 < percent


def draw(random, name, /, more=None, table=ROWS, **given):
    """An object of a definition with the given keys, and keys drawn from its rows and more rows."""
    rules, drawn = SCHEMA[name]["properties"], dict(given)
    for key, (percent, values) in (table.get(name, ROWS[name]) | (more or {})).items():
        if key not in drawn and chance(random, percent):
            values = values(drawn) if callable(values) else values
            if values is None or values:
                drawn[key] = draw_value(random, rules[key], values, table)
    return drawn


def draw_value(random, rule, values, table):
    rule = rule.get("allOf", [rule])[0]
    if values is None:
        if "$ref" in rule:
            return draw(random, urllib.parse.unquote(rule["$ref"]).rpartition("/")[2], table=table)
        if "anyOf" in rule:
            return draw_value(random, random.choice(rule["anyOf"]), None, table)
        if rule.get("type") == "array":
            return [draw_value(random, rule["items"], None, table) for _ in range(2)]
        values = values_of(rule)
    drawn = random.choice(values)
    if "title" in rule and not isinstance(drawn, str):
        return f"{drawn} {random.choice(UNITS[rule['title']])}"
    return drawn


def values_of(rule):
    """Values that a rule of the schema allows: all, or some small ones."""
    if "const" in rule:
        return [rule["const"]]
    if rule.get("type") == "integer":
        return range(rule["minimum"], min(rule["maximum"], 3) + 1)
    return rule.get("enum") or ([1] if "title" in rule else [True, False])


def random_config(random):
    kind = random.choices(list(KINDS), [weight for weight, _ in KINDS.values()])[0]
    hard = kind == "graph" and chance(random, 5)
    if kind == "graph":
        workload = _graph(random, hard)
    elif kind == "llm_decode":
        workload = draw(random, "llm decode", kind=kind)
        workload["context"] = workload.pop("sequence")
    else:
        workload = draw(random, {"llm_": "llm", "dlrm": "dlrm"}.get(kind[:4], kind), kind=kind)
    use = KINDS[kind][1] or {"free": None}.get(workload.get("network"), workload.get("network"))
    values = {"workload": workload, "system": _system(random, workload, use)}
    for key, percent, make in (
            ("parallelism", 12, lambda: draw(random, "parallelism")),
            ("execution", 80, lambda: _execution(random, workload)),
            ("equations", 70, lambda: _equations(random)),
            ("sharding", 15, lambda: {"pins": _sharding_pins(random, workload)})):
        if chance(random, percent):
            values[key] = make()
    values["search"] = draw(random, "search of mappings")
    if chance(random, 35):
        for key in ("price", "power"):
            values[key] = draw(random, "price")
            if chance(random, 50):
                values[key]["link"] = [random.choice((0, 1, 2.5, 30))
                                       for _ in values["system"].get("network", [])]
        if chance(random, 60):
            values["search"]["objective"] = random.choice(
                ("step_time", "cost_efficiency", "power_efficiency"))
    return Config(kind, values, hard)


def tighten(random, config, result):
    """Capacities near the use of the mapping of a result, so that they bind."""
    def near(held, least, most):
        return f"{int(held * random.uniform(least, most)) + 1} B"

    system, memory = config.values["system"], result["memory"]
    used = max((p["sram"] for p in result["partitions"]), default=0)
    system["accelerator"]["sram"] = near(used, 0.25, 1.3)
    held = memory["weights"] + memory["activations"] + memory["stored"]
    if chance(random, 45):
        system["memory"]["capacity"] = near(held, 0.5, 1.5)
    if "second" in system["memory"]:
        system["memory"]["capacity"] = near(held, 0.1, 1.1)
        system["memory"]["second"]["capacity"] = near(held, 0.1, 1.2)


def text_of(random, config):
    """The config as a file: JSON, or YAML in block style."""
    if chance(random, 40):
        return json.dumps(config.values, indent=random.choice((None, 1)))
    return "\n".join(_block(config.values, "")) + "\n"


def _block(value, margin):
    """Lines of YAML: maps and lists of maps as blocks, the rest as JSON, which is YAML as well."""
    for key, inner in value.items():
        if isinstance(inner, dict) and inner:
            yield f"{margin}{key}:"
            yield from _block(inner, margin + "  ")
        elif isinstance(inner, list) and inner and all(isinstance(i, dict) for i in inner):
            yield f"{margin}{key}:"
            yield from (f"{margin}  - {json.dumps(item)}" for item in inner)
        else:
            yield f"{margin}{key}: {json.dumps(inner)}"


def _system(random, workload, use):
    count = random.choices((0, 1, 2, 3), (15, 35, 35, 15))[0]
    degrees = random.choices((1, 2, 2, 3, 4), k=count)
    network = [draw(random, "dimension", {"degree": (60, (degree,)),
                                          "strategy": (60, use and (use,))}) for degree in degrees]
    speed, unit = random.randint(1, 500), random.choice(UNITS["bandwidth"])
    memory = {"bandwidth": f"{speed} {unit}"}
    if chance(random, 15):
        memory |= {"capacity": PLENTY, "second": {
            "bandwidth": f"{random.randint(1, speed)} {unit}", "capacity": PLENTY}}
    return {"chips": workload.get("copies", 1) * math.prod(degrees),
            "accelerator": draw(random, "accelerator"), "memory": memory,
            **({"network": network} if network else {})}


def _execution(random, workload):
    kernels = workload.get("kernels", [])
    execution = draw(random, "execution", {"partitions": (60, range(1, max(4, len(kernels)) + 1))})
    if kernels and execution.get("style") != "kernel_by_kernel" and chance(random, 15):
        most = execution.get("partitions", len(kernels)) - 1
        execution["pins"] = {k["name"]: random.randint(0, most)
                             for k in kernels if chance(random, 20)}
    return execution


def _equations(random):
    return random.choice(("physical", "published")) if chance(random, 50) else draw(
        random, "equations")


def _sharding_pins(random, workload):
    """Pins that docs/formats.md allows."""
    pins = {}
    for kernel in workload.get("kernels", []):
        tiled = kernel.get("tiled", "N" if "sequence" in workload else "none")
        extents = {loop: kernel.get(loop, 1) for loop in LOOPS}
        loops = [x for x in LOOPS[1:] if extents[x] > 1 and x != tiled]
        if extents["outer"] > 1 and tiled != "outer":
            loops = ["outer"]
        elif kernel["kind"] != "weight_gemm":
            loops.append("none")
        if loops and chance(random, 25):
            pins[kernel["name"]] = random.choice(loops)
    return pins


# Graphs.


def _graph(random, hard):
    count = random.randint(26, 60) if hard else random.choice(
        (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 20))
    workload = draw(random, "graph", kind="graph")
    table = ROWS | (WIDE if chance(random, 12) else {})
    backward = random.randint(0, count) if chance(random, 35) else count
    if hard and chance(random, 60):
        return workload | _fan(random, workload)
    kernels = [_kernel(random, f"k{i}", workload, table, i >= backward) for i in range(count)]
    if count > 1 and chance(random, 25):  # equals, so that there are ties
        twin = dict(random.choice(kernels))
        for kernel in random.sample(kernels, random.randint(1, count // 2)):
            kept = {key: kernel[key] for key in ("name", "phase") if key in kernel}
            kernel.clear()
            kernel |= {key: twin[key] for key in twin if key not in ("name", "phase")} | kept
    tensors = _tensors(random, kernels, density=0.06 if hard else random.uniform(0.05, 0.7))
    for each in (kernels, tensors):
        if chance(random, 20):
            random.shuffle(each)
    return workload | {"kernels": kernels, "tensors": tensors}


def _kernel(random, name, workload, table=ROWS, backward=False):
    own = workload.get("sequence", 1)
    return draw(random, "kernel", table=table, name=name,
                N=own if chance(random, 85) else random.randint(1, 9),
                **({"phase": "backward"} if backward else {}))


def _fan(random, workload):
    """A value that many equal branches of kernels read; a kernel joins the branches."""
    branches, length = random.choice((2, 4, 8, 12, 16, 24, 32, 64, 128)), random.randint(1, 3)
    looks = [_kernel(random, "", workload) for _ in range(length)]
    kernels, tensors = [_kernel(random, "In", workload)], []
    for branch in range(branches):
        before = {"from": "In"} | ({"value": 0} if branch or chance(random, 90) else {})
        for place, look in enumerate(looks):
            name = f"B{branch}_{place}"
            kernels.append(look | {"name": name})
            tensors.append(before | {"to": name})
            before = {"from": name}
        if chance(random, 90):
            tensors.append(before | {"to": "Join"})
    kernels.append(_kernel(random, "Join", workload))
    tensors.append({"from": "In", "to": "Join", "value": 0, "operand": 2})
    return {"kernels": kernels, "tensors": tensors}


def _tensors(random, kernels, density):
    tensors = []
    for to, kernel in enumerate(kernels):
        before = [k["name"] for k in kernels[:to]]
        sources = [k for k in before if random.random() < density]
        if before and not sources and chance(random, 60):
            sources = [random.choice(before)]
        for source in sources[-6:]:
            tensors.append({"from": source, "to": kernel["name"]}
                           | ({"operand": random.randint(1, 2)} if chance(random, 30) else {}))
    return tensors
