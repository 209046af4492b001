"""The one thread that owns the runners, reads every candidate's pipes, stamps what arrives, and keeps time."""

from __future__ import annotations

import fcntl
import os
import selectors
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from evocore.errors import SandboxUnavailable
from evocore.sandbox import linux
from evocore.sandbox.base import Status, Tier
from evocore.sandbox.request import Request
from evocore.sandbox.runner_process import ControlledRunner, RunnerProcess
from evocore.sandbox.tries import Try
from evocore.sandbox.wire import Garbage

READY_SECONDS = 180.0
HELLO_SECONDS = 60.0
RESEND_SECONDS = 0.02
FOLDER_PREFIX = "evocore-sandbox-"
ABANDONED_SECONDS = 60.0


def remove_abandoned(parent: Path) -> None:
    """Remove the folders of this user's sandboxes that nobody holds any more.

    A sandbox holds a lock on its folder, which the kernel lets go with the last of its process. A folder younger than
    `ABANDONED_SECONDS` may be one that is just being made, and stays.
    """
    with suppress(OSError):  # no right to look there
        for folder in list(parent.glob(f"{FOLDER_PREFIX}*")):
            with suppress(OSError):  # held, gone meanwhile, or not to be removed
                fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
                try:
                    found = os.fstat(fd)
                    if found.st_uid == os.getuid() and time.time() - found.st_mtime > ABANDONED_SECONDS:
                        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                        linux.remove_tree(folder)
                finally:
                    os.close(fd)


