"""The verifier process from outside, by its two pipes alone."""

import contextlib
import hashlib
import os
import select
import signal
import subprocess
import sys
import textwrap

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evocore.problems import problem
from evocore.verifiers import frames, seal
from evocore.verifiers.arrays import encode
from evocore.verifiers.process import Scorer

COMMAND = [sys.executable, "-I", "-B", "-m", "evocore.verifiers"]
KEY = bytes(32)


def request(sequence, nonce=bytes(16), payload=b"", **header):
    return frames.pack({**header, "sequence": sequence, "nonce": nonce.hex()}, payload)


def hello(folder, parent=None):
    parent = os.getpid() if parent is None else parent
    return KEY + request(0, problems=[folder], memory_bytes=4 << 30, parent=parent)


def talk(*sent):
    """Send bytes, close the pipe; give exit code, the replies, and stderr."""
    done = subprocess.run(COMMAND, input=b"".join(sent), capture_output=True, timeout=120, check=False)
    replies = []
    out = memoryview(done.stdout)

    def exactly(n):
        nonlocal out
        if len(out) < n:
            raise EOFError
        found, out = bytes(out[:n]), out[n:]
        return found

    with contextlib.suppress(EOFError):
        assert exactly(len(frames.READY)) == frames.READY
        while True:
            replies.append(frames.read(exactly))
    assert not out, "nothing but whole frames may stand on the reply pipe"
    return done.returncode, replies, done.stderr.decode()


def test_replies_are_sealed_for_their_request(mean_folder):
    nonces = [bytes([i]) * 16 for i in range(2)]
    ask = {"op": "verify", "problem": mean_folder, "form": "json"}
    first = request(0, nonces[0], problems=[mean_folder], memory_bytes=4 << 30, parent=os.getpid())
    second = request(1, nonces[1], b'{"values": [0.5]}', **ask)
    code, replies, said = talk(KEY, first, second)
    assert (code, len(replies), said) == (0, 2, "")
    for asked, (header, body) in zip((first, second), replies, strict=True):
        seal.check(KEY, hashlib.sha256(asked).digest(), body, header["seal"])
    assert b'"arena_score":0.5' in replies[1][1]


def test_what_a_problem_prints_stays_off_the_reply_pipe(trapped):
    folder = trapped("print('hello'); os.write(1, b'EVOF')", load="os.system('echo shell')")
    ask = request(1, op="verify", problem=folder, form="json", payload=b'{"values": [0.5]}')
    code, replies, said = talk(hello(folder), ask)
    assert (code, len(replies)) == (0, 2)
    assert "hello" in said
    assert "shell" in said


def test_a_problem_that_reads_stdin_gets_nothing(trapped):
    folder = trapped("assert os.read(0, 9) == b''")
    ask = request(1, op="verify", problem=folder, form="json", payload=b'{"values": [0.5]}')
    code, replies, _ = talk(hello(folder), ask)
    assert (code, len(replies)) == (0, 2)
    assert b"answer" in replies[1][1]


@pytest.mark.parametrize("sent", [b"", KEY[:31], KEY, KEY + b"EVOF", KEY + frames.PREFIX.pack(b"EVOF", 50, 0) + b"{"])
def test_the_end_of_its_input_ends_it_quietly(sent):
    assert talk(sent) == (0, [], "")


@pytest.mark.parametrize(
    ("sent", "message"),
    [
        (KEY + b"GET / HTTP/1.1\r\n\r\n", "begins with b'EVOF'"),
        (KEY + frames.PREFIX.pack(b"EVOF", 2, 2**63) + b"{}", "payload of at most"),
        (KEY + frames.PREFIX.pack(b"EVOF", 2**31, 0), "header of at most"),
        (KEY + request(1), "expected request 0, got 1"),
        (KEY + frames.pack({"sequence": 0}), "nonce of 16 bytes"),
        (KEY + frames.pack({"sequence": 0, "nonce": 7}), "nonce of 16 bytes"),
    ],
)
def test_a_stream_without_frames_ends_it_with_one_line(sent, message):
    code, replies, said = talk(sent)
    assert (code, replies) == (1, [])
    assert message in said
    assert said.count("\n") == 1


def test_a_replayed_request_ends_it(mean_folder):
    ask = request(1, op="verify", problem=mean_folder, form="json", payload=b'{"values": [0.5]}')
    code, replies, said = talk(hello(mean_folder), ask, ask)
    assert (code, len(replies)) == (1, 2)
    assert "expected request 2, got 1" in said


def test_a_problem_that_does_not_load_is_told_and_ends_it(tmp_path):
    (tmp_path / "problem.py").write_text("1 / 0")
    code, replies, _ = talk(hello(str(tmp_path)))
    assert code == 0
    ((_, body),) = replies
    assert b'"error":["ConfigError"' in body
    assert b"ZeroDivisionError" in body


def test_another_parent_is_refused(mean_folder):
    _, replies, _ = talk(hello(mean_folder, parent=1))
    assert b"answer" not in replies[0][1]


