"""Figures of the two papers that no study draws: docs/images/paper_*.svg, for `./dev papers`.

Measured values of the papers are not published, so the figures show predictions by dfsearch
and, where they are at hand, by the paper's own program.  docs/gallery.md shows them.
"""

import math

import paper_cases
import tables
import technology_figures
import validate
from svg_chart import (BLUE, GREEN, GREY, ORANGE, PURPLE, RED, Chart, Picture, across, butt_path, grid,
                       path, upwards)
from tables import repeated
from technology_figures import gemm

COLOURS = (GREY, BLUE, GREEN, ORANGE, PURPLE, RED)
PARTS = {"forward": BLUE, "backward": ORANGE, "weights": GREEN, "tensor": PURPLE, "data": "#8d94a5",
         "pipeline": RED, "bubble": "#7a6a1e", "Calculon": GREY}


def decades(first, last, unit, scale=1.0):
    """Ticks at the powers of ten between two exponents."""
    return [(10.0**n, f"{10.0**n * scale:,.10g}{unit}") for n in range(first, last + 1)]


# Published runs that the paper compares with measurements.
COMPARED = {36: "LLM, 8 SN10", 80: "FFT, 1,024 A100", 87: "DLRM, 128 A100", 92: "HPL, 7,396 H100"}


def dfmodel_6(program):
    """FLOP/s of a chip, by the published run and by the optimum of the same config."""
    chart = Chart("DFModel, Fig. 6: FLOP/s of a chip, predicted; what was measured is not published",
                  across(0, len(COMPARED), [(i + 0.5, name) for i, name in
                                            enumerate(COMPARED.values())], log=False),
                  upwards(1e11, 1e15, decades(11, 15, "", 1e-12)), "", "TFLOP/s of a chip")
    for i, number in enumerate(COMPARED):
        record = validate.record_of(number)
        result = validate.solve(program, validate.file_of(record))[0]
        rate = result["flop"] / result["machine"]["chips"]
        for side, step, colour in ((-18, record["published"]["step_time"], ORANGE),
                                   (18, result["step_time"], BLUE)):
            x = round(chart.x.at(i + 0.5)) + side
            chart.bar(x, rate / step, colour, 30)
            chart.text(x, chart.y.at(rate / step) - 6, f"{rate / step * 1e-12:.3g}")
    chart.key([("published run of DFModel", ORANGE), ("dfsearch", BLUE)], 400, 34)
    return chart.whole()


