"""The embedded sandbox: one process a program, forked from a warm runner."""

from __future__ import annotations

import hashlib
import sys
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType

from evocore.errors import ConfigError, SandboxUnavailable
from evocore.sandbox import namespaces
from evocore.sandbox.base import MOST_SOURCE_BYTES, Job, Limits, Offer, Outcome, Status, Tier
from evocore.sandbox.request import Request, packed
from evocore.sandbox.supervisor import Supervisor


class ProcessSandbox:
    """Runs optimizer programs in processes of their own. Safe to use from several threads.

    A runner, one process with everything loaded and compiled that programs need, is started in the background as soon
    as the sandbox is made; every job is a fork of it. Leaving the ``with`` block ends all of it: no process, file or
    folder is left.

    Parameters
    ----------
    tier : Tier or str
        How programs are confined: any but ``docker``.
    recycle_after : int
        How many jobs a runner gets before a fresh one takes its place.
    kill_seconds : float
        How long the runner may take to end a program that it was told to end. One that takes longer, because a program
        has stopped it for example, is killed and replaced.

    Attributes
    ----------
    tier : Tier
        How programs are confined; it is in every outcome as well.

    Raises
    ------
    SandboxUnavailable
        The machine does not offer the tier.
    """

    def __init__(self, tier: Tier | str, *, recycle_after: int = 1000, kill_seconds: float = 5.0) -> None:
        self.tier = Tier(tier)
        if sys.platform != "linux":
            raise SandboxUnavailable(f"expected Linux to run programs in processes of their own, got {sys.platform}")
        if recycle_after < 1:
            raise ConfigError(f"expected recycle_after of at least 1, got {recycle_after}")
        self._packed: dict[Path, bytes] = {}
        self._supervisor = Supervisor(recycle_after, kill_seconds, self.tier)
        self._supervisor.start()
        self._finalizer: Callable[[], object] = weakref.finalize(self, Supervisor.close, self._supervisor)

    def __enter__(self) -> ProcessSandbox:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, stack: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End everything. Jobs that still run raise SandboxUnavailable in their threads."""
        self._finalizer()

    def runner_pids(self) -> list[int]:
        """Process ids of the runners that are up: usually one."""
        return self._supervisor.runner_pids()

    def run(
        self,
        job: Job,
        limits: Limits,
        on_offer: Callable[[Offer], bool | None] | None = None,
        *,
        checkpoints: Sequence[float] = (),
        on_checkpoint: Callable[[float, float], bool | None] | None = None,
    ) -> Outcome:
        """Run a program to its end.

        Parameters
        ----------
        job : Job
        limits : Limits
        on_offer : callable
            Called in this thread with every hand-in that arrived in time, in order, unchecked. Returning False stops
            the program (status ``ok``, detail "stopped early"). Should the runner die, the job is run once more, and
            hand-ins of both tries arrive here.
        checkpoints : sequence of float
            Seconds after the program's start at which `on_checkpoint` is called.
        on_checkpoint : callable
            Called in this thread with the checkpoint and the CPU seconds used so far. Returning False stops the
            program as well.

        Returns
        -------
        Outcome

        Raises
        ------
        SandboxUnavailable
            No runner can be started, or the sandbox is or was closed.
        """
        try:
            source = job.source.encode()
        except UnicodeEncodeError as error:
            return self._refused(f"is not valid Unicode text: {error.reason} at character {error.start}")
        if len(source) > MOST_SOURCE_BYTES:
            return self._refused(f"expected a program of at most {MOST_SOURCE_BYTES} bytes, got {len(source)}")
        request = self._request(job, limits, source)
        try:
            self._supervisor.submit(request)
            return self._attend(request, on_offer, deque(sorted(checkpoints)), on_checkpoint)
        finally:
            if not request.is_over:  # interrupted, or an error in a callback
                self._supervisor.stop(request, "given up")
            request.clear()

    _scratch = namespaces.SCRATCH  # where a runner that does not see the machine's files unpacks a problem's folder

    def _request(self, job: Job, limits: Limits, source: bytes) -> Request:
        if "/" not in job.problem:
            return Request(job, limits, job.problem, source, self.tier)
        folder = Path(job.problem).resolve()
        if self.tier not in (Tier.DOCKER, Tier.LINUX_STRICT):
            return Request(job, limits, str(folder), source, self.tier)
        if folder not in self._packed:  # once for all jobs: what a problem is does not change meanwhile
            self._packed[folder] = packed(folder)
        content = self._packed[folder]
        place = f"{self._scratch}/problem-{hashlib.sha256(content).hexdigest()[:16]}/{folder.name}"
        return Request(job, limits, place, source, self.tier, content)

    def _attend(
        self,
        request: Request,
        on_offer: Callable[[Offer], bool | None] | None,
        checkpoints: deque[float],
        on_checkpoint: Callable[[float, float], bool | None] | None,
    ) -> Outcome:
        while True:
            got = request.next(checkpoints[0] if checkpoints and on_checkpoint else None)
            if isinstance(got, Outcome):
                return got
            go_on: bool | None = None
            if isinstance(got, Offer):
                go_on = on_offer(got) if on_offer else None
            elif on_checkpoint:
                go_on = on_checkpoint(checkpoints.popleft(), got)
            if go_on is False:
                checkpoints.clear()
                self._supervisor.stop(request, "stopped early")

    def _refused(self, detail: str) -> Outcome:
        """Make the outcome of a program that is not even started."""
        return Outcome(Status.INVALID, 0.0, 0.0, 0, 0, 0, "", "", detail, self.tier)
