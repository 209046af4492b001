"""Running a few lines as a program, in every tier that this machine offers by itself."""

import numpy as np
import pytest

from evocore.errors import SandboxUnavailable
from evocore.sandbox import Job, Limits, Tier, open_sandbox


@pytest.fixture(scope="session", params=[t for t in Tier if t is not Tier.DOCKER])
def sandbox(request):
    try:
        opened = open_sandbox(request.param)
    except SandboxUnavailable as error:
        pytest.skip(str(error))
    with opened:
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
