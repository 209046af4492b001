import contextlib
import json
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evocore.errors import InvalidConstruction
from evocore.verifiers.payload import read

floats = st.floats(allow_nan=False, allow_infinity=False)


@given(st.lists(floats, min_size=1, max_size=20))
def test_every_form_gives_the_same_numbers(mean, values):
    text = json.dumps({"values": values})
    forms = [
        text,
        text.encode(),
        b"\xef\xbb\xbf" + text.encode(),
        json.dumps({"source": "x", "claimed_score": 1, "solution": {"values": values}}).encode(),
        {"values": values},
        {"solution": {"values": values}},
        values,
        tuple(values),
        np.array(values),
        list(np.array(values)),
    ]
    for form in forms:
        assert read(mean, form).tobytes() == np.array(values, dtype=np.float64).tobytes()


@given(st.binary(max_size=60) | st.text(max_size=60).map(lambda t: json.dumps(t).encode()))
def test_any_bytes_are_a_construction_or_an_invalid_one(mean, data):
    with pytest.raises(InvalidConstruction):
        read(mean, data)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "the input is empty"),
        (b" \n", "the input is empty"),
        (b"\x80\x04", "byte 0x80 at offset 0"),
        (b'{"values": [1, 2]', "the end of the input: expecting ',' delimiter at line 1, column 18"),
        (b"values", "got 'values': expecting value at line 1, column 1"),
        (b'{"values": [1]} x', "extra data"),
        (b'{"values": [1], "values": [2]}', 'every key once, got "values" twice'),
        (b'{"solution": {"a": 1, "a": 2}}', 'every key once, got "a" twice'),
        (b"[" * 3000, "nested too deep"),
        (b'{"a":' * 3000, "nested too deep"),
        (b"[" * 4001, "at most 1000 values, got a text with 4001 commas and opening brackets"),
        (b"{" * 4001, "at most 1000 values, got a text with 4001"),
        (b"[1" + b",1" * 4000, "at most 1000 values, got a text with 4001"),
        (b'{"values": [' + b"1" * 5000 + b"]}", "integers of at most 4300 digits, got a longer one"),
        (b'{"values": "\\ud800\\u001b[0m\x7f"}', r'got the string "\\ud800\\x1b\[0m\\x7f"'),
        (b'{"\\u001b": 1, "\\u001b": 2}', r'every key once, got "\\x1b" twice'),
        (b'{"\\u202e": {"values": [1]}}', r'got the key "\\u202e"; it stands inside "\\u202e"'),
        (b"[1, 2]", 'expected an object {"values": .numbers.}, got a list'),
        (b"null", "got null"),
        (b'{"value": [1]}', 'expected the key "values", got the key "value"'),
        (b'{"values": [1], "x": 2}', "and no other"),
        (b'{"values": 1}', "expected a list of numbers at values, got the number 1"),
        (b'{"values": []}', "expected 1 to 1000 values at values, got 0"),
        (b'{"values": [' + b"1," * 1000 + b"1]}", "expected 1 to 1000 values at values, got 1001"),
        (b'{"values": [1, NaN]}', r"finite number at values\[1\], got nan"),
        (b'{"values": [-Infinity]}', r"finite number at values\[0\], got -inf"),
        (b'{"values": [1, 2, 1e999]}', r"finite number at values\[2\], got inf"),
        (b'{"values": [1, "2"]}', r'number at values\[1\], got the string "2"'),
        (b'{"values": [[1]]}', r"number at values\[0\], got a list"),
        (b'{"values": [1, true]}', r"number at values\[1\], got true"),
    ],
)
def test_refusals_say_what_was_expected_and_where(mean, text, message):
    with pytest.raises(InvalidConstruction, match=message):
        read(mean, text)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1.0, "2"], r'number at values\[1\], got the string "2"'),
        ([1.0, [2.0]], r"number at values\[1\], got a list"),
        ([], "got 0"),
        ([float("nan")], r"values\[0\], got nan"),
        (np.zeros((2, 2)), r"array of shape \(2, 2\)"),
        (np.array(["a"]), "dtype <U1"),
        (np.array([1j]), "dtype complex128"),
    ],
)
def test_arrays_and_lists_are_checked_alike(mean, values, message):
    with pytest.raises(InvalidConstruction, match=message):
        read(mean, values)


@pytest.mark.parametrize("text", ["\ud800", '{"values": ["\udfff"]}'])
def test_text_that_is_no_unicode_is_refused_like_bytes(mean, text):
    with pytest.raises(InvalidConstruction, match="byte 0xed"):
        read(mean, text)


@pytest.mark.parametrize(
    "text",
    [
        b'{"values": [0.' + b"1" * (16 << 20) + b"]}",
        b'{"values": [1e' + b"1" * (16 << 20) + b"]}",
        b'{"values": [' + b"1" * (16 << 20) + b"]}",
        b'{"values": [' + b",".join([b"1" * 4300] * 900) + b"]}",
        b'{"values": "' + b"\\ud83d\\ude00" * (1 << 20) + b'"}',
        b'{"values": "\xf0\x9f\x98\x80' + b"a" * (16 << 20) + b'"}',
        b"{" + b",".join(b'"%d":0' % i for i in range(3900)) + b',"0":0}',
        b"[" * (16 << 20),
        b"{}," * (5 << 20),
        b" " * (16 << 20),
        b" " * (16 << 20) + b"\xff",
    ],
    ids=lambda text: text[:20].decode(errors="replace"),
)
def test_hostile_texts_take_little_memory(mean, text):
    """Peak memory stays at a few times the text's size, and the test comes to an end."""
    tracemalloc.start()
    try:
        with contextlib.suppress(InvalidConstruction):
            read(mean, text)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 8 * len(text) + (4 << 20)
