"""Worked cases of the two papers (tests/golden/papers.json), computed by dfsearch.

`ask` returns the program's numbers of a case under the names that the case expects; `differing`
lists the differences.
"""

import json
import math

import validate
from tables import CONFIGS, ROOT, run_json, solve, study

CASES = ROOT / "tests" / "golden" / "papers.json"
V100 = CONFIGS / "chips" / "v100.yaml"
# Groups whose inputs were 32-bit floats; the configs have plain decimals.
FLOATS = {"ratio", "machine", "memory_3d", "rail", "roofline", "fig8", "polynomial"}

# Cases for which the program has another answer on purpose.
OTHERWISE = {
    "all_gather SW 32 physical": "a switch sends all parts at once, so the first byte makes one hop",
}


def cases():
    return json.loads(CASES.read_text(encoding="utf-8"))


STUDY_OF = {"llm": "systems_gpt3"}


def ask_ratio(program, case):
    workload, name = case["input"]["workload"], case["input"]["ratio"]
    ratios = study(program, STUDY_OF.get(workload, f"systems_{workload}")).ratios
    found = ratios["as published: " * (workload == "fft") + name]
    return {"utilization": found["utilization"], "per_dollar": found["cost_efficiency"],
            "per_watt": found["power_efficiency"]}


def ask_machine(program, case):
    asked = case["input"]
    labels = tuple(asked["machine"])
    counted = asked.get("efficiencies_at_the_peak_of", 1) / asked.get("cores", 1)
    if asked.get("cores") == 528:
        labels = ("h100_528", *labels[1:])
    row = study(program, f"systems_{asked['workload']}")[labels]
    return {"step_time": row["step_time"], "utilization": row["utilization"],
            "per_dollar": row["cost_efficiency"] * counted,
            "per_watt": row["power_efficiency"] * counted}


def ask_memory_3d(program, case):
    asked = case["input"]
    cores = round(asked["share"] * 2080)
    file = CONFIGS / "figures" / "memory_3d.yaml"
    result = solve(program, file, f"equations.weight_pieces={asked['weight_pieces']}",
                   f"system.memory.bandwidth={asked['bandwidth']}",
                   f"system.accelerator.cores={cores}",
                   f"system.accelerator.sram={(2080 - cores) * 512} KiB")
    (ffn0,) = (part for part in result["partitions"] if part["kernels"] == ["FFN0"])
    return {"step_time": result["step_time"], "utilization": result["utilization"],
            "throughput_tflops": result["utilization"] * result["machine"]["peak"] / 1e12,
            "tile": elements(result, 2048), "pieces_ffn0": ffn0["pieces"]}


def elements(result, sequence):
    """Elements of the sequence in a tile; a result has the largest tile of equal number."""
    tiles = math.ceil(sequence / result["tile"])
    return math.ceil(sequence / tiles)


def ask_rail(program, case):
    asked = case["input"]
    row = study(program, "rail_only")[asked["rule"], str(asked["domain"])]
    return {"step_time": row["step_time"], "utilization": row["utilization"]}


def ask_stages(program, case):
    result = solve(program, case["config"])
    stages = [{"kernels": stage["kernels"], "work_ns": 1e9 * stage["work"],
               "transfer_ns": 1e9 * stage["transfer"]} for stage in result["stages"]]
    return {"step_time_ns": 1e9 * result["step_time"], "stages": stages}


def ask_latency(program, case):
    """The time of the exchange that latencies add, or a token of a published run."""
    if "config" not in case:
        file = validate.FOLDER / "60_llm_serving_tp16_pp1_llama3_8b_sn40l_decode.yaml"
        return {"latency_ns": 1e9 * solve(program, file)["serving"]["time_per_output_token"]}
    with_it, without = (
        sum(partition["network"] for partition in solve(program, case["config"], *changes)["partitions"])
        for changes in ((), ("system.network.0.latency=0 ns",)))
    return {"latency_ns": 1e9 * (with_it - without)}


def lone_partitions(program, case):
    """The partitions of the kernels one by one, by the name of the kernel."""
    result = solve(program, case["config"])
    return {partition["kernels"][0]: partition for partition in result["partitions"]}


