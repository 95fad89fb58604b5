#!/usr/bin/env python3
"""The worked example of docs/search.md, section 12, and docs/duals.md, section 5, in numbers.

The pages were worked out by hand.  Here the program computes every number again, and the bounds
of nodes, which it does not print, follow from the table of kernels by the formulas of section 5.

usage: example_test.py DFSEARCH [unittest arguments]
"""

import itertools
import json
import pathlib
import re

from support import CliTest, main

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"
SEARCH = (DOCS / "search.md").read_text().partition("## 12. An example")[2]
DUALS = (DOCS / "duals.md").read_text().partition("## 5. In numbers")[2]
MICROSECOND = 1e-6
SRAM, PARTITIONS = 320, 3  # kB; also in the config, which `evaluate` goes by

KERNELS = ("Left", "Right", "Join", "Out")
PRODUCERS = {"Left": (), "Right": (), "Join": ("Left", "Right"), "Out": ("Join",)}
ALL_BOUNDS = ("point compute network memory hidden partial partitions duals transpositions"
              " symmetry relaxation completion dominated_loops segments").split()


def table(page, first):
    """The rows of the table whose head begins with this cell."""
    body = page.partition(f"| {first} |")[2].partition("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in body]


def numbers(text):
    return [float(number) for number in re.findall(r"\d+(?:\.\d+)?", text)]


def kernel_table():
    """By kernel: compute, weight, output and own memory traffic; kB and us are the same."""
    return {name: dict(zip(("compute", "weight", "output", "own"),
                           [float(re.match(r"[\d.]+|", cell)[0] or 0) for cell in cells]))
            for name, *cells in table(SEARCH, "kernel")}


def tensors():
    return [(producer, consumer) for consumer, all_of in PRODUCERS.items() for producer in all_of]


def parts(kernels):
    """Compute and memory time, and SRAM, of a partition."""
    values = kernel_table()
    compute = sum(values[k]["compute"] for k in kernels)
    memory = sum(values[k]["own"] for k in kernels)
    sram = sum(values[k]["weight"] for k in kernels)
    for u, v in tensors():
        ends = (u in kernels) + (v in kernels)
        memory += values[u]["output"] if ends == 1 else 0
        sram += 2 * values[u]["output"] if ends else 0
    return compute, memory, sram


def time(kernels):
    return max(parts(kernels)[:2])


def ideals():
    sets = itertools.chain.from_iterable(
        itertools.combinations(KERNELS, size) for size in range(len(KERNELS) + 1))
    return [frozenset(s) for s in sets if all(u in s for k in s for u in PRODUCERS[k])]


def chains(done=frozenset()):
    """All ways from the ideal to all kernels, as lists of partitions."""
    if len(done) == len(KERNELS):
        return [[]]
    return [[ideal - done, *rest] for ideal in ideals() if done < ideal for rest in chains(ideal)]


def memory_that_cannot_hide():
    """5.4 for Join, the one kernel with memory traffic of its own: what no company can hide."""
    values = kernel_table()
    buffers = parts(["Join"])[2]
    # All other kernels have 1 us of compute per kB of weight, so they fill the knapsack.
    others = min(SRAM - buffers, sum(values[k]["weight"] for k in KERNELS))
    return max(0.0, values["Join"]["own"] - (values["Join"]["compute"] + others))


def bound(done, spent):
    """5.1, 5.3 and 5.4 of the kernels that are not done."""
    values = kernel_table()
    rest = [k for k in KERNELS if k not in done]
    compute = sum(values[k]["compute"] for k in rest)
    compute += memory_that_cannot_hide() if "Join" in rest else 0
    memory = sum(values[k]["own"] for k in rest)
    memory += sum(values[u]["output"] for u, v in tensors() if u in done and v in rest)
    return spent + max(compute, memory)


class ExampleTest(CliTest):
    def setUp(self):
        super().setUp()
        config = re.search(r"<!-- file: four_kernels.yaml -->\n```yaml\n(.*?)```", SEARCH, re.S)[1]
        self.write("four_kernels.yaml", config)

    def evaluated(self, partitions, status=0):
        """The JSON of `evaluate` for a list of lists of kernels."""
        listed = [{"kernels": sorted(p)} for p in partitions]
        self.write("mapping.json", json.dumps({"micro_batch": 1, "tile": 1, "partitions": listed}))
        return self.result("evaluate", "four_kernels.yaml", "--mapping", "mapping.json",
                           status=status)

    def assert_us(self, seconds, expected):
        self.assertAlmostEqual(seconds / MICROSECOND, expected, delta=1e-9 * expected)

    def search(self, *flags):
        return self.result("four_kernels.yaml", "--quiet", "--deterministic", *flags)

    def test_the_table_of_mappings_has_all_and_their_costs(self):
        listed = []
        for names, times, step in table(SEARCH, "partitions"):
            partitions = [frozenset(names.split()) for names in names.split(",")]
            listed.append(partitions)
            if not times:
                resource, needed, available = step.split()[0], *numbers(step)
                reason = self.evaluated(partitions, status=3)["infeasible"]
                unit = 1000 if resource == "SRAM:" else 1
                self.assertEqual(
                    (reason["resource"] + ":", reason["needed"], reason["available"]),
                    (resource.lower(), needed * unit, available * unit))
                continue
            cost = self.evaluated(partitions)
            self.assert_us(cost["step_time"], float(step))
            self.assertEqual(sum(numbers(times)), float(step))
            for partition, expected in zip(cost["partitions"], numbers(times), strict=True):
                self.assert_us(partition["time"], expected)
                kernels = partition["kernels"]
                self.assert_us(partition["time"], time(kernels))
                self.assertAlmostEqual(partition["sram"], 1000 * parts(kernels)[2])
        self.assertCountEqual(listed, chains())

    def test_bounds_at_the_root(self):
        rows = table(SEARCH, "bound")
        self.assertEqual(len(rows), 3)
        for label, value, _ in rows:
            names = re.sub(r"\(.*?\)", "", label).replace(",", " ").split()
            others = [word for name in ALL_BOUNDS if name not in names
                      for word in ("--no-bound", name)]
            with self.subTest(names):
                self.assert_us(self.search(*others)["search"]["root_bound"], float(value))

    def test_the_tree(self):
        nodes = re.findall(
            r"^(.*)(\{.*?\}|all kernels) +spent +(\d+)(?: +bound +(\d+))? +(.*)", SEARCH, re.M)
        fates = {"expanded": 0, "dropped": 0, "a mapping": 0}
        for branch, names, spent, lower, fate in nodes:
            done = frozenset(KERNELS if names == "all kernels" else re.findall(r"\w+", names))
            fates[next(f for f in fates if fate.startswith(f))] += 1
            self.assertIn(done, ideals())
            # What is drawn below {Right} has Right by itself, and then the others.
            first = frozenset({"Right"}) if branch.startswith("|") else done
            steps = [part for part in (first, done - first) if part]
            self.assertAlmostEqual(sum(time(part) for part in steps), float(spent))
            if lower:
                self.assertAlmostEqual(bound(done, float(spent)), float(lower))
        self.assertEqual(fates, {"expanded": 2, "dropped": 5, "a mapping": 1})
        result = self.search("--events", "events.ndjson")
        self.assert_us(result["step_time"], 210)
        self.assertEqual([p["kernels"] for p in result["partitions"]],
                         [["Right"], ["Left", "Join", "Out"]])
        # The root of the whole tree and the point besides.
        self.assertEqual(result["search"]["proof"]["nodes"], fates["expanded"] + 2)
        events = map(json.loads, (self.folder / "events.ndjson").read_text().splitlines())
        found = [(e["found_by"], round(e["objective"] / MICROSECOND, 6)) for e in events
                 if e["event"] == "incumbent"]
        self.assertEqual(found, [("S", 250), ("T", 210)])

    def test_duals(self):
        sets = {frozenset(names.split()): (float(t), float(d))
                for names, t, d in table(DUALS, "set")}
        duals = {kernel: sets[frozenset([kernel])][1] for kernel in KERNELS}
        possible = {part for chain in chains() for part in chain if parts(part)[2] <= SRAM}
        self.assertEqual(set(sets), possible)
        for kernels, (taken, worth) in sets.items():
            self.assertEqual(worth, sum(duals[k] for k in kernels))
            self.assertLessEqual(worth, taken)
            self.assertAlmostEqual(time(kernels), taken)
        self.assertEqual(sum(duals.values()), 210)


if __name__ == "__main__":
    main()
