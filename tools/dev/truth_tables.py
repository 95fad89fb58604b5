"""The tables of docs/truth.md: errors, fitted constants, and errors without one mechanism each."""

import csv
import json
import os
import pathlib
import re
import tempfile

import tables
import yaml

PAGE = tables.DOCS / "truth.md"
STACKS, CURVES = tables.CONFIGS / "stacks", tables.CONFIGS / "curves"
STRICT = STACKS / "strict"
RUNS = tables.CONFIGS / "measured" / "training.csv"
SECTION = "6. Errors"

HOST = ("host_forward", "host_backward", "host_exchange", "host_softmax", "host_micro_batch",
        "host_step")
EXPERTS = {"expert_launch": "0 s", "dispatch_host": "0 s", "router_host": "0 s"}
CASTS = {"cast_words": 0, "scan_words": 0, "four_bit_words": 0}
ATTENTION, PRODUCTS = ("fa1", "fa2", "cudnn"), [f"products_{b}bit" for b in (16, 8, 4)]


def flat_products(chip):
    """Each product at the best rate of its curve."""
    return {key: {"share": [max(chip[key]["share"])] * len(chip[key]["share"])}
            for key in PRODUCTS if key in chip}


def fast_attention(chip):
    """Fused attention at the best rate of products."""
    most = max(chip["products_16bit"]["share"])
    return {key: {way: [most] * len(chip[key]["tokens"]) for way in ("forward", "backward")}
            for key in ATTENTION if key in chip} | {"small_heads": 1}


def middle_of_deciles(chip):
    return {key: {"share": [(a + b) / 2 for a, b in zip(chip[key]["share"], chip[key]["low"])]}
            for key in PRODUCTS[1:] if key in chip}


# Each mechanism with the constants of stacks and of chips that switch it off.
MECHANISMS = (
    ("the host issues kernels", dict.fromkeys(HOST, "0 s") | EXPERTS, None),
    ("the host issues layers of experts", EXPERTS, None),
    ("each expert of a chip is issued by itself", {"expert_launch": "0 s"}, None),
    ("rows cost dispatchers more than bytes", {}, lambda _: {"dispatch_row": "0 B"}),
    ("exchanges of experts overlap", {"expert_hidden": 0, "overlap_host": 1}, None),
    ("older processors are slower", {}, lambda _: {"cpu": 1}),
    ("host and chip hide each other in part", {"host_exponent": 100}, None),
    ("elementwise passes", {"elementwise": 0.001}, None),
    ("attention has curves of its own", {}, fast_attention),
    ("small products are slower", {}, flat_products),
    ("clocks that long runs sustain", {},
     lambda chip: {key: 1 for key in chip if key.startswith("clock")}),
    ("ninth decile in 8 and 4 bits", {}, middle_of_deciles),
    ("casts", CASTS, None),
    ("the gradient of sinks has kernels of its own", {"sink_bytes": "0 B"}, None),
    ("gathers slow kernels down", {"gather_interference": 0}, None),
    ("hidden exchanges of tensor ranks", {"tensor_overlap": 0}, None),
    ("latencies, and links below the nominal rate", {"nic_share": 1},
     lambda _: {"base": "0 s", "hop": "0 s"}),
)


def loaded(file):
    """A file of the shelf with those that it comes from."""
    tree = yaml.safe_load(file.read_text())
    base = tree.pop("from", None)
    return (loaded(file.parent / f"{base}.yaml") if base else {}) | tree


LARGEST = ("vTrain", "Megatron-Bridge")  # the sources of most rows


def groups(row):
    yield "all"
    source = row["source"]
    yield "all, experts" if row["experts"] else "all, dense"
    if LARGEST[0] not in source:
        yield "all but vTrain"
        if LARGEST[1] not in source:
            yield "all but vTrain and Megatron-Bridge"
    for mark, name in (("mosaicml/", "MosaicML"), ("pytorch/torchtitan", "torchtitan"),
                       ("Narayanan", "Selene, 2021 and 2022"), ("MegaScale", "Megatron-LM in MegaScale"),
                       ("Korthikanti", "Selene, 2021 and 2022")):
        if source.startswith(mark):
            yield name
    if "vTrain" in source:
        yield "vTrain, one node" if "single" in source else "vTrain, many nodes"
    if "Megatron-Bridge" in source:
        yield "Megatron-Bridge, " + ("experts" if row["experts"] else "dense")


def errors(program, folder=None):
    """The mean error of each group of runs, in percent."""
    made = tables.predicted(program, RUNS, *(["--stacks", folder] if folder else []))
    sizes = {}
    for run, row in zip(tables.rows_of(RUNS), made):
        if row["error"] and not row["note"].endswith("are guessed"):
            for group in groups(run):
                sizes.setdefault(group, []).append(abs(float(row["error"])))
    return {group: 100 * sum(list_) / len(list_) for group, list_ in sizes.items()}


def without(program, of_stacks, of_chip):
    with tempfile.TemporaryDirectory() as name:
        for kind, changes in ((STACKS, lambda _: of_stacks), (CURVES, of_chip or (lambda _: {}))):
            for file in kind.glob("*.yaml"):
                changed = {"from": file.stem} | changes(loaded(file))
                pathlib.Path(name, file.name).write_text(json.dumps(changed))
        return errors(program, name)


