#!/usr/bin/env python3
"""Pages of runs and studies: what a browser shows is what the results say.

The pages are opened in a headless Chromium.  Marks are asked of the charts themselves, numbers
beside them of the tables, and both are held against the JSON of the same run.

usage: page_test.py DFSEARCH [TEST ...]
"""

import base64
import csv
import html
import json
import math
import os
import pathlib
import re
import shutil
import struct
import sys
import unittest
import urllib.parse

import support
from support import SMALL, TRAINING, CliTest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import browser  # noqa: E402
import page_checks  # noqa: E402
import study_folder  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
HOSTILE = "<script>alert(1)</script>"
COMMENT = "<!--<img src=x onerror=alert(2)>"
KINDS = ("compute", "memory", "network")

# Each chart by its name: type, name and data of its series, and the number of marks drawn.
CHARTS = """Object.fromEntries([...document.querySelectorAll('.chart')].map((place) =>
  [place.dataset.chart, {
    series: echarts.getInstanceByDom(place).getOption().series.map((each) =>
      ({type: each.type, name: each.name,
        data: [...each.data].map((item) => item && item.value !== undefined ? item.value : item)
          .flatMap((item, i, all) => // numbers in a row, as many as there are dimensions
            !ArrayBuffer.isView(each.data) ? [item] : i % each.dimensions.length ? []
              : [all.slice(i, i + each.dimensions.length)])})),
    drawn: place.querySelectorAll('svg path').length}]))"""
TABLES = """Object.fromEntries([...document.querySelectorAll('table[data-of]')].map((table) =>
  [table.dataset.of, [...table.tBodies[0].rows].map((row) => [...row.cells].map((cell) =>
    cell.dataset.value === undefined ? cell.textContent
      : cell.dataset.value === 'null' ? null : Number(cell.dataset.value)))]))"""
TEXT = "document.getElementById('page').innerText"


class PageTest(CliTest):
    """Opens pages in one browser for all tests."""

    browser = None

    @classmethod
    def setUpClass(cls):
        if browser.find() is None:
            if os.environ.get("CI"):
                raise AssertionError("chromium is not installed, and the integration needs it")
            print("skipped: chromium is not installed", flush=True)  # which CTest looks for
            raise unittest.SkipTest("chromium is not installed")
        if PageTest.browser is None:
            PageTest.browser = browser.Browser()
            unittest.addModuleCleanup(PageTest.browser.__exit__)

    def page(self, name, **options):
        """Opens it; no script may fail, nothing may be kept from it, nothing may overflow, and all
        must be read well."""
        self.browser.open(self.folder / name, **options)
        self.assertEqual(self.browser.complaints(), [])
        self.assertEqual(self.ask(page_checks.FAULTS), [])
        width = self.browser.run("document.documentElement.scrollWidth")
        self.assertLessEqual(width, options.get("width", 1200))

    def ask(self, script):
        return self.browser.run(script)

    def choose(self, label, value, which=0):
        """In the list of choices with that label."""
        self.ask(f"""(() => {{
          const list = document.querySelectorAll('select[aria-label="{label}"]')[{which}];
          list.value = '{value}'; list.dispatchEvent(new Event('change')); }})()""")

    def series(self, chart, name):
        found = [each for each in self.ask(CHARTS)[chart]["series"] if each["name"] == name]
        self.assertTrue(found, name)
        return found[-1]["data"]

    def solved(self, config, *words, status=0):
        """The result of a run, whose page is page.html."""
        self.run_tool(config, *words, "--json", "r.json", "--html", "page.html", status=status)
        size = (self.folder / "page.html").stat().st_size
        self.assertLess(size, 2_000_000)
        return self.read_json("r.json")


