"""Attempts: real programs in the real sandbox, scored by the real verifier."""

import os
import signal
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from fractions import Fraction

import pytest

from evocore.errors import ConfigError, SandboxUnavailable
from evocore.sandbox import Status
from evocore.tasks import Checkpoint, attempt
from evocore.verifiers.arrays import decode
from evocore.verifiers.client import Verifier

HEAD = "import time\ndef optimize(problem, start, seed, deadline, offer):\n    "


@pytest.fixture
def play(verifier, sandbox, make_task):
    keys = iter(range(10**6))

    def run(body, *, task=None, by=verifier, **more):
        source = HEAD + body.replace("\n", "\n    ")
        return attempt(source, task or make_task(), 0, by, sandbox, key=f"{os.urandom(4).hex()}/{next(keys)}", **more)

    return run


def test_the_best_hand_in_counts(play, make_task):
    task = make_task()
    result = play("offer(start / 2)\noffer(start / 4)\nreturn start", task=task)
    assert (result.task_hash, result.status, result.detail) == (task.hash, Status.OK, "")
    assert result.best_exact == Fraction(2)
    assert decode(result.best_buffer).tolist() == [0.25, 0.5, 1.25]
    assert result.gain == pytest.approx(1 - 1.5 / 7.5)
    assert [score for _, score in result.trace] == [4.0, 2.0]
    assert result.seconds_to_best == result.trace[-1][0]
    assert 0 < result.seconds_to_best <= result.cpu_seconds + 1e-4  # two clocks, of nanoseconds and microseconds
    assert result.n_hand_ins == 2
    assert not result.stopped_early


@pytest.mark.parametrize(
    ("end", "status"), [("raise ValueError", Status.CRASH), ("import os\nos._exit(0)", Status.CRASH)]
)
def test_what_was_handed_in_before_a_crash_counts(play, end, status):
    result = play("offer(start / 8)\n" + end)
    assert (result.status, result.best_exact, result.gain) == (status, Fraction(1), pytest.approx(1 - 0.5 / 7.5))


def test_what_was_handed_in_before_a_timeout_counts(play, make_task):
    result = play("offer(start / 8)\ntime.sleep(60)", task=make_task(budget_seconds=0.2))
    assert (result.status, result.best_exact) == (Status.TIMEOUT, Fraction(1))


class Failing:
    """A sandbox whose machine fails so many times before it works."""

    def __init__(self, sandbox, times):
        self.sandbox, self.times, self.tried = sandbox, times, 0

    def run(self, job, limits, on_offer, **more):
        self.tried += 1
        outcome = self.sandbox.run(job, limits, on_offer, **more)
        if self.tried > self.times:
            return outcome
        return replace(outcome, status=Status.INFRASTRUCTURE, detail="no process left")


def test_a_failure_of_the_machine_is_tried_again(verifier, sandbox, make_task):
    failing = Failing(sandbox, 1)
    result = attempt(HEAD + "return start / 2", make_task(), 0, verifier, failing, key="failing once")
    assert (failing.tried, result.status, result.best_exact) == (2, Status.OK, Fraction(4))


def test_a_failure_of_the_machine_that_stays_is_an_error_and_no_result(verifier, sandbox, make_task):
    failing = Failing(sandbox, 9)
    for key in ("failing", "failing"):  # the attempt was closed: its key may come again
        with pytest.raises(SandboxUnavailable, match="no process left"):
            attempt(HEAD + "return start / 2", make_task(), 0, verifier, failing, key=key)
    assert failing.tried == 4


def test_handing_in_the_start_gains_nothing(play):
    result = play("return start")
    assert (result.status, result.gain, result.best_buffer, result.best_exact) == (Status.OK, 0.0, None, Fraction(8))
    assert (result.trace, result.seconds_to_best) == ((), result.cpu_seconds)


def test_the_target_and_beyond_gain_all(play):
    assert play("return start / 1000").gain == 1.0


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        ("pass", "handed in nothing"),
        ("problem.__class__.fast = lambda self, x: -1.0\nreturn -start", "handed in nothing valid: expected positive"),
        ("return start * float('nan')", "finite"),
    ],
)
def test_handing_in_nothing_valid_is_a_status_and_no_gain(play, body, detail):
    result = play(body)
    assert (result.status, result.gain, result.best_buffer) == (Status.INVALID, 0.0, None)
    assert detail in result.detail


