#!/usr/bin/env python3
"""Arguments of other types, mistakes in them, and copies of what is returned.

usage: arguments_test.py DFSEARCH, with the package in PYTHONPATH
"""

import copy
import importlib.util
import pathlib
import pickle
import sys
import tempfile
import types
import unittest

import dfsearch

sys.argv.pop(1)
CONFIGS = pathlib.Path(__file__).resolve().parents[2] / "configs"
GRAPH = CONFIGS / "gpt3_1t.yaml"
SERVING = CONFIGS / "serving/llama3_70b_16_h100.yaml"
STUDY = CONFIGS / "studies/sram_bandwidth.yaml"
RUNS = CONFIGS / "measured/training.csv"


class Whole:
    """An integer of another package."""

    def __init__(self, value):
        self.value = value

    def __index__(self):
        return self.value


class Real:
    """A number of another package."""

    def __init__(self, value):
        self.value = value

    def __float__(self):
        return self.value


NUMBERS = [(Whole, Real)]
if importlib.util.find_spec("numpy"):
    import numpy
    NUMBERS += [(numpy.int64, numpy.float32), (numpy.int8, numpy.float64)]


class Arguments(unittest.TestCase):
    def refused(self, name, call, *arguments, **keys):
        with self.assertRaises(TypeError) as raised:
            call(*arguments, **keys)
        self.assertIn(name, str(raised.exception).split("expected")[0])
        self.assertIn("expected", str(raised.exception))

    def test_numbers_of_other_packages(self):
        usual = dfsearch.solve(SERVING, threads=1, nodes=100, top=2)
        for whole, real in NUMBERS:
            with self.subTest(whole):
                result = dfsearch.solve(SERVING, threads=whole(1), time_limit=real(60.0),
                                        gap=real(0.0), nodes=whole(100), top=whole(2))
                self.assertEqual(result["top"], usual["top"])
                self.assertEqual(result.stopped_by, usual.stopped_by)
                points = dfsearch.study(STUDY, threads=whole(1), time_limit=real(100.0))
                self.assertTrue(points.proved)

    def test_numbers_of_other_packages_in_configs(self):
        config = dfsearch.solve({"workload": {"from": "gpt3_175b_prefill"},
                                 "system": {"from": "sn10_8x1_ring", "chips": 8},
                                 "execution": {"partitions": 4, "compute_utilization": 0.9}})
        for whole, real in NUMBERS:
            with self.subTest(whole):
                same = dfsearch.solve(
                    {"workload": {"from": "gpt3_175b_prefill"},
                     "system": {"from": "sn10_8x1_ring", "chips": whole(8)},
                     "execution": {"partitions": whole(5), "compute_utilization": 0.9}},
                    changes={"execution.partitions": whole(4),
                             "execution.compute_utilization":
                                 Real(0.9) if real is Real else numpy.float64(0.9)})
                self.assertEqual(same.step_time, config.step_time)

    def test_mistakes_are_type_errors_that_name_the_argument(self):
        for key, value in (("threads", "2"), ("threads", 2.0), ("threads", True),
                           ("time_limit", "2"), ("time_limit", [1]), ("time_limit", True),
                           ("gap", "0.1"), ("nodes", "many"), ("nodes", 1.5), ("top", "2"),
                           ("top", None), ("deterministic", "no"), ("count", 2), ("robust", None),
                           ("what_if", "yes"), ("on_progress", 7), ("hint", 7), ("hint", [1]),
                           ("changes", 7), ("changes", "system.chips=8"), ("changes", [7])):
            with self.subTest(key=key, value=value):
                self.refused(key, dfsearch.solve, GRAPH, **{key: value})
        self.refused("config", dfsearch.solve, 7)
        self.refused("config", dfsearch.solve, None)
        self.refused("config", dfsearch.solve, [GRAPH])
        self.refused("config", dfsearch.evaluate, 7, {})
        self.refused("answer", dfsearch.evaluate, GRAPH, 7)
        self.refused("config", dfsearch.chip, 7)
        self.refused("table", dfsearch.predict, 7)
        self.refused("stacks", dfsearch.predict, RUNS, stacks=7)
        self.refused("file", dfsearch.study, 7)
        self.refused("only", dfsearch.study, STUDY, only="sram=1")
        self.refused("all", dfsearch.study, STUDY, all="no")
        self.refused("on_point", dfsearch.study, STUDY, on_point="print")

    def test_values_without_their_names(self):
        for call, words in ((dfsearch.solve, (GRAPH, 8)), (dfsearch.study, (STUDY, 8)),
                            (dfsearch.predict, (RUNS, "stacks")), (dfsearch.chip, (GRAPH, {})),
                            (dfsearch.evaluate, (GRAPH, {}, {})),
                            (dfsearch.read_onnx, ("m.onnx", {}))):
            with self.subTest(call.__name__):
                with self.assertRaises(TypeError) as raised:
                    call(*words)
                self.assertIn(f"{words[-1]!r} stands", str(raised.exception))
        with self.assertRaisesRegex(TypeError, "threads="):
            dfsearch.solve(GRAPH, 8)
        with self.assertRaisesRegex(TypeError, "sizes="):
            dfsearch.read_onnx("m.onnx", {"batch": 8})

    def test_numbers_out_of_range(self):
        for key, value in (("threads", 0), ("threads", 1025), ("nodes", 0), ("nodes", 10**30),
                           ("top", 0), ("top", 10**30), ("time_limit", -1),
                           ("time_limit", float("nan")), ("gap", 2), ("gap", float("nan")), ("time_limit", 10**400)):
            with self.subTest(key=key, value=value):
                with self.assertRaisesRegex(dfsearch.InputError, f"^{key}: expected"):
                    dfsearch.solve(GRAPH, **{key: value})