def ask_two_loop(program, case):
    """C = A B with B the weight: `forward` makes C, `d_input` and `d_weight` the gradients."""
    parts = lone_partitions(program, case)
    word = int(case["config"]["workload"]["word"].removesuffix(" B"))
    flop = 1e14 * parts["forward"]["compute"]
    output = parts["reader"]["memory_bytes"] / word  # the only tensor that it reads
    weight = parts["forward"]["memory_bytes"] / word - output
    return {"extents": [flop / 2 / weight, flop / 2 / output, 2 * weight * output / flop],
            "flop": flop, **{f"{name}_ns": 1e9 * parts[name]["network"]
                             for name in ("forward", "d_input", "d_weight")}}


def ask_convert(program, case):
    return {"time_ns": 1e9 * lone_partitions(program, case)["up"]["network"]}


def ask_roofline(program, case):
    """Place of a published mapping in the rooflines of its machine."""
    record = validate.record_of({"non-dataflow 8x1": 35, "vendor 8x1": 36}[case["input"]["mapping"]])
    found = validate.evaluate(program, validate.file_of(record), record["mapping"])
    peak, parts = found["machine"]["peak"], found["partitions"]
    # FLOP of a chip, those that its group repeats included.
    flop = record["config"]["execution"]["compute_utilization"] * peak * sum(
        part["compute"] for part in parts)
    return {"step_time": found["step_time"], "utilization": found["utilization"],
            "tflops": found["utilization"] * peak / 1e12,
            "flop_per_memory_byte": flop / sum(part["memory_bytes"] for part in parts),
            "flop_per_network_byte": flop / sum(part["network_bytes"] for part in parts)}


def fig8_parts(result, tensor, samples):
    """The parts of a step that a bar of the figure shows, from partitions of one kernel."""
    layers = result["layers_per_stage"] * samples
    parts = dict.fromkeys(("forward", "backward", "tensor", "data"), 0.0)
    loads = layers * 12 * 25600**2 * 2 / tensor / 2039e9  # of the weights, in either phase
    for partition in result["partitions"]:
        (name,) = partition["kernels"]
        phase = "backward" if "_bwd" in name else "forward"
        group = "data" if name.endswith("_weight_update") else "tensor"
        parts[phase] += layers * (partition["compute"] + partition["memory"])
        parts[group] += layers * partition["network"]
    shares = result["time_shares"]
    parts["forward"] -= loads
    parts["backward"] -= loads
    return {**parts, "weights": 2 * loads, "bubble": shares["bubble"] * result["step_time"],
            "pipeline": shares["transfer"] * result["step_time"]}


def fig8_network(tensor, pipeline, data):
    network = [{"topology": "switch", "degree": degree, "bandwidth": f"{link} GB/s",
                "strategy": strategy}
               for degree, link, strategy in ((tensor, 150, "tensor"), (pipeline, 25, "pipeline"),
                                              (data, 25, "data"))]
    return "system.network=" + json.dumps(network)


