"""Tasks on a problem whose score is the sum of its numbers."""

from fractions import Fraction

import numpy as np
import pytest

from evocore.sandbox import Limits
from evocore.tasks import OptimizerTask
from evocore.verifiers.client import Verifier


@pytest.fixture(scope="session")
def verifier(problem_folder):
    with Verifier(str(problem_folder)) as opened:
        yield opened


@pytest.fixture
def make_task(problem_folder):
    """Make a task; the start's exact score follows from the start."""

    def make(start=(1.0, 2.0, 5.0), **changes):
        settings = {
            "problem": str(problem_folder),
            "kind": "cold",
            "start": np.array(start),
            "start_exact": sum(map(Fraction, start)),
            "target": 0.5,
            "floor": 0.5,
            "variant": "linear",
            "budget_seconds": 10.0,
            "limits": Limits(30.0, 30.0),
        }
        return OptimizerTask(**{**settings, **changes})

    return make
