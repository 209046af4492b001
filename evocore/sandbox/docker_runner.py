"""The runner inside a container: `python -P -s -B -m evocore.sandbox.docker_runner [locked]`, the image's entry point.

It connects to the one socket that is mounted into the container, and is handed the jobs' socket there. From then on
all is as with a runner that is a process: files pass between the two sides, whatever else separates them.
"""

from __future__ import annotations

import errno
import os
import signal
import socket
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from evocore.errors import SandboxUnavailable
from evocore.sandbox.confinement import Confinement
from evocore.sandbox.runner import Runner, Running, serve
from evocore.verifiers.lockdown import hide_memory

DOOR = "/run/evocore"
SOCKET = "jobs"
SCRATCH = "/tmp"
LOCKED = "locked"  # the argument that says: programs follow each other, and each has to be locked down
LOOK_MS = 5
_MANY_TASKS = 1 << 20  # the engine counts those of this container; the user's may be in several
_OOM_COUNTS = ("/sys/fs/cgroup/memory/memory.oom_control", "/sys/fs/cgroup/memory.events")


class ContainerRunner(Runner):
    """A runner whose jobs bring along what they need of files, and whose memory the engine limits."""

    def __init__(self, jobs: socket.socket, wakeup: int, confinement: Confinement | None) -> None:
        super().__init__(jobs, wakeup, confinement)
        self._n_tasks = _MANY_TASKS
        self._n_oom_kills = n_oom_kills()
        self._unwatched: dict[int, int] = {}

    def _watch(self, pid: int) -> int:
        try:
            return super()._watch(pid)
        except OSError as error:
            if error.errno != errno.ENOSYS:
                raise
            # gVisor has no pidfd: this file is written to when a look shows the end.
            self._unwatched[pid] = os.eventfd(0, os.EFD_CLOEXEC)
            return self._unwatched[pid]

    def _announce(self, run: Running) -> None:
        if run.pid in self._unwatched:  # nor would it be one of the controller's kernel
            self._say(run, {"event": "started"})
        else:
            super()._announce(run)

    def _patience_ms(self) -> int | None:
        for pid, end in list(self._unwatched.items()):
            if os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                os.eventfd_write(end, 1)
                del self._unwatched[pid]
        return LOOK_MS if self._unwatched else super()._patience_ms()

    def _report(self, run: Running) -> dict[str, Any]:
        before, self._n_oom_kills = self._n_oom_kills, n_oom_kills()
        return {**super()._report(run), "is_out_of_memory": self._n_oom_kills > before}


def n_oom_kills() -> int:
    """How many processes of this container the kernel has killed for lack of memory."""
    for path in _OOM_COUNTS:
        with suppress(OSError):
            fields = dict(line.split() for line in Path(path).read_text().splitlines())
            return int(fields["oom_kill"])
    return 0


def confinement() -> Confinement | None:
    """Make what programs are locked into as well; nothing where the kernel cannot, and the container holds just one."""
    try:
        return Confinement()
    except SandboxUnavailable:
        if LOCKED in sys.argv:
            raise
        return None


def main() -> None:
    """Ask for the jobs' socket, load everything, then serve."""
    signal.signal(signal.SIGTERM, lambda signum, stack: sys.exit())
    hide_memory()
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as door:
        door.connect(f"{DOOR}/{SOCKET}")
        _, fds, _, _ = socket.recv_fds(door, 1, 1)
    if fds:  # else the controller has changed its mind
        serve(socket.socket(fileno=fds[0]), ContainerRunner, confinement())


if __name__ == "__main__":
    main()
