import math
import signal
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evocore.kernels import _geometry, reference
from evocore.kernels.geometry import (
    distance_extremes,
    floor_sum_maximum,
    gram_matrix,
    least_sign_vector,
    least_triangle,
    minimum_squared_distance,
    riesz_energy,
)

PATHS = [False, True] if _geometry.HAS_AVX2 else [False]


def d4_roots():
    """The 24 vectors of the kissing configuration in four dimensions."""
    return np.array([v for v in product((-1, 0, 1), repeat=4) if sum(map(abs, v)) == 2])


# ---- integers ------------------------------------------------------------------------------------------------------


def test_kissing_configuration():
    roots = d4_roots()
    assert len(roots) == 24
    gram = gram_matrix(roots)
    assert (gram.diagonal() == 2).all()
    assert np.abs(gram - np.diag(gram.diagonal()))[np.arange(24), np.arange(24)[::-1]].max() == 2  # opposite vectors
    assert minimum_squared_distance(roots) == (2, (0, 1))
    assert minimum_squared_distance(roots * 10**12) == (2 * 10**24, (0, 1))
    nearer = roots.copy()
    nearer[5] = nearer[4] + np.array([1, 0, 0, 0])
    assert minimum_squared_distance(nearer)[0] == 1


WORDS = [
    0,
    1,
    -1,
    2**31 - 1,
    -(2**31),
    2**31,
    2**62,
    2**63 - 1,
    -(2**63),
    2**63,
    2**64 - 1,
    2**64,
    -(2**64) - 1,
    10**30,
]
integers = st.one_of(st.integers(-10, 10), st.sampled_from(WORDS), st.integers(-(2**40), 2**40))


@settings(max_examples=200, deadline=None)
@given(
    st.integers(1, 4).flatmap(lambda d: st.lists(st.lists(integers, min_size=d, max_size=d), min_size=2, max_size=7))
)
def test_integers_are_exact_or_refused(points):
    squares = reference.squared_distances(points=points)
    least = min(squares.values())
    assert minimum_squared_distance(points) == (least, next(p for p, v in squares.items() if v == least))
    largest, d = max(abs(v) for p in points for v in p), len(points[0])
    if d * largest**2 < 2**63:
        assert gram_matrix(points).tolist() == [
            [sum(a * b for a, b in zip(p, q, strict=True)) for q in points] for p in points
        ]
    else:
        with pytest.raises(OverflowError, match="2\\^63"):
            gram_matrix(points)


def test_integers_of_every_dtype():
    rows = [[3, 4], [0, 0], [1, 1]]
    for dtype in (np.int8, np.uint8, np.int64, np.uint64, object, ">i4"):
        assert minimum_squared_distance(np.array(rows, dtype=dtype)) == (2, (1, 2))
        assert gram_matrix(np.array(rows, dtype=dtype))[0, 0] == 25
    top = np.array([[2**64 - 1], [0]], dtype=np.uint64)
    assert minimum_squared_distance(top)[0] == (2**64 - 1) ** 2
    edge = np.array([[-128, -128], [127, 127]], dtype=np.int8)
    assert gram_matrix(edge).tolist() == [[32768, -32512], [-32512, 32258]]


def test_integers_refused():
    for points in ([[1.5]], [[1.0, 2.0], [3.0, 4.0]], np.array([[1.0], [2.0]]), [["1"]], [[True], [2**70]]):
        with pytest.raises(TypeError, match="expected integers"):
            minimum_squared_distance(points)
    with pytest.raises(ValueError, match="at least two points"):
        minimum_squared_distance([[1, 2]])
    with pytest.raises(ValueError, match=r"shape \(n, d\)"):
        gram_matrix([1, 2])
    assert gram_matrix(np.zeros((0, 3), dtype=int)).shape == (0, 0)
    assert gram_matrix(np.zeros((2, 0))).tolist() == [[0, 0], [0, 0]]
    assert minimum_squared_distance(np.zeros((2, 0))) == (0, (0, 1))


# ---- energies and distances ----------------------------------------------------------------------------------------


