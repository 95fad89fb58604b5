#!/usr/bin/env python3
"""Configs with `equations: calculon`: published points and optima, another implementation of the
equations, options, exit statuses, and the tables of docs/calculon.md.

usage: calculon_test.py DFSEARCH [TEST ...]
"""

import json
import pathlib
import random
import re
import signal
import subprocess
import sys

import support
from support import CliTest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))
import reference_calculon  # noqa: E402 (found by the line above)

CONFIGS = ROOT / "configs"
PAGE = (ROOT / "docs" / "calculon.md").read_text()
MODELS = {  # hidden, heads, head_dim, layers
    "22B": (6144, 64, 96, 48), "175B": (12288, 96, 128, 96),
    "530B": (20480, 128, 160, 105), "1T": (25600, 160, 160, 128),
}
# Results of Calculon: system and model; degrees; their networks; batch, micro-batch, chunks;
# recompute, communication, overlap; flags (r redo, d data overlap, f fused, z sharding, i prefill);
# offloading (w, a, o); seconds; bytes of the first and second memory.
POINTS = """\
A 22B | 8 1 1 | 0 1 1 | 4 4 1 | full ar none | - | - | 1.395595365 | 51705331712 | 0
A 22B | 8 1 1 | 0 1 1 | 4 4 1 | attn rs none | r | - | 1.1366701 | 55920607232 | 0
A 175B | 8 8 1 | 0 1 1 | 64 1 3 | full ar none | - | - | 18.02877955 | 51649806336 | 0
A 175B | 8 8 1 | 0 1 1 | 64 1 3 | attn rs none | r | - | 13.6380643 | 58060800000 | 0
A 530B | 8 35 1 | 0 1 1 | 280 1 3 | full ar none | - | - | 49.89257694 | 45386465280 | 0
A 530B | 8 35 1 | 0 1 1 | 280 1 3 | attn rs none | r | - | 34.47279469 | 57487032320 | 0
A 1T | 8 64 1 | 0 1 1 | 512 1 1 | full ar none | - | - | 90.08094425 | 49679769600 | 0
A 1T | 8 64 1 | 0 1 1 | 512 1 1 | attn rs none | r | - | 66.04067451 | 63507865600 | 0
A 1T | 4 64 12 | 0 1 1 | 3072 4 1 | full rs none | fz | - | 131.9006168 | 85420663466.7 | 0
A 1T | 16 16 4 | 1 1 1 | 1024 1 1 | full ar none | fz | - | 144.5085626 | 38975846400 | 0
H 1T | 8 64 8 | 0 1 1 | 4096 1 2 | attn rs none | rdfz | - | 24.77857801 | 45112857600 | 0
A 175B | 8 8 1 | 0 1 1 | 64 1 1 | none ar none | fi | - | 5.092614123 | 6091309056 | 0
A 1T | 8 16 8 | 0 1 1 | 1024 2 8 | attn rs ring | dfz | - | 50.92742417 | 84036992000 | 0
A 1T | 8 1 128 | 0 0 1 | 1024 8 1 | attn rs ring | dfz | wao | 47.21603087 | 19284603200 | 443286937600
A 530B | 32 6 3 | 1 1 1 | 6 1 3 | attn p2p none | d | - | 3.384242816 | 63724748800 | 0
H 22B | 8 12 8 | 0 1 1 | 48 3 4 | none rs pipe | rfz | - | 0.3176559098 | 7881558016 | 0
A 530B | 8 20 1 | 0 1 0 | 16 2 6 | full ar none | - | - | 12.4482085 | 75522277376 | 0
A 175B | 1 12 16 | 0 1 1 | 48 3 4 | full p2p none | dz | o | 35.74839429 | 58184448000 | 12683919360
H 22B | 4 4 64 | 1 0 1 | 2048 1 6 | full rs pipe | df | - | 4.949506308 | 24193318912 | 0
A 22B | 2 8 32 | 1 1 1 | 1632 3 2 | attn p2p none | d | a | 10.05633801 | 29094100992 | 54333014016
A 22B | 1 48 4 | 0 1 1 | 64 1 1 | attn p2p none | df | - | 2.028020821 | 16073015296 | 0
H 1T | 8 32 1 | 1 1 0 | 128 1 4 | none ar none | - | ao | 25.83617911 | 41291571200 | 230325452800
"""
OFFLOADS = {"w": "weights", "a": "activations", "o": "optimizer"}


