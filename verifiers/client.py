"""The controller's side of the verifier process: `Verifier`."""

from __future__ import annotations

import json
import math
import os
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from evocore.errors import InvalidConstruction, UnknownProblem, VerifierUnavailable
from evocore.problems.registry import problems as built_in
from evocore.verifiers import frames
from evocore.verifiers.connection import Connection, Died, OutOfTime
from evocore.verifiers.digest import changes, shown_changes
from evocore.verifiers.verdict import Verdict, exact_from_wire

if TYPE_CHECKING:
    from pathlib import Path

    import numpy.typing as npt

    from evocore.problems.base import Enclosure, Problem

    Which: TypeAlias = str | Path | Problem
    Construction: TypeAlias = bytes | str | dict[str, Any] | npt.ArrayLike

_T = TypeVar("_T")

TIMEOUT_SECONDS = 300.0
OFFER_SECONDS = 60.0
START_SECONDS = 120.0
MEMORY_BYTES = 4 << 30
N_TRIES = 3
N_DEATHS = 2


@dataclass(frozen=True)
class OfferReply:
    """What became of a construction that was handed in.

    Attributes
    ----------
    improved_attempt, improved_run : bool
        Whether it moved the attempt's and the run's ratchet: valid, its arena score true, and strictly better by exact
        score.
    score : float or None
        Its fast score; None where it has none.
    exact : Fraction, Enclosure or None
        Its exact score, where the floats did not settle the matter.
    verdict : Verdict or None
        All about it, where it was scored exactly.
    reason : str
        Why neither ratchet moved; empty where one did.
    """

    improved_attempt: bool
    improved_run: bool
    score: float | None
    exact: Fraction | Enclosure | None
    verdict: Verdict | None
    reason: str


@dataclass
class _Attempt:
    """What it takes to rebuild an attempt's ratchet in a new process."""

    problem: str
    start: bytes
    best: bytes | None = None
    near_ties: int | None = None


@dataclass
class _Run:
    """What it takes to rebuild a run's ratchet in a new process."""

    best: bytes
    near_ties: int | None = None


@dataclass
class _State:
    """What the client holds of the process's state: no scores, but constructions, which are scored again."""

    attempts: dict[str, _Attempt] = field(default_factory=dict)
    runs: dict[str, _Run] = field(default_factory=dict)


class _Deadly(VerifierUnavailable):
    """A question that no verifier process survives."""


