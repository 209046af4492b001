"""Every attack program under every tier that this machine offers: what it gets through with, and whom it touches."""

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from evocore.errors import InvalidConstruction, SandboxUnavailable
from evocore.problems import problem
from evocore.sandbox import Job, ProcessSandbox, Status, Tier
from evocore.sandbox.attacks import ATTACKS, Attack
from evocore.sandbox.selftest import PROBLEM, Selftest
from evocore.sandbox.targets import Targets
from evocore.verifiers.arrays import decode

FRESH = "docker-fresh"
"""A container for every program instead of one for many: only a few attacks, as each takes seconds."""

FRESH_ATTACKS = ("leave_daemon", "fill_folder", "kill_runner", "read_files")
CASES = [(str(tier), attack) for tier in Tier for attack in ATTACKS if attack.statuses(tier)]
CASES += [(FRESH, attack) for attack in ATTACKS if attack.name in FRESH_ATTACKS]


class Passes:
    """The results of every tier whose turn has come: all attacks that were asked for in one go, several at a time."""

    def __init__(self, wanted):
        self._wanted = wanted
        self._results = {}

    def result(self, place, attack):
        if place not in self._results:
            self._results[place] = self._run(place)
        found = self._results[place]
        if isinstance(found, SandboxUnavailable):
            if "docker" in place and os.environ.get("EVOCORE_REQUIRE_DOCKER"):
                pytest.fail(f"EVOCORE_REQUIRE_DOCKER is set, but: {found}")
            pytest.skip(f"{place}: {found}")
        return found[attack.name]

    def _run(self, place):
        found = {}
        try:
            with Selftest(Tier(place.removesuffix("-fresh")), has_fresh_containers=place == FRESH) as selftest:
                selftest.run_all([a for p, a in self._wanted if p == place], lambda r: found.update({r.attack: r}))
        except SandboxUnavailable as error:
            return error
        return found


@pytest.fixture(scope="module")
def passes(request):
    cases = [getattr(item, "callspec", None) for item in request.session.items if item.path == request.path]
    return Passes([(c.params["place"], c.params["attack"]) for c in cases if c is not None and "place" in c.params])


@pytest.mark.timeout(900)  # the first one of a tier runs all of them
@pytest.mark.parametrize(("place", "attack"), CASES, ids=lambda value: getattr(value, "name", value))
def test_attack_gets_through_with_nothing_that_the_tier_promises_to_stop(passes, place, attack):
    result = passes.result(place, attack)
    assert result.broken == (), result


def test_every_attack_is_listed_once_and_every_row_has_one():
    folder = Path(__file__).parents[2] / "evocore" / "sandbox" / "attacks"
    names = [a.name for a in ATTACKS]
    assert len(names) == len(set(names))
    assert {a.name for a in ATTACKS if a.text is None} == {p.stem for p in folder.glob("[!_]*.py")}
    elsewhere = {45}  # a verifier that is changed on disk: test_controller.py
    assert {row for a in ATTACKS for row in a.rows} | elsewhere == set(range(1, 66))


def test_every_attack_says_what_it_does():
    for attack in ATTACKS:
        assert attack.purpose.endswith((".", "best.")), attack.name
        assert len(attack.purpose) < 140


def test_every_attack_is_named_by_a_promise():
    text = (Path(__file__).parents[2] / "SECURITY.md").read_text()
    named = set(re.findall("`([a-z]+(?:_[a-z0-9]+)+|backtrack|recurse)`", text))
    assert named == {a.name for a in ATTACKS}


# ---- the harness itself: what an attack does is seen -------------------------------------------------------------


@pytest.fixture(scope="module")
def unsafe():
    with Selftest(Tier.UNSAFE) as opened:
        yield opened


def named(name: str) -> Attack:
    return next(a for a in ATTACKS if a.name == name)


@pytest.mark.parametrize(
    ("name", "seen"),
    [
        ("tamper_with_files", ["run/ledger.jsonl is gone", "open/new is new"]),
        ("signal_others", ["a process was stopped or killed"]),
        ("attach_to_processes", ["told a secret", "a process had its memory changed", "a process had its open file"]),
        ("read_other_processes", ["told a secret", "a process had its memory changed"]),
        ("open_sockets", ["a connection arrived by TCP", "arrived by UDP", "arrived by an abstract socket"]),
        ("leave_messages", ["a message is left in the kernel (shm)", "a key is left in the kernel"]),
        ("fill_folder", ["new files in /tmp"]),
        ("read_files", ["told a secret"]),
    ],
)
def test_what_an_attack_does_is_seen_from_outside_where_nothing_stops_it(unsafe, name, seen):
    through = unsafe.run(named(name)).through
    for what in seen:
        assert any(what in one for one in through), (what, through)


