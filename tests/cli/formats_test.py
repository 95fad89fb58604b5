#!/usr/bin/env python3
"""Tables of the pages that no schema makes: they have the keys that the program reads and writes,
no more and no fewer.  schema_test.py compares the others with the rows.

The program lists the keys of a map itself, if it is given one that no map has.

usage: formats_test.py DFSEARCH [unittest arguments]
"""

import pathlib
import re

from kinds import deployment
from plan_case import CONFIGS, ROLES, SMALL, changes
from support import CliTest, main

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"
FORMATS, RESULTS, CALCULON = ((DOCS / f"{name}.md").read_text()
                              for name in ("formats", "results", "calculon"))
ABSENT = "zzzzzzzzzzzz"
GRAPH = """\
workload: {kind: graph, tensors: [],
           kernels: [{name: A, kind: elementwise, communication: {type: all_gather, bytes: 1 B}}]}
system:
  chips: 1
  accelerator: {cores: 4, lanes: 2, stages: 2, frequency: 1 GHz, sram: 1 MB}
  memory: {bandwidth: 1 GB/s}
"""


def tables(page, heading, first):
    """The rows, as lists of cells, of the tables below a heading whose head begins so."""
    section = re.split(r"\n##+ ", page.partition(f"\n{heading}\n")[2])[0]
    found = re.findall(rf"^\| {re.escape(first)} \|.*\n\|---.*\n((?:\|.*\n)+)", section,
                       re.MULTILINE)
    return [[cell.strip() for cell in line.strip("|").split(" |")]
            for line in "".join(found).splitlines()]


def keys(rows):
    return [key for row in rows for key in re.findall(r"`([\w.]+)`", row[0])]


def inner(rows, key):
    """The keys in the second cell of the row of a key."""
    return next(re.findall(r"`(\w+)`", row[1]) for row in rows if f"`{key}`" in row[0])


class OfConfigs(CliTest):
    def expected(self, path, config):
        """What the program expects of this value, or of the keys of this map."""
        text = self.run_tool("check", config, "--set", path, status=2).stderr
        return re.search("expected (.*?)(, got .*)?\n", text)[1].replace(" or ", ", ").split(", ")

    def keys_of(self, path, config):
        return self.expected(f"{path}.{ABSENT}=1".lstrip("."), config)

    def test_graphs(self):
        graph = self.write("c.yaml", GRAPH)
        # A command of its own reads each of these.
        closed_forms = {"linpack", "fourier", "collective"}
        self.assertCountEqual(keys(tables(FORMATS, "## Configuration", "key")),
                              closed_forms | set(self.keys_of("", graph)))
        types = tables(FORMATS, "#### `kind: graph`", "type of communication")
        self.assertCountEqual(keys(types), self.expected(
            f"workload.kernels.0.communication.type={ABSENT}", graph))

    def test_plans(self):
        plan = self.write("c.yaml", SMALL)
        sections = tables(FORMATS, "## Plans of training steps", "section")
        self.assertCountEqual(keys(sections) + ["training"], self.keys_of("", plan))
        self.assertCountEqual([word for word in inner(sections, "system") if word in ROLES],
                              self.keys_of("parallelism", plan))
        self.assertCountEqual(inner(sections, "search"), self.keys_of("search", plan))

    def test_machines_of_calculon(self):
        config = CONFIGS / "calculon_1t.yaml"
        self.assertCountEqual(keys(tables(CALCULON, "### `system`", "key of a network")),
                              self.keys_of("system.networks.0", config))
        listed = keys(tables(CALCULON, "### `system`", "key"))
        self.assertCountEqual({key.split(".")[0] for key in listed}, self.keys_of("system", config))
        for part in ("matrix", "vector", "memory"):
            self.assertCountEqual([key.split(".")[1] for key in listed if key.startswith(part + ".")],
                                  self.keys_of(f"system.{part}", config))


class OfResults(CliTest):
    def test_plans(self):
        config = self.write("c.yaml", SMALL)
        result = self.result(config)
        listed = tables(RESULTS, "## Plans of training steps", "key of the JSON")
        self.assertEqual(keys(listed), list(result))
        for key in ("parallelism", "time", "memory", "search"):
            self.assertCountEqual(inner(listed, key), result[key])
        self.assertLess(set(result["plan"]),
                        set(keys(tables(FORMATS, "### The section `training`", "key"))))
        self.assertEqual(inner(listed, "top"), list(result["top"][0]))
        none = self.result(config, *changes("system.memory.capacity=1 MB", "training.zero=0"),
                           status=3)
        self.assertEqual(list(none), list(result))
        self.assertCountEqual(inner(listed, "infeasible"), none["infeasible"])

    def test_executions(self):
        result = self.result(CONFIGS / "calculon_1t.yaml")
        listed = keys(tables(CALCULON, "## 2. The result", "key of the JSON"))
        self.assertLessEqual(set(listed), set(result))
        # The others are as of a mapping, whose keys are first in their page.
        rows = RESULTS.partition("\n| key | value |")[2].partition("\n\n")[0]
        heads = re.findall(r"^\| (.*?) \|", rows, re.MULTILINE)
        self.assertLessEqual(set(result) - set(listed),
                             set(re.findall(r"`(\w+)`", " ".join(heads))))

    def test_deployments(self):
        def solved(*words, status=0, **serving):
            return self.result(self.write("c.json", deployment(**serving)), *words, status=status)

        modes = [solved("--count", modes=[mode]) for mode in ("aggregated", "disaggregated")]
        one, front = modes[0], solved(objective="front")
        heading = "## Deployments that serve"
        rows = tables(RESULTS, heading, "key of the JSON")
        self.assertEqual(keys(rows), list(front))
        for key, of in (("pools", one["pools"][0]), ("limits", one["limits"]),
                        ("workload", one["workload"]), ("workload", one["workload"]["requests"][0])):
            self.assertLessEqual(set(of), set(inner(rows, key)))
        self.assertEqual(inner(rows, "top")[:7], list(one["top"][0]))
        self.assertCountEqual(inner(rows, "search")[1:], one["search"])
        answer = tables(RESULTS, heading, "key of the answer")
        self.assertCountEqual(keys(answer), front["serving"])
        best = {key for each in modes for key in each["serving"]["best"]}
        self.assertCountEqual(inner(answer, "best"), best | {"depth", "precision"})
        self.assertCountEqual(inner(answer, "front"), front["serving"]["front"][0])
        breakdown = one["serving"]["breakdown"]
        self.assertEqual(inner(answer, "breakdown"), [*breakdown, *breakdown["iteration"]])
        figures = {key for each in modes for key in each["serving"]["figures"]}
        self.assertCountEqual(keys(tables(RESULTS, heading, "key of the figures")), figures)
        none = solved(limits={"tpot": "1 us"}, status=3)
        self.assertEqual(list(none), list(front))
        self.assertEqual(inner(rows, "infeasible")[1:], list(none["infeasible"]["remedies"][0]))


if __name__ == "__main__":
    main()
