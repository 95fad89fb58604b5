#!/usr/bin/env python3
"""The shelf from any folder: configs and studies by their names, installed or not.

usage: names_test.py DFSEARCH [TEST ...]
"""

import os
import pathlib
import re
import subprocess

from support import SMALL, CliTest, main

CONFIGS = pathlib.Path(__file__).resolve().parents[2] / "configs"


def without_search(result):
    return {key: value for key, value in result.items() if key != "search"}


class Names(CliTest):
    """Every test runs in an empty folder."""

    def test_the_command_of_the_readme_runs_anywhere(self):
        # Several threads may find another one of equal mappings.
        by_path = self.result("--config", CONFIGS / "gpt3_1t.yaml", "--threads", "1",
                              "--deterministic")
        for name in ("gpt3_1t.yaml", "gpt3_1t", "configs/gpt3_1t.yaml", "./configs/gpt3_1t.yaml",
                     "shelf:/gpt3_1t.yaml"):
            with self.subTest(name):
                found = self.result("--config", name, "--threads", "64", "--deterministic")
                self.assertEqual(without_search(found), without_search(by_path))
        report = self.run_tool("gpt3_1t").stdout
        self.assertIn(": shelf:/gpt3_1t.yaml\n", report.splitlines()[0] + "\n")

    def test_what_a_config_of_the_shelf_names_is_on_the_shelf(self):
        for name in ("hpl", "training/megatron_22b_full", "megatron_22b_full.yaml",
                     "v100_prefill", "calculon_1t", "figures/serving_decode", "transformers/llama3_70b"):
            with self.subTest(name):
                self.assertIn("valid", self.run_tool("check", name).stdout)
        self.run_tool("chip", "chips/nodes/n7.yaml", "chips/v100")
        self.run_tool("gemm", "chips/v100", "--shape", "4096x4096x4096")
        graph = self.run_tool("graph", "fft").stdout
        self.assertEqual(graph, self.run_tool("graph", CONFIGS / "fft.yaml").stdout)
        # A page shows the text of its config.
        self.run_tool("hpl", "--html", "page.html")
        self.assertIn("hpl_1m", (self.folder / "page.html").read_text())

    def test_studies_have_names_and_a_folder_of_their_name(self):
        for name in ("serving", "studies/serving", "configs/studies/serving.yaml"):
            self.assertIn("serving: valid, 10 points",
                          self.run_tool("study", name, "--dry-run").stdout)
        one = ["--only", "tensor=16", "--only", "base=decode"]
        self.run_tool("study", "serving", *one, "--quiet")
        self.assertTrue((self.folder / "serving" / "study.html").exists())
        self.run_tool("study", "serving", *one, "--quiet")  # goes on with it
        (self.folder / "hpl").mkdir()
        self.write("hpl/notes.txt", "mine")
        self.write("hpl.yaml", "study: {name: s, solve: all}\nbase: {from: gpt3_1t}\n"
                               "axes: [{name: gap, key: search.gap, values: [0, 1]}]\n")
        done = self.run_tool("study", "hpl.yaml", status=2)
        self.assertIn("hpl: is there and has no results of a study, expected -o DIR", done.stderr)
        self.assertEqual(os.listdir(self.folder / "hpl"), ["notes.txt"])
        # A base may be a config of the shelf by its name.
        self.assertIn("2 points", self.run_tool("study", "hpl.yaml", "--dry-run").stdout)

    def test_files_come_first(self):
        self.write("gpt3_1t.yaml", SMALL)
        self.assertEqual(self.result("gpt3_1t.yaml")["machine"]["chips"], 2)
        self.assertEqual(self.result("gpt3_1t")["machine"]["chips"], 1024)

    def test_overrides_name_files_of_the_user_and_of_the_shelf(self):
        self.write("mine.yaml", (CONFIGS / "systems" / "sn30_2d_torus.yaml").read_text())
        results = [self.run_tool("check", "gpt3_1t_core_allocation", "--set", f"system.from={name}").stdout
                   for name in ("mine.yaml", "sn30_2d_torus", "systems/sn30_2d_torus.yaml")]
        self.assertEqual(len({text.split("\n", 1)[1] for text in results}), 1)

    def test_parts_of_technologies_are_named_as_all_else(self):
        chip = "{topology: ring, degree: 8, link: inter}"
        text = ("system:\n  technology: {from: %s}\n  budget: {from: %s}\n"
                f"  network: [{chip}]\n")
        path = CONFIGS / "technologies"
        self.write("whole.yaml", text % (path / "v100.yaml", path / "budgets/v100.yaml"))
        (self.folder / "deep").mkdir()

        def chip_of(name):
            return self.result("chip", name) | {"config": ""}

        expected = chip_of("whole.yaml")
        for name, words in (("short.yaml", ("v100", "v100")),
                            ("deep/short.yaml", ("v100", "v100")),
                            ("part.yaml", ("v100, memory: {from: hbm1_v100}, core: {from: v100_14nm}",
                                           "v100"))):
            with self.subTest(name):
                self.write(name, text % words)
                found = chip_of(name)
                self.assertEqual(found, expected)
        self.write("none.yaml", text % ("v101", "v100"))
        self.assertIn("did you mean 'v100'?", self.run_tool("chip", "none.yaml", status=2).stderr)

    def test_the_file_of_a_machine_is_no_config(self):
        file = CONFIGS / "systems" / "h100_dgx.yaml"
        said = f"{file}: is a machine; expected a config with 'system: {{from: {file}, chips: N}}'\n"
        for command in (["check", file], ["linpack", file, "--chips", "8", "--n", "4096"]):
            self.assertEqual(self.run_tool(*command, status=2).stderr, said)
        self.run_tool("linpack", self.write("c.yaml", f"system: {{from: {file}, chips: 8}}\n"),
                      "--n", "4096")

    def test_the_name_of_a_model_is_a_config_that_wants_a_machine(self):
        error = self.run_tool("llama3_70b", status=2).stderr
        self.assertRegex(error, "^llama3_70b: this file has a model but no machine; expected --system NAME")
        for file in CONFIGS.glob("**/*.yaml"):
            name = file.relative_to(CONFIGS).with_suffix("").as_posix()
            if name.split("/")[0] in ("studies", "systems", "workloads"):
                continue
            named = re.search(r"\bmodel: llama3_70b\b(?!_)", file.read_text()) is not None
            self.assertEqual(named, re.search(rf"[ ,]{re.escape(name)}(,|$)", error, re.M) is not None,
                             name)
        # Its example runs, and is the plan of a step of training.
        words = re.search(r"'dfsearch ([^']*)'(,|$)", error, re.M)[1].split()
        found = self.result(*words, "--time-limit", "20s", status=(0, 4))
        self.assertEqual(found["machine"]["chips"], 1024)
        self.assertIn("zero", found["plan"])
        # The arguments equal a config that names both.
        self.write("c.yaml", "workload: {model: llama3_8b}\nsystem: {from: h100_dgx, chips: 8}\n"
                             "training: {}\n")
        named = self.run_tool("check", "llama3_8b", "--system", "h100_dgx", "--chips", 8).stdout
        self.assertEqual(named.splitlines()[1:],
                         self.run_tool("check", "c.yaml").stdout.splitlines()[1:])
        self.write("llama3_70b", "{}")
        self.assertIn("missing key 'workload'", self.run_tool("llama3_70b", status=2).stderr)

    def test_a_name_that_several_have_is_an_error_with_all_of_them(self):
        names = [file.relative_to(CONFIGS).with_suffix("").as_posix()
                 for file in CONFIGS.glob("**/*.yaml")]
        whole = [name for name in names if name.split("/")[0] not in
                 ("systems", "workloads", "efficiencies", "curves", "stacks", "studies",
                  "technologies", "families")]
        last = [name.rsplit("/")[-1] for name in whole]
        several = [name for name in sorted(set(last))
                   if last.count(name) > 1 and name not in whole]
        for name in several:
            error = self.run_tool("check", name, status=2).stderr
            for other in whole:
                self.assertEqual(other.endswith("/" + name), other in error, error)

    def test_configs_are_listed(self):
        lists = self.result("list", "configs")
        names = [entry["name"] for entry in lists["configs"]]
        self.assertEqual(names, sorted(names))
        for name in ("gpt3_1t", "training/megatron_1t_full", "published/92_hpl_gpu_eos"):
            self.assertIn(name, names)
        lines = self.run_tool("list", "configs").stdout.splitlines()
        self.assertEqual([line for line in lines[1:] if line[0] != " "], names)

    def test_solve_under_mpi_does_nothing_many_times(self):
        self.write("c.yaml", SMALL)
        for name in ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE"):
            done = subprocess.run(self.command("c.yaml", "--json", "r.json"), cwd=self.folder,
                                  env={**os.environ, name: "4"}, capture_output=True, text=True,
                                  timeout=60, check=False)
            self.assertEqual(done.returncode, 2)
            self.assertIn("MPI has started 4 processes", done.stderr)
            self.assertEqual(self.files(), ["c.yaml"])


if __name__ == "__main__":
    main()