def decisions(row):
    """A row of POINTS as the section `calculon`, and whether it is a prefill."""
    degrees, networks, batch, words, flags, offload = row
    tensor, pipeline, data = map(int, degrees.split())
    global_batch, micro_batch, chunks = map(int, batch.split())
    recompute, communication, overlap = words.split()
    return {
        "tensor": tensor, "pipeline": pipeline, "data": data,
        "networks": [int(index) for index in networks.split()], "global_batch": global_batch,
        "micro_batch": micro_batch, "chunks": chunks, "recompute": recompute,
        "communication": communication, "overlap": overlap, "redo": "r" in flags,
        "data_overlap": "d" in flags, "fused": "f" in flags, "sharding": "z" in flags,
        "offload": [OFFLOADS[letter] for letter in offload if letter in OFFLOADS],
    }, "i" in flags


def workload(model, prefill=False):
    hidden, heads, head_dim, layers = MODELS[model]
    return {"kind": "llm_prefill" if prefill else "llm_training", "hidden": hidden,
            "mlp": 4 * hidden, "sequence": 2048, "heads": heads, "head_dim": head_dim,
            "layers": layers}


def system(letter, chips):
    name = {"A": "calculon_a100_80g", "H": "calculon_h100_80g"}[letter]
    return {"from": str(CONFIGS / "systems" / f"{name}.yaml"), "chips": chips}


class Points(CliTest):
    def cost(self, model, machine, run, status=0):
        self.write("c.json", json.dumps({"workload": model, "system": machine,
                                         "equations": "calculon", "calculon": run}))
        return self.result("c.json", "--threads", "1", status=status)

    def test_published_points_to_ten_digits(self):
        rows = [[cell.strip() for cell in line.split("|")] for line in POINTS.splitlines()]
        self.assertEqual(len(rows), 22)
        for (letter, model), row in ((row[0].split(), row[1:]) for row in rows):
            run, prefill = decisions(row[:6])
            with self.subTest(model=model, **run):
                chips = run["tensor"] * run["pipeline"] * run["data"]
                result = self.cost(workload(model, prefill), system(letter, chips), run)
                self.assertEqual(f"{float(row[6]):.9e}", f"{result['step_time']:.9e}")
                self.assertAlmostEqual(result["memory"]["first"], float(row[7]), delta=0.051)
                self.assertEqual(result["memory"]["second"], float(row[8]))
                self.assertEqual(result["execution"], run)
                self.assertEqual(sum(result["time"].values()), result["step_time"])
                for place in ("first", "second"):
                    self.assertAlmostEqual(sum(result["memory_parts"][place].values()),
                                           result["memory"][place], delta=0.01)

    # The best execution of the 1T model on 1,024 A100, as Calculon has its parts and those of a block.
    PARTS = {"forward": 16.29373283, "backward": 31.07677177, "recompute": 0.6911681236,
             "optimizer": 0.007788482872, "bubble": 1.443609351, "pipeline": 1.213526471,
             "data": 0.2008271403, "tensor": 0, "tensor_again": 0, "offload": 0}
    BLOCK = {"forward": 0.03182369693, "input_gradient": 0.03192606915,
             "weight_gradient": 0.02877075071, "recompute": 0.001349937741}

    def test_parts_of_a_published_point_and_a_twin(self):
        def cost(row, **changes):
            cells = [cell.strip() for cell in row.split("|")]
            run = decisions(cells[1:7])[0] | changes
            return self.cost(workload("1T"), system("A", 1024), run)

        plain, offloaded = POINTS.splitlines()[12:14]
        result = cost(plain)
        for expected, found in ((self.PARTS, result["time"]), (self.BLOCK, result["block"])):
            self.assertEqual({key: float(f"{value:.9e}") for key, value in found.items()}, expected)
        # What the optimizer needs fits the first memory as well.
        twin = cost(offloaded, offload=["weights", "activations"])
        self.assertEqual(twin["step_time"], cost(offloaded)["step_time"])

    def test_the_table_of_measured_steps(self):
        table = PAGE.partition("## 9. ")[2]
        rows = [[cell.strip() for cell in line.strip("|").split("|")]
                for line in table.splitlines() if line.startswith("| ")][1:]
        self.assertEqual(len(rows), 9)
        errors = []
        for listed, line in zip(rows[:8], POINTS.splitlines()):
            cells = [cell.strip() for cell in line.split("|")]
            run, _ = decisions(cells[1:7])
            model = workload(cells[0].split()[1])
            chips = run["tensor"] * run["pipeline"]
            seconds = self.cost(model, system("A", chips), run)["step_time"]
            rows_of_head, inputs = 2048 * run["micro_batch"], model["hidden"]
            outputs = 51200 / run["tensor"]
            moved = 2 * (rows_of_head * (inputs + outputs) + inputs * outputs)
            engine = {"rate": 312e12, "steps": [(128e9, 0.95), (16e9, 0.9), (1e9, 0.6)]}
            memory = {"rate": 2048e9, "steps": [(100e6, 0.9), (10e6, 0.75)]}
            head = 3 * (reference_calculon.time_of(engine, 2 * rows_of_head * inputs * outputs)
                        + reference_calculon.time_of(memory, moved))
            with_head = seconds + run["global_batch"] // run["micro_batch"] * head
            measured = float(listed[2].split()[0])
            error = [100 * (1 - value / measured) for value in (seconds, with_head)]
            errors.append(error)
            self.assertEqual(listed[3:], [f"{seconds:.5g} s", f"{error[0]:.2f} %",
                                          f"{with_head:.5g} s", f"{error[1]:.2f} %"])
        means = [sum(abs(error[i]) for error in errors) / 8 for i in (0, 1)]
        self.assertEqual([rows[8][4], rows[8][6]], [f"{mean:.2f} %" for mean in means])

    def test_another_implementation_of_the_page(self):
        rng = random.Random(5)
        compared = 0
        for case in range(120):
            model, machine, run = random_case(rng)
            with self.subTest(case):
                seconds, first, second = reference_calculon.cost(plain(machine), model, run)
                result = self.cost(model, machine, run)
                self.assertAlmostEqual(result["step_time"] / seconds, 1.0, delta=1e-12)
                self.assertAlmostEqual(result["memory"]["first"] / first, 1.0, delta=1e-12)
                self.assertAlmostEqual(result["memory"]["second"], second,
                                       delta=1e-12 * second)
                compared += 1
        self.assertEqual(compared, 120)


