"""What a candidate writes into its pipes: hand-ins and an end, or a violation; no more is kept than the limits say."""

import json
import os
import time
from pathlib import Path

import numpy as np

from evocore.sandbox.base import Job, Limits, Status, Tier
from evocore.sandbox.request import MOST_WAITING, Request
from evocore.sandbox.tries import Try
from evocore.sandbox.wire import CPU_TIME, FrameReader, Garbage, Kind, frame

OFFER_BYTES = 64
SOURCE = b"def optimize(problem, start, seed, deadline, offer): ..."
LIMITS = Limits(1.0, 1.0, output_bytes=100, offer_bytes=OFFER_BYTES, offers_bytes=1000)
HELLO = frame(Kind.HELLO, CPU_TIME.pack(0.0))


def check(data):
    whole, in_pieces = frames_of([data]), frames_of([data[i : i + 3] for i in range(0, len(data), 3)])
    assert whole == in_pieces
    assert all(kind is not Kind.OFFER or len(content) <= OFFER_BYTES for kind, content in whole[0])
    for said in (data, HELLO + data):
        judged(said)


def frames_of(chunks):
    """The frames of a stream, and whether it turned to garbage."""
    reader, found = FrameReader(OFFER_BYTES), []
    try:
        for chunk in chunks:
            found.extend(reader.feed(chunk))
            assert len(reader._bytes) <= 5 + 4096 + len(chunk)
    except Garbage:
        return found, True
    return found, False


def judged(said):
    """Let a real try read it from a real pipe."""
    job = Job(SOURCE.decode(), "third-autocorrelation-inequality", np.ones(3), 0, 1.0)
    request = Request(job, LIMITS, job.problem, SOURCE, Tier.UNSAFE)
    attempt = Try(request, Path("job"))
    try:
        offers, stdout = attempt._far[0], attempt._far[1]
        for pipe in (offers, stdout):
            os.write(pipe, said)
        attempt.is_sent(time.monotonic())
        try:
            while attempt.read_offers():
                pass
        except Garbage as garbage:
            assert 0 < len(str(garbage)) < 300
            attempt.verdict = (Status.VIOLATION, str(garbage))
        attempt.drain()
        outcome = attempt.outcome(time.monotonic())
        assert isinstance(outcome.status, Status)
        assert outcome.n_offers <= len(said)
        assert len(request._waiting) <= MOST_WAITING
        assert len(outcome.stdout) <= LIMITS.output_bytes
        json.dumps(outcome.detail).encode()
    finally:
        attempt.close()
        os.close(request.payload)
