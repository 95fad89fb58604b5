#!/usr/bin/env python3
"""The shipped configs of every kind of workload: what they were published with, and their graphs.

Each is solved to proof and gives the published step time, as far as the inputs of the published
runs, rounded to 32 bits, allow.  Its graph written out (`kind: graph`) gives the same result.

usage: workloads_test.py DFSEARCH [unittest arguments]
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

CONFIGS = pathlib.Path(__file__).resolve().parents[2] / "configs"
# Seconds.  Of the two that serve: without the 0.1 % that the solver gave away for latency.
PUBLISHED = {
    "dlrm": 4187.687706535217, "hpl": 0.27774263269892896, "fft": 0.03940751307177001,
    "llama3_8b_decode": 13.793589503572779, "llama3_8b_prefill": 1427.5368855839604 / 1.001,
}
dfsearch = None


def run(*arguments):
    done = subprocess.run([dfsearch, *map(str, arguments)], stdin=subprocess.DEVNULL, timeout=120,
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise AssertionError(f"{arguments}: exit status {done.returncode}\n{done.stderr}")
    return done.stdout


def solved(config):
    result = json.loads(run(config, "--quiet", "--threads", "2", "--json", "-"))
    result.pop("search")
    return result


def unrolled(layer, count):
    """The published layer of training, joined at its outputs and at its gradients."""
    def name(number, kernel):
        return f"L{number}.{kernel}"

    kernels, tensors = [], []
    for phase, numbers in (("forward", range(1, count + 1)), ("backward", range(count, 0, -1))):
        for number in numbers:
            for kernel in layer["kernels"]:
                if kernel.get("phase", "forward") != phase:
                    continue
                kernels.append({**kernel, "name": name(number, kernel["name"])})
                if "weight_of" in kernel:
                    kernels[-1]["weight_of"] = name(number, kernel["weight_of"])
    for number in range(1, count + 1):
        tensors += [{**tensor, "from": name(number, tensor["from"]),
                     "to": name(number, tensor["to"])} for tensor in layer["tensors"]
                    if "next_layer" not in tensor]
        if number < count:
            seams = [(name(number, "Add_2"), name(number + 1, "Add_Prev_Layer"))]
            seams += [(name(number + 1, kernel), name(number, "Loss_bwd"))
                      for kernel in ("V_bwd", "Q_bwd", "K_bwd")]
            tensors += [{"from": begin, "to": end} for begin, end in seams]
    ends = [(count, "Add_2", 1, "Add_Prev_Layer", 1), (1, "V_bwd", count, "Loss_bwd", 1),
            (1, "Q_bwd", count, "Loss_bwd", 2), (1, "K_bwd", count, "Loss_bwd", 2)]
    left = [{"from": name(one, begin), "to": name(other, end), "operand": operand,
             "next_layer": True} for one, begin, other, end, operand in ends]
    for place, tensor in enumerate(tensors):
        earlier = any(other["to"] == tensor["to"] for other in tensors[:place])
        tensor.setdefault("operand", 2 if earlier else 1)
    return {**layer, "kernels": kernels, "tensors": tensors + left, "layers": layer["layers"] // count}


class WorkloadsTest(unittest.TestCase):
    def test_published_steps_are_reached_and_proved(self):
        for name, step in PUBLISHED.items():
            with self.subTest(name):
                result = solved(CONFIGS / f"{name}.yaml")
                self.assertEqual(result["status"], "optimal")
                self.assertEqual(result["gap"], 0)
                self.assertAlmostEqual(result["step_time"] / step, 1, delta=1e-7)

    def test_serving_rates_are_those_of_the_paper(self):
        serving = solved(CONFIGS / "llama3_8b_decode.yaml")["serving"]
        self.assertEqual(round(serving["tokens_per_second"]), 1188)
        # 26309.184 ns a layer, as its log prints, for 32 layers.
        self.assertAlmostEqual(serving["time_per_output_token"] / 841893.8905989245e-9, 1,
                               delta=1e-7)
        self.assertIsNone(serving["time_to_first_token"])

    def test_repeated_layers_are_the_layer_unrolled_by_hand(self):
        config = CONFIGS / "gpt3_1t.yaml"
        written = run("graph", config, "--set", "workload.repeat_layers=4", "--format", "json")
        layer = json.loads(run("graph", config, "--format", "json"))["workload"]
        self.assertEqual(json.loads(written)["workload"], unrolled(layer, 4))

    def test_written_out_graphs_give_the_same_result(self):
        for name in (*PUBLISHED, "transformers/qwen3_next_80b_prefill"):
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                config = CONFIGS / f"{name}.yaml"
                rest = [line for line in config.read_text(encoding="utf-8").splitlines()
                        if not line.startswith("workload:")]
                rest = "\n".join(rest).replace("{from: ", f"{{from: {CONFIGS}/")
                again = pathlib.Path(folder, "again.yaml")
                again.write_text(run("graph", config, "--format", "yaml") + rest + "\n",
                                 encoding="utf-8")
                self.assertIn("kind: graph", again.read_text(encoding="utf-8"))
                written, generated = solved(again), solved(config)
                self.assertEqual(written["workload"].pop("kind"), "graph")
                del generated["workload"]["kind"]
                # The blocks of a model are named where it is known.
                generated["notes"] = [n for n in generated["notes"] if "the blocks" not in n]
                self.assertEqual(written, generated)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    dfsearch = sys.argv.pop(1)
    unittest.main()