def shown(value):
    if isinstance(value, dict):  # a curve of attention
        return f"{value['forward'][0]}"
    if isinstance(value, list):
        return f"{value[1]}, {value[0]} to {value[2]}"
    return str(value)


def fitted_constants(schema):
    """(constant, value, files, whether it is in the strict variant, description), once each."""
    found = {}
    for kind, name in ((STACKS, "stack"), (CURVES, "measured chip")):
        for file in sorted(kind.glob("*.yaml")):
            own = yaml.safe_load(file.read_text())
            rows = schema["definitions"][name]["properties"]
            strict = STRICT / file.name
            without_it = yaml.safe_load(strict.read_text()) if strict.is_file() else {}
            for key in own.get("fitted", ()):
                value = own.get(key, rows[key].get("leftOut"))
                entry = found.setdefault((re.sub(r"_(16|8|4)bit$", "", key) if name != "stack" and
                                          file.stem.startswith(("b", "g")) else key, shown(value)),
                                         ([], [], rows[key]["description"]))
                if file.stem not in entry[0]:
                    entry[0].append(file.stem)
                entry[1].append(key not in without_it and file.stem != "nanotron")
    for file in sorted((tables.ROOT / "src" / "model" / "stack").glob("*.[ch]pp")):
        for doc, key, value in re.findall(r"/// (.*)\nconstexpr double (k\w+) = ([\d.]+);  // \[f\]",
                                          file.read_text()):
            found[key, value] = ([file.name], [False], doc[0].lower() + doc[1:].rstrip("."))
    return [(key, value, *entry) for (key, value), entry in found.items()]


def constant_rows(constants):
    rows = {}
    for key, value, files, strict, _ in constants:
        first, comma, limits = value.partition(", ")
        rows.setdefault(", ".join(files), []).append(
            f"`{key}`{'*' if all(strict) else ''} {first}" + (f" ({limits})" if comma else ""))
    return [[files, ", ".join(texts)] for files, texts in rows.items()]


def mechanism_row(program, full, name, of_stacks, of_chip):
    now = without(program, of_stacks, of_chip)
    most = max(full, key=lambda group: now[group] - full[group])
    return [name, f"{now['all']:.1f}", f"{most}: {full[most]:.1f} to {now[most]:.1f}"]


def left_out_rows(program):
    """Errors of runs of `te` by constants that were fitted without all that share a value."""
    rows = []
    for column in ("model", "release", "gpu"):
        text = tables.run(program, "predict", RUNS, "--leave-out", column, "--stack", "te",
                          "--quiet", "-o", os.devnull)
        for kind in ("experts", "dense"):
            line = re.search(rf"^ *\d+ +([\d.]+) +([\d.]+) +([-+\d.]+) +([\d.]+)  all, {kind}$", text,
                             re.M)
            rows.append([kind, column, *line.groups()])
    return rows


def energy_rows(program):
    """Joules of a token, measured and as the program finds them with its own times."""
    rows = []
    with open(tables.ROOT / "tests/data/measured_energy.csv", newline="") as measured:
        for run in csv.DictReader(measured):
            kind = run["weights"]
            found = tables.solve(program, {
                "workload": {"kind": "llm_serving", "model": run["model"], "input": 400,
                             "output": 500, "concurrency": int(run["batch"]),
                             "precision": {"weights": kind, "cache": "bf16"}},
                "serving": {"modes": ["aggregated"], "replicas": 1, "tensor": int(run["chips"]),
                            "objective": "throughput",
                            "pools": [{"name": run["chip"], "chips": int(run["chips"]),
                                       "system": {"from": run["chip"] + "_dgx",
                                                  "engine": "vllm_" + run["chip"]}}]}})
            joules, real = found["serving"]["figures"]["joule_per_token"], float(
                run["joules_per_token"])
            rows.append([f"{run['chips']} {run['chip'].upper()}, {run['model']} in {kind}, "
                         f"{run['batch']} at once", f"{real:.4g}", f"{joules:.4g}",
                         f"{100 * (joules / real - 1):+.1f}",
                         f"{float(run['error_at_measured_times']):+.1f}"])
    return rows


def renewed(program, leave_out=False):
    """The page with its tables computed anew; fits without some runs take minutes and are optional."""
    page = tables.Page(PAGE.name)
    groups_before = [row[:2] for row in page.rows(SECTION)]
    found, strict = errors(program), errors(program, STRICT)
    full = {group: found[group] for group, _ in groups_before}
    page.table(SECTION, [[group, before, f"{full[group]:.1f}", f"{strict[group]:.1f}"]
                         for group, before in groups_before])
    constants = fitted_constants(json.loads(tables.run(program, "schema")))
    page.numbers("**What is fitted**: {} constants, of which the strict variant has {} (*).",
                 len(constants), sum(all(entry[3]) for entry in constants))
    page.table(SECTION, constant_rows(constants), 1)
    page.table(SECTION, [mechanism_row(program, full, *each) for each in MECHANISMS], 2)
    energies = energy_rows(program)
    page.table("12. Energies", energies)
    page.numbers("The mean error of these is {} %.",
                 f"{sum(abs(float(row[3])) for row in energies) / len(energies):.1f}")
    if leave_out:
        page.table(SECTION, left_out_rows(program), 3)
    return page.text
