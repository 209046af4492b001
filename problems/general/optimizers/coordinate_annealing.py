"""Simulated annealing on a few values at a time.

Accepts a worse score with probability exp(-loss / temperature); the temperature falls from a share of the scores' own
scatter to nearly nothing, over and over (S. Kirkpatrick et al., Science 220 (1983) 671).
"""

import math
import time
from typing import Annotated

import numpy as np

from evocore.optim import Range, Ratchet, score_or_none

GOOD_FOR = ("cold",)

HEAT: Annotated[float, Range(0.01, 2.0, log=True)] = 0.3
COOLING: Annotated[float, Range(1e-6, 1e-2, log=True)] = 1e-4
CYCLES: Annotated[int, Range(1, 20)] = 4
VALUES_AT_ONCE: Annotated[int, Range(1, 20)] = 3
STEP: Annotated[float, Range(0.01, 2.0, log=True)] = 0.3


def scatter(problem, x, rng):
    """Typical change of the score under one move."""
    base = score_or_none(problem, x)
    changes = [abs(s - base) for s in (score_or_none(problem, disturb(problem, x, rng, STEP)) for _ in range(16)) if s]
    return float(np.median(changes)) if base is not None and changes else 1.0


def disturb(problem, x, rng, step):
    """Change a few values."""
    trial = x.copy()
    chosen = rng.integers(0, len(x), VALUES_AT_ONCE)
    trial[chosen] += step * (float(np.std(x)) + 1e-3) * rng.standard_normal(VALUES_AT_ONCE)
    return problem.project(trial)


def cycle(problem, x, rng, until, ratchet):
    """One cooling from hot to cold."""
    begun, score = time.monotonic(), score_or_none(problem, x)
    heat = HEAT * scatter(problem, x, rng)
    while (now := time.monotonic()) < until:
        done = (now - begun) / (until - begun)
        temperature = heat * COOLING**done
        trial = disturb(problem, x, rng, STEP * (1 - 0.9 * done))
        found = score_or_none(problem, trial)
        if found is None:
            continue
        loss = 0.0 if score is None or problem.better(found, score) else abs(found - score)
        if loss == 0.0 or rng.random() < math.exp(-min(700.0, loss / max(temperature, 1e-300))):
            x, score = trial, found
            ratchet.offer(x)
    return x


def optimize(problem, start, seed, deadline, offer):
    """Improve `start` until the deadline."""
    rng, ratchet = np.random.default_rng(seed), Ratchet(problem, offer)
    ratchet.offer(start)
    x = np.asarray(start, dtype=np.float64)
    for left in range(CYCLES, 0, -1):
        now = time.monotonic()
        cycle(problem, x, rng, now + (deadline - now) / left, ratchet)
        x = ratchet.best if ratchet.best is not None else x
    return ratchet.best