requests = st.dictionaries(
    st.sampled_from(["op", "key", "problem", "form"]),
    st.sampled_from(["verify", "open", "offer", "close", "restore_run", "restore_attempt", "a", "json", "mean", ""])
    | st.integers()
    | st.none()
    | st.lists(st.integers(), max_size=2),
)


@settings(max_examples=60)
@given(st.lists(st.tuples(requests, st.binary(max_size=40) | st.just(encode([0.5]))), max_size=5))
def test_any_request_is_answered_or_raises_and_the_ratchets_hold(mean, asked):
    """What `answer` raises, the process turns into an error reply; no request moves the run's ratchet upward."""
    scorer = Scorer({"mean": mean}, {"python": "3"})
    best = None
    for header, payload in asked:
        with contextlib.suppress(Exception):
            frames.pack({}, frames.encode_json(scorer.answer(header, payload)).encode())
        run = scorer.runs["mean"].exact
        assert best is None or run <= best
        best = run


# ---- nothing is left behind --------------------------------------------------------------------

CONTROLLER = textwrap.dedent("""
    import sys, threading
    from evocore.verifiers import Verifier

    verifiers = []
    starter = threading.Thread(target=lambda: verifiers.append(Verifier(sys.argv[1])))
    starter.start()
    starter.join()  # the thread that started it is gone, and the verifier lives on
    print(verifiers[0].pid, flush=True)
    print(verifiers[0].verify(sys.argv[1], b'{"values": [0.5]}').arena_score, flush=True)
    sys.stdin.readline()
    verifiers[0].verify(sys.argv[1], b'{"values": [7]}')
""")


@pytest.fixture
def controller():
    """Start a controller in a process of its own; `controller(folder)` gives it and a pidfd of its verifier."""
    with contextlib.ExitStack() as ends:

        def start(folder):
            process = subprocess.Popen(
                [sys.executable, "-c", CONTROLLER, folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
            ends.enter_context(process)
            ends.callback(process.kill)
            pid = int(process.stdout.readline())
            verifier = os.pidfd_open(pid)
            ends.callback(os.close, verifier)
            assert process.stdout.readline() == "0.5\n"
            return process, pid, verifier

        yield start


def is_gone(pidfd, seconds=60):
    poll = select.poll()
    poll.register(pidfd, select.POLLIN)
    return bool(poll.poll(seconds * 1000))


def test_an_idle_verifier_does_not_outlive_a_killed_controller(controller, mean_folder):
    process, pid, verifier = controller(mean_folder)
    assert os.getsid(pid) == pid, "it is in a session of its own"
    process.send_signal(signal.SIGKILL)
    assert is_gone(verifier)


def test_a_busy_verifier_does_not_outlive_a_killed_controller(controller, trapped, tmp_path):
    os.mkfifo(tmp_path / "fifo")
    trap = "[os.write(FIFO, b'1') and [None for _ in iter(int, 1)] for v in x if v == 7]"
    folder = trapped(trap, load=f"FIFO = os.open({str(tmp_path / 'fifo')!r}, os.O_RDWR)")
    process, _, verifier = controller(folder)
    process.stdin.write("\n")
    process.stdin.flush()
    with open(tmp_path / "fifo") as fifo:
        fifo.read(1)  # returns when the verifier is in its endless loop, and so does not read its pipe
    process.send_signal(signal.SIGKILL)
    assert is_gone(verifier)


def test_it_inherits_nothing_it_is_not_given(mean_folder, monkeypatch, trapped):
    monkeypatch.setenv("PYTHONPATH", "/nowhere")
    monkeypatch.setenv("SECRET", "1")
    with open(os.devnull) as file:
        os.set_inheritable(file.fileno(), True)
        load = "SEEN = sorted(set(os.environ)), sorted(map(int, os.listdir('/proc/self/fd')))[:-1], os.getcwd()"
        from evocore.errors import InfrastructureError
        from evocore.verifiers import Verifier

        folder = trapped("raise ValueError(*SEEN)", load)
        with Verifier(folder) as verifier, pytest.raises(InfrastructureError) as caught:
            verifier.verify(folder, b'{"values": [1]}')
    expected = {"LANG", "LC_CTYPE", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "OPENBLAS_CORETYPE"}
    names, fds, cwd = eval(str(caught.value).split("ValueError: ")[1].rsplit(" (", 1)[0])
    assert set(names) <= expected
    assert len(fds) <= 6  # null, stderr twice, the two pipes, and /dev/null once more
    assert cwd == "/"


def test_the_scorer_is_the_same_in_process(mean):
    scorer = Scorer({"mean": problem(mean)}, {"python": "3"})
    told = scorer.answer({"op": "verify", "problem": "mean", "form": "json"}, b'{"values": [0.5]}')
    assert told["exact_score"] == "1/2"
    assert told["verifier_digest"] == scorer.digest
