#!/usr/bin/env python3
"""Holds pages and comments to words that readers know.

usage: check_words.py ROOT | --self-test
"""

import pathlib
import re
import sys

PAGES = ("README.md", "CONTRIBUTING.md", "docs/*.md", "bench/README.md")
SOURCES = ("src/**/*.[ch]pp", "tools/**/*.[ch]pp", "src/**/*.js")
WORDS = {  # over which readers stumbled, and what to say instead
    r"(?:is|are|was|were|be|been) told(?! apart)": "reported, printed, known",
    r"only who|who asks": "only where the config asks for it",
    r"none \w+ at most as much": "none dominates it",
    r"(?:nearly|about|just|nearest to) pay(?:s|ing)? for": "of nearly no reduced cost",
    r"keys? of any": "any key",
    r"made good": "repaired",
    r"by turns": "in turn, alternately",
    r"superfluous": "unnecessary",
    r"who finds": "a thread that finds",
    r"rooms? (?:of|in) (?:the engine|`src)": "folder",
    r"as a stair": "as a staircase",
}


def faults(text):
    """Number of line, what is said, what to say; a phrase may go over the end of a line."""
    for phrase, better in WORDS.items():
        pattern = rf"\b(?:{phrase})\b".replace(" ", r"\s+")
        for found in re.finditer(pattern, text, re.IGNORECASE):
            yield text.count("\n", 0, found.start()) + 1, " ".join(found[0].split()), better


def page(text):  # without what a program printed
    return re.sub(r"(?ms)^```.*?^```$", lambda block: "\n" * block[0].count("\n"), text)


def comments(text):  # what is none ends a phrase
    return re.sub(r"(?m)^.*?(?://+ ?(.*))?$", lambda line: line[1] or "\0", text)


def main():
    if sys.argv[1:] == ["--self-test"]:
        found = [fault[:2] for fault in faults("The end is\ntold, and only who asks gets it.")]
        assert found == [(1, "is told"), (2, "only who")], found
        assert not list(faults(comments('x = "is told"; // fine\n// is\ny();\n// told')))
        return
    root = pathlib.Path(sys.argv[1])
    texts = [(file, prose(file.read_text()))
             for patterns, prose in ((PAGES, page), (SOURCES, comments))
             for pattern in patterns for file in sorted(root.glob(pattern))]
    sys.exit("\n".join(f"{file.relative_to(root)}:{line}: '{said}', better: {better}"
                       for file, text in texts for line, said, better in faults(text)) or 0)


if __name__ == "__main__":
    main()
