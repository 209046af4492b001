"""The warm forking runner: `python -P -s -B -m evocore.sandbox.runner SOCKET PARENT FOLDER TIER`.

One single-threaded process with everything loaded that programs need. It forks one child a job, watches it, kills it
when told to, and kills whatever a program leaves behind. It reads neither programs nor constructions and holds no
secret: a child sees its whole memory.
"""

from __future__ import annotations

import gc
import json
import os
import select
import signal
import socket
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from evocore.sandbox import candidate, linux, namespaces
from evocore.sandbox.base import Tier
from evocore.sandbox.confinement import Confinement, visible
from evocore.sandbox.request import unpack
from evocore.sandbox.warm import warm_up
from evocore.sandbox.wire import FAREWELL, KILL, MOST_NOTE_BYTES, MOST_PACKET_BYTES, Kind, frame

STRAY_CHECK_MS = 100
PURGE_CHECK_MS = 2
EXTRA_TASKS = 512
LAST_PURGE_SECONDS = 5.0
HANG_UP_MS = 2000
LOST_CONTROLLER = 75


@dataclass
class Running:
    """A child and where to report on it."""

    pid: int
    pidfd: int
    control: socket.socket
    has_ended: bool = False


class Runner:
    """The loop: jobs in, reports out.

    Parameters
    ----------
    jobs : socket
        Where job packets come from; its end is the end of the runner.
    wakeup : int
        Readable once a signal has asked for the end.
    confinement : Confinement or None
        What candidates are locked into.
    """

    def __init__(self, jobs: socket.socket, wakeup: int, confinement: Confinement | None) -> None:
        self._jobs = jobs
        self._confinement = confinement
        self._last_packet: bytes | None = None
        self._wakeup = wakeup
        self._pid = os.getpid()
        self._running: dict[int, Running] = {}
        self._poll = select.poll()
        self._poll.register(jobs, select.POLLIN)
        self._poll.register(wakeup, select.POLLIN)
        self._n_tasks = linux.n_tasks_of_user() + EXTRA_TASKS

    def serve(self) -> None:
        """Run jobs until the controller says farewell, or dies, or a signal asks for the end."""
        while True:
            events = dict(self._poll.poll(self._patience_ms()))
            if self._wakeup in events:
                return
            if self._jobs.fileno() in events:
                packet, fds = self._receive()
                if packet in (FAREWELL, b""):
                    self._last_packet = packet
                    return
                self._begin(json.loads(packet), fds)
            for run in list(self._running.values()):
                if run.control.fileno() in events:
                    self._obey(run)
                if run.pidfd in events:
                    self._note_end(run)
            if self._running and not self._purge():
                self._deliver()

    def _patience_ms(self) -> int | None:
        if any(run.has_ended for run in self._running.values()):
            return PURGE_CHECK_MS
        return STRAY_CHECK_MS if self._running else None

    def _receive(self) -> tuple[bytes, list[int]]:
        try:
            packet, fds, _, _ = socket.recv_fds(self._jobs, MOST_PACKET_BYTES, 5, socket.MSG_CMSG_CLOEXEC)
        except ConnectionError:  # hung up on with something left unread
            return b"", []
        return packet, fds

    def _begin(self, job: dict[str, Any], fds: list[int]) -> None:
        job["n_tasks"] = self._n_tasks
        control = socket.socket(fileno=fds[4])
        try:
            pid = self._fork(job, fds[:4])
            pidfd = self._watch(pid)
        except OSError as error:  # no process, file or memory left: the program has not begun
            self._refuse(fds[1], control, f"the runner cannot fork: {error}")
            return
        finally:
            for fd in fds[:4]:
                os.close(fd)
        run = Running(pid, pidfd, control)
        self._running[pid] = run
        self._poll.register(run.pidfd, select.POLLIN)
        self._poll.register(run.control, select.POLLIN)
        self._announce(run)

    def _refuse(self, offers: int, control: socket.socket, why: str) -> None:
        """Say that a job cannot be run, as a candidate does that cannot begin."""
        with suppress(OSError):  # the controller is not interested any more
            os.write(offers, frame(Kind.FAIL, why.encode()[:MOST_NOTE_BYTES]))
            ended = {"event": "ended", "exit_code": 1, "cpu_seconds": 0.0, "peak_memory_bytes": 0}
            control.send(json.dumps(ended).encode(), socket.MSG_NOSIGNAL)
        control.close()

    def _fork(self, job: dict[str, Any], fds: list[int]) -> int:
        unpack(fds[0], job)
        lock = self._confinement.lock(job["problem"]) if self._confinement else None
        # A signal between fork and the reset of its handler would wake the runner instead of ending the child.
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
        try:
            pid = os.fork()
            if pid == 0:
                try:
                    signal.set_wakeup_fd(-1)
                    signal.signal(signal.SIGTERM, signal.SIG_DFL)
                    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
                    candidate.run(job, fds, self._pid, lock)
                finally:
                    os._exit(1)
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
        return pid

    def _watch(self, pid: int) -> int:
        """Open a file that is readable once a child has ended."""
        return os.pidfd_open(pid)

    def _announce(self, run: Running) -> None:
        with suppress(ConnectionError):  # the controller is not interested any more
            socket.send_fds(run.control, [json.dumps({"event": "started"}).encode()], [run.pidfd], socket.MSG_NOSIGNAL)

    def _obey(self, run: Running) -> None:
        with suppress(ConnectionError):
            if run.control.recv(64) not in (KILL, b""):
                return
        self._poll.unregister(run.control)  # one word is all there is to say
        self._end(run)

    def _end(self, run: Running) -> None:
        """Kill a child and its group. It has not been reaped: its number cannot mean another process yet."""
        linux.kill(run.pid)
        linux.kill_group(run.pid)

    def _note_end(self, run: Running) -> None:
        """Begin to clear up after a child that has ended. Reaped last: until then its CPU clock can be read."""
        run.has_ended = True
        linux.kill_group(run.pid)
        self._poll.unregister(run.pidfd)
        os.close(run.pidfd)

    def _purge(self) -> bool:
        """Kill what programs have left behind; True while something of it is still there.

        Whoever loses its parent becomes a child of this process. So a child that is no job is such an orphan, and its
        own children are dealt with once they are orphans in turn.
        """
        strays = [pid for pid in linux.children(self._pid) if pid not in self._running]
        for stray in strays:
            for pid in (stray, *linux.descendants(stray)):
                linux.kill(pid)
            with suppress(ChildProcessError):
                os.waitpid(stray, os.WNOHANG)
        return bool(strays)

    def _deliver(self) -> None:
        """Report the jobs that have ended: nothing of them is left."""
        for run in [r for r in self._running.values() if r.has_ended]:
            del self._running[run.pid]
            with suppress(KeyError):
                self._poll.unregister(run.control)
            self._say(run, self._report(run))
            run.control.close()

    def _report(self, run: Running) -> dict[str, Any]:
        """Reap a child, and say how it ended."""
        _, status, usage = os.wait4(run.pid, 0)
        return {
            "event": "ended",
            "exit_code": os.waitstatus_to_exitcode(status),
            "cpu_seconds": usage.ru_utime + usage.ru_stime,
            "peak_memory_bytes": usage.ru_maxrss * 1024,
        }

    def _say(self, run: Running, what: dict[str, Any]) -> None:
        with suppress(ConnectionError):  # the controller is not interested any more
            run.control.send(json.dumps(what).encode(), socket.MSG_NOSIGNAL)

    def has_lost_controller(self) -> bool:
        """Tell, after the end, whether the controller has died.

        The parent's process id does not tell: while a controller dies, its threads, files and children go one after
        the other, and the kernel's signal comes with the first of them. Its socket tells, a little later.
        """
        poll = select.poll()
        poll.register(self._jobs, select.POLLIN)
        while self._last_packet is None:
            if not poll.poll(HANG_UP_MS):
                return False  # it lives: somebody else has sent the signal
            packet, fds = self._receive()
            for fd in fds:
                os.close(fd)
            if packet in (FAREWELL, b""):
                self._last_packet = packet
        return self._last_packet == b""

    def close(self) -> None:
        """Kill every job and everything that came of it."""
        for run in self._running.values():
            self._end(run)
        for run in list(self._running.values()):
            os.waitpid(run.pid, 0)
            del self._running[run.pid]
        give_up = time.monotonic() + LAST_PURGE_SECONDS
        while self._purge() and time.monotonic() < give_up:
            time.sleep(PURGE_CHECK_MS / 1000)


