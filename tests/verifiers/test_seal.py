import hashlib
import hmac

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evocore.errors import VerifierUnavailable
from evocore.verifiers.seal import SealBroken, check, new_key, new_nonce, seal

KEY, NONCE = bytes(range(32)), bytes(range(16))


def test_seal_by_hand():
    message = b"evocore verdict 1\n" + NONCE + b"\7\0\0\0\0\0\0\0" + b"body"
    assert seal(KEY, NONCE, 7, b"body") == hmac.new(KEY, message, hashlib.sha256).hexdigest()


@given(st.binary(), st.integers(0, 2**64 - 1))
def test_a_seal_checks(body, sequence):
    check(KEY, NONCE, sequence, body, seal(KEY, NONCE, sequence, body))


@given(st.binary(min_size=1), st.integers(0, 2**64 - 2), st.data())
def test_a_seal_checks_for_nothing_else(body, sequence, data):
    good = seal(KEY, NONCE, sequence, body)
    i = data.draw(st.integers(0, len(body) - 1))
    other_body = body[:i] + bytes([body[i] ^ data.draw(st.integers(1, 255))]) + body[i + 1 :]
    for key, nonce, number, what in [
        (KEY, NONCE, sequence, other_body),  # tampered
        (KEY, NONCE, sequence, body[:-1]),
        (KEY, NONCE, sequence, body + b"\0"),
        (KEY, NONCE, sequence + 1, body),  # a reply to an earlier request
        (KEY, NONCE[::-1], sequence, body),  # a reply of an earlier life of the process
        (KEY[::-1], NONCE, sequence, body),  # of another process
    ]:
        with pytest.raises(SealBroken, match=f"request {number}"):
            check(key, nonce, number, what, good)


@pytest.mark.parametrize("got", [None, 5, "", "0" * 64, "é" * 64, "\ud800", ["a"], seal(KEY, NONCE, 1, b"x").upper()])
def test_what_is_no_seal_is_refused(got):
    with pytest.raises(SealBroken):
        check(KEY, NONCE, 1, b"x", got)


def test_a_broken_seal_is_the_machines_failure():
    assert issubclass(SealBroken, VerifierUnavailable)


def test_keys_and_nonces_have_their_length_and_are_drawn_anew():
    assert len(new_key()) == 32
    assert len(new_nonce()) == 16
    assert len({new_key() for _ in range(50)}) == len({new_nonce() for _ in range(50)}) == 50
    with pytest.raises(ValueError, match="key of 32 and a nonce of 16 bytes, got 31 and 16"):
        seal(KEY[1:], NONCE, 0, b"")
