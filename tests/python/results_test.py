#!/usr/bin/env python3
"""What results of Python hold, studies, predictions and chips, and what a call costs.

usage: results_test.py DFSEARCH, with the package in PYTHONPATH
"""

import csv
import html.parser
import importlib.util
import json
import os
import pathlib
import pydoc
import statistics
import subprocess
import sys
import tempfile
import unittest

import dfsearch

PROGRAM = sys.argv.pop(1)
ROOT = pathlib.Path(__file__).resolve().parents[2]
CONFIGS = ROOT / "configs"
GRAPH = CONFIGS / "gpt3_1t.yaml"
PLAN = CONFIGS / "training/llama3_70b_2048_h100.yaml"
FRONT = CONFIGS / "serving/llama3_70b_front.yaml"
STUDY = CONFIGS / "studies/sram_bandwidth.yaml"
RUNS = CONFIGS / "measured/training.csv"
SERVICES = CONFIGS / "measured/serving.csv"

HAS_PANDAS = importlib.util.find_spec("pandas") is not None
HAS_PLOTS = importlib.util.find_spec("matplotlib") is not None


def program(*arguments):
    return subprocess.run([PROGRAM, *map(str, arguments)], text=True, capture_output=True,
                          check=True, timeout=120).stdout


class Results(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.graph = dfsearch.solve(GRAPH)
        cls.plan = dfsearch.solve(PLAN)
        cls.front = dfsearch.solve(FRONT)

    def test_figures_of_the_published_example(self):
        self.assertEqual(self.graph.status, "optimal")
        self.assertEqual(self.graph.objective, self.graph.step_time)
        self.assertEqual(self.graph.bound, self.graph.objective)
        self.assertEqual(self.graph.gap, 0)
        self.assertIsNone(self.graph.stopped_by)
        self.assertAlmostEqual(self.graph.utilization, 0.7748, places=4)

    def test_scope_is_told(self):
        self.assertEqual(self.graph.scope, ["sharding: least_bytes"])

    def test_keys_are_those_of_the_dictionary(self):
        self.assertEqual(list(self.graph.keys()), list(self.graph.to_dict()))
        self.assertIn("parallelism", self.graph)
        self.assertNotIn("wings", self.graph)
        self.assertEqual(self.graph["parallelism"]["tensor"], 8)
        with self.assertRaises(KeyError):
            self.graph["wings"]

    def test_a_dictionary_is_the_callers(self):
        self.graph.to_dict()["status"] = "changed"
        self.assertEqual(self.graph.status, "optimal")
        self.assertEqual(self.graph.to_dict()["status"], "optimal")

    def test_the_report_is_that_of_the_program(self):
        ours = self.plan.report.splitlines()
        theirs = program(PLAN, "--threads", "1").splitlines()
        self.assertEqual(str(self.plan), self.plan.report)
        self.assertEqual([l for l in ours if l.startswith(("step", "plan", "memory"))],
                         [l for l in theirs if l.startswith(("step", "plan", "memory"))])

    def test_a_short_form(self):
        self.assertRegex(repr(self.graph), r"<dfsearch.Result optimal, step 78.99\d* s, gap 0>")
        self.assertEqual(repr(self.front), "<dfsearch.Result optimal>")

    def test_the_page_is_whole(self):
        self.assertTrue(self.graph.page.lstrip().lower().startswith("<!doctype html>"))
        self.assertIn("</html>", self.graph.page)

    def test_the_page_in_a_notebook(self):
        frames = []

        class Reader(html.parser.HTMLParser):
            def handle_starttag(self, tag, attrs):
                frames.append((tag, dict(attrs)))

        Reader().feed(self.graph._repr_html_())
        self.assertEqual([tag for tag, _ in frames], ["iframe"])
        self.assertEqual(frames[0][1]["srcdoc"], self.graph.page)

    def test_saving(self):
        with tempfile.TemporaryDirectory() as folder:
            page, answer = os.path.join(folder, "r.html"), os.path.join(folder, "r.json")
            self.graph.save(page)
            self.graph.save(answer)
            self.assertEqual(pathlib.Path(page).read_text(encoding="utf-8"), self.graph.page)
            self.assertEqual(json.loads(pathlib.Path(answer).read_text(encoding="utf-8")),
                             self.graph.to_dict())

    def test_saving_where_there_is_no_folder(self):
        with self.assertRaises(FileNotFoundError):
            self.graph.save("/no/such/folder/r.json")

    def test_where_the_time_goes(self):
        self.assertAlmostEqual(sum(self.graph.times().values()), 1.0)
        self.assertAlmostEqual(sum(self.plan.times().values()), self.plan.step_time)
        self.assertEqual(self.front.times(), {})

    def test_a_front(self):
        speeds = [point["tokens_per_s_per_user"] for point in self.front.front]
        self.assertGreater(len(speeds), 10)
        self.assertEqual(speeds, sorted(speeds, reverse=True))
        self.assertEqual(self.graph.front, [])
        self.assertIsNone(self.front.step_time)

    @unittest.skipUnless(HAS_PANDAS, "pandas is not installed")
    def test_frames(self):
        self.assertEqual(len(self.front.frame()), len(self.front.front))
        self.assertEqual(len(self.graph.frame()), len(self.graph["partitions"]))
        self.assertIn("parallelism.tensor", self.plan.frame().columns)

    @unittest.skipIf(HAS_PANDAS, "pandas is installed")
    def test_frames_need_pandas(self):
        with self.assertRaisesRegex(ImportError, "needs pandas"):
            self.graph.frame()

    @unittest.skipUnless(HAS_PLOTS, "matplotlib is not installed")
    def test_plots(self):
        import matplotlib

        matplotlib.use("svg")
        self.assertTrue(self.graph.plot().patches)
        self.assertTrue(self.front.plot().lines)

    @unittest.skipIf(HAS_PLOTS, "matplotlib is installed")
    def test_plots_need_matplotlib(self):
        with self.assertRaisesRegex(ImportError, "needs matplotlib"):
            self.graph.plot()

    def test_plots_on_axes_of_the_user(self):
        calls = []

        class Axes:
            def __getattr__(self, name):
                return lambda *arguments, **options: calls.append(name)

        axes = Axes()
        self.assertIs(self.plan.plot(axes), axes)
        self.assertIn("bar", calls)
        self.assertIs(self.front.plot(axes), axes)
        self.assertIn("step", calls)


class Studies(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.rows = []
        cls.study = dfsearch.study(STUDY, threads=2, on_point=cls.rows.append)
        cls.folder = tempfile.TemporaryDirectory()
        program("study", STUDY, "-o", cls.folder.name, "--threads", "1", "--quiet")

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def file(self, name):
        return json.loads((pathlib.Path(self.folder.name) / name).read_text(encoding="utf-8"))

    def test_the_front_is_that_of_the_program(self):
        theirs = self.file("front.json")["points"]
        self.assertEqual(self.study.front, theirs)
        self.assertTrue(self.study.front)

    def test_it_is_proved(self):
        self.assertTrue(self.study.proved)

    def test_rows_are_told_as_they_are_answered_and_kept_in_the_order_of_points(self):
        order = [json.dumps(row["point"]) for row in self.study.rows]
        listed = [json.dumps({"sram": sram, "bandwidth": bandwidth, "link": link})
                  for sram in ("320 MiB", "640 MiB", "1 GiB")
                  for bandwidth in ("100 GB/s", "200 GB/s", "400 GB/s", "800 GB/s")
                  for link in ("pcie", "nvlink")]
        self.assertEqual(order, [point for point in listed if point in order])
        self.assertCountEqual(order, [json.dumps(row["point"]) for row in self.rows])
        self.assertEqual(len(self.study), len(self.rows))

    def test_all_points(self):
        every = dfsearch.study(STUDY, threads=2, all=True)
        self.assertGreater(len(every), len(self.study))
        self.assertEqual(every.front, self.study.front)

    def test_a_limit(self):
        with self.assertRaises(dfsearch.InputError):
            dfsearch.study(STUDY, time_limit=-1)

    def test_only_some_labels(self):
        with self.assertRaises(dfsearch.InputError):
            dfsearch.study(STUDY, only=["no_such_axis=1"])

    def test_no_such_study(self):
        with self.assertRaisesRegex(dfsearch.InputError, "none.yaml"):
            dfsearch.study("none.yaml")

    def test_a_config_is_no_study(self):
        with self.assertRaises(dfsearch.InputError):
            dfsearch.study(GRAPH)

    def test_its_report_and_page_are_those_of_the_program(self):
        printed = program("study", STUDY, "-o", self.folder.name, "--threads", "1", "--quiet")
        self.assertEqual(str(self.study).split("\n\n", 1)[1], printed.split("\n\n", 1)[1])
        self.assertEqual(self.study.report.splitlines()[0], printed.splitlines()[0])
        self.assertIn("iframe", self.study._repr_html_())
        page = pathlib.Path(self.folder.name) / "ours.html"
        self.study.save(page)
        self.assertEqual(page.read_text(encoding="utf-8"), self.study.page)
        self.assertTrue(self.study.page.startswith("<!doctype html>"))
        self.assertIn('"study":"sram_bandwidth"', self.study.page.replace(" ", ""))

    def test_a_study_may_be_a_dictionary_or_a_text(self):
        study = {"study": {"name": "two", "objective": "step_time", "solve": "all"},
                 "base": {"from": "llama3_8b_prefill"},
                 "axes": [{"name": "sram", "key": "system.accelerator.sram",
                           "values": ["320 MiB", "640 MiB"]}]}
        of_dict = dfsearch.study(study, threads=1)
        of_text = dfsearch.study(json.dumps(study) + "\n", threads=1)
        self.assertEqual(len(of_dict), 2)
        self.assertEqual([row["step_time"] for row in of_dict.rows],
                         [row["step_time"] for row in of_text.rows])
        for row in of_dict.rows:
            alone = dfsearch.solve("llama3_8b_prefill",
                                   changes={"system.accelerator.sram": row["point"]["sram"]})
            self.assertEqual(row["step_time"], alone.step_time)
        with self.assertRaisesRegex(dfsearch.InputError, "axes"):
            dfsearch.study({"study": {"name": "none"}})

    def test_a_base_may_be_a_whole_config(self):
        base = {"workload": {"from": "llama3_8b_prefill"}, "system": {"from": "sn10_8x1_ring"}}
        study = {"study": {"name": "own", "objective": "step_time", "solve": "all"}, "base": base,
                 "axes": [{"name": "sram", "key": "system.accelerator.sram",
                           "values": ["320 MiB", "640 MiB"]}]}
        for row in dfsearch.study(study, threads=1).rows:
            alone = dfsearch.solve(base, changes={"system.accelerator.sram": row["point"]["sram"]})
            self.assertEqual(row["step_time"], alone.step_time)
        # What is wrong stands in no line of a dictionary.
        with self.assertRaises(dfsearch.InputError) as caught:
            dfsearch.study({**study, "base": {**base, "sytem": {}}})
        self.assertTrue(any("unknown key 'sytem'" in m for m in caught.exception.messages))
        with self.assertRaises(dfsearch.InputError) as other:
            dfsearch.solve({**base, "sytem": {}})
        for error in (caught.exception, other.exception):
            self.assertNotRegex(str(error), r":\d+:\d+:")

    def test_a_listener_that_raises(self):
        def listener(row):
            raise RuntimeError("enough")

        with self.assertRaisesRegex(RuntimeError, "enough"):
            dfsearch.study(STUDY, on_point=listener)

    @unittest.skipUnless(HAS_PANDAS, "pandas is not installed")
    def test_a_frame(self):
        frame = self.study.frame()
        self.assertEqual(len(frame), len(self.study))
        with open(pathlib.Path(self.folder.name) / "results.csv", encoding="utf-8") as file:
            head = next(csv.reader(file))
        for axis in self.study.summary["axes"]:
            self.assertIn(axis["name"], head)
            self.assertIn(axis["name"], frame.columns)
        numbers = dfsearch.study({"study": {"name": "two", "objective": "step_time", "solve": "all"},
                                  "base": {"from": "gpt3_175b_kernel_by_kernel_8x1"},
                                  "axes": [{"name": "cores", "key": "system.accelerator.cores",
                                            "values": [320, 640]}]}).frame()
        self.assertEqual(list(numbers["cores"]), [320, 640])
        self.assertEqual(numbers["cores"].dtype.kind, "i")


class Tables(unittest.TestCase):
    def same(self, table):
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder) / "out.csv"
            program("predict", table, "-o", out)
            theirs = list(csv.DictReader(out.read_text(encoding="utf-8").splitlines()))
        ours = dfsearch.predict(table)
        self.assertEqual(len(ours), len(theirs))
        for one, other in zip(ours, theirs):
            for key, cell in other.items():
                said = float(cell) if isinstance(one[key], float) else cell or None
                self.assertEqual(one[key], said)
        return ours

    def test_training_runs(self):
        runs = self.same(RUNS)
        off = [abs(run["error"]) for run in runs if run["error"] is not None]
        self.assertLess(statistics.mean(off), 0.10)

    def test_deployments(self):
        self.same(SERVICES)

    def test_a_table_that_is_none(self):
        with self.assertRaises(dfsearch.InputError):
            dfsearch.predict(GRAPH)

    def test_a_table_that_is_not_there(self):
        with self.assertRaisesRegex(dfsearch.InputError, "none.csv"):
            dfsearch.predict("none.csv")

    def test_a_column_that_is_not_read_is_told(self):
        with tempfile.TemporaryDirectory() as folder:
            table = pathlib.Path(folder) / "runs.csv"
            lines = pathlib.Path(RUNS).read_text(encoding="utf-8").splitlines()[:3]
            table.write_text("\n".join([lines[0] + ",recomput"] + [f"{line}," for line in lines[1:]]))
            with self.assertWarnsRegex(UserWarning, "which are ignored: 'recomput'"):
                dfsearch.predict(table)

    def test_a_folder_of_stacks(self):
        strict = dfsearch.predict(RUNS, stacks=CONFIGS / "stacks/strict")
        self.assertNotEqual(strict, dfsearch.predict(RUNS))
        with self.assertRaisesRegex(dfsearch.InputError, "no folder"):
            dfsearch.predict(RUNS, stacks="no_such_folder")

    @unittest.skipUnless(HAS_PANDAS, "pandas is not installed")
    def test_a_frame(self):
        self.assertEqual(len(dfsearch.predict(RUNS).frame()), len(dfsearch.predict(RUNS)))


class Chips(unittest.TestCase):
    def test_a_chip_is_that_of_the_program(self):
        file = CONFIGS / "chips/v100.yaml"
        self.assertEqual(dfsearch.chip(file).items(),
                         {k: v for k, v in json.loads(program("chip", file, "--json", "-")).items()
                          if k != "config"}.items())

    def test_changes(self):
        file = CONFIGS / "chips/v100.yaml"
        self.assertNotEqual(dfsearch.chip(file), dfsearch.chip(
            file, changes={"system.budget.area.core": 0.25}))

    def test_a_machine_without_technology(self):
        with self.assertRaises(dfsearch.InputError):
            dfsearch.chip(GRAPH)


class Package(unittest.TestCase):
    def test_the_version_is_that_of_the_program(self):
        self.assertIn(dfsearch.__version__, program("--version"))

    def test_everything_public_is_described(self):
        for name in dfsearch.__all__:
            with self.subTest(name):
                self.assertTrue((getattr(dfsearch, name).__doc__ or "").strip())
        self.assertIn("seconds", pydoc.render_doc(dfsearch.solve))

    def test_types_are_marked(self):
        folder = pathlib.Path(dfsearch.__file__).parent
        self.assertTrue((folder / "py.typed").exists())
        self.assertIn("return", dfsearch.solve.__annotations__)

    def test_errors_keep_their_messages(self):
        error = dfsearch.InputError(["a: wrong", "b: wrong"])
        self.assertEqual((str(error), error.messages), ("a: wrong\nb: wrong",
                                                        ["a: wrong", "b: wrong"]))

    def test_the_interpreter_ends_after_a_search_of_another_thread(self):
        text = ("import dfsearch, threading\n"
                f"threading.Thread(target=lambda: dfsearch.solve({str(GRAPH)!r})).start()\n")
        done = subprocess.run([sys.executable, "-c", text], capture_output=True, timeout=60,
                              check=False, env=os.environ)
        self.assertEqual((done.returncode, done.stderr), (0, b""))


if __name__ == "__main__":
    unittest.main()
