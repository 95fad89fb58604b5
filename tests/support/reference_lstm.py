"""A training step of an LSTM on a chip as the public code of DeepFlow times it, written once more
(docs/technology.md, section 6): kernels one after the other, each a roofline over four levels."""

import itertools
import math
import random

TILES = 20
GATES = 4
HOST_LINK = 12.4 * 2 ** 30


def seeded():
    """The Mersenne twister of seed 1, started as NumPy does."""
    state = [1]
    for i in range(1, 624):
        last = state[-1]
        state.append((1812433253 * (last ^ last >> 30) + i) & 0xFFFFFFFF)
    source = random.Random()
    source.setstate((3, (*state, 624), None))
    return source


def power_below(x):
    return 2 ** math.floor(math.log2(x))


def tiles(words, level):
    source = seeded()
    side = power_below(math.sqrt(words / 2))
    found = [(side, side, side), (side // 2, side, 2 * side)]
    powers = math.floor(math.log2(words))
    bits = (powers - 1).bit_length()

    def draw():
        while True:
            power = source.getrandbits(32) & (1 << bits) - 1
            if power < powers:
                return 2 ** power

    while len(found) < TILES:
        a, b = draw(), draw()
        # A store goes through registers and L1, and past what is further out.
        c = math.floor((words - a * b) / (a + b if level <= 1 else b))
        if c > 0 and (a, b, power_below(c)) not in found:
            found.append((a, b, power_below(c)))
    return found


class Chip:
    """What `dfsearch chip --json -` says of one."""

    def __init__(self, found, word, fma, launch):
        self.word, self.fma, self.launch = word, fma, launch
        self.usable = found["core"]["usable"]
        self.levels = [(each["bandwidth"], each["latency"])
                       for each in (*found["levels"], found["memory"])]
        self.tiles = list(itertools.product(
            *(tiles(each["share"] / word, level) for level, each in enumerate(found["levels"]))))

    def roofline(self, flop, moved):
        longest = 0.0
        for each, (bandwidth, latency) in zip(moved, self.levels):
            is_slow = each > 0 and flop / each < self.usable / bandwidth
            longest = max(longest, each / bandwidth + latency if is_slow else flop / self.usable)
        return longest

    def pass_time(self, flop, moved):
        return self.roofline(flop, [moved])

    def moved(self, extents, tile, level):
        """Bytes between a level and the one further in, and the tile as it is cut to the extents."""
        cut = [min(pair) for pair in zip(extents, tile)]
        short = [t > d for t, d in zip(tile, extents)]
        a, b, c = tile
        room = a * b + b * c + a * c
        inner = level <= 1
        if not short[2] and (short[0] or short[1]):
            by = cut[1] + (cut[0] if inner else 0)
            cut[2] = min(extents[2], (room - cut[0] * cut[1]) // by if by else 0)
        elif not short[0] and (short[1] or short[2]):
            by = cut[1] + (cut[2] if inner else 0)
            cut[0] = min(extents[0], (room - cut[2] * cut[1]) // by if by else 0)
        elif not short[1] and short[0] and short[2]:
            cut[1] = min(extents[1], (room - (cut[2] * cut[0] if inner else 0)) // (cut[0] + cut[2]))
        pieces = [-(-d // t) for d, t in zip(extents, cut)] if min(cut) > 0 else [1, 1, 1]
        d, e, f = extents
        elements = (d * e * pieces[2] + e * f * pieces[0]
                    + d * f * (pieces[1] if inner else 1))
        return elements * self.word, math.prod(pieces), [t if t > 0 else d
                                                         for t, d in zip(cut, extents)]

    def gemm(self, m, k, n, stays):
        loops, reused = {"weight": ([(k, n, m), (n, k, m)], 0), "output": ([(m, n, k), (n, m, k)], 1),
                         "input": ([(m, k, n), (k, m, n)], 2)}[stays]
        least = math.inf
        for order in loops:
            flop = order[0] * order[2] * (2 * order[1] - 1)
            reuse = -(-order[reused] // self.fma)
            registers = flop * (2 * reuse + 1) / (2 * reuse) / self.fma * self.word
            for tiled in self.tiles:
                extents, repeats, moved = list(order), 1, [registers, 0, 0, 0]
                for level in (3, 2, 1):
                    once, pieces, inside = self.moved(extents, tiled[level - 1], level)
                    moved[level] = repeats * once
                    repeats, extents = repeats * pieces, inside
                least = min(least, self.roofline(flop, moved))
        return least + self.launch


def dataflow(m, k, n):
    if m >= max(k, n):
        return "weight"
    return "output" if k >= max(m, n) else "input"


def lstm(chip, b, d, v, layers, steps, keeps=True):
    """By part; `keeps`: the dataflow of the first GEMM is that of all others, as in the code."""
    first = dataflow(b, 2 * d, GATES * d)

    def gemm(*extents):
        return chip.gemm(*extents, first if keeps else dataflow(*extents))

    w, launch = chip.word, chip.launch
    part = {
        "cell_forward": gemm(b, 2 * d, GATES * d) + 5 * launch
        + chip.pass_time(5 * GATES * b * d, 13 * GATES * w * b * d),
        "cell_backward": gemm(b, GATES * d, 2 * d) + gemm(2 * d, b, GATES * d) + 5 * launch
        + chip.pass_time(5 * b * d + 8 * d * d, 13 * w * b * d + 24 * w * d * d),
        "softmax_forward": gemm(b, d, v) + 4 * launch
        + chip.pass_time(b * (3 * v - 1), 7 * w * b * v),
        "softmax_backward": gemm(d, b, v) + gemm(b, v, d) + 4 * launch
        + chip.pass_time(5 * b * v, 11 * w * b * v),
        "embedding_backward": chip.pass_time(0, 2 * w * b * d) + launch}
    part["embedding_forward"] = part["embedding_backward"] + 2 * w * b * d / HOST_LINK
    ends = sum(part[name] for name in ("embedding_forward", "embedding_backward", "softmax_forward",
                                       "softmax_backward"))
    part["body"] = steps * (ends + layers * (part["cell_forward"] + part["cell_backward"]))
    return part
