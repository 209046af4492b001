"""One try at a job, as the supervisor sees it: the pipes, the clocks, and the judgement at the end."""

from __future__ import annotations

import fcntl
import json
import math
import os
import signal
import socket
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from evocore.sandbox import linux
from evocore.sandbox.base import Offer, Outcome, Status
from evocore.sandbox.request import Request
from evocore.sandbox.wire import CPU_TIME, FrameReader, Garbage, Kind

CHUNK_BYTES = 64 << 10
BIG_PIPE_BYTES = 1 << 20
F_SETPIPE_SZ = 1031

_NO_REPORT: dict[str, Any] = {"exit_code": 0, "cpu_seconds": 0.0, "peak_memory_bytes": 0, "is_out_of_memory": False}

# What a program may say about its own end. The rest is for others to say.
_CLAIMS = (Status.OK, Status.INVALID, Status.CRASH, Status.OUT_OF_MEMORY)


class Tail:
    """The last bytes of a stream."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._bytes = bytearray()

    def add(self, chunk: bytes) -> None:
        """Append, and forget what is too old."""
        self._bytes += chunk
        if len(self._bytes) > 2 * self._most_bytes:
            del self._bytes[: len(self._bytes) - self._most_bytes]

    def text(self) -> str:
        """Decode what is kept; what is no UTF-8 is replaced."""
        start = max(0, len(self._bytes) - self._most_bytes)
        return self._bytes[start:].decode("utf-8", "replace")


class Try:
    """The near ends of a candidate's pipes, and what came out of them.

    Parameters
    ----------
    request : Request
    folder : Path
        Working directory, as the runner sees it.
    """

    def __init__(self, request: Request, folder: Path) -> None:
        request.n_tries += 1
        self.request = request
        self._folder = folder
        self._far: list[int] = []
        self.offers, self.stdout, self.stderr = (self._pipe() for _ in range(3))
        self.control, far_control = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.control.setblocking(False)
        self._far.append(far_control.detach())
        self._chunk_bytes = CHUNK_BYTES
        if request.job.start.nbytes > CHUNK_BYTES:
            self._chunk_bytes = BIG_PIPE_BYTES
            with suppress(OSError):  # the user's share of pipe memory is used up: it works with less
                fcntl.fcntl(self.offers, F_SETPIPE_SZ, BIG_PIPE_BYTES)
        self._reader = FrameReader(request.limits.offer_bytes)
        self.tails = {fd: Tail(request.limits.output_bytes) for fd in (self.stdout, self.stderr)}
        self.sent_at: float | None = None
        self.started_at: float | None = None
        self.killed_at: float | None = None
        self.verdict: tuple[Status, str] | None = None  # the supervisor's own, before any report
        self._claim: tuple[Status, str] | None = None  # the program's
        self._failure = ""
        self._pid: int | None = None
        self._cpu_at_start = 0.0
        self._cpu_seconds = 0.0
        self._report: dict[str, Any] | None = None
        self._n_bytes = 0
        self._n_offers = 0
        self._n_late = 0

    def _pipe(self) -> int:
        near, far = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(near, False)
        self._far.append(far)
        return near

    def packet(self) -> tuple[bytes, list[int]]:
        """What to send to the runner: the job, and the files it needs."""
        job, limits = self.request.job, self.request.limits
        content = {
            "problem": self.request.problem,
            "folder": str(self._folder),
            "source_bytes": self.request.source_bytes,
            "folder_bytes": self.request.folder_bytes,
            "seed": job.seed,
            "budget_seconds": self.request.budget_seconds,
            "cpu_seconds": math.ceil(limits.cpu_seconds + limits.grace_seconds),
            "memory_bytes": limits.memory_bytes,
            "file_bytes": limits.file_bytes,
            "offer_bytes": limits.offer_bytes,
        }
        return json.dumps(content).encode(), [self.request.payload, *self._far]

    def is_sent(self, now: float) -> None:
        """Let go of the far ends: the runner has its own."""
        self.sent_at = now
        for fd in self._far:
            os.close(fd)
        self._far.clear()

    def close(self) -> None:
        """Let go of everything."""
        for fd in (self.offers, self.stdout, self.stderr, *self._far):
            os.close(fd)
        self._far.clear()
        self.control.close()

    # ---- reading --------------------------------------------------------------------------------------------------

    def read_control(self) -> bool:
        """Read the runner's reports; False when it has hung up.

        Raises
        ------
        Garbage
            What was read is no report: somebody else speaks for the runner.
        """
        while True:
            try:
                packet, fds, _, _ = socket.recv_fds(self.control, 4096, 1, socket.MSG_CMSG_CLOEXEC)
            except BlockingIOError:
                return True
            except ConnectionError:
                return False
            if not packet:
                return False
            said = _report(packet)
            if said is not None:
                self._report, self._cpu_seconds = said, said["cpu_seconds"]
            for fd in fds:  # comes with the report of the start, where the kernel has such a thing
                self._pid = linux.pid_of(fd)
                os.close(fd)

    @property
    def has_ended(self) -> bool:
        """Whether the runner has reported the end: nothing of the candidate is left."""
        return self._report is not None

    def read_offers(self) -> bool:
        """Read a piece of the offers pipe; False at its end.

        Raises
        ------
        Garbage
            What was read is no frame, or not one that is due.
        """
        chunk = _read(self.offers, self._chunk_bytes)
        if not chunk:
            return chunk is None
        now = time.monotonic()
        for kind, content in self._reader.feed(chunk):
            self._take(kind, content, now)
        return True

    def read_output(self, fd: int) -> bool:
        """Read a piece of stdout or stderr; False at its end."""
        chunk = _read(fd, CHUNK_BYTES)
        if chunk:
            self.tails[fd].add(chunk)
        return chunk != b""

    def drain(self) -> None:
        """Read what is left in the pipes of a candidate that has ended."""
        for fd in self.tails:
            while chunk := _read(fd, CHUNK_BYTES):
                self.tails[fd].add(chunk)
        while chunk := _read(self.offers, self._chunk_bytes):
            now = time.monotonic()
            for kind, content in self._reader.feed(chunk):
                self._take(kind, content, now)

    def _take(self, kind: Kind, content: bytes, now: float) -> None:
        if self.started_at is None:
            self._begin(kind, content, now)
        elif self._claim is not None or self.verdict is not None:
            return  # whatever is said after the end
        elif kind is Kind.OFFER:
            self._take_offer(content, now)
        elif kind is Kind.END:
            self._claim = _claim(content)
        else:
            raise Garbage(f"expected hand-ins and an end on the offers pipe, got another frame of kind {kind.name}")

    def _begin(self, kind: Kind, content: bytes, now: float) -> None:
        """Take the first frame, which the code around the program writes before the program's first line runs."""
        if kind is Kind.FAIL:
            self._failure = content.decode("utf-8", "replace").strip()
        if kind is not Kind.HELLO:
            return
        if len(content) != CPU_TIME.size or not 0 <= CPU_TIME.unpack(content)[0] < math.inf:
            raise Garbage(f"expected a CPU time in the first frame, got {content[:20]!r}")
        self._cpu_at_start = self._cpu_seconds = CPU_TIME.unpack(content)[0]
        self.started_at = now
        self.request.begin(now, self.cpu_seconds)

    def _take_offer(self, content: bytes, now: float) -> None:
        limits = self.request.limits
        self._n_bytes += len(content)
        if self._n_bytes > limits.offers_bytes:
            raise Garbage(f"expected at most {limits.offers_bytes} bytes of hand-ins in all, got more")
        seconds = now - (self.started_at or now)
        if seconds > self.request.budget_seconds + limits.late_seconds:
            self._n_late += 1
            return
        self._n_offers += 1
        if not self._read_clock():
            self.read_control()  # says whose clock it is; or, right after the reaping, how much it was in all
            self._read_clock()
        self.request.put(Offer(content, seconds, self.cpu_seconds()))

    def _read_clock(self) -> bool:
        """Read the program's CPU clock; False where it is not known, or has been reaped: what was read last stands."""
        if self._pid is None:
            return False
        try:
            self._cpu_seconds = linux.cpu_seconds(self._pid)
        except OSError:
            return False
        return True

    def cpu_seconds(self) -> float:
        """CPU time of the program until now.

        Where its clock cannot be seen from here, as under gVisor, the time that has passed: never less, as such a
        program has one processor.
        """
        if not self._read_clock() and self._pid is None and self._report is None and self.started_at is not None:
            return time.monotonic() - self.started_at
        return max(0.0, self._cpu_seconds - self._cpu_at_start)

    # ---- ending ---------------------------------------------------------------------------------------------------

    def kill(self, status: Status, detail: str, now: float) -> None:
        """Decide what becomes of the candidate, and have the runner kill it."""
        if self.verdict is None:
            self.verdict = (status, detail)
        if self.killed_at is None:
            self.killed_at = now
            with suppress(OSError):  # the runner is gone, or about to report the end
                self.control.send(b"kill")

    def outcome(self, now: float) -> Outcome:
        """Say what became of the candidate."""
        report = self._report or _NO_REPORT
        status, detail = self._judge(report)
        return Outcome(
            status=status,
            wall_seconds=now - self.started_at if self.started_at is not None else 0.0,
            cpu_seconds=max(0.0, report["cpu_seconds"] - self._cpu_at_start),
            peak_memory_bytes=report["peak_memory_bytes"],
            n_offers=self._n_offers,
            n_late=self._n_late,
            stdout=self.tails[self.stdout].text(),
            stderr=self.tails[self.stderr].text(),
            detail=detail,
            tier=self.request.tier,
        )

    def _judge(self, report: dict[str, Any]) -> tuple[Status, str]:
        if self.verdict is not None and not (self._claim and self.verdict[0] is Status.TIMEOUT):
            return self.verdict
        if self._claim is not None:
            return self._claim
        if self.started_at is None:
            why = self._failure or f"its process ended before the program could start (exit code {report['exit_code']})"
            return Status.INFRASTRUCTURE, why
        code = report["exit_code"]
        if code >= 0:
            return Status.CRASH, f"exited with code {code} before optimize returned"
        limits = self.request.limits
        if report["is_out_of_memory"]:
            return Status.OUT_OF_MEMORY, f"was killed for using more than {limits.memory_bytes} bytes of memory"
        allowed = math.ceil(limits.cpu_seconds + limits.grace_seconds)
        if -code == signal.SIGXCPU or (-code == signal.SIGKILL and report["cpu_seconds"] >= allowed):
            return Status.TIMEOUT, f"used more than {allowed} seconds of CPU time"
        if -code == signal.SIGSYS:
            return Status.VIOLATION, "killed for a system call that only attacks make"
        return Status.CRASH, f"died of {_signal_name(-code)}"


