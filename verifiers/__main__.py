"""Start of the verifier process, by `evocore.verifiers.Verifier`; `python -I -B -m evocore.verifiers` does the same."""

import os
import sys


def start() -> None:
    """Close the doors that have to be closed first, then load the rest and serve."""
    # Before anything else: whatever is printed from here on, by a problem or a library, must stay out of the frames.
    requests, replies = os.dup(0), os.dup(1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    # The controller's command line says that there are no caches, for what is loaded up to here; others' are used.
    sys.pycache_prefix = None
    from evocore.verifiers import sources

    sources.watch()
    from evocore.verifiers import process

    process.serve(requests, replies)


if __name__ == "__main__":
    start()
