"""Leave a process of another program, in a session of its own and with another environment."""

import os


def optimize(problem, start, seed, deadline, offer):
    read, write = os.pipe()
    child = quietly(os.fork)
    if child is None:
        return start
    if child == 0:
        quietly(os.setsid)
        if quietly(os.fork) == 0:
            os.set_inheritable(write, True)
            os.dup2(write, 1)
            command = f"trap '' TERM HUP INT; echo up; sleep 61; : {TARGETS['marker']}"
            quietly(os.execve, "/bin/sh", ["sh", "-c", command], {"PATH": "/usr/bin:/bin"})
            os._exit(1)
        os._exit(0)
    os.close(write)
    if os.read(read, 3):
        through("left a process of another program")
    return start
