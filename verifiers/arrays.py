"""Arrays as bytes: a fixed header and the raw numbers, read without trusting a single byte of them.

Layout, little endian: ``EVOA`` | u8 version | u8 dtype | u8 ndim | u64 a dimension | raw numbers in C order. The
length is exact: a byte too many or too few is refused. Never pickle, never npy: neither can be read safely.
"""

from __future__ import annotations

import hashlib
import math
import struct
from typing import Any

import numpy as np
import numpy.typing as npt

from evocore.errors import InvalidConstruction

MAGIC = b"EVOA"
VERSION = 1
MAX_NDIM = 4
MAX_BYTES = 64 << 20
FLOAT64, INT64 = 1, 2
DTYPES = {FLOAT64: np.dtype("<f8"), INT64: np.dtype("<i8")}
_PREFIX = struct.Struct("<4sBBB")


def encode(x: npt.ArrayLike) -> bytes:
    """Write an array as bytes.

    Parameters
    ----------
    x : (...) array of real numbers
        At most four dimensions. Written as float64 or int64, whichever holds the dtype without loss; lists of
        integers as float64.

    Returns
    -------
    bytes
        Header and raw numbers; `decode` gives the same bits back.

    Raises
    ------
    InvalidConstruction
        The array is of another dtype, is empty, or has no dimension or more than four.

    Examples
    --------
    >>> encode([1.0]).hex()
    '45564f410101010100000000000000000000000000f03f'
    """
    array = np.asarray(x)
    if not isinstance(x, np.ndarray) and array.dtype.kind in "iu":
        array = array.astype(np.float64)
    fits = [c for c in (INT64, FLOAT64) if array.dtype.kind in "fiu" and np.can_cast(array.dtype, DTYPES[c])]
    if not fits or array.dtype == np.uint64:
        raise InvalidConstruction(f"expected an array that fits into float64 or int64, got {array.dtype}")
    code = fits[0]
    if not 1 <= array.ndim <= MAX_NDIM:
        raise InvalidConstruction(f"expected an array of 1 to {MAX_NDIM} dimensions, got {array.ndim}")
    if not array.size:
        raise InvalidConstruction(f"expected at least one number, got an array of shape {array.shape}")
    header = _PREFIX.pack(MAGIC, VERSION, code, array.ndim) + struct.pack(f"<{array.ndim}Q", *array.shape)
    return header + array.astype(DTYPES[code], copy=False).tobytes(order="C")


def decode(buffer: bytes | bytearray | memoryview, *, max_bytes: int = MAX_BYTES) -> npt.NDArray[Any]:
    """Read an array from bytes that anybody may have written.

    Parameters
    ----------
    buffer : bytes
        What `encode` wrote, or anything at all.
    max_bytes : int
        Longest buffer that is looked at.

    Returns
    -------
    (...) float64 or int64 array
        A copy in native byte order. NaN and infinities are passed on: what a number may be is the problem's rule.

    Raises
    ------
    InvalidConstruction
        The bytes are not exactly one array in this layout; nothing is allocated before the length has been checked.
    """
    if len(buffer) > max_bytes:
        raise InvalidConstruction(f"expected an array of at most {max_bytes} bytes, got {len(buffer)}")
    if len(buffer) < _PREFIX.size:
        raise InvalidConstruction(f"expected an array header of {_PREFIX.size} bytes, got {len(buffer)}")
    magic, version, code, ndim = _PREFIX.unpack_from(buffer)
    if magic != MAGIC:
        raise InvalidConstruction(f"expected an array that begins with {MAGIC!r}, got {magic!r}")
    if version != VERSION:
        raise InvalidConstruction(f"expected array layout {VERSION}, got {version}")
    if code not in DTYPES:
        raise InvalidConstruction(f"expected dtype code 1 (float64) or 2 (int64), got {code}")
    if not 1 <= ndim <= MAX_NDIM:
        raise InvalidConstruction(f"expected 1 to {MAX_NDIM} dimensions, got {ndim}")
    start = _PREFIX.size + 8 * ndim
    if len(buffer) < start:
        raise InvalidConstruction(f"expected an array header of {start} bytes, got {len(buffer)}")
    shape = struct.unpack_from(f"<{ndim}Q", buffer, _PREFIX.size)
    if 0 in shape:  # beside a zero, any other dimension would fit the length
        raise InvalidConstruction(f"expected at least one number, got an array of shape {shape}")
    expected = start + 8 * math.prod(shape)  # Python integers: a hostile shape cannot overflow
    if len(buffer) != expected:
        raise InvalidConstruction(f"expected {expected} bytes for an array of shape {shape}, got {len(buffer)}")
    numbers = np.frombuffer(buffer, dtype=DTYPES[code], offset=start).reshape(shape)
    return numbers.astype(DTYPES[code].newbyteorder("="))  # the copy is aligned; the buffer's numbers are not


def construction_sha256(x: npt.ArrayLike) -> str:
    """Name a construction: the SHA-256 of its array bytes, however it was handed in (JSON text or array)."""
    return hashlib.sha256(encode(x)).hexdigest()
