"""What a run measured, and the thresholds it is judged by."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field
from typing import Any

from measure import Measured
from programs import QUEUED_STEPS
from report import format_value

NEVER_SLOWER = 1.02
# Programs so short that the block itself counts.
SHORT = {
    f"{ops} pointwise, 16": at_most
    for ops, at_most in ((1, 1.5), (2, 1.3), (3, 1.15), (5, 1.05), (8, 1.02), (10, 1.02))
}
# Steps that an accelerator works on while the next is recorded, and what their host may take.
QUEUED = 0.85
HOST = {"npu, host only: mlp step": 0.8, "npu, host only: gpt step": 0.8}
EMPTY_BLOCK_NS = 250.0
FIRST_RUN_MS = 2.0
RECORD_RATIO = 0.7
# (program, lane, largest ratio of the pipeline's time to that lane's), on the CPU and one thread.
AGAINST_TORCH = (
    ("15 pointwise, 16M", "torch", 0.05),
    ("15 pointwise, 16M", "compile", 0.7),
    ("15 pointwise, 1M", "compile", 1.0),
    ("15 pointwise, 1024", "compile", 0.4),
    ("48 light ops, 1024", "torch", 0.25),
    ("48 light ops, 1024", "compile", 1.0),
)
LANES = ("eager", "pipeline", "torch", "compile")


@dataclass
class Row:
    """One program in one place, in every mode that was there."""

    place: str
    program: str
    lanes: dict[str, Measured] = field(default_factory=dict)

    def ratio(self, other: str, of: str = "samples_ns") -> float | None:
        """The pipeline's time over the other's: median of rounds, so that a slow phase of the
        machine, which hits neighbours alike, does not count.
        """
        if other not in self.lanes:
            return None
        lanes = self.lanes["pipeline"], self.lanes[other]
        pairs = zip(*(getattr(lane, of) for lane in lanes), strict=False)
        ratios = [ours / others for ours, others in pairs]
        return statistics.median(ratios) if ratios else None

    def cpu_ratio(self, other: str) -> float | None:
        """The same of CPU time, which does not run while a process waits for a core. On NPUs it
        would count the simulated device, too.
        """
        return self.ratio(other, of="cpu_samples_ns") if self.place == "cpu" else None

    def host_ratio(self, other: str) -> float | None:
        """The same of the calling thread's CPU time: what the host pays, without waiting."""
        return self.ratio(other, of="thread_samples_ns")

    @property
    def at_most(self) -> float:
        is_queued = self.place != "cpu" and self.program in (*QUEUED_STEPS, "static cache")
        return SHORT.get(self.program, QUEUED if is_queued else NEVER_SLOWER)

    def best_ratio(self, other: str) -> float | None:
        ours, others = self.lanes["pipeline"].best_ns, self.lanes[other].best_ns
        return ours / others if ours and others else None


@dataclass
class Threshold:
    what: str
    value: float | None  # None: could not be measured
    at_most: float
    unit: str = ""

    @property
    def holds(self) -> bool:
        return self.value is not None and self.value <= self.at_most

    @property
    def verdict(self) -> str:
        return "error" if self.value is None else "pass" if self.holds else "MISS"


