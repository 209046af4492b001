import io
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evocore.verifiers import frames
from evocore.verifiers.frames import FrameError

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


def reader(data):
    stream = io.BytesIO(data)

    def exactly(n):
        found = stream.read(n)
        if len(found) < n:
            raise EOFError
        return found

    return exactly


def test_layout_by_hand():
    assert frames.pack({"a": 1}, b"xyz") == b"EVOF" + struct.pack("<IQ", 7, 3) + b'{"a":1}xyz'


@given(st.dictionaries(st.text(), json_values), st.binary(), st.binary())
def test_read_gives_back_what_was_packed_and_no_more(header, payload, behind):
    read = reader(frames.pack(header, payload) + behind)
    assert frames.read(read) == (header, payload)
    assert read(len(behind)) == behind


@given(st.binary(max_size=300))
def test_any_bytes_are_a_frame_or_an_error(data):
    with pytest.raises((FrameError, EOFError)):
        frames.read(reader(data))


@given(st.binary(max_size=200), st.integers(0, 2**32 - 1), st.integers(0, 2**64 - 1))
def test_any_lengths_and_any_header_are_a_frame_or_an_error(data, header_bytes, payload_bytes):
    try:
        header, payload = frames.read(reader(frames.PREFIX.pack(b"EVOF", header_bytes, payload_bytes) + data))
    except (FrameError, EOFError):
        return
    assert isinstance(header, dict)
    assert len(payload) == payload_bytes


def test_lengths_are_capped_before_they_are_read():
    asked = []

    def exactly(n):
        asked.append(n)
        return frames.PREFIX.pack(b"EVOF", 2**32 - 1, 2**64 - 1)[:n]

    with pytest.raises(FrameError, match="header of at most 65536 bytes, got 4294967295"):
        frames.read(exactly)
    assert asked == [16]
    with pytest.raises(FrameError, match="payload of at most 10 bytes, got 11"):
        frames.read(reader(frames.pack({}, bytes(11))), max_payload_bytes=10)


@pytest.mark.parametrize("header", [b"", b"[]", b"1", b"{", b"\xff\xfe", b"[" * 60000, b'{"a":' * 10000, b"null"])
def test_a_header_that_is_no_json_object_is_refused(header):
    with pytest.raises(FrameError, match="JSON object"):
        frames.read(reader(frames.PREFIX.pack(b"EVOF", len(header), 0) + header))


def test_writing_is_capped_too():
    with pytest.raises(FrameError, match="header of at most"):
        frames.pack({"a": "x" * frames.MAX_HEADER_BYTES})
    with pytest.raises(FrameError, match="payload of at most"):
        frames.pack({}, memoryview(bytes(frames.MAX_PAYLOAD_BYTES + 1)))


def test_the_end_of_the_stream_is_told_apart():
    whole = frames.pack({"a": 1}, b"xyz")
    for n in range(len(whole)):
        with pytest.raises(EOFError):
            frames.read(reader(whole[:n]))
