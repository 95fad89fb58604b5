#!/usr/bin/env python3
"""Renews docs/papers.md with its pictures: claims of two papers beside the numbers of dfsearch.

    ./dev papers [--write]

The page has the claims; this script computes the column "ours", and the verdicts that follow from
numbers.  Some are read from docs/technology_validation.md, which another command renews.  Exit
status 1 if the page has other numbers.
"""

import collections
import functools
import math

import lstm_models
import paper_cases
import paper_figures
import tables
import validate
from tables import CONFIGS, percent
from validate import record_of

SECTIONS = ("DFModel", "DeepFlow")
PRINTED, OURS, VERDICT = 3, 4, 6  # columns of claims
VERDICTS = ("cannot be had", "match", "ours is better", "differs", "not judged")
FIGURE_NAMES = ("utilization", "cost_efficiency", "power_efficiency")
# Studies and ratios of claims; the second claim of an identifier has ".2".
RATIOS = {
    "systems_gpt3": {
        "D12": "rdu / gpu and tpu", "D13": "rdu, hbm / ddr", "D14": "gpu and tpu, hbm / ddr",
        "D15": "dragonfly / simple, nvlink, no wse", "D15.2": "dragonfly / simple, pcie, no wse",
        "D16": "dragonfly / simple, no wse", "D17": "wse, hbm / ddr", "D17.2": "wse, nvlink / pcie",
        "D18": "wse / others"},
    "systems_dlrm": {"D19": "nvlink / pcie", "D20": "dragonfly / simple", "D21": "tpu / others",
                     "D22": "wse / others"},
    "systems_hpl": {"D23.2": "wse / others"},
    "systems_fft": {"D24": "as published: nvlink / pcie", "D25": "as published: dragonfly / simple",
                    "D25.2": "as published: tpu / others", "D26": "as published: wse / others"},
}
# Steps of logs of Fig. 7 in the public repository, in seconds, by the domain.
RAIL_STEPS = {"8": 4.9614852393201225, "16": 4.812347495408918, "256": 4.672530860484146}
# Degrees of the published runs of Fig. 8, by case.
CALCULON_RUNS = {51: (8, 32, 16), 52: (32, 32, 4), 55: (1, 32, 128), 56: (1, 128, 32),
                 57: (16, 8, 32)}
