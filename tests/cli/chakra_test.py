#!/usr/bin/env python3
"""Traces of a plan's step: read without the program, played through, and held against the result.

usage: chakra_test.py DFSEARCH [TEST ...]
"""

import collections
import json
import re
import struct

import support
from support import CliTest
from plan_case import SMALL

COMPUTE, SEND, RECEIVE, COLLECTIVE = 4, 5, 6, 7
KINDS = {"all_reduce": 0, "all_gather": 2, "all_to_all": 6, "reduce_scatter": 7}


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def fields(data):
    """Numbers and values of a message of protobuf."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        number, wire = key >> 3, key & 7
        if wire == 0:
            value, at = varint(data, at)
        elif wire == 1:
            value, at = struct.unpack_from("<Q", data, at)[0], at + 8
        else:
            assert wire == 2, wire
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
        yield number, value


def node_of(data):
    node = {"deps": [], "duration": 0, "id": 0}
    for number, value in fields(data):
        if number == 1:
            node["id"] = value
        elif number == 2:
            node["name"] = value.decode()
        elif number == 3:
            node["type"] = value
        elif number == 5:  # packed
            at = 0
            while at < len(value):
                dep, at = varint(value, at)
                node["deps"].append(dep)
        elif number == 7:
            node["duration"] = value
        elif number == 10:
            attribute = dict(fields(value))
            # Types that readers of traces expect.
            name = attribute[1].decode()
            number_of_type = {"is_cpu_op": 27, "pg_name": 29, "comm_src": 7, "comm_dst": 7,
                              "comm_tag": 7, "tensor_size": 13}.get(name, 9)
            found = attribute.get(number_of_type)
            assert found is not None, (name, attribute)
            node[name] = found.decode() if name == "pg_name" else found
    return node


def nodes_of(data):
    at, messages = 0, []
    while at < len(data):
        size, at = varint(data, at)
        messages.append(data[at:at + size])
        at += size
    assert dict(fields(messages[0]))[1] == b"0.0.4"
    return [node_of(message) for message in messages[1:]]


def played(traces, groups):
    """The time of the last node in microseconds, where messages take none: each chip computes one
    node at a time, and a collective is over when all of its group have come to it."""
    ends = [{} for _ in traces]
    arrived = collections.defaultdict(dict)  # (group, how many before) -> rank -> time
    sent = {}
    counts = [collections.Counter() for _ in traces]
    number = [{} for _ in traces]
    for rank, nodes in enumerate(traces):
        for node in nodes:
            if node["type"] == COLLECTIVE:
                number[rank][node["id"]] = counts[rank][node["pg_name"]]
                counts[rank][node["pg_name"]] += 1
    waiting = [collections.deque(nodes) for nodes in traces]
    progress = True
    while progress:
        progress = False
        for rank, queue in enumerate(waiting):
            for _ in range(len(queue)):
                node = queue.popleft()
                if not all(dep in ends[rank] for dep in node["deps"]):
                    queue.append(node)
                    continue
                ready = max((ends[rank][dep] for dep in node["deps"]), default=0)
                if node["type"] == COMPUTE:
                    ends[rank][node["id"]] = ready + node["duration"]
                elif node["type"] == SEND:
                    sent[(rank, node["comm_dst"], node["comm_tag"])] = ready
                    ends[rank][node["id"]] = ready
                elif node["type"] == RECEIVE:
                    key = (node["comm_src"], rank, node["comm_tag"])
                    if key not in sent:
                        queue.append(node)
                        continue
                    ends[rank][node["id"]] = max(ready, sent[key])
                else:
                    key = (node["pg_name"], number[rank][node["id"]])
                    arrived[key][rank] = ready
                    if len(arrived[key]) < len(groups[node["pg_name"]]):
                        queue.append(node)
                        continue
                    ends[rank][node["id"]] = max(arrived[key].values())
                progress = True
    assert not any(waiting), "the traces wait for each other"
    return max(max(of.values()) for of in ends)


class Chakra(CliTest):
    def setUp(self):
        super().setUp()
        self.config = self.write("c.yaml", SMALL)

    def emitted(self, *changes):
        words = [word for change in changes for word in ("--set", change)]
        done = self.run_tool(self.config, *words, "--quiet", "--json", "r.json")
        self.assertEqual(done.returncode, 0)
        result = self.read_json("r.json")
        for old in self.folder.glob("t.*"):
            old.unlink()
        self.run_tool("emit", "r.json", "--for", "chakra", "-o", "t")
        chips = result["machine"]["chips"]
        self.assertEqual(self.files()[-chips - 1:], sorted(
            [f"t.{rank}.et" for rank in range(chips)] + ["t.json"]))
        traces = [nodes_of((self.folder / f"t.{rank}.et").read_bytes()) for rank in range(chips)]
        return result, traces, self.read_json("t.json")

    def check(self, result, traces, groups):
        chips = len(traces)
        for nodes in traces:
            self.assertEqual([node["id"] for node in nodes], list(range(len(nodes))))
            for node in nodes:  # so there is no cycle
                self.assertTrue(all(dep < node["id"] for dep in node["deps"]))
                self.assertEqual(node["is_cpu_op"], 0)
        # Each message that is sent is received, once.
        def messages(kind):
            return collections.Counter(
                (node["comm_src"], node["comm_dst"], node["comm_tag"], node["comm_size"])
                for nodes in traces for node in nodes if node["type"] == kind)
        self.assertEqual(messages(SEND), messages(RECEIVE))
        self.assertTrue(all(times == 1 for times in messages(SEND).values()))
        # The members of a group do the same, in the same order.
        done = collections.defaultdict(dict)
        for rank, nodes in enumerate(traces):
            for node in nodes:
                if node["type"] == COLLECTIVE:
                    self.assertIn(rank, groups[node["pg_name"]])
                    done[node["pg_name"]].setdefault(rank, []).append(
                        (node["comm_type"], node["comm_size"]))
        self.assertEqual(set(done), set(groups))
        for group, members in groups.items():
            self.assertEqual(sorted(done[group]), sorted(members))
            self.assertTrue(all(0 <= rank < chips for rank in members))
            self.assertEqual(len({str(each) for each in done[group].values()}), 1)
        self.check_sums(result, traces)

    def check_sums(self, result, traces):
        """Seconds and bytes of each chip are those of the result."""
        work, plan, m = result["work"], result["plan"], result["micro_batches"]
        parts, stages = work["parts"], result["parallelism"]["pipeline"]
        chips = len(traces)
        dense = parts.get("layer", {"count": 0})["count"]
        total = collections.Counter()  # of all stages
        for name, part in parts.items():
            times = part["count"]
            total["seconds"] += m * times * (part["forward"] + part["backward"])
            for each in part["exchanges"]:
                total[(KINDS[each["exchange"]], each["role"])] += m * times * round(each["bytes"])
        total["seconds"] += stages * result["time"]["optimizer"]
        links = m * 2 * (stages * plan["chunks"] - 1)
        found = collections.Counter()
        for nodes in traces:
            for node in nodes:
                if node["type"] == COMPUTE:
                    found["seconds"] += node["duration"] * 1e-6
                    # Work takes no less than at the peaks of SMALL (durations are rounded).
                    self.assertGreaterEqual(1e-6 * (node["duration"] + 1), max(
                        node["num_ops"] / 102.4e12, node["tensor_size"] / 1e12), node)
                elif node["type"] == COLLECTIVE and "replicas" not in node["name"]:
                    found[(node["comm_type"], node["name"].split()[2])] += node["comm_size"]
                elif node["type"] == SEND:
                    found["messages"] += 1
                    self.assertEqual(node["comm_size"], round(work["handed"]))
        share = chips // stages  # chips of a stage, which do the same
        self.assertEqual(found.pop("messages", 0), share * links)
        self.assertAlmostEqual(found.pop("seconds"), share * total.pop("seconds"),
                               delta=chips * 1e-6)
        self.assertEqual(found, {key: share * size for key, size in total.items() if size})
        self.assertEqual(dense + parts.get("expert_layer", {"count": 0})["count"],
                         result["workload"]["layers"])

    def test_traces_of_schedules_and_degrees(self):
        for changes in (
                ["parallelism.pipeline=4", "parallelism.tensor=2", "training.schedule=1f1b"],
                ["parallelism.pipeline=4", "training.schedule=interleaved", "training.chunks=3"],
                ["parallelism.pipeline=2", "training.schedule=gpipe", "training.zero=0"],
                ["parallelism.pipeline=1", "training.zero=3"],
                ["parallelism.pipeline=2", "training.zero=2", "training.recompute=full",
                 "training.schedule=1f1b"],
                ["parallelism.context=2", "parallelism.tensor=2", "training.schedule=1f1b"]):
            with self.subTest(changes):
                result, traces, groups = self.emitted(*changes)
                self.check(result, traces, groups)
                # Without messages that take time a step is what the model says, or less where
                # stages differ.
                step = 1e-6 * played(traces, groups)
                time = result["time"]
                said = sum(time[key] for key in ("compute", "recompute", "bubble", "optimizer"))
                self.assertLess(step, result["step_time"] * (1 + 1e-6) + 1e-4)
                self.assertGreater(step, 0.7 * said)

    def test_a_fast_network_gives_the_step_of_the_model(self):
        fast = ["system.network=[{topology: switch, degree: 16, bandwidth: 100 PB/s}]",
                "parallelism.tensor=1", "parallelism.context=1", "training.zero=0",
                "system.memory.capacity=80 GB",
                "training.recompute=none", "training.layers=[3, 3, 3, 3]"]
        for schedule in ("1f1b", "gpipe"):
            with self.subTest(schedule):
                result, traces, groups = self.emitted(*fast, f"training.schedule={schedule}")
                step = 1e-6 * played(traces, groups)
                # The first and the last stage have more than the others.
                self.assertLessEqual(step, result["step_time"] + 1e-4)
                self.assertGreater(step, 0.95 * result["step_time"])

    def test_a_trace_comes_back_with_its_flop_and_its_time(self):
        layers, tokens, h, vocabulary, sequence = 2, 2048, 1024, 32768, 1024
        self.config = self.write("c.yaml", f"""\
