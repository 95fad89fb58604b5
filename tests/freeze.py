#!/usr/bin/env python3
"""Records everything that the program prints for the shipped configs, to compare two versions.

A change of structure must not change what users see.  `record` runs one binary over the shelf and
keeps, one file each: results as JSON, reports, evaluations of the results, data of pages, values in
rendered pages, CSV and pages of studies, launch arguments, messages of mutated configs, help, lists
and the schema.  `compare` prints which of them differ between two records, and where.  Searches
that the time limit ended in one of them are not compared; times, nodes and bytes of a search are left out,
but for `search.json`, which keeps its deterministic numbers.

usage: freeze.py record BINARY DIR [--only TEXT] [--jobs N] [--no-browser]
       freeze.py compare OLD NEW [--show N]
"""

import argparse
import collections
import concurrent.futures
import difflib
import json
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "cli"))
from support import printed_formats  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[1]
CONFIGS = ROOT / "configs"
WHOLE = ("", "figures", "published", "serving", "training", "transformers")
TIME_LIMIT = 10  # seconds of a search
MUTATIONS = 900
COMMANDS = ("solve", "evaluate", "check", "graph", "import", "export", "chip", "gemm", "mesh",
            "predict", "emit", "study", "list", "schema", "report", "completion")
# Keys and columns of a search whose values differ from run to run.
VOLATILE = re.compile(r"^(time|seconds|.*_incumbent|.*kept.*|memory_used|search_time|candidates|total)$")
PROGRESS = re.compile(r"^ +(?:\d[\d.]* (?:s|min)  |time +nodes ).*\n", re.M)


def run(program, words, folder, text=None):
    done = subprocess.run([program, *map(str, words)], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=300, check=False, cwd=folder,
                          input=text)
    plain = lambda out: out.replace(str(ROOT), "ROOT").replace(str(folder), ".")
    return done.returncode, plain(done.stdout), PROGRESS.sub("", plain(done.stderr))


def without_search(value, found):
    """The tree without its objects `search`, which are appended to `found`."""
    if isinstance(value, dict):
        found += [item for key, item in value.items() if key == "search"]
        return {key: without_search(item, found) for key, item in value.items() if key != "search"}
    if isinstance(value, list):
        return [without_search(item, found) for item in value]
    return value


def stable(value):
    """An object `search` with zero for all that differs from run to run."""
    if isinstance(value, dict):
        return {key: 0 if VOLATILE.search(key) else stable(item) for key, item in value.items()}
    return [stable(item) for item in value] if isinstance(value, list) else value


def with_stable_search(value):
    if isinstance(value, dict):
        return {key: stable(item) if key == "search" else with_stable_search(item)
                for key, item in value.items()}
    return [with_stable_search(item) for item in value] if isinstance(value, list) else value


def dump(value):
    return json.dumps(value, indent=1) + "\n"


def report_without_search(report):
    """The report without its paragraphs on the search and the size of the space."""
    kept, inside = [], False
    for line in report.splitlines():
        inside = bool(re.match("search |splits |space ", line)) or (inside and line.startswith("   "))
        if not inside:
            kept.append(line)
    return "\n".join(kept) + "\n"


def page_data(page):
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    return dump(without_search(json.loads(found[1]), [])) if found else ""


def page_values(page):
    """The values of a page as a browser shows it, in order."""
    done = subprocess.run(["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom",
                           "--virtual-time-budget=4000", f"file://{page}"], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True, timeout=120, check=False)
    return "\n".join(sorted(set(re.findall(r'data-value="([^"]*)"', done.stdout)))) + "\n"


