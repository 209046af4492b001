"""A run in which nothing depends on how fast the machine is: `counted.py run DIRECTORY`, `counted.py resume DIRECTORY`.

Everything is real, sandbox, verifier, ledger and all, but for three things: the program works by steps and not by the
clock, the run's clock goes on by finished attempts, and what an attempt took is written down as the same for all. So a
run that is broken off and taken up again has to come to the very same events as one that is not.
"""

import dataclasses
import sys
from pathlib import Path

from evocore.config import RunConfig
from evocore.search.loop import Run
from evocore.search.sandboxed import Bench

PROBLEM = '''
"""Make numbers equal."""
from fractions import Fraction
from evocore.problems.base import ExactResult, Problem


class Flat(Problem):
    slug = "flat"
    title = "Largest over mean"
    statement = "Give positive numbers; the score is the largest over the mean."
    direction = "minimize"
    min_length, max_length, default_size = 2, 50, 8
    target = 1.0
    gain_floor = 1e-3

    def score(self, x):
        return float(max(x) * len(x) / sum(x))

    def exact(self, x):
        values = [Fraction(v) for v in x.tolist()]
        if min(values) <= 0:
            return ExactResult.invalid("a number is not positive")
        return ExactResult(max(values) * len(values) / sum(values))


problem = Flat()
'''
PROGRAM = '''
"""Pull every number a little towards the mean, so many times."""
from typing import Annotated
import time
import numpy as np
from evocore.optim import Range

STEP: Annotated[float, Range(0.01, 0.9)] = {step}
N_STEPS: Annotated[int, Range(1, 12)] = {n_steps}


def optimize(problem, start, seed, deadline, offer):
    x = np.array(start)
    for _ in range(N_STEPS):
        x = x + STEP * (x.mean() - x)
        offer(x)
        time.sleep(0.01)
    return x
'''
SETTINGS = {
    "budget": "10h",
    "task_seconds": 60.0,
    "epoch_seconds": 5.0,
    "chain_slots": 0,
    "evaluation_slots": 1,
    "workers": 1,
    "seed": 3,
    "max_rounds": 3,
    "islands": 2,
    "patience": 1,
}
SECONDS_AN_ATTEMPT = 0.25


def main(verb, directory):
    """Begin a run or take one up, and carry it to its end."""
    run_dir = Path(directory)
    n_attempts = 0
    really_evaluate = Bench.evaluate

    def evaluate(self, request):
        nonlocal n_attempts
        with open(self.rundir.path / "attempts.log", "a") as log:
            log.write(f"{request.key}\n")
        result = really_evaluate(self, request)
        n_attempts += 1
        return dataclasses.replace(
            result,
            seconds_to_best=1.0,
            peak_memory_bytes=10**8,
            cpu_seconds=1.0,
            wall_seconds=1.0,
            trace=tuple((0.0, score) for _, score in result.trace),
        )

    Bench.evaluate = evaluate

    def now():
        return SECONDS_AN_ATTEMPT * n_attempts

    if verb == "resume":
        Run.resume(run_dir, now=now).go()
        return
    folder = run_dir.parent / "flat"
    (folder / "optimizers").mkdir(parents=True, exist_ok=True)
    (folder / "problem.py").write_text(PROBLEM)
    for name, step, n_steps in (("slow", 0.05, 4), ("fast", 0.3, 3)):
        (folder / "optimizers" / f"{name}.py").write_text(PROGRAM.format(step=step, n_steps=n_steps))
    Run.create(RunConfig.create({"problem": str(folder), **SETTINGS}), out=run_dir, now=now).go()


if __name__ == "__main__":
    main(*sys.argv[1:])
