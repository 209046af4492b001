"""Random moves of single values: tunables inside of their ranges, shares of stages."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from evocore.mutators.base import NoChild
from evocore.mutators.declarations import Tunable
from evocore.optim.tunables import Choice, Literal, Range

if TYPE_CHECKING:
    import numpy as np

STEP = 0.15  # standard deviation of a move, as a fraction of the range's width (in log space where it says log)
RESAMPLED = 0.1  # fraction of the moves that forget the present value
SHARE_STEP = 0.4  # standard deviation of a move of the logarithm of a share
MIN_SHARE, MAX_SHARE = 1e-3, 1e3
_N_DRAWS = 16


def moved(tunable: Tunable, rng: np.random.Generator) -> Literal:
    """Draw another value for a tunable, inside of its range.

    Raises
    ------
    NoChild
        The range holds no other value.
    """
    limits = tunable.limits
    if isinstance(limits, Choice):
        others = [value for value in limits.values if value != tunable.value]
        return others[int(rng.integers(len(others)))]
    for _ in range(_N_DRAWS):
        old = float(tunable.value)
        value = _moved_number(old, limits, rng)
        short = _short_int(value, limits) if tunable.kind == "int" else _short_float(value, old, limits)
        if short is not None and short != tunable.value:
            return short
    if tunable.kind == "int":
        return _neighbour(tunable, limits)
    raise NoChild(f"the range of {tunable.name} leaves it no room to move")


def _moved_number(value: float, limits: Range, rng: np.random.Generator) -> float:
    lo, hi = (math.log(limits.lo), math.log(limits.hi)) if limits.log else (float(limits.lo), float(limits.hi))
    if rng.random() < RESAMPLED:
        new = lo + (hi - lo) * rng.random()
    else:
        here = math.log(value) if limits.log else value
        new = _reflected(here + STEP * (hi - lo) * rng.standard_normal(), lo, hi)
    return math.exp(new) if limits.log else new


def _reflected(value: float, lo: float, hi: float) -> float:
    """Mirror at the bounds, so that moves do not pile up on them."""
    offset = math.fmod(value - lo, 2 * (hi - lo))
    if offset < 0:
        offset += 2 * (hi - lo)
    return lo + min(offset, 2 * (hi - lo) - offset)


def _short_float(value: float, old: float, limits: Range) -> float | None:
    """Round to three digits, or to as many more as the move is small; None where that leaves the range."""
    for n_digits in range(3, 18):
        short = float(f"{value:.{n_digits}g}")
        if abs(short - value) <= 0.05 * abs(value - old) and limits.contains(short):
            return short
    return None


def _short_int(value: float, limits: Range) -> int | None:
    """Round to an integer, of three digits and zeros where that stays in the range."""
    for short in (round(float(f"{value:.3g}")), round(value), math.ceil(limits.lo), math.floor(limits.hi)):
        if limits.contains(short) and abs(short - value) <= max(1.0, 0.005 * abs(value)):
            return short
    return None


def _neighbour(tunable: Tunable, limits: Range) -> int:
    value = int(tunable.value)
    for other in (value + 1, value - 1):
        if limits.contains(other):
            return other
    raise NoChild(f"the range of {tunable.name} holds one integer only")


def moved_share(share: float, rng: np.random.Generator) -> str:
    """Draw another share of the time: a log-normal step, written short."""
    moved_by = math.exp(SHARE_STEP * float(rng.standard_normal()))
    return share_text(min(max(share * moved_by, MIN_SHARE), MAX_SHARE))


def share_text(share: float) -> str:
    """Write a share with three digits."""
    return repr(float(f"{max(share, MIN_SHARE):.3g}"))


def written(value: Literal) -> str:
    """Write a value as Python source, as short as it reads well: 3.22e5, 63.1, "white"."""
    if isinstance(value, float) and value != 0 and not 1e-3 <= abs(value) < 1e5:
        short = next(text for text in (f"{value:.{n}e}" for n in range(18)) if float(text) == value)
        digits, _, exponent = short.partition("e")
        return f"{digits}e{int(exponent)}"
    if isinstance(value, str) and value.isprintable() and '"' not in value and "\\" not in value:
        return f'"{value}"'
    return repr(value)
