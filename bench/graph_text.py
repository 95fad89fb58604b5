"""Graphs of benchmarks, kernel by kernel, and maps as configs have them in a line."""

SEQUENCE = 2048


class Graph:
    """Kernels and tensors, in the order in which they are added."""

    def __init__(self):
        self.kernels = []
        self.tensors = []
        self.inputs = {}

    def kernel(self, name, kind, *producers, N=SEQUENCE, **extents):
        self.kernels.append({"name": name, "kind": kind, **extents, "N": N})
        self.inputs[name] = 0
        for producer in producers:
            self.connect(producer, name)
        return name

    def connect(self, producer, consumer):
        """A GEMM has two operands: the first tensor is one, all others the other."""
        self.inputs[consumer] += 1
        self.tensors.append(
            {"from": producer, "to": consumer, "operand": min(2, self.inputs[consumer])})


def flow(record):
    return "{" + ", ".join(f"{key}: {value}" for key, value in record.items()) + "}"
