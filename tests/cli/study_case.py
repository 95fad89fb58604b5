"""A small study, and what its tests share."""

import json

from support import SMALL, CliTest

STUDY = """\
study: {name: small, front: [step_time, price]}
base: {from: small.yaml}
axes:
  - {name: sram, key: system.accelerator.sram, values: [64 KiB, 512 KiB, 2 MiB]}
  - {name: memory, key: system.memory.bandwidth, from: 10 GB/s, to: 1000 GB/s, steps: 5, scale: log}
  - name: link
    choices:
      slow: {system.network.0.bandwidth: 5 GB/s}
      fast: {system.network.0.bandwidth: 50 GB/s, power.link: 0.1}
except: [{link: fast, sram: 64 KiB}]
"""


# Its kernels need an SRAM even alone.
TIGHT = STUDY.replace("{from: small.yaml}",
                      "{from: small.yaml, set: {equations.lone_kernels: whole}}")


def without_search(line):
    row = json.loads(line)
    del row["search"]
    return json.dumps(row)


class StudyCase(CliTest):
    def setUp(self):
        super().setUp()
        self.write("small.yaml", SMALL)
        self.study = self.write("study.yaml", STUDY)

    def folder_of(self, name):
        return self.folder / name

    def rows(self, folder):
        return (self.folder_of(folder) / "results.ndjson").read_text().splitlines()

    def results(self, folder):
        return sorted(map(without_search, self.rows(folder)))

    def json_of(self, folder, name):
        return self.read_json(folder, name)

    def run_study(self, folder, *words, study=None, status=0):
        return self.run_tool("study", study or self.study, "-o", self.folder_of(folder), *words,
                             status=status)

    def assert_error(self, message, *words):
        done = self.run_tool(*words, status=2)
        self.assertIn(message, done.stderr)
