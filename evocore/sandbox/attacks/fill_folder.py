"""Write to the disk without end: in the working directory, in shared memory, in memory files."""

# mypy: ignore-errors
# ruff: noqa: D103

import contextlib
import os


def optimize(problem, start, seed, deadline, offer):
    written = 0
    for path in ("junk", "/dev/shm/evocore-junk", "/tmp/evocore-junk"):
        fd = os.open(path, os.O_CREAT | os.O_WRONLY)
        if path != "junk":
            os.unlink(path)
        with contextlib.suppress(OSError):
            written += os.write(fd, b"x" * 4096)
    memory = os.memfd_create("junk")
    if not written:
        os.ftruncate(memory, 1 << 30)
    return start
