"""What the verifier says about one construction, and how exact scores are written.

Between the processes an exact score travels as hexadecimal integers; for people and programs it is `"p/q"` in decimal,
or `["lo", "hi"]`, decimals rounded outward. Neither is ever a float.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evocore.problems.base import Enclosure

UNTRUE_ALARMS = ("disagreement", "impossible", "rounding", "scale", "underflow")
"""Alarms by their leading word which say that the arena's float is not the score of the numbers."""

ENCLOSURE_DIGITS = 40
_CHUNK = 10**4000  # Python refuses to write integers of more than 4300 digits at once


@dataclass(frozen=True)
class Standing:
    """Where an exact score stands among the problem's stored references.

    Attributes
    ----------
    rank : int or None
        1 where it is strictly better than every reference; None where the construction is invalid.
    n_references : int
        How many references are stored.
    best_who, best_score : str, float
        The best reference.
    lead : float or None
        How far the exact score lies beyond the best reference; negative where it lies behind.
    min_improvement : float
        What the arena asks a new first place to be ahead by.
    """

    rank: int | None
    n_references: int
    best_who: str
    best_score: float
    lead: float | None
    min_improvement: float


@dataclass(frozen=True)
class Verdict:
    """What the verifier says about one construction.

    Attributes
    ----------
    problem : str
        The problem's slug.
    valid : bool
        The arena accepts it and the mathematical conditions hold exactly, if need be after the canonical repair.
    reasons : tuple of str
        Why it is not valid; empty where it is.
    arena_valid : bool
        The arena's own test alone.
    arena_score : float or None
        What the arena's formula gives; None where the arena rejects.
    exact_score : Fraction, Enclosure or None
        The true value for the numbers handed in; None where there is none.
    alarms : tuple of str
        What makes the arena's score doubtful, or the construction remarkable.
    extras : dict of str
        What else the problem reports, by name.
    first_place : bool
        Valid, and ahead of every stored reference by the minimum improvement, exactly and in the arena's floats.
    standing : Standing or None
        Rank and distance to the best reference; None where the problem has no references.
    construction_sha256 : str
        SHA-256 of the array bytes (`evocore.verifiers.arrays.encode`).
    verifier_digest : str
        Digest of everything that the verifier process loaded; empty where scored in the caller's own process.
    seconds : float
        Time the scoring took.
    """

    problem: str
    valid: bool
    reasons: tuple[str, ...]
    arena_valid: bool
    arena_score: float | None
    exact_score: Fraction | Enclosure | None
    alarms: tuple[str, ...]
    extras: dict[str, str] = field(hash=False)
    first_place: bool
    standing: Standing | None
    construction_sha256: str
    verifier_digest: str
    seconds: float

    @property
    def doubt(self) -> str:
        """The first alarm which says that the arena's float is not the score of the numbers; empty where none does."""
        return untrue_alarm(self.alarms)

    @property
    def is_true(self) -> bool:
        """Whether it is valid and the arena's float is the score of the numbers: what may count as found."""
        return self.valid and self.arena_score is not None and self.exact_score is not None and not self.doubt

    def to_json(self) -> dict[str, Any]:
        """Give the verdict as JSON types, exact scores in decimal; made for people and other programs."""
        return {**self.to_wire(), "exact_score": exact_to_json(self.exact_score)}

    def to_wire(self) -> dict[str, Any]:
        """Give the verdict as JSON types from which `from_wire` makes the same verdict again."""
        return {
            **vars(self),
            "reasons": list(self.reasons),
            "alarms": list(self.alarms),
            "extras": dict(self.extras),
            "standing": None if self.standing is None else dict(vars(self.standing)),
            "exact_score": exact_to_wire(self.exact_score),
        }

    @classmethod
    def from_wire(cls, data: dict[str, Any]) -> Verdict:
        """Make the verdict that `to_wire` wrote down."""
        standing = data["standing"]
        return cls(
            **{
                **data,
                "reasons": tuple(data["reasons"]),
                "alarms": tuple(data["alarms"]),
                "standing": None if standing is None else Standing(**standing),
                "exact_score": exact_from_wire(data["exact_score"]),
            }
        )


def untrue_alarm(alarms: tuple[str, ...]) -> str:
    """Return the first alarm which says that the arena's float is not the score of the numbers, or an empty string."""
    return next((alarm for alarm in alarms if alarm.split(":")[0] in UNTRUE_ALARMS), "")


def exact_to_wire(value: Fraction | Enclosure | None) -> str | list[str] | None:
    """Write an exact score without loss, in hexadecimal: ``"p/q"``, or ``["p/q", "p/q"]`` for an enclosure."""
    if value is None:
        return None
    if isinstance(value, Fraction):
        return f"{value.numerator:x}/{value.denominator:x}"
    return [f"{end.numerator:x}/{end.denominator:x}" for end in (value.lo, value.hi)]


def exact_from_wire(text: str | list[str] | None) -> Fraction | Enclosure | None:
    """Read what `exact_to_wire` wrote."""
    if text is None:
        return None
    if isinstance(text, str):
        numerator, denominator = text.split("/")
        return Fraction(int(numerator, 16), int(denominator, 16))
    # Only here: the problems load NumPy, which a caller that gets a rational never needs.
    from evocore.problems.base import Enclosure

    lo, hi = (exact_from_wire(end) for end in text)
    if not isinstance(lo, Fraction) or not isinstance(hi, Fraction):
        raise ValueError(f"expected two rationals as an enclosure, got {text!r}")
    return Enclosure(lo, hi)


def exact_to_json(value: Fraction | Enclosure | None) -> str | list[str] | None:
    """Write an exact score in decimal: ``"p/q"``, or ``["lo", "hi"]`` rounded outward to 40 digits."""
    if value is None:
        return None
    if isinstance(value, Fraction):
        return f"{integer_digits(value.numerator)}/{integer_digits(value.denominator)}"
    return [
        decimal_digits(value.lo, ENCLOSURE_DIGITS, round_up=False),
        decimal_digits(value.hi, ENCLOSURE_DIGITS, round_up=True),
    ]


def integer_digits(n: int) -> str:
    """Write an integer of any length in decimal."""
    if n < 0:
        return "-" + integer_digits(-n)
    tail = ""
    while n >= _CHUNK:
        n, low = divmod(n, _CHUNK)
        tail = f"{low:04000d}" + tail
    return str(n) + tail


def decimal_digits(value: Fraction, n_digits: int, *, round_up: bool) -> str:
    """Write a rational as a decimal of `n_digits` significant digits, rounded down or up as asked.

    Examples
    --------
    >>> decimal_digits(Fraction(2, 3), 5, round_up=False), decimal_digits(Fraction(2, 3), 5, round_up=True)
    ('0.66666', '0.66667')
    """
    if value == 0:
        return "0"
    size = abs(value)
    exponent = int((size.numerator.bit_length() - size.denominator.bit_length()) * 0.30103)  # near log10 of the value
    while size < Fraction(10) ** exponent:
        exponent -= 1
    while size >= Fraction(10) ** (exponent + 1):
        exponent += 1
    places = max(n_digits - 1 - exponent, 0)
    scaled = value * 10**places
    whole = -((-scaled.numerator) // scaled.denominator) if round_up else scaled.numerator // scaled.denominator
    sign = "-" if whole < 0 else ""
    digits = integer_digits(abs(whole)).rjust(places + 1, "0")
    return sign + (f"{digits[:-places]}.{digits[-places:]}" if places else digits)
