#!/usr/bin/env python3
"""Takes the pictures of docs/images: docs/gallery.md's, and whole pages of a run and of a study.

The commands of the gallery are run as the page has them; Chromium shows the sections of SECTIONS,
pngquant makes the pictures small.  `./dev papers --write` draws docs/images/paper_*.svg.

usage: pictures.py DFSEARCH [NAME ...]    NAME: only these pictures
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

import tables  # noqa: E402

sys.path.insert(0, str(tables.ROOT / "tests/support"))
import browser  # noqa: E402

# Removes all sections of a page but those whose titles begin so.
SHOWN = """(() => { for (const part of [...document.getElementById('page').children]) {
  const title = part.querySelector('h2');
  if (!title || !%s.some((begin) => title.textContent.startsWith(begin))) part.remove(); }})()"""
# Sections in the pictures of the gallery, by the beginnings of their titles.
SECTIONS = {
    "plan": ["What the step time is spent on", "What is full"], "front": ["Front"],
    "iteration": ["Where an iteration goes"], "chip": ["The chip", "What more of a budget"],
    "runs": ["Predicted against measured"], "fig7": ["Fig. 7"],
    "fig8": ["Fig. 8: tensor x pipeline x data, data"], "fig10": ["Fig. 10: utilization"],
    "fig11": ["Fig. 11"], "fig18": ["What the step times", "Hierarchical"], "fig19": ["Fig. 19"],
    "fig20": ["Fig. 20"], "fig21": ["Fig. 21: a token by the window, in a tree"],
    "fig22": ["Fig. 22"], "nodes": ["Fig. 9: step"], "parallel": ["Fig. 10"],
    "package": ["Fig. 11"],
}
RUN = ["dfsearch configs/gpt3_1t.yaml --threads 1 --html run.html"]
STUDY = ["dfsearch study configs/studies/systems_gpt3.yaml -o systems_gpt3"]
# Pictures of the upper part of a page: commands, width, height, whether it is dark.
PAGES = {"run_light": (RUN, 1100, 1180, False), "run_dark": (RUN, 1100, 1180, True),
         "run_phone": (RUN, 400, 860, True), "study": (STUDY, 1100, 1500, False)}


def gallery():
    """The commands of each picture of docs/gallery.md; a picture without any has those before."""
    text, found, before = (tables.DOCS / "gallery.md").read_text(encoding="utf-8"), {}, []
    for part in text.split("\n## ")[1:]:
        block = re.search(r"^```sh\n(.*?)^```", part, re.DOTALL | re.MULTILINE)
        before = block[1].splitlines() if block else before
        if name := re.search(r"\(images/gallery_(\w+)\.png\)", part):
            found[name[1]] = before
    if set(found) != set(SECTIONS):
        sys.exit(f"pictures.py: docs/gallery.md has pictures {sorted(found)}, expected the keys of"
                 " SECTIONS")
    return found


class Studio:
    """A folder in which each command is run once, and a browser that shows its page."""

    def __init__(self, program, folder, chromium):
        self.program, self.folder, self.chromium = program, pathlib.Path(folder), chromium
        (self.folder / "configs").symlink_to(tables.CONFIGS)
        self.done = set()

    def page_of(self, commands):
        for command in commands:
            if command in self.done:
                continue
            subprocess.run([self.program, *command.split()[1:]], cwd=self.folder, check=True,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            self.done.add(command)
        target = re.search(r"(?:--html|-o) (\S+)", commands[-1])[1]
        return self.folder / (target if target.endswith(".html") else f"{target}/study.html")

    def take(self, name, commands, sections=None, width=860, height=100, dark=False):
        self.chromium.open(self.page_of(commands), width=width, height=height, dark=dark,
                           phone=width < 500)
        if sections:
            self.chromium.run(SHOWN % json.dumps(sections))
        quality = ["--quality", "40-90"] if sections else []
        picture = self.chromium.picture(whole=bool(sections))
        file = tables.IMAGES / f"{name}.png"
        file.write_bytes(subprocess.run(["pngquant", *quality, "-"], check=True,
                                        capture_output=True, input=picture).stdout)
        print(f"{file.name}: {file.stat().st_size} bytes")


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    program, chosen = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2:]
    if browser.find() is None:
        sys.exit("pictures.py: chromium is not installed")
    with tempfile.TemporaryDirectory() as folder, browser.Browser() as chromium:
        studio = Studio(program, folder, chromium)
        for name, (commands, width, height, dark) in PAGES.items():
            if not chosen or name in chosen:
                studio.take(name, commands, None, width, height, dark)
        for name, commands in gallery().items():
            if not chosen or name in chosen:
                studio.take(f"gallery_{name}", commands, SECTIONS[name])


if __name__ == "__main__":
    main()
