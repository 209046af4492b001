"""Somebody in between: a real program on the pipes between controller and verifier process.

It sees every byte, and starts the real process; all that it lacks is the right to look into the two others.
"""

import subprocess
import sys
import textwrap

import pytest

from evocore.errors import VerifierUnavailable
from evocore.verifiers import Verifier
from evocore.verifiers.arrays import encode

# The process that the controller starts becomes the real one; a fork of it stands between the two.
MAN_IN_THE_MIDDLE = textwrap.dedent("""\
    #!{python} -IB
    import hashlib, hmac, json, os, subprocess, sys
    from evocore.verifiers import frames
    from evocore.verifiers.arrays import encode

    FORGED_KEY = bytes(32)

    def exactly(fd):
        def read(n):
            data = b""
            while len(data) < n:
                chunk = os.read(fd, n - len(data))
                if not chunk:
                    sys.exit()
                data += chunk
            return data
        return read

    class Other:  # a second verifier process, with another key
        def __init__(self):
            self.process = subprocess.Popen(
                ["{python}", *sys.argv[1:]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
            )
            self.read = exactly(self.process.stdout.fileno())
            self.read(len(frames.READY))
            self.process.stdin.write(FORGED_KEY)

        def ask(self, header, payload):
            if "parent" in header:
                header = {{**header, "parent": os.getpid()}}
            self.process.stdin.write(frames.pack(header, payload))
            return frames.read(self.read)

    def better(header, payload):
        return header, encode([0.125]) if header.get("op") in ("offer", "verify") else payload

    def sealed_anew(header, payload, reply):
        asked = hashlib.sha256(frames.pack(header, payload)).digest()
        body = reply[1].replace(b'"valid":false', b'"valid":true')
        seal = hmac.digest(FORGED_KEY, b"evocore verdict 2\\n" + asked + body, "sha256").hex()
        return frames.pack({{**reply[0], "seal": seal}}, body)

    way = "{way}"
    from_me, to_real = os.pipe()
    from_real, to_me = os.pipe()
    if os.fork():
        os.dup2(from_me, 0)
        os.dup2(to_me, 1)
        os.execv("{python}", ["{python}", *sys.argv[1:]])
    os.close(from_me)
    os.close(to_me)
    ask, answer = exactly(0), exactly(from_real)
    os.write(1, answer(len(frames.READY)))
    os.write(to_real, ask(32))

    def asked(header, payload):
        os.write(to_real, frames.pack(header, payload))
        return frames.read(answer)

    other = Other() if way in ("swap", "rekeyed") else None
    replies = []
    n = 0
    while True:
        header, payload = frames.read(ask)
        original = header, payload
        is_first, n = n == 0, n + 1
        if way == "question" and not is_first:
            header, payload = better(header, payload)
        if way == "reorder" and n > 2:
            header = {{**header, "sequence": header["sequence"] + 1}}
        replies.append(asked(header, payload))
        if way == "reorder" and n == 2:  # a question of its own, whose answer is kept for later, or given first
            replies.append(asked({{**header, "sequence": header["sequence"] + 1}}, encode([0.25])))
        if other is not None:
            other_reply = other.ask(header, payload)
        now = replies[-1]
        sent = frames.pack(*now)
        if is_first:
            os.write(1, sent)
            continue
        if way == "alter":
            sent = frames.pack(now[0], now[1].replace(b'"valid":false', b'"valid":true ').replace(b"false", b"true "))
        elif way == "replay":
            sent = frames.pack(*replies[-2])
        elif way == "truncate":
            sent = sent[:-1]
        elif way == "shorten":
            sent = frames.pack(now[0], now[1][:-1])
        elif way == "unsealed":
            sent = frames.pack({{}}, now[1])
        elif way == "twice":
            sent = sent * 2
        elif way == "swap":
            sent = frames.pack(*other_reply)
        elif way == "rekeyed":
            sent = sealed_anew(*original, other_reply)
        elif way == "garbage":
            sent = b"HTTP/1.1 200 OK\\r\\n\\r\\n"
        elif way == "deep":
            sent = frames.PREFIX.pack(frames.MAGIC, 60000, 0) + b"[" * 60000
        elif way == "long":
            sent = frames.PREFIX.pack(frames.MAGIC, 2, 2**62) + b"{{}}"
        os.write(1, sent)
        if way == "truncate":
            os.close(1)
    """)


