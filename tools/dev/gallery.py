#!/usr/bin/env python3
"""Makes docs/gallery.md and its pictures, docs/images/gallery_*.png: one of each kind of page and of
each figure of the two papers that a study draws, beside the commands that make it.  The other
figures of the papers are docs/images/paper_*.svg, which `./dev papers --write` draws.

The commands are run as the page has them; Chromium shows the sections that an entry names, pngquant
makes the pictures small.

usage: gallery.py DFSEARCH [NAME ...]    NAME: only these pictures; the page has all
"""

import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
import browser  # noqa: E402

WIDTH = 860
SLOW = ("chip",)  # which tests of the page leave alone
STUDY = ["dfsearch study configs/studies/{0}.yaml -o {0}"]
MAPPINGS = ("kernel_by_kernel_8x1", "vendor_8x1", "dataflow_8x1", "dataflow_4x2")
# Of the page all but these sections, which begin so, is left out.
SHOWN = """(() => { for (const part of [...document.getElementById('page').children]) {
  const title = part.querySelector('h2');
  if (!title || !%s.some((begin) => title.textContent.startsWith(begin))) part.remove(); }})()"""

# name, title, commands, page, beginnings of the titles of sections.
PAGES = [
    ("plan", "A plan of a training step",
     ["dfsearch configs/training/llama3_70b_256_sn30.yaml --html plan.html"], "plan.html",
     ["What the step time is spent on", "What is full"]),
    ("front", "The front of deployments",
     ["dfsearch configs/serving/llama3_70b_front.yaml --html front.html"], "front.html", ["Front"]),
    ("iteration", "A deployment and its iterations",
     ["dfsearch configs/serving/llama3_70b_16_h100.yaml --html serving.html"], "serving.html",
     ["Where an iteration goes"]),
    ("chip", "A chip from budgets",
     ["dfsearch configs/v100_split.yaml --set system.budget.step=0.1 --html chip.html"], "chip.html",
     ["The chip", "What more of a budget"]),
    ("runs", "Measured runs",
     ["dfsearch predict configs/measured/training.csv --html runs.html"], "runs.html",
     ["Predicted against measured"]),
]
FIGURES = [
    ("fig7", "DFModel, Fig. 7: rails", "rail_only", ["Fig. 7"]),
    ("fig8", "DFModel, Fig. 8: steps by their parts", "calculon_bars",
     ["Fig. 8: tensor x pipeline x data, data"]),
    ("fig10", "DFModel, Fig. 10: 80 machines", "systems_gpt3", ["Fig. 10: utilization"]),
    ("fig11", "DFModel, Fig. 11: what their steps are spent on", "systems_gpt3", ["Fig. 11"]),
    ("fig19", "DFModel, Fig. 19: nine memories", "sram_dram", ["Fig. 19"]),
    ("fig20", "DFModel, Fig. 20: serving", "serving", ["Fig. 20"]),
    ("fig21", "DFModel, Fig. 21: speculative decoding", "speculation",
     ["Fig. 21: a token by the window, in a tree"]),
    ("fig22", "DFModel, Fig. 22: memory beside, on and over the chip", "memory_3d", ["Fig. 22"]),
    ("nodes", "DeepFlow, Fig. 9: logic, memory and network", "deepflow_nodes", ["Fig. 9: step"]),
    ("parallel", "DeepFlow, Fig. 10: parallelism", "deepflow_parallel", ["Fig. 10"]),
    ("package", "DeepFlow, Fig. 11: chips of a package", "deepflow_package", ["Fig. 11"]),
]
# Figures without a page: name, title, one of the commands whose answers they show, what they show.
DRAWN = [
    ("dfmodel_6", "DFModel, Fig. 6: four workloads",
     "dfsearch configs/published/87_dlrm_a.yaml",
     """FLOP/s of a chip by the published runs and by the optima of the same configs; what the paper
measured is in no file. The published FFT takes four times as long for its all-to-all as its own
table says."""),
    ("dfmodel_9", "DFModel, Fig. 9: power by peak",
     "dfsearch study configs/studies/chip_polynomial.yaml -o chip_polynomial",
     """The four chips and the polynomial of least squares through them, by which this study prices
chips. The paper prints the middle term with a minus."""),
    ("deepflow_1", "DeepFlow, Fig. 1: FLOP for an access",
     "dfsearch gemm configs/chips/v100.yaml --shape 65536x65536x65536 --intensities 512",
     """A GEMM of 65,536 cubed on V100: least value, quartiles and greatest of all tiles, for all
strategies by the number of chips, and for some strategies of 65,536 chips."""),
    ("deepflow_6", "DeepFlow, Fig. 6: GEMMs on a P4",
     "dfsearch gemm configs/chips/p4.yaml --shape 4096x4096x4096 --published",
     """512 shapes of 4 K to 32 K, with 9 us for a launch: (21) of [technology.md](technology.md)
beside the public code. Measured times are not published."""),
    ("deepflow_7", "DeepFlow, Fig. 7: GEMMs on a DGX-1",
     "dfsearch configs/figures/deepflow_gemm_sharded.yaml --set sharding.pins.GEMM=M",
     """Rows shared out, which moves nothing here, or the sum, whose parts are added up over a ring.
Measured times are not published."""),
    ("deepflow_8", "DeepFlow, Fig. 8: LSTM on a V100",
     "dfsearch gemm configs/chips/v100.yaml --lstm 2048x2048x2048x2x20 --published",
     """A step of training of 125 models, batch, hidden size and vocabulary of 2 K to 6 K each, with
9 us for a launch: (23) of [technology.md](technology.md) beside the public code. Measured times are
not published."""),
]
ENTRIES = [
    *PAGES,
    *((name, title, [line.format(study) for line in STUDY], f"{study}/study.html", sections)
      for name, title, study, sections in FIGURES),
    ("fig18", "DFModel, Fig. 18: mappings in a hierarchical roofline",
     [*(f"dfsearch configs/gpt3_175b_{name}.yaml --json {name}.json" for name in MAPPINGS),
      "dfsearch report {} -o mappings.html".format(" ".join(f"{name}.json" for name in MAPPINGS))],
     "mappings.html", ["What the step times", "Hierarchical"]),
]


