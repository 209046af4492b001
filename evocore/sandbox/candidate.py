"""What happens in a candidate's own process: shut the doors, lock them, run the program, say how it ended.

Everything here after that shares its memory with the program, which may change any of it. So nothing that is said from
here decides a score: it is a claim of the program.
"""

from __future__ import annotations

import fcntl
import json
import linecache
import os
import random
import resource
import sys
import threading
import time
import traceback
from contextlib import suppress
from types import ModuleType
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from evocore.errors import InvalidConstruction
from evocore.problems import problem as find_problem
from evocore.sandbox import linux
from evocore.sandbox.base import Status, environment
from evocore.sandbox.warm import built_in, seed_numba
from evocore.sandbox.wire import CPU_TIME, FRAME, MOST_NOTE_BYTES, Kind, frame
from evocore.verifiers import lockdown
from evocore.verifiers.arrays import encode

if TYPE_CHECKING:
    from evocore.problems.base import Problem
    from evocore.sandbox.confinement import Lock

PROGRAM = "program.py"
MOST_OPEN_FILES = 256
MEMORY_FOR_LAST_WORDS = 64 << 20
MOST_NOTES = 5

_OFFERS = 3


def run(job: dict[str, Any], fds: list[int], runner_pid: int, lock: Lock | None) -> NoReturn:
    """Become the candidate. Called in a freshly forked process, which ends here.

    Parameters
    ----------
    job : dict
        The job's packet.
    fds : list of int
        Payload, offers, stdout, stderr.
    runner_pid : int
        Who must be alive for this process to live.
    lock : Lock or None
        What to lock this process into; None on the tier that does not.
    """
    payload = _shut(job, fds, runner_pid, -1 if lock is None else lock.ruleset.fd)
    source = payload[: job["source_bytes"]]
    start = np.frombuffer(payload[job["source_bytes"] + job["folder_bytes"] :], np.float64)
    try:
        problem = built_in.get(job["problem"]) or find_problem(job["problem"])
        if lock is not None:
            lock.close()
    except Exception:  # the process boundary: what does not load or lock is told to whoever asked for it
        _write(_OFFERS, frame(Kind.FAIL, traceback.format_exc().encode(errors="replace")[-MOST_NOTE_BYTES:]))
        os._exit(1)
    offer = Offering(problem, job["offer_bytes"])
    _write(_OFFERS, frame(Kind.HELLO, CPU_TIME.pack(time.process_time())))
    deadline = time.monotonic() + job["budget_seconds"]
    status, detail = _play(source, problem, start.copy(), job["seed"], deadline, offer)
    for stream in (sys.__stdout__, sys.__stderr__):
        with suppress(OSError, ValueError):  # closed by the program
            if stream is not None:
                stream.flush()
    note = json.dumps({"status": status, "detail": detail[:1000]}).encode()
    _write(_OFFERS, frame(Kind.END, note))
    os._exit(0)  # no atexit handler and no thread of the program gets another turn


# ---- shutting the doors -----------------------------------------------------------------------------------------


def _shut(job: dict[str, Any], fds: list[int], runner_pid: int, keep: int) -> bytes:
    """Give up what the program must not have, but for what `lock` takes. Returns the payload.

    In this order: own session and death with the runner, files, limits, environment.
    """
    os.setsid()
    linux.die_with_parent(9)
    if os.getppid() != runner_pid:
        os._exit(1)
    lockdown.forgo_privileges()
    payload = _keep_files(fds, keep)
    os.umask(0o077)
    os.chdir(job["folder"])
    _limit(job)
    _set_environment(environment(job["folder"]))
    _seed(job["seed"])
    return payload


def _keep_files(fds: list[int], keep: int) -> bytes:
    """Leave open 0 (nothing to read), 1 and 2 (output), 3 (offers), and `keep`. All others go, whoever opened them."""
    payload_fd, offers, stdout, stderr = (fcntl.fcntl(fd, fcntl.F_DUPFD, 64) for fd in fds)
    payload = _read_all(payload_fd)
    nothing = fcntl.fcntl(os.open(os.devnull, os.O_RDONLY), fcntl.F_DUPFD, 64)
    for number, fd in enumerate((nothing, stdout, stderr, offers)):
        os.dup2(fd, number)
    os.closerange(4, keep)
    os.closerange(max(4, keep + 1), os.sysconf("SC_OPEN_MAX"))
    return payload


def _read_all(fd: int) -> bytes:
    content = bytearray(os.fstat(fd).st_size)
    position = 0
    while position < len(content):
        position += os.preadv(fd, [memoryview(content)[position:]], position)
    return bytes(content)


def _limit(job: dict[str, Any]) -> None:
    cpu, memory, n_tasks = job["cpu_seconds"], job["memory_bytes"], job["n_tasks"]
    for what, soft, hard in (
        (resource.RLIMIT_CPU, cpu, cpu + 1),  # the soft one can be ignored, the hard one is SIGKILL
        (resource.RLIMIT_AS, memory, memory + MEMORY_FOR_LAST_WORDS),
        (resource.RLIMIT_FSIZE, job["file_bytes"], job["file_bytes"]),
        (resource.RLIMIT_NOFILE, MOST_OPEN_FILES, MOST_OPEN_FILES),
        (resource.RLIMIT_CORE, 0, 0),
        (resource.RLIMIT_NPROC, n_tasks, n_tasks),  # of the whole user; root is exempt
    ):
        most = resource.getrlimit(what)[1]
        cap = [n if most == resource.RLIM_INFINITY else min(n, most) for n in (soft, hard)]
        resource.setrlimit(what, (cap[0], cap[1]))


