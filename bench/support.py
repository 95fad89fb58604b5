"""What the benchmark scripts share: the machine, tables, recorded results."""

import datetime
import json
import os
import pathlib
import re
import resource
import statistics
import subprocess
import sys
import time

BENCH = pathlib.Path(__file__).resolve().parent
ROOT = BENCH.parent
RESULTS = BENCH / "results"
README = BENCH / "README.md"


def output_of(*command):
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


def add_options(parser):
    """Options of all the scripts."""
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release",
                        help="the build to measure (build/release)")
    parser.add_argument("--record", action="store_true",
                        help="keep the results in bench/README.md")
    parser.add_argument("--patience", type=float, default=60, metavar="SECONDS",
                        help="how long to wait, in all, for a quiet machine (60)")


def compiled_with(build):
    """Compiler, build type and flags as the build's CMake cache and rules say."""
    cache = {}
    for line in (build / "CMakeCache.txt").read_text().splitlines():
        entry = re.match(r"(\w+):\w+=(.*)", line)
        if entry:
            cache[entry[1]] = entry[2]
    compiler = output_of(cache["CMAKE_CXX_COMPILER"], "--version").splitlines()[0]
    kind = cache["CMAKE_BUILD_TYPE"]
    flags = cache.get(f"CMAKE_CXX_FLAGS_{kind.upper()}", "") + " -ffp-contract=off"
    if cache.get("CMAKE_INTERPROCEDURAL_OPTIMIZATION", "OFF") in ("ON", "TRUE", "1"):
        flags += ", link-time optimisation"
    return {"compiler": compiler, "build": kind, "flags": flags.strip()}


def machine(build):
    """What a reader needs to compare the numbers with others."""
    cpu = re.search(r"^model name\s*:\s*(.*)$", pathlib.Path("/proc/cpuinfo").read_text(), re.M)
    cache = (pathlib.Path(build) / "CMakeCache.txt").read_text()
    source = re.search(r"^CMAKE_HOME_DIRECTORY:INTERNAL=(.*)$", cache, re.M)[1]
    built = ("src", "tools", "CMakeLists.txt", "cmake")
    dirty = output_of("git", "-C", source, "status", "--porcelain", *built)
    # The last one that changed the program: documents and figures make it no other.
    commit = output_of("git", "-C", source, "log", "-1", "--format=%h", "--", *built)
    return {
        "cpu": cpu[1] if cpu else "unknown",
        "cores": os.cpu_count(),
        "system": f"{os.uname().sysname} {os.uname().release}",
        **compiled_with(build),
        "commit": commit + ("+" if dirty else ""),
        "date": datetime.date.today().isoformat(),
        "load": round(os.getloadavg()[0], 2),
    }


def platform_text(facts):
    cores = f"{facts['cores']} core{'s' if facts['cores'] != 1 else ''}"
    return (f"{facts['cpu']}, {cores}, {facts['system']}; {facts['compiler']}, {facts['build']}"
            f" (`{facts['flags']}`)")


def machine_text(facts):
    return (f"{platform_text(facts)}; commit {facts['commit']}, {facts['date']}; load average"
            f" {facts['load']} at the start, other processes took up to"
            f" {100 * facts['others']:.0f} % of the processors")


def seconds(value):
    """0.005123 -> '5.12 ms'"""
    for scale, unit in ((1, "s"), (1e-3, "ms"), (1e-6, "us")):
        if value >= scale:
            return f"{value / scale:.{4 if value >= 1000 else 3}g} {unit}"
    return f"{value * 1e9:.3g} ns"


def table(head, rows):
    """Markdown, without padding: diffs then show what changed."""
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows])


def record(name, facts, text):
    """Puts the table into its place in README.md."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    old = README.read_text()
    before, _, rest = old.partition(begin)
    _, found, after = rest.partition(end)
    if not found:
        sys.exit(f"{README} has no place for {name}")
    README.write_text(
        f"{before}{begin}\n{machine_text(facts)}.\n\n{text}\n{end}{after}")


def dfsearch(config, *arguments, binary):
    """The result of one search as it stands in its JSON."""
    done = subprocess.run(
        [binary, str(config), *arguments, "--quiet", "--json", "-"],
        cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 4, 5):  # proved, or stopped by a limit
        sys.exit(f"{config}: exit status {done.returncode}\n{done.stderr}")
    return json.loads(done.stdout)


def processor_time():
    """Of the programs that have been run, in seconds."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def median(values):
    return statistics.median(values)


class Quiet:
    """Measures while nobody else computes, on a machine that others use as well.

    Before a measurement it waits until the processors are idle, and it repeats one
    during which other processes took more than `TOLERATED` of them.  `patience`
    is how many seconds all waiting and repeating may take; then it takes what
    comes.  `worst` is the share that others took of any measurement kept.
    """

    TOLERATED = 0.03

    def __init__(self, patience):
        self.deadline = time.monotonic() + patience
        self.worst = 0.0

    def measure(self, action):
        while True:
            while self.others(lambda: time.sleep(0.2))[1] > self.TOLERATED and self.patient():
                pass
            result, share = self.others(action)
            if share <= self.TOLERATED or not self.patient():
                self.worst = max(self.worst, share)
                return result

    def patient(self):
        return time.monotonic() < self.deadline

    @staticmethod
    def others(action):
        """The action's result, and the share of all processors that others took meanwhile."""
        before, own_before, start = busy_time(), own_time(), time.monotonic()
        result = action()
        wall = max(time.monotonic() - start, 1e-3)
        taken = busy_time() - before - (own_time() - own_before)
        # The kernel counts in ticks: a short action may be off by one for each processor.
        tick = 1 / os.sysconf("SC_CLK_TCK")
        return result, max(0.0, taken / os.cpu_count() - tick) / wall


def busy_time():
    """Seconds that all processors together have computed since the start of the machine."""
    fields = pathlib.Path("/proc/stat").read_text().splitlines()[0].split()[1:]
    user, nice, system, _, _, irq, softirq, steal = map(int, fields[:8])
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


def own_time():
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)
