"""Read from address 0."""

# mypy: ignore-errors
# ruff: noqa: D103

import ctypes


def optimize(problem, start, seed, deadline, offer):
    ctypes.string_at(0)
