"""Shapes of all tensors of a model of ONNX, in numbers.

The package onnx infers them, of the operators that its release knows. Others get stand-ins for it,
which have the same shapes: the operator whose work they do, Identity where the shape is that of the
first input, Sum where it is that of all inputs after broadcasting. What still has none, or cannot
be inferred as the package refuses the model, is what the model says (value_info).
"""

from __future__ import annotations

import math
from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import Any, Optional

from ._errors import InputError, one_line

# Operators of integers and fused ones: the operator whose work they do, and which inputs are its.
_WORK: dict[str, tuple[str, slice]] = {
    **dict.fromkeys(("MatMulInteger", "MatMulIntegerToFloat", "DynamicQuantizeMatMul"),
                    ("MatMul", slice(2))),
    "QLinearMatMul": ("MatMul", slice(0, 4, 3)), "QGemm": ("Gemm", slice(0, 4, 3)),
    "FusedGemm": ("Gemm", slice(2)), "ConvInteger": ("Conv", slice(2)),
    "FusedConv": ("Conv", slice(2)), "QLinearConv": ("Conv", slice(0, 4, 3)),
    "QLinearAdd": ("Add", slice(0, 4, 3)), "QLinearMul": ("Mul", slice(0, 4, 3)),
    "QLinearConcat": ("Concat", slice(2, None, 3)),
    **{f"QLinear{kind}": (kind, slice(1)) for kind in (
        "AveragePool", "GlobalAveragePool", "LeakyRelu", "Sigmoid", "Softmax")}}


@dataclass
class Shapes:
    """What a model has, in numbers."""
    nodes: list  # that compute anything
    shapes: dict[str, Optional[tuple]]
    types: dict[str, int]  # of elements
    numbers: list[str]  # tensors that are known before a run
    read: set[str]  # tensors that any node reads, or whoever runs the model


def plain(node: Any) -> tuple[str, list[str]]:
    """The operator whose work the node does, and its inputs."""
    kind, inputs = _WORK.get(node.op_type, (node.op_type, slice(None)))
    return kind, [name for name in list(node.input)[inputs] if name]


def live_nodes(onnx: Any, model: Any) -> list:
    """Without the nodes that nobody reads."""
    needed, live = {output.name for output in model.graph.output}, []
    for node in reversed(model.graph.node):
        if needed.isdisjoint(node.output):
            continue
        live.append(node)
        needed.update(node.input)
    return live[::-1]


def einsum_terms(equation: Any, shapes: Sequence[Sequence[int]]
                 ) -> tuple[list[str], str, dict[str, int]]:
    """Labels of each operand and of the result, and their extents; dimensions of '...' count from
    the right."""
    text = (equation.decode() if isinstance(equation, bytes) else equation).replace(" ", "")
    left, arrow, result = text.partition("->")
    terms = left.split(",")
    if len(terms) != len(shapes):
        raise ValueError(f"Einsum '{text}' of {len(shapes)} operands")
    most = max(len(shape) - len(term.replace("...", ""))
               for term, shape in zip(terms, shapes) if "..." in term) if "..." in left else 0
    digits = "".join(chr(0x100 + i) for i in range(most))
    size: dict[str, int] = {}
    for i, (term, shape) in enumerate(zip(terms, shapes)):
        free = len(shape) - len(term.replace("...", ""))
        terms[i] = term.replace("...", digits[most - free:])
        for label, extent in zip(terms[i], shape):
            size[label] = max(extent, size.get(label, 1))
        if len(terms[i]) != len(shape):
            raise ValueError(f"Einsum '{text}' of an operand of {len(shape)} dimensions")
    labels = "".join(terms)
    if not arrow:
        result = "..." * bool(most) + "".join(
            sorted(c for c in set(labels) - set(digits) if labels.count(c) == 1))
    return terms, result.replace("...", digits), size


def drop_weights(model: Any) -> None:
    """Leaves the numbers of small tensors alone, with which shapes are computed."""
    constants = [a.t for node in model.graph.node if node.op_type == "Constant"
                 for a in node.attribute if a.name == "value"]
    for tensor in [*model.graph.initializer, *constants]:
        if math.prod(tensor.dims) > 4096:
            for field in ("raw_data", "float_data", "double_data", "int32_data", "int64_data",
                          "uint64_data", "string_data", "external_data", "data_location"):
                tensor.ClearField(field)


