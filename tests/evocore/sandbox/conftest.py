"""A sandbox that all tests of this folder share, and a problem that costs nothing to score."""

import numpy as np
import pytest

from evocore.sandbox import Job, Limits, ProcessSandbox

PROBLEM = """
from fractions import Fraction

from evocore.errors import InvalidConstruction
from evocore.problems import ExactResult, Problem


class SmallestSum(Problem):
    slug = "smallest-sum"
    title = "Positive numbers with a small sum"
    statement = "The score is the sum."
    direction = "minimize"
    default_size = 3
    max_length = 1_000_000
    target = 0.5

    def score(self, x):
        if min(x) <= 0:
            raise InvalidConstruction("expected positive numbers")
        return float(sum(x)) if len(x) < 100 else float(x.sum())

    def exact(self, x):
        if min(x) <= 0:
            return ExactResult.invalid("a number is not positive")
        return ExactResult(sum(map(Fraction, x)))


problem = SmallestSum()
"""


@pytest.fixture(scope="session")
def problem_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("smallest_sum")
    (folder / "problem.py").write_text(PROBLEM)
    return folder


@pytest.fixture(scope="session")
def sandbox():
    with ProcessSandbox() as opened:
        yield opened


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
