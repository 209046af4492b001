"""One life of the verifier process, seen from the controller: start, ask, end."""

from __future__ import annotations

import hashlib
import json
import os
import queue
import select
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from typing import Any

from evocore import errors
from evocore.verifiers import frames, seal

STDERR_TAIL_BYTES = 4096
_CHUNK_BYTES = 1 << 16
_END_SECONDS = 5.0
_BUSY_SHARE = 0.1
# Isolated; and neither this package's first modules nor any that they load come from a cache that says it is theirs.
_START = "import sys; sys.pycache_prefix = '/dev/null'; from evocore.verifiers.__main__ import start; start()"
_ARGUMENTS = ("-I", "-B", "-c", _START)
_ERRORS = {
    kind.__name__: kind
    for kind in (
        errors.InputError,
        errors.InvalidConstruction,
        errors.UnknownProblem,
        errors.ConfigError,
        errors.InfrastructureError,
        errors.KernelFault,
    )
}


class Died(errors.VerifierUnavailable):
    """The process ended by itself, or was killed, over the question."""


class Forged(errors.VerifierUnavailable):
    """What came as an answer was not made by the process for this question."""


class OutOfTime(errors.VerifierUnavailable):
    """No answer within the time given.

    Attributes
    ----------
    was_busy : bool
        Whether the process computed for a good part of that time: then it is the question that takes so long, and
        asking again is no use.
    """

    def __init__(self, message: str, *, was_busy: bool) -> None:
        super().__init__(message)
        self.was_busy = was_busy


class Connection:
    """A running verifier process.

    Parameters
    ----------
    problems : sequence of str
        What the process loads.
    memory_bytes : int
        Its address space.
    start_seconds : float
        Longest wait for its start.

    Attributes
    ----------
    digest : str
        Digest of all that it loaded.
    parts : dict of str to str
        What the digest is made of.
    pid : int
        Its process id.
    is_alive : bool
        False once an exchange failed, or after `close`.
    """

    def __init__(self, problems: Sequence[str], *, memory_bytes: int, start_seconds: float) -> None:
        self._child = _Child()
        self._key = seal.new_key()
        self._sequence = -1
        self._replies = frames.Reader(self._child.replies)
        self.is_alive = True
        self.pid = self._child.pid
        hello = {"problems": list(problems), "memory_bytes": memory_bytes, "parent": os.getpid()}
        try:
            told = self._ask(hello, b"", start_seconds, is_first=True)
        except BaseException:
            self._end()  # it may have answered that it cannot load a problem
            raise
        self.digest: str = told["digest"]
        self.parts: dict[str, str] = told["parts"]

    def ask(self, header: dict[str, Any], payload: bytes, timeout_seconds: float) -> Any:
        """Ask one thing.

        Parameters
        ----------
        header : dict
            What is asked: `op` and its arguments.
        payload : bytes
            The construction.
        timeout_seconds : float
            Longest wait.

        Returns
        -------
        JSON types
            The answer.

        Raises
        ------
        InputError, InfrastructureError
            What the process says is wrong with the question; it lives on.
        Died, Forged, OutOfTime
            There is no answer; the process has been ended.
        """
        return self._ask(header, payload, timeout_seconds)

    def close(self) -> None:
        """Let the process end by itself, as it does at the end of its input, and wait until it is gone."""
        if self.is_alive:
            self.is_alive = False
            self._child.end(patience_seconds=_END_SECONDS)

    def _ask(self, header: dict[str, Any], payload: bytes, timeout_seconds: float, *, is_first: bool = False) -> Any:
        self._sequence += 1
        frame = frames.pack({**header, "sequence": self._sequence, "nonce": seal.new_nonce().hex()}, payload)
        busy_before = self._child.cpu_seconds()
        deadline = time.monotonic() + timeout_seconds
        try:
            if is_first:
                self._hand_over_key(deadline)
            reply = self._exchange(frame, deadline)
        except (EOFError, BrokenPipeError) as error:
            self.close()
            raise Died(f"the verifier process ended without an answer{self._child.last_words()}") from error
        except (frames.FrameError, seal.SealBroken) as error:
            self._end()
            raise Forged(f"the verifier process gave an answer that is not its own: {error}") from error
        except TimeoutError:
            was_busy = self._child.cpu_seconds() - busy_before > timeout_seconds * _BUSY_SHARE
            self._end()
            message = f"the verifier process gave no answer within {timeout_seconds:g} seconds"
            raise OutOfTime(message, was_busy=was_busy) from None
        except BaseException:
            self._end()  # interrupted between question and answer: what comes next on the pipe answers nothing
            raise
        if "error" in reply:
            kind, message = reply["error"]
            raise _ERRORS.get(kind, errors.InfrastructureError)(message)
        return reply["answer"]

    def _hand_over_key(self, deadline: float) -> None:
        """Send the key, but not before the process has said that no other one can read its memory and its pipes."""
        said = self._replies.exactly(len(frames.READY), deadline)
        if said != frames.READY:
            raise frames.FrameError(f"expected {frames.READY!r} as the first word, got {said!r}")
        self._send(self._key, deadline)

    def _exchange(self, frame: bytes, deadline: float) -> dict[str, Any]:
        self._send(frame, deadline)
        asked = hashlib.sha256(frame).digest()  # while the other process works
        header, body = frames.read(lambda n: self._replies.exactly(n, deadline))
        seal.check(self._key, asked, body, header.get("seal"))
        if len(self._replies):
            raise frames.FrameError(f"expected one reply, got {len(self._replies)} bytes behind it")
        return _reply(body)

    def _send(self, data: bytes, deadline: float) -> None:
        view = memoryview(data)
        while view:
            try:
                view = view[os.write(self._child.requests, view) :]
            except BlockingIOError:
                self._wait_to_send(deadline)

    def _wait_to_send(self, deadline: float) -> None:
        poll = select.poll()
        poll.register(self._child.requests, select.POLLOUT)
        if not poll.poll(max(0.0, deadline - time.monotonic()) * 1000):
            raise TimeoutError

    def _end(self) -> None:
        if self.is_alive:
            self.is_alive = False
            self._child.end(patience_seconds=0.0)


