"""The best mapping, training plan or deployment of a workload on a machine, with a proof.

    import dfsearch
    result = dfsearch.solve("configs/gpt3_1t.yaml", threads=8)
    result.proved, result.step_time      # True, 78.99 (seconds)
    print(result)                        # the report of the program

Configs are files, names of the shelf, texts in YAML or dictionaries with the same keys
(docs/formats.md). Answers have
the keys of the program's JSON (docs/results.md): times in seconds, sizes in bytes, rates a second.
Searches run without the interpreter's lock; Ctrl-C ends them with the best answer so far.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
import tempfile
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Union

from . import _dfsearch
from ._errors import InputError
from ._results import Predictions, Result, Study
from ._graphs import read_onnx, read_torch

__all__ = ["InputError", "Predictions", "Result", "Study", "chip", "evaluate", "predict",
           "read_onnx", "read_torch", "solve", "study"]
__version__: str = _dfsearch.__version__

Config = Union[Mapping[str, Any], str, "os.PathLike[str]"]
Listener = Callable[[dict], None]


def _changes(changes: Mapping[str, Any] | Iterable[str] | None) -> list[str]:
    if changes is None:
        return []
    if isinstance(changes, str):
        raise TypeError("changes: expected a dictionary or a list of KEY=VALUE, got one text")
    if isinstance(changes, Mapping):
        return [f"{key}={value if isinstance(value, str) else json.dumps(value)}"
                for key, value in changes.items()]
    return list(changes)


def _text(config: Config) -> str:
    """That of a dictionary or of several lines; empty for a file."""
    if isinstance(config, Mapping):
        return json.dumps(config)
    is_text = isinstance(config, str) and ("\n" in config or config.lstrip().startswith("{"))
    return config if is_text else ""


def _of_dictionary(call: Callable[[], Any]) -> Any:
    """What is wrong with a dictionary stands in no line."""
    try:
        return call()
    except InputError as error:
        raise InputError([re.sub(r"^(config|study):\d+:\d+: ", "", message)
                          for message in error.messages]) from None


def _load(config: Config, changes: Mapping[str, Any] | Iterable[str] | None) -> Any:
    given = _changes(changes)
    text = _text(config)
    if isinstance(config, Mapping):
        return _of_dictionary(lambda: _dfsearch.load_text(text, "config", given))
    if text:
        return _dfsearch.load_text(text, "config", given)
    if os.fspath(config).endswith(".onnx"):
        return _dfsearch.load_text(json.dumps(read_onnx(config)),
                                   f"{os.fspath(config)} (as imported)", given)
    return _dfsearch.load_file(os.fspath(config), given)


def _threads(threads: int | None) -> int:
    count = len(os.sched_getaffinity(0)) if threads is None else threads
    if not 1 <= count <= 1024:
        raise InputError(f"threads: expected a whole number from 1 to 1024, got {count}")
    return count


def _count(name: str, value: int | None) -> int | None:
    if value is not None and value < 1:
        raise InputError(f"{name}: expected a whole number from 1, got {value}")
    return value


def _limit(time_limit: float | None) -> float | None:
    if time_limit is not None and not (isinstance(time_limit, (int, float)) and time_limit >= 0):
        raise InputError(f"time_limit: expected seconds from 0, got {time_limit!r}")
    return time_limit


def _as_events(listener: Listener | None) -> Callable[[str], None] | None:
    if listener is None:
        return None
    return lambda line: listener(json.loads(line))


def _with_file(value: Any, call: Callable[[str], Any]) -> Any:
    """Calls with the name of a file that has the value: one that is there, or a new one."""
    if isinstance(value, Result):
        value = value.to_dict()
    if not isinstance(value, Mapping):
        return call(os.fspath(value))
    with tempfile.NamedTemporaryFile("w", suffix=".json", prefix="dfsearch-") as file:
        json.dump(value, file)
        file.flush()
        return call(file.name)


def solve(config: Config, *, changes: Mapping[str, Any] | Iterable[str] | None = None,
          threads: int | None = None, time_limit: float | None = None, gap: float | None = None,
          nodes: int | None = None, top: int = 1, deterministic: bool = False,
          count: bool = False, robust: bool = False, what_if: bool = False,
          hint: Result | Config | None = None, on_progress: Listener | None = None) -> Result:
    """Finds the best answer and proves that it is.

    config         a file, a text in YAML, or a dictionary; a file may be a model of Hugging Face or
                   ONNX or a trace of Chakra, with the machine in `changes`
    changes        values in place of its own: {"system.chips": 64}
    threads        as many as the process may use, unless given
    time_limit     seconds, of the search; the best answer so far is returned
    gap            stop once (objective - bound) / objective is at most this
    nodes          stop after so many nodes of the search
    top            so many of the best parallelisms, each with its best answer
    deterministic  the same nodes for any number of threads
    count          of plans of Calculon and deployments: how many fit
    robust         of plans with a stack: the plan of least regret, too
    what_if        what a tenth more of each quantity of the machine brings: one search for each
    hint           an earlier result, its dictionary or its file, to begin from
    on_progress    called with events of the search (docs/results.md), from another thread, one at a
                   time; what it raises ends the search and is raised again

    Ctrl-C ends the search; the best so far is returned, and KeyboardInterrupt raised if there is
    none.
    """
    loaded = _load(config, changes)
    if gap is not None and not 0 <= gap <= 1:
        raise InputError(f"gap: expected a number from 0 to 1, got {gap}")

    def run(file: str) -> Any:
        return _dfsearch.solve(loaded, _threads(threads), _limit(time_limit), gap,
                               _count("nodes", nodes), _count("top", top), deterministic, count,
                               robust, what_if, file,
                               _as_events(on_progress))

    return Result(run("") if hint is None else _with_file(hint, run))


def evaluate(config: Config, answer: Result | Config, *,
             changes: Mapping[str, Any] | Iterable[str] | None = None) -> Result:
    """What the model says of a given mapping, plan or deployment, without a search.

    answer    a result, a dictionary with the keys of one, or a file
    """
    loaded = _load(config, changes)
    return Result(_with_file(answer, lambda file: _dfsearch.evaluate(loaded, file)))


def study(file: Config, *, threads: int | None = None,
          time_limit: float | None = None, all: bool = False, only: Iterable[str] = (),
          on_point: Listener | None = None) -> Study:
    """Solves the points of a study, or as many of them as its exact front needs.

    file        a file, a name of the shelf, a text in YAML, or a dictionary, whose `from` are files
                from here or names of the shelf, and whose `base` may be a whole config
    all         all points, and not only what the front needs
    only        the labels of an axis that stay: ["chip=h100,sn30"]
    on_point    called with each answered point, a row of results
    """
    text = _text(file)

    def run() -> Any:
        return _dfsearch.study("" if text else os.fspath(file), text, _threads(threads),
                               _limit(time_limit), all, list(only), _as_events(on_point))

    return Study(_of_dictionary(run) if isinstance(file, Mapping) else run())


def predict(table: str | os.PathLike[str], *,
            stacks: str | os.PathLike[str] = "") -> Predictions:
    """Step times of measured training runs, or TTFT and TPOT of measured deployments.

    table     a file of comma-separated values (docs/truth.md, section 8)
    stacks    a folder whose stacks and curves go before those of the shelf
    """
    if stacks and not os.path.isdir(stacks):
        raise InputError(f"stacks: there is no folder '{os.fspath(stacks)}'")
    text, unread = _dfsearch.predict(os.fspath(table), os.fspath(stacks))
    for line in unread.splitlines():
        warnings.warn(line, stacklevel=2)
    return Predictions(list(csv.DictReader(io.StringIO(text))))


def chip(config: str | os.PathLike[str], *,
         changes: Mapping[str, Any] | Iterable[str] | None = None) -> dict:
    """The chip that a technology and its budgets give (docs/technology.md)."""
    return json.loads(_dfsearch.chip(os.fspath(config), _changes(changes)))
