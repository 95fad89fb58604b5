#!/usr/bin/env python3
"""`dfsearch chip`: chips of technologies and budgets.

Three worked examples with all digits, from another evaluator (tests/data/chips); what the authors
of DeepFlow printed of their runs; and, for every chip of configs/chips and random ones, the
equations of docs/technology.md in Python (tests/support/reference_chip.py).

usage: chip_test.py DFSEARCH [unittest arguments]
"""

import json
import math
import pathlib
import random
import re
import sys

from schema_test import load
from support import CliTest, main

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))
import reference_chip  # noqa: E402  (needs the path)

CHIPS = ROOT / "configs" / "chips"
NODES = ("n12", "n10", "n7", "n5", "n3", "n2", "n1")
PARTS = ("core", "registers", "L1", "L2", "memory", "intra", "inter")
MIB, GIB, TIB = 2.0**20, 2.0**30, 2.0**40

# Values that the authors' runs printed, with their digits.
PRINTED = {
    "peak": [125.01932, 206.70764, 343.57239, 574.72765, 968.76578, 1648.87505, 2839.69752],
    "fabric_peak": [105.24622, 174.29772, 290.45483, 486.83352, 822.94113, 1404.86997, 2428.13624],
    "registers": [20.03125, 29.90625, 44.625, 66.625, 99.4375, 148.40625, 221.515625],
    "registers_tib_s": [93.7, 173.5, 321.0, 593.8, 1098.0, 2028.8, 3744.4],
    "L2": [6.0, 6.09375, 6.1875, 6.25, 6.28125, 6.3125, 6.34375],
    "L2_tib_s": [2.1, 3.9, 7.2, 13.3, 24.7, 45.7, 84.7],
    "fabric_memory_gib_s": [634.7, 792.7, 792.7, 924.7, 924.7, 924.7, 924.7],
    "fabric_stacks": [2, 3, 3, 4, 4, 4, 4],
}