def shape_of(info: Any) -> Optional[tuple]:
    if not info.type.tensor_type.HasField("shape"):
        return None
    dims = info.type.tensor_type.shape.dim
    return tuple(d.dim_value if d.HasField("dim_value") else None for d in dims)


def is_known_to(onnx: Any, model: Any, node: Any) -> bool:
    """Whether onnx, or a function of the model, says what the operator computes."""
    domain = "" if node.domain == "ai.onnx" else node.domain
    if any(f.name == node.op_type and f.domain == node.domain
           for f in getattr(model, "functions", ())):
        return True
    versions = [o.version for o in model.opset_import if o.domain in (domain, node.domain)]
    try:
        onnx.defs.get_schema(node.op_type, max([1, *versions]), domain)
    except Exception:  # SchemaError, whose place depends on the release
        return False
    return True


def find_shapes(onnx: Any, model: Any, live: Sequence[Any], sizes: dict[str, int],
                as_first: Container[str], broadcast_unknown: bool) -> Shapes:
    """Of the nodes `live`.

    sizes               in place of names of dimensions
    as_first            operators with outputs as their first input
    broadcast_unknown   outputs of operators that onnx does not know are as all inputs together
    """
    live = [type(node).FromString(node.SerializeToString()) for node in live]
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    drop_weights(copy)
    _put_nodes(copy, live)
    _put_sizes(copy, sizes)
    said = _said_shapes(copy, sizes)
    del copy.graph.value_info[:]
    for output in copy.graph.output:  # found again, in numbers
        output.type.tensor_type.Clear()
    read = {name for node in live for name in node.input} | {o.name for o in copy.graph.output}
    _put_stand_ins(onnx, copy, as_first, said if broadcast_unknown else None)
    inferred = _infer(onnx, copy, bool(said))
    sized = {name for name, shape in _shapes_of(inferred).items() if None not in (shape or (None,))}
    lacking = [info for name, info in said.items() if name not in sized]
    if lacking:
        for info in lacking:
            _put_info(copy, info)
        inferred = _infer(onnx, copy, True)
    numbers = [tensor.name for tensor in inferred.graph.initializer]
    shapes = {**{name: shape_of(info) for name, info in said.items()}, **_shapes_of(inferred)}
    types = {info.name: info.type.tensor_type.elem_type for info in _infos(inferred)}
    types.update({tensor.name: tensor.data_type for tensor in inferred.graph.initializer})
    return Shapes([node for node in live if not set(numbers) & set(node.output)], shapes, types,
                  numbers, read)


def _infos(model: Any) -> list:
    return [*model.graph.input, *model.graph.value_info, *model.graph.output]


def _shapes_of(model: Any) -> dict[str, Optional[tuple]]:
    """Of all tensors; None without a rank, and for a dimension without a size."""
    return {**{info.name: shape_of(info) for info in _infos(model)},
            **{tensor.name: tuple(tensor.dims) for tensor in model.graph.initializer}}


def _put_nodes(model: Any, nodes: Sequence[Any]) -> None:
    del model.graph.node[:]
    model.graph.node.extend(nodes)


def _put_info(model: Any, info: Any) -> None:
    for output in model.graph.output:
        if output.name == info.name:
            output.CopyFrom(info)
            return
    model.graph.value_info.add().CopyFrom(info)


def _put_sizes(model: Any, sizes: dict[str, int]) -> None:
    named = {d.dim_param for given in model.graph.input
             for d in given.type.tensor_type.shape.dim if d.HasField("dim_param")}
    others = {d.dim_param for info in _infos(model) for d in info.type.tensor_type.shape.dim}
    missing, strange = sorted(named - set(sizes)), sorted(set(sizes) - named - others)
    wrong = [f"sizes: expected a whole number from 1 for {name}, got {size}"
             for name, size in sizes.items() if not isinstance(size, int) or size < 1]
    wrong += [f"sizes: the model names no dimension '{name}'" for name in strange]
    wrong += [f"sizes: the dimension '{name}' has no size, expected --size {name}=N, or "
              f"sizes={{'{name}': N}} in Python" for name in missing]
    if wrong:
        raise InputError("\n".join(map(one_line, wrong)))
    for given in model.graph.input:
        for dim in given.type.tensor_type.shape.dim:
            if dim.HasField("dim_param"):
                dim.dim_value = sizes[dim.dim_param]


