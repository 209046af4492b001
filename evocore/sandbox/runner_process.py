"""A runner as the controller sees it: its socket, its end, and the tries that it was handed."""

from __future__ import annotations

import os
import secrets
import socket
import subprocess
import sys
import tempfile
import time
from abc import ABC, abstractmethod
from contextlib import suppress
from pathlib import Path

from evocore.sandbox import linux
from evocore.sandbox.base import Status, Tier, environment
from evocore.sandbox.request import Request
from evocore.sandbox.tries import Try
from evocore.sandbox.wire import FAREWELL

MARKER = "EVOCORE_SANDBOX"
SWEEP_SECONDS = 5.0
EXIT_SECONDS = 10.0


class ControlledRunner(ABC):
    """What every runner has in common, wherever it runs. It says on its socket when it is ready.

    Parameters
    ----------
    folder : Path
        Made here, for what the runner needs of files; it goes with the sandbox' own.

    Attributes
    ----------
    socket : socket
        The near end of the jobs' socket. Hanging up ends the runner.
    end_fd : int
        Readable once the runner has ended.
    trouble : str
        What failed of that which runs it, after its end; empty where nothing did.
    """

    end_fd: int
    trouble = ""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(mode=0o700, parents=True)
        self.folder = folder
        self.is_ready = False
        self.is_retired = False
        self.n_started = 0
        self.waiting: list[Try] = []
        self.tries: set[Try] = set()
        self.started_at = time.monotonic()
        self.socket, self._far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.setblocking(False)

    @property
    @abstractmethod
    def pid(self) -> int:
        """Process id, by this process' count; 0 where it is not known."""

    @abstractmethod
    def new_try(self, request: Request) -> Try:
        """Make a try at a request, with a working directory of its own."""

    def send(self) -> None:
        """Hand over the tries that wait, as far as the socket takes them."""
        while self.is_ready and self.waiting:
            attempt = self.waiting[0]
            packet, fds = attempt.packet()
            try:
                socket.send_fds(self.socket, [packet], fds, socket.MSG_NOSIGNAL)
            except (BlockingIOError, ConnectionError):  # full: once more later; gone: its end will be noticed
                return
            attempt.is_sent(time.monotonic())
            del self.waiting[0]
            self.n_started += 1

    def hang_up(self) -> None:
        """Say that there is nothing more to do."""
        with suppress(OSError):  # gone already
            self.socket.send(FAREWELL, socket.MSG_NOSIGNAL)
        self.socket.close()

    @abstractmethod
    def kill(self) -> None:
        """End the runner without asking."""

    @abstractmethod
    def complaints(self) -> str:
        """Return the end of what the runner wrote to stderr."""

    @abstractmethod
    def bury(self) -> str:
        """Clear up after a runner that has ended; returns how it ended, in a few words."""

    @abstractmethod
    def verdict_on_death(self) -> tuple[Status, str]:
        """Judge a program that was alone in this runner when it died, as the one before had."""


class RunnerProcess(ControlledRunner):
    """Start a runner as a process of this machine. It is ready some seconds later.

    Start it from a thread that outlives it: the kernel ends it with the thread.

    Parameters
    ----------
    folder : Path
        As every runner's.
    tier : Tier
        How it confines its jobs.
    """

    def __init__(self, folder: Path, tier: Tier) -> None:
        super().__init__(folder)
        self._tier = tier
        self._token = f"{MARKER}={secrets.token_hex(16)}"
        self._complaints = tempfile.TemporaryFile()  # noqa: SIM115 (closed with the runner)
        try:
            self._process = self._start()
        except OSError:
            self.socket.close()
            self._complaints.close()
            raise
        finally:
            self._far.close()
        self.end_fd = os.pidfd_open(self._process.pid)

    def _start(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-P", "-s", "-B", "-m", "evocore.sandbox.runner"]
        return subprocess.Popen(
            [*command, str(self._far.fileno()), str(os.getpid()), str(self.folder), str(self._tier)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=self._complaints,
            pass_fds=[self._far.fileno()],
            cwd=self.folder,
            env=self._environment(),
            start_new_session=True,  # Ctrl-C is for the controller alone
        )

    def _environment(self) -> dict[str, str]:
        """Literal. The hash seed is fixed, so that programs that iterate over sets repeat in the next runner."""
        name, _, value = self._token.partition("=")
        return {**environment(str(self.folder)), "PYTHONHASHSEED": "0", name: value}

    @property
    def pid(self) -> int:
        """Process id."""
        return self._process.pid

    def new_try(self, request: Request) -> Try:
        """Make a try at a request, with a folder, removed with the request, where the program may write."""
        if self._tier is not Tier.UNSAFE:
            return Try(request, Path("/"))
        folder = self.folder / f"job-{os.urandom(8).hex()}"
        folder.mkdir(mode=0o700)
        request.folders.append(folder)
        return Try(request, folder)

    def kill(self) -> None:
        """End the runner without asking."""
        self._process.kill()

    def complaints(self) -> str:
        """Return the end of what the runner wrote to stderr."""
        size = os.fstat(self._complaints.fileno()).st_size
        return os.pread(self._complaints.fileno(), 4096, max(0, size - 4096)).decode("utf-8", "replace").strip()

    def bury(self) -> str:
        """Wait for the runner's end, and kill what it can have left behind.

        A runner that ends in order leaves nothing. One that was killed leaves its candidates to the kernel, which
        kills them, and their children to the marker in the environment that all of them were born with.
        """
        try:
            code = self._process.wait(EXIT_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            code = self._process.wait()
        if code != 0:
            self._sweep()
        self.socket.close()
        os.close(self.end_fd)
        self._complaints.close()
        return f"exit code {code}"

    def verdict_on_death(self) -> tuple[Status, str]:
        """Blame the program: nobody else was there."""
        return Status.VIOLATION, "the process that runs it died twice; the second time it ran alone"

    def _sweep(self) -> None:
        give_up = time.monotonic() + SWEEP_SECONDS
        while time.monotonic() < give_up and (left := list(linux.processes_with(self._token.encode()))):
            for pid in left:
                linux.kill(pid)
