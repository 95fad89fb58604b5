#!/usr/bin/env python3
"""Holds pages and comments to words that readers know.

usage: check_words.py ROOT | --self-test
"""

import re

import checks

PAGES = ("README.md", "CONTRIBUTING.md", "docs/*.md", "bench/README.md")
SOURCES = ("src/**/*.[ch]pp", "tools/**/*.[ch]pp", "src/**/*.js")
WORDS = {  # phrases over which readers stumbled, and better words
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
    """Line, phrase and better words; a phrase may go over the end of a line."""
    for phrase, better in WORDS.items():
        pattern = rf"\b(?:{phrase})\b".replace(" ", r"\s+")
        for found in re.finditer(pattern, text, re.IGNORECASE):
            yield text.count("\n", 0, found.start()) + 1, " ".join(found[0].split()), better


def page(text):  # without the output of programs
    return re.sub(r"(?ms)^```.*?^```$", lambda block: "\n" * block[0].count("\n"), text)


def comments(text):  # a line without a comment ends a phrase
    return re.sub(r"(?m)^.*?(?://+ ?(.*))?$", lambda line: line[1] or "\0", text)


def complaints(root):
    texts = [(file, prose(file.read_text()))
             for patterns, prose in ((PAGES, page), (SOURCES, comments))
             for pattern in patterns for file in sorted(root.glob(pattern))]
    return [f"{file.relative_to(root)}:{line}: '{said}', better: {better}"
            for file, text in texts for line, said, better in faults(text)]


GOOD = {"README.md": "```\nis told\n```\n", "src/a.cpp": 'x = "is told"; // fine\n// is\ny();\n// told'}
BAD = [("README.md", "The end is\ntold.\n"), ("src/a.cpp", "// only\n// who asks gets it\n")]

if __name__ == "__main__":
    checks.main(__doc__, complaints, GOOD, BAD)
