"""Calculon's equations once more, from docs/calculon.md and from nothing else: slow and plain, with
Python's integers for counts of elements.  It shares no code with the program.

    seconds, first, second = cost(machine, model, execution)

A machine is a dict as `machine_of` makes it of the YAML of a system; a model and an execution are
dicts with the keys of `workload` and `calculon`.
"""

D = 2  # bytes of an element


def time_of(engine, amount):
    """(C1); an engine or a memory."""
    if amount == 0:
        return 0.0
    share = next(share for start, share in engine["steps"] if amount >= start)
    return amount / (engine["rate"] * share)


def net(network, operation, size, members):
    """(C2)"""
    factor, offset = network[operation]
    rate = network["rate"] * network["efficiency"]
    return network["latency"] + factor * size * (1 + offset / members) / rate


class Kernel:
    """A row of the table of section 3, in elements; `matrix` for products."""

    def __init__(self, flop, i, o, c, e, weights=0, **marks):
        self.flop, self.i, self.o, self.weights = flop, i, o, weights
        self.kept_bytes = marks.get("c_bytes", c * D)
        self.gradient_bytes = marks.get("e_bytes", e * D)
        backward = (weights + c + e) * D
        self.moves = [marks.get("forward", (i + o + weights) * D),
                      marks.get("backward", backward), backward if weights else 0]
        self.matrix = marks.get("matrix", False)
        self.recomputed = marks.get("recomputed", False)
        self.working = marks.get("working", True)
        self.kept = marks.get("kept", True)
        self.output_kept = marks.get("output_kept", True)
        self.exchange = marks.get("exchange")  # "gathers" or "reduces"
        self.overlapped = marks.get("overlapped", False)
        self.again = marks.get("again", False)


