"""Open the kernel's settings and the machine's devices for writing, without writing."""

import glob
import os

PATHS = (
    "/proc/sys/kernel/core_pattern",
    "/proc/sys/kernel/randomize_va_space",
    "/proc/sysrq-trigger",
    "/proc/self/oom_score_adj",
    "/proc/self/uid_map",
    "/proc/self/mem",
    "/proc/self/comm",
    "/sys/kernel/uevent_helper",
    "/sys/fs/cgroup/cgroup.procs",
    "/dev/mem",
    "/dev/kmsg",
    "/dev/tty",
    "/dev/fuse",
    "/dev/kvm",
    "/dev/net/tun",
    "/dev/ptmx",
    "/var/run/docker.sock",
)


def optimize(problem, start, seed, deadline, offer):
    disks = glob.glob("/dev/[vs]d[a-z]") + glob.glob("/dev/nvme*n1") + glob.glob("/dev/pts/[0-9]*")
    for path in (*PATHS, *disks):
        file = attempt(f"opened {path} for writing", os.open, path, os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK)
        if file is not None:
            os.close(file)
    return start
