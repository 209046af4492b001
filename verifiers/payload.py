"""From what was handed in, JSON text or an array, to the numbers that are scored."""

from __future__ import annotations

import json
import sys
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from evocore.errors import InvalidConstruction
from evocore.problems.base import quoted

if TYPE_CHECKING:
    from evocore.problems.base import Problem, Vector

WRAPPER = "solution"
MARKS_PER_VALUE = 3
SPARE_MARKS = 1000
"""How many commas and opening brackets a text may have. One that consists of them makes Python objects of thirty times
its size: 64 MiB of ``{},`` took 1.5 GB and 12 seconds. Three a value are enough for a list of pairs."""


def read(problem: Problem, payload: bytes | str | dict[str, Any] | npt.ArrayLike) -> Vector:
    """Read a construction.

    Parameters
    ----------
    problem : Problem
        Says what its constructions look like.
    payload : bytes, str, dict or array
        JSON text in the arena's schema, bare or inside ``{"solution": ...}`` as published files have it; the same
        decoded; or the numbers.

    Returns
    -------
    (n,) float64 array
        The numbers that are scored.

    Raises
    ------
    InvalidConstruction
        Says what was expected, what stands there, and where.
    """
    if isinstance(payload, bytes | str):
        text = payload if isinstance(payload, bytes) else payload.encode(errors="surrogatepass")
        return problem.parse(_unwrapped(problem, _decoded(text, problem.max_length)))
    if isinstance(payload, dict):
        return problem.parse(_unwrapped(problem, payload))
    if isinstance(payload, list | tuple) and not all(isinstance(v, float | int | np.number) for v in payload):
        return problem.parse({problem.schema_key: list(payload)})  # it says which entry is no number
    return problem.check(np.asarray(payload))


def _unwrapped(problem: Problem, decoded: Any) -> Any:
    if isinstance(decoded, dict) and problem.schema_key not in decoded and isinstance(decoded.get(WRAPPER), dict):
        return decoded[WRAPPER]
    return decoded


def _decoded(text: bytes, max_length: int) -> Any:
    if not text or text.isspace():
        raise InvalidConstruction("expected JSON, got nothing: the input is empty")
    n_marks = sum(text.count(mark) for mark in (b",", b"[", b"{"))
    if n_marks > MARKS_PER_VALUE * max_length + SPARE_MARKS:
        raise InvalidConstruction(
            f"expected at most {max_length} values, got a text with {n_marks} commas and opening brackets"
        )
    try:
        decoded = text.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidConstruction(
            f"expected JSON, that is text in UTF-8, got the byte 0x{text[error.start]:02x} at offset {error.start}"
        ) from None
    try:
        # NaN, Infinity and 1e999 are let through: the problem's own check then says at which index they stand.
        return json.loads(decoded, object_pairs_hook=_object)
    except json.JSONDecodeError as error:
        raise InvalidConstruction(
            f"expected JSON, got {_near(decoded, error.pos)}: {error.msg.lower()} at line {error.lineno}, "
            f"column {error.colno}"
        ) from None
    except RecursionError:
        raise InvalidConstruction("expected JSON of a flat list of numbers, got one nested too deep to read") from None
    except ValueError:  # the only other one: Python reads no longer integers, as that takes quadratic time
        most = sys.get_int_max_str_digits()
        raise InvalidConstruction(f"expected JSON with integers of at most {most} digits, got a longer one") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)
        raise InvalidConstruction(f"expected every key once, got {quoted(twice)} twice")
    return found


def _near(text: str, position: int) -> str:
    if position >= len(text):
        return "the end of the input"
    return repr(text[position : position + 20])
