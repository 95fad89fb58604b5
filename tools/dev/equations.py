#!/usr/bin/env python3
"""Lists the functions that compute each equation of the pages PAGES.

A comment line in front of a function names its equations:

    // docs/model.md (13), (14)

A page defines an equation where an indented line begins with its number.  This script prints which
functions each equation is in, unless it is only to --check, and complains if numbers are not 1, 2,
3 ..., if an equation has no function, or if a comment in src/ or a sentence names an equation that
is not there.

usage: equations.py ROOT [--check] | --self-test
"""

import pathlib
import re
import sys

import checks

PAGES = ["docs/model.md", "docs/technology.md", "docs/training.md", "docs/truth.md", "docs/hpc.md",
         "docs/collectives.md"]
DEFINITION = re.compile(r"^ {4,}\((\d+)\) ", re.MULTILINE)
CITATION = r"^ *///? {} ((?:\(\d+\)(?:, )?)+)$"
MENTION = r"{},? \((\d+)\)"
REFERENCE = re.compile(r"(?<!\w)\((\d+(?:, \d+)*)\)")
FUNCTION = re.compile(r"(~?[A-Za-z_]\w*(?:::[A-Za-z_]\w*)*)\(")
CLASS = re.compile(r"(?:class|struct) (\w+)[^;]*$")


def function_after(lines, number):
    """The name of the function whose definition follows line `number`, with its class."""
    text = ""
    for line in lines[number + 1:]:
        if line.lstrip().startswith("//"):
            continue
        text += " " + line.strip()
        if found := FUNCTION.search(text):
            break
        if not line.strip() or line.rstrip().endswith((";", "}")):
            return None
    else:
        return None
    if not lines[number].startswith(" "):
        return found[1]
    for line in reversed(lines[:number]):
        if owner := CLASS.match(line):
            return f"{owner[1]}::{found[1]}"
    return found[1]


def citations(root, page):
    """(function, file) pairs of each equation of the page, and complaints."""
    functions, wrong = {}, []
    citation = re.compile(CITATION.format(re.escape(page)))
    mention = re.compile(MENTION.format(re.escape(page)))
    files = sorted(f for f in (root / "src").rglob("*") if f.suffix in (".cpp", ".hpp"))
    for file in files:
        lines = file.read_text().splitlines()
        for number, line in enumerate(lines):
            place = f"{file.relative_to(root)}:{number + 1}"
            cited = citation.match(line)
            function = function_after(lines, number) if cited else None
            if cited and function is None:
                wrong.append(f"{place}: no function follows, expected one that is the equation")
            for equation in map(int, re.findall(r"\d+", cited[1]) if cited else
                                mention.findall(line)):
                pairs = functions.setdefault(equation, [])
                where = (function, file.relative_to(root / "src").as_posix(), place)
                if where[:2] not in [pair[:2] for pair in pairs]:
                    pairs.append(where)
    return functions, wrong


def look_through(root, name):
    """Lines with the functions of each equation of the page, and complaints."""
    page = (root / name).read_text()
    defined = [int(number) for number in DEFINITION.findall(page)]
    functions, wrong = citations(root, name)
    if defined != list(range(1, len(defined) + 1)) or not defined:
        wrong.append(f"{name}: equations are numbered {defined}, expected 1, 2, 3 ...")
    for equation, pairs in sorted(functions.items()):
        wrong += [f"{place}: {name} has no equation ({equation})"
                  for _, _, place in pairs if equation not in defined]
    lines = []
    for equation in defined:
        found = [f"{function} in {file}"
                 for function, file, _ in functions.get(equation, []) if function]
        lines.append(f"{name} ({equation}): {', '.join(found)}")
        if not found:
            wrong.append(f"{name}: no function of src/ says that it is equation ({equation})")
    for numbers in REFERENCE.findall(page):
        wrong += [f"{name}: refers to equation ({number}), which it does not have"
                  for number in numbers.split(", ") if int(number) not in defined]
    return lines, wrong


def self_test():
    page = "    (1) a = b\n\n(1) and\n\n    (2) c\n"
    code = ("// docs/model.md (1), (2)\ntemplate <class T>\nint f(T t);\n"
            "struct S {\n  /// Why.\n  // docs/model.md (1)\n  [[nodiscard]] int g() const;\n};\n")
    good = {"docs/model.md": page, "src/a.hpp": code}
    bad = [
        ("src/a.hpp", code.replace("(1), (2)", "(1)")),            # no function of (2)
        ("src/a.hpp", code + "// docs/model.md (3)\nvoid h();\n"),  # there is no (3)
        ("src/a.hpp", code + "// as docs/model.md, (3) says\n"),
        ("src/a.hpp", code + "// docs/model.md (1)\nint x = 0;\n"),
        ("docs/model.md", page.replace("(2) c", "(3) c")),
        ("docs/model.md", page.replace("(1) and", "(7) and")),
    ]
    listed = ["docs/model.md (1): f in a.hpp, S::g in a.hpp", "docs/model.md (2): f in a.hpp"]
    found = checks.found_in(lambda root: look_through(root, PAGES[0])[0], good)
    assert found == listed, found
    checks.self_test(lambda root: look_through(root, PAGES[0])[1], good, bad, alone=False)


def main():
    if sys.argv[1:] == ["--self-test"]:
        self_test()
        return
    if len(sys.argv) not in (2, 3) or sys.argv[2:] not in ([], ["--check"]):
        sys.exit(__doc__)
    found = [look_through(pathlib.Path(sys.argv[1]), name) for name in PAGES]
    if not sys.argv[2:]:
        print("\n".join(line for lines, _ in found for line in lines))
    sys.exit("\n".join(complaint for _, wrong in found for complaint in wrong) or 0)


if __name__ == "__main__":
    main()
