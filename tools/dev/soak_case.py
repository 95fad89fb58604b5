"""One random config: solved in several ways that must not contradict each other.

`Case` runs the program and keeps the results of all runs of the same problem: the least objective of
any mapping, the greatest lower bound, the proved answer.  soak_ways.py has the runs of a config.
"""

import json
import pathlib
import re
import shlex
import signal

import soak_checks as checks
import soak_configs

OUTPUTS = ("json", "mapping", "checkpoint", "events")
TEMPORARY = re.compile(r"\..+\.\d+\.tmp")  # of io/text/files.cpp
# Keys of a result that are not part of the answer.
ASIDE = ("search", "top", "top_complete", "beyond_scope")


class Knowledge:
    """Results of all runs of one problem together."""

    def __init__(self):
        self.upper = None  # least objective of a mapping that fits, and its run
        self.lower = (0.0, "nobody")
        self.infeasible = None  # the run that proved it
        self.answer = None  # the proved result, and its run
        self.tops = {}  # proved answers of --top K

    def contradictions(self):
        found = []
        if self.upper and self.lower[0] > self.upper[0]:
            found.append(f"the lower bound {self.lower[0]!r} of {self.lower[1]} is above the "
                         f"objective {self.upper[0]!r} of {self.upper[1]}")
        if self.upper and self.infeasible:
            found.append(f"proved infeasible by {self.infeasible}, but {self.upper[1]} found a "
                         "mapping")
        return found


