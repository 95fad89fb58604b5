#!/usr/bin/env python3
"""How pages are used: axes and columns that follow the study, files of charts, keys, speed.

usage: page_use_test.py DFSEARCH [TEST ...]
"""

import csv
import json
import struct
import textwrap
import time

import support
from page_test import PageTest, ROOT, TABLES, TEXT
from serving_page_test import SERVING
from support import SMALL, TRAINING

import study_folder

FIGURES = {"step_time": "less", "utilization": "more", "price": "less", "power": "less"}
CHOICES = """[...document.querySelectorAll('select[aria-label="{}"]')].map((list) => list.value)"""
HEADS = "[...document.querySelectorAll('#table th')].map((head) => head.textContent)"
NAMES = "[...document.querySelectorAll('.chart')].map((place) => place.dataset.chart)"


class OfAStudy(PageTest):
    def study(self, change=lambda result: None, **shape):
        """Its results, after `change` to each of them; the page is page.html."""
        results, front = study_folder.write(self.folder / "study", **shape)
        for result in results:
            change(result)
        (self.folder / "study/results.ndjson").write_text(
            "".join(json.dumps(result) + "\n" for result in results))
        self.run_tool("report", "study", "-o", "page.html")
        return results, front

    def test_ticks_tell_near_values_apart(self):
        def near(result):
            if result["step_time"]:
                result["step_time"] = 17.93 + 1e-5 * result["index"]

        results, _ = self.study(near)
        self.page("page.html")  # where all axes are checked
        shown = self.ask("""echarts.getInstanceByDom(document.querySelector('[data-chart=scatter]'))
            .getModel().getComponent('xAxis').axis.getViewLabels()
            .map((label) => parseFloat(label.formattedLabel))""")
        least, most = (end(r["step_time"] for r in results if r["step_time"]) for end in (min, max))
        self.assertLess(max(shown) - min(shown), 3 * (most - least))

    def test_what_has_no_price_has_no_columns_of_nothing(self):
        self.study(lambda result: result.update(price=0, cost_efficiency=None))
        self.page("page.html")
        heads = self.ask(HEADS)
        self.assertNotIn("cost efficiency", heads)
        self.assertNotIn("lower bound", heads)  # which is the step time everywhere
        self.assertIn("power", heads)
        self.assertIn("price", heads)  # an objective
        study = self.read_json("study/study.json")
        front = self.read_json("study/front.json")
        for each, name in ((study, "study"), (front, "front")):
            each.update(objective=["step_time"], limits={})
            (self.folder / f"study/{name}.json").write_text(json.dumps(each))
        self.run_tool("report", "study", "-o", "page.html")
        self.page("page.html")
        self.assertNotIn("price", self.ask(HEADS))
        self.assertNotIn(" $", self.ask(TEXT).replace("$ ", ""))

    def test_the_front_is_that_of_the_axes_shown(self):
        results, front = self.study()
        self.page("page.html")
        shown = [point[2] for point in self.series("scatter", "front")]
        self.assertEqual(sorted(shown), sorted(front))
        allowed = [r for r in results if r["step_time"] and r["price"] <= 4e7]
        for x, y in (("price", "utilization"), ("utilization", "power"), ("step_time", "power")):
            with self.subTest((x, y)):
                self.choose("across", x, which=1)
                self.choose("upwards", y, which=1)
                signs = [1 if FIGURES[figure] == "less" else -1 for figure in (x, y)]
                at = {r["index"]: (signs[0] * r[x], signs[1] * r[y]) for r in allowed}
                expected = sorted(i for i, (a, b) in at.items()
                                  if not any(c <= a and d <= b and (c, d) != (a, b)
                                             for c, d in at.values()))
                self.assertGreater(len(expected), 0)
                self.assertEqual(
                    sorted(point[2] for point in self.series("scatter", "front")), expected)

    def test_twenty_thousand_points_are_small_and_answer_at_once(self):
        self.study(sram=range(20, 420, 10), bandwidth=range(50, 550, 20),
                   links=[f"link {i}" for i in range(20)])
        self.assertLess((self.folder / "page.html").stat().st_size, 3_000_000)
        self.browser.open(self.folder / "page.html")
        self.assertEqual(self.browser.complaints(), [])
        draw = "new Promise((done) => requestAnimationFrame(() => setTimeout(done)))"
        filter_by = ("(() => { const field = document.getElementById('filter'); field.value = '%s';"
                     "field.dispatchEvent(new Event('input')); })()")
        for name, act in (
            ("axis", lambda i: self.choose("across", ("power", "utilization")[i % 2], which=1)),
            ("colour", lambda i: self.choose("colour", "")),
            ("heat map", lambda i: self.choose("figure", ("price", "power")[i % 2])),
            ("its axes", lambda i: self.choose("upwards", 1 + i % 2)),
            ("sort", lambda i: self.ask("document.querySelectorAll('#table th button')[1]"
                                        ".click()")),
            ("filter", lambda i: self.ask(filter_by % ("front", "link 1")[i % 2])),
            ("point", lambda i: self.ask("document.querySelector('#table tbody tr').click()")),
        ):
            times = []
            for i in range(6):
                before = self.browser.thread_time()
                act(i)
                self.ask(draw)
                times.append(self.browser.thread_time() - before)
            with self.subTest(name):
                self.assertLess(min(times), 0.1)
        self.assertEqual(self.browser.complaints(), [])


