"""Random configs of every kind of workload, as the values that docs/formats.md describes.

Small ones: most are proved within milliseconds.  What binds (SRAM, memory) is not known before a
mapping is; `tighten` sets capacities near what a mapping found with plenty of them takes.
"""

import dataclasses
import json

LLM = ("llm_training", "llm_prefill", "llm_decode")
KINDS = {
    "graph": 44, "llm_training": 10, "llm_prefill": 10, "llm_decode": 8, "dlrm_training": 6,
    "dlrm_inference": 6, "hpl": 8, "fft": 8,
}
LOOPS = ("outer", "M", "K", "N")
OWN = ("all_reduce", "all_gather", "point_to_point")
OF_GRADIENTS = ("gradient_all_reduce", "flat_gradient_all_reduce")
OF_MACHINE = ("all_to_all", "transpose", "grid_broadcast", "grid_point_to_point")
PLENTY = "1 PB"


@dataclasses.dataclass
class Config:
    """A config as nested maps, and what the soak test wants to know of it."""

    kind: str
    values: dict
    hard: bool = False  # hardly proved in a second

    @property
    def joint(self):
        return self.values.get("search", {}).get("sharding") == "joint"


def chance(random, percent):
    return random.random() * 100 < percent


def some(random, keys):
    """A map of those keys whose percentage comes up: name -> (percent, value())."""
    return {name: value() for name, (percent, value) in keys.items() if chance(random, percent)}


def rate(random, low, high, unit):
    return f"{random.randint(low, high)} {unit}"


def random_config(random):
    kind = random.choices(list(KINDS), list(KINDS.values()))[0]
    hard = kind == "graph" and chance(random, 5)
    workload, use = {"graph": _graph, "hpl": _hpl, "fft": _fft}.get(
        kind, _llm if kind in LLM else _dlrm)(random, kind, hard)
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


# Workloads: a map of keys, and what all dimensions of the network serve (None: anything).


def _llm(random, kind, _hard):
    heads, head_dim = random.randint(1, 8), random.choice((1, 4, 16, 32))
    long = "context" if kind == "llm_decode" else "sequence"
    length = random.choice((1, 6, 24, 64, 128))
    workload = {
        "hidden": heads * head_dim, "heads": heads, "head_dim": head_dim, long: length,
        "layers": random.randint(1, 12), "global_batch": 12 * random.randint(1, 6),
    }
    workload |= some(random, {
        "mlp": (30, lambda: random.randint(1, 300)),
        "micro_batch": (60, lambda: random.choice((1, 1, 1, 2))),
        "word": (20, lambda: random.choice(("1 B", "2 B", "4 bit", "4 B"))),
    })
    if kind != "llm_decode":
        workload |= some(random, {"tile": (65, lambda: random.randint(1, length))})
    return workload, None


def _dlrm(random, _kind, _hard):
    workload = {
        "mlp": random.randint(1, 300), "bottom": random.randint(1, 5),
        "top": random.randint(0, 5), "tables": random.randint(1, 30),
        "rows": random.randint(1, 10000), "embedding": random.randint(1, 64),
        "pooled_rows": random.randint(1, 20), "local_batch": random.randint(1, 64),
        "global_batch": 36 * random.randint(1, 6),
    }
    workload |= some(random, {
        "all_to_all": (25, lambda: rate(random, 0, 100000, "B")),
        "memory": (25, lambda: rate(random, 0, 100000, "B")),
        "copies": (20, lambda: random.choice((1, 2, 3))),
    })
    return workload, "data"


def _hpl(random, _kind, _hard):
    block, iterations = random.randint(1, 16), random.randint(1, 12)
    workload = {"n": block * iterations + random.randint(0, 100), "block": block,
                "iterations": iterations}
    return workload | some(random, {"copies": (20, lambda: random.choice((1, 2, 3)))}), "tensor"


def _fft(random, _kind, _hard):
    workload = {"length": random.randint(4, 2 ** random.randint(3, 30)),
                "radix": random.randint(2, 32)}
    return workload | some(random, {"copies": (20, lambda: random.choice((1, 2, 3)))}), "tensor"


