#!/usr/bin/env python3
"""Holds the includes of src/ and tools/ to the layers.

    base <- graph <- model <- engine <- io <- tools

A file may include files of its own layer and of those before it.  The generic
files of the engine are stricter: they include base/ and each other only, so
that they can be tested on problems whose optimum is known.

usage: check_layers.py ROOT | --self-test
"""

import pathlib
import re
import sys
import tempfile

LAYERS = ["base", "graph", "model", "engine", "io", "tools"]
GENERIC = {
    "search_problem",
    "branch_and_bound",
    "incumbent",
    "open_nodes",
    "limits",
    "search_stats",
}
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"')


def is_generic(layer, path):
    return layer == "engine" and pathlib.PurePath(path).stem in GENERIC


def complaint(layer, file, include):
    """What is wrong with one include, or None."""
    parts = include.split("/")
    target = parts[0]
    if ".." in parts:
        return "includes are written from src/, without '..'"
    if layer == "tools" and len(parts) == 1:
        return None  # a neighbour in tools/
    if target not in LAYERS:
        return f"'{target}' is not a layer, expected one of {', '.join(LAYERS)}"
    if LAYERS.index(target) > LAYERS.index(layer):
        return f"{layer} may not know {target}"
    if is_generic(layer, file) and target != "base" and not is_generic(target, include):
        return "the generic engine includes only base/ and its own generic files"
    return None


def violations(root):
    """One line for each include that breaks a rule, and how many files were read."""
    found, files = [], 0
    for layer in LAYERS:
        folder = root / layer if layer == "tools" else root / "src" / layer
        for file in sorted(folder.rglob("*.[ch]pp")):
            files += 1
            for number, line in enumerate(file.read_text().splitlines(), start=1):
                match = INCLUDE.match(line)
                reason = match and complaint(layer, file.name, match.group(1))
                if reason:
                    place = f"{file.relative_to(root)}:{number}"
                    found.append(f"{place}: {match.group(1)}: {reason}")
    return found, files


def self_test():
    """A check that finds nothing is only worth something if it can find."""
    good = {
        "src/base/a.hpp": '#include <vector>\n#include "base/b.hpp"\n',
        "src/model/a.cpp": '#include "graph/a.hpp"\n',
        "src/engine/incumbent.hpp": '#include "base/a.hpp"\n#include "engine/limits.hpp"\n',
        "src/engine/solve.cpp": '#include "engine/incumbent.hpp"\n#include "model/a.hpp"\n',
        "src/io/a.cpp": '#include "engine/solve.hpp"\n',
        "tools/a.cpp": '#include "io/a.hpp"\n#include "neighbour.hpp"\n',
    }
    bad = {
        "src/base/a.hpp": '#include "graph/a.hpp"\n',
        "src/graph/a.cpp": '  #  include "model/a.hpp"\n',
        "src/model/a.cpp": '#include "engine/solve.hpp"\n',
        "src/engine/a.hpp": '#include "io/a.hpp"\n',
        "src/io/deep/a.cpp": '#include "tools/a.hpp"\n',
        "src/engine/incumbent.hpp": '#include "model/a.hpp"\n',
        "src/engine/open_nodes.cpp": '#include "engine/solve.hpp"\n',
        "src/model/b.cpp": '#include "../graph/a.hpp"\n',
        "src/model/c.cpp": '#include "shard.hpp"\n',
    }
    for name, text in bad.items():
        with tempfile.TemporaryDirectory() as folder:
            write(folder, {**good, name: text})
            found, _ = violations(pathlib.Path(folder))
            if len(found) != 1 or not found[0].startswith(f"{name}:1: "):
                sys.exit(f"self-test: {name} with {text.strip()}: expected one finding, got {found}")
    with tempfile.TemporaryDirectory() as folder:
        write(folder, good)
        found, _ = violations(pathlib.Path(folder))
        if found:
            sys.exit(f"self-test: found what is not wrong: {found}")
    print(f"{len(bad)} violations found, nothing else")


def write(folder, files):
    for name, text in files.items():
        file = pathlib.Path(folder, name)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    if sys.argv[1] == "--self-test":
        self_test()
        return
    found, files = violations(pathlib.Path(sys.argv[1]))
    print("\n".join(found + [f"{files} files, {len(found)} includes point the wrong way"]))
    sys.exit(1 if found or files == 0 else 0)


if __name__ == "__main__":
    main()