class ChipTest(CliTest):
    def chip(self, *words, status=0):
        return self.result("chip", *words, status=status)

    def assert_same(self, expected, found, path=""):
        """To a relative 1e-12; what is found may have more keys."""
        if isinstance(expected, dict):
            for key, value in expected.items():
                self.assertIn(key, found, path)
                self.assert_same(value, found[key], f"{path}.{key}")
        elif isinstance(expected, list):
            self.assertEqual(len(expected), len(found), path)
            for i, (a, b) in enumerate(zip(expected, found)):
                self.assert_same(a, b, f"{path}[{i}]")
        elif isinstance(expected, (int, float)):
            self.assertIsNotNone(found, path)
            self.assertLessEqual(abs(expected - found), 1e-12 * abs(expected),
                                 f"{path}: expected {expected!r}, got {found!r}")
        else:
            self.assertEqual(expected, found, path)

    def given_alone(self, name):
        """With the loops, borders and weights of a layer that the figures of the file are for."""
        case = self.given(name)
        case["config"]["equations"] = {"layer_seams": "free", "weight_traffic": "resident"}
        case["config"]["search"] = {"sharding": "least_bytes"}
        return case

    def given(self, name):
        return json.loads((ROOT / "tests" / "data" / "chips" / f"{name}.json").read_text())

    def test_examples_with_all_digits(self):
        for name in ("v100", "a100", "seven_nm"):
            with self.subTest(name):
                case = self.given(name)
                del case["expected"]["gemms"]
                self.write("chip.yaml", json.dumps({"system": case["config"]["system"]}))
                self.assert_same(case["expected"], self.chip("chip.yaml"))

    def test_published_switches(self):
        system = self.given("v100")["config"]["system"]
        self.write("chip.yaml", json.dumps({"system": system, "equations": "published"}))
        published = self.chip("chip.yaml")
        physical = self.chip("chip.yaml", "--set", "equations=physical")
        self.assertEqual(published["links"]["inter"]["ports"], 1)
        self.assert_same([51605429864.253395], published["system"]["network"])
        for part in ("budget", "core", "levels", "memory", "power_used"):
            self.assertEqual(published[part], physical[part])
        system = self.given("a100")["config"]["system"]
        system["budget"]["area"]["L2"] = "180 mm2"
        self.write("chip.yaml", json.dumps({"system": system}))
        too_much = self.chip("chip.yaml", status=3)["infeasible"]
        self.assert_same([{"part": None, "budget": "area", "needed": 826.36, "available": 826.0}],
                         too_much)
        self.assertEqual(
            self.chip("chip.yaml", "--set", "equations=published")["infeasible"], [])
        # (15): 4 ports inside the package and 1 out of it, whatever the dimensions.
        self.write("chip.yaml", json.dumps({"system": self.given("seven_nm")["config"]["system"]}))
        links = self.chip("chip.yaml", "--set", "equations.link_ports=four_and_one")["links"]
        self.assertEqual([links[kind]["ports"] for kind in ("intra", "inter")], [4, 1])

    def test_squared_voltage_floor_overdraws(self):
        system = self.given("seven_nm")["config"]["system"]
        self.write("chip.yaml", json.dumps({"system": system}))
        for floor in ("exact", "squared"):
            equations = {"voltage_floor": floor}
            chip = self.chip("chip.yaml", "--set", f"equations.voltage_floor={floor}")
            self.assert_same(reference_chip.chip(system, equations), chip)
        self.assertEqual(chip["core"]["state"], "minimum voltage")
        self.assertGreater(chip["power_used"]["core"], 24.0 * 1.1)

    def test_what_the_authors_printed(self):
        stored = ("--set", "system.technology.registers.leakage=495 pW/bit",
                  "--set", "system.budget.power.registers=0.3025")
        nodes = [CHIPS / "nodes" / f"{node}.yaml" for node in NODES]
        logic = self.chip(*nodes)
        registers = self.chip(*nodes, *stored)
        fabric = self.chip(*[CHIPS / "nodes" / f"siif_{node}.yaml" for node in NODES])
        for i, node in enumerate(NODES):
            for name, value, digits in (
                ("peak", logic[i]["core"]["peak"] / 1e12, 5),
                ("fabric_peak", fabric[i]["core"]["peak"] / 1e12, 5),
                ("registers", registers[i]["levels"][0]["capacity"] / MIB, 6),
                ("registers_tib_s", registers[i]["levels"][0]["bandwidth"] / TIB, 1),
                ("L2", logic[i]["levels"][2]["capacity"] / MIB, 5),
                ("L2_tib_s", logic[i]["levels"][2]["raw_bandwidth"] / TIB, 1),
                ("fabric_memory_gib_s", fabric[i]["memory"]["bandwidth"] / GIB, 1),
                ("fabric_stacks", fabric[i]["memory"]["stacks"], 0),
            ):
                with self.subTest(f"{name} of {node}"):
                    # The last L2 is 84.63 here and 84.7 there.
                    slack = 0.1 if (name, node) == ("L2_tib_s", "n1") else 0.5 * 10.0**-digits
                    self.assertLessEqual(abs(value - PRINTED[name][i]), slack + 1e-9)
            port = fabric[i]["links"]["intra"]["port_bandwidth"] / GIB
            self.assertAlmostEqual(port, 159.9, delta=0.05)

    def test_memories_and_links_that_the_authors_stored(self):
        for name, capacity, bandwidth, unit in (
            ("hbm1_v100", 16, 924.7, GIB), ("hbm2", 32, 1.3, TIB), ("hbm2e_8", 48, 1.5, TIB),
            ("hbm2e_12", 72, 2.5, TIB), ("hbm2e_16", 96, 3.9, TIB),
        ):
            memory = self.chip(CHIPS / "memories" / f"{name}.yaml")["memory"]
            self.assertEqual(memory["capacity"] / GIB, capacity, name)
            self.assertAlmostEqual(memory["bandwidth"] / unit, bandwidth, delta=0.05, msg=name)
        for generation, gib_s in ((1, 48.1), (4, 384.5), (6, 1395.8), (10, 5169.8)):
            link = self.chip(CHIPS / "links" / f"generation_{generation:02}.yaml")["links"]["inter"]
            self.assertAlmostEqual(link["bandwidth"] / GIB, gib_s, delta=0.05, msg=str(generation))

    def test_gemms_of_the_examples(self):
        for name in ("v100", "a100", "seven_nm"):
            case = self.given(name)
            expected = case["expected"]["gemms"]
            if name == "v100":
                case["config"]["system"]["technology"]["core"]["fma"] = 4
            self.write("chip.yaml", json.dumps(case["config"]))
            shapes = [word for gemm in expected
                      for word in ("--shape", "x".join(map(str, gemm["shape"])))]
            published = ["--published"] if name == "v100" else []
            with self.subTest(name):
                done = self.run_tool("gemm", "chip.yaml", *shapes, *published, "--json", "-")
                self.assert_same(expected, json.loads(done.stdout)["gemms"])
        self.run_tool("gemm", "chip.yaml", "--shape", "4x4", status=2)
        self.run_tool("gemm", "chip.yaml", "--shape", "4x0x4", status=2)
        self.run_tool("gemm", "chip.yaml", status=2)
        self.run_tool("gemm", "chip.yaml", "--shape", "4x4x4", "--published", status=2)

    def test_an_lstm_is_the_sum_of_its_gemms_and_passes(self):
        """(23) and (24) of docs/technology.md, from the times of the GEMMs of their own."""
        chip = CHIPS / "v100.yaml"
        launch, word = 3e-6, 4
        told = ["--set", "execution.launch_overhead=3 us", "--word", f"{word} B", "--json", "-"]
        bandwidth = self.result("chip", chip)["memory"]["bandwidth"]
        for b, d, v, layers, steps in ((64, 512, 3000, 3, 7), (1, 96, 1000, 1, 1), (33, 100, 7, 2, 5)):
            everything = steps * b
            shapes = {
                "gates": (4 * d, 2 * d, b), "logits": (v, d, b), "gates'": (2 * d, 4 * d, b),
                "logits'": (d, v, b), "update": (4 * d, everything, 2 * d),
                "update of logits": (v, everything, d), "recurrent": (4 * d, d, b),
                "recurrent'": (d, 4 * d, b), "below": (4 * d, d, everything),
                "below'": (d, 4 * d, everything), "all logits": (v, d, everything),
                "all logits'": (d, v, everything)}
            words = [word for shape in shapes.values()
                     for word in ("--shape", "x".join(map(str, shape)))]
            found = json.loads(self.run_tool(
                "gemm", chip, *words, "--lstm", f"{b}x{d}x{v}x{layers}x{steps}", *told).stdout)
            g = dict(zip(shapes, (gemm["time"] for gemm in found["gemms"])))
            through = lambda elements: word * elements / bandwidth + launch  # noqa: E731
            lstm, = found["lstms"]
            weights = layers * g["update"] + g["update of logits"]
            cell, row = through(10 * d * b), through(2 * v * b)
            rows = through(2 * v * everything)
            waiting = steps * layers
            expected = {
                "step_by_step": (
                    steps * (layers * (g["gates"] + cell) + g["logits"] + row),
                    steps * (layers * (g["gates'"] + cell) + g["logits'"] + row) + weights),
                "folded": (
                    waiting * (g["recurrent"] + cell) + layers * g["below"] + g["all logits"] + rows,
                    waiting * (g["recurrent'"] + cell) + layers * g["below'"] + g["all logits'"]
                    + rows + weights)}
            for way, (forward, backward) in expected.items():
                with self.subTest(way, extents=(b, d, v, layers, steps)):
                    self.assertAlmostEqual(lstm[way]["forward"] / forward, 1, delta=1e-12)
                    self.assertAlmostEqual(lstm[way]["backward"] / backward, 1, delta=1e-12)
                    self.assertAlmostEqual(lstm[way]["embedding"],
                                           2 * through(2 * d * everything), delta=1e-15)
            self.assertEqual(lstm["parameters"], 2 * v * d + 8 * layers * d * d)
        for wrong in ("2x2x2x2", "2x2x2x2x0", "2147483648x2x2x2x2", "2x2x2x2x2x2"):
            said = self.run_tool("gemm", chip, "--lstm", wrong, status=2).stderr
            self.assertIn("--lstm: expected", said)

    # LSTM layers on a V100 with launches of 9 us, worked by a second writing of the equations.  With
    # another dataflow for each GEMM the backward cell would take 0.0001501 s.
    LSTM = {
            "cell_forward": 9.845947190113166e-05,
            "cell_backward": 0.0001470933412769944,
            "softmax_forward": 5.018475024521407e-05,
            "softmax_backward": 6.430843084961465e-05,
            "embedding_backward": 9.040713093875662e-06,
            "embedding_forward": 0.0003240608743841982,
            "body": 0.018774007898583096,
    }

    def test_a_published_lstm_keeps_the_dataflow_of_its_first_gemm(self):
        found, = self.result("gemm", CHIPS / "v100.yaml", "--lstm", "4096x256x256x2x20", "--published",
                             "--set", "execution.launch_overhead=9 us")["lstms"]
        self.assert_same(self.LSTM, found["published"])

    def test_all_chips_in_one_command_beside_the_reference(self):
        files = sorted(CHIPS.rglob("*.yaml"))
        self.assertGreaterEqual(len(files), 43)
        chips = self.chip(*files)
        self.assertEqual(len(chips), len(files))
        for file, chip in zip(files, chips):
            with self.subTest(file.name):
                self.assertEqual(chip["config"], str(file))
                self.assertEqual(chip["infeasible"], [])
                self.assert_same(reference_chip.chip(resolved_system(file)), chip)

    def test_a_folder_is_a_table_with_a_row_for_each_chip(self):
        text = self.run_tool("chip", CHIPS / "nodes").stdout
        rows = [line.split() for line in text.splitlines()]
        names = [row[0] for row in rows]
        for i, node in enumerate(NODES):
            row = rows[names.index(node)]
            peak, unit = float(row[4]), {"TFLOP/s": 1.0, "PFLOP/s": 1e3}[row[5]]
            self.assertAlmostEqual(peak * unit / PRINTED["peak"][i], 1.0, delta=5e-4)
            self.assertEqual(row[-3:], ["AP", "KP", "Ev"])
        fabric = rows[names.index("siif_n12")]
        self.assertEqual(fabric[-3:], ["AP", "AP", "Ev"])  # two stacks for lack of die area
        self.assertEqual(self.chip(CHIPS / "nodes"),
                         self.chip(*sorted((CHIPS / "nodes").glob("*.yaml"))))

    def test_a_chip_that_cannot_be_built_is_a_row_with_its_reason(self):
        case = self.given("v100_llm_prefill")["config"]
        self.write("good.yaml", json.dumps({"system": case["system"]}))
        case["system"]["budget"]["power"]["core"] = "0 W"
        self.write("poor.yaml", json.dumps({"system": case["system"]}))
        text = self.run_tool("chip", "good.yaml", "poor.yaml", status=3).stdout
        self.assertRegex(text, r"(?m)^ *poor +- .* no chip$")
        self.assertIn("no chip       poor: core: has 0 W of the power, expected more than 0 W", text)
        both = self.chip("good.yaml", "poor.yaml", status=3)
        self.assertEqual([len(chip["infeasible"]) for chip in both], [0, 1])
        (self.folder / "empty").mkdir()
        done = self.run_tool("chip", "empty", status=2)
        self.assertIn("empty: there is no config in this folder", done.stderr)

    def test_a_technology_without_levels_is_refused(self):
        system = self.given("v100")["config"]["system"]
        for part in ("registers", "L1", "L2"):
            for parts in (system["technology"], system["budget"]["area"], system["budget"]["power"]):
                del parts[part]
        self.write("chip.yaml", json.dumps({"system": system}))
        self.assertIn("technology: expected at least one level (registers, L1 or L2), or "
                      "'accelerator.sram'", self.run_tool("chip", "chip.yaml", status=2).stderr)

    def test_bars_are_the_shares_of_the_budgets(self):
        for name in ("v100", "seven_nm"):
            system = self.given(name)["config"]["system"]
            self.write("chip.yaml", json.dumps({"system": system}))
            lines = self.run_tool("chip", "chip.yaml").stdout.splitlines()
            start = next(i for i, line in enumerate(lines) if line.startswith("   of the"))
            parts = [part for part in PARTS if part in system["technology"]]
            left = [1.0, 1.0, 1.0]
            for line, part in zip(lines[start + 1:], parts + ["left"]):
                cells = re.findall(r"(-?[0-9.]+) % ?([#.]*)", line)
                self.assertEqual(line.split()[0], part)
                expected = left if part == "left" else shares_of(system["budget"], part)
                self.assertEqual(len(cells), len(expected))
                for i, (share, (number, marks)) in enumerate(zip(expected, cells)):
                    self.assertAlmostEqual(100.0 * share, float(number), delta=0.051)
                    if "#" in marks:
                        self.assertAlmostEqual(20.0 * share, len(marks), delta=0.501)
                    else:
                        self.assertLess(20.0 * share, 0.501)
                    left[i] -= share if part != "left" else 0.0

    def test_random_chips_beside_the_reference(self):
        for seed in range(40):
            with self.subTest(f"seed {seed}"):
                system = random_system(random.Random(seed))
                self.write("chip.yaml", json.dumps({"system": system}))
                done = self.run_tool("chip", "chip.yaml", "--json", "-", status=(0, 3))
                chip = json.loads(done.stdout)
                if done.returncode == 0:
                    self.assert_same(reference_chip.chip(system), chip)

    def test_the_machine_reads_back_to_the_same(self):
        case = self.given("seven_nm")
        workload = {"kind": "llm_prefill", "hidden": 4096, "heads": 32, "head_dim": 128,
                    "sequence": 2048, "layers": 32, "global_batch": 512}
        system = {"chips": 512, **case["config"]["system"]}
        for dimension, strategy in zip(system["network"], ("tensor", "tensor", "data")):
            dimension["strategy"] = strategy
        execution = {"style": "kernel_by_kernel", "levels": True}
        self.write("chip.yaml", json.dumps(
            {"workload": workload, "system": system, "execution": execution}))
        printed = self.run_tool("chip", "chip.yaml").stdout
        block = printed[printed.index("system:\n"):].replace(
            "execution: {", "execution: {style: kernel_by_kernel, levels: true, ")
        self.write("machine.yaml", f"workload: {json.dumps(workload)}\n{block}")
        derived, written = (self.result(file) for file in ("chip.yaml", "machine.yaml"))
        self.assertIsNotNone(derived.pop("chip"))
        self.assertIsNone(written.pop("chip"))
        for result in (derived, written):
            for key in ("search", "power", "power_efficiency"):
                del result[key]
            for one in result["top"]:
                del one["power"]
        self.assertEqual(derived, written)

    def test_the_best_split_of_the_example(self):
        case = self.given_alone("seven_nm_search")
        expected = case["expected"]
        self.write("c.yaml", json.dumps(case["config"]))
        result = self.result("c.yaml", "--threads", "2")
        self.assertEqual(result["status"], "optimal")
        self.assert_same(1.831343792933575, result["step_time"])
        self.assertEqual(result["lower_bound"], result["step_time"])
        self.assert_same(expected["split"], result["split"])
        self.assertEqual(result["split"]["edge"], {})
        del expected["chip"]["frequency_apart"]
        self.assert_same(expected["chip"], result["chip"])
        self.assertEqual(result["search"]["splits"], 17820)
        self.assertLess(result["search"]["boxes"], 60)

    def test_the_best_splits_and_what_more_would_bring(self):
        self.write("c.yaml", json.dumps(self.given("seven_nm_search")["config"]))
        words = ["c.yaml", "--threads", "2", "--quiet"]
        result = self.result(*words, "--top", "4")
        best = result["best_splits"]
        self.assertEqual([found["status"] for found in best], ["optimal"] * 4)
        times = [found["objective"] for found in best]
        self.assertEqual(times, sorted(times))
        self.assertEqual(times[0], result["step_time"])
        self.assertEqual(best[0]["split"], result["split"])
        # Each answer equals the result for its split without a search.
        for found in best:
            change = [f"system.budget.{budget}.{part}={share!r}"
                      for budget, shares in found["split"].items()
                      for part, share in shares.items()]
            sets = [word for one in change for word in ("--set", one)]
            given = self.result(*words, *sets)
            self.assertAlmostEqual(given["step_time"], found["objective"], delta=1e-12)
            self.assertIsNone(given["best_splits"])
            self.assertIsNone(given["gains"])
        # A step more of the power of the cores, with a total that has room for it.
        gains = {(gain["budget"], gain["part"]): gain for gain in result["gains"]}
        gain = gains["power", "core"]
        self.assertEqual((gain["searched"], gain["has"], gain["more"]), (True, 125.0, 25.0))
        shares = result["split"]
        sets = ["--set", "equations.budget_sums=unchecked", "--set", "system.budget.power.core=0.6"]
        for budget, part in (("area", "core"), ("area", "L2"), ("power", "L2"),
                             ("power", "memory"), ("power", "inter")):
            sets += ["--set", f"system.budget.{budget}.{part}={shares[budget][part]!r}"]
        more = self.result(*words, *sets)["step_time"]
        self.assertAlmostEqual(more, gain["step_time"], delta=1e-12)
        self.assertAlmostEqual(more / times[0] - 1.0, gain["change"], delta=1e-12)
        self.assertEqual(gain["effect"], "faster")
        self.assertEqual(gains["edge", "inter"]["effect"], "same")
        self.assertIn(("package", None), gains)
        text = self.run_tool(*words[:-1]).stdout
        self.assertRegex(text, r"binds +power of core: 8\.09 % faster with 25 W more")

    def test_a_space_of_ten_to_the_thirteen_is_not_enumerated(self):
        words = ["--threads", "1", "--quiet", "--json", "-"]
        result = json.loads(self.run_tool(ROOT / "configs" / "v100_split.yaml", *words,
                                          "--node-limit", "2", status=4).stdout)
        # Six shares of area and of power with at most 20 steps, two of edge.
        self.assertEqual(result["search"]["splits"],
                         math.comb(26, 6) * math.comb(26, 6) * math.comb(22, 2))
        self.assertEqual(result["search"]["boxes"], 2)
        self.assertLess(0.0, result["lower_bound"])
        # The whole search proves 0.479247 s.
        self.assertLessEqual(result["lower_bound"], 0.4792470455)
        self.assertGreaterEqual(result["step_time"], 0.4792470454)

    def test_a_chip_that_cannot_be_built_ends_every_command(self):
        case = self.given("v100_llm_prefill")["config"]
        case["system"]["budget"]["area"]["core"] = "0.3 mm2"
        case["execution"].pop("levels")
        self.write("chip.yaml", json.dumps(case))
        for words in (["chip", "chip.yaml"], ["chip.yaml"], ["check", "chip.yaml"]):
            text = self.run_tool(*words, status=3).stdout
            self.assertIn("core: has 0.3 mm2 of the area, expected at least 3.04 mm2: 2.74 mm2 too "
                          "little", " ".join(text.split()))
        result = self.result("chip.yaml", status=3)
        self.assertEqual(result["status"], "infeasible")
        self.assert_same([{"part": "core", "budget": "area", "needed": 3.04, "available": 0.3}],
                         result["chip"]["infeasible"])

    def test_steps_of_the_example(self):
        case = self.given_alone("v100_llm_prefill")
        case["config"]["equations"]["layout_conversion_bytes"] = "shard"  # backward heads gather
        for kind, seconds, with_levels in (
            ("llm_prefill", 1.7298713576332878, 1.7386699412235962),
            ("llm_training", 3.997773482965217, 4.01574914118788),
        ):
            config = json.loads(json.dumps(case["config"]))
            config["workload"]["kind"] = kind
            for levels, expected in ((False, seconds), (True, with_levels)):
                config["execution"]["levels"] = levels
                self.write("c.yaml", json.dumps(config))
                result = self.result("c.yaml")
                self.assertAlmostEqual(result["step_time"], expected, delta=1e-12 * expected)
                bounds = {partition["bound_by"] for partition in result["partitions"]}
                self.assertEqual("L2" in bounds, levels)
            result = self.result("c.yaml")
            self.assert_same(case["expected"]["core"], result["chip"]["core"])


