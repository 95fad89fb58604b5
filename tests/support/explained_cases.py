"""Published runs that a config cannot say, and what reproduces their steps all the same.

Case 58: the published code reduces gradients in the domain of fast links first, HBD of its
set-up, although the tensor group fills that domain, and then over the rails.  That is one
more dimension than what its price and power are of: data 8 x 128 in place of 1,024.

Case 74: from commit f9cda5e on the published code moves all tensors of a kernel whose weight
is cut once for every piece.  The pieces and the extents of shards are those of the log (its
`tiling_per_config`, `shard_M`, `shard_N`), which the time limit ended with extents above the
least.
"""

import copy

import reference_model

RAIL_ONLY_DATA = [
    {"topology": "switch", "degree": 8, "bandwidth": "900.0 GB/s", "strategy": "data"},
    {"topology": "switch", "degree": 128, "bandwidth": "50.0 GB/s", "strategy": "data"},
]

PIECES = {"Q": 32, "K": 31, "V": 31, "PROJ_GEMM": 31, "FFN0": 122, "FFN1": 122}
TILES = 512
# Rows and columns of the output where they are above the least.
ROWS = {"LayerNorm_1": 256029, "Q": 32025, "K": 32147, "V": 32002.000003906236,
        "PROJ_GEMM": 256029, "FFN0": 128001.00000781247, "FFN1": 256009.00000781243}
COLUMNS = {"Q": 5, "K": 5}


def rail_only_step(record):
    """Seconds of case 58."""
    config = copy.deepcopy(record["config"])
    tensor, pipeline, _ = config["system"]["network"]
    config["system"]["network"] = [tensor, pipeline, *RAIL_ONLY_DATA]
    problem = reference_model.load(config)
    names = [kernel.name for kernel in problem.kernels]
    # One of the shardings of least bytes: no kernel reads the output of Add_2.
    sharding = dict(zip(names, reference_model.least_bytes_sharding(problem))) | {"Add_2": "M"}
    mapping = {
        "network": config["system"]["network"], "micro_batch": 1, "tile": 128,
        "partitions": [{"kernels": [name]} for name in names], "sharding": sharding,
    }
    return reference_model.evaluate(problem, mapping)["step_time"]


def reread_step(record):
    """Seconds of case 74: memory bounds every kernel."""
    config = record["config"]
    problem = reference_model.load(config)
    tensor_degree = config["system"]["network"][0]["degree"]
    sharding = reference_model.least_bytes_sharding(problem)
    moved = [0.0] * len(problem.kernels)
    for tensor in problem.tensors:
        source = problem.kernels[tensor.source]
        rows, _, columns = reference_model.shard_extents(
            source, sharding[tensor.source], tensor_degree, TILES)
        size = ROWS.get(source.name, rows) * COLUMNS.get(source.name, columns) * problem.word
        moved[tensor.source] += size
        moved[tensor.target] += size
    times = [
        TILES * PIECES.get(kernel.name, 1) * size / problem.memory_bandwidth
        for kernel, size in zip(problem.kernels, moved)
    ]
    workload = config["workload"]
    return sum(times) * workload["layers"] * workload["global_batch"]