class Mapping(PageTest):
    def check_partitions(self, result):
        partitions = result["partitions"]
        charts, tables = self.ask(CHARTS), self.ask(TABLES)
        for kind in KINDS:
            self.assertEqual(self.series("partitions", kind), [p[kind] for p in partitions])
        self.assertGreaterEqual(charts["partitions"]["drawn"], 2 * len(partitions))
        self.assertEqual(
            [row[:7] for row in tables["partitions"]],
            [[p["index"], *(p[kind] for kind in KINDS), p["time"], p["bound_by"], p["sram"]]
             for p in partitions])
        for row, partition in zip(tables["partitions"], partitions):
            for kernel in partition["kernels"]:
                self.assertIn(kernel, row[7])
        sram = result["machine"]["sram"]
        self.assertEqual(self.series("SRAM", "SRAM"), [p["sram"] / sram for p in partitions])

    def check_rooflines(self, result):
        for kind in ("memory", "network"):
            points = self.series(f"{kind} roofline", kind)
            self.assertEqual(len(points), len(result["partitions"]))
            roof = self.series(f"{kind} roofline", "roof")
            for (x, y), partition in zip(points, result["partitions"]):
                self.assertEqual(y, partition["flop"] / partition["time"])
                self.assertLessEqual(y, result["machine"]["peak"] * (1 + 1e-12))
                moved = partition[kind + "_bytes"]
                self.assertEqual(x, partition["flop"] / moved if moved > 0 else roof[-1][0])

    def test_the_page_of_a_run_says_what_its_json_says(self):
        self.write("c.yaml", TRAINING)
        result = self.solved("c.yaml", "--set", "execution.partitions=9")
        self.page("page.html")
        self.check_partitions(result)
        self.check_rooflines(result)
        self.assertEqual(self.ask("+document.getElementById('step-time').dataset.value"),
                         result["step_time"])
        self.assertEqual(self.ask("document.getElementById('verdict').textContent"),
                         "optimal, proved: gap 0")
        for name, share in result["time_shares"].items():
            if share > 0:
                self.assertEqual(self.series("time shares", name), [share * result["step_time"]])
        memory = {row[0]: row[1] for row in self.ask(TABLES)["memory of a chip"]}
        expected = {name: result["memory"][name] for name in ("weights", "activations")}
        self.assertEqual(memory, expected)
        bound = self.series("incumbent and bound", "lower bound")[-1]
        found = self.series("incumbent and bound", "incumbent")
        self.assertEqual(bound[1], result["lower_bound"])
        self.assertEqual(found[-1], [result["search"]["time"], result["objective"]])
        self.assertEqual([y for _, y in found], sorted((y for _, y in found), reverse=True))
        self.assertEqual(self.ask("document.getElementById('command').textContent"),
                         "dfsearch c.yaml --set execution.partitions=9 --json r.json")
        self.assertEqual(self.ask("document.getElementById('config').textContent"), TRAINING)
        for use in result["network"]:
            self.assertIn(f"{use['strategy']} {use['degree']}",
                          self.ask("document.getElementById('network').innerText"))
        if shutil.which("dot"):
            self.assertTrue(self.ask(
                "document.getElementById('graph').decode().then(() => "
                "document.getElementById('graph').naturalWidth > 100)"))

    def test_names_stay_text(self):
        config = SMALL.replace("Up", f'"{HOSTILE}"').replace("Act", f'"{COMMENT}"')
        name = "<b>c & d.yaml"
        self.write(name, config)
        self.solved(name)
        source = (self.folder / "page.html").read_text()
        self.assertNotIn(HOSTILE, source)
        self.assertNotIn(COMMENT, source)
        self.page("page.html")
        self.assertEqual(self.ask("document.querySelector('h1').textContent"), name)
        self.assertIn(HOSTILE, self.ask(TEXT))
        self.assertIn(COMMENT, self.ask(TEXT))
        self.assertEqual(self.ask("document.getElementById('config').textContent"), config)
        self.assertEqual(self.ask("document.querySelectorAll('body script').length"), 4)
        self.assertEqual(self.ask("document.querySelectorAll('#page script, #page b').length"), 0)
        # The tooltip of the partition with the script in its name.
        place = self.ask("""(() => {
          const place = document.querySelector('[data-chart="partitions"]');
          echarts.getInstanceByDom(place).dispatchAction(
            {type: 'showTip', seriesIndex: 0, dataIndex: 0});
          return place.parentNode.innerText + document.querySelectorAll('#page script').length;
        })()""")
        self.assertIn(HOSTILE, place)
        self.assertTrue(place.endswith("0"))

    def test_infeasible_results_say_why(self):
        self.write("c.yaml", SMALL)
        result = self.solved("c.yaml", "--set", "system.memory.capacity=1 kB", status=3)
        self.page("page.html")
        self.assertIn("infeasible, proved",
                      self.ask("document.getElementById('verdict').textContent"))
        self.assertEqual(self.ask("document.getElementById('reason').textContent"),
                         result["infeasible"]["text"])
        self.assertIn("1 kB", result["infeasible"]["text"])
        self.assertIn("would be enough", self.ask(TEXT))

    def test_a_page_that_is_made_later_shows_the_same_and_says_what_it_lacks(self):
        self.write("c.yaml", SMALL)
        self.run_tool("c.yaml", "--json", "r.json")
        self.run_tool("report", "r.json", "-o", "page.html")
        self.page("page.html")
        self.check_partitions(self.read_json("r.json"))
        text = self.ask(TEXT)
        self.assertIn("is not part of the results", text)
        self.assertIn("of the results alone", text)
        self.run_tool("evaluate", "c.yaml", "--mapping", "r.json", "--html", "page.html")
        self.page("page.html")
        self.assertIn("the mapping fits", self.ask(TEXT))
        path = {"env": {**os.environ, "PATH": str(self.folder)}}
        self.run_tool("report", "r.json", "-o", "page.html", **path)
        self.page("page.html")
        self.assertIn("Graphviz (dot) was not found", self.ask(TEXT))

    def test_a_result_that_was_changed_by_hand_is_told(self):
        self.write("c.yaml", SMALL)
        self.run_tool("c.yaml", "--json", "r.json")
        result = self.read_json("r.json")
        result["partitions"] = [{}]
        self.write("r.json", json.dumps(result))
        self.assertIn("do not fit each other",
                      self.run_tool("report", "r.json", "-o", "p.html", status=2).stderr)
        del result["graph"]
        self.write("r.json", json.dumps(result))
        self.run_tool("report", "r.json", "-o", "page.html")
        self.browser.open(self.folder / "page.html")
        self.assertIn("cannot show all of its data",
                      self.ask("document.querySelector('[role=alert]').textContent"))

    def test_both_themes_a_phone_and_paper(self):
        self.write("c.yaml", TRAINING)
        self.solved("c.yaml")
        ground = "getComputedStyle(document.body).backgroundColor"
        self.page("page.html")
        light = self.ask(ground)
        self.page("page.html", width=400, phone=True, dark=True)
        dark = self.ask(ground)
        self.assertNotEqual(light, dark)
        self.assertLessEqual(self.ask(
            "Math.max(...[...document.querySelectorAll('.chart')]"
            ".map((place) => place.getBoundingClientRect().right))"), 400)
        self.ask("document.querySelector('.buttons button').click()")
        self.assertEqual(self.ask(ground), light)
        self.assertTrue(self.browser.pdf().startswith(b"%PDF"))
        self.assertEqual(self.browser.complaints(), [])


