#!/usr/bin/env python3
"""The folder of a study: kills, full disks, lines of another hand, parts put together.

usage: study_folder_test.py DFSEARCH [unittest arguments]

STUDY_KILLS=1000 in the environment kills the study of 500 points so often.
"""

import json
import os
import random
import resource
import signal
import subprocess
import time

from study_case import STUDY, TIGHT, StudyCase
from support import main


class StudyFolderTest(StudyCase):
    def test_a_folder_has_one_study(self):
        self.run_study("dir", "--all")
        other = self.write("other.yaml", STUDY.replace("512 KiB", "640 KiB"))
        self.assert_error("another study", "study", other, "-o", self.folder_of("dir"))
        before = self.rows("dir")
        self.run_study("dir", "--all")
        self.assertEqual(before, self.rows("dir"))
        self.run_study("part", "--all", "--shard", "1/2")
        for words in (["--shard", "2/2"], ["--shard", "1/3"], []):
            self.assert_error("another part", "study", self.study, "-o", self.folder_of("part"),
                              "--all", *words)

    def test_a_torn_line_is_taken_away(self):
        self.run_study("torn", "--all", "--deterministic")
        rows = self.folder_of("torn") / "results.ndjson"
        whole = rows.read_text()
        rows.write_text(whole[:-40])
        self.run_study("torn", "--all", "--deterministic")
        self.assertEqual(sorted(whole.splitlines()), sorted(self.rows("torn")))
        rows.write_text(whole.replace('"status"', '"sta', 1))
        self.assert_error("results.ndjson:1:1", "study", self.study, "-o", self.folder_of("torn"),
                          "--all")

    def test_lines_of_another_hand_are_refused(self):
        self.run_study("hand", "--all", "--deterministic")
        rows = self.folder_of("hand") / "results.ndjson"
        whole = rows.read_text()
        first = json.loads(whole.splitlines()[0])
        for line, message in (
                (json.dumps(first | {"index": 99}), "expected 0 to 29, got 99"),
                (json.dumps(first | {"index": -1}), "expected 0 to 29, got -1"),
                (json.dumps(first | {"index": 1e300}), "expected a whole number"),
                (json.dumps(first | {"index": first["index"] + 1}), "expected link "),
                (json.dumps(first | {"step_time": 1e-9}), "fingerprint"),
                ("[" * 100000, "nested too deep"), ("7", "expected a JSON object"), ("", "is empty")):
            rows.write_text(whole + line + "\n")
            self.assert_error("results.ndjson:26:1: ", "study", self.study, "-o",
                              self.folder_of("hand"), "--all")
            self.assert_error(message, "study", "merge", self.folder_of("hand"), "-o",
                              self.folder_of("x"))
        rows.write_text(whole + whole)  # twice the same is no harm
        self.run_study("hand", "--all", "--deterministic")
        rows.write_text(whole)
        state = self.folder_of("hand") / "study.json"
        text = state.read_text()
        for old, new in (('"dimension": 1', '"dimension": 7'), ('"of": 1', '"of": 0'),
                         ('"part": 1', '"part": -4'), ("{", "[" * 100000)):
            state.write_text(text.replace(old, new, 1))
            self.assertNotEqual(state.read_text(), text)
            self.assert_error("study.json: ", "study", "merge", self.folder_of("hand"), "-o",
                              self.folder_of("x"))

    def test_a_merge_spares_folders_of_others(self):
        for k in (1, 2):
            self.run_study(f"p{k}", "--shard", f"{k}/2")
        parts = [self.folder_of("p1"), self.folder_of("p2")]
        self.run_study("other", study=self.write("o.yaml", STUDY.replace("512 KiB", "640 KiB")))
        for folder in ("other", "p1"):
            before = self.rows(folder)
            self.assert_error("a folder of its own", "study", "merge", *parts, "-o",
                              self.folder_of(folder))
            self.assertEqual(before, self.rows(folder))
        for _ in range(2):
            self.run_tool("study", "merge", *reversed(parts), "-o", self.folder_of("both"))

    def test_a_full_disk_ends_in_a_message(self):
        # A limit on the size of files ends writes as a full disk does.
        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (8000, 8000))

        done = self.run_tool("study", self.study, "-o", self.folder_of("full"), "--all",
                             status=2, preexec_fn=limit)
        self.assertIn("results.ndjson", done.stderr)
        written = len(self.rows("full"))
        self.assertGreater(written, 0)
        self.run_study("full", "--all")
        self.assertEqual(len(self.rows("full")), 25)

    def test_kills_lose_the_points_in_flight_only(self):
        # 500 points, killed at random times and gone on with.
        kills = int(os.environ.get("STUDY_KILLS", "12"))
        text = STUDY.replace("steps: 5", "steps: 100").replace(
            "except: [{link: fast, sram: 64 KiB}]\n", "")
        text = text.replace("[64 KiB, 512 KiB, 2 MiB]", "[512 KiB, 2 MiB, 4 MiB]")
        study = self.write("many.yaml", text)
        self.run_study("whole", "--all", "--deterministic", study=study)
        draw = random.Random(7)
        folder = self.folder_of("killed")
        command = [self.program, "study", study, "-o", folder, "--all", "--deterministic", "--quiet"]
        done = 0
        while done < kills:
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL)
            time.sleep(draw.uniform(0.0, 0.12))
            process.kill()
            process.wait()
            done += 1
            if process.returncode == 0 and done < kills:
                # It was done before: begin anew.
                self.assertEqual(sorted(self.rows("whole")), sorted(self.rows("killed")))
                for file in folder.iterdir():
                    file.unlink()
        self.run_study("killed", "--all", "--deterministic", study=study)
        self.assertEqual(sorted(self.rows("whole")), sorted(self.rows("killed")))

    def test_a_run_that_was_killed_has_a_page(self):
        self.run_study("killed")
        folder = self.folder_of("killed")
        (folder / "front.json").unlink()
        with open(folder / "results.ndjson", "a", encoding="utf-8") as rows:
            rows.write('{"index": 3, "poi')
        page = self.run_tool("report", folder).stdout
        self.assertIn(f'"total": {len(self.rows("killed")) - 1}', page)

    def test_the_status_says_whether_anything_is_proved(self):
        done = self.run_study("none", "--all", "--time-limit", "0 s", status=5)
        self.assertIn("before the first point", done.stderr)
        # A part that has no points has nothing left to prove.
        self.run_study("empty", "--all", "--shard", "7/1000")
        self.run_study("cut", "--all", "--point-time-limit", "0 s", status=5)
        tight = self.write("tight.yaml", TIGHT.replace("[64 KiB, 512 KiB, 2 MiB]", "[1 KiB, 2 KiB]")
                           .replace("except: [{link: fast, sram: 64 KiB}]\n", ""))
        self.run_study("tight", study=tight, status=3)
        self.run_tool("study", "merge", self.folder_of("tight"), "-o", self.folder_of("m"), status=3)


if __name__ == "__main__":
    main()
