"""A folder as a study leaves it (docs/pages.md), with figures of a made-up machine."""

import json
import random

FIGURES = {
    "step_time": {"unit": "s", "better": "less"}, "utilization": {"unit": "", "better": "more"},
    "price": {"unit": "$", "better": "less"}, "power": {"unit": "W", "better": "less"},
}


def write(folder, seed=1, sram=(20, 40, 80, 160, 320, 640), bandwidth=(50, 100, 200, 400, 800),
          links=("ring", "pcie", "nvlink"), name="sram"):
    """The results, as they are in results.ndjson."""
    draw = random.Random(seed)
    axes = [
        {"name": "sram", "key": "system.accelerator.sram", "labels": [f"{s} MiB" for s in sram],
         "values": [s * 2.0**20 for s in sram]},
        {"name": "bandwidth", "key": "system.memory.bandwidth",
         "labels": [f"{b} GB/s" for b in bandwidth], "values": [b * 1e9 for b in bandwidth]},
        {"name": "link", "key": None, "labels": list(links), "values": None},
    ]
    results, index = [], 0
    for s in sram:
        for b in bandwidth:
            for link, l in zip(links, range(1, len(links) + 1)):
                results.append(point(draw, index, s, b, link, l))
                index += 1
    solved = [r for r in results if r["status"] == "optimal"]
    front, least = [], float("inf")
    for r in sorted(solved, key=lambda r: (r["step_time"], r["price"])):
        if r["price"] < least:
            front.append(r)
            least = r["price"]
    count = len(results)
    study = {
        "dfsearch": "1.0.0", "study": name, "objective": ["step_time", "price"],
        "limits": {"price": [None, 4e7]}, "figures": FIGURES, "bases": ["gpt3_1t"], "axes": axes,
        "points": count, "solved": len(solved), "pruned": 0, "infeasible": count - len(solved),
        "failed": 0, "complete": True,
    }
    shown = {"study": name, "objective": study["objective"], "exact": True, "points": [
        {key: r[key] for key in ("index", "point", "step_time", "price")} for r in front]}
    folder.mkdir(exist_ok=True)
    (folder / "study.json").write_text(json.dumps(study))
    (folder / "results.ndjson").write_text("".join(json.dumps(r) + "\n" for r in results))
    (folder / "front.json").write_text(json.dumps(shown))
    return results, [r["index"] for r in front]


def point(draw, index, s, b, link, l):
    where = {"sram": f"{s} MiB", "bandwidth": f"{b} GB/s", "link": link}
    known = {"index": index, "point": where}
    if s * l < 40:
        none = dict.fromkeys(("step_time", "lower_bound", "gap", "utilization", "price", "power"))
        return {**known, "status": "infeasible", "reason": f"SRAM: {s} MiB are not enough", **none,
                "time_shares": None, "search": {"time": 0.001, "nodes": 1}, "fingerprint": f"{index:x}"}
    compute = 60 * (1 + 0.1 * draw.random())
    memory = 9000 / b * (1 + 40 / s)
    network = 40 / l
    step = max(compute, memory) + network
    price = 1e6 * (4 + s / 60 + b / 90 + 2.5 * l * draw.uniform(0.8, 1.2))
    return {
        **known, "status": "optimal", "reason": None, "step_time": step, "lower_bound": step,
        "gap": 0, "utilization": 50 / step, "price": price, "power": price / 30,
        "cost_efficiency": 3e16 / step / price, "power_efficiency": 9e17 / step / price,
        "time_shares": {"compute": compute / step, "memory": max(0, memory - compute) / step,
                   "network": network / step},
        "search": {"time": draw.random(), "nodes": draw.randrange(1000)},
        "fingerprint": f"{index:x}"}
