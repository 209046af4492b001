import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from evocore.errors import (
    ConfigError,
    InfrastructureError,
    InvalidConstruction,
    UnknownProblem,
    VerifierUnavailable,
)
from evocore.problems import problem
from evocore.verifiers import Verifier, judge
from evocore.verifiers.arrays import encode


def kill(verifier):
    os.kill(verifier.pid, signal.SIGKILL)


# ---- verdicts ----------------------------------------------------------------------------------


def test_the_process_says_what_the_judge_says(verifier, mean, mean_folder):
    x = np.array([0.25, 0.5])
    expected = judge(mean, x).to_json()
    for payload in (
        x,
        [0.25, 0.5],
        b'{"values": [0.25, 0.5]}',
        '{"solution": {"values": [0.25, 0.5]}}',
        {"values": [0.25, 0.5]},
    ):
        found = verifier.verify(mean_folder, payload).to_json()
        assert found.pop("seconds") >= 0
        assert found == {**{k: v for k, v in expected.items() if k != "seconds"}, "verifier_digest": verifier.digest}


def test_published_constructions(verifier, constructions):
    slug = "third-autocorrelation-inequality"
    text = json.dumps(constructions(slug, "alphaevolve_arena_baseline")).encode()
    verdict = verifier.verify(slug, text)
    assert verdict.valid
    assert verdict.arena_score == pytest.approx(1.4556427953745, abs=1e-12)
    assert float(verdict.exact_score) == pytest.approx(1.4556427953745406, abs=1e-15)
    assert not verdict.first_place


def test_a_broken_condition_is_a_verdict_and_bad_input_an_error(verifier, mean_folder):
    assert not verifier.verify(mean_folder, b'{"values": [-1]}').valid
    for payload in (b"", b"[]", b'{"values": [NaN]}', [[1.0]], [float("inf")], np.zeros((2, 2))):
        with pytest.raises(InvalidConstruction, match="expected"):
            verifier.verify(mean_folder, payload)
    assert verifier.verify(mean_folder, b'{"values": [1]}').valid


def test_a_construction_that_is_too_large_is_refused_here(verifier, mean_folder):
    pid = verifier.pid
    with pytest.raises(InvalidConstruction, match="at most 67108864 bytes, got 67108865"):
        verifier.verify(mean_folder, bytes((64 << 20) + 1))
    assert verifier.pid == pid


def test_the_largest_construction_gets_through(verifier, mean_folder):
    with pytest.raises(InvalidConstruction, match="the input is empty"):
        verifier.verify(mean_folder, b" " * (64 << 20))


def test_score_many_says_which_is_bad(verifier, mean_folder):
    verdicts = verifier.score_many(mean_folder, [[1.0], [-1.0], {"values": [0.5]}])
    assert [v.exact_score for v in verdicts] == [1, None, Fraction(1, 2)]
    with pytest.raises(InvalidConstruction, match="construction 1: expected"):
        verifier.score_many(mean_folder, [[1.0], []])


def test_problems_are_named_as_at_the_start(verifier, mean, mean_folder):
    assert verifier.verify(mean, [1.0]).valid
    assert verifier.verify(Path(mean_folder), [1.0]).valid
    assert verifier.verify(os.path.relpath(mean_folder), [1.0]).valid
    with pytest.raises(UnknownProblem, match=r"started with \(.*mean, third.*\), got erdos-min-overlap"):
        verifier.verify("erdos-min-overlap", [1.0])


def test_problems_that_do_not_load_are_told_at_the_start(tmp_path):
    with pytest.raises(UnknownProblem, match="did you mean erdos-min-overlap"):
        Verifier("erdos-min-overlp")
    with pytest.raises(UnknownProblem, match="no folder"):
        Verifier(tmp_path / "none")
    (tmp_path / "problem.py").write_text("def f(:\n")
    with pytest.raises(ConfigError, match=r"problem.py, line 1"):
        Verifier([tmp_path])


def test_all_built_in_problems_are_the_default():
    with Verifier() as verifier:
        assert verifier.verify("erdos-min-overlap", [0.5, 0.5]).exact_score == Fraction(1, 2)
        assert verifier.verify("second-autocorrelation-inequality", [1.0, 1.0]).valid


def test_a_closed_verifier_says_so(mean_folder):
    with Verifier(mean_folder) as verifier:
        pid = verifier.pid
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    verifier.close()
    with pytest.raises(VerifierUnavailable, match="has been closed"):
        verifier.verify(mean_folder, [1.0])