def _said_shapes(model: Any, sizes: dict[str, int]) -> dict[str, Any]:
    """Of what the model says of its tensors that which is all in numbers."""
    said = {}
    for info in [*model.graph.value_info, *model.graph.output]:
        for dim in info.type.tensor_type.shape.dim:
            if dim.HasField("dim_param") and dim.dim_param in sizes:
                dim.dim_value = sizes[dim.dim_param]
        shape = shape_of(info)
        if shape is not None and None not in shape:
            said[info.name] = type(info)()
            said[info.name].CopyFrom(info)
    return said


def _put_stand_ins(onnx: Any, model: Any, as_first: Container[str],
                   said: Optional[dict[str, Any]]) -> None:
    """Of operators that onnx does not know; of all of them unless `said` is None."""
    nodes, has_some = [], False
    for node in model.graph.node:
        inputs, outputs = [name for name in node.input if name], [o for o in node.output if o]
        known = is_known_to(onnx, model, node) or not inputs
        kind, data = ("", inputs) if known else plain(node)
        if node.op_type == "MatMulNBits":
            sizes = {a.name: a.i for a in node.attribute}
            weight = model.graph.initializer.add(name=f"#{outputs[0]}", dims=[sizes["K"], sizes["N"]],
                                                 data_type=onnx.TensorProto.FLOAT)
            kind, data = "MatMul", [inputs[0], weight.name]
        elif not known and node.op_type in as_first:
            kind, data = "Identity", inputs[:1]
        elif not known and kind == node.op_type:  # nothing does its work
            kind = "Sum" if said is not None and not all(o in said for o in outputs) else ""
        if kind:
            nodes += [onnx.helper.make_node(kind, data, [name]) for name in outputs]
            if kind not in ("Identity", "MatMul", "Sum"):
                nodes[-1].attribute.extend(node.attribute)
            has_some = True
        else:
            nodes.append(node)
    if not has_some:
        return
    nodes = [type(node).FromString(node.SerializeToString()) for node in nodes]
    _put_nodes(model, nodes)
    if not any(opset.domain in ("", "ai.onnx") for opset in model.opset_import):
        model.opset_import.append(onnx.helper.make_opsetid("", 13))


def _infer(onnx: Any, model: Any, may_fail: bool) -> Any:
    """Makes numbers of the shapes that the graph computes with, once their tensor's are, and infers
    what onnx has a rank of alone.  Without those if onnx refuses the model and that `may_fail`."""
    nodes = list(model.graph.node)
    nodes = [type(node).FromString(node.SerializeToString()) for node in nodes]
    known, folded = _shapes_of(model), set()
    while True:
        # Some releases crash on the Shape of a tensor without one.
        ranked = [node for node in nodes if id(node) not in folded
                  and (node.op_type != "Shape" or known.get(node.input[0]) is not None)]
        _put_nodes(model, ranked)
        try:
            inferred = onnx.shape_inference.infer_shapes(model, data_prop=True)
        except Exception as error:
            if may_fail:
                return model
            raise InputError(f"shapes of the model: {error}") from error
        finally:
            _put_nodes(model, [node for node in nodes if id(node) not in folded])
        before, known = known, _shapes_of(inferred)
        is_new = any(node.op_type == "Shape" and before.get(node.input[0]) is None
                     and known.get(node.input[0]) is not None for node in nodes)
        for node in ranked:
            given = [known.get(name) for name in node.input]
            is_found = all(shape is not None and None not in shape for shape in given)
            if not is_found or node.op_type not in ("Shape", "Einsum"):
                continue
            name = node.output[0]
            if node.op_type == "Shape" and not node.attribute:
                folded.add(id(node))
                model.graph.initializer.append(onnx.helper.make_tensor(
                    name, onnx.TensorProto.INT64, [len(given[0])], given[0]))
                is_new = True
            elif node.op_type == "Einsum" and (known.get(name) is None or None in known[name]):
                _, result, size = einsum_terms(onnx.helper.get_attribute_value(node.attribute[0]),
                                               given)
                kind = next((i.type.tensor_type.elem_type for i in _infos(inferred)
                             if i.name == node.input[0]), onnx.TensorProto.FLOAT)
                _put_info(model, onnx.helper.make_tensor_value_info(
                    name, kind, [size[label] for label in result]))
                is_new = True
        if not is_new:
            return inferred
