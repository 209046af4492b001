"""Raise the own limits."""

import resource


def optimize(problem, start, seed, deadline, offer):
    for name in ("CPU", "AS", "FSIZE", "NOFILE", "NPROC", "CORE"):
        which = getattr(resource, f"RLIMIT_{name}")
        hard = resource.getrlimit(which)[1]
        if hard != resource.RLIM_INFINITY:
            attempt(f"raised RLIMIT_{name}", resource.setrlimit, which, (hard + 1, hard + 1))
            attempt(f"raised RLIMIT_{name} by prlimit", resource.prlimit, 0, which, (hard + 1, hard + 1))
    return start
