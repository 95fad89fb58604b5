#!/usr/bin/env python3
"""Graphs that users have, for the benches of large graphs: networks of convolutions, transformers
and a detector, operator by operator, on one chip.

    bench/graph_instances.py FOLDER [NAME...]

Writes configs as JSON, which is YAML.  Shapes are those of the papers (ResNet: He et al. 2016, table
1; DenseNet: Huang et al. 2017, table 1; EfficientNet: Tan and Le 2019, table 1; BERT: Devlin et al.
2019, section 3) for a batch of eight images of 224 x 224 pixels, or of four sequences of 512
tokens.  The detector is the text detector of PP-OCRv4 (mobile), read from its ONNX file for one
image of 640 x 640 pixels: graphs/ppocr4_det.json has its operators.

A name ends with the chip: `_s640` has a given utilization, `_c640` shares the cores out among the
kernels of a partition.  Both have 640 MiB of SRAM.
"""

import json
import pathlib
import sys

IMAGES = 8
SIDE = 224
SEQUENCES = 4
TOKENS = 512
DETECTOR = pathlib.Path(__file__).resolve().parent / "graphs" / "ppocr4_det.json"


class Operators:
    """Kernels and tensors, in the order in which they are added."""

    def __init__(self):
        self.kernels = []
        self.tensors = []

    def add(self, name, kind, *producers, **extents):
        self.kernels.append({"name": name, "kind": kind, **extents})
        for operand, producer in enumerate(producers, 1):
            self.tensors.append({"from": producer, "to": name, "operand": operand})
        return name

    def convolution(self, name, producer, channels, side, inputs, window=1, groups=1):
        """As a GEMM of weights over all pixels."""
        producers = [producer] if producer else []
        return self.add(name, "weight_gemm", *producers, outer=groups, M=channels // groups,
                        K=inputs // groups * window * window, N=IMAGES * side * side)

    def map(self, name, *producers, side, channels, **extents):
        kind = "elementwise" if len(producers) == 1 else "elementwise2"
        return self.add(name, kind, *producers, outer=IMAGES, M=side * side, N=channels, **extents)

    def classifier(self, last, side, channels):
        """The mean of all pixels and a layer of 1,000 classes."""
        mean = self.map("avg", last, side=1, channels=channels, element_flops=side * side)
        self.add("fc", "weight_gemm", mean, M=1000, K=channels, N=IMAGES)


def resnet(blocks):
    """Blocks of three convolutions, whose output is added to their input."""
    graph = Operators()
    last = graph.convolution("conv1", None, 64, SIDE // 2, 3, 7)
    last = graph.map("conv1_relu", last, side=SIDE // 2, channels=64)
    side, inputs = SIDE // 4, 64
    last = graph.map("maxpool", last, side=side, channels=64, element_flops=9)
    for layer, count in enumerate(blocks):
        width = 64 << layer
        for block in range(count):
            name = f"l{layer}_{block}"
            narrow = side // 2 if block == 0 and layer > 0 else side
            c1 = graph.convolution(f"{name}_c1", last, width, side, inputs)
            c1 = graph.map(f"{name}_c1_relu", c1, side=side, channels=width)
            c2 = graph.convolution(f"{name}_c2", c1, width, narrow, width, 3)
            c2 = graph.map(f"{name}_c2_relu", c2, side=narrow, channels=width)
            c3 = graph.convolution(f"{name}_c3", c2, 4 * width, narrow, width)
            if block == 0:
                last = graph.convolution(f"{name}_down", last, 4 * width, narrow, inputs)
            last = graph.map(f"{name}_add", c3, last, side=narrow, channels=4 * width)
            last = graph.map(f"{name}_relu", last, side=narrow, channels=4 * width)
            side, inputs = narrow, 4 * width
    graph.classifier(last, side, inputs)
    return graph


def densenet(blocks, growth=32):
    """Layers that each read all layers before them in their block."""
    graph = Operators()
    last = graph.convolution("conv0", None, 64, SIDE // 2, 3, 7)
    last = graph.map("conv0_relu", last, side=SIDE // 2, channels=64)
    side, channels = SIDE // 4, 64
    last = graph.map("pool0", last, side=side, channels=64, element_flops=9)
    for block, count in enumerate(blocks):
        for layer in range(count):
            name = f"b{block}_{layer}"
            bn = graph.map(f"{name}_bn", last, side=side, channels=channels)
            c1 = graph.convolution(f"{name}_c1", bn, 4 * growth, side, channels)
            c1 = graph.map(f"{name}_c1_relu", c1, side=side, channels=4 * growth)
            c2 = graph.convolution(f"{name}_c2", c1, growth, side, 4 * growth, 3)
            channels += growth
            last = graph.map(f"{name}_concat", last, c2, side=side, channels=channels)
        if block + 1 == len(blocks):
            break
        bn = graph.map(f"t{block}_bn", last, side=side, channels=channels)
        channels //= 2
        last = graph.convolution(f"t{block}_c", bn, channels, side, 2 * channels)
        side //= 2
        last = graph.map(f"t{block}_pool", last, side=side, channels=channels, element_flops=4)
    graph.classifier(last, side, channels)
    return graph


def efficientnet():
    """EfficientNet-B0: inverted bottlenecks with squeeze and excitation."""
    stages = [(1, 16, 1, 1, 3), (6, 24, 2, 2, 3), (6, 40, 2, 2, 5), (6, 80, 3, 2, 3),
              (6, 112, 3, 1, 5), (6, 192, 4, 2, 5), (6, 320, 1, 1, 3)]
    graph = Operators()

    def swish(name, producer, side, channels):
        gate = graph.map(f"{name}_sig", producer, side=side, channels=channels)
        return graph.map(f"{name}_mul", producer, gate, side=side, channels=channels)

    side, inputs = SIDE // 2, 32
    last = graph.convolution("c0", None, 32, side, 3, 3)
    last = graph.map("c0_relu", last, side=side, channels=32)
    for stage, (expansion, channels, count, stride, window) in enumerate(stages):
        for block in range(count):
            name = f"m{stage}_{block}"
            before, wide = last, expansion * inputs
            if expansion > 1:
                last = graph.convolution(f"{name}_e", last, wide, side, inputs)
                last = swish(f"{name}_e", last, side, wide)
            if block == 0:
                side //= stride
            last = graph.convolution(f"{name}_d", last, wide, side, wide, window, groups=wide)
            last = swish(f"{name}_d", last, side, wide)
            squeezed = inputs // 4
            pool = graph.map(f"{name}_pool", last, side=1, channels=wide,
                             element_flops=side * side)
            pool = graph.add(f"{name}_se1", "weight_gemm", pool, M=squeezed, K=wide, N=IMAGES)
            pool = swish(f"{name}_se1", pool, 1, squeezed)
            pool = graph.add(f"{name}_se2", "weight_gemm", pool, M=wide, K=squeezed, N=IMAGES)
            pool = graph.map(f"{name}_sesig", pool, side=1, channels=wide)
            last = graph.map(f"{name}_semul", last, pool, side=side, channels=wide)
            last = graph.convolution(f"{name}_p", last, channels, side, wide)
            if block > 0:
                last = graph.map(f"{name}_add", last, before, side=side, channels=channels)
            inputs = channels
    last = graph.convolution("last", last, 1280, side, inputs)
    last = graph.map("last_relu", last, side=side, channels=1280)
    graph.classifier(last, side, 1280)
    return graph


def bert(layers, hidden, is_fine):
    """Encoder layers; fine: every bias, scale and part of GELU is a kernel of its own."""
    graph = Operators()
    heads, rows = hidden // 64, SEQUENCES * TOKENS

    def linear(name, producer, width, inputs=hidden):
        last = graph.add(name, "weight_gemm", producer, M=width, K=inputs, N=rows)
        return map_of(f"{name}_bias", last, width) if is_fine else last

    def map_of(name, producer, width, **extents):
        return graph.add(name, "elementwise", producer, outer=1, M=width, N=rows, **extents)

    def add(name, *producers, width):
        return graph.add(name, "elementwise2", *producers, outer=1, M=width, N=rows)

    def scores(name, producer, **extents):
        return graph.add(name, "elementwise", producer, outer=SEQUENCES * heads, M=TOKENS,
                         N=TOKENS, **extents)

    last = graph.add("emb_ln", "elementwise", M=hidden, N=rows)
    for layer in range(layers):
        q, k, v = (linear(f"{layer}_{part}", last, hidden) for part in "qkv")
        qk = graph.add(f"{layer}_qk", "gemm", q, k, outer=SEQUENCES * heads, M=TOKENS, K=64,
                       N=TOKENS)
        if is_fine:
            qk = scores(f"{layer}_mask", scores(f"{layer}_scale", qk))
        soft = scores(f"{layer}_softmax", qk, coupled=2)
        av = graph.add(f"{layer}_av", "gemm", soft, v, outer=SEQUENCES * heads, M=64, K=TOKENS,
                       N=TOKENS)
        last = add(f"{layer}_add1", linear(f"{layer}_o", av, hidden), last, width=hidden)
        last = map_of(f"{layer}_ln1", last, hidden, coupled=2)
        wide = linear(f"{layer}_f1", last, 4 * hidden)
        if is_fine:
            part = map_of(f"{layer}_div", wide, 4 * hidden)
            part = map_of(f"{layer}_erf", part, 4 * hidden)
            part = map_of(f"{layer}_p1", part, 4 * hidden)
            wide = add(f"{layer}_gmul", wide, part, width=4 * hidden)
            wide = map_of(f"{layer}_half", wide, 4 * hidden)
        else:
            wide = map_of(f"{layer}_gelu", wide, 4 * hidden)
        last = add(f"{layer}_add2", linear(f"{layer}_f2", wide, hidden, 4 * hidden), last,
                   width=hidden)
        last = map_of(f"{layer}_ln2", last, hidden, coupled=2)
    return graph


def detector():
    """The operators of the ONNX file."""
    graph = Operators()
    known = json.loads(DETECTOR.read_text())
    graph.kernels, graph.tensors = known["kernels"], known["tensors"]
    return graph


GRAPHS = {"resnet50": lambda: resnet([3, 4, 6, 3]), "resnet152": lambda: resnet([3, 8, 36, 3]),
          "densenet121": lambda: densenet([6, 12, 24, 16]), "efficientnet_b0": efficientnet,
          "bert12": lambda: bert(12, 768, False), "bert12_fine": lambda: bert(12, 768, True),
          "bert24_fine": lambda: bert(24, 1024, True), "ppocr4_det": detector}


def on_chip(graph, is_allocated, **workload):
    """Its config; allocated: the cores are shared out."""
    given = {} if is_allocated else {"compute_utilization": 0.9}
    return {"workload": {"kind": "graph", "word": "2 B", **workload, "kernels": graph.kernels,
                         "tensors": graph.tensors},
            "system": {"chips": 1,
                       "accelerator": {"cores": 1280, "lanes": 32, "stages": 6,
                                       "frequency": "1.25 GHz", "sram": "640 MiB"},
                       "memory": {"bandwidth": "300 GB/s"}},
            "execution": {"style": "dataflow", "overlap": "perfect", **given},
            "equations": {"shapes": "unchecked"}}


def config(name):
    """The config of a name of `names`."""
    graph, _, chip = name.rpartition("_")
    sequence = {"sequence": TOKENS} if graph.startswith("bert") else {}
    return on_chip(GRAPHS[graph](), chip == "c640", **sequence)


def names():
    return [f"{graph}_{chip}" for graph in GRAPHS for chip in ("s640", "c640")]


def main():
    folder, *chosen = sys.argv[1:]
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for name in chosen or names():
        (folder / f"{name}.json").write_text(json.dumps(config(name)))


if __name__ == "__main__":
    main()
