"""The verifier process: reads requests, scores, answers with sealed replies, and holds the ratchets.

It is started by the controller before any candidate, and talks to nothing but its two pipes. It says that it is ready
once no other process can read its memory; then the key comes down the request pipe, 32 bytes; then frames. When all is
loaded it gives up files, network and the starting of processes (`evocore.verifiers.lockdown`), before the first byte of
a stranger is read. What can be wrong with a construction is an answer; only a stream that does not carry frames any
more, its end, or a scoring that runs out of memory ends the process.
"""

from __future__ import annotations

import encodings.unicode_escape  # here, as no file can be opened later: messages quote with it
import encodings.utf_8_sig  # noqa: F401 (JSON texts are decoded with it)
import gc
import hashlib
import os
import resource
import signal
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy.fft
import numpy.linalg
import numpy.random  # noqa: F401 (NumPy loads these three when they are first used)

from evocore.errors import (
    ConfigError,
    EvocoreError,
    InfrastructureError,
    InvalidConstruction,
    SandboxUnavailable,
    UnknownProblem,
)
from evocore.problems import problem as find_problem
from evocore.problems.base import Problem, Vector, to_float
from evocore.verifiers import digest, frames, lockdown, seal
from evocore.verifiers.arrays import decode
from evocore.verifiers.payload import read
from evocore.verifiers.ratchet import NEAR_TIES, Pawl, Weighed, weigh
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
    if sys.platform == "linux":
        lockdown.hide_memory()
    try:
        channel = _Channel(requests, replies)
        scorer = _load(channel)
        while True:
            channel.answer_next(scorer.answer)
    except (EOFError, BrokenPipeError):
        return  # the controller is gone: nobody is left to tell
    except frames.FrameError as error:
        sys.exit(f"evocore verifier: {error}")
    except MemoryError as error:
        # What was half done when memory ran out may have kept some of it: the next scoring gets a fresh process.
        sys.exit(f"evocore verifier: out of memory: {defect(error)}")


class _Channel:
    """The two pipes with key and sequence: one request in, one sealed reply out."""

    def __init__(self, requests: int, replies: int) -> None:
        self._requests = frames.Reader(requests)
        self._replies = replies
        self._write(frames.READY)
        self._key = self._requests.exactly(seal.KEY_BYTES)
        self._sequence = -1
        self._request = hashlib.sha256()

    def answer_next(self, answer: Answer) -> None:
        """Answer one request, with what `answer` makes of it or with what it raises."""
        self._request = hashlib.sha256()
        header, payload = frames.read(self._exactly)
        self._check(header)
        try:
            body = _body({"answer": answer(header, payload)})
        except EvocoreError as error:
            body = _body({"error": [type(error).__name__, str(error)]})
        except MemoryError:
            raise
        except (Exception, SystemExit) as error:  # a process boundary: a problem's defect must not end the process
            body = _body({"error": [InfrastructureError.__name__, f"scoring failed: {defect(error)}"]})
        sealed = {"sequence": self._sequence, "seal": seal.seal(self._key, self._request.digest(), body)}
        self._write(frames.pack(sealed, body))

    def _check(self, header: dict[str, Any]) -> None:
        """Check that this is the next request."""
        self._sequence += 1
        if header.get("sequence") != self._sequence:
            raise frames.FrameError(f"expected request {self._sequence}, got {header.get('sequence')!r:.60}")
        nonce = header.get("nonce")
        if not isinstance(nonce, str) or len(nonce) != 2 * seal.NONCE_BYTES:
            raise frames.FrameError(f"expected a nonce of {seal.NONCE_BYTES} bytes in hexadecimal, got {nonce!r:.60}")

    def _exactly(self, n: int) -> bytes:
        data = self._requests.exactly(n)
        self._request.update(data)
        return data

    def _write(self, frame: bytes) -> None:
        view = memoryview(frame)
        while view:
            view = view[os.write(self._replies, view) :]


def _body(reply: dict[str, Any]) -> bytes:
    body = frames.encode_json(reply).encode()
    if len(body) > frames.MAX_PAYLOAD_BYTES:
        raise InfrastructureError(f"expected an answer of at most {frames.MAX_PAYLOAD_BYTES} bytes, got {len(body)}")
    return body


