"""What a verifier process cannot do any more, and what becomes of those that a construction kills."""

import os
import re
import signal

import numpy as np
import pytest

from evocore.errors import ConfigError, InfrastructureError, VerifierUnavailable
from evocore.problems import problem
from evocore.verifiers import Verifier, judge
from evocore.verifiers.arrays import encode

# ---- behind the walls --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "trap",
    [
        "open('/etc/passwd')",
        "open('/tmp/written', 'w')",
        "os.listdir('/')",
        "os.stat('/')",
        "os.mkdir('/tmp/made')",
        "open('/proc/self/mem', 'rb')",
        "os.fork()",
        "os.execv('/bin/true', ['true'])",
        "import fractions, subprocess",
        "import socket",
        "_socket.socket()",
        "_socket.socket(_socket.AF_UNIX)",
        "_thread.start_new_thread(print, ())",
        "os.kill(os.getppid(), 0)",
        "os.kill(-1, 15)",
        "os.setsid()",
        "os.pipe()",
        "os.memfd_create('x')",
        "os.pidfd_open(1)",
    ],
)
def test_a_scoring_can_open_start_and_reach_nothing(trapped, trap):
    folder = trapped(f"x[0] == 7 and exec({trap!r})", load="import _socket, _thread")
    with Verifier(folder) as verifier:
        assert verifier.parts["lockdown"] == "landlock, seccomp"
        pid = verifier.pid
        with pytest.raises(InfrastructureError, match=r"scoring failed: (PermissionError|OSError|RuntimeError|Module)"):
            verifier.verify(folder, [7.0])
        assert verifier.verify(folder, [1.0]).valid
        assert verifier.pid == pid


@pytest.mark.parametrize("number", [101, 310, 165, 272])  # ptrace, process_vm_readv, mount, unshare
def test_a_scoring_that_attacks_the_kernel_dies(trapped, number):
    folder = trapped(f"x[0] == 7 and ctypes.CDLL(None).syscall({number}, 0, 0, 0, 0)")
    with (
        Verifier(folder) as verifier,
        pytest.raises(VerifierUnavailable, match=rf"signal {signal.SIGSYS.value}\); asked 2 times"),
    ):
        verifier.verify(folder, [7.0])


def test_no_core_and_no_way_to_show_its_memory_again(trapped):
    load = "import resource; SEEN = ctypes.CDLL(None).prctl(3, 0, 0, 0, 0), resource.getrlimit(resource.RLIMIT_CORE)"
    folder = trapped("raise ValueError(SEEN, ctypes.CDLL(None).prctl(4, 1, 0, 0, 0))", load)
    with Verifier(folder) as verifier, pytest.raises(InfrastructureError, match=r"ValueError: \(\(0, \(0, 0\)\), -1\)"):
        verifier.verify(folder, [1.0])


def test_a_problem_that_needs_files_while_it_scores_is_told_at_the_start(trapped, tmp_path):
    (tmp_path / "table").write_text("1")
    folder = trapped(f"open({str(tmp_path / 'table')!r}).close()")
    with pytest.raises(ConfigError, match=r"without files, network and processes of its own, got PermissionError: .*"):
        Verifier(folder)
    folder = trapped(f"TABLE or TABLE.append(open({str(tmp_path / 'table')!r}).read())", load="TABLE = []")
    with Verifier(folder) as verifier:
        assert verifier.verify(folder, [1.0]).valid


HOSTILE = [
    b"",
    b"\xff",
    b"\xef\xbb\xbf{}",
    b"[" * 3000,
    b'{"values": [' + b"1" * 5000 + b"]}",
    b'{"values": "\\ud800\\u001b"}',
    b'{"\\ud800": 1, "\\ud800": 1}',
    b'{"values": [1e999]}',
    b'{"values": [9007199254740993]}',
    b'{"values": [' + b"1" * 400 + b"]}",
    b'{"values": [-1]}',
    b'{"values": [5e-324, 1.7976931348623157e308]}',
    b'{"values": [0.1, 1e-310]}',
    b'{"values": [0, 0, 0]}',
    b'{"values": []}',
    b'{"a": {"values": [1]}}',
    b'{"values": [1' + b",1" * 5000 + b"]}",
]


