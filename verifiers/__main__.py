"""Start of the verifier process: `python -I -B -m evocore.verifiers`, run by `evocore.verifiers.Verifier`."""

import os


def start() -> None:
    """Move the two pipes out of the way, then load the rest and serve."""
    # First of all: whatever is printed from here on, by a problem or a library, must not get between the frames.
    requests, replies = os.dup(0), os.dup(1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    from evocore.verifiers import process

    process.serve(requests, replies)


if __name__ == "__main__":
    start()