def markdown():
    text = """# Gallery

What pages show ([pages.md](pages.md)), and the commands that make them. A whole page of a
[run](images/run_light.png) and of a [study](images/study.png) is there. The figures of two papers
are drawn in their axes, of what dfsearch gives; [papers.md](papers.md) has them claim by claim.
`tools/dev/gallery.py` makes this page and its pictures, `./dev papers --write` those at its end.
"""
    before = None
    for name, title, commands, page, _ in ENTRIES:
        text += f"\n## {title}\n\n![{title}](images/gallery_{name}.png)\n\n"
        if commands == before:
            text += f"In `{page}`, too.\n"
        else:
            text += "<!-- not run: it takes half a minute -->\n" if name in SLOW else ""
            text += "```sh\n" + "\n".join(commands) + "\n```\n"
        before = commands
    for name, title, command, words in DRAWN:
        text += (f"\n## {title}\n\n![{title}](images/paper_{name}.svg)\n\n{words}\n\n"
                 f"```sh\n{command}\n```\n")
    return text


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    program, chosen = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2:]
    if browser.find() is None:
        sys.exit("gallery.py: chromium is not installed")
    (ROOT / "docs/gallery.md").write_text(markdown(), encoding="utf-8")
    done = set()
    with tempfile.TemporaryDirectory() as name, browser.Browser() as chromium:
        folder = pathlib.Path(name)
        (folder / "configs").symlink_to(ROOT / "configs")
        for name, _, commands, page, sections in ENTRIES:
            if chosen and name not in chosen:
                continue
            for command in commands:
                if command in done:
                    continue
                done.add(command)
                subprocess.run([program, *command.split()[1:]], cwd=folder, check=True,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            chromium.open(folder / page, width=WIDTH, height=100)
            chromium.run(SHOWN % json.dumps(sections))
            file = ROOT / f"docs/images/gallery_{name}.png"
            file.write_bytes(subprocess.run(["pngquant", "--quality", "40-90", "-"], check=True,
                                            capture_output=True, input=chromium.picture()).stdout)
            print(f"{file.name}: {file.stat().st_size} bytes")


if __name__ == "__main__":
    main()