def _reply(body: bytes) -> dict[str, Any]:
    """Read a sealed reply: an answer, or the kind and the message of an error."""
    try:
        reply = json.loads(body.decode())
    except (ValueError, RecursionError) as error:
        raise frames.FrameError(f"expected JSON in a reply, got {body[:40]!r}: {error}") from None
    match reply:
        case {"answer": _, **rest} if not rest:
            return {"answer": reply["answer"]}
        case {"error": [str(), str()], **rest} if not rest:
            return {"error": reply["error"]}
    raise frames.FrameError(f"expected an answer or an error in a reply, got {body[:40]!r}")


class _Child:
    """The process itself, with our ends of its pipes.

    Linux kills it when the thread that started it ends (PR_SET_PDEATHSIG), which it asked for: so a thread of its own
    starts it and stays, reading its stderr, as long as it lives. That way any thread may start a verifier and end
    before it, and the controller's death ends both.
    """

    def __init__(self) -> None:
        if not sys.executable:
            raise errors.VerifierUnavailable(
                "expected to know the path of the Python interpreter, sys.executable is empty"
            )
        self._said = b""
        theirs_in, self.requests = os.pipe()
        self.replies, theirs_out = os.pipe()
        try:
            started: queue.SimpleQueue[subprocess.Popen[bytes] | OSError] = queue.SimpleQueue()
            arguments = (started, theirs_in, theirs_out)
            self._thread = threading.Thread(target=self._live, args=arguments, name="evocore-verifier", daemon=True)
            self._thread.start()
            process = started.get()
        finally:
            os.close(theirs_in)
            os.close(theirs_out)
        if isinstance(process, OSError):
            self._close()
            raise errors.VerifierUnavailable(f"the verifier process does not start: {process}")
        self._process = process
        self.pid = process.pid
        os.set_blocking(self.requests, False)
        os.set_blocking(self.replies, False)

    def _live(self, started: queue.SimpleQueue[subprocess.Popen[bytes] | OSError], stdin: int, stdout: int) -> None:
        ours, theirs = os.pipe()
        try:
            process = subprocess.Popen(
                [sys.executable, *_ARGUMENTS],
                stdin=stdin,
                stdout=stdout,
                stderr=theirs,
                env=_environment(),
                cwd="/",
                start_new_session=True,  # a Ctrl-C in the terminal is the controller's business
            )
        except OSError as error:
            started.put(error)
            os.close(ours)
            return
        finally:
            os.close(theirs)
        started.put(process)
        while chunk := os.read(ours, _CHUNK_BYTES):
            self._said = (self._said + chunk)[-STDERR_TAIL_BYTES:]
        os.close(ours)

    def end(self, patience_seconds: float) -> None:
        """Close its input, give it time to end by itself, then kill it; it is gone afterwards."""
        os.close(self.requests)
        try:
            self._process.wait(patience_seconds)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self.replies)
        self._thread.join(_END_SECONDS)

    def cpu_seconds(self) -> float:
        """Processor time that it has used; 0 where this system does not tell, or it is gone."""
        try:
            # the kernel's name for another process's clock, as clock_getcpuclockid makes it
            return time.clock_gettime((~self.pid << 3) | 2) if sys.platform == "linux" else 0.0
        except OSError:
            return 0.0

    def last_words(self) -> str:
        """Say how it ended: signal or exit code, and the last line of its stderr."""
        code = self._process.returncode
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        lines = self._said.decode(errors="replace").strip().splitlines()
        return f" ({how})" + (f": {lines[-1]}" if lines else "")

    def _close(self) -> None:
        os.close(self.requests)
        os.close(self.replies)


def _environment() -> dict[str, str]:
    """All that the process inherits: one thread for BLAS, and the kernel set that this machine asks of OpenBLAS."""
    chosen = {name: os.environ[name] for name in ("OPENBLAS_CORETYPE",) if name in os.environ}
    return {"LANG": "C.UTF-8", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", **chosen}
