"""What the tests of the controller share: one sandbox, and a problem that costs nothing to score."""

import pytest

from evocore.sandbox import offered_tier, open_sandbox

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
    with open_sandbox(offered_tier(None)) as opened:
        yield opened
