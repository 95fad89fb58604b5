#!/usr/bin/env python3
"""The process that reads models of ONNX: its time, its end by signals, and how it fails.

usage: onnx_reader_test.py DFSEARCH [TEST ...]

An interpreter of our own stands before that of the system in PATH.
"""

import json
import os
import pathlib
import signal
import time

import support
from support import CliTest, random_graph

ASLEEP = "sleep 60 &\necho $! > asleep\nwait\n"


class OnnxReader(CliTest):
    def setUp(self):
        super().setUp()
        self.write("m.onnx", "no model")

    def reader(self, script):
        """What python3 does."""
        folder = self.folder / "bin"
        folder.mkdir(exist_ok=True)
        (folder / "python3").write_text("#!/bin/sh\n" + script)
        (folder / "python3").chmod(0o755)
        return {"env": {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}}

    def check_nobody_sleeps(self):
        process = int((self.folder / "asleep").read_text())
        for _ in range(100):
            stat = pathlib.Path(f"/proc/{process}/stat")
            if not stat.exists() or stat.read_text().rsplit(")", 1)[1].split()[0] == "Z":
                return
            time.sleep(0.05)
        self.fail("the reader goes on")

    def said(self, script, status=2):
        return self.run_tool("check", "m.onnx", status=status, **self.reader(script)).stderr

    def test_it_ends_with_the_time_limit(self):
        begin = time.monotonic()
        done = self.run_tool("m.onnx", "--time-limit", "500 ms", status=5, **self.reader(ASLEEP))
        self.assertLess(time.monotonic() - begin, 20)
        self.assertIn("stopped by the time limit before the search began", done.stderr)
        self.check_nobody_sleeps()

    def test_its_time_counts(self):
        self.write("graph.yaml", random_graph())
        done = self.run_tool("m.onnx", "--time-limit", "3 s", "--json", "-", status=(4, 5),
                             **self.reader("sleep 2\nexec cat graph.yaml\n"))
        result = json.loads(done.stdout)
        self.assertEqual(result["stopped_by"], "time")
        self.assertLess(result["search"]["time"], 2)

    def test_it_ends_with_signals(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            with self.subTest(number):
                process = self.start("m.onnx", **self.reader(ASLEEP))
                self.wait_for((self.folder / "asleep").exists)
                process.send_signal(number)
                _, errors = process.communicate(timeout=30)
                self.assertEqual(process.returncode, 5)
                self.assertIn("stopped by a signal before the search began", errors)
                self.check_nobody_sleeps()
                (self.folder / "asleep").unlink()

    def test_its_crash_is_no_absence(self):
        for script, reason in (("kill -SEGV $$\n", "was ended by signal 11 (Segmentation fault)"),
                               ("kill -KILL $$\n", "was ended by signal 9 (Killed)"),
                               ("echo Traceback >&2; echo MemoryError >&2; exit 1\n",
                                "failed with status 1: MemoryError")):
            with self.subTest(script):
                said = self.said(script)
                self.assertIn("m.onnx: the reader of models of ONNX", said)
                self.assertIn(reason, said)
                self.assertNotIn("needs python3", said)

    def test_its_absence(self):
        for script in ("echo 'm.onnx: read_onnx needs the package onnx' >&2; exit 3\n",
                       "echo 'python3: No module named dfsearch' >&2; exit 1\n",
                       "echo \"ImportError: cannot import name '_dfsearch'\" >&2; exit 1\n"):
            with self.subTest(script):
                # The interpreter of the system may have what this one lacks.
                said = self.said(script)
                self.assertTrue("needs python3 with the packages" in said
                                or "is no model of ONNX" in said, said)
                self.assertNotIn("reader of models", said)

    def test_an_error_in_the_file(self):
        said = self.said("echo 'm.onnx: is no model of ONNX' >&2; exit 2\n")
        self.assertEqual(said, "m.onnx: is no model of ONNX\n")


if __name__ == "__main__":
    support.main()
