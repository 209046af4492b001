"""Running a few lines as a program, in every tier: those of this machine, and in a warm container."""

import numpy as np
import pytest

from evocore.errors import SandboxUnavailable
from evocore.sandbox import Job, Limits, Tier, open_sandbox
from evocore.sandbox.docker import DockerSandbox


@pytest.fixture(scope="session", params=Tier)
def sandbox(request):
    if request.param is Tier.DOCKER:  # one container a program takes seconds: test_docker.py has a few of those
        request.getfixturevalue("docker_engine")
        opened = DockerSandbox(warm=True)
    else:
        opened = tier(request.param)
    with opened:
        yield opened


def tier(name):
    try:
        return open_sandbox(name)
    except SandboxUnavailable as error:
        return pytest.skip(str(error))


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