@pytest.mark.parametrize(
    "name",
    [
        "erdos-min-overlap",
        "first-autocorrelation-inequality",
        "second-autocorrelation-inequality",
        "third-autocorrelation-inequality",
    ],
)
def test_the_walls_change_no_answer(name):
    """Whatever is imported, decoded or formatted on demand would fail behind them, and answer something else."""
    found = problem(name)
    rng = np.random.default_rng(5)
    arrays = [
        found.start(50, 1),
        np.ones(7),
        np.zeros(3),
        rng.random(2000),
        rng.random(100) * 10.0 ** rng.integers(-300, 300, 100),
        np.where(rng.random(64) < 0.5, 5e-324, 1.0),
        -rng.random(9),
        np.full(100, 3.3e-162),
    ]
    with Verifier(name) as verifier:
        assert verifier.parts["lockdown"] == "landlock, seccomp"
        pid = verifier.pid
        for payload in [*HOSTILE, *arrays]:
            assert told(lambda payload=payload: verifier.verify(name, payload)) == told(
                lambda payload=payload: judge(found, read(found, payload))
            )
        assert verifier.pid == pid


def read(found, payload):
    from evocore.verifiers.payload import read

    return read(found, payload)


def told(ask):
    try:
        verdict = ask().to_json()
    except Exception as error:
        return type(error).__name__, str(error)
    return {key: value for key, value in verdict.items() if key not in ("seconds", "verifier_digest")}


# ---- constructions that kill -------------------------------------------------------------------

DEADLY = {
    "segfault": ("ctypes.string_at(0)", r"signal 11"),
    "abort": ("os.abort()", r"signal 6"),
    "memory": ("[bytearray(1 << 28) for _ in range(64)]", r"exit code 1\): .*out of memory: MemoryError"),
    "numpy memory": ("__import__('numpy').ones(1 << 40)", r"exit code 1\): .*memory: MemoryError: Unable to allocate"),
    "stack": ("sys.setrecursionlimit(10**9) or repr(NESTED)", r"signal 11"),
    "exit": ("os._exit(0)", r"exit code 0"),
}
LOAD = "NESTED = []\nfor _ in range(10**6):\n    NESTED = [NESTED]\n"


def replies_to(verifier, folder, values):
    """What is said about hand-ins, but for the time that it took."""
    found = []
    for value in values:
        reply = verifier.offer("a", folder, encode(np.atleast_1d(value)))
        verdict = None if reply.verdict is None else {**vars(reply.verdict), "seconds": 0}
        found.append({**vars(reply), "verdict": verdict})
    return found


@pytest.mark.parametrize("way", DEADLY)
def test_a_hand_in_that_kills_is_refused_and_everything_after_is_answered_as_ever(trapped, way):
    trap, message = DEADLY[way]
    folder = trapped(f"x[0] == 0.125 and ({trap})", LOAD if way == "stack" else "")
    before = [8.0, 4.0, 4.0 - 1e-13, 4.0 - 2e-13, 5.0]
    after = [*(4.0 - k * 1e-13 for k in range(3, 40)), 3.0, 3.5, -1.0, 2.0 - 1e-13, 2.0]
    with Verifier(folder) as undisturbed:
        undisturbed.open_attempt("a", folder, [16.0])
        expected = replies_to(undisturbed, folder, before + after)
        assert sum(reply["verdict"] is None for reply in expected[5:42]) > 0, "near ties are used up"
    with Verifier(folder, memory_bytes=1 << 30) as verifier:
        verifier.open_attempt("a", folder, [16.0])
        assert replies_to(verifier, folder, before) == expected[: len(before)]
        pid = verifier.pid
        killer = verifier.offer("a", folder, encode([0.125]))
        assert (killer.improved_attempt, killer.improved_run) == (False, False)
        assert (killer.score, killer.exact, killer.verdict) == (None, None, None)
        assert killer.reason.startswith("scoring failed: the verifier process ended without an answer (")
        assert killer.reason.endswith("asked 2 times")
        assert re.search(message, killer.reason)
        assert replies_to(verifier, folder, after) == expected[len(before) :]
        assert verifier.pid != pid