class Record:
    def __init__(self, program, folder, browser):
        self.program, self.folder, self.browser = program, folder, browser
        self.formats = [name for name in printed_formats(program) if name != "chakra"]

    def keep(self, name, text):
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def keep_run(self, name, words, folder, **options):
        status, out, err = run(self.program, words, folder, **options)
        self.keep(name, f"{out}--- status {status}\n{err}")
        return status

    def answer(self, config):
        """All that one search of a config gives."""
        name = f"answers/{config.relative_to(CONFIGS).with_suffix('')}"
        with tempfile.TemporaryDirectory() as scratch:
            scratch = pathlib.Path(scratch)
            self.keep_run(f"{name}/check.txt", ["check", config], scratch)
            status, out, err = run(self.program, [
                config, "--deterministic", "--threads", 1, "--time-limit", f"{TIME_LIMIT} s",
                "--json", "result.json"], scratch)
            if not (scratch / "result.json").exists():
                self.keep(f"{name}/refused.txt", f"{out}--- status {status}\n{err}")
                return
            result = json.loads((scratch / "result.json").read_text())
            if '"stopped_by": "time"' in dump(result) or (result.get("beyond_scope") or {}).get(
                    "status") == "feasible":
                self.keep(f"{name}/stopped.txt", f"status {status}\n")
                return
            searches = []
            self.keep(f"{name}/result.json", dump(without_search(result, searches)))
            self.keep(f"{name}/search.json", dump(stable(searches)))
            self.keep(f"{name}/report.txt", report_without_search(out) + err)
            (scratch / "stable.json").write_text(dump(with_stable_search(result)))
            self.keep_run(f"{name}/page.txt", ["report", "stable.json", "-o", "page.html"], scratch)
            self.keep(f"{name}/page.json", page_data((scratch / "page.html").read_text()))
            if self.browser:
                self.keep(f"{name}/values.txt", page_values(scratch / "page.html"))
            status, out, err = run(self.program, ["evaluate", config, "--mapping", "result.json",
                                                  "--json", "again.json"], scratch)
            again = scratch / "again.json"
            self.keep(f"{name}/evaluate.txt", f"{report_without_search(out)}{status}\n{err}" + (
                dump(without_search(json.loads(again.read_text()), [])) if again.exists() else ""))
            for framework in self.formats:
                self.keep_run(f"{name}/emit_{framework}.txt",
                              ["emit", "result.json", "--for", framework], scratch)

    def study(self, config):
        with tempfile.TemporaryDirectory() as scratch:
            scratch = pathlib.Path(scratch)
            name = f"studies/{config.stem}"
            status, out, err = run(self.program, ["study", config, "-o", "study", "--deterministic",
                                                  "--threads", 1, "--time-limit", "20 s"], scratch)
            if status != 0:
                self.keep(f"{name}/stopped.txt", f"status {status}\n")
                return
            self.keep(f"{name}/report.txt", out)
            for file in sorted((scratch / "study").glob("*")):
                if file.suffix == ".html":
                    self.keep(f"{name}/page.json", page_data(file.read_text()))
                    if self.browser:
                        self.keep(f"{name}/values.txt", page_values(file))
                elif file.suffix == ".json":
                    self.keep(f"{name}/{file.name}",
                              dump(without_search(stable(json.loads(file.read_text())), [])))
                elif file.suffix == ".csv":
                    rows = [line.split(",") for line in file.read_text().splitlines()]
                    kept = [k for k, head in enumerate(rows[0]) if not VOLATILE.search(head)]
                    self.keep(f"{name}/{file.name}", "".join(
                        ",".join(row[k] for k in kept if k < len(row)) + "\n" for row in rows))

    def surface(self):
        with tempfile.TemporaryDirectory() as scratch:
            self.keep_run("surface/help.txt", ["--help"], scratch)
            for command in COMMANDS:
                self.keep_run(f"surface/help_{command}.txt", [command, "--help"], scratch)
            for words in (["list"], ["schema"], ["completion", "bash"], ["completion", "manual"],
                          ["mesh", "8x4", "--axis", "8", "--axis", "4"]):
                self.keep_run(f"surface/{'_'.join(words[:2])}.txt", words, scratch)
            for chip in sorted((CONFIGS / "chips").glob("*.yaml")):
                self.keep_run(f"chips/{chip.stem}.txt", ["chip", chip], scratch)
                self.keep_run(f"chips/{chip.stem}.json", ["chip", chip, "--json", "-"], scratch)
            for config in sorted(CONFIGS.glob("*.yaml")):
                for form in ("json", "dot"):
                    self.keep_run(f"graphs/{config.stem}.{form}",
                                  ["graph", config, "--format", form], scratch)
            for table in sorted((CONFIGS / "measured").glob("*.csv")):
                lines = table.read_text().splitlines()
                few = pathlib.Path(scratch) / table.name
                few.write_text("\n".join(lines[:1] + lines[1::10]) + "\n")
                self.keep_run(f"predict/{table.stem}.txt", ["predict", few], scratch)

    def wrong_inputs(self):
        """Messages of configs with one line changed, drawn always alike."""
        draw = random.Random(1)
        configs = [file for folder in WHOLE for file in sorted((CONFIGS / folder).glob("*.yaml"))]
        with tempfile.TemporaryDirectory() as scratch:
            for number in range(MUTATIONS):
                config = draw.choice(configs)
                lines = config.read_text().splitlines()
                places = [k for k, line in enumerate(lines) if re.match(r"\s*[\w-]+:", line)]
                at = draw.choice(places)
                key, _, value = lines[at].partition(":")
                lines[at] = draw.choice((
                    f"{key}x:{value}", f"{key}: -1", f"{key}: banana", f"{key}: 0",
                    f"{key}: [1, 2]", f"{key}: {{a: 1}}", f"{key}: 1e30", f"{key}: 3 parsec",
                    f"{key}:", lines[at] + "\n" + lines[at], f"{key}: 7 GB"))
                status, out, err = run(self.program, ["check", "broken.yaml"], scratch) if (
                    pathlib.Path(scratch, "broken.yaml").write_text("\n".join(lines) + "\n")
                ) else None
                self.keep(f"wrong/{number:03}.txt",
                          f"# {config.relative_to(ROOT)}:{at + 1}: {lines[at]}\n"
                          f"{out}--- status {status}\n{err}")


