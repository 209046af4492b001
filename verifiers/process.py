"""The verifier process: reads requests, scores, answers with sealed replies, and holds the ratchets.

It is started by the controller before any candidate, and talks to nothing but its two pipes. The key comes first down
the request pipe, 32 bytes; then frames. What can be wrong with a construction is an answer; only a stream that does not
carry frames any more, or its end, ends the process.
"""

from __future__ import annotations

import gc
import os
import resource
import signal
import sys
import traceback
from collections.abc import Callable
from typing import Any, BinaryIO

from evocore.errors import EvocoreError, InfrastructureError, InvalidConstruction, UnknownProblem
from evocore.problems import problem as find_problem
from evocore.problems.base import Problem, Vector, to_float
from evocore.verifiers import digest, frames, seal
from evocore.verifiers.arrays import decode
from evocore.verifiers.payload import read
from evocore.verifiers.ratchet import Pawl, weigh
from evocore.verifiers.scoring import judge
from evocore.verifiers.verdict import Verdict, exact_to_wire

PR_SET_PDEATHSIG = 1

Answer = Callable[[dict[str, Any], bytes], Any]
"""Makes JSON types of a request's header and payload, or raises what is wrong with it."""


def serve(requests: int, replies: int) -> None:
    """Answer requests until the controller closes the pipe or is gone.

    Parameters
    ----------
    requests, replies : int
        File descriptors of the two pipes.
    """
    with open(requests, "rb", buffering=1 << 16) as stream:
        try:
            channel = _Channel(stream, replies)
            scorer = _load(channel)
            while True:
                channel.answer_next(scorer.answer)
        except (EOFError, BrokenPipeError):
            return  # the controller is gone: nobody is left to tell
        except frames.FrameError as error:
            sys.exit(f"evocore verifier: {error}")


class _Channel:
    """The two pipes with key and sequence: one request in, one sealed reply out."""

    def __init__(self, stream: BinaryIO, replies: int) -> None:
        self._stream = stream
        self._replies = replies
        self._key = self._exactly(seal.KEY_BYTES)
        self._sequence = -1

    def answer_next(self, answer: Answer) -> None:
        """Answer one request, with what `answer` makes of it or with what it raises."""
        header, payload = frames.read(self._exactly)
        nonce = self._checked(header)
        try:
            reply = {"answer": answer(header, payload)}
        except EvocoreError as error:
            reply = {"error": [type(error).__name__, str(error)]}
        except (Exception, SystemExit) as error:  # a process boundary: a problem's defect must not end the process
            reply = {"error": [InfrastructureError.__name__, f"scoring failed: {defect(error)}"]}
        body = frames.encode_json(reply).encode()
        sealed = {"sequence": self._sequence, "seal": seal.seal(self._key, nonce, self._sequence, body)}
        self._write(frames.pack(sealed, body))

    def _checked(self, header: dict[str, Any]) -> bytes:
        """Check that this is the next request, and return its nonce."""
        self._sequence += 1
        if header.get("sequence") != self._sequence:
            raise frames.FrameError(f"expected request {self._sequence}, got {header.get('sequence')!r}")
        nonce = header.get("nonce")
        if not isinstance(nonce, str) or len(nonce) != 2 * seal.NONCE_BYTES:
            raise frames.FrameError(f"expected a nonce of {seal.NONCE_BYTES} bytes in hexadecimal, got {nonce!r:.60}")
        try:
            return bytes.fromhex(nonce)
        except ValueError:
            raise frames.FrameError(f"expected a nonce in hexadecimal, got {nonce!r}") from None

    def _exactly(self, n: int) -> bytes:
        data = self._stream.read(n)
        if len(data) < n:
            raise EOFError
        return data

    def _write(self, frame: bytes) -> None:
        view = memoryview(frame)
        while view:
            view = view[os.write(self._replies, view) :]


def _load(channel: _Channel) -> Scorer:
    """Answer the first request: confine the process, load what it asks for, tell the digest."""
    loaded: list[Scorer] = []

    def load(header: dict[str, Any], payload: bytes) -> dict[str, Any]:
        _confine(header["memory_bytes"], header["parent"])
        scorer = Scorer({name: find_problem(name) for name in header["problems"]})
        loaded.append(scorer)
        return {"digest": scorer.digest, "parts": scorer.parts}

    channel.answer_next(load)
    if not loaded:
        raise EOFError  # the controller has been told why
    # All is loaded and digested, and no file has to be opened from here on: the place to lock the process down further.
    gc.freeze()
    return loaded[0]


def _confine(memory_bytes: int, parent: int) -> None:
    """Bound the memory, leave no core file with the key in it, and die with the controller."""
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    limit = memory_bytes if hard == resource.RLIM_INFINITY else min(memory_bytes, hard)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        import ctypes

        # The end of the request pipe says the same, but only between two requests.
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        raise EOFError  # it died while this process started


def defect(error: BaseException) -> str:
    """Say in one line what an unexpected exception was and where it was raised."""
    text = " ".join(str(error).split())[:300]
    said = f"{type(error).__name__}: {text}" if text else type(error).__name__
    frames_of = traceback.extract_tb(error.__traceback__)
    return f"{said} ({frames_of[-1].filename}, line {frames_of[-1].lineno})" if frames_of else said


