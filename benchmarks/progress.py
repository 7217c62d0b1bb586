"""How far a long run is."""

from __future__ import annotations

import sys
import time


class Progress:
    """What runs now and how far we are, on stderr: one line rewritten on a terminal."""

    def __init__(self, total: int) -> None:
        self.total = total
        self.done = 0
        self.start = time.monotonic()
        self.on_terminal = sys.stderr.isatty()

    def step(self, what: str) -> None:
        self.done += 1
        elapsed = time.monotonic() - self.start
        line = f"[{self.done:3}/{self.total}] {elapsed:4.0f} s  {what}"
        if self.on_terminal:
            print(f"\r\033[K{line[:100]}", end="", file=sys.stderr, flush=True)
        elif self.done % 20 == 1 or self.done == self.total:
            print(line, file=sys.stderr, flush=True)

    def finish(self) -> None:
        if self.on_terminal:
            print("\r\033[K", end="", file=sys.stderr, flush=True)