workload: {{kind: llm_training, hidden: {h}, heads: 16, head_dim: 64, vocabulary: {vocabulary},
           sequence: {sequence}, layers: {layers}, global_batch: 4, attention: fused}}
system:
  chips: 2
  accelerator: {{cores: 100, lanes: 32, stages: 16, frequency: 1 GHz, sram: 20 MiB}}
  memory: {{bandwidth: 100 PB/s, capacity: 80 GB}}
  network: [{{topology: switch, degree: 2, bandwidth: 300 PB/s}}]
execution: {{efficiency: {{vector: {{of_matrix: 1, efficiency: [[0 FLOP, 1]]}}}}}}
training: {{zero: 0}}
parallelism: {{tensor: 1, data: 2}}
""")
        for recompute in ("none", "full"):
            with self.subTest(recompute):
                result, traces, _ = self.emitted(f"training.recompute={recompute}",
                                                 "workload.micro_batch=2")
                flop = collections.Counter()
                for node in traces[0]:
                    if node["type"] == COMPUTE:
                        flop[node["name"]] += node["num_ops"]
                # Products of a layer with a gated MLP, by hand; all else is below a hundredth.
                weights = 2 * tokens * 16 * h * h
                forward = weights + 4 * sequence * tokens * h
                head = 2 * tokens * h * vocabulary
                again = forward if recompute == "full" else 0
                for name, products in (
                        ("layer forward", layers * forward), ("last forward", head),
                        ("layer backward", layers * (2 * weights + 10 * sequence * tokens * h + again)),
                        ("last backward", 2 * head), ("first forward", 0)):
                    self.assertGreaterEqual(flop[name], products, name)
                    self.assertLessEqual(flop[name], 1.01 * products, name)
                parameters = layers * 16 * h * h + 2 * vocabulary * h
                self.assertAlmostEqual(flop["optimizer"] / (11 * parameters), 1, delta=1e-3)
                # One chip of the same peak without limits of memory takes the time of the plan.
                self.write("one.yaml", "chips: 1\naccelerator: {cores: 100, lanes: 32, stages: 16, "
                           "frequency: 1 GHz, sram: 20 MiB}\nmemory: {bandwidth: 100 PB/s}\n")
                back = self.result("t.0.et", "--system", "one.yaml")
                self.assertEqual(back["status"], "optimal")
                self.assertAlmostEqual(back["step_time"] / result["step_time"], 1, delta=0.01)
                self.assertAlmostEqual(back["step_time"] / (sum(flop.values()) / 102.4e12), 1,
                                       delta=0.01)

    def test_a_trace_of_several_chips_comes_back_in_one_command(self):
        # Collectives among the groups of the plan, in the same places of the machine.
        self.write("machine.yaml", """\
