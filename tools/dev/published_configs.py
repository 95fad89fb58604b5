#!/usr/bin/env python3
"""Writes configs/published/*.yaml, one for every published run that a config can express.

    tools/dev/published_configs.py

They are the configs of tests/golden/published.json in a form for people; a test compares the two.
"""

import json
import pathlib
import re
import textwrap

ROOT = pathlib.Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "golden" / "published.json"
FOLDER = ROOT / "configs" / "published"

WIDTH = 100
COMMON_FOLDERS = {"DSE", "system", "Compare_w_existing"}  # of the published paths; say nothing here


def records():
    return json.loads(GOLDEN.read_text(encoding="utf-8"))


def file_of(record):
    """Where the config of a record is, or None for a run that no config expresses."""
    if "config" not in record:
        return None
    words = [word for word in record["path"].split("/") if word not in COMMON_FOLDERS]
    name = re.sub(r"[^a-z0-9]+", "_", "_".join(words).lower())
    return FOLDER / f"{record['id']:02}_{name}.yaml"


def flow(value):
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {flow(part)}" for key, part in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(flow, value)) + "]"
    return str(value)


def paragraph(value, indent):
    """A map as wrapped text; no line ends between a key and its value."""
    wrapped = textwrap.wrap(flow(value).replace(": ", ":\0"), WIDTH, initial_indent=indent,
                            subsequent_indent=indent + " ", break_on_hyphens=False)
    return [line.replace("\0", " ") for line in wrapped]


def entry(key, value, indent):
    """The lines of `key: value`."""
    line = f"{indent}{key}: {flow(value)}"
    inner = indent + "  "
    if isinstance(value, list) and isinstance(value[0], dict):
        return [f"{indent}{key}:"] + [f"{inner}- {flow(part)}" for part in value]
    if not isinstance(value, dict) or len(line) <= WIDTH:
        return [line]
    if key == "pins":
        return [f"{indent}{key}:"] + paragraph(value, inner)
    return [f"{indent}{key}:"] + [
        line for name, part in value.items() for line in entry(name, part, inner)
    ]


def text_of(record):
    step = record["published"]["step_time"]
    said = (f"Case {record['id']}, {record['name']}: the DFModel run {record['path']} of commit"
            f" {record['commit'][:7]}, a step of {step!r} s.  Numbers are the 32-bit floats of its"
            " set-up.")
    if "reason" in record:
        said += f"  Note: {record['reason']}."
    comment = textwrap.wrap(said, WIDTH, initial_indent="# ", subsequent_indent="# ",
                            break_on_hyphens=False, break_long_words=False)
    lines = [line for key, value in record["config"].items() for line in entry(key, value, "")]
    return "\n".join(comment + lines) + "\n"


def texts():
    """What each file holds."""
    return {file_of(record): text_of(record) for record in records() if "config" in record}


def main():
    FOLDER.mkdir(exist_ok=True)
    for file in FOLDER.glob("*.yaml"):
        file.unlink()
    for file, text in texts().items():
        file.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
