#!/usr/bin/env python3
"""Laws of deployments that need no second model: equal ways of serving, sums by hand, and remedies
of which a little less does not help.

usage: serving_laws_test.py DFSEARCH [TEST ...]
"""

import copy
import json

import kinds
import support
from support import CliTest

ONE = {"mode": "aggregated", "pool": "x", "tensor": 2, "pipeline": 2, "attention_data": 1,
       "expert": 1, "replicas": 1, "batch": 16, "chunk": 512}


class ServingLaws(CliTest):
    def setUp(self):
        super().setUp()
        self.config = copy.deepcopy(kinds.DEPLOYMENT)
        self.serving = self.config["serving"]
        self.pool = self.serving["pools"][0]

    def evaluate(self, deployment, config=None):
        self.write("c.json", json.dumps(config or self.config))
        self.write("d.json", json.dumps(deployment))
        done = self.run_tool("evaluate", "c.json", "--mapping", "d.json", "--json", "-",
                             status=(0, 3, 5))
        return json.loads(done.stdout)["serving"]

    def solve(self, status=0):
        self.write("c.json", json.dumps(self.config))
        done = self.run_tool("c.json", "--quiet", "--json", "-", status=status)
        return json.loads(done.stdout)

    def remedies(self, limit):
        return [one for one in self.solve(status=3)["infeasible"]["remedies"]
                if one["limit"] == limit]

    def test_the_energy_of_a_token_is_that_of_its_chips_and_edp_that_of_a_request(self):
        figures = self.evaluate(ONE)["figures"]
        self.assertAlmostEqual(figures["joule_per_token"] * figures["tokens_per_s"] / (4 * 500), 1,
                               places=12)
        request = 100 * figures["joule_per_token"]
        self.assertAlmostEqual(figures["edp"] / (request * figures["e2e"]), 1, places=12)

    def test_ranks_without_experts_wait_as_replicas_do(self):
        """Ranks share nothing then: two ranks are two servers of one queue, as two replicas are."""
        def figures(ranks, replicas):
            prefill = {"pool": "x", "tensor": 1, "pipeline": 1, "attention_data": ranks,
                       "expert": 1, "replicas": replicas, "batch": 1}
            decode = dict(prefill, attention_data=1, replicas=6, batch=64)
            return self.evaluate({"mode": "disaggregated", "prefill": prefill, "decode": decode}
                                 )["figures"]
        capacity = figures(1, 2)["prefill_capacity"]
        self.serving["attention_data"] = [1, 2]
        for share in (0.3, 0.6, 0.9):
            self.config["workload"]["rate"] = f"{share * capacity} /s"
            of_ranks, of_replicas = figures(2, 1), figures(1, 2)
            self.assertGreater(of_replicas["ttft_99"], of_replicas["ttft"])
            for key, value in of_replicas.items():
                if isinstance(value, float):
                    self.assertAlmostEqual(of_ranks[key] / value, 1, places=9, msg=key)

    def test_experts_on_a_ring_exchange_through_its_middle(self):
        """Of the bytes of 16 ranks half go to the other half: 8 halves over the two links of a
        ring, or the one of a line.  Behind a switch each rank sends all but its own sixteenth."""
        model = self.config["workload"]["model"]
        model.pop("mlp")
        model["experts"] = {"count": 16, "used": 2, "mlp": 1024}
        self.pool["chips"] = 16
        self.serving.update(tensor=[1], attention_data=[16], expert=[16])
        ranks = ONE | {"tensor": 1, "pipeline": 1, "attention_data": 16, "expert": 16}

        def network(topology):
            self.pool["system"]["network"] = [
                {"topology": topology, "degree": 16, "bandwidth": "100 GB/s", "latency": "0 s"}]
            return self.evaluate(ranks)["breakdown"]["iteration"]["network"]
        switch = network("switch")
        self.assertGreater(switch, 0)
        self.assertAlmostEqual(network("ring") / switch, (8 / 2 / 2) / (15 / 16), places=9)
        self.assertAlmostEqual(network("line") / switch, (8 / 2 / 1) / (15 / 16), places=9)

    def test_graphs_beside_the_share_take_of_it_what_is_more_than_the_rest(self):
        self.pool["system"] = {"from": "h100_dgx"}
        self.config["workload"]["model"] = "llama3_70b"
        self.serving.update(tensor=[8], engine="vllm_v1", utilization=0.9)
        deployment = ONE | {"tensor": 8, "pipeline": 1}

        def cache(graphs):
            self.serving["graphs"] = f"{graphs} B"
            return self.evaluate(deployment)["kv_cache"]["cache"]
        result = self.solve()
        rest = 0.1 * result["pools"][0]["memory"]["capacity"]
        without = cache(0)
        self.assertAlmostEqual(cache(0.9 * rest) / without, 1, places=9)
        self.assertAlmostEqual((without - cache(1.5 * rest)) / (0.5 * rest), 1, places=6)

    def test_caches_hold_the_longest_request_unless_another_length_is_given(self):
        room = self.evaluate(ONE)["kv_cache"]
        self.assertEqual(room["max_model_len"], 500 + 100)
        self.assertAlmostEqual(room["requests"] * 600 / room["tokens"], 1, places=9)
        self.serving["max_model_len"] = 1000
        room = self.evaluate(ONE)["kv_cache"]
        self.assertAlmostEqual(room["requests"] * 1000 / room["tokens"], 1, places=9)

    def test_a_number_of_replicas_leaves_the_ranks_open(self):
        self.serving.update(modes=["aggregated"], tensor=[1], pipeline=[1],
                            aggregated={"replicas": 1}, objective="throughput")
        self.serving["attention_data"] = [1, 2, 4, 8]
        listed = self.solve()["serving"]
        self.assertGreater(listed["best"]["attention_data"], 1)
        del self.serving["attention_data"]
        self.assertEqual(self.solve()["serving"]["value"], listed["value"])

    def test_the_requests_of_a_server_are_those_of_all_its_stages(self):
        self.serving.update(modes=["aggregated"], tensor=[1], pipeline=[2], batch="1..64",
                            objective="throughput")
        self.assertGreater(self.solve()["serving"]["best"]["batch"], 8)
        self.serving["max_seqs"] = 16
        self.assertEqual(self.solve()["serving"]["best"]["batch"], 8)

    def test_a_measured_chip_multiplies_whole_numbers_of_8_bits_as_fast_as_reals(self):
        self.pool["system"] = {"from": "h100_dgx", "chip": "h100_80gb"}
        seconds = {}
        for number in ("bf16", "fp8", "int8"):
            self.config["workload"]["precision"] = {"weights": "fp8", "products": number}
            figures = self.evaluate(ONE | {"batch": 64, "chunk": 8192})["figures"]
            seconds[number] = figures["mixed_iteration"]
        self.assertEqual(seconds["int8"], seconds["fp8"])
        self.assertLess(seconds["fp8"], seconds["bf16"])

    def test_a_model_of_a_fleet_keeps_its_own_limits_and_those_of_all_that_it_does_not_have(self):
        self.config = json.loads(kinds.fleet())
        first, second = self.config["fleet"]["models"]
        self.config["serving"]["limits"] = {"tpot": "1 ns"}  # each has another one
        self.solve()
        del second["limits"]
        self.solve(status=3)
        self.config["serving"]["limits"] = {"tpot": "5 ms"}
        self.solve()
        first["limits"] = {"tpot": "1 ns"}
        self.solve(status=3)

    def test_no_front_passes_the_bound_and_both_axes_have_the_same_one(self):
        """A chip costs 1 $ an hour: dollars of a million tokens are 1e6 / 3600 over tokens/s."""
        bounds = {}
        for axis in ("cost", "throughput_per_chip"):
            self.serving.update(objective="front", front=axis)
            serving = self.solve()["serving"]
            bounds[axis] = serving["excluded"]
            for point in serving["front"]:
                slower = [bound for speed, bound in bounds[axis]
                          if speed <= point["tokens_per_s_per_user"]]
                if axis == "cost":
                    self.assertGreaterEqual(point["dollars_per_mtoken"], slower[-1])
                else:
                    self.assertLessEqual(point["tokens_per_s_per_chip"], slower[-1])
        for (speed, dollars), (same, tokens) in zip(bounds["cost"], bounds["throughput_per_chip"],
                                                    strict=True):
            self.assertEqual(speed, same)
            self.assertAlmostEqual(dollars * tokens / (1e6 / 3600), 1, places=9)

    def test_more_memory_for_pools_in_proportion_is_just_enough(self):
        """One chip prefills, the other one decodes, and the smaller one needs what it needs."""
        self.serving.update(modes=["disaggregated"], tensor=[1], pipeline=[1],
                            prefill={"batch": [1]})
        other = copy.deepcopy(self.pool) | {"name": "y"}
        self.serving["pools"].append(other)

        def capacity(most):
            for pool, share in ((self.pool, 1 / 1.5), (other, 1)):
                pool["chips"] = 1
                pool["system"]["memory"]["capacity"] = f"{share * most} B"
        capacity(90e6)
        remedy, = self.remedies("memory")
        self.assertEqual(remedy["given"], 90e6)
        capacity(remedy["enough"])
        self.solve()
        capacity(remedy["enough"] - 2)
        self.solve(status=3)

    def test_more_chips_for_a_fleet_are_just_enough(self):
        self.config = json.loads(kinds.fleet())
        pool = self.config["serving"]["pools"][0]
        for chips, rate in ((8, 8000), (9, 9000), (5, 6000)):
            with self.subTest(chips=chips, rate=rate):
                pool["chips"] = chips
                for model in self.config["fleet"]["models"]:
                    model["workload"]["rate"] = f"{rate} /s"
                remedy, = self.remedies("chips")
                self.assertEqual(remedy["given"], chips)
                pool["chips"] = round(remedy["enough"])
                self.solve()
                pool["chips"] -= 1
                self.solve(status=3)


if __name__ == "__main__":
    support.main()