class OfAStudyWithCharts(PageTest):
    def test_charts_have_the_figures_of_the_points(self):
        self.write("base.yaml", SMALL)
        self.write("study.yaml", """
study: {name: s, objective: step_time, solve: all}
base: {from: base.yaml}
axes:
  - {name: sram, key: system.accelerator.sram, values: [512 KiB, 1 MiB, 2 MiB]}
  - {name: lanes, key: system.accelerator.lanes, values: [4, 16, 64]}
  - {name: link, key: system.network.0.bandwidth, values: [5 GB/s, 25 GB/s]}
charts:
  - {name: rates, kind: lines, x: lanes, y: flop_per_second, series: [sram, link], log: true}
  - {name: steps, kind: bars, x: sram, y: step_time, series: lanes, only: {link: 25 GB/s}}
  - {name: parts, kind: bars, x: [link, lanes], y: [time.compute, time.memory, time.network]}
  - {name: heat, kind: heat, x: link, y: utilization, series: [lanes, sram], only: {lanes: [64, 4]}}
""")
        self.run_tool("study", "study.yaml", "-o", "out")
        rows = self.read_rows("out/results.ndjson")
        self.assertEqual(len(rows), 18)

        def of(**labels):
            found = [r for r in rows if all(r["point"][k] == v for k, v in labels.items())]
            return min(found, key=lambda row: row["step_time"])

        def place(**labels):
            return rows.index(of(**labels))

        lanes = ("4", "16", "64")
        for options in ({"width": 1000}, {"width": 400, "phone": True}):
            self.page("out/study.html", **options)
            for sram in ("512 KiB", "1 MiB", "2 MiB"):
                for link in ("5 GB/s", "25 GB/s"):
                    marks = self.series("rates", f"{sram}, {link}")
                    self.assertEqual([(x, point) for x, _, point in marks],
                                     [(int(n), place(sram=sram, link=link, lanes=n))
                                      for n in lanes])
                    for (_, value, _), n in zip(marks, lanes):
                        row = of(sram=sram, link=link, lanes=n)
                        self.assertAlmostEqual(value / (row["flop"] / row["step_time"]), 1, 12)
            table = self.ask(TABLES)["steps"]
            for row, sram in zip(table, ("512 KiB", "1 MiB", "2 MiB")):
                steps = [of(sram=sram, link="25 GB/s", lanes=n)["step_time"] for n in lanes]
                self.assertEqual(row, [sram, *steps])
            table = self.ask(TABLES)["parts"]
            self.assertEqual([row[0] for row in table],
                             [f"{link}, {n}" for link in ("5 GB/s", "25 GB/s") for n in lanes])
            for name, *parts in table:
                link, n = name.split(", ")
                least = of(link=link, lanes=n)
                expected = [least["time_shares"][part] * least["step_time"]
                            for part in ("compute", "memory", "network")]
                self.assertEqual([part or 0 for part in parts], expected)
            cells = self.series("heat", "utilization")
            places = [(n, sram) for n in ("64", "4") for sram in ("512 KiB", "1 MiB", "2 MiB")]
            self.assertEqual(len(cells), 12)
            for x, y, value, _, point in cells:
                n, sram = places[y]
                row = of(lanes=n, sram=sram, link=("5 GB/s", "25 GB/s")[x])
                self.assertEqual((value, point), (row["utilization"], rows.index(row)))


