"""What the kernels take as numbers and as a set of points, and what they refuse."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

MAX_POINTS = 2**31 - 1


def as_points(points: npt.ArrayLike, name: str = "points") -> Array:
    """Return points as a C-ordered (n, d) float64 array, copied only where they are something else.

    Raises
    ------
    TypeError
        They are not real numbers.
    ValueError
        They are not two-dimensional, or too many.
    """
    array = np.asarray(points)
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
    array = np.asarray(values)
    if array.dtype.kind not in "fiub":
        raise TypeError(f"expected {name} as real numbers, got dtype {array.dtype}")
    return _as_float64(array)


def _as_float64(array: npt.NDArray[Any]) -> Array:
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
    flags = np.asarray(maximize)
    if flags.dtype != np.bool_ and flags.size:
        raise ValueError(f"expected maximize as bools, got {maximize!r}")
    if flags.ndim == 0:
        return np.full(d, bool(flags), dtype=np.uint8)
    if flags.shape != (d,):
        raise ValueError(f"expected maximize as one bool or {d} of them, got shape {flags.shape}")
    return np.ascontiguousarray(flags, dtype=np.uint8)


def output(out: npt.NDArray[Any] | None, shape: tuple[int, ...], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """Return `out` after checking that a kernel can write into it, or a new array where there is none.

    Raises
    ------
    TypeError
        It is not an array of that type.
    ValueError
        Its shape differs, it is read-only or its order is not C.
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
    return out
