"""What the tests of the verifiers share: a small problem of one's own, whose scores can be checked by hand."""

import pytest

from evocore.problems import problem
from evocore.verifiers import Verifier

MEAN = '''\
"""Minimise the mean of non-negative numbers."""

import ctypes
import os
import sys
from fractions import Fraction

from evocore.errors import InvalidConstruction
from evocore.problems import Enclosure, ExactResult, Problem, Reference


class Mean(Problem):
    """Every score of it is a dyadic rational that a person can compute."""

    slug = "mean"
    title = "A small mean"
    statement = "Give numbers of at least 0; the score is their mean."
    direction = "minimize"
    max_length = 1000
    default_size = 4
    references = (
        Reference("Ann", 1.0, 2020, "paper", "a paper"),
        Reference("Bob", 0.5, 2021, "paper", "another paper"),
    )
    min_improvement = 0.25

    def score(self, x):
        if (x < 0).any():
            raise InvalidConstruction(f"expected numbers of at least 0, got {x.min()}")
        return float(x.sum() / len(x))

    def exact(self, x):
        {trap}
        if (x < 0).any():
            return ExactResult.invalid("a number is negative")
        return ExactResult(sum(map(Fraction, x.tolist()), Fraction(0)) / len(x))


{load}
problem = Mean()
'''


def write_mean(folder, trap="pass", load=""):
    """Write the problem into a folder.

    `trap` is one statement at the beginning of `exact`, with `x` at hand; `load` is run when the problem is loaded, in
    a process that may still use files.
    """
    folder.mkdir(exist_ok=True)
    (folder / "problem.py").write_text(MEAN.replace("{trap}", trap).replace("{load}", load))
    return str(folder)


@pytest.fixture(scope="session")
def mean_folder(tmp_path_factory):
    """The problem's folder, as a string with a slash in it."""
    return write_mean(tmp_path_factory.mktemp("problems") / "mean")


@pytest.fixture(scope="session")
def mean(mean_folder):
    """The problem."""
    return problem(mean_folder)


@pytest.fixture
def trapped(tmp_path):
    """`trapped(statement)`: the folder of that problem with a statement of one's own in its exact score."""
    return lambda trap, load="": write_mean(tmp_path / "mean", trap, load)


@pytest.fixture(scope="module")
def verifier(mean_folder):
    """One process for the tests of a module that do not end it."""
    with Verifier([mean_folder, "third-autocorrelation-inequality"]) as running:
        yield running
