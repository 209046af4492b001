"""Signal, stop, kill and slow down other processes."""

import fcntl
import os
import resource
import signal


def optimize(problem, start, seed, deadline, offer):
    target = TARGETS["processes"]["target"]
    attempt("may signal every process there is", os.kill, -1, 0)
    for who, pid in {**TARGETS["processes"], "runner": os.getppid()}.items():
        attempt(f"may signal the {who}", os.kill, pid, 0)
    attempt("signalled by tkill", syscall, 200, target, int(signal.SIGUSR1))
    attempt("signalled by tgkill", syscall, 234, target, target, int(signal.SIGUSR1))
    attempt("signalled with data", syscall, 129, target, int(signal.SIGUSR2), bytes([0] * 12 + [255] * 4 + [0] * 112))
    for who, pid in TARGETS["processes"].items():
        attempt(f"changed limits of the {who}", raise_limit, pid)
        attempt(f"read limits of the {who}", resource.prlimit, pid, resource.RLIMIT_NOFILE)
    attempt("changed the target's priority", os.setpriority, os.PRIO_PROCESS, target, 7)
    attempt("changed where the target runs", os.sched_setaffinity, target, {0})
    attempt("changed how the target is scheduled", os.sched_setscheduler, target, os.SCHED_BATCH, os.sched_param(0))
    attempt("had a pipe signal the target", signal_by_pipe, target)
    attempt("killed the verifier", os.kill, TARGETS["processes"]["verifier"], signal.SIGKILL)
    for number in (signal.SIGTERM, signal.SIGSTOP, signal.SIGKILL):
        attempt(f"sent {number.name}", os.kill, target, number)
    return start


def raise_limit(pid):
    now = resource.prlimit(pid, resource.RLIMIT_CORE)
    resource.prlimit(pid, resource.RLIMIT_CORE, (0, now[1]))


def signal_by_pipe(target):
    read, write = os.pipe()
    fcntl.fcntl(read, fcntl.F_SETOWN, target)
    fcntl.fcntl(read, 10, int(signal.SIGUSR1))  # F_SETSIG
    fcntl.fcntl(read, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
    os.write(write, b"x")
