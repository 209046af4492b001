"""Learn, without opening anything, which files there are and how large they are."""

import os


def optimize(problem, start, seed, deadline, offer):
    tree = TARGETS["tree"]
    for path in (f"{tree}/held-out/secret.json", f"{tree}/run/ledger.jsonl", f"/proc/{TARGETS['processes']['target']}"):
        attempt("learnt that a file exists", os.stat, path)
        attempt("learnt what it may do", lambda path=path: os.access(path, os.R_OK) or 1 / 0)
        attempt("learnt of its file system", os.statvfs, path)
    attempt("changed into the folder", os.chdir, f"{tree}/run")
    return start
