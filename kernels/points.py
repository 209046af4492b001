"""What the kernels take as numbers and as a set of points, and what they refuse."""

from __future__ import annotations

import math
import numbers
import reprlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

MAX_POINTS = 2**31 - 1


def as_number(value: float, name: str) -> float:
    """Return a real number as a float: Python's or NumPy's, but no bool, which stands for an argument in a wrong place.

    Raises
    ------
    TypeError
        It is something else.
    ValueError
        It is NaN, or beyond the range of a double.
    """
    if type(value) is not float:
        if isinstance(value, bool) or not isinstance(value, numbers.Real):
            raise TypeError(f"expected {name} as a real number, got {shown(value)}")
        try:
            value = float(value)
        except OverflowError:
            raise ValueError(f"expected {name} within the range of a double, got {shown(value)}") from None
    if math.isnan(value):
        raise ValueError(f"expected {name} as a number, got nan")
    return value


def as_count(value: int, name: str, least: int, most: int, meaning: str = "") -> int:
    """Return a whole number within bounds as an int: Python's or NumPy's, but no bool and no float.

    `meaning` says in a message what the upper bound is.

    Raises
    ------
    TypeError
        It is something else.
    ValueError
        It is below `least` or above `most`.
    """
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise TypeError(f"expected {name} as an integer, got {shown(value)}")
    count = int(value)
    if not least <= count <= most:
        raise ValueError(f"expected {name} from {least} to {most}{meaning and f' ({meaning})'}, got {shown(count)}")
    return count


def as_counts(values: Sequence[int] | npt.NDArray[np.integer], name: str, least: int, most: int) -> list[int]:
    """Return a sequence of whole numbers within bounds as a list; see `as_count`."""
    if isinstance(values, str) or not (
        isinstance(values, Sequence) or (isinstance(values, np.ndarray) and values.ndim)
    ):
        raise TypeError(f"expected {name} as a sequence of integers, got {shown(values)}")
    return [as_count(value, f"{name}[{i}]", least, most) for i, value in enumerate(values)]


def as_choice(value: str, what: str, choices: Sequence[str]) -> str:
    """Return a word that is one of several.

    Raises
    ------
    TypeError
        It is no string.
    ValueError
        It is another one.
    """
    if not isinstance(value, str):
        raise TypeError(f"expected {what} out of {', '.join(choices)}, got {shown(value)}")
    if value not in choices:
        raise ValueError(f"expected {what} out of {', '.join(choices)}, got {shown(value)}")
    return value


def shown(value: object) -> str:
    """Describe a value in a message, in few words whatever it is."""
    if isinstance(value, int) and value.bit_length() > 256:  # Python refuses to write the longest ones
        return f"an integer of {value.bit_length()} bits"
    try:
        return reprlib.repr(value)
    except ValueError:  # a list of such integers
        return f"a {type(value).__name__}"


def as_array(values: npt.ArrayLike, name: str) -> npt.NDArray[Any]:
    """Return an array of whatever dtype; ValueError where rows are of unequal lengths."""
    try:
        return np.asarray(values)
    except ValueError as error:
        raise ValueError(f"expected {name} as an array, got {shown(values)}: {error}") from None


def as_points(points: npt.ArrayLike, name: str = "points") -> Array:
    """Return points as a C-ordered (n, d) float64 array, copied only where they are something else.

    Raises
    ------
    TypeError
        They are not real numbers.
    ValueError
        They are not two-dimensional, or too many.
    """
    array = as_array(points, name)
    if array.dtype.kind not in "fiub":
        raise TypeError(f"expected {name} as real numbers, got dtype {array.dtype}")
    if array.ndim != 2:
        raise ValueError(f"expected {name} of shape (n, d), got {array.shape}")
    if array.shape[0] > MAX_POINTS:
        raise ValueError(f"expected at most {MAX_POINTS} {name}, got {array.shape[0]}")
    return _as_float64(array)


