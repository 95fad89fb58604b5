"""Reads graphs of other tools, ONNX models and programs of torch.export, as configs.

Matrix products become kernels `weight_gemm` or `gemm`; other operators that compute become
elementwise kernels. Views of a tensor (Reshape, Transpose, Slice, Cast) and values that are known
before a run (weights, arithmetic of shapes) become no kernels. Unknown operators are refused by
name, unless `unknown` is 'elementwise' and they have no weights. Only the forward pass is read. The
result is a config (docs/formats.md) without its `system`.
"""

from __future__ import annotations

import math
import re
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Optional

from ._arguments import count, named
from ._errors import InputError, one_line

Shape = Sequence[int]

_VIEWS = set("""Cast CastLike DepthToSpace Dropout Expand Flatten Identity Reshape Slice SpaceToDepth
    Split Squeeze Transpose Unsqueeze
    _assert_tensor_metadata _to_copy _unsafe_view alias clone contiguous detach dropout expand
    getitem lift_fresh_copy permute reshape select slice split split_with_sizes squeeze t to
    transpose type_as unflatten unsqueeze view flatten chunk""".split())
_ELEMENTWISE = set("""Abs Acos Acosh Add And ArgMax ArgMin Asin Asinh Atan Atanh AveragePool
    BatchNormalization Bernoulli BitShift BitwiseAnd BitwiseNot BitwiseOr BitwiseXor Ceil Celu Clip
    Concat Cos Cosh CumSum Div Elu Equal Erf Exp Floor Gather GatherElements GatherND
    GlobalAveragePool GlobalMaxPool Greater GreaterOrEqual GridSample HardSigmoid HardSwish Hardmax
    IsInf IsNaN LRN LeakyRelu Less LessOrEqual Log Max MaxPool Mean Min Mod Mul Neg Not OneHot Or
    PRelu Pad Pow Reciprocal Relu Resize Round Selu ReverseSequence Scatter Shrink Sigmoid Sign Sin
    Sinh Softplus Softsign Sqrt Sub Sum Tan Tanh ThresholdedRelu Tile TopK Trilu Upsample Where Xor
    ScatterElements ScatterND DequantizeLinear QuantizeLinear DynamicQuantizeLinear
    abs add amax amin argmax bitwise_not bitwise_and avg_pool2d adaptive_avg_pool2d cat clamp cos
    constant_pad_nd copy cumsum div embedding eq erf exp fill ge gelu gt hardsigmoid hardswish
    index index_select le leaky_relu log logical_and logical_not lt masked_fill max_pool2d
    max_pool2d_with_indices maximum minimum mul ne neg one_hot pow reciprocal relu remainder
    rsqrt rsub scatter sigmoid silu sin sqrt stack sub tanh topk tril triu where gather""".split())
# Operators whose output has the shape of their first input, which onnx does not infer in all
# releases, nor for com.microsoft; with the number of sums as in _COUPLED.
AS_FIRST = {"BiasGelu": 0, "FastGelu": 0, "Gelu": 0, "Mish": 0, "QuickGelu": 0, "Swish": 0,
             "RotaryEmbedding": 0, "LayerNormalization": 2, "GroupNormalization": 2,
             "RMSNormalization": 1, "SimplifiedLayerNormalization": 1, "SkipLayerNormalization": 2,
             "SkipSimplifiedLayerNormalization": 1}
# The number of sums over a row on which each of its elements depends.
_COUPLED = {**AS_FIRST, "Softmax": 2, "LogSoftmax": 2, "InstanceNormalization": 2,
            "LpNormalization": 1, "MeanVarianceNormalization": 2,
            "_softmax": 2, "softmax": 2, "_log_softmax": 2, "log_softmax": 2,
            "native_layer_norm": 2, "layer_norm": 2, "group_norm": 2, "native_group_norm": 2,
            "batch_norm": 0, "_native_batch_norm_legit_no_training": 0, "rms_norm": 1}
_REDUCTION = re.compile(r"Reduce\w+$|(sum|mean|var|std|amax|amin|max|min|any|all|prod)$")


@dataclass
class Value:
    """A tensor: the output of a kernel or a part of it; without a kernel an input of the model."""
    shape: Shape
    kernel: Optional[int] = None
    is_known: bool = False  # before a run


