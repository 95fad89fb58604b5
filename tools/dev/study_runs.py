"""The studies of configs/studies/ as `dfsearch study` runs them."""

import dataclasses
import functools
import json
import pathlib
import subprocess
import tempfile
import time

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "configs" / "studies"


@dataclasses.dataclass(frozen=True)
class Run:
    rows: dict   # result by the labels of a point, in the order of the axes
    time: float  # of the whole process, in seconds
    ratios: dict  # those of study.json, by name

    def __getitem__(self, labels):
        return self.rows[labels]


@functools.cache
def run(program, name):
    """All points of a study.  Raises RuntimeError if one is not proved."""
    begin = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [program, "study", FOLDER / f"{name}.yaml", "-o", folder, "--threads", "2", "--quiet"],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600, check=False)
        taken = time.perf_counter() - begin
        if done.returncode != 0:
            raise RuntimeError(f"{name}: exit status {done.returncode}\n{done.stderr}")
        lines = pathlib.Path(folder, "results.ndjson").read_text(encoding="utf-8").splitlines()
        state = json.loads(pathlib.Path(folder, "study.json").read_text(encoding="utf-8"))
    rows = {}
    for row in sorted(map(json.loads, lines), key=lambda row: row["index"]):
        labels = tuple(row["point"].values())
        if row["status"] != "optimal" or row["gap"] != 0:
            raise RuntimeError(f"{name}: {', '.join(labels)}: {row['status']}, gap {row['gap']}")
        rows[labels] = row
    return Run(rows, taken, {ratio["name"]: ratio for ratio in state["ratios"]})


def shown(name, **labels):
    """A part of a study as one would type it."""
    only = ",".join(f"{axis}={label}" for axis, label in labels.items())
    choice = f" --only '{only}'" if only else ""
    return f"`dfsearch study configs/studies/{name}.yaml -o DIR{choice}`"
