"""The equations of docs/technology.md once more, from the page and not from the C++.

A system is the value that a config has under `system`, with its units as text.  chip() returns what
`dfsearch chip --json` says of it, as far as it is numbers.
"""

import math
import re

PREFIX = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "m": 1e-3, "u": 1e-6, "n": 1e-9,
          "p": 1e-12, "f": 1e-15}
BINARY = {"Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40}
LEVELS = ("registers", "L1", "L2")


def quantity(text):
    """A number with a unit, in mm, mm2, W, V, Hz, B, B/s, J/bit, W/bit, s."""
    number, unit = re.fullmatch(r"([\d.e+-]+) ?(.*)", str(text)).groups()
    number = float(number)
    for scale, names in ((1.0, ("mm2", "mm", "/mm", "mm2/bit")), (1e-6, ("um2", "um2/bit")),
                         (1e2, ("cm2",)), (1e-3, ("um",)), (10.0, ("cm",))):
        if unit in names:
            return number * scale
    prefix = re.fullmatch(r"(Ki|Mi|Gi|Ti|[kMGTmunpf]?)(Hz|B/s|B|W/bit|J/bit|W|V|s)", unit)[1]
    return number * {**PREFIX, **BINARY}[prefix]


def whole(x):
    return math.floor(x * (1.0 + 1e-12))


def speed(voltage, threshold):
    return (voltage - threshold)**2 / voltage


def root(target, threshold):
    """V with V (V - threshold)^2 = target, by halving."""
    low, high = threshold, threshold + 1.0
    while high * (high - threshold)**2 < target:
        high *= 2.0
    for _ in range(200):
        middle = (low + high) / 2.0
        if middle * (middle - threshold)**2 <= target:
            low = middle
        else:
            high = middle
    return low


def point(part, power, nominal, floor="exact"):
    """Voltage, frequency, what holds them, power drawn."""
    fn, vn, vt = (quantity(part[key]) for key in ("frequency", "voltage", "threshold"))
    least = vt + quantity(part["margin"])
    most = quantity(part["maximum_voltage"]) if "maximum_voltage" in part else math.inf
    if power <= 0.0 or nominal <= 0.0:
        return 0.0, 0.0, "power", 0.0
    share = power / nominal
    voltage = root(share * vn * (vn - vt)**2, vt)
    if voltage > most:
        voltage, state = most, "maximum voltage"
        f = fn * speed(most, vt) / speed(vn, vt)
    elif voltage < least:
        f = fn * share * (vn / least)**2
        if floor == "squared":
            f = fn * speed(least, vt) / speed(vn, vt) * (voltage / least)**2
        voltage, state = least, "minimum voltage"
    else:
        state = "power"
        f = fn * speed(voltage, vt) / speed(vn, vt)
    return voltage, f, state, nominal * f / fn * (voltage / vn)**2


class Shares:
    def __init__(self, budget):
        self.die, self.package = quantity(budget["area"]["die"]), quantity(budget["area"]["package"])
        self.total, self.perimeter = quantity(budget["power"]["total"]), 4.0 * math.sqrt(self.die)
        self.budget = budget

    def of(self, kind, part):
        share = self.budget.get(kind, {}).get(part, 0.0)
        whole_of = {"area": self.die, "power": self.total, "edge": self.perimeter}[kind]
        return float(share) * whole_of if isinstance(share, (int, float)) else quantity(share)

    def used(self, kind):
        parts = ("core", *LEVELS, "memory", "intra", "inter")
        return sum(self.of(kind, part) for part in parts)


def chip(system, equations=None):
    equations = equations or {}
    technology, shares = system["technology"], Shares(system["budget"])
    floor = equations.get("voltage_floor", "exact")
    known = system.get("accelerator", {})
    core, used = technology["core"], {}
    cores = known.get("cores", whole(shares.of("area", "core") / quantity(core["area"])))
    bundles = cores // core.get("bundle", 1)
    if "frequency" in known:
        volts, f, state, used["core"] = 0.0, quantity(known["frequency"]), "given", None
    else:
        volts, f, state, used["core"] = point(
            core, shares.of("power", "core"), quantity(core["power"]) * cores, floor)
    cycle = 2 * core["lanes"] * core["stages"]
    peak, utilization = cycle * cores * f, core.get("utilization", 1.0)
    result = {
        "budget": {"die": shares.die, "package": shares.package, "total": shares.total,
                   "perimeter": shares.perimeter, "area": shares.used("area") / shares.die,
                   "power": shares.used("power") / shares.total,
                   "edge": shares.used("edge") / shares.perimeter},
        "core": {"cores": cores, "bundles": bundles, "voltage": volts, "frequency": f,
                 "state": state, "flops_per_cycle": cycle, "peak": peak,
                 "utilization": utilization, "usable": utilization * peak},
        "levels": [level(name, technology[name], shares, system, cores, bundles, used)
                   for name in LEVELS if name in technology]}
    if "memory" in technology:
        result["memory"] = memory(technology["memory"], shares, system.get("memory", {}), floor,
                                  used)
    result["links"] = {name: link(name, technology[name], shares, system, equations, used)
                       for name in ("intra", "inter") if name in technology}
    result["power_used"] = used
    return result


def level(name, part, shares, system, cores, bundles, used):
    given = system.get("levels", {}).get(name, {})
    dense = 1.0 - part.get("overhead", 0.0)
    bank = quantity(part["bank"])
    banks = whole(dense * shares.of("area", name) /
                  (8 * bank * quantity(part["cell_area"]) +
                   dense * bundles * quantity(part.get("port_area", "0 mm2"))))
    capacity = quantity(given["capacity"]) if "capacity" in given else banks * bank
    leakage = 8 * quantity(part["leakage"]) * capacity
    if "bandwidth" in given:
        raw, used[name] = quantity(given["bandwidth"]), None
    else:
        raw = max(0.0, shares.of("power", name) - leakage) / (8 * quantity(part["energy"]))
        used[name] = shares.of("power", name)
    owners = {"core": cores, "bundle": bundles, "chip": 1}[part["scope"]]
    return {"name": name, "banks": banks, "capacity": capacity, "share": capacity / owners,
            "leakage": leakage, "raw_bandwidth": raw,
            "bandwidth": part.get("utilization", 1.0) * raw,
            "latency": quantity(part.get("latency", "0 s"))}


def memory(part, shares, given, floor, used):
    stacks = min(whole((shares.package - shares.die) / quantity(part["stack_area"])),
                 whole(shares.of("area", "memory") / quantity(part["controller_area"])))
    edge_links = whole(shares.of("edge", "memory") * quantity(part["links_per_mm"]))
    links = min(edge_links, part["links_per_stack"] * stacks)
    capacity = (quantity(given["capacity"]) if "capacity" in given
                else stacks * quantity(part["stack"]))
    leakage = 8 * quantity(part["leakage"]) * capacity
    volts, f, state, drawn = point(
        part, max(0.0, shares.of("power", "memory") - leakage),
        quantity(part["energy"]) * links * quantity(part["frequency"]), floor)
    utilization = part.get("utilization", 1.0)
    raw, used["memory"] = links * f / 8, drawn + leakage
    if "bandwidth" in given:
        raw, state = quantity(given["bandwidth"]) / utilization, "given"
        used["memory"] = None
    return {"stacks": stacks, "links": links, "edge_links": edge_links, "voltage": volts,
            "frequency": f, "state": state, "leakage": leakage, "raw_bandwidth": raw,
            "bandwidth": utilization * raw, "capacity": capacity,
            "latency": quantity(part.get("latency", "0 s"))}


def link(name, part, shares, system, equations, used):
    wires = whole(min(shares.of("area", name) / quantity(part["area"]),
                      shares.of("edge", name) * quantity(part["links_per_mm"])))
    volts, f, state, used[name] = point(
        part, shares.of("power", name),
        quantity(part["energy"]) * wires * quantity(part["frequency"]))
    bandwidth = part.get("utilization", 1.0) * wires * f / 8
    result = {"wires": wires, "voltage": volts, "frequency": f, "state": state,
              "bandwidth": bandwidth, "latency": quantity(part.get("latency", "0 s"))}
    mine = [d for d in system.get("network", []) if d.get("link") == name and "bandwidth" not in d]
    if not mine:
        return {**result, "ports": 0}
    own = {"ring": 2, "switch": 1}
    ports = sum(d.get("ports", own.get(d["topology"], d.get("degree", 2) - 1)) for d in mine)
    if equations.get("link_ports") == "four_and_one" and not any("ports" in d for d in mine):
        ports = {"intra": 4, "inter": 1}[name]
    ports = max(ports, 1)
    return {**result, "ports": ports, "port_bandwidth": bandwidth / ports}
