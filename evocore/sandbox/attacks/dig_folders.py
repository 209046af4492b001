"""Leave thousands of folders inside folders, unreadable ones and links."""

# mypy: ignore-errors
# ruff: noqa: D103

import os


def optimize(problem, start, seed, deadline, offer):
    os.symlink("/", "link")
    os.mkdir("closed", 0o000)
    for _ in range(1000):
        os.mkdir("d")
        os.chdir("d")
    os.symlink("..", "up")
    os.chmod(".", 0o000)
    return start
