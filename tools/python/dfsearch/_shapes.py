"""Shapes of all tensors of a model of ONNX, in numbers.

The package onnx infers them, of the operators that its release knows. Others get stand-ins for it,
which have the same shapes: Identity where the shape is that of the first input, Sum where it is
that of all inputs after broadcasting. What still has none is what the model says (value_info).
"""

from __future__ import annotations

import math
from collections.abc import Container
from typing import Any, Optional

from ._errors import InputError, one_line


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


def with_shapes(onnx: Any, model: Any, sizes: dict[str, int], as_first: Container[str],
                broadcast_unknown: bool) -> tuple[list, Any]:
    """The nodes that compute, and a copy of the model with the shapes of all their tensors.

    sizes               in place of names of dimensions
    as_first            operators with outputs as their first input
    broadcast_unknown   outputs of operators that onnx does not know are as all inputs together
    """
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    drop_weights(copy)
    _put_sizes(copy, sizes)
    said = _said_shapes(copy, sizes)
    del copy.graph.value_info[:]
    for output in copy.graph.output:  # found again, in numbers
        output.type.tensor_type.ClearField("shape")
    _put_stand_ins(onnx, copy, as_first, said if broadcast_unknown else None)
    inferred = _infer(onnx, copy)
    sized = {info.name for info in [*inferred.graph.value_info, *inferred.graph.output]
             if None not in (shape_of(info) or (None,))}
    sized |= {tensor.name for tensor in inferred.graph.initializer}
    lacking = {name: info for name, info in said.items() if name not in sized}
    if lacking:
        outputs = {output.name: output for output in copy.graph.output}
        for name, info in lacking.items():
            (outputs[name] if name in outputs else copy.graph.value_info.add()).CopyFrom(info)
        inferred = _infer(onnx, copy)
    numbers = {tensor.name for tensor in inferred.graph.initializer}
    return [node for node in model.graph.node if not numbers & set(node.output)], inferred


def _put_sizes(model: Any, sizes: dict[str, int]) -> None:
    named = {d.dim_param for given in model.graph.input
             for d in given.type.tensor_type.shape.dim if d.HasField("dim_param")}
    missing, strange = sorted(named - set(sizes)), sorted(set(sizes) - named)
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
        kind, inputs = "", [name for name in node.input if name]
        outputs = [name for name in node.output if name]
        if inputs and not is_known_to(onnx, model, node):
            if node.op_type in as_first:
                kind, inputs = "Identity", inputs[:1]
            elif said is not None and not all(name in said for name in outputs):
                kind = "Sum"
        if kind:
            nodes += [onnx.helper.make_node(kind, inputs, [name]) for name in outputs]
            has_some = True
        else:
            nodes.append(onnx.NodeProto())
            nodes[-1].CopyFrom(node)
    if not has_some:
        return
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    if not any(opset.domain in ("", "ai.onnx") for opset in model.opset_import):
        model.opset_import.append(onnx.helper.make_opsetid("", 13))


def _infer(onnx: Any, model: Any) -> Any:
    """Makes numbers of the shapes that the graph computes with, once their tensor's are."""
    shapes_read = [node for node in model.graph.node if node.op_type == "Shape"]
    while True:
        try:
            inferred = onnx.shape_inference.infer_shapes(model, data_prop=True)
        except Exception as error:
            raise InputError(f"shapes of the model: {error}") from error
        known = {info.name: shape_of(info)
                 for info in [*inferred.graph.value_info, *model.graph.input]}
        ready = [node for node in shapes_read
                 if None not in (known.get(node.input[0]) or (None,)) and not node.attribute]
        if not ready:
            return inferred
        for node in ready:
            shapes_read.remove(node)
            model.graph.node.remove(node)
            model.graph.initializer.append(onnx.helper.make_tensor(
                node.output[0], onnx.TensorProto.INT64, [len(known[node.input[0]])],
                known[node.input[0]]))
