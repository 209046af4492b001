import hashlib
import hmac

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evocore.errors import VerifierUnavailable
from evocore.verifiers.seal import SealBroken, check, new_key, new_nonce, seal

KEY, ASKED = bytes(range(32)), hashlib.sha256(b"request 1").digest()
OTHER = hashlib.sha256(b"request 2").digest()


def test_seal_by_hand():
    message = b"evocore verdict 2\n" + ASKED + b"body"
    assert seal(KEY, ASKED, b"body") == hmac.new(KEY, message, hashlib.sha256).hexdigest()


@given(st.binary())
def test_a_seal_checks(body):
    check(KEY, ASKED, body, seal(KEY, ASKED, body))


@given(st.binary(min_size=1), st.data())
def test_a_seal_checks_for_nothing_else(body, data):
    good = seal(KEY, ASKED, body)
    i = data.draw(st.integers(0, len(body) - 1))
    other_body = body[:i] + bytes([body[i] ^ data.draw(st.integers(1, 255))]) + body[i + 1 :]
    for key, asked, what in [
        (KEY, ASKED, other_body),  # tampered
        (KEY, ASKED, body[:-1]),
        (KEY, ASKED, body + b"\0"),
        (KEY, OTHER, body),  # a reply to another request
        (KEY[::-1], ASKED, body),  # of another process, or of another life of it
    ]:
        with pytest.raises(SealBroken, match="does not carry the verifier's seal"):
            check(key, asked, what, good)


@pytest.mark.parametrize("got", [None, 5, "", "0" * 64, "é" * 64, "\ud800", ["a"], seal(KEY, ASKED, b"x").upper()])
def test_what_is_no_seal_is_refused(got):
    with pytest.raises(SealBroken):
        check(KEY, ASKED, b"x", got)


def test_a_broken_seal_is_the_machines_failure():
    assert issubclass(SealBroken, VerifierUnavailable)


def test_keys_and_nonces_have_their_length_and_are_drawn_anew():
    assert len(new_key()) == 32
    assert len(new_nonce()) == 16
    assert len({new_key() for _ in range(50)}) == len({new_nonce() for _ in range(50)}) == 50
    with pytest.raises(ValueError, match="key of 32 and a digest of 32 bytes, got 31 and 32"):
        seal(KEY[1:], ASKED, b"")
