"""Recurse without end."""

# mypy: ignore-errors
# ruff: noqa: D103


def optimize(problem, start, seed, deadline, offer):
    return optimize(problem, start, seed, deadline, offer)