def test_thomson_configurations():
    octahedron = np.concatenate((np.eye(3), -np.eye(3)))
    energy, gradient = riesz_energy(octahedron)
    assert energy == pytest.approx(12 / math.sqrt(2) + 3 / 2, rel=1e-15)  # 12 edges and 3 diagonals
    assert np.allclose(np.cross(gradient, octahedron), 0, atol=1e-15)  # balanced on the sphere
    assert riesz_energy(octahedron, 2.0)[0] == pytest.approx(12 / 2 + 3 / 4, rel=1e-15)
    assert riesz_energy(octahedron, 0.0)[0] == pytest.approx(-(12 * math.log(2) / 2 + 3 * math.log(2)), rel=1e-15)
    found = distance_extremes(octahedron)
    assert (found.least, found.largest) == (math.sqrt(2), 2.0)
    assert (found.least_pair, found.largest_pair) == ((0, 1), (0, 3))


@settings(max_examples=100, deadline=None)
@given(
    st.integers(2, 30),
    st.integers(1, 5),
    st.sampled_from([0.0, 0.5, 1.0, 2.0, 3.0, 6.0, 12.0, 64.0, 65.0, 2.5]),
    st.integers(0, 2**32 - 1),
)
def test_energy_is_the_reference(n, d, exponent, seed):
    points = np.random.default_rng(seed).standard_normal((n, d))
    results = [riesz_energy(points, exponent, use_avx2=fast) for fast in PATHS]
    energy, gradient = results[0]
    assert all(one[0] == energy and np.array_equal(one[1], gradient) for one in results)
    scale = float(np.sum([abs(math.log(v)) + 1 for v in reference.squared_distances(points=points.tolist()).values()]))
    if exponent:
        scale = reference.riesz_energy(points=points, exponent=exponent)
    assert abs(energy - reference.riesz_energy(points=points, exponent=exponent)) <= 1e-12 * scale
    # forces of pairs cancel, and turning round the origin changes nothing
    size = np.abs(gradient).sum() + 1e-300
    assert np.abs(gradient.sum(axis=0)).max() <= 1e-12 * size
    assert riesz_energy(points[::-1], exponent)[0] == pytest.approx(energy, rel=1e-12, abs=1e-11)
    # Euler: the energy is homogeneous of degree -s
    euler = float((gradient * points).sum())
    pairs = n * (n - 1) / 2
    assert euler == pytest.approx(-exponent * energy if exponent else -pairs, rel=1e-9, abs=1e-9)


def test_gradient_is_the_slope():
    points = np.random.default_rng(1).standard_normal((9, 3))
    for exponent in (0.0, 1.0, 2.5, 4.0):
        gradient = riesz_energy(points, exponent)[1]
        for i, k in ((0, 0), (4, 1), (8, 2)):
            step = np.zeros_like(points)
            step[i, k] = 1e-5
            slope = (riesz_energy(points + step, exponent)[0] - riesz_energy(points - step, exponent)[0]) / 2e-5
            assert gradient[i, k] == pytest.approx(slope, rel=1e-6, abs=1e-7)


@pytest.mark.parametrize("exponent", [0.0, 0.5, 1.0, 2.0, 64.0, 64.5, 1e4, 1e300])
@pytest.mark.parametrize("apart", [5e-324, 1e-170, 1e-154, 2e-154, 1e-130, 1e-30, 1e-3, 0.5, 1.0, 1.5])
@pytest.mark.parametrize("use_avx2", PATHS)
def test_energies_are_finite_or_name_the_pair(exponent, apart, use_avx2):
    """Points 3 and 6 are near one another, along one axis: with the other axes, infinite slopes would be NaN."""
    points = np.random.default_rng(2).permutation(30).reshape(10, 3) * 1e9 + 1e9
    points[3], points[6] = 0.0, [0.0, apart, 0.0]
    slope = math.log(max(exponent, 1.0)) - (exponent + 2.0) * math.log(apart)  # none of these is near the limit
    if apart < 1.5e-154 or slope > 709.0:
        with pytest.raises(
            OverflowError, match="energy and a gradient within the range of a double, got points 3 and 6"
        ):
            riesz_energy(points, exponent, use_avx2=use_avx2)
        return
    energy, gradient = riesz_energy(points, exponent, use_avx2=use_avx2)
    assert math.isfinite(energy)
    assert np.isfinite(gradient).all()
    expected = exponent * apart ** -(exponent + 1.0) if exponent else 1.0 / apart
    assert gradient[3, 1] == pytest.approx(expected, rel=1e-6)


