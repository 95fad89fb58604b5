#!/usr/bin/env python3
"""Models of ONNX and programs of torch.export as configs: kernels, bytes and FLOP counted by hand.

usage: graphs_test.py DFSEARCH, with the package in PYTHONPATH
"""

import importlib.util
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import types
import unittest
import warnings

import dfsearch

PROGRAM = sys.argv.pop(1)
HAS_ONNX = importlib.util.find_spec("onnx") is not None
if HAS_ONNX:
    import numpy
    import onnx
    from onnx import TensorProto, helper

SYSTEM = {"from": "sn10_8x1_ring"}


def flop(config):
    """Of products alone, from extents as docs/model.md (1) has them."""
    kernels = config["workload"]["kernels"]
    return sum(2 * k["outer"] * k["M"] * k["K"] * k["N"] for k in kernels if "gemm" in k["kind"])


def by_name(config):
    return {kernel["name"]: kernel for kernel in config["workload"]["kernels"]}


def edges(config):
    return {(t["from"], t["to"], t["operand"]) for t in config["workload"]["tensors"]}


def weight(name, *dims, kind=1):  # FLOAT
    return helper.make_tensor(name, kind, dims, bytes(4 * _product(dims) // (2 if kind == 10 else 1)),
                              raw=True)


def _product(dims):
    size = 1
    for dim in dims:
        size *= dim
    return size


def model(nodes, inputs, outputs, weights=(), kind=1, opset=13):
    given = [helper.make_tensor_value_info(n, TensorProto.FLOAT, dims) for n, dims in inputs.items()]
    made = [helper.make_tensor_value_info(n, kind, None) for n in outputs]
    graph = helper.make_graph(nodes, "test", given, made, list(weights))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])


def attention_model():
    """Four heads of 16 elements, tokens and batch by name, reshaped as PyTorch writes it."""
    node = helper.make_node
    heads = helper.make_tensor("heads", TensorProto.INT64, [4], [0, 0, 4, 16])
    parts = helper.make_tensor("parts", TensorProto.INT64, [3], [64, 64, 64])
    return model([
        node("Softmax", ["x"], ["normed"], "norm"),
        node("MatMul", ["normed", "w_qkv"], ["qkv"], "qkv"),
        node("Split", ["qkv", "parts"], ["q", "k", "v"], "split", axis=2),
        *[node("Reshape", [n, "heads"], [n + "4"], n + "_heads") for n in "qkv"],
        node("Transpose", ["q4"], ["qt"], "qt", perm=[0, 2, 1, 3]),
        node("Transpose", ["k4"], ["kt"], "kt", perm=[0, 2, 3, 1]),
        node("Transpose", ["v4"], ["vt"], "vt", perm=[0, 2, 1, 3]),
        node("MatMul", ["qt", "kt"], ["scores"], "scores"),
        node("Softmax", ["scores"], ["shares"], "softmax", axis=-1),
        node("MatMul", ["shares", "vt"], ["mixed"], "mix"),
        node("Transpose", ["mixed"], ["back"], "back", perm=[0, 2, 1, 3]),
        node("Shape", ["x"], ["shape"], "shape"),
        node("Reshape", ["back", "shape"], ["flat"], "flat"),
        node("MatMul", ["flat", "w_out"], ["out"], "project"),
        node("Add", ["out", "x"], ["sum"], "residual")],
        {"x": ["batch", "tokens", 64]}, ["sum"],
        [weight("w_qkv", 64, 192), weight("w_out", 64, 64), heads, parts])


