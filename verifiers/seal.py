"""Seals: what proves that a reply comes from the verifier process, and answers this request and no other.

A seal is HMAC-SHA256, under a key that only the two processes hold, over the request's nonce, its sequence number and
the reply's bytes. A changed byte, a reply recorded earlier and a reply to another request all fail the check.
"""

import hmac
import secrets

from evocore.errors import VerifierUnavailable

KEY_BYTES = 32
NONCE_BYTES = 16
_DOMAIN = b"evocore verdict 1\n"


class SealBroken(VerifierUnavailable):
    """A reply that was not made by the verifier process for this request."""


def new_key() -> bytes:
    """Draw a key from the system's random source."""
    return secrets.token_bytes(KEY_BYTES)


def new_nonce() -> bytes:
    """Draw a nonce from the system's random source."""
    return secrets.token_bytes(NONCE_BYTES)


def seal(key: bytes, nonce: bytes, sequence: int, body: bytes) -> str:
    """Seal the bytes of a reply.

    Parameters
    ----------
    key : (32,) bytes
        Shared by controller and verifier process.
    nonce : (16,) bytes
        The request's: never used twice.
    sequence : int
        The request's number in this life of the process, below 2**64.
    body : bytes
        The reply.

    Returns
    -------
    str
        64 hexadecimal digits.
    """
    if len(key) != KEY_BYTES or len(nonce) != NONCE_BYTES:
        raise ValueError(
            f"expected a key of {KEY_BYTES} and a nonce of {NONCE_BYTES} bytes, got {len(key)} and {len(nonce)}"
        )
    return hmac.digest(key, _DOMAIN + nonce + sequence.to_bytes(8, "little") + body, "sha256").hex()


def check(key: bytes, nonce: bytes, sequence: int, body: bytes, got: object) -> None:
    """Raise SealBroken unless `got` is the seal of these bytes for this request; compares in constant time."""
    expected = seal(key, nonce, sequence, body)
    if not isinstance(got, str) or not hmac.compare_digest(expected.encode(), got.encode(errors="replace")):
        raise SealBroken(f"the reply to request {sequence} does not carry the verifier's seal")