class OtherModels(PageTest):
    def check_time(self, result):
        table = {row[0]: row[1] for row in self.ask(TABLES)["time of the step"]}
        expected = {name.replace("_", " "): t for name, t in result["time"].items() if t > 0}
        self.assertEqual(table, expected)
        for name, time in expected.items():
            self.assertEqual(self.series("time of the step", name), [time])

    def test_plans(self):
        config = ROOT / "configs/training/megatron_22b_selective.yaml"
        result = self.solved(config, "--set", "parallelism=null", "--top", "2")
        self.page("page.html")
        self.check_time(result)
        memory = {row[0]: row[1] for row in self.ask(TABLES)["memory of a chip"]}
        parts = {name: result["memory"][name] for name in
                 ("weights", "gradients", "optimizer", "activations", "working", "ends")}
        self.assertEqual(memory, {name: value for name, value in parts.items() if value > 0})
        self.assertIn(result["plan"]["recompute"], self.ask(TEXT))
        times = ("[...document.querySelectorAll('#top tbody tr')]"
                 ".map((row) => +row.cells[2].dataset.value)")
        self.assertEqual(self.ask(times), [each["step_time"] for each in result["top"]])
        self.assertEqual(len(result["top"]), 2)
        infeasible = self.solved(config, "--set", "system.memory.capacity=1 GB", status=3)
        self.page("page.html")
        self.assertIn("memory", self.ask("document.getElementById('reason').textContent"))
        for remedy in infeasible["infeasible"]["remedies"]:
            self.assertIn(remedy["key"].replace("_", " "), self.ask(TEXT))

    def test_executions(self):
        result = self.solved(ROOT / "configs/calculon_1t.yaml")
        self.page("page.html")
        self.check_time(result)
        memory = {row[0].replace(" ", "_"): row[1] for row in self.ask(TABLES)["memory of a chip"]}
        parts = result["memory_parts"]["first"]
        self.assertEqual(memory, {name: value for name, value in parts.items() if value > 0})


