"""Which published run answers which point of the tables and figures of the DFModel paper.

Published values are those of the runs in tests/golden/published.json, by case, and the few that
the paper prints.  Sweeps are the studies of configs/studies/.
"""

# Table VI: mapping, case, the paper's speed-up.
MAPPINGS = (
    ("kernel by kernel, ring of 8", 35, 1),
    ("vendor's compiler, ring of 8", 36, 4.05),
    ("DFModel, ring of 8", 37, 4.8),
    ("DFModel, 4 x 2 torus", 38, 6.13),
)

# The points of a study that have a published run: labels in the order of its axes, case.
PUBLISHED = {
    "systems_gpt3": {
        ("h100", "2d_torus", "hbm", "nvlink"): 1, ("h100", "dragonfly", "hbm", "pcie"): 3,
        ("sn30", "2d_torus", "ddr", "nvlink"): 5, ("sn30", "2d_torus", "hbm", "nvlink"): 6,
        ("h100", "dgx1", "ddr", "nvlink"): 8, ("tpu_v4", "3d_torus", "hbm", "pcie"): 10,
        ("tpu_v4", "dgx2", "hbm", "pcie"): 11, ("tpu_v4", "dragonfly", "ddr", "pcie"): 12,
        ("sn30", "dgx2", "ddr", "nvlink"): 14, ("sn30", "3d_torus", "hbm", "nvlink"): 16,
        ("sn30", "dgx1", "hbm", "pcie"): 17, ("wse2", "dgx1", "ddr", "pcie"): 19,
        ("wse2", "2d_torus", "hbm", "pcie"): 20, ("wse2", "dgx2", "ddr", "nvlink"): 21,
        ("sn30", "3d_torus", "ddr", "pcie"): 23,
    },
    "systems_dlrm": {("h100", "2d_torus", "hbm", "nvlink"): 82,
                     ("sn30", "dragonfly", "ddr", "pcie"): 84},
    "systems_hpl": {("h100", "2d_torus", "hbm", "nvlink"): 83,
                    ("wse2", "3d_torus", "ddr", "nvlink"): 90},
    "systems_fft": {("h100", "2d_torus", "hbm", "nvlink"): 76,
                    ("wse2", "3d_torus", "ddr", "nvlink"): 78},
    "rail_only": {("published", "8"): 58},
    "sram_dram": {
        ("dataflow", "500 MiB", "600 GB/s"): 39, ("dataflow", "300 MiB", "300 GB/s"): 41,
        ("dataflow", "300 MiB", "100 GB/s"): 42, ("dataflow", "150 MiB", "100 GB/s"): 44,
        ("kernel_by_kernel", "500 MiB", "600 GB/s"): 45,
        ("kernel_by_kernel", "300 MiB", "300 GB/s"): 47,
        ("kernel_by_kernel", "150 MiB", "100 GB/s"): 49,
    },
    "memory_3d": {("published", "3d", "0.2"): 71, ("published", "3d", "0.5"): 72,
                  ("published", "2d", "0.5"): 74},
}
# Steps of further logs of Fig. 7 in the public repository, in seconds, by the domain.
RAIL_STEPS = {"8": 4.9614852393201225, "16": 4.812347495408918, "256": 4.672530860484146}
SERVING_TOKENS = {("decode", "16"): 1188}  # tokens/s that the paper prints, of Fig. 20
