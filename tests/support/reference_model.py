"""A second implementation of the model, to judge the first.

Everything here follows docs/model.md (sections 1 to 10), with reference_transformer
docs/transformers.md, and nothing else: no code, table or shortcut is
shared with the C++ sources, and where the C++ counts whole ticks this file
uses plain floating point.  It is slow and straight; tests compare the two.

    problem = load(config)               a config as a dict, docs/formats.md
    cost = evaluate(problem, mapping)    a mapping as a dict, or Infeasible
    least_bytes_sharding(problem)        the sharding that is used by default
    all_least_bytes_shardings(problem)   the ones it ties with

Times are in seconds, sizes in bytes, rates per second.  Loops are named
"outer", "M", "K", "N" and "none" as in mapping files.  Only the standard
library is used.
"""

import collections
import math
import re

import reference_transformer

LOOPS = ("none", "outer", "K", "M", "N")  # also the order of ties

# `own` is a tuple of (type, bytes); the slowest counts.
Kernel = collections.namedtuple(
    "Kernel", "name outer m k n systolic weights inputs backward tiled gradient spread own memory"
    " sharded_memory element_flops attention matrices parameters tokens weight_of coupled steps",
    defaults=(0, None, 0, 0, 0, None, 0, 1),
)
# `rows` of a part of what the source computes; 0: all of it.
Tensor = collections.namedtuple("Tensor", "source target operand rows value", defaults=(0, None))
Dimension = collections.namedtuple("Dimension", "topology degree bandwidth strategy latency")


class Infeasible(Exception):
    """A mapping that does not fit; `resource` names what it runs out of."""

    def __init__(self, resource, detail=""):
        super().__init__(f"{resource}: {detail}")
        self.resource = resource