@pytest.mark.parametrize(
    ("trap", "message"),
    [
        (
            "1 / 0 if x[0] == 7 else None",
            r"scoring failed: ZeroDivisionError: division by zero \(.*problem.py, line \d+",
        ),
        ("x[0] == 7 and sys.exit(3)", "scoring failed: SystemExit: 3"),
        ("x[0] == 7 and exit(3)", "scoring failed: "),
        ("np_bomb(x) if x[0] == 7 else None", "NameError: name 'np_bomb' is not defined"),
        ("(f := lambda: f())() if x[0] == 7 else None", "RecursionError"),
    ],
)
def test_one_bad_scoring_does_not_end_the_process(trapped, trap, message):
    folder = trapped(trap)
    with Verifier(folder) as verifier:
        pid = verifier.pid
        verifier.open_attempt("a", folder, [2.0])
        with pytest.raises(InfrastructureError, match=message) as caught:
            verifier.verify(folder, [7.0])
        assert "\n" not in str(caught.value)
        if "7" in trap:
            reply = verifier.offer("a", folder, encode([7.0, -7.0]))
            assert not reply.improved_attempt
            assert reply.reason
        assert verifier.verify(folder, [1.0]).valid
        assert verifier.pid == pid


# ---- ratchets ----------------------------------------------------------------------------------


def test_attempt_and_run_ratchets(mean_folder):
    with Verifier(mean_folder) as verifier:
        assert verifier.open_attempt("a", mean_folder, [8.0]) == 8
        assert verifier.open_attempt("b", mean_folder, [2.0]) == 2
        first = verifier.offer("a", mean_folder, encode([4.0]))
        assert (first.improved_attempt, first.improved_run, first.score, first.exact, first.reason) == (
            True,
            True,
            4.0,
            4,
            "",
        )
        assert first.verdict.valid
        again = verifier.offer("a", mean_folder, encode([4.0]))
        assert (again.improved_attempt, again.improved_run) == (False, False)
        other = verifier.offer("b", mean_folder, encode([3.0]))  # better than the run's best, worse than its start
        assert (other.improved_attempt, other.improved_run, other.exact) == (False, True, 3)
        worse = verifier.offer("b", mean_folder, encode([3.5]))
        assert (worse.improved_attempt, worse.improved_run, worse.verdict) == (False, False, None)
        assert "3.5 is not better" in worse.reason
        assert verifier.close_attempt("a") == (4, encode([4.0]))
        assert verifier.close_attempt("b") == (2, None)
        restored = verifier.restore_run(mean_folder, [0.5])
        assert restored.exact_score == Fraction(1, 2)
        verifier.open_attempt("a", mean_folder, [8.0])
        assert not verifier.offer("a", mean_folder, encode([1.0])).improved_run
        assert verifier.offer("a", mean_folder, encode([0.25])).improved_run


def test_a_worse_or_broken_construction_does_not_move_the_run_when_restored(mean_folder):
    with Verifier(mean_folder) as verifier:
        verifier.restore_run(mean_folder, [1.0])
        verifier.restore_run(mean_folder, [2.0])
        assert not verifier.restore_run(mean_folder, [-5.0]).valid
        verifier.open_attempt("a", mean_folder, [9.0])
        assert not verifier.offer("a", mean_folder, encode([1.5])).improved_run
        assert verifier.offer("a", mean_folder, encode([0.5])).improved_run


def test_hostile_offers_are_refused_with_a_reason(verifier, mean_folder):
    verifier.open_attempt("hostile", mean_folder, [1.0])
    offers = [
        b"",
        b"EVOA",
        b"\x80\x04K\x01.",
        encode([0.5])[:-1],
        encode([0.5]) + b"\0",
        encode([[0.5]]),
        encode([float("nan")]),
        encode([-float("inf")]),
        encode([-1.0]),
        encode(np.zeros(1001)),
        encode(np.array([2**60])),
        bytes((64 << 20) + 1),
    ]
    for offer in offers:
        reply = verifier.offer("hostile", mean_folder, offer)
        assert (reply.improved_attempt, reply.improved_run) == (False, False)
        assert reply.reason
    assert verifier.close_attempt("hostile") == (1, None)


def test_an_offer_is_not_changed(verifier, mean_folder):
    verifier.open_attempt("same", mean_folder, [1.0])
    buffer = bytearray(encode([0.125, 0.25]))
    before = bytes(buffer)
    assert verifier.offer("same", mean_folder, buffer).improved_attempt
    assert buffer == before
    buffer[-1] = 0
    assert verifier.close_attempt("same")[1] == before


