"""A chart of points, lines or boxes as SVG text, for pictures that no page of the program draws.

Colours of text and grid suit light and dark pages.  Places are rounded to a tenth of a unit
of the picture, so that the same figures always make the same text.
"""

import html
import math

BLUE, ORANGE, GREEN, PURPLE, GREY, RED = ("#3d6fd1", "#d97a1e", "#17967a", "#a6519d", "#5c6778",
                                          "#c4565b")
SIZE = 660, 350
LEFT, TOP, RIGHT, BOTTOM = 70, 16, 626, 296


class Axis:
    """From values to places: logarithmic, or linear from 0 on."""

    def __init__(self, first, last, begin, end, ticks, log=True):
        self.first, self.last, self.begin, self.end = first, last, begin, end
        self.ticks, self.log = ticks, log

    def at(self, value):
        def scaled(each):
            return math.log(each) if self.log else each

        share = (scaled(value) - scaled(self.first)) / (scaled(self.last) - scaled(self.first))
        place = round(self.begin + share * (self.end - self.begin), 1)
        return int(place) if place == int(place) else place


def across(first, last, ticks, log=True):
    """Ticks are pairs of a value and its label."""
    return Axis(first, last, LEFT, RIGHT, ticks, log)


def upwards(first, last, ticks, log=True):
    return Axis(first, last, BOTTOM, TOP, ticks, log)


def text(x, y, words, anchor="middle"):
    side = f' text-anchor="{anchor}"' if anchor else ""
    return f'<text x="{x}" y="{y}"{side}>{html.escape(words)}</text>'


def path(steps, colour, width=2, style=""):
    return f'<path stroke="{colour}" stroke-width="{width}"{style} d="{steps}"/>'


def dash_style(dash):
    return f' stroke-dasharray="{dash}"' if dash else ""


def butt_path(steps, colour, width):
    """A bar: a path whose ends are flat."""
    return path(steps, colour, width, ' style="stroke-linecap:butt"')


def grid(steps, style=""):
    return f'<path class="g"{style} d="{steps}"/>'


class Picture:
    """Lines of SVG text below a title."""

    def __init__(self, title, size=SIZE):
        self.lines = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size[0]} {size[1]}" '
            'font-family="sans-serif" font-size="13">',
            "<style>text{fill:#5c6778}.g{stroke:#5c677855}path{fill:none;stroke-linecap:round}"
            "@media(prefers-color-scheme:dark){text{fill:#9ba6b7}}</style>",
            f"<title>{html.escape(title)}</title>"]

    def add(self, *tags):
        """The tags in one line."""
        self.lines.append("".join(tags))

    def text(self, x, y, words, anchor="middle"):
        self.add(text(x, y, words, anchor))

    def whole(self):
        return "\n".join([*self.lines, "</svg>", ""])


class Chart(Picture):
    def __init__(self, title, x, y, x_name, y_name):
        super().__init__(title)
        self.x, self.y = x, y
        for value, label in y.ticks:
            self.add(grid(f"M{LEFT} {y.at(value)}H{RIGHT}"))
            self.text(LEFT - 8, y.at(value) + 4, label, "end")
        for value, label in x.ticks:
            self.text(x.at(value), BOTTOM + 18, label)
        self.name_across(x_name, (LEFT + RIGHT) // 2)
        self.text(LEFT + 6, TOP + 12, y_name, "start")

    def name_across(self, words, x):
        self.text(x, BOTTOM + 40, words)

    def path(self, steps, colour, width=2, dash=""):
        self.add(path(steps, colour, width, dash_style(dash)))

    def line(self, points, colour, dash=""):
        places = [f"{self.x.at(x)} {self.y.at(y)}" for x, y in points]
        self.path("M" + "L".join(places), colour, dash=dash)

    def points(self, points, colour, width=8):
        """One path of dots; those in one place are one."""
        places = dict.fromkeys(f"M{self.x.at(x)} {self.y.at(y)}h0" for x, y in points)
        self.path("".join(places), colour, width)

    def box(self, x, quartiles, colour, width=14):
        """Whiskers from the least to the greatest value, a box between the outer quartiles."""
        least, low, median, high, greatest = (self.y.at(value) for value in quartiles)
        self.path(f"M{x} {least}V{low}M{x} {high}V{greatest}", colour)
        half = width // 2
        self.path(f"M{x - half} {low}h{width}V{high}h{-width}Z", colour)
        self.path(f"M{x - half} {median}h{width}", colour, 3)

    def bar(self, x, value, colour, width=26):
        self.add(butt_path(f"M{x} {BOTTOM}V{self.y.at(value)}", colour, width))

    def key(self, entries, x, y):
        """Names beside their colours, one below the other; an entry may have a dash."""
        for i, (name, colour, *dash) in enumerate(entries):
            row = y + 19 * i
            if dash:
                self.path(f"M{x - 10} {row}h20", colour, dash=dash[0])
            else:
                self.path(f"M{x} {row}h0", colour, 8)
            self.text(x + 16, row + 4, name, "start")
