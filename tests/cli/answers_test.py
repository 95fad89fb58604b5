"""What the shipped configs answer, to the bit: a frozen record that a change of structure must keep.

The values come from the program itself.  They prove nothing by themselves (the twins, the published
runs and brute force do that): they show which answers a change alters.  Those that were meant have
their reason in CHANGELOG.md, and the record is taken anew:

    tests/cli/answers_test.py build/release/dfsearch --update
"""

import hashlib
import json
import pathlib
import subprocess
import sys

import support

ROOT = pathlib.Path(__file__).resolve().parents[2]
RECORD = ROOT / "tests" / "golden" / "answers.json"
FOLDERS = (".", "figures", "published", "training", "transformers")
LONGEST = 2  # seconds: a search that takes more is not recorded, so that the test stays short
# The decisions, of mappings, plans and executions.
DECISIONS = ("parallelism", "network", "micro_batch", "tile", "sharding", "partitions", "plan",
             "execution", "split")


def run(program, arguments):
    done = subprocess.run([program, *arguments, "--json", "-"], stdout=subprocess.PIPE, text=True,
                          timeout=120, check=False)
    return json.loads(done.stdout)


def exact(number):
    return None if number is None else float(number).hex()


def digest(value):
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


def decisions_of(result, plan_keys):
    decided = {key: result[key] for key in DECISIONS if result.get(key) is not None}
    if "plan" in decided:
        decided["plan"] = {key: decided["plan"].get(key) for key in plan_keys}
    if isinstance(decided.get("partitions"), list):  # their times are the objective's business
        decided["partitions"] = [part["kernels"] for part in decided["partitions"]]
    return decided


def answer(program, config, threads, plan_keys, seconds=100):
    result = run(program, [str(ROOT / config), "--deterministic", "--threads", str(threads),
                           "--top", "1", "--time-limit", f"{seconds} s", "--quiet"])
    return {"status": result["status"], "objective": exact(result["objective"]),
            "lower_bound": exact(result["lower_bound"]),
            "decisions": digest(decisions_of(result, plan_keys))}


def chip(program, config):
    found = run(program, ["chip", str(ROOT / config)])
    found.pop("config")  # where it is read from
    return digest(found)


class Answers(support.CliTest):
    def setUp(self):
        self.record = json.loads(RECORD.read_text())

    def test_configs_have_the_answers_on_record(self):
        for config, expected in self.record["answers"].items():
            for threads in (1, 2):
                with self.subTest(config, threads=threads):
                    self.assertEqual(
                        answer(self.program, config, threads, self.record["plan_keys"]), expected)

    def test_chips_are_those_on_record(self):
        for config, expected in self.record["chips"].items():
            with self.subTest(config):
                self.assertEqual(chip(self.program, config), expected)


def files(folder):
    return sorted(str(path.relative_to(ROOT)) for path in (ROOT / "configs" / folder).glob("*.yaml"))


def update(program):
    answers = {}
    # A decision that plans get later leaves the record as it is.
    plan_keys = list(run(program, [str(ROOT / "configs/training/qwen3_30b_16_h100.yaml"), "--quiet"])["plan"])
    for config in (name for folder in FOLDERS for name in files(folder)):
        found = answer(program, config, 1, plan_keys, LONGEST)
        if found["status"] in ("optimal", "infeasible"):
            # Without the limit, which may end the choice among equals after the proof.
            answers[config] = answer(program, config, 1, plan_keys)
    chips = {config: chip(program, config)
             for folder in ("chips", "chips/nodes", "chips/memories", "chips/links")
             for config in files(folder)}
    RECORD.write_text(json.dumps({
        "what": "answers of deterministic searches to the bit; see tests/cli/answers_test.py",
        "plan_keys": plan_keys, "answers": answers, "chips": chips}, indent=1) + "\n")


if __name__ == "__main__":
    if sys.argv[2:] == ["--update"]:
        update(sys.argv[1])
    else:
        support.main()
