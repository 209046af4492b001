import itertools
import signal
import threading
import time
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evocore.kernels import _hypervolume, reference
from evocore.kernels.hypervolume import METHODS, hypervolume, hypervolume_contributions

# By hand: areas and volumes of a few boxes, drawn on paper.
TABLE = [
    ([[1]], [3], 2),
    ([[1], [2], [1]], [3], 2),
    ([[1, 1]], [2, 3], 2),
    ([[1, 3], [2, 2], [3, 1]], [4, 4], 6),
    ([[1, 3], [1, 2], [1, 3]], [4, 4], 6),
    ([[0, 2], [2, 0]], [2, 2], 0),  # on the reference
    ([[5, 0], [0, 1]], [2, 2], 2),  # one beyond it
    ([[0, 0, 0]], [1, 2, 3], 6),
    ([[0, 1, 1], [1, 0, 1], [1, 1, 0]], [2, 2, 2], 4),  # three boxes 2 x 1 x 1 that share the cube [1, 2)^3
    ([[1, 0, 0], [0, 1, 0], [0, 0, 1]], [2, 2, 2], 7),  # all of 8 but [0, 1)^3
    ([[0, 1, 1, 1], [1, 0, 1, 1], [1, 1, 0, 1], [1, 1, 1, 0]], [2, 2, 2, 2], 5),
    ([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]], [2] * 4, 15),
    ([[1] * 7, [0] * 7], [2] * 7, 128),
    ([[0] + [1] * 11, [1] + [0] * 11], [2] * 12, 2 + 2048 - 1),
]


def sphere(n, d, seed=0):
    p = np.abs(np.random.default_rng(seed).standard_normal((n, d)))
    return p / np.linalg.norm(p, axis=1)[:, None]


@st.composite
def grids(draw, max_d=6, max_n=12):
    """Few values, so that ties, duplicates and points on the reference are the rule."""
    d = draw(st.integers(1, max_d))
    top = draw(st.integers(1, 6))
    rows = draw(st.lists(st.lists(st.integers(-1, top), min_size=d, max_size=d), max_size=max_n if d < 5 else 8))
    corner = draw(st.lists(st.integers(1, top), min_size=d, max_size=d))
    return np.array(rows, dtype=float).reshape(-1, d), np.array(corner, dtype=float)


@st.composite
def clouds(draw):
    """Any doubles of moderate size."""
    d = draw(st.integers(1, 5))
    numbers = st.floats(-100, 100, width=draw(st.sampled_from([16, 32, 64])))
    rows = draw(st.lists(st.lists(numbers, min_size=d, max_size=d), max_size=9))
    corner = draw(st.lists(numbers, min_size=d, max_size=d))
    return np.array(rows).reshape(-1, d), np.array(corner)


@pytest.mark.parametrize(("points", "corner", "expected"), TABLE)
def test_table(points, corner, expected):
    p, r = np.array(points, dtype=float), np.array(corner, dtype=float)
    assert reference.hypervolume(points=p, reference=r) == expected
    assert reference.hypervolume_by_inclusion(points=p, reference=r) == expected
    for method in METHODS:
        assert hypervolume(points, corner, method=method) == expected
    assert hypervolume(-p, -r, maximize=True) == expected


@given(grids(max_d=5, max_n=7))
def test_references_agree(case):
    p, r = case
    assert reference.hypervolume(points=p, reference=r) == reference.hypervolume_by_inclusion(points=p, reference=r)


@given(grids(), st.sampled_from(METHODS))
@settings(max_examples=300, deadline=None)
def test_volume_on_grids_is_exact(case, method):
    p, r = case
    assert hypervolume(p, r, method=method) == reference.hypervolume(points=p, reference=r)


@given(grids(), st.sampled_from(METHODS))
@settings(max_examples=200, deadline=None)
def test_contributions_on_grids_are_exact(case, method):
    p, r = case
    found = hypervolume_contributions(p, r, method=method)
    assert found.tolist() == reference.hypervolume_contributions(points=p, reference=r)