def ceil_div(a, b):
    return -(-a // b)


# ---------------------------------------------------------------- workloads


def _kernel(name, kind, outer, m, k, n, backward=False, gradient=False, tiled=None, spread="tensor",
            own=(), memory=0, sharded_memory=0, systolic=False):
    gemm = kind in ("W", "G")
    return Kernel(
        name=name, outer=outer, m=m, k=k, n=n, systolic=gemm or systolic, weights=kind == "W",
        inputs=2 if kind in ("G", "E2") else 1, backward=backward,
        tiled=tiled or ("K" if gradient else "N"), gradient=gradient, spread=spread, own=own,
        memory=memory, sharded_memory=sharded_memory,
    )


def _with_coupled_rows(kernels):
    """Two rows of LayerNorm and SOFTMAX, backward two and one."""
    def coupled(name):
        if name.startswith("LayerNorm"):
            return 2
        return {"SOFTMAX": 2, "SOFTMAX_bwd": 1}.get(name, 0)

    return [kernel._replace(coupled=coupled(kernel.name)) for kernel in kernels]


def llm_kernels(h, s, a, d, training, f):
    """The kernels of section 9, in order."""
    forward = [
        ("Add_Prev_Layer", "E", 1, h, 1, s), ("LayerNorm_1", "E", 1, h, 1, s),
        ("Q", "W", a, d, h, s), ("K", "W", a, d, h, s), ("V", "W", a, d, h, s),
        ("MHA_GEMM_1", "G", a, s, d, s), ("SOFTMAX", "E", a, s, 1, s),
        ("DropOut_1", "E", a, s, 1, s), ("MHA_GEMM_2", "G", a, d, s, s),
        ("PROJ_GEMM", "W", 1, h, h, s), ("DropOut_2", "E", 1, h, 1, s),
        ("Add_1", "E2", 1, h, 1, s), ("LayerNorm_2", "E", 1, h, 1, s),
        ("FFN0", "W", 1, f, h, s), ("GeLU", "E", 1, f, 1, s),
        ("FFN1", "W", 1, h, f, s), ("DropOut_3", "E", 1, h, 1, s),
        ("Add_2", "E2", 1, h, 1, s),
    ]
    backward = [
        ("Loss_bwd", "E", 1, h, 1, s), ("DropOut_3_bwd", "E", 1, h, 1, s),
        ("FFN1_bwd", "W", 1, f, h, s), ("GeLU_bwd", "E", 1, f, 1, s),
        ("FFN0_bwd", "W", 1, h, f, s), ("LayerNorm_2_bwd", "E", 1, h, 1, s),
        ("DropOut_2_bwd", "E", 1, h, 1, s), ("PROJ_GEMM_bwd", "W", 1, h, h, s),
        ("MHA_GEMM_2_bwd1", "G", a, s, d, s), ("MHA_GEMM_2_bwd2", "G", a, d, s, s),
        ("V_bwd", "W", 1, h, h, s), ("DropOut_1_bwd", "E", a, s, 1, s),
        ("SOFTMAX_bwd", "E", a, s, 1, s), ("MHA_GEMM_1_bwd1", "G", a, d, s, s),
        ("MHA_GEMM_1_bwd2", "G", a, d, s, s), ("Q_bwd", "W", a, d, h, s),
        ("K_bwd", "W", a, d, h, s),
    ]
    updates = [
        ("FFN1_bwd_weight_update", f, h), ("FFN0_bwd_weight_update", h, f),
        ("PROJ_GEMM_bwd_weight_update", h, h), ("V_bwd_weight_update", h, h),
        ("K_bwd_weight_update", h, h), ("Q_bwd_weight_update", h, h),
    ]
    kernels = [_kernel(*fields) for fields in forward]
    if training:
        owner = {f"{kernel.name}_bwd": i for i, kernel in enumerate(kernels) if kernel.weights}
        kernels += [_kernel(*fields, backward=True)._replace(weight_of=owner.get(fields[0]))
                    for fields in backward]
        kernels += [
            _kernel(name, "G", 1, m, s, n, backward=True, gradient=True) for name, m, n in updates
        ]
    return _with_coupled_rows(kernels)


_FORWARD_TENSORS = (
    "1-2 2-3 2-4 2-5 3-6 4-6 6-7 7-8 5-9 8-9 9-10 10-11 11-12 1-12 12-13 13-14 14-15 15-16 16-17"
    " 17-18 12-18"
)
_TRAINING_TENSORS = (
    "19-20 20-21 21-22 22-23 23-24 24-25 25-26 26-27 5-27 26-28 8-28 27-30 28-29 30-31 31-32 31-33"
    " 4-32 3-33 32-34 33-35 20-36 15-36 22-37 13-37 25-38 9-38 28-39 2-39 33-40 2-40 32-41 2-41"
)
# The first operand of a two-input GEMM, where the order of the list is not it.
_FIRST_OPERAND = {6: 3, 9: 5, 27: 26, 28: 26, 32: 31, 33: 31}


def _tensors(pairs, first_operand):
    seen = collections.Counter()
    tensors = []
    for source, target in (map(int, pair.split("-")) for pair in pairs):
        seen[target] += 1
        operand = seen[target]
        if target in first_operand:
            operand = 1 if first_operand[target] == source else 2
        tensors.append(Tensor(source - 1, target - 1, operand))
    return tensors


def llm_tensors(training):
    text = _FORWARD_TENSORS + (" " + _TRAINING_TENSORS if training else "")
    return _tensors(text.split(), _FIRST_OPERAND)


def _decode(w, word):
    """One token after `context` others."""
    h, a, d, context = w["hidden"], w["heads"], w["head_dim"], w["context"]
    f, n = w.get("mlp", 4 * h), w["context"] + 1

    def loaded(name, outer, m, k, rows, columns):
        return _kernel(name, "W", outer, m, k, 1, sharded_memory=rows * columns * word)

    def cache(name):
        return _kernel(name, "E", a, d, 1, n, sharded_memory=h * context * word, systolic=True)

    kernels = [
        _kernel("Add_Prev_Layer", "E", 1, h, 1, 1), _kernel("LayerNorm_1", "E", 1, h, 1, 1),
        *(loaded(name, a, d, h, h, h) for name in "QKV"), cache("K_cache"), cache("V_cache"),
        _kernel("MHA_GEMM_1", "G", a, 1, d, n), _kernel("SOFTMAX", "E", a, 1, 1, n),
        _kernel("DropOut_1", "E", a, 1, 1, n), _kernel("MHA_GEMM_2", "G", a, d, n, 1),
        loaded("PROJ_GEMM", 1, h, h, h, h), _kernel("DropOut_2", "E", 1, h, 1, 1),
        _kernel("Add_1", "E2", 1, h, 1, 1), _kernel("LayerNorm_2", "E", 1, h, 1, 1),
        loaded("FFN0", 1, f, h, f, h), _kernel("GeLU", "E", 1, f, 1, 1),
        loaded("FFN1", 1, h, f, f, h), _kernel("DropOut_3", "E", 1, h, 1, 1),
        _kernel("Add_2", "E2", 1, h, 1, 1),
    ]
    text = ("1-2 2-3 2-4 2-5 4-6 5-7 3-8 6-8 8-9 9-10 10-11 7-11 11-12 12-13 13-14 1-14 14-15 15-16"
            " 16-17 17-18 18-19 19-20 14-20")
    return _with_coupled_rows(kernels), _tensors(text.split(), {11: 7})


def _by_rule(w, word):
    dictionaries, ends, seams = reference_transformer.layer(w, word)
    fields = ("element_flops", "matrices", "parameters", "tokens", "weight_of", "coupled")
    kernels = [
        _kernel(k["name"], k["kind"], k["outer"], k["m"], k["k"], k["n"], k["backward"],
                k.get("gradient", False), k["tiled"], sharded_memory=k.get("sharded_memory", 0),
                systolic=k["kind"] == "A",
                )._replace(attention=k.get("attention"),
                           **{field: k[field] for field in fields if field in k})
        for k in dictionaries
    ]
    # Operands matter to two-input GEMMs alone, which are sharded by heads or contract tokens.
    seen, tensors = set(), []
    for source, target, rows, value, operand in ends:
        whole = kernels[source].outer * kernels[source].m == rows
        second = target in seen and not kernels[target].weights
        tensors.append(Tensor(source, target, operand or (2 if second else 1),
                              0 if whole else rows, value))
        seen.add(target)
    return kernels, tensors, seams


def pairs(kernel):
    """Keys that a head of attention scores, over all its queries."""
    keys, window, causal = kernel.attention
    before = max(keys - kernel.n, 0)
    return sum(min(before + query if causal else keys, keys, window or keys)
               for query in range(1, kernel.n + 1))


def depth(kernel):
    """Multiply-adds for an output element."""
    if not kernel.attention:
        return kernel.k
    products = 3 * kernel.k + 2 * kernel.m if kernel.backward else kernel.k + kernel.m
    return ceil_div(pairs(kernel) * products, kernel.n * kernel.m)


def steps_of(kernel, tiles):
    """In a tile, (58)."""
    return ceil_div(kernel.steps, tiles) if kernel.tiled == "N" else kernel.steps


def useful_flop(kernel):
    if kernel.attention:
        products = 2 if kernel.backward else 1
        return 2 * products * kernel.outer * pairs(kernel) * (kernel.k + kernel.m)
    if kernel.element_flops:
        return 0
    if kernel.tokens:
        other = kernel.n if kernel.tiled == "K" else kernel.k
        return 2 * kernel.m * other * kernel.tokens
    return (2 * kernel.k if kernel.systolic else 1) * kernel.outer * kernel.m * kernel.n


def carried(kernel, tensor):
    """The producer of a tensor, as if it computed no more than that carries."""
    return kernel._replace(outer=1, m=tensor.rows) if tensor.rows else kernel


def _dlrm(w, word, training):
    mlp, bottom, batch = w["mlp"], w["bottom"], w["local_batch"]
    n = bottom + w["top"]
    pooled = w["tables"] * w.get("pooled_rows", 0) * w["embedding"] * batch * word
    exchanged = quantity(w.get("all_to_all", pooled), "B")
    moved = quantity(w.get("memory", pooled), "B")

    def product(i, name, backward):
        joins = i == bottom
        return _kernel(name, "W", 1, mlp, mlp, batch, backward, tiled="none",
                       own=(("all_to_all", exchanged),) if joins else (),
                       memory=moved if joins else 0)

    kernels = [product(i, f"MLP_{i}", False) for i in range(1, n + 1)]
    pairs = [f"{i}-{i + 1}" for i in range(1, n)]
    if training:
        back = range(n, 0, -1)
        kernels += [product(i, f"MLP_{i}_bwd", True)._replace(weight_of=i - 1) for i in back]
        kernels += [
            _kernel(f"MLP_{i}_bwd_weight_update", "G", 1, mlp, batch, mlp, True, tiled="none",
                    own=(("flat_gradient", 0),)) for i in back
        ]
        pairs += [f"{n + j}-{n + j + 1}" for j in range(1, n)]
        pairs += [f"{i}-{3 * n - i}" for i in range(1, n)]
        pairs += [f"{n + j}-{2 * n + j + 1}" for j in range(1, n)]
    return kernels, _tensors(pairs, {})


def _lstm(w, word):
    d, v, steps = w["hidden"], w["vocabulary"], w["steps"]
    n = steps * w["local_batch"]
    all_steps = 1 if w.get("folded", True) else steps
    kernels, tensors, waits, place = [], [], [], {}

    def add(name, kind, m, k, columns, recurs=False, **more):
        place[name] = len(kernels)
        of = more.pop("weight_of", None)
        coupled = more.pop("coupled", 0)
        update = name.endswith("_update")
        kernels.append(_kernel(name, kind, 1, m, k, columns, **more)._replace(
            weight_of=None if of is None else place[of], coupled=coupled,
            steps=1 if update else steps if recurs else all_steps))

    def join(source, target, rows=0, value=None, operand=1):
        tensors.append(Tensor(place[source], place[target], operand, rows, value))

    state = d * n * word
    add("Embedding", "E", d, 1, n, sharded_memory=state)
    below = [("Embedding", 0, 0)]  # a kernel, its rows and their number
    for i in range(1, w["layers"] + 1):
        add(f"Input_{i}", "W", 4 * d, d, n)
        add(f"State_{i}", "W", 4 * d, d, n, True)
        add(f"Cell_{i}", "E2", 4 * d, 1, n, True, sharded_memory=2 * state)
        join(below[-1][0], f"Input_{i}", *below[-1][1:])
        join(f"Input_{i}", f"Cell_{i}")
        join(f"State_{i}", f"Cell_{i}", operand=2)
        below.append((f"Cell_{i}", d, 1))
        waits.append(Tensor(place[f"Cell_{i}"], place[f"State_{i}"], 1, d, 1))
    add("Output", "W", v, d, n)
    add("Softmax", "E", v, 1, n, coupled=2)
    join(below[-1][0], "Output", *below[-1][1:])
    join("Output", "Softmax")
    add("Softmax_bwd", "E", v, 1, n, backward=True)
    join("Softmax", "Softmax_bwd")
    add("Output_bwd", "W", d, v, n, backward=True, weight_of="Output")
    join("Softmax_bwd", "Output_bwd", 0, 0)
    above = "Output_bwd"
    for i in range(w["layers"], 0, -1):
        add(f"Cell_{i}_bwd", "E2", 4 * d, 1, n, True, backward=True, sharded_memory=2 * state)
        join(above, f"Cell_{i}_bwd")
        join(f"Cell_{i}", f"Cell_{i}_bwd", 0, 0, 2)
        add(f"State_{i}_bwd", "W", d, 4 * d, n, True, backward=True, weight_of=f"State_{i}")
        join(f"Cell_{i}_bwd", f"State_{i}_bwd", 0, 0)
        waits.append(Tensor(place[f"State_{i}_bwd"], place[f"Cell_{i}_bwd"], 1, 0, 0))
        above = f"Input_{i}_bwd"
        add(above, "W", d, 4 * d, n, backward=True, weight_of=f"Input_{i}")
        join(f"Cell_{i}_bwd", above, 0, 0)
    add("Embedding_bwd", "E", d, 1, n, backward=True, gradient=True, tiled="N",
        sharded_memory=state)
    join(above, "Embedding_bwd")
    add("Output_update", "G", v, n, d, backward=True, gradient=True, weight_of="Output")
    join("Softmax_bwd", "Output_update", 0, 0)
    join(below[-1][0], "Output_update", *below[-1][1:], 2)
    for i in range(w["layers"], 0, -1):
        add(f"Input_{i}_update", "G", 4 * d, n, 2 * d, backward=True, gradient=True,
            weight_of=f"Input_{i}")
        join(f"Cell_{i}_bwd", f"Input_{i}_update", 0, 0)
        for source in below[i - 1:i + 1]:
            join(source[0], f"Input_{i}_update", *source[1:], 2)
    return kernels, tensors, waits if steps > 1 else []


def _hpl(w, word):
    kernels = []
    for i in range(w["iterations"]):
        side, block = w["n"] - i * w["block"], w["block"]
        panel = side * block * word
        kernels.append(_kernel(
            f"Iteration_{i + 1}", "G", 1, side, side, block, tiled="none", spread="grid",
            own=(("broadcast", panel), ("message", panel))))
    return kernels, _tensors([f"{i}-{i + 1}" for i in range(1, len(kernels))], {})


def _fft(w, word):
    n = math.isqrt(w["length"])
    k = max(1, math.floor(4 * math.log2(n) / math.log2(w["radix"]) * w["radix"]))
    own = (("transpose", n * n * word),)
    kernels = [
        _kernel(f"Step_{i}", "W", 1, n, k, n, tiled="none", spread="machine",
                own=own if i == 2 else ()) for i in (1, 2)
    ]
    return kernels, _tensors(["1-2"], {})


# ------------------------------------------------------------------ configs

_PREFIXES = {"": 1, "n": 1e-9, "u": 1e-6, "m": 1e-3, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15,
             "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}


def quantity(value, unit):
    """The number of base units in a text like "900 GB/s"."""
    if isinstance(value, (int, float)):
        return value
    match = re.fullmatch(r"\s*([-+0-9.eE]+)\s*([A-Za-z]*?)" + re.escape(unit) + r"\s*", value)
    if not match:
        raise ValueError(f"expected a quantity in {unit}, got {value!r}")
    number = float(match.group(1))
    scaled = number * _PREFIXES[match.group(2)]
    return int(scaled) if scaled == int(scaled) and unit == "B" else scaled


class Problem:
    """A config, resolved; all kinds of workloads but graphs written out."""

    def __init__(self, config):
        self._load_workload(config["workload"])
        self._load_system(config["system"])
        execution = config.get("execution", {})
        self.kernel_by_kernel = execution.get("style", "dataflow") == "kernel_by_kernel"
        count = len(self.kernels)
        self.partition_limit = execution.get("partitions", count)
        if self.kernel_by_kernel:
            self.partition_limit = count
        self.overlap = execution.get("overlap", "perfect")
        self.utilization = execution.get("compute_utilization")
        if not execution.get("levels"):
            self.levels = []
        self.pins = execution.get("pins", {})
        self._load_equations(config.get("equations", "physical"))
        sharding = config.get("sharding", config.get("search", {}).get("sharding", {}))
        self.sharding_pins = sharding.get("pins", {}) if isinstance(sharding, dict) else {}
        self.price = config.get("price", {})
        self.power = config.get("power", {})

    def _load_workload(self, w):
        kind = w["kind"]
        self.training = kind == "llm_training"
        self.word = word = quantity(w["word"], "B")
        self.layers, self.global_batch = w.get("layers", 1), w.get("global_batch", 1)
        self.copies, self.sequence = w.get("copies", 1), w.get("sequence", 1)
        self.hidden = w.get("hidden", 0)
        self.out_of_core = kind in ("hpl", "fft")
        self.waits = []  # tensors to the next step
        self.strategy, self.stored = None, 0  # of all dimensions; bytes beside weights
        self.tokens = None  # of a sample, if it is served
        seams = [("Add_2", "Add_Prev_Layer")] + [
            (name, "Loss_bwd") for name in ("V_bwd", "Q_bwd", "K_bwd")]
        if kind.startswith("llm") and reference_transformer.is_by_rule(w):
            self.kernels, self.tensors, seams = _by_rule(w, word)
            model = reference_transformer.Model(w)
            self.tokens = None if self.training else model.n
            self.hidden *= model.n if model.decode else 1
            if model.decode:
                token = model.g * (model.d + model.dv)
                if model.latent:
                    token = model.latent["key_value_rank"] + model.latent["rope_dim"]
                self.stored = (token * self.layers * model.visible(model.context) * model.n
                               * self.global_batch * word)
        elif kind == "llm_decode":
            self.kernels, self.tensors = _decode(w, word)
            self.tokens = 1
        elif kind.startswith("llm"):
            h = w["hidden"]
            self.kernels = llm_kernels(h, w["sequence"], w["heads"], w["head_dim"], self.training,
                                       w.get("mlp", 4 * h))
            self.tensors = llm_tensors(self.training)
            self.tokens = None if self.training else w["sequence"]
        elif kind == "lstm":
            self.kernels, self.tensors, self.waits = _lstm(w, word)
            self.training = True
            self.layers, self.hidden = 1, 0
            self.sequence = w["steps"] * w["local_batch"]
            self.stored = w["vocabulary"] * w["hidden"] * word
        elif kind.startswith("dlrm"):
            self.kernels, self.tensors = _dlrm(w, word, kind == "dlrm_training")
            self.strategy = "data"
            self.stored = w["tables"] * w["rows"] * w["embedding"] * word
        else:
            self.kernels, self.tensors = _hpl(w, word) if kind == "hpl" else _fft(w, word)
            self.strategy = "tensor"
            self.stored = (w["n"] ** 2 if kind == "hpl" else w["length"]) * word
        self.fixed_tile = w.get("tile")
        self.fixed_micro_batch = w.get("micro_batch")
        index = {kernel.name: i for i, kernel in enumerate(self.kernels)}
        self.seams = [Tensor(index[a], index[b], 1) for a, b in seams if a in index and b in index]
        self.seams += self.waits
        level = [0] * len(self.kernels)  # kernels need not be listed in topological order
        for _ in self.kernels:
            for t in self.tensors:
                level[t.target] = max(level[t.target], level[t.source] + 1)
        self.depth = [level[t.target] - level[t.source] + 1 for t in self.tensors]

    def _load_system(self, s):
        self.chips = s["chips"]
        accelerator = s["accelerator"]
        self.cores, self.lanes = accelerator["cores"], accelerator["lanes"]
        self.stages = accelerator["stages"]
        self.dataflow = accelerator.get("dataflow", "output")
        self.frequency = quantity(accelerator["frequency"], "Hz")
        self.sram = quantity(accelerator["sram"], "B")
        self.peak = 2 * self.lanes * self.stages * self.cores * self.frequency
        self.memory_bandwidth = quantity(s["memory"]["bandwidth"], "B/s")
        self.memory_capacity = quantity(s["memory"].get("capacity", math.inf), "B")
        self.memory_latency = quantity(s["memory"].get("latency", 0), "s")
        self.network = [
            (d["topology"], d.get("degree"), quantity(d["bandwidth"], "B/s"),
             self.strategy or d.get("strategy"), quantity(d.get("latency", 0), "s"))
            for d in s["network"]
        ]
        owners = {"core": self.cores, "chip": 1,
                  "bundle": max(1, self.cores // accelerator.get("bundle", 1))}
        self.levels = [
            (quantity(level["capacity"], "B") / owners[level["scope"]],
             quantity(level["bandwidth"], "B/s"), quantity(level.get("latency", 0), "s"))
            for name in ("registers", "L1", "L2") if name in s.get("levels", {})
            for level in [s["levels"][name]]
        ]
        self.second = None
        if "second" in s["memory"]:
            second = s["memory"]["second"]
            self.second = (quantity(second["bandwidth"], "B/s"), quantity(second["capacity"], "B"))

    def _load_equations(self, e):
        e = {"preset": e} if isinstance(e, str) else dict(e)
        published = e.get("preset", "physical") == "published"
        self.all_reduce_passes = e.get("all_reduce_passes", 2)
        self.virtual_stages = e.get("virtual_stages",
                                    "layers_minus_one" if published else "layers")
        self.conversion_bytes = e.get("layout_conversion_bytes", "shard" if published else "full")
        self.by_value = self.conversion_bytes == "full"
        self.phases = e.get("phases", "halves" if published else "separate")
        self.weight_traffic = e.get("weight_traffic", "resident" if published else "per_step")
        if e.get("layer_seams", "free" if published else "charged") == "free":
            self.seams = []
        self.whole = e.get("shards", "even" if published else "whole") == "whole"
        self.all_to_all = e.get("all_to_all", "bisection" if published else "per_dimension")
        self.pairs = e.get("all_to_all_pairs", "auto")
        self.hops = e.get("latency", "all_reduces" if published else "hops") == "hops"
        for switch, physical, of_published in (
                ("pipeline", "schedule", "bubble"),
                ("lone_kernels", "streamed", "whole"), ("weight_pieces", "free", "free"),
                ("grid", "members", "all"),
                ("spilled", "sum", "mean"), ("array_loads", "charged", "free"),
                ("charge_out_of_core", "charged", "free")):
            key = switch.removeprefix("charge_")
            setattr(self, switch, e.get(key, of_published if published else physical))
        if self.out_of_core and self.charge_out_of_core == "charged":
            self._charge_out_of_core()
        self.per_chip = e.get("links", "per_group" if published else "per_chip") == "per_chip"
        bandwidth = e.get("dlrm_gradient_bandwidth", "1 GB/s" if published else "network")
        self.gradient_bandwidth = (
            None if bandwidth == "network" else quantity(bandwidth, "B/s"))

    def _charge_out_of_core(self):
        """Each kernel reads and writes its matrix, a transform once for each of its passes."""
        held = self.sram / self.word
        for i, kernel in enumerate(self.kernels):
            passes = 1
            if kernel.spread == "machine" and kernel.m > held:
                passes = math.ceil(math.log(kernel.m) / math.log(held))
            moved = 2 * passes * kernel.m * kernel.n * self.word
            self.kernels[i] = kernel._replace(sharded_memory=moved)

    def flop(self):
        """Of a whole step, unsharded."""
        layer = sum(useful_flop(kernel) for kernel in self.kernels)
        return layer * self.layers * self.global_batch


def load(config):
    return Problem(config)


# ----------------------------------------------------------------- sharding


def sharding_choices(kernel):
    """The loops that may be sharded, in the order of ties (section 4)."""
    if kernel.spread != "tensor":
        return ["none"]
    if kernel.outer > 1:
        return ["outer"]
    if kernel.attention:
        return ["none"]
    extent = {"M": kernel.m, "K": kernel.k, "N": kernel.n}
    loops = [x for x in ("K", "M", "N") if extent[x] > 1 and x != kernel.tiled]
    return loops if kernel.weights and loops else ["none"] + loops


def _produced_layout(loop):
    return {"outer": "SR", "M": "SR", "N": "RS"}.get(loop, "RR")


def _consumed_layout(kernel, operand, loop):
    if kernel.tiled == "K":
        table = {"outer": "SR", "M": "SR", "N": "SR", "K": "RS"}
    elif not kernel.systolic:
        table = {"outer": "SR", "M": "SR", "N": "RS"}
    elif operand == 1:
        table = {"outer": "SR", "K": "SR", "N": "RS"}
    else:
        table = {"outer": "SR", "M": "SR", "K": "RS"}
    return table.get(loop, "RR")


def _other_words(a, b):
    """As many elements in words that are a power of two, up to 16, times as large or small."""
    return any(a * 2**i == b or b * 2**i == a for i in range(5))


def _needs(problem, tensor):
    """SR, RR or SS: what a part of the target's rows needs of the tensor's (section 4)."""
    source, target = problem.kernels[tensor.source], problem.kernels[tensor.target]
    rows = tensor.rows or source.outer * source.m
    is_value, single = tensor.value is not None, source.outer == 1
    if target.attention:
        everything = target.outer > 1 and single and rows <= max(target.k, target.m)
    elif target.weights:
        everything = target.outer > 1 and (rows == target.k or single and rows < target.k)
    elif target.systolic and target.inputs == 2:
        elements = rows * source.n
        own = elements in (target.outer * target.k * target.n, target.outer * target.m * target.k)
        gradient = (target.weight_of is not None and tensor.operand == 2 and is_value
                    and rows == target.n)
        everything = target.outer > 1 and (
            gradient or not own and single and rows <= max(target.m, target.k))
    else:
        own = target.outer * target.m
        if rows == own:
            return "SR"
        groups = (rows % target.m == 0 and source.n != target.n if single
                  else rows == source.outer * target.m)
        if target.outer == 1 and rows > target.m and groups:
            return "SS"
        if target.outer > 1 and single and rows <= target.m:
            return "RR"
        everything = not (_other_words(rows, own) or rows % own == 0
                          or target.outer > 1 and not single)
    return "RR" if everything else "SR"


def shared_heads(problem, tensor):
    """How many heads the tensor has for those of its target."""
    target = problem.kernels[tensor.target]
    source = problem.kernels[tensor.source]
    if not target.attention or tensor.operand not in (2, 3):
        return target.outer
    rows, of_one = tensor.rows or source.outer * source.m, (target.k, target.m)[tensor.operand - 2]
    if rows <= of_one:
        return 1
    shared = rows // of_one
    return shared if rows % of_one == 0 and target.outer % shared == 0 else target.outer


def fullest(heads, shared, chips):
    """How many shared heads the chip reads that reads most of them."""
    held = ceil_div(heads, chips)
    return max(len({head * shared // heads for head in range(i, min(heads, i + held))})
               for i in range(0, heads, held))


def wanted_layout(problem, tensor, target_loop):
    """What the loop asks for, by what the rows are."""
    want = _consumed_layout(problem.kernels[tensor.target], tensor.operand, target_loop)
    if want == "SR" and target_loop in ("outer", "M") and problem.by_value:
        return _needs(problem, tensor)
    return want


def conversion(problem, tensor, source_loop, target_loop):
    """None, "all_gather" or "all_to_all"."""
    have = _produced_layout(source_loop)
    want = wanted_layout(problem, tensor, target_loop)
    if have in ("RR", want):
        return None
    return "all_gather" if want == "RR" else "all_to_all"


def _full_bytes(problem, kernel):
    return kernel.outer * kernel.m * kernel.n * problem.word


def _kernel_bytes(problem, kernel, loop):
    """Communicated for a kernel by its own; a gradient all-reduce is the same for every loop."""
    keeps = kernel.gradient or kernel.own
    if couples(problem, kernel, loop):
        return kernel.outer * kernel.coupled * kernel.n * problem.word
    return _full_bytes(problem, kernel) if loop == "K" and not keeps else 0


def couples(problem, kernel, loop):
    """Whether chips exchange what makes the rows of a column one."""
    return problem.by_value and loop == "M" and kernel.coupled > 0


def _tensor_bytes(problem, tensor, source_loop, target_loop):
    if conversion(problem, tensor, source_loop, target_loop) is None:
        return 0
    return _full_bytes(problem, carried(problem.kernels[tensor.source], tensor))


def converted(problem, tensors, sharding):
    """The tensors that are converted: of one value the first for each layout."""
    done = set()
    for t in tensors:
        want = wanted_layout(problem, t, sharding[t.target])
        if problem.by_value and t.value is not None:
            if (t.source, t.value, want) in done:
                continue
            done.add((t.source, t.value, want))
        yield t


def _converted_bytes(problem, tensors, sharding):
    return sum(_tensor_bytes(problem, t, sharding[t.source], sharding[t.target])
               for t in converted(problem, tensors, sharding))


def _values(problem):
    """Tensors that are converted together, and the last kernel at an end of them."""
    groups = {}
    for e, t in enumerate(problem.tensors):
        alone = not problem.by_value or t.value is None
        groups.setdefault(e if alone else (t.source, t.value), []).append(t)
    return [(tensors, max(max(t.source, t.target) for t in tensors))
            for tensors in list(groups.values()) + [[seam] for seam in problem.seams]]


def communicated_bytes(problem, sharding):
    own = sum(_kernel_bytes(problem, k, loop) for k, loop in zip(problem.kernels, sharding))
    return own + _converted_bytes(problem, problem.tensors + problem.seams, sharding)


def _choices(problem):
    pins = problem.sharding_pins
    return [
        [pins[k.name]] if k.name in pins else sharding_choices(k) for k in problem.kernels
    ]


def least_bytes_sharding(problem):
    """Dynamic programming along the kernels: prefixes that agree on every kernel with a neighbour
    still to come have the same completions, so only the first of the cheapest is kept."""
    choices = _choices(problem)
    last = list(range(len(problem.kernels)))
    values = _values(problem)
    for tensors, end in values:
        for t in tensors:
            for kernel in (t.source, t.target):
                last[kernel] = max(last[kernel], end)
    rank = {loop: i for i, loop in enumerate(LOOPS)}
    states = {(): (0, ())}
    for i, kernel in enumerate(problem.kernels):
        found = {}
        for bytes_so_far, prefix in states.values():
            for loop in choices[i]:
                loops = prefix + (rank[loop],)
                names = [LOOPS[r] for r in loops]
                total = bytes_so_far + _kernel_bytes(problem, kernel, loop)
                for tensors, end in values:
                    if end == i:
                        total += _converted_bytes(problem, tensors, names)
                key = tuple(loops[j] if last[j] > i else None for j in range(i + 1))
                if key not in found or (total, loops) < found[key]:
                    found[key] = (total, loops)
        states = found
    return [LOOPS[r] for r in min(states.values())[1]]


def all_least_bytes_shardings(problem, accept=lambda index, prefix: True):
    """Every sharding with the fewest bytes, in the order of ties.  `accept` is shown each kernel
    with the prefix up to it and may cut the enumeration, which is exponential."""
    choices = _choices(problem)
    limit = communicated_bytes(problem, least_bytes_sharding(problem))
    values = _values(problem)

    def extend(prefix, spent):
        i = len(prefix)
        if i == len(problem.kernels):
            yield list(prefix)
            return
        for loop in choices[i]:
            longer = prefix + [loop]
            total = spent + _kernel_bytes(problem, problem.kernels[i], loop)
            for tensors, end in values:
                if end == i:
                    total += _converted_bytes(problem, tensors, longer)
            if total <= limit and accept(i, longer):
                yield from extend(longer, total)

    return extend([], 0)


# -------------------------------------------------------------- collectives


def _over_dimensions(dimensions, size, one):
    """Sum over dimensions; each one moves what the inner ones leave."""
    total, left = 0.0, size
    for d in dimensions:
        if d.degree > 1:
            total += one(d, left)
            left /= d.degree
    return total


def all_gather(dimensions, size):
    def one(d, s):
        share = 1 / d.degree if d.topology == "fully_connected" else (d.degree - 1) / d.degree
        return share * s / d.bandwidth

    return _over_dimensions(dimensions, size, one)


def all_reduce(dimensions, size, passes):
    return passes * all_gather(dimensions, size)


def all_to_all(dimensions, held, published):
    """`held`: bytes of one member.  Over several dimensions the slowest counts, as for the
    all-to-all over the whole machine."""
    slowest = 0.0
    for d in dimensions:
        if d.degree == 1:
            continue
        n = d.degree
        if published:
            factor = {"ring": n * n / 8, "fully_connected": 1, "switch": n / 4}[d.topology]
        else:
            factor = {"ring": n / 8, "fully_connected": 1 / n, "switch": (n - 1) / n}[d.topology]
        slowest = max(slowest, factor * held / d.bandwidth)
    return slowest


def gather_latency(problem, dimensions):
    """Hops one after the other; published all-gathers have none."""
    return problem.hops * sum(
        (d.degree - 1 if d.topology == "ring" else min(d.degree - 1, 1)) * d.latency
        for d in dimensions)


def exchange_latency(problem, dimensions):
    return problem.hops * sum(
        (d.degree // 2 if d.topology == "ring" else min(d.degree - 1, 1)) * d.latency
        for d in dimensions)


def all_reduce_latency(problem, dimensions):
    if problem.hops:
        return 2 * gather_latency(problem, dimensions)
    passes = {"fully_connected": lambda n: 1}
    return sum(2 * passes.get(d.topology, lambda n: n - 1)(d.degree) * d.latency
               for d in dimensions)


def _bisections(dimensions):
    """(links, chips of the group that is cut, bandwidth) for each dimension with members."""
    real = [d for d in dimensions if d.degree > 1]
    n = [d.degree for d in real]
    every = math.prod(n)
    if all(d.topology == "ring" for d in real):
        links = {1: [2], 2: [2 * x for x in n]}.get(len(n)) or (
            [2 * n[0] * n[1], 2 * n[0] * n[2], 2 * n[1] * n[2]] if len(n) == 3 else [])
        return [(count, every, d.bandwidth) for count, d in zip(links, real)]
    of = {"ring": lambda x: 2, "switch": lambda x: x, "fully_connected": lambda x: x * x / 4}
    return [
        (of[d.topology](d.degree), math.prod(n[: i + 1]), d.bandwidth) for i, d in enumerate(real)
    ]


def machine_all_to_all(problem, dimensions, pair):
    """Among all chips of a copy, `pair` bytes from each to each."""
    latency = exchange_latency(problem, dimensions)
    if problem.all_to_all == "per_dimension":
        chips = math.prod(d.degree for d in dimensions)
        return all_to_all(dimensions, chips * pair, False) + latency
    torus = all(d.topology == "ring" for d in dimensions if d.degree > 1)
    count = problem.pairs if problem.pairs != "auto" else "n2_2" if torus else "n2_4"
    pairs = {"n2_2": lambda n: n * n / 2, "n2_4": lambda n: n * n / 4,
             "n_n1_2": lambda n: n * (n - 1) / 2}[count]
    return latency + max(
        (pair * pairs(group) / (links * bandwidth)
         for links, group, bandwidth in _bisections(dimensions)), default=0.0)


# ------------------------------------------------------------ core allocation


def _dataflows(problem, shard):
    """Extents along lanes, along stages and of what streams, of each dataflow left."""
    m, k, n = shard
    extents = {"output": (m, n, k), "weight": (m, k, n), "input": (n, k, m)}
    return extents if problem.dataflow == "best" else {problem.dataflow: extents[problem.dataflow]}


def _cycles(problem, kernel, shard, lanes, stages):
    core_lanes, core_stages = problem.lanes, problem.stages
    m, _, n = shard
    if kernel.systolic:
        # What stays moves into an array row by row; of an output that stays there is nothing.
        loads = [(*extents, 0 if name == "output" or problem.array_loads == "free"
                  else min(extents[1], core_stages))
                 for name, extents in _dataflows(problem, shard).items()]
        return min(ceil_div(a, lanes * core_lanes) * ceil_div(b, stages * core_stages) * (c + load)
                   for a, b, c, load in loads)
    return ceil_div(m, lanes * core_lanes) * n * max(kernel.element_flops, 1)


def _useful_counts(extent, width, limit):
    """The counts 1..limit at which ceil(extent / (count * width)) falls."""
    counts, passes = [], None
    count = 1
    while count <= limit:
        now = ceil_div(extent, count * width)
        if passes is None or now < passes:
            counts.append(count)
            passes = now
        if now == 1:
            break
        # The next smaller value needs at least extent / (now - 1) in total width.
        count = max(count + 1, ceil_div(extent, (now - 1) * width))
    return counts


def core_choices(problem, kernel, shard):
    """Pareto list of (cores, cycles, lanes, stages), cores rising and cycles falling."""
    spread = [extents[:2] for extents in _dataflows(problem, shard).values()]
    if not kernel.systolic:
        spread = [(shard[0], 1)]
    grid = [
        (a * b, _cycles(problem, kernel, shard, a, b), a, b)
        for rows, columns in spread
        for a in _useful_counts(rows, problem.lanes, problem.cores)
        for b in _useful_counts(columns, problem.stages, problem.cores) if a * b <= problem.cores
    ]
    best = []
    for choice in sorted(grid):
        if not best or choice[1] < best[-1][1]:
            best.append(choice)
    return best


def best_allocation(problem, members, shards, tiles=1):
    """The least slowest number of cycles, and the grid of each kernel that reaches it."""
    lists = [
        [(cores, steps_of(problem.kernels[i], tiles) * cycles, *grid)
         for cores, cycles, *grid in core_choices(problem, problem.kernels[i], shards[i])]
        for i in members
    ]
    candidates = sorted({choice[1] for choices in lists for choice in choices})

    def grids(limit):
        chosen = []
        for choices in lists:
            fitting = [c for c in choices if c[1] <= limit]
            if not fitting:
                return None
            chosen.append(fitting[0])
        return chosen if sum(c[0] for c in chosen) <= problem.cores else None

    low, high = 0, len(candidates) - 1
    if grids(candidates[high]) is None:
        raise Infeasible("cores", f"{len(members)} kernels")
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if grids(candidates[middle]) else (middle + 1, high)
    return candidates[low], {i: c[2:] for i, c in zip(members, grids(candidates[low]))}


# --------------------------------------------------------------- evaluation


def shard_extents(kernel, loop, tensor_degree, tiles, grid=(1, 1), whole=0):
    """m, k, n of one chip and one tile; with `whole` so many matrices, or the parts of them, are
    dealt out as they are."""
    m, k, n = kernel.outer * kernel.m, depth(kernel), kernel.n
    if kernel.spread == "grid":
        m, k = ceil_div(m, grid[0]), ceil_div(k, grid[1])
    elif kernel.spread == "machine":
        n = ceil_div(n, grid[0] * grid[1])
    if loop == "outer" and whole:
        m = min(m, ceil_div(whole, tensor_degree) * ceil_div(m, whole))
    elif loop in ("outer", "M"):
        m = ceil_div(m, tensor_degree)
    elif loop == "K":
        k = ceil_div(k, tensor_degree)
    elif loop == "N":
        n = ceil_div(n, tensor_degree)
    if kernel.tiled == "N":
        n = ceil_div(n, tiles)
    elif kernel.tiled == "K":
        k = ceil_div(k, tiles)
    return m, k, n


class _Evaluation:
    """One mapping, unpacked; the methods are the sections of the model."""

    def __init__(self, problem, mapping):
        self.p = p = problem
        self.dimensions = [
            Dimension(topology, given["degree"], bandwidth, given["strategy"], latency)
            for (topology, _, bandwidth, _, latency), given in zip(p.network, mapping["network"])
        ]
        self.sides = [d for d in self.dimensions if d.degree > 1 or p.grid == "all"]
        degrees = [d.degree for d in self.sides]
        self.grid = (math.prod(degrees[:-1]), degrees[-1] if degrees else 1)
        self.tensor = [d for d in self.dimensions if d.strategy == "tensor"]
        self.pipeline = [d for d in self.dimensions if d.strategy == "pipeline"]
        self.data = [d for d in self.dimensions if d.strategy == "data"]
        self.tp, self.pp, self.dp = (
            math.prod(d.degree for d in group) for group in (self.tensor, self.pipeline, self.data)
        )
        self.micro_batch, self.tile = mapping["micro_batch"], mapping["tile"]
        self.sharding = [mapping["sharding"][k.name] for k in p.kernels]
        index = {k.name: i for i, k in enumerate(p.kernels)}
        self.partition = [None] * len(p.kernels)
        self.core_grid = {}
        for position, part in enumerate(mapping["partitions"]):
            for name in part["kernels"]:
                self.partition[index[name]] = part.get("index", position)
            for name, cores in (part.get("cores") or {}).items():
                self.core_grid[index[name]] = cores
        self.tiles = ceil_div(p.sequence, self.tile) if self.tile >= 1 else 0

    def check_decisions(self):
        p = self.p
        if not 1 <= self.tile <= p.sequence or p.fixed_tile not in (None, self.tile):
            raise Infeasible("tile", self.tile)
        per_micro = self.micro_batch * self.dp
        wrong = p.fixed_micro_batch not in (None, self.micro_batch)
        if wrong or self.micro_batch < 1 or p.global_batch % per_micro:
            raise Infeasible("batch", f"{p.global_batch} over {per_micro}")
        for k, loop in zip(p.kernels, self.sharding):
            if loop not in sharding_choices(k):
                raise Infeasible("sharding", f"{k.name} on {loop}")
            if p.sharding_pins.get(k.name, loop) != loop:
                raise Infeasible("pin", k.name)
        for k, part in zip(p.kernels, self.partition):
            if not 0 <= part < p.partition_limit:
                raise Infeasible("partitions", k.name)
            if p.pins.get(k.name, part) != part:
                raise Infeasible("pin", k.name)
        for t in p.tensors:
            if self.partition[t.source] > self.partition[t.target]:
                raise Infeasible("precedence", p.kernels[t.source].name)
        if p.kernel_by_kernel:
            if self.partition != list(range(len(p.kernels))):
                raise Infeasible("partitions", "kernel by kernel")
        else:
            self._check_phases()

    def _check_phases(self):
        p = self.p
        forward = [q for k, q in zip(p.kernels, self.partition) if not k.backward]
        backward = [q for k, q in zip(p.kernels, self.partition) if k.backward]
        if not backward:
            return
        if p.phases == "halves":
            half = p.partition_limit // 2
            shared = p.partition_limit % 2
            wrong = max(forward) >= half + shared or min(backward) < half
        else:
            wrong = max(forward) >= min(backward)
        if wrong:
            raise Infeasible("phase")

    def tensor_tile_bytes(self, t):
        kernel = self.p.kernels[t.source]
        m, _, n = shard_extents(carried(kernel, t), self.sharding[t.source], self.tp, self.tiles,
                                self.grid, self.p.whole * kernel.outer)
        return m * n * self.p.word

    def group_share(self, i):
        """Of the traffic of a tensor group the part of one chip."""
        if not self.p.whole:
            return 1 / self.tp
        kernel = self.p.kernels[i]
        for t in self.p.tensors:
            shared = shared_heads(self.p, t)
            if t.target == i and self.sharding[i] == "outer" and shared != kernel.outer:
                return fullest(kernel.outer, shared, self.tp) / shared
        m, k, n = shard_extents(kernel, self.sharding[i], self.tp, 1, self.grid, kernel.outer)
        share = m * k / (kernel.outer * kernel.m * depth(kernel))
        is_weight = kernel.weights and kernel.spread != "machine"
        return share if is_weight else share * n / kernel.n

    def stored_bytes(self, i):
        kernel = self.p.kernels[i]
        if kernel.weight_of is not None:
            return 0
        return self.all_matrices(i) + kernel.parameters * self.p.word

    def all_matrices(self, i):
        kernel = self.p.kernels[i]
        every = kernel._replace(outer=kernel.matrices or kernel.outer)
        m, k, _ = shard_extents(every, self.sharding[i], self.tp, 1, self.grid,
                                self.p.whole * every.outer)
        return m * k * kernel.weights * self.p.word

    def loaded_weight(self, i):
        """What its weight adds to the memory traffic of a sample, (38)."""
        p = self.p
        if p.weight_traffic == "per_sample":
            return self.weight_bytes(i)
        held = sum(self.stored_bytes(k) for k in range(len(p.kernels)))
        fits = held * ceil_div(p.layers, self.pp) <= p.sram
        if p.weight_traffic == "resident" or fits or p.out_of_core or p.kernels[i].sharded_memory:
            return 0
        return min(self.weight_bytes(i), self.all_matrices(i) / (p.global_batch / self.dp))

    def weight_bytes(self, i):
        m, k, _ = self.shards[i]
        return m * k * self.p.word if self.p.kernels[i].weights else 0

    def compute_time(self, members):
        p = self.p
        if p.utilization is not None:
            if len(members) > p.cores:
                raise Infeasible("cores", len(members))
            flop = sum(
                (2 * k if p.kernels[i].systolic else max(p.kernels[i].element_flops, 1)) * m
                * steps_of(p.kernels[i], self.tiles)
                * ceil_div(n, steps_of(p.kernels[i], self.tiles))
                for i in members for m, k, n in [self.shards[i]]
            )
            return self.tiles * flop / (p.utilization * p.peak)
        if self.core_grid:
            if sum(a * b for a, b in (self.core_grid[i] for i in members)) > p.cores or any(
                self.core_grid[i][1] != 1 and not p.kernels[i].systolic for i in members
            ):
                raise Infeasible("cores")
            cycles = max(
                steps_of(p.kernels[i], self.tiles)
                * _cycles(p, p.kernels[i], self.step_shards[i], *self.core_grid[i])
                for i in members
            )
        else:
            cycles, _ = best_allocation(p, members, self.step_shards, self.tiles)
        return cycles * self.tiles / p.frequency

    def level_words(self, i, x):
        """What kernel i moves out of level x (docs/technology.md, section 4)."""
        p, kernel = self.p, self.p.kernels[i]
        m, k, n = shard_extents(kernel, self.sharding[i], self.tp, 1, self.grid,
                                p.whole * kernel.outer)
        n = ceil_div(n, kernel.steps)
        return kernel.steps * self.words_of_step(kernel, x, m, k, n)

    def words_of_step(self, kernel, x, m, k, n):
        p = self.p
        if not kernel.systolic or k == 1:
            return (kernel.inputs + 1) * m * n
        if x == 0 and p.dataflow != "output":
            past = ceil_div(n, p.stages) if p.dataflow == "weight" else ceil_div(m, p.lanes)
            return m * k * n * (1 / past + 1 / p.lanes + 1 / p.stages)
        if x == 0:
            return m * k * ceil_div(n, p.stages) + k * n * ceil_div(m, p.lanes) + m * n
        inner = int(p.levels[x - 1][0] // p.word)

        def least(rows, columns, words):
            return min((words(a, b) for a in range(1, rows + 1)
                        for b in [min(columns, (inner - a) // (1 + a))] if b >= 1),
                       default=math.inf)
        return min(
            least(m, n, lambda a, b: m * n + m * k * ceil_div(n, b) + k * n * ceil_div(m, a)),
            least(k, n, lambda a, b: k * n + m * k * ceil_div(n, b)
                  + m * n * (2 * ceil_div(k, a) - 1)),
            least(m, k, lambda a, b: m * k + k * n * ceil_div(m, a)
                  + m * n * (2 * ceil_div(k, b) - 1)))

    def buffer_bytes(self, t):
        """A tile as it is made, or as it is read where that is all of it."""
        made = self.tensor_tile_bytes(t)
        if not self.p.by_value or wanted_layout(self.p, t, self.sharding[t.target]) != "RR":
            return made
        m, _, n = shard_extents(carried(self.p.kernels[t.source], t), "none", self.tp, self.tiles,
                                self.grid)
        return max(made, m * n * self.p.word)

    def resident_keys(self, t):
        """Beside two tiles, what attention that is tiled on queries reads again for each."""
        target = self.p.kernels[t.target]
        held = target.attention and target.tiled == "N" and t.operand in (2, 3)
        return (self.tiles - 2) * self.buffer_bytes(t) if held and self.p.by_value else 0

    def sram_bytes(self, members, crossing, inside):
        p = self.p
        if p.out_of_core:
            return 0
        weights = sum(self.weight_bytes(i) for i in members)
        inner = sum(p.depth[e] * self.buffer_bytes(p.tensors[e]) for e in inside)
        border = sum(2 * self.buffer_bytes(p.tensors[e]) for e in crossing)
        keys = sum(max(0, self.resident_keys(t)) for t in p.tensors if t.target in members)
        handed = sum(2 * self.buffer_bytes(s) * ((s.source in members) + (s.target in members))
                     for s in p.seams)
        need = weights + inner + border + keys + handed
        if need > p.sram:
            # A lone weight is cut into ever smaller pieces, its outputs with it.
            inputs = keys + sum(
                2 * self.buffer_bytes(t)
                for t in [p.tensors[e] for e in crossing] + p.seams if t.target in members
            )
            if p.kernel_by_kernel and p.lone_kernels == "streamed":
                return p.sram
            if len(members) != 1 or weights == 0 or inputs >= p.sram:
                streams = p.lone_kernels == "streamed" and p.weight_pieces == "free"
                if len(members) == 1 and streams:
                    return p.sram
                raise Infeasible("sram", f"{need} of {p.sram}")
        return need

    def pieces_again(self, i):
        """Bytes that pieces of a weight move beside what the kernel would move at once."""
        p, kernel = self.p, self.p.kernels[i]
        streams = p.kernel_by_kernel and p.lone_kernels == "streamed"
        if p.weight_pieces == "free" or streams or p.out_of_core or not kernel.weights:
            return 0
        ends = [*p.tensors, *p.seams]
        read = [t for t in ends if t.target == i]
        made = [t for t in ends if t.source == i]
        held = sum(2 * self.buffer_bytes(t) for t in read) + sum(
            max(0, self.resident_keys(t)) for t in p.tensors if t.target == i)
        cut = sum(2 * self.buffer_bytes(t) for t in made) + self.weight_bytes(i)
        if held + cut <= p.sram or held >= p.sram:
            return 0
        pieces = ceil_div(int(cut), int(p.sram - held))
        if p.weight_pieces == "published":
            return (pieces - 1) * self.tiles * sum(map(self.tensor_tile_bytes, read + made))
        again = (pieces - 1) * self.tiles * sum(map(self.tensor_tile_bytes, read))
        m, k, _ = self.shards[i]
        return again + m * k * p.word / self.micro_batch

    def network_time(self, members):
        p = self.p
        time = 0.0
        for i in members:
            kernel, loop = p.kernels[i], self.sharding[i]
            m, _, n = self.shards[i]
            if kernel.gradient:
                rows, _, columns = shard_extents(kernel, loop, self.tp, 1, self.grid,
                                                 p.whole * kernel.outer)
                size = rows * columns * p.word / self.micro_batches
                time += all_reduce(self.data, size, p.all_reduce_passes)
                time += 2 * gather_latency(p, self.data) / self.micro_batches
            elif kernel.own:
                time += max(self._own_time(kind, size, m * n * p.word) for kind, size in kernel.own)
            elif loop == "K":
                time += self.tiles * all_reduce(self.tensor, m * n * p.word, p.all_reduce_passes)
                time += kernel.steps * all_reduce_latency(p, self.tensor)
            if couples(p, kernel, loop):
                part = kernel.outer * kernel.coupled * n * p.word
                time += self.tiles * all_gather(self.tensor, self.tp * part)
                time += kernel.steps * gather_latency(p, self.tensor)
        own = [t for t in p.tensors if t.source in members]
        most = {}  # of one value and layout
        for e, t in enumerate(own):
            alone = not p.by_value or t.value is None
            key = e if alone else (t.source, t.value, wanted_layout(p, t, self.sharding[t.target]))
            most[key] = max(most.get(key, 0), self._conversion_time(t))
        time += sum(most.values())
        return time + sum(self._conversion_time(s) for s in p.seams if s.source in members)

    def _own_time(self, kind, size, output):
        """What a kernel of an untiled workload communicates by itself."""
        p, (x, y) = self.p, self.grid
        links = [d.bandwidth for d in self.dimensions]
        if kind == "all_to_all":
            return machine_all_to_all(p, self.dimensions, size / (x * y))
        if kind == "transpose":
            return machine_all_to_all(p, self.dimensions, size / (x * y) ** 2)
        if kind == "broadcast" and p.grid == "all":
            return size / x / links[1] if x > 1 else 0.0
        if kind == "message" and p.grid == "all":
            return size / y / links[0] if y > 1 else 0.0
        if kind == "broadcast":
            along = self.sides[-1:]
            return sum(size / x / d.bandwidth + gather_latency(p, [d]) for d in along)
        if kind == "message":
            across = self.sides[:-1]
            return max((size / y / d.bandwidth for d in across), default=0.0) + p.hops * max(
                (d.latency for d in across), default=0.0)
        assert kind == "flat_gradient", kind
        if self.dp == 1:
            return 0.0
        slowest = min(d.bandwidth for d in self.data if d.degree > 1)
        time = p.all_reduce_passes * output / (p.gradient_bandwidth or slowest)
        return (time + 2 * gather_latency(p, self.data)) / self.micro_batches

    def _wanted_bytes(self, t):
        """What the fullest chip has of a tile as the target splits it."""
        p, loop = self.p, self.sharding[t.target]
        source, target = p.kernels[t.source], p.kernels[t.target]
        rows, columns = t.rows or source.outer * source.m, source.n
        layout = wanted_layout(p, t, loop)
        if layout == "RS":
            columns = ceil_div(columns, self.tp)
        elif layout == "SS":
            rows = ceil_div(rows, target.m) * ceil_div(target.m, self.tp)
        elif loop == "outer" and p.whole:
            heads = shared_heads(p, t)
            rows = min(rows, fullest(target.outer, heads, self.tp) * ceil_div(rows, heads))
        else:
            rows = ceil_div(rows, self.tp)
        if source.tiled == "N":
            columns = ceil_div(columns, self.tiles)
        return rows * columns * p.word

    def _conversion_time(self, t):
        """Over all tiles."""
        kind = conversion(self.p, t, self.sharding[t.source], self.sharding[t.target])
        if self.tp == 1:
            return 0.0
        member, n = self.tensor_tile_bytes(t), self.tp
        if self.p.conversion_bytes == "shard":
            time = {None: 0.0, "all_gather": all_gather(self.tensor, member),
                    "all_to_all": all_to_all(self.tensor, member, True)}[kind]
        elif kind == "all_gather":
            source = carried(self.p.kernels[t.source], t)
            m, _, columns = shard_extents(source, "none", n, self.tiles, self.grid)
            whole = m * columns * self.p.word
            time = all_gather(self.tensor, min(n * member, whole * n / (n - 1)))
        else:
            by_rows = _produced_layout(self.sharding[t.source]) == "SR"
            wanted = self._wanted_bytes(t)
            if kind is None and not (by_rows and wanted > member and wanted_layout(
                    self.p, t, self.sharding[t.target]) == "SR"):
                return 0.0
            kind, time = "all_to_all", all_to_all(self.tensor, max(member, wanted), False)
        latency = {None: lambda *_: 0, "all_gather": gather_latency,
                   "all_to_all": exchange_latency}[kind](self.p, self.tensor)
        steps = min(self.p.kernels[t.source].steps, self.p.kernels[t.target].steps)
        return self.tiles * time + steps * latency

    def read_again(self, i, members):
        """Bytes of a weight that does not stay from step to step, (59)."""
        kernel = self.p.kernels[i]
        loaded = self.loaded_weight(i)
        others = [s.source + s.target - i for s in self.p.waits if i in (s.source, s.target)]
        if kernel.steps == 1 or loaded == 0 or (others and others[0] in members):
            return 0
        return kernel.steps * self.weight_bytes(i) - loaded

    def partition_cost(self, members):
        p = self.p
        inside, crossing = [], []
        for e, t in enumerate(p.tensors):
            ends = (t.source in members) + (t.target in members)
            (inside if ends == 2 else crossing if ends == 1 else []).append(e)
        sram = self.sram_bytes(members, crossing, inside)
        compute = max([self.compute_time(members)] + [
            sum(self.level_words(i, x) for i in members) * p.word / p.levels[x][1]
            + p.levels[x][2]
            for x in range(len(p.levels))
        ])
        moved = sum(self.tensor_tile_bytes(p.tensors[e]) for e in crossing)
        moved += sum(self.tensor_tile_bytes(s) * ((s.source in members) + (s.target in members))
                     for s in p.seams)
        moved *= self.tiles
        moved += sum(p.kernels[i].memory + p.kernels[i].sharded_memory * self.group_share(i)
                     for i in members)
        if len(members) == 1:
            moved += self.pieces_again(members[0])
        moved += sum(self.read_again(i, members) for i in members)
        steps = sum(p.kernels[i].steps - 1 for i in members)
        waiting = p.memory_latency * (steps + (moved > 0 or steps > 0))
        memory = moved / self.memory_bandwidth + waiting
        network = self.network_time(members)
        if p.overlap == "perfect":
            time = max(compute, memory, network)
        elif p.overlap == "none":
            time = compute + memory + network
        else:
            time = max(compute, memory) + network
        # Part of the memory time, but never hidden.
        loads = sum(self.loaded_weight(i) for i in members) / self.memory_bandwidth
        memory, time = memory + loads, time + loads
        return {"kernels": [p.kernels[i].name for i in members], "compute": compute,
                "memory": memory, "waiting": waiting, "network": network, "time": time,
                "sram": sram}

    def check_capacity(self, layers_per_stage):
        p = self.p
        stored = math.ceil(p.stored / (self.grid[0] * self.grid[1]))
        weights = alive = 0
        if not p.out_of_core:
            weights = sum(self.stored_bytes(i) for i in range(len(p.kernels))) * layers_per_stage
            for q in set(self.partition):
                crossing = sum(
                    self.tensor_tile_bytes(t) for t in p.tensors
                    if self.partition[t.source] <= q <= self.partition[t.target]
                    and self.partition[t.source] != self.partition[t.target]
                )
                alive = max(alive, crossing)
            alive += sum(2 * self.tensor_tile_bytes(s) for s in p.seams)
        activations = self.micro_batch * self.tiles * alive
        needed, first = weights + activations + stored, p.memory_capacity
        self.memory_bandwidth = p.memory_bandwidth
        if p.second and needed > first:
            bandwidth, second = p.second
            if p.spilled == "mean":
                whole = p.memory_bandwidth * first + bandwidth * second
                self.memory_bandwidth = whole / (first + second)
            else:
                seconds = first / p.memory_bandwidth + second / bandwidth
                self.memory_bandwidth = (first + second) / seconds
            first += second
        self.fits = needed <= first
        return weights, activations, stored

    def prepare(self):
        p = self.p
        self.micro_batches = p.global_batch // (self.micro_batch * self.dp)
        self.shards = [
            shard_extents(k, loop, self.tp, self.tiles, self.grid, p.whole * k.outer)
            for k, loop in zip(p.kernels, self.sharding)
        ]
        self.step_shards = [(m, k, ceil_div(n, steps_of(kernel, self.tiles)))
                            for kernel, (m, k, n) in zip(p.kernels, self.shards)]
        self.memory_bandwidth = p.memory_bandwidth

    def run(self):
        p = self.p
        self.check_decisions()
        self.prepare()
        layers = ceil_div(p.layers, self.pp)
        weights, activations, stored = self.check_capacity(layers)
        partitions = []
        for q in sorted(set(self.partition)):
            members = [i for i, part in enumerate(self.partition) if part == q]
            partitions.append(dict(self.partition_cost(members), index=q))
        if not self.fits:
            raise Infeasible("memory", f"{weights} + {activations} + {stored}")
        stages = {"layers": layers, "layers_minus_one": max(layers - 1, 1)}.get(
            p.virtual_stages, p.virtual_stages)
        bubble = 1 + (self.pp - 1) / (self.micro_batches * stages)
        links = [d for d in self.pipeline if d.degree > 1]
        handed, hops, transfer = p.hidden * p.sequence * p.word, self.pp - 1, 0.0
        if p.tokens is not None:
            handed /= self.tp

        def sent(samples):
            return max((samples * handed / d.bandwidth for d in links), default=0.0)

        def hop(samples):
            return sent(samples) + max((d.latency for d in links), default=0.0)

        all_sent = 0.0
        if p.pipeline == "schedule":
            hops = self.pp * stages - 1
            bubble = max(bubble, (hops + self.micro_batches) / (self.micro_batches * stages))
            transfer = (2 if p.training else 1) * hops * hop(self.micro_batch)
            all_sent = sent(p.global_batch // self.dp)
        elif p.training and self.pp > 1:
            sent = 2 * p.hidden * p.sequence * p.word * p.layers
            transfer = max(sent / d.bandwidth for d in self.pipeline if d.degree > 1)
        layer_time = sum(part["time"] for part in partitions)
        step = layer_time * bubble * layers * p.global_batch / self.dp + transfer
        step = max(step, all_sent) / p.copies
        price, power = system_price(p, self.dimensions), system_power(p, self.dimensions)
        chip_bytes = sum(part["memory"] - part["waiting"] for part in partitions)
        chip_bytes *= self.memory_bandwidth
        runs = layers * self.pp * self.tp
        latency, tokens = None, None
        if p.tokens is not None:
            latency = layer_time * layers * self.pp + hops * hop(1)
            tokens = p.tokens * p.global_batch / step
        rate = p.flop() / step
        return {
            "step_time": step, "layer_time": layer_time, "partitions": partitions,
            "bubble_factor": bubble, "layers_per_stage": layers, "pipeline_transfer": transfer,
            "micro_batches": self.micro_batches, "weights": weights, "activations": activations,
            "stored": stored, "latency": latency, "tokens_per_second": tokens,
            "memory_intensity": p.flop() / p.global_batch / runs / chip_bytes if chip_bytes else None,
            "flop": p.flop(), "utilization": rate / (p.chips * p.peak), "price": price,
            "power": power, "cost_efficiency": rate / price if price else 0.0,
            "power_efficiency": rate / power if power else 0.0,
        }


def evaluate(problem, mapping):
    """The cost of a mapping as a dict with the keys of result files; raises Infeasible."""
    return _Evaluation(problem, mapping).run()


def partition_costs(problem, mapping):
    """A function from a set of kernel indices to the time of a partition of them, infinite where it
    does not fit; all but the partitions is as in the mapping."""
    evaluation, known = _Evaluation(problem, mapping), {}
    evaluation.prepare()

    def time(members):
        if members not in known:
            try:
                known[members] = evaluation.partition_cost(sorted(members))["time"]
            except Infeasible:
                known[members] = math.inf
        return known[members]

    return time


# ----------------------------------------------------------- price and power


def _links_and_ports(dimensions, chips, per_chip):
    """For each dimension the links and switch ports of section 8."""
    counts = []
    for i, d in enumerate(dimensions):
        if per_chip:
            links, ports = {"ring": (1, 2 / d.degree), "switch": (1, 1),
                            "fully_connected": (d.degree - 1, 0)}[d.topology]
            counts.append((chips * links, chips * ports) if d.degree > 1 else (0, 0))
            continue
        members = math.prod(x.degree for x in dimensions[i:])
        if d.topology == "ring":
            counts.append((chips, 2 * chips / d.degree))
        elif d.topology == "switch":
            counts.append((members, members))
        else:
            counts.append((members * (d.degree - 1), members * d.degree if i else 0))
    return counts


def _system_sum(problem, dimensions, units):
    link = units.get("link", 0.0)
    links = link if isinstance(link, list) else [link] * len(dimensions)
    links = links + [0.0] * (len(dimensions) - len(links))
    gigabyte = 1e9  # units are per GB/s
    copy_chips = problem.chips // problem.copies
    total = problem.chips * units.get("accelerator", 0.0)
    total += problem.chips * problem.memory_bandwidth / gigabyte * units.get("memory", 0.0)
    for d, unit, (link_count, ports) in zip(
        dimensions, links, _links_and_ports(dimensions, copy_chips, problem.per_chip)
    ):
        if copy_chips > 1:
            total += problem.copies * link_count * d.bandwidth / gigabyte * unit
        if copy_chips > 4:
            total += problem.copies * ports * d.bandwidth / gigabyte * units.get("switch", 0.0)
    return total


def system_price(problem, dimensions):
    return _system_sum(problem, dimensions, problem.price)


def system_power(problem, dimensions):
    return _system_sum(problem, dimensions, problem.power)