def main() -> None:
    """Load everything, then serve."""
    jobs, controller, folder = socket.socket(fileno=int(sys.argv[1])), int(sys.argv[2]), Path(sys.argv[3])
    tier = Tier(sys.argv[4])
    _heed_signals()
    signal.signal(signal.SIGTERM, lambda signum, stack: _leave(folder))
    linux.die_with_parent(signal.SIGTERM)
    if os.getppid() != controller:
        _leave(folder)
    if tier is Tier.LINUX_STRICT:
        _step_inside(folder)
    runner = serve(jobs, Runner, None if tier is Tier.UNSAFE else Confinement())
    if runner.has_lost_controller():
        _leave(folder)


def _heed_signals() -> None:
    """Undo what was ignored where evocore was started, as by a shell with `&`.

    An ignored SIGCHLD leaves no end of a child to wait for, and children inherit the rest. SIGPIPE and SIGXFSZ are
    those that Python itself ignores.
    """
    for number in signal.valid_signals() - {signal.SIGPIPE, signal.SIGXFSZ}:
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)


def _step_inside(folder: Path) -> None:
    """Go on as another process, in namespaces of its own. This one waits for its end, and ends the same way."""
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    pid = namespaces.fork_inside(visible(), str(folder))
    if pid == 0:
        linux.die_with_parent(signal.SIGKILL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
        return
    signal.signal(signal.SIGTERM, lambda signum, stack: linux.kill(pid, signal.SIGTERM))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if code == LOST_CONTROLLER:
        _leave(folder)
    os._exit(code if code >= 0 else 128 - code)


def serve(jobs: socket.socket, kind: type[Runner], confinement: Confinement | None) -> Runner:
    """Load everything, say so, and run jobs to the end."""
    linux.become_subreaper()
    warm_up()
    for stream in (sys.stdout, sys.stderr):  # the candidates' as well: any text, and no line kept back
        stream.reconfigure(encoding="utf-8", errors="backslashreplace", line_buffering=True)  # type: ignore[union-attr]
    gc.collect()
    gc.freeze()  # else the first collection in a child would copy every page that holds an object
    linux.gather_pages()
    wakeup, signalled = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(signalled)
    signal.signal(signal.SIGTERM, lambda signum, stack: None)
    runner = kind(jobs, wakeup, confinement)
    with suppress(ConnectionError):  # gone already: serving will tell
        jobs.send(b"ready", socket.MSG_NOSIGNAL)
    runner.serve()
    runner.close()
    return runner


def _leave(folder: Path) -> NoReturn:
    """Remove the folder, as the controller cannot any more, and end.

    Runs as a handler as well. The kernel sends the signal once for every thread of the controller that dies, so a
    second one comes while this works: it must not find a lock that this holds.
    """
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    linux.remove_tree(folder)
    with suppress(OSError):  # another runner's folder is still in it
        folder.parent.rmdir()
    os._exit(LOST_CONTROLLER)


if __name__ == "__main__":
    main()
