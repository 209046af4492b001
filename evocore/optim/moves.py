"""Ways to disturb the parameters of a construction before it is quenched again.

A move takes the random generator and the (n,) parameters, and returns new ones (of another length, for `resize`).
Steps are in units of the parameters' size: absolute for logits (`overlap`), relative to the root mean square
otherwise; `unit` is that size.
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from evocore.optim.resampling import stretch

Array = npt.NDArray[np.float64]
Rng = np.random.Generator
Move = Callable[[Rng, Array, float], Array]


def _log_uniform(rng: Rng, lo: float, hi: float) -> float:
    return float(np.exp(rng.uniform(np.log(lo), np.log(hi))))


def nudge(rng: Rng, x: Array, unit: float) -> Array:
    """Add weak white noise."""
    return x + unit * _log_uniform(rng, 0.003, 0.05) * rng.standard_normal(len(x))


def shake(rng: Rng, x: Array, unit: float) -> Array:
    """Add strong white noise."""
    return x + unit * _log_uniform(rng, 0.03, 0.8) * rng.standard_normal(len(x))


def scale(rng: Rng, x: Array, unit: float) -> Array:
    """Multiply by random factors, so that small values stay small."""
    del unit
    factors = np.exp(_log_uniform(rng, 0.02, 0.5) * rng.standard_normal(len(x)))
    return np.asarray(x * factors, dtype=np.float64)


def swell(rng: Rng, x: Array, unit: float) -> Array:
    """Multiply by a smooth hill or dale, so that the fine structure stays."""
    del unit
    n = len(x)
    width = _log_uniform(rng, min(20.0, n / 4), n / 2)
    hill = np.exp(-0.5 * ((np.arange(n) - rng.uniform(0, n)) / width) ** 2)
    return np.asarray(x * np.exp(0.4 * rng.standard_normal() * hill), dtype=np.float64)


def bump(rng: Rng, x: Array, unit: float) -> Array:
    """Add one Gaussian hill or dale."""
    n = len(x)
    width = _log_uniform(rng, 1.0, max(1.5, n / 10))
    height = _log_uniform(rng, 0.1, 4.0) * float(rng.choice((-1.0, 1.0)))
    hill = np.exp(-0.5 * ((np.arange(n) - rng.uniform(0, n)) / width) ** 2)
    return np.asarray(x + unit * height * hill, dtype=np.float64)


def wave(rng: Rng, x: Array, unit: float) -> Array:
    """Add one cosine of random frequency and phase."""
    n = len(x)
    frequency = _log_uniform(rng, 0.5, max(1.0, n / 4))
    phase = 2 * np.pi * (frequency * np.arange(n) / n + rng.random())
    return x + unit * _log_uniform(rng, 0.01, 0.5) * np.cos(phase)


def patch(rng: Rng, x: Array, unit: float) -> Array:
    """Replace a short stretch by noise around its mean."""
    n = len(x)
    length = int(_log_uniform(rng, 2, max(3, n / 6)))
    at = int(rng.integers(0, max(1, n - length)))
    out = x.copy()
    out[at : at + length] = out[at : at + length].mean() + unit * rng.uniform(0.1, 1.0) * rng.standard_normal(length)
    return out


def slide(rng: Rng, x: Array, unit: float) -> Array:
    """Shift a stretch by one to three cells."""
    del unit
    n = len(x)
    length = int(rng.integers(max(2, n // 20), max(3, n // 2)))
    at = int(rng.integers(0, max(1, n - length)))
    out = x.copy()
    out[at : at + length] = np.roll(out[at : at + length], int(rng.integers(1, 4)) * int(rng.choice((-1, 1))))
    return out


def copy_stretch(rng: Rng, x: Array, unit: float) -> Array:
    """Copy a stretch over another one."""
    del unit
    n = len(x)
    length = int(rng.integers(max(2, n // 40), max(3, n // 6)))
    source, target = (int(v) for v in rng.integers(0, max(1, n - length), 2))
    out = x.copy()
    out[target : target + length] = x[source : source + length]
    return out


def resize(rng: Rng, x: Array, unit: float) -> Array:
    """Stretch or shrink to up to 15 % more or fewer cells."""
    del unit
    n = len(x)
    return stretch(x, max(8, round(n * rng.uniform(0.87, 1.15))))


def cross(rng: Rng, x: Array, other: Array) -> Array:
    """Take a window from another member, stretched to the same length; the other may be mirrored."""
    n = len(x)
    guest = stretch(other if rng.random() < 0.5 else other[::-1], n)
    length = int(rng.integers(max(2, n // 10), max(3, n // 2)))
    at = int(rng.integers(0, max(1, n - length)))
    out = x.copy()
    out[at : at + length] = guest[at : at + length]
    return out


ALL_MOVES: dict[str, Move] = {
    "nudge": nudge,
    "shake": shake,
    "scale": scale,
    "swell": swell,
    "bump": bump,
    "wave": wave,
    "patch": patch,
    "slide": slide,
    "copy": copy_stretch,
    "resize": resize,
}


class MoveBandit:
    """Choose moves by what they returned so far.

    Each move's weight is its rate of success with one pseudo-success in ten tries, so that none dies out.

    Parameters
    ----------
    names : sequence of str
        The moves to choose from.
    """

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names
        self._tries = np.full(len(names), 10.0)
        self._wins = np.full(len(names), 1.0)

    def draw(self, rng: Rng) -> str:
        """Draw a move's name."""
        rate = np.sqrt(self._wins / self._tries)
        return self.names[int(rng.choice(len(self.names), p=rate / rate.sum()))]

    def reward(self, name: str, won: bool) -> None:
        """Book one try."""
        at = self.names.index(name)
        self._tries[at] += 1
        self._wins[at] += won
