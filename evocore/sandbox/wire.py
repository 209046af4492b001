"""What travels between controller, runner and candidate, and in which bytes.

Controller and runner share one SOCK_SEQPACKET socket: a packet is one job, a JSON object with five file descriptors
(payload, offers, stdout, stderr, control) attached. Source and start travel in the payload, a memory file, so that
the runner itself never reads them. Every job has a control socket of its own, on which the runner reports `started`,
with a pidfd attached (a number would mean another process here if the runner has process ids of its own), and `ended`,
and the controller may say `kill`; hanging up says it as well.

The candidate writes frames to the offers pipe: u32 length, u8 kind, that many bytes, little endian. Whatever is read
there may have been written by the program and not by the code around it: a frame is never more than a claim.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from enum import IntEnum

FRAME = struct.Struct("<IB")
CPU_TIME = struct.Struct("<d")
MOST_PACKET_BYTES = 64 << 10
MOST_NOTE_BYTES = 4096
KILL = b"kill"
FAREWELL = b"end"  # on the jobs' socket, before the controller hangs up; without it the controller has died


class Kind(IntEnum):
    """What a frame on the offers pipe says."""

    HELLO = 1  # the program starts now; f64 CPU seconds that its process has used
    OFFER = 2  # an array, in the layout of evocore.verifiers.arrays
    END = 3  # the program came to an end; JSON {"status", "detail"}
    FAIL = 4  # it could not be started; text


class Garbage(Exception):
    """What stands in the pipe is no frame."""


class FrameReader:
    """Cuts a stream into frames, without believing what it reads.

    Parameters
    ----------
    offer_bytes : int
        Longest hand-in; every other frame is at most `MOST_NOTE_BYTES` long.
    """

    def __init__(self, offer_bytes: int) -> None:
        self._offer_bytes = offer_bytes
        self._bytes = bytearray()

    def feed(self, chunk: bytes) -> Iterator[tuple[Kind, bytes]]:
        """Take what was read, and give the frames that are complete.

        Raises
        ------
        Garbage
            Unknown kind, or longer than allowed. Nothing is allocated for a length that is only announced.
        """
        self._bytes += chunk
        position = 0
        while len(self._bytes) - position >= FRAME.size:
            length, code = FRAME.unpack_from(self._bytes, position)
            kind = self._kind(length, code)
            end = position + FRAME.size + length
            if len(self._bytes) < end:
                break
            yield kind, bytes(memoryview(self._bytes)[position + FRAME.size : end])
            position = end
        del self._bytes[:position]

    def _kind(self, length: int, code: int) -> Kind:
        try:
            kind = Kind(code)
        except ValueError:
            raise Garbage(f"expected a frame of kind 1 to {len(Kind)} on the offers pipe, got {code}") from None
        most = self._offer_bytes if kind is Kind.OFFER else MOST_NOTE_BYTES
        if length > most:
            raise Garbage(f"expected at most {most} bytes in a frame of kind {kind.name}, got {length}")
        return kind


def frame(kind: Kind, content: bytes) -> bytes:
    """Write one frame."""
    return FRAME.pack(len(content), kind) + content
