#!/usr/bin/env python3
"""Holds the includes of src/ and tools/ to the layers.

    base <- schema <- graph <- model <- milp <- io <- tools
                     model <- engine, technology <- design <- io
    base <- study <- io, cluster

A file may include files of its own layer and of those its layer knows.  Inside
the engine the rooms have an order of their own:

    tree <- plan <- calculon
    tree <- tables <- duals <- fusion <- sharding <- mapping <- answer <- solve <- training, serving
                                                     mapping <- stages <- solve

and tree/ is generic: beside its own files it includes base/ only, so that it can be
tested on problems whose optimum is known.  Plans and deployments ask the search of mappings, solve,
for what is fused.

usage: check_layers.py ROOT | --self-test
"""

import re

import checks

KNOWS = {
    "base": [],
    "schema": ["base"],
    "graph": ["base", "schema"],
    "model": ["base", "schema", "graph"],
    "technology": ["base", "schema", "graph", "model"],
    "milp": ["base", "graph", "model"],
    "engine": ["base", "graph", "model"],
    "design": ["base", "graph", "model", "technology", "engine"],
    "study": ["base"],
    "cluster": ["base", "study"],
    "io": ["base", "schema", "graph", "model", "technology", "milp", "engine", "design", "study"],
    "tools": ["base", "schema", "graph", "model", "technology", "milp", "engine", "design",
              "study", "cluster", "io"],
}
# "solve" stands for the files that are in no room.
ROOMS = ["tree", "plan", "calculon", "tables", "duals", "fusion", "sharding", "mapping", "stages",
         "answer", "solve", "training", "serving"]
# Files of the engine in no room, shared by the rooms and the callers of solve.
OPEN = ["search_options.hpp", "search_result.hpp"]
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"')


def room_of(parts):
    """The place of a file of the engine in the order of its rooms, or None: it is
    open to all rooms but tree/."""
    if len(parts) > 2:
        return ROOMS.index(parts[1]) if parts[1] in ROOMS else -1
    return None if parts[1] in OPEN else ROOMS.index("solve")


def complaint(file, include):
    """The rule that an include of a file breaks, both named from src/ or tools/; or None."""
    parts, own = include.split("/"), file.split("/")
    layer, target = own[0], parts[0]
    if ".." in parts:
        return "includes are written from src/, without '..'"
    if layer == "tools" and target not in KNOWS:
        return None  # a neighbour in tools/
    if target not in KNOWS:
        return f"'{target}' is not a layer, expected one of {', '.join(KNOWS)}"
    if target != layer and target not in KNOWS[layer]:
        return f"{layer} may not know {target}"
    if layer != "engine":
        return None
    room = room_of(own)
    if room == -1:
        return f"'{own[1]}' is not a room of the engine, expected one of {', '.join(ROOMS)}"
    if room == 0 and target != "base" and parts[:2] != ["engine", "tree"]:
        return "the generic tree includes only base/ and its own files"
    if target != "engine" or room is None or room_of(parts) is None:
        return None
    if room_of(parts) > room:
        return f"{'/'.join(own[:-1])} may not know {'/'.join(parts[:-1])}"
    return None


def violations(root):
    """One line for each include that breaks a rule."""
    found, files = [], 0
    for layer in KNOWS:
        folder = root / layer if layer == "tools" else root / "src" / layer
        for file in sorted(folder.rglob("*.[ch]pp")):
            files += 1
            for number, line in enumerate(file.read_text().splitlines(), start=1):
                match = INCLUDE.match(line)
                reason = match and complaint(file.relative_to(folder.parent).as_posix(),
                                             match.group(1))
                if reason:
                    place = f"{file.relative_to(root)}:{number}"
                    found.append(f"{place}: {match.group(1)}: {reason}")
    return found if files else [f"{root}: no files"]


GOOD = {
    "src/base/a.hpp": '#include <vector>\n#include "base/b.hpp"\n',
    "src/model/layer/a.cpp": '#include "graph/a.hpp"\n#include "model/step/a.hpp"\n',
    "src/milp/a.cpp": '#include "model/a.hpp"\n',
    "src/engine/tree/a.hpp": '#include "base/a.hpp"\n#include "engine/tree/b.hpp"\n',
    "src/engine/duals/a.hpp": '#include "engine/tables/b.hpp"\n#include "engine/search_options.hpp"\n',
    "src/engine/search_options.hpp": '#include "engine/tree/b.hpp"\n',
    "src/engine/solve.cpp": '#include "engine/answer/a.hpp"\n#include "model/a.hpp"\n',
    "src/io/a.cpp": '#include "engine/solve.hpp"\n#include "milp/a.hpp"\n',
    "tools/a.cpp": '#include "io/a.hpp"\n#include "neighbour.hpp"\n#include "cli/a.hpp"\n',
}
BAD = {
    "src/base/a.hpp": '#include "graph/a.hpp"\n',
    "src/graph/a.cpp": '  #  include "model/a.hpp"\n',
    "src/model/a.cpp": '#include "engine/solve.hpp"\n',
    "src/milp/b.cpp": '#include "engine/solve.hpp"\n',
    "src/engine/a.hpp": '#include "io/a.hpp"\n',
    "src/engine/b.cpp": '#include "milp/a.hpp"\n',
    "src/io/deep/a.cpp": '#include "tools/a.hpp"\n',
    "src/engine/tree/b.hpp": '#include "model/a.hpp"\n',
    "src/engine/tree/c.cpp": '#include "engine/search_options.hpp"\n',
    "src/engine/tables/a.cpp": '#include "engine/fusion/a.hpp"\n',
    "src/engine/answer/a.cpp": '#include "engine/solve.hpp"\n',
    "src/engine/attic/a.cpp": '#include "base/a.hpp"\n',
    "src/model/b.cpp": '#include "../graph/a.hpp"\n',
    "src/model/c.cpp": '#include "shard.hpp"\n',
}

if __name__ == "__main__":
    checks.main(__doc__, violations, GOOD, BAD.items())
