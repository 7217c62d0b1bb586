"""A picture of the ratios: one horizontal bar per row, with its threshold."""

from __future__ import annotations

from pathlib import Path

from report import Row

_COLOURS = {"pass": "#2a9d5c", "MISS": "#d1495b", "": "#6c8ebf"}


def write_plot(path: Path, rows: list[Row], title: str) -> str | None:
    """Writes the picture; says why when it cannot."""
    try:
        import matplotlib
    except ImportError:
        return "no plot: matplotlib is not installed"
    matplotlib.use("Agg")
    from matplotlib import pyplot
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    shown = [row for row in rows if row.ratio is not None]
    if not shown:
        return "no plot: there are no ratios to draw"
    shown.reverse()  # matplotlib draws upwards

    figure, axes = pyplot.subplots(figsize=(9, 1.6 + 0.22 * len(shown)), layout="constrained")
    heights = range(len(shown))
    ratios = [row.ratio for row in shown]
    left = min(0.02, min(ratios) / 2)
    # A logarithmic axis has no zero: bars start at its left end.
    axes.barh(
        heights,
        [ratio - left for ratio in ratios],
        left=left,
        height=0.72,
        color=[_COLOURS[row.verdict] for row in shown],
    )
    for height, row in zip(heights, shown, strict=True):
        axes.text(row.ratio * 1.04, height, f"{row.ratio:.2f}", va="center", fontsize=7)
        if row.threshold is not None:
            axes.plot(
                [row.threshold] * 2, [height - 0.46, height + 0.46], color="black", linewidth=2
            )
    axes.axvline(1.0, color="grey", linewidth=0.8, linestyle="--")
    axes.set_xscale("log")
    axes.set_xlim(left, max(2.0, max(ratios) * 1.6))
    axes.set_ylim(-0.8, len(shown) - 0.2)
    axes.set_yticks(
        heights,
        [row.name + (f"  [{row.threads} threads]" if row.threads > 1 else "") for row in shown],
        fontsize=8,
    )
    axes.set_xlabel("time relative to the reference (lower is better)")
    axes.set_title(title, fontsize=10)
    figure.legend(
        handles=[
            Patch(color=_COLOURS["pass"], label="holds its threshold"),
            Patch(color=_COLOURS["MISS"], label="misses its threshold"),
            Patch(color=_COLOURS[""], label="no threshold"),
            Line2D([], [], color="black", linewidth=2, label="threshold"),
        ],
        fontsize=7,
        loc="outside lower center",
        ncols=4,
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    pyplot.close(figure)
    return None