class Case:
    """A folder with a config and all its runs."""

    def __init__(self, runner, folder, random, figures):
        self.runner = runner
        self.folder = pathlib.Path(folder)
        self.random = random
        self.figures = figures  # of the whole soak test
        self.log = []  # command lines
        self.complaints = []
        self._known = {}
        self._valid = set()  # overrides with which the config was read
        self.cut = False  # the last run may have been, after its proof
        self._wreckage = set()  # temporary files of killed processes
        self.config = soak_configs.random_config(random)
        self.file = self._write_config()

    def _write_config(self):
        text = soak_configs.text_of(self.random, self.config)
        name = "config.json" if text.startswith("{") else "config.yaml"
        (self.folder / name).write_text(text, encoding="utf-8")
        return name

    def tighten(self, result):
        """Another problem, with capacities that bind."""
        soak_configs.tighten(self.random, self.config, result)
        (self.folder / self.file).unlink()
        self.file = self._write_config()
        self._known.clear()
        self._valid.clear()

    def own(self, name):
        """The file of that name in the folder; nothing for a device, which must stay as it is."""
        return self.folder / name if name and "/" not in name else None

    def complain(self, what, about=None):
        command = f"\n    {self.log[-1]}" if self.log else ""
        self.complaints.append(what + (f"\n    {about}" if about else command))

    # Running:

    def run(self, *words, stop=None, stdout=None, limit=None):
        words = list(map(str, words))
        line = f"dfsearch {shlex.join(words)}"
        if stop:
            line += f"  # {signal.Signals(stop[0]).name} after {stop[1]:.4f} s"
        self.log.append(line + (f" > {stdout}" if stdout else ""))
        done = self.runner.run(words, self.folder, stop=stop, stdout=stdout, limit=limit)
        self.figures.count_run(done)
        return done

    def solve(self, stop=None, stdout=None, **options):
        """Runs `solve` with these options, checks the run, and returns the JSON, or None if the run
        left none."""
        options.setdefault("json", "r.json")
        for output in ("json", "mapping", "events"):  # that a run before left
            file = self.own(options.get(output))
            if file:
                file.unlink(missing_ok=True)
        done = self.run(self.file, *words_of(options), stop=stop, stdout=stdout,
                        limit=options.get("time_limit"))
        self.cut = checks.may_be_cut(done, options)
        for what in checks.check_process(done, options) + checks.check_time(done, options):
            self.complain(what, done.stderr[-2000:])
        self.figures.count_solve(done, options)
        self._check_files(done, options)
        result = None
        if done.status != checks.WRONG_INPUT or options.get("also"):
            result = self._load_json(done, options)
        elif tuple(options.get("set", ())) in self._valid:
            self.complain("what was right is wrong now", done.stderr)
        elif not re.search(r"^\S[^\n]*: \S", done.stderr):
            self.complain("exit status 2 without a place in its message", done.stderr)
        if result:
            self.figures.count_result(result)
            self._valid.add(tuple(options.get("set", ())))
            for what in checks.check_result(result, done, options):
                self.complain(what)
            self._learn(result, done, options)
        self._check_outputs(result, done, options)
        return result

    def _load_json(self, done, options):
        file = self.own(options["json"])
        if file is None:
            return None
        if not file.exists():
            if done.status >= 0:
                self.complain(f"exit status {done.status} and no JSON", done.stderr)
            return None
        try:
            return json.loads(file.read_text(encoding="utf-8"))
        except ValueError as error:
            self.complain(f"the JSON does not load: {error}")
            return None

    def _check_files(self, done, options):
        expected = {self.file, "r.json", "hint.json", "perturbed.json"}
        expected |= {options[key] for key in OUTPUTS if key in options} | self._kept
        for path in self.folder.iterdir():
            if path.name in expected or path.name in self._wreckage:
                continue
            if done.status == -signal.SIGKILL and TEMPORARY.fullmatch(path.name):
                path.unlink()
                continue
            self.complain(f"left the file {path.name}")
            self._wreckage.add(path.name)

    @property
    def _kept(self):
        return {"c.ck", "e.ndjson", "m.json", "graph.json"}

    def _check_outputs(self, result, done, options):
        killed = done.status < 0
        file = self.own(options.get("events"))
        if file:
            text = file.read_text(encoding="utf-8") if file.exists() else ""
            if done.status != checks.WRONG_INPUT or options.get("also"):
                for what in checks.check_events(text, result, killed):
                    self.complain(what)
        file = self.own(options.get("mapping"))
        if result and file:
            has = file.exists()
            if has != (result["objective"] is not None):
                self.complain(f"status {result['status']}, mapping file: {has}")
            if has:
                self._check_mapping(result, options)

    def _check_mapping(self, result, options):
        """Checks that the mapping written has the cost of the result, to the last bit."""
        again = self.evaluate(options["mapping"], options)
        if again is None:
            self.complain("the mapping found does not evaluate")
            return
        for key in result:
            if key in ("status", "stopped_by", "lower_bound", "gap", "infeasible", "scope", *ASIDE):
                continue
            if repr(again[key]) != repr(result[key]):
                self.complain(f"evaluate says another {key}: {again[key]!r}, not {result[key]!r}")

    def evaluate(self, mapping, options):
        """The JSON of `evaluate` if the mapping fits."""
        done = self.run("evaluate", self.file, "--mapping", mapping, *set_words(options),
                        "--json", "-")
        for what in checks.check_process(done, {}):
            self.complain(what, done.stderr)
        if done.status not in (0, checks.INFEASIBLE):
            return None
        result = json.loads(done.stdout)
        if done.status == checks.INFEASIBLE:
            return None
        self.known(options).upper = min(
            self.known(options).upper or (float("inf"),), (result["objective"], self.log[-1]))
        self._check_knowledge(options)
        return result

    # Knowing:

    def known(self, options):
        """Results of the config with the overrides of these options."""
        return self._known.setdefault(tuple(options.get("set", ())), Knowledge())

    def _check_knowledge(self, options):
        for what in self.known(options).contradictions():
            self.complain(what)

    def _learn(self, result, done, options):
        known, who = self.known(options), self.log[-1]
        if result["objective"] is not None:
            known.upper = min(known.upper or (float("inf"),), (result["objective"], who))
        if result["lower_bound"] is not None:
            known.lower = max(known.lower, (result["lower_bound"], who))
        if result["status"] == "infeasible":
            known.infeasible = who
        self._check_knowledge(options)
        if result["stopped_by"] is None and (
                result["status"] == "infeasible" or result["gap"] == 0):
            self._compare_proofs(result, done, options)

    def _compare_proofs(self, result, done, options):
        """Checks that all proofs agree.  A limit or a signal may come between the proof and the
        choice among equals, or before all is known of why nothing fits; a gap leaves the choice
        open."""
        known, who = self.known(options), self.log[-1]
        if "gap" in options or checks.may_be_cut(done, options):
            return
        if "node_limit" in options and result["status"] == "infeasible":
            return
        answer = {key: value for key, value in result.items() if key not in ASIDE}
        top = result["top"], result["top_complete"]
        if "partitions" in result:  # several threads find any one of equal mappings
            answer = {key: result[key] for key in ("status", "objective", "no_plan") if key in result}
            top = [found["lower_bound"] for found in top[0]], top[1]
        if known.answer is None:
            known.answer = answer, who
        elif known.answer[0] != answer:
            different = [key for key in answer if answer[key] != known.answer[0][key]]
            self.complain(f"two proofs differ in {', '.join(different)}; the other one:\n"
                          f"    {known.answer[1]}")
        # A next best that nobody asked for depends on a fixed effort.
        if "node_limit" in options or "hint" in options:
            return
        first = known.tops.setdefault(options.get("top"), (top, who))
        if first[0] != top:
            self.complain(f"two proofs differ in their top; the other one:\n    {first[1]}")


def set_words(options):
    return [word for change in options.get("set", ()) for word in ("--set", change)]


def words_of(options):
    """The options as words of the command line."""
    words = set_words(options)
    for key, form in (("threads", "{}"), ("time_limit", "{} s"), ("node_limit", "{}"),
                      ("gap", "{}"), ("top", "{}"), ("memory_limit", "{} B"), ("json", "{}"),
                      ("mapping", "{}"), ("hint", "{}"), ("checkpoint", "{}"), ("resume", "{}"),
                      ("events", "{}")):
        if key in options:
            words += [f"--{key.replace('_', '-')}", form.format(options[key])]
    words += [word for name in options.get("no_bound", ()) for word in ("--no-bound", name)]
    return words + [f"--{flag}" for flag in ("deterministic", "quiet", "verbose")
                    if options.get(flag)]
