#!/usr/bin/env python3
"""The notebooks of docs/ run from top to bottom and print what they show.

usage: notebook_test.py DFSEARCH [--write], with the package in PYTHONPATH

A cell with the tag `plot` needs matplotlib and is passed over without it; its picture is not kept.
"""

import contextlib
import importlib.util
import io
import json
import os
import pathlib
import sys
import tempfile
import unittest

WRITE = "--write" in sys.argv
sys.argv = [word for word in sys.argv if word != "--write"][:1]
NOTEBOOKS = sorted((pathlib.Path(__file__).resolve().parents[2] / "docs").glob("*.ipynb"))
HAS_PLOTS = importlib.util.find_spec("matplotlib") is not None


def printed(source, names):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(source, "cell", "exec"), names)
    return out.getvalue().splitlines(keepends=True)


def code_cells(notebook):
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code" and (HAS_PLOTS or "plot" not in cell["metadata"].get("tags", [])):
            yield cell


class Notebooks(unittest.TestCase):
    def test_cells_print_what_they_show(self):
        self.assertTrue(NOTEBOOKS)
        for path in NOTEBOOKS:
            notebook = json.loads(path.read_text(encoding="utf-8"))
            names = {"__name__": "__main__"}
            with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
                for cell in code_cells(notebook):
                    lines = printed("".join(cell["source"]), names)
                    shown = [{"name": "stdout", "output_type": "stream", "text": lines}] if lines else []
                    if WRITE:
                        cell["outputs"] = shown
                    else:
                        self.assertEqual(cell["outputs"], shown, "".join(cell["source"]))
            if WRITE:
                path.write_text(json.dumps(notebook, indent=1) + "\n", encoding="utf-8")

    def test_the_format_is_that_of_notebooks(self):
        for path in NOTEBOOKS:
            notebook = json.loads(path.read_text(encoding="utf-8"))
            self.assertEqual((notebook["nbformat"], notebook["nbformat_minor"]), (4, 5))
            names = [cell["id"] for cell in notebook["cells"]]
            self.assertEqual(len(set(names)), len(names))
            for cell in notebook["cells"]:
                keys = {"cell_type", "id", "metadata", "source"}
                if cell["cell_type"] == "code":
                    keys |= {"execution_count", "outputs"}
                self.assertEqual(set(cell), keys)


if __name__ == "__main__":
    os.environ.pop("MPLBACKEND", None)
    os.environ["MPLBACKEND"] = "Agg"
    unittest.main()
