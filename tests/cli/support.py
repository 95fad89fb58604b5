"""What the tests of the command line share: running the program, small configs."""

import json
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

# Four kernels of a forward pass, two chips; solved in no time.
SMALL = """\
workload:
  kind: graph
  global_batch: 8
  sequence: 64
  kernels:
    - {name: In, kind: elementwise, M: 256, N: 64}
    - {name: Up, kind: weight_gemm, M: 1024, K: 256, N: 64}
    - {name: Act, kind: elementwise, M: 1024, N: 64}
    - {name: Down, kind: weight_gemm, M: 256, K: 1024, N: 64}
  tensors:
    - {from: In, to: Up}
    - {from: Up, to: Act}
    - {from: Act, to: Down}
system:
  chips: 2
  accelerator: {cores: 16, lanes: 16, stages: 8, frequency: 1 GHz, sram: 1 MiB}
  memory: {bandwidth: 100 GB/s, capacity: 1 GB}
  network:
    - {topology: ring, degree: 2, bandwidth: 25 GB/s, strategy: tensor}
execution: {partitions: 4, overlap: perfect}
price: {accelerator: 1000, memory: 1.0, link: 2.0, switch: 24.0}
power: {accelerator: 100, memory: 0.1, link: 0.05, switch: 0.05}
"""

# Its kernels need an SRAM even alone.
WHOLE_KERNELS = SMALL + "equations: {lone_kernels: whole}\n"

# A layer of GPT-2 size with its backward pass: 41 kernels, cores allocated.
TRAINING = """\
workload:
  kind: llm_training
  hidden: 1024
  heads: 16
  head_dim: 64
  sequence: 512
  layers: 24
  word: 2 B
  global_batch: 64
  micro_batch: 1
  tile: 128
system:
  chips: 8
  accelerator: {cores: 256, lanes: 16, stages: 8, frequency: 1 GHz, sram: 24 MiB}
  memory: {bandwidth: 200 GB/s}
  network:
    - {topology: ring, degree: 4, bandwidth: 50 GB/s, strategy: tensor}
    - {topology: switch, degree: 2, bandwidth: 25 GB/s, strategy: data}
execution: {partitions: 8, compute_utilization: 0.8}
"""


def random_graph(kernels=60, seed=7, partitions=None):
    """A config of `kernels` kernels in layers of six, each fed by two of the
    layer before; cores are allocated one by one.  Mappings are easily found,
    but the best one is not easily proved."""
    state = seed

    def draw(count):
        nonlocal state
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (state >> 33) % count

    lines, tensors = [], []
    for k in range(kernels):
        m, depth = 64 * (1 + draw(12)), 64 * (1 + draw(12))
        kind = ["weight_gemm", "gemm", "elementwise2"][draw(3)]
        extents = f"M: {m}, N: 256" + ("" if kind == "elementwise2" else f", K: {depth}")
        lines.append(f"    - {{name: k{k}, kind: {kind}, {extents}}}")
        layer = k // 6
        if layer > 0:
            first = draw(6)
            for operand, source in enumerate((first, (first + 1 + draw(5)) % 6), start=1):
                tensors.append(
                    f"    - {{from: k{6 * (layer - 1) + source}, to: k{k}, operand: {operand}}}"
                )
    limit = f"partitions: {partitions}, " if partitions else ""
    return "\n".join(
        [
            "workload:", "  kind: graph", "  sequence: 256", "  global_batch: 4",
            "  kernels:", *lines, "  tensors:", *tensors,
            "system:", "  chips: 2",
            "  accelerator: {cores: 61, lanes: 16, stages: 8, frequency: 1 GHz, sram: 2 MiB}",
            "  memory: {bandwidth: 60 GB/s}",
            "  network: [{topology: ring, degree: 2, bandwidth: 25 GB/s, strategy: tensor}]",
            f"execution: {{{limit}overlap: perfect}}",
            "equations: {shapes: unchecked}",
            "search: {sharding: least_bytes}",
            "",
        ]
    )


def with_default_signals():
    """Whoever runs the tests in the background may have had them ignored."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


class CliTest(unittest.TestCase):
    """Runs the program in an empty directory that goes away with the test."""

    program = ""
    maxDiff = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, name, text):
        file = self.folder / name
        file.write_text(text)
        return file

    def command(self, *words):
        return [self.program, *map(str, words)]

    def run_tool(self, *words, status=0, **options):
        """The finished process; its exit status must be the one expected, or one of
        several."""
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
        done = subprocess.run(
            self.command(*words), cwd=self.folder, stdin=subprocess.DEVNULL, text=True,
            timeout=120, check=False, **options,
        )
        expected = (status,) if isinstance(status, int) else status
        self.assertIn(done.returncode, expected, (words, done.stdout, done.stderr))
        return done

    def start(self, *words, **options):
        """The running process, which is killed when the test ends."""
        process = subprocess.Popen(self.command(*words), cwd=self.folder, text=True, **{
            "stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE,
            "preexec_fn": with_default_signals, **options})
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    def wait_for(self, condition, seconds=60):
        end = time.monotonic() + seconds
        while not condition():
            self.assertLess(time.monotonic(), end, "waited in vain")
            time.sleep(0.005)

    def result(self, *words, status=0):
        """The JSON that `--json -` prints."""
        return json.loads(self.run_tool(*words, "--json", "-", status=status).stdout)

    def read_json(self, *parts):
        """The value in a file of JSON."""
        return json.loads(self.folder.joinpath(*parts).read_text())

    def read_rows(self, *parts):
        """The values in a file of JSON of which each line has one."""
        return list(map(json.loads, self.folder.joinpath(*parts).read_text().splitlines()))

    def files(self):
        return sorted(path.name for path in self.folder.iterdir())


def printed_schema():
    """The JSON Schema of the program that the first argument names."""
    return subprocess.run([sys.argv[1], "schema"], stdout=subprocess.PIPE, text=True,
                          check=True).stdout


def printed_formats(program):
    """The names of all formats of `emit`, from its complaint of another one."""
    done = subprocess.run([program, "emit", "-", "--for", "?"], stderr=subprocess.PIPE, text=True,
                          check=False)
    return re.search("expected (.*), got", done.stderr)[1].replace(" or ", ", ").split(", ")


def main():
    if len(sys.argv) < 2:
        sys.exit(f"usage: {sys.argv[0]} DFSEARCH [TEST ...]")
    CliTest.program = str(pathlib.Path(sys.argv[1]).resolve())
    unittest.main(module="__main__", argv=[sys.argv[0], *sys.argv[2:]])