def _graph(random, _kind, hard):
    count = random.randint(26, 60) if hard else random.choice((1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 20))
    workload = some(random, {
        "sequence": (75, lambda: random.choice((1, 2, 6, 16, 60))),
        "layers": (50, lambda: random.randint(1, 9)),
        "boundary": (40, lambda: rate(random, 0, 9000, "B")),
        "micro_batch": (30, lambda: random.choice((1, 1, 2))),
        "copies": (8, lambda: random.choice((2, 3))),
        "network": (15, lambda: random.choice(("free", "tensor", "data"))),
        "stored": (15, lambda: rate(random, 0, 90000, "B")),
        "out_of_core": (8, lambda: True),
        "serving": (15, lambda: {"pass": random.choice(("prefill", "decode")),
                                 "tokens": random.randint(1, 9), "boundary": "64 B"}),
    })
    workload["global_batch"] = 12 * random.randint(1, 6)
    workload |= some(random, {"tile": (30, lambda: random.randint(1, workload.get("sequence", 1)))})
    wide = chance(random, 12)  # talks to the whole machine
    backward = random.randint(0, count) if chance(random, 35) else count
    kernels = [_kernel(random, i, i >= backward, workload, wide) for i in range(count)]
    if count > 1 and chance(random, 25):  # equals, so that there are ties
        twin = dict(random.choice(kernels))
        for kernel in random.sample(kernels, random.randint(1, count // 2)):
            kept = {key: kernel[key] for key in ("name", "phase") if key in kernel}
            kernel.clear()
            kernel |= {key: twin[key] for key in twin if key not in ("name", "phase")} | kept
    tensors = _tensors(random, kernels, density=0.06 if hard else random.uniform(0.05, 0.7))
    if chance(random, 20):
        random.shuffle(kernels)
    if chance(random, 20):
        random.shuffle(tensors)
    use = workload.get("network")
    return workload | {"kernels": kernels, "tensors": tensors}, None if use == "free" else use


def _kernel(random, index, backward, workload, wide):
    kind = random.choice(("weight_gemm", "gemm", "elementwise", "elementwise2"))
    gemm = kind.endswith("gemm")
    kernel = {"name": f"k{index}", "kind": kind, "M": random.choice((1, 3, 8, 16, 60, 256))}
    if gemm:
        kernel["K"] = random.choice((1, 2, 7, 16, 64))
    sequence = workload.get("sequence", 1)
    kernel["N"] = sequence if chance(random, 85) else random.randint(1, 9)
    if backward:
        kernel["phase"] = "backward"
    traffic = lambda: rate(random, 0, 5000, "B")  # noqa: E731
    kernel |= some(random, {
        "outer": (20, lambda: random.randint(2, 4)),
        "mode": (5, lambda: random.choice(("systolic", "simd"))),
        "tiled": (12, lambda: random.choice((*LOOPS, "none"))),
        "memory": (10, traffic),
        "sharded_memory": (25 if wide else 4, traffic),
        "repeat": (5, lambda: random.randint(2, 3)),
        "skip_weight": (5, lambda: True),
        "spread": (30 if wide else 0, lambda: random.choice(("grid", "machine", "tensor"))),
        "communication": (40 if wide else 10, lambda: _communications(random, wide)),
    })
    return kernel


def _communications(random, wide):
    def one():
        kind = random.choice(OWN + (OF_GRADIENTS + OF_MACHINE if wide else ()))
        size = {} if kind in OF_GRADIENTS else {"bytes": rate(random, 0, 5000, "B")}
        return {"type": kind, **size}

    return [one(), one()] if chance(random, 20) else one()


def _tensors(random, kernels, density):
    tensors = []
    for to, kernel in enumerate(kernels):
        before = [k["name"] for k in kernels[:to]]
        if not before:
            continue
        sources = [k for k in before if random.random() < density]
        if not sources and chance(random, 60):
            sources = [random.choice(before)]
        for source in sources[-6:]:
            tensor = {"from": source, "to": kernel["name"]}
            tensors.append(tensor | some(random, {"operand": (30, lambda: random.randint(1, 2))}))
    return tensors


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
    if chance(random, 50):
        return random.choice(("physical", "published"))
    return some(random, {
        "preset": (50, lambda: random.choice(("physical", "published"))),
        "all_reduce_passes": (40, lambda: random.choice((1, 2))),
        "virtual_stages": (30, lambda: random.choice(("layers", "layers_minus_one", 3))),
        "layout_conversion_bytes": (30, lambda: random.choice(("full", "shard"))),
        "phases": (40, lambda: random.choice(("separate", "halves"))),
        "weight_traffic": (30, lambda: random.choice(("resident", "per_sample"))),
        "all_to_all": (30, lambda: random.choice(("per_dimension", "bisection"))),
        "all_to_all_pairs": (30, lambda: random.choice(("n2_2", "n2_4", "n_n1_2", "auto"))),
        "dlrm_gradient_bandwidth": (30, lambda: random.choice(("network", "1 GB/s"))),
    })


def _price(random, system):
    any_price = lambda: random.choice((0, 1, 2.5, 30))  # noqa: E731
    link = [any_price() for _ in system.get("network", [])] if chance(random, 50) else any_price()
    return {"accelerator": random.randint(1, 1000), "memory": any_price(), "link": link,
            "switch": any_price()}