class FactsOfReports(PageTest):
    CONFIGS = ("gpt3_1t", "v100_prefill", "calculon_22b_h100", "training/megatron_22b_selective",
               "serving/llama3_70b_16_h100", "serving/llama3_70b_front", "serving/too_fast",
               "serving/fleet", "training/llama3_70b_64_h100")

    def test_the_page_of_any_kind_has_every_labelled_line_of_the_report(self):
        for name in self.CONFIGS:
            with self.subTest(name):
                config = ROOT / "configs" / f"{name}.yaml"
                done = self.run_tool(config, "--html", "page.html", "--json", "result.json",
                                     "--time-limit", "20 s",
                                     status=3 if name.endswith("too_fast") else 0)
                result = self.read_json("result.json")
                shown = self.shown_lines()
                of_label = {"rates": [], "caution": []}
                for label, value in shown:
                    of_label.get(label, []).append(value)
                self.assertEqual(of_label["caution"], result["cautions"])
                self.assertEqual(of_label["rates"] or [None], [result["rates"]])
                self.assertGreater(len(shown), 5)
                report = " ".join(done.stdout.split())
                for label, value in shown:
                    self.assertIn(" ".join(f"{label} {value}".split()), report)
                labels = {label for label, _ in shown}
                for line in done.stdout.splitlines()[1:]:  # a value begins in column 14
                    if re.fullmatch(r"([A-Za-z][A-Za-z -]*|#\d+ *|10 % more *) \S", line[:15]):
                        self.assertIn(line[:14].strip(), labels, line)

    def shown_lines(self):
        self.page("page.html")
        return self.ask("""[...document.querySelectorAll('.lines dt')].map((label) =>
            [label.textContent, label.nextElementSibling.textContent])""")