class Graph:
    """Kernels and tensors, from operators in the order of their execution."""

    def __init__(self, sequence: int | None, unknown: str, is_flat: bool):
        """`is_flat`: samples are columns of elementwise kernels, as in products with a weight."""
        if sequence is not None:
            sequence = count("sequence", sequence)
        if unknown not in ("refuse", "elementwise"):
            raise InputError(f"unknown: expected 'refuse' or 'elementwise', got '{unknown}'")
        self.sequence = sequence
        self.as_elementwise = unknown == "elementwise"
        self.is_flat = is_flat
        self.values: dict[str, Value] = {}
        self.lost: set[str] = set()  # outputs without a shape, and all that depend on them
        self.refused: dict[str, list[str]] = {}
        self.taken: Counter[str] = Counter()  # unknown operators that count as elementwise
        self.kernels: list[dict] = []
        self._tensors: list[dict] = []
        self._names: set[str] = set()
        self._parts: dict[tuple[int, int], int] = {}

    def refuse(self, node: str, why: str, kind: str = "") -> None:
        """Records an error; the messages of one operator `kind` are printed as one."""
        self.refused.setdefault(kind or f"{node}: {why}", []).append(one_line(f"{node}: {why}"))

    def refuse_weights(self, kind: str, name: str, inputs: Sequence[Value]) -> bool:
        """Refuses an unknown operator with weights, which cannot be elementwise; true if so."""
        weight = next((v.shape for v in inputs if v.is_known and v.shape is not None
                       and sum(size > 1 for size in v.shape) > 1), None)
        if (weight is None or not self.as_elementwise or kind in _VIEWS or kind in _COUPLED
                or _is_elementwise(kind)):
            return False
        self.refuse(name, f"the operator {kind} is not known and has weights of "
                    f"{' x '.join(map(str, weight))}, so it is not elementwise", kind)
        return True

    def view(self, output: str, source: Value, shape: Shape) -> None:
        self.values[output] = Value(shape, source.kernel, source.is_known)

    def known(self, output: str, shape: Shape) -> None:
        self.values[output] = Value(shape, is_known=True)

    def elementwise(self, name: str, output: str, shape: Shape, inputs: Sequence[Value],
                    flops: int = 1, coupled: int = 0) -> None:
        streamed = [value for value in inputs if not value.is_known]
        rows, columns, outer = _last(shape, -1), _last(shape, -2), math.prod(shape[:-2])
        if self.is_flat and len(shape) == 3:
            columns, outer = outer * columns, 1
        kernel = {"kind": "elementwise2" if len(streamed) > 1 else "elementwise",
                  "outer": outer, "M": rows, "N": columns}
        if coupled:
            kernel["coupled"] = coupled
        if flops > 1:
            kernel["element_flops"] = flops
        self._add(name, output, shape, kernel, [(v, min(i, 2)) for i, v in enumerate(streamed, 1)])

    def product(self, name: str, output: str, shape: Shape, left: Value, right: Value) -> None:
        """Adds [..., rows, k] x [..., k, columns]; either may be a weight."""
        a, b = list(left.shape), list(right.shape)
        a = [1] + a if len(a) == 1 else a
        b = b + [1] if len(b) == 1 else b
        k, rows, columns = a[-1], a[-2], b[-1]
        if b[-2] != k:
            return self.refuse(name, f"a product of {list(left.shape)} and {list(right.shape)}")
        outer = max(math.prod(a[:-2]), math.prod(b[:-2]),
                    math.prod(shape) // max(1, rows * columns))
        if len(b) == 2 or math.prod(b[:-2]) == 1:  # one matrix on the right for all on the left
            rows, outer = outer * rows, 1
        kernel = {"kind": "gemm", "outer": outer, "M": columns, "K": k, "N": rows}
        inputs = [(left, 2), (right, 1)]
        if right.is_known:
            kernel["kind"] = "weight_gemm"
            inputs = [(left, 1)]
            if math.prod(b[:-2]) not in (1, outer):
                kernel["matrices"] = math.prod(b[:-2])
        elif left.is_known:
            kernel.update(kind="weight_gemm", M=rows, N=columns)
            inputs = [(right, 1)]
            if math.prod(a[:-2]) < outer:
                kernel["matrices"] = math.prod(a[:-2])
        self._add(name, output, shape, kernel, inputs)

    def convolution(self, name: str, output: str, shape: Shape, data: Value,
                    weight: Value) -> None:
        """Adds [batch, channels, …] * [channels out, channels in / groups, …] as one product."""
        groups = data.shape[1] // weight.shape[1]
        self._add(name, output, shape,
                  {"kind": "weight_gemm", "outer": groups, "M": weight.shape[0] // groups,
                   "K": math.prod(weight.shape[1:]),
                   "N": shape[0] * math.prod(shape[2:])}, [(data, 1)])

    def transposed_convolution(self, name: str, output: str, shape: Shape, data: Value,
                               weight: Value, groups: int) -> None:
        """Adds the product with a weight of [channels in, channels out / groups, …]; summing the
        patches of the output is not counted."""
        self._add(name, output, shape,
                  {"kind": "weight_gemm", "outer": groups, "M": math.prod(weight.shape[1:]),
                   "K": weight.shape[0] // groups,
                   "N": data.shape[0] * math.prod(data.shape[2:])}, [(data, 1)])

    def attention(self, name: str, output: str, shape: Shape, query: Value, key: Value,
                  value: Value, causal: bool) -> None:
        """Adds fused attention of tensors [batch, heads, tokens, elements]."""
        batch, heads, tokens, elements = query.shape
        self._add(name, output, shape,
                  {"kind": "attention", "outer": batch * heads, "M": value.shape[-1],
                   "K": elements, "N": tokens,
                   "attention": {"keys": key.shape[-2], "causal": causal}},
                  [(query, 1), (key, 2), (value, 3)])

    def operator(self, kind: str, name: str, outputs: Sequence[tuple[str, Shape]],
                 inputs: Sequence[Value]) -> None:
        """Adds an operator that is not a product."""
        output, shape = outputs[0]
        if kind in _VIEWS and inputs:
            for output, shape in outputs:
                self.view(output, inputs[0], shape)
            return
        if self.refuse_weights(kind, name, inputs):
            return
        if kind in _COUPLED:
            self.elementwise(name, output, shape, inputs, coupled=_COUPLED[kind])
        elif _is_elementwise(kind) or self.as_elementwise:
            if not _is_elementwise(kind):
                self.taken[kind] += 1
            read = max((math.prod(v.shape) for v in inputs if not v.is_known), default=1)
            sums = bool(_REDUCTION.match(kind)) or "Pool" in kind or "pool" in kind
            self.elementwise(name, output, shape, inputs,
                             read // max(1, math.prod(shape)) if sums else 1)
        else:
            return self.refuse(name, f"the operator {kind} is not known; unknown='elementwise' "
                               "(--unknown elementwise on the command line) takes it as such", kind)
        for other, other_shape in outputs[1:]:
            self.view(other, self.values[output], other_shape)

    @classmethod
    def read(cls, sequence: int | None, unknown: str, add_to: Callable[[Graph], None]) -> Graph:
        """Reads a graph as flat; again as not flat if a product has a matrix for each sample."""
        graph = cls(sequence, unknown, is_flat=True)
        add_to(graph)
        if any(kernel["outer"] > 1 and "gemm" in kernel["kind"] or kernel["kind"] == "attention"
               for kernel in graph.kernels):
            graph = cls(sequence, unknown, is_flat=False)
            add_to(graph)
        return graph

    def lstm(self, name: str, outputs: Sequence[tuple[str, Shape]], data: Value, gates: int,
             sizes: tuple[int, int, int], steps: int) -> None:
        """Adds a recurrent layer (docs/model.md, LSTM); `sizes`: directions, inputs and hidden."""
        directions, inputs, hidden = sizes
        columns = math.prod(data.shape[:2])
        gate = {"outer": directions, "M": gates * hidden, "N": columns}
        parts = [(f"{name}_input", {"kind": "weight_gemm", **gate, "K": inputs}, [(data, 1)]),
                 (f"{name}_state", {"kind": "weight_gemm", **gate, "K": hidden}, [])]
        for part, kernel, read in parts:
            if steps > 1 and not read:
                kernel["steps"] = steps
            self._add(part, f"#{part}", (directions, gates * hidden, columns), kernel, read)
        cell = {"kind": "elementwise2", **gate, **({"steps": steps} if steps > 1 else {})}
        output, shape = outputs[0]
        self._add(name, output, shape, cell,
                  [(self.values[f"#{part}"], place) for place, (part, *_) in enumerate(parts, 1)])
        if steps > 1:
            rows = directions * hidden
            number = self._parts.setdefault((len(self.kernels) - 1, rows), len(self._parts))
            self._tensors.append({"from": self.kernels[-1]["name"], "value": number, "rows": rows,
                                  "to": self.kernels[-2]["name"], "operand": 1,
                                  "next_step": True})
        for other, other_shape in outputs[1:]:
            self.view(other, self.values[output], other_shape)

    def config(self, word_bits: int) -> dict:
        if self.refused:
            raise InputError("\n".join(
                f"{alike[0]} (and {len(alike) - 1} more)" if len(alike) > 1 else alike[0]
                for alike in self.refused.values()))
        if not self.kernels:
            raise InputError("the graph computes nothing: no operator has an input of the model")
        if self.taken:
            warnings.warn("taken as elementwise: " + ", ".join(
                f"{kind} ({number})" for kind, number in sorted(self.taken.items())), stacklevel=5)
        workload = {"kind": "graph", "word": f"{word_bits / 8:g} B"}
        if self.sequence:
            workload["sequence"] = self.sequence
        return {"workload": {**workload, "kernels": self.kernels, "tensors": self._tensors},
                "equations": {"shapes": "unchecked"}}  # they were inferred

    def _add(self, name: str, output: str, shape: Shape, kernel: dict,
             inputs: Sequence[tuple[Value, int]]) -> None:
        name = one_line(name)
        unique, number = name, 1
        while unique in self._names:
            number += 1
            unique = f"{name}~{number}"
        self._names.add(unique)
        if self.sequence and kernel["N"] % self.sequence:
            kernel["tiled"] = "none"
        this = len(self.kernels)
        self.kernels.append({"name": unique, **kernel})
        self.values[output] = Value(shape, this)
        for value, operand in inputs:
            if value.kernel is None:
                continue
            source = self.kernels[value.kernel]
            rows = self._rows_of_part(source, value)
            number = self._parts.setdefault((value.kernel, rows), len(self._parts))
            self._tensors.append({"from": source["name"], "to": unique, "operand": operand,
                                  "value": number, **({"rows": rows} if rows else {})})

    @staticmethod
    def _rows_of_part(source: dict, value: Value) -> int:
        """Rows of the part of the kernel's output; 0 if it is the whole output, or repeats it."""
        rows, columns = source["outer"] * source["M"], source["N"]
        if source["kind"] == "weight_gemm" or rows * columns > math.prod(value.shape):
            part = math.prod(value.shape) * rows // max(1, rows * columns)
            return max(1, part) if part < rows else 0
        return 0


def _last(shape: Shape, place: int) -> int:
    return shape[place] if len(shape) >= -place else 1


def _is_elementwise(kind: str) -> bool:
    return kind in _ELEMENTWISE or bool(_REDUCTION.match(kind))


@named
def read_torch(program: Any, *, sequence: int | None = None, unknown: str = "refuse") -> dict:
    """The config of an ExportedProgram of torch.export, whose sizes are numbers; without a system.

    Parameters and buffers of the module are weights; `sequence` and `unknown` as in read_onnx.
    """
    signature = program.graph_signature
    weights = {*signature.inputs_to_parameters, *signature.inputs_to_buffers}
    bits: list[int] = []

    def add_to(graph: Graph) -> None:
        for node in program.graph.nodes:
            if node.op == "placeholder":
                shape = _torch_shape(node)
                graph.values[node.name] = Value(shape or (), is_known=node.name in weights)
                if node.name in weights and shape and len(shape) > 1:
                    bits.append(8 * node.meta["val"].element_size())
            elif node.op == "call_function":
                _add_torch(graph, node)

    graph = Graph.read(sequence, unknown, add_to)
    return graph.config(max(set(bits), key=bits.count) if bits else 16)


def _torch_shape(node: Any) -> Optional[tuple]:
    value = node.meta.get("val")
    value = value[0] if isinstance(value, (list, tuple)) and value else value
    shape = getattr(value, "shape", None)
    return None if shape is None else tuple(
        size if isinstance(size, int) else None for size in shape)


def _torch_inputs(graph: Graph, arguments: Any) -> list[Value]:
    found = []
    for argument in arguments:
        if isinstance(argument, (list, tuple)):
            found += _torch_inputs(graph, argument)
        elif getattr(argument, "name", None) in graph.values:
            found.append(graph.values[argument.name])
    return found


def _add_torch(graph: Graph, node: Any) -> None:
    kind = str(getattr(node.target, "__name__", node.target)).replace("aten.", "").split(".")[0]
    shape = _torch_shape(node)
    inputs = _torch_inputs(graph, node.args)
    if shape is None or all(value.is_known for value in inputs):
        return graph.known(node.name, shape or ())
    if None in shape:
        graph.refuse(node.name, "a size is not a number: export without dynamic shapes")
        return graph.known(node.name, ())
    if kind in ("mm", "bmm", "matmul"):
        graph.product(node.name, node.name, shape, *inputs[:2])
    elif kind in ("addmm", "baddbmm"):
        graph.product(node.name, node.name, shape, *inputs[1:3])
    elif kind == "linear":
        weight = inputs[1]
        graph.product(node.name, node.name, shape, inputs[0],
                      Value(weight.shape[::-1], weight.kernel, weight.is_known))
    elif kind in ("convolution", "conv2d", "conv1d"):
        graph.convolution(node.name, node.name, shape, *inputs[:2])
    elif "scaled_dot_product" in kind:
        causal = bool(node.kwargs.get("is_causal", node.args[5] if len(node.args) > 5 else False))
        graph.attention(node.name, node.name, shape, *inputs[:3], causal)
    else:
        graph.operator(kind, node.name, [(node.name, shape)], inputs)
    if node.name not in graph.values:  # refused
        graph.known(node.name, shape)
