#!/usr/bin/env python3
"""Every command that the documents show runs and succeeds.

In the fenced `sh` blocks of README.md and docs/*.md each line that begins with
`dfsearch` or `./dev run` is run by a shell, in a copy of the configs, against
the program given.  A line may end in a backslash; files that a command of a
document writes are there for its later commands.

usage: readme_test.py DFSEARCH
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```sh\n(.*?)^```", re.DOTALL | re.MULTILINE)


def commands(text):
    """The commands of one document, as the shell is to see them."""
    found = []
    for block in BLOCK.findall(text):
        for line in block.replace("\\\n", " ").splitlines():
            line = line.strip().removeprefix("$ ")
            if line.startswith("./dev run"):
                line = "dfsearch" + line.removeprefix("./dev run")
            if re.match(r"dfsearch\b", line):
                found.append(line)
    return found


def run_document(file, program):
    """One message for each command that fails, and how many commands there are."""
    listed = commands(file.read_text())
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(ROOT / "configs", pathlib.Path(folder, "configs"))
        bin_folder = pathlib.Path(folder, "bin")
        bin_folder.mkdir()
        (bin_folder / "dfsearch").symlink_to(program)
        environment = {**os.environ, "PATH": f"{bin_folder}:{os.environ['PATH']}"}
        for command in listed:
            done = subprocess.run(
                ["bash", "-o", "pipefail", "-c", command],
                cwd=folder, env=environment, stdin=subprocess.DEVNULL, text=True,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120, check=False,
            )
            print(f"{file.name}: {command}: exit status {done.returncode}")
            if done.returncode != 0:
                wrong.append(f"{file.name}: {command}\n{done.stdout}")
    return wrong, len(listed)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    program = pathlib.Path(sys.argv[1]).resolve()
    wrong, count = [], 0
    for file in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        messages, listed = run_document(file, program)
        wrong += messages
        count += listed
    if count == 0:
        sys.exit("README.md and docs/ show no command at all")
    if wrong:
        sys.exit("\n".join(["", "these commands failed:", *wrong]))


if __name__ == "__main__":
    main()
