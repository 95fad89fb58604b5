"""Draws figures of the two papers again, docs/images/paper_*.svg, for `./dev papers`: in the axes of
the paper, of what dfsearch gives.
"""

import math

import paper_cases
import published_configs

FOLDER = published_configs.ROOT / "docs" / "images"
WIDTH, HEIGHT, LEFT, TOP, SIDE_X, SIDE_Y = 660, 350, 62, 14, 560, 280
COLOURS = ("#3d6fd1", "#d97a1e", "#17967a", "#a6519d", "#8d94a5", "#c4565b", "#7a6a1e")
ROOFLINES = {"kernel by kernel": 35, "vendor's": 36, "DFModel's on a ring": 37,
             "DFModel's on a torus": 38}
STACKED_CHIPS = 8  # of Fig. 22
PARTS = ("forward", "backward", "weights", "tensor", "data", "pipeline", "bubble")


class Axis:
    """Ticks between two ends, by the logarithm if the first is not 0."""

    def __init__(self, least, most, ticks, unit=""):
        self.least, self.most, self.ticks, self.unit = least, most, ticks, unit

    def share(self, value):
        if self.least > 0:
            return math.log(value / self.least) / math.log(self.most / self.least)
        return value / self.most


class Plot:
    def __init__(self, title, x, y):
        self.x, self.y = x, y
        self.keys = 0
        self.lines = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
            'font-family="sans-serif" font-size="13">',
            "<style>text{fill:#5c6778}.g{stroke:#5c677855}path{fill:none;stroke-linecap:round}"
            "@media(prefers-color-scheme:dark){text{fill:#9ba6b7}}</style>",
            f"<title>{title}</title>"]
        for tick in x.ticks:
            self.lines.append(f'<path class="g" d="M{self.at_x(tick)} {TOP}v{SIDE_Y}"/>')
            self.text(self.at_x(tick), TOP + SIDE_Y + 18, f"{tick:,g}{x.unit}")
        for tick in y.ticks:
            self.lines.append(f'<path class="g" d="M{LEFT} {self.at_y(tick)}h{SIDE_X}"/>')
            self.text(LEFT - 8, self.at_y(tick) + 4, f"{tick:,g}{y.unit}", "end")

    def at_x(self, value):
        return round(LEFT + SIDE_X * self.x.share(value))

    def at_y(self, value):
        return round(TOP + SIDE_Y - SIDE_Y * self.y.share(value))

    def text(self, x, y, words, anchor="middle"):
        self.lines.append(f'<text x="{x}" y="{y}" text-anchor="{anchor}">{words}</text>')

    def line(self, points, colour, marks=True, width=2):
        path = "L".join(f"{self.at_x(x)} {self.at_y(y)}" for x, y in points)
        self.lines.append(f'<path stroke="{colour}" stroke-width="{width}" d="M{path}"/>')
        if marks:
            self.marks(points, colour)

    def marks(self, points, colour):
        path = "".join(f"M{self.at_x(x)} {self.at_y(y)}h0" for x, y in points)
        self.lines.append(f'<path stroke="{colour}" stroke-width="8" d="{path}"/>')

    def bar(self, x, low, high, colour, width):
        top, bottom = self.at_y(high), self.at_y(low)
        self.lines.append(f'<path stroke="{colour}" stroke-width="{width}" '
                          f'style="stroke-linecap:butt" d="M{self.at_x(x)} {bottom}V{top}"/>')

    def key(self, words, colour, x=LEFT + 22, columns=1):
        x += 120 * (self.keys % columns)
        y = TOP + 20 + 20 * (self.keys // columns)
        self.keys += 1
        self.lines.append(f'<path stroke="{colour}" stroke-width="8" d="M{x} {y}h0"/>')
        self.text(x + 12, y + 4, words, "start")

    def whole(self):
        return "\n".join([*self.lines, "</svg>", ""])


def roofline(program):
    """Fig. 18: a mapping stands twice at one height, over its FLOP for a byte of either."""
    plot = Plot("Mappings in a hierarchical roofline (DFModel, Fig. 18): TFLOP/s of a chip over FLOP "
                "for a byte", Axis(100, 30000, (100, 300, 1000, 3000, 10000, 30000)),
                Axis(10, 500, (10, 30, 100, 300), " T"))
    machine = None
    for (name, number), colour in zip(ROOFLINES.items(), COLOURS):
        found, machine = paper_cases.roofline_of(program, number)
        points = [(found[f"flop_per_{kind}_byte"], found["tflops"])
                  for kind in ("memory", "network")]
        plot.line(points, colour, width=1)
        plot.key(name, colour)
    peak = machine["peak"] / 1e12
    for kind, bandwidth in (("memory", machine["memory"]["bandwidth"]),
                            ("network", machine["network"][0]["bandwidth"])):
        ridge = machine["peak"] / bandwidth
        low = max(plot.x.least, 1e13 / bandwidth)
        plot.line([(low, low * bandwidth / 1e12), (ridge, peak), (plot.x.most, peak)], "#5c6778",
                  marks=False)
        plot.text(plot.at_x(ridge), plot.at_y(peak) - 8, kind)
    return plot.whole()


def rails(runs):
    """Fig. 7: the step over the size of the domain."""
    rows = runs.study("rail_only").rows
    domains = sorted({int(domain) for _, domain in rows})
    steps = [row["step_time"] for row in rows.values()]
    plot = Plot("Rail-Only (DFModel, Fig. 7): seconds of a step over the chips of a domain",
                Axis(domains[0], domains[-1], domains),
                Axis(0, math.ceil(max(steps)), range(0, math.ceil(max(steps)) + 1, 2), " s"))
    for rule, colour in zip(sorted({rule for rule, _ in rows}), COLOURS):
        plot.line([(domain, rows[rule, str(domain)]["step_time"]) for domain in domains], colour)
        plot.key(rule, colour, LEFT + SIDE_X - 110)
    return plot.whole()


def bars(runs):
    """Fig. 8: what a step is spent on, beside the step by Calculon's equations."""
    most = max(max(bar["step"], bar["calculon"]) for bar in runs.bars)
    top = 20 * math.ceil(most / 20) + 20  # for the key
    plot = Plot("Validation against Calculon (DFModel, Fig. 8): seconds of a step of GPT3-1T on 4,096"
                " A100 by tensor, pipeline and data degrees", Axis(0, len(runs.bars), ()),
                Axis(0, top, range(0, top + 1, 20), " s"))
    for i, bar in enumerate(runs.bars):
        low = 0
        for part, colour in zip(PARTS, COLOURS):
            high = low + bar["parts"][part]
            plot.bar(i + 0.5, low, high, colour, 16)
            low = high
        plot.marks([(i + 0.5, bar["calculon"])], "#5c6778")
        for row, degree in enumerate(bar["degrees"]):
            plot.text(plot.at_x(i + 0.5), TOP + SIDE_Y + 16 + 14 * row, str(degree))
    for part, colour in zip((*PARTS, "Calculon"), (*COLOURS, "#5c6778")):
        plot.key(part, colour, LEFT + 190, columns=3)
    return plot.whole()


def stacked_memory(runs):
    """Fig. 22: TFLOP/s of a chip over the share of its area that cores have."""
    rows = {(memory, float(share)): row for (pieces, memory, share), row
            in runs.study("memory_3d").rows.items() if pieces == "published"}
    plot = Plot("Memory beside, on and over the chip (DFModel, Fig. 22): TFLOP/s of a chip over the "
                "share of cores", Axis(0, 1, (0.2, 0.35, 0.5, 0.65, 0.8)),
                Axis(10, 2000, (10, 30, 100, 300, 1000), " T"))
    for memory, colour in zip(sorted({memory for memory, _ in rows}, key=lambda of: float(of[:-1])), COLOURS):
        points = sorted((share, row["flop"] / row["step_time"] / STACKED_CHIPS / 1e12)
                        for (of, share), row in rows.items() if of == memory)
        plot.line(points, colour)
        plot.key(memory, colour)
    return plot.whole()


def pictures(runs):
    """By name."""
    return {"paper_fig7": rails(runs), "paper_fig8": bars(runs),
            "paper_fig18": roofline(runs.program), "paper_fig22": stacked_memory(runs)}
