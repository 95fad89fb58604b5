"""Models of ONNX as configs.

    config = dfsearch.read_onnx("model.onnx", sizes={"batch": 8}, sequence=512)
    dfsearch.solve({**config, "system": {"from": "sn10_8x1_ring"}})

Quantized and fused operators are the operator whose work they do, on their data and weights alone.
"""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Optional

from ._arguments import named, path as path_of, whole
from ._errors import InputError
from ._graphs import AS_FIRST, Graph, Value
from ._shapes import Shapes, drop_weights, einsum_terms, find_shapes, is_known_to, live_nodes, plain

_WORD_BITS = {"FLOAT": 32, "FLOAT16": 16, "BFLOAT16": 16, "DOUBLE": 64, "INT8": 8, "UINT8": 8,
              "FLOAT8E4M3FN": 8, "FLOAT8E4M3FNUZ": 8, "FLOAT8E5M2": 8, "FLOAT8E5M2FNUZ": 8,
              "INT4": 4, "UINT4": 4, "FLOAT4E2M1": 4}
_GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
_PRODUCTS = {*_GATES, "Conv", "ConvTranspose", "Einsum", "Gemm", "MatMul", "MatMulNBits"}
_SAME_NUMBERS = {"Cast", "DequantizeLinear", "Identity", "Reshape", "Transpose"}


@named
def read_onnx(model: Any, *, sizes: Mapping[str, int] | None = None, sequence: int | None = None,
              unknown: str = "refuse") -> dict:
    """The config of a model of ONNX, without a system; needs the package onnx.

    model       a file, or a ModelProto
    sizes       of dimensions that the model names: {"batch": 8, "tokens": 512}
    sequence    the extent that is cut into tiles: kernels are whose columns are a multiple
    unknown     "elementwise": operators that are not known and have no weights count as such, and a
                UserWarning lists them
    """
    if sizes is not None and not isinstance(sizes, Mapping):
        raise TypeError(f"sizes: expected a dictionary, got {sizes!r}")
    numbers = {name: whole(f"sizes: {name}", size) for name, size in (sizes or {}).items()}
    try:
        import onnx
    except ImportError as error:
        raise ImportError("read_onnx needs the package onnx: apt install python3-onnx, or "
                          "pip install onnx") from error
    if not isinstance(model, onnx.ModelProto):
        path = path_of("model", model, "the name of a file or a ModelProto")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", RuntimeWarning)  # of bytes that are left over
                model = onnx.load(path, load_external_data=False)
        except OSError as error:
            raise InputError(f"{path}: {error.strerror}") from error
        except Exception as error:  # of protobuf, whatever the release calls it
            raise InputError(f"{path}: is no model of ONNX") from error
        drop_weights(model)
    try:
        return _config_of(onnx, model, numbers, sequence, unknown)
    except (AttributeError, IndexError, KeyError, TypeError, UnicodeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"is a damaged model of ONNX, whose graph makes no sense: {error}"
                         ) from error


def _config_of(onnx: Any, model: Any, sizes: dict[str, int], sequence: int | None,
               unknown: str) -> dict:
    live = live_nodes(onnx, model)
    nested = [f"{node.name or node.output[0]}: the operator {node.op_type} runs a graph of its own, "
              "as often as a run decides: expected a model without it"
              for node in live if any(a.HasField("g") or a.graphs for a in node.attribute)]
    if nested:
        raise InputError(nested)
    found = find_shapes(onnx, model, live, sizes, AS_FIRST, unknown == "elementwise")
    words = _Words(onnx, found, live)

    def add_to(graph: Graph) -> None:
        for weight in found.numbers:
            graph.known(weight, found.shapes[weight] or ())
        for given in model.graph.input:
            if given.name not in graph.values:
                graph.values[given.name] = Value(found.shapes.get(given.name))
        for node in found.nodes:
            _Node(onnx, graph, node, found, words).add(is_known_to(onnx, model, node))

    graph = Graph.read(sequence, unknown, add_to)
    return graph.config(words.most_common())


class _Words:
    """Bits of an element by how many elements products read, or other kernels without products."""

    def __init__(self, onnx: Any, found: Shapes, nodes: Sequence[Any]):
        self._name, self._found = onnx.TensorProto.DataType.Name, found
        self._makers = {output: node for node in nodes for output in node.output}
        self._read: dict[bool, Counter[int]] = {True: Counter(), False: Counter()}

    def count(self, names: Sequence[str], are_of_product: bool) -> None:
        for name in names:
            seen = set()
            while name in self._makers and name not in seen:
                seen.add(name)  # a damaged graph has cycles
                maker = self._makers[name]
                if maker.op_type not in _SAME_NUMBERS or not maker.input[0]:
                    break
                name = maker.input[0]
            bits = _WORD_BITS.get(self._name(self._found.types.get(name, 0)))
            if bits:
                self._read[are_of_product][bits] += max(
                    1, math.prod(n or 1 for n in self._found.shapes.get(name) or ()))

    def most_common(self) -> int:
        read = self._read[True] or self._read[False]
        return max(read, key=lambda bits: (read[bits], bits)) if read else 16


