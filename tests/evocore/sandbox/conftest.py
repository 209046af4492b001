"""Running a few lines as a program."""

import numpy as np
import pytest

from evocore.sandbox import Job, Limits


@pytest.fixture
def play(sandbox, problem_folder):
    """Run the body of an `optimize`, or a whole program, and give its outcome and its hand-ins."""

    def run(body, *, budget=10.0, seed=1, start=(1.0, 2.0, 3.0), limits=None, whole=False, on_offer=None, **more):
        program = body if whole else "def optimize(problem, start, seed, deadline, offer):\n" + _indented(body)
        job = Job(program, str(problem_folder), np.array(start), seed, budget)
        offers = []

        def take(offer):
            offers.append(offer)
            return None if on_offer is None else on_offer(offer)

        outcome = sandbox.run(job, limits or Limits(30.0, 30.0, grace_seconds=0.5), take, **more)
        return outcome, offers

    return run


def _indented(body: str) -> str:
    return "".join(f"    {line}\n" for line in body.strip("\n").splitlines())