class Supervisor:
    """Runs requests: first in the shared runner, once more in a runner of their own if that died.

    Parameters
    ----------
    recycle_after : int
        How many jobs a runner gets before a fresh one takes its place.
    kill_seconds : float
        How long a runner may take to end a program that it was told to end.
    tier : Tier
        How programs are confined.
    """

    def __init__(self, recycle_after: int, kill_seconds: float, tier: Tier) -> None:
        self._tier = tier
        self._thread = threading.Thread(target=self._serve, name="evocore-sandbox", daemon=True)
        self._recycle_after = recycle_after
        self._kill_seconds = kill_seconds
        self._selector = selectors.DefaultSelector()
        self._wake = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._orders: deque[Callable[[], None]] = deque()
        self._lock = threading.Lock()
        self._is_closing = False
        self._is_done = False
        self._folder = Path(tempfile.mkdtemp(prefix=FOLDER_PREFIX))
        self._in_use = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        fcntl.flock(self._in_use, fcntl.LOCK_EX)
        self._n_runners = 0
        self._shared: ControlledRunner | None = None
        self._next: ControlledRunner | None = None
        self._runners: set[ControlledRunner] = set()

    # ---- called from other threads --------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin, with the first runner, and clear up after sandboxes whose processes were all killed at once."""
        self._thread.start()
        remove_abandoned(self._folder.parent)

    def submit(self, request: Request) -> None:
        """Run a request; its outcome or error arrives there."""
        if not self._order(lambda: self._place(request)):
            request.fail(_closed())

    def stop(self, request: Request, detail: str) -> None:
        """End a request that is not needed any more."""
        request.stop()
        self._order(lambda: self._stop(request, detail))

    def close(self) -> None:
        """End everything and wait for it."""
        self._order(self._close)
        if threading.current_thread() is not self._thread:  # the garbage collector may close a sandbox from any thread
            self._thread.join()
        with suppress(PermissionError):  # made immutable by a program that ran as root
            linux.remove_tree(self._folder)
        os.close(self._in_use)

    def runner_pids(self) -> list[int]:
        """Process ids of the runners that are up."""
        return [r.pid for r in list(self._runners) if r.pid]

    def _order(self, what: Callable[[], None]) -> bool:
        """Have this thread do something; False once it is too late."""
        with self._lock:
            if self._is_done or self._is_closing:
                return False
            self._orders.append(what)
            os.eventfd_write(self._wake, 1)
            return True

    # ---- the loop -------------------------------------------------------------------------------------------------

    def _serve(self) -> None:
        try:
            self._selector.register(self._wake, selectors.EVENT_READ, self._take_orders)
            self._warm_up()
            while not (self._is_closing and not self._runners):
                for key, _ in self._selector.select(self._patience()):
                    if self._selector.get_map().get(key.fd) is key:  # else an earlier event has closed it
                        key.data()
                self._keep_time(time.monotonic())
        finally:
            self._leave()

    def _leave(self) -> None:
        with self._lock:
            self._is_done = True
        for runner in list(self._runners):  # only where the loop above failed
            runner.kill()
            self._lose(runner, "the sandbox' own thread failed")
        while self._orders:
            self._orders.popleft()()
        self._selector.close()
        os.close(self._wake)

    def _take_orders(self) -> None:
        with suppress(BlockingIOError):
            os.eventfd_read(self._wake)
        while self._orders:
            self._orders.popleft()()

    def _patience(self) -> float | None:
        now = time.monotonic()
        due = [self._due(attempt) for runner in self._runners for attempt in runner.tries]
        due += [runner.started_at + READY_SECONDS for runner in self._runners if not runner.is_ready]
        due += [now + RESEND_SECONDS for runner in self._runners if runner.is_ready and runner.waiting]
        first = min((d for d in due if d is not None), default=None)
        return None if first is None else max(0.0, first - now)

    def _due(self, attempt: Try) -> float | None:
        """When something has to be done about a try."""
        if attempt.killed_at is not None:
            return attempt.killed_at + self._kill_seconds
        if attempt.started_at is not None:
            request = attempt.request
            return attempt.started_at + request.budget_seconds + request.limits.grace_seconds
        return attempt.sent_at + HELLO_SECONDS if attempt.sent_at is not None else None

    def _keep_time(self, now: float) -> None:
        for runner in list(self._runners):
            runner.send()
            if not runner.is_ready and now > runner.started_at + READY_SECONDS:
                runner.kill()
            for attempt in list(runner.tries):
                due = self._due(attempt)
                if due is not None and now >= due:
                    self._overdue(runner, attempt, now)

    def _overdue(self, runner: ControlledRunner, attempt: Try, now: float) -> None:
        if attempt.killed_at is not None:
            runner.kill()  # it does not do what it is told: stopped by a program, or stuck
        elif attempt.started_at is not None:
            attempt.kill(Status.TIMEOUT, "did not return in time", now)
        else:
            attempt.kill(Status.INFRASTRUCTURE, f"did not start within {HELLO_SECONDS:.0f} seconds", now)

    # ---- runners --------------------------------------------------------------------------------------------------

    def _warm_up(self) -> None:
        """Start the shared runner before a job asks for it. Where that fails, the job will be told."""
        with suppress(OSError):
            self._shared = self._start_runner()

    def _start_runner(self) -> ControlledRunner:
        self._n_runners += 1
        runner = self._new_runner(self._folder / str(self._n_runners))
        self._runners.add(runner)
        self._selector.register(runner.socket, selectors.EVENT_READ, lambda: self._hear(runner))
        self._selector.register(runner.end_fd, selectors.EVENT_READ, lambda: self._lose(runner))
        return runner

    def _new_runner(self, folder: Path) -> ControlledRunner:
        return RunnerProcess(folder, self._tier)

    def _hear(self, runner: ControlledRunner) -> None:
        try:
            is_ready = runner.socket.recv(64) == b"ready"
        except ConnectionError:
            is_ready = False
        if not is_ready:  # it ends; the process' own end is what counts
            self._selector.unregister(runner.socket)
            return
        runner.is_ready = True
        if runner is self._next:
            self._retire(self._shared)
            self._shared, self._next = runner, None

    def _retire(self, runner: ControlledRunner | None) -> None:
        """Let a runner end as soon as it has no job any more."""
        if runner is not None:
            runner.is_retired = True
            self._release(runner)

    def _release(self, runner: ControlledRunner) -> None:
        if runner.is_retired and not runner.tries:
            self._hang_up(runner)

    def _hang_up(self, runner: ControlledRunner) -> None:
        if runner.socket.fileno() >= 0:  # else it has been done
            with suppress(KeyError):
                self._selector.unregister(runner.socket)
            runner.hang_up()

    def _lose(self, runner: ControlledRunner, why: str = "") -> None:
        """A runner has ended, in order or not."""
        for source in (runner.socket, runner.end_fd):
            with suppress(KeyError, ValueError):
                self._selector.unregister(source)
        complaints = why or runner.complaints()
        how = runner.bury()
        self._runners.discard(runner)
        for attempt in list(runner.tries):
            self._drop(runner, attempt)
            self._after_loss(runner, attempt, how, complaints)
        if runner is self._next:
            self._next = None
        if runner is self._shared:
            self._shared = None
            if runner.is_ready and not (self._is_closing or self._is_done):
                self._warm_up()

    def _after_loss(self, runner: ControlledRunner, attempt: Try, how: str, complaints: str) -> None:
        request = attempt.request
        if self._is_closing or self._is_done:
            request.fail(_closed())
        elif request.is_stopped or attempt.verdict is not None:
            request.finish(attempt.outcome(time.monotonic()))
        elif request.n_tries < 2:
            self._place(request)
        elif runner.trouble:
            request.fail(SandboxUnavailable(runner.trouble))
        elif not runner.is_ready:
            said = complaints.splitlines()[-1] if complaints else "nothing"
            request.fail(SandboxUnavailable(f"expected the sandbox' runner to start, got {how}; it said: {said}"))
        else:
            attempt.verdict = runner.verdict_on_death()
            request.finish(attempt.outcome(time.monotonic()))

    # ---- requests -------------------------------------------------------------------------------------------------

    def _place(self, request: Request) -> None:
        if self._is_done or self._is_closing:
            request.fail(_closed())
            return
        try:
            runner = self._runner_for(request)
            attempt = runner.new_try(request)
        except OSError as error:  # no process, file or memory left on this machine
            request.fail(SandboxUnavailable(f"expected the machine to start another process, got: {error}"))
            return
        runner.tries.add(attempt)
        runner.waiting.append(attempt)
        listen = self._selector.register
        listen(attempt.offers, selectors.EVENT_READ, lambda: self._read_offers(attempt))
        listen(attempt.control, selectors.EVENT_READ, lambda: self._read_control(runner, attempt))
        for fd in attempt.tails:
            listen(fd, selectors.EVENT_READ, lambda fd=fd: self._read_output(attempt, fd))
        runner.send()

    def _runner_for(self, request: Request) -> ControlledRunner:
        if request.n_tries > 0:
            alone = self._start_runner()
            alone.is_retired = True
            return alone
        if self._shared is None:
            self._shared = self._start_runner()
        elif self._shared.n_started + 1 >= self._recycle_after and self._next is None:
            self._next = self._start_runner()
        return self._shared

    def _read_offers(self, attempt: Try) -> None:
        try:
            if not attempt.read_offers():
                self._selector.unregister(attempt.offers)
        except Garbage as garbage:
            self._selector.unregister(attempt.offers)
            attempt.kill(Status.VIOLATION, str(garbage), time.monotonic())

    def _read_output(self, attempt: Try, fd: int) -> None:
        if not attempt.read_output(fd):
            self._selector.unregister(fd)

    def _read_control(self, runner: ControlledRunner, attempt: Try) -> None:
        try:
            is_open = attempt.read_control()
        except Garbage as garbage:
            attempt.kill(Status.VIOLATION, str(garbage), time.monotonic())
            runner.kill()
            return
        if attempt.has_ended:
            self._finish(runner, attempt)
        elif not is_open:  # the runner is gone; the end of its process is what counts
            self._selector.unregister(attempt.control)

    def _finish(self, runner: ControlledRunner, attempt: Try) -> None:
        now = time.monotonic()
        if attempt.verdict is None:
            try:
                attempt.drain()
            except Garbage as garbage:
                attempt.verdict = (Status.VIOLATION, str(garbage))
        self._drop(runner, attempt)
        attempt.request.finish(attempt.outcome(now))
        self._release(runner)

    def _drop(self, runner: ControlledRunner, attempt: Try) -> None:
        for source in (attempt.offers, attempt.stdout, attempt.stderr, attempt.control):
            with suppress(KeyError):
                self._selector.unregister(source)
        runner.tries.discard(attempt)
        if attempt in runner.waiting:
            runner.waiting.remove(attempt)
        attempt.close()

    def _stop(self, request: Request, detail: str) -> None:
        now = time.monotonic()
        for runner in list(self._runners):
            for attempt in [a for a in runner.tries if a.request is request]:
                attempt.kill(Status.OK, detail, now)
                if attempt in runner.waiting:  # the runner does not know of it
                    self._drop(runner, attempt)
                    request.finish(attempt.outcome(now))
                    self._release(runner)

    def _close(self) -> None:
        with self._lock:
            self._is_closing = True
        for runner in list(self._runners):
            runner.is_retired = True
            if runner.is_ready:
                self._hang_up(runner)
            else:  # it does not listen yet
                runner.kill()


def _closed() -> SandboxUnavailable:
    return SandboxUnavailable("expected an open sandbox, got one that has been closed")
