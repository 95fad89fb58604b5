"""Which config answers which point of the tables and figures of the DFModel paper.

A point is (config, overrides): a file under configs/ and the KEY=VALUE texts of `--set`.
Published values are those of the runs in tests/golden/published.json, by case, and the few that
the paper prints.
"""

import pathlib

CONFIGS = pathlib.Path(__file__).resolve().parents[2] / "configs"

# Table VI: mapping, case, the paper's speed-up.
MAPPINGS = (
    ("kernel by kernel, ring of 8", 35, 1),
    ("vendor's compiler, ring of 8", 36, 4.05),
    ("DFModel, ring of 8", 37, 4.8),
    ("DFModel, 4 x 2 torus", 38, 6.13),
)

# Fig. 8, beside Calculon: degrees (tensor, pipeline, data), case.
CALCULON = (("8, 32, 16", 51), ("32, 32, 4", 52), ("1, 32, 128", 55), ("1, 128, 32", 56),
            ("16, 8, 32", 57))

# Fig. 22, three-dimensional memory: share of compute, memory, case.
MEMORY_3D = (("0.2 of the die, 3-D at 100 TB/s", 71), ("0.5 of the die, 3-D at 100 TB/s", 72),
             ("0.5 of the die, DDR at 100 GB/s", 74))

# Fig. 7: chips of a domain, case if published.
RAIL_ONLY = ((8, 58), (16, None), (32, None), (64, None), (128, None), (256, None))


def rail_only(domain):
    return ("figures/rail_only.yaml",
            (f"system.network.0.degree={domain}", f"system.network.2.degree={8192 // domain}"))


# Fig. 19: the sizes of its letters, and the published cases by style, SRAM and DRAM.
SRAM = {"s": "150 MiB", "m": "300 MiB", "l": "500 MiB"}
DRAM = {"s": "100 GB/s", "m": "300 GB/s", "l": "600 GB/s"}
SRAM_DRAM = {
    "dataflow": {("l", "l"): 39, ("m", "m"): 41, ("m", "s"): 42, ("s", "s"): 44},
    "kernel_by_kernel": {("l", "l"): 45, ("m", "m"): 47, ("s", "s"): 49},
}


def sram_dram(style, sram, dram):
    return (f"figures/sram_dram_{style}.yaml",
            (f"system.accelerator.sram={SRAM[sram]}", f"system.memory.bandwidth={DRAM[dram]}"))


# Fig. 20: tensor degrees of sixteen chips, and the tokens/s that the paper prints.
SERVING = {16: 1188, 8: None, 4: None, 2: None, 1: None}


def serving(kind, tensor):
    return (f"figures/serving_{kind}.yaml",
            (f"system.network.0.degree={tensor}", f"system.network.1.degree={16 // tensor}"))


def runs():
    """Every point that is not a published case itself."""
    yield from (rail_only(domain) for domain, _ in RAIL_ONLY)
    for style in SRAM_DRAM:
        yield from (sram_dram(style, sram, dram) for sram in SRAM for dram in DRAM)
    for kind in ("prefill", "decode"):
        yield from (serving(kind, tensor) for tensor in SERVING)