class Copies(unittest.TestCase):
    def copies(self, value):
        yield copy.copy(value)
        yield copy.deepcopy(value)
        for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
            yield pickle.loads(pickle.dumps(value, protocol))

    def test_results(self):
        for config in (GRAPH, SERVING):
            result = dfsearch.solve(config)
            for other in self.copies(result):
                self.assertIsNot(other, result)
                self.assertEqual(other.to_dict(), result.to_dict())
                self.assertEqual((other.report, other.notes), (result.report, result.notes))
                self.assertEqual(other.page, result.page)
                self.assertEqual(dfsearch.evaluate(config, other).objective, result.objective)

    def test_studies_and_predictions(self):
        study = dfsearch.study(STUDY)
        for other in self.copies(study):
            self.assertEqual((other.rows, other.front, other.summary, other.report, other.page),
                             (study.rows, study.front, study.summary, study.report, study.page))
        predictions = dfsearch.predict(RUNS)
        for other in self.copies(predictions):
            self.assertEqual(other, predictions)
            self.assertIs(type(other), dfsearch.Predictions)

    def test_errors(self):
        with self.assertRaises(dfsearch.InputError) as raised:
            dfsearch.solve({"workload": 7, "system": 8})
        for other in self.copies(raised.exception):
            self.assertEqual(other.messages, raised.exception.messages)
            self.assertEqual(str(other), str(raised.exception))


class Terminals(unittest.TestCase):
    def test_control_characters_of_names(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "a\x1b[31m\nforged\x9b.yaml")
            file.write_text(GRAPH.read_text())
            self.assertNotRegex(dfsearch.solve(file).report, "[\0-\x09\x0b-\x1f\x7f-\x9f]|\nforged")
            hint = pathlib.Path(folder, "h\x1b[31m\nforged.sh")
            hint.write_text("torchrun pretrain_gpt.py --tensor-model-parallel-size 4 "
                            "--pipeline-model-paralel-size 1 --micro-batch-size 1\n")
            hinted = dfsearch.solve(CONFIGS / "training/qwen3_30b_16_h100.yaml", hint=hint,
                                    changes={"execution": {"stack": "te", "chip": "h100_80gb"}})
            self.assertTrue(hinted.notes)
            for text in (*hinted.notes, hinted.report):
                self.assertNotRegex(text, "[\0-\x09\x0b-\x1f\x7f-\x9f]|\nforged")
            file.write_text("workload: 7")
            with self.assertRaises(dfsearch.InputError) as raised:
                dfsearch.solve(file)
            self.assertNotRegex(str(raised.exception), "[\0-\x09\x0b-\x1f\x7f-\x9f]")

    def test_names_of_imported_operators(self):
        def node(name, op, *inputs, target=""):
            return types.SimpleNamespace(
                name=name, op=op, args=inputs, kwargs={}, target=target,
                meta={"val": types.SimpleNamespace(shape=[4, 8])})

        given = node("x", "placeholder")
        hostile = "a\x1b[31m\nforged\x9b"
        for target, refused in (("relu", False), ("strange\x1b", True)):
            program = types.SimpleNamespace(
                graph_signature=types.SimpleNamespace(inputs_to_parameters={}, inputs_to_buffers={}),
                graph=types.SimpleNamespace(nodes=[
                    given, node(hostile, "call_function", given, target=target)]))
            if refused:
                with self.assertRaises(dfsearch.InputError) as raised:
                    dfsearch.read_torch(program)
                self.assertEqual(len(str(raised.exception).splitlines()), 1)
                self.assertNotRegex(str(raised.exception), "[\0-\x1f\x7f-\x9f]")
            else:
                names = [each["name"] for each in
                         dfsearch.read_torch(program)["workload"]["kernels"]]
                self.assertEqual(names, [r"a\x1b[31m\nforged\x9b"])

    def test_nothing_is_left_in_the_folder_of_temporary_files(self):
        result = dfsearch.solve(GRAPH)
        before = set(pathlib.Path(tempfile.gettempdir()).glob("dfsearch-*"))
        during = []
        dfsearch.solve(GRAPH, hint=result, on_progress=lambda _: during.extend(
            set(pathlib.Path(tempfile.gettempdir()).glob("dfsearch-*")) - before))
        self.assertEqual(during, [])


if __name__ == "__main__":
    unittest.main()
