#!/usr/bin/env python3
"""Holds the pages of the documents to rules that a program can check.

Lines of prose have at most 100 columns, README.md and CONTRIBUTING.md their tables too, and
README.md is short.  Links lead to files and headings that are there.  So do the names between
backticks that look like a file, src/engine/solve.hpp or solve.hpp, or like C++, Type::member.  A
comment in the code that names a section of a page, docs/search.md, 5.7, names one that it has.

usage: check_pages.py ROOT | --links ROOT | --self-test
"""

import pathlib
import re
import sys

import checks

WIDTH = 100
LENGTH = 115  # lines of README.md
NARROW = ("README.md", "CONTRIBUTING.md")
PAGES = ("README.md", "CONTRIBUTING.md", "docs/*.md", "bench/README.md", "tests/golden/README.md")
CODE = ("src", "tools", "tests", "bench", "configs", "cmake", "docs")
FILE = re.compile(r"[\w./-]*\w\.(?:cpp|hpp|py|md|yaml|proto|json)")
MEMBER = re.compile(r"([A-Z]\w*)::(~?\w+)(?:\(\))?")
SECTION = re.compile(r"docs/(\w+)\.md, (?:sections? )?(\d+(?:\.\d+)?)(?:(?:, | and | to )(\d+))?")
FENCE = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)


def slug(heading):
    """The anchor that a heading gets."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def blanked(found):
    return "\n" * found[0].count("\n")


class Repository:
    def __init__(self, root):
        self.root = root
        folders = [root / name for name in CODE if (root / name).is_dir()]
        self.files = [f for folder in folders for f in sorted(folder.rglob("*")) if f.is_file()]
        self.files += [f for f in root.iterdir() if f.is_file()]
        self.paths = ["/" + f.relative_to(root).as_posix() for f in self.files]
        self.code = {f: f.read_text() for f in self.files if f.suffix in (".cpp", ".hpp")}
        self.words = {word for text in self.code.values() for word in re.findall(r"\w+", text)}

    def pages(self):
        return [page for pattern in PAGES for page in sorted(self.root.glob(pattern))]

    def has_file(self, name, page):
        if "*" in name or not name.strip("./"):
            return True
        return (page.parent / name).exists() or any(
            path.endswith("/" + name.removeprefix("./")) for path in self.paths)

    def wrong_names(self, page, text):
        for number, line in enumerate(text.splitlines(), start=1):
            for name in re.findall(r"`([^`]+)`", line):
                if FILE.fullmatch(name) and "/" in name and not self.has_file(name, page):
                    yield number, f"there is no file {name}"
                elif re.fullmatch(r"\w+\.(?:cpp|hpp)", name) and not self.has_file(name, page):
                    yield number, f"there is no file {name}"
                member = MEMBER.fullmatch(name)
                if member and not {member[1], member[2]} <= self.words:
                    yield number, f"src/ has no {name}"

    def wrong_links(self, page, text):
        for number, line in enumerate(text.splitlines(), start=1):
            for target in re.findall(r"\]\(([^)\s]+)\)", line):
                if "://" in target:
                    continue
                name, _, anchor = target.partition("#")
                file = page.parent / name if name else page
                if not file.exists():
                    yield number, f"a link to {name}, which is not there"
                elif anchor and anchor not in [
                        slug(h) for h in re.findall(r"^#+ (.*)$", file.read_text(), re.MULTILINE)]:
                    yield number, f"a link to {target}, but there is no such heading"

    def wrong_widths(self, page, whole):
        narrow = page.relative_to(self.root).as_posix() in NARROW
        text = whole if narrow else FENCE.sub(blanked, whole)
        text = re.sub(r"<!-- (\w+): begin -->.*?<!-- \1: end -->", blanked, text, flags=re.DOTALL)
        for number, line in enumerate(text.splitlines(), start=1):
            if len(line) > WIDTH and (narrow or not line.startswith("|")):
                yield number, f"{len(line)} columns, expected at most {WIDTH}"

    def wrong_sections(self):
        for file, text in self.code.items():
            for number, line in enumerate(text.splitlines(), start=1):
                for found in SECTION.finditer(line):
                    page = self.root / "docs" / f"{found[1]}.md"
                    if not page.exists():
                        yield file, number, f"there is no docs/{found[1]}.md"
                        continue
                    body = page.read_text()
                    for section in filter(None, found.groups()[1:]):
                        if not re.search(rf"^(?:## |\*\*){re.escape(section)}\.? ", body, re.M):
                            yield file, number, f"docs/{found[1]}.md has no section {section}"


def complaints(root):
    repository = Repository(root)
    found = []

    def add(file, number, what):
        found.append(f"{file.relative_to(root)}:{number}: {what}")

    for page in repository.pages():
        whole = page.read_text()
        text = FENCE.sub(blanked, whole)
        for check in (repository.wrong_names, repository.wrong_links):
            for number, what in check(page, text):
                add(page, number, what)
        for number, what in repository.wrong_widths(page, whole):
            add(page, number, what)
        length = whole.count("\n")
        if page == root / "README.md" and length > LENGTH:
            add(page, length, f"{length} lines, expected at most {LENGTH}")
    for file, number, what in repository.wrong_sections():
        add(file, number, what)
    return found


def broken_links(root):
    """Complaints about links between pages, which are installed without the code."""
    repository = Repository(root)
    pages = repository.pages()
    assert pages, f"{root} has no pages"
    return [f"{page.relative_to(root)}:{number}: {what}" for page in pages
            for number, what in repository.wrong_links(page, FENCE.sub(blanked, page.read_text()))]


GOOD = {
    "README.md": "[a](docs/a.md#1-the-tree) `src/a.cpp` `a.cpp` `A::b` `docs/*.md`\n"
                 "```text\n`Z::z`\n```\n",
    "docs/a.md": f"## 1. The tree\n\n**1.2 Bound.** text\n\n| {'long ' * 30} |\n",
    "src/a.cpp": "// docs/a.md, section 1, and docs/a.md, 1.2\nstruct A { int b; };\n",
}
BAD = [
    ("README.md", "[a](docs/b.md)\n"), ("README.md", "[a](docs/a.md#the-tree)\n"),
    ("README.md", "`src/b.cpp`\n"), ("README.md", "`b.cpp`\n"), ("README.md", "`A::c`\n"),
    ("README.md", f"| {'long ' * 30} |\n"), ("README.md", "line\n" * (LENGTH + 1)),
    ("docs/a.md", GOOD["docs/a.md"] + "long " * 30 + "\n"),
    ("src/a.cpp", GOOD["src/a.cpp"] + "// docs/a.md, section 2\n"),
    ("src/a.cpp", GOOD["src/a.cpp"] + "// docs/a.md, 1.3\n"),
    ("src/a.cpp", GOOD["src/a.cpp"] + "// docs/b.md, section 1\n"),
]


if __name__ == "__main__":
    if sys.argv[1:2] == ["--links"] and len(sys.argv) == 3:
        sys.exit("\n".join(broken_links(pathlib.Path(sys.argv[2]).resolve())) or 0)
    checks.main(__doc__, complaints, GOOD, BAD)
