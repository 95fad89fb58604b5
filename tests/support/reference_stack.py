"""The step of a run of one stage, written a second time from docs/truth.md, sections 1 to 6.

It shares nothing with the program but the files of configs/curves and configs/stacks.
"""

import functools
import math
import pathlib

import yaml

CONFIGS = pathlib.Path(__file__).resolve().parents[2] / "configs"
UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "FLOP/s": 1.0, "TFLOP/s": 1e12, "B/s": 1.0,
         "GB/s": 1e9, "TB/s": 1e12, "GB": 1e9, "MB": 1e6, "kB": 1e3, "GiB": 2.0**30, "MFLOP": 1e6,
         "GFLOP": 1e9, "TFLOP": 1e12}
DEFAULTS = {"expert_launch": 0.13e-3, "launch_16bit": 0.2, "dispatch_host": 0.65e-3,
            "router_host": 0.3e-3, "attention_host": 0.6, "overlap_host": 1.4, "module_host": 0.1e-3,
            "expert_hidden": 0.75, "hybridep_words": 1.3, "natural_load": 1.25, "sink_bytes": 58e3,
            "alltoall_nic": 0.95, "data_hidden": 0.8, "hop_out": 8e-6, "nic_share": 0.8,
            "links_in_training": 1.4}


def value(text):
    """Base units; of low, typical and high the one in the middle."""
    if isinstance(text, str) and text[0].isdigit():
        number, unit = text.split()
        return float(number) * UNITS[unit]
    return text


def typical(entry):
    return value(entry[1]) if isinstance(entry, list) and len(entry) == 3 else value(entry)


@functools.lru_cache(maxsize=None)
def load(kind, name):
    tree = yaml.safe_load((CONFIGS / kind / f"{name}.yaml").read_text())
    base = tree.pop("from", None)
    for key, entry in tree.items():
        if isinstance(entry, dict) and "work" in entry:
            tree[key] = [(value(w), s) for w, s in zip(entry["work"], entry["share"])]
    return (load(kind, base) if base else {}) | tree


def interpolated(points, at):
    if at <= points[0][0]:
        return points[0][1]
    for (a, u), (b, v) in zip(points, points[1:]):
        if at <= b:
            return u + (v - u) * math.log(at / a) / math.log(b / a)
    return points[-1][1]