DEGREES = [*((tensor, 128 // tensor, 32) for tensor in (1, 2, 4, 8, 16, 32)),
           *((tensor, 32, 128 // tensor) for tensor in (1, 2, 4, 8, 16, 32)),
           *((8, 2**k, 512 // 2**k) for k in range(8))]
GPT3 = CONFIGS / "gpt3_1t.yaml"


def match(agrees):
    return "match" if agrees else "differs"


def same(values, printed):
    """Whether the values have the digits that are printed."""
    def rounded(value, text):
        return f"{float(value):.{len(text.partition('.')[2])}f}"

    return all(rounded(value, text) == rounded(text, text) for value, text in zip(values, printed))


def listed(values, form):
    return ", ".join(f"{value:{form}}" for value in values)


@functools.cache
def bars(program):
    """The twenty bars of Fig. 8."""
    found = []
    for degrees in DEGREES:
        result, parts = paper_cases.fig8(program, *degrees)
        found.append({"degrees": degrees, "step": result["step_time"], "parts": parts,
                      "calculon": paper_cases.calculon(program, *degrees)})
    return found


def optimum(program, number):
    return validate.solve(program, validate.file_of(record_of(number)))[0]["step_time"]


def published_step(program, number):
    """The step of a published mapping by the equations of its time."""
    found = record_of(number)
    return validate.evaluate(program, validate.file_of(found), found["mapping"])["step_time"]


def ratio_claims(program):
    for study, names in RATIOS.items():
        for key, name in names.items():
            found = tables.study(program, study).ratios[name]
            digits = {figure: value["digits"] for figure, value in found["printed"].items()}
            ours = listed((found[figure] for figure in FIGURE_NAMES), ".4f")
            agrees = all(value["agrees"] for value in found["printed"].values())
            yield key, {OURS: ours, VERDICT: match(agrees) if digits else "not judged"} | (
                {PRINTED: ", ".join(digits.get(figure, "-") for figure in FIGURE_NAMES)}
                if digits else {})


def study_claims(program):
    """Claims on points of studies."""
    sram = tables.study(program, "sram_dram").rows
    gains = {labels: sram["kernel_by_kernel", *labels]["step_time"] / row["step_time"]
             for (style, *labels), row in ((key, sram[key]) for key in sram if key[0] == "dataflow")
             for labels in [tuple(labels)]}
    yield "D2", (f"dataflow is {gains['500 MiB', '600 GB/s']:.3f} times as fast as kernel by kernel"
                 " with 500 MiB and 600 GB/s")
    geometric = math.exp(sum(map(math.log, gains.values())) / len(gains))
    yield "D31", f"{geometric:.2f} geometric, {sum(gains.values()) / len(gains):.2f} arithmetic"
    rail = {domain: tables.study(program, "rail_only")["published", domain]["step_time"]
            for domain in RAIL_STEPS}
    yield "D7", ", ".join(f"{domain}: {step:.6g} s" for domain, step in rail.items()), match(all(
        math.isclose(rail[domain], step, rel_tol=1e-7) for domain, step in RAIL_STEPS.items()))
    hpl = tables.study(program, "systems_hpl").rows
    least = min(hpl, key=lambda labels: hpl[labels]["utilization"])
    others = min(row["utilization"] for labels, row in hpl.items() if labels[0] != "wse2")
    yield "D23", (f"{percent(others)} and more except for WSE-2,"
                  f" {percent(hpl[least]['utilization'])} with {least[3]} in a {least[1].replace('_', ' ')}")
    decode = tables.study(program, "serving")["decode", "16"]["serving"]["tokens_per_second"]
    yield "D32", f"{decode:,.1f}", match(same([decode], ["1188"]))
    error = decode / 1100 - 1
    yield "D32.2", percent(error), match(same([100 * error], ["8"]))
    best = {}  # share of cores with the shortest step, by memory
    for (pieces, memory, share), row in tables.study(program, "memory_3d").rows.items():
        if pieces == "published" and row["step_time"] < best.get(memory, (math.inf,))[0]:
            best[memory] = row["step_time"], share
    shares = {memory: share for memory, (_, share) in best.items()}
    yield "D34", ", ".join(f"{memory}: {share}" for memory, share in shares.items()), match(
        shares == {"2d": "0.2", "2.5d": "0.5", "3d": "0.8"})


def run_claims(program):
    """Claims on published runs and single configs."""
    yield "D1", ", ".join(f"case {validate.link(record_of(number))} {optimum(program, number):.4g} s"
                          for number in (80, 87, 92))
    result = tables.solve(program, GPT3, "search.sharding=least_bytes")
    kernels = [kernel for kernel, loop in result["sharding"].items()
               if loop == "K" and not kernel.endswith("_weight_update")]
    yield "D3", f"{len(kernels)}: {', '.join(kernels)}", match(len(kernels) == 4)
    total = tables.solve(program, GPT3)["search"]["space"]["total"]
    yield "D4", f"10^{total:.2f}", match(int(total) == 295)
    peaks = paper_cases.peaks(program)
    # The paper rounds the last to hundreds.
    yield "D5", listed(peaks, ".1f"), match(same([*peaks[:3], peaks[3] / 100],
                                                 ("993", "275", "614", "75")))
    errors = [abs(bar["step"] / bar["calculon"] - 1) for bar in bars(program)]
    stopped = [abs(record_of(number)["published"]["step_time"]
                   / paper_cases.calculon(program, *degrees) - 1)
               for number, degrees in CALCULON_RUNS.items()]
    mean, of_runs = (percent(sum(values) / len(values), ".2f") for values in (errors, stopped))
    yield "D8", f"{mean} of the twenty bars, {of_runs} of five published runs"
    power = paper_cases.ask_polynomial(program, {})["power_kw"]
    yield "D9", f"{power[0]:.4e} X^2 + {power[1]:.4e} X + {power[2]:.6f}"
    steps = {number: published_step(program, number) for number in validate.MAPPINGS}
    speedups = [steps[number] / steps[number + 1] for number in (35, 36, 37)]
    accumulated = [steps[35] / steps[number] for number in (37, 38)]
    yield "D28", listed(speedups, ".4f"), match(same(speedups, ("4.05", "1.19", "1.27")))
    yield "D28.2", listed(accumulated, ".3f"), match(same(accumulated, ("4.8", "6.13")))
    yield "D28.3", listed((steps[35] / optimum(program, number) for number in (37, 38)), ".2f")
    yield "D28.4", f"{steps[36] / steps[38]:.4f}"
    yield "D29", f"{speedups[1]:.4f}", match(same(speedups[1:], ("1.2",)))
    roofs = [paper_cases.ask_roofline(program, {"input": {"mapping": name}})
             for name in ("non-dataflow 8x1", "vendor 8x1")]
    kernel_by_kernel, vendor = (
        f"{roof['tflops']:.2f} TFLOP/s at {roof['flop_per_memory_byte']:.1f} and"
        f" {roof['flop_per_network_byte']:.0f} FLOP per byte" for roof in roofs)
    yield "D30", f"kernel by kernel {kernel_by_kernel} of memory and network; vendor's {vendor}"


def deepflow_claims(program, models):
    technology = tables.Page("technology_validation.md")
    found = {}
    for chips in (1, 8, 512, 4096):
        case = {"input": {"gemm": [65536] * 3, "chips": chips}, "expected": {"strategies": {}}}
        least, _, median, _, greatest = paper_cases.ask_intensity(program, case)["all"]
        found[chips] = f"{chips}: {least:.3g}, {median:.3g}, {greatest:,.0f}"
    yield "F1", "least, median, greatest of " + "; ".join(found.values())
    by_name = {case["name"]: case for case in paper_cases.cases()}
    rules, by_steps = (paper_cases.ask(program, by_name[f"LSTM 2048 x 2048 x 2048, {rule}"])["time"]
                       for rule in ("published", "step by step"))
    mapping = tables.solve(program, CONFIGS / "lstm_v100.yaml")["step_time"]
    folded = technology.rows("Figure 8")[0][2].split(",")[0]
    yield "F4", (f"at 2 K {rules:.5g} s by their rules, {by_steps:.4g} s step by step, {mapping:.4g} s"
                 f" as a mapping of kernels with steps, {folded} without the chain of steps")
    jump, tail = technology.numbers("the step gains {} % from N12 to N7 and {} % from N3 to N1.")
    yield "F6", f"{jump} % faster"
    yield "F6.2", f"{tail} % from N3 to N1"
    yield "F6.3", "{} % of the step".format(*technology.numbers(
        "kernels that it bounds take {} % of the step,"))
    rows = technology.rows("Figure 10")
    yield "F8", ", ".join(f"{row[0]} {row[3]} faster" for row in rows)
    yield "F8.2", ", ".join(f"{row[0]} {row[5]}" for row in rows)
    given = models[lstm_models.HIDDEN, lstm_models.LAYERS]
    gains = []
    for node, later in list(zip(lstm_models.NODES, lstm_models.NODES[2:]))[:4]:
        gain = given[node] / min(steps[node] for steps in models.values()) - 1
        gains.append(f"{node.upper()} {percent(gain, '.3g')} of"
                     f" {percent(given[node] / given[later] - 1, '.3g')}")
    yield "F9", "gain by the best model, of the gain by two nodes: " + ", ".join(gains)
    yield "F10", "{} % at N7, where computing takes the time, and {} % at N3".format(
        *technology.numbers("In all it is {} % at N7, where computing takes the time, and {} % at N3."))
    placements = paper_cases.mesh(program, "4x4", *["--axis", "2"] * 3, "--open", "2")["placements"]
    orders = {tuple(each["order"]) for each in placements}
    yield "F11", f"{len(orders)}, each straight and as a snake"


def renew_claims(page, claims):
    """Replaces the given cells of the rows of claims, and counts the verdicts."""
    count, claims = collections.Counter(), dict(claims)
    for section in SECTIONS:
        rows, met = page.rows(section), collections.Counter()
        for row in rows:
            met[row[0]] += 1
            key = row[0] if met[row[0]] == 1 else f"{row[0]}.{met[row[0]]}"
            for column, text in claims.pop(key, {}).items():
                old, colon, reason = row[column].partition(":" if column == VERDICT else "\0")
                row[column] = text + colon + reason
            count[row[VERDICT].partition(":")[0]] += 1
        page.table(section, rows)
    if claims:
        raise RuntimeError(f"{page.file.name}: no claims {', '.join(claims)}")
    page.numbers(", ".join(f"{{}} {verdict}" for verdict in VERDICTS) + ".",
                 *(count[verdict] for verdict in VERDICTS))


def renew_ratios(page, program):
    """The ratios without a claim."""
    page.table("Ratios of the design space", [
        [f"[{study}](../configs/studies/{study}.yaml)", name, ratio["of"], ratio["over"],
         *(f"{ratio[figure]:.5g}" for figure in FIGURE_NAMES)]
        for study, claimed in RATIOS.items()
        for name, ratio in tables.study(program, study).ratios.items()
        if name not in claimed.values()])


def renew_bars(page, program):
    parts = ("forward", "backward", "tensor", "data", "weights", "bubble", "pipeline")
    page.table("Fig. 8", [[*bar["degrees"], f"{bar['step']:.5g} s", f"{bar['calculon']:.5g} s",
                           *(f"{bar['parts'][part]:.4g}" for part in parts)]
                          for bar in bars(program)])


def renew_models(page, program, models):
    page.table("Fig. 10: models", [
        [*model, *(f"{1000 * steps[node]:.4g} ms" for node in lstm_models.NODES)]
        for model, steps in models.items()])
    page.numbers("nine of 12,288 take {} ms at N12.",
                 f"{1000 * lstm_models.step(program, 12288, 9, 'n12'):.4g}")


def renew_cases(page, program):
    cases = paper_cases.cases()
    groups = collections.Counter(case["group"] for case in cases)
    differing = [case["name"] for case in cases
                 if paper_cases.differing(case, paper_cases.ask(program, case))]
    page.numbers("Of {} cases {} agree: " + ", ".join(f"{{}} {group}" for group in groups) + ".",
                 len(cases), len(cases) - len(differing), *groups.values())
    missing = [name for name in differing if f"\n- {name}: " not in page.text]
    if missing:
        raise RuntimeError(f"{page.file.name}: explains no difference of {', '.join(missing)}")


def renewed(program):
    page, models = tables.Page("papers.md"), lstm_models.steps(program)
    claims = [*study_claims(program), *run_claims(program), *deepflow_claims(program, models)]
    renew_claims(page, [*ratio_claims(program), *(
        (key, dict(zip((OURS, VERDICT), texts))) for key, *texts in claims)])
    renew_ratios(page, program)
    renew_bars(page, program)
    renew_models(page, program, models)
    renew_cases(page, program)
    return {page.file: page.text, **paper_figures.pictures(program, bars(program))}


def main():
    options = tables.options(__doc__)
    tables.finish(tables.renew(renewed(options.program), options.write))


if __name__ == "__main__":
    main()