def shares_of(budget, part):
    """Of area, power and, where the part has one, edge: fractions or amounts of the budget."""
    die = float(budget["area"]["die"].split()[0])
    totals = [("area", die), ("power", float(budget["power"]["total"].split()[0]))]
    if part in budget["edge"]:
        totals.append(("edge", 4.0 * die ** 0.5))
    shares = []
    for name, total in totals:
        share = budget[name][part]
        shares.append(float(share.split()[0]) / total if isinstance(share, str) else share)
    return shares


def resolved_system(file):
    """The system of a config with its `from:` files laid under, in a dozen lines of their own."""
    def resolve(value, folder):
        if not isinstance(value, dict):
            return value
        base = {}
        if "from" in value:
            path = folder / value["from"]
            base = resolve(load(path.read_text()), path.parent)
        for key, inner in value.items():
            if key == "from":
                continue
            inner = resolve(inner, folder)
            if isinstance(inner, dict) and isinstance(base.get(key), dict):
                inner = {**base[key], **inner}
            base[key] = inner
        return base
    return resolve(load(file.read_text())["system"], file.parent)


def random_system(draw):
    """A technology and a budget near those of the libraries; not every chip can be built."""
    def near(value, unit, spread=3.0):
        return f"{value * spread**draw.uniform(-1, 1):.6g} {unit}"

    def voltages(nominal):
        threshold = nominal * draw.uniform(0.2, 0.45)
        volts = {"voltage": f"{nominal:.4g} V", "threshold": f"{threshold:.4g} V",
                 "margin": f"{nominal * draw.uniform(0.1, 0.6):.4g} V"}
        if draw.random() < 0.5:
            volts["maximum_voltage"] = f"{nominal * draw.uniform(1.1, 1.6):.4g} V"
        return volts

    def level(scope, cell):
        return {"scope": scope, "bank": f"{2**draw.randrange(1, 8)} KiB",
                "cell_area": near(cell, "um2/bit"), "overhead": round(draw.uniform(0, 0.5), 3),
                "port_area": near(400, "um2") if draw.random() < 0.5 else "0 mm2",
                "energy": near(60, "fJ/bit"), "leakage": near(9, "pW/bit"),
                "utilization": round(draw.uniform(0.3, 1.0), 3)}

    def link(area, density, f, energy):
        return {"area": near(area, "mm2"), "links_per_mm": near(density, "/mm"),
                "frequency": near(f, "GHz"), **voltages(1.1), "energy": near(energy, "pJ/bit"),
                "latency": "1 us"}

    technology = {
        "core": {"lanes": 2**draw.randrange(6), "stages": 2**draw.randrange(6),
                 "bundle": draw.randrange(1, 9), "area": near(0.2, "mm2"),
                 "power": near(80, "mW"), "frequency": near(1.3, "GHz"), **voltages(0.8)},
        "registers": level("core", 0.05), "L1": level("bundle", 0.05), "L2": level("chip", 0.04),
        "memory": {"stack": "8 GiB", "stack_area": near(100, "mm2", 1.3),
                   "controller_area": near(4, "mm2"), "links_per_stack": 1024,
                   "links_per_mm": near(200, "/mm"), "frequency": near(2, "GHz"), **voltages(1.1),
                   "energy": near(3, "pJ/bit"), "leakage": "0.6 pW/bit"},
        "intra": link(0.0005, 200, 3, 1), "inter": link(0.04, 20, 20, 8)}
    parts = ("core", "registers", "L1", "L2", "memory", "intra", "inter")

    def shares(names):
        weights = [draw.random() for _ in names]
        return {name: round(0.99 * w / sum(weights), 4) for name, w in zip(names, weights)}

    return {
        "technology": technology,
        "budget": {"area": {"package": "1200 mm2", "die": "700 mm2", **shares(parts)},
                   "power": {"total": near(300, "W"), **shares(parts)},
                   "edge": shares(parts[4:])},
        "network": [{"topology": "fully_connected", "degree": 4, "link": "intra"},
                    {"topology": draw.choice(("ring", "switch")), "degree": 8, "link": "inter"}]}


if __name__ == "__main__":
    main()
