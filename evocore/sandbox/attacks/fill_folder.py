"""Write to the disk without end: in the working directory and wherever everybody may write."""

import os


def optimize(problem, start, seed, deadline, offer):
    total = 0
    for folder in (".", "/tmp", "/var/tmp", "/dev/shm", "/dev/mqueue", "/run", "/", os.environ.get("HOME", "/root")):
        for i in range(20):
            file = quietly(os.open, f"{folder}/{TARGETS['marker']}-{i}", os.O_CREAT | os.O_WRONLY)
            if file is None:
                break
            total += quietly(os.write, file, b"x" * (4 << 20)) or 0
            quietly(os.posix_fallocate, file, 0, 4 << 20)
            total += os.fstat(file).st_blocks * 512
            quietly(os.ftruncate, file, 0)
            os.close(file)
    if total > 64 << 20:
        through("filled the disk")
    return start
