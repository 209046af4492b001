"""A runner as the controller sees it: its process, its socket, and the tries that it was handed."""

from __future__ import annotations

import os
import secrets
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from evocore.sandbox import linux
from evocore.sandbox.base import environment
from evocore.sandbox.tries import Try

MARKER = "EVOCORE_SANDBOX"
SWEEP_SECONDS = 5.0
EXIT_SECONDS = 10.0


class RunnerProcess:
    """Start a runner. It is ready some seconds later, and says so on its socket; closing that ends it.

    Start it from a thread that outlives it: the kernel ends it with the thread.

    Parameters
    ----------
    folder : Path
        Made here; the working directories of its jobs come into it.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(mode=0o700, parents=True)  # it goes with the sandbox' own
        self.folder = folder
        self.is_ready = False
        self.is_retired = False
        self.n_started = 0
        self.waiting: list[Try] = []
        self.tries: set[Try] = set()
        self.started_at = time.monotonic()
        self._token = f"{MARKER}={secrets.token_hex(16)}"
        self._complaints = tempfile.TemporaryFile()  # noqa: SIM115 (closed with the runner)
        self.socket, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.setblocking(False)
        try:
            self._process = self._start(far)
        except OSError:
            self.socket.close()
            self._complaints.close()
            raise
        finally:
            far.close()
        self.pidfd = os.pidfd_open(self._process.pid)

    def _start(self, far: socket.socket) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-P", "-s", "-B", "-m", "evocore.sandbox.runner"]
        return subprocess.Popen(
            [*command, str(far.fileno()), str(os.getpid()), str(self.folder)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=self._complaints,
            pass_fds=[far.fileno()],
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

    def kill(self) -> None:
        """End the runner without asking."""
        self._process.kill()

    def complaints(self) -> str:
        """Return the end of what the runner wrote to stderr."""
        size = os.fstat(self._complaints.fileno()).st_size
        return os.pread(self._complaints.fileno(), 4096, max(0, size - 4096)).decode("utf-8", "replace").strip()

    def bury(self) -> int:
        """Wait for the runner's end, kill what it can have left behind, and return its exit code.

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
        os.close(self.pidfd)
        self._complaints.close()
        return code

    def _sweep(self) -> None:
        give_up = time.monotonic() + SWEEP_SECONDS
        while time.monotonic() < give_up and (left := list(linux.processes_with(self._token.encode()))):
            for pid in left:
                linux.kill(pid)
