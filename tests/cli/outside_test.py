#!/usr/bin/env python3
"""What comes from outside: pipes that nobody reads, limits of the shell, a program that hangs, and
input that takes long, under signals and the time limit.

usage: outside_test.py DFSEARCH [TEST ...]
"""

import json
import os
import pathlib
import resource
import signal
import time

import support
from support import SMALL, CliTest, random_graph


class Pipes(CliTest):
    def setUp(self):
        super().setUp()
        self.write("c.yaml", SMALL)
        os.mkfifo(self.folder / "pipe")

    def test_a_signal_ends_the_wait_for_a_reader(self):
        process = self.start("c.yaml", "--json", "pipe", "--mapping", "m.json")
        self.wait_for(lambda: (self.folder / "m.json").exists())
        self.assertIsNone(process.poll())
        process.send_signal(signal.SIGTERM)
        stdout, stderr = process.communicate(timeout=20)
        self.assertEqual(process.returncode, 2)
        self.assertIn("pipe: cannot be written: nobody reads from this pipe", stderr)
        self.assertIn("optimal, proved", stdout)

    def test_so_does_the_time_limit(self):
        done = self.run_tool("c.yaml", "--json", "pipe", "--time-limit", "300 ms", status=2)
        self.assertIn("nobody reads from this pipe", done.stderr)
        self.assertIn("optimal, proved", done.stdout)

    def test_a_reader_that_comes_late_gets_all(self):
        process = self.start("c.yaml", "--json", "pipe")
        time.sleep(0.2)
        text = (self.folder / "pipe").read_text()
        self.assertEqual(process.wait(timeout=20), 0)
        self.assertEqual(json.loads(text)["status"], "optimal")

    def test_a_pipe_that_nobody_writes_is_read_until_the_time_limit(self):
        for words in (["pipe"], ["c.yaml", "--hint", "pipe"], ["c.yaml", "--events", "pipe"]):
            with self.subTest(words):
                start = time.monotonic()
                done = self.run_tool(*words, "--time-limit", "300 ms", status=5)
                self.assertLess(time.monotonic() - start, 5)
                self.assertIn("stopped by the time limit before the search began", done.stderr)
        process = self.start("pipe")
        time.sleep(0.1)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(timeout=20), -signal.SIGTERM)

    def test_a_checkpoint_goes_into_no_pipe(self):
        done = self.run_tool("c.yaml", "--checkpoint", "pipe", status=2)
        self.assertIn("pipe: is a pipe, expected a file", done.stderr)


class LongInput(CliTest):
    def test_the_time_limit_holds_while_a_config_is_read(self):
        kernels = "\n".join(f"    - {{name: k{i}, kind: elementwise, M: 2, N: 2}}"
                            for i in range(200_000))
        self.write("long.yaml", SMALL.replace("    - {name: In,", kernels + "\n    - {name: In,"))
        begin = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        done = self.run_tool("long.yaml", "--time-limit", "300 ms", status=5)
        self.assertLess(resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - begin, 0.6)
        self.assertIn("stopped by the time limit before the search began", done.stderr)


class LimitsOfTheShell(CliTest):
    def test_a_file_that_may_not_grow_is_like_a_full_disk(self):
        self.write("c.yaml", SMALL)
        self.write("old.json", "old")

        def small_files():
            resource.setrlimit(resource.RLIMIT_FSIZE, (512, 512))

        done = self.run_tool("c.yaml", "--json", "old.json", "--html", "page.html", status=2,
                             preexec_fn=small_files)
        self.assertIn("old.json: cannot be written: File too large", done.stderr)
        self.assertIn("page.html: cannot be written: File too large", done.stderr)
        self.assertIn("optimal, proved", done.stdout)
        self.assertEqual((self.folder / "old.json").read_text(), "old")
        self.assertEqual(self.files(), ["c.yaml", "old.json"])


class Graphviz(CliTest):
    """With a `dot` that never ends."""

    def setUp(self):
        super().setUp()
        self.write("c.yaml", SMALL)
        self.write("hard.yaml", random_graph())
        (self.folder / "bin").mkdir()
        dot = self.write("bin/dot", f"#!/bin/sh\necho $$ > {self.folder}/pid.new\n"
                                    f"mv {self.folder}/pid.new {self.folder}/pid\nexec sleep 60\n")
        dot.chmod(0o755)
        self.environment = {**os.environ, "PATH": f"{self.folder}/bin:{os.environ['PATH']}"}

    def is_gone(self):
        """Whether the process of dot has ended; nobody may have waited for it yet."""
        pid = (self.folder / "pid").read_text().strip()
        try:
            return "\nState:\tZ" in pathlib.Path(f"/proc/{pid}/status").read_text()
        except FileNotFoundError:
            return True

    def test_it_gets_no_more_than_the_time_limit(self):
        for config, status in (("c.yaml", 0), ("hard.yaml", 4)):
            with self.subTest(config):
                start = time.monotonic()
                self.run_tool(config, "--html", "page.html", "--time-limit", "700 ms",
                              status=status, env=self.environment)
                self.assertLess(time.monotonic() - start, 6)
                self.assertIn("Graphviz had not ended in time",
                              (self.folder / "page.html").read_text())
                self.assertTrue(self.is_gone())

    def test_after_the_limit_it_gets_little_of_the_processor(self):
        self.write("bin/dot", "#!/bin/sh\nwhile :; do :; done\n")

        def used():
            usage = resource.getrusage(resource.RUSAGE_CHILDREN)
            return usage.ru_utime + usage.ru_stime

        before = used()
        self.run_tool("hard.yaml", "--html", "page.html", "--time-limit", "1 ms", "--threads", "1",
                      status=(4, 5), env=self.environment)
        self.assertLess(used() - before, 0.6)
        self.assertIn("Graphviz had not ended in time", (self.folder / "page.html").read_text())

    def test_signals_end_it(self):
        process = self.start("c.yaml", "--html", "page.html", env=self.environment)
        self.wait_for(lambda: (self.folder / "pid").exists())
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(timeout=5), 0)
        self.assertTrue((self.folder / "page.html").exists())
        self.assertTrue(self.is_gone())

    def test_it_does_not_outlive_the_program(self):
        process = self.start("c.yaml", "--html", "page.html", env=self.environment)
        self.wait_for(lambda: (self.folder / "pid").exists())
        process.kill()
        process.wait(timeout=5)
        self.wait_for(self.is_gone, 5)


if __name__ == "__main__":
    support.main()
