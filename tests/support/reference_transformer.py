"""Layers by rule, a second time: kernels and tensors from docs/transformers.md, sections 2 to 6.

    kernels, tensors = layer(workload, word)     of a config with keys of that page
    parameters(workload)                         of the whole model

Backward kernels are made by one pass over the forward ones, last first.
"""

import math

# FLOP of an element, forward and backward.
NORM = {"rms": (4, 10), "layer": (9, 21)}
# Sums that couple the elements of a row of a norm, both ways.
COUPLED = {"rms": 1, "layer": 2}
SOFTMAX, GELU, GATED, ROPE = (5, 8), (8, 13), (5, 9), (3, 3)


class Model:
    """The keys with their defaults."""

    def __init__(self, w):
        self.h, self.layers, self.a = w["hidden"], w["layers"], w["heads"]
        self.d = w["head_dim"]
        self.g, self.dv = w.get("kv_heads", self.a), w.get("value_dim", self.d)
        self.f, self.v = w.get("mlp", 4 * self.h), w.get("vocabulary", 0)
        self.gated, self.norm = w.get("gated", True), w.get("norm", "rms")
        self.bias, self.qk_norm = w.get("bias", "none"), w.get("qk_norm", False)
        self.post_norm = w.get("post_norm", False)
        self.vectors = w.get("layer_vectors", 0)
        self.positions, self.tied = w.get("positions", 0), w.get("tied", False)
        self.window, self.experts = w.get("window"), w.get("experts")
        self.latent = w.get("latent_attention")
        self.decode, self.training = w["kind"] == "llm_decode", w["kind"] == "llm_training"
        self.dropout = w.get("dropout", False) and self.training
        self.context = w["context"] if self.decode else 0
        self.n = w.get("batch", 1) if self.decode else w["sequence"]
        self.fused, self.causal = w.get("attention") != "unfused", w.get("mask") == "causal"

    def norm_size(self, width):
        return width * (2 if self.norm == "layer" else 1)

    def visible(self, keys):
        return min(keys, self.window or keys)


