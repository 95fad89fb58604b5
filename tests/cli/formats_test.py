#!/usr/bin/env python3
"""The tables of docs/formats.md have the keys that the program reads, no more and no fewer.

The program tells them itself: asked for a key that no map has, it lists those it expects.

usage: formats_test.py DFSEARCH [unittest arguments]
"""

import pathlib
import re

from support import CliTest, main

PAGE = (pathlib.Path(__file__).resolve().parents[2] / "docs" / "formats.md").read_text()
ABSENT = "zzzzzzzzzzzz"
CONFIG = """\
workload:
  kind: graph
  kernels: [{name: A, kind: elementwise, communication: {type: all_gather, bytes: 1 B}},
            {name: B, kind: elementwise}, {name: C, kind: attention, attention: {keys: 1}}]
  tensors: [{from: A, to: B}]
  serving: {pass: prefill}
  counts: {parameters: 1, active_parameters: 1, matmul_parameters: 1, training_flop_per_token: 1,
           causal_training_flop_per_token: 1, cache_bytes_per_token: 1 B}
system:
  chips: 1
  accelerator: {cores: 4, lanes: 2, stages: 2, frequency: 1 GHz, sram: 1 MB}
  memory: {bandwidth: 1 GB/s, capacity: 1 GB, second: {bandwidth: 1 GB/s, capacity: 1 GB}}
  network: [{topology: ring, bandwidth: 1 GB/s}]
"""


def rows(heading, first="key"):
    """The rows, as lists of cells, of the tables below a heading whose head begins so."""
    section = re.split(r"\n##+ ", PAGE.partition(f"\n{heading}\n")[2])[0]
    found = []
    for table in re.findall(rf"^\| {first} \|.*\n\|---.*\n((?:\|.*\n)+)", section, re.MULTILINE):
        found += [[cell.strip() for cell in line.strip("|").split(" |")]
                  for line in table.splitlines()]
    return found


def keys(listed):
    return [key for row in listed for key in re.findall(r"`([\w.]+)`", row[0])]


def inner_keys(listed, key):
    """Of a key whose value is shown as a map, {a: ..., b: ...}."""
    value = next(row[1] for row in listed if key in keys([row]))
    return re.findall(r"[{,] *(\w+):", value)


def kernels():
    """Rows of a kernel; those of a tensor stand behind them."""
    listed = rows("#### `kind: graph`")
    return listed[:next(i for i, row in enumerate(listed) if row[0].startswith("`from`"))]


class FormatsTest(CliTest):
    def setUp(self):
        super().setUp()
        self.write("c.yaml", CONFIG)

    def complaint(self, *overrides):
        flags = [word for override in overrides for word in ("--set", override)]
        return self.run_tool("check", "c.yaml", *flags, status=2).stderr

    def expected(self, path, *overrides):
        """The keys that the program expects in the map with this path."""
        text = self.complaint(*overrides, f"{path}.{ABSENT}=1".lstrip("."))
        listed = re.search(rf"unknown key '{ABSENT}', expected (.*)", text)
        self.assertIsNotNone(listed, text)
        return listed[1].replace(" or ", ", ").split(", ")

    def assert_keys(self, path, documented):
        with self.subTest(path):
            self.assertCountEqual(documented, self.expected(path))

    def test_the_top(self):
        # A command of its own reads each of these.
        closed_forms = {"linpack", "fourier", "collective"}
        listed = keys(rows("## Configuration"))
        self.assertLess(closed_forms, set(listed))
        self.assert_keys("", [key for key in listed if key not in closed_forms])

    def test_graphs(self):
        workload = rows("### `workload`")
        graph = workload[max(i for i, row in enumerate(workload) if row[0] == "`kind`"):]
        self.assert_keys("workload", keys(graph))
        for key in ("serving", "counts"):
            self.assert_keys(f"workload.{key}", inner_keys(graph, key))
        kernel = kernels()
        tensor = rows("#### `kind: graph`")[len(kernel):]
        self.assert_keys("workload.kernels.0", keys(kernel))
        self.assert_keys("workload.kernels.0.communication", inner_keys(kernel, "communication"))
        self.assert_keys("workload.kernels.2.attention", inner_keys(kernel, "attention"))
        self.assert_keys("workload.tensors.0", keys(tensor))

    def test_the_system(self):
        listed = rows("### `system`")
        dimension = listed[next(i for i, row in enumerate(listed) if "topology" in row[0]):]
        self.assert_keys("system.network.0", keys(dimension))
        system = listed[:len(listed) - len(dimension)]
        self.assert_keys("system.memory.second", inner_keys(system, "memory.second"))
        parts = {}
        for key in keys(system):
            part, _, inner = key.partition(".")
            parts.setdefault(part, []).extend([inner] if inner else [])
        self.assert_keys("system", list(parts))
        for part in ("accelerator", "memory"):
            self.assert_keys(f"system.{part}", parts[part])

    def test_the_other_sections(self):
        for section in ("parallelism", "execution", "sharding", "search", "energy"):
            self.assert_keys(section, keys(rows(f"### `{section}`")))
        listed = rows("### `price` and `power`")
        by_peak = next(i for i, row in enumerate(listed) if row[0] == "`polynomial`")
        for section in ("price", "power"):
            self.assert_keys(section, keys(listed[:by_peak]))
            self.assert_keys(f"{section}.accelerator", keys(listed[by_peak:]))
        self.assert_keys("equations", keys(rows("### `equations`", "switch")))

    def test_words_that_a_key_may_have(self):
        tables = {
            "workload.kernels.0": kernels(),
            "system.network.0": rows("### `system`"),
            "execution": rows("### `execution`"),
            "search": rows("### `search`"),
            "equations": rows("### `equations`", "switch"),
        }
        count = 0
        for path, listed in tables.items():
            for row in listed:
                words = row[1].replace("`", "").split(", ")
                word = r"`\w+`" if path != "equations" else r"[a-z]\w+"
                if len(words) < 2 or not re.fullmatch(rf"{word}(, {word})+", row[1]):
                    continue
                count += 1
                for key in keys([row]):
                    place = "system" if key.startswith("accelerator.") else path
                    with self.subTest(f"{place}.{key}"):
                        text = self.complaint(f"{place}.{key}={ABSENT}")
                        known = re.search(rf"expected (.*), got '?{ABSENT}", text)
                        self.assertIsNotNone(known, text)
                        self.assertCountEqual(words, known[1].replace(" or ", ", ").split(", "))
        self.assertGreater(count, 15)

    def test_communications(self):
        types = [name for row in rows("#### `kind: graph`", "type of communication")
                 for name in re.findall(r"`(\w+)`", row[0])]
        text = self.complaint(f"workload.kernels.0.communication.type={ABSENT}")
        known = re.search(rf"expected (.*), got '?{ABSENT}", text)[1]
        self.assertCountEqual(types, known.replace(" or ", ", ").split(", "))


if __name__ == "__main__":
    main()
