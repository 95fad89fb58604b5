#!/usr/bin/env python3
"""Pages of deployments that serve: what a browser shows is what their JSON says.

usage: serving_page_test.py DFSEARCH [TEST ...]
"""

import bisect
import json

import kinds
import support
from page_test import CHARTS, HOSTILE, PageTest, ROOT, TABLES, TEXT

SERVING = {
    "workload": kinds.DEPLOYMENT["workload"],
    "serving": {
        "pools": [{"name": name, "chips": 8, "system": {
            "peak": "1 PFLOP/s", "memory": {"bandwidth": bandwidth, "capacity": "64 GB"},
            "network": [{"degree": 8, "bandwidth": "100 GB/s", "latency": "1 us"}],
            "price": price, "power": "500 W", "engine": {"layer": "20 us"}}}
            for name, bandwidth, price in ((HOSTILE, "2 TB/s", "1 $/h"), ("b", "5 TB/s", "3 $/h"))],
        "tensor": [1, 2, 4], "batch": {"from": 1, "to": 256}, "chunk": [512]}}
ROW = ("tokens_per_s_per_user", "tokens_per_s_per_chip", "dollars_per_mtoken", "ttft", "chips")


class Serving(PageTest):
    def served(self, *changes, **options):
        self.write("c.yaml", json.dumps(SERVING))
        result = self.solved("c.yaml", *(word for change in changes for word in ("--set", change)),
                             **options)
        self.assertNotIn(HOSTILE, (self.folder / "page.html").read_text())
        self.page("page.html")
        return result

    def test_the_best_deployment_with_its_figures_and_what_the_other_mode_could_do(self):
        result = self.served("serving.limits={ttft: 10 ms, tpot: 700 us}")
        serving = result["serving"]
        figures = serving["figures"]
        self.assertEqual(self.ask("+document.getElementById('value').dataset.value"),
                         serving["value"])
        self.assertEqual(self.ask("document.getElementById('verdict').textContent"),
                         "optimal, proved: gap 0")
        text = self.ask(TEXT)
        for shown in (f"batch {(serving['best'].get('decode') or serving['best'])['batch']}",
                      "ms of 10 ms", "us of 700 us", HOSTILE,
                      f"{figures['tokens_per_s_per_user']:.4g} tokens/s",
                      f"{figures['dollars_per_mtoken']:.4g} $"):
            self.assertIn(shown, text)
        for name, parts in serving["breakdown"].items():
            for part, time in parts.items():
                if time > 0:
                    self.assertEqual(self.series(name.replace("_", " "), part), [time])
        rows = {row[0]: row[1:6] for row in self.ask(TABLES)["modes"]}
        self.assertEqual(rows, {mode: [best[key] for key in ROW]
                                for mode, best in serving["best_of_mode"].items()})
        self.assertEqual(len(rows), 2)
        pools = self.ask(TABLES)["pools"]
        self.assertEqual([row[:3] for row in pools],
                         [[pool["name"], pool["chips"], pool["peak"]] for pool in result["pools"]])
        gains = [gain for gain in serving["gains"] if gain["value"] is not None]
        self.assertEqual([row[:3] for row in self.ask(TABLES)["gains"]],
                         [[gain["more"], gain["pool"], gain["value"]] for gain in gains])
        self.assertTrue(gains)
        found = self.series("incumbent and bound", "incumbent")
        self.assertEqual(found[-1][1], 1 / result["objective"])  # the throughput
        self.page("page.html", width=400, phone=True, dark=True)

    def check_front(self, result, axis):
        front = result["serving"]["front"]
        self.assertGreater(len(front), 20)
        expected = sorted([point["tokens_per_s_per_user"], point[axis], i]
                          for i, point in enumerate(front))
        self.assertEqual(self.series("front", "stair"), expected)
        excluded = [pair for pair in result["serving"]["excluded"] if pair[1]]
        self.assertEqual(self.series("front", "excluded"), excluded)
        speeds = [speed for speed, _ in excluded]
        for speed, value, _ in expected:
            slower = excluded[bisect.bisect(speeds, speed) - 1][1]
            self.assertTrue(value <= slower if axis != "dollars_per_mtoken" else value >= slower)
        points = [(name, point) for name in self.groups() for point in self.series("front", name)]
        self.assertEqual(sorted(point for _, point in points), expected)
        for name, (_, _, i) in points:
            deployment = front[i]["deployment"]
            roles = [deployment[key] for key in ("prefill", "decode") if key in deployment]
            used = dict.fromkeys(role["pool"] for role in roles or [deployment])
            self.assertEqual(name, f"{deployment['mode']}, {' to '.join(used)}")

    def groups(self):
        return [each["name"] for each in self.ask(CHARTS)["front"]["series"]
                if each["type"] == "scatter" and each["name"] != "measured"]

    def test_a_front_is_a_stair_with_a_table_below(self):
        result = self.served("serving.objective=front", "serving.limits={tpot: 5 ms}",
                             "serving.batch={from: 1, to: 64}")
        self.check_front(result, "tokens_per_s_per_chip")
        front = result["serving"]["front"]
        option = "echarts.getInstanceByDom(document.querySelector('[data-chart=front]')).getOption()"
        self.assertEqual(self.ask(option + ".yAxis[0].type"), "log")
        self.assertEqual(self.ask(option + ".series[0].step"), "start")
        self.assertEqual(self.ask(option + ".series[0].markLine.data.map((line) => line.xAxis)"),
                         [1 / result["limits"]["tpot"]])
        rows = "[...document.querySelectorAll('#table tbody tr')].map((row) => +row.dataset.index)"
        self.ask("[...document.querySelectorAll('#table th button')]"
                 ".find((head) => head.textContent === 'first token').click()")
        first = [point["ttft"] for point in front]  # null: without end
        order = sorted(range(len(front)), key=lambda i: (first[i] is None, first[i] or 0, i))
        self.assertEqual(self.ask(rows), order[:25])
        self.ask("document.querySelector('#table tbody tr').click()")
        self.assertEqual(self.ask("document.querySelector('#table .chosen').dataset.index"),
                         str(order[0]))
        place = self.ask("""(() => {
          const place = document.querySelector('[data-chart=front]');
          echarts.getInstanceByDom(place).dispatchAction(
            {type: 'showTip', seriesIndex: 3, dataIndex: 0});
          return place.innerText + document.querySelectorAll('#page script').length;
        })()""")
        i = self.series("front", self.groups()[0])[0][2]
        self.assertIn(f"tokens/s of a user {front[i]['tokens_per_s_per_user']:.4g}", place)
        self.assertIn("batch", place)
        # A click on the last point leads to its row, wherever the table was.
        x, y = self.ask("""(() => {
          const place = document.querySelector('[data-chart=front]');
          place.scrollIntoView({block: 'center'});
          const chart = echarts.getInstanceByDom(place);
          const point = chart.getOption().series[0].data.at(-1);
          const at = chart.convertToPixel({seriesIndex: 0}, [point[0], point[1]]);
          const box = place.getBoundingClientRect();
          return [box.left + at[0], box.top + at[1]];
        })()""")
        self.browser.click(x, y)
        self.assertEqual(self.ask("document.querySelector('#table .chosen').dataset.index"), "0")
        self.assertTrue(place.endswith("0"))

    def test_measured_deployments_lie_in_the_chart_of_a_front(self):
        config = ROOT / "configs" / "serving" / "llama3_70b_h200_measured.yaml"
        result = self.solved(config)
        self.page("page.html")
        measured = result["serving"]["measured"]
        self.assertGreater(len(measured), 20)
        self.assertEqual(self.series("front", "measured"),
                         [[m["tokens_per_s_per_user"], m["tokens_per_s_per_chip"], m["name"]]
                          for m in measured])

    def test_a_front_of_dollars_and_one_made_later(self):
        self.check_front(self.served("serving.objective=front", "serving.front=cost",
                                     "serving.batch={from: 1, to: 64}"),
                         "dollars_per_mtoken")
        self.run_tool("report", "r.json", "-o", "page.html")
        self.page("page.html")
        self.check_front(self.read_json("r.json"), "dollars_per_mtoken")

    def test_what_would_mend_a_question_and_a_deployment_that_breaks_a_limit(self):
        result = self.served("serving.limits.tpot=1 us", status=3)
        self.assertIn("infeasible, proved",
                      self.ask("document.getElementById('verdict').textContent"))
        self.assertEqual([row[:3] for row in self.ask(TABLES)["remedies"]],
                         [[remedy[key] for key in ("limit", "given", "enough")]
                          for remedy in result["infeasible"]["remedies"]])
        self.write("d.json", json.dumps(result["infeasible"]["remedies"][0]["deployment"]))
        self.run_tool("evaluate", "c.yaml", "--set", "serving.limits.tpot=1 us",
                      "--mapping", "d.json", "--html", "page.html", status=3)
        self.page("page.html")
        self.assertEqual(self.ask("document.getElementById('reason').textContent"),
                         "It breaks tpot.")


if __name__ == "__main__":
    support.main()