@given(clouds(), st.sampled_from(METHODS))
@settings(max_examples=200, deadline=None)
def test_against_rationals(case, method):
    p, r = case
    expected = reference.hypervolume(points=p, reference=r)
    assert abs(Fraction(hypervolume(p, r, method=method)) - expected) <= expected * Fraction(1, 10**14)
    found = hypervolume_contributions(p, r, method=method)
    for value, exact in zip(found, reference.hypervolume_contributions(points=p, reference=r), strict=True):
        assert abs(Fraction(float(value)) - exact) <= exact * Fraction(1, 10**12) + Fraction(5e-324)


@given(grids(), st.randoms(use_true_random=False), st.integers(-30, 30))
@settings(deadline=None)
def test_laws(case, random, exponent):
    p, r = case
    n, d = p.shape
    value, parts = hypervolume(p, r), hypervolume_contributions(p, r)
    rows, axes = random.sample(range(n), n), random.sample(range(d), d)
    assert hypervolume(p[rows], r) == value
    assert hypervolume_contributions(p[rows], r).tolist() == parts[rows].tolist()
    assert hypervolume(p[:, axes], r[axes]) == value
    scale = 2.0**exponent
    assert hypervolume(p * scale, r * scale) == value * scale**d
    assert hypervolume(p + 7, r + 7) == value
    assert hypervolume(np.vstack([p, p]), r) == value
    assert not hypervolume_contributions(np.vstack([p, p]), r).any()
    assert hypervolume(p[: n // 2], r) <= value
    assert hypervolume(p, r + 1) >= value
    flip = np.array(random.choices([False, True], k=d))
    sign = np.where(flip, -1.0, 1.0)
    assert hypervolume(p * sign, r * sign, maximize=flip.tolist()) == value
    assert hypervolume_contributions(p * sign, r * sign, maximize=flip).tolist() == parts.tolist()
    assert parts.sum() <= value


@pytest.mark.parametrize("d", range(1, 11))
def test_both_instruction_sets_give_the_same_bits(d):
    p, r = sphere(150 if d < 7 else 40, d), np.full(d, 1.1)
    if d == 10:
        p = p[:15]
    try:
        _hypervolume.select(False)
        base = [(hypervolume(p, r, method=m), hypervolume_contributions(p, r, method=m).tolist()) for m in METHODS]
    finally:
        _hypervolume.select(True)
    fast = [(hypervolume(p, r, method=m), hypervolume_contributions(p, r, method=m).tolist()) for m in METHODS]
    assert fast == base


@pytest.mark.parametrize(("d", "n"), [(2, 3000), (3, 3000), (4, 700), (5, 300), (6, 150), (8, 60)])
@pytest.mark.parametrize("kind", ["sphere", "convex", "grid", "cliff", "skewed"])
def test_large_sets_agree_with_what_they_lose(d, n, kind):
    """Sets of many buckets: volume - volume without p = contribution, and both methods agree."""
    p = sphere(n, d)
    if kind == "convex":
        p = 1 - p
    elif kind == "grid":
        p = np.round(p * 6) / 6
    elif kind == "cliff":
        p = np.stack([p[:, j // 2] if j % 2 == 0 else 1 - p[:, j // 2] for j in range(d)], axis=1)
    elif kind == "skewed":
        p = p**20
    r = np.full(d, 1.1)
    value, parts = hypervolume(p, r), hypervolume_contributions(p, r)
    for i in (0, n // 2, n - 1):
        assert value - hypervolume(np.delete(p, i, axis=0), r) == pytest.approx(parts[i], abs=1e-13 * value)
    if n <= 700:
        assert hypervolume(p, r, method="gaps") == pytest.approx(value, rel=1e-14)
        np.testing.assert_allclose(hypervolume_contributions(p, r, method="gaps"), parts, rtol=1e-12, atol=0)


@pytest.mark.parametrize("d", [2, 3, 4, 5])
def test_small_contributions_are_never_zero(d):
    """A front of 200 points on a sphere of radius 0.1: differences of hypervolumes lose most of them."""
    p, r = 0.1 * sphere(200, d), np.full(d, 1.1)
    parts = hypervolume_contributions(p, r)
    assert (parts > 0).all()
    for i in np.argsort(parts)[: 4 if d < 5 else 1]:
        rest = np.maximum(np.delete(p, i, axis=0), p[i])  # what the others cover of the box of p[i]
        keep = [k for k in range(len(rest)) if not ((rest <= rest[k]).all(1) & (rest < rest[k]).any(1)).any()]
        box = Fraction(1)
        for a, b in zip(p[i], r, strict=True):
            box *= Fraction(b) - Fraction(a)
        exact = box - reference.hypervolume(points=rest[keep], reference=r)
        assert abs(Fraction(parts[i]) - exact) <= exact * Fraction(1, 10**12)


@pytest.mark.parametrize("d", [1, 2, 3, 4, 7, 12])
@pytest.mark.parametrize("method", METHODS)
def test_empty_and_outside(d, method):
    r = np.ones(d)
    for points in (np.empty((0, d)), [], np.ones((3, d)), np.full((2, d), 2.0)):
        assert hypervolume(points, r, method=method) == 0.0
        assert hypervolume_contributions(points, r, method=method).tolist() == [0.0] * len(points)
    assert hypervolume(np.zeros((1, d)), r, method=method) == 1.0
    assert hypervolume_contributions(np.zeros((1, d)), r, method=method).tolist() == [1.0]


@pytest.mark.parametrize("d", [2, 3, 4, 5])
@pytest.mark.parametrize("value", [0.0, 5e-324, 1e-310])
def test_all_equal(d, value):
    p, r = np.full((500, d), value), np.ones(d)
    assert hypervolume(p, r) == 1.0
    assert not hypervolume_contributions(p, r).any()


@pytest.mark.parametrize("d", [1, 2, 3, 4, 6])
def test_huge_and_tiny_widths(d):
    """Products that leave the range of doubles on the way, and results that do not."""
    widths = np.array([2.0**600, 2.0**-600] * 3)[:d]
    p = np.outer([0.5, 0.75, 0.5], widths)
    expected = Fraction(1, 2**d)
    for w in widths:
        expected *= Fraction(w)
    assert hypervolume(p, widths) == float(expected)
    parts = hypervolume_contributions(np.outer([0.5, 0.75], widths), widths)
    exact = reference.hypervolume_contributions(points=np.outer([0.5, 0.75], widths), reference=widths)
    assert parts.tolist() == [float(e) for e in exact]


def test_range_of_all_doubles():
    top = np.finfo(float).max
    assert hypervolume([[-top, 0.0], [0.0, -1e-300]], [top, 1e-300]) == pytest.approx(top * 1e-300 * 2 + top * 1e-300)
    assert hypervolume([[-top]], [top]) == np.inf  # the volume itself is beyond doubles


def test_a_million_points_in_the_plane():
    p = sphere(10**6, 2)
    value = hypervolume(p, [1.1, 1.1])
    assert value == pytest.approx(1.21 - np.pi / 4, abs=1e-5)
    assert hypervolume_contributions(p, [1.1, 1.1]).sum() < value


def test_staircases_stay_fast():
    """50 000 points that all stay on the staircase to the end: quadratic work would take minutes."""
    x = np.random.default_rng(1).random(50_000)
    z = np.random.default_rng(2).random(50_000)
    p = np.stack([x, 1 - x, z], axis=1)
    value = hypervolume(p, [1.0, 1.0, 1.0])
    assert 0.499 < value < 0.5  # half of the square, to which the staircase soon comes near
    assert 0 < hypervolume_contributions(p, [1.0, 1.0, 1.0]).sum() < value


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("function", [hypervolume, hypervolume_contributions])
def test_not_finite_is_refused_with_its_place(function, bad):
    p = np.zeros((4, 3))
    p[2, 1] = bad
    with pytest.raises(ValueError, match=r"points\[2, 1\]"):
        function(p, np.ones(3))
    with pytest.raises(ValueError, match=r"points\[2, 1\]"):
        function(p, np.ones(3), maximize=[True, False, False])
    with pytest.raises(ValueError, match=r"reference\[1\]"):
        function(np.zeros((4, 3)), [1.0, bad, 1.0])


@pytest.mark.parametrize("function", [hypervolume, hypervolume_contributions])
def test_refused(function):
    p, r = np.zeros((2, 3)), np.ones(3)
    for wrong in (np.zeros(3), np.zeros((2, 2)), np.zeros((2, 3, 1)), 1.0, np.zeros((2, 0))):
        with pytest.raises(ValueError, match="expected points"):
            function(wrong, r)
    for wrong in (1.0, [], np.ones((1, 3))):
        with pytest.raises(ValueError, match="expected reference"):
            function(p, wrong)
    for wrong in (p.astype(complex), np.full((2, 3), "a"), np.full((2, 3), None)):
        with pytest.raises(TypeError, match="real numbers"):
            function(wrong, r)
    for wrong in ([True], "yes", [1, 0, 1], 2):
        with pytest.raises(ValueError, match="maximize"):
            function(p, r, maximize=wrong)
    with pytest.raises(ValueError, match="method"):
        function(p, r, method="magic")


def test_layouts_and_types():
    rng = np.random.default_rng(3)
    p = np.round(sphere(40, 4) * 64)
    r = np.full(4, 70.0)
    value, parts = hypervolume(p, r), hypervolume_contributions(p, r).tolist()
    frozen = p.copy()
    frozen.setflags(write=False)
    wide = rng.random((80, 9))
    wide[::2, 1::2] = p
    unaligned = np.frombuffer(b"x" + p.tobytes(), dtype=np.uint8)[1:].view(np.float64).reshape(p.shape)
    swapped = p.astype(">f8")
    shapes = [frozen, wide[::2, 1::2], np.asfortranarray(p), p[::-1][::-1], unaligned, swapped, p.tolist()]
    types = [p.astype(t) for t in (np.int8, np.uint16, np.int64, np.float16, np.float32, np.longdouble)]
    for q in shapes + types:
        for corner in (r, r.tolist(), tuple(r), r.astype(int), np.repeat(r, 2)[::2], r.astype(">f8")):
            assert hypervolume(q, corner) == value
        assert hypervolume_contributions(q, r).tolist() == parts
    assert hypervolume(p > 32, np.full(4, 2)) == hypervolume((p > 32).astype(float), np.full(4, 2.0))
    assert (p == np.round(sphere(40, 4) * 64)).all()
    assert (r == 70).all()


def test_too_little_memory_is_an_error():
    p, r = sphere(200, 7), np.full(7, 1.1)
    old = _hypervolume.limit_memory(1 << 20)
    try:
        with pytest.raises(MemoryError, match=r"200 points with 7 objectives.*1 MiB"):
            hypervolume(p, r)
        assert hypervolume(p[:20], r, method="gaps") == hypervolume(p[:20], r)
    finally:
        _hypervolume.limit_memory(old)


def test_many_objectives():
    """Far more objectives than boxes could be kept for."""
    d = 40
    p = np.ones((d, d)) - np.eye(d)
    assert hypervolume(p, np.full(d, 2.0)) == d + 1
    assert hypervolume_contributions(p, np.full(d, 2.0)).tolist() == [1.0] * d


def test_other_threads_run_meanwhile():
    p, r = sphere(1500, 6), np.full(6, 1.1)
    done, seen = threading.Event(), []

    def work():
        hypervolume(p, r)
        done.set()

    thread = threading.Thread(target=work)
    thread.start()
    while not done.is_set():
        seen.append(1)
        done.wait(0.001)
    thread.join()
    assert len(seen) > 2


def test_a_signal_stops_a_long_computation():
    """Hours of work, ended by an alarm whose handler raises."""

    class Stop(Exception):
        pass

    def handler(*_):
        raise Stop

    old = signal.signal(signal.SIGALRM, handler)
    try:
        for d, n, method in itertools.product([12], [400], ["gaps"]):
            signal.setitimer(signal.ITIMER_REAL, 0.05)
            start = time.monotonic()
            with pytest.raises(Stop):
                hypervolume(sphere(n, d), np.full(d, 1.1), method=method)
            assert time.monotonic() - start < 60
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)
