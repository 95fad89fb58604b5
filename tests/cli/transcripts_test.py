#!/usr/bin/env python3
r"""Commands and wrong inputs with what the program prints, as tests/cli/transcripts/*.txt have them.

Each file is run line by line in an empty folder:

  # TEXT             a comment
  ==== NAME          the file NAME of the folder: the lines up to the next ====
  ==== NAME = SMALL  the same of a text or file: SMALL, TRAINING, endless, a kind of kinds.py, or a
                     path from the root
  $ WORDS            a command, split into words as a shell does; its exit status is 0
  2$ WORDS           a command of exit status 2
  ?$ WORDS           words that are refused: exit status 2, and a last line that names --help
  @ NAME: WORDS      changes below are of the file NAME, each tried by this command
  ~ OLD -> NEW       a change: the file, where OLD stands once, with NEW (\n ends a line, \xNN is a
                     byte)
  + KEY=VALUE        a change by `--set`; changes in lines one below the other are one

A file that is made is the one that changes are of, tried by `check NAME`.  A change is refused with
status 2 if it prints anything, else accepted; 3~ and 3+ expect another status.

Lines that begin with two spaces are what is printed, all of it but the output of commands that
succeed where none stands below them.  `...` is any text, in a line by itself any lines.  A place in
the changed file begins behind its name, and `--set KEY=VALUE: ` of a single change is left out.
What is refused is told on standard error alone and changes no file.

With --update the printed lines are replaced by those of the program, but for lines with `...` that
are right.  Read the change before you keep it.

usage: transcripts_test.py DFSEARCH [--update] [TEST ...]
"""

import pathlib
import re
import shlex
import sys

import kinds
import support

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = pathlib.Path(__file__).resolve().parent / "transcripts"
TEXTS = {"SMALL": support.SMALL, "TRAINING": support.TRAINING, "endless": support.random_graph(),
         **kinds.KINDS}
COMMAND = re.compile(r"([0-9?]?)\$ ?(.*)")
CHANGE = re.compile(r"([0-9]?)([~+]) (.*)")


def text_of(name):
    return TEXTS[name] if name in TEXTS else (ROOT / name).read_text()


def text_of_line(line):
    """The text with its escapes: \\n, \\\\ and the bytes \\xNN."""
    return re.sub(r"\\(n|\\|x..)", lambda escape: {"n": "\n", "\\": "\\"}.get(
        escape[1]) or bytes.fromhex(escape[1][1:]).decode(errors="surrogateescape"), line)


def pattern(lines):
    """A regular expression of the whole output."""
    return "".join(r"(?:.*\n)*?" if line == "..." else
                   ".*?".join(map(re.escape, line.split("..."))) + r"\n" for line in lines)


class Transcripts(support.CliTest):
    is_update = False

    def printed(self, words, status):
        """Lines of a command, without the folders of this run."""
        words = [str(ROOT / word) if re.match("(configs|tests)/", word) else word for word in words]
        before = self.contents()
        done = self.run_tool(*words, status=status)
        if done.returncode == 2:
            self.assertEqual(self.contents(), before, "a command that is refused changes no file")
            self.assertEqual(done.stdout, "", "what is wrong is told on standard error")
        text = (done.stdout + done.stderr).replace(f"{self.folder}/", "").replace(f"{ROOT}/", "")
        return [line for line in text.splitlines() if line.strip()]

    def contents(self):
        return {file: file.read_bytes() for file in self.folder.iterdir() if file.is_file()}

    def of_command(self, line, expected):
        status, words = COMMAND.fullmatch(line).groups()
        lines = self.printed(shlex.split(words), 2 if status == "?" else int(status or 0))
        if status == "?":
            self.assertIn("--help", lines.pop())
        return expected if not (status or expected) else lines

    def of_changes(self, changes, expected):
        """What the changed file makes the command print."""
        whole = text = (self.folder / self.changed).read_text()
        status, overrides = 2 if expected else 0, []
        for line in changes:
            other, kind, change = CHANGE.fullmatch(line).groups()
            status = int(other or status)
            if kind == "+":
                overrides += ["--set", change]
                continue
            old, new = map(text_of_line, re.split(" -> ?", change, maxsplit=1))
            self.assertEqual(text.count(old), 1, f"{change}: the file does not have this once")
            text = text.replace(old, new)
        (self.folder / self.changed).write_bytes(text.encode(errors="surrogateescape"))
        lines = self.printed([*self.trial, *overrides], status)
        self.write(self.changed, whole)
        prefixes = [self.changed + ":"]
        if len(overrides) == 2:
            prefixes.append(f"--set {overrides[1]}: ")
        for prefix in prefixes:
            lines = [line.removeprefix(prefix).lstrip() for line in lines]
        return lines if status or expected else []

    def check(self, case, expected, run):
        """The lines that belong below a case."""
        with self.subTest("\n".join(case)):
            lines = run(expected)
            text = "".join(line + "\n" for line in lines)
            if self.is_update and not re.fullmatch(pattern(expected), text):
                return lines
            if not re.fullmatch(pattern(expected), text):
                self.assertEqual(expected, lines)
        return expected

    def transcript(self, file):
        lines, at, kept = file.read_text().splitlines(), 0, []

        def take(matches):
            nonlocal at
            begin = at
            while at < len(lines) and matches(lines[at]):
                at += 1
            kept.extend(lines[begin:at])
            return lines[begin:at]

        def take_expected():
            expected = take(lambda line: line.startswith("  "))
            del kept[len(kept) - len(expected):]
            return [line[2:] for line in expected]

        while at < len(lines):
            line = lines[at]
            if line.startswith("===="):
                name, _, source = take(lambda other: other is line)[0][4:].strip().partition(" = ")
                text = text_of(source) if source else "".join(
                    other + "\n" for other in take(lambda other: other != "===="))
                if not source:
                    take(lambda other: other == "====")
                self.write(name, text)
                self.changed, self.trial = name, ["check", name]
            elif line.startswith("@"):
                self.changed, words = take(lambda other: other is line)[0][2:].split(": ", 1)
                self.trial = shlex.split(words)
            elif COMMAND.fullmatch(line):
                take(lambda other: other is line)
                kept += ["  " + each for each in self.check(
                    [line], take_expected(), lambda expected: self.of_command(line, expected))]
            elif CHANGE.fullmatch(line):
                changes = take(CHANGE.fullmatch)
                kept += ["  " + each for each in self.check(
                    changes, take_expected(), lambda expected: self.of_changes(changes, expected))]
            else:
                take(lambda other: other is line)
                self.assertRegex(line, "^(#.*)?$", "no line of a transcript")
        if self.is_update:
            file.write_text("".join(line + "\n" for line in kept))


for _file in FOLDER.glob("*.txt"):
    setattr(Transcripts, "test_" + _file.stem, lambda self, file=_file: self.transcript(file))

if __name__ == "__main__":
    if "--update" in sys.argv:
        sys.argv.remove("--update")
        Transcripts.is_update = True
    support.main()