def test_attempts_are_used_as_they_were_opened(verifier, mean_folder):
    verifier.open_attempt("twice", mean_folder, [1.0])
    with pytest.raises(InvalidConstruction, match='no open attempt has, got "twice"'):
        verifier.open_attempt("twice", mean_folder, [1.0])
    with pytest.raises(InvalidConstruction, match="expected the problem"):
        verifier.offer("twice", "third-autocorrelation-inequality", encode([1.0]))
    verifier.close_attempt("twice")
    for ask in (lambda: verifier.close_attempt("twice"), lambda: verifier.offer("twice", mean_folder, b"")):
        with pytest.raises(InvalidConstruction, match="key of an open attempt"):
            ask()
    with pytest.raises(InvalidConstruction, match="valid start, got one that is not: a number is negative"):
        verifier.open_attempt("bad", mean_folder, [-1.0])
    verifier.open_attempt("bad", mean_folder, [1.0])
    verifier.close_attempt("bad")


def test_enclosures_come_back(trapped):
    folder = trapped("m, e = Fraction(x.mean()), Fraction(1, 10**20); return ExactResult(Enclosure(m - e, m + e))")
    with Verifier(folder) as verifier:
        start = verifier.open_attempt("a", folder, [1.0])
        assert start.lo < 1 < start.hi
        # Enclosures that overlap prove nothing.
        assert not verifier.offer("a", folder, encode([1.0])).improved_attempt
        assert verifier.offer("a", folder, encode([0.5])).improved_attempt
        assert verifier.close_attempt("a")[0].hi < Fraction(3, 4)


# ---- a process that dies -----------------------------------------------------------------------


def test_ratchets_come_back_after_a_kill(mean_folder):
    with Verifier(mean_folder) as verifier:
        verifier.open_attempt("a", mean_folder, [8.0])
        verifier.open_attempt("b", mean_folder, [8.0])
        verifier.offer("a", mean_folder, encode([2.0]))
        verifier.restore_run(mean_folder, [1.0])
        pid, digest = verifier.pid, verifier.digest
        kill(verifier)
        assert not verifier.offer("a", mean_folder, encode([3.0])).improved_attempt
        assert verifier.pid != pid
        assert verifier.digest == digest
        assert verifier.offer("b", mean_folder, encode([3.0])).improved_attempt
        assert not verifier.offer("a", mean_folder, encode([1.5])).improved_run
        assert verifier.offer("a", mean_folder, encode([0.5])).improved_run
        kill(verifier)
        assert verifier.close_attempt("a") == (Fraction(1, 2), encode([0.5]))
        assert verifier.close_attempt("b") == (3, encode([3.0]))


def test_no_accepted_offer_is_lost_whenever_it_is_killed(mean_folder):
    """Kill it at whatever it is doing, while threads hand in; the ratchets end where an undisturbed process's would."""
    values = [200.0 - k for k in range(150)]
    accepted = {"a": [], "b": []}
    with Verifier(mean_folder) as verifier:
        for key in accepted:
            verifier.open_attempt(key, mean_folder, [1000.0])

        def hand_in(key, offset):
            for k, value in enumerate(values):
                if verifier.offer(key, mean_folder, encode([value + offset])).improved_attempt:
                    accepted[key].append(value + offset)
                if k % 40 == 20:
                    kill(verifier)  # the other thread may be in the middle of a request

        threads = [threading.Thread(target=hand_in, args=a) for a in (("a", 0.0), ("b", 0.25))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert accepted == {"a": values, "b": [v + 0.25 for v in values]}
        assert verifier.close_attempt("a") == (51, encode([51.0]))
        verifier.open_attempt("c", mean_folder, [1000.0])
        assert not verifier.offer("c", mean_folder, encode([51.0])).improved_run
        assert verifier.offer("c", mean_folder, encode([50.5])).improved_run


def test_a_kill_in_the_middle_of_a_request_is_not_seen(trapped, tmp_path):
    """The first process hangs in the exact score and is killed there; the second one answers the same request."""
    fifo, mark = tmp_path / "fifo", tmp_path / "mark"
    os.mkfifo(fifo)
    load = f"FIFO = os.open({str(fifo)!r}, os.O_RDWR); IS_FIRST = not os.path.exists({str(mark)!r})\n"
    load += f"open({str(mark)!r}, 'w').close()"
    folder = trapped("x[0] == 7 and IS_FIRST and (os.write(FIFO, b'1'), [None for _ in iter(int, 1)])", load)
    with Verifier(folder) as verifier, ThreadPoolExecutor(1) as pool, open(fifo) as waiting:
        verifier.open_attempt("a", folder, [9.0])
        pending = pool.submit(verifier.offer, "a", folder, encode([7.0]))
        waiting.read(1)  # returns when the process is in its endless loop
        kill(verifier)
        assert pending.result().improved_attempt
        assert verifier.close_attempt("a") == (7, encode([7.0]))


def test_a_stopped_process_is_ended_at_the_deadline_and_the_question_asked_again(mean_folder):
    with Verifier(mean_folder, timeout_seconds=1) as verifier:
        pid = verifier.pid
        os.kill(pid, signal.SIGSTOP)
        with pytest.raises(InvalidConstruction, match="the input is empty"):
            verifier.verify(mean_folder, b" " * (1 << 20))  # more than the pipe holds: it stops at the writing
        assert verifier.pid != pid
        os.kill(verifier.pid, signal.SIGSTOP)
        assert verifier.verify(mean_folder, [1.0]).valid


def test_a_changed_problem_is_not_silently_gone_on_with(trapped):
    folder = trapped("pass")
    file = Path(folder, "problem.py")
    before = file.read_text()
    with Verifier(folder) as verifier:
        verifier.open_attempt("a", folder, [8.0])
        verifier.offer("a", folder, encode([2.0]))
        file.write_text(before + "# another scoring\n")
        assert not verifier.offer("a", folder, encode([2.0])).improved_attempt  # what runs has not changed
        kill(verifier)
        for _ in range(2):
            with pytest.raises(VerifierUnavailable, match=r"finds changed: mean/problem\.py; undo"):
                verifier.offer("a", folder, encode([1.0]))
        file.write_text(before)
        assert verifier.offer("a", folder, encode([1.0])).improved_attempt
        assert verifier.close_attempt("a") == (1, encode([1.0]))


def test_an_interpreter_that_does_not_start(monkeypatch, tmp_path, mean_folder):
    monkeypatch.setattr(sys, "executable", str(tmp_path / "none"))
    with pytest.raises(VerifierUnavailable, match="does not start"):
        Verifier(mean_folder)
    monkeypatch.setattr(sys, "executable", "")
    with pytest.raises(VerifierUnavailable, match=r"sys\.executable is empty"):
        Verifier(mean_folder)
    monkeypatch.setattr(sys, "executable", shutil.which("false"))
    with pytest.raises(VerifierUnavailable, match="exit code 1"):
        Verifier(mean_folder)


# ---- threads and interrupts --------------------------------------------------------------------


def test_threads_share_a_verifier(verifier, mean_folder):
    def attempt(i):
        key = f"thread {i}"
        verifier.open_attempt(key, mean_folder, [1000.0])
        for value in range(100, 0, -1):
            assert verifier.offer(key, mean_folder, encode([value + i / 16])).improved_attempt
            assert verifier.verify(mean_folder, [float(value)]).exact_score == value
        return verifier.close_attempt(key)

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(attempt, range(8))) == [(1 + Fraction(i, 16), encode([1 + i / 16])) for i in range(8)]


