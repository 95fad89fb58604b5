"""Arguments of the functions of the package, checked by name: whatever is a number counts as one."""

from __future__ import annotations

import functools
import inspect
import operator
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from ._errors import InputError

Function = TypeVar("Function", bound=Callable)

LARGEST_COUNT = 2**63 - 1


def _wrong(name: str, expected: str, value: Any) -> TypeError:
    return TypeError(f"{name}: expected {expected}, got {value!r}")


def named(function: Function) -> Function:
    """A value that stands where only names are taken is refused with the names there are."""
    kinds = inspect.signature(function).parameters.values()
    places = [one.name for one in kinds if one.kind is one.POSITIONAL_OR_KEYWORD]
    names = [one.name for one in kinds if one.kind is one.KEYWORD_ONLY]

    @functools.wraps(function)
    def call(*values: Any, **named_values: Any) -> Any:
        if len(values) > len(places):
            raise TypeError(f"{function.__name__}: {values[len(places)]!r} stands behind "
                            f"{' and '.join(places)} without its name, expected one of "
                            + ", ".join(f"{name}=" for name in names))
        return function(*values, **named_values)

    return call  # type: ignore[return-value]


def whole(name: str, value: Any) -> int:
    """Any integer, as those of numpy; no text and no truth value."""
    if isinstance(value, bool):
        raise _wrong(name, "a whole number", value)
    try:
        return operator.index(value)
    except TypeError:
        raise _wrong(name, "a whole number", value) from None


def count(name: str, value: Any, most: int = LARGEST_COUNT) -> int:
    number = whole(name, value)
    if not 1 <= number <= most:
        raise InputError(f"{name}: expected a whole number from 1 to {most}, got {number}")
    return number


def real(name: str, value: Any) -> float:
    """Any number, as those of numpy."""
    is_number = hasattr(type(value), "__float__") or hasattr(type(value), "__index__")
    if isinstance(value, bool) or not is_number:
        raise _wrong(name, "a number", value)
    try:
        return float(value)
    except (TypeError, ValueError):  # as of an array
        raise _wrong(name, "a number", value) from None
    except OverflowError:
        raise InputError(f"{name}: expected a smaller number, got {value}") from None


def flag(name: str, value: Any) -> bool:
    """True and False, those of numpy included."""
    if not hasattr(type(value), "__bool__") or value not in (True, False):
        raise _wrong(name, "True or False", value)
    return bool(value)


def listener(name: str, value: Any) -> Any:
    if value is not None and not callable(value):
        raise _wrong(name, "a function", value)
    return value


def path(name: str, value: Any, expected: str = "the name of a file") -> str:
    try:
        return os.fsdecode(value)
    except TypeError:
        raise _wrong(name, expected, value) from None


def texts(name: str, values: Iterable[str]) -> list[str]:
    """A list, as one text would be taken for a list of letters."""
    expected = "a list of texts"
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise _wrong(name, expected, values)
    found = list(values)
    for value in found:
        if not isinstance(value, str):
            raise _wrong(name, expected, found)
    return found


def plain(value: Any) -> Any:
    """For json.dumps(default=): numbers and arrays of numpy, names of files, other mappings."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if hasattr(value, "tolist"):
        return value.tolist()
    for convert in (operator.index, float):
        try:
            return convert(value)
        except (TypeError, ValueError):
            pass
    raise TypeError(f"config: expected numbers, texts, lists and dictionaries, got {value!r}")
