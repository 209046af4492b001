"""A process that the attacks may aim at: it holds a secret in memory, environment and an open file, and keeps watch.

Run as ``python -I -S -B _target.py FILE``; the secret comes on stdin. It then answers every line with what it has
noticed.
"""

import ctypes
import json
import os
import resource
import signal
import sys
from contextlib import suppress

secret = sys.stdin.buffer.readline().strip()
memory = ctypes.create_string_buffer(secret)
held = os.open(sys.argv[1], os.O_RDWR)
signals: list[int] = []
for number in signal.valid_signals():
    if number != signal.SIGCHLD:
        with suppress(OSError, ValueError):
            signal.signal(number, lambda number, frame: signals.append(number))


def settings() -> list[object]:
    """What another process could change."""
    limits = [resource.getrlimit(n) for n in range(16)]
    return [limits, os.getpriority(os.PRIO_PROCESS, 0), sorted(os.sched_getaffinity(0)), os.sched_getscheduler(0)]


before = settings()
print(ctypes.addressof(memory), held, flush=True)
while sys.stdin.buffer.readline():
    seen = {
        "memory": memory.value == secret,
        "file": os.lseek(held, 0, os.SEEK_CUR) == 0,
        "settings": settings() == before,
        "signals": sorted(set(signals)),
    }
    print(json.dumps(seen), flush=True)