def test_slopes_that_overflow_together_name_the_nearest_pair():
    """Eight points at distance 1 from the origin and 1 or more apart: each slope is a double, their sum is not."""
    points = np.array([[0.0] * 4, *product([0.5], [0.5, -0.5], [0.5, -0.5], [0.5, -0.5])])
    assert riesz_energy(points[:3], 1e308)[0] == 3.0
    for fast in PATHS:
        with pytest.raises(OverflowError, match=r"got points 0 and 1 at distance 1 with exponent 1e\+308"):
            riesz_energy(points, 1e308, use_avx2=fast)
    assert riesz_energy([[0.0], [10.0]], 1e6)[0] == 0.0  # too small a term is 0


@settings(max_examples=80, deadline=None)
@given(st.integers(2, 20), st.integers(1, 4), st.booleans(), st.integers(0, 2**32 - 1))
def test_extremes_are_the_reference(n, d, are_ties, seed):
    points = np.random.default_rng(seed).standard_normal((n, d))
    if are_ties:
        points = np.round(points)
    squares = reference.squared_distances(points=points.tolist())
    for fast in PATHS:
        found = distance_extremes(points, use_avx2=fast)
        assert found.least == pytest.approx(math.sqrt(min(squares.values())), rel=1e-15)
        assert found.largest == pytest.approx(math.sqrt(max(squares.values())), rel=1e-15)
        if are_ties:  # exact squares: the first pair
            assert found.least_pair == next(p for p, v in squares.items() if v == min(squares.values()))
            assert found.largest_pair == next(p for p, v in squares.items() if v == max(squares.values()))
        else:
            assert float(squares[found.least_pair]) == pytest.approx(found.least**2, rel=1e-14)


@settings(max_examples=150, deadline=None)
@given(st.integers(3, 14), st.booleans(), st.integers(0, 2**32 - 1))
def test_triangles_are_the_reference(n, are_ties, seed):
    points = np.random.default_rng(seed).random((n, 2))
    if are_ties:
        points = np.floor(points * 6)
    exact = reference.least_triangle(points=points)
    for fast in PATHS:
        area, (i, j, k) = least_triangle(points, use_avx2=fast)
        assert i < j < k
        assert abs(Fraction(area) - exact) <= Fraction(2, 2**51)
        assert abs(reference.least_triangle(points=points[[i, j, k]]) - exact) <= Fraction(4, 2**51)
        if are_ties:
            assert area == exact


def test_first_of_equal_triangles():
    line = [[0.0, 0.0], [1.0, 1.0], [5.0, 0.0], [2.0, 2.0], [3.0, 3.0]]
    assert least_triangle(line) == (0.0, (0, 1, 3))


# ---- sums ----------------------------------------------------------------------------------------------------------


def test_floor_sums_by_hand():
    assert floor_sum_maximum([1], [1.0], 10) == (9.0, 9)
    assert floor_sum_maximum([1, 2], [1.0, -2.0], 1000) == (1.0, 1)  # x - 2 floor(x/2) is 1 or 0
    chebyshev = floor_sum_maximum([1, 2, 3, 5, 30], [1.0, -1.0, -1.0, -1.0, 1.0], 100_000)
    assert chebyshev == (1.0, 1)  # Chebyshev's function takes the values 0 and 1
    assert floor_sum_maximum([7, 2**63 - 1], [-1.0, 5.0], 100) == (0.0, 1)
    assert floor_sum_maximum([500], [1.0], 100) == (0.0, 1)
    assert floor_sum_maximum([], [], 100) == (0.0, 1)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 60), st.floats(-10, 10)), max_size=8), st.integers(2, 400))