def record(options):
    folder = pathlib.Path(options.folder).resolve()
    shutil.rmtree(folder, ignore_errors=True)
    browser = not options.no_browser and shutil.which("chromium") is not None
    program = str(pathlib.Path(options.program).resolve())
    kept = Record(program, folder, browser)
    jobs = [(f"answers/{file.relative_to(CONFIGS)}", kept.answer, [file]) for part in WHOLE
            for file in sorted((CONFIGS / part).glob("*.yaml"))]
    jobs += [(f"studies/{file.stem}", kept.study, [file])
             for file in sorted((CONFIGS / "studies").glob("*.yaml"))]
    jobs += [("surface", kept.surface, []), ("wrong", kept.wrong_inputs, [])]
    jobs = [job for job in jobs if options.only in job[0]]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        ends = {pool.submit(job[1], *job[2]): job[0] for job in jobs}
        for count, end in enumerate(concurrent.futures.as_completed(ends), 1):
            end.result()
            print(f"\r{count} of {len(ends)}", end="", file=sys.stderr)
    print(file=sys.stderr)


def compare(options):
    old, new = pathlib.Path(options.old), pathlib.Path(options.new)
    names = sorted({file.relative_to(folder) for folder in (old, new)
                    for file in folder.rglob("*") if file.is_file()})
    equal, different = collections.Counter(), collections.defaultdict(list)
    stopped = {name.parent for name in names if name.name == "stopped.txt"}
    for name in names:
        if name.parent in stopped:
            continue
        texts = [(folder / name).read_text() if (folder / name).exists() else ""
                 for folder in (old, new)]
        kind = name.name if name.parts[0] in ("answers", "studies") else name.parts[0]
        if texts[0] == texts[1]:
            equal[kind] += 1
        else:
            different[kind].append((name, *texts))
    for kind in sorted(set(equal) | set(different)):
        print(f"{kind}: {equal[kind]} equal, {len(different[kind])} differ")
        for name, before, after in different[kind][:options.show]:
            lines = list(difflib.unified_diff(before.splitlines(), after.splitlines(), str(name),
                                              str(name), lineterm="", n=0))
            print("  " + "\n  ".join(line[:160] for line in lines[:14]))
    print(f"{len(stopped)} searches that the time limit ended are not compared")
    return 1 if different else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    recording = commands.add_parser("record")
    recording.add_argument("program")
    recording.add_argument("folder")
    recording.add_argument("--only", default="")
    recording.add_argument("--jobs", type=int, default=2)
    recording.add_argument("--no-browser", action="store_true")
    comparing = commands.add_parser("compare")
    comparing.add_argument("old")
    comparing.add_argument("new")
    comparing.add_argument("--show", type=int, default=2)
    options = parser.parse_args()
    return record(options) if options.command == "record" else compare(options)


if __name__ == "__main__":
    sys.exit(main())
