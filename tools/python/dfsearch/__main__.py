"""python3 -m dfsearch import MODEL.onnx: a model of ONNX as a config, in JSON."""

from __future__ import annotations

import argparse
import json
import pathlib
import sys
import warnings

from . import InputError, read_onnx
from ._errors import printable


def _size(text: str) -> tuple[str, int]:
    name, separator, number = text.rpartition("=")
    if not separator or not number.isdigit():
        raise argparse.ArgumentTypeError(f"expected NAME=N, got '{text}'")
    return name, int(number)


def _write(text: str, output: str) -> None:
    if output == "-":
        sys.stdout.write(text)
        return
    part = pathlib.Path(output + ".part")
    part.write_text(text)
    part.replace(output)


def main() -> int:
    top = argparse.ArgumentParser(prog="python3 -m dfsearch")
    parser = top.add_subparsers(required=True, metavar="import").add_parser(
        "import", help="a model of ONNX as a config, in JSON")
    parser.add_argument("model", help="a file of ONNX")
    parser.add_argument("--size", action="append", default=[], type=_size, metavar="NAME=N",
                        help="of a dimension that the model names; repeatable")
    parser.add_argument("--sequence", type=int, help="the extent that is cut into tiles")
    parser.add_argument("--unknown", choices=("refuse", "elementwise"), default="refuse",
                        help="what becomes of operators that are not known")
    parser.add_argument("--system", help="of the shelf (dfsearch list systems), for a whole config")
    parser.add_argument("-o", "--output", default="-", help="where to write it (-)")
    given = top.parse_args()
    try:
        with warnings.catch_warnings(record=True) as notes:
            warnings.simplefilter("always", UserWarning)
            config = read_onnx(given.model, sizes=dict(given.size), sequence=given.sequence,
                               unknown=given.unknown)
        for note in notes:
            print(printable(f"{given.model}: note: {note.message}"), file=sys.stderr)
        if given.system:
            config["system"] = {"from": given.system}
        _write(json.dumps(config, indent=1) + "\n", given.output)
    except (InputError, OSError) as error:
        for line in str(error).splitlines():
            named = line if line.startswith(given.model) else f"{given.model}: {line}"
            print(printable(named), file=sys.stderr)
        return 2
    except ImportError as error:
        print(printable(f"{given.model}: {error}"), file=sys.stderr)
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main())
