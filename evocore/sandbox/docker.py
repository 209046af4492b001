"""The sandbox of containers: a fresh one for every program, or a locked-down one for many.

What the engine has to give a container, and what it must not, stands in `docker_container.Plan`. The program's side and
the supervisor's are those of the embedded sandbox: a runner, which here is the container's first process, forks the
program, and pipes lead from the program straight to the controller. So the engine has to run on this machine.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from evocore.errors import SandboxUnavailable
from evocore.sandbox import docker_image
from evocore.sandbox.base import Job, Limits, Offer, Outcome, Tier
from evocore.sandbox.docker_container import Plan, RunnerContainer, engine, new_label, sweep
from evocore.sandbox.docker_runner import SCRATCH
from evocore.sandbox.process import ProcessSandbox
from evocore.sandbox.request import Request
from evocore.sandbox.runner_process import ControlledRunner
from evocore.sandbox.supervisor import Supervisor

WARM_JOBS = 1000


class DockerSandbox(ProcessSandbox):
    """Runs optimizer programs in containers. Safe to use from several threads.

    As many run at once as the machine has processors; further ones wait for their turn, and their time begins when
    they do. The next container is started while a program still runs. Leaving the ``with`` block removes all of them.

    Parameters
    ----------
    warm : bool
        Keep a container for many programs, one after the other, each in a lockdown of its own: a fraction of the time,
        and a wall less. By default every program gets a fresh container.
    image : str, optional
        Name of an image made from the project's Dockerfile. By default one of this very installation, which is built
        where it is missing.
    runtime : str, optional
        One of the engine's runtimes instead of its default. "runsc", gVisor, has to be registered with the arguments
        ``--network=none --host-uds=open``; it has neither Landlock nor CPU clocks that can be read from outside, so
        programs cannot share a container, and until they end their CPU time is taken for the time that has passed.
    kill_seconds : float
        How long a runner may take to end a program that it was told to end, before its container is removed.

    Attributes
    ----------
    label : str
        What the containers of this sandbox carry as their label `evocore.sandbox.owner`.

    Raises
    ------
    SandboxUnavailable
        No engine answers, or it is on another machine.
    """

    def __init__(
        self, *, warm: bool = False, image: str | None = None, runtime: str | None = None, kill_seconds: float = 5.0
    ) -> None:
        self.tier = Tier.DOCKER
        with engine() as client:
            sweep(client)
            image_id = image or docker_image.ensure(client).id
        self.label = new_label()
        self._packed = {}
        plan = Plan(image_id, runtime, self.label, Limits(1.0, 1.0).memory_bytes, is_shared=warm)
        self._turns = threading.BoundedSemaphore(os.cpu_count() or 1)
        supervisor = ContainerSupervisor(plan, WARM_JOBS if warm else 1, kill_seconds)
        supervisor.start()
        self._supervisor = supervisor
        self._finalizer = weakref.finalize(self, ContainerSupervisor.close, supervisor)

    _scratch = SCRATCH

    def run(
        self,
        job: Job,
        limits: Limits,
        on_offer: Callable[[Offer], bool | None] | None = None,
        *,
        checkpoints: Sequence[float] = (),
        on_checkpoint: Callable[[float, float], bool | None] | None = None,
    ) -> Outcome:
        """Run a program to its end, as `ProcessSandbox.run` does, when it is its turn."""
        with self._turns:
            return super().run(job, limits, on_offer, checkpoints=checkpoints, on_checkpoint=on_checkpoint)


class ContainerSupervisor(Supervisor):
    """Gives every program a container to itself for as long as it runs.

    Parameters
    ----------
    plan : Plan
        How containers are made; for more memory where a program may have more.
    recycle_after : int
        How many programs a container gets, one after the other.
    kill_seconds : float
        How long a runner may take to end a program that it was told to end.
    """

    def __init__(self, plan: Plan, recycle_after: int, kill_seconds: float) -> None:
        super().__init__(recycle_after, kill_seconds, Tier.DOCKER)
        self._plan = plan

    def close(self) -> None:
        """End everything and wait for it; then remove what should not be there any more."""
        super().close()
        with suppress(SandboxUnavailable), engine() as client:  # an engine that has gone has been told of
            sweep(client, label=self._plan.label)

    def _new_runner(self, folder: Path) -> ControlledRunner:
        return RunnerContainer(folder, self._plan)

    def _warm_up(self) -> None:
        with suppress(OSError):
            self._start_runner()

    def _runner_for(self, request: Request) -> ControlledRunner:
        memory_bytes = request.limits.memory_bytes
        if memory_bytes > self._plan.memory_bytes:
            self._plan = replace(self._plan, memory_bytes=memory_bytes)
        free = [r for r in self._free() if r.plan.memory_bytes >= memory_bytes]
        runner = min(free, key=lambda r: r.started_at) if free else self._start_runner()
        if runner.n_started + 1 >= self._recycle_after:
            runner.is_retired = True
            if len(free) < 2:
                self._warm_up()  # for the next program, while this one runs
        return runner

    def _free(self) -> list[RunnerContainer]:
        """Containers that wait for a program, or will when they are up."""
        return [r for r in self._runners if isinstance(r, RunnerContainer) and not (r.is_retired or r.tries)]