class Scorer:
    """What the process knows: the problems, their run ratchets, the open attempts.

    Parameters
    ----------
    problems : dict of str to Problem
        By the names that requests call them.
    """

    def __init__(self, problems: dict[str, Problem]) -> None:
        self.problems = problems
        self.runs = {name: Pawl(problem) for name, problem in problems.items()}
        self.attempts: dict[str, Pawl] = {}
        for problem in problems.values():
            _warm_up(problem)
        self.parts = digest.parts(problems.values())
        self.digest = digest.total(self.parts)
        self._operations: dict[str, Answer] = {
            "verify": self._verify,
            "open": self._open,
            "offer": self._offer,
            "close": self._close,
            "restore_attempt": self._restore_attempt,
            "restore_run": self._restore_run,
        }

    def answer(self, header: dict[str, Any], payload: bytes) -> Any:
        """Answer one request with JSON types; raises what is wrong with it."""
        operation = self._operations.get(header["op"])
        if operation is None:
            known = ", ".join(self._operations)
            raise InfrastructureError(f"expected one of the operations {known}, got {header['op']!r}")
        return operation(header, payload)

    def _verify(self, header: dict[str, Any], payload: bytes) -> dict[str, Any]:
        problem = self._problem(header)
        x = read(problem, payload if header["form"] == "json" else decode(payload))
        return self._judge(problem, x).to_wire()

    def _open(self, header: dict[str, Any], payload: bytes) -> Any:
        key, problem = header["key"], self._problem(header)
        if key in self.attempts:
            raise InvalidConstruction(f'expected a key that no open attempt has, got "{key}"')
        x = problem.check(decode(payload))
        verdict = self._judge(problem, x)
        if not verdict.valid or verdict.exact_score is None:
            raise InvalidConstruction(f"expected a valid start, got one that is not: {'; '.join(verdict.reasons)}")
        pawl = Pawl(problem)
        # Where the arena's float of the start is wrong, it must not stand in the way of better constructions.
        pawl.move(verdict.exact_score, problem.fast(x) if verdict.is_true else to_float(verdict.exact_score))
        self.attempts[key] = pawl
        return exact_to_wire(verdict.exact_score)

    def _offer(self, header: dict[str, Any], payload: bytes) -> dict[str, Any]:
        pawl = self._attempt(header)
        try:
            x = pawl.problem.check(decode(payload))
            weighed = weigh(x, (pawl, self.runs[header["problem"]]), verifier_digest=self.digest)
        except InvalidConstruction as error:
            return _refusal(str(error))
        except (Exception, SystemExit) as error:  # a process boundary: hand-ins come from programs that try everything
            return _refusal(f"scoring failed: {defect(error)}")
        return {
            "improved": list(weighed.moved),
            "score": weighed.score,
            "verdict": None if weighed.verdict is None else weighed.verdict.to_wire(),
            "reason": weighed.reason,
        }

    def _close(self, header: dict[str, Any], payload: bytes) -> Any:
        pawl = self._attempt(header)
        del self.attempts[header["key"]]
        return exact_to_wire(pawl.exact)

    def _restore_attempt(self, header: dict[str, Any], payload: bytes) -> Any:
        return self._restore(self._attempt(header), payload)

    def _restore_run(self, header: dict[str, Any], payload: bytes) -> Any:
        self._problem(header)
        return self._restore(self.runs[header["problem"]], payload)

    def _restore(self, pawl: Pawl, payload: bytes) -> dict[str, Any]:
        """Score what was accepted before as if it were new; only a better, true one moves the ratchet."""
        x = pawl.problem.check(decode(payload))
        verdict = self._judge(pawl.problem, x)
        exact = verdict.exact_score
        moves = verdict.is_true and exact is not None and pawl.beats(exact)
        if moves and exact is not None:
            pawl.move(exact, pawl.problem.fast(x))
        return {"moved": moves, "verdict": verdict.to_wire()}

    def _judge(self, problem: Problem, x: Vector) -> Verdict:
        return judge(problem, x, verifier_digest=self.digest)

    def _problem(self, header: dict[str, Any]) -> Problem:
        found = self.problems.get(header["problem"])
        if found is None:
            raise UnknownProblem(f'expected one of {", ".join(self.problems)}, got "{header["problem"]}"')
        return found

    def _attempt(self, header: dict[str, Any]) -> Pawl:
        found = self.attempts.get(header["key"])
        if found is None:
            raise InvalidConstruction(f'expected the key of an open attempt, got "{header["key"]}"')
        return found


def _refusal(reason: str) -> dict[str, Any]:
    return {"improved": [False, False], "score": None, "verdict": None, "reason": reason}


def _warm_up(problem: Problem) -> None:
    """Score one construction, so that what a problem imports on demand is loaded before the digest is taken."""
    try:
        judge(problem, problem.start(problem.default_size, 0))
    except (Exception, SystemExit) as error:  # a process boundary; a real construction will tell the same in an answer
        print(f"evocore verifier: {problem.slug} cannot score its own start: {defect(error)}", file=sys.stderr)
