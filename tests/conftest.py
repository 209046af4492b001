"""Fixtures that every part of the suite shares."""

import json
import os
import signal
from pathlib import Path

import pytest
from hypothesis import settings

# A shell in the background ignores SIGINT and nohup SIGHUP, and what is ignored stays so in every process started from
# here: the tests that send these signals would wait for ever.
for _number, _default in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, _default)

# How long an example takes says more about the machine than about the code.
settings.register_profile("evocore", deadline=None)
settings.load_profile("evocore")

ROOT = Path(__file__).parent.parent

# The folder evocore/ in the root would hide an installed evocore, kernels and all, from every `python -c` and
# `python -m` that a test starts there: child processes leave the working directory out of their path.
os.environ["PYTHONSAFEPATH"] = "1"


@pytest.fixture(scope="session")
def constructions():
    """Load published constructions: `constructions(problem, name)` gives the values; skips where they are not at hand.

    They belong to others and are not part of the project: EVOCORE_CONSTRUCTIONS names their folder, and a folder
    `shared/data/constructions` beside the project is found by itself.
    """
    folder = Path(os.environ.get("EVOCORE_CONSTRUCTIONS", ROOT.parent / "shared" / "data" / "constructions"))

    def load(problem: str, name: str):
        path = folder / problem / f"{name}.json"
        if not path.exists():
            pytest.skip(f"published construction {problem}/{name}.json is not at hand (set EVOCORE_CONSTRUCTIONS)")
        return json.loads(path.read_text())

    return load


@pytest.fixture(scope="session")
def docker_engine():
    """Skip where no Docker engine answers; fail there if EVOCORE_REQUIRE_DOCKER is set, as in CI."""
    from evocore.errors import SandboxUnavailable
    from evocore.sandbox.docker_container import engine

    try:
        with engine() as client:
            client.ping()
    except SandboxUnavailable as error:
        if os.environ.get("EVOCORE_REQUIRE_DOCKER"):
            pytest.fail(f"EVOCORE_REQUIRE_DOCKER is set, but: {error}")
        pytest.skip(str(error))
