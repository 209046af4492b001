"""Kill the verifier, the runner and candidates of a run: it goes on, and nothing of it is lost or done twice."""

import os
import random
import signal
import time

import pytest

from evocore.ledger import read_ledger
from evocore.verifiers.verdict import exact_from_wire

BUDGET_SECONDS = 240.0
N_KILLS = 3


def shot(faults, folder, role, *, seed, extra=""):
    """Kill processes of a role at random moments of a run, then end it in order; gives its directory.

    Never before the run has come on since the last kill: what dies three times over one question, or runs a program
    twice and dies of it both times, is another matter.
    """
    rng = random.Random(seed)
    ledger = folder / "run" / "ledger.jsonl"
    n_kills, seen = 0, set()
    with faults.started(folder, BUDGET_SECONDS, extra) as process:
        faults.wait_for(lambda: has_kind(ledger, "evaluation"), process)
        while faults.grown(process, ledger, 2) and n_kills < N_KILLS:
            time.sleep(rng.uniform(0.0, 0.6))
            seen |= faults.descendants(process.pid)
            faults.wait_for(lambda: faults.of_role(role, process.pid), process)
            found = sorted(faults.of_role(role, process.pid))
            if not found or (role == "runner" and len(found) > 1):  # the second one runs a program for the last time
                continue
            os.kill(rng.choice(found)[0], signal.SIGKILL)
            n_kills += 1
        process.send_signal(signal.SIGINT)
        stderr = process.stderr.read()
    assert process.returncode == 0, stderr
    assert n_kills == N_KILLS
    assert not stderr
    assert not faults.still_there(seen)
    return folder / "run"


def has_kind(ledger, kind):
    return ledger.exists() and any(event.kind == kind for event in read_ledger(ledger))


def statuses(run):
    events = read_ledger(run / "ledger.jsonl")
    return {e.data["status"] for e in events if e.kind == "evaluation" or e.data.get("phase") == "end"}


def test_a_verifier_that_is_killed_is_started_again_with_its_ratchet(tmp_path, faults):
    run = shot(faults, tmp_path, "verifier", seed=1)
    faults.check_end(run)
    # a ratchet that had lost its place would let the same constructions, and worse ones, count as discoveries again
    found = [e.data for e in read_ledger(run / "ledger.jsonl") if e.kind == "discovery"]
    exacts = [exact_from_wire(data["exact_hex"]) for data in found]
    assert len({data["sha"] for data in found}) == len(found)
    assert all(exact < min(exacts[: max(1, i - 2)]) for i, exact in enumerate(exacts) if i > 2)


def test_a_runner_that_is_killed_costs_no_program_its_result(tmp_path, faults):
    run = shot(faults, tmp_path, "runner", seed=2, extra="chain_slots = 0")
    faults.check_end(run)
    assert not statuses(run) & {"violation", "infrastructure", "crash"}


def test_a_candidate_that_is_killed_has_crashed_and_no_other(tmp_path, faults):
    run = shot(faults, tmp_path, "candidate", seed=3)
    faults.check_end(run)
    assert not statuses(run) & {"violation", "infrastructure", "out_of_memory"}
    crashed = [e.data for e in read_ledger(run / "ledger.jsonl") if e.data.get("status") == "crash"]
    assert 1 <= len(crashed) <= N_KILLS
    assert all("SIGKILL" in data["detail"] for data in crashed if "detail" in data)


@pytest.mark.parametrize("role", ["verifier", "runner"])
def test_what_dies_again_and_again_ends_the_run_in_order(tmp_path, faults, role):
    ledger = tmp_path / "run" / "ledger.jsonl"
    with faults.started(tmp_path, BUDGET_SECONDS) as process:
        faults.wait_for(lambda: has_kind(ledger, "evaluation"), process)
        seen = faults.descendants(process.pid)

        def kill_all():
            for pid, _ in faults.of_role(role, process.pid):
                os.kill(pid, signal.SIGKILL)
            return process.poll() is not None

        faults.wait_for(kill_all)
        stderr = process.stderr.read()
    assert process.returncode == 3, stderr
    faults.one_line(stderr, "evocore resume")
    assert not faults.still_there(seen)
    best = faults.check(tmp_path / "run")
    resumed = faults.launch(["resume", tmp_path / "run"], tmp_path)
    faults.grown(resumed, ledger, 5)
    resumed.send_signal(signal.SIGINT)
    _, stderr = resumed.communicate(timeout=240)
    assert resumed.returncode == 0, stderr
    last = faults.check_end(tmp_path / "run")
    assert best is None or last <= best
