"""Leave thousands of folders inside folders, unreadable ones and links."""

import os


def optimize(problem, start, seed, deadline, offer):
    quietly(os.symlink, "/", "link")
    quietly(os.mkdir, "closed", 0o000)
    for _ in range(1000):
        quietly(os.mkdir, "d")
        quietly(os.chdir, "d")
    quietly(os.symlink, "..", "up")
    quietly(os.chmod, ".", 0o000)
    return start
