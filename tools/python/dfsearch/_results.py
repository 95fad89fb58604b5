"""What searches, studies and predictions answer."""

from __future__ import annotations

import html
import json
import os
from collections.abc import Iterator
from typing import Any


def _pandas() -> Any:
    try:
        import pandas
    except ImportError as error:
        raise ImportError("frame() needs pandas (python3-pandas)") from error
    return pandas


def _axes(axes: Any) -> Any:
    if axes is not None:
        return axes
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError("plot() needs matplotlib (python3-matplotlib)") from error
    return pyplot.subplots()[1]


def _flat(value: dict, prefix: str = "") -> dict:
    """Keys with dots in place of nested dictionaries; lists of values stay."""
    flat: dict = {}
    for key, inner in value.items():
        if isinstance(inner, dict):
            flat.update(_flat(inner, f"{prefix}{key}."))
        elif not (isinstance(inner, list) and inner and isinstance(inner[0], (dict, list))):
            flat[prefix + key] = inner
    return flat


class _Answered:
    """An answer of the program, with its report and its page."""

    def __init__(self, answer: Any):
        self._answer = answer

    @property
    def report(self) -> str:
        """The text that the program prints."""
        return self._answer.report

    @property
    def page(self) -> str:
        """The page of the program: one file, no network."""
        return self._answer.page()

    def __str__(self) -> str:
        return self.report

    def _repr_html_(self) -> str:
        return (f'<iframe srcdoc="{html.escape(self.page)}" style="width: 100%; height: 700px; '
                'border: 1px solid #ccc" title="dfsearch"></iframe>')


class Result(_Answered):
    """The answer of a search or an evaluation; times in seconds, sizes in bytes."""

    # Keys of the answer (docs/results.md) as attributes.
    status: str  # optimal, feasible, infeasible or no_solution
    stopped_by: str | None  # the limit that ended the search, `signal` for Ctrl-C
    scope: list  # decisions that were fixed beforehand; the proof is for these alone
    objective: float | None
    gap: float | None  # (objective - bound) / objective
    step_time: float | None  # None of deployments and where nothing fits
    utilization: float | None

    def __init__(self, answer: Any):
        super().__init__(answer)
        self._values: dict = json.loads(answer.json)

    def __getattr__(self, name: str) -> Any:
        if name not in Result.__annotations__:
            raise AttributeError(f"Result has no attribute '{name}'")
        return self._values.get(name)

    def to_dict(self) -> dict:
        """The whole answer, with the keys of docs/results.md."""
        return json.loads(self._answer.json)

    def __getitem__(self, key: str) -> Any:
        return self._values[key]

    def __contains__(self, key: str) -> bool:
        return key in self._values

    def keys(self) -> Iterator[str]:
        return iter(self._values)

    @property
    def proved(self) -> bool:
        """Whether nothing within `scope` is better, or whether nothing fits."""
        return self.status in ("optimal", "infeasible") and not self.stopped_by

    @property
    def bound(self) -> float | None:
        """No answer has a better objective."""
        return self._values.get("lower_bound")

    @property
    def front(self) -> list:
        """The points of a front of deployments, the fastest for a user first."""
        return (self._values.get("serving") or {}).get("front", [])

    @property
    def notes(self) -> list[str]:
        """On how the files that were given were taken, such as arguments that are nearly known; the
        report begins with them."""
        return list(self._answer.notes)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the page for .html, else the JSON."""
        text = self.page if os.fspath(path).endswith(".html") else self._answer.json
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def frame(self) -> Any:
        """A pandas.DataFrame: the points of a front, the partitions of a mapping, or the answers of
        `top`, a row each."""
        rows = self.front or self._values.get("partitions") or self._values.get("top") or []
        return _pandas().DataFrame([_flat(row) for row in rows] or [_flat(self._values)])

    def times(self) -> dict:
        """Where the time goes, by part: seconds, of mappings shares of the step."""
        values = self._values
        serving = values.get("serving")
        if serving:
            return (serving.get("breakdown") or {}).get("iteration", {})
        return values.get("time") or values.get("time_shares") or {}

    def plot(self, axes: Any = None) -> Any:
        """The front as a stair, or where the time goes as bars; returns the axes of matplotlib."""
        axes = _axes(axes)
        if self.front:
            other = self._values["serving"].get("front_axis", "throughput_per_chip")
            key = "dollars_per_mtoken" if other == "cost" else "tokens_per_s_per_chip"
            axes.step([p["tokens_per_s_per_user"] for p in self.front],
                      [p[key] for p in self.front], where="post", marker="o")
            axes.set_xlabel("tokens/s of a user")
            axes.set_ylabel("$ for a million tokens" if other == "cost" else "tokens/s of a chip")
            return axes
        parts = {name: time for name, time in self.times().items() if time}
        axes.bar(list(parts), list(parts.values()))
        axes.set_ylabel("share of the step" if "time_shares" in self._values else "s")
        axes.tick_params(axis="x", rotation=45)
        return axes

    def __repr__(self) -> str:
        words = self.status if not self.stopped_by else f"{self.status}, {self.stopped_by}"
        if self.step_time is not None:
            return f"<dfsearch.Result {words}, step {self.step_time:.6g} s, gap {self.gap:.2g}>"
        return f"<dfsearch.Result {words}>"


class Study(_Answered):
    """The answered points of a study, and its front."""

    def __init__(self, answer: Any):
        super().__init__(answer)
        self.rows: list[dict] = [json.loads(row) for row in answer.rows]
        self.front: list[dict] = json.loads(answer.front)["points"]
        self.summary: dict = json.loads(answer.study)

    @property
    def proved(self) -> bool:
        """Whether every point that had to be solved has a proof."""
        return bool(self.summary["complete"]) and self.summary["unproved"] == 0

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the page."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.page)

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        return (f"<dfsearch.Study: {len(self.rows)} points, {len(self.front)} on the front"
                f"{', proved' if self.proved else ''}>")

    def frame(self) -> Any:
        """A pandas.DataFrame with a row for each answered point; axes have their names, as in
        results.csv."""
        return _pandas().DataFrame([self._columns(row) for row in self.rows])

    def _columns(self, row: dict) -> dict:
        """Labels of axes, as numbers where all of an axis are; then the other keys of a row."""
        columns: dict = {}
        for axis in self.summary["axes"]:
            label = row["point"][axis["name"]]
            if all(isinstance(_number(each), float) for each in axis["labels"]):
                number = float(label)
                label = int(number) if number.is_integer() else number
            columns[axis["name"]] = label
        return {**columns, **_flat({key: row[key] for key in row if key != "point"})}

    def plot(self, x: str, y: str, axes: Any = None) -> Any:
        """Two figures of all points, those of the front marked; returns the axes of matplotlib."""
        axes = _axes(axes)
        for points, marker in ((self.rows, "."), (self.front, "o")):
            flat = [self._columns(row) for row in points]
            flat = [row for row in flat if row.get(x) is not None and row.get(y) is not None]
            axes.plot([row[x] for row in flat], [row[y] for row in flat], marker, linestyle="none")
        axes.set_xlabel(x)
        axes.set_ylabel(y)
        return axes


class Predictions(list):
    """A dictionary for each row of a table of runs, with numbers where there are some."""

    def __init__(self, rows: list[dict]):
        super().__init__({key: _number(cell) for key, cell in row.items()} for row in rows)

    def frame(self) -> Any:
        """A pandas.DataFrame with a row for each run."""
        return _pandas().DataFrame(list(self))


def _number(cell: str) -> float | str | None:
    if cell == "":
        return None
    try:
        return float(cell)
    except ValueError:
        return cell
