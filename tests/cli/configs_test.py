#!/usr/bin/env python3
"""Every file under configs/ loads.

Configs are checked by `dfsearch check` as they are.  Those under workloads/ and
systems/ are the two parts of one: each must check together with some other.
Systems of Calculon's model, which has no files of workloads, are tried in the
place of the one that a config of it names; so are systems that leave the number of
chips to the config, with one of training/ and one of transformers/.  Those under chips/ have a system only,
for `dfsearch chip`, and are made of the parts under technologies/, all of which
must be in use; so must all rates under efficiencies/.

usage: configs_test.py DFSEARCH
"""

import itertools
import math
import pathlib
import re
import subprocess
import sys
import tempfile

CONFIGS = pathlib.Path(__file__).resolve().parents[2] / "configs"


def complaint(config, command="check", *options):
    """What `dfsearch check`, or another command, has against a config; empty if nothing."""
    done = subprocess.run(
        [sys.argv[1], command, str(config), *options],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False,
    )
    return "" if done.returncode == 0 else f"{config}: status {done.returncode}\n{done.stderr}"


def complaint_about_pair(workload, system):
    with tempfile.TemporaryDirectory() as folder:
        config = pathlib.Path(folder, "pair.yaml")
        config.write_text(f"workload: {{from: {workload}}}\nsystem: {{from: {system}}}\n")
        return complaint(config)


def complaint_about_plan(workload):
    """Layers of several kinds have no graph for a mapping, but plans with a stack."""
    with tempfile.TemporaryDirectory() as folder:
        config = pathlib.Path(folder, "plan.yaml")
        config.write_text(f"workload: {{from: {workload}, mask: causal}}\n"
                          f"system: {{from: {CONFIGS}/systems/h100_dgx.yaml, chips: 64}}\n"
                          "execution: {stack: te, chip: h100_80gb}\ntraining: {}\n")
        return complaint(config)


def complaint_in_place(config, system, *overrides):
    """The same with another system than the one that the config names."""
    words = [word for text in (f"system.from={system}", *overrides) for word in ("--set", text)]
    done = subprocess.run(
        [sys.argv[1], "check", str(CONFIGS / config), *words],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False,
    )
    return "" if done.returncode == 0 else f"{system}: status {done.returncode}\n{done.stderr}"


def product_of_degrees(system):
    return math.prod(map(int, re.findall(r"degree: (\d+)", system.read_text())))


def complaints_about_chips(chips, parts):
    done = subprocess.run(
        [sys.argv[1], "chip", *map(str, chips)],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False,
    )
    wrong = [] if done.returncode == 0 else [f"chips: status {done.returncode}\n{done.stderr}"]
    texts = "".join(file.read_text() for file in chips + parts)
    return wrong + [f"{part}: no chip is made of it" for part in parts if part.name not in texts]


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    files = sorted(CONFIGS.rglob("*.yaml"))
    workloads = sorted((CONFIGS / "workloads").glob("*.yaml"))
    systems = sorted((CONFIGS / "systems").glob("*.yaml"))
    calculon = [file for file in systems if file.name.startswith("calculon_")]
    chips = sorted((CONFIGS / "chips").rglob("*.yaml"))
    parts = sorted((CONFIGS / "technologies").rglob("*.yaml"))
    rates = sorted((CONFIGS / "efficiencies").glob("*.yaml"))
    studies = sorted((CONFIGS / "studies").glob("*.yaml"))
    measured = [file for kind in ("curves", "stacks", "engines", "families") for file in (CONFIGS / kind).rglob("*.yaml")]
    other = set(measured + workloads + systems + chips + parts + rates + studies)
    whole = [file for file in files if file not in other]
    systems = [file for file in systems if file not in calculon]
    without_chips = [file for file in systems if "\nchips:" not in file.read_text()]
    systems = [file for file in systems if file not in without_chips]
    if not whole:
        sys.exit(f"there is no config under {CONFIGS}")

    wrong = [complaint(file) for file in whole] + complaints_about_chips(chips, parts)
    wrong += [complaint(file, "study", "--dry-run") for file in studies]
    wrong += [complaint_in_place("calculon_1t.yaml", file) for file in calculon]
    for file in without_chips:  # in a plan of training, and in a mapping
        chips = f"system.chips={16 * product_of_degrees(file)}"
        wrong.append(complaint_in_place("training/llama3_70b_2048_h100.yaml", file, chips,
                                        "execution.efficiency=null"))
        wrong.append(complaint_in_place("transformers/llama3_70b.yaml", file, chips))
    texts = "".join(file.read_text() for file in whole)
    wrong += [f"{file}: no config names it" for file in rates if file.name not in texts]
    paired, complaints = set(), {part: [] for part in workloads + systems}
    of_kinds = []  # workloads of layers of several kinds
    for w, s in itertools.product(workloads, systems):
        if w in of_kinds or {w, s} <= paired:
            continue
        text = complaint_about_pair(w, s)
        if "a mapping needs the graph of a layer" in text:
            of_kinds.append(w)
        elif text:
            complaints[w].append(text)
            complaints[s].append(text)
        else:
            paired |= {w, s}
    wrong += map(complaint_about_plan, of_kinds)
    for part in complaints.keys() - paired - set(of_kinds):
        wrong += complaints[part] or [f"{part}: there is nothing to pair it with"]
    wrong = list(filter(None, wrong))
    print(f"{len(files)} files, {len(wrong)} problems")
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
