"""A (1+1) evolution strategy with its own step size per run, restarted when it stalls.

Knows nothing of the problem but its score: disturbs a random part of the construction, projects, keeps what is
better. The step size follows the one-fifth success rule (I. Rechenberg, 1973).
"""

import math
import time
from typing import Annotated

import numpy as np

from evocore.optim import Range, Ratchet, score_or_none

GOOD_FOR = ("cold", "warm")

STEP_START: Annotated[float, Range(0.001, 1.0, log=True)] = 0.1
STEP_UP: Annotated[float, Range(1.02, 3.0, log=True)] = 1.3
SPARSITY: Annotated[float, Range(0.0, 1.0)] = 0.5
PATIENCE: Annotated[int, Range(50, 5000, log=True)] = 400


def climb(problem, x, rng, deadline, ratchet):
    """Climb from x until the deadline or until nothing improves any more."""
    score = score_or_none(problem, x)
    step, idle = STEP_START, 0
    while time.monotonic() < deadline and idle < PATIENCE:
        share = 1.0 if rng.random() > SPARSITY else math.exp(rng.uniform(math.log(1 / len(x)), 0.0))
        mask = rng.random(len(x)) < max(share, 1 / len(x))
        size = step * (float(np.std(x)) + 0.1 * float(np.mean(np.abs(x))) + 1e-12)
        trial = problem.project(x + size * mask * rng.standard_normal(len(x)))
        found = score_or_none(problem, trial)
        if found is not None and (score is None or problem.better(found, score)):
            x, score, idle = trial, found, 0
            step = min(step * STEP_UP, 10.0)
            ratchet.offer(x)
        else:
            idle += 1
            step = max(step * STEP_UP**-0.25, 1e-9)
    return x


def optimize(problem, start, seed, deadline, offer):
    """Improve `start` until the deadline; restarts go on from the best, disturbed."""
    rng, ratchet = np.random.default_rng(seed), Ratchet(problem, offer)
    ratchet.offer(start)
    x = np.asarray(start, dtype=np.float64)
    while time.monotonic() < deadline:
        climb(problem, x, rng, deadline, ratchet)
        x = ratchet.best if ratchet.best is not None else problem.start(len(start), int(rng.integers(2**31)))
    return ratchet.best
