"""Times a case in both libraries, turn by turn.

Note [Two processes]
Each library lives in a process of its own, and the two take turns: one sample here, one sample
there, in alternating order, so that a slow phase of the machine hits both alike. One process for
both would be simpler, and worse:
- Idle OpenMP threads spin before they sleep. After a parallel region torch's burn about 9 ms of a
  core; in one process that falls into our next sample. `OMP_WAIT_POLICY=passive` would stop it, and
  also slow every parallel region of both libraries, so we would measure what nobody runs. Between
  processes we can simply wait until the other side sleeps: `PAUSE_SECONDS`.
- Both would share one malloc: what one library frees, the other gets without page faults.
- A crash of one ends its own process, costs one row of the table, and the run goes on.
The pipe costs nothing that is timed: a worker reads its request, then starts its clock.

Note [Passes]
The whole list is run several times over, each time with fresh processes, and the samples of a case
are pooled. That spreads the samples of one case over minutes instead of one bad second, and over
several heap layouts. Medians are judged.

Note [Busy machines]
Other load only ever adds time, and adds more to long calls, which are preempted, than to short
ones. So two more ratios stand beside the one that is judged: of the fastest samples (`best`), and,
on one thread, of the CPU time (`cpu`), which does not run while the process waits for a core. When
the three agree, the number can be trusted; when not, measure again on a quiet machine.
"""

from __future__ import annotations

import json
import os
import select
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cases import Case

HERE = Path(__file__).resolve().parent
PAUSE_SECONDS = 0.015
ANSWER_TIMEOUT_SECONDS = 120
MIN_ROUNDS = 3


class WorkerError(Exception):
    """The statement raised, the process died, or it did not answer in time."""


def worker_environment() -> dict[str, str]:
    """The caller's environment, with the source tree's package as a last resort on the path."""
    environment = dict(os.environ)
    paths = [environment.get("PYTHONPATH", ""), str(HERE.parent / "python")]
    environment["PYTHONPATH"] = os.pathsep.join(path for path in paths if path)
    return environment


class LibraryProcess:
    """The near end of one worker. Restarts it when it has died."""

    def __init__(
        self, module_name: str, threads: int, environment: Mapping[str, str] | None = None
    ) -> None:
        self.module_name = module_name
        self.threads = threads
        self.environment = environment or {}
        self._process: subprocess.Popen | None = None
        self.description = self._start()

    def _start(self) -> dict:
        self._process = subprocess.Popen(
            [sys.executable, str(HERE / "worker.py"), self.module_name, str(self.threads)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**worker_environment(), **self.environment},
        )
        return self._read()

    def _read(self) -> dict:
        ready, _, _ = select.select([self._process.stdout], [], [], ANSWER_TIMEOUT_SECONDS)
        if not ready:
            self.close()
            raise WorkerError(f"no answer in {ANSWER_TIMEOUT_SECONDS} s")
        line = self._process.stdout.readline()
        if not line:
            status = self._process.wait()
            self._process = None
            raise WorkerError(f"the process died with status {status}")
        answer = json.loads(line)
        if "error" in answer:
            raise WorkerError(answer["error"])
        return answer

    def ask(self, do: str, **arguments) -> dict:
        if self._process is None:
            self._start()
        try:
            self._process.stdin.write(json.dumps({"do": do, **arguments}) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # _read finds the end of the pipe and says so
        return self._read()

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None


@dataclass
class Measured:
    """What one library needed for one call: every sample, in nanoseconds."""

    samples_ns: list[float] = field(default_factory=list)
    cpu_samples_ns: list[float] = field(default_factory=list)
    thread_samples_ns: list[float] = field(default_factory=list)  # of the calling thread alone
    number: int = 0
    error: str | None = None

    @property
    def median_ns(self) -> float | None:
        return statistics.median(self.samples_ns) if self.samples_ns else None

    @property
    def best_ns(self) -> float | None:
        return min(self.samples_ns, default=None)

    @property
    def cpu_ns(self) -> float | None:
        return statistics.median(self.cpu_samples_ns) if self.cpu_samples_ns else None

    @property
    def spread(self) -> float | None:
        """The middle half of the samples, relative to the median."""
        if len(self.samples_ns) < MIN_ROUNDS:
            return None
        low, _, high = statistics.quantiles(self.samples_ns, n=4, method="inclusive")
        return (high - low) / self.median_ns


@dataclass(frozen=True)
class Effort:
    passes: int  # see Note [Passes]
    rounds: int  # samples of each library, per pass
    sample_ns: int  # the least a sample lasts
    case_seconds: float  # per pass: no further rounds, once MIN_ROUNDS are done, after this long


@dataclass
class Lane:
    """One statement in one library, and what it needed."""

    library: LibraryProcess
    result: Measured
    statement: str


def measure(
    case: Case, libraries: list[LibraryProcess], results: list[Measured], effort: Effort
) -> None:
    """One pass: prepares the case in every library, takes turns, adds to the libraries' results."""
    lanes = [Lane(*pair, case.stmt) for pair in zip(libraries, results, strict=True)]
    measure_lanes(case.setup, lanes, effort)


def measure_lanes(setup: str, lanes: Sequence[Lane], effort: Effort) -> None:
    """The same for several statements after one setup, in the same library or in different ones."""
    pause = PAUSE_SECONDS if any(lane.library.threads > 1 for lane in lanes) else 0.0
    places: list[tuple[Lane, int]] = []  # with the number of the statement in its library

    for library in dict.fromkeys(lane.library for lane in lanes):
        own = [lane for lane in lanes if lane.library is library]
        places += [(lane, number) for number, lane in enumerate(own)]
        if all(lane.result.error is not None for lane in own):
            continue
        try:
            statements = [lane.statement for lane in own]
            answer = library.ask(
                "prepare", setup=setup, statements=statements, sample_ns=effort.sample_ns
            )
            for lane, found in zip(own, answer["statements"], strict=True):
                lane.result.number = answer["number"]
                lane.result.error = found.get("error")
        except WorkerError as error:
            for lane in own:
                lane.result.error = str(error)

    start = time.monotonic()
    for done in range(effort.rounds):
        if done >= MIN_ROUNDS and time.monotonic() - start > effort.case_seconds:
            break
        # Forwards, then backwards: neither side is always the one that runs second.
        for lane, which in places if done % 2 == 0 else reversed(places):
            result = lane.result
            if result.error is not None:
                continue
            time.sleep(pause)
            try:
                answer = lane.library.ask("sample", which=which)
                result.samples_ns.append(answer["call_ns"])
                result.thread_samples_ns.append(answer["thread_ns"])
                if lane.library.threads == 1:
                    result.cpu_samples_ns.append(answer["cpu_ns"])
            except WorkerError as error:
                result.error = str(error)
                result.samples_ns.clear()
                result.cpu_samples_ns.clear()
                result.thread_samples_ns.clear()
