"""Use what root may do by calls that everybody needs: map address 0, where kernels stumble, and break memory."""

import errno

NOWHERE = 0x1000


def optimize(problem, start, seed, deadline, offer):
    attempt("mapped address 0", syscall, 9, 0, 4096, 3, 0x32, -1, 0)  # mmap, MAP_FIXED
    for what, advice in (("declare memory broken", 100), ("take memory off line", 101)):
        try:
            syscall(28, NOWHERE, 4096, advice)  # madvise
        except OSError as error:
            if error.errno == errno.EFAULT:  # allowed, and nothing is mapped there
                through(f"may {what}")
    return start