def random_case(rng):
    """A small model, a machine that it fits on, and a whole execution."""
    tensor, pipeline, data = rng.choice((1, 2, 4)), rng.choice((1, 2, 3, 4)), rng.choice((1, 2, 5))
    heads = 4 * rng.randint(1, 4)
    training = rng.random() < 0.8
    layers = rng.randint(pipeline, 24)
    model = {"kind": "llm_training" if training else "llm_prefill",
             "hidden": heads * rng.choice((16, 64, 128)), "mlp": 64 * rng.randint(1, 64),
             "sequence": 4 * rng.randint(8, 200), "heads": heads,
             "head_dim": rng.choice((16, 32, 100)), "layers": layers}
    blocks = -(-layers // pipeline)
    chunks = rng.choice([v for v in range(1, blocks + 1) if blocks % v == 0])
    micro_batch = rng.randint(1, 4)
    recompute = rng.choice(("full", "attn", "none")) if training else "none"
    communication = rng.choice(("ar", "p2p", "rs"))
    may_redo = communication == "rs" and recompute != "full"
    offload = [name for name in OFFLOADS.values() if rng.random() < 0.3]
    if not training:
        offload = [name for name in offload if name != "optimizer"]
    run = {
        "tensor": tensor, "pipeline": pipeline, "data": data,
        "networks": [rng.randint(0, 1) for _ in range(3)],
        "global_batch": data * micro_batch * rng.randint(1, 7), "micro_batch": micro_batch,
        "chunks": chunks if pipeline > 1 else 1, "recompute": recompute,
        "communication": communication,
        "overlap": rng.choice(("none", "ring", "pipe")) if tensor > 1 else "none",
        "redo": may_redo and rng.random() < 0.5,
        "data_overlap": training and data > 1 and rng.random() < 0.6,
        "fused": rng.random() < 0.5, "sharding": data > 1 and rng.random() < 0.5,
        "offload": offload if blocks > 2 else [],
    }

    def steps(unit, low, high):
        return [[f"{10 ** rng.uniform(low, high):.6g} {unit}", 0.9], [f"0 {unit}", 0.3]]

    def tier(low, high):
        return {"capacity": "1 PB", "bandwidth": f"{10 ** rng.uniform(low, high):.6g} B/s",
                "efficiency": steps("B", 4, 8)}

    def network():
        return {"size": 10000, "bandwidth": f"{10 ** rng.uniform(8, 12):.6g} B/s",
                "efficiency": rng.choice((0.5, 1)), "latency": rng.choice(("0 s", "10 us")),
                "processor_usage": rng.choice((0, 0.02, 0.15)),
                "p2p": [1, 0], "reduce_scatter": [1.5, -1], "all_gather": [1, 0],
                "all_reduce": rng.choice(([2, -1], [1, 1]))}

    machine = {"chips": tensor * pipeline * data,
               "matrix": {"peak": f"{10 ** rng.uniform(12, 15):.6g} FLOP/s",
                          "efficiency": steps("FLOP", 6, 10)},
               "vector": {"peak": f"{10 ** rng.uniform(11, 14):.6g} FLOP/s",
                          "efficiency": steps("FLOP", 4, 8)},
               "memory": {**tier(10, 13), "second": tier(9, 12)},
               "networks": [network(), network()]}
    return model, machine, run


def plain(machine):
    """The machine with numbers in place of quantities, as reference_calculon wants it."""
    def number(text):
        value, unit = text.split()
        scale = {"PB": 1e15, "us": 1e-6}.get(unit, 1.0)
        return float(value) * scale

    def curve(part, rate):
        return {"rate": number(part[rate]),
                "steps": [(number(start), share) for start, share in part["efficiency"]]}

    networks = [{**network, "rate": number(network["bandwidth"]),
                 "latency": number(network["latency"])} for network in machine["networks"]]
    return {"matrix": curve(machine["matrix"], "peak"), "vector": curve(machine["vector"], "peak"),
            "memory": curve(machine["memory"], "bandwidth"),
            "second": curve(machine["memory"]["second"], "bandwidth"), "networks": networks}


class Search(CliTest):
    def test_published_optima_and_counts(self):
        for name, candidates, feasible, best in (
            ("calculon_1t", 952512, 15073, 50.927424165832626),
            ("calculon_1t_offload", 6580992, 351612, 47.216030868133664),
        ):
            with self.subTest(name):
                config = CONFIGS / f"{name}.yaml"
                result = self.result(config, "--count")
                self.assertEqual(result["status"], "optimal")
                self.assertEqual(result["candidates"], candidates)
                self.assertEqual(result["feasible"], feasible)
                self.assertEqual(result["step_time"], best)
                self.assertEqual(result["lower_bound"], best)
                self.assertEqual(result["gap"], 0)
                self.assertLess(result["search"]["evaluated"], candidates / 1000)

    def test_an_execution_can_stand_in_a_config(self):
        found = self.result(CONFIGS / "calculon_1t.yaml")
        again = self.result(CONFIGS / "calculon_1t.yaml", "--set",
                            "calculon=" + json.dumps(found["execution"]))
        self.assertEqual(again["candidates"], 1)
        for key in ("step_time", "execution", "time", "block", "memory", "memory_parts"):
            self.assertEqual(again[key], found[key])

    def test_nothing_fits(self):
        config = CONFIGS / "calculon_1t.yaml"
        small = ["--set", "system.chips=64"]
        result = self.result(config, *small, status=3)
        self.assertEqual(result["status"], "infeasible")
        why = result["infeasible"]
        self.assertEqual(why["limit"], "memory")
        self.assertEqual(why["available"], 80 * 2**30)
        self.assertGreater(why["needed"], why["available"])
        report = self.run_tool(config, *small, status=3).stdout
        self.assertRegex(report, r"reason +\S+ GB of memory needed, 85.9 GB available: \S+ GB too")
        # The stated need fits, and a byte less does not.
        for change, status in ((0, 0), (-1, 3)):
            capacity = f"system.memory.capacity={why['needed'] + change} B"
            self.run_tool(config, *small, "--set", capacity, status=status)
        two = self.result(config, "--set", "system.networks.1.size=2", status=3)
        self.assertEqual(two["infeasible"]["limit"], "network size")
        self.assertIn(two["infeasible"]["network"], (0, 1))

    def test_a_signal_stops_a_long_count(self):
        # Thousands of divisors of chips, layers and batch: to count them all would take hours.
        changes = ["calculon.maximum_batch=963761198400", "calculon.tensor=1",
                   "system.chips=735134400", "workload.layers=735134400", "workload.hidden=160",
                   "system.networks.1.size=1000000000000", "system.memory.capacity=1 EB"]
        process = self.start(CONFIGS / "calculon_1t.yaml", "--count", "--json", "-",
                             *(word for change in changes for word in ("--set", change)))
        try:
            process.wait(timeout=1.5)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        self.assertIn(process.returncode, (0, 4, 5), err)
        self.assertIn("status", json.loads(out))

class Page(CliTest):
    def test_files_of_calculon_are_read_as_they_are(self):
        network = {"bandwidth": 300, "efficiency": 0.65, "size": 8, "latency": 1e-5,
                   "ops": {"p2p": [1, None], "reduce_scatter": [1.5, -1], "all_gather": [1.5, -1],
                           "all_reduce": [2, -1]}, "must_be_filled": True, "processor_usage": 0.15}
        far = {"bandwidth": 25, "efficiency": 0.9, "size": 65536, "latency": 2e-5,
               "ops": {"p2p": 1.0, "reduce_scatter": 1.0, "all_gather": 1.0, "all_reduce": 1.0},
               "processor_usage": 0.02}
        products = {"tflops": 312, "gflops_efficiency": [
            (128, 0.95), (16, 0.9), (1, 0.6), (0, 0.1)]}
        others = {"tflops": 78, "gflops_efficiency": [(16, 0.95), (1, 0.5), (0, 0.1)]}
        tiers = [{"GiB": gib, "GBps": rate, "MB_efficiency": steps} for gib, rate, steps in (
            (80, 2048, [(100, 0.9), (10, 0.75), (1, 0.6), (0, 0.3)]),
            (512, 32, [(100, 0.95), (10, 0.9), (1, 0.7), (0, 0.3)]))]
        collectives = ("reduce_scatter", "all_gather", "all_reduce")
        forms = [  # of two releases
            ({"float16": products}, {"float16": others}, network),
            (*({**each, "gflops_efficiency": {"float16": each["gflops_efficiency"]}}
               for each in (products, others)),
             {**network, "collective_minus1_scalar": True,
              "ops": {"p2p": 1.0, **{k: network["ops"][k][0] for k in collectives}}})]
        self.write("model.json", json.dumps({
            "name": "1T", "hidden": 25600, "feedforward": 102400, "seq_size": 2048,
            "attn_heads": 160, "attn_size": 160, "num_blocks": 128}))
        given = "equations: calculon\ncalculon: {maximum_batch: 1024, offload: none, tensor: 8}\n"
        expected = json.loads(self.run_tool("calculon_1t", "--set", "calculon.tensor=8", "--quiet",
                                            "--json", "-").stdout)["step_time"]
        for matrix, vector, near in forms:
            system = {"matrix": matrix, "vector": vector, "mem1": tiers[0], "mem2": tiers[1],
                      "processing_mode": "no_overlap", "networks": [near, far]}
            self.write("system.json", json.dumps(system))
            self.write("c.yaml", "workload: {from: model.json}\n"
                       "system: {from: system.json, chips: 1024}\n" + given)
            found = json.loads(self.run_tool("c.yaml", "--quiet", "--json", "-").stdout)
            self.assertEqual(found["step_time"], expected)
        self.write("system.json", json.dumps({**system, "processing_mode": "roofline"}))
        self.assertIn("processing_mode: expected no_overlap", self.run_tool(
            "c.yaml", status=2).stderr)
        self.write("system.json", json.dumps({**system, "mem1": {}}))
        self.assertIn("this file of Calculon is not valid", self.run_tool(
            "c.yaml", status=2).stderr)

    def test_every_equation_has_a_function(self):
        defined = re.findall(r"^ {4}\((C\d+)\)", PAGE, re.MULTILINE)
        self.assertEqual(len(defined), 20)
        source = "".join(file.read_text() for file in (ROOT / "src/model").rglob("*.[ch]pp"))
        cited = re.findall(r"^ *///? docs/calculon\.md ((?:\(C\d+\)(?:, )?)+)$", source, re.MULTILINE)
        cited = {number for line in cited for number in re.findall(r"C\d+", line)}
        self.assertCountEqual(defined, cited)


if __name__ == "__main__":
    support.main()
