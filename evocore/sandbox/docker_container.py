"""A runner in a container of its own, and the engine that runs it."""

from __future__ import annotations

import importlib
import os
import secrets
import select
import socket
import stat
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evocore.errors import SandboxUnavailable
from evocore.sandbox.base import Status, environment
from evocore.sandbox.docker_image import NOBODY
from evocore.sandbox.docker_runner import DOOR, LOCKED, SCRATCH, SOCKET
from evocore.sandbox.request import Request
from evocore.sandbox.runner_process import EXIT_SECONDS, ControlledRunner
from evocore.sandbox.tries import Tail, Try

if TYPE_CHECKING:
    from docker import DockerClient

ANSWER_SECONDS = 2.0
OWNER = "evocore.sandbox.owner"  # the label that says which process a container works for
RUNNER_BYTES = 256 << 20  # what the runner itself keeps in memory, on top of what its program may have
SCRATCH_OPTIONS = "rw,size=16m,nr_inodes=4096,nosuid,nodev,noexec,mode=1777"
MOST_PROCESSES = 64
MOST_COMPLAINT_BYTES = 4096
ENGINE_SECONDS = 60.0

INSTALL = "install Docker (https://docs.docker.com/engine/install) and start it, or set DOCKER_HOST to its socket"


@contextmanager
def engine() -> Iterator[DockerClient]:
    """Talk to the engine that DOCKER_HOST names, or to this machine's own.

    Raises
    ------
    SandboxUnavailable
        The SDK is missing, or the engine is, or it fails at what it is asked for.
    """
    try:
        docker = importlib.import_module("docker")
        errors = importlib.import_module("docker.errors")
        requests = importlib.import_module("requests.exceptions")
    except ImportError as error:
        raise SandboxUnavailable(f"expected the package docker, got: {error}; pip install docker") from None
    host = os.environ.get("DOCKER_HOST") or "unix:///var/run/docker.sock"
    if not host.startswith("unix://"):
        raise SandboxUnavailable(f"expected a Docker engine on this machine, unix://… in DOCKER_HOST, got {host}")
    silent = f"expected a Docker engine that answers at {host}, got: %s; {INSTALL}"
    try:
        with socket.socket(socket.AF_UNIX) as probe:  # the SDK's own words are long, and it forgets a socket
            probe.connect(host.removeprefix("unix://"))
    except OSError as error:
        raise SandboxUnavailable(silent % error) from error
    client = None
    try:
        client = docker.from_env(timeout=ENGINE_SECONDS)
        yield client
    except errors.APIError as error:
        raise SandboxUnavailable(f"expected the Docker engine to do its work, got: {error}") from error
    except (errors.DockerException, requests.RequestException) as error:
        raise SandboxUnavailable(silent % error) from error
    finally:
        if client is not None:
            client.close()


def new_label() -> str:
    """Name a sandbox of this process, and the process, as no other of this machine is ever named."""
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    namespace, pid = os.stat("/proc/self/ns/pid").st_ino, os.getpid()
    return f"{boot}/{namespace}/{pid}/{_started(pid)}/{secrets.token_hex(8)}"


def _started(pid: int) -> str:
    """When a process was started, in clock ticks since the machine's; empty where it is gone."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    return ""


def _is_gone(label: str) -> bool:
    """Whether the process that a label names has ended. Of another container's processes nobody can tell."""
    boot, namespace, pid, started, _ = label.split("/")
    own_boot, own_namespace, _, _, _ = new_label().split("/")
    return boot != own_boot or (namespace == own_namespace and _started(int(pid)) != started)


def sweep(client: DockerClient, *, label: str | None = None) -> None:
    """Remove the containers of one sandbox, or those of all processes that have ended."""
    from docker.errors import APIError

    wanted = OWNER if label is None else f"{OWNER}={label}"
    for found in client.api.containers(all=True, filters={"label": wanted}):
        if label is not None or _is_gone(found["Labels"][OWNER]):
            try:
                client.api.remove_container(found["Id"], force=True, v=True)
            except APIError as error:
                if error.status_code not in (404, 409):  # gone, or going
                    raise


