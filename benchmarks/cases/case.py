"""What one benchmark is: a statement, timed as `timeit` does, in both libraries."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Case:
    """A statement that runs unchanged in both libraries, with the name `torch` bound to each.

    The statement is compiled into the timing loop itself. A lambda would add its own call, some
    50 ns, to both sides and pull every small ratio towards one.
    """

    name: str
    family: str
    stmt: str
    setup: str = "pass"
    # The largest ratio to torch that we accept, per thread count. No entry: measured, not judged.
    thresholds: tuple[tuple[int, float], ...] = ()
    threads: tuple[int, ...] = (1,)

    def threshold(self, threads: int) -> float | None:
        return dict(self.thresholds).get(threads)


def judged(
    name: str,
    family: str,
    stmt: str,
    setup: str,
    at_most: float,
    two_threads: float | None = None,
) -> Case:
    """A case with a threshold on one thread and, for the large ones, another on two."""
    if two_threads is None:
        return Case(name, family, stmt, setup, ((1, at_most),), (1,))
    return Case(name, family, stmt, setup, ((1, at_most), (2, two_threads)), (1, 2))
