#!/usr/bin/env python3
"""Takes the pictures of docs/images: pages of a run and of a study, as Chromium shows them.

The run is configs/gpt3_1t.yaml, the study the 80 machines of configs/studies/systems_gpt3.yaml.
pngquant makes the pictures small.

usage: screenshots.py DFSEARCH [FOLDER]
"""

import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
import browser  # noqa: E402

# name, page, width, height, dark, what is done before.
PICTURES = [
    ("run_light", "run.html", 1100, 1180, False, ""),
    ("run_dark", "run.html", 1100, 1180, True, ""),
    ("run_phone", "run.html", 400, 860, True, ""),
    ("study", "study.html", 1100, 1500, False, ""),
]


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    program = pathlib.Path(sys.argv[1]).resolve()
    target = pathlib.Path(sys.argv[2] if len(sys.argv) == 3 else ROOT / "docs/images").resolve()
    target.mkdir(exist_ok=True)
    if browser.find() is None:
        sys.exit("screenshots.py: chromium is not installed")
    with tempfile.TemporaryDirectory() as name, browser.Browser() as chromium:
        folder = pathlib.Path(name)
        run = [program, "configs/gpt3_1t.yaml", "--threads", "1", "--html", folder / "run.html"]
        subprocess.run(run, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        study = [program, "study", "configs/studies/systems_gpt3.yaml", "-o", folder, "--quiet"]
        subprocess.run(study, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        for picture, page, width, height, dark, script in PICTURES:
            chromium.open(folder / page, width=width, height=height, dark=dark, phone=width < 500)
            if script:
                chromium.run(script)
            file = target / f"{picture}.png"
            file.write_bytes(subprocess.run(["pngquant", "-"], check=True, capture_output=True,
                                            input=chromium.picture(whole=False)).stdout)
            print(f"{file.relative_to(target.parent)}: {file.stat().st_size} bytes")


if __name__ == "__main__":
    main()