def test_an_attack_that_the_tier_promises_to_stop_counts_as_broken(unsafe):
    result = unsafe.run(replace(named("tamper_with_files"), promised_by=(Tier.UNSAFE,)))
    assert not result.is_stopped
    assert any("run/ledger.jsonl" in what for what in result.broken)


def test_another_end_than_the_expected_counts_as_broken(unsafe):
    result = unsafe.run(replace(named("exit_at_once"), ends=named("stop_itself").ends))
    assert any("expected it to end as timeout, got crash" in what for what in result.broken)


def test_late_verdicts_and_a_grown_controller_count_as_broken(unsafe, monkeypatch):
    monkeypatch.setattr("evocore.sandbox.selftest.LATE_SECONDS", -1e9)
    monkeypatch.setattr("evocore.sandbox.selftest.MOST_GROWTH_BYTES", -1)
    broken = unsafe.run(named("exit_at_once")).broken
    assert any("the verdict took" in what for what in broken)
    assert any("the controller grew by" in what for what in broken)


def test_a_sandbox_that_does_not_work_any_more_counts_as_broken():
    with Selftest(Tier.UNSAFE) as opened:
        pass
    assert not opened.run(named("exit_at_once")).is_stopped


def test_a_process_that_stays_is_found():
    with Targets({}, ()) as targets:
        command = [sys.executable, "-c", "print(flush=True), input()", targets.marker]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as stay:
            stay.stdout.readline()
            seen = targets.left_behind()
            stay.communicate(b"\n")
        assert seen == [f"process {stay.pid}"]
        assert targets.left_behind() == []


# ---- what becomes of hand-ins and output -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def sandbox():
    with ProcessSandbox("unsafe", kill_seconds=1.0) as opened:
        yield opened


START = problem(PROBLEM).start(problem(PROBLEM).default_size, 0)


def run(sandbox, attack: Attack, offers: list):
    with Targets({"controller": 0, "verifier": 0}, ()) as targets:
        job = Job(attack.source(targets.named()), PROBLEM, START, 1, attack.budget_seconds)
        return sandbox.run(job, attack.limits, offers.append)


@pytest.mark.parametrize("name", ["exit_at_once", "ignore_signals", "kill_itself", "sleep_for_ever"])
def test_what_is_handed_in_before_the_end_counts(sandbox, name):
    offers = []
    outcome = run(sandbox, named(name), offers)
    assert outcome.n_offers == 1
    np.testing.assert_array_equal(decode(offers[0].buffer), START)


def test_output_is_kept_from_the_end_and_capped(sandbox):
    outcome = run(sandbox, named("flood_output"), [])
    most = named("flood_output").limits.output_bytes
    assert len(outcome.stderr) == most
    assert len(outcome.stdout.encode()) <= most + 8
    assert outcome.stdout.endswith("�\ufffd")
    assert "\\ud800" in outcome.stdout


@pytest.mark.parametrize("name", ["hostile_names", "raise_a_huge_error", "end_twice"])
def test_what_is_said_of_an_end_cannot_command_a_terminal(sandbox, name):
    outcome = run(sandbox, named(name), [])
    assert outcome.detail.isprintable()
    assert len(outcome.detail) < 10_000


def test_late_hand_ins_do_not_count(sandbox):
    offers = []
    attack = named("offer_for_ever")
    outcome = run(sandbox, replace(attack, limits=replace(attack.limits, offers_bytes=4 << 30)), offers)
    assert outcome.n_late > 0
    assert len(offers) <= outcome.n_offers
    assert max(o.seconds for o in offers) <= attack.budget_seconds + attack.limits.late_seconds
    assert [o.seconds for o in offers] == sorted(o.seconds for o in offers)


def test_cpu_time_is_charged_by_the_kernels_clock(sandbox):
    outcome = run(sandbox, named("play_with_clocks"), [])
    assert outcome.cpu_seconds >= 0.4


def test_a_forged_score_is_only_a_hand_in(sandbox):
    offers = []
    run(sandbox, named("patch_everything"), offers)
    assert len(offers) == 4
    for offer in offers:
        with pytest.raises(InvalidConstruction):
            problem(PROBLEM).score(problem(PROBLEM).check(decode(offer.buffer)))


def test_a_slot_is_free_again_after_programs_that_only_waste_time(sandbox):
    with ThreadPoolExecutor(8) as pool:
        wasted = list(pool.map(lambda _: run(sandbox, named("stop_itself"), []), range(8)))
    assert [outcome.status for outcome in wasted] == [Status.TIMEOUT] * 8
    assert run(sandbox, named("exit_at_once"), []).n_offers == 1
