#!/usr/bin/env python3
"""Time limits and signals end everything: tables, duals, bounds of points, explanations.

Each case took from half a minute to hours beyond its limit before one deadline was handed down
to all of it; the allowance here is what a busy machine needs.

usage: limits_test.py DFSEARCH [TEST ...]
"""

import json
import signal
import subprocess
import time

import support
from support import CliTest

ALLOWANCE = 6.0  # seconds beyond the limit
ROOT = support.pathlib.Path(__file__).resolve().parents[2]
DLRM = ROOT / "configs" / "dlrm.yaml"
DATAFLOW = ("--set", "execution.style=dataflow")


def dlrm(mlps):
    """So many layers in each of both towers: six kernels a layer."""
    return (DLRM, "--set", f"workload.bottom={mlps}", "--set", f"workload.top={mlps}",
            "--set", "system.memory.capacity=1 MB")


def layers(depth, width):
    """Kernels in layers, each fed by two of the layer before."""
    kernels, tensors = [], []
    for row in range(depth):
        for column in range(width):
            rows = 64 * (1 + (7 * row + 5 * column) % 12)
            kernels.append({"name": f"k{row}_{column}", "kind": "elementwise2", "M": rows, "N": 64})
            for operand in (1, 2) if row else ():
                source = (column * operand + row) % width
                tensors.append({"from": f"k{row - 1}_{source}", "to": f"k{row}_{column}",
                                "operand": operand})
    return json.dumps({
        "workload": {"kind": "graph", "sequence": 64, "kernels": kernels, "tensors": tensors},
        "system": {"chips": 1, "memory": {"bandwidth": "60 GB/s"},
                   "accelerator": {"cores": 61, "lanes": 16, "stages": 8, "frequency": "1 GHz",
                                   "sram": "1 MiB"}},
        "equations": {"shapes": "unchecked"}})


class Limits(CliTest):
    def check_ends(self, *words, seconds=0.5):
        begin = time.monotonic()
        done = self.run_tool(*words, "--time-limit", f"{seconds} s", "--quiet", "--json", "r.json",
                             "--threads", "2", status=(0, 3, 4, 5))
        self.assertLess(time.monotonic() - begin, seconds + ALLOWANCE, words)
        result = json.loads((self.folder / "r.json").read_text())
        return done, result

    def test_explanations_end(self):
        for words in (dlrm(300), dlrm(600), (*dlrm(400), *DATAFLOW)):
            with self.subTest(words):
                done, result = self.check_ends(*words)
                self.assertIn(done.returncode, (3, 5))
                self.assertIn("limit", done.stdout)
                reason = result["infeasible"]
                self.assertTrue(reason is None or not reason["changes_complete"])

    def test_tables_and_first_mappings_end(self):
        for words in ((*dlrm(2000), *DATAFLOW, "--set", "execution.partitions=40"),
                      (*dlrm(800), *DATAFLOW)):
            with self.subTest(words):
                done, result = self.check_ends(*words)
                self.assertIn(done.returncode, (3, 4, 5))  # 3: a fast machine proves that
                if done.returncode != 3:
                    self.assertEqual(result["stopped_by"], "time")

    def test_expansions_of_wide_graphs_end(self):
        wide = self.write("wide.json", layers(30, 40))
        long = self.write("long.json", layers(150, 8))
        for words in ((long,), (long, "--deterministic"),
                      (wide, "--set", "search.sharding=joint")):
            with self.subTest(words):
                done, result = self.check_ends(*words, seconds=1)
                self.assertIn(done.returncode, (4, 5))
                self.assertEqual(result["stopped_by"], "time")

    def test_a_signal_ends_an_explanation(self):
        process = subprocess.Popen(
            self.command(*dlrm(600), "--quiet"), cwd=self.folder, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.kill)
        time.sleep(1)
        process.send_signal(signal.SIGTERM)
        begin = time.monotonic()
        stdout, stderr = process.communicate(timeout=60)
        self.assertLess(time.monotonic() - begin, ALLOWANCE)
        self.assertIn(process.returncode, (3, 5), stderr)
        self.assertIn("signal", stdout)


if __name__ == "__main__":
    support.main()
