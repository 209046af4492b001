"""From what was handed in, JSON text or an array, to the numbers that are scored."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from evocore.errors import InvalidConstruction

if TYPE_CHECKING:
    from evocore.problems.base import Problem, Vector

WRAPPER = "solution"


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
        payload = _decoded(payload if isinstance(payload, bytes) else payload.encode())
        return problem.parse(_unwrapped(problem, payload))
    if isinstance(payload, dict):
        return problem.parse(_unwrapped(problem, payload))
    if isinstance(payload, list | tuple) and not all(isinstance(v, float | int | np.number) for v in payload):
        return problem.parse({problem.schema_key: list(payload)})  # it says which entry is no number
    return problem.check(np.asarray(payload))


def _unwrapped(problem: Problem, decoded: Any) -> Any:
    if isinstance(decoded, dict) and problem.schema_key not in decoded and isinstance(decoded.get(WRAPPER), dict):
        return decoded[WRAPPER]
    return decoded


def _decoded(text: bytes) -> Any:
    if not text.strip():
        raise InvalidConstruction("expected JSON, got nothing: the input is empty")
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
    except ValueError as error:  # an integer of more digits than Python reads
        raise InvalidConstruction(f"expected JSON with numbers of readable length: {error}") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)
        raise InvalidConstruction(f'expected every key once, got "{twice[:40]}" twice')
    return found


def _near(text: str, position: int) -> str:
    if position >= len(text):
        return "the end of the input"
    return repr(text[position : position + 20])
