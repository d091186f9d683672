"""Pictures of a comparison and of curves of time against size: SVG or PNG, by the name of the file."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rfactor.files import write_whole

if TYPE_CHECKING:
    from rfactor.bench.compare import Comparison
    from rfactor.bench.scaling import Scaling

_COLOURS = {
    "rfactor": "#c0392b", "rfactor, one core": "#e67e22", "auto": "#16a085", "serial": "#95a5a6",
    "Halide": "#2c6fbb", "Halide alike": "#7fb3d5",
    "OpenMP C": "#27824a", "NumPy": "#8e44ad", "Numba": "#b7950b", "reading": "#bbbbbb",
}  # fmt: skip
"""One colour a contender, in all pictures."""


def require() -> None:
    """Raises `ImportError` where matplotlib is not installed."""
    _pyplot()


def bars(comparison: Comparison, path: Path) -> None:
    """Table 1: how many times longer than reading memory each takes, least times."""
    figure, axes = _pyplot().subplots(figsize=(9, 4))
    names = [name for name in _COLOURS if name != "reading" and any(name in row.times for row in comparison.rows)]
    width = 0.85 / len(names)
    for n, name in zip(range(len(names)), names, strict=True):
        at = [
            i + n * width
            for i, row in zip(range(len(comparison.rows)), comparison.rows, strict=True)
            if name in row.times
        ]
        times = [row.times[name].least / row.times["reading"].least for row in comparison.rows if name in row.times]
        axes.bar(at, times, width, color=_COLOURS[name], label=name)
    axes.axhline(1, color="black", linewidth=0.8)
    axes.set_yscale("log")
    axes.set_ylabel("times as long as reading memory")
    titles = [row.title.replace(", ", ",\n") for row in comparison.rows]
    axes.set_xticks([i + 0.4 for i in range(len(titles))], titles, fontsize=7)
    axes.set_title(f"{comparison.size} elements, {comparison.threads} threads, {comparison.cpu}", fontsize=9)
    axes.legend(fontsize=7, ncols=len(names), loc="upper center", frameon=False)
    axes.set_ylim(top=axes.get_ylim()[1] * 3)
    _save(figure, path)


def curves(scaling: Scaling, path: Path) -> None:
    """Nanoseconds an element against elements, a panel a reduction; one thread is dashed, the crossover dotted."""
    reductions = list(dict.fromkeys(curve.reduction for curve in scaling.curves))
    columns = min(3, len(reductions))
    rows = -(-len(reductions) // columns)
    figure, panels = _pyplot().subplots(rows, columns, figsize=(3.6 * columns, 2.9 * rows), squeeze=False)
    most = max(curve.threads for curve in scaling.curves)
    for reduction, panel in zip(reductions, panels.flat, strict=False):
        for curve in scaling.curves:
            if curve.reduction == reduction:
                sizes = sorted(curve.points)
                alone = curve.threads < most
                panel.plot(
                    sizes, [curve.points[size] * 1e6 / size for size in sizes], color=_COLOURS[curve.name],
                    linestyle="--" if alone else "-", linewidth=0.9 if alone else 1.5,
                    label=None if alone else curve.name,
                )  # fmt: skip
        at = scaling.crossover(reduction)
        if at is not None:
            panel.axvline(at, color="black", linewidth=0.6, linestyle=":")
        panel.set(xscale="log", yscale="log", title=reduction)
        panel.set_xscale("log", base=2)
        panel.tick_params(labelsize=7)
    for panel in panels.flat[len(reductions) :]:
        panel.set_axis_off()
    figure.supxlabel("elements", fontsize=9)
    figure.supylabel("nanoseconds an element", fontsize=9)
    handles, labels = panels.flat[0].get_legend_handles_labels()
    told = dict(zip(labels, handles, strict=True))
    for panel in panels.flat:
        told |= dict(zip(*reversed(panel.get_legend_handles_labels()), strict=True))
    figure.legend(told.values(), told.keys(), fontsize=7, ncols=len(told), loc="upper center", frameon=False)
    _save(figure, path, top=0.95)


def _pyplot() -> Any:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    return pyplot


def _save(figure: Any, path: Path, top: float = 1.0) -> None:
    import matplotlib

    figure.tight_layout(rect=(0, 0, 1, top))
    with matplotlib.rc_context({"svg.hashsalt": "rfactor", "svg.fonttype": "none"}):
        drawn = BytesIO()
        kind = path.suffix.removeprefix(".")
        figure.savefig(drawn, format=kind, dpi=150, metadata={"Date": None} if kind == "svg" else None)
    _pyplot().close(figure)
    write_whole(path, drawn.getvalue())