@unittest.skipUnless(HAS_ONNX, "python3-onnx is not installed")
class Onnx(unittest.TestCase):
    def refused(self, *arguments, **keys):
        with self.assertRaises(dfsearch.InputError) as caught:
            dfsearch.read_onnx(*arguments, **keys)
        return "\n".join(caught.exception.messages)

    def test_attention_has_the_products_and_bytes_that_its_shapes_say(self):
        batch, tokens = 2, 32
        config = dfsearch.read_onnx(attention_model(), sizes={"batch": batch, "tokens": tokens})
        kernels = by_name(config)
        self.assertEqual(set(kernels), {"norm", "qkv", "scores", "softmax", "mix", "project",
                                        "residual"})
        rows = batch * tokens
        self.assertEqual(flop(config), 2 * rows * 64 * 192 + 2 * 2 * batch * 4 * tokens * tokens * 16
                         + 2 * rows * 64 * 64)
        self.assertEqual(kernels["scores"]["kind"], "gemm")
        self.assertEqual((kernels["qkv"]["kind"], kernels["qkv"]["M"], kernels["qkv"]["K"]),
                         ("weight_gemm", 192, 64))
        self.assertEqual(kernels["softmax"]["coupled"], 2)
        self.assertEqual(edges(config), {
            ("norm", "qkv", 1), ("qkv", "scores", 2), ("qkv", "scores", 1), ("scores", "softmax", 1),
            ("softmax", "mix", 2), ("qkv", "mix", 1), ("mix", "project", 1),
            ("project", "residual", 1)})
        # A third of the rows of Q, K and V together.
        self.assertEqual({t["rows"] for t in config["workload"]["tensors"] if t["from"] == "qkv"},
                         {64})
        self.assertEqual(config["workload"]["word"], "4 B")

    def test_samples_are_columns_of_all_kernels_of_a_perceptron(self):
        node = helper.make_node
        config = dfsearch.read_onnx(model(
            [node("LayerNormalization", ["x", "s"], ["n"], "norm", axis=-1),
             node("MatMul", ["n", "w1"], ["u"], "up"), node("Relu", ["u"], ["a"], "act"),
             node("MatMul", ["a", "w2"], ["d"], "down"), node("Add", ["x", "d"], ["y"], "sum")],
            {"x": [8, 512, 64]}, ["y"],
            [weight("s", 64), weight("w1", 64, 256), weight("w2", 256, 64)], opset=17))
        for kernel in config["workload"]["kernels"]:
            self.assertEqual((kernel["outer"], kernel["N"]), (1, 8 * 512), kernel["name"])
        # An equal number of tokens in one sample takes equally long.
        alone = dfsearch.read_onnx(model(
            [node("LayerNormalization", ["x", "s"], ["n"], "norm", axis=-1),
             node("MatMul", ["n", "w1"], ["u"], "up"), node("Relu", ["u"], ["a"], "act"),
             node("MatMul", ["a", "w2"], ["d"], "down"), node("Add", ["x", "d"], ["y"], "sum")],
            {"x": [1, 4096, 64]}, ["y"],
            [weight("s", 64), weight("w1", 64, 256), weight("w2", 256, 64)], opset=17))
        both = [dfsearch.solve({**c, "system": SYSTEM}, threads=1).step_time
                for c in (config, alone)]
        self.assertEqual(both[0], both[1])

    def test_the_search_answers_and_counts_the_same_work(self):
        config = dfsearch.read_onnx(attention_model(), sizes={"batch": 1, "tokens": 256},
                                    sequence=256)
        found = dfsearch.solve({**config, "system": SYSTEM}, threads=1)
        self.assertTrue(found.proved)
        self.assertGreater(found.step_time, 0)

    def test_a_convolution_is_a_product_of_its_patches(self):
        node = helper.make_node
        config = dfsearch.read_onnx(model(
            [node("Conv", ["x", "w", "bias"], ["c"], "conv", kernel_shape=[3, 3], pads=[1] * 4,
                  strides=[2, 2]),
             node("Relu", ["c"], ["r"], "relu"),
             node("Conv", ["r", "wd"], ["d"], "depthwise", kernel_shape=[3, 3], pads=[1] * 4,
                  group=32),
             node("GlobalAveragePool", ["d"], ["p"], "pool"),
             node("Flatten", ["p"], ["f"], "flatten"),
             node("Gemm", ["f", "wf"], ["y"], "classes", transB=1)],
            {"x": [8, 16, 56, 56]}, ["y"],
            [weight("w", 32, 16, 3, 3), weight("bias", 32), weight("wd", 32, 1, 3, 3),
             weight("wf", 1000, 32)]))
        kernels = by_name(config)
        self.assertEqual(flop(config), 2 * 8 * 28 * 28 * (32 * 16 * 9 + 32 * 9) + 2 * 8 * 32 * 1000)
        self.assertEqual(kernels["depthwise"]["outer"], 32)
        self.assertEqual(kernels["pool"]["element_flops"], 28 * 28)
        self.assertIn(("pool", "classes", 1), edges(config))

    def test_several_inputs_and_batched_weights(self):
        node = helper.make_node
        config = dfsearch.read_onnx(model(
            [node("Relu", ["x"], ["a"], "a"), node("Tanh", ["x"], ["b"], "b"),
             node("Concat", ["a", "b", "x"], ["c"], "join", axis=1),
             node("MatMul", ["c", "experts"], ["d"], "experts_of_all"),
             node("MatMul", ["left", "d"], ["e"], "weight_on_the_left"),
             node("ReduceMean", ["e"], ["m"], "mean", axes=[2])],
            {"x": [4, 10, 6]}, ["m"], [weight("experts", 4, 6, 8), weight("left", 5, 30)]))
        kernels = by_name(config)
        self.assertEqual((kernels["join"]["kind"], kernels["join"]["N"]), ("elementwise2", 30))
        self.assertEqual({e for e in edges(config) if e[1] == "join"},
                         {("a", "join", 1), ("b", "join", 2)})
        experts, left = kernels["experts_of_all"], kernels["weight_on_the_left"]
        self.assertEqual([experts[k] for k in ("outer", "M", "K", "N")], [4, 8, 6, 30])
        self.assertNotIn("matrices", experts)
        self.assertEqual([left[k] for k in ("outer", "M", "K", "N", "matrices")], [4, 5, 30, 8, 1])
        self.assertEqual(kernels["mean"]["element_flops"], 8)

    def macs_of(self, node, inputs, weights=(), **keys):
        """Those of the products of one operator, whose other inputs are inputs of the model."""
        made = model([node], inputs, [node.output[0]], weights, **keys)
        if node.domain:
            made.opset_import.append(helper.make_opsetid(node.domain, 1))
        config = dfsearch.read_onnx(made)
        dfsearch.solve({**config, "system": SYSTEM}, threads=1)
        return flop(config) / 2

    def test_quantized_and_fused_operators_do_the_work_of_the_plain_ones(self):
        def of(kind, names, **keys):
            return helper.make_node(kind, names.split(), ["y"], "n", **keys)
        data, square = {"x": [2, 8, 10, 10]}, {"x": [5, 6]}
        point = [weight(n) for n in ("s", "z")]
        filters, matrix = weight("w", 16, 4, 3, 3), weight("w", 6, 7)
        conv, product = 2 * 16 * 4 * 9 * 8 * 8, 5 * 6 * 7
        for node, inputs, heavy, macs in (
                (of("Conv", "x w", group=2), data, filters, conv),
                (of("ConvInteger", "x w z z", group=2), data, filters, conv),
                (of("QLinearConv", "x s z w s z s z", group=2), data, filters, conv),
                (of("FusedConv", "x w", group=2, domain="com.microsoft"), data, filters, conv),
                (of("MatMulInteger", "x w"), square, matrix, product),
                (of("QLinearMatMul", "x s z w s z s z"), square, matrix, product),
                (of("DynamicQuantizeMatMul", "x w s z", domain="com.microsoft"), square, matrix,
                 product),
                (of("QGemm", "x s z w s z", domain="com.microsoft", transB=1), square,
                 weight("w", 7, 6), product),
                (of("MatMulNBits", "x w s", domain="com.microsoft", K=6, N=7, bits=4,
                    block_size=16), square, weight("w", 7, 1, 8), product)):
            self.assertEqual(self.macs_of(node, inputs, [heavy, *point]), macs, node.op_type)
        # Each element of the input meets all weights of its group.
        self.assertEqual(self.macs_of(of("ConvTranspose", "x w", group=2, strides=[2, 2]), data,
                                      [weight("w", 8, 5, 3, 3)]), 2 * 8 * 10 * 10 * 5 * 9)

    def test_networks_have_the_products_that_the_shapes_of_onnx_give(self):
        draw = random.Random(3)
        for _ in range(12):
            nodes, weights, channels = [], [], 8
            for i in range(6):
                kind = draw.choice(("Conv", "Conv", "ConvTranspose", "Relu"))
                groups, side = draw.choice((1, 2, channels)), draw.choice((1, 3))
                source = f"v{i - 1}" if i else "x"
                if kind == "Relu":
                    nodes.append(helper.make_node(kind, [source], [f"v{i}"], f"n{i}"))
                    continue
                turned, grown = kind == "ConvTranspose", channels * draw.choice((1, 2))
                shape = ((channels, grown // groups) if turned else (grown, channels // groups))
                weights.append(weight(f"w{i}", *shape, side, side))
                nodes.append(helper.make_node(
                    kind, [source, f"w{i}"], [f"v{i}"], f"n{i}", group=groups,
                    strides=[draw.choice((1, 2))] * 2, pads=[side // 2] * 4))
                channels = grown
            nodes += [helper.make_node("GlobalAveragePool", ["v5"], ["mean"], "pool"),
                      helper.make_node("Flatten", ["mean"], ["flat"], "flat"),
                      helper.make_node("Gemm", ["flat", "w"], ["y"], "head", transB=1)]
            weights.append(weight("w", 10, channels))
            made = onnx.shape_inference.infer_shapes(
                model(nodes, {"x": [2, 8, 20, 20]}, ["y"], weights))
            sizes = {v.name: _product(d.dim_value for d in v.type.tensor_type.shape.dim)
                     for v in [*made.graph.input, *made.graph.value_info, *made.graph.output]}
            macs = 0
            for node in made.graph.node:
                if len(node.input) < 2:
                    continue
                heavy = next(w.dims for w in weights if w.name == node.input[1])
                # Each output, or input of a transposed one, meets the weights of its channel.
                ends = node.input if node.op_type == "ConvTranspose" else node.output
                macs += sizes[ends[0]] * _product(heavy[1:])
            self.assertEqual(flop(dfsearch.read_onnx(made)), 2 * macs)

    def test_a_recurrent_layer_has_the_products_of_its_gates(self):
        for kind, gates in (("LSTM", 4), ("GRU", 3), ("RNN", 1)):
            for directions, layout in ((1, 0), (2, 0)):
                weights = [weight("w", directions, gates * 32, 24),
                           weight("r", directions, gates * 32, 32)]
                node = helper.make_node(
                    kind, ["x", "w", "r"], ["y"], "n", hidden_size=32,
                    direction="bidirectional" if directions > 1 else "forward")
                self.assertEqual(self.macs_of(node, {"x": [10, 3, 24]}, weights, opset=14),
                                 directions * gates * 10 * 3 * 32 * (24 + 32), (kind, directions))
        config = dfsearch.read_onnx(model([
            helper.make_node("LSTM", ["x", "w", "r"], ["y", "h"], "cell", hidden_size=32),
            helper.make_node("Relu", ["h"], ["a"], "act")], {"x": [10, 3, 24]}, ["a"],
            [weight("w", 1, 128, 24), weight("r", 1, 128, 32)], opset=14))
        self.assertEqual(edges(config) - {("cell", "cell_state", 1)},
                         {("cell_input", "cell", 1), ("cell_state", "cell", 2), ("cell", "act", 1)})
        self.assertEqual({k["name"]: k.get("steps") for k in config["workload"]["kernels"]},
                         {"cell_input": None, "cell_state": 10, "cell": 10, "act": None})

    def test_sums_of_einsum_are_products_of_all_its_labels(self):
        draw, extent = random.Random(5), {}
        for label in "abcdef":
            extent[label] = draw.randint(2, 5)
        products = 0
        for _ in range(60):
            left, right = (draw.sample("abcdef", draw.randint(1, 4)) for _ in range(2))
            both, all_of_it = set(left) & set(right), dict.fromkeys(left + right)
            # What one side alone has is in the result: no sum before the product.
            result = [c for c in all_of_it if c not in both or draw.random() < 0.5]
            draw.shuffle(result)
            made = model([helper.make_node("Einsum", ["x", "z"], ["y"], "n", equation="{},{}->{}"
                                           .format(*map("".join, (left, right, result)))),
                          helper.make_node("Relu", ["y"], ["end"], "act")],
                         {"x": [extent[c] for c in left], "z": [extent[c] for c in right]}, ["end"])
            config = dfsearch.read_onnx(made)
            is_product = bool(both - set(result))
            products += is_product
            self.assertEqual(flop(config) / 2,
                             is_product and _product([extent[c] for c in all_of_it]))
            act = by_name(config)["act"]
            self.assertEqual(act["outer"] * act["M"] * act["N"],
                             _product([extent[c] for c in result]))
        self.assertGreater(products, 20)
        spread = model([helper.make_node("Einsum", ["x", "w"], ["y"], "n",
                                         equation="...ij,jk")], {"x": [3, 4, 5, 6]}, ["y"],
                       [weight("w", 6, 7)])
        self.assertEqual(flop(dfsearch.read_onnx(spread)) / 2, 3 * 4 * 5 * 6 * 7)

    def test_a_sum_of_einsum_may_be_a_single_number(self):
        made = model([helper.make_node("Einsum", ["x", "z"], ["y"], "n", equation="i,i"),
                      helper.make_node("Einsum", ["y", "y"], ["end"], "square", equation=",->")],
                     {"x": [5], "z": [5]}, ["end"])
        config = dfsearch.read_onnx(made)
        self.assertEqual(flop(config), 2 * 5)
        self.assertEqual(set(by_name(config)), {"n", "square"})

    def test_operators_of_one_operand_take_each_element_once(self):
        for kind in ("Acos", "Asinh", "Celu", "Hardmax", "IsNaN", "Shrink", "Softsign", "Tan",
                     "ThresholdedRelu"):
            made = model([helper.make_node(kind, ["x"], ["y"], "n")], {"x": [3, 4]}, ["y"])
            kernel = by_name(dfsearch.read_onnx(made))["n"]
            self.assertEqual((kernel["kind"], kernel["M"] * kernel["N"]), ("elementwise", 12))
        made = model([helper.make_node("SpaceToDepth", ["x"], ["d"], blocksize=2),
                      helper.make_node("Relu", ["d"], ["y"], "n")], {"x": [1, 3, 4, 6]}, ["y"])
        config = dfsearch.read_onnx(made)
        self.assertEqual(set(by_name(config)), {"n"})
        self.assertEqual(_product(by_name(config)["n"][key] for key in ("outer", "M", "N")), 72)

    def test_numbers_of_an_unknown_count_are_known_before_a_run(self):
        node = helper.make_node
        made = model([node("Shape", ["x"], ["sizes"]), node("Size", ["sizes"], ["rank"]),
                      node("ConstantOfShape", ["rank"], ["ones"]),
                      node("Concat", ["sizes", "ones"], ["all"], axis=0),
                      node("Relu", ["x"], ["y"], "n")], {"x": [3, 4]}, ["y", "all"])
        self.assertEqual(set(by_name(dfsearch.read_onnx(made))), {"n"})

    def test_what_nobody_reads_needs_no_shape(self):
        node = helper.make_node
        made = model([node("MatMul", ["x", "w"], ["a"], "up"),
                      node("Dropout", ["a"], ["b", "mask"], "drop"),
                      node("Strange", ["a"], ["unread"], "strange", domain="own"),
                      node("MatMul", ["b", "w"], ["y"], "down")], {"x": [4, 6]}, ["y"],
                     [weight("w", 6, 6)], opset=9)
        made.opset_import.append(helper.make_opsetid("own", 1))
        self.assertEqual(set(by_name(dfsearch.read_onnx(made))), {"up", "down"})

    def test_words_are_those_of_what_products_read(self):
        node, kinds = helper.make_node, {1: "4 B", 10: "2 B", 16: "2 B", 11: "8 B"}
        for kind, word in kinds.items():
            given = helper.make_tensor_value_info("x", kind, [4, 6])
            constant = node("Constant", [], ["w"], value=helper.make_tensor(
                "w", kind, [6, 8], bytes(48 * {1: 4, 11: 8}.get(kind, 2)), raw=True))
            graph = helper.make_graph([constant, node("MatMul", ["x", "w"], ["y"], "m")], "test",
                                      [given], [helper.make_tensor_value_info("y", kind, None)])
            made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
            self.assertEqual(dfsearch.read_onnx(made)["workload"]["word"], word)
        # Integers with their scale behind them, as exported from PyTorch.
        made = model([node("QuantizeLinear", ["x", "s"], ["q"], "q"),
                      node("DequantizeLinear", ["q", "s"], ["d"], "d"),
                      node("DequantizeLinear", ["w", "s"], ["v"], "v"),
                      node("MatMul", ["d", "v"], ["y"], "m")], {"x": [4, 6]}, ["y"],
                     [helper.make_tensor("w", TensorProto.INT8, [6, 8], bytes(48), raw=True),
                      weight("s")])
        self.assertEqual(dfsearch.read_onnx(made)["workload"]["word"], "1 B")

    def test_shapes_of_the_file_stand_where_onnx_finds_none(self):
        node = helper.make_node  # onnx 1.12 crashes on the shape of a tensor without one
        made = model([node("Odd", ["x"], ["a"], "odd", domain="own"),
                      node("Shape", ["a"], ["s"], "shape"),
                      node("Expand", ["a", "s"], ["b"], "expand"),
                      node("Relu", ["b"], ["y"], "end")], {"x": [4, 6]}, ["y"], opset=15)
        made.opset_import.append(helper.make_opsetid("own", 1))
        made.graph.value_info.append(helper.make_tensor_value_info("a", TensorProto.FLOAT, ["n", 3]))
        config = dfsearch.read_onnx(made, sizes={"n": 8}, unknown="elementwise")
        self.assertEqual([by_name(config)["end"][k] for k in ("M", "N")], [3, 8])
        del made.graph.value_info[:]
        self.assertIn("odd: the shape of 'a', of the operator Odd", self.refused(made))

    def test_sizes_are_asked_for_and_checked_all_at_once(self):
        message = self.refused(attention_model(), sizes={"batch": 0, "token": 3})
        for part in ("expected a whole number from 1 for batch, got 0", "no dimension 'token'",
                     "'tokens' has no size"):
            self.assertIn(part, message)
        self.assertIn("sequence: expected", self.refused(attention_model(), sequence=0,
                                                         sizes={"batch": 1, "tokens": 3}))

    def test_unknown_operators_are_refused_by_name_or_count_as_elementwise(self):
        strange = model([helper.make_node("Relu", ["x"], ["a"], "first"),
                         helper.make_node("Det", ["a"], ["b"], "det"),
                         helper.make_node("Det", ["b"], ["c"], "last")],
                        {"x": [6, 6, 6, 6]}, ["c"])
        message = self.refused(strange)
        self.assertIn("det: the operator Det is not known", message)
        with self.assertWarnsRegex(UserWarning, r"elementwise: Det \(2\)"):
            config = dfsearch.read_onnx(strange, unknown="elementwise")
        self.assertEqual(set(by_name(config)), {"first", "det", "last"})

    def test_unknown_operators_with_weights_and_graphs_of_their_own_are_refused(self):
        node = helper.make_node
        heavy = model([node("Dense", ["x", "w", "b"], ["y"], "dense", domain="own")],
                      {"x": [4, 6]}, ["y"], [weight("w", 6, 8), weight("b", 8)])
        heavy.opset_import.append(helper.make_opsetid("own", 1))
        self.assertIn("dense: the operator Dense is not known and has weights of 6 x 8",
                      self.refused(heavy, unknown="elementwise"))
        inner = helper.make_graph([node("Relu", ["x"], ["r"])], "inner", [], [
            helper.make_tensor_value_info("r", TensorProto.FLOAT, [4, 6])])
        for kind, keys in (("If", ("then_branch", "else_branch")), ("Loop", ("body",)),
                           ("Scan", ("body",))):
            nested = model([node(kind, ["c"], ["y"], "nested", **dict.fromkeys(keys, inner))],
                           {"x": [4, 6], "c": [1]}, ["y"])
            for unknown in ("refuse", "elementwise"):
                self.assertIn(f"nested: the operator {kind} runs a graph of its own",
                              self.refused(nested, unknown=unknown))

    def test_operators_that_onnx_does_not_know_have_the_shape_of_their_first_input(self):
        node = helper.make_node
        of_microsoft = {"Gelu": (), "FastGelu": ("bias",), "BiasGelu": ("bias",), "QuickGelu": (),
                        "SkipLayerNormalization": ("x", "bias"),
                        "SkipSimplifiedLayerNormalization": ("x", "bias")}
        of_onnx = {"Gelu": 20, "Swish": 24, "Mish": 18, "RMSNormalization": 23,
                   "SimplifiedLayerNormalization": 13, "LayerNormalization": 13}
        cases = [(kind, "com.microsoft", 13, more) for kind, more in of_microsoft.items()]
        cases += [(kind, "", opset, ("bias",) if "Norm" in kind else ())
                  for kind, opset in of_onnx.items()]
        for kind, domain, opset, more in cases:
            made = model([node("MatMul", ["x", "w"], ["h"], "up"),
                          node(kind, ["h", *more], ["a"], "act", domain=domain),
                          node("MatMul", ["a", "w"], ["y"], "down")],
                         {"x": ["batch", 8, 64]}, ["y"], [weight("w", 64, 64), weight("bias", 64)],
                         opset=opset)
            if domain:
                made.opset_import.append(helper.make_opsetid(domain, 1))
            kernels = by_name(dfsearch.read_onnx(made, sizes={"batch": 2}))
            sums = {"RMS": 1, "Sim": 1, "Lay": 2}.get(kind[:3], 1 if "Simplified" in kind else
                                                      2 if "Norm" in kind else 0)
            self.assertEqual([kernels["act"].get(k, 0) for k in ("outer", "M", "N", "coupled")],
                             [1, 64, 2 * 8, sums], kind)
            self.assertEqual([kernels["down"][k] for k in ("M", "K", "N")], [64, 64, 2 * 8], kind)

    def test_shapes_that_cannot_be_inferred_are_broadcast_or_said_by_the_model(self):
        def strange(left, right, said=None):
            made = model([helper.make_node("Relu", ["x"], ["a"], "first"),
                          helper.make_node("Mix", ["a", "b"], ["m"], "mix", domain="own"),
                          helper.make_node("Tanh", ["m"], ["y"], "last")],
                         {"x": left, "b": right}, ["y"])
            made.opset_import.append(helper.make_opsetid("own", 1))
            if said:
                made.graph.value_info.append(
                    helper.make_tensor_value_info("m", TensorProto.FLOAT, said))
            return made

        def elements(config, name):
            kernel = by_name(config)[name]
            return [kernel["outer"], kernel["N"], kernel["M"]]
        for left, right in (([4, 1, 6], [5, 6]), ([3, 4, 5, 6], [1, 1, 6]), ([2, 7], [1])):
            config = dfsearch.read_onnx(strange(left, right), unknown="elementwise")
            shape = [1, 1, *numpy.broadcast_shapes(left, right)]
            if len(shape) == 5:  # samples of three dimensions are columns
                shape[-2:] = [shape[-3] * shape[-2], shape[-1]]
                shape[-3] = 1
            wanted = [_product(shape[:-2]), *shape[-2:]]
            for name in ("mix", "last"):
                self.assertEqual(elements(config, name), wanted, (left, right))
        message = self.refused(strange([4, 6], [6]))
        for part in ("mix: the shape of 'm', of the operator Mix, cannot be inferred",
                     "--unknown elementwise", "a value_info of the model"):
            self.assertIn(part, message)
        self.assertEqual(message.count("cannot be inferred"), 1)
        # [4, 6] and [5] have no shape in common.
        message = self.refused(strange([4, 6], [5]), unknown="elementwise")
        self.assertIn("expected a value_info", message)
        self.assertNotIn("--unknown", message)
        said = dfsearch.read_onnx(strange([4, 6], ["n"], ["n", 3]), sizes={"n": 5},
                                  unknown="elementwise")
        for name in ("mix", "last"):
            self.assertEqual(elements(said, name), [1, 5, 3])
        self.assertIn("the operator Mix is not known", self.refused(strange([4], [5], [3])))

    def test_of_what_cannot_be_inferred_each_operator_is_told_once(self):
        node, end, nodes = helper.make_node, "x", []
        for i in range(5):  # what comes after the first one has no shape either
            nodes += [node("Odd", [end], [f"o{i}"], f"odd{i}", domain="own"),
                      node("Gelu", [f"o{i}"], [f"g{i}"], f"gelu{i}"),
                      node("Add", [f"g{i}", "x"], [f"s{i}"], f"sum{i}")]
            end = f"s{i}"
        nodes.append(node("Strange", [end, "x"], ["y"], "last", domain="own"))
        made = model(nodes, {"x": [4, 6]}, ["y"])
        made.opset_import.append(helper.make_opsetid("own", 1))
        first, last = self.refused(made).splitlines()
        self.assertTrue(first.startswith("odd0: the shape of 'o0', of the operator Odd"), first)
        self.assertTrue(first.endswith(" (and 4 more)"), first)
        self.assertTrue(last.startswith("last: the shape of 'y', of the operator Strange"), last)
        self.assertEqual(len(by_name(dfsearch.read_onnx(made, unknown="elementwise"))), 16)

    def test_unknown_operators_on_the_command_line(self):
        strange = model([helper.make_node("Relu", ["x"], ["a"], "first"),
                         helper.make_node("Det", ["a"], ["b"], "last")], {"x": [4, 6, 6]}, ["b"])
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "m.onnx")
            onnx.save(strange, str(file))

            def said(*words):
                return subprocess.run([PROGRAM, *words], text=True, capture_output=True)
            told = said("import", str(file))
            self.assertEqual(told.returncode, 2)
            self.assertIn("(--unknown elementwise on the command line)", told.stderr)
            made = said("import", str(file), "--unknown", "elementwise")
            self.assertEqual(made.stderr, f"{file}: note: taken as elementwise: Det (1)\n")
            self.assertEqual(json.loads(made.stdout),
                             dfsearch.read_onnx(strange, unknown="elementwise"))
            at_once = said(str(file), "--unknown", "elementwise", "--system", "sn10_8x1_ring",
                           "--quiet", "--json", "-")
            self.assertEqual(json.loads(at_once.stdout)["status"], "optimal")
            self.assertIn("did you mean 'elementwise'?",
                          said("import", str(file), "--unknown", "elementwis").stderr)
            self.assertIn("--unknown: only models of ONNX",
                          said("gpt3_1t", "--unknown", "refuse").stderr)

    def test_damaged_files_are_told_in_one_line(self):
        whole = model([helper.make_node("MatMul", ["x", "w"], ["a"], "first"),
                       helper.make_node("Relu", ["a"], ["b"], "last")], {"x": [4, 6], "w": [6, 8]},
                      ["b"]).SerializeToString()
        draw = random.Random(7)
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.filterwarnings("ignore", "taken as elementwise")
            file = pathlib.Path(folder, "m.onnx")
            refused = 0
            for _ in range(2000):
                damaged = bytearray(whole)
                for _ in range(draw.randint(1, 4)):
                    damaged[draw.randrange(len(damaged))] = draw.randrange(256)
                file.write_bytes(damaged[:draw.randint(1, 2 * len(damaged))])
                try:
                    dfsearch.read_onnx(file, unknown="elementwise")
                except dfsearch.InputError as error:  # and nothing else
                    refused += 1
                    self.assertLess(len(str(error)), 2000)
            self.assertGreater(refused, 500)
            file.write_bytes(b"\xf4" + whole)  # warns of bytes that are left over
            command = [sys.executable, "-m", "dfsearch", "import", str(file)]
            told = subprocess.run(command, text=True, capture_output=True)
            self.assertEqual((told.returncode, told.stderr.count("\n")), (2, 1), told.stderr)
            self.assertIn("m.onnx: is no model of ONNX", told.stderr)

    def test_names_that_stand_twice_and_files_that_are_none(self):
        node = helper.make_node
        config = dfsearch.read_onnx(model([node("Relu", ["x"], ["a"], "r"),
                                           node("Relu", ["a"], ["b"], "r")], {"x": [4]}, ["b"]))
        self.assertEqual(set(by_name(config)), {"r", "r~2"})
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "no.onnx")
            self.assertIn("No such file", self.refused(file))
            file.write_text("workload: {kind: graph}\n")
            self.assertIn("is no model of ONNX", self.refused(file))
        nothing = model([node("Shape", ["x"], ["a"], "s")], {"x": [4]}, ["a"], kind=TensorProto.INT64)
        self.assertIn("computes nothing", self.refused(nothing))

    def test_from_the_command_line_to_a_result(self):
        with tempfile.TemporaryDirectory() as folder:
            file, config = pathlib.Path(folder, "m.onnx"), pathlib.Path(folder, "m.json")
            onnx.save(attention_model(), str(file))
            command = [sys.executable, "-m", "dfsearch", "import", str(file), "--size", "batch=1"]
            ended = subprocess.run(command, text=True, capture_output=True)
            self.assertEqual(ended.returncode, 2)
            self.assertIn("'tokens' has no size", ended.stderr)
            subprocess.run([*command, "--size", "tokens=64", "--system", "sn10_8x1_ring", "-o",
                            str(config)], check=True)
            answer = subprocess.run([PROGRAM, str(config), "--json", "-", "--quiet"], text=True,
                                    capture_output=True, check=True)
            self.assertEqual(json.loads(answer.stdout)["status"], "optimal")
            # The program does both at once.
            sizes = ["--size", "batch=1", "--size", "tokens=64"]
            at_once = subprocess.run([PROGRAM, str(file), *sizes, "--system", "sn10_8x1_ring",
                                      "--json", "-", "--quiet"], text=True, capture_output=True,
                                     check=True)
            times = [json.loads(done.stdout)["step_time"] for done in (answer, at_once)]
            self.assertEqual(times[0], times[1])
            written = subprocess.run([PROGRAM, "import", str(file), *sizes], text=True,
                                     capture_output=True, check=True)
            self.assertEqual({**json.loads(written.stdout), "system": {"from": "sn10_8x1_ring"}},
                             json.loads(config.read_text()))
            for words, message in (
                    ([], f"{file}: sizes: the dimension 'tokens' has no size, expected --size"),
                    (sizes, "m.onnx: this file has a model but no machine; expected --system NAME")):
                told = subprocess.run([PROGRAM, str(file), *words], text=True, capture_output=True)
                self.assertEqual(told.returncode, 2)
                self.assertIn(message, told.stderr)
            page = pathlib.Path(folder, "page.html")
            subprocess.run([PROGRAM, str(file), *sizes, "--system", "sn10_8x1_ring", "--quiet",
                            "--html", str(page)], capture_output=True, check=True)
            self.assertIn("weight_gemm", page.read_text())

    def test_weights_are_not_kept_and_numbers_of_shapes_are(self):
        before = dfsearch.read_onnx(attention_model(), sizes={"batch": 1, "tokens": 8})
        given = attention_model()
        for tensor in given.graph.initializer:
            if tensor.name.startswith("w_"):
                tensor.ClearField("raw_data")
        self.assertEqual(dfsearch.read_onnx(given, sizes={"batch": 1, "tokens": 8}), before)
        # Files of more than the program reads of any other: 32 MiB of weights.
        large = model([helper.make_node("MatMul", ["x", "w"], ["y"], "m")], {"x": [4, 2048]}, ["y"],
                      [weight("w", 2048, 4096)])
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "large.onnx")
            onnx.save(large, str(file))
            found = dfsearch.solve(file, changes={"system": SYSTEM}, threads=1)
            shown = subprocess.run([PROGRAM, str(file), "--system", SYSTEM["from"], "--quiet",
                                    "--json", "-"], text=True, capture_output=True, check=True)
            self.assertEqual(json.loads(shown.stdout)["step_time"], found.step_time)


class Value:
    """As the values of torch: a shape, and bytes of an element."""

    def __init__(self, *shape):
        self.shape = shape

    def element_size(self):
        return 2


def torch_program():
    """What torch.export writes for relu(x W1 + b) W2 with attention of 4 heads after it."""
    nodes, named = [], {}

    def add(op, name, target, args, *shape):
        arguments = tuple(named.get(a, a) if isinstance(a, str) else a for a in args)
        named[name] = types.SimpleNamespace(op=op, name=name, target=target, args=arguments,
                                            kwargs={}, meta={"val": Value(*shape)})
        nodes.append(named[name])

    for name, shape in {"p_w1": (256, 64), "p_b": (256,), "p_w2": (64, 256), "x": (32, 64)}.items():
        add("placeholder", name, name, (), *shape)
    add("call_function", "t", "aten.t.default", ("p_w1",), 64, 256)
    add("call_function", "addmm", "aten.addmm.default", ("p_b", "x", "t"), 32, 256)
    add("call_function", "relu", "aten.relu.default", ("addmm",), 32, 256)
    add("call_function", "linear", "aten.linear.default", ("relu", "p_w2"), 32, 64)
    add("call_function", "view", "aten.view.default", ("linear", [1, 32, 4, 16]), 1, 32, 4, 16)
    add("call_function", "heads", "aten.permute.default", ("view", [0, 2, 1, 3]), 1, 4, 32, 16)
    add("call_function", "attend", "aten.scaled_dot_product_attention.default",
        ("heads", "heads", "heads", None, 0.0, True), 1, 4, 32, 16)
    nodes.append(types.SimpleNamespace(op="output", name="output", target="output",
                                       args=(named["attend"],), kwargs={}, meta={}))
    signature = types.SimpleNamespace(
        inputs_to_parameters={"p_w1": "w1", "p_b": "b", "p_w2": "w2"}, inputs_to_buffers={})
    return types.SimpleNamespace(graph=types.SimpleNamespace(nodes=nodes), graph_signature=signature)


class Torch(unittest.TestCase):
    def test_a_program_has_its_products_and_attention(self):
        config = dfsearch.read_torch(torch_program(), sequence=32)
        kernels = by_name(config)
        self.assertEqual(set(kernels), {"addmm", "relu", "linear", "attend"})
        self.assertEqual(flop(config), 2 * 32 * 64 * 256 * 2)
        self.assertEqual([kernels["linear"][k] for k in ("kind", "M", "K", "N")],
                         ["weight_gemm", 64, 256, 32])
        self.assertEqual(kernels["attend"]["attention"], {"keys": 32, "causal": True})
        self.assertEqual(edges(config), {("addmm", "relu", 1), ("relu", "linear", 1),
                                         *(("linear", "attend", i) for i in (1, 2, 3))})
        self.assertEqual(config["workload"]["word"], "2 B")
        self.assertTrue(dfsearch.solve({**config, "system": SYSTEM}, threads=1).proved)

    def test_what_is_not_known_is_refused_by_name(self):
        program = torch_program()
        program.graph.nodes[6].target = "aten.special_thing.default"
        with self.assertRaises(dfsearch.InputError) as caught:
            dfsearch.read_torch(program)
        self.assertIn("special_thing is not known", str(caught.exception))
        program.graph.nodes[6].meta["val"].shape = ("s0", 256)
        with self.assertRaises(dfsearch.InputError) as caught:
            dfsearch.read_torch(program)
        self.assertIn("export without dynamic shapes", str(caught.exception))


if __name__ == "__main__":
    if not HAS_ONNX:
        print("skipped: python3-onnx is not installed")
    unittest.main()