class OfResultsSideBySide(PageTest):
    def test_they_have_one_roofline_and_bars(self):
        self.write("c.yaml", TRAINING)
        results = {}
        for name, change in (("fused", "execution.partitions=8"),
                             ("alone", "execution.style=kernel_by_kernel"),
                             ("slow", "system.memory.bandwidth=50 GB/s")):
            self.run_tool("c.yaml", "--set", change, "--json", f"{name}.json")
            results[name] = self.read_json(f"{name}.json")
        self.run_tool("report", *(f"{name}.json" for name in results), "-o", "page.html")
        for options in ({"width": 1000}, {"width": 400, "phone": True}):
            self.page("page.html", **options)
            for name, result in results.items():
                marks = self.series("hierarchical roofline", name)
                reached = result["utilization"] * result["machine"]["peak"]
                self.assertEqual(marks, [[result["operational_intensity"][kind], reached]
                                         for kind in ("memory", "network")])
                for (x, y), kind in zip(marks, ("memory", "network")):
                    mover = next(p for p in result["partitions"] if p[kind + "_bytes"] > 0)
                    roof = mover[kind + "_bytes"] / mover[kind]
                    self.assertLessEqual(y, min(result["machine"]["peak"], roof * x) * (1 + 1e-9))
            for row in self.ask(TABLES)["time of the steps"]:
                self.assertAlmostEqual(sum(row[1:]) / results[row[0]]["step_time"], 1, 9)
        self.assertEqual(self.ask("document.querySelectorAll('#results tbody tr').length"), 3)
        names = self.ask("""echarts.getInstanceByDom(document.querySelector(
            '[data-chart="hierarchical roofline"]')).getOption().series.map((each) => each.name)""")
        self.assertLessEqual({"memory 200 GB/s", "memory 50 GB/s"}, set(names))

    def test_results_of_any_kind_are_compared(self):
        self.run_tool(ROOT / "configs/training/megatron_22b_selective.yaml", "--json", "plan.json")
        self.run_tool(ROOT / "configs/calculon_22b_h100.yaml", "--json", "execution.json")
        self.run_tool("report", "plan.json", "execution.json", "-o", "page.html")
        self.page("page.html")
        self.assertNotIn("hierarchical roofline", self.ask(NAMES))
        steps = [self.read_json(f"{name}.json")["step_time"] for name in ("plan", "execution")]
        for row, step in zip(self.ask(TABLES)["time of the steps"], steps):
            self.assertAlmostEqual(sum(row[1:]) / step, 1, 9)
        self.write("none.json", "{}")
        self.assertIn("none.json: is no result", self.run_tool(
            "report", "plan.json", "none.json", "-o", "x.html", status=2).stderr)


class OfAServingStudy(PageTest):
    def test_it_opens_on_its_own_figures(self):
        self.write("base.yaml", json.dumps(SERVING))
        self.write("study.yaml", json.dumps({
            "study": {"name": "s", "front": ["dollars_per_mtoken", "tokens_per_second"]},
            "base": {"from": "base.yaml"},
            "axes": [{"name": "chips", "key": "serving.pools.0.chips", "values": [2, 4, 8]},
                     {"name": "output", "key": "workload.output", "values": [50, 100]}]}))
        self.run_tool("study", "study.yaml", "-o", "out")
        self.page("out/study.html")
        self.assertEqual([self.ask(CHOICES.format(axis))[1] for axis in ("across", "upwards")],
                         ["dollars_per_mtoken", "tokens_per_second"])
        self.assertNotIn("step time", self.ask(HEADS))
        rows = self.read_rows("out/results.ndjson")
        points = [point for name in ("others", "front") for point in self.series("scatter", name)]
        figures = [(r["serving"]["figures"]["dollars_per_mtoken"], r["tokens_per_second"])
                   for r in rows]
        self.assertEqual(sorted((x, y) for x, y, _ in points), sorted(figures))


class OfARun(PageTest):
    def test_parameters_are_said_in_words(self):
        result = self.solved(ROOT / "configs/training/megatron_22b_selective.yaml")
        self.page("page.html")
        self.assertIn(f"{result['model']['parameters'] / 1e9:.4g} billion", self.ask(TEXT))

    def test_rooflines_say_what_they_show(self):
        self.write("c.yaml", TRAINING)
        self.solved("c.yaml")
        self.page("page.html", width=400, phone=True)  # where labels are checked
        for kind in ("memory", "network"):
            self.assertEqual(self.ask(f"""echarts.getInstanceByDom(
                document.querySelector('[data-chart="{kind} roofline"]'))
                .getOption().yAxis[0].name"""), "reached by a chip")

    def test_the_whole_config_repeats_the_run_elsewhere(self):
        workload, rest = TRAINING.split("system:\n")
        system, execution = rest.split("execution:")
        self.write("machine.yaml", textwrap.dedent(system))
        self.write("c.yaml", f"{workload}system: {{from: machine.yaml}}\nexecution:{execution}")
        result = self.solved("c.yaml", "--set", "execution.compute_utilization=0.5")
        self.page("page.html")
        whole = self.ask("document.getElementById('whole').textContent")
        self.assertNotIn("machine.yaml", whole)
        (self.folder / "machine.yaml").unlink()
        self.write("whole.yaml", whole)
        again = self.result("whole.yaml")
        self.assertEqual(again["step_time"], result["step_time"])

    def test_tables_that_are_cut_show_it(self):
        self.write("c.yaml", TRAINING)
        self.solved("c.yaml")
        self.page("page.html", width=400, phone=True)
        cut = ("[...document.querySelectorAll('.scroll')].filter((each) => "
               "each.scrollWidth > each.clientWidth + 1)")
        self.assertGreater(self.ask(cut + ".length"), 0)
        self.assertTrue(self.ask(cut + ".every((each) => each.tabIndex === 0 && "
                                       "getComputedStyle(each).backgroundAttachment === "
                                       "'local, local, scroll, scroll')"))


