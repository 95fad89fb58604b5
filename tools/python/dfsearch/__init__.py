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

from . import _arguments, _dfsearch
from ._arguments import named
from ._errors import InputError
from ._results import Predictions, Result, Study
from ._graphs import read_torch
from ._onnx import read_onnx

__all__ = ["InputError", "Predictions", "Result", "Study", "chip", "evaluate", "predict",
           "read_onnx", "read_torch", "solve", "study"]
__version__: str = _dfsearch.__version__

Config = Union[Mapping[str, Any], str, "os.PathLike[str]"]
Listener = Callable[[dict], None]

_A_CONFIG = "the name of a file or a dictionary"


def _changes(changes: Mapping[str, Any] | Iterable[str] | None) -> list[str]:
    if changes is None:
        return []
    if isinstance(changes, str):
        raise TypeError("changes: expected a dictionary or a list of KEY=VALUE, got one text")
    if isinstance(changes, Mapping):
        return [f"{key}={value if isinstance(value, str) else _json(value)}"
                for key, value in changes.items()]
    return _arguments.texts("changes", changes)


def _json(value: Any) -> str:
    return json.dumps(value, default=_arguments.plain)


def _text(config: Config) -> str:
    """That of a dictionary or of several lines; empty for a file."""
    if isinstance(config, Mapping):
        return _json(config)
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
    file = _arguments.path("config", config, _A_CONFIG)
    if file.endswith(".onnx"):
        return _dfsearch.load_text(json.dumps(read_onnx(file)), f"{file} (as imported)", given)
    return _dfsearch.load_file(file, given)


def _threads(threads: int | None) -> int:
    if threads is None:
        threads = len(os.sched_getaffinity(0))
    return _arguments.count("threads", threads, most=1024)


def _limit(time_limit: float | None) -> float | None:
    if time_limit is None:
        return None
    seconds = _arguments.real("time_limit", time_limit)
    if not seconds >= 0:
        raise InputError(f"time_limit: expected seconds from 0, got {seconds}")
    return seconds


def _gap(gap: float | None) -> float | None:
    if gap is None:
        return None
    share = _arguments.real("gap", gap)
    if not 0 <= share <= 1:
        raise InputError(f"gap: expected a number from 0 to 1, got {share}")
    return share


def _as_events(name: str, listener: Listener | None) -> Callable[[str], None] | None:
    if _arguments.listener(name, listener) is None:
        return None
    return lambda line: listener(json.loads(line))


def _with_file(name: str, value: Any, call: Callable[[str], Any]) -> Any:
    """Calls with the name of a file that has the value: one that is there, or one without a name of
    its own, which nothing that ends the process leaves behind."""
    if isinstance(value, Result):
        value = value.to_dict()
    if not isinstance(value, Mapping):
        return call(_arguments.path(name, value, f"a result, {_A_CONFIG}"))
    with tempfile.TemporaryFile("w") as file:
        file.write(_json(value))
        file.flush()
        return call(f"/proc/self/fd/{file.fileno()}")


@named
def solve(config: Config, *, changes: Mapping[str, Any] | Iterable[str] | None = None,
          threads: int | None = None, time_limit: float | None = None, gap: float | None = None,
          nodes: int | None = None, top: int = 1, deterministic: bool = False,
          count: bool = False, robust: bool = False, what_if: bool = False,
          hint: Result | Config | None = None, on_progress: Listener | None = None) -> Result:
    """Finds the best answer and proves that it is.

    config         a file, a text in YAML, or a dictionary; a file may be a model of Hugging Face or
                   ONNX or a trace of Chakra, with the machine in `changes`
    changes        values in place of its own: {"system.chips": 64}
    threads        all that the process may use, unless given
    time_limit     seconds, of the search; the best answer so far is returned
    gap            stop once (objective - bound) / objective is at most this
    nodes          stop after this number of nodes of the search
    top            number of best parallelisms, each with its best answer
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
    limits = (_threads(threads), _limit(time_limit), _gap(gap),
              None if nodes is None else _arguments.count("nodes", nodes),
              _arguments.count("top", top))
    flags = [_arguments.flag(*each) for each in (
        ("deterministic", deterministic), ("count", count), ("robust", robust),
        ("what_if", what_if))]
    events = _as_events("on_progress", on_progress)
    loaded = _load(config, changes)

    def run(file: str) -> Any:
        return _dfsearch.solve(loaded, *limits, *flags, file, events)

    return Result(run("") if hint is None else _with_file("hint", hint, run))


@named
def evaluate(config: Config, answer: Result | Config, *,
             changes: Mapping[str, Any] | Iterable[str] | None = None) -> Result:
    """What the model says of a given mapping, plan or deployment, without a search.

    answer    a result, a dictionary with the keys of one, or a file
    """
    loaded = _load(config, changes)
    return Result(_with_file("answer", answer, lambda file: _dfsearch.evaluate(loaded, file)))


@named
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
    name = "" if text else _arguments.path("file", file, _A_CONFIG)
    asked = (_threads(threads), _limit(time_limit), _arguments.flag("all", all),
             _arguments.texts("only", only), _as_events("on_point", on_point))

    def run() -> Any:
        return _dfsearch.study(name, text, *asked)

    return Study(_of_dictionary(run) if isinstance(file, Mapping) else run())


@named
def predict(table: str | os.PathLike[str], *,
            stacks: str | os.PathLike[str] = "") -> Predictions:
    """Step times of measured training runs, or TTFT and TPOT of measured deployments.

    table     a file of comma-separated values (docs/truth.md, section 8)
    stacks    a folder whose stacks and curves go before those of the shelf
    """
    folder = _arguments.path("stacks", stacks, "the name of a folder")
    if folder and not os.path.isdir(folder):
        raise InputError(f"stacks: there is no folder '{folder}'")
    text, unread = _dfsearch.predict(_arguments.path("table", table), folder)
    for line in unread.splitlines():
        warnings.warn(line, stacklevel=2)
    return Predictions(list(csv.DictReader(io.StringIO(text))))


@named
def chip(config: str | os.PathLike[str], *,
         changes: Mapping[str, Any] | Iterable[str] | None = None) -> dict:
    """The chip that a technology and its budgets give (docs/technology.md)."""
    return json.loads(_dfsearch.chip(_arguments.path("config", config), _changes(changes)))
