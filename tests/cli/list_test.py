#!/usr/bin/env python3
"""The shelf on the command line: `dfsearch list`, and its names in configs.

usage: list_test.py DFSEARCH [TEST ...]
"""

import pathlib
import re

from support import CliTest, main

CONFIGS = pathlib.Path(__file__).resolve().parents[2] / "configs"
KINDS = ("systems", "workloads", "studies")


def names_of(kind):
    return sorted(file.stem for file in (CONFIGS / kind).glob("*.yaml"))


class ListTest(CliTest):
    def test_each_kind_has_a_line_for_every_file_and_what_it_is_below(self):
        blocks = []
        for kind in KINDS:
            text = self.run_tool("list", kind).stdout
            blocks.append(text)
            lines = text.splitlines()
            self.assertLessEqual(max(map(len, lines)), 100)
            self.assertEqual([line.split()[0] for line in lines[1:] if line[0] != " "],
                             names_of(kind))
            for name, below in re.findall(r"^(\S+).*\n((?:    .*\n)+)", text, re.M):
                with self.subTest(name):
                    first = (CONFIGS / kind / f"{name}.yaml").read_text().splitlines()[0]
                    self.assertTrue(" ".join(below.split()).startswith(first[2:]))
        self.assertEqual(self.run_tool("list").stdout, "\n".join(blocks))

    def test_the_json_has_the_figures(self):
        lists = self.result("list")
        self.assertEqual(list(lists), list(KINDS))
        for kind in KINDS:
            self.assertEqual([entry["name"] for entry in lists[kind]], names_of(kind))
        systems = {entry["name"]: entry for entry in lists["systems"]}
        h100 = systems["h100_dgx"]  # as the file has it
        self.assertEqual(h100["peak"], 528 * 32 * 16 * 2 * 1.83e9)
        self.assertIsNone(h100["chips"])
        self.assertEqual(h100["memory"], {"bandwidth": 3.35e12, "capacity": 79.15 * 2**30, "second": None})
        self.assertEqual(h100["network"][1], {"topology": "switch", "degree": None,
                                              "bandwidth": 5e10, "latency": 1e-5})
        self.assertEqual(systems["sn30_2d_torus"]["chips"], 1024)
        self.assertIsNone(systems["calculon_h100_80g"]["sram"])
        models = {entry["name"]: entry["model"] for entry in lists["workloads"]}
        self.assertEqual(models["llama3_8b"]["parameters"], 8_030_261_248)
        self.assertIsNone(models["hpl_1m"])
        # Layers of several kinds count as their makers count them (num_hidden_layers).
        layers = {entry["name"]: entry["layers"] for entry in lists["workloads"]}
        self.assertEqual([layers[name] for name in ("gpt_oss_120b", "gemma3_12b", "llama4_scout")],
                         [36, 48, 48])
        studies = {entry["name"]: entry["dimensions"] for entry in lists["studies"]}
        self.assertEqual(studies["systems_gpt3"],
                         [{"axes": ["chip"], "choices": 4}, {"axes": ["network"], "choices": 5},
                          {"axes": ["memory"], "choices": 2}, {"axes": ["link"], "choices": 2}])
        self.assertEqual(studies["sram_dram"][0], {"axes": ["base"], "choices": 2})
        self.assertEqual(studies["million"][0], {"axes": ["cores", "chip_price"], "choices": 16})
        one = self.run_tool("list", "systems", "--json", "s.json").stdout
        self.assertEqual(one, self.run_tool("list", "systems").stdout)
        self.assertEqual(self.read_json("s.json"), {"systems": lists["systems"]})

if __name__ == "__main__":
    main()
