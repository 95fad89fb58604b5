"""Random configs of every kind of workload, as the values that docs/formats.md describes.

Small ones: most are proved within milliseconds.  What binds (SRAM, memory) is not known before a
mapping is; `tighten` sets capacities near what a mapping found with plenty of them takes.
"""

import dataclasses
import json
import pathlib

from soak_workloads import LOOPS, chance, random_workload, rate, some

PLENTY = "1 PB"
SCHEMA = pathlib.Path(__file__).resolve().parents[2] / "configs/dfsearch.schema.json"


@dataclasses.dataclass
class Config:
    """A config as nested maps, and what the soak test wants to know of it."""

    kind: str
    values: dict
    hard: bool = False  # hardly proved in a second

    @property
    def joint(self):
        return self.values.get("search", {}).get("sharding") == "joint"


def random_config(random):
    kind, hard, workload, use = random_workload(random)
    system = _system(random, workload, use)
    values = {"workload": {"kind": kind, **workload}, "system": system}
    values |= some(random, {
        "parallelism": (12, lambda: _parallelism(random)),
        "execution": (80, lambda: _execution(random, workload)),
        "equations": (70, lambda: _equations(random)),
        "sharding": (15, lambda: {"pins": _sharding_pins(random, workload)}),
    })
    values["search"] = some(random, {
        "sharding": (25, lambda: random.choice(("joint", "joint", "least_bytes"))),
    })
    if chance(random, 35):
        prices = {name: _price(random, system) for name in ("price", "power")}
        values |= prices
        values["search"] |= some(random, {
            "objective": (60, lambda: random.choice(
                ("step_time", "cost_efficiency", "power_efficiency"))),
        })
    return Config(kind, values, hard)


def tighten(random, config, result):
    """Capacities near what the mapping of a result takes, so that they bind."""
    system = config.values["system"]
    used = max((p["sram"] for p in result["partitions"]), default=0)
    share = random.uniform(0.25, 1.3)
    system["accelerator"]["sram"] = f"{int(used * share) + 1} B"
    memory = result["memory"]
    held = memory["weights"] + memory["activations"] + memory["stored"]
    if chance(random, 45):
        system["memory"]["capacity"] = f"{int(held * random.uniform(0.5, 1.5)) + 1} B"
    if "second" in system["memory"]:
        system["memory"]["capacity"] = f"{int(held * random.uniform(0.1, 1.1)) + 1} B"
        second = system["memory"]["second"]
        second["capacity"] = f"{int(held * random.uniform(0.1, 1.2)) + 1} B"


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


# The machine and how it executes.


def _system(random, workload, use):
    network, chips = [], workload.get("copies", 1)
    for _ in range(random.choices((0, 1, 2, 3), (15, 35, 35, 15))[0]):
        degree = random.choice((1, 2, 2, 3, 4))
        chips *= degree
        strategy = use or random.choice(("tensor", "pipeline", "data"))
        network.append({
            "topology": random.choice(("ring", "fully_connected", "switch")),
            "bandwidth": rate(random, 1, 400, random.choice(("kB/s", "MB/s", "GB/s"))),
        } | some(random, {
            "degree": (60, lambda: degree),  # noqa: B023
            "strategy": (60, lambda: strategy),  # noqa: B023
            "latency": (25, lambda: rate(random, 1, 900, random.choice(("ns", "us")))),
        }))
    speed, unit = random.randint(1, 500), random.choice(("kB/s", "MB/s", "GB/s"))
    memory = {"bandwidth": f"{speed} {unit}"}
    if chance(random, 15):
        memory |= {"capacity": PLENTY, "second": {
            "bandwidth": rate(random, 1, speed, unit), "capacity": PLENTY}}
    system = {
        "chips": chips,
        "accelerator": {
            "cores": random.choice((1, 2, 5, 8, 16, 61, 128)), "lanes": random.randint(1, 16),
            "stages": random.randint(1, 8),
            "frequency": rate(random, 1, 2000, random.choice(("kHz", "MHz"))), "sram": PLENTY,
        },
        "memory": memory,
    }
    return system | ({"network": network} if network else {})


def _parallelism(random):
    choice = lambda: random.choice(("..2", "1..", "1..4", [1, 2, 3], "..4"))  # noqa: E731
    return some(random, {name: (50, choice) for name in ("tensor", "pipeline", "data")})


def _execution(random, workload):
    kernels = workload.get("kernels", [])
    partitions = random.randint(1, max(4, len(kernels)))
    execution = some(random, {
        "style": (15, lambda: random.choice(("dataflow", "kernel_by_kernel"))),
        "overlap": (60, lambda: random.choice(("perfect", "none", "compute_memory"))),
        "compute_utilization": (60, lambda: round(random.uniform(0.05, 1.0), 2)),
        "partitions": (60, lambda: partitions),
    })
    if kernels and execution.get("style") != "kernel_by_kernel" and chance(random, 15):
        most = execution.get("partitions", len(kernels)) - 1
        execution["pins"] = {k["name"]: random.randint(0, most)
                             for k in kernels if chance(random, 20)}
    return execution


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


def _equations(random):
    presets = ("physical", "published")
    if chance(random, 50):
        return random.choice(presets)
    rows = json.loads(SCHEMA.read_text())["definitions"]["equations"]["properties"]
    keys = {key: (30, lambda rule=rule: _value(random, rule)) for key, rule in rows.items()}
    return some(random, keys | {"preset": (50, lambda: random.choice(presets))})


def _value(random, rule):
    """Any value of a switch, as the schema has it."""
    if "anyOf" in rule:
        return _value(random, random.choice(rule["anyOf"]))
    if "const" in rule:
        return rule["const"]
    if rule.get("type") == "integer":
        return random.randint(rule["minimum"], min(rule["maximum"], 3))
    return random.choice(rule["enum"]) if "enum" in rule else "1 GB/s"


def _price(random, system):
    any_price = lambda: random.choice((0, 1, 2.5, 30))  # noqa: E731
    link = [any_price() for _ in system.get("network", [])] if chance(random, 50) else any_price()
    return {"accelerator": random.randint(1, 1000), "memory": any_price(), "link": link,
            "switch": any_price()}
