"""Frames between controller and verifier, both directions, as bytes that anybody may have written.

The first byte says what the rest is. `q`: the verifier's input, raw. `Q`: requests with the right sequence and nonce,
whatever else is in them. `r`: the controller's input, raw. `R`: a reply under the right seal, whatever is in it.
"""

import hashlib
import io
import json
import os
import threading
from types import SimpleNamespace

import numpy as np

from evocore.errors import InfrastructureError, InputError
from evocore.problems import problem
from evocore.verifiers import Verifier, frames, seal
from evocore.verifiers.arrays import encode
from evocore.verifiers.client import _Attempt, _State
from evocore.verifiers.connection import _ERRORS, Connection
from evocore.verifiers.process import Scorer, _Channel
from evocore.verifiers.ratchet import Pawl

SLUG = "third-autocorrelation-inequality"
KEY = bytes(range(seal.KEY_BYTES))
SCORER = Scorer({SLUG: problem(SLUG)}, {})
START = encode(np.ones(4))


def check(data):
    mode, rest = data[:1], data[1:]
    if mode == b"q":
        asked(rest)
    elif mode == b"Q":
        asked(b"".join(request(i, one) for i, one in enumerate(rest.split(b"\0\n"))))
    elif mode in (b"r", b"R"):
        replied(rest, is_sealed=mode == b"R")


# ---- the verifier's side ------------------------------------------------------------------------------------------


def nonce_of(sequence):
    return hashlib.sha256(str(sequence).encode()).digest()[: seal.NONCE_BYTES]


def request(sequence, content):
    """A request with a header of any fields; after a newline the payload."""
    text, _, payload = content.partition(b"\n")
    try:
        header = json.loads(text)
    except (ValueError, RecursionError):
        header = {}
    if not isinstance(header, dict):
        header = {}
    header.update(sequence=sequence, nonce=nonce_of(sequence).hex())
    try:
        return frames.pack(header, START if payload == b"start" else payload)
    except ValueError:  # NaN, which json reads and frames do not carry
        return b""


def asked(stream):
    """Answer what is in the stream: every answer is sealed and within bounds; only a broken stream ends it."""
    SCORER.runs = {SLUG: Pawl(SCORER.problems[SLUG])}
    SCORER.attempts.clear()
    answers, writer = os.pipe()
    os.set_blocking(answers, False)
    requests = file_of(KEY + stream)
    try:
        channel = _Channel(requests, writer)
        assert os.read(answers, 1 << 16) == frames.READY
        sequence = 0
        while True:
            try:
                channel.answer_next(SCORER.answer)
            except (EOFError, frames.FrameError):
                return
            check_answer(os.read(answers, 1 << 16), sequence)
            sequence += 1
    finally:
        for fd in (requests, answers, writer):
            os.close(fd)


def file_of(content):
    """An open file that reads like a pipe with this in it, at its end."""
    fd = os.memfd_create("stream")
    os.write(fd, content)
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


def check_answer(raw, sequence):
    stream = io.BytesIO(raw)
    header, body = frames.read(stream.read)
    assert stream.read() == b""
    assert header["sequence"] == sequence
    reply = json.loads(body)
    assert reply.keys() in ({"answer"}, {"error"})
    if "error" in reply:
        kind, message = reply["error"]
        assert issubclass(_ERRORS.get(kind, InfrastructureError), InputError | InfrastructureError)
        assert len(message) < 2000


# ---- the controller's side ----------------------------------------------------------------------------------------


def replied(content, *, is_sealed):
    """Let a controller take any bytes for replies: it believes none, or says what is wrong with them."""
    for ask in (
        lambda verifier: verifier.verify(SLUG, b"{}"),
        lambda verifier: verifier.offer("open", SLUG, b""),
        lambda verifier: verifier.open_attempt("new", SLUG, [1.0]),
        lambda verifier: verifier.close_attempt("open"),
        lambda verifier: verifier.restore_run(SLUG, [1.0]),
    ):
        try:
            ask(controller(content, is_sealed=is_sealed))
        except (InputError, InfrastructureError) as error:
            assert len(str(error)) < 5000


class Replies(Connection):
    """A connection whose process has said all that it will ever say."""

    def __init__(self, content, *, is_sealed):
        self._key, self._sequence, self.is_alive = KEY, -1, True
        self._child = SimpleNamespace(last_words=lambda: "", end=lambda patience_seconds: None, cpu_seconds=lambda: 0.0)
        self._content, self._is_sealed = content, is_sealed

    def _send(self, data, deadline):
        content = self._content
        if self._is_sealed:
            stamp = seal.seal(KEY, hashlib.sha256(data).digest(), content)
            content = frames.pack({"sequence": self._sequence, "seal": stamp}, content)
        self._replies = frames.Reader(file_of(content))

    def _exchange(self, frame, deadline):
        try:
            return super()._exchange(frame, deadline)
        finally:
            os.close(self._replies._fd)


def controller(content, *, is_sealed):
    verifier = Verifier.__new__(Verifier)
    verifier._names, verifier._timeout_seconds, verifier._memory_bytes = (SLUG,), 1.0, 0
    verifier._lock, verifier._is_closed = threading.Lock(), False
    verifier._state = _State({"open": _Attempt(SLUG, START)}, {})
    verifier._alive = lambda: Replies(content, is_sealed=is_sealed)
    return verifier
