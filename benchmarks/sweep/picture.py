"""A picture of a sweep: all cases sorted by their ratio, a curve per threads and dtype."""

from __future__ import annotations

from pathlib import Path


def write_picture(path: Path, rows: list[dict[str, str]]) -> str | None:
    """Writes the picture; says why when it cannot."""
    try:
        import matplotlib
    except ImportError:
        return "no picture: matplotlib is not installed"
    matplotlib.use("Agg")
    from matplotlib import pyplot

    counts = sorted({row["threads"] for row in rows}, key=int)
    figure, panels = pyplot.subplots(
        1, len(counts), figsize=(6.5 * len(counts), 4.5), sharey=True, squeeze=False,
        layout="constrained",
    )  # fmt: skip
    for axes, threads in zip(panels[0], counts, strict=True):
        chosen = [row for row in rows if row["threads"] == threads]
        for dtype in [*sorted({row["dtype"] for row in chosen}), "all"]:
            of_dtype = [row for row in chosen if dtype in (row["dtype"], "all")]
            ratios = sorted(float(row["ours_ns"]) / float(row["torch_ns"]) for row in of_dtype)
            if len(ratios) < 10:
                continue
            places = [100 * (place + 0.5) / len(ratios) for place in range(len(ratios))]
            is_all = dtype == "all"
            axes.plot(
                places, ratios, label=f"{dtype} ({len(ratios)})",
                color="black" if is_all else None, linewidth=2 if is_all else 1,
            )  # fmt: skip
        axes.axhline(1.0, color="grey", linewidth=0.8, linestyle="--")
        axes.set_yscale("log")
        axes.set_xlim(0, 100)
        axes.set_xlabel("cases, sorted, in percent")
        axes.set_title(f"{threads} thread{'' if threads == '1' else 's'}")
        axes.grid(alpha=0.3)
    panels[0][0].set_ylabel("time / torch's time")
    panels[0][-1].legend(fontsize=8)
    figure.savefig(path, dpi=110)
    pyplot.close(figure)
    return None
