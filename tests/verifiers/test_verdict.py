import json
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evocore.problems import Enclosure
from evocore.verifiers.verdict import (
    Standing,
    Verdict,
    decimal_digits,
    exact_from_wire,
    exact_to_json,
    exact_to_wire,
    integer_digits,
)

rationals = st.fractions() | st.builds(Fraction, st.integers(), st.integers(1, 2**300))
enclosures = st.tuples(rationals, rationals).map(lambda ends: Enclosure(min(ends), max(ends)))


def verdict(**changes):
    fields = {
        "problem": "mean",
        "valid": True,
        "reasons": (),
        "arena_valid": True,
        "arena_score": 0.1,
        "exact_score": Fraction(1, 3),
        "alarms": ("scale: a",),
        "extras": {"a": "b"},
        "first_place": False,
        "standing": Standing(2, 3, "Ann", 0.5, -0.1, 0.25),
        "construction_sha256": "c" * 64,
        "verifier_digest": "d" * 64,
        "seconds": 0.5,
    }
    return Verdict(**{**fields, **changes})


@given(st.none() | rationals | enclosures)
def test_an_exact_score_travels_without_loss(value):
    assert exact_from_wire(json.loads(json.dumps(exact_to_wire(value)))) == value


@pytest.mark.parametrize(
    "change", [{}, {"standing": None}, {"exact_score": None}, {"exact_score": Enclosure(Fraction(1), Fraction(2))}]
)
def test_a_verdict_travels_without_loss(change):
    assert Verdict.from_wire(json.loads(json.dumps(verdict(**change).to_wire()))) == verdict(**change)


def test_json_for_people_has_the_documented_keys():
    told = json.loads(json.dumps(verdict().to_json()))
    assert told["exact_score"] == "1/3"
    assert {"problem", "valid", "reasons", "arena_score", "exact_score", "alarms", "verifier_digest"} <= told.keys()
    assert told["standing"]["rank"] == 2
    lo_hi = verdict(exact_score=Enclosure(Fraction(1, 3), Fraction(2, 3))).to_json()["exact_score"]
    assert lo_hi == ["0." + "3" * 40, "0." + "6" * 39 + "7"]


def test_integers_of_any_length_are_written():
    for n in (0, 7, -7, 10**4000, 10**4000 - 1, 10**4000 + 7, -(10**12000)):
        assert integer_digits(n) == ("-" if n < 0 else "") + _slow_digits(abs(n))
    assert len(exact_to_json(Fraction(10**5000 + 1, 10**5000)).split("/")[0]) == 5001


def _slow_digits(n):
    digits = ""
    while n >= 10**9:
        n, low = divmod(n, 10**9)
        digits = f"{low:09d}" + digits
    return str(n) + digits


@given(rationals, st.integers(1, 60), st.booleans())
def test_decimals_are_rounded_as_asked_and_close(value, n_digits, round_up):
    shown = Fraction(decimal_digits(value, n_digits, round_up=round_up))
    if value == 0:
        assert shown == 0
        return
    assert shown >= value if round_up else shown <= value
    exponent = 0
    while Fraction(10) ** exponent > abs(value):
        exponent -= 1
    assert abs(shown - value) < Fraction(10) ** min(exponent - n_digits + 1 + (len(str(int(abs(value)))) - 1), 0)


@pytest.mark.parametrize(
    ("value", "n_digits", "down", "up"),
    [
        (Fraction(1, 2), 3, "0.500", "0.500"),
        (Fraction(2, 3), 5, "0.66666", "0.66667"),
        (Fraction(-2, 3), 5, "-0.66667", "-0.66666"),
        (Fraction(999999, 1000), 3, "999", "1000"),
        (Fraction(1, 3000), 2, "0.00033", "0.00034"),
        (Fraction(1234567), 3, "1234567", "1234567"),
        (Fraction(1, 2**1074), 2, "0." + "0" * 323 + "49", "0." + "0" * 323 + "50"),
    ],
)
def test_decimals_by_hand(value, n_digits, down, up):
    assert decimal_digits(value, n_digits, round_up=False) == down
    assert decimal_digits(value, n_digits, round_up=True) == up


def test_a_broken_enclosure_on_the_wire_is_refused():
    with pytest.raises(ValueError, match="lo <= hi"):
        exact_from_wire(["2/1", "1/1"])
