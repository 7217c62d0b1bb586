"""Builds a configured folder and says how far it is: build_progress.py <folder> <jobs> [target].

On a terminal one line is rewritten; elsewhere a line comes every 15 seconds. What compilers print is
shown as it is, and the status is that of the build.
"""

from __future__ import annotations

import contextlib
import os
import re
import selectors
import shutil
import signal
import subprocess
import sys
import time

MARK = "[mindtorch "  # before ninja's own lines
STATUS = re.compile(re.escape(MARK) + r"(\d+) (\d+)\] (.*)")
PERIOD_S = 15
OUT_OF_MEMORY = re.compile(r"Killed signal|cannot allocate memory|out of memory|: Killed$", re.I)
OUT_OF_SPACE = re.compile(r"No space left on device", re.I)


def in_words(seconds: float) -> str:
    """A time left, no more exact than it is known."""
    if seconds < 50:
        return "less than a minute"
    minutes = round(seconds / 60)
    return "about a minute" if minutes <= 1 else f"about {minutes} minutes"


class Estimate:
    """The time left, from the time that the objects so far took."""

    def __init__(self) -> None:
        self.begin = time.monotonic()
        self.smoothed: float | None = None
        self.at = self.begin

    def left_s(self, done: int, total: int) -> float | None:
        """None: too early to say."""
        now = time.monotonic()
        elapsed = now - self.begin
        if done < 3 or elapsed < 5:
            return None
        latest = elapsed / done * (total - done)
        if self.smoothed is not None:
            # A large object says little about the rest: what was expected a moment ago weighs in.
            expected = max(self.smoothed - (now - self.at), 0)
            weight = min((now - self.at) / 30, 1)
            latest = expected + (latest - expected) * weight
        self.smoothed, self.at = latest, now
        return latest


class Progress:
    def __init__(self, jobs: int) -> None:
        self.jobs = jobs
        self.done = self.total = 0
        self.rewrites = sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
        self.estimate = Estimate()
        self.shown_at = time.monotonic()
        self.on_line = False  # whether the cursor stands behind a line that is to be rewritten
        self.remarks: list[str] = []

    def take(self, line: str) -> None:
        """One line of ninja's output."""
        status = STATUS.match(line)
        if status is None:
            self.pass_on(line)
            return
        self.done, total = int(status[1]), int(status[2])
        if total != self.total and total > 1:
            if not self.total and not self.rewrites:
                jobs = f"{self.jobs} job" + "s" * (self.jobs != 1)
                self.line(f"{total} objects to make, with {jobs}")
            self.total = total

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
        left_s = self.estimate.left_s(self.done, self.total)
        left = f", {in_words(left_s)} left" if left_s is not None else ""
        text = f"{self.done} of {self.total} objects{left}"
        if not self.rewrites:
            self.line(text)
            return
        width = shutil.get_terminal_size().columns - 1
        print(f"\r{f'[build] {text}'[:width]}\x1b[K", end="", flush=True)
        self.on_line = True

    def end(self, status: int, interrupted: int) -> None:
        self.clear()
        if interrupted:
            text = f"interrupted after {self.done} of {self.total} objects"
            self.line(f"{text}; the next build goes on from there")
        elif status:
            for remark in self.remarks:
                print(f"[build] error: {remark}", file=sys.stderr, flush=True)
        elif self.total:
            seconds = time.monotonic() - self.estimate.begin
            self.line(f"{self.total} objects made in {seconds / 60:.1f} minutes")

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


def main(folder: str, jobs: str, target: str | None = None) -> int:
    command = [ninja_of(folder), "-C", folder, "-j", jobs, *([target] if target else [])]
    environment = {**os.environ, "NINJA_STATUS": f"{MARK}%f %t] "}
    environment.pop("MAKEFLAGS", None)  # make's jobs are not ninja's
    progress = Progress(int(jobs))
    child = subprocess.Popen(
        command,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,  # so that one signal reaches it once, whoever sent it
    )
    interrupted = 0

    def interrupt(number: int, _: object) -> None:
        nonlocal interrupted
        interrupted = number
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGINT)  # ninja removes what is half written

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, interrupt)
    lines_of(child, progress)
    status = child.wait()
    progress.end(status, interrupted)
    return 128 + interrupted if interrupted else status


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
