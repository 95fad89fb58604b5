#!/usr/bin/env python3
"""Every example of the documents is true.

Of README.md, CONTRIBUTING.md and docs/*.md each fenced block is one of these:

  sh    commands.  Each line begins with `dfsearch`, `./dev run` or `mpirun` (tried where MPI is),
        runs and succeeds, in a folder with copies of configs/ and tests/data/ that all examples of
        a page share.  A line may end in a backslash.
  python  runs, where the package of Python is built; expressions have the values that their
        comments say (python_example.py)
  yaml  a config.  It loads; a small workload or system is added to one that has none.
  cpp, cmake  a program, which the test of the installed package builds
  text  output and pictures, nothing that a reader would type.

Comments in front of a block, which nobody sees on the page, say what else it is:

  <!-- not run: REASON -->         it is left alone
  <!-- file: NAME -->              it is the file NAME of the folder, for later commands
  <!-- printed by: COMMAND -->     its lines are lines that COMMAND prints, in this order; of the
                                   line `search`, which tells times, only the words
Comments by themselves:

  <!-- file NAME: ... -->          what follows the first line is the file NAME of the folder
  <!-- run: COMMAND -->            COMMAND runs and succeeds

With --write an output that is no longer printed is replaced by what is: each line by the next
one that begins with the same word and is most like it.  Read the change before you keep it.

usage: readme_test.py DFSEARCH [--write] [PAGE...]
"""

import difflib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMMAND = re.compile(r"(\./dev run|dfsearch|mpirun)\b")
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
COMMENT = re.compile(r"<!-- (.*?) ?-->", re.DOTALL)
NOTE = re.compile(r"(not run|file|printed by|run): (.+)", re.DOTALL)
HIDDEN_FILE = re.compile(r"file (\S+):\n(.*)", re.DOTALL)

SMALL_WORKLOAD = """
workload: {kind: llm_prefill, hidden: 64, heads: 4, head_dim: 16, sequence: 32, layers: 2,
           global_batch: 8}
"""
SMALL_SYSTEM = """
system:
  chips: 1
  accelerator: {cores: 4, lanes: 2, stages: 2, frequency: 1 GHz, sram: 1 MB}
  memory: {bandwidth: 1 GB/s}
"""


class Page:
    """The examples of one page, tried one after the other in a folder of their own."""

    def __init__(self, name, folder, program):
        self.name, self.folder = name, pathlib.Path(folder)
        self.wrong, self.tried, self.renewed = [], 0, {}
        for part in ("configs", "tests/data"):
            shutil.copytree(ROOT / part, self.folder / part)
        programs = self.folder / "bin"
        programs.mkdir()
        (programs / "dfsearch").symlink_to(program)
        self.package = pathlib.Path(program).parent / "python"
        mpi = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                "OMPI_MCA_rmaps_base_oversubscribe": "1"}
        self.environment = {**os.environ, **mpi, "PATH": f"{programs}:{os.environ['PATH']}",
                            "PYTHONPATH": str(self.package)}

    def complain(self, example, what):
        self.wrong.append(f"{self.name}: {example.strip().splitlines()[0]}: {what}")

    def run(self, command, text=""):
        """Standard output of a command, or None and a complaint if it fails."""
        command = re.sub(r"^\./dev run", "dfsearch", command)
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", command], cwd=self.folder, env=self.environment,
            input=text, text=True, capture_output=True, timeout=120, check=False,
        )
        self.tried += 1
        print(f"{self.name}: {command}: exit status {done.returncode}")
        if done.returncode == 0:
            return done.stdout
        self.complain(command, f"exit status {done.returncode}\n{done.stdout}{done.stderr}")
        return None

    def try_commands(self, block):
        for line in block.replace("\\\n", " ").splitlines():
            line = line.strip()
            if line.startswith("mpirun") and "with MPI" not in self.run("dfsearch --version"):
                continue
            if COMMAND.match(line):
                self.run(line)
            elif line and not line.startswith("#"):
                self.complain(line, "no command of dfsearch; expected `<!-- not run: REASON -->`")

    def try_python(self, block):
        if any(self.package.glob("dfsearch/_dfsearch*")):
            self.run(f"python3 {ROOT / 'tests/cli/python_example.py'}", block)

    def try_config(self, block):
        if re.search(r"^study:", block, re.MULTILINE):
            self.try_study(block)
            return
        if not re.search(r"^workload:", block, re.MULTILINE):
            block += SMALL_WORKLOAD
        if not re.search(r"^system:", block, re.MULTILINE):
            block += SMALL_SYSTEM
        (self.folder / "configs" / "example.yaml").write_text(block)
        if self.run("dfsearch check configs/example.yaml") is None:
            self.complain(block, "does not load")

    def try_study(self, block):
        (self.folder / "configs" / "studies" / "example.yaml").write_text(block)
        if self.run("dfsearch study configs/studies/example.yaml --dry-run") is None:
            self.complain(block, "does not load")

    def try_output(self, block, command):
        output = self.run(command)
        if output is None:
            return
        printed, _, rest = output.partition("\nsearch ")
        shown, _, shown_rest = ("\n" + block).partition("\nsearch ")
        lines = iter(printed.splitlines())
        for line in filter(None, shown.splitlines()):
            if line not in lines:  # takes all lines up to the one that is equal
                self.complain(line, f"is not printed by {command}, or not in this place")
                rest = block[len(shown) - 1:] or "\n"
                self.renewed[block] = renewed(shown, printed).strip("\n") + rest
                return
        if shown_rest and words(shown_rest) != words(rest):
            self.complain(shown_rest, f"the line `search` of {command} has other words")

    def try_block(self, language, block, notes):
        self.tried += 1
        if "not run" in notes:
            return
        if "file" in notes:
            (self.folder / notes["file"]).write_text(block)
        elif "printed by" in notes:
            self.try_output(block, notes["printed by"])
        elif language == "sh":
            self.try_commands(block)
        elif language == "yaml":
            self.try_config(block)
        elif language == "python":
            self.try_python(block)
        elif language in ("cpp", "cmake"):  # house/the installed package works
            return
        elif language == "text":
            for line in filter(COMMAND.match, block.splitlines()):
                self.complain(line, "looks like a command, expected it in a block `sh`")
        else:
            self.complain(block, "a block without a language, expected sh, yaml, python, cpp, cmake or text")

    def try_all(self, text):
        notes, end = {}, 0
        places = [*FENCE.finditer(text), *COMMENT.finditer(text)]
        for place in sorted(places, key=lambda found: found.start()):
            if place.start() < end:
                continue  # inside of a block
            if text[end:place.start()].strip():
                notes = {}
            end = place.end()
            if place.re is FENCE:
                self.try_block(place[1], place[2], notes)
                notes = {}
            elif hidden := HIDDEN_FILE.fullmatch(place[1]):
                (self.folder / hidden[1]).write_text(hidden[2])
            elif note := NOTE.fullmatch(place[1]):
                notes[note[1]] = note[2]
                if note[1] == "run":
                    self.run(note[2])
        for line in re.findall(r"^ +(?:\./dev run|dfsearch) .*", FENCE.sub("", text), re.MULTILINE):
            self.complain(line, "is indented, expected it in a block `sh`")


