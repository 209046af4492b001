"""Look for what the controller was told in its environment: keys, and paths to load code from."""

import os
import sys


def optimize(problem, start, seed, deadline, offer):
    print(dict(os.environ), sys.path, sys.argv, sys.orig_argv)
    for name in ("environ", "cmdline"):
        print(quietly(read, f"/proc/self/{name}"))
    if any(TARGETS["marker"] in path or TARGETS["tree"] in path for path in sys.path):
        through("has a path of the controller's to load code from")
    if "sitecustomize" in sys.modules and TARGETS["tree"] in str(sys.modules["sitecustomize"].__file__):
        through("ran code that the controller's environment named")
    return start


def read(path):
    with open(path, "rb") as file:
        return file.read()
