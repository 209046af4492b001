"""Run other programs in every way that there is."""

import ctypes
import os
import subprocess
import sys


def optimize(problem, start, seed, deadline, offer):
    for program in (sys.executable, "/bin/sh", "/bin/true", "/usr/local/bin/python3"):
        name = os.path.basename(program)
        attempt(f"ran {name} by subprocess", subprocess.run, [program, "--version"], 0, None, subprocess.DEVNULL)
        attempt(f"ran {name} by posix_spawn", os.posix_spawn, program, [program, "--version"], {})
    if os.system("exit 3") >> 8 == 3:
        through("ran a shell by os.system")
    if quietly(lambda: os.popen("echo run").read()) == "run\n":
        through("ran a shell by os.popen")
    memory = quietly(os.memfd_create, "program")
    if memory is not None:
        quietly(os.write, memory, b"#!/bin/sh\necho got through: ran a program from memory\n")
        empty = (ctypes.c_char_p * 1)(None)
        quietly(syscall, 322, memory, b"", empty, empty, 0x1000)  # execveat, AT_EMPTY_PATH
    for program in ("/bin/true", sys.executable):  # the last: what works ends this program
        quietly(os.execve, program, [program, "-c", "print('got through: became another program')"], {})
    return start
