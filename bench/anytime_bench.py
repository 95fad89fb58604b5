#!/usr/bin/env python3
"""What each counted part of the search is worth over time: the gap without it.

    bench/anytime_bench.py [--build build/release] [--limits 1,5,20] [NAME...]

Instances of bench/scale_instances.py, or configs by their path, are searched on one thread with all
parts and without each of them in turn (`--no-bound`), until the process has used so many seconds of
a processor: a busy machine makes that take longer, and hardly worse.  A cell has the gap that was
left after each limit.
"""

import argparse
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

import scale_instances
import support

PARTS = ("duals", "moves", "segments")
NAMES = ("training_8", "training_96", "training_70b_8", "prefill_175b_12", "resnet152_c640",
         "densenet121_c640", "efficientnet_b0_c640", "bert12_fine_c640", "ppocr4_det_s640",
         "ppocr4_det_c640")
LOOK = 0.01  # seconds between two looks at the processor time


def used(process):
    """Seconds of a processor so far."""
    fields = pathlib.Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def gap(build, config, part, limit):
    """What is left when a signal ends the search; nothing without a mapping."""
    words = ["--no-bound", part] if part else []
    with tempfile.NamedTemporaryFile(suffix=".json") as result:
        with subprocess.Popen([build / "dfsearch", config, "--threads", "1", "--quiet", "--json",
                               result.name, *words], stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL) as search:
            while search.poll() is None:
                time.sleep(LOOK)
                try:
                    if used(search.pid) >= limit:
                        search.send_signal(signal.SIGTERM)
                        break
                except (FileNotFoundError, ProcessLookupError):
                    break
            search.wait()
        return json.loads(pathlib.Path(result.name).read_text())["gap"]


def cell(build, config, part, limits):
    gaps = []
    for limit in limits:
        gaps.append(gap(build, config, part, limit))
        if gaps[-1] == 0:
            break
    return ", ".join("none" if left is None else "0" if left == 0 else f"{100 * left:.3g} %"
                     for left in gaps)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    support.add_options(parser)
    parser.add_argument("names", nargs="*", metavar="NAME", default=NAMES)
    parser.add_argument("--limits", default="1,5,20", help="seconds, ascending (1,5,20)")
    options = parser.parse_args()
    build = options.build.resolve()
    limits = [float(limit) for limit in options.limits.split(",")]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name in options.names:
            print(name, file=sys.stderr, flush=True)
            path = pathlib.Path(name)
            config = path if path.exists() else scale_instances.write(pathlib.Path(folder),
                                                                      [name])[name]
            rows.append([name] + [cell(build, config, part, limits) for part in ("", *PARTS)])
    print(support.table(["instance", "all", *[f"no `{part}`" for part in PARTS]], rows))


if __name__ == "__main__":
    main()