def renewed(shown, printed):
    """The block `shown` with lines of `printed`; a line that has no like there is left out."""
    left, lines = printed.splitlines(), []
    for line in shown.splitlines():
        if not line:
            lines.append(line)
            continue
        alike = [place for place, other in enumerate(left)
                 if other.split()[:1] == line.split()[:1]]
        if alike:
            best = max(alike, key=lambda place: (
                difflib.SequenceMatcher(None, line, left[place], autojunk=False).ratio(), -place))
            lines.append(left[best])
            left = left[best + 1:]
    return "\n".join(lines)


def words(text):
    """What a text says but for numbers and their units."""
    return [word for word in text.split() if not re.match(r"[\d.]+|[mun]?s;?$|threads?;?$", word)]


def examples_of(name, text, program):
    """Complaints about a page, how many examples it has, and its text with renewed outputs."""
    with tempfile.TemporaryDirectory() as folder:
        page = Page(name, folder, program)
        page.try_all(text)
        for old, new in page.renewed.items():
            text = text.replace(old, new)
        return page.wrong, page.tried, text


def self_test(program):
    """A page with one thing wrong gets one complaint, a page with nothing wrong none."""
    check = "dfsearch check configs/hpl.yaml"
    good = [
        f"```sh\n{check}\n```",
        "<!-- not run: a reason -->\n```sh\nmake coffee\n```",
        "```yaml\nexecution: {partitions: 2}\n```",
        f"<!-- file: hpl.yaml -->\n```yaml\n{{}}\n```\n```sh\ntest -f hpl.yaml && {check}\n```".replace(
            "test -f hpl.yaml &&", "dfsearch --version && cat hpl.yaml &&"),
        f"<!-- printed by: echo one; echo two; {check} -->\n```text\none\ntwo\n```",
        "<!-- file some.yaml:\n{} -->\n<!-- run: cat some.yaml -->",
    ]
    bad = [
        "```sh\ndfsearch check configs/nothing.yaml\n```",
        "```sh\nmake coffee\n```",
        "<!-- not run: another block -->\n\nText.\n```sh\nmake coffee\n```",
        "```\nno language\n```",
        "```text\ndfsearch --version\n```",
        "<!-- printed by: echo one; echo two -->\n```text\ntwo\none\n```",
        "<!-- printed by: printf 'search two\\n' -->\n```text\nsearch one\n```",
        "<!-- run: false -->",
        "    dfsearch --version",
    ]
    for text in good:
        assert not examples_of("good.md", text, program)[0], text
    for text in bad:
        assert len(examples_of("bad.md", text, program)[0]) == 1, text
    assert examples_of("bad.md", "```yaml\nexecution: {partition: 2}\n```", program)[0]
    page = "<!-- printed by: printf 'time 3 s\\nrest\\n' -->\n```text\n{}rest\n```"
    assert examples_of("old.md", page.format("time 2 s\n"), program)[2] == page.format("time 3 s\n")


def main():
    arguments = [argument for argument in sys.argv[1:] if argument != "--write"]
    if not arguments:
        sys.exit(__doc__)
    program = pathlib.Path(arguments[0]).resolve()
    self_test(program)
    wrong = []
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
    for file in [pathlib.Path(page).resolve() for page in arguments[1:]] or pages:
        text = file.read_text()
        complaints, tried, new_text = examples_of(file.name, text, program)
        wrong += complaints
        if "--write" in sys.argv and new_text != text:
            file.write_text(new_text)
        if tried == 0 and file.name == "README.md":
            wrong.append("README.md: has no example")
    if wrong:
        sys.exit("\n".join(["", "these examples are wrong:", *wrong]))


if __name__ == "__main__":
    main()