@dataclass(frozen=True)
class Plan:
    """How to make a container.

    Attributes
    ----------
    image : str
    runtime : str or None
        The engine's default, if None.
    label : str
        Names the sandbox, see `new_label`.
    memory_bytes : int
        Memory of the program; the runner's own comes on top.
    is_shared : bool
        Whether programs follow each other in it, so that each has to be locked down.
    """

    image: str
    runtime: str | None
    label: str
    memory_bytes: int
    is_shared: bool

    def options(self, door: Path, client: DockerClient) -> dict[str, Any]:
        """Write down everything that the program must not have."""
        from docker.types import LogConfig, Ulimit

        memory = self.memory_bytes + RUNNER_BYTES
        host = client.api.create_host_config(
            auto_remove=True,
            runtime=self.runtime,
            binds={str(door): {"bind": DOOR, "mode": "ro"}},
            network_mode="none",
            read_only=True,
            ipc_mode="private",
            shm_size="8m",
            tmpfs={SCRATCH: SCRATCH_OPTIONS},
            mem_limit=memory,
            memswap_limit=memory,
            pids_limit=MOST_PROCESSES,
            nano_cpus=1_000_000_000,
            cap_drop=["ALL"],
            security_opt=["no-new-privileges:true"],
            ulimits=[
                Ulimit(name="nofile", soft=256, hard=256),
                Ulimit(name="core", soft=0, hard=0),
                Ulimit(name="fsize", soft=32 << 20, hard=32 << 20),
            ],
            log_config=LogConfig(type="none"),
            oom_score_adj=500,
        )
        return {
            "image": self.image,
            "command": [LOCKED] * self.is_shared,
            "host_config": host,
            "user": f"{NOBODY}:{NOBODY}",
            "environment": {**environment(SCRATCH), "PYTHONHASHSEED": "0"},
            "labels": {OWNER: self.label},
            "hostname": "sandbox",
            "working_dir": "/",
        }