def dfmodel_8(bars):
    """Steps by their parts, beside the steps by Calculon's equations."""
    left, top, wide, high = 62, 14, 560, 280
    most = 20 * math.ceil(max(max(bar["step"], bar["calculon"]) for bar in bars) / 20) + 20
    chart = Picture("Validation against Calculon (DFModel, Fig. 8): seconds of a step of GPT3-1T on"
                    " 4,096 A100 by tensor, pipeline and data degrees")

    def y(value):
        return round(top + high - high * value / most)

    for tick in range(0, most + 1, 20):
        chart.add(grid(f"M{left} {y(tick)}h{wide}"))
        chart.text(left - 8, y(tick) + 4, f"{tick} s", "end")
    for i, bar in enumerate(bars):
        x, low = round(left + wide * (i + 0.5) / len(bars)), 0
        for part, colour in PARTS.items():
            until = low + bar["parts"].get(part, 0)
            if until > low:
                chart.add(butt_path(f"M{x} {y(low)}V{y(until)}", colour, 16))
            low = until
        chart.add(path(f"M{x} {y(bar['calculon'])}h0", GREY, 8))
        for row, degree in enumerate(bar["degrees"]):
            chart.text(x, top + high + 16 + 14 * row, str(degree))
    for i, (part, colour) in enumerate(PARTS.items()):
        x, row = left + 190 + 120 * (i % 3), top + 20 + 20 * (i // 3)
        chart.add(path(f"M{x} {row}h0", colour, 8))
        chart.text(x + 12, row + 4, part, "start")
    return chart.whole()


def dfmodel_9(program):
    """The four chips, and the polynomial of least squares through them."""
    found = paper_cases.ask_polynomial(program, {})
    squared, linear, constant = found["power_kw"]
    chart = Chart("DFModel, Fig. 9: power of a chip by its peak",
                  across(200, 10000, [(each, f"{each:,}") for each in
                                      (200, 500, 1000, 2000, 5000, 10000)]),
                  upwards(0.1, 100, decades(-1, 2, " kW")), "TFLOP/s", "power of a chip")
    peaks = [200 * 50**(i / 60) for i in range(61)]
    chart.line([(x, squared * x**2 + linear * x + constant) for x in peaks], BLUE)
    chips = list(zip(found["tflops"], (watt / 1e3 for watt in paper_cases.POWERS)))
    chart.points(chips, ORANGE, 10)
    for (x, y), name in zip(chips, ("H100", "TPU v4", "SN30", "WSE-2")):
        chart.text(chart.x.at(x) + 12, chart.y.at(y) + 16, name, "start")
    chart.key([(f"{squared:.4g} X² + {linear:.4g} X + {constant:.4g}", BLUE, " "),
               ("given", ORANGE)], 110, 60)
    return chart.whole()


def deepflow_1(program):
    """Least value, quartiles and greatest of all tiles and strategies; of single strategies."""
    counts = (1, 8, 64, 512, 4096, 65536)
    found = gemm(program, "v100", "--shape", "65536x65536x65536",
                 *repeated("--intensities", counts))["gemms"][0]["intensities"]
    by_strategy = {name: values for name, values in found[-1]["strategies"].items()
                   if name.startswith("CR") or int(name.split("-")[1]) in (1, 4, 16, 64, 256)}
    columns = len(counts) + len(by_strategy) + 1
    places = [i + 0.5 + (i >= len(counts)) for i in range(columns - 1)]
    names = [f"{chips // 1024} K" if chips >= 1024 else str(chips) for chips in counts]
    names += [name.split("-")[1] if name.startswith("RC") else "CR" for name in by_strategy]
    chart = Chart("DeepFlow, Fig. 1: FLOP for an access of the memory, a GEMM of 65,536 cubed on V100",
                  across(0, columns, list(zip(places, names)), log=False),
                  upwards(0.1, 10000, decades(-1, 4, "")), "", "FLOP for an access")
    chart.name_across("chips, with all strategies", 210)
    chart.name_across("k1 of RC-k1-k2, and CR, of 64 K chips", 500)
    boxes = [each["all"] for each in found] + list(by_strategy.values())
    for i, (place, quartiles) in enumerate(zip(places, boxes)):
        chart.box(chart.x.at(place), quartiles, BLUE if i < len(counts) else ORANGE, 22)
    return chart.whole()


def diagonal(chart, first, last):
    chart.line([(first, first), (last, last)], GREY, "4 4")


def deepflow_6(program):
    """512 shapes on a P4."""
    ticks = decades(-2, 2, " s")
    chart = Chart("DeepFlow, Fig. 6: GEMMs of 4 K to 32 K on a P4, predicted",
                  across(0.01, 100, ticks), upwards(0.01, 100, ticks), "time by the public code",
                  "time by (21)")
    diagonal(chart, 0.01, 100)
    chart.points([(each["published_time"], each["time"])
                  for each in technology_figures.p4_times(program)], BLUE, 4)
    return chart.whole()


def deepflow_7(program):
    """A GEMM on 1, 2, 4 and 8 V100, its result or its sum divided along one or two axes."""
    sizes = (4096, 8192, 16384, 32768)
    chart = Chart("DeepFlow, Fig. 7: GEMMs on the V100 of a DGX-1, predicted",
                  across(4096, 32768, [(size, f"{size:,}") for size in sizes]),
                  upwards(1e-4, 1, decades(-4, 0, " ms", 1e3)), "m = k = n", "time")
    lines = {}  # strategies that take the same time share one
    for name, degrees, loops in technology_figures.strategies_of_figure_7():
        steps = technology_figures.sharded_steps(program, sizes, degrees, loops)
        lines.setdefault((math.prod(degrees), tuple(steps)), []).append(name)
    colours = dict(zip((1, 2, 4, 8), COLOURS))
    entries = []
    for (chips, steps), names in lines.items():
        dash = "6 5" if names[0].startswith("CR") else ""
        chart.line(list(zip(sizes, steps)), colours[chips], dash)
        chart.points(list(zip(sizes, steps)), colours[chips], 6)
        entries.append((", ".join(names), colours[chips], dash or " "))
    chart.key(entries, 400, 171)
    return chart.whole()


def deepflow_8(program):
    """A step of training of 125 language models of LSTM on a V100."""
    sizes = technology_figures.SIZES
    models = [f"{batch}x{hidden}x{vocabulary}x2x20" for batch in sizes for hidden in sizes
              for vocabulary in sizes]
    times = gemm(program, "v100", *technology_figures.LAUNCH, *repeated("--lstm", models))["lstms"]
    ticks = [(each, f"{each:g} s") for each in (0.1, 0.2, 0.5, 1, 2, 5, 10)]
    chart = Chart("DeepFlow, Fig. 8: steps of 125 LSTM language models on a V100, predicted",
                  across(0.1, 10, ticks), upwards(0.1, 10, ticks), "step by the public code",
                  "step by (23)")
    diagonal(chart, 0.1, 10)
    for hidden, colour in zip(sizes, (BLUE, GREEN, ORANGE, PURPLE, RED)):
        chart.points([(each["published"]["time"], each["step_by_step"]["time"]) for each in times
                      if each["hidden"] == hidden], colour, 5)
    chart.key([(f"hidden {hidden:,}", colour) for hidden, colour in
               zip(sizes, (BLUE, GREEN, ORANGE, PURPLE, RED))], 500, 200)
    return chart.whole()


FIGURES = {"dfmodel_6": dfmodel_6, "dfmodel_9": dfmodel_9, "deepflow_1": deepflow_1,
           "deepflow_6": deepflow_6, "deepflow_7": deepflow_7, "deepflow_8": deepflow_8}


def pictures(program, bars):
    """The text of each picture by its file."""
    drawn = {name: figure(program) for name, figure in FIGURES.items()} | {"fig8": dfmodel_8(bars)}
    return {tables.IMAGES / f"paper_{name}.svg": picture for name, picture in drawn.items()}
