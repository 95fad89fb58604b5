#!/usr/bin/env python3
"""Time limits and signals end everything: tables, duals, bounds of points, explanations.

Each case took from half a minute to hours beyond its limit before one deadline was handed down
to all of it; the allowance here is what a busy machine needs.

usage: limits_test.py DFSEARCH [TEST ...]
"""

import json
import resource
import signal
import time

import support
from support import CliTest

ALLOWANCE = 6.0  # seconds beyond the limit
MOST_MEMORY = 3 << 30  # bytes of address space; without a cap many readers took all there was
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


def fan(readers, length, **changes):
    """Like branches that read one value, and a kernel that joins them; `changes` are sections."""
    looks = [{"kind": "weight_gemm", "M": 16, "K": 32, "N": 16},
             {"kind": "elementwise", "M": 16, "N": 16},
             {"kind": "weight_gemm", "M": 32, "K": 16, "N": 16,
              "communication": {"type": "all_reduce", "bytes": "2000 B"}}]
    kernels = [{"name": "In", "kind": "elementwise", "M": 32, "N": 16}]
    tensors = []
    for reader in range(readers):
        before = {"from": "In", "value": 0}
        for place, look in enumerate(looks[:length]):
            name = f"X{reader}_{place}"
            kernels.append({"name": name, **look})
            tensors.append({**before, "to": name})
            before = {"from": name}
        tensors.append({**before, "to": "C"})
    kernels.append({"name": "C", "kind": "elementwise", "M": looks[length - 1]["M"], "N": 16})
    sections = {
        "workload": {"kind": "graph", "sequence": 16, "tile": 8, "layers": 1, "global_batch": 4,
                     "kernels": kernels, "tensors": tensors},
        "system": {"chips": 4, "memory": {"bandwidth": "5 GB/s"},
                   "accelerator": {"cores": 64, "lanes": 16, "stages": 8, "frequency": "1 GHz",
                                   "sram": f"{64 + 4 * readers} kB"},
                   "network": [{"topology": "fully_connected", "bandwidth": "10 GB/s"}]},
        "execution": {"overlap": "perfect", "partitions": 60, "compute_utilization": 0.9},
        "equations": {"shapes": "unchecked"}, "search": {"sharding": "joint"}}
    for section, values in changes.items():
        sections[section] = {**sections.get(section, {}), **values}
    if "cores" in changes.get("execution", {}):
        sections["execution"] = {"overlap": "perfect", "partitions": 60}
    return json.dumps(sections)


GRID = {"chips": 4, "network": [
    {"topology": "ring", "degree": 2, "bandwidth": "10 GB/s", "strategy": "tensor"}] * 2}
FANS = {
    "one axis": {},
    "least bytes": {"search": {"sharding": "least_bytes"}},
    "kernel by kernel": {"execution": {"style": "kernel_by_kernel"}},
    "exposed": {"execution": {"overlap": "none"}},
    "two axes": {"sharding": {"axes": 2}, "system": GRID},
    "stages": {"execution": {"stages": "graph", "compute_utilization": 0.9},
               "search": {"sharding": "least_bytes"}},
    "cores": {"execution": {"cores": None}},
}


class Limits(CliTest):
    def check_ends(self, *words, seconds=0.5, **options):
        begin = time.monotonic()
        done = self.run_tool(*words, "--time-limit", f"{seconds} s", "--json", "r.json",
                             "--threads", "2", status=(0, 3, 4, 5), **options)
        self.assertLess(time.monotonic() - begin, seconds + ALLOWANCE, words)
        result = self.read_json("r.json")
        return done, result

    def test_explanations_end(self):
        for words in (dlrm(1500), dlrm(3000), (*dlrm(400), *DATAFLOW)):
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

    def test_values_of_many_readers_end(self):
        """In every kind of bound: as terms of sums, in tables, among stages and on two axes."""

        def limit():
            resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))

        for name, changes in FANS.items():
            for readers in (2, 8, 16, 33, 64, 128):
                with self.subTest(name=name, readers=readers):
                    config = self.write("fan.json", fan(readers, 1 + readers % 3, **changes))
                    if name == "stages" and readers > 2:  # more borders than are listed
                        begin = time.monotonic()
                        self.run_tool(config, status=2, preexec_fn=limit)
                        self.assertLess(time.monotonic() - begin, ALLOWANCE)
                        continue
                    done, result = self.check_ends(config, preexec_fn=limit)
                    self.assertIn(done.returncode, (0, 4, 5))
                    if done.returncode == 5:
                        continue
                    self.assertLessEqual(result["lower_bound"], result["objective"])
                    self.assertEqual(result["gap"] == 0, result["lower_bound"] == result["objective"])

    def test_plans_of_many_layers_of_two_kinds_end(self):
        config = self.write("deep.json", json.dumps({
            "workload": {"kind": "llm_training", "hidden": 64, "heads": 4, "head_dim": 16,
                         "sequence": 256, "layers": 10000, "vocabulary": 1000, "global_batch": 16,
                         "experts": {"count": 4, "used": 2, "mlp": 64, "dense_layers": 5000}},
            "system": {"chips": 16, "memory": {"bandwidth": "50 GB/s", "capacity": "5 TB"},
                       "accelerator": {"cores": 64, "lanes": 16, "stages": 8,
                                       "frequency": "1 GHz", "sram": "8 MiB"},
                       "network": [{"topology": "ring", "bandwidth": "50 GB/s", "degree": 16}]},
            "training": {}}))
        self.check_ends(config)

    def test_networks_of_many_ways_end(self):
        rings = [{"topology": topology, "bandwidth": f"{rate} GB/s"} for rate, topology in
                 enumerate(("ring", "switch", "ring", "switch", "ring"), start=1)]
        config = self.write("ways.json", json.dumps({
            "workload": {"from": "gpt3_175b", "global_batch": 1 << 20},
            "system": {"chips": 1 << 20, "memory": {"bandwidth": "1 TB/s"}, "network": rings,
                       "accelerator": {"cores": 64, "lanes": 16, "stages": 8,
                                       "frequency": "1 GHz", "sram": "100 MB"}},
            "execution": {"partitions": 4, "overlap": "perfect", "compute_utilization": 0.9}}))
        self.check_ends(config)

    def test_pools_and_fleets_of_many_chips_end(self):
        pool = {"system": {"from": "h100_dgx", "price": "2 $/h", "engine": "typical"}}
        pools = [{"name": name, "chips": 60000, **pool} for name in ("a", "b")]
        config = self.write("pools.json", json.dumps({
            "workload": {"kind": "llm_serving", "model": "llama3_70b", "input": 2000,
                         "output": 500},
            "serving": {"pools": pools, "modes": ["disaggregated"], "tensor": "1..16",
                        "limits": {"ttft": "500 ms", "tpot": "20 ms"}}}))
        self.check_ends(config)
        chips = [word for pool in (0, 1)
                 for word in ("--set", f"serving.pools.{pool}.chips=1000")]
        self.check_ends(ROOT / "configs" / "serving" / "fleet.yaml", *chips)

    def test_a_signal_ends_an_explanation(self):
        process = self.start(*dlrm(3000))
        time.sleep(1)
        process.send_signal(signal.SIGTERM)
        begin = time.monotonic()
        stdout, stderr = process.communicate(timeout=60)
        self.assertLess(time.monotonic() - begin, ALLOWANCE)
        self.assertIn(process.returncode, (3, 5), stderr)
        self.assertIn("signal", stdout)


if __name__ == "__main__":
    support.main()
