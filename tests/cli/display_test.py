#!/usr/bin/env python3
"""What is shown changes no result: display options, alone and together, and what more is asked for.

usage: display_test.py DFSEARCH [TEST ...]
"""

import itertools

import support
from kinds import KINDS
from support import CliTest

ONE = ("--threads", "1", "--deterministic")
# Options that show something or keep it in a file, with whether the report is printed.
DISPLAY = [(("--quiet",), False), (("--verbose",), True), (("--html", "page.html"), True),
           (("--events", "events.ndjson"), True), (("--mapping", "m.json"), True),
           (("--events", "-"), False)]
TIMES = ("time", "first_incumbent", "best_incumbent", "memory_used")


def timeless(value, in_search=False):
    """A result without what a clock says of the search."""
    if isinstance(value, dict):
        return {key: timeless(part, in_search or key == "search") for key, part in value.items()
                if not (in_search and key in TIMES)}
    if isinstance(value, list):
        return [timeless(part, in_search) for part in value]
    return value


def compatible(options):
    """Whether the program takes them together."""
    names = [option[0][0] for option in options]
    return not ({"--quiet", "--verbose"} <= set(names) or names.count("--events") > 1)


class Display(CliTest):
    def solved(self, *words, status=0):
        done = self.run_tool(*words, *ONE, "--json", "r.json", status=status)
        return timeless(self.read_json("r.json")), done.stdout

    def test_display_changes_no_result_of_any_kind(self):
        for kind, text in KINDS.items():
            config = self.write("c.yaml", text)
            plain, report = self.solved(config)
            self.assertTrue(report)
            only = timeless(self.result(config, *ONE))
            self.assertEqual(only, plain)
            for count in (1, 2, 3):
                for options in filter(compatible, itertools.combinations(DISPLAY, count)):
                    words = [word for option in options for word in option[0]]
                    with self.subTest(kind=kind, words=words):
                        result, shown = self.solved(config, *words)
                        self.assertEqual(result, plain)
                        if not all(prints for _, prints in options):
                            self.assertNotIn("\nresult ", shown)

    def test_quiet_prints_nothing(self):
        for kind, text in KINDS.items():
            with self.subTest(kind):
                config = self.write("c.yaml", text)
                done = self.run_tool(config, "--quiet", "--mapping", "m.json")
                self.assertEqual((done.stdout, done.stderr), ("", ""))
                if kind in EVALUATED:
                    again = self.run_tool("evaluate", config, "--mapping", "m.json", "--quiet")
                    self.assertEqual((again.stdout, again.stderr), ("", ""))

    def test_quiet_keeps_exit_status_and_errors(self):
        nothing = self.write("c.yaml", support.WHOLE_KERNELS.replace("1 MiB", "1 KiB"))
        done = self.run_tool(nothing, "--quiet", "--json", "r.json", status=3)
        self.assertEqual(done.stdout, "")
        self.assertEqual(self.read_json("r.json")["status"], "infeasible")
        self.assertIn("c.yaml", self.run_tool(self.write("c.yaml", "a: 1\n"), "--quiet",
                                              status=2).stderr)

    def test_what_more_is_asked_for_keeps_the_answer(self):
        more = {"--top": ("--top", "3"), "--count": ("--count",), "--what-if": ("--what-if",),
                "--checkpoint": ("--checkpoint", "c.ck"), "--robust": ("--robust",)}
        for kind, text in KINDS.items():
            config = self.write("c.yaml", text)
            plain, _ = self.solved(config)
            for option, words in more.items():
                if (kind, option) in REFUSED:
                    self.run_tool(config, *words, status=2)
                    continue
                with self.subTest(kind=kind, option=option):
                    result, _ = self.solved(config, *words)
                    (self.folder / "c.ck").unlink(missing_ok=True)
                    self.assertEqual(answer_of(result), answer_of(plain))

    def test_what_is_emitted_changes_no_result(self):
        for kind, framework in (("plan", "megatron"), ("stack", "megatron"),
                                ("deployment", "vllm"), ("front", "inferencex")):
            with self.subTest(kind):
                config = self.write("c.yaml", KINDS[kind])
                plain, _ = self.solved(config)
                result, _ = self.solved(config, "--emit", f"{framework}=out.txt")
                self.assertEqual(result, plain)


EVALUATED = set(KINDS) - {"split", "front", "fleet"}
NO_TOP = {"stages", "fleet"}
REFUSED = ({(kind, "--top") for kind in NO_TOP} |
           {(kind, "--what-if") for kind in ("chip", "split", "deployment", "front", "fleet")} |
           {(kind, "--robust") for kind in KINDS if kind != "stack"} |
           {("fleet", "--count"), ("fleet", "--checkpoint"), ("stages", "--checkpoint")})
# What is asked for is there, and effort is spent on it; all else is the answer.
ASKED = ("search", "top", "top_complete", "best_splits", "what_if", "robust", "feasible")


def answer_of(result):
    return {key: value for key, value in result.items() if key not in ASKED}


if __name__ == "__main__":
    support.main()
