"""Print 100 megabytes, among them what is no text and what looks like a result."""

import os
import sys


def optimize(problem, start, seed, deadline, offer):
    line = "x" * (1 << 20)
    for _ in range(50):
        print(line)
        print(line, file=sys.stderr)
    print("\ud800", chr(27) + "[2J", '{"status": "ok", "gain": 1.0}')
    sys.stdout.flush()
    os.write(1, b"\xff\xfe")
    return start
