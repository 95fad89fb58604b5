"""Draws docs/images/runs.svg, for `./dev validate`: predicted against measured steps of
configs/measured/.
"""

import csv
import math
import pathlib
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PICTURE = ROOT / "docs" / "images" / "runs.svg"
WIDTH, HEIGHT, LEFT, TOP, SIDE_X, SIDE_Y = 820, 480, 62, 14, 740, 420
LEAST, DECADES = 0.03, 4.2  # seconds at the origin
# Name, how its sources begin, colour.
SOURCES = (("vTrain", "VIA-Research/vTrain", "#3d6fd1"), ("nanotron", "", "#8d94a5"),
           ("MosaicML", "mosaicml/", "#17967a"), ("Megatron-Bridge", "NVIDIA-NeMo/", "#d97a1e"),
           ("torchtitan", "pytorch/", "#a6519d"), ("papers", None, "#c4565b"))


def timed(program):
    """(source, measured, predicted, low, high) of each run that counts."""
    for name in ("training", "nanotron"):
        table = ROOT / "configs" / "measured" / f"{name}.csv"
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder, "out.csv")
            subprocess.run([program, "predict", table, "-o", out], check=True,
                           stdout=subprocess.DEVNULL)
            rows = zip(csv.DictReader(table.read_text().splitlines()),
                       csv.DictReader(out.read_text().splitlines()))
            for run, row in rows:
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
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        'font-family="sans-serif" font-size="13">',
        "<style>text{fill:#5c6778}.g{stroke:#5c677855}path{fill:none;stroke-linecap:round}"
        "@media(prefers-color-scheme:dark){text{fill:#9ba6b7}}</style>",
        f"<title>{len(runs)} measured runs: predicted against measured step, "
        f"{100 * error:.1f} % off on average</title>"]
    for power in range(-1, 3):
        at, label = 10.0**power, f"{10.0**power:g} s"
        lines.append(f'<path class="g" d="M{LEFT} {y(at)}h{SIDE_X}M{x(at)} {TOP}v{SIDE_Y}"/>'
                     f'<text x="{LEFT - 8}" y="{int(y(at)) + 4}" text-anchor="end">{label}</text>'
                     f'<text x="{x(at)}" y="{TOP + SIDE_Y + 18}" text-anchor="middle">{label}</text>')
    lines.append(f'<path class="g" stroke-dasharray="5 4" d="M{LEFT} {TOP + SIDE_Y}l{SIDE_X} {-SIDE_Y}"/>')
    for k, (name, _, colour) in enumerate(SOURCES):
        own = [run for run in runs if source_of(run[0]) == name]
        # Of runs alike one mark is enough.
        bars = sorted({f"M{x(m)} {y(low)}V{y(high)}" for _, m, _, low, high in own})
        dots = sorted({f"M{x(m)} {y(p)}h0" for _, m, p, _, _ in own})
        lines.append(f'<path stroke="{colour}" stroke-opacity=".25" d="{"".join(bars)}"/>')
        lines.append(f'<path stroke="{colour}" stroke-width="4" d="{"".join(dots)}"/>')
        lines.append(f'<path stroke="{colour}" stroke-width="8" d="M{LEFT + 22} {TOP + 20 + 20 * k}h0"/>'
                     f'<text x="{LEFT + 34}" y="{TOP + 24 + 20 * k}">{name}, {len(own)} runs</text>')
    lines.append(f'<text x="{LEFT + SIDE_X - 8}" y="{TOP + SIDE_Y - 10}" text-anchor="end">'
                 f'{len(runs):,} measured steps; upwards as predicted, {100 * error:.1f} % off</text>')
    return "\n".join([*lines, "</svg>", ""])
