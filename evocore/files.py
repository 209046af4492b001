"""Reading the files that a user names: regular files alone, and never more of them than there can be any use for."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from evocore.errors import InputError

CONSTRUCTION_BYTES = 64 << 20
"""Holds the longest construction."""
TEXT_BYTES = 1 << 20
"""Holds any program and any settings file."""


def read_bytes(file: str | os.PathLike[str], limit: int) -> bytes:
    """Read a regular file.

    Parameters
    ----------
    file : str or path
    limit : int
        The most bytes that it may have.

    Raises
    ------
    InputError
        It is missing, no regular file, cannot be read, or is too large. The message does not name the file.
    """
    try:
        # without O_NONBLOCK, opening a pipe that nobody writes to would wait for ever
        fd = os.open(file, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        raise InputError("expected a file, found none of that name") from None
    except (OSError, ValueError) as error:  # ValueError: a null byte in the name
        raise InputError(f"expected a file that can be read: {getattr(error, 'strerror', None) or error}") from None
    try:
        about = os.fstat(fd)
        if not stat.S_ISREG(about.st_mode):
            raise InputError(f"expected a file, got {_kind(about.st_mode)}")
        if about.st_size > limit:
            raise InputError(_too_large(limit, f"{about.st_size:,} bytes"))
        return read_open(fd, limit)
    finally:
        os.close(fd)


def read_open(fd: int, limit: int) -> bytes:
    """Read an open file to its end, as `read_bytes` does: neither pipes nor files in /proc tell their size.

    Raises
    ------
    InputError
        It cannot be read or is too large.
    """
    chunks: list[bytes] = []
    n_bytes = 0
    try:
        while chunk := os.read(fd, 1 << 20):
            chunks.append(chunk)
            n_bytes += len(chunk)
            if n_bytes > limit:
                raise InputError(_too_large(limit, "more"))
    except OSError as error:
        raise InputError(f"expected a file that can be read: {error.strerror}") from None
    return b"".join(chunks)


def read_text(file: str | os.PathLike[str]) -> str:
    """Read a program or settings, text in UTF-8 of at most `TEXT_BYTES`.

    Raises
    ------
    InputError
        As `read_bytes`, or it is no text; the message begins with the file's name.
    """
    name = shown(file)
    try:
        return read_bytes(file, TEXT_BYTES).decode()
    except UnicodeDecodeError as error:
        raise InputError(f"{name}: expected text in UTF-8, got something else at byte {error.start}") from None
    except InputError as error:
        raise InputError(f"{name}: {error}") from None


def shown(file: str | os.PathLike[str]) -> str:
    """Name a file as briefly as it can be found again: relative to the working folder where it lies below it."""
    path, here = Path(file), Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def _kind(mode: int) -> str:
    if stat.S_ISDIR(mode):
        return "a directory"
    return "a pipe" if stat.S_ISFIFO(mode) else "a socket" if stat.S_ISSOCK(mode) else "a device"


def _too_large(limit: int, got: str) -> str:
    return f"expected a file of at most {limit >> 20} MiB, got {got}"
