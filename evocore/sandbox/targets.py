"""What an attack may aim at: files, a process and sockets put up for it alone, and compared with how they were."""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import secrets
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

from evocore.sandbox import attacks

SECRET_BYTES = 16
SHARED_FOLDERS = ("/tmp", "/var/tmp", "/dev/shm", "/dev/mqueue", "/run", "/", "/root")
MESSAGES = {"shm": (31, 0), "sem": (66, 0), "msg": (71, 0)}  # shmctl, semctl, msgctl; IPC_RMID


def new_secret() -> str:
    """Make something that is found again wherever it comes out."""
    return f"evocore-secret-{secrets.token_hex(SECRET_BYTES)}"


class Targets:
    """Files, a process and sockets for one attack. Leaving the ``with`` block removes all of it.

    Parameters
    ----------
    processes : dict of str to int
        Other processes that it may aim at, by what they are.
    verifier_files : tuple of str
        Files of the verifier's code.

    Attributes
    ----------
    marker : str
        What the attack names whatever it leaves behind.
    secret : str
        Stands in the files and in the process; nobody tells it to the program.
    """

    def __init__(self, processes: dict[str, int], verifier_files: tuple[str, ...]) -> None:
        self.marker = f"evocore-attack-{secrets.token_hex(8)}"
        self.secret = new_secret()
        self._others = processes
        self._verifier_files = verifier_files
        self._tree = Path(tempfile.mkdtemp(prefix="evocore-selftest-"))
        self._pids_before = set(_pids())

    def __enter__(self) -> Targets:
        self._plant()
        self._listen()
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-B", str(Path(attacks.__file__).parent / "_target.py"), str(self._held)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={"EVOCORE_SECRET": self.secret},
            start_new_session=True,
        )
        self._say(self.secret)
        self._address, self._number = map(int, self._hear().split())
        self._before = self._snapshot()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, stack: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.communicate()
        for one in self._sockets:
            one.close()
        shutil.rmtree(self._tree, ignore_errors=True)

    def named(self) -> dict[str, Any]:
        """What the program is told."""
        return {
            "tree": str(self._tree),
            "marker": self.marker,
            "processes": {**self._others, "target": self._process.pid},
            "address": self._address,
            "file": self._number,
            "tcp": self._tcp.getsockname()[1],
            "udp": self._udp.getsockname()[1],
            "abstract": f"\0{self.marker}",
            "path": str(self._tree / "open" / "socket"),
            "verifier_files": list(self._verifier_files),
            "after": 0,
        }

    # ---- putting up -----------------------------------------------------------------------------------------------

    def _plant(self) -> None:
        """Make a run's folder, a held-out one, and one that everybody may write."""
        self._tree.chmod(0o755)
        for name, mode in (("run", 0o755), ("held-out", 0o700), ("open", 0o777)):
            folder = self._tree / name
            folder.mkdir()
            folder.chmod(mode)
        for name, text, mode in (
            ("run/ledger.jsonl", f'{{"seq": 0, "note": "{self.secret}"}}\n', 0o644),
            ("held-out/secret.json", f'{{"values": ["{self.secret}"]}}\n', 0o600),
            ("open/secret.txt", self.secret + "\n", 0o666),
            ("open/notes.txt", "everybody may write here\n", 0o666),
        ):
            (self._tree / name).write_text(text)
            (self._tree / name).chmod(mode)
        self._held = self._tree / "open" / "notes.txt"

    def _listen(self) -> None:
        self._tcp, self._udp = socket.socket(), socket.socket(type=socket.SOCK_DGRAM)
        self._abstract, self._path = (socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) for _ in range(2))
        self._tcp.bind(("127.0.0.1", 0))
        self._tcp.listen(16)
        self._udp.bind(("127.0.0.1", 0))
        self._abstract.bind(f"\0{self.marker}")
        self._path.bind(str(self._tree / "open" / "socket"))
        os.chmod(self._tree / "open" / "socket", 0o666)
        self._sockets = (self._tcp, self._udp, self._abstract, self._path)
        for one in self._sockets:
            one.setblocking(False)

    # ---- looking --------------------------------------------------------------------------------------------------

    def left_behind(self) -> list[str]:
        """Processes that came of the attack and are still there."""
        found = []
        for pid in set(_pids()) - self._pids_before - {self._process.pid}:
            for what in ("cmdline", "maps"):
                with suppress(OSError):
                    if self.marker.encode() in Path(f"/proc/{pid}/{what}").read_bytes():
                        found.append(f"process {pid}")
                        break
        return found

    def changes(self) -> list[str]:
        """Everything outside of the sandbox that is not as it was, found out without the program's help."""
        looks = (self._of_files, self._of_process, self._of_sockets, self._of_shared_folders, self._of_kernel)
        return [what for look in looks for what in look()]

    def _of_files(self) -> Iterator[str]:
        after = self._snapshot()
        for name in sorted(self._before.keys() | after.keys()):
            if name not in after:
                yield f"{name} is gone"
            elif name not in self._before:
                yield f"{name} is new"
            elif after[name] != self._before[name]:
                yield f"{name} has changed"

    def _snapshot(self) -> dict[str, tuple[Any, ...]]:
        found = {}
        for path in (self._tree, *self._tree.rglob("*")):
            s = path.lstat()
            content = hashlib.sha256(path.read_bytes()).hexdigest() if stat.S_ISREG(s.st_mode) else ""
            tags = tuple(os.listxattr(path, follow_symlinks=False))
            times = (s.st_mtime_ns, s.st_ctime_ns)
            name = str(path.relative_to(self._tree))
            found[name] = (s.st_mode, s.st_uid, s.st_gid, s.st_size, s.st_nlink, s.st_ino, times, content, tags)
        return found

    def _of_process(self) -> Iterator[str]:
        try:
            state = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            state = "X"
        if state in "TtZX" or self._process.poll() is not None:
            yield "a process was stopped or killed"
            return
        try:
            self._say("")
            seen = json.loads(self._hear())
        except (OSError, ValueError):
            yield "a process was killed"
            return
        for name, what in (("memory", "memory"), ("file", "open file"), ("settings", "limits or priority")):
            if not seen[name]:
                yield f"a process had its {what} changed"
        if seen["signals"]:
            yield f"a process was sent signals: {', '.join(map(str, seen['signals']))}"

    def _of_sockets(self) -> Iterator[str]:
        with suppress(BlockingIOError):
            self._tcp.accept()[0].close()
            yield "a connection arrived by TCP"
        for one, what in ((self._udp, "UDP"), (self._abstract, "an abstract socket"), (self._path, "a socket's path")):
            with suppress(BlockingIOError):
                one.recv(64)
                yield f"a message arrived by {what}"

    def _of_shared_folders(self) -> Iterator[str]:
        """Look for what carries the marker where everybody, or root, may write; and remove it."""
        for folder in {*SHARED_FOLDERS, os.path.expanduser("~")}:
            names = []
            with suppress(OSError):
                names = [name for name in os.listdir(folder) if self.marker in name]
            for name in names:
                with suppress(OSError):
                    os.unlink(f"{folder}/{name}")
            if names:
                yield f"{len(names)} new files in {folder}"

    def _of_kernel(self) -> Iterator[str]:
        """Look for messages that the attack has left in the kernel, and remove them."""
        wanted = zlib.crc32(self.marker.encode()) & 0x7FFFFFFF
        libc = ctypes.CDLL(None)
        for kind, (remove, command) in MESSAGES.items():
            with suppress(OSError):
                for line in Path(f"/proc/sysvipc/{kind}").read_text().splitlines()[1:]:
                    key, number = map(int, line.split()[:2])
                    if key == wanted:
                        arguments = (number, 0, command) if kind == "sem" else (number, command, 0)
                        libc.syscall(remove, *arguments)
                        yield f"a message is left in the kernel ({kind})"
        name = self.marker.encode()
        if libc.syscall(241, name) == 0:  # mq_unlink
            yield "a named queue is left in the kernel"
        key = libc.syscall(250, 10, -4, b"user", name, 0)  # keyctl SEARCH in the user's keys
        if key > 0:
            libc.syscall(250, 9, key, -4)  # UNLINK
            yield "a key is left in the kernel"

    # ---- the process ----------------------------------------------------------------------------------------------

    def _say(self, line: str) -> None:
        if self._process.stdin is not None:
            self._process.stdin.write(f"{line}\n".encode())
            self._process.stdin.flush()

    def _hear(self) -> str:
        return "" if self._process.stdout is None else self._process.stdout.readline().decode()


def _pids() -> Iterator[int]:
    return (int(name) for name in os.listdir("/proc") if name.isdigit())
