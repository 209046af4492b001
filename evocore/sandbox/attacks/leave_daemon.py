"""Leave a process of another program, in a session of its own and with another environment."""

# mypy: ignore-errors
# ruff: noqa: D103

import os


def optimize(problem, start, seed, deadline, offer):
    read, write = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.set_inheritable(write, True)
            os.dup2(write, 1)
            command = f"trap '' TERM HUP INT; echo up; sleep 61; : evocore-attack-{seed}"
            os.execve("/bin/sh", ["sh", "-c", command], {"PATH": "/usr/bin:/bin"})
        os._exit(0)
    os.read(read, 3)
    return start