class Files(PageTest):
    def saved(self, name, click=None):
        """The text or bytes of a file that a click has saved, when it is whole.  Of many clicks
        within a second the browser loses one now and then."""
        end = time.monotonic() + 60
        again = time.monotonic() + 5
        while not (self.folder / name).exists():
            self.assertLess(time.monotonic(), end, name)
            if click and time.monotonic() > again:
                click()
                again = end
            time.sleep(0.02)
        return (self.folder / name).read_bytes()

    def check_files(self):
        self.browser.save_files_to(self.folder)
        for name in self.ask(NAMES):
            for what in ("PNG", "CSV"):
                x, y, width, height = self.ask(f"""(() => {{
                    const button = document.querySelector('[aria-label="{name} as {what}"]');
                    button.scrollIntoView({{block: 'center'}});
                    const box = button.getBoundingClientRect();
                    return [box.x, box.y, box.width, box.height]; }})()""")
                at = (x + width / 2, y + height / 2)
                self.browser.click(*at)
                self.saved(f"{name}.{what.lower()}", lambda at=at: self.browser.click(*at))
            png = self.saved(f"{name}.png")
            self.assertTrue(png.startswith(b"\x89PNG"), name)
            shown = self.ask(f"""(() => {{ const place =
                document.querySelector('[data-chart="{name}"]');
                return [place.clientWidth, place.clientHeight]; }})()""")
            self.assertEqual(list(struct.unpack(">II", png[16:24])), [2 * size for size in shown])
            self.assertGreater(len(self.rows(name)), 0)

    def rows(self, name):
        return list(csv.DictReader(self.saved(f"{name}.csv").decode().splitlines()))

    def test_every_chart_of_a_run_is_a_picture_and_numbers(self):
        self.write("c.yaml", TRAINING)
        result = self.solved("c.yaml")
        self.page("page.html")
        self.check_files()
        for row, partition in zip(self.rows("partitions"), result["partitions"], strict=True):
            self.assertEqual([float(row[f"{key} [s]"]) for key in ("compute", "memory", "network")],
                             [partition[key] for key in ("compute", "memory", "network")])
            self.assertEqual(row["kernels"].split(", "), partition["kernels"])
        tables = self.ask(TABLES)
        for name in self.ask(NAMES):
            self.assertEqual(len(self.rows(name)), len(tables[name]))

    def test_every_chart_of_a_study_is_a_picture_and_numbers(self):
        results, _ = study_folder.write(self.folder / "study", links=("a", 'b, "c"'))
        self.run_tool("report", "study", "-o", "page.html")
        self.page("page.html")
        self.check_files()
        for row, result in zip(self.rows("scatter"), results, strict=True):
            self.assertEqual({key: row[key] for key in result["point"]}, result["point"])
            for head, key in (("step time [s]", "step_time"), ("price [$]", "price")):
                self.assertEqual(float(row[head]) if row[head] else None, result[key])


class Keys(PageTest):
    def press(self, selector, *keys):
        self.ask(f"document.querySelector('{selector}').focus()")
        for key in keys:
            self.browser.press(key)

    def test_marks_and_the_graph_of_a_run(self):
        self.write("c.yaml", SMALL)
        result = self.solved("c.yaml")
        self.page("page.html")
        self.assertEqual(self.ask("[...document.querySelectorAll('.chart, .scroll, .picture')]"
                                  ".filter((each) => each.tabIndex !== 0).length"), 0)
        text = "document.querySelector('[data-chart=partitions]').innerText"
        self.press("[data-chart=partitions]", "ArrowRight")
        self.assertIn(result["partitions"][0]["kernels"][0], self.ask(text))
        if self.ask("!!document.getElementById('graph')"):
            self.press(".picture", "Enter")
            shown, own = self.ask("""[document.getElementById('graph').width,
                                      document.getElementById('graph').naturalWidth]""")
            self.assertEqual(shown, own)

    def test_points_of_a_study(self):
        _, front = study_folder.write(self.folder / "study")
        self.run_tool("report", "study", "-o", "page.html")
        self.page("page.html")
        shown = "+document.getElementById('detail').dataset.index"
        self.press("[data-chart=scatter]", "ArrowLeft", "Enter")  # from the end, where the front is
        first = self.ask(shown)
        self.assertIn(first, front)
        self.press("[data-chart=scatter]", "ArrowLeft", "Enter")
        self.assertIn(self.ask(shown), set(front) - {first})


if __name__ == "__main__":
    support.main()