class Run:
    """A row of a table of runs, with one stage."""

    def __init__(self, row):
        def count(column, preset=0):
            return int(float(row.get(column) or preset))
        self.chip, self.stack = load("curves", row["gpu"]), load("stacks", row["stack"])
        self.h, self.a, self.g = count("hidden"), count("heads"), count("kv_heads")
        self.d, self.f, self.layers = count("head_dim"), count("mlp"), count("layers")
        self.dv, self.vocabulary = count("value_dim", self.d), count("vocabulary")
        self.gated, self.tied = count("gated"), count("tied")
        self.experts, self.used = count("experts"), count("experts_used")
        self.width, self.shared = count("expert_mlp"), count("shared_experts")
        self.dense = count("dense_layers") if self.experts else self.layers
        self.ranks = count("query_rank"), count("kv_rank"), count("rope_dim")
        self.s, self.b, self.t = count("sequence"), count("micro_batch"), count("tensor", 1)
        self.c, self.e, self.n = count("context", 1), count("expert", 1), count("data_parallel", 1)
        self.m = max(1, round(count("global_batch") / (self.n * self.b)))
        self.zero, self.recompute = count("zero"), row["recompute"]
        self.sp, self.wire = count("sequence_parallel"), count("gradient_wire_bytes", 4)
        self.precision = row["precision"]
        self.bits = {"bf16": 16, "fp16": 16, "nvfp4": 4}.get(self.precision, 8)
        self.set_software(row)
        told = row.get("user_buffers") or ""
        self.hidden_share = float((not told and row.get("tensor_overlap")) or
                                  self.constant("tensor_overlap"))
        if not int(told or (not self.experts and self.bits != 4)):
            self.hidden_share = 0.0
        self.window, self.every = count("window"), count("full_attention_every")
        self.layers += self.mtp
        if not self.experts:
            self.dense += self.mtp
        self.tokens = self.b * self.s / self.c
        chips = count("gpus")
        self.domain = max(k for k in range(1, chips + 1)
                          if chips % k == 0 and k <= self.chip["domain"])

    def constant(self, key, preset=0.0):
        return typical(self.stack.get(key, DEFAULTS.get(key, preset)))

    def set_software(self, row):
        """The switches of a row, then of its stack, then those that experts leave open."""
        software = dict(self.stack.get("software", {}))
        software |= {key: row[key] for key in
                     ("graphs", "dispatcher", "expert_overlap", "grouped", "balance", "sinks", "mtp",
                      "permute_fusion", "recompute_layers", "offload_layers") if row.get(key)}
        if self.experts:
            open_ = self.stack.get("open", {}).get("typical", {})
            software = open_ | software
        graphs = software.get("graphs") or []
        self.graphs = graphs.split("+") if isinstance(graphs, str) else graphs
        self.whole = "layer" in self.graphs or "full_iteration" in self.graphs
        self.dispatcher = software.get("dispatcher") or "alltoall"
        self.overlap = int(software.get("expert_overlap") or 0)
        self.fused = software.get("grouped") == "fused"
        self.load = self.constant("natural_load") if software.get("balance") == "natural" else 1.0
        self.sinks = software.get("sinks") in ("part", "regressed")
        self.mtp = int(software.get("mtp") or 0)
        self.permutations = 1 if int(software.get("permute_fusion") or 1) else 2
        self.again_layers = int(software.get("recompute_layers") or 0)
        self.copied_layers = int(software.get("offload_layers") or 0)
        self.modules = [word for word in (row.get("recompute_modules") or "").split("+") if word]
        if self.recompute == "selective":
            self.modules.append("core_attn")

    # Kernels.
    def memory(self, size):
        share = interpolated(self.chip["elementwise"], size)
        return max(size / (value(self.chip["memory"]) * share), 3e-6) if size else 0.0

    def rate(self, bits):
        return value(self.chip[f"peak_{bits}bit"]) * typical(self.chip[f"clock_{bits}bit"])

    def product(self, rows, columns, out, bits=None, matrices=1, share=1.0):
        bits = bits or self.bits
        flop = 2 * rows * columns * out
        share *= interpolated(self.chip[f"products_{bits}bit"], flop)
        size = 2 * (rows * (columns + out) + matrices * columns * out)
        return max(flop / (self.rate(bits) * share), self.memory(size))

    def attention(self, backward, window):
        kernel = self.stack["attention"]
        rows = self.b * self.a / self.t
        if kernel == "unfused":
            scores = rows * self.s * self.s / self.c
            rate = self.rate(16) * typical(self.chip.get("batched_products", 0.38))
            passes, slow = (3 if backward else 2) + 2.5, 0.0
            if rows % 4:
                passes, slow = 2 * passes, self.constant("host_softmax")
            return ((4 if backward else 2) * 2 * scores * self.d / rate +
                    self.memory(2 * scores * passes)), slow
        for other in (kernel, "fa2", "cudnn", "fa1"):
            if other in self.chip:
                break
        entry = self.chip[other]
        points = list(zip(entry["tokens"], entry["backward" if backward else "forward"]))
        rate = interpolated(points, self.s) * self.rate(16)
        if other != "fa1":
            narrow = min(max((128 - self.d) / 64, 0), 1)
            rate *= 1 - (1 - typical(self.chip.get("small_heads", 0.8))) * narrow
        if self.c > 1:
            rate *= self.constant("ring", 1.0)
        width = 3 * self.d + 2 * self.dv if backward else self.d + self.dv
        seen = min(window or self.s, self.s)
        pairs = sum(min(i, seen) for i in range(1, self.s + 1))
        return 2 * rows * pairs / self.c * width / rate, 0.0

    # Links.
    def reach(self, members, inner):
        inside = math.gcd(max(self.domain // inner, 1), members)
        return inside, members // inside

    def bus(self, members):
        return interpolated([(n, value(b)) for n, b in
                             zip(self.chip["members"], self.chip["bus"])], members)

    def nic(self):
        return value(self.chip["nic"]) * self.constant("nic_share", 0.8)

    def collective(self, size, members, inner, passes=1):
        if members == 1:
            return 0.0
        inside, domains = self.reach(members, inner)
        wait = value(self.chip["base"]) + passes * (inside - 1) * value(self.chip["hop"])
        rates = [self.bus(inside)] if inside > 1 else []
        if domains > 1:
            wait += 15e-6 + 5e-6 * math.log2(domains)
            rates.append(self.nic() * inside)
        rate = min(rates) * (1.05 if passes == 2 and domains == 1 else 1)
        return (wait * self.constant("links_in_training", 1.4) +
                passes * (members - 1) / members * size / rate)

    def dispatch(self):
        inside, domains = self.reach(self.e, 1)
        plain = self.dispatcher == "alltoall"

        def reached(places):
            return places * (1 - (1 - 1 / places)**self.used)
        size, moved = 2 * self.h * self.tokens / self.t * self.load, 0.0
        if inside > 1:
            copies = self.used * inside / self.e if plain else min(self.used, reached(self.e))
            row = 0.0 if plain else typical(self.chip.get("dispatch_row", 0.0)) / (2 * self.h)
            moved = size * (1 + row) * copies * (inside - 1) / inside / self.bus(inside)
        if domains > 1:
            reach = self.used if plain else reached(domains)
            if not plain and self.ranks[1]:
                reach = min(reach, 4)
            nic = value(self.chip["nic"]) * self.constant("alltoall_nic") if plain else self.nic()
            moved = max(moved, size * reach * (domains - 1) / domains / nic)
        start = value(self.chip["base"]) + (min(inside, 16) - 1) * value(self.chip["hop"])
        return moved + 2 * start + 20e-6

    def ring(self, size, members, inner, buckets):
        """A ring among replicas, with a start for each bucket."""
        if members == 1 or not size:
            return 0.0
        inside, domains = self.reach(members, inner)
        start = (value(self.chip["base"]) + (inside - 1) * value(self.chip["hop"]) +
                 (domains - 1) * self.constant("hop_out"))
        rates = ([self.bus(inside)] if inside > 1 else []) + \
                ([self.nic() * inside] if domains > 1 else [])
        return (self.constant("links_in_training") * buckets * start +
                (members - 1) / members * size / min(rates))

    # Layers.
    def linear(self, experts):
        """(rows, columns, out, matrices, share) of each product."""
        h, t, tokens = self.h, self.t, self.tokens
        query, latent, rope = self.ranks
        if latent:
            list_ = [(h, query + latent + rope), (query, self.a * self.d / t),
                     (latent, self.a * (self.d - rope + self.dv) / t)]
        else:
            list_ = [(h, (self.a / t + 2 * max(self.g / t, 1)) * self.d)]
        list_.append((self.a * self.dv / t, h))
        up = 2 if self.gated else 1
        width = self.shared * self.width if experts else self.f
        if width:
            list_ += [(h, up * width / t), (width / t, h)]
        products = [(tokens, i, o, 1, 1.0) for i, o in list_]
        if experts:
            rows, matrices = self.used * tokens / t * self.load, self.experts / self.e
            share = self.constant("expert_products", 0.95)
            products += [(rows, h, up * self.width, matrices, share),
                         (rows, self.width, h, matrices, share)]
        return products

    def elementwise(self, experts):
        """(words of a token, how many times as many backward) of each pass."""
        shared = self.t if self.sp else 1
        words = [(2 * self.h / shared, 2)] * 2 + [(3 * self.h / shared, 2)] * 2
        words.append(((2 if self.gated else 0.5) * (self.a + self.g) * self.d / self.t, 2))
        per = 3 if self.gated else 2
        if not experts:
            return words + [(per * self.f / self.t, 2)]
        moved = {"alltoall": 8 * self.permutations, "deepep": 4,
                 "hybridep": self.constant("hybridep_words")}[self.dispatcher]
        rows = self.used / self.t * self.load
        words += [(moved / 2 * rows * self.h, 1.6)] * 2
        words += [(per * rows * self.width, 1.6), (4 * self.experts / self.t, 1.6)]
        return words + ([(per * self.shared * self.width / self.t, 2)] if self.shared else [])

    def side_by_side(self, device, host):
        power = self.constant("host_exponent", 5.0)
        return (device**power + host**power)**(1 / power)

    def host(self, experts, beside):
        """Of a layer, forward and backward."""
        forward, backward = self.constant("host_forward"), self.constant("host_backward")
        attention = self.constant("attention_host")
        if not experts:
            share = 0.03 if self.whole else 1 - attention * ("attn" in self.graphs)
            return forward * share + beside, backward * share + beside
        if self.whole:
            return 0.0, 0.0
        pace = typical(self.chip.get("cpu", 1)) * (self.constant("overlap_host") if self.overlap else 1)
        router = 0.0 if "moe_router" in self.graphs else self.constant("router_host")
        launch = 0.0 if self.fused else self.constant("expert_launch") * self.experts / self.e
        if self.bits == 16:
            launch *= self.constant("launch_16bit")
        kept = attention * ("attn" not in self.graphs)
        dispatch = self.constant("dispatch_host")
        return (pace * (kept * forward + router + dispatch + launch),
                pace * (kept * backward + 0.8 * router + dispatch + 2 * launch))

    def layer(self, experts, window):
        """Forward, backward, weights of a chip: shared and of experts; what hides exchanges."""
        words = (self.constant("cast_words", 3.2) +
                 (self.bits == 4) * self.constant("four_bit_words", 1.0) +
                 (self.precision == "fp8-cs") * self.constant("scan_words", 0.5))
        forward = backward = weights = of_experts = 0.0
        of_module = dict.fromkeys(("core_attn", "mlp", "layernorm", "moe_act", "moe", "mla_up_proj"),
                                  0.0)
        linears = self.linear(experts)
        attention = 4 if self.ranks[1] else 2
        for i, (rows, columns, out, matrices, share) in enumerate(linears):
            one = self.product(rows, columns, out, None, matrices, share)
            cast = self.memory(2 * words * rows * columns) if self.bits < 16 else 0.0
            forward, backward = forward + one + cast, backward + 2 * one
            if share != 1.0:
                of_experts += matrices * columns * out
            else:
                weights += columns * out
            if self.bits < 16:
                backward += self.memory(2 * words * rows * out)
            if i >= attention:
                of_module["moe" if experts else "mlp"] += one + cast
            elif self.ranks[1] and i in (1, 2):
                of_module["mla_up_proj"] += one + cast
        weights += 2 * self.h + (self.h * self.experts if experts else 0)
        for i, (words, more) in enumerate(self.elementwise(experts)):
            size = 2 * self.tokens * words * self.constant("elementwise", 1.0)
            forward += self.memory(size)
            backward += self.memory(more * size)
            name = "layernorm" if i < 2 else None if i < 5 else "moe" if experts else "mlp"
            if name:
                of_module[name] += self.memory(size)
            if experts and i == 7:
                of_module["moe_act"] += self.memory(size)
        core, slow = self.attention(False, window)
        core_backward = self.attention(True, window)[0]
        of_module["core_attn"] = core
        kernels, kernels_backward = forward + core, backward + core_backward
        if self.sinks:
            kernels_backward += (self.constant("sink_bytes") * self.tokens * self.a / self.t /
                                 (value(self.chip["memory"]) * self.chip["elementwise"][-1][1]))
        halves = 1 if experts and not self.shared else 2
        tensor = tensor_backward = exchanges = 0
        if self.t > 1:
            exchanges = halves
            size = 2 * self.tokens * self.h
            sum_ = self.collective(size, self.t, 1, 1 if self.sp else 2)
            bytes_ = {"nvfp4": 0.5625, "mxfp8": 1.03}.get(self.precision, self.bits // 8)
            if not self.stack.get("quantized_gathers"):
                bytes_ = 2
            gather = self.collective(size * bytes_ / 2, self.t, 1) if self.sp else 0.0
            tensor = halves * (sum_ + gather) * (1 - self.hidden_share)
            again = min(halves, 1) * gather
            tensor_backward = (halves * (sum_ + gather) + again) * (1 - self.hidden_share)
        ring = ring_backward = 0.0
        if self.c > 1:
            keys = 2 * self.tokens * self.c * max(self.g / self.t, 1) * (self.d + self.dv)
            one = self.collective(keys, self.c, self.t)
            ring = max(0, one - core * (1 - 1 / self.c))
            ring_backward = max(0, 2 * one - core_backward * (1 - 1 / self.c))
        sent = 2 * self.dispatch() if experts and self.e > 1 else 0.0
        host, host_backward = self.host(experts, exchanges * self.constant("host_exchange") + slow)
        device, device_backward = (kernels + tensor + ring,
                                   kernels_backward + tensor_backward + ring_backward)
        again = sent_again = 0.0
        if self.recompute == "op_sac":
            again, host_backward = (kernels - core) / 2, host_backward + host / 2
        elif self.recompute != "full":
            for name in self.modules:
                again += of_module[name] * (name != "moe_act" or "moe" not in self.modules)
                sent_again += sent * (name == "moe")
                host_backward += self.constant("module_host") * (not self.whole)
        share = 1.0 if self.recompute == "full" else min(1.0, self.again_layers / self.layers)
        alone = kernels_backward + again + share * kernels
        host_backward += share * host
        device_backward += again + share * device
        sent_again += share * sent
        hidden = self.constant("expert_hidden") if self.overlap else 0.0
        slower = 1 + 0.018 * min(1, self.copied_layers / self.layers)
        passes = [max(device + sent * (1 - hidden), sent),
                  max(device_backward + sent * (1 - hidden), sent) + sent_again]
        hosts = [host, host_backward]
        both = [self.side_by_side(one, other) * slower for one, other in zip(passes, hosts)]
        hiding = [self.side_by_side(kernels, host), self.side_by_side(alone, host_backward)]
        return both[0], both[1], weights, of_experts, hiding

    def exchange(self, weights, of_experts, size, passes=1):
        sum_ = self.collective(size * weights, self.n * self.c, self.t, passes)
        if of_experts:
            others = self.t * self.n * self.c // self.e
            sum_ += self.collective(size * of_experts, others, self.e * self.c, passes)
        return sum_

    def bucketed(self, weights, of_experts, layers):
        """What is waited for of the exchanges of a distributed optimizer."""
        members, others = self.n * self.c, max(self.t * self.n * self.c // self.e, 1)
        bucket = max(40e6, 1e6 * members)
        waited = 0.0
        for size, work in ((self.wire, layers[1]), (2, layers[0])):
            both = self.ring(size * weights, members, self.t, max(1, weights / bucket))
            if of_experts:
                both += self.ring(size * of_experts, others, self.e * self.c,
                                  max(1, of_experts / bucket))
            waited += max(both / max(1, (weights + of_experts) / bucket),
                          both - self.constant("data_hidden") * work)
        return waited

    def step(self):
        """Seconds."""
        forward = backward = weights = of_experts = 0.0
        hiding = [0.0, 0.0]
        slowed = self.constant("gather_interference", 0.45)

        def beside(time, exchanged):
            return max(time, exchanged) + slowed * exchanged
        kinds = [(self.dense, False, self.window), (self.layers - self.dense, True, self.window)]
        if self.window and self.every:
            full = self.layers // self.every
            has = bool(self.experts)
            kinds = [(full, has, 0), (self.layers - full, has, self.window)]
        beside_layers = [0.0, 0.0]
        for count, experts, window in kinds:
            if not count:
                continue
            one, other, shared, own, hides = self.layer(experts, window)
            beside_layers = [beside_layers[0] + count * one, beside_layers[1] + count * other]
            hiding = [a + count * b for a, b in zip(hiding, hides)]
            if self.zero == 3:
                gathered = self.exchange(shared, own, 2)
                one = beside(one, gathered)
                other = beside(other, gathered + self.exchange(shared, own, self.wire))
            forward, backward = forward + count * one, backward + count * other
            weights, of_experts = weights + count * shared, of_experts + count * own
        table = self.vocabulary * self.h / self.t
        logits = self.tokens * self.vocabulary / self.t
        words = 2 * self.tokens * 2 * self.h
        product = self.product(self.tokens, self.h, self.vocabulary / self.t, 16)
        fused = words * self.constant("elementwise", 1.0)
        heads = 1 + self.mtp
        ends = [(self.memory(fused), self.memory(fused)),
                (heads * (product + self.memory(fused)),
                 heads * (2 * product + self.memory(fused) + self.memory(words) +
                          self.memory(self.constant("loss_bytes", 14.0) * logits)))]
        for one, other in ends:
            hiding = [hiding[0] + one, hiding[1] + other]
            if self.zero == 3:
                gathered = self.exchange(table, 0, 2)
                one = beside(one, gathered)
                other = beside(other, gathered + self.exchange(table, 0, self.wire))
            forward, backward = forward + one, backward + other
        weights += table * (1 if self.tied else 2)
        replicas = self.n * self.c if self.zero else 1
        others = max(self.t * self.n * self.c // self.e, 1) if self.zero else 1
        optimizer = (weights / replicas + of_experts / others) * 34 / (0.7 * value(self.chip["memory"]))
        once, overlap = 0.0, self.stack.get("data_overlap")

        def exposed(exchanges, time, hidden):
            return max(exchanges - hidden * time, 0.1 * exchanges)
        if self.zero == 0:
            once = self.exchange(weights, of_experts, self.wire, 2)
            if overlap == "ddp":
                once = exposed(once, hiding[1], self.constant("data_hidden"))
        elif self.zero < 3 and overlap == "distributed_optimizer":
            once = self.bucketed(weights, of_experts, beside_layers)
        elif self.zero < 3:
            reduced = self.exchange(weights, of_experts, self.wire, 2 if overlap == "ddp" else 1)
            gathered = self.exchange(weights, of_experts, 2)
            once = exposed(reduced, hiding[1], 0.0) + exposed(gathered, hiding[0], 0.0)
        return (self.m * (forward + backward + self.constant("host_micro_batch")) + once +
                optimizer + self.constant("host_step"))
