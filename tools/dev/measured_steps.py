"""Steps that Megatron measured on Selene, beside those of plans (docs/training.md).

Korthikanti et al., "Reducing Activation Recomputation in Large Transformer Models", 2022, table 5:
models on A100, with full recomputation, and with selective recomputation and the sequence split.
"""

import json
import subprocess
import tempfile

import published_configs

CONFIGS = published_configs.ROOT / "configs" / "training"
MEASURED = {"22b": {"full": 1.42, "selective": 1.10}, "175b": {"full": 18.13, "selective": 13.75},
            "530b": {"full": 49.05, "selective": 37.83}, "1t": {"full": 94.42, "selective": 71.49}}
HEAD = ["model", "recomputation", "measured", "predicted", "error", "memory of the fullest stage"]
MOST_ON_AVERAGE = 0.05


def solve(program, config):
    with tempfile.TemporaryDirectory() as folder:
        result = f"{folder}/result.json"
        subprocess.run([program, "--config", str(config), "--json", result], check=True,
                       stdout=subprocess.DEVNULL)
        with open(result, encoding="utf-8") as file:
            return json.load(file)


def steps(program):
    """(model, recomputation, measured, result) of all eight."""
    return [(model, kind, measured, solve(program, CONFIGS / f"megatron_{model}_{kind}.yaml"))
            for model, kinds in MEASURED.items() for kind, measured in kinds.items()]


def error(measured, result):
    """Positive: too fast."""
    return (measured - result["step_time"]) / measured


def average(results):
    return sum(abs(error(measured, result)) for _, _, measured, result in results) / len(results)


def rows(results):
    for model, kind, measured, result in results:
        config = f"[{model.upper()}](../configs/training/megatron_{model}_{kind}.yaml)"
        yield [config, kind, f"{measured:.2f} s", f"{result['step_time']:.4g} s",
               f"{100 * error(measured, result):.2f} %",
               f"{result['memory']['total'] / 2**30:.2f} GiB"]
    yield ["mean of the sizes", "", "", "", f"{100 * average(results):.2f} %", ""]


def problems(results):
    mean = average(results)
    return [] if mean <= MOST_ON_AVERAGE else [f"measured steps: {100 * mean:.2f} % off on average"]