def test_an_interrupt_in_the_middle_of_a_request_leaves_no_answer_behind(trapped, tmp_path):
    """Ctrl-C between question and answer: the next question must not get the last one's answer."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    folder = trapped("x[0] == 7 and os.write(FIFO, b'1')", load=f"FIFO = os.open({str(fifo)!r}, os.O_RDWR)")
    script = textwrap.dedent("""
        import os, signal, sys, threading
        from evocore.verifiers import Verifier

        with Verifier(sys.argv[1]) as verifier:
            verifier.open_attempt("a", sys.argv[1], [8.0])
            fifo = os.open(sys.argv[2], os.O_RDWR)
            threading.Thread(target=lambda: (os.read(fifo, 1), os.kill(os.getpid(), signal.SIGINT))).start()
            try:
                while True:
                    verifier.verify(sys.argv[1], [7.0])
            except KeyboardInterrupt:
                print(verifier.verify(sys.argv[1], [1.0]).arena_score, verifier.close_attempt("a"))
    """)
    done = subprocess.run(
        [sys.executable, "-c", script, folder, str(fifo)], capture_output=True, text=True, timeout=120, check=True
    )
    assert done.stdout == "1.0 (Fraction(8, 1), None)\n"


def test_one_process_serves_built_in_and_own_problems_alike(verifier, mean_folder):
    third = "third-autocorrelation-inequality"
    assert verifier.verify(third, [1.0, 1.0, 1.0]).exact_score == 2
    assert verifier.verify(mean_folder, [1.0]).problem == "mean"
    assert problem(third).slug == third


def test_an_untrue_construction_moves_no_ratchet():
    name, tiny = "first-autocorrelation-inequality", np.full(100, 3.3e-162)
    with Verifier(name) as verifier:
        assert not verifier.restore_run(name, tiny).is_true
        start = verifier.open_attempt("a", name, tiny)  # its exact score is the one to beat, not the arena's float
        reply = verifier.offer("a", name, encode(tiny))
        assert (reply.improved_attempt, reply.improved_run) == (False, False)
        assert reply.reason.startswith("set aside: ")
        honest = np.full(100, 1.0)
        honest[0] = 1.25
        better = verifier.offer("a", name, encode(honest))
        assert (better.improved_attempt, better.improved_run) == (better.exact < start, True)
