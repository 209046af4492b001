"""A job as its caller sees it: hand-ins to take, one after the other, and an outcome at the end."""

from __future__ import annotations

import fcntl
import io
import math
import os
import threading
import time
import zipfile
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from evocore.errors import ConfigError, EvocoreError
from evocore.sandbox import linux
from evocore.sandbox.base import Job, Limits, Offer, Outcome, Tier

_ALL_SEALS = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL

MOST_FOLDER_BYTES = 8 << 20
MOST_WAITING = 16
MOST_WAITING_BYTES = 128 << 20
SETTLE_SECONDS = 1.0


class Request:
    """What the calling thread and the supervisor share about one job.

    Parameters
    ----------
    job : Job
    limits : Limits
    problem : str
        The job's problem, a folder as an absolute path.
    source : bytes
        The program.
    tier : Tier
        How it is confined.
    folder : bytes
        An archive of the problem's folder, for a runner that cannot see it.
    """

    def __init__(self, job: Job, limits: Limits, problem: str, source: bytes, tier: Tier, folder: bytes = b"") -> None:
        self.job = job
        self.tier = tier
        self.limits = limits
        self.problem = problem
        self.source_bytes = len(source)
        self.folder_bytes = len(folder)
        self.budget_seconds = min(job.budget_seconds, limits.wall_seconds)
        self.folders: list[Path] = []
        self.n_tries = 0
        self.is_stopped = False
        self.payload = os.memfd_create("evocore-job", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        for part in (source, folder, job.start.tobytes()):
            _write_all(self.payload, part)
        fcntl.fcntl(self.payload, fcntl.F_ADD_SEALS, _ALL_SEALS)
        self._changed = threading.Condition()
        self._waiting: deque[Offer] = deque()
        self._started: float | None = None
        self._cpu_seconds: Callable[[], float] = float
        self._outcome: Outcome | None = None
        self._ended = math.inf
        self._error: EvocoreError | None = None

    # ---- the supervisor's side ------------------------------------------------------------------------------------

    def begin(self, now: float, cpu_seconds: Callable[[], float]) -> None:
        """Say that the program runs, and how to ask for the CPU time it has used."""
        with self._changed:
            self._started, self._cpu_seconds = now, cpu_seconds
            self._changed.notify()

    def put(self, offer: Offer) -> None:
        """Queue a hand-in for the caller.

        A program may hand in faster than its hand-ins can be checked, and each is meant to be better than the one
        before: where too many wait, every other one is dropped, never the newest.
        """
        with self._changed:
            if self.is_stopped:
                return
            waiting = self._waiting
            waiting.append(offer)
            while len(waiting) > 1 and (
                len(waiting) > MOST_WAITING or sum(len(o.buffer) for o in waiting) > MOST_WAITING_BYTES
            ):
                kept = list(waiting)[-1::-2]
                waiting.clear()
                waiting.extend(reversed(kept))
            self._changed.notify()

    def finish(self, outcome: Outcome) -> None:
        """Hand over the outcome."""
        with self._changed:
            self._outcome = outcome
            self._ended = time.monotonic()
            self._changed.notify()

    def fail(self, error: EvocoreError) -> None:
        """Have the caller raise an error."""
        with self._changed:
            self._error = error
            self._changed.notify()

    @property
    def is_over(self) -> bool:
        """Whether there is an outcome or an error."""
        return self._outcome is not None or self._error is not None

    # ---- the caller's side ----------------------------------------------------------------------------------------

    def next(self, mark: float | None) -> Offer | Outcome | float:
        """Wait for what comes first: the next hand-in, the checkpoint at `mark` seconds, or the outcome.

        Hand-ins that still wait when the program has ended are handed over for another `SETTLE_SECONDS`; after that
        only the newest is. Large ones may take the verifier seconds each, and nobody should wait for all of them.

        Returns
        -------
        Offer, Outcome or float
            The float stands for the checkpoint: the CPU seconds used so far.
        """
        with self._changed:
            while True:
                if self._error is not None:
                    raise self._error
                if len(self._waiting) > 1 and time.monotonic() > self._ended + SETTLE_SECONDS:
                    newest = self._waiting.pop()
                    self._waiting.clear()
                    return newest
                if self._waiting:
                    return self._waiting.popleft()
                if self._outcome is not None:
                    return self._outcome
                left = None
                if mark is not None and self._started is not None:
                    left = self._started + mark - time.monotonic()
                    if left <= 0:
                        return self._cpu_seconds()
                self._changed.wait(left)

    def stop(self) -> None:
        """Take no more hand-ins."""
        with self._changed:
            self.is_stopped = True
            self._waiting.clear()

    def clear(self) -> None:
        """Wait for the end, whatever it is, and remove what the job had of files."""
        with self._changed:
            self._changed.wait_for(lambda: self.is_over)
        os.close(self.payload)
        for folder in self.folders:
            with suppress(PermissionError):  # made immutable by a program that ran as root
                linux.remove_tree(folder)


def packed(folder: Path) -> bytes:
    """Pack the files of a problem's folder, the same bytes for the same files."""
    archive = io.BytesIO()
    n_bytes = 0
    with zipfile.ZipFile(archive, "w") as packed:
        for path in sorted(p for p in folder.rglob("*") if p.is_file() and "__pycache__" not in p.parts):
            content = path.read_bytes()
            n_bytes += len(content)
            if n_bytes > MOST_FOLDER_BYTES:
                raise ConfigError(f"expected at most {MOST_FOLDER_BYTES} bytes in the folder {folder}, got more")
            packed.writestr(zipfile.ZipInfo(str(path.relative_to(folder))), content)
    return archive.getvalue()


def unpack(payload: int, job: dict[str, Any]) -> None:
    """Unpack the problem's folder where the job says that it is; nothing to do where it came unpacked."""
    place = Path(job["problem"])
    if job["folder_bytes"] and not place.exists():
        content = os.pread(payload, job["folder_bytes"], job["source_bytes"])
        zipfile.ZipFile(io.BytesIO(content)).extractall(place)


def _write_all(fd: int, content: bytes) -> None:
    left = memoryview(content)
    while left:
        left = left[os.write(fd, left) :]