accelerator: {cores: 100, lanes: 32, stages: 16, frequency: 1 GHz, sram: 20 MiB}
memory: {bandwidth: 1 TB/s, capacity: 8 GB}
network:
  - {topology: switch, degree: 8, bandwidth: 300 GB/s, latency: 5 us}
  - {topology: ring, bandwidth: 25 GB/s, latency: 10 us}
""")
        system = ["system.memory.capacity=8 GB", "training.data_overlap=no",
                  "execution={compute_utilization: 1}", "parallelism.pipeline=1", "parallelism.context=1"]
        for changes in (["parallelism.tensor=8", "training.zero=0"],
                        ["parallelism.tensor=4", "training.zero=1", "training.layout=least_kept"],
                        ["parallelism.tensor=2", "training.zero=0", "training.recompute=full"],
                        ["parallelism.tensor=1", "training.zero=1"]):
            with self.subTest(changes):
                result, traces, groups = self.emitted(*system, *changes)
                done = self.run_tool("t.0.et", "--system", "machine.yaml", "--chips", "16",
                                     "--quiet", "--json", "-")
                back = json.loads(done.stdout)
                # Vector work runs at half the peak in plans.
                self.assertAlmostEqual(back["step_time"] / result["step_time"], 1, delta=0.03)
                waited = sum(node["type"] == COLLECTIVE and len(groups[node["pg_name"]]) > 1
                             for node in traces[0])
                self.assertIn(f"t.0.et: Of one of 16 chips that all do the same, with {waited} "
                              "collectives.", done.stderr)
                # Sum of the closed forms, one group after the other.
                time = sum(self.seconds(node, groups[node["pg_name"]]) for node in traces[0]
                           if node["type"] == COLLECTIVE)
                flop = sum(node["num_ops"] for node in traces[0] if node["type"] == COMPUTE)
                moved = sum(node["tensor_size"] for node in traces[0] if node["type"] == COMPUTE)
                self.assertAlmostEqual(
                    back["step_time"] / (time + flop / 102.4e12 + moved / 1e12), 1, delta=1e-3)

    @staticmethod
    def seconds(node, chips):
        """Of a collective on a switch of 8 inside a ring: the parts of both that its chips are on."""
        inner, outer = len({chip % 8 for chip in chips}), len({chip // 8 for chip in chips})
        size = node["comm_size"] * (len(chips) if node["comm_type"] == 2 else 1)
        assert node["comm_type"] in (0, 2, 7), node
        once = ((inner - 1) / inner * size / 300e9 + (5e-6 if inner > 1 else 0)
                + (outer - 1) / outer * size / inner / 25e9 + (outer - 1) * 10e-6)
        return once * (2 if node["comm_type"] == 0 else 1)

    def test_what_of_a_trace_has_no_kernel_is_said(self):
        self.emitted("parallelism.pipeline=4", "parallelism.tensor=2", "training.schedule=1f1b",
                     "training.zero=1")
        self.write("machine.yaml", "accelerator: {cores: 100, lanes: 32, stages: 16, frequency: "
                   "1 GHz, sram: 20 MiB}\nmemory: {bandwidth: 1 TB/s}\nnetwork: [{topology: "
                   "switch, bandwidth: 300 GB/s}]\n")
        said = self.run_tool("t.0.et", "--system", "machine.yaml", "--chips", "16", "--quiet").stderr
        self.assertRegex(said, r"t.0.et: Left out: \d+ messages between stages, and the waiting of "
                         "the chip in the pipeline")
        (self.folder / "t.json").write_text("[1]")
        self.assertIn("t.json: ", self.run_tool("import", "t.0.et", status=2).stderr)
        (self.folder / "t.json").write_text('{"1": 5}')
        self.assertIn("t.json: expected the chips of each group",
                      self.run_tool("import", "t.0.et", status=2).stderr)

    def test_plans_without_traces(self):
        for changes, message in (
                (["training.schedule=zb_h1"], "expected the schedule 1f1b, interleaved or gpipe"),
                (["execution={stack: te, chip: h100_80gb}", "system.memory.capacity=80 GB"],
                 "without 'execution.stack'")):
            with self.subTest(message):
                words = [word for change in changes for word in ("--set", change)]
                self.run_tool(self.config, *words, "--quiet", "--json", "r.json")
                error = self.run_tool("emit", "r.json", "--for", "chakra", "-o", "t", status=2)
                self.assertIn("r.json: expected", error.stderr)
                self.assertIn(message, error.stderr)
        self.assertIn("expected -o DIR/PREFIX",
                      self.run_tool("emit", "r.json", "--for", "chakra", status=2).stderr)


def message(*parts):
    """A message of protobuf from (number, value): whole numbers and bytes."""
    out = b""
    for number, value in parts:
        if isinstance(value, int):
            out += encoded(number << 3) + encoded(value)
        else:
            out += encoded(number << 3 | 2) + encoded(len(value)) + value
    return out


def encoded(value):
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def trace_of(*nodes):
    """Nodes as (id, name, type, needed ids, attributes)."""
    messages = [message((1, b"0.0.4"))]
    for id_, name, type_, deps, attributes in nodes:
        parts = [(1, id_), (2, name.encode()), (3, type_)] + [(5, dep) for dep in deps]
        for key, (number, value) in attributes.items():
            parts.append((10, message((1, key.encode()), (number, value))))
        messages.append(message(*parts))
    return b"".join(encoded(len(each)) + each for each in messages)


SYSTEM = """\
system:
  chips: 1
  accelerator: {cores: 16, lanes: 16, stages: 8, frequency: 1 GHz, sram: 1 MiB}
  memory: {bandwidth: 100 GB/s, capacity: 1 GB}