class Study(PageTest):
    def setUp(self):
        super().setUp()
        self.results, self.front = study_folder.write(self.folder / "study", name=HOSTILE)
        self.run_tool("report", "study", "-o", "page.html")
        self.assertNotIn(HOSTILE, (self.folder / "page.html").read_text())

    def best(self, **where):
        """The least step time at each place of sram and bandwidth, beside what is chosen."""
        best = {}
        for result in self.results:
            point = result["point"]
            if result["step_time"] is None or any(point[a] != v for a, v in where.items()):
                continue
            key = (point["sram"], point["bandwidth"])
            best[key] = min(best.get(key, result["step_time"]), result["step_time"])
        return best

    def heat(self):
        labels = self.read_json("study/study.json")["axes"]
        return {(labels[0]["labels"][x], labels[1]["labels"][y]): value
                for x, y, value, *_ in self.series("heat map", "step time")}

    def test_charts_have_all_points_and_the_front(self):
        self.page("page.html")
        self.assertEqual(self.ask("document.querySelector('h1').textContent"), HOSTILE)
        self.assertEqual(self.heat(), self.best())
        self.choose("link", 1)
        self.assertEqual(self.heat(), self.best(link="pcie"))
        missing = [r for r in self.results
                   if r["step_time"] is None and r["point"]["link"] == "pcie"]
        self.assertEqual(len(self.series("heat map", "without a value")), len(missing))
        by_index = {r["index"]: (r["step_time"], r["price"]) for r in self.results}
        expected = sorted(by_index[i] for i in self.front)
        self.assertEqual(sorted((x, y) for x, y, _ in self.series("scatter", "front")), expected)
        others = [by_index[r["index"]] for r in self.results
                  if r["step_time"] is not None and r["index"] not in self.front]
        drawn = sorted((x, y) for x, y, _ in self.series("scatter", "others"))
        self.assertEqual(drawn, sorted(others))

    def shown(self):
        return self.ask("document.getElementById('detail').hidden ? null "
                        ": +document.getElementById('detail').dataset.index")

    def test_the_table_sorts_and_filters_and_leads_to_points(self):
        self.page("page.html")
        rows = "[...document.querySelectorAll('#table tbody tr')].map((row) => +row.dataset.index)"
        self.ask("document.querySelectorAll('#table th button')[1].click()")
        times = sorted((r["step_time"], r["index"]) for r in self.results
                       if r["step_time"] is not None)
        self.assertEqual(self.ask(rows), [index for _, index in times[:25]])
        self.ask("""(() => { const field = document.getElementById('filter');
          field.value = 'front nvlink'; field.dispatchEvent(new Event('input')); })()""")
        wanted = [i for _, i in times
                  if i in self.front and self.results[i]["point"]["link"] == "nvlink"]
        self.assertEqual(self.ask(rows), wanted)
        self.assertIsNone(self.shown())
        self.ask("document.querySelector('#table tbody tr').click()")
        self.assertEqual(self.shown(), wanted[0])
        self.assertEqual(self.ask("location.hash"), f"#point={wanted[0]}")

    def test_rates_that_differ_in_kind_are_told(self):
        self.page("page.html")
        self.assertFalse(self.ask("!!document.getElementById('rates')"))
        rows = self.folder / "study" / "results.ndjson"
        kinds = [{"rates": kind} if kind else {} for kind in ("ideal", "measured", None)]
        lines = [json.loads(line) | kinds[i % 3]
                 for i, line in enumerate(rows.read_text().splitlines())]
        rows.write_text("".join(json.dumps(line) + "\n" for line in lines))
        self.run_tool("report", "study", "-o", "page.html")
        self.page("page.html")
        ideal, measured = (sum(line.get("rates") == kind for line in lines)
                           for kind in ("ideal", "measured"))
        self.assertRegex(self.ask("document.getElementById('rates').textContent"),
                         rf"ideal \(the peaks of the chip\) in {ideal} points; measured in "
                         rf"{measured} points")
        words = ("[...document.querySelectorAll('#table tbody tr')]"
                 ".map((row) => row.lastChild.textContent)")
        shown = {line["index"]: line.get("rates", "–") for line in lines}
        self.assertEqual(self.ask(words), [shown[i] for i in sorted(shown)[:25]])

    def test_a_click_on_a_mark_leads_to_its_point(self):
        infeasible = next(r for r in self.results if r["status"] == "infeasible")
        self.page("page.html", fragment=f"#point={infeasible['index']}")
        self.assertEqual(self.shown(), infeasible["index"])
        self.assertIn(infeasible["reason"], self.ask("document.getElementById('detail').innerText"))
        self.ask("document.querySelector('#detail button').click()")
        x, y = self.ask("""(() => {
          const place = document.querySelector('[data-chart="scatter"]');
          place.scrollIntoView({block: 'center'});
          const chart = echarts.getInstanceByDom(place);
          const series = chart.getOption().series;
          const [x, y] = series.at(-1).data[0];
          const at = chart.convertToPixel({seriesIndex: series.length - 1}, [x, y]);
          const box = place.getBoundingClientRect();
          return [box.left + at[0], box.top + at[1]];
        })()""")
        self.browser.click(x, y)
        self.assertIn(self.shown(), self.front)
        self.assertEqual(self.browser.complaints(), [])

    def test_it_fits_a_phone_in_the_dark(self):
        self.page("page.html", width=400, phone=True, dark=True)


