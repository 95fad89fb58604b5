"""Draws figure 8 of DFModel again, docs/images/paper_fig8.svg, for `./dev papers`: steps by their
parts, as in the paper, beside Calculon's.  The other figures are in
paper_figures.py, or pages draw them (gallery.py).
"""

import math

import published_configs

FILE = published_configs.ROOT / "docs" / "images" / "paper_fig8.svg"
WIDTH, HEIGHT, LEFT, TOP, SIDE_X, SIDE_Y = 660, 350, 62, 14, 560, 280
GREY = "#5c6778"
COLOURS = {"forward": "#3d6fd1", "backward": "#d97a1e", "weights": "#17967a", "tensor": "#a6519d",
           "data": "#8d94a5", "pipeline": "#c4565b", "bubble": "#7a6a1e", "Calculon": GREY}


def bars(runs):
    """What a step is spent on, beside the step by Calculon's equations."""
    top = 20 * math.ceil(max(max(bar["step"], bar["calculon"]) for bar in runs.bars) / 20) + 20
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
             'font-family="sans-serif" font-size="13">',
             "<style>text{fill:#5c6778}.g{stroke:#5c677855}path{fill:none;stroke-linecap:round}"
             "@media(prefers-color-scheme:dark){text{fill:#9ba6b7}}</style>",
             "<title>Validation against Calculon (DFModel, Fig. 8): seconds of a step of GPT3-1T on"
             " 4,096 A100 by tensor, pipeline and data degrees</title>"]

    def at_y(value):
        return round(TOP + SIDE_Y - SIDE_Y * value / top)

    def text(x, y, words, anchor="middle"):
        lines.append(f'<text x="{x}" y="{y}" text-anchor="{anchor}">{words}</text>')

    for tick in range(0, top + 1, 20):
        lines.append(f'<path class="g" d="M{LEFT} {at_y(tick)}h{SIDE_X}"/>')
        text(LEFT - 8, at_y(tick) + 4, f"{tick} s", "end")
    for i, bar in enumerate(runs.bars):
        x, low = round(LEFT + SIDE_X * (i + 0.5) / len(runs.bars)), 0
        for part, colour in COLOURS.items():
            high = low + bar["parts"].get(part, 0)
            if high > low:
                lines.append(f'<path stroke="{colour}" stroke-width="16" '
                             f'style="stroke-linecap:butt" d="M{x} {at_y(low)}V{at_y(high)}"/>')
            low = high
        lines.append(f'<path stroke="{GREY}" stroke-width="8" d="M{x} {at_y(bar["calculon"])}h0"/>')
        for row, degree in enumerate(bar["degrees"]):
            text(x, TOP + SIDE_Y + 16 + 14 * row, str(degree))
    for i, (part, colour) in enumerate(COLOURS.items()):
        x, y = LEFT + 190 + 120 * (i % 3), TOP + 20 + 20 * (i // 3)
        lines.append(f'<path stroke="{colour}" stroke-width="8" d="M{x} {y}h0"/>')
        text(x + 12, y + 4, part, "start")
    return "\n".join([*lines, "</svg>", ""])