def fig8(program, tensor, pipeline, data):
    file = validate.FOLDER / "51_llm_calculon_fix_pp_8_32_16.yaml"
    result = solve(program, file, "equations.weight_traffic=per_sample",
                   fig8_network(tensor, pipeline, data))
    return result, fig8_parts(result, tensor, 3072 // data)


def calculon(program, tensor, pipeline, data):
    """The step of the same degrees by Calculon's equations."""
    file = CONFIGS / "figures" / "calculon_a100_4096.yaml"
    sets = {"tensor": tensor, "pipeline": pipeline, "data": data,
            "chunks": 128 // pipeline if pipeline > 1 else 1,
            "communication": "rs" if tensor > 1 else "ar"}
    return solve(program, file, *(f"calculon.{key}={value}" for key, value in sets.items()))[
        "step_time"]


def ask_fig8(program, case):
    asked = case["input"]
    result, parts = fig8(program, asked["tensor"], asked["pipeline"], asked["data"])
    return {"step_time": result["step_time"], "tile": elements(result, 2048), "parts": parts}


CHIPS = ("h100", "tpu_v4", "sn30", "wse2")
POWERS = (750, 170.630875, 444.7061955, 20298.123)  # W, of the studies of 80 machines
PRICES = (33000, 4474.81689453125, 16522.25023, 3025964)  # $


def peaks(program):
    """TFLOP/s of the four chips, from the FLOP and utilization of a step."""
    rows = study(program, "systems_gpt3").rows
    chosen = [rows[chip, "2d_torus", "ddr", "pcie"] for chip in CHIPS]
    return [row["flop"] / row["step_time"] / row["utilization"] / 1024 / 1e12 for row in chosen]


def ask_polynomial(program, case):
    tflops = peaks(program)

    def points(amounts):
        return {"of": "tflops", "degree": 2, "chips": list(map(list, zip(tflops, amounts)))}

    file = CONFIGS / "gpt3_1t.yaml"
    machine = solve(program, file, "price.accelerator=" + json.dumps(points(PRICES)),
                    "power.accelerator=" + json.dumps(points(POWERS)))["machine"]
    return {"tflops": tflops, "power_kw": [each / 1e3 for each in machine["power_of_peak"]],
            "price_k": [each / 1e3 for each in machine["price_of_peak"]]}


def ask_intensity(program, case):
    asked = case["input"]
    (found,) = run_json(program, "gemm", V100, "--shape", "x".join(map(str, asked["gemm"])),
                        "--intensities", asked["chips"])["gemms"][0]["intensities"]
    chosen = {name: found["strategies"][name] for name in case["expected"]["strategies"]}
    return {"all": found["all"], "strategies": chosen}


def ask_lstm(program, case):
    asked = case["input"]
    extents = [asked[key] for key in ("batch", "hidden", "vocabulary", "layers", "steps")]
    published = ["--published"] if asked["rule"] == "published" else []
    (found,) = run_json(program, "gemm", V100, "--lstm", "x".join(map(str, extents)), "--set",
                        f"execution.launch_overhead={asked['launch_overhead']}", *published)["lstms"]
    if published:
        time = found["published"]
        # The cases have a published update of the embedding, too: a softmax's.
        updates = [time["update_cells"], time["update_softmax"], time["update_softmax"]]
        return {**time, "updates": updates}
    return {**found["folded" if asked["folded"] else "step_by_step"],
            "parameters": found["parameters"]}


def ask_dataflow(program, case):
    """A GEMM on one core of 1 GHz with each dataflow, whose operands the paper has in the arrays."""
    def run(dataflow):
        changes = (f"system.accelerator.dataflow={dataflow}", "equations.array_loads=free")
        (partition,) = solve(program, case["config"], *changes)["partitions"]
        return partition["dataflow"]["A"], {"cycles": 1e9 * partition["compute"],
                                            "register_bytes": partition["register_bytes"]}

    answers = {dataflow: run(dataflow)[1] for dataflow in ("output", "weight", "input")}
    return {**answers, "best": run("best")[0]}


def mesh(program, *words):
    return run_json(program, "mesh", *words)


def ask_mesh(program, case):
    asked = case["input"]
    words = [word for name, extent in zip(asked["axes"], asked["extents"])
             for word in ("--open" if name == "pipeline" else "--axis", str(extent))]
    found = mesh(program, "x".join(map(str, asked["mesh"])), *words,
                 *["--torus"] * asked["torus"])

    def chosen(placement, *keys):
        return {key: placement[key] for key in keys}

    straight, snake = found["placements"][:2]
    return {"best": chosen(found["best"], "value", "order", "fill", "own", "all"),
            "straight_in_order": chosen(straight, "own", "all", "hops"),
            "snake_in_order": chosen(snake, "own", "all", "hops")}


def ask_space(program, _):
    file = CONFIGS / "gpt3_1t.yaml"
    return solve(program, file)["search"]["space"]


def ask(program, case):
    return globals()["ask_" + case["group"]](program, case)


def differing(case, found):
    """Texts."""
    tolerance = 1e-7 if case["group"] in FLOATS else 1e-9

    def compare(name, want, got):
        if isinstance(want, dict):
            for key in want:
                if key in got:
                    yield from compare(f"{name}.{key}", want[key], got[key])
                else:
                    yield f"{name}.{key}: no answer, expected {want[key]!r}"
        elif isinstance(want, list):
            for i, (one, other) in enumerate(zip(want, got, strict=True)):
                yield from compare(f"{name}[{i}]", one, other)
        elif isinstance(got, str) or isinstance(want, str):
            if want != got:
                yield f"{name}: {got}, expected {want}"
        elif not math.isclose(want, got, rel_tol=tolerance, abs_tol=0):
            yield f"{name}: {got!r}, expected {want!r}"

    return list(compare(case["name"], case["expected"], found))
