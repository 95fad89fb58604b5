"""Draws docs/images/runs.svg, for `./dev validate`: predicted against measured steps of
configs/measured/.
"""

import math

import tables
from svg_chart import Picture, dash_style, grid, path, text

PICTURE = tables.IMAGES / "runs.svg"
WIDTH, HEIGHT, LEFT, TOP, SIDE_X, SIDE_Y = 820, 480, 62, 14, 740, 420
LEAST, DECADES = 0.03, 4.2  # seconds at the origin
# Name, beginning of the sources, colour.
SOURCES = (("vTrain", "VIA-Research/vTrain", "#3d6fd1"), ("nanotron", "", "#8d94a5"),
           ("MosaicML", "mosaicml/", "#17967a"), ("Megatron-Bridge", "NVIDIA-NeMo/", "#d97a1e"),
           ("torchtitan", "pytorch/", "#a6519d"), ("papers", None, "#c4565b"))


def timed(program):
    """(source, measured, predicted, low, high) of each timed run without a note."""
    for name in ("training", "nanotron"):
        table = tables.CONFIGS / "measured" / f"{name}.csv"
        for run, row in zip(tables.rows_of(table), tables.predicted(program, table)):
            if row["error"] and not row["note"]:
                yield (run.get("source", ""), *(float(row[key]) for key in (
                    "step_s", "predicted_s", "low_s", "high_s")))


def along(seconds, side):
    return side * math.log10(seconds / LEAST) / DECADES


def x(seconds):
    return f"{LEFT + along(seconds, SIDE_X):.0f}"


def y(seconds):
    return f"{TOP + SIDE_Y - along(seconds, SIDE_Y):.0f}"


def source_of(source):
    return next(name for name, begin, _ in SOURCES if begin is None or (
        source.startswith(begin) if begin else not source))


def picture(program):
    runs = list(timed(program))
    error = sum(abs(run[2] / run[1] - 1) for run in runs) / len(runs)
    chart = Picture(f"{len(runs)} measured runs: predicted against measured step, "
                    f"{100 * error:.1f} % off on average", (WIDTH, HEIGHT))
    bottom = TOP + SIDE_Y
    for power in range(-1, 3):
        at, label = 10.0**power, f"{10.0**power:g} s"
        chart.add(grid(f"M{LEFT} {y(at)}h{SIDE_X}M{x(at)} {TOP}v{SIDE_Y}"),
                  text(LEFT - 8, int(y(at)) + 4, label, "end"), text(x(at), bottom + 18, label))
    chart.add(grid(f"M{LEFT} {bottom}l{SIDE_X} {-SIDE_Y}", dash_style("5 4")))
    for k, (name, _, colour) in enumerate(SOURCES):
        own = [run for run in runs if source_of(run[0]) == name]
        # One mark for equal runs.
        bars = sorted({f"M{x(m)} {y(low)}V{y(high)}" for _, m, _, low, high in own})
        dots = sorted({f"M{x(m)} {y(p)}h0" for _, m, p, _, _ in own})
        chart.add(f'<path stroke="{colour}" stroke-opacity=".25" d="{"".join(bars)}"/>')
        chart.add(path("".join(dots), colour, 4))
        chart.add(path(f"M{LEFT + 22} {TOP + 20 + 20 * k}h0", colour, 8),
                  text(LEFT + 34, TOP + 24 + 20 * k, f"{name}, {len(own)} runs", None))
    chart.text(LEFT + SIDE_X - 8, bottom - 10, f"{len(runs):,} measured steps; upwards as predicted,"
               f" {100 * error:.1f} % off", "end")
    return chart.whole()
