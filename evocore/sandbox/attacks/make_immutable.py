"""Leave a file that nobody can remove, as root may."""

import fcntl
import os
import struct


def optimize(problem, start, seed, deadline, offer):
    file = quietly(os.open, "for-ever", os.O_CREAT | os.O_WRONLY)
    if file is not None:
        quietly(fcntl.ioctl, file, 0x40086602, struct.pack("l", 0x10))  # FS_IOC_SETFLAGS, FS_IMMUTABLE_FL
    return start
