"""Builds a configured folder and says how far it is: build_progress.py <folder> <jobs> [target].

On a terminal one line is rewritten; elsewhere a line comes every 15 seconds. What compilers print
is shown as it is, and the status is that of the build.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import selectors
import shutil
import signal
import subprocess
import sys
import time

MARK = "[mindtorch "  # before ninja's own lines
STATUS = re.compile(re.escape(MARK) + r"\d+/\d+\] (.*)")
OBJECT = re.compile(r"Building \w+ object (\S+)")
PERIOD_S = 15
OUT_OF_MEMORY = re.compile(r"Killed signal|cannot allocate memory|out of memory|: Killed$", re.I)
OUT_OF_SPACE = re.compile(r"No space left on device", re.I)

# What making something costs at least, in seconds of one core. A group of sources is one object
# (cmake/Sources.cmake).
GROUP_S, OBJECT_S, OTHER_S = 5.0, 3.0, 0.1
# For so long the estimate rests more on these numbers than on what was seen.
TRUSTED_S = 20.0

# tools/processes.sh's lock is held until ninja ends, too.
LOCK = (9,)
PR_SET_PDEATHSIG = 1
try:
    PRCTL = ctypes.CDLL(
        None
    ).prctl  # found here: a process that was just forked should look for nothing
except (OSError, AttributeError):
    PRCTL = None


def in_words(seconds: float) -> str:
    """A time left, no more exact than it is known."""
    if seconds < 50:
        return "less than a minute"
    minutes = round(seconds / 60)
    return "about a minute" if minutes <= 1 else f"about {minutes} minutes"


def objects(count: int) -> str:
    return f"{count} object" + "s" * (count != 1)


class Costs:
    """What each object costs: the time it took when it was last made, but no less than a guess (the
    compiler cache may have had it)."""

    def __init__(self, folder: str) -> None:
        self.known: dict[str, float] = {}
        with contextlib.suppress(OSError), open(os.path.join(folder, ".ninja_log")) as log:
            for line in log:
                parts = line.split("\t")
                if len(parts) == 5:
                    self.known[parts[3]] = (int(parts[1]) - int(parts[0])) / 1000

    def of(self, description: str) -> float:
        made = OBJECT.match(description)
        if made is None:
            return OTHER_S
        guess = GROUP_S if "/groups/" in made[1] else OBJECT_S
        return max(self.known.get(made[1], 0), guess)


class Progress:
    """What is done of what ninja says it will do."""

    def __init__(self, steps: list[str], costs: Costs, jobs: int) -> None:
        self.costs, self.jobs = costs, jobs
        self.total = sum(OBJECT.match(step) is not None for step in steps)
        self.total_s = sum(costs.of(step) for step in steps)
        self.done = 0
        self.done_s = 0.0
        self.rewrites = sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
        self.begin = time.monotonic()
        self.shown_at = self.begin
        self.on_line = False  # whether the cursor stands behind a line that is to be rewritten
        self.remarks: list[str] = []

    def left_s(self) -> float:
        elapsed_s = time.monotonic() - self.begin
        pace = (elapsed_s + TRUSTED_S) / (self.done_s + TRUSTED_S * self.jobs)
        return max(self.total_s - self.done_s, 0) * pace

    def start(self) -> None:
        if self.total:
            with_jobs = f"{self.jobs} job" + "s" * (self.jobs != 1)
            self.line(f"{objects(self.total)} to make with {with_jobs}, {in_words(self.left_s())}")

    def take(self, line: str) -> None:
        """One line of ninja's output."""
        status = STATUS.match(line)
        if status is None:
            self.pass_on(line)
            return
        self.done += OBJECT.match(status[1]) is not None
        self.done_s += self.costs.of(status[1])

    def pass_on(self, line: str) -> None:
        if line == "ninja: no work to do." or line.startswith("ninja: Entering directory"):
            return
        if OUT_OF_MEMORY.search(line):
            self.remarks = ["a compiler ran out of memory; with one job it takes less: JOBS=1"]
        elif OUT_OF_SPACE.search(line):
            self.remarks = ["the disk is full; once there is room, the build goes on where it was"]
        self.clear()
        print(line.replace(MARK, "["), flush=True)

    def tick(self) -> None:
        """Shows how far it is, if it is time to."""
        now = time.monotonic()
        if not self.total or now - self.shown_at < (0.2 if self.rewrites else PERIOD_S):
            return
        self.shown_at = now
        text = f"{self.done} of {objects(self.total)}, {in_words(self.left_s())} left"
        if not self.rewrites:
            self.line(text)
            return
        width = shutil.get_terminal_size().columns - 1
        print(f"\r{f'[build] {text}'[:width]}\x1b[K", end="", flush=True)
        self.on_line = True

    def end(self, status: int, interrupted: int) -> None:
        self.clear()
        if interrupted:
            text = f"interrupted after {self.done} of {objects(self.total)}"
            self.line(f"{text}; the next build goes on from there")
        elif status:
            for remark in self.remarks:
                print(f"[build] error: {remark}", file=sys.stderr, flush=True)
        elif self.total:
            seconds = time.monotonic() - self.begin
            self.line(f"{objects(self.done)} made in {seconds / 60:.1f} minutes")

    def clear(self) -> None:
        if self.on_line:
            print("\r\x1b[K", end="")
            self.on_line = False

    def line(self, text: str) -> None:
        self.clear()
        print(f"[build] {text}", flush=True)


