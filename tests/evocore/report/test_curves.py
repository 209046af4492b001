"""The curves that are drawn are the ones that the problems score."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evocore.problems import problem
from evocore.report.curves import envelope, function_curve, objective_curve, plateau

MAXIMUM_IS_SCORE = ["erdos-min-overlap", "first-autocorrelation-inequality", "third-autocorrelation-inequality"]


@pytest.mark.parametrize("slug", MAXIMUM_IS_SCORE)
@pytest.mark.parametrize("size", [7, 64, 601])
def test_the_maximum_of_the_curve_is_the_score(slug, size):
    p = problem(slug)
    x = p.start(size, 3)
    curve = objective_curve(p, x)
    assert len(curve.xs) == len(curve.ys) == 2 * size - 1
    assert curve.ys.max() == pytest.approx(p.score(x), rel=1e-12)


def test_the_second_problem_draws_its_autoconvolution():
    curve = objective_curve(problem("second-autocorrelation-inequality"), np.ones(4))
    assert curve.ys == pytest.approx(np.array([1, 2, 3, 4, 3, 2, 1]) / 2)
    assert curve.xs == pytest.approx(np.arange(-3, 4) / 8)


def test_the_overlap_stands_at_its_shifts():
    curve = objective_curve(problem("erdos-min-overlap"), np.array([1.0, 0.0]))
    assert curve.xs.tolist() == [-1.0, 0.0, 1.0]
    assert curve.ys == pytest.approx([0.0, 0.0, 1.0])


@pytest.mark.parametrize(
    ("slug", "ends"), [("erdos-min-overlap", (0, 2)), ("third-autocorrelation-inequality", (-0.25, 0.25))]
)
def test_the_function_is_drawn_on_its_interval(slug, ends):
    p = problem(slug)
    x = p.start(11, 1)
    curve = function_curve(p, x)
    assert curve.is_steps
    assert (curve.xs[0], curve.xs[-1], len(curve.xs)) == (*ends, 12)
    assert curve.ys is x


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=50))
def test_the_plateau_holds_the_maximum_and_nothing_far_from_it(values):
    array = np.array(values)
    near = plateau(array)
    assert near[array.argmax()]
    assert np.all(array[near] >= array.max() - 1.0001e-4 * abs(array.max()))


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=60), st.data())
def test_an_envelope_keeps_the_extremes(values, data):
    ys = np.array(values)
    buckets = data.draw(st.integers(1, len(values)))
    xs, low, high = envelope(np.arange(float(len(ys))), ys, buckets)
    assert len(xs) == buckets
    assert (low.min(), high.max()) == (ys.min(), ys.max())
    assert np.all(low <= high)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("power", [-1060, -535, -200, 300, 520, 1000])
@pytest.mark.parametrize("slug", ["erdos-min-overlap", "first-autocorrelation-inequality"])
def test_the_objective_is_one_of_the_shape_at_any_size(slug, power):
    x = np.array([0.25, 0.5, 1.0, 0.75])
    whole, scaled = (objective_curve(problem(slug), values).ys for values in (x, np.ldexp(x, power)))
    assert scaled.tolist() == whole.tolist()
