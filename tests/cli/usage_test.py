#!/usr/bin/env python3
"""Flags, help and errors of the command line.

usage: usage_test.py DFSEARCH [TEST ...]
"""

import os
import pathlib
import re
import subprocess
import unittest

import support
from support import SMALL, CliTest

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Help(CliTest):
    def test_help_is_the_same_everywhere(self):
        text = self.run_tool("--help").stdout
        for words in (["-h"], ["help"], ["x", "--help"]):
            self.assertEqual(self.run_tool(*words).stdout, text)

    def commands(self):
        usage = self.run_tool("--help").stdout.partition("usage: ")[2].partition("\n\n")[0]
        return sorted(set(re.findall(r"(?m)dfsearch \[?([a-z]+)", usage)))

    def test_each_command_has_a_help_of_its_own(self):
        commands = self.commands()
        self.assertGreater(len(commands), 13)
        for command in commands:
            with self.subTest(command):
                text = self.run_tool(command, "--help").stdout
                self.assertEqual(text, self.run_tool("help", command).stdout)
                self.assertTrue(text.startswith("usage: dfsearch "), text)
                self.assertLessEqual(max(map(len, text.splitlines())), 100)
        text = self.run_tool("gemm", "--help").stdout
        self.assertIn("--shape MxKxN", text)
        self.assertIn("--set KEY=VALUE", text)
        self.assertNotIn("--checkpoint", text)
        self.assertNotIn("--set", self.run_tool("emit", "--help").stdout)

    def test_shells_complete_commands_and_options(self):
        script = self.run_tool("completion", "bash").stdout
        self.write("complete.sh", script)

        def completed(*words):
            done = subprocess.run(
                ["bash", "-c", f"source ./complete.sh; COMP_WORDS=({' '.join(words)}); "
                 f"COMP_CWORD={len(words) - 1}; _dfsearch; echo ${{COMPREPLY[@]}}"],
                cwd=self.folder, text=True, capture_output=True, check=True)
            return done.stdout.split()

        self.assertEqual(completed("dfsearch", "eva"), ["evaluate"])
        self.assertEqual(completed("dfsearch", "gemm", "--sh"), ["--shape"])
        self.assertEqual(completed("dfsearch", "c.yaml", "--node"), ["--node-limit"])
        self.assertEqual(completed("dfsearch", "study", "s.yaml", "--dry"), ["--dry-run"])

    def test_the_manual_has_every_option(self):
        manual = self.run_tool("completion", "manual").stdout
        for command in self.commands():
            text = self.run_tool(command, "--help").stdout
            for option in set(re.findall(r"(?m)^  (?:-\w, )?(--[\w-]+)", text)) - {"--help"}:
                self.assertIn(option.replace("-", "\\-"), manual)
        requests = {line.split()[0] for line in manual.splitlines() if line.startswith(".")}
        self.assertLessEqual(requests, {".TH", ".SH", ".TP", ".PP", ".nf", ".fi"})

    def test_the_first_help_is_a_screen(self):
        text = self.run_tool("--help").stdout
        for word in ("examples", "'training'", "configs/training/"):
            self.assertIn(word, text)
        self.assertLessEqual(len(text.splitlines()), 40)
        self.assertLessEqual(max(map(len, text.splitlines())), 100)

    def test_help_names_every_option_and_exit_status(self):
        for command, options in (
            ("solve", "--config --threads --gap --time-limit --node-limit --objective --json "
             "--mapping --hint --top --count --robust --checkpoint --resume --events --no-bound "
             "--deterministic --quiet --verbose --set --help"),
            ("export", "--format --output --part"), ("evaluate", "--solution"),
        ):
            text = self.run_tool(command, "--help").stdout
            for option in options.split():
                self.assertRegex(text, rf"(?<![\w-]){option}(?![\w-])")
        text = self.run_tool("solve", "--help").stdout
        for status in range(6):
            self.assertRegex(text, rf"(?m)^  {status}  \w")
        self.assertIn("examples", text)

    def test_help_explains_every_bound_that_can_be_left_out(self):
        text = self.run_tool("solve", "--help").stdout
        wrong = self.run_tool("c.yaml", "--no-bound", "memroy", status=2).stderr
        listed = re.search(r"^--no-bound: expected (.*), got 'memroy', did you mean 'memory'\?$",
                           wrong, re.M)[1]
        names = listed.replace(" or ", ", ").split(", ")
        self.assertGreater(len(names), 10)
        for name in names:
            self.assertRegex(text, rf"(?m)^  {name} +\w.* \([\d., ]+\)$")
        # They are named where they are explained, each at its section.
        page = (ROOT / "docs" / "search.md").read_text()
        self.assertEqual(sorted(re.findall(r"`--no-bound (\w+)`", page)), sorted(names))

    def test_version_is_that_of_the_project(self):
        first, *rest = self.run_tool("--version").stdout.splitlines()
        version = re.search(r"project\(dfsearch VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text())
        self.assertEqual(first, f"dfsearch {version.group(1)}")
        self.assertIn(rest, ([], ["with MPI"]))


class WrongUsage(CliTest):
    def complaint(self, *words):
        done = self.run_tool(*words, status=2)
        self.assertEqual(done.stdout, "")
        return done.stderr

    def setUp(self):
        super().setUp()
        self.write("c.yaml", SMALL)

    def test_no_option_takes_an_empty_value(self):
        for command in Help.commands(self):
            text = self.run_tool(command, "--help").stdout
            for option in re.findall(r"(?m)^  (?:-\w, )?(--[\w-]+) [A-Z]", text):
                for words in ([option, ""], [option + "="], [option], [option, "--"]):
                    with self.subTest(command=command, words=words):
                        self.assertRegex(self.complaint(command, *words),
                                         rf"^{option}: missing its value ")

    def test_the_config_may_follow_its_options(self):
        words = ["--set", "workload.layers=2", "--threads=1", "--objective", "step_time", "c.yaml"]
        self.run_tool(*words)
        self.run_tool("--config", "c.yaml", "--gap", "0.01", "--time-limit", "20 min")
        self.run_tool("solve", "--config=c.yaml", "--node-limit", "1000000", "--deterministic")


class Output(CliTest):
    def setUp(self):
        super().setUp()
        self.write("c.yaml", SMALL)

    @unittest.skipUnless(os.path.exists("/dev/full"), "no /dev/full")
    def test_full_standard_output_is_an_error(self):
        for words in (["--help"], ["c.yaml"], ["check", "c.yaml"], ["graph", "c.yaml"],
                      ["c.yaml", "--json", "-"]):
            with self.subTest(words), open("/dev/full", "w") as full:
                done = self.run_tool(*words, stdout=full, status=2)
                self.assertIn("standard output: cannot be written: No space left", done.stderr)

    def test_closed_standard_output_is_an_error_and_files_are_written(self):
        done = self.run_tool("c.yaml", "--json", "r.json", status=2,
                             stdout=None, preexec_fn=lambda: os.close(1))
        self.assertIn("standard output", done.stderr)
        self.assertTrue((self.folder / "r.json").read_text().startswith("{"))

    def test_broken_pipe_is_an_error_not_a_crash(self):
        read_end, write_end = os.pipe()
        os.close(read_end)
        done = self.run_tool("c.yaml", status=2, stdout=write_end)
        os.close(write_end)
        self.assertIn("Broken pipe", done.stderr)

    def test_closed_standard_error_is_nobody_to_tell(self):
        self.run_tool("c.yaml", stderr=None, preexec_fn=lambda: os.close(2))
        self.run_tool("nothing.yaml", stderr=None, preexec_fn=lambda: os.close(2), status=2)


if __name__ == "__main__":
    support.main()