def lines_of(child: subprocess.Popen, progress: Progress) -> None:
    """Feeds the output to the progress, which also moves on while nothing is printed."""
    assert child.stdout is not None
    os.set_blocking(child.stdout.fileno(), False)
    rest = b""
    with selectors.DefaultSelector() as selector:
        selector.register(child.stdout, selectors.EVENT_READ)
        while True:
            if selector.select(timeout=0.5):
                data = child.stdout.read()
                if data == b"":
                    break
                *lines, rest = (rest + (data or b"")).split(b"\n")
                for line in lines:
                    progress.take(line.decode(errors="replace"))
            progress.tick()
    if rest:
        progress.take(rest.decode(errors="replace"))


def ninja_of(folder: str) -> str:
    """The ninja that CMake found for a folder."""
    with open(os.path.join(folder, "CMakeCache.txt")) as cache:
        for line in cache:
            if line.startswith("CMAKE_MAKE_PROGRAM:"):
                return line.partition("=")[2].strip()
    return "ninja"


def end_with_parent() -> None:
    """Run by a new process: it is interrupted when this program ends, even if that is killed."""
    PRCTL(PR_SET_PDEATHSIG, ctypes.c_ulong(signal.SIGINT))


class Ninja:
    """Runs ninja, one at a time. A signal that ends this program interrupts ninja, which removes
    what is half written; in a session of its own ninja gets it once, whoever sent it."""

    def __init__(self, folder: str) -> None:
        self.command = [ninja_of(folder), "-C", folder]
        self.environment = {**os.environ, "NINJA_STATUS": f"{MARK}%f/%t] "}
        self.environment.pop("MAKEFLAGS", None)  # make's jobs are not ninja's
        self.child: subprocess.Popen | None = None
        self.interrupted = 0
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGQUIT, signal.SIGHUP):
            # After `nohup` a hang-up stays ignored.
            if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self.interrupt)

    def start(self, *arguments: str) -> subprocess.Popen:
        self.child = subprocess.Popen(
            [*self.command, *arguments],
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=end_with_parent if PRCTL else None,
            pass_fds=LOCK if is_open(*LOCK) else (),
        )
        if self.interrupted:  # before there was a child
            self.stop()
        return self.child

    def output(self, *arguments: str) -> tuple[int, str]:
        child = self.start(*arguments)
        text = child.communicate()[0].decode(errors="replace")
        return child.returncode, text

    def interrupt(self, number: int, _: object) -> None:
        self.interrupted = number
        self.stop()

    def stop(self) -> None:
        if self.child is not None and self.child.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.child.pid, signal.SIGINT)


def is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


def build(ninja: Ninja, folder: str, jobs: str, *targets: str) -> int:
    # Configures again if that is due: only then is it known what there is to do.
    status, text = ninja.output("build.ninja")
    if status and not ninja.interrupted:
        print(text.replace(MARK, "["), end="", flush=True)
    if status:
        return status
    # By its whole path it is not a file that ninja could make, and it would stop at that.
    manifest = os.path.abspath(os.path.join(folder, "build.ninja"))
    planned = ninja.output("-f", manifest, "-n", *targets)[1]
    steps = [status[1] for line in planned.splitlines() if (status := STATUS.match(line))]

    progress = Progress(steps, Costs(folder), int(jobs))
    if not ninja.interrupted:
        progress.start()
    child = ninja.start("-j", jobs, *targets)
    lines_of(child, progress)
    status = child.wait()
    progress.end(status, ninja.interrupted)
    return status


def main(folder: str, jobs: str, *targets: str) -> int:
    ninja = Ninja(folder)
    status = build(ninja, folder, jobs, *targets)
    if ninja.interrupted:
        return 128 + ninja.interrupted
    if not status:  # tools/build.sh looks for it
        with open(os.path.join(folder, f".built-{'-'.join(targets) or 'all'}"), "a"):
            pass
    return status


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