class Report(CliTest):
    def test_a_page_that_cannot_be_written_is_told_and_the_rest_is_there(self):
        self.write("c.yaml", SMALL)
        done = self.run_tool("c.yaml", "--html", "missing/page.html", status=2)
        self.assertIn("missing/page.html: cannot be written", done.stderr)
        self.assertEqual(done.stdout, "")
        done = self.run_tool("c.yaml", "--json", "r.json", "--html", "/dev/full", status=2)
        self.assertIn("/dev/full: cannot be written", done.stderr)
        self.assertIn("optimal, proved", done.stdout)
        self.assertEqual(self.read_json("r.json")["status"], "optimal")
        done = self.run_tool("c.yaml", "--json", "a", "--html", "a", status=2)
        self.assertIn("--json and --html: both go to", done.stderr)

    def test_what_is_no_study_is_refused(self):
        folder = self.folder / "study"
        study_folder.write(folder)
        (folder / "results.ndjson").write_text('{"index": 0}\n')
        self.assertIn("are no study", self.run_tool("report", "study", status=2).stderr)
        (folder / "results.ndjson").write_text("{}\n[]\n")
        self.assertIn("results.ndjson:2", self.run_tool("report", "study", status=2).stderr)
        (folder / "study.json").unlink()
        self.assertIn("study.json: cannot read", self.run_tool("report", "study", status=2).stderr)

    def test_a_folder_of_results_has_a_page(self):
        folder = self.folder / "results"
        (folder / "deep").mkdir(parents=True)
        (folder / "none.json").write_text("{}")
        error = self.run_tool("report", "results", status=2).stderr
        self.assertIn("results: has no results, expected a folder with files that --json or --html "
                      "wrote, or that of a study", error)
        self.write("small.yaml", SMALL)
        self.run_tool("small.yaml", "--quiet", "--json", "results/r.json", "--html",
                      "results/r.html")
        result = (folder / "r.json").read_text()
        hostile = "a <b> & \"c\" %41.json"
        for name in (hostile, ".hidden.json"):
            (folder / name).write_text(result)
        (folder / "page.html").write_text("<html>")
        (folder / "cut.json").write_text(result[:50])
        study_folder.write(folder / "deep" / "study")
        os.mkfifo(folder / "pipe.json")
        os.symlink("loop.json", folder / "loop.json")

        def links(text):
            return dict(re.findall(r'<a href="([^"]*)">([^<]*)</a>', text))

        self.run_tool("report", "results", "-o", "results/index.html")
        page = (folder / "index.html").read_text()
        found = links(page)
        quoted = urllib.parse.quote(hostile)
        self.assertEqual(set(found), {"r.html", "r.json", quoted, "page.html",
                                      "deep/study/study.json"})
        self.assertEqual(html.unescape(found[quoted]), hostile)
        status = json.loads(result)["status"]
        self.assertIn(f"<td>result, {status}, step ", page)
        self.assertIn("<td>study, ", page)
        for link in found:
            self.assertTrue((folder / urllib.parse.unquote(link)).is_file(), link)
        # The page does not list itself, and is the same again.
        self.run_tool("report", "results", "-o", "results/index.html")
        self.assertEqual((folder / "index.html").read_text(), page)
        self.assertEqual(set(links(self.run_tool("report", "results").stdout)) - {"index.html"},
                         set(found))
        self.run_tool("report", "results/", "-o", "above.html")
        self.assertEqual(set(links((self.folder / "above.html").read_text())) -
                         {"results/index.html"}, {f"results/{link}" for link in found})

    def test_a_large_study_is_thinned_but_for_its_front(self):
        results, front = study_folder.write(
            self.folder / "study", sram=range(20, 220), bandwidth=range(50, 450, 10),
            links=("a", "b", "c"))
        self.assertEqual(len(results), 24_000)
        page = self.run_tool("report", "study").stdout
        block = page.split('id="data">', 1)[1].split("</script>", 1)[0]
        data = json.loads(block)
        self.assertEqual(data["total"], 24_000)
        kept = data["columns"]["index"]
        self.assertLessEqual(len(kept), 20_000)
        self.assertGreater(len(kept), 19_900)
        self.assertLessEqual(set(front), set(kept))
        half = sum(index < 12_000 for index in kept)
        self.assertAlmostEqual(half / len(kept), 0.5, delta=0.02)
        by_index = {r["index"]: r for r in results}
        times = struct.unpack(f"<{len(kept)}f",
                              base64.b64decode(data["columns"]["figures"]["step_time"]))
        for i, time in zip(kept, times):
            expected = by_index[i]["step_time"]
            if expected is None:
                self.assertTrue(math.isnan(time))
            else:
                self.assertAlmostEqual(time / expected, 1, delta=1e-7)


