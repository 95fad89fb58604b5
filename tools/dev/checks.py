"""Runs a check of the repository, or the check itself on small trees of files with mistakes."""

import pathlib
import sys
import tempfile


def found_in(complaints, files):
    """The complaints about a tree of these files, by their names."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            file = pathlib.Path(folder, name)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        return complaints(pathlib.Path(folder))


def self_test(complaints, good, bad, alone=True):
    """A mistake is a file with its text in place of the good one; each must be found, and alone."""
    found = found_in(complaints, good)
    if found:
        sys.exit(f"self-test: found what is not wrong: {found}")
    for name, text in bad:
        found = found_in(complaints, {**good, name: text})
        if not found or (alone and (len(found) > 1 or not found[0].startswith(name))):
            sys.exit(f"self-test: {name} with {text.strip()}: expected one finding, got {found}")
    print(f"{len(bad)} mistakes found, nothing else")


def main(description, complaints, good, bad):
    """Checks the root that the command line names."""
    if len(sys.argv) != 2:
        sys.exit(description)
    if sys.argv[1] == "--self-test":
        self_test(complaints, good, bad)
    else:
        sys.exit("\n".join(complaints(pathlib.Path(sys.argv[1]).resolve())) or 0)
