#!/usr/bin/env python3
"""Names and files cannot steer the terminal, forge lines of a report or run in a spreadsheet.

usage: terminal_test.py DFSEARCH [TEST ...]
"""

import csv
import json
import os
import pathlib
import re

import support
from support import SMALL, CliTest

ROOT = pathlib.Path(__file__).resolve().parents[2]
GRAPH = ROOT / "configs/gpt3_1t.yaml"
SERVING = ROOT / "configs/serving/llama3_70b_16_h100.yaml"
RUNS = ROOT / "configs/measured/training.csv"
SERVICES = ROOT / "configs/measured/serving.csv"
# Colours, a title of the window, a second line, and controls of one byte and of two.
HOSTILE = "a\x1b[31mred\x1b]0;title\x07\nresult  optimal\r\x7f\u009b31m"
SHOWN = r"a\x1b[31mred\x1b]0;title\x07\nresult  optimal\x0d\x7f\xc2\x9b31m"
CONTROLS = "[\0-\x08\x0b-\x1f\x7f-\x9f]"


class Terminal(CliTest):
    def copy(self, file, ending=".yaml"):
        name = HOSTILE + ending
        text = file.read_text().replace("../", f"{file.parent.parent}/")
        text = text.replace("from: technologies/", f"from: {file.parent}/technologies/")
        (self.folder / name).write_text(text)
        return name

    def check(self, *words, status=0):
        """What is printed, without control characters."""
        done = self.run_tool(*words, status=status)
        self.assertNotRegex(done.stdout, CONTROLS)
        self.assertNotRegex(done.stderr, CONTROLS)
        self.assertNotRegex(done.stdout + done.stderr, r"(?m)^result  optimal")
        return done

    def test_names_of_files_in_reports_and_notes(self):
        config = self.copy(GRAPH)
        for words in ((config,), ("check", config), (config, "--verbose")):
            self.assertIn(SHOWN, self.check(*words).stdout)
        for kind in ("yaml", "json", "dot"):
            self.check("graph", config, "--format", kind)
        self.assertEqual(json.loads(self.check(config, "--json", "-").stdout)["status"], "optimal")
        for line in self.check(config, "--events", "-").stdout.splitlines():
            json.loads(line)
        for each in (SERVING, ROOT / "configs/training/qwen3_30b_16_h100.yaml",
                     ROOT / "configs/v100_split.yaml"):
            self.assertIn(SHOWN, self.check(self.copy(each), "--time-limit", "2 s",
                                            status=(0, 4)).stdout)

    def test_names_of_files_in_errors(self):
        config = self.copy(GRAPH)
        (self.folder / (HOSTILE + ".map")).write_text("{}")
        for words in ((HOSTILE + ".no",), (config, "--hint", HOSTILE + ".map"),
                      ("evaluate", config, "--mapping", HOSTILE + ".map"),
                      ("emit", HOSTILE + ".map", "--for", "vllm"), ("report", HOSTILE + ".map"),
                      (config, "--json", HOSTILE + "/no"), ("import", HOSTILE + ".map"),
                      (config, "--set", f"{HOSTILE}=1"), (f"--{HOSTILE}",), ("study", config)):
            with self.subTest(words):
                done = self.check(*words, status=(0, 2))
                self.assertEqual(done.stderr.count("\n"), len(done.stderr.splitlines()))
        checkpoint = HOSTILE + ".ck"
        self.check(config, "--checkpoint", checkpoint, "--node-limit", "1", status=5)
        self.assertIn("the search goes on", self.check(config, "--checkpoint", checkpoint).stderr)

    def test_names_in_results_that_are_read(self):
        result = self.result(self.write("c.yaml", SMALL))
        for kernel in result["graph"]["kernels"]:
            if kernel["name"] == "Up":
                kernel["name"] = HOSTILE
                kernel["kind"] = 'gemm"]; evil [label="'
        text = json.dumps(result).replace('"Up"', json.dumps(HOSTILE))
        self.write("r.json", text)
        # In place of Graphviz.
        self.write("dot", "#!/bin/sh\ncat > drawn\necho '<svg/>'\n").chmod(0o755)
        done = self.run_tool("report", "r.json",
                             env={**os.environ, "PATH": f"{self.folder}:{os.environ['PATH']}"})
        self.assertIsNone(re.search(CONTROLS, done.stdout))
        self.assertIn(r"a\\x1b[31mred\\x1b]0;title\\x07\nresult", done.stdout)
        # Only the program's own statements, each on a line.
        label = r'"(?:[^"\\]|\\.)*"'
        for line in (self.folder / "drawn").read_text().splitlines():
            self.assertRegex(line, rf"^(digraph layer {{|}}|  }}|  [a-z].*;|  subgraph cluster_\d+ {{|"
                             rf"    label={label};|    k\d+ \[label={label}(, fillcolor={label})?\];|"
                             rf"  k\d+ -> k\d+ \[label={label}\];)$")

    def test_cells_of_predicted_runs(self):
        for source, column in ((RUNS, "id"), (SERVICES, "id")):
            with self.subTest(source):
                with open(source, encoding="utf-8", newline="") as file:
                    rows = [row for row, _ in zip(csv.reader(file), range(6))]
                place = rows[0].index(column)
                names = [HOSTILE, "=cmd|' /C calc'!A0", "+1+cmd", "-2+3", "@SUM(1,2)"]
                for row, name in zip(rows[1:], names):
                    row[place] = name
                with open(self.folder / "runs.csv", "w", encoding="utf-8", newline="") as file:
                    csv.writer(file).writerows(rows)
                self.check("predict", "runs.csv", "-o", "out.csv", "--worst", "9")
                with open(self.folder / "out.csv", encoding="utf-8", newline="") as file:
                    cells = [cell for row in csv.reader(file) for cell in row]
                for name in names[1:]:
                    self.assertIn("'" + name, cells)
                for cell in cells:
                    if cell[:1] in tuple("=+-@"):
                        float(cell)

    def test_names_of_studies(self):
        self.write("base.yaml", SMALL)
        self.write("study.yaml", json.dumps({
            "study": HOSTILE, "base": "base.yaml", "objective": ["step_time"],
            "axes": [{"name": "=1+1", "key": "system.memory.bandwidth",
                      "values": ["100 GB/s", "200 GB/s"]}]}))
        done = self.check("study", "study.yaml", "-o", "out", status=(0, 2))
        if done.returncode == 0:
            head = (self.folder / "out/results.csv").read_text().splitlines()[0]
            self.assertIn("'=1+1", head)

    def test_a_linear_program_has_one_line_for_its_origin(self):
        config = self.copy(ROOT / "configs/gpt3_1t.yaml")
        lines = self.check("export", config, "--set", "workload.tile=1",
                           status=(0, 2)).stdout.splitlines()
        self.assertFalse([line for line in lines if line.startswith("result  optimal")])

    def test_the_environment_of_a_terminal_does_not_matter(self):
        config = self.copy(GRAPH)
        for term in ("dumb", "xterm"):
            done = self.run_tool(config, env={**os.environ, "TERM": term})
            self.assertNotRegex(done.stdout, CONTROLS)


if __name__ == "__main__":
    support.main()
