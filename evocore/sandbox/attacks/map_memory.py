"""Reserve, lock and share memory past the limit, by every call that gives some."""

import ctypes
import mmap
import os
import resource


def optimize(problem, start, seed, deadline, offer):
    attempt("mapped 32 GiB", mmap.mmap, -1, 32 << 30)
    attempt("mapped 32 GiB privately", mmap.mmap, -1, 32 << 30, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000)
    attempt("moved the end of the heap by 32 GiB", brk)
    area = quietly(mmap.mmap, -1, 1 << 20)
    if area is not None:
        attempt("remapped to 32 GiB", area.resize, 32 << 30)
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    quietly(resource.setrlimit, resource.RLIMIT_AS, (hard, hard))  # the difference is room for last words
    attempt("mapped 16 GiB after raising the limit as far as it goes", mmap.mmap, -1, 16 << 30)
    resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
    file = quietly(os.memfd_create, "huge", 4)  # MFD_HUGETLB
    if file is not None and quietly(os.ftruncate, file, 1 << 30) is None:
        attempt("filled huge pages", lambda: mmap.mmap(file, 1 << 30).write(b"x" * (64 << 20)))
    return start


def brk():
    now = syscall(12, 0)
    if syscall(12, now + (32 << 30)) == now or not ctypes.c_long(now).value:
        raise MemoryError