class Graph:
    """Kernels as dictionaries, values as (index of the kernel, rows), with a name where parts of
    one kernel may have as many rows."""

    def __init__(self, model, word):
        self.model, self.word = model, word
        self.kernels, self.rules = [], []

    def add(self, name, kind, outer, m, k, inputs, rule, *, n=None, **more):
        n = self.model.n if n is None else n
        self.kernels.append({
            "name": name, "kind": kind, "outer": outer, "m": m, "k": k, "n": n, "backward": False,
            "tiled": "none" if self.model.decode else "N", "inputs": list(inputs), **more})
        self.rules.append(rule)
        return (len(self.kernels) - 1, outer * m)

    def element(self, name, outer, m, flops, inputs, saved=(), **more):
        rule = ("element", flops[1], list(saved), {})
        return self.add(name, "E", outer, m, 1, inputs, rule, element_flops=flops[0], **more)

    def weight(self, name, outer, m, k, x, bias=0):
        return self.add(name, "W", outer, m, k, [x], ("weight",), parameters=bias)

    def total(self, name, values):
        return self.add(name, "E", 1, values[0][1], 1, values, ("pass",),
                        element_flops=len(values) - 1)

    def normed(self, name, heads, width, x):
        return self.element(name, heads, width, NORM[self.model.norm], [x], [x],
                            parameters=self.model.norm_size(width),
                            coupled=COUPLED[self.model.norm])

    def dropped(self, name, heads, x):
        y = self.element(name, heads, x[1] // heads, (1, 1), [x])
        self.rules[y[0]][2].append((y[0], self.bits(x[1], 8), "mask"))
        return y

    def bits(self, elements, count):
        return max(1, math.ceil(elements * count / (8 * self.word)))


def attention(graph, x):
    model = graph.model
    a, g, d, dv, h = model.a, model.g, model.d, model.dv, model.h
    heads = (a, d, dv)
    if model.latent:
        rank, kept = model.latent.get("query_rank", 0), model.latent["key_value_rank"]
        turned = model.latent["rope_dim"]
        plain = d - turned
        source, width = x, h
        if rank:
            down = graph.weight("Q_A", 1, rank, h, x)
            source, width = graph.normed("NORM_Q", 1, rank, down), rank
        q = graph.weight("Q_B", a, d, width, source)[0]
        queries = [(q, a * plain, "plain"),
                   graph.element("ROPE_Q", a, turned, ROPE, [(q, a * turned, "turned")])]
        kv = graph.weight("KV_A", 1, kept + turned, h, x)[0]
        short = graph.normed("NORM_KV", 1, kept, (kv, kept, "kept"))
        key = graph.element("ROPE_K", 1, turned, ROPE, [(kv, turned, "turned")])
        if model.decode:
            queries[0] = graph.weight("Q_ABSORB", a, kept, plain, queries[0])
            inputs, heads = queries + [short, key], (a, kept + turned, kept)
        else:
            both = graph.weight("KV_B", a, plain + dv, kept, short)
            inputs = queries + [both, key]
    else:
        bias = 0 if model.bias == "none" else 1
        q = graph.weight("Q", a, d, h, x, bias * a * d)
        k = graph.weight("K", g, d, h, x, bias * g * d)
        v = graph.weight("V", g, dv, h, x, bias * g * dv)
        if model.qk_norm:
            q, k = graph.normed("NORM_Q", a, d, q), graph.normed("NORM_K", g, d, k)
        if not model.positions:
            q = graph.element("ROPE_Q", a, d, ROPE, [q])
            k = graph.element("ROPE_K", g, d, ROPE, [k])
        inputs = [q, k, v]
    operands = [1, 1, 2, 2] if model.latent else [1, 2, 3]
    keys = model.context + (1 if model.decode else model.n)
    if model.fused or model.decode:
        y = graph.add("ATTENTION", "A", heads[0], heads[2], heads[1], inputs, ("attention",),
                      attention=(keys, model.window, model.causal and not model.decode),
                      operands=operands)
    else:
        seen = model.visible(keys)
        scores = graph.add("SCORES", "G", a, seen, d, inputs[:2], ("scores",))
        p = graph.element("SOFTMAX", a, seen, SOFTMAX, [scores], coupled=2)
        graph.rules[p[0]][2].append(p)
        if model.dropout:
            p = graph.dropped("DROPOUT_1", a, p)
        y = graph.add("CONTEXT", "G", a, dv, seen, [p, inputs[2]], ("context",))
    if model.latent and model.decode:
        y = graph.weight("O_ABSORB", a, dv, heads[2], y)
    y = graph.weight("PROJ", 1, h, a * dv, y,
                     (h if model.bias == "all" else 0) + model.vectors)
    return graph.dropped("DROPOUT_2", 1, y) if model.dropout else y


def mlp(graph, prefix, width, biased, x):
    model = graph.model
    names = ["GATE", "UP"] if model.gated else ["UP"]
    wide = [graph.weight(prefix + name, 1, width, model.h, x, width * biased) for name in names]
    flops = GATED if model.gated else GELU
    act = graph.element(prefix + "ACT", 1, width, flops, wide, wide)
    return graph.weight(prefix + "DOWN", 1, model.h, width, act, model.h * biased)


def experts(graph, x):
    model, e = graph.model, graph.model.experts
    h, k, count, width = model.h, e["used"], e["count"], e["mlp"]
    rows = model.n * k
    busy = min(count, rows)
    each = math.ceil(rows * e.get("capacity_factor", 1) / busy)
    room = {"n": each}
    partly = {"matrices": count, "tokens": rows, **room}

    def product(name, m, depth, of, vectors=0):
        return graph.add(name, "W", busy, m, depth, [of], ("experts",), parameters=vectors,
                         **partly)

    logits = graph.weight("ROUTER", 1, count, h, x, count if e.get("router_bias") else 0)
    logits = (logits[0], graph.bits(count, 32), "logits")
    top = graph.element("TOPK", 1, count, SOFTMAX, [logits], [logits],
                        coupled=graph.bits(k, 32))
    choice = (top[0], k)
    sent = graph.element("DISPATCH", busy, h, (1, k), [x, choice], [choice], **room)
    tokens = {"outer": 1, "m": h, "n": model.n}
    graph.rules[sent[0]] = ("element", k, [choice], {**tokens, "first": True})
    names = ["EXPERT_GATE", "EXPERT_UP"] if model.gated else ["EXPERT_UP"]
    wide = [product(name, width, h, sent) for name in names]
    flops = GATED if model.gated else GELU
    act = graph.element("EXPERT_ACT", busy, width, flops, wide, wide, **room)
    done = product("EXPERT_DOWN", h, width, act, e.get("vectors", 0) * count)
    joined = graph.element("COMBINE", 1, h, (2 * k, 3), [done, choice])
    graph.rules[joined[0]] = ("element", 3, [choice], {"outer": busy, "m": h, "n": each})
    sums = [joined]
    if e.get("shared"):
        sums.append(mlp(graph, "SHARED_", e["shared"] * width, 0, x))
    return sums


def backward(graph, result):
    """Adds the backward kernels; gradients are lists of values by (kernel, rows) of the value."""
    model, found = graph.model, {}
    found[result] = [graph.element("GRADIENT", 1, result[1], (1, 1), [], backward=True)]

    def give(value, gradient):
        found.setdefault(value, []).append(gradient)

    def add(name, kind, outer, m, k, inputs, **more):
        return graph.add(name, kind, outer, m, k, inputs, None, **{"backward": True, **more})

    for i in reversed(range(result[0] + 1)):
        kernel, rule = graph.kernels[i], graph.rules[i]
        grads = []
        # Values of one kernel: the whole first, then its parts in the order of their use.
        for value in sorted((v for v in found if v[0] == i), key=lambda v: -v[1]):
            parts = found[value]
            if len(parts) > 1:
                number = sum(1 for v in found if v[0] == i)
                name = kernel["name"] + "_sum" + (f"_{value[1]}" if number > 1 else "")
                parts = [add(name, "E", 1, value[1], 1, parts, n=kernel["n"],
                             element_flops=len(parts))]
            grads += parts
        if not grads or rule is None:
            continue
        name, x = kernel["name"], kernel["inputs"]
        o, m, k, n = (kernel[key] for key in ("outer", "m", "k", "n"))
        gradient = {"tiled": "K", "gradient": True}
        if rule[0] == "pass":
            for value in x:
                give(value, grads[0])
        elif rule[0] == "weight":
            give(x[0], (add(name + "_bwd", "W", 1, k, o * m, grads, weight_of=i)[0], k))
            add(name + "_wgrad", "G", o, m, n, grads + x, **gradient, weight_of=i, n=k)
        elif rule[0] == "experts":
            more = {key: kernel[key] for key in ("tokens",)}
            give(x[0], add(name + "_bwd", "W", o, k, m, grads, weight_of=i, n=n, **more))
            add(name + "_wgrad", "G", o, m, n, grads + x, **gradient, weight_of=i, **more, n=k)
        elif rule[0] == "scores":
            q, key = x
            give(q, (add(name + "_bwd_1", "G", o, k, m, grads + [key])[0], q[1]))
            give(key, (add(name + "_bwd_2", "G", o, k, n, grads + [q], tiled="K", n=m)[0], key[1]))
        elif rule[0] == "context":
            p, v = x
            give(p, (add(name + "_bwd_1", "G", o, k, m, grads + [v])[0], p[1]))
            give(v, (add(name + "_bwd_2", "G", o, m, n, grads + [p], tiled="K", n=k)[0], v[1]))
        elif rule[0] == "attention":
            saved = [(i, o * m), (i, graph.bits(o, 32), "sums")]
            j = add(name + "_bwd", "A", o, m, k, x + grads + saved,
                    attention=kernel["attention"],
                    operands=kernel["operands"] + [4] * len(grads) + [5, 6])[0]
            for value in x:
                give(value, (j, value[1], value))
        elif rule[0] == "element":
            shape = {"outer": o, "m": m, "n": n, **rule[3]}
            only_first = shape.pop("first", False)
            coupled = 0  # what the gradient sums up: of norms as much, of a softmax one product
            if "NORM" in name:
                coupled = kernel["coupled"]
            elif name == "SOFTMAX":
                coupled = 1
            j = add(name + "_bwd", "E", shape["outer"], shape["m"], 1, grads + rule[2],
                    n=shape["n"], element_flops=rule[1], coupled=coupled)[0]
            for value in x[:1] if only_first else x:
                give(value, (j, value[1], value))


def decode_bytes(graph):
    """What each kernel reads of weights and cache."""
    model = graph.model
    for kernel in graph.kernels:
        elements = kernel.get("parameters", 0)
        if kernel["kind"] == "W":
            matrices = kernel["outer"]
            if kernel["name"].startswith("EXPERT_"):
                share = model.experts["used"] / model.experts["count"]
                matrices = model.experts["count"] * (1 - (1 - share) ** model.n)
                elements *= matrices / model.experts["count"]
            elements += matrices * kernel["m"] * kernel["k"]
        if kernel["kind"] == "A":
            token = model.g * (model.d + model.dv)
            if model.latent:
                token = model.latent["key_value_rank"] + model.latent["rope_dim"]
            elements += token * model.visible(model.context) * model.n
        kernel["sharded_memory"] = elements * graph.word


def is_by_rule(w):
    """Whether a config of an LLM has a key of the page."""
    published = {"kind", "word", "hidden", "heads", "head_dim", "mlp", "sequence", "context",
                 "layers", "global_batch", "micro_batch", "tile"}
    return bool(set(w) - published)


def layer(w, word):
    """Kernels as dictionaries, tensors (source, target, rows, value, operand), where those of one
    value say the same of it and the operand is that of attention, and what layers hand each other
    as (name, name)."""
    model = Model(w)
    graph = Graph(model, word)
    x = graph.element("INPUT", 1, model.h, (1, 1), [])
    graph.rules[0] = None
    y = attention(graph, graph.normed("NORM_1", 1, model.h, x))
    if model.post_norm:
        y = graph.normed("NORM_3", 1, model.h, y)
    y = graph.total("ADD_1", [y, x])
    z = graph.normed("NORM_2", 1, model.h, y)
    sums = experts(graph, z) if model.experts else [mlp(graph, "", model.f, model.bias == "all", z)]
    if model.dropout:
        sums[0] = graph.dropped("DROPOUT_3", 1, sums[0])
    if model.post_norm:
        sums[0] = graph.normed("NORM_4", 1, model.h, sums[0])
    result = graph.total("ADD_2", sums + [y])
    if model.training:
        backward(graph, result)
    if model.decode:
        decode_bytes(graph)
    tensors = [(value[0], target, value[1], value, operand)
               for target, kernel in enumerate(graph.kernels)
               for value, operand in zip(kernel["inputs"],
                                         kernel.get("operands", [None] * len(kernel["inputs"])))]
    return graph.kernels, tensors, [("ADD_2", "INPUT"), ("INPUT_sum", "GRADIENT")]


def parameters(w):
    """Stored elements of the whole model."""
    model = Model(w)
    h, a, g, d, dv = model.h, model.a, model.g, model.d, model.dv
    norm = model.norm_size
    biased = model.bias != "none"
    if model.latent:
        rank, kept = model.latent.get("query_rank", 0), model.latent["key_value_rank"]
        turned = model.latent["rope_dim"]
        heads = rank * h + norm(rank) + a * d * rank if rank else a * d * h
        heads += (kept + turned) * h + norm(kept) + a * (d - turned + dv) * kept
    else:
        heads = ((a + g) * d + g * dv) * (h + biased)
    every = heads + 2 * norm(d) * model.qk_norm + h * a * dv + (2 + 2 * model.post_norm) * norm(h)
    every += h * (model.bias == "all") + model.vectors
    matrices = 3 if model.gated else 2
    dense = matrices * h * model.f
    dense += ((matrices - 1) * model.f + h) * (model.bias == "all")
    routed, first = 0, model.layers
    if model.experts:
        e = model.experts
        routed = h * e["count"] + e["count"] * bool(e.get("router_bias"))
        routed += matrices * h * e["mlp"] * (e["count"] + e.get("shared", 0))
        routed += e["count"] * e.get("vectors", 0)
        first = e.get("dense_layers", 0)
    ends = (model.v * (1 if model.tied else 2) + model.positions) * h + norm(h) if model.v else 0
    ends += w.get("end_vectors", 0) if model.v else 0
    return model.layers * every + first * dense + (model.layers - first) * routed + ends
