#!/usr/bin/env python3
"""The program built with a sanitizer runs every shipped config without a report of it.

Each config is checked, searched for a second on two threads, and its result is read again by
`evaluate`.  Studies, chips, predictions of measured runs and answers with `--what-if` come after.
A sanitizer ends the program with a status of its own, or with 1; both are faults here.

usage: sanitized_configs_test.py DFSEARCH
"""

import itertools
import pathlib

import support

ROOT = pathlib.Path(__file__).resolve().parents[2]
CONFIGS = ROOT / "configs"
WHOLE = ("", "figures", "published", "serving", "training", "transformers")
PROVED, USAGE, INFEASIBLE, STOPPED, NO_ANSWER = 0, 2, 3, 4, 5
REPORTS = ("AddressSanitizer", "LeakSanitizer", "ThreadSanitizer", "runtime error:")


def configs(*folders):
    return sorted(itertools.chain.from_iterable(
        (CONFIGS / folder).glob("*.yaml") for folder in folders))


class SanitizedConfigs(support.CliTest):
    def run_clean(self, *words, status=(PROVED, INFEASIBLE, STOPPED, NO_ANSWER)):
        done = self.run_tool(*words, status=status)
        for report in REPORTS:
            self.assertNotIn(report, done.stderr)
        return done

    def test_whole_configs(self):
        for config in configs(*WHOLE):
            with self.subTest(config.name):
                self.run_clean("check", config, status=PROVED)
                self.run_clean(config, "--threads", "2", "--time-limit", "1 s",
                               "--json", "result.json")
                # Answers that have no single best one to cost again are refused.
                self.run_clean("evaluate", config, "--mapping", "result.json",
                               status=(PROVED, USAGE, INFEASIBLE))

    def test_what_if_and_the_next_answers(self):
        for config in configs("serving", "training"):
            with self.subTest(config.name):
                self.run_clean(config, "--threads", "2", "--time-limit", "1 s", "--what-if",
                               "--top", "3", "--html", "page.html",
                               status=(PROVED, USAGE, INFEASIBLE, STOPPED, NO_ANSWER))

    def test_studies(self):
        for config in configs("studies"):
            with self.subTest(config.name):
                self.run_clean("study", config, "-o", f"study_{config.stem}", "--threads", "2",
                               "--time-limit", "2 s")

    def test_chips(self):
        for config in configs("chips"):
            with self.subTest(config.name):
                self.run_clean("chip", config, status=PROVED)

    def test_predictions(self):
        for table in sorted((CONFIGS / "measured").glob("*.csv")):
            with self.subTest(table.name):
                rows = table.read_text().splitlines()
                few = self.write(table.name, "\n".join(rows[:1] + rows[1::20]) + "\n")
                self.run_clean("predict", few, "-o", "predictions.csv", status=PROVED)


if __name__ == "__main__":
    support.main()