def as_reals(values: npt.ArrayLike, name: str = "values") -> Array:
    """Return numbers as a C-ordered float64 array, copied only where they are something else.

    Raises
    ------
    TypeError
        They are not real numbers: complex ones would lose a part, and None would become NaN.
    """
    try:
        array = np.asarray(values)
    except ValueError:
        array = as_array(values, name)  # which says whose rows they are; no call before, for short vectors
    if array.dtype.kind not in "fiub":
        raise TypeError(f"expected {name} as real numbers, got dtype {array.dtype}")
    return _as_float64(array)


def _as_float64(array: npt.NDArray[Any]) -> Array:
    """Return values in C order, where compiled loops may read them: those of records and sliced buffers need a copy."""
    values = np.asarray(array, dtype=np.float64, order="C")  # a sixth of what np.require takes
    return values if values.flags.aligned else values.copy()


def refuse_nonfinite(array: npt.NDArray[np.floating], name: str) -> None:
    """Raise ValueError with the index of the first value that is NaN or infinite, if there is one."""
    # a sum is finite unless a value is not, or it overflows: the exact question is asked only then
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(array.sum()):
            return
    wrong = np.flatnonzero(~np.isfinite(array))
    if len(wrong):
        raise_nonfinite(array, int(wrong[0]), name)


def raise_nonfinite(array: npt.NDArray[np.floating], flat: int, name: str) -> None:
    """Raise ValueError about the value at a flat index."""
    index = tuple(int(i) for i in np.unravel_index(flat, array.shape))
    place = ", ".join(map(str, index))
    raise ValueError(f"expected finite values, got {name}[{place}] = {array[index]}")


def directions(maximize: bool | Sequence[bool] | npt.NDArray[np.bool_], d: int) -> npt.NDArray[np.uint8]:
    """Return 1 for each of d objectives that is to be maximised; one bool stands for all.

    Raises
    ------
    ValueError
        There are not d of them, or they are not bools.
    """
    if maximize is False:  # the usual case, in a fifteenth of the time
        return np.zeros(d, dtype=np.uint8)
    flags = as_array(maximize, "maximize")
    if flags.dtype != np.bool_ and flags.size:
        raise ValueError(f"expected maximize as bools, got {shown(maximize)}")
    if flags.ndim == 0:
        return np.full(d, bool(flags), dtype=np.uint8)
    if flags.shape != (d,):
        raise ValueError(f"expected maximize as one bool or {d} of them, got shape {flags.shape}")
    return np.ascontiguousarray(flags, dtype=np.uint8)


def output(
    out: npt.NDArray[Any] | None, shape: tuple[int, ...], dtype: npt.DTypeLike, **inputs: Array
) -> npt.NDArray[Any]:
    """Return `out` after checking that a kernel can write into it, or a new array where there is none.

    `inputs` are contiguous arrays, by name, that the kernel still reads while it writes.

    Raises
    ------
    TypeError
        It is not an array of that type.
    ValueError
        Its shape differs, it is read-only, its order is not C, or it shares memory with an input.
    """
    if out is None:
        return np.empty(shape, dtype=dtype)
    if not isinstance(out, np.ndarray) or out.dtype != np.dtype(dtype):
        raise TypeError(
            f"expected out as an array of {np.dtype(dtype)}, got {getattr(out, 'dtype', type(out).__name__)}"
        )
    if out.shape != shape or not out.flags.c_contiguous or not out.flags.writeable:
        raise ValueError(
            f"expected out writeable, in C order, of shape {shape}, got shape {out.shape}, "
            f"C order {out.flags.c_contiguous}, writeable {out.flags.writeable}"
        )
    for name, array in inputs.items():
        if np.may_share_memory(out, array):  # by their bounds: exact, as both are contiguous
            raise ValueError(
                f"expected out in memory of its own, got an array that overlaps {name}: "
                f"hand in another one, or copy {name}"
            )
    return out