def kernels_of(model, run):
    """The rows in their order."""
    t, h, f, s = run["tensor"], model["hidden"], model["mlp"], model["sequence"]
    a, d, b = model["heads"], model["head_dim"], run["micro_batch"]
    split = run["communication"] == "rs"
    full = run["recompute"] == "full"
    attn = run["recompute"] in ("full", "attn")
    rows = b * s
    whole = rows * h
    part = rows // t * h if split else whole
    scores, batch = a // t * s * s * b, b * a // t

    def fork(elements, readers, **marks):
        return Kernel([0, readers * elements, 0], elements, 0, elements, 0, forward=0,
                      backward=(readers + 1) * elements * D, **marks)

    def norm():
        return Kernel([9 * part, 14 * part, 7 * part], part, part, part, part, 2 * h,
                      working=False, kept=False, recomputed=full)

    def linear(inputs, outputs, **marks):
        return Kernel([2 * rows * inputs * outputs] * 3, rows * inputs, rows * outputs,
                      rows * inputs, rows * outputs, inputs * outputs, matrix=True,
                      recomputed=full, **marks)

    def product(x, y, z, **marks):
        inputs, flop = batch * (x * y + y * z), 2 * batch * x * y * z
        return Kernel([flop, 2 * flop, 0], inputs, batch * x * z, inputs, batch * x * z,
                      matrix=True, **marks)

    def dropout(elements, **marks):
        moves = 2 * elements * D + elements
        return Kernel([elements, elements, 0], *[elements] * 4, c_bytes=elements,
                      e_bytes=elements, forward=moves, backward=moves, **marks)

    def exchange(kind, again):
        elements = whole if t > 1 else 0
        sums = elements * (t - 1) / t
        if split:
            marks = {"c_bytes": elements * D / t, "e_bytes": elements * D / t}
        elif kind == "gathers":
            marks = {"c_bytes": 0, "forward": 0}
        else:
            marks = {"e_bytes": 0, "backward": 0}
        flop = [0, sums, 0] if kind == "gathers" else [sums, 0, 0]
        return Kernel(flop, *[elements] * 4, exchange=kind, again=again,
                      kept=kind == "gathers", **marks)

    def overlapped(kind, inputs, outputs, again):
        if kind == "gathers":
            outputs = outputs / t
            c, e = (rows * inputs // t, rows * outputs) if split else (rows * inputs, 0)
        else:
            inputs = inputs / t
            c, e = ((rows * inputs, 2 * (rows * outputs // t)) if split
                    else (0, 2 * rows * outputs))
        return Kernel([2 * rows * inputs * outputs] * 3, rows * inputs, rows * outputs, c, e,
                      inputs * outputs, matrix=True, recomputed=full, exchange=kind,
                      overlapped=True, again=again)

    def reduced(inputs):
        product_and_exchange = [linear(inputs // t, h), exchange("reduces", full)]
        if run["overlap"] != "none":
            product_and_exchange = [overlapped("reduces", inputs, h, full)]
        residual = Kernel([part, 2 * part, 0], 2 * part, part, 2 * part, part, working=False,
                          kept=False, recomputed=full)
        return [*product_and_exchange, dropout(part, recomputed=full), residual]

    gathers_again = attn or run["redo"]
    kernels = [fork(part, 2, recomputed=full), norm()]
    if run["overlap"] != "none":
        kernels.append(overlapped("gathers", h, 3 * a * d, gathers_again))
    else:
        kernels.append(exchange("gathers", gathers_again))
        kernels.append(fork(whole, 3, recomputed=gathers_again, kept=not gathers_again))
        kernels += [linear(h, a * d // t, working=False, kept=False) for _ in range(3)]
    kernels.append(product(s, d, s, recomputed=attn, output_kept=not attn))
    kernels.append(Kernel([5 * scores, 8 * scores, 0], *[scores] * 4, recomputed=attn,
                          output_kept=not attn))
    kernels.append(dropout(scores, recomputed=attn, kept=not attn))
    kernels.append(product(s, s, d, recomputed=full))
    kernels += reduced(a * d)

    kernels += [fork(part, 2, recomputed=full), norm()]
    again = full or run["redo"]
    if run["overlap"] != "none":
        kernels.append(overlapped("gathers", h, f, again))
    else:
        kernels += [exchange("gathers", again), linear(h, f // t, kept=not again)]
    wide = f * rows // t
    stored = 0 if run["fused"] else wide
    kernels.append(Kernel([8 * wide, 13 * wide, 0], wide, wide, stored, stored,
                          backward=2 * wide * D, recomputed=full))
    return kernels + reduced(f)


class Sum:
    """Time, compute and memory."""

    def __init__(self):
        self.time = self.compute = self.memory = 0.0


def operation_of(kind, forward, split):
    """(C4)"""
    if (kind == "gathers") == forward:
        return "all_gather" if split else None
    return "reduce_scatter" if split else "all_reduce"


def block_of(machine, model, run, kernels):
    """Sums F, G, W, R and the exchanges of base and edge block."""
    t = run["tensor"]
    training = model["kind"] == "llm_training"
    network = machine["networks"][run["networks"][0]]
    whole = run["micro_batch"] * model["sequence"] * model["hidden"]
    splits = {"base": run["communication"] == "rs", "edge": run["communication"] != "ar"}
    sums = {name: Sum() for name in "FGWR"}
    waits = {block: dict.fromkeys(("f", "b", "r", "link_b", "link_r"), 0.0) for block in splits}

    def link(kernel, forward, split):
        operation = operation_of(kernel.exchange, forward, split)
        return net(network, operation, whole * D, t) if operation else 0.0

    for kernel in kernels:
        engine = machine["matrix" if kernel.matrix else "vector"]
        compute = [time_of(engine, flop) for flop in kernel.flop]
        memory = [time_of(machine["memory"], moved) for moved in kernel.moves]
        alone = [y + m for y, m in zip(compute, memory)]
        time = list(alone)
        if kernel.exchange and not kernel.overlapped:  # (C5)
            time = [0.0] * 3
            for block, split in splits.items() if t > 1 else ():
                forward, backward = link(kernel, True, split), link(kernel, False, split)
                waits[block]["f"] += forward + alone[0]
                waits[block]["b"] += backward + alone[1]
                waits[block]["link_b"] += backward + alone[1]
                if kernel.again:
                    waits[block]["r"] += forward
                    waits[block]["link_r"] += forward
        elif kernel.exchange:  # (C6)
            links = {}
            for block, split in splits.items():
                forward, backward = link(kernel, True, split), link(kernel, False, split)
                links[block] = [forward, backward, forward if kernel.again else 0.0]
                reduces = 1 if kernel.exchange == "gathers" else 0
                if links[block][reduces] > 0:
                    links[block][reduces] += time_of(machine["vector"], whole * (t - 1) / t)
            waited = [0.0] * 3
            usage = network["processor_usage"]
            for p, busy in enumerate(links["base"]):
                if busy == 0:
                    continue
                slowed = compute[p] / (1 - usage)
                if busy > slowed:
                    time[p] = alone[p] / t + (t - 1) * (slowed + memory[p]) / t
                    waited[p] = (t - 1) * (busy - slowed) / t
                else:
                    time[p] = alone[p] + (t - 1) * usage * busy / t
                if run["overlap"] == "pipe":
                    time[p] += busy / t
                    waited[p] += busy / t
            for block, all_links in links.items():
                waits[block]["f"] += waited[0]
                waits[block]["b"] += waited[1]
                waits[block]["link_b"] += all_links[1]
                if kernel.again:
                    waits[block]["r"] += waited[0]
                    waits[block]["link_r"] += all_links[2]
        for p, name in enumerate("FGW" if training else "F"):
            sums[name].time += time[p]
            sums[name].compute += compute[p]
            sums[name].memory += memory[p]
        if kernel.recomputed and training:
            sums["R"].time += time[0]
            sums["R"].compute += sums["F"].compute
            sums["R"].memory += sums["F"].memory
    if not training:
        for block in waits.values():
            block.update(b=0.0, r=0.0, link_b=0.0, link_r=0.0)
    return sums, waits


def memory_of(model, run, kernels, beta, flight):
    """(C8) to (C10): parts of the first and second memory, and what offloading moves."""
    training = model["kind"] == "llm_training"
    full = run["recompute"] == "full"
    parts = run["data"] if run["sharding"] else 1
    weights = sum(kernel.weights for kernel in kernels)
    work = sum(kernel.kept_bytes for kernel in kernels if kernel.working)
    kept = sum(kernel.kept_bytes for kernel in kernels if kernel.kept or not training)
    if training:
        kept -= sum(kernel.o * D for kernel in kernels if not kernel.output_kept)
    checkpoint = 0
    if full:
        kept, checkpoint = 0, run["micro_batch"] * model["sequence"] * model["hidden"] * D
    stored = kept + checkpoint
    first = {"weights": beta * weights * D, "activations": work, "gradients": 0, "waiting": 0,
             "optimizer": 0}
    if training:
        first["activations"] += checkpoint * beta * flight + kept * (beta * flight - 1)
        first["gradients"] = sum(kernel.gradient_bytes for kernel in kernels)
        first["waiting"] = 4 * weights + (beta - 1) * weights * D / parts
        first["optimizer"] = beta * 12 * weights / parts
    second = 0
    if "weights" in run["offload"]:
        second += first["weights"]
        first["weights"] = 2 * weights * D
    if "activations" in run["offload"]:
        second += first["activations"] - (work if full else 0)
        first["activations"] = work + kept + 2 * checkpoint
    if "optimizer" in run["offload"]:
        second += beta * weights * D / parts + first["optimizer"]
        first["waiting"] = 4 * weights + weights * D / parts
        first["optimizer"] = 24 * weights / parts
    moved = {"weights": weights * D, "activations": stored, "optimizer": 12 * weights / parts}
    return sum(first.values()), second, {name: moved[name] for name in run["offload"]}


def data_time(machine, run, sums, waits, counts, blocks, optimizer, weights):
    """(C16) to (C18)"""
    p, n, v = run["pipeline"], run["data"], run["chunks"]
    q, m, beta = counts["q"], counts["m"], counts["beta"]
    network = machine["networks"][run["networks"][2]]
    if run["sharding"]:
        one = (net(network, "reduce_scatter", weights, n) + net(network, "all_gather", weights, n))
    else:
        one = net(network, "all_reduce", weights, n)
    if not run["data_overlap"]:
        return beta * one
    memory = sum(sums[name].memory for name in "GWR")
    compute = sum(sums[name].compute for name in "GWR")
    rho = 0.0
    if not run["sharding"]:
        compute += optimizer.compute
        rho = optimizer.time - optimizer.memory
    theta = {block: 0.0 for block in waits}
    if run["networks"][2] == run["networks"][0]:
        theta = {block: wait["link_r"] + wait["link_b"] for block, wait in waits.items()}
    base, edge, hop = blocks["bb"], blocks["eb"], counts["hop"]
    window = ((q - 1) * (base - memory - theta["base"]) + edge - memory - theta["edge"] + q * rho)
    met = 0
    if run["networks"][2] == run["networks"][1]:
        met = min(int(q * one / ((q - 1) * base + edge)), m % p or p)
    usage = network["processor_usage"]
    over = q * one - p * window + met * hop + p * q * compute * usage
    late = (q - 1) * one + compute * usage
    if q > 1:
        late -= window - hop - (base + edge) / 2 + rho
    return (one + (v - 1) * (over if over > 0 else q * one * usage)
            + (late if late > 0 else (q - 1) * one * usage))


def cost(machine, model, run):
    """Seconds of a step, bytes of the first and of the second memory."""
    training = model["kind"] == "llm_training"
    p, n, v, b = run["pipeline"], run["data"], run["chunks"], run["micro_batch"]
    parts = n if run["sharding"] else 1
    beta = -(-model["layers"] // p)  # (C11)
    m, q = run["global_batch"] // (n * b), beta / v
    flight = min(m, p) * (1 + (p - 1) / (v * p) if v > 1 else 1)
    kernels = kernels_of(model, run)
    first, second, moved = memory_of(model, run, kernels, beta, flight)
    sums, waits = block_of(machine, model, run, kernels)
    optimizer = Sum()
    for kernel in kernels:  # (C7)
        if kernel.weights and training:
            compute = time_of(machine["vector"], 11 * kernel.weights / parts)
            memory = time_of(machine["memory"], 12 * kernel.weights / parts)
            optimizer.time += compute + memory
            optimizer.compute += compute
            optimizer.memory += memory

    rows = b * model["sequence"]
    split_rows = rows if run["communication"] == "ar" else rows // run["tensor"]
    size = 0 if p == 1 else split_rows * model["hidden"] * D
    stages = machine["networks"][run["networks"][1]]
    hop = net(stages, "p2p", size, 2)
    back = net(stages, "p2p", size if training else 0, 2)
    blocks = {}  # (C12), (C13)
    forward_size = max(moved.get("weights", 0), moved.get("activations", 0))
    off = {"f": time_of(machine["second"], forward_size) if moved else 0.0,
           "b": time_of(machine["second"], sum(moved.values())) if moved and training else 0.0}
    memory = {"f": sums["F"].memory, "b": sums["G"].memory + sums["W"].memory}
    overheads = {}
    for block, key, hops in (("base", "b", (0.0, 0.0)), ("edge", "e", (hop, back))):
        wait = waits[block]
        blocks[key + "f"] = sums["F"].time + wait["f"] + hops[0]
        blocks[key + "b"] = (sums["R"].time + sums["G"].time + sums["W"].time + wait["r"]
                             + wait["b"] + hops[1])
        for way in "fb":
            overheads[key + way] = max(0.0, off[way] + memory[way] - blocks[key + way])
            blocks[key + way] += overheads[key + way]
    chunk = sum((q - 1) * blocks["b" + way] + blocks["e" + way] for way in "fb")  # (C14)
    missing = p - m % p if m % p else 0
    shorter = (sum(blocks.values()) / 2 if q > 1 else blocks["ef"] + blocks["eb"])
    bubble = (p - 1 + (v - 1) * missing) * chunk - (-model["layers"] % p) * shorter

    data = 0.0
    if training and n > 1:
        counts = {"q": q, "m": m, "beta": beta, "hop": back}
        weights = sum(kernel.weights for kernel in kernels) * D
        data = data_time(machine, run, sums, waits, counts, blocks, optimizer, weights)
    exchanges = {block: wait["f"] + wait["b"] + wait["r"] for block, wait in waits.items()}
    seconds = (beta * m * sum(sums[name].time for name in "FGWR") + beta * optimizer.time  # (C15)
               + m * v * ((q - 1) * exchanges["base"] + exchanges["edge"])
               + (0 if p == 1 else (2 if training else 1) * m * v * hop) + bubble + data
               + m * v * ((q - 1) * (overheads["bf"] + overheads["bb"])
                          + overheads["ef"] + overheads["eb"]))
    return seconds, first, second