def test_floor_sums_are_the_reference(terms, limit):
    keys, values = [k for k, _ in terms], [v for _, v in terms]
    value, where = floor_sum_maximum(keys, values, limit)
    best, at = reference.floor_sum_maximum(keys=keys, values=values, limit=limit)
    assert value == pytest.approx(float(best), rel=2**-51, abs=1e-25)
    if where != at:  # only among values that doubles cannot tell apart
        there = sum(Fraction(v) * (where // k) for k, v in terms)
        assert float(best - there) <= 1e-15 * abs(float(best)) + 1e-25


def test_floor_sums_over_many_windows():
    rng = np.random.default_rng(4)
    keys, values = np.arange(1, 200), rng.standard_normal(199)
    values[0] -= float(np.sum(values / keys))
    limit = 20_000
    value, where = floor_sum_maximum(keys, values, limit)
    sums = (values[:, None] * (np.arange(1, limit) // keys[:, None])).sum(axis=0)
    assert value == pytest.approx(sums.max(), abs=1e-8)
    assert sums[where - 1] == pytest.approx(value, abs=1e-8)


def test_floor_sums_up_to_the_largest_limit():
    """Windows without a multiple are left out, so that few large keys take no time; the last one ends at 2^63 - 1."""
    largest = 2**63 - 1
    assert floor_sum_maximum([2**61, 2**62], [1.0, -2.5], largest) == (1.0, 2**61)
    assert floor_sum_maximum([2**61, 2**62], [-2.0, 5.0], largest) == (1.0, 2**62)
    assert floor_sum_maximum([largest - 1], [3.0], largest) == (3.0, largest - 1)
    assert floor_sum_maximum([largest - 1, largest - 5000], [3.0, -1.0], largest) == (2.0, largest - 1)
    assert floor_sum_maximum([largest], [3.0], largest) == (0.0, 1)
    assert floor_sum_maximum([2**62 - 1, 2**62], [1.0, -1.0], largest) == (1.0, 2**62 - 1)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 10**6), st.integers(-9, 9)), min_size=1, max_size=4), st.integers(2, 10**6))
def test_floor_sums_with_gaps_are_the_reference(terms, limit):
    keys, values = np.array([k for k, _ in terms]), np.array([v for _, v in terms])
    sums = ((np.arange(1, limit) // keys[:, None]) * values[:, None]).sum(axis=0)
    assert floor_sum_maximum(keys, values, limit) == (sums.max(), int(sums.argmax()) + 1)


def test_a_signal_stops_a_floor_sum():
    """Centuries of work, ended by an alarm whose handler raises."""

    class Stop(Exception):
        pass

    def handler(*_):
        raise Stop

    old = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with pytest.raises(Stop):
            floor_sum_maximum([1, 2, 3], [1.0, -2.0, 0.1], 2**62)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)


def test_floor_sums_that_would_overflow_are_refused():
    for values in ([1e305, 1.0], [1e308, -1e308]):
        with pytest.raises(ValueError, match="expected sums that do not overflow"):
            floor_sum_maximum([1, 1], values, 10**6)


def test_signs_by_hand():
    value, signs = least_sign_vector([[1, 1, 1], [1, -1, 2]])
    assert (value, signs.tolist()) == (1.0, [-1, 1, 1])
    assert least_sign_vector([[3, 1, 1, 1]])[0] == 0
    hadamard = np.array([[1, 1], [1, -1]])
    for _ in range(2):
        hadamard = np.block([[hadamard, hadamard], [hadamard, -hadamard]])
    value, signs = least_sign_vector(hadamard)
    assert value == np.abs(hadamard @ signs).max() == reference.discrepancy(matrix=hadamard)


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 9), st.integers(1, 12), st.booleans(), st.integers(0, 2**32 - 1))
def test_signs_are_the_reference(m, n, are_integers, seed):
    matrix = np.random.default_rng(seed).standard_normal((m, n))
    if are_integers:
        matrix = np.round(matrix * 3)
    expected = reference.discrepancy(matrix=matrix) if m else 0.0
    results = [least_sign_vector(matrix, use_avx2=fast) for fast in PATHS]
    for value, signs in results:
        assert signs[-1] == 1
        assert value == results[0][0]
        assert np.array_equal(signs, results[0][1])
        assert value == pytest.approx(float(np.abs(matrix @ signs).max(initial=0)), rel=1e-13, abs=1e-13)
        assert value == (expected if are_integers else pytest.approx(expected, rel=1e-12, abs=1e-12))