class Verifier:
    """A verifier process: it scores, exactly, what it is handed as bytes, and holds the ratchets.

    The process loads the problems once, and knows nothing else. One that dies is started again, its ratchets are
    rebuilt by scoring again what they held, and the request that was not answered is asked again: all later answers are
    what they would have been. What kills it twice, or keeps it computing for too long, is given up. Safe to use from
    several threads.

    Parameters
    ----------
    problems : iterable of str, path or Problem, or one of them
        What it scores: names of built-in problems, folders of one's own. Default: all built-in problems.
    timeout_seconds : float
        Longest wait for one answer, for a hand-in at most 60 seconds; a process that is slower is ended.
    memory_bytes : int
        Address space of the process.

    Attributes
    ----------
    digest : str
        SHA-256 over every file of ours that the process loaded, the problems' files, and the versions it stands on.
    parts : dict of str to str
        What the digest is made of, by name.

    Raises
    ------
    UnknownProblem, ConfigError
        A problem does not exist or does not load.
    VerifierUnavailable
        The process does not start.

    Examples
    --------
    >>> with Verifier("third-autocorrelation-inequality") as verifier:
    ...     verdict = verifier.verify("third-autocorrelation-inequality", b'{"values": [1, 1]}')
    >>> verdict.valid, verdict.exact_score
    (True, Fraction(2, 1))
    """

    def __init__(
        self,
        problems: Iterable[Which] | Which = (),
        *,
        timeout_seconds: float = TIMEOUT_SECONDS,
        memory_bytes: int = MEMORY_BYTES,
    ) -> None:
        several = isinstance(problems, Iterable) and not isinstance(problems, str | os.PathLike)
        chosen: Iterable[Which] = problems if several else (problems,)  # type: ignore[assignment]
        self._names = tuple(dict.fromkeys(location(p) for p in chosen)) or built_in()
        self._timeout_seconds = timeout_seconds
        self._memory_bytes = memory_bytes
        self._lock = threading.Lock()
        self._state = _State()
        self._is_closed = False
        self._connection = self._connect()
        self.digest = self._connection.digest
        self.parts = self._connection.parts

    @property
    def pid(self) -> int:
        """The id of the process; another one after it had to be started again."""
        return self._connection.pid

    def __enter__(self) -> Verifier:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the process; the ratchets are gone."""
        with self._lock:
            self._is_closed = True
            self._connection.close()

    # ---- scoring --------------------------------------------------------------------------------

    def verify(self, problem: Which, payload: Construction) -> Verdict:
        """Judge one construction.

        Parameters
        ----------
        problem : str, path or Problem
            One of those that the verifier was started with.
        payload : bytes, str, dict or (n,) array
            JSON text in the arena's schema, bare or inside ``{"solution": ...}``; the same decoded; or the numbers.

        Returns
        -------
        Verdict
            Valid or not, scores, alarms.

        Raises
        ------
        InvalidConstruction
            It cannot be read: not JSON, wrong key or shape, not finite. Broken conditions are a verdict.
        InfrastructureError
            The problem's own code failed on it.
        VerifierUnavailable
            The process cannot be brought to answer.
        """
        form, data = _framed(payload)
        with self._lock:
            answer = self._ask({"op": "verify", "problem": self._known(problem), "form": form}, data)
            return _understood(Verdict.from_wire, answer)

    def score_many(self, problem: Which, payloads: Sequence[Construction]) -> list[Verdict]:
        """Judge constructions one after the other; the first that cannot be read raises, with its place in the list."""
        verdicts = []
        for i, payload in enumerate(payloads):
            try:
                verdicts.append(self.verify(problem, payload))
            except InvalidConstruction as error:
                raise InvalidConstruction(f"construction {i}: {error}") from error
        return verdicts

    # ---- ratchets -------------------------------------------------------------------------------

    def open_attempt(self, key: str, problem: Which, start: npt.ArrayLike) -> Fraction | Enclosure:
        """Open an attempt's ratchet at the score of its start.

        Parameters
        ----------
        key : str
            Names the attempt in what follows.
        problem : str, path or Problem
            One of those that the verifier was started with.
        start : (n,) array
            A valid construction. It does not move the run's ratchet: see `restore_run`.

        Returns
        -------
        Fraction or Enclosure
            The start's exact score.

        Raises
        ------
        InvalidConstruction
            The start is not valid, or the key is in use.
        """
        _, data = _framed(start)
        with self._lock:
            name = self._known(problem)
            if key in self._state.attempts:
                raise InvalidConstruction(f'expected a key that no open attempt has, got "{key}"')
            exact = _understood(_exact, self._ask({"op": "open", "key": key, "problem": name}, data))
            self._state.attempts[key] = _Attempt(name, data)
            return exact

    def offer(self, key: str, problem: Which, buffer: bytes) -> OfferReply:
        """Hand in a construction to an open attempt; it is not changed, and not trusted.

        Parameters
        ----------
        key : str
            The attempt.
        problem : str, path or Problem
            The attempt's problem.
        buffer : bytes
            Array bytes (`evocore.verifiers.arrays.encode`), or anything at all.

        Returns
        -------
        OfferReply
            Floats decide first (see `evocore.verifiers.ratchet`), so most hand-ins never get an exact score. What
            cannot be read or scored is refused with a reason, never an exception.

        Raises
        ------
        VerifierUnavailable
            The process cannot be brought to answer.
        """
        with self._lock:
            attempt = self._attempt(key)
            if self._known(problem) != attempt.problem:
                raise InvalidConstruction(f'expected the problem {attempt.problem} of attempt "{key}", got {problem}')
            if len(buffer) > frames.MAX_PAYLOAD_BYTES:
                reason = f"expected at most {frames.MAX_PAYLOAD_BYTES} bytes, got {len(buffer)}"
                return OfferReply(False, False, None, None, None, reason)
            try:
                answer = self._ask({"op": "offer", "key": key, "problem": attempt.problem}, buffer, OFFER_SECONDS)
            except _Deadly as error:
                return OfferReply(False, False, None, None, None, f"scoring failed: {error}")
            reply, (near_ties, run_near_ties) = _understood(_offer_reply, answer)
            if reply.improved_attempt:
                attempt.best = bytes(buffer)
            if reply.improved_run:
                self._state.runs[attempt.problem] = _Run(bytes(buffer))
            attempt.near_ties = near_ties
            if attempt.problem in self._state.runs:
                self._state.runs[attempt.problem].near_ties = run_near_ties
        return reply

    def close_attempt(self, key: str) -> tuple[Fraction | Enclosure, bytes | None]:
        """Close an attempt.

        Parameters
        ----------
        key : str
            The attempt.

        Returns
        -------
        exact : Fraction or Enclosure
            The best exact score: the start's where nothing was better.
        buffer : bytes or None
            The construction that has it, as it was handed in; None for the start.
        """
        with self._lock:
            attempt = self._attempt(key)
            exact = _understood(_exact, self._ask({"op": "close", "key": key}, b""))
            del self._state.attempts[key]
            return exact, attempt.best

    def restore_run(self, problem: Which, x: npt.ArrayLike) -> Verdict:
        """Hold a construction of an earlier time against the run's ratchet: it is scored again, never trusted.

        Parameters
        ----------
        problem : str, path or Problem
            One of those that the verifier was started with.
        x : (n,) array
            The construction.

        Returns
        -------
        Verdict
            The ratchet moves to it if it is true (`Verdict.is_true`) and strictly better.
        """
        _, data = _framed(x)
        with self._lock:
            name = self._known(problem)
            answer = self._ask({"op": "restore_run", "problem": name}, data)
            has_moved, verdict = _understood(_restored, answer)
            if has_moved:
                self._state.runs[name] = _Run(data)
            return verdict

    # ---- asking ---------------------------------------------------------------------------------

    def _ask(self, header: dict[str, Any], payload: bytes, timeout_seconds: float = math.inf) -> Any:
        """Ask, and ask again where there was no answer; the caller holds the lock.

        Dying over a question twice, or computing until the time is up, is the question's fault; not so a process that
        does not start, or is stopped or starved. A forged answer is no reason to ask again, but to stop.
        """
        if self._is_closed:
            raise VerifierUnavailable("the verifier has been closed")
        timeout_seconds = min(timeout_seconds, self._timeout_seconds)
        n_tries = n_deaths = 0
        while True:
            n_tries += 1
            connection = self._alive()
            try:
                return connection.ask(header, payload, timeout_seconds)
            except (Died, OutOfTime) as error:
                n_deaths += isinstance(error, Died)
                if n_deaths == N_DEATHS:
                    raise _Deadly(f"{error}; asked {N_DEATHS} times") from error
                if isinstance(error, OutOfTime) and error.was_busy:
                    raise _Deadly(str(error)) from error
                if n_tries == N_TRIES:
                    raise VerifierUnavailable(f"{error}; asked {N_TRIES} times") from error

    def _alive(self) -> Connection:
        """The running process; where it died, a new one with the same ratchets."""
        n_tries = 0
        while not self._connection.is_alive:
            n_tries += 1
            try:
                self._connection = self._again()
            except (Died, OutOfTime) as error:
                if n_tries == N_TRIES:
                    raise VerifierUnavailable(f"{error}; started {N_TRIES} times") from error
        return self._connection

    def _again(self) -> Connection:
        """Start a new process, and give it the ratchets of the last one."""
        fresh = self._connect()
        try:
            changed = changes(self.parts, fresh.parts)
            if changed:
                raise VerifierUnavailable(
                    f"the verifier process had to be started again, and finds changed: {shown_changes(changed)}; undo "
                    f"the change and resume, or begin a new run"
                )
            self._rebuild(fresh)
        except BaseException:
            fresh.close()
            raise
        return fresh

    def _connect(self) -> Connection:
        return Connection(self._names, memory_bytes=self._memory_bytes, start_seconds=START_SECONDS)

    def _rebuild(self, fresh: Connection) -> None:
        for key, attempt in self._state.attempts.items():
            header = {"key": key, "problem": attempt.problem}
            ties = {} if attempt.near_ties is None else {"near_ties": attempt.near_ties}
            fresh.ask({"op": "open", **header, **ties}, attempt.start, self._timeout_seconds)
            if attempt.best is not None:
                fresh.ask({"op": "restore_attempt", **header, **ties}, attempt.best, self._timeout_seconds)
        for name, run in self._state.runs.items():
            ties = {} if run.near_ties is None else {"near_ties": run.near_ties}
            fresh.ask({"op": "restore_run", "problem": name, **ties}, run.best, self._timeout_seconds)

    def _known(self, problem: Which) -> str:
        name = location(problem)
        if name not in self._names:
            raise UnknownProblem(
                f"expected a problem that the verifier was started with ({', '.join(self._names)}), got {name}"
            )
        return name

    def _attempt(self, key: str) -> _Attempt:
        found = self._state.attempts.get(key)
        if found is None:
            raise InvalidConstruction(f'expected the key of an open attempt, got "{key}"')
        return found


def location(problem: Which) -> str:
    """Return what names a problem in every process: a built-in's slug, or a folder's absolute path."""
    if isinstance(problem, str):
        text, is_path = problem, "/" in problem or problem in (".", "..")
    elif isinstance(problem, os.PathLike):
        text, is_path = os.fspath(problem), True
    else:
        text, is_path = problem.location, problem.folder is not None
    return os.path.realpath(os.path.expanduser(text)) if is_path else text


def _framed(payload: Construction) -> tuple[str, bytes]:
    """Turn a construction into bytes, and say which kind they are."""
    if isinstance(payload, str):
        payload = payload.encode()
    elif isinstance(payload, dict):
        payload = json.dumps(payload).encode()
    form = "json"
    if not isinstance(payload, bytes):
        from evocore.verifiers.arrays import encode  # only here: JSON text needs no NumPy on this side

        form, payload = "array", encode(payload)
    if len(payload) > frames.MAX_PAYLOAD_BYTES:
        raise InvalidConstruction(
            f"expected a construction of at most {frames.MAX_PAYLOAD_BYTES} bytes, got {len(payload)}"
        )
    return form, payload


def _understood(read: Callable[[Any], _T], answer: Any) -> _T:
    """Read an answer; a verifier process that hostile bytes have got the better of may say anything under its seal."""
    try:
        return read(answer)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise VerifierUnavailable(
            f"expected an answer of the verifier process in its usual form, got another "
            f"({type(error).__name__}: {str(error)[:200]})"
        ) from error


def _offer_reply(answer: Any) -> tuple[OfferReply, tuple[int, int]]:
    """The reply, and how many near ties the attempt's and the run's ratchet still let through."""
    improved_attempt, improved_run = map(bool, answer["improved"])
    verdict = None if answer["verdict"] is None else Verdict.from_wire(answer["verdict"])
    exact = None if verdict is None else verdict.exact_score
    attempt_ties, run_ties = map(int, answer["near_ties"])
    reply = OfferReply(improved_attempt, improved_run, answer["score"], exact, verdict, answer["reason"])
    return reply, (attempt_ties, run_ties)


def _restored(answer: Any) -> tuple[bool, Verdict]:
    return bool(answer["moved"]), Verdict.from_wire(answer["verdict"])


def _exact(text: Any) -> Fraction | Enclosure:
    value = exact_from_wire(text)
    if value is None:
        raise ValueError("expected an exact score, got none")
    return value
