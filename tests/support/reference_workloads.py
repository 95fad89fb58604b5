"""A second writing of the generators of workloads, to judge the first.

Everything here follows docs/model.md, with reference_transformer docs/transformers.md, and nothing
else: no code or table is shared with the C++ sources.  Costs have a second writing in C++,
plain_model.hpp.

    graph(workload)      kernels, tensors, and tensors that cross layers or steps

Sizes are in bytes.  Only the standard library is used.
"""

import collections
import math
import re

import reference_transformer

# `own` is a tuple of (type, bytes); the slowest counts.
Kernel = collections.namedtuple(
    "Kernel", "name outer m k n systolic weights inputs backward tiled gradient spread own memory"
    " sharded_memory element_flops attention matrices parameters tokens weight_of coupled steps",
    defaults=(0, None, 0, 0, 0, None, 0, 1),
)
# `rows` of a part of what the source computes; 0: all of it.
Tensor = collections.namedtuple("Tensor", "source target operand rows value", defaults=(0, None))


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


def graph(workload):
    """Kernels, tensors, and the pairs of kernels that tensors to the next layer or step join."""
    kind, word = workload["kind"], quantity(workload["word"], "B")
    seams = [("Add_2", "Add_Prev_Layer")] + [(name, "Loss_bwd") for name in ("V_bwd", "Q_bwd", "K_bwd")]
    if kind.startswith("llm") and reference_transformer.is_by_rule(workload):
        kernels, tensors, seams = _by_rule(workload, word)
    elif kind == "llm_decode":
        kernels, tensors = _decode(workload, word)
    elif kind.startswith("llm"):
        h, is_training = workload["hidden"], kind == "llm_training"
        kernels = llm_kernels(h, workload["sequence"], workload["heads"], workload["head_dim"],
                              is_training, workload.get("mlp", 4 * h))
        tensors = llm_tensors(is_training)
    elif kind == "lstm":
        kernels, tensors, waits = _lstm(workload, word)
        seams = [(kernels[t.source].name, kernels[t.target].name) for t in waits]
    elif kind.startswith("dlrm"):
        kernels, tensors = _dlrm(workload, word, kind == "dlrm_training")
    else:
        kernels, tensors = _hpl(workload, word) if kind == "hpl" else _fft(workload, word)
    names = {kernel.name for kernel in kernels}
    return kernels, tensors, [pair for pair in seams if names >= set(pair)]


def stored(workload):
    """Bytes on chips beside weights and activations; of layers by rule the cache is its own."""
    kind, word = workload["kind"], quantity(workload["word"], "B")
    if kind == "lstm":
        return workload["vocabulary"] * workload["hidden"] * word
    if kind.startswith("dlrm"):
        return workload["tables"] * workload["rows"] * workload["embedding"] * word
    if kind in ("hpl", "fft"):
        return (workload["n"] ** 2 if kind == "hpl" else workload["length"]) * word
    if kind == "llm_decode" and reference_transformer.is_by_rule(workload):
        model = reference_transformer.Model(workload)
        token = model.g * (model.d + model.dv)
        if model.latent:
            token = model.latent["key_value_rank"] + model.latent["rope_dim"]
        return (token * workload["layers"] * model.visible(model.context) * model.n
                * workload["global_batch"] * word)
    return 0


def passes_of_memory(kernel, sram, word):
    """How often a kernel of a matrix beyond all SRAM reads and writes it."""
    held = sram / word
    is_transform = kernel.spread == "machine" and kernel.m > held
    return math.ceil(math.log(kernel.m) / math.log(held)) if is_transform else 1
