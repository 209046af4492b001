"""What is left when the controller is killed, and what a verifier says that is edited while it runs."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from evocore.errors import SandboxUnavailable, VerifierUnavailable
from evocore.problems import problem
from evocore.sandbox import Tier, linux
from evocore.sandbox.attacks import ATTACKS
from evocore.sandbox.selftest import PROBLEM
from evocore.sandbox.targets import Targets
from evocore.sandbox.tiers import check_tier
from evocore.verifiers import Verifier, seal
from evocore.verifiers.arrays import encode

CONTROLLER = """
import os, sys
import numpy as np
from evocore.problems import problem
from evocore.sandbox import Job, Limits, Tier, linux, open_sandbox

tier, source = sys.argv[1], sys.stdin.read()
found = problem("erdos-min-overlap")
with open_sandbox(Tier(tier)) as sandbox:
    def tell(offer):
        print(*linux.descendants(os.getpid()), flush=True)
    job = Job(source, found.slug, found.start(found.default_size, 0), 1, 100.0)
    sandbox.run(job, Limits.for_budget(100.0), tell)
"""
GONE_SECONDS = 60.0


# What becomes of containers: tests/evocore/sandbox/test_docker.py.
@pytest.mark.parametrize("tier", [t for t in Tier if t is not Tier.DOCKER])
def test_row_37_a_program_does_not_outlive_a_killed_controller(tier, tmp_path):
    try:
        check_tier(tier)
    except SandboxUnavailable as error:
        pytest.skip(str(error))
    attack = next(a for a in ATTACKS if a.name == "outlive_the_controller")
    with Targets({}, ()) as targets:
        command = [sys.executable, "-P", "-c", CONTROLLER, tier]
        environment = {"PATH": "/usr/bin:/bin", "TMPDIR": str(tmp_path)}
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, text=True
        ) as controller:
            controller.stdin.write(attack.source(targets.named()))
            controller.stdin.close()
            pids = [int(pid) for pid in controller.stdout.readline().split()]
            assert pids
            controller.kill()
        give_up = time.monotonic() + GONE_SECONDS
        while (left := [pid for pid in pids if is_there(pid)]) and time.monotonic() < give_up:
            time.sleep(0.05)
        assert left == []
        assert targets.left_behind() == []
    assert list(tmp_path.iterdir()) == []


def is_there(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


OWN_PROBLEM = """
from fractions import Fraction

from evocore.errors import InvalidConstruction
from evocore.problems import ExactResult, Problem


class Total(Problem):
    slug = "total"
    title = "A small sum"
    statement = "The score is the sum of positive numbers."
    direction = "minimize"
    default_size = 3
    max_length = 100
    target = 0.5

    def score(self, x):
        if min(x) <= 0:
            raise InvalidConstruction("expected positive numbers")
        return float(x.sum())

    def exact(self, x):
        return ExactResult(sum(map(Fraction, x.tolist()), Fraction(0)))


problem = Total()
"""


def test_row_45_an_edited_verifier_says_what_it_said_before_and_does_not_start_again(tmp_path):
    file = tmp_path / "problem.py"
    file.write_text(OWN_PROBLEM)
    with Verifier(tmp_path) as verifier:
        before = verifier.verify(tmp_path, [1.0, 2.0])
        file.write_text(OWN_PROBLEM.replace("float(x.sum())", "-1e9").replace("sum(map", "-sum(map"))
        after = verifier.verify(tmp_path, [1.0, 2.0])
        assert (after.arena_score, after.exact_score) == (before.arena_score, before.exact_score) == (3.0, 3)
        assert after.verifier_digest == before.verifier_digest
        linux.kill(verifier.pid)
        with pytest.raises(VerifierUnavailable, match=r"problem\.py"):
            verifier.verify(tmp_path, [1.0, 2.0])


def test_row_42_a_forged_or_replayed_answer_is_refused():
    """The seal itself, and requests that come twice: tests/verifiers/test_seal.py and test_process.py."""
    key, first, second = seal.new_key(), b"a" * seal.DIGEST_BYTES, b"b" * seal.DIGEST_BYTES
    answer = b'{"valid": true}'
    sealed = seal.seal(key, first, answer)
    seal.check(key, first, answer, sealed)
    for request, body, got in (
        (second, answer, sealed),
        (first, b'{"valid": null}', sealed),
        (first, answer, seal.seal(seal.new_key(), first, answer)),
        (first, answer, None),
    ):
        with pytest.raises(VerifierUnavailable):
            seal.check(key, request, body, got)


def test_row_47_what_is_known_is_no_record():
    found = problem(PROBLEM)
    start = found.start(found.default_size, 0)
    with Verifier(PROBLEM) as verifier:
        verifier.open_attempt("again", PROBLEM, start)
        reply = verifier.offer("again", PROBLEM, encode(start))
        assert not reply.improved_attempt
        assert not verifier.verify(PROBLEM, start).first_place
