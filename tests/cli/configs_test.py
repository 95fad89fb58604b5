#!/usr/bin/env python3
"""Every file under configs/ loads.

Configs are checked by `dfsearch check` as they are.  Those under systems/ and
workloads/ are parts: each must be named by a `from:` of some config, which
loads them.

usage: configs_test.py DFSEARCH
"""

import pathlib
import re
import subprocess
import sys

CONFIGS = pathlib.Path(__file__).resolve().parents[2] / "configs"
PARTS = {"systems", "workloads"}
FROM = re.compile(r"\bfrom:\s*[\"']?([^\s,}\"']+)")


def is_part(file):
    return file.relative_to(CONFIGS).parts[0] in PARTS


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    files = sorted(CONFIGS.rglob("*.yaml"))
    wrong, named = [], set()
    for file in files:
        named |= {(file.parent / name).resolve() for name in FROM.findall(file.read_text())}
        if is_part(file):
            continue
        done = subprocess.run(
            [sys.argv[1], "check", str(file)],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False,
        )
        if done.returncode != 0:
            wrong.append(f"{file}: exit status {done.returncode}\n{done.stderr}")
    wrong += [
        f"{file}: no config names this file" for file in files if is_part(file) and file not in named
    ]
    if not files:
        wrong.append(f"{CONFIGS} is empty")
    print(f"{len(files)} files, {len(wrong)} problems")
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
