"""The append-only, hash-chained event log of a run.

One JSON object a line: ``seq`` (from 0), ``time`` (seconds since 1970), ``kind``, ``data``, ``prev``, the hash of the
line before (64 zeros for the first), and ``hash``, the SHA-256 of the line up to this field: a changed bit shows in the
last line as well. All state of a run is a fold over it. Floats are shortest round-trip decimals; exact values are
strings, and NaN or infinity are refused.

What a kill can leave is a last line that was written in part: opening drops it and says so in a `note` event. Anything
else that does not fit is `LedgerCorrupt`, with the line. One controller at a time: the file is locked while it is open
for appending, and the lock goes with the process, however that ends.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from evocore.errors import InfrastructureError, InputError, LedgerCorrupt

_NO_LINE = "0" * 64
_HASH = b',"hash":"'
_FIELDS = {"seq": int, "time": int | float, "kind": str, "data": dict, "prev": str}
_LOCK_TRIES = 10
_LOCK_PAUSE_SECONDS = 0.02


@dataclass(frozen=True, slots=True)
class Event:
    """One entry of the ledger."""

    seq: int
    time: float
    kind: str
    data: Mapping[str, Any]


class Ledger:
    """An open ledger. `create` starts one, `open` continues one; both lock the file until `close`.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "ledger.jsonl"
    >>> with Ledger.create(path) as ledger:
    ...     ledger.append("run", {"seed": 7}, sync=True)
    0
    >>> [event.kind for event in read_ledger(path)]
    ['run']
    """

    def __init__(self, path: Path, descriptor: int, clock: Callable[[], float]) -> None:
        self.path = path
        self._descriptor = descriptor
        self._clock = clock
        self._lock = threading.Lock()
        self._next_seq = 0
        self._prev = _NO_LINE
        self._size = 0
        self._failed = ""

    @classmethod
    def create(cls, path: str | os.PathLike[str], *, clock: Callable[[], float] = time.time) -> Ledger:
        """Start a ledger in a new file.

        Raises
        ------
        InputError
            The file is there already, or its folder cannot be written.
        """
        path = Path(path)
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o644)
        except FileExistsError:
            raise InputError(f"expected a new ledger, got a file that is there already: {path}") from None
        except OSError as error:
            raise InputError(f"expected a folder that can be written, got {_reason(error)}: {path.parent}") from None
        ledger = cls(path, descriptor, clock)
        ledger._take_lock()
        sync_folder(path.parent)
        return ledger

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, clock: Callable[[], float] = time.time) -> Ledger:
        """Continue a ledger: verify its chain, drop a torn last line, lock it.

        Raises
        ------
        InputError
            There is no such file, it cannot be written, or another controller has it.
        LedgerCorrupt
            The chain is broken; says at which line and why.
        """
        path = Path(path)
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_APPEND)
        except OSError as error:
            raise InputError(f"expected a ledger that can be written, got {_reason(error)}: {path}") from None
        ledger = cls(path, descriptor, clock)
        ledger._take_lock()
        try:
            ledger._recover()
        except BaseException:
            ledger.close()
            raise
        return ledger

    def append(self, kind: str, data: Mapping[str, Any], *, sync: bool = False) -> int:
        """Write one event and return its sequence number; with `sync`, return only when it is on the disk.

        Raises
        ------
        InfrastructureError
            The event could not be written; the ledger is then as it was before.
        """
        with self._lock:
            if self._failed:
                raise InfrastructureError(self._failed)
            seq = self._next_seq
            line, digest = _encode(Event(seq, self._clock(), kind, data), self._prev)
            self._write(line)
            self._next_seq += 1
            self._prev = digest
            self._size += len(line)
            if sync:
                self._sync()
            return seq

    def sync(self) -> None:
        """Return when everything that was appended is on the disk."""
        with self._lock:
            self._sync()

    @property
    def next_seq(self) -> int:
        """The sequence number that the next event gets."""
        return self._next_seq

    def __iter__(self) -> Iterator[Event]:
        """Read the events from the file, in order."""
        with open(self.path, "rb") as stream:
            for line in stream:
                yield _event(json.loads(line))

    def close(self) -> None:
        """Close the file and let the lock go; closing twice is fine."""
        with self._lock:
            if self._descriptor >= 0:
                os.close(self._descriptor)
                self._descriptor = -1
                self._failed = f"expected an open ledger, got a closed one: {self.path}"

    def __enter__(self) -> Ledger:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _take_lock(self) -> None:
        for _ in range(_LOCK_TRIES):
            try:
                fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                # whoever only looks whether the run is being written holds the lock for a moment
                time.sleep(_LOCK_PAUSE_SECONDS)
            else:
                return
        os.close(self._descriptor)
        self._descriptor = -1
        raise InputError(
            f"expected a run that nobody writes, got one that another evocore process has open: {self.path}; "
            "wait for it or stop it"
        )

    def _recover(self) -> None:
        good, seq, prev, torn = 0, 0, _NO_LINE, 0
        with open(self.path, "rb") as stream:
            for line in stream:
                if not line.endswith(b"\n"):
                    torn = len(line)
                    break
                _, prev = _checked(line, seq, prev, self.path)
                good += len(line)
                seq += 1
        self._next_seq, self._prev, self._size = seq, prev, good
        if torn:
            os.ftruncate(self._descriptor, good)
            self.append("note", {"what": "torn last line dropped", "bytes": torn}, sync=True)

    def _write(self, line: bytes) -> None:
        done = 0
        try:
            while done < len(line):
                done += os.write(self._descriptor, line[done:])
        except OSError as error:
            if done:
                # a full disk takes the first part of a line: take it back, so that the file stays a whole chain
                os.ftruncate(self._descriptor, self._size)
            raise InfrastructureError(
                f"expected to write {len(line)} bytes to the ledger, got {_reason(error)}: {self.path}; "
                "nothing that was recorded before is lost"
            ) from error

    def _sync(self) -> None:
        try:
            os.fsync(self._descriptor)
        except OSError as error:
            # after a failed fsync nobody knows which pages are on the disk: go no further with this descriptor
            self._failed = f"expected the ledger on the disk, got {_reason(error)}: {self.path}"
            raise InfrastructureError(self._failed) from error


def read_ledger(path: str | os.PathLike[str]) -> list[Event]:
    """Read and verify a ledger without locking or changing it; a torn last line is left out.

    Raises
    ------
    InputError
        The file cannot be read.
    LedgerCorrupt
        The chain is broken.
    """
    path = Path(path)
    events: list[Event] = []
    prev = _NO_LINE
    try:
        with open(path, "rb") as stream:
            for line in stream:
                if not line.endswith(b"\n"):
                    break
                event, prev = _checked(line, len(events), prev, path)
                events.append(event)
    except OSError as error:
        raise InputError(f"expected a ledger, got {_reason(error)}: {path}") from None
    return events


def replay(path: str | os.PathLike[str], events: Iterable[Event], *folds: Callable[[Event], object]) -> list[Event]:
    """Let folds take events in, one after the other; returns the events.

    Raises
    ------
    LedgerCorrupt
        An event does not tell what one of its kind tells: nothing that this version wrote.
    """
    taken = []
    for event in events:
        try:
            for fold in folds:
                fold(event)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            raise LedgerCorrupt(
                f"expected an event of kind {event.kind[:40]!r} that fits those before it, got one that does not "
                f"({type(error).__name__}: {str(error)[:200]}), at line {event.seq + 1} of {path}"
            ) from error
        taken.append(event)
    return taken


def write_file(path: Path, content: bytes, *, sync_entry: bool = True) -> None:
    """Write a file so that a reader, or the next start after a kill, sees all of it or the old one.

    Parameters
    ----------
    path : Path
        Where.
    content : bytes
        What.
    sync_entry : bool
        Put the folder's entry on the disk as well; whoever writes many files does that once, with `sync_folder`.

    Raises
    ------
    InfrastructureError
        The disk or the folder refuses; the old file is untouched.
    """
    fresh = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}.part")
    try:
        with open(fresh, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(fresh, path)
    except OSError as error:
        with contextlib.suppress(OSError):
            fresh.unlink()
        raise InfrastructureError(
            f"expected to write {len(content)} bytes, got {_reason(error)}: {path}; make room, then resume the run"
        ) from error
    if sync_entry:
        sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Put a folder's entries on the disk, so that a file just created or renamed in it survives a power cut.

    Raises
    ------
    InfrastructureError
        The folder is gone, or the disk refuses.
    """
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise InfrastructureError(f"expected a folder of the run, got {_reason(error)}: {folder}") from error