def luminance(colour):
    parts = [int(colour[i:i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one, other):
    """WCAG 2.1, from 1 to 21; text is read well from 4.5 on."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


class Colours(support.CliTest):
    SERIES = ("compute", "memory", "network", "bubble", "transfer", "sixth", "seventh", "eighth",
              "ninth", "tenth", "eleventh")

    def test_text_is_read_well_in_both_themes(self):
        css = (ROOT / "src/io/html/page/page.css").read_text()
        for theme in css.split("color-scheme: ")[1:3]:
            block = dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6});", theme.split("}")[0]))
            with self.subTest(theme[:5]):
                pairs = [(name, "card") for name in (*self.SERIES, "ink", "soft", "link")]
                pairs += [(name, name + "-paper") for name in ("good", "warn", "bad")]
                for text, paper in pairs:
                    self.assertGreaterEqual(contrast(block[text], block[paper]), 4.5, text)


class Checks(PageTest):
    def test_they_find_what_the_keyboard_does_not_reach(self):
        self.write("bad.html", """<!doctype html><html lang="en"><body>
          <div id="mouse" tabindex="0">mouse alone</div><button></button>
          <a href="#" tabindex="-1">skipped</a><p id="text">hidden from keys</p>
          <input aria-label="good"><button title="good"></button><a href="#">good</a>
          <p style="color: #999">pale</p>
          <script>for (const id of ["mouse", "text"])
            document.getElementById(id).addEventListener("click", () => 0);</script></body>""")
        self.browser.open(self.folder / "bad.html")
        self.assertEqual(sorted(self.ask(page_checks.FAULTS)), sorted([
            'DIV "mouse alone" takes no key', 'BUTTON "" has no name',
            'A "skipped" is out of reach of the Tab key',
            'P "hidden from keys" is out of reach of the Tab key',
            'P "hidden from keys" takes no key', 'P "pale" has a contrast of 2.85']))


class Runs(PageTest):
    def test_the_page_of_a_table_of_runs_says_what_its_rows_say(self):
        for name in ("training", "nanotron"):
            with self.subTest(name):
                table = ROOT / "configs" / "measured" / f"{name}.csv"
                report = self.run_tool("predict", table, "-o", "o.csv", "--html", "page.html",
                                       "--by", "model", "--by", "gpus", "--worst", "20").stdout
                with open(self.folder / "o.csv", newline="") as file:
                    rows = {row["id"]: row for row in csv.DictReader(file)
                            if row["error"] and not row["note"]}
                self.page("page.html")
                shown = self.ask(TABLES)
                self.assertEqual({row[0] for row in shown["runs"]}, set(rows))
                for run, _, model, chip, chips, *times in shown["runs"]:
                    row = rows[run]
                    self.assertEqual([model, chip, str(chips)],
                                     [row["model"] or "–", row["gpu"], row["gpus"]])
                    for time, key in zip(times, ("step_s", "predicted_s", "low_s", "high_s")):
                        self.assertAlmostEqual(time / float(row[key]), 1, places=4)
                series = self.ask(CHARTS)["runs"]["series"]
                points = [point for each in series if each["type"] == "scatter"
                          for point in each["data"]]
                self.assertEqual(sorted(p[:2] for p in points),
                                 sorted(row[5:7] for row in shown["runs"]))
                self.assertEqual(shown["errors"][0][1], len(rows))
                mean = sum(abs(float(row["error"])) for row in rows.values()) / len(rows)
                self.assertAlmostEqual(shown["errors"][0][2], mean, places=4)
                self.assertEqual(len(shown["farthest off"]), 20)
                joined = " ".join(report.split())
                for row in shown["farthest off"]:
                    self.assertIn(row[0] + ": " + row[8].split()[0], joined)
                self.assertIn("memory", shown)
                self.page("page.html", width=400, dark=True)

    def test_names_of_runs_stay_text(self):
        header, row = (ROOT / "configs" / "measured" / "nanotron.csv").read_text().split("\n")[:2]
        self.write("r.csv", header + "\n" + row.replace("1.34G", f'"{HOSTILE}"') + "\n")
        self.run_tool("predict", "r.csv", "--html", "page.html")
        self.assertNotIn(HOSTILE, (self.folder / "page.html").read_text())
        self.page("page.html")
        self.assertIn(HOSTILE, self.ask(TEXT))


if __name__ == "__main__":
    support.main()
