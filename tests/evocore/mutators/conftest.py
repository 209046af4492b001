from pathlib import Path

import pytest

PROGRAMS = Path(__file__).parent / "programs"


@pytest.fixture(scope="session")
def anneal():
    return (PROGRAMS / "anneal.py").read_text()


@pytest.fixture(scope="session")
def comb():
    return (PROGRAMS / "comb.py").read_text()


@pytest.fixture(scope="session")
def single():
    return (PROGRAMS / "single.py").read_text()