def _load(channel: _Channel) -> Scorer:
    """Answer the first request: load and digest what it asks for, lock the process down, tell the digest."""
    loaded: list[Scorer] = []

    def load(header: dict[str, Any], payload: bytes) -> dict[str, Any]:
        _confine(header["memory_bytes"], header["parent"])
        problems = {name: find_problem(name) for name in header["problems"]}
        failed = {name for name, problem in problems.items() if _failure(problem)}
        parts = digest.parts(problems.values())
        for name, problem in problems.items():
            if find_problem(name) is not problem:
                raise ConfigError(f"expected files that stay as they are while they are loaded, got a change in {name}")
        parts["lockdown"] = _lock_down()
        for name in problems.keys() - failed:
            if failure := _failure(problems[name]):
                raise ConfigError(
                    f"expected a problem that scores without files, network and processes of its own, got {failure}: "
                    f"load what it needs when {name} is loaded"
                )
        scorer = Scorer(problems, parts)
        loaded.append(scorer)
        return {"digest": scorer.digest, "parts": scorer.parts}

    channel.answer_next(load)
    if not loaded:
        raise EOFError  # the controller has been told why
    gc.freeze()
    return loaded[0]


def _failure(problem: Problem) -> str:
    """Score a problem's own start: what it imports on demand is loaded by that. Says what went wrong."""
    try:
        judge(problem, problem.start(problem.default_size, 0))
    except (Exception, SystemExit) as error:  # a process boundary; a real construction will tell the same in an answer
        return defect(error)
    return ""


def _lock_down() -> str:
    """Give up files, network and processes for good; says which walls hold, as the digest has to tell."""
    walls = []
    with suppress(SandboxUnavailable):  # another system or processor, or a kernel without the one or the other
        lockdown.check_machine()
        lockdown.forgo_privileges()
        lockdown.forgo_powers()
        with suppress(SandboxUnavailable):  # the filter alone leaves no call that takes a path or an address
            rules = lockdown.Ruleset()
            rules.enforce()
            rules.close()
            walls.append("landlock")
        lockdown.Filter(lockdown.SCORER).install()
        walls.append("seccomp")
    return ", ".join(walls) or "none"


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
    parts : dict of str to str
        What the digest in every verdict is made of.
    """

    def __init__(self, problems: dict[str, Problem], parts: dict[str, str]) -> None:
        self.problems = problems
        self.runs = {name: Pawl(problem) for name, problem in problems.items()}
        self.attempts: dict[str, Pawl] = {}
        self.parts = parts
        self.digest = digest.total(parts)
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
        _restore_near_ties(pawl, header)
        self.attempts[key] = pawl
        return exact_to_wire(verdict.exact_score)

    def _offer(self, header: dict[str, Any], payload: bytes) -> dict[str, Any]:
        pawls = self._attempt(header), self.runs[header["problem"]]
        try:
            weighed = weigh(pawls[0].problem.check(decode(payload)), pawls, verifier_digest=self.digest)
        except InvalidConstruction as error:
            weighed = _refused(str(error))
        except MemoryError:
            raise
        except (Exception, SystemExit) as error:  # a process boundary: hand-ins come from programs that try everything
            weighed = _refused(f"scoring failed: {defect(error)}")
        return {
            "improved": weighed.moved,
            "score": weighed.score,
            "verdict": None if weighed.verdict is None else weighed.verdict.to_wire(),
            "reason": weighed.reason,
            "near_ties": [pawl.near_ties_left for pawl in pawls],
        }

    def _close(self, header: dict[str, Any], payload: bytes) -> Any:
        pawl = self._attempt(header)
        del self.attempts[header["key"]]
        return exact_to_wire(pawl.exact)

    def _restore_attempt(self, header: dict[str, Any], payload: bytes) -> Any:
        return self._restore(self._attempt(header), header, payload)

    def _restore_run(self, header: dict[str, Any], payload: bytes) -> Any:
        self._problem(header)
        return self._restore(self.runs[header["problem"]], header, payload)

    def _restore(self, pawl: Pawl, header: dict[str, Any], payload: bytes) -> dict[str, Any]:
        """Score what was accepted before as if it were new; only a better, true one moves the ratchet."""
        x = pawl.problem.check(decode(payload))
        verdict = self._judge(pawl.problem, x)
        exact = verdict.exact_score
        moves = verdict.is_true and exact is not None and pawl.beats(exact)
        if moves and exact is not None:
            pawl.move(exact, pawl.problem.fast(x))
            _restore_near_ties(pawl, header)
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


def _restore_near_ties(pawl: Pawl, header: dict[str, Any]) -> None:
    """Let through as many near ties as the process before would have, whose ratchet this one has now."""
    pawl.near_ties_left = min(max(int(header.get("near_ties", NEAR_TIES)), 0), NEAR_TIES)


def _refused(reason: str) -> Weighed:
    return Weighed(None, None, (False, False), reason)