def test_rounding_does_not_pile_up():
    matrix = np.random.default_rng(8).standard_normal((5, 16)) + 1e6
    bound = 50 * 2.0**-53 * float(np.abs(matrix).sum(axis=1).max())
    assert abs(least_sign_vector(matrix)[0] - reference.discrepancy(matrix=matrix)) <= bound


# ---- what is refused -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_values_that_are_not_finite(value):
    points = np.arange(12.0).reshape(6, 2)
    points[4, 1] = value
    for call in (riesz_energy, distance_extremes, least_triangle, least_sign_vector):
        with pytest.raises(ValueError, match=r"\[4, 1\] = (nan|-?inf)"):
            call(points)
    with pytest.raises(ValueError, match=r"values\[1\]"):
        floor_sum_maximum([1, 2], [1.0, value], 10)


def test_wrong_arguments():
    points = np.arange(12.0).reshape(6, 2)
    with pytest.raises(ValueError, match="points 2 and 5 at distance 0"):
        riesz_energy(np.concatenate((points[:5], points[2:3])))
    for exponent in (-1.0, np.nan, np.inf):
        with pytest.raises(ValueError, match="expected exponent"):
            riesz_energy(points, exponent)
    with pytest.raises(ValueError, match="without coordinates"):
        riesz_energy(np.zeros((3, 0)))
    for call in (riesz_energy, distance_extremes, least_triangle):
        with pytest.raises(ValueError, match=r"up to 1e\+150 in size, got points\[0, 1\]"):
            call([[0.0, 1e160], [1.0, 1.0], [2.0, 1.0]])
    with pytest.raises(ValueError, match="at least 2 points"):
        distance_extremes(points[:1])
    with pytest.raises(ValueError, match="at least 3 points"):
        least_triangle(points[:2])
    with pytest.raises(ValueError, match=r"shape \(n, 2\)"):
        least_triangle(np.zeros((4, 3)))
    for shape in ((2, 0), (2, 35)):
        with pytest.raises(ValueError, match="1 to 34 columns"):
            least_sign_vector(np.ones(shape))
    with pytest.raises(ValueError, match="overflow"):
        least_sign_vector([[1e300, 1e300]])
    with pytest.raises(ValueError, match=r"keys\[1\] = 0"):
        floor_sum_maximum([1, 0], [1.0, 1.0], 10)
    with pytest.raises(TypeError, match="integer keys"):
        floor_sum_maximum([1.5], [1.0], 10)
    with pytest.raises(ValueError, match="one length"):
        floor_sum_maximum([1, 2], [1.0], 10)
    for limit in (1, -5, 2**63):
        with pytest.raises(ValueError, match="expected limit"):
            floor_sum_maximum([1], [1.0], limit)


def test_edges_and_layouts():
    assert riesz_energy(np.zeros((0, 3)))[0] == 0
    assert riesz_energy(np.zeros((1, 3)))[1].tolist() == [[0, 0, 0]]
    assert distance_extremes(np.zeros((2, 0))).largest == 0
    assert distance_extremes([[0.0], [5e-324]]) == (0.0, (0, 1), 0.0, (0, 1))
    whole = np.random.default_rng(0).random((20, 6))
    before = whole.copy()
    view = whole[::3, ::3]
    frozen = view.copy()
    frozen.setflags(write=False)
    for points in (view, np.asfortranarray(view), frozen, view.astype(">f8"), view.tolist()):
        assert least_triangle(points) == least_triangle(view.copy())
        assert distance_extremes(points) == distance_extremes(view.copy())
        assert riesz_energy(points)[0] == riesz_energy(view.copy())[0]
        assert least_sign_vector(points)[0] == least_sign_vector(view.copy())[0]
    assert np.array_equal(whole, before)
