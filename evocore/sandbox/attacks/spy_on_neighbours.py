"""Look for other programs that run at the same time: their files, folders, descriptors and results."""

import glob
import os
import re
import time


def optimize(problem, start, seed, deadline, offer):
    own = os.path.realpath(".")
    end = min(deadline, time.monotonic() + 0.3)
    while time.monotonic() < end:
        for folder in glob.glob("../*") + glob.glob("/tmp/evocore-sandbox-*/*/*"):
            if os.path.realpath(folder) != own:
                quietly(look_into, folder)
        for file in glob.glob("/proc/[0-9]*/fd/*"):
            if "memfd:evocore" in str(quietly(os.readlink, file)) and f"/{os.getpid()}/" not in file:
                attempt("read another program's job", read, file)
        for pid in (os.getpid() + step for step in range(-20, 20) if step):
            for number in range(6):
                if quietly(os.open, f"/proc/{pid}/fd/{number}", os.O_RDONLY | os.O_NONBLOCK) is not None:
                    through("opened another process's file by its number")
        time.sleep(0.02)
    return start


def look_into(folder):
    os.listdir(folder)
    through("looked into another program's folder")


def read(path):
    file = os.open(path, os.O_RDONLY)
    content = os.pread(file, 1 << 20, 0)
    os.close(file)
    print(re.findall(rb"evocore-secret-[0-9a-f]+", content))