class RunnerContainer(ControlledRunner):
    """Start a runner in a container. It is ready some seconds later.

    A thread of its own talks to the engine, which takes tenths of a second for everything: it starts the container,
    hands the jobs' socket over, and waits for the end. When this process dies, the runner is hung up on and ends, and
    the engine removes the container.
    """

    def __init__(self, folder: Path, plan: Plan) -> None:
        super().__init__(folder)
        self.plan = plan
        self.end_fd = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._wake = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._is_killed = False
        self._hung_up_at: float | None = None
        self._pid = 0
        self._how = "no container"
        self._output = Tail(MOST_COMPLAINT_BYTES)
        self._thread = threading.Thread(target=self._live, name="evocore-container", daemon=True)
        self._thread.start()

    @property
    def pid(self) -> int:
        """Process id of the runner on this side of the wall; 0 while it is not connected."""
        return self._pid

    def new_try(self, request: Request) -> Try:
        """Make a try at a request; there is no folder that its program might write to."""
        return Try(request, Path("/"))

    def hang_up(self) -> None:
        """Say that there is nothing more to do."""
        super().hang_up()
        self._hung_up_at = time.monotonic()
        os.eventfd_write(self._wake, 1)

    def kill(self) -> None:
        """Have the engine end the container."""
        self._is_killed = True
        os.eventfd_write(self._wake, 1)

    def complaints(self) -> str:
        """Return the end of what the runner wrote."""
        return self._output.text().strip()

    def bury(self) -> str:
        """Close what is left."""
        self._thread.join()
        self.socket.close()
        os.close(self.end_fd)
        os.close(self._wake)
        return self._how

    def verdict_on_death(self) -> tuple[Status, str]:
        """Leave it open whose fault it was: nothing inside can end a container, but the engine's owner can."""
        said = (self.complaints().splitlines() or ["nothing"])[-1]
        return Status.INFRASTRUCTURE, f"its container ended twice while it ran, with {self._how}; it said: {said}"

    # ---- the thread that talks to the engine ----------------------------------------------------------------------

    def _live(self) -> None:
        try:
            with engine() as client, self._open_door() as (folder, door):
                self._run(client, folder, door)
        except SandboxUnavailable as error:
            self.trouble = str(error)
        except Exception as error:  # a thread's boundary: whatever it is, the sandbox must hear of the end
            self.trouble = f"{type(error).__name__}: {error}"
        finally:
            self._far.close()
            os.eventfd_write(self.end_fd, 1)

    @contextmanager
    def _open_door(self) -> Iterator[tuple[Path, socket.socket]]:
        """Make the folder with the socket at which the runner asks for the jobs' socket.

        Open to every user, as the one inside is another; the folders above are not.
        """
        folder = self.folder / "door"
        folder.mkdir()
        folder.chmod(0o711)
        here = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as door:
            try:
                door.bind(f"/proc/self/fd/{here}/{SOCKET}")  # the path of a socket may not be long
            finally:
                os.close(here)
            (folder / SOCKET).chmod(stat.S_IRWXU | stat.S_IRWXG | stat.S_IRWXO)
            door.listen(1)
            yield folder, door

    def _run(self, client: DockerClient, folder: Path, door: socket.socket) -> None:
        if self._is_killed:
            return
        container = client.api.create_container(**self.plan.options(folder, client))["Id"]
        try:
            with _output_of(client, container) as output:
                client.api.start(container)
                self._attend(output, door)
            self._how = self._wait(client, container)
        finally:
            self._remove(client, container)

    def _attend(self, output: int, door: socket.socket) -> None:
        """Let the runner in, and read what it writes, until the container ends or has to be ended."""
        poll = select.poll()
        for fd in (output, door.fileno(), self._wake):
            poll.register(fd, select.POLLIN)
        frames = bytearray()
        while not self._is_killed and (patience := self._patience()) != 0:
            events = dict(poll.poll(patience))
            if self._wake in events:
                os.eventfd_read(self._wake)
            if door.fileno() in events:
                self._let_in(door)
                poll.unregister(door)
            if output in events:
                frames += (chunk := _read(output))
                if not chunk:
                    return
                for text in _unframe(frames):
                    self._output.add(text)

    def _patience(self) -> int | None:
        """Milliseconds until a runner that was told to end is ended by force; None: it was not told."""
        if self._hung_up_at is None:
            return None
        return max(0, round(1000 * (self._hung_up_at + EXIT_SECONDS - time.monotonic())))

    def _let_in(self, door: socket.socket) -> None:
        with door.accept()[0] as guest:
            self._pid = struct.unpack("3i", guest.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]
            with suppress(ConnectionError):
                socket.send_fds(guest, [b"!"], [self._far.fileno()])
        self._far.close()

    def _wait(self, client: DockerClient, container: str) -> str:
        from docker.errors import NotFound
        from requests.exceptions import ConnectionError as NoAnswer
        from requests.exceptions import Timeout

        while not self._is_killed and self._patience() != 0:
            try:
                ended = client.api.wait(container, timeout=ANSWER_SECONDS, condition="removed")
                return f"exit code {ended['StatusCode']}"
            except NotFound:
                return "gone already"
            except (NoAnswer, Timeout):
                # an engine never answers where the container went while it was asked: so ask whether it is there
                try:
                    client.api.inspect_container(container)
                except NotFound:
                    return "gone already"
        return "killed"

    def _remove(self, client: DockerClient, container: str) -> None:
        from docker.errors import APIError

        with suppress(APIError):  # it has removed itself, or is about to
            client.api.remove_container(container, force=True, v=True)


@contextmanager
def _output_of(client: DockerClient, container: str) -> Iterator[int]:
    """Listen to what a container writes, from before its start on."""
    output = client.api.attach_socket(container, {"stdout": 1, "stderr": 1, "stream": 1})
    connection = getattr(output, "_sock", output)  # closing the file that the SDK gives leaves its socket open
    try:
        yield output.fileno()
    finally:
        output.close()
        connection.close()


def _read(output: int) -> bytes:
    """Read what is there; nothing at the end, whoever made it."""
    try:
        return os.read(output, 1 << 16)
    except ConnectionError:
        return b""


def _unframe(frames: bytearray) -> Iterator[bytes]:
    """Take complete pieces off the engine's stream of stdout and stderr: stream, three zeros, u32 length, content."""
    while len(frames) >= 8:
        length = int.from_bytes(frames[4:8], "big")
        if len(frames) < 8 + length:
            return
        yield bytes(frames[8 : 8 + length])
        del frames[: 8 + length]
