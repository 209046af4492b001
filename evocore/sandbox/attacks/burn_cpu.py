"""Use more CPU time than allowed, with wall time left."""

# mypy: ignore-errors
# ruff: noqa: D103


def optimize(problem, start, seed, deadline, offer):
    while True:
        sum(range(10_000))
