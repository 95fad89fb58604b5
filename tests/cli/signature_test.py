"""How many nodes deterministic searches of named configs expand.

A change of these numbers is no error by itself: bounds and orders are allowed to
get better.  But it must be meant.  After a change that was meant:

    tests/cli/signature_test.py build/release/dfsearch --update
"""

import json
import pathlib
import subprocess
import sys

import support

ROOT = pathlib.Path(__file__).resolve().parents[2]
SIGNATURE = ROOT / "tests" / "golden" / "signature.json"


def nodes_of(program, entry, threads):
    command = [program, str(ROOT / entry["config"]), *entry["arguments"], "--deterministic",
               "--threads", str(threads), "--top", "1", "--quiet", "--json", "-"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=120, check=True)
    return json.loads(done.stdout)["search"]["nodes"]


class Signature(support.CliTest):
    def test_deterministic_searches_expand_the_nodes_on_record(self):
        for name, entry in json.loads(SIGNATURE.read_text())["instances"].items():
            for threads in (1, 2):
                with self.subTest(name, threads=threads):
                    self.assertEqual(nodes_of(self.program, entry, threads), entry["nodes"])


def update(program):
    record = json.loads(SIGNATURE.read_text())
    for entry in record["instances"].values():
        entry["nodes"] = nodes_of(program, entry, 1)
    SIGNATURE.write_text(json.dumps(record, indent=2) + "\n")


if __name__ == "__main__":
    if sys.argv[2:] == ["--update"]:
        update(sys.argv[1])
    else:
        support.main()