def _encode(event: Event, prev: str) -> tuple[bytes, str]:
    """Write an event as a line; gives the line and its hash."""
    record = {"seq": event.seq, "time": event.time, "kind": event.kind, "data": event.data, "prev": prev}
    body = json.dumps(record, allow_nan=False, separators=(",", ":"), ensure_ascii=False).encode()[:-1]
    digest = hashlib.sha256(body).hexdigest()
    return b'%b%b%b"}\n' % (body, _HASH, digest.encode()), digest


def _event(record: Mapping[str, Any]) -> Event:
    return Event(record["seq"], record["time"], record["kind"], record["data"])


def _checked(line: bytes, seq: int, prev: str, path: Path) -> tuple[Event, str]:
    """Return the event and the hash of a line that fits the chain."""
    where = f"line {seq + 1} of {path}"
    body, _, found = line.rpartition(_HASH)
    digest = hashlib.sha256(body).hexdigest()
    if found != digest.encode() + b'"}\n':
        raise LedgerCorrupt(f"expected an event with its own hash behind it, got another: it was changed, at {where}")
    try:
        record = json.loads((body + b"}").decode())
    except (ValueError, RecursionError):
        raise LedgerCorrupt(f"expected a JSON object, got something else, at {where}") from None
    if not isinstance(record, dict) or record.keys() != _FIELDS.keys():
        raise LedgerCorrupt(f"expected the fields {', '.join(_FIELDS)}, got others, at {where}")
    for name, kind in _FIELDS.items():
        if not isinstance(record[name], kind) or isinstance(record[name], bool):
            raise LedgerCorrupt(f"expected another type of {name} than {type(record[name]).__name__}, at {where}")
    if record["seq"] != seq:
        raise LedgerCorrupt(f"expected sequence number {seq}, got {record['seq']!r:.40}, at {where}")
    if record["prev"] != prev:
        raise LedgerCorrupt(f"expected the hash of the line before, got another: a line is missing, at {where}")
    return _event(record), digest


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