def test_a_hand_in_that_never_ends_is_refused_and_everything_after_is_answered_as_ever(trapped):
    folder = trapped("x[0] == 0.125 and [None for _ in iter(int, 1)]")
    with Verifier(folder, timeout_seconds=5) as verifier:
        verifier.open_attempt("a", folder, [16.0])
        assert verifier.offer("a", folder, encode([4.0])).improved_attempt
        pid = verifier.pid
        killer = verifier.offer("a", folder, encode([0.125]))
        assert killer.reason == "scoring failed: the verifier process gave no answer within 5 seconds"
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
        assert not verifier.offer("a", folder, encode([5.0])).improved_attempt
        assert verifier.offer("a", folder, encode([3.0])).improved_attempt
        with pytest.raises(VerifierUnavailable, match="no answer within 5 seconds"):
            verifier.verify(folder, [0.125])
        assert verifier.close_attempt("a")[0] == 3


def test_hand_ins_get_less_time_than_other_questions(monkeypatch, trapped):
    monkeypatch.setattr("evocore.verifiers.client.OFFER_SECONDS", 3.0)
    folder = trapped("x[0] == 0.125 and [None for _ in iter(int, 1)]")
    with Verifier(folder) as verifier:
        verifier.open_attempt("a", folder, [16.0])
        assert "no answer within 3 seconds" in verifier.offer("a", folder, encode([0.125])).reason


def test_a_question_that_kills_is_the_machines_failure(trapped):
    folder = trapped("x[0] == 7 and (os.write(2, b'all is lost\\n'), os._exit(9))")
    with Verifier(folder) as verifier:
        verifier.open_attempt("a", folder, [9.0])
        verifier.offer("a", folder, encode([8.0]))
        with pytest.raises(VerifierUnavailable, match=r"\(exit code 9\): all is lost; asked 2 times"):
            verifier.verify(folder, [7.0])
        assert not verifier.offer("a", folder, encode([8.5])).improved_attempt
        assert verifier.close_attempt("a") == (8, encode([8.0]))


def test_a_process_that_kills_itself_at_every_start_is_given_up(trapped, tmp_path):
    """Not the hand-in's fault: nothing is refused, the run ends as for any failure of the machine."""
    mark = tmp_path / "mark"
    folder = trapped("pass", load=f"os.path.exists({str(mark)!r}) and os.abort()")
    with Verifier(folder) as verifier:
        verifier.open_attempt("a", folder, [9.0])
        mark.touch()
        os.kill(verifier.pid, signal.SIGKILL)
        with pytest.raises(VerifierUnavailable, match=r"signal 6\); started 3 times"):
            verifier.offer("a", folder, encode([1.0]))
        mark.unlink()
        assert verifier.offer("a", folder, encode([1.0])).improved_attempt


def test_an_answer_that_cannot_be_written_is_an_error_not_the_end(trapped):
    folder = trapped("return ExactResult(Fraction(1), extras={'a': float('nan') if x[0] == 7 else object()})")
    # The problem's own start fails in the same way, which is no reason to end: a real construction says it again.
    with Verifier(folder) as verifier:
        pid = verifier.pid
        for value, message in ((7.0, "ValueError"), (1.0, "TypeError")):
            with pytest.raises(InfrastructureError, match=f"scoring failed: {message}"):
                verifier.verify(folder, [value])
        assert verifier.pid == pid
