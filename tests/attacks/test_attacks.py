"""Every attack program in the real sandbox: what becomes of it, of its neighbour, and of what it leaves behind."""

import os
import threading
from pathlib import Path

import numpy as np
import pytest

from evocore.errors import InvalidConstruction
from evocore.problems import problem
from evocore.sandbox import Job, ProcessSandbox, Status, linux
from evocore.sandbox.attacks import ATTACKS, Attack
from evocore.sandbox.runner_process import MARKER
from evocore.verifiers.arrays import decode

PROBLEM = "erdos-min-overlap"
START = problem(PROBLEM).start(problem(PROBLEM).default_size, 0)
NEIGHBOUR = """
import time

def optimize(problem, start, seed, deadline, offer):
    offer(start)
    time.sleep(0.1)
    return start
"""


@pytest.fixture(scope="module")
def sandbox():
    with ProcessSandbox("unsafe", kill_seconds=1.0) as opened:
        yield opened


def run(sandbox, attack: Attack, seed: int, offers: list):
    job = Job(attack.source, PROBLEM, START, seed, attack.budget_seconds)
    return sandbox.run(job, attack.limits, offers.append)


def marked(seed: int) -> list[str]:
    """Command lines of processes that an attack has left behind, whatever their environment says."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            line = (entry / "cmdline").read_bytes() if entry.name.isdigit() else b""
        except OSError:
            continue
        if f"evocore-attack-{seed}".encode() in line:
            found.append(line.decode(errors="replace"))
    return found


def tokens(sandbox) -> set[bytes]:
    """What marks everything that was forked from the runners that are up."""
    found = set()
    for pid in sandbox.runner_pids():
        try:
            variables = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        except OSError:
            continue
        found |= {v for v in variables if v.startswith(MARKER.encode())}
    return found


def assert_nothing_left(sandbox, seed: int, born_with: set[bytes]) -> None:
    runners = sandbox.runner_pids()
    assert marked(seed) == []
    assert [pid for token in born_with for pid in linux.processes_with(token) if pid not in runners] == []
    for pid in runners:
        assert linux.children(pid) == []
        assert list(Path(f"/proc/{pid}/cwd").iterdir()) == []


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda a: a.name)
def test_attack_ends_as_it_has_to_and_touches_nobody(sandbox, attack):
    seed = int.from_bytes(os.urandom(6), "little")
    quiet = Job(NEIGHBOUR, PROBLEM, START, 1, 20.0)
    sandbox.run(quiet, attack.limits)  # the runner is up, whatever the last attack did to it
    born_with, offers, neighbours = tokens(sandbox), [], []
    neighbour = threading.Thread(target=lambda: neighbours.append(sandbox.run(quiet, attack.limits)))
    neighbour.start()
    outcome = run(sandbox, attack, seed, offers)
    neighbour.join()
    if attack.name == "kill_runner":  # both lost the runner, got one each, and only one of them lost that as well
        assert "alone" in outcome.detail
    assert outcome.status is attack.status, outcome
    assert outcome.tier == "unsafe"
    assert [n.status for n in neighbours] == [Status.OK]
    assert_nothing_left(sandbox, seed, born_with | tokens(sandbox))


def test_every_attack_is_listed():
    folder = Path(__file__).parents[2] / "evocore" / "sandbox" / "attacks"
    assert {a.name for a in ATTACKS} == {p.stem for p in folder.glob("*.py")} - {"__init__"}


def named(name: str) -> Attack:
    return next(a for a in ATTACKS if a.name == name)


def test_what_is_handed_in_before_the_end_counts(sandbox):
    for name in ("exit_at_once", "ignore_signals"):
        offers = []
        outcome = run(sandbox, named(name), 1, offers)
        assert outcome.n_offers == 1
        np.testing.assert_array_equal(decode(offers[0].buffer), START)


def test_output_is_kept_from_the_end_and_capped(sandbox):
    outcome = run(sandbox, named("flood_output"), 1, [])
    most = named("flood_output").limits.output_bytes
    assert len(outcome.stderr) == most
    assert len(outcome.stdout.encode()) <= most + 8
    assert outcome.stdout.endswith("�\ufffd")
    assert "\\ud800" in outcome.stdout


def test_late_hand_ins_do_not_count(sandbox):
    offers = []
    attack = named("offer_for_ever")
    outcome = run(sandbox, attack, 1, offers)
    assert outcome.n_late > 0
    assert len(offers) <= outcome.n_offers
    assert max(o.seconds for o in offers) <= attack.budget_seconds + attack.limits.late_seconds
    assert [o.seconds for o in offers] == sorted(o.seconds for o in offers)


def test_a_forged_score_is_only_a_hand_in(sandbox):
    offers = []
    run(sandbox, named("patch_everything"), 1, offers)
    assert len(offers) == 4
    for offer in offers:
        with pytest.raises(InvalidConstruction):
            problem(PROBLEM).score(problem(PROBLEM).check(decode(offer.buffer)))
