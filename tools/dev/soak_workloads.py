"""Random workloads of every kind, small ones: most are proved within milliseconds."""

LLM = ("llm_training", "llm_prefill", "llm_decode")
KINDS = {
    "graph": 44, "llm_training": 10, "llm_prefill": 10, "llm_decode": 8, "dlrm_training": 6,
    "dlrm_inference": 6, "hpl": 8, "fft": 8, "lstm": 8,
}
LOOPS = ("outer", "M", "K", "N")
OWN = ("all_reduce", "all_gather", "point_to_point")
OF_GRADIENTS = ("gradient_all_reduce", "flat_gradient_all_reduce")
OF_MACHINE = ("all_to_all", "transpose", "grid_broadcast", "grid_point_to_point")


def chance(random, percent):
    return random.random() * 100 < percent


def some(random, keys):
    """A map of those keys whose percentage comes up: name -> (percent, value())."""
    return {name: value() for name, (percent, value) in keys.items() if chance(random, percent)}


def rate(random, low, high, unit):
    return f"{random.randint(low, high)} {unit}"


def random_workload(random):
    """A kind, whether it is hard to prove, its map of keys, and what all dimensions of the network
    serve (None: anything)."""
    kind = random.choices(list(KINDS), list(KINDS.values()))[0]
    hard = kind == "graph" and chance(random, 5)
    workload, use = {
        "graph": _graph, "hpl": _hpl, "fft": _fft, "lstm": _lstm}.get(
        kind, _llm if kind in LLM else _dlrm)(random, kind, hard)
    return kind, hard, workload, use


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


def _lstm(random, _kind, _hard):
    steps, batch = random.randint(1, 6), random.randint(1, 8)
    workload = {
        "hidden": random.choice((1, 4, 16, 33)), "vocabulary": random.randint(1, 300),
        "layers": random.choice((1, 1, 2)), "steps": steps, "local_batch": batch,
        "global_batch": 12 * random.randint(1, 3),
    }
    return workload | some(random, {
        "folded": (40, lambda: random.random() < 0.5),
        "tile": (80, lambda: random.randint(1, steps * batch)),
        "micro_batch": (60, lambda: random.choice((1, 1, 2))),
    }), None


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
    if hard and chance(random, 60):
        use = workload.get("network")
        return workload | _fan(random, workload), None if use == "free" else use
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


def _fan(random, workload):
    """A value that many kernels read, each the first of a branch that looks like the others; a
    kernel joins them, and some read the value once more."""
    branches, length = random.choice((2, 4, 8, 12, 16, 24, 32, 64, 128)), random.randint(1, 3)
    looks = [_kernel(random, i, False, workload, False) for i in range(length)]
    source, join = (_kernel(random, i, False, workload, False) for i in range(2))
    kernels, tensors = [source | {"name": "In"}], []
    for branch in range(branches):
        before = {"from": "In"} | ({"value": 0} if branch or chance(random, 90) else {})
        for place, look in enumerate(looks):
            name = f"B{branch}_{place}"
            kernels.append(look | {"name": name})
            tensors.append(before | {"to": name})
            before = {"from": name}
        if chance(random, 90):
            tensors.append(before | {"to": "Join"})
    kernels.append(join | {"name": "Join"})
    tensors.append({"from": "In", "to": "Join", "value": 0, "operand": 2})
    return {"kernels": kernels, "tensors": tensors}


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