class _Node:
    """An operator, which becomes kernels, a view or nothing."""

    def __init__(self, onnx: Any, graph: Graph, node: Any, found: Shapes, words: _Words):
        self.graph, self.found, self.words, self.node = graph, found, words, node
        self.kind, self.inputs = plain(node)
        self.outputs = [name for name in node.output if name in found.read]
        self.name = node.name or self.outputs[0]
        self.attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}

    def add(self, is_known: bool) -> None:
        graph, shapes, kind = self.graph, self.found.shapes, self.node.op_type
        values = [graph.values[name] for name in self.inputs if name in graph.values]
        is_lost = not graph.lost.isdisjoint(self.node.input)
        if not is_lost and (all(v.is_known for v in values) or kind in ("Shape", "Size")):
            for output in self.outputs:
                shape = shapes.get(output)
                graph.known(output, () if shape is None or None in shape else shape)
            return
        is_product = self.kind in _PRODUCTS
        if not is_product and graph.refuse_weights(self.kind, self.name, values):
            return self._lose()
        unknown = [o for o in self.outputs if shapes.get(o) is None or None in shapes[o]]
        if unknown and not (is_lost and (is_known or kind in AS_FIRST)):
            graph.refuse(self.name, f"the shape of '{unknown[0]}', of the operator {kind}, cannot "
                         f"be inferred: {_remedy(graph, is_known)}", kind)
        if unknown or is_lost:
            return self._lose()
        sized = [(output, shapes[output]) for output in self.outputs]
        if is_product:
            is_product = self._add_product(sized, values)
        else:
            graph.operator(self.kind, self.name, sized, values)
        self.words.count(self.inputs[:2 if is_product else None], is_product)
        for output, shape in sized:
            if output not in graph.values:  # refused
                graph.known(output, shape)

    def _lose(self) -> None:
        self.graph.lost.update(self.outputs)
        for output in self.outputs:
            self.graph.known(output, ())

    def _add_product(self, sized: list[tuple[str, tuple]], values: list[Value]) -> bool:
        """Whether it is one after all, as not each Einsum is."""
        graph, name, (output, shape), attributes = self.graph, self.name, sized[0], self.attributes
        if self.kind == "MatMulNBits":
            weight = Value((attributes["K"], attributes["N"]), is_known=True)
            self.inputs = self.inputs[:1]  # the bits of a weight are none of the graph's word
            graph.product(name, output, shape, values[0], weight)
        elif self.kind == "MatMul":
            graph.product(name, output, shape, *values[:2])
        elif self.kind == "Gemm":
            left, right = ((Value(v.shape[::-1], v.kernel, v.is_known) if attributes.get(key) else v)
                           for v, key in zip(values, ("transA", "transB")))
            graph.product(name, output, shape, left, right)
        elif self.kind == "Conv":
            graph.convolution(name, output, shape, *values[:2])
        elif self.kind == "ConvTranspose":
            graph.transposed_convolution(name, output, shape, *values[:2],
                                         attributes.get("group", 1))
        elif self.kind == "Einsum":
            return self._add_einsum(output, shape, values)
        else:
            self._add_recurrent(sized, values)
        return True

    def _add_recurrent(self, sized: list[tuple[str, tuple]], values: list[Value]) -> None:
        data, weight, state = values[:3]
        if not (weight.is_known and state.is_known):
            return self.graph.refuse(self.name, f"the operator {self.kind} computes its weights")
        directions, rows, inputs = weight.shape
        gates = _GATES[self.kind]
        steps = data.shape[1 if self.attributes.get("layout") else 0]
        self.graph.lstm(self.name, sized, data, gates, (directions, inputs, rows // gates), steps)

    def _add_einsum(self, output: str, shape: tuple, values: list[Value]) -> bool:
        """A product of two operands, or else elementwise with sums."""
        terms, result, size = einsum_terms(self.attributes["equation"],
                                           [v.shape for v in values])
        if len(terms) > 2:
            self.graph.refuse(self.name, "the operator Einsum has more than two operands", "Einsum")
            return True
        summed = set().union(*terms) - set(result)
        if len(terms) < 2 or not summed & set(terms[0]) & set(terms[1]):
            is_view = len(terms) < 2 and not summed and len(set(terms[0])) == len(terms[0])
            self.graph.operator("Transpose" if is_view else "ReduceSum" if summed else "Mul",
                                self.name, [(output, shape)], values)
            return False
        left, right = map(set, terms)

        def extent(labels: set[str]) -> int:
            return math.prod(size[label] for label in labels)
        batch = extent(left & right & set(result))
        rows, columns = extent(left & set(result) - right), extent(right & set(result) - left)
        k = extent(left & right - set(result))
        sides = [Value((batch, *part), v.kernel, v.is_known)
                 for v, part in zip(values, ((rows, k), (k, columns)))]
        self.graph.product(self.name, output, (batch, rows, columns), *sides)
        self.graph.values[output].shape = shape
        return True


def _remedy(graph: Graph, is_known: bool) -> str:
    if is_known or graph.as_elementwise:
        return "expected a value_info of the model with its sizes"
    return ("unknown='elementwise' (--unknown elementwise on the command line) takes that of its "
            "inputs, else a value_info of the model says it")
