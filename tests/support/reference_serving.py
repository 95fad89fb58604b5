"""The equations of docs/serving.md once more, written from that page: what a deployment does, and
all deployments that a config leaves, one by one."""
import itertools, math, re

UNITS = {"Mi": 2**20, "Gi": 2**30, "": 1, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "m": 1e-3, "u": 1e-6, "n": 1e-9}
BYTES = {"fp32": 4, "bf16": 2, "fp8": 1, "int8": 1, "nvfp4": 0.5625, "mxfp4": 0.53125, "fp4": 0.5, "int4": 0.5}


def si(text):
    if isinstance(text, (int, float)):
        return float(text)
    number, unit = re.fullmatch(r"\s*([-+.0-9eE]+)\s*(.*)", text).groups()
    if unit in ("/s", ""):
        return float(number)
    if unit == "$/h":
        return float(number) / 3600
    base = re.sub(r"(FLOP/s|B/s|B|s|W)$", "", unit)
    return float(number) * UNITS[base]


class Model:
    """Shapes of a transformer on t chips."""

    def __init__(self, m):
        self.h, self.L, self.a = m["hidden"], m["layers"], m["heads"]
        self.g, self.d = m.get("kv_heads", m["heads"]), m.get("head_dim", m["hidden"] // m["heads"])
        self.f = m.get("mlp", 4 * self.h)
        self.V = m.get("vocabulary", 0)
        self.gated = m.get("gated", True)
        self.dv = m.get("value_dim", self.d)
        self.mla = m.get("latent_attention")
        e = m.get("experts")
        self.e = e
        self.dense = self.L if not e else e.get("dense_layers", 0)
        self.imb = e.get("imbalance", 1.0) if e else 1.0
        self.window, self.every = m.get("window", math.inf), m.get("full_attention_every", math.inf)

    def sees(self, layer):  # counted from 0
        return math.inf if (layer + 1) % self.every == 0 else self.window

    def phi(self, t):
        if self.mla:
            r, dr = self.mla["key_value_rank"], self.mla["rope_dim"]
            return 2 * (self.a / t) * (2 * r + dr), 2 * (self.a / t) * (self.d + self.dv)
        return 2 * (self.a / t) * (self.d + self.dv), 2 * (self.a / t) * (self.d + self.dv)

    def u(self, t):  # cached values of a token on a chip
        if self.mla:
            return self.mla["key_value_rank"] + self.mla["rope_dim"]
        return max(self.g / t, 1) * (self.d + self.dv)

    def attention_products(self, t):
        h, a, d, dv = self.h, self.a, self.d, self.dv
        if self.mla:
            rq, r, dr = self.mla["query_rank"], self.mla["key_value_rank"], self.mla["rope_dim"]
            dn = d - dr
            out = []
            if rq:
                out += [(h * rq, h + rq), (rq * a * d / t, rq + a * d / t)]
            else:
                out += [(h * a * d / t, h + a * d / t)]
            out += [(h * (r + dr), h + r + dr), (r * a * (dn + dv) / t, a * (dn + dv + 2 * r) / t),
                    (a * dv / t * h, a * dv / t + h)]
            return out
        o = a / t * d + max(self.g / t, 1) * (d + dv)
        return [(h * o, h + o), (a * dv / t * h, a * dv / t + h)]

    def mlp_products(self, f, t):
        n = 2 if self.gated else 1
        return [(self.h * n * f / t, self.h + n * f / t), (f / t * self.h, f / t + self.h)]


class System:
    """A chip, its network and its engine, in SI units."""

    def __init__(self, s):
        p = s["peak"]
        self.peak = {k: si(v) for k, v in p.items()} if isinstance(p, dict) else {"bf16": si(p)}
        self.W, self.cap = si(s["memory"]["bandwidth"]), si(s["memory"].get("capacity", math.inf))
        self.net = [(n.get("degree", math.inf), si(n["bandwidth"]), si(n.get("latency", 0)), n.get("topology", "switch")) for n in s["network"]]
        self.price, self.power = si(s.get("price", 0)), si(s.get("power", 0))
        self.transfer = si(s["transfer"]) if "transfer" in s else self.net[-1][1]
        e = s.get("engine", {})
        t = lambda k: si(e.get(k, 0))
        self.pass_, self.layer, self.expert_layer, self.request = t("pass"), t("layer"), t("expert_layer"), t("request")
        self.prefill, self.answer, self.reserved = t("prefill"), t("answer"), t("reserved")
        self.usable = e.get("usable", 1)
        sh = e.get("shares", {})
        g = lambda k, d=1: sh.get(k, d)
        self.attention, self.memory, self.cache, self.network = g("attention"), g("memory"), g("cache"), g("network")
        self.M = lambda kind: g("matrix_8bit" if BYTES[kind] == 1 else "matrix_4bit" if BYTES[kind] < 1 else "matrix", g("matrix"))
        self.E = lambda kind: g("experts", self.M(kind))
        self.experts_memory, self.experts_scale = g("experts_memory", self.memory), g("experts_scale")
        self.rank_layer, self.tile = t("rank_layer"), e.get("tile", 0)
        self.gathers = e.get("exchange") == "gather"
        self.graphs = e.get("graph_sizes", [])

    def P(self, kind):
        return self.peak.get(kind, self.peak["bf16"])

    def split(self, n):
        out = []
        for deg, bw, lat, top in self.net:
            k = min(n, deg)
            if k > 1:
                out.append((k, bw, lat, top))
            n /= k
            if n <= 1:
                break
        return out

    def all_reduce(self, n, D):
        t = 0
        for k, bw, lat, top in self.split(n):
            t += 2 * (k - 1) / k * D / (bw * self.network) + (2 * lat if top == "switch" else 2 * (k - 1) * lat)
            D /= k
        return t

    def all_to_all(self, n, D):
        t, s = 0, 1
        for k, bw, lat, top in self.split(n):
            # In a ring the bisection limits it.
            share = max((k - 1) / k, k / 8) if top == "ring" else (k - 1) / k
            t += share * D * s * k / n / (bw * self.network) + (lat if top == "switch" else (k - 1) * lat)
            s *= k
        return t

    def hop(self, w, D):
        i = 0
        if len(self.net) > 1 and w >= self.net[0][0]:
            i = 1
        return D / (self.net[i][1] * self.network) + self.net[i][2]


class Precision:
    def __init__(self, p):
        self.w = p.get("weights", "bf16")
        self.c = p.get("cache", "bf16")
        self.products = p.get("products", self.w)
        self.head = p.get("head", self.w)
        self.act = p.get("activations", "bf16")
        self.att = p.get("attention", "bf16")
        self.comm = p.get("communication", "bf16")
        self.dispatch, self.combine = p.get("dispatch", self.comm), p.get("combine", self.comm)
        self.modules = {name: {"weights": own} if isinstance(own, str) else own
                        for name, own in p.get("modules", {}).items()}

    def stored(self, module):
        other = self.head if module in ("head", "embedding") else self.w
        return self.modules.get(module, {}).get("weights", other)

    def multiplied(self, module):
        own = self.modules.get(module, {})
        other = self.head if module == "head" else self.products
        return own.get("products") or own.get("weights") or other


class Requests:
    """(1) to (4)."""

    def __init__(self, w):
        rs = w.get("requests") or [{"input": w["input"], "output": w["output"], "prefix": w.get("prefix", 0)}]
        total = sum(r.get("share", 1) for r in rs)
        self.cl = [(r.get("share", 1) / total, r["input"], r["output"], r.get("prefix", 0)) for r in rs]
        self.n = sum(q * (i - p) for q, i, o, p in self.cl)
        self.i = sum(q * i for q, i, o, p in self.cl)
        self.o = sum(q * o for q, i, o, p in self.cl)
        self.J0 = sum(q * (o - 1) for q, i, o, p in self.cl)
        self.views = {}

    def view(self, w):
        if w not in self.views:
            self.views[w] = View(self, w)
        return self.views[w]

    def wholes(self, C):
        return sum(q * (math.ceil((i - p) / C) if C < i - p else 1 / (C // (i - p)))
                   for q, i, o, p in self.cl)

    def ceils(self, C):
        return sum(q * math.ceil((i - p) / C) for q, i, o, p in self.cl)


class View:
    """What a layer with a window sees of requests, token by token."""

    def __init__(self, R, w):
        self.cl, self.w, self.known = R.cl, w, {}
        self.pairs = sum(q * sum(min(t, w) for t in range(p + 1, i + 1)) for q, i, o, p in R.cl)
        J = R.J0 or 1
        self.c = sum(q * sum(min(i + j, w) for j in range(1, o)) for q, i, o, p in R.cl) / J
        self.F = sum(q * (o - 1) * min(i + o, w) for q, i, o, p in R.cl) / J
        self.max = max(min(i + o, w) for q, i, o, p in R.cl)
        self.i = sum(q * min(i, w) for q, i, o, p in R.cl)

    def entries(self, C):
        if C not in self.known:
            self.known[C] = sum(q * sum(min(i, b + C) - max(0, b - self.w + 1) for b in (p + j * C for j in range(math.ceil((i - p) / C))))
                                for q, i, o, p in self.cl)
        return self.known[C]


def product(S, P, share, x, m, r, bw, a, mem):
    return max(2 * x * m / (P * share), (m * bw + x * r * a) / (S.W * mem))


class Pass:
    """(5) to (11), and (14)."""

    def __init__(self, S, M, pr, R, t, d, p, e):
        self.S, self.M, self.pr, self.R, self.t, self.d, self.p, self.e = S, M, pr, R, t, d, p, e
        self.w = t * d
        self.ranks = None  # that have tokens; else all

    def layer(self, dense, window, beta, v, chunk, share, C):
        S, M, pr, R, t, d, e = self.S, self.M, self.pr, self.R, self.t, self.d, self.e
        x = beta * v + chunk
        a, bc, bx = BYTES[pr.act], BYTES[pr.c], BYTES[pr.comm]
        T = S.layer

        def linear(list, module):
            number = pr.multiplied(module)
            return sum(product(S, S.P(number), S.M(number), x, m, r, BYTES[pr.stored(module)], a, S.memory) for m, r in list)
        T += linear(M.attention_products(t), "attention")
        fd, fp = M.phi(t)
        u = M.u(t) * bc
        PA, V = S.P(pr.att), R.view(window)
        if beta:
            T += max(beta * v * V.c * fd / (PA * S.attention), beta * V.c * u / (S.W * S.cache))
        if chunk:
            T += max(share * V.pairs * fp / (PA * S.attention), share * V.entries(C) * u / (S.W * S.cache))
        Sx = x * M.h * bx
        if t > 1:
            T += S.all_reduce(t, Sx)
        if dense:
            T += linear(M.mlp_products(M.f, t), "dense")
            if t > 1:
                T += S.all_reduce(t, Sx)
            return T
        E, k, fe = M.e["count"], M.e["used"], M.e["mlp"]
        T += S.expert_layer + (S.rank_layer if d > 1 else 0)
        T += linear([(M.h * E, M.h + E)], "router")
        if M.e.get("shared", 0):
            T += linear(M.mlp_products(M.e["shared"] * fe, t), "shared")
        w = self.w
        g = w // e
        X = x * (self.ranks or d)
        A = X * k / e * (M.imb if e > 1 else 1)
        hit = E / e * (1 - (1 - k / E) ** X)
        n = 3 if M.gated else 2
        m = n * M.h * fe / g
        number, bw = pr.multiplied("experts"), BYTES[pr.stored("experts")]
        peak = S.P(number) * S.E(number) * S.experts_scale
        T += max(2 * (A + hit * S.tile / 2) * m / peak, (hit * m * bw + A * (2 * M.h + n * fe / g) * a) / (S.W * S.experts_memory))
        if d == 1:
            if w > 1:
                T += S.all_reduce(w, X * M.h * bx)
        elif e == 1 or S.gathers:
            T += sum(S.all_reduce(w, X * M.h * BYTES[b]) / 2 for b in (pr.dispatch, pr.combine))
        else:
            T += sum(S.all_to_all(e, x * M.h * BYTES[b] / t * min(k, e)) for b in (pr.dispatch, pr.combine))
            if g > 1:
                T += S.all_reduce(g, A * M.h * bx)
        return T

    def head(self, tokens):
        S, M, pr = self.S, self.M, self.pr
        number = pr.multiplied("head")
        return product(S, S.P(number), S.M(number), tokens, M.h * M.V / self.t, M.h + M.V / self.t, BYTES[pr.stored("head")], BYTES[pr.act], S.memory)

    def stages(self):
        L, p = self.M.L, self.p
        out = []
        for s in range(p):
            lo, hi = s * L // p, (s + 1) * L // p
            out.append(range(lo, hi))
        return out

    def times(self, beta, v, chunk=0, share=0, C=10**9, done=0, requests=None):
        S, known = self.S, {}
        def layer(i):
            kind = i < self.M.dense, self.M.sees(i)
            if kind not in known:
                known[kind] = self.layer(*kind, beta, v, chunk, share, C)
            return known[kind]
        T = []
        x = beta * v + chunk
        st = self.stages()
        for s, layers in enumerate(st):
            ts = S.pass_ + sum(map(layer, layers)) + S.request * (beta if requests is None else requests)
            if self.p > 1:
                ts += S.hop(self.w, x * self.M.h * BYTES[self.pr.comm] / self.t)
            if s == self.p - 1:
                ts += self.head(beta * v + done)
            T.append(ts)
        return max(T), sum(T)

    def weights(self):
        M, t, w = self.M, self.t, self.w
        b = lambda module: BYTES[self.pr.stored(module)]
        att = sum(m for m, r in M.attention_products(t)) * b("attention")
        dense = sum(m for m, r in M.mlp_products(M.f, t)) * b("dense") if M.dense else 0
        exp = 0
        if M.e:
            n = 3 if M.gated else 2
            exp = M.h * M.e["count"] * b("router") + M.e["count"] * n * M.h * M.e["mlp"] / w * b("experts")
            if M.e.get("shared", 0):
                exp += sum(m for m, r in M.mlp_products(M.e["shared"] * M.e["mlp"], t)) * b("shared")
        out = []
        st = self.stages()
        for s, layers in enumerate(st):
            nd = sum(i < M.dense for i in layers)
            ne = len(layers) - nd
            W = (nd + ne) * att + nd * dense + ne * exp
            if s == 0:
                W += M.h * M.V / t * b("embedding")
            if s == len(st) - 1:
                W += M.h * M.V / t * b("head")
            out.append(W)
        return out

    def memory(self, beta, x, H, draft=0):
        M, t = self.M, self.t
        f = M.f if M.dense else M.e["used"] * M.e["mlp"]
        u = M.u(t) * BYTES[self.pr.c]
        best = 0
        for W, layers in zip(self.weights(), self.stages()):
            kept = sum(H(M.sees(i)) for i in layers)
            best = max(best, W + beta * self.p * kept * u + x * 3 * (M.h + f / t) * BYTES[self.pr.act])
        return best + self.S.reserved + draft


def acceptance(sp, K):
    a = sp["acceptance"]
    return [a[min(i, len(a) - 1)] if isinstance(a, list) else a for i in range(K)]


def gained(sp, K):
    if not K:
        return 1, 1.0
    if sp["kind"] == "tree":
        first, *others = acceptance(sp, K)
        E, reached = 1 + first, first
        for a in others:
            reached *= a + (1 - a) * a
            E += reached
        return 2 ** K, E
    E, prod = 1.0, 1.0
    for a in acceptance(sp, K):
        prod *= a
        E += prod
    return K + 1, E


class Loop:
    """A micro-batch in its steady state: (15) to (18e)."""

    def __init__(self, W, S, P, p, v, E, K, C):
        self.W, self.S, self.P, self.p, self.v, self.E, self.K, self.C = W, S, P, p, v, E, K, C
        R = W.R
        self.J, self.n = R.J0 / E, R.n
        self.spread, self.busy = W.spread, 1
        self.budget = C if W.s.get("batched_tokens") == C else None
        self.beside(0)

    def beside(self, b):
        """What b requests that decode leave of an iteration."""
        if self.budget:
            self.C = max(self.budget - self.v * b, 1)
        self.w, self.k0 = max(self.W.R.ceils(self.C), 1), self.n / self.C
        if self.W.s.get("chunked_prefill") is False:
            self.k0 = self.W.R.wholes(math.floor(self.C))

    def iteration(self, b, k=None, padding=0):
        W, S, P, p = self.W, self.S, self.P, self.p
        # Ranks without a user are empty.
        P.ranks = max(self.busy * P.d, 1)
        x = (self.n / k, 1 / k, self.C, 1 / k) if k else (padding,)
        period, latency = P.times(b, self.v, *x)
        draft = W.draft_time(S, P.t, P.d, p, P.e, b, self.K)[0]
        return (latency if self.busy < 1 else p * period) + p * draft + (S.prefill / k if k else 0)

    def mix(self, m, f):
        """The cost of a prompt and the requests in prefill."""
        least = max(self.k0, 1 / m)
        if self.w > 1 or not self.J:
            k = max(least, min(self.w, (self.J + self.w) / m))
        elif self.spread * self.W.R.J0 < 0.5:
            k = least
        else:
            k = max(least, f / -math.log1p(-f) if 0 < f < 1 else 1 - f)
        L, apart = max(1, self.w / k), min(1, 2 * self.spread)
        if apart:
            load = f * (m - 1) / m * min(1, self.k0 / k)
            L += apart * load / (2 * (1 - load)) if load < 1 else math.inf
        return k, min(L, m)

    def served(self, m):
        def mix(f):
            b = m
            for _ in range(200):
                self.beside(b)
                k, L = self.mix(m, f)
                b, before = m - L, b
                if not self.budget or abs(b - before) <= 1e-15 * before:
                    break
            return k, L

        share = lambda f: (lambda k, L: k * m / (self.J + k * L))(*mix(f))
        if not self.J or share(1) >= 1:
            f = 1
            if self.budget:
                self.beside(self.J * self.budget / (self.n + self.J * self.v))
            for _ in range(100):
                k = self.mix(m, 1)[0]
                b, before = self.J / k, self.C
                if k <= self.k0 or not self.budget:
                    break
                self.beside(b)
                if self.C == before:
                    break
        else:
            low, high = 0, 1
            while low < (f := (low + high) / 2) < high:
                low, high = (f, high) if share(f) > f else (low, f)
            f = high
            k, L = mix(f)
            b = m - L
        Tm = self.iteration(b, k)
        if not self.J:
            return dict(m=m, X=1 / (k * Tm), tpot=0, f=f, k=k, Td=0, Tm=Tm)
        Td = self.iteration(m)
        beside = min(k * b / self.J, 1)
        tpot = max((1 - beside) * Td + beside * Tm, self.iteration(1)) / self.E
        return dict(m=m, X=f / (k * ((1 - f) * Td + f * Tm)), tpot=tpot, f=f, k=k, Td=Td, Tm=Tm)

    def closed(self, n, slots, answer):
        """The loop and its requests a second: users in the engine and those who read are n."""
        one = self.served(1)
        if answer and 1 + one["X"] * answer >= n:
            return one, n / (1 / one["X"] + answer)
        most = self.served(min(n, slots))
        if not answer or most["m"] + most["X"] * answer <= n:
            return most, most["X"]
        low, high = 1, most["m"]
        while low < (m := (low + high) / 2) < high:
            low, high = (m, high) if m + self.served(m)["X"] * answer < n else (low, m)
        found = self.served(high)
        return found, found["X"]

    def padding(self, b):
        """Tokens up to the next recorded iteration."""
        return next((g - self.v * b for g in self.S.graphs if g >= self.v * b - 1e-9), 0)

    def job(self, n, slots):
        """(18e) to (18g)."""
        m = min(n, slots)
        self.beside(m if self.J else 0)
        k = max(self.k0, 1 / m)
        life = self.J + max(k, 1) if self.J else 0
        turn = max(life, k * m)
        sizes = [min(m, n - j * m) for j in range(max(math.ceil(n / m - 1e-9), 1))]
        begun = lambda i: sum(min(max((i - j * turn) / k, 0), size) for j, size in enumerate(sizes))
        ends = sorted(j * turn + since + done for j, size in enumerate(sizes)
                      for since in (0, life) for done in (0, k * size))
        total = waited = filling = filled = 0
        clock = []  # ends of parts of iterations and seconds that an iteration takes until there
        for first, last in zip(ends, ends[1:]):
            fills = any(0 <= (first + last) / 2 - j * turn < k * size for j, size in enumerate(sizes))
            for share in (0.1, 0.3, 0.5, 0.7, 0.9):
                i = first + share * (last - first)
                runs = begun(i) - begun(i - life)
                one = (self.iteration(runs, k) if fills else
                       self.iteration(runs, None, self.padding(runs)))
                time = (last - first) / 5 * one
                total, waited = total + time, waited + (n - begun(i)) * time
                clock.append((i + (last - first) / 10, one))
                filled += time * fills
            filling += (last - first) * fills
        J0, held = self.W.R.J0, 0
        # The iterations of each request after its first token, which some get together.
        together = max(1 / k, 1)
        for j, size in enumerate(sizes if J0 else []):
            for i in range(math.ceil(size / together - 1e-9)):
                some = min(together, size - i * together)
                begin = j * turn + (k * (i * together + some) if k > 1 else i + 1)
                before = 0
                for end, time in clock:
                    held += some * time * max(min(end, begin + self.J) - max(before, begin), 0)
                    before = end
        return dict(m=m, X=n / total, tpot=held / (n * J0) if J0 else 0, f=filling / (ends[-1] or 1),
                    k=k, makespan=total, ttft=waited / n + max(k, 1) / 2 * filled / filling)

    def open(self, rate, slots):
        J, w, k0 = self.J, self.w, self.k0
        T = Tm = self.iteration(1)
        never = dict(m=0, tpot=math.inf, ttft=math.inf, wait=math.inf, f=1, k=1, Td=0, Tm=0)
        f = b = wait = Td = 0
        for _ in range(4000):
            running = rate * J * T
            Td = self.iteration(1 + running)
            if w > 1:
                k = w + min(rate * k0 * Tm, 1) * (k0 - w)
            else:
                pm, pd = -math.expm1(-rate * Tm), -math.expm1(-rate * Td)
                g = pd / (1 - pm + pd)
                k = max(k0, g / (rate * ((1 - g) * Td + g * Tm)))
            load = rate * max(k, k0) * Tm
            full = Tm if J else self.iteration(0, k0)
            service = k0 * full  # of M/D/1
            if max(load, rate * service) >= 1:
                return never
            wait = rate * service ** 2 / (2 * (1 - rate * service))
            if not J:
                wait -= rate * service * min(service, full) / 2
            if not J:
                before, f, Tm = Tm, load, self.iteration(0, k)
                if abs(Tm - before) <= 1e-15 * Tm:
                    break
                continue
            b = running * max(0, 1 - (w + 1) / (2 * J)) + rate * (wait + k * Tm)
            f = min(1, k * b / J)
            Tm, before = self.iteration(b, k), T
            T = (1 - f) * Td + f * self.iteration(1 + b, k)
            if abs(T - before) <= 1e-15 * T:
                break
        tpot = T / self.E if J else 0
        users = rate * J * T
        rest = ((1 - f) * Td ** 2 + f * Tm ** 2) / (2 * ((1 - f) * Td + f * Tm))
        ttft = -math.expm1(-users - rate * w * Tm) * rest + wait + w * Tm
        held = w * Tm + self.W.R.J0 * tpot
        busy = rate * held / slots
        if busy >= 1:
            return never
        lost = 1.0
        for i in range(1, slots + 1):
            lost = busy * slots * lost / (i + busy * slots * lost)
        ttft += lost / (1 - busy * (1 - lost)) * held / (2 * slots * (1 - busy))
        return dict(m=users, tpot=tpot, ttft=ttft, wait=wait, f=f, k=k, Td=Td, Tm=Tm)


class World:
    """A config, and what its deployments do: (12) to (23)."""

    def __init__(self, inp):
        w, s = inp["workload"], inp["serving"]
        self.M, self.R, self.pr = Model(w["model"]), Requests(w), Precision(w.get("precision", {}))
        self.pools = {p["name"]: (System(p["system"]), p["chips"]) for p in s["pools"]}
        self.sp = w.get("speculation")
        self.s = s
        self.rate = si(w["rate"]) if "rate" in w else None
        self.conc, self.rounds = w.get("concurrency"), w.get("rounds")
        self.requests = w.get("num_requests")
        self.spread = w.get("length_spread", 0)
        self.draft = Model(self.sp["draft"]) if self.sp and "draft" in self.sp else None
        self.limits = {k: si(v) for k, v in s.get("limits", {}).items()}

    def H(self, window):
        V = self.R.view(window)
        return {"full": V.F, "mean": V.c, "max": V.max}[self.s.get("cache_reserve", "full")]

    def draft_time(self, S, t, d, p, e, beta, K):
        if not K:
            return 0, 0
        kind = self.sp["kind"]
        R = self.R
        if kind == "mtp":
            P = Pass(S, self.M, self.pr, R, t, d, 1, e)
            total = 0
            dense = self.M.e is None
            last = self.M.sees(self.M.L - 1)
            one = P.layer(dense, last, beta, 1, 0, 0, 1) + P.head(beta)
            h = self.M.h
            one += product(S, S.P(self.pr.products), S.M(self.pr.products), beta, 2 * h * h, 3 * h, BYTES[self.pr.w], BYTES[self.pr.act], S.memory)
            
            w, e = t * d, self.M.e
            weights = sum(m for m, r in P.M.attention_products(t)) + 2 * h * h
            n = 3 if self.M.gated else 2
            if e:
                weights += e["count"] * n * h * e["mlp"] / w + (sum(m for m, r in self.M.mlp_products(e["shared"] * e["mlp"], t)) if e.get("shared") else 0)
            else:
                weights += sum(m for m, r in self.M.mlp_products(self.M.f, t))
            return K * one, weights * BYTES[self.pr.w] + beta * p * self.H(last) * self.M.u(t) * BYTES[self.pr.c]
        P = Pass(S, self.draft, self.pr, R, t, d, 1, 1)
        feeds = [1] * K if kind == "sequence" else [1] + [2 ** i for i in range(K - 1)]
        T = sum(P.times(beta, v)[0] for v in feeds)
        return T, P.weights()[0] + beta * p * sum(self.H(self.draft.sees(i)) for i in range(self.draft.L)) * self.draft.u(t) * BYTES[self.pr.c]

    def evaluate(self, D):
        if D["mode"] == "aggregated":
            return self.aggregated(D)
        return self.disaggregated(D)

    def chk(self, r, mem_bad):
        bad = []
        if mem_bad: bad.append("memory")
        if r["tpot"] > self.limits.get("tpot", math.inf): bad.append("tpot")
        if r["ttft"] > self.limits.get("ttft", math.inf): bad.append("ttft")
        if r["e2e"] > self.limits.get("e2e", math.inf): bad.append("e2e")
        return bad

    def aggregated(self, D):
        S, chips = self.pools[D["pool"]]
        t, p, d, e, rep, beta, C = (D[k] for k in ("tensor", "pipeline", "attention_data", "expert", "replicas", "batch", "chunk"))
        K = D.get("depth", self.sp.get("depth", 0) if self.sp else 0)
        R = self.R
        v, E = gained(self.sp, K) if K else (1, 1.0)
        P = Pass(S, self.M, self.pr, R, t, d, p, e)
        loop = Loop(self, S, P, p, v, E, K, C)
        dm = self.draft_time(S, t, d, p, e, beta, K)[1]
        parts = rep * d * p  # micro-batches
        burst = 0
        if self.requests is not None:
            n = self.requests / parts
            loop.busy = min(n, 1)
            x = loop.job(max(n, 1), beta)
            X, ttft, flight = x["X"] * loop.busy, x["ttft"] + S.answer, self.requests
            x["Td"] = x["Tm"] = 0
        elif self.conc is not None:
            n = self.conc / parts
            loop.busy = min(n, 1)
            x, X, n = *loop.closed(max(n, 1), beta, S.answer), max(n, 1)
            X *= loop.busy
            ttft = n * loop.busy / X - R.J0 * x["tpot"]
            if self.rounds:
                burst = (x["m"] - 1) / 2 * x["k"] * x["Tm"] / self.rounds
                X = n * loop.busy / (ttft + burst + R.J0 * x["tpot"])  # Little's law
            flight = self.conc
        elif self.rate is not None:
            full = loop.served(beta)
            X = full["X"]
            x = loop.open(self.rate / parts, beta)
            # No more requests run than there are slots.
            if x["tpot"] == math.inf:
                x = dict(full, ttft=math.inf, wait=math.inf)
            x["tpot"], x["f"] = min(x["tpot"], full["tpot"]), min(x["f"], full["f"])
            ttft = x["ttft"] + S.answer
            if self.s.get("wait") == "none" and ttft < math.inf: ttft -= x["wait"]
            flight = self.rate * (ttft + R.J0 * x["tpot"])
        else:
            x, X = loop.closed(beta, beta, S.answer)
            ttft = beta / X - R.J0 * x["tpot"]
            flight = beta * parts
        mem = P.memory(beta, beta * v + min(C, beta * R.n), self.H, dm)
        n = rep * t * p * d
        r = dict(ttft=ttft + burst, tpot=x["tpot"], iteration=x["Td"], mixed_iteration=x["Tm"], mixed_share=x["f"], tokens_per_step=E, capacity=X * parts, memory=mem, flight=flight)
        if self.requests is not None:
            del r["iteration"], r["mixed_iteration"]
            r["makespan"] = x["makespan"]
        return self.report(D, r, 0, n, n * S.price, n * S.power,
                           (["prefill"] if x["f"] > self.s.get("utilization", {}).get("mixed", 1) else []), mem > S.usable * S.cap)

    def report(self, D, r, running, chips, price, power, bad, mem_bad):
        R = self.R
        X = r["capacity"]
        served = X
        if self.rate is not None:
            served = self.rate
            if X < self.rate: bad = bad + ["rate"]
        apart = r.pop("moved", 0)
        r["in_flight"] = running if apart else r.pop("flight")
        r["e2e"] = r["ttft"] + R.J0 * r["tpot"]
        r["requests_per_s"] = served
        r["chips"] = chips
        r["tokens_per_s"] = served * R.o
        r["tokens_per_s_per_chip"] = r["tokens_per_s"] / chips
        r["tokens_per_s_per_user"] = 1 / r["tpot"] if r["tpot"] else math.inf
        r["dollars_per_mtoken"] = price / r["tokens_per_s"] * 1e6
        r["joule_per_token"] = power / r["tokens_per_s"]
        r["dollars_per_mtoken_total"] = price / (served * (R.i + R.o)) * 1e6
        r["infeasible"] = bad + self.chk(r, mem_bad)
        r["mode"] = D["mode"]
        return r

    def disaggregated(self, D):
        R = self.R
        a, b = D["prefill"], D["decode"]
        Sp, Sd = self.pools[a["pool"]][0], self.pools[b["pool"]][0]
        g = lambda x, k: x.get(k, 1)
        Pp = Pass(Sp, self.M, self.pr, R, a["tensor"], g(a, "attention_data"), g(a, "pipeline"), g(a, "expert"))
        Pd = Pass(Sd, self.M, self.pr, R, b["tensor"], g(b, "attention_data"), g(b, "pipeline"), g(b, "expert"))
        al, be = a["batch"], b["batch"]
        K = b.get("depth", self.sp.get("depth", 0) if self.sp else 0)
        v, E = gained(self.sp, K) if K else (1, 1.0)
        Ta, La = Pp.times(0, 1, al * R.n, al, done=al)
        Ta, La = Ta + Sp.prefill * al, La + Sp.prefill * al
        dt, dm = self.draft_time(Sd, Pd.t, Pd.d, Pd.p, Pd.e, be, K)
        Td = Pd.times(be, v)[0] + dt
        J = R.J0 / E
        Xp = a["replicas"] * Pp.d * al / Ta
        Xd = b["replicas"] * Pd.d * be / (J * Td) if J else math.inf
        cache = sum(R.view(self.M.sees(i)).i for i in range(self.M.L)) * self.M.u(1) * BYTES[self.pr.c]
        np_, nd = a["replicas"] * Pp.w * Pp.p, b["replicas"] * Pd.w * Pd.p
        Xt = min(np_ * Sp.transfer, nd * Sd.transfer) / cache
        ut = self.s.get("utilization", {})
        X = min(ut.get("prefill", 1) * Xp, ut.get("decode", 1) * Xd, Xt)
        move = cache / min(Pp.t * Pp.p * Sp.transfer, Pd.t * Pd.p * Sd.transfer)
        places, servers, running = b["replicas"] * Pd.p * Pd.d, a["replicas"] * Pp.d, be
        if self.conc is not None:
            # (21a): users who wait, are prefilled and decode are all; each term rises with what runs.
            N, none = self.conc, self.s.get("wait") == "none"
            turn = lambda m: Pd.p * (Pd.times(max(m, 1), v)[0] + self.draft_time(Sd, Pd.t, Pd.d, Pd.p, Pd.e, max(m, 1), K)[0])
            def rates(m):
                x = places * m / (J * turn(m)) if J else m
                load = x / Xp
                wait = 0 if none else min(load / (2 * (1 - load)) * Ta / servers if load < 1 else math.inf, max(N / servers - 1, 0) / 2 * Ta)
                held = x * (La + wait + move + Sp.answer) + (min(al, max(N / servers, 1)) - 1) / 2 * servers
                return x, held + (places * m if J else 0)
            low, high = 0, min(be, N / places) if J else X
            while low < (m := (low + high) / 2) < high:
                x, held = rates(m)
                low, high = (m, high) if held < N and x < X else (low, m)
            running, X = high if J else 0, rates(high)[0]
            Td = turn(high) / Pd.p if J else Td
            ttft = (N - places * running) / X
        else:
            move += Sp.net[-1][2]
            rho_served = X if self.rate is None else self.rate
            rho = rho_served / Xp
            wait = rho / (2 * (1 - rho)) * Ta if rho < 1 else math.inf
            if self.s.get("wait") == "none": wait = 0
            ttft = La + wait + (al - 1) / 2 * servers / rho_served + move + Sp.answer
        mp = Pp.memory(al, al * R.n, lambda window: R.view(window).i)
        md = Pd.memory(be, be * v, self.H, dm)
        chips = np_ + nd
        r = dict(ttft=ttft, tpot=Pd.p * Td / E if J else 0, iteration=Pd.p * Td, prefill_pass=Ta, prefill_capacity=Xp, decode_capacity=Xd, transfer_capacity=Xt, transfer=move, tokens_per_step=E, capacity=X, memory_prefill=mp, memory=md)
        r["moved"] = 1
        return self.report(D, r, self.conc if self.conc is not None else places * running, chips, np_ * Sp.price + nd * Sd.price, np_ * Sp.power + nd * Sd.power, [], mp > Sp.usable * Sp.cap or md > Sd.usable * Sd.cap)




def listed(value, default):
    if value is None:
        return default
    if isinstance(value, dict):
        return list(range(value["from"], value["to"] + 1))
    return value if isinstance(value, list) else [value]


def choice(W, role, key, default):
    """Of the role, else of all roles but for the batch of a prefill, else the default."""
    own = W.s.get(role, {})
    if key in own or (role, key) == ("prefill", "batch"):
        return listed(own.get(key), default)
    return listed(W.s.get(key), default)


def fills(S, members):
    """A group fills each dimension that it reaches beyond."""
    for degree, *_ in S.net:
        if members <= degree:
            return True
        if members % degree:
            return False
        members //= degree
    return members == 1


def structures(W, role):
    every = choice(W, role, "replicas", None) is None and not W.M.e
    for pool, (S, chips) in W.pools.items():
        all_ = range(1, chips + 1)
        get = lambda k, default=all_: choice(W, role, k, default)
        # Ranks of a model without experts are replicas.
        for t, p, d, e in itertools.product(get("tensor"), get("pipeline"),
                                            get("attention_data", [1] if every else all_), get("expert")):
            if W.M.a % t or p > W.M.L or (t * d) % e or (e > 1 and (not W.M.e or W.M.e["count"] % e)):
                continue
            if not all(fills(S, group) for group in (t, t * d, e, t * d // e)):
                continue
            n = t * p * d
            most = chips // n
            for r in get("replicas", range(1, most + 1)):
                if r <= most:
                    yield {"pool": pool, "tensor": t, "pipeline": p, "attention_data": d, "expert": e, "replicas": r}, n * r


def deployments(W):
    depths = listed(W.sp.get("depths", W.sp.get("depth", 0)) if W.sp else None, [0])
    batches = range(1, 1025)
    for mode in W.s.get("modes", ["aggregated", "disaggregated"]):
        if mode == "aggregated":
            for S, n in structures(W, "aggregated"):
                for C in choice(W, "aggregated", "chunk", [2 ** i for i in range(4, 17)]):
                    for b in choice(W, "aggregated", "batch", batches):
                        for K in depths:
                            yield dict(S, mode=mode, chunk=C, batch=b, **({"depth": K} if W.sp else {}))
            continue
        decode = list(structures(W, "decode"))
        for P, n in structures(W, "prefill"):
            for a in choice(W, "prefill", "batch", batches):
                for D, m in decode:
                    if n > W.pools[P["pool"]][1] or (P["pool"] == D["pool"] and n + m > W.pools[P["pool"]][1]):
                        continue
                    for b in choice(W, "decode", "batch", batches):
                        for K in depths:
                            yield {"mode": mode, "prefill": dict(P, batch=a), "decode": dict(D, batch=b, **({"depth": K} if W.sp else {}))}


def front_of(W, found):
    key = "dollars_per_mtoken" if W.s.get("front") == "cost" else "tokens_per_s_per_chip"
    sign = 1 if key[0] == "d" else -1
    # Fastest for a user first.
    found = sorted(enumerate(found), key=lambda x: (-x[1][1]["tokens_per_s_per_user"], sign * x[1][1][key], x[1][1]["chips"], x[0]))
    best, front = math.inf, []
    for _, (D, r) in found:
        v = sign * r[key]
        if not front or v < best - 1e-9 * abs(best):
            front.append((D, r))
            best = v
    return front


VALUE = {"throughput": lambda r: -r["tokens_per_s"], "throughput_per_chip": lambda r: -r["tokens_per_s_per_chip"],
         "interactivity": lambda r: r["tpot"], "cost": lambda r: r["dollars_per_mtoken"], "energy": lambda r: r["joule_per_token"],
         "chips": lambda r: r["chips"], "ttft": lambda r: r["ttft"], "e2e": lambda r: r["e2e"]}