def test_a_claimed_score_is_worth_nothing(play):
    """The program's own copy of the problem says 0 for everything: the verifier scores what was handed in."""
    result = play("type(problem).fast = lambda self, x: 0.0\nprint('score 0.0')\nreturn start / 2")
    assert result.best_exact == Fraction(4)


def test_discoveries_are_told_whatever_becomes_of_the_program(problem_folder, play):
    told = []
    with Verifier(str(problem_folder)) as fresh:
        play("offer(start / 2)\nraise ValueError", by=fresh, on_discovery=lambda *both: told.append(both))
        play("return start / 1.5", by=fresh, on_discovery=lambda *both: told.append(both))
        play("return start / 4", by=fresh, on_discovery=lambda *both: told.append(both))
    assert [reply.exact for _, reply in told] == [Fraction(4), Fraction(2)]
    assert decode(told[0][0].buffer).tolist() == [0.5, 1.0, 2.5]


def test_a_verifier_that_dies_costs_nothing(problem_folder, play):
    with Verifier(str(problem_folder)) as fragile:
        result = play(
            "offer(start / 2)\noffer(start / 4)\nreturn start / 8",
            by=fragile,
            on_discovery=lambda offer, reply: os.kill(fragile.pid, signal.SIGKILL),
        )
    assert result.best_exact == Fraction(1)
    assert len(result.trace) == 3


def test_attempts_at_once_keep_apart(play, make_task):
    def one(i):
        return play(f"return start / {2**i}", task=make_task(target=1e-6)).best_exact

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(one, range(12))) == [Fraction(8, 2**i) for i in range(12)]


def test_a_task_that_is_wrong_about_its_start_is_refused_and_leaves_no_ratchet(verifier, sandbox, make_task):
    for _ in range(2):  # the second time the key is free again
        with pytest.raises(ConfigError, match=r"scores 9\.0, as it says.* finds 8\.0"):
            attempt(HEAD + "pass", make_task(start_exact=Fraction(9)), 0, verifier, sandbox, key="wrong")


# ---- early stop --------------------------------------------------------------------------------------------------


def test_a_hopeless_program_is_stopped_early(play, make_task):
    task = make_task(budget_seconds=20.0)
    look = Checkpoint(fractions=(0.005, 0.01))
    silent = play("while True: pass", task=task, checkpoint=look)
    assert (silent.stopped_early, silent.status, silent.gain) == (True, Status.OK, 0.0)
    assert "no valid hand-in" in silent.detail
    far = Checkpoint(parent_trace=((0.0, 1.0),), fractions=(0.005, 0.01))
    behind = play("offer(start / 1.25)\nwhile True: pass", task=task, checkpoint=far)
    assert behind.stopped_early
    assert "behind its parent" in behind.detail
    assert float(behind.best_exact) == pytest.approx(6.4)  # what it had still counts


def test_a_program_that_keeps_up_is_not_stopped(play, make_task):
    look = Checkpoint(parent_trace=((0.0, 2.0),), fractions=(0.1, 0.2))
    body = "offer(start / 4)\nwhile time.monotonic() < deadline - 0.5: pass\nreturn start / 8"
    result = play(body, task=make_task(budget_seconds=1.0), checkpoint=look)
    assert (result.stopped_early, result.best_exact) == (False, Fraction(1))


PARENT = ((1.0, 4.0), (3.0, 2.0))


@pytest.mark.parametrize(
    ("cpu_seconds", "trace", "has_valid", "seconds", "stops"),
    [
        (0.5, (), False, 2.5, False),  # the parent had nothing by then either
        (0.5, (), False, 5.0, True),  # but this was the last look
        (1.0, (), False, 2.5, True),
        (1.0, (), True, 2.5, True),  # gain 0 against 4 / 7.5
        (1.0, ((0.5, 6.0),), True, 2.5, False),  # 2 / 7.5 behind
        (3.0, ((0.5, 6.0),), True, 5.0, True),  # 4 / 7.5 behind
        (3.0, ((0.5, 6.0), (2.9, 4.0)), True, 5.0, False),
        (0.5, (), True, 2.5, False),
    ],
)
def test_when_a_program_is_stopped(make_task, cpu_seconds, trace, has_valid, seconds, stops):
    look = Checkpoint(parent_trace=PARENT)
    assert bool(look.reason(make_task(), seconds, cpu_seconds, trace, has_valid=has_valid)) is stops
