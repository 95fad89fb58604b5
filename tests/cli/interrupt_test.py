#!/usr/bin/env python3
"""Signals, and progress on terminals and in files.

usage: interrupt_test.py DFSEARCH [TEST ...]
"""

import fcntl
import json
import os
import pathlib
import pty
import re
import resource
import signal
import struct
import termios
import time

import support
from support import CliTest, random_graph

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Interrupt(CliTest):
    def setUp(self):
        super().setUp()
        self.config = self.write("hard.yaml", random_graph())

    def test_the_best_mapping_so_far_is_kept(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(number):
                process = self.start(self.config, "--json", "r.json", "--mapping", "m.json",
                                     "--threads", "2")
                time.sleep(0.5)
                process.send_signal(number)
                stdout, stderr = process.communicate(timeout=60)
                self.assertEqual(process.returncode, 4, (stdout, stderr))
                result = self.read_json("r.json")
                self.assertEqual(result["stopped_by"], "signal")
                self.assertLessEqual(result["lower_bound"], result["objective"])
                self.assertIn("stopped by a signal", stdout)
                again = self.result("evaluate", self.config, "--mapping", "m.json")
                self.assertEqual(again["step_time"], result["step_time"])
                self.assertEqual(self.files(), ["hard.yaml", "m.json", "r.json"])

    def test_the_end_of_processor_time_is_one_of_them(self):
        # The signal comes every second after the first one: the report is written all the same.
        process = self.start(self.config, "--json", "r.json", "--threads", "2",
                             preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (1, 30)))
        stdout, stderr = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 4, (stdout, stderr))
        self.assertEqual(self.read_json("r.json")["stopped_by"], "signal")

    def test_files_are_written_when_nobody_reads_the_report(self):
        read_end, write_end = os.pipe()
        os.close(read_end)
        done = self.run_tool(self.config, "--time-limit", "500 ms", "--json", "r.json",
                             stdout=write_end, status=2)
        os.close(write_end)
        self.assertIn("standard output: cannot be written", done.stderr)
        self.assertEqual(self.read_json("r.json")["stopped_by"], "time")

    def test_ignored_signals_stay_ignored(self):
        process = self.start(self.config, "--time-limit", "1 s", "--json", "-",
                             preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN))
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        stdout, _ = process.communicate(timeout=60)
        self.assertEqual(json.loads(stdout)["stopped_by"], "time")

    def test_a_study_shows_a_selection_and_keeps_all(self):
        process = self.start("study", ROOT / "configs/studies/million.yaml", "--all", "-o", "s",
                             "--threads", "2", "--quiet")
        rows, shown = self.folder / "s/results.ndjson", 2000
        self.wait_for(lambda: rows.exists() and rows.read_bytes().count(b"\n") > shown + 100, 60)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, 4)
        found = [json.loads(line)["index"] for line in rows.read_text().splitlines()]
        table = (self.folder / "s/results.csv").read_text().splitlines()[1:]
        self.assertEqual([int(line.split(",")[0]) for line in table], sorted(found))
        page = (self.folder / "s/study.html").read_text()
        self.assertIn(f'"total": {len(found)},', page)
        selection = json.loads(re.search(r'"columns": {"index": (\[.*?\])', page)[1])
        self.assertLessEqual(len(selection), shown)
        self.assertGreater(len(selection), shown / 2)
        self.assertLessEqual(set(selection), set(found))

    def test_a_second_signal_kills(self):
        # The report cannot leave through a full pipe, so the first signal does
        # not end the process before the second one comes.
        read_end, write_end = os.pipe()
        os.set_blocking(write_end, False)
        try:
            while True:
                os.write(write_end, b"x" * 4096)
        except BlockingIOError:
            pass
        os.set_blocking(write_end, True)
        process = self.start(self.config, "--json", "r.json", stdout=write_end)
        os.close(write_end)
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        self.wait_for((self.folder / "r.json").exists)
        time.sleep(0.1)
        self.assertIsNone(process.poll())
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=60)
        os.close(read_end)
        self.assertEqual(process.returncode, -signal.SIGTERM)


class ProgressLines(CliTest):
    def setUp(self):
        super().setUp()
        self.config = self.write("hard.yaml", random_graph())

    def test_short_of_ten_seconds_a_file_shows_nothing(self):
        done = self.run_tool(self.config, "--time-limit", "1500 ms", status=4)
        self.assertEqual(done.stderr, "")

    def on_terminal(self, *words, term="xterm", status=0):
        """What a terminal of 40 columns is told."""
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 40, 0, 0))
        self.run_tool(*words, stderr=theirs, status=status, env={**os.environ, "TERM": term})
        os.close(theirs)
        os.set_blocking(ours, False)
        try:
            return os.read(ours, 65536).decode()
        except (BlockingIOError, OSError):
            return ""
        finally:
            os.close(ours)

    def check_in_place(self, text):
        self.assertGreaterEqual(text.count("\x1b[K"), 1)
        self.assertLessEqual(text.count("\n"), 2)
        for line in text.split("\r"):
            self.assertLess(len(line.replace("\x1b[K", "").strip()), 40)

    def test_a_terminal_shows_one_line_in_place_without_colours(self):
        search = (self.config, "--time-limit", "2500 ms")
        text = self.on_terminal(*search, status=4)
        self.check_in_place(text)
        self.assertNotIn("\x1b[", text.replace("\x1b[K", ""))
        self.assertEqual(self.on_terminal(*search, "--quiet", status=4), "")
        self.assertEqual(self.on_terminal(*search, term="dumb", status=4), "")

    def test_a_terminal_is_told_how_far_a_study_is(self):
        words = ("study", ROOT / "configs/studies/million.yaml", "--all", "--time-limit", "2500 ms")
        text = self.on_terminal(*words, "-o", "study", status=4)
        self.check_in_place(text)
        self.assertRegex(text, r"\d/1048576 points")
        self.assertEqual(self.on_terminal(*words, "--quiet", "-o", "quiet", status=4), "")


if __name__ == "__main__":
    support.main()
