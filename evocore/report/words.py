"""How scores, times and counts are written for people: the same everywhere."""

from __future__ import annotations

from collections.abc import Sequence


def score_digits(score: float) -> str:
    """Write a score with ten significant digits, trailing zeros kept, so that columns line up.

    Examples
    --------
    >>> score_digits(0.3809), score_digits(1.5052939684401607), score_digits(1e-7)
    ('0.3809000000', '1.505293968', '1.000000000e-07')
    """
    return f"{score:#.10g}"


def clock(seconds: float) -> str:
    """Write a time span: tenths below a minute, whole seconds above.

    Examples
    --------
    >>> clock(7.25), clock(75.4), clock(3725)
    ('7.2 s', '1:15', '1:02:05')
    """
    return f"{seconds:.1f} s" if seconds < 59.95 else minutes(seconds)


def minutes(seconds: float) -> str:
    """Write a time span in minutes and seconds, with hours from the first on.

    Examples
    --------
    >>> minutes(7.2), minutes(3725)
    ('0:07', '1:02:05')
    """
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60}:{whole % 60:02d}"
    return f"{whole // 3600}:{whole // 60 % 60:02d}:{whole % 60:02d}"


def distance(score: float, other: float) -> str:
    """Write how far two scores lie apart, to two digits.

    Examples
    --------
    >>> distance(0.380912, 0.3808703)
    '4.2e-05'
    """
    return f"{abs(score - other):.1e}"


def exact_digits(exact: str | Sequence[str] | None, width: int = 60) -> str:
    """Write an exact score on one line; the middle of a long rational is left out, its size is given instead.

    Examples
    --------
    >>> exact_digits("1/3"), exact_digits(["0.25", "0.26"])
    ('1/3', '[0.25, 0.26]')
    >>> exact_digits("1" * 40 + "/" + "3" * 40, width=24)
    '1111111…/3333333… (40 and 40 digits)'
    """
    if exact is None:
        return "none"
    if not isinstance(exact, str):
        return "[" + ", ".join(exact) + "]"
    if len(exact) <= width:
        return exact
    p, _, q = exact.partition("/")
    keep = max(4, width // 2 - 5)
    return f"{p[:keep]}…/{q[:keep]}… ({len(p.lstrip('-'))} and {len(q)} digits)"


def confinement(tiers: Sequence[str]) -> str:
    """Say how programs were confined, one tier after the other.

    Examples
    --------
    >>> confinement(["linux"]), confinement(["linux", "unsafe"])
    ('linux', 'linux, then unsafe: programs were not confined')
    """
    words = ", then ".join(tiers)
    return f"{words}: programs were not confined" if "unsafe" in tiers else words
