import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from evocore.errors import InvalidConstruction
from evocore.verifiers.arrays import construction_sha256, decode, encode

ONE = "45564f410101010100000000000000000000000000f03f"  # EVOA, version 1, float64, one dimension, 1.0

arrays = hnp.arrays(
    dtype=st.sampled_from([np.float64, np.int64]),
    shape=hnp.array_shapes(min_dims=1, max_dims=4, min_side=1, max_side=5),
)


def test_layout_by_hand():
    assert encode([1.0]).hex() == ONE
    assert encode(np.array([1], dtype=np.int64)).hex() == ONE.replace("0101010100", "0102010100").replace(
        "000000000000f03f", "0100000000000000"
    )


@given(arrays)
def test_decode_gives_the_same_bits_back(x):
    back = decode(encode(x))
    assert back.dtype == x.dtype
    assert back.shape == x.shape
    assert back.tobytes() == np.ascontiguousarray(x).tobytes()
    assert back.flags.c_contiguous
    assert back.flags.aligned


@given(st.binary(max_size=200))
def test_any_bytes_are_an_array_or_an_invalid_construction(data):
    try:
        x = decode(data)
    except InvalidConstruction:
        return
    assert encode(x) == data


@given(arrays, st.data())
def test_a_changed_header_byte_is_refused_or_changes_the_meaning(x, data):
    good = encode(x)
    i = data.draw(st.integers(0, 7 + 8 * x.ndim - 1))
    bad = bytearray(good)
    bad[i] ^= data.draw(st.integers(1, 255))
    try:
        back = decode(bytes(bad))
    except InvalidConstruction:
        return
    assert back.dtype != x.dtype or back.shape != x.shape


@given(arrays, st.binary(min_size=1, max_size=9))
def test_bytes_too_many_or_too_few_are_refused(x, more):
    good = encode(x)
    with pytest.raises(InvalidConstruction, match="expected"):
        decode(good + more)
    with pytest.raises(InvalidConstruction, match="expected"):
        decode(good[: -len(more)])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda b: b"EVOB" + b[4:], "begins with b'EVOA', got b'EVOB'"),
        (lambda b: b[:4] + b"\2" + b[5:], "layout 1, got 2"),
        (lambda b: b[:5] + b"\3" + b[6:], "dtype code 1 .float64. or 2 .int64., got 3"),
        (lambda b: b[:6] + b"\0" + b[7:], "1 to 4 dimensions, got 0"),
        (lambda b: b[:6] + b"\5" + b[7:], "1 to 4 dimensions, got 5"),
        (lambda b: b[:6] + b"\4" + b[7:], "header of 39 bytes, got 23"),
        (lambda b: b[:7] + b"\xff" * 8 + b[15:], "expected 147573952589676412935 bytes"),
        (lambda b: b[:7] + bytes(8), "at least one number, got an array of shape .0,."),
        (lambda b: b"", "header of 7 bytes, got 0"),
        (lambda b: b"\x80\x04\x95" + b, "begins with"),  # a pickle
        (lambda b: b"\x93NUMPY\1\0" + b, "begins with"),  # an npy file
    ],
)
def test_refusals_say_what_was_expected(change, message):
    with pytest.raises(InvalidConstruction, match=message):
        decode(change(bytes.fromhex(ONE)))


def test_length_is_capped_before_anything_is_read():
    with pytest.raises(InvalidConstruction, match="at most 22 bytes, got 23"):
        decode(bytes.fromhex(ONE), max_bytes=22)


def test_nan_and_infinities_pass():
    x = np.array([np.nan, np.inf, -np.inf, -0.0, 5e-324])
    assert decode(encode(x)).tobytes() == x.tobytes()


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int32, np.uint8, ">f8", ">i8"])
def test_narrower_and_foreign_dtypes_are_widened(dtype):
    x = np.array([1, 2, 3], dtype=dtype)
    assert decode(encode(x)).tolist() == [1, 2, 3]


@pytest.mark.parametrize("x", [np.array([True]), np.array(["a"]), np.array([1j]), np.array([None]), np.array([2**63])])
def test_other_dtypes_are_refused(x):
    with pytest.raises(InvalidConstruction, match="fits into float64 or int64"):
        encode(x)


def test_scalars_and_five_dimensions_are_refused():
    for x in (np.float64(1), np.zeros((1,) * 5)):
        with pytest.raises(InvalidConstruction, match="1 to 4 dimensions"):
            encode(x)


def test_empty_arrays_are_refused():
    for x in ([], np.zeros((3, 0))):
        with pytest.raises(InvalidConstruction, match="at least one number"):
            encode(x)


def test_memory_order_does_not_matter():
    x = np.arange(6.0).reshape(2, 3)
    assert encode(np.asfortranarray(x)) == encode(x)
    assert encode(x[:, ::2]) == encode(x[:, ::2].copy())


def test_the_copy_is_independent_of_the_buffer():
    buffer = bytearray(encode([1.0, 2.0]))
    x = decode(buffer)
    buffer[-1] = 0
    assert x.tolist() == [1.0, 2.0]
    x[0] = 3.0


def test_a_construction_has_one_name():
    assert construction_sha256([1, 2]) == construction_sha256(np.array([1.0, 2.0]))
    assert construction_sha256([1, 2]) != construction_sha256([2, 1])
