"""Differential evolution of a small population (R. Storn and K. Price, J. Global Optim. 11 (1997) 341)."""

import time
from typing import Annotated

import numpy as np

from evocore.optim import Range, Ratchet, score_or_none

GOOD_FOR = ("cold",)

POPULATION: Annotated[int, Range(6, 60)] = 16
WEIGHT: Annotated[float, Range(0.2, 1.2)] = 0.6
CROSSOVER: Annotated[float, Range(0.05, 1.0)] = 0.5
PULL_TO_BEST: Annotated[float, Range(0.0, 1.0)] = 0.3


def optimize(problem, start, seed, deadline, offer):
    """Improve `start` until the deadline."""
    rng, ratchet = np.random.default_rng(seed), Ratchet(problem, offer)
    ratchet.offer(start)
    n = len(start)
    members = [np.asarray(start, dtype=np.float64)]
    members += [problem.start(n, int(rng.integers(2**31))) for _ in range(POPULATION - 1)]
    scores = [score_or_none(problem, x) for x in members]
    while time.monotonic() < deadline:
        i, a, b, c = (int(v) for v in rng.choice(POPULATION, 4, replace=False))
        base = ratchet.best if ratchet.best is not None and rng.random() < PULL_TO_BEST else members[a]
        guest = base + WEIGHT * (members[b] - members[c])
        mask = rng.random(n) < CROSSOVER
        mask[int(rng.integers(n))] = True
        trial = problem.project(np.where(mask, guest, members[i]))
        found = score_or_none(problem, trial)
        if found is not None and (scores[i] is None or not problem.better(scores[i], found)):
            members[i], scores[i] = trial, found
            ratchet.offer(trial)
    return ratchet.best
