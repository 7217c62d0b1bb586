"""Rows of results, as a table, JSON or CSV."""

from __future__ import annotations

import csv
import json
import os
import platform
import re
from dataclasses import asdict, dataclass
from pathlib import Path

# A ratio whose samples scatter this much says little; the row is marked with `~`.
NOISY_SPREAD = 0.25


def machine() -> dict:
    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        found = re.search(r"^model name\s*:\s*(.+)$", cpuinfo.read_text(), re.MULTILINE)
        model = found.group(1) if found else model
    return {
        "cpu": model,
        "cores": len(os.sched_getaffinity(0)),
        "python": platform.python_version(),
    }


def _quotient(ours: float | None, reference: float | None) -> float | None:
    return ours / reference if ours is not None and reference else None


@dataclass
class Row:
    name: str
    family: str
    threads: int
    ours: float | None
    reference: float | None
    threshold: float | None = None
    unit: str = "ns"
    ours_error: str | None = None
    reference_error: str | None = None
    ours_best: float | None = None
    reference_best: float | None = None
    ours_cpu: float | None = None
    reference_cpu: float | None = None
    ours_spread: float | None = None
    reference_spread: float | None = None
    rounds: int = 0

    @property
    def key(self) -> str:
        return f"{self.name} | {self.threads}"

    # See Note [Busy machines] in measure.py for what the three ratios are worth.
    @property
    def ratio(self) -> float | None:
        return _quotient(self.ours, self.reference)

    @property
    def best_ratio(self) -> float | None:
        return _quotient(self.ours_best, self.reference_best)

    @property
    def cpu_ratio(self) -> float | None:
        return _quotient(self.ours_cpu, self.reference_cpu)

    @property
    def judged_value(self) -> float | None:
        """What the threshold is about: the ratio, or the size itself where nothing is compared."""
        return self.ours if self.unit == "MB" else self.ratio

    @property
    def verdict(self) -> str:
        if self.ours_error is not None:
            return "ERROR"
        if self.threshold is None or self.judged_value is None:
            return ""
        return "pass" if self.judged_value <= self.threshold else "MISS"

    @property
    def noisy(self) -> bool:
        return max(self.ours_spread or 0.0, self.reference_spread or 0.0) > NOISY_SPREAD


def format_value(value: float | None, unit: str) -> str:
    if value is None:
        return "-"
    if unit == "MB":
        return f"{value:.1f} MB"
    for scale, name in ((1e9, "s"), (1e6, "ms"), (1e3, "us")):
        if value >= scale:
            return f"{value / scale:.3g} {name}"
    return f"{value:.0f} ns"


def _ratio_text(ratio: float | None, noisy: bool = False) -> str:
    return "-" if ratio is None else f"{'~' if noisy else ''}{ratio:.2f}"


def format_table(rows: list[Row], names: tuple[str, str], baseline: dict[str, float]) -> str:
    """The table as text. `baseline` holds the ratios of an earlier run by row key."""
    header = ["case", "thr", names[0], names[1], "ratio", "best", "cpu", "threshold", "verdict"]
    if baseline:
        header.insert(7, "was")
    lines: list[list[str]] = []
    for row in rows:
        cells = [
            row.name,
            str(row.threads) if row.threads else "",
            "error" if row.ours_error else format_value(row.ours, row.unit),
            "error" if row.reference_error else format_value(row.reference, row.unit),
            _ratio_text(row.ratio, row.noisy),
            _ratio_text(row.best_ratio),
            _ratio_text(row.cpu_ratio),
            ""
            if row.threshold is None
            else f"{row.threshold:g}" + (" MB" if row.unit == "MB" else ""),
            row.verdict,
        ]
        if baseline:
            cells.insert(7, _ratio_text(baseline.get(row.key)))
        lines.append(cells)
    widths = [max(len(line[i]) for line in [header, *lines]) for i in range(len(header))]

    def layout(cells: list[str]) -> str:
        left = cells[0].ljust(widths[0])
        rest = [cell.rjust(width) for cell, width in zip(cells[1:], widths[1:], strict=True)]
        return "  ".join([left, *rest]).rstrip()

    text = [layout(header), "  ".join("-" * width for width in widths)]
    family = rows[0].family if rows else ""
    for row, cells in zip(rows, lines, strict=True):
        if row.family != family:
            text.append("")
            family = row.family
        text.append(layout(cells))
    return "\n".join(text)


def format_errors(rows: list[Row], names: tuple[str, str]) -> str:
    """One line per row that a library could not run."""
    text = []
    for row in rows:
        for name, error in zip(names, (row.ours_error, row.reference_error), strict=True):
            if error is not None:
                text.append(f"  {name}: {row.name}: {' '.join(error.split())[:140]}")
    return "\n".join(text)


def format_summary(rows: list[Row]) -> str:
    judged = [row for row in rows if row.verdict in ("pass", "MISS")]
    missed = [row for row in judged if row.verdict == "MISS"]
    errors = sum(row.verdict == "ERROR" for row in rows)
    parts = [f"{len(judged) - len(missed)} of {len(judged)} thresholds held"]
    if errors:
        parts.append(f"{errors} rows could not be run")
    if any(row.noisy for row in rows):
        parts.append("~: the samples scatter by more than a quarter")
    parts.append("ratio: of the medians; best: of the fastest samples; cpu: of the CPU time")
    return "; ".join(parts) + "."


def write_json(path: Path, rows: list[Row], about: dict) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    derived = ("ratio", "best_ratio", "cpu_ratio", "verdict")
    results = [asdict(row) | {name: getattr(row, name) for name in derived} for row in rows]
    path.write_text(json.dumps({"about": about, "results": results}, indent=1) + "\n")


def read_ratios(path: Path) -> dict[str, float]:
    """The ratios of a JSON file written before, by row key."""
    results = json.loads(path.read_text())["results"]
    return {
        f"{entry['name']} | {entry['threads']}": entry["ratio"]
        for entry in results
        if entry["ratio"] is not None
    }


def write_csv(path: Path, rows: list[Row]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    fields = "name family threads unit ours reference ratio best_ratio cpu_ratio".split()
    fields += ["threshold", "verdict"]
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(fields)
        for row in rows:
            writer.writerow([getattr(row, field) for field in fields])