def _read(fd: int, most_bytes: int) -> bytes | None:
    """Read what is there: nothing at the end of the stream, None where there is nothing yet."""
    try:
        return os.read(fd, most_bytes)
    except BlockingIOError:
        return None


def _report(packet: bytes) -> dict[str, Any] | None:
    """Read a report of the runner: how the candidate ended, or None for its start."""
    try:
        said = json.loads(packet)
        if said["event"] == "started":
            return None
        seconds = float(said["cpu_seconds"])
        if not math.isfinite(seconds):
            raise ValueError
        return {
            "exit_code": int(said["exit_code"]),
            "cpu_seconds": seconds,
            "peak_memory_bytes": int(said["peak_memory_bytes"]),
            "is_out_of_memory": said.get("is_out_of_memory") is True,
        }
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError):
        raise Garbage("expected a report of the runner on the control socket, got something else") from None


def _claim(content: bytes) -> tuple[Status, str]:
    """Read the frame in which a program's process says how it ended. The program may have written it itself."""
    try:
        said = json.loads(content)
        status, detail = Status(said["status"]), _printable(str(said["detail"]))
    except (ValueError, TypeError, KeyError, RecursionError):
        raise Garbage("expected a status and a detail in the frame that ends a program, got something else") from None
    if status not in _CLAIMS:
        raise Garbage(f"expected one of {', '.join(_CLAIMS)} in the frame that ends a program, got {status}")
    return status, detail


def _printable(text: str) -> str:
    """Escape what would command a terminal that it is shown on."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _signal_name(number: int) -> str:
    try:
        name = signal.Signals(number).name
    except ValueError:  # a real-time signal
        return f"signal {number}"
    return name + (" (sent by itself, or by the machine for lack of memory)" if name == "SIGKILL" else "")
