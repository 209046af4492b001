"""Where a construction of the second autocorrelation problem loses."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evocore.problems.second_autocorrelation_inequality.loss_budget import loss_budget


@given(values=st.lists(st.floats(0.0, 10.0), min_size=1, max_size=80).filter(lambda v: sum(v) > 0.1))
@settings(max_examples=100, deadline=None)
def test_the_parts_sum_to_what_the_score_lacks(second, values):
    f = np.array(values)
    lost = 1.0 - second.fast(f)
    found = loss_budget(f)
    assert found.loss == pytest.approx(lost, abs=1e-12)
    assert found.profile.sum() == pytest.approx(lost, abs=1e-12)
    assert sum(loss for _, _, loss in found.terms) == pytest.approx(lost, abs=1e-9)
    assert sum(mass for _, mass, _ in found.terms) == pytest.approx(1.0, abs=1e-9)


def test_a_box_loses_a_third_evenly_on_both_sides(second):
    found = loss_budget(np.ones(400))
    assert found.blocks == ((0, 399, pytest.approx(1.0)),)
    assert [name for name, _, _ in found.terms] == ["f x f"]
    assert found.loss == pytest.approx(1 / 3, abs=1e-5)
    np.testing.assert_allclose(found.profile, found.profile[::-1], atol=1e-12)
    assert found.level.max() == pytest.approx(0.975, abs=1e-3)


def test_two_blocks_are_told_apart_by_their_products():
    # L x L lies on [0, 2], L x R on [5, 7], R x R on [10, 12]; masses 0.8 and 0.2
    f = np.concatenate((np.zeros(30), np.full(100, 4.0), np.zeros(400), np.full(100, 1.0), np.zeros(70)))
    found = loss_budget(f)
    assert [(first, last) for first, last, _ in found.blocks] == [(30, 129), (530, 629)]
    masses = {name: mass for name, mass, _ in found.terms}
    assert masses == {
        "left x left": pytest.approx(0.64),
        "left x right": pytest.approx(0.32),
        "right x right": pytest.approx(0.04),
    }
    # heights 1, 1/2 and 1/16: a triangle of height h loses h/2 - h^2/3 per unit of length, here over 1/2 + 1/4 + 1/32
    for height, name in ((1.0, "left x left"), (0.5, "left x right"), (0.0625, "right x right")):
        (loss,) = [loss for own, _, loss in found.terms if own == name]
        assert loss == pytest.approx((height / 2 - height**2 / 3) / (0.5 + 0.25 + 0.03125), rel=1e-3)
    assert (np.abs(found.profile[8:15]) < 1e-15).all(), "nothing is lost where f*f is zero"


def test_a_diagnosis_is_a_few_lines_and_others_have_none(second, erdos):
    said = second.diagnose(np.ones(60))
    assert said[0].startswith("1 - score = 0.33")
    assert all(len(line) < 80 for line in said)
    assert erdos.diagnose(erdos.start(20, 1)) == ()
