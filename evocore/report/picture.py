"""`report.png`: the construction, its overlap or autoconvolution, and the progress of the run.

Drawn with matplotlib's Figure and its Agg canvas: no display, no pyplot, no global state.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from evocore.problems.base import Problem
from evocore.report.curves import Curve, drawable, envelope, function_curve, objective_curve, plateau

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INK, BLUE, RED, GREY = "#1f2328", "#1f5fa8", "#c8451b", "#8a9099"
MAX_DRAWN = 4000
"""Curves with more points than this are drawn as the band between their extremes, one place a pixel or so."""


def draw(
    target: Path | BinaryIO,
    problem: Problem,
    x: NDArray[np.float64],
    progress: Sequence[tuple[float, float]],
    seconds: float,
) -> None:
    """Draw the picture of a run into a PNG file.

    Parameters
    ----------
    target : path or binary stream
        Where the PNG goes; an existing file is replaced.
    problem : Problem
        What was searched.
    x : (n,) float64 array
        The best construction.
    progress : sequence of (seconds, score)
        Every improvement of the run, in order of time.
    seconds : float
        How long the run took; the last improvement's score is drawn up to there.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    curves = [drawable(c) for c in (function_curve(problem, x), objective_curve(problem, x)) if c is not None]
    rows = len(curves) + 1
    figure = Figure(figsize=(9.0, 3.4 * rows + 0.3), dpi=120, layout="constrained")
    FigureCanvasAgg(figure)
    score = f"{progress[-1][1]:.10g}" if progress else f"{problem.score(x):.10g}"
    figure.suptitle(f"{problem.title}: {score}", fontsize=13, color=INK)
    # Two sub-figures, so that the labels beside the progress do not take their room from the curves as well.
    parts: Any = figure.subfigures(2, 1, height_ratios=[len(curves), 1])
    upper, lower = parts
    all_axes = [*upper.subplots(len(curves), 1, squeeze=False)[:, 0], lower.subplots()]
    for axes, curve in zip(all_axes, curves, strict=False):
        _draw_curve(axes, curve)
    _draw_progress(all_axes[-1], problem, progress, seconds)
    for axes in all_axes:
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(colors=INK, labelsize=9)
    figure.savefig(target, format="png")