def thresholds_of(
    rows: list[Row], overhead: dict[str, dict[str, Any]], with_torch: bool
) -> list[Threshold]:
    """Every threshold. `overhead` has what overhead.py found, by place."""
    thresholds = [
        Threshold(
            f"{row.place}: {row.program}, against eager",
            row.ratio("eager"),
            row.at_most,
        )
        for row in rows
    ]
    for row in rows:
        if at_most := HOST.get(f"{row.place}: {row.program}"):
            what = f"{row.place}: {row.program}, host against eager"
            thresholds.append(Threshold(what, row.host_ratio("eager"), at_most))
    by_name = {row.program: row for row in rows if row.place == "cpu"}
    for program, lane, at_most in AGAINST_TORCH if with_torch else ():
        if program in by_name:
            what = f"cpu: {program}, against {'torch.compile' if lane == 'compile' else 'torch'}"
            thresholds.append(Threshold(what, by_name[program].ratio(lane), at_most))
    for place, found in overhead.items():
        empty_ns = found["empty_block_ns"]
        thresholds.append(Threshold(f"{place}: empty block", empty_ns, EMPTY_BLOCK_NS, " ns"))
        for kind, starts in found["over_tenth_ms"].items():
            first_ms = statistics.median(first for first, _ in starts)
            what = f"{place}: first run of new {kind} over its tenth"
            thresholds.append(Threshold(what, first_ms, FIRST_RUN_MS, " ms"))
        for name, (recorded_ns, called_ns) in found["record_and_eager_ns"].items():
            what = f"{place}: recording {name}, against calling it"
            thresholds.append(Threshold(what, recorded_ns / called_ns, RECORD_RATIO))
    return thresholds


def _layout(lines: list[list[str]]) -> str:
    """A table in Markdown that reads well as plain text."""
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]

    def layout(cells: list[str]) -> str:
        rest = [cell.rjust(width) for cell, width in zip(cells[1:], widths[1:], strict=True)]
        return f"| {' | '.join([cells[0].ljust(widths[0]), *rest])} |"

    rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
    return "\n".join(layout(line) for line in [lines[0], rule, *lines[1:]])


def _ratio_text(ratio: float | None) -> str:
    return "" if ratio is None else f"{ratio:.3f}" if ratio < 0.1 else f"{ratio:.2f}"


def format_rows(rows: list[Row]) -> str:
    lines = [["where: program", *LANES, "/eager", "best", "cpu", "host", "/torch", "/compile"]]
    for row in rows:
        cells = [f"{row.place}: {row.program}"]
        for lane in LANES:
            measured = row.lanes.get(lane)
            error = measured is not None and measured.error is not None
            cells.append("error" if error else format_value(measured and measured.median_ns, "ns"))
        of_eager = (row.ratio("eager"), row.best_ratio("eager"), row.cpu_ratio("eager"))
        of_eager += (row.host_ratio("eager"),)
        cells += [_ratio_text(ratio) for ratio in of_eager]
        cells += [_ratio_text(row.ratio(lane)) for lane in LANES[2:]]
        lines.append(cells)
    return _layout(lines)


def format_errors(rows: list[Row]) -> str:
    return "\n".join(
        f"  {row.place}: {row.program}, {lane}: {' '.join(measured.error.split())[:140]}"
        for row in rows
        for lane, measured in row.lanes.items()
        if measured.error is not None
    )


def format_overhead(overhead: dict[str, dict[str, Any]]) -> str:
    lines = [["where: trace", "first over tenth", "second", "record", "eager", "record/eager"]]
    for place, found in overhead.items():
        lines.append([f"{place}: empty block", "", "", f"{found['empty_block_ns']:.0f} ns", "", ""])
        for kind, starts in found["over_tenth_ms"].items():
            first, second = zip(*starts, strict=True)
            worst = f"{statistics.median(first):.2f} ms (worst {max(first):.2f})"
            later = f"{statistics.median(second):.2f} ms"
            lines.append([f"{place}: {kind}", worst, later, "", "", ""])
        for name, (recorded_ns, called_ns) in found["record_and_eager_ns"].items():
            times = [f"{recorded_ns:.0f} ns", f"{called_ns:.0f} ns"]
            ratio = _ratio_text(recorded_ns / called_ns)
            lines.append([f"{place}: {name}", "", "", *times, ratio])
    return _layout(lines)


def format_thresholds(thresholds: list[Threshold]) -> str:
    lines = [["threshold", "measured", "at most", "verdict"]]
    for threshold in thresholds:
        value = "" if threshold.value is None else f"{threshold.value:.3f}{threshold.unit}"
        lines.append(
            [threshold.what, value, f"{threshold.at_most:g}{threshold.unit}", threshold.verdict]
        )
    return _layout(lines)