def _set_environment(wanted: dict[str, str]) -> None:
    """Change what differs from the runner's environment: every other variable costs a page."""
    for name in set(os.environ) - set(wanted):
        del os.environ[name]
    for name, value in wanted.items():
        if os.environ.get(name) != value:
            os.environ[name] = value


def _seed(seed: int) -> None:
    random.seed(seed)
    np.random.seed(seed % 2**32)  # noqa: NPY002 (programs may use the old generator, and must be repeatable)
    seed_numba(seed % 2**32)


# ---- the program's side of the offers pipe ----------------------------------------------------------------------


class Offering:
    """The function `offer` that a program is handed.

    Parameters
    ----------
    problem : Problem
        Whose fast score decides what is worth sending.
    offer_bytes : int
        Longest hand-in.
    """

    def __init__(self, problem: Problem, offer_bytes: int) -> None:
        self._problem = problem
        self._offer_bytes = offer_bytes
        self._best: float | None = None
        self._lock = threading.Lock()
        self._is_open = True
        self._refusals: set[str] = set()

    def __call__(self, x: Any) -> bool:
        """Hand in a construction; True if it was sent.

        Sent is what the problem takes as a construction and scores better, by its fast score, than everything sent
        before. The reason of a refusal goes to stderr, once.
        """
        try:
            array = np.array(self._problem.check(x), dtype=np.float64, order="C")
            score = float(self._problem.fast(array))
        except (InvalidConstruction, ValueError, TypeError) as error:
            return self._refuse(str(error))
        with self._lock:
            if not np.isfinite(score) or not (self._best is None or self._problem.better(score, self._best)):
                return False
            content = encode(array)
            if len(content) > self._offer_bytes:
                return self._refuse(f"expected a hand-in of at most {self._offer_bytes} bytes, got {len(content)}")
            if self._is_open:
                self._is_open = _write(_OFFERS, FRAME.pack(len(content), Kind.OFFER), content)
            if self._is_open:
                self._best = score
            return self._is_open

    def _refuse(self, reason: str) -> bool:
        if reason not in self._refusals and len(self._refusals) < MOST_NOTES:
            self._refusals.add(reason)
            print(f"hand-in refused: {reason}", file=sys.stderr)
        return False

    @property
    def failure(self) -> str:
        """Why nothing was handed in, where something was meant to be; empty otherwise."""
        return next(iter(self._refusals), "") if self._best is None else ""


def _write(fd: int, *parts: bytes) -> bool:
    """Write everything, waiting while the pipe is full. False: nobody reads it any more."""
    left = [memoryview(p) for p in parts]
    try:
        while left:
            n = os.writev(fd, left)
            while left and n >= len(left[0]):
                n -= len(left.pop(0))
            if left:
                left[0] = left[0][n:]
    except OSError:  # hung up on, or closed by the program: there is nobody to tell
        return False
    return True


# ---- running the program ----------------------------------------------------------------------------------------


def _play(
    source: bytes, problem: Problem, start: np.ndarray, seed: int, deadline: float, offer: Offering
) -> tuple[Status, str]:
    """Run a program to its end, whatever that is."""
    try:
        code = compile(source, PROGRAM, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, OverflowError, RecursionError, MemoryError) as error:
        return Status.INVALID, f"is not valid Python: {_told(error)}"
    module = ModuleType("program")
    module.__file__ = PROGRAM
    sys.modules["program"] = module  # dataclasses and typing look a class's module up there
    text = source.decode("utf-8", "replace")
    linecache.cache[PROGRAM] = (len(text), None, text.splitlines(keepends=True), PROGRAM)
    try:
        exec(code, module.__dict__)
    except MemoryError as error:
        return Status.OUT_OF_MEMORY, _told(error)
    except Exception as error:  # another's code: whatever it raises is its defect
        return Status.INVALID, f"does not load: {_told(error)}"
    except BaseException as error:
        return Status.CRASH, _told(error)
    optimize = getattr(module, "optimize", None)
    if not callable(optimize):
        return Status.INVALID, "expected a function optimize(problem, start, seed, deadline, offer), found none"
    try:
        result = optimize(problem, start, seed, deadline, offer)
        if result is not None:
            offer(result)
    except MemoryError as error:
        return Status.OUT_OF_MEMORY, _told(error)
    except BaseException as error:  # SystemExit as well: a program that exits has not returned
        if isinstance(error, TypeError) and error.__traceback__ and error.__traceback__.tb_next is None:
            return Status.INVALID, f"expected optimize to take (problem, start, seed, deadline, offer): {error}"
        return Status.CRASH, _told(error)
    if offer.failure:
        return Status.INVALID, f"handed in nothing that is a construction: {offer.failure}"
    return Status.OK, ""


def _told(error: BaseException) -> str:
    """Print the traceback, and return its last line, with the program's line that was the last to run."""
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    resource.setrlimit(resource.RLIMIT_AS, (hard, hard))  # room for last words when memory has run out
    own = error.__traceback__.tb_next if error.__traceback__ else None
    with suppress(OSError, ValueError):  # stderr closed by the program
        traceback.print_exception(type(error), error, own, file=sys.__stderr__)
    lines = [frame.lineno for frame in traceback.extract_tb(own) if frame.filename == PROGRAM]
    where = f" ({PROGRAM}, line {lines[-1]})" if lines else ""
    return traceback.format_exception_only(error)[-1].strip() + where