def _draw_curve(axes: Axes, curve: Curve) -> None:
    axes.set_title(curve.title, loc="left", fontsize=10, color=INK)
    axes.set_xlabel(curve.x_label, fontsize=9, color=INK)
    axes.set_xlim(float(curve.xs[0]), float(curve.xs[-1]))
    if len(curve.ys) > MAX_DRAWN:
        xs, low, high = envelope(curve.xs[: len(curve.ys)], curve.ys, MAX_DRAWN // 2)
        axes.fill_between(xs, low, high, step="post", color=BLUE, linewidth=0.6)
    elif curve.is_steps:
        axes.stairs(curve.ys, curve.xs, color=BLUE, fill=True, alpha=0.15)
        axes.stairs(curve.ys, curve.xs, color=BLUE, linewidth=1.1, baseline=None)
    else:
        axes.plot(curve.xs, curve.ys, color=BLUE, linewidth=1.1)
    if min(curve.ys) < 0:
        axes.axhline(0, color=GREY, linewidth=0.6)
    if curve.has_plateau:
        _draw_plateau(axes, curve)


def _draw_plateau(axes: Axes, curve: Curve) -> None:
    """The maximum as a line, and on it the lags that come near it."""
    top = float(curve.ys.max())
    near = plateau(curve.ys)
    axes.axhline(top, color=RED, linewidth=0.8, linestyle=(0, (4, 3)))
    xs = curve.xs[: len(curve.ys)][near]
    step = max(1, len(xs) // MAX_DRAWN)
    label = f"{near.sum():,} of {len(near):,} lags within 0.01 % of the maximum {top:.10g}"
    axes.plot(xs[::step], curve.ys[near][::step], ".", color=RED, markersize=3, label=label)
    low = float(curve.ys.min())
    axes.set_ylim(low - 0.04 * (top - low), top + 0.22 * (top - low))
    axes.legend(loc="upper left", fontsize=8.5, frameon=False, handletextpad=0.2, borderaxespad=0.1)


def _draw_progress(axes: Axes, problem: Problem, progress: Sequence[tuple[float, float]], seconds: float) -> None:
    arrow = "smaller is better" if problem.direction == "minimize" else "greater is better"
    axes.set_title(f"best score over time ({arrow})", loc="left", fontsize=10, color=INK)
    axes.set_xlabel("seconds", fontsize=9, color=INK)
    axes.ticklabel_format(axis="y", useOffset=False)
    if not progress:
        axes.text(0.5, 0.5, "no improvement yet", ha="center", va="center", transform=axes.transAxes, color=GREY)
        return
    end = max(seconds, progress[-1][0], 1e-3)
    times = [t for t, _ in progress] + [end]
    scores = [s for _, s in progress] + [progress[-1][1]]
    low, high = interesting_range(problem, progress, end)
    axes.set_xlim(0, end)
    axes.set_ylim(low, high)
    axes.step(times, scores, where="post", color=BLUE, linewidth=1.6)
    axes.plot(end, scores[-1], "o", color=BLUE, markersize=5, clip_on=False, zorder=5)
    shown = [r for r in problem.references if low <= r.score <= high]
    for reference in shown:
        axes.axhline(reference.score, color=GREY, linewidth=0.7, linestyle=(0, (4, 3)))
    heights = spread([r.score for r in shown], (high - low) * 0.075, low, high)
    for reference, height in zip(shown, heights, strict=True):
        axes.annotate(
            f"{reference.who} {reference.year}  {reference.score:.8g}",
            xy=(1.0, reference.score),
            xycoords=("axes fraction", "data"),
            xytext=(1.03, height),
            textcoords=("axes fraction", "data"),
            va="center",
            fontsize=8,
            color=INK,
            annotation_clip=False,
            arrowprops={
                "arrowstyle": "-",
                "color": GREY,
                "linewidth": 0.6,
                "shrinkA": 0,
                "shrinkB": 0,
                "relpos": (0, 0.5),
            },
        )


def interesting_range(problem: Problem, progress: Sequence[tuple[float, float]], seconds: float) -> tuple[float, float]:
    """Choose the scores between which the progress is drawn.

    From a little beyond the best of run and references to what the run had reached after a tenth of its time, or to the
    nearest published value that it has passed, whichever is the wider: the first seconds' fall would flatten
    everything that follows.
    """
    sign = 1.0 if problem.direction == "minimize" else -1.0
    scores = [(t, sign * s) for t, s in progress]
    best = scores[-1][1]
    published = [sign * r.score for r in problem.references]
    lowest = min([best, *published])
    early = [s for t, s in scores if t <= seconds / 10]
    highest = max(best, early[-1] if early else scores[0][1])
    passed = [p for p in published if p > best]
    if passed:
        highest = max(highest, min(passed))
    elif published:
        highest = max(highest, best + 0.25 * (best - lowest))
    if passed:  # a bad early score must not squeeze what matters into a line
        highest = min(highest, best + 4 * max(min(passed) - lowest, 1e-9 * abs(best)))
    margin = 0.06 * (highest - lowest) or 1e-6 * max(abs(highest), 1e-300)
    low, high = sorted((sign * (lowest - margin), sign * (highest + margin)))
    return low, high


def spread(values: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Move labels apart until neighbours are `gap` apart, as near to their values as the order allows.

    Examples
    --------
    >>> spread([1.0, 1.0], 0.5, 0.0, 2.0)
    [0.75, 1.25]
    """
    blocks: list[tuple[float, list[int]]] = []  # labels that touch move as one: sum of their values, and who they are
    for i in sorted(range(len(values)), key=lambda i: values[i]):
        total, members = values[i], [i]
        while blocks and _first(total, members, gap, low, high) < _last(*blocks[-1], gap, low, high) + gap:
            before, earlier = blocks.pop()
            total, members = before + total, earlier + members
        blocks.append((total, members))
    places = [0.0] * len(values)
    for total, members in blocks:
        for k, i in enumerate(members):
            places[i] = _first(total, members, gap, low, high) + gap * k
    return places


def _first(total: float, members: list[int], gap: float, low: float, high: float) -> float:
    """Place of a block's first label: the block centred on the mean of its values, within the ends."""
    length = gap * (len(members) - 1)
    return max(low, min(total / len(members) - length / 2, high - length))


def _last(total: float, members: list[int], gap: float, low: float, high: float) -> float:
    return _first(total, members, gap, low, high) + gap * (len(members) - 1)
