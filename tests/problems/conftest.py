"""What the tests of the problems share."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from evocore import problems


def _load(name):
    spec = importlib.util.spec_from_file_location(f"{__name__}_{name}", Path(__file__).parent / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def independent():
    """The second implementation."""
    return _load("independent")


@pytest.fixture(scope="session")
def erdos():
    return problems.problem("erdos-min-overlap")


@pytest.fixture(scope="session")
def first():
    return problems.problem("first-autocorrelation-inequality")


@pytest.fixture(scope="session")
def second():
    return problems.problem("second-autocorrelation-inequality")


@pytest.fixture(scope="session")
def third():
    return problems.problem("third-autocorrelation-inequality")


@pytest.fixture(scope="session")
def published(constructions):
    """`published(slug, name)`: the values of a published construction, as an array."""

    def load(slug, name):
        return np.array(constructions(slug, name)["solution"]["values"], dtype=np.float64)

    return load
