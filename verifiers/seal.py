"""Seals: what proves that a reply comes from the verifier process, and answers this request and no other.

A seal is HMAC-SHA256, under a key that only the two processes hold, over the SHA-256 of the request's bytes and over
the reply's bytes. Every request carries a fresh nonce and its number. So a changed byte on either way, a reply recorded
earlier, and a reply to another request all fail the check.
"""

import hmac
import secrets

from evocore.errors import VerifierUnavailable

KEY_BYTES = 32
NONCE_BYTES = 16
DIGEST_BYTES = 32
_DOMAIN = b"evocore verdict 2\n"


class SealBroken(VerifierUnavailable):
    """A reply that was not made by the verifier process for this request."""


def new_key() -> bytes:
    """Draw a key from the system's random source."""
    return secrets.token_bytes(KEY_BYTES)


def new_nonce() -> bytes:
    """Draw a nonce from the system's random source."""
    return secrets.token_bytes(NONCE_BYTES)


def seal(key: bytes, request_sha256: bytes, body: bytes) -> str:
    """Seal the bytes of a reply.

    Parameters
    ----------
    key : (32,) bytes
        Shared by controller and verifier process.
    request_sha256 : (32,) bytes
        Digest of the request's whole frame, nonce and number in it.
    body : bytes
        The reply.

    Returns
    -------
    str
        64 hexadecimal digits.
    """
    if len(key) != KEY_BYTES or len(request_sha256) != DIGEST_BYTES:
        raise ValueError(
            f"expected a key of {KEY_BYTES} and a digest of {DIGEST_BYTES} bytes, got {len(key)} and "
            f"{len(request_sha256)}"
        )
    return hmac.digest(key, _DOMAIN + request_sha256 + body, "sha256").hex()


def check(key: bytes, request_sha256: bytes, body: bytes, got: object) -> None:
    """Raise SealBroken unless `got` is the seal of these bytes for this request; compares in constant time."""
    expected = seal(key, request_sha256, body)
    if not isinstance(got, str) or not hmac.compare_digest(expected.encode(), got.encode(errors="replace")):
        raise SealBroken("the reply does not carry the verifier's seal for what was asked")
