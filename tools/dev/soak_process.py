"""One run of the program: its files, signals, time and memory."""

import dataclasses
import os
import select
import signal
import subprocess
import tempfile
import threading
import time

END = 60.0  # seconds after which a run that ought to be over hangs


@dataclasses.dataclass
class Done:
    """A run that is over."""

    words: list
    status: int  # exit status, or the signal that ended it as a negative number
    stdout: str
    stderr: str
    pid: int
    wall: float  # seconds, from start to end
    waited: float  # seconds in which its main thread, told to stop, had no processor
    lateness: float  # seconds, the greatest delay of a sleeper nearby during the run
    peak: int  # bytes of memory, the most at once
    signalled: int | None = None  # the signal sent while it ran
    signal_time: float = 0.0  # seconds after its start
    hung: bool = False
    orphans: bool = False

    @property
    def load_allowance(self):
        """Seconds that a busy machine may add: the lateness of a sleeper, and twice the time that
        the main thread, once it was to stop, waited for a processor, since it waits in turn for
        threads that do."""
        return 2 * self.waited + self.lateness


class Sleeper:
    """A thread that sleeps briefly, again and again, and notes how late it wakes."""

    NAP = 0.01

    def __init__(self):
        self._late = []  # (when, how late), only appended to
        threading.Thread(target=self._sleep, daemon=True).start()

    def _sleep(self):
        while True:
            begin = time.monotonic()
            time.sleep(self.NAP)
            late = time.monotonic() - begin - self.NAP
            if late > self.NAP:
                self._late.append((begin, late))

    def worst_since(self, begin):
        worst = 0.0
        for when, late in reversed(self._late[:]):
            if when + late < begin:
                break
            worst = max(worst, late)
        return worst


class Runner:
    """Starts the program; may be used by several threads."""

    def __init__(self, program, signals=True):
        self.program = program
        self.signals = signals  # may be sent
        self.help = subprocess.run([program, "solve", "--help"], capture_output=True,
                                   text=True, check=True).stdout
        self._sleeper = Sleeper()

    def run(self, words, folder, stop=None, stdout=None, limit=None):
        """Runs to the end.  `stop` is a signal and after how many seconds to send it; `stdout` a
        file for standard output in place of what is returned; `limit` the time limit that the
        words ask for."""
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            target = open(stdout, "wb") if stdout else out  # noqa: SIM115
            begin = time.monotonic()
            process = subprocess.Popen([self.program, *words], cwd=folder, stdout=target,
                                       stderr=err, stdin=subprocess.DEVNULL,
                                       start_new_session=True)
            if stdout:
                target.close()
            done = self._wait(process, begin, words, stop, limit)
            for name, file in (("stdout", out), ("stderr", err)):
                file.seek(0)
                setattr(done, name, file.read().decode(errors="replace"))
        return done

    def _wait(self, process, begin, words, stop, limit):
        descriptor = os.pidfd_open(process.pid)
        signalled, hung, before = None, False, None
        try:
            end = select.poll()
            end.register(descriptor, select.POLLIN)
            moments = [] if stop is None else [(stop[1], stop[0])]
            moments += [] if limit is None else [(limit, None)]
            for moment, number in sorted(moments, key=lambda m: m[0]):
                if end.poll(max(0.0, begin + moment - time.monotonic()) * 1000):
                    break
                if before is None:
                    before = _waited(process.pid)
                if number is not None:
                    signal.pidfd_send_signal(descriptor, number)
                    signalled = number
            if not end.poll(END * 1000):
                hung = True
                process.kill()
                end.poll()
            wall = time.monotonic() - begin
            waited = _waited(process.pid) - (before or 0.0)  # known until the process is waited for
        finally:
            os.close(descriptor)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        return Done(words=words, status=process.returncode, stdout="", stderr="", pid=process.pid,
                    wall=wall, waited=waited, lateness=self._sleeper.worst_since(begin),
                    peak=usage.ru_maxrss * 1024, signalled=signalled,
                    signal_time=stop[1] if stop else 0.0, hung=hung,
                    orphans=_has_members(process.pid))


def _waited(pid):
    try:
        with open(f"/proc/{pid}/schedstat", encoding="ascii") as file:
            return int(file.read().split()[1]) * 1e-9
    except (OSError, IndexError, ValueError):
        return 0.0  # a kernel that does not count it


def _has_members(group):
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True