"""


class Import(CliTest):
    def node(self, id_, flop, size, *deps, name="k"):
        return (id_, name, COMPUTE, deps, {"num_ops": (9, flop), "tensor_size": (13, size),
                                           "is_cpu_op": (27, 0)})

    def imported(self, *nodes, status=0):
        (self.folder / "t.et").write_bytes(trace_of(*nodes))
        return self.run_tool("import", "t.et", status=status)

    def test_kernels_and_tensors_of_a_trace(self):
        # What a kernel computes reaches others through collectives, messages and the host.
        text = self.imported(
            self.node(7, 1 << 20, 1 << 10), (3, "all", COLLECTIVE, [7], {"comm_size": (9, 64)}),
            self.node(5, 1 << 10, 1 << 10, 3, 7), (9, "host", COMPUTE, [5], {"is_cpu_op": (27, 1)}),
            self.node(1, 3 << 20, 1 << 9, 9), self.node(2, 1 << 9, 1 << 9, 9, 1)).stdout
        self.write("c.yaml", text + SYSTEM)
        graph = json.loads(self.run_tool("graph", "c.yaml", "--format", "json").stdout)["workload"]
        kernels = {each["name"]: each for each in graph["kernels"]}
        # The collective itself is a kernel of its own.
        self.assertEqual(kernels.pop("all_3")["communication"]["type"], "all_reduce")
        self.assertEqual(set(kernels), {"k_7", "k_5", "k_1", "k_2"})
        self.assertEqual({(each["from"], each["to"]) for each in graph["tensors"]},
                         {("k_7", "k_5"), ("k_5", "k_1"), ("k_5", "k_2"), ("k_1", "k_2")})
        self.assertEqual((kernels["k_7"]["kind"], kernels["k_7"]["M"], kernels["k_7"]["K"]),
                         ("gemm", 1 << 10, 1 << 9))
        self.assertEqual([kernels[name]["kind"] for name in ("k_5", "k_1", "k_2")],
                         ["elementwise", "gemm", "elementwise2"])
        result = self.result("c.yaml")
        # The trace itself is a config, given a machine.
        self.write("machine.yaml", re.sub(r"(?m)^  ", "", SYSTEM.removeprefix("system:\n")))
        at_once = self.result("t.et", "--system", "machine.yaml")
        self.assertEqual(at_once["step_time"], result["step_time"])
        self.assertIn("t.et: this file has a model but no machine", self.run_tool("t.et", status=2).stderr)
        flop = {each["name"]: each["flop"] for each in result["graph"]["kernels"]
                if each["name"] in kernels}
        self.assertEqual(flop, {"k_7": 1 << 20, "k_5": 1 << 10, "k_1": 3 << 20, "k_2": 1 << 9})
        bytes_ = {(each["from"], each["to"]): each["bytes"] for each in result["graph"]["tensors"]}
        # Half of what both ends move, shared among the tensors of each.
        self.assertEqual(bytes_, {("k_7", "k_5"): 512, ("k_5", "k_1"): 256, ("k_5", "k_2"): 128,
                                  ("k_1", "k_2"): 128})
        moved = collections.Counter({each["name"]: float(each.get("memory", "0 B").split()[0])
                                     for each in kernels.values()})
        for (start, end), size in bytes_.items():
            moved[start] += size
            moved[end] += size
        self.assertEqual(dict(moved), {"k_7": 1 << 10, "k_5": 1 << 10, "k_1": 1 << 9,
                                       "k_2": 1 << 9})

    def test_groups_are_where_the_chips_are(self):
        for chips in ([0, 1], [0, 1, 2, 3], [0, 8, 16, 24], [1, 9], [4, 5, 12, 13], [0, 2, 4, 6],
                      [0, 1, 4, 5, 16, 17, 20, 21], list(range(32)), [3, 2]):
            with self.subTest(chips):
                (self.folder / "t.json").write_text(json.dumps({"g": chips}))
                text = self.imported(
                    self.node(7, 1 << 20, 1 << 10),
                    (3, "all", COLLECTIVE, [7], {"comm_type": (9, 0), "comm_size": (9, 64),
                                                 "pg_name": (29, b"g")}),
                    self.node(5, 1 << 10, 1 << 10, 3)).stdout
                counts = [int(each) for each in
                          re.search(r"group: \[(.*?)\]", text).group(1).split(",")]
                members, stride = [0], 1
                for place, count in enumerate(counts):
                    if place % 2 == 0:
                        members = [m + i * stride for i in range(count) for m in members]
                    stride *= count
                self.assertEqual([m + min(chips) for m in members], sorted(chips))

    def test_flop_and_bytes_that_do_not_divide(self):
        # 3 FLOP for each byte: rows of the output beyond those that are handed on.
        self.write("c.yaml", self.imported(
            self.node(1, 3001, 1000), self.node(2, 5 << 30, 3 << 28, 1),
            self.node(3, 0, 1 << 20, 2), self.node(4, 1500, 1000, 3)).stdout + SYSTEM)
        result = self.result("c.yaml")
        flop = {each["name"]: each["flop"] for each in result["graph"]["kernels"]}
        self.assertEqual(set(flop), {"k_1", "k_2", "k_4"})  # the third moves its bytes alone
        for name, said in (("k_1", 3001), ("k_2", 5 << 30), ("k_4", 1500)):
            self.assertAlmostEqual(flop[name] / said, 1, delta=1e-3)
        bytes_ = {(each["from"], each["to"]): each["bytes"] for each in result["graph"]["tensors"]}
        self.assertEqual(bytes_[("k_1", "k_2")], 500)
        # A row is the least, of all columns of a kernel that is cut into tiles.
        self.assertLessEqual(bytes_[("k_2", "k_4")], 1 << 20)

    def test_a_trace_of_collectives_alone(self):
        self.write("machine.yaml", re.sub(r"(?m)^  ", "", SYSTEM.removeprefix("system:\n")).replace(
            "chips: 1\n", "chips: 4\n") + "network: [{topology: ring, bandwidth: 1 GB/s}]\n")
        sizes = {"all_reduce": 1 << 20, "reduce_scatter": 1 << 21, "all_gather": 1 << 18}
        (self.folder / "t.json").write_text(json.dumps({"g": [0, 1, 2, 3]}))
        text = self.imported(*[
            (id_, kind, COLLECTIVE, [id_ - 1] if id_ > 1 else [],
             {"comm_type": (9, KINDS[kind]), "comm_size": (9, size), "pg_name": (29, b"g")})
            for id_, (kind, size) in enumerate(sizes.items(), 1)]).stdout
        self.assertEqual(text.count("communication"), 3)
        found = self.result("t.et", "--system", "machine.yaml")
        # Three quarters of all bytes over a link, twice of an all-reduce; each chip has its part of
        # what is gathered.
        moved = 2 * sizes["all_reduce"] + sizes["reduce_scatter"] + 4 * sizes["all_gather"]
        self.assertAlmostEqual(found["step_time"] / (0.75 * moved / 1e9), 1, places=5)

    def test_traces_that_are_none(self):
        for nodes, message_ in (
                ([self.node(1, 8, 8, 2), self.node(2, 8, 8, 1)], "form a cycle; expected data_deps"),
                ([self.node(1, 8, 8, 4)], "node 1 ('k'): depends on node 4, which is missing"),
                ([self.node(1, 8, 8), self.node(1, 8, 8)], "another node has the same id"),
                ([(1, "k", COMPUTE, [], {"is_cpu_op": (27, 0)})], "expected num_ops"),
                ([self.node(1, 8, 1 << 50)], "expected num_ops"),
                ([(1, "s", SEND, [], {})], "has no node that computes"), ([], "with nodes")):
            with self.subTest(message_):
                self.assertIn(message_, self.imported(*nodes, status=2).stderr)


if __name__ == "__main__":
    support.main()