@pytest.fixture
def between(monkeypatch, tmp_path):
    """Put a program between controller and process that passes everything on, changed in one way."""

    def put(way):
        script = tmp_path / "between"
        script.write_text(MAN_IN_THE_MIDDLE.format(python=sys.executable, way=way))
        script.chmod(0o755)
        monkeypatch.setattr(sys, "executable", str(script))

    return put


def test_a_program_in_between_that_changes_nothing_is_not_seen(between, mean_folder):
    between("leave")
    with Verifier(mean_folder) as verifier:
        assert not verifier.verify(mean_folder, [-1.0]).valid
        verifier.open_attempt("a", mean_folder, [1.0])
        assert verifier.offer("a", mean_folder, encode([0.5])).improved_attempt


NOT_SEALED = "does not carry the verifier's seal for what was asked"


@pytest.mark.parametrize(
    ("way", "message"),
    [
        ("alter", NOT_SEALED),
        ("replay", NOT_SEALED),
        ("swap", NOT_SEALED),
        ("rekeyed", NOT_SEALED),
        ("reorder", NOT_SEALED),
        ("question", NOT_SEALED),
        ("shorten", NOT_SEALED),
        ("unsealed", NOT_SEALED),
        ("truncate", "ended without an answer"),
        ("twice", "expected one reply"),
        ("garbage", "begins with b'EVOF'"),
        ("deep", "JSON object as frame header"),
        ("long", "payload of at most"),
    ],
)
def test_a_program_in_between_that_changes_a_question_or_a_reply_is_caught(between, mean_folder, way, message):
    between(way)
    with Verifier(mean_folder) as verifier, pytest.raises(VerifierUnavailable, match=message):
        verifier.verify(mean_folder, [-1.0])


@pytest.mark.parametrize("way", ["alter", "replay", "swap", "rekeyed", "reorder", "question"])
def test_no_forged_answer_moves_a_ratchet(between, mean_folder, way):
    """A hand-in that nobody can be trusted about is an error, never an improvement and never a refusal."""
    with Verifier(mean_folder) as verifier:
        verifier.open_attempt("a", mean_folder, [1.0])
        between(way)
        verifier._connection.close()  # the next process is started through the one in between
        with pytest.raises(VerifierUnavailable, match=NOT_SEALED):
            verifier.offer("a", mean_folder, encode([2.0]))
        assert verifier._state.attempts["a"].best is None
        assert not verifier._state.runs


def test_the_key_waits_until_the_process_is_closed_to_others(monkeypatch, tmp_path, mean_folder):
    """What does not say that it is ready gets no key, not even into its pipe."""
    got = tmp_path / "got"
    script = tmp_path / "quiet"
    script.write_text(f"#!/bin/sh\ncat > {got} & sleep 1; printf EVOX; wait\n")
    script.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(script))
    with pytest.raises(VerifierUnavailable, match="as the first word, got b'EVOX'"):
        Verifier(mean_folder)
    assert got.read_bytes() == b""


def test_a_process_that_is_ready_has_closed_its_memory_and_pipes():
    """Another process of the same user, without root's capabilities, looks into it; and into one that is not closed."""
    for command, expected in ((["-c", "print('EVOR', end='', flush=True); input()"], "open"), (VERIFIER, "refused")):
        done = subprocess.run(
            [sys.executable, "-IBc", PEEK, sys.executable, "-IB", *command],
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        )
        assert set(done.stdout.split()) == {expected}


VERIFIER = ["-m", "evocore.verifiers"]
PEEK = textwrap.dedent("""
    import ctypes, os, subprocess, sys

    libc = ctypes.CDLL(None, use_errno=True)
    if os.getuid() == 0:
        for capability in range(64):
            libc.prctl(24, capability, 0, 0, 0)  # PR_CAPBSET_DROP: neither this process nor those it starts
        libc.capset((ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)())
    with subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout.read(4) == b"EVOR"
        for name in ("mem", "fd/0", "environ"):
            try:
                os.close(os.open(f"/proc/{process.pid}/{name}", os.O_RDONLY))
                print("open")
            except PermissionError:
                print("refused")
        process.stdin.close()
""")
