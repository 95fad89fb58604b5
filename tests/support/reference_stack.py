"""The step of a run of one stage, written a second time from docs/truth.md, sections 1 to 6.

It shares nothing with the program but the files of configs/curves and configs/stacks.
"""

import functools
import math
import pathlib

import yaml

CONFIGS = pathlib.Path(__file__).resolve().parents[2] / "configs"
UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "FLOP/s": 1.0, "TFLOP/s": 1e12, "B/s": 1.0,
         "GB/s": 1e9, "TB/s": 1e12, "GB": 1e9, "MB": 1e6, "GiB": 2.0**30, "MFLOP": 1e6,
         "GFLOP": 1e9, "TFLOP": 1e12}


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
        self.hidden_share = float(row.get("tensor_overlap") or self.constant("tensor_overlap"))
        self.precision = row["precision"]
        self.bits = {"bf16": 16, "fp16": 16, "nvfp4": 4}.get(self.precision, 8)
        self.tokens = self.b * self.s / self.c
        chips = count("gpus")
        self.domain = max(k for k in range(1, chips + 1)
                          if chips % k == 0 and k <= self.chip["domain"])

    def constant(self, key, preset=0.0):
        return typical(self.stack.get(key, preset))

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

    def attention(self, backward):
        kernel = self.stack["attention"]
        unfused = 1.0 if kernel == "unfused" else self.constant("unfused_share")
        rows, total, slow = self.b * self.a / self.t, 0.0, 0.0
        if unfused < 1:
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
            total += (1 - unfused) * 2 * rows * self.s * (self.s + 1) / 2 / self.c * width / rate
        if unfused:
            scores = rows * self.s * self.s / self.c
            rate = self.rate(16) * typical(self.chip.get("batched_products", 0.38))
            passes = (3 if backward else 2) + 2.5
            if rows % 4:
                passes, slow = 2 * passes, unfused * self.constant("host_softmax")
            total += unfused * ((4 if backward else 2) * 2 * scores * self.d / rate +
                                self.memory(2 * scores * passes))
        return total, slow

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

        def reached(places):
            return places * (1 - (1 - 1 / places)**self.used)
        size, moved = 2 * self.h * self.tokens / self.t, 0.0
        if inside > 1:
            moved = size * min(self.used, reached(self.e)) * (inside - 1) / inside / self.bus(inside)
        if domains > 1:
            reach = min(reached(domains), 4) if self.ranks[1] else reached(domains)
            moved = max(moved, size * reach * (domains - 1) / domains / self.nic())
        return (moved + 2 * value(self.chip["base"]) * self.constant("links_in_training", 1.4) +
                20e-6)

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
            rows, matrices = self.used * tokens / t, self.experts / self.e
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
        words += [(2 * self.used * self.h / self.t, 3.2)] * 2
        words += [(per * self.used * self.width / self.t, 3.2), (4 * self.experts / self.t, 3.2)]
        return words + ([(per * self.shared * self.width / self.t, 2)] if self.shared else [])

    def side_by_side(self, device, host):
        power = self.constant("host_exponent", 5.0)
        return (device**power + host**power)**(1 / power)

    def layer(self, experts):
        """Forward, backward, weights of a chip: shared and of experts; what hides exchanges."""
        words = (self.constant("cast_words", 3.2) +
                 (self.bits == 4) * self.constant("four_bit_words", 1.0) +
                 (self.precision == "fp8-cs") * self.constant("scan_words", 0.5))
        forward = backward = weights = of_experts = 0.0
        for rows, columns, out, matrices, share in self.linear(experts):
            one = self.product(rows, columns, out, None, matrices, share)
            forward, backward = forward + one, backward + 2 * one
            if share != 1.0:
                of_experts += matrices * columns * out
            else:
                weights += columns * out
            if self.bits < 16:
                forward += self.memory(2 * words * rows * columns)
                backward += self.memory(2 * words * rows * out)
        weights += 2 * self.h + (self.h * self.experts if experts else 0)
        for words, more in self.elementwise(experts):
            size = 2 * self.tokens * words * self.constant("elementwise", 1.0)
            forward += self.memory(size)
            backward += self.memory(more * size)
        core, slow = self.attention(False)
        core_backward = self.attention(True)[0]
        kernels, kernels_backward = forward + core, backward + core_backward
        halves = 1 if experts and not self.shared else 2
        tensor = tensor_backward = exchanges = 0
        if self.t > 1:
            one = self.collective(2 * self.tokens * self.h, self.t, 1, 1 if self.sp else 2)
            exchanges = halves * (2 if self.sp else 1)
            tensor = exchanges * one * (1 - self.hidden_share)
            tensor_backward = tensor * (1.5 if self.sp else 1)
        ring = ring_backward = 0.0
        if self.c > 1:
            keys = 2 * self.tokens * self.c * max(self.g / self.t, 1) * (self.d + self.dv)
            one = self.collective(keys, self.c, self.t)
            ring = max(0, one - core * (1 - 1 / self.c))
            ring_backward = max(0, 2 * one - core_backward * (1 - 1 / self.c))
        sent = sent_backward = 0.0
        if experts and self.e > 1:
            sent = sent_backward = 2 * self.dispatch()
            exchanges += 2
        again_sent = sent
        if sent and self.reach(self.e, 1)[1] > 1 and self.stack.get("overlaps_dispatch"):
            sent_backward = max(sent - 0.7 * kernels_backward, 0.3 * sent)
            sent = max(sent - 0.7 * kernels, 0.3 * sent)
        factor = 1.0
        if experts:
            factor = self.constant("expert_host_grace" if self.chip.get("grace") else "expert_host", 1)
        wait = self.constant("expert_wait") if experts else 0.0
        beside = exchanges * self.constant("host_exchange") + slow
        host = self.constant("host_forward") * factor + beside
        host_backward = self.constant("host_backward") * factor + beside
        again = 0.0
        if self.recompute == "full":
            again, host_backward = kernels + tensor + ring + again_sent, host_backward + host
        elif self.recompute == "selective":
            again = core
        elif self.recompute == "op_sac":
            again, host_backward = (kernels - core) / 2, host_backward + host / 2
        both = []
        for device, issued in ((kernels + tensor + ring + sent, host),
                               (kernels_backward + tensor_backward + ring_backward +
                                sent_backward + again, host_backward)):
            both.append(self.side_by_side(device, issued) + wait)
        alone = kernels_backward + (again if self.recompute != "full" else kernels)
        hiding = [self.side_by_side(kernels, host), self.side_by_side(alone, host_backward)]
        return both[0], both[1], weights, of_experts, hiding

    def exchange(self, weights, of_experts, size, passes=1):
        sum_ = self.collective(size * weights, self.n * self.c, self.t, passes)
        if of_experts:
            others = self.t * self.n * self.c // self.e
            sum_ += self.collective(size * of_experts, others, self.e * self.c, passes)
        return sum_

    def step(self):
        """Seconds."""
        forward = backward = weights = of_experts = 0.0
        hiding = [0.0, 0.0]
        slowed = self.constant("gather_interference", 0.45)

        def beside(time, exchanged):
            return max(time, exchanged) + slowed * exchanged
        for count, experts in ((self.dense, False), (self.layers - self.dense, True)):
            if not count:
                continue
            one, other, shared, own, hides = self.layer(experts)
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
        ends = [(self.memory(fused), self.memory(fused)),
                (product + self.memory(fused),
                 2 * product + self.memory(fused) + self.memory(words) +
                 self.memory(self.constant("loss_bytes", 14.0) * logits))]
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
                once = exposed(once, hiding[1], 0.8)
        elif self.zero < 3:
            reduced = self.exchange(weights, of_experts, self.wire, 2 if overlap == "ddp" else 1)
            gathered = self.exchange(weights, of_experts, 2)
            hidden = 0.8 if overlap == "distributed_optimizer" else 0.0
            once = exposed(reduced, hiding[1], hidden) + exposed(gathered, hiding[0], hidden)
        return (self.m * (forward + backward + self.constant("host_micro_batch")) + once +
                optimizer + self.constant("host_step"))
