"""Frames on a byte stream: a fixed prefix, a JSON header, a raw payload; both lengths are capped before reading.

Layout, little endian: ``EVOF`` | u32 header bytes | u64 payload bytes | header | payload.
"""

from __future__ import annotations

import json
import os
import select
import struct
import time
from collections.abc import Callable
from typing import Any

from evocore.errors import InfrastructureError

MAGIC = b"EVOF"
READY = b"EVOR"
"""What the verifier process says before its first frame, as soon as no other process can look into it."""

MAX_HEADER_BYTES = 64 << 10
MAX_PAYLOAD_BYTES = 64 << 20
PREFIX = struct.Struct("<4sIQ")

LOOK_OUT_SECONDS = 3e-4
MOST_LEFT_OUT = 64
_CHUNK_BYTES = 1 << 16

# Kept: json.dumps with settings of its own makes a new encoder at every call, which costs more than the encoding.
encode_json = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode

Read = Callable[[int], bytes]
"""Gives exactly that many bytes, or raises EOFError."""


class Reader:
    """Reads a pipe to the byte.

    Before its process goes to sleep over an empty pipe it looks out for a moment, `LOOK_OUT_SECONDS`: to wake a
    processor that idles, most of all a virtual one, takes longer than most answers do (a hand-in of 600 values, from
    offer to reply, 172 microseconds with sleep and 67 without). Where that was in vain, because others have the
    processors or nobody writes, it is left out for the next 1, 2, 4 .. `MOST_LEFT_OUT` times.

    Parameters
    ----------
    fd : int
        The end that is read.
    """

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._poll = select.poll()
        self._poll.register(fd, select.POLLIN)
        self._incoming = bytearray()
        self._n_left_out = 0
        self._n_to_leave_out = 1

    def __len__(self) -> int:
        """How many bytes have been read and not been asked for."""
        return len(self._incoming)

    def exactly(self, n: int, deadline: float | None = None) -> bytes:
        """Return the next n bytes.

        Raises
        ------
        EOFError
            The stream ended before.
        TimeoutError
            The deadline, by `time.monotonic`, came before.
        """
        while len(self._incoming) < n:
            self._wait(deadline)
            chunk = os.read(self._fd, _CHUNK_BYTES)
            if not chunk:
                raise EOFError("the stream ended")
            self._incoming += chunk
        data = bytes(self._incoming[:n])
        del self._incoming[:n]
        return data

    def _wait(self, deadline: float | None) -> None:
        if self._sees():
            return
        left = None if deadline is None else 1000 * max(0.0, deadline - time.monotonic())
        if not self._poll.poll(left):
            raise TimeoutError

    def _sees(self) -> bool:
        if self._n_left_out:
            self._n_left_out -= 1
            return False
        until = time.monotonic() + LOOK_OUT_SECONDS
        while time.monotonic() < until:
            if self._poll.poll(0):
                self._n_to_leave_out = 1
                return True
        self._n_left_out = self._n_to_leave_out
        self._n_to_leave_out = min(2 * self._n_to_leave_out, MOST_LEFT_OUT)
        return False


class FrameError(InfrastructureError):
    """The stream does not carry frames: nothing that follows on it can be trusted."""


def pack(header: dict[str, Any], payload: bytes | memoryview = b"") -> bytes:
    """Write one frame; FrameError where the header or the payload is over its cap."""
    text = encode_json(header).encode()
    _check_lengths(len(text), len(payload), MAX_PAYLOAD_BYTES)
    return b"".join((PREFIX.pack(MAGIC, len(text), len(payload)), text, payload))


def read(read_exactly: Read, *, max_payload_bytes: int = MAX_PAYLOAD_BYTES) -> tuple[dict[str, Any], bytes]:
    """Read one frame.

    Parameters
    ----------
    read_exactly : callable
        Gives exactly n bytes, or raises EOFError.
    max_payload_bytes : int
        A frame that announces a longer payload is refused before the payload is read.

    Returns
    -------
    header : dict
        The JSON object.
    payload : bytes
        The raw bytes behind it.

    Raises
    ------
    EOFError
        The stream ended (from `read_exactly`).
    FrameError
        The bytes are not a frame.
    """
    magic, header_bytes, payload_bytes = PREFIX.unpack(read_exactly(PREFIX.size))
    if magic != MAGIC:
        raise FrameError(f"expected a frame that begins with {MAGIC!r}, got {magic!r}")
    _check_lengths(header_bytes, payload_bytes, max_payload_bytes)
    header = _header(read_exactly(header_bytes))
    return header, read_exactly(payload_bytes) if payload_bytes else b""


def _check_lengths(header_bytes: int, payload_bytes: int, max_payload_bytes: int) -> None:
    if header_bytes > MAX_HEADER_BYTES:
        raise FrameError(f"expected a frame header of at most {MAX_HEADER_BYTES} bytes, got {header_bytes}")
    if payload_bytes > max_payload_bytes:
        raise FrameError(f"expected a frame payload of at most {max_payload_bytes} bytes, got {payload_bytes}")


def _header(text: bytes) -> dict[str, Any]:
    # RecursionError: 64 KiB of "[" is deep enough to exhaust the parser.
    try:
        header = json.loads(text.decode())
    except (ValueError, RecursionError) as error:
        raise FrameError(f"expected a JSON object as frame header, got {text[:40]!r}: {error}") from None
    if not isinstance(header, dict):
        raise FrameError(f"expected a JSON object as frame header, got {type(header).__name__}")
    return header
