"""One library in one process, timing statements on request.

Requests and answers are JSON, one per line: `prepare` runs a setup and finds how many calls of
its statements make samples long enough to trust; `sample` times that many of one. See
Note [Two processes] in measure.py.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import sys
import timeit
from time import perf_counter_ns, process_time_ns, thread_time_ns

SHORT_NS = 50_000_000


class Worker:
    def __init__(self, module_name: str, threads: int) -> None:
        self.module = importlib.import_module(module_name)
        self.module.set_num_threads(threads)
        gc.collect()
        gc.freeze()  # collecting the library's own objects again took longer than most cases
        self.timers: list[timeit.Timer] = []
        self.number = 1
        self.is_short = True  # so short that cold caches count

    def prepare(self, setup: str, statements: list[str], sample_ns: int) -> dict:
        self.timers = []  # the arrays of the case before must be gone first
        gc.collect()
        self.module.manual_seed(0)
        # The setup runs here once and not in every sample.
        names: dict = {"torch": self.module}
        exec(setup, names)
        # The first run fills caches, compiles and starts threads. A statement that fails does not
        # keep others from being timed; those that run are called equally often in a sample.
        answers, numbers, longest_ns = [], [], 0
        for statement in statements:
            timer = timeit.Timer(statement, timer=perf_counter_ns, globals=names)
            self.timers.append(timer)
            try:
                timer.timeit(1)
                numbers.append(self._enough(timer, sample_ns))
                longest_ns = max(longest_ns, timer.timeit(1))
                answers.append({})
            except Exception as error:
                answers.append({"error": f"{type(error).__name__}: {error}"})
        self.number = max(numbers, default=1)
        self.is_short = longest_ns < SHORT_NS
        return {"number": self.number, "statements": answers}

    def _enough(self, timer: timeit.Timer, sample_ns: int) -> int:
        """Grows 1, 2, 5, 10, 20, ... as timeit does, until one sample lasts `sample_ns`."""
        scale = 1
        while True:
            for step in (1, 2, 5):
                number = scale * step
                if timer.timeit(number) >= sample_ns:
                    return number
            scale *= 10

    def sample(self, which: int) -> dict:
        # timeit switches the garbage collector off while it times.
        if self.is_short:
            self.timers[which].timeit(1)  # others had the caches meanwhile
        cpu_start_ns, thread_start_ns = process_time_ns(), thread_time_ns()
        elapsed_ns = self.timers[which].timeit(self.number)
        thread_ns = thread_time_ns() - thread_start_ns
        cpu_ns = process_time_ns() - cpu_start_ns
        times_ns = {"call_ns": elapsed_ns, "cpu_ns": cpu_ns, "thread_ns": thread_ns}
        return {name: time_ns / self.number for name, time_ns in times_ns.items()}

    def describe(self) -> dict:
        return {
            "version": str(getattr(self.module, "__version__", "?")),
            "threads": self.module.get_num_threads(),
        }


def main() -> None:
    # A library that prints must not spoil the answers: keep the pipe, send the rest to stderr.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def answer(message: dict) -> None:
        answers.write(json.dumps(message) + "\n")
        answers.flush()

    try:
        worker = Worker(sys.argv[1], int(sys.argv[2]))
    except Exception as error:
        answer({"error": f"{type(error).__name__}: {error}"})
        return
    answer(worker.describe())
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer(getattr(worker, request.pop("do"))(**request))
        except Exception as error:
            answer({"error": f"{type(error).__name__}: {error}"})


if __name__ == "__main__":
    main()
