import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evocore.kernels import _similarity, reference
from evocore.kernels.dominance import outdoes
from evocore.kernels.similarity import (
    condensed_similarity,
    farthest_points,
    most_dispersed,
    most_similar,
    parent_weights,
    similarity,
)

PATHS = [False, True] if _similarity.HAS_AVX2 else [False]
KINDS = ["float64", "float32", "uint8", "bool"]


def behaviours(kind, n, m, seed):
    """Rows of one kind, and their `levels`; some rows are equal."""
    rng = np.random.default_rng(seed)
    rates = rng.random((n, m))
    if n > 2:
        rates[n // 2] = rates[0]
    if kind == "uint8":
        return np.floor(rates * 6).astype(np.uint8), 5
    if kind == "bool":
        return rates < 0.5, None
    return rates.astype(kind), None


def exact(a, b, levels):
    return [[reference.similarity(a=x, b=y, levels=levels or 1) for y in b] for x in a]


shapes = st.tuples(st.sampled_from(KINDS), st.integers(1, 9), st.integers(0, 40), st.integers(0, 2**32 - 1))
large = [("float64", 130, 300), ("float32", 110, 600), ("uint8", 103, 1500), ("bool", 97, 9000), ("float64", 51, 1)]


def test_by_hand():
    assert similarity([[1.0, 0.5, 0.0], [0.5, 0.5, 1.0]]).tolist() == [[1.0, 0.5], [0.5, 1.0]]
    counts = np.array([[3, 0, 1], [0, 0, 2]], dtype=np.uint8)
    assert similarity(counts, levels=3)[0, 1] == 5 / 9
    passed = np.array([[True, False, True, True], [True, True, True, False]])
    assert similarity(passed)[0, 1] == 0.5
    assert reference.similarity(a=counts[0], b=counts[1], levels=3) * 9 == 5


@settings(max_examples=150, deadline=None)
@given(shapes)
def test_matrix_is_the_reference(shape):
    kind, n, m, seed = shape
    rows, levels = behaviours(kind, n, m, seed)
    expected = exact(rows, rows, levels)
    for fast in PATHS:
        found = similarity(rows, levels=levels, use_avx2=fast)
        assert found.dtype == (np.float32 if kind == "float32" else np.float64)
        if kind in ("uint8", "bool"):
            assert found.tolist() == [[float(v) for v in row] for row in expected]
        else:
            bound = (m + 9) * 2.0 ** (-51 if kind == "float64" else -22)
            assert all(
                abs(float(found[i, j]) - v) <= bound for i, row in enumerate(expected) for j, v in enumerate(row)
            )


@pytest.mark.parametrize(("kind", "n", "m"), large)
def test_large_sets(kind, n, m):
    """Several blocks and panels: the forms agree with one another and with a plain loop."""
    rows, levels = behaviours(kind, n, m, 5)
    full = similarity(rows, levels=levels)
    plain = np.array([1 - np.abs(rows.astype(float) - row.astype(float)).mean(axis=1) / (levels or 1) for row in rows])
    assert np.abs(full - plain).max() < (1e-5 if kind == "float32" else 1e-14)
    for fast in PATHS:
        assert np.array_equal(similarity(rows, levels=levels, use_avx2=fast), full)
        assert np.array_equal(similarity(rows[7:70], rows, levels=levels, use_avx2=fast), full[7:70])
        condensed = condensed_similarity(rows, levels=levels, use_avx2=fast)
        assert np.array_equal(condensed, full[np.triu_indices(n, 1)])
        wide = similarity(rows, levels=levels, out=np.empty((n, n)), use_avx2=fast)
        assert np.array_equal(wide.astype(full.dtype), full)
        np.fill_diagonal(wide, -1)
        order = np.argsort(-wide, axis=1, kind="stable")[:, :9]
        found = most_similar(rows, 9, levels=levels, use_avx2=fast)
        assert np.array_equal(found.indices, order)
        assert np.array_equal(found.values, np.take_along_axis(wide, order, axis=1))
        narrow = similarity(rows, levels=levels, out=np.empty((n, n), dtype=np.float32), use_avx2=fast)
        assert np.array_equal(narrow, similarity(rows, levels=levels, out=np.empty((n, n))).astype(np.float32))


@settings(max_examples=100, deadline=None)
@given(shapes, st.floats(-1e6, 1e6), st.integers(0, 2**32 - 1))
def test_laws(shape, shift, seed):
    kind, n, m, _ = shape
    rows, levels = behaviours(*shape)
    if kind.startswith("float"):
        rows = rows + rows.dtype.type(shift)
    full = similarity(rows, levels=levels)
    assert (full.diagonal() == 1).all()
    assert np.array_equal(full, full.T)
    assert (full <= 1).all()
    if n > 2:
        assert full[0, n // 2] == 1
    order = np.random.default_rng(seed).permutation(n)
    assert np.array_equal(similarity(rows[order], levels=levels), full[np.ix_(order, order)])
    assert np.array_equal(similarity(rows, rows[order], levels=levels), full[:, order])
    if kind == "bool" and m:
        counts = similarity(rows.astype(np.uint8), levels=1)
        assert np.array_equal(counts, full)
    if m == 0:
        assert (full == 1).all()


# ---- choices -------------------------------------------------------------------------------------------------------


@settings(max_examples=150, deadline=None)
@given(shapes, st.data())
def test_farthest_points_are_the_reference(shape, data):
    kind, n, _, _ = shape
    rows, levels = behaviours(*shape)
    if kind.startswith("float"):  # values whose sums are exact: ties are ties
        rows = np.round(rows * 8) / 8
    k, first = data.draw(st.integers(0, n)), data.draw(st.integers(0, n - 1))
    wide = rows.astype(np.int64) if kind in ("uint8", "bool") else rows
    distance = np.abs(wide[:, None].astype(float) - wide[None].astype(float)).sum(axis=2)
    expected = reference.farthest_points(distance=distance, k=k, first=first)
    for fast in PATHS:
        assert farthest_points(rows, k, first=first, levels=levels, use_avx2=fast).tolist() == expected


@pytest.mark.parametrize("scale", [2.0**-900, 2.0**-30, 1.0, 2.0**30])
@pytest.mark.parametrize("shift", [0, -32, 64000])
def test_bounds_of_farthest_points_change_no_pick(scale, shift):
    """Enough rows that distances are bounded from rounded copies: the picks stay those of the plain loop."""
    rng = np.random.default_rng(2)
    rows = (np.floor(rng.random((300, 30)) * 64) + shift) / 64 * scale  # exact sums: ties are ties
    distance = np.abs(rows[:, None] - rows[None]).sum(axis=2)
    expected = reference.farthest_points(distance=distance, k=30, first=3)
    for fast in PATHS:
        assert farthest_points(rows, 30, first=3, use_avx2=fast).tolist() == expected


@pytest.mark.parametrize("seed", range(10))
def test_bounds_of_farthest_points_allow_for_their_rounding(seed):
    """Points on a line whose bytes lie up to half a step off: a bound that forgot part of that would change picks."""
    rng = np.random.default_rng(seed)
    line = rng.integers(0, 255, 400) + rng.integers(18, 47, 400) / 64
    line[:2] = 0, 255
    distance = np.abs(line[:, None] - line)
    expected = reference.farthest_points(distance=distance, k=100, first=0)
    for fast in PATHS:
        assert farthest_points(np.repeat(line[:, None], 40, axis=1), 100, use_avx2=fast).tolist() == expected


def test_farthest_points_of_equal_rows_are_distinct():
    for rows, levels in ((np.ones((200, 5)), None), (np.ones((200, 5), dtype=np.uint8), 1)):
        assert farthest_points(rows, 7, first=4, levels=levels).tolist() == [4, 0, 1, 2, 3, 5, 6]


def test_dispersion_by_hand():
    line = np.array([0.0, 0.1, 0.5, 0.9, 1.0])
    distance = np.abs(line[:, None] - line)
    assert most_dispersed(distance, 2).tolist() == [0, 4]
    assert most_dispersed(distance, 3).tolist() == [0, 2, 4]
    assert most_dispersed(distance, 1).tolist() == [0]
    assert most_dispersed(distance, 0).tolist() == []
    assert most_dispersed(distance, 5).tolist() == [0, 1, 2, 3, 4]


@settings(max_examples=80, deadline=None)
@given(st.integers(1, 10), st.booleans(), st.integers(0, 2**32 - 1), st.data())
def test_dispersion_is_the_reference(n, are_ties, seed, data):
    rows = np.random.default_rng(seed).random((n, 3))
    if are_ties:
        rows = np.round(rows * 2) / 2
    distance = 1 - similarity(rows)
    k = data.draw(st.integers(0, n))
    assert most_dispersed(distance, k).tolist() == reference.most_dispersed(distance=distance, k=k)


def test_greedy_choice_is_within_two_of_the_best():
    for seed in range(20):
        rows = np.random.default_rng(seed).random((16, 4))
        distance = 1 - similarity(rows)

        def least(picks, distance=distance):
            return min(distance[i, j] for i in picks for j in picks if i != j)

        assert least(farthest_points(rows, 6)) >= least(most_dispersed(distance, 6)) / 2


def test_weights_by_hand():
    fitness = [[0.9, 0.5], [0.5, 0.5], [0.51, 0.6]]
    rows = [[1.0, 0.5], [1.0, 0.0], [0.0, 0.0]]
    # 0 outdoes both others, 2 outdoes 1; similarities 0.75, 0.25 and 0.5
    assert parent_weights(fitness, rows, epsilon=0.02).tolist() == [0.0, -1.25, -0.25]


@settings(max_examples=100, deadline=None)
@given(shapes, st.integers(2, 4), st.sampled_from([0.0, 0.02, 0.25]))
def test_weights_are_the_reference(shape, d, epsilon):
    kind, n, m, seed = shape
    rows, levels = behaviours(kind, n, m, seed)
    fitness = np.random.default_rng(seed).integers(0, 5, (n, d)) / 4
    similarities = similarity(rows, levels=levels, out=np.empty((n, n)))
    expected = reference.parent_weights(fitness=fitness, similarities=similarities, epsilon=epsilon)
    for fast in PATHS:
        found = parent_weights(fitness, rows, epsilon=epsilon, levels=levels, use_avx2=fast)
        assert np.allclose(found, expected, rtol=0, atol=1e-13)


@pytest.mark.parametrize(("kind", "n", "m"), large)
def test_weights_of_large_sets(kind, n, m):
    rows, levels = behaviours(kind, n, m, 9)
    fitness = np.random.default_rng(9).random((n, 3))
    full = similarity(rows, levels=levels, out=np.empty((n, n)))
    expected = -(full * outdoes(fitness, epsilon=0.05).T).sum(axis=1)
    found = [parent_weights(fitness, rows, epsilon=0.05, levels=levels, use_avx2=fast) for fast in PATHS]
    assert np.abs(found[0] - expected).max() < 1e-12
    assert all(np.array_equal(found[0], one) for one in found)
    assert found[0].max() == 0
    assert not np.signbit(found[0][found[0] == 0]).any()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_out_may_lie_where_the_rows_are(dtype):
    """The kernels copy the rows before they write."""
    whole = np.random.default_rng(6).random(40).astype(dtype)
    rows, expected = whole[:36].reshape(6, 6), similarity(whole[:36].reshape(6, 6).copy())
    pairs = condensed_similarity(rows.copy())
    others = whole[10:34].reshape(4, 6)
    between = similarity(rows.copy(), others.copy())
    before = whole.copy()
    for call, shape, result in (
        (lambda out: similarity(rows, out=out), (6, 6), expected),
        (lambda out: similarity(rows, others, out=out), (6, 4), between),
        (lambda out: condensed_similarity(rows, out=out), (15,), pairs),
    ):
        for start in (0, 4):
            whole[:] = before
            assert np.array_equal(call(whole[start : start + result.size].reshape(shape)), result)


# ---- what is refused -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_values_that_are_not_finite(dtype, value):
    rows = np.zeros((60, 140), dtype=dtype)
    rows[50, 131] = value
    for call in (
        lambda: similarity(rows),
        lambda: similarity(np.zeros((1, 140), dtype=dtype), rows),
        lambda: condensed_similarity(rows),
        lambda: most_similar(rows, 2),
        lambda: farthest_points(rows, 5),
        lambda: parent_weights(np.zeros((60, 2)), rows, epsilon=0.1),
    ):
        with pytest.raises(ValueError, match=r"\[50, 131\] = (nan|-?inf)"):
            call()
    fitness = np.zeros((60, 2))
    fitness[4, 1] = value
    with pytest.raises(ValueError, match=r"fitness\[4, 1\]"):
        parent_weights(fitness, np.zeros((60, 1)), epsilon=0.1)


@pytest.mark.parametrize(("dtype", "value"), [(np.float64, 1.7e308), (np.float64, -1.7e308), (np.float32, 3e38)])
def test_values_whose_sums_overflow(dtype, value):
    rows = np.zeros((5, 3), dtype=dtype)
    rows[2, 1] = value
    for call in (lambda: similarity(rows), lambda: farthest_points(rows, 3)):
        with pytest.raises(ValueError, match=r"behaviours\[2, 1\]"):
            call()


def test_large_and_tiny_values():
    rows = np.array([[1e299, -1e299], [1e299, -1e299], [0.0, 0.0]])
    assert similarity(rows).tolist() == [[1, 1, -1e299], [1, 1, -1e299], [-1e299, -1e299, 1]]
    tiny = np.array([[5e-324, 0.0], [0.0, 0.0]])
    assert similarity(tiny).tolist() == [[1, 1], [1, 1]]
    assert farthest_points(np.concatenate((np.zeros((70, 2)), tiny)), 4).tolist() == [0, 70, 1, 2]


def test_wrong_arguments():
    rows = np.zeros((3, 2))
    counts = np.full((3, 2), 4, dtype=np.uint8)
    with pytest.raises(TypeError, match="expected levels with behaviours of dtype uint8"):
        similarity(counts)
    with pytest.raises(TypeError, match="expected levels only"):
        similarity(rows, levels=3)
    with pytest.raises(ValueError, match=r"levels = 3, got behaviours\[0, 0\] = 4"):
        similarity(counts, levels=3)
    for levels in (0, 256, -1):
        with pytest.raises(ValueError, match="expected levels from 1 to 255"):
            similarity(counts, levels=levels)
    with pytest.raises(TypeError, match="of one dtype"):
        similarity(rows, rows > 0)
    with pytest.raises(ValueError, match="equally many columns"):
        similarity(rows, np.zeros((3, 3)))
    with pytest.raises(TypeError, match="expected behaviours as real numbers or bools"):
        similarity([["a"]])
    with pytest.raises(ValueError, match=r"shape \(n, m\)"):
        similarity([1.0, 2.0])
    for k in (0, 3, -1):
        with pytest.raises(ValueError, match="expected k from 1"):
            most_similar(rows, k)
    for k in (-1, 4):
        with pytest.raises(ValueError, match="expected k from 0"):
            farthest_points(rows, k)
    for first in (-1, 3):
        with pytest.raises(ValueError, match="expected first"):
            farthest_points(rows, 1, first=first)
    with pytest.raises(ValueError, match="n <= 16"):
        most_dispersed(np.zeros((17, 17)), 2)
    with pytest.raises(ValueError, match=r"shape \(n, n\)"):
        most_dispersed(np.zeros((3, 2)), 2)
    with pytest.raises(ValueError, match="symmetric"):
        most_dispersed([[0.0, 1.0], [2.0, 0.0]], 2)
    with pytest.raises(ValueError, match="expected finite values"):
        most_dispersed([[0.0, np.nan], [np.nan, 0.0]], 2)
    with pytest.raises(ValueError, match=r"expected fitness of shape \(3, d\)"):
        parent_weights(np.zeros((2, 2)), rows, epsilon=0.1)
    with pytest.raises(ValueError, match="d >= 2"):
        parent_weights(np.zeros((3, 1)), rows, epsilon=0.1)
    with pytest.raises(ValueError, match="expected epsilon"):
        parent_weights(np.zeros((3, 2)), rows, epsilon=-1.0)
    frozen = np.empty((3, 3))
    frozen.setflags(write=False)
    for out in (np.empty((3, 2)), np.empty((3, 6))[:, ::2], frozen):
        with pytest.raises(ValueError, match="expected out"):
            similarity(rows, out=out)
    with pytest.raises(TypeError, match="expected out"):
        similarity(rows, out=np.empty((3, 3), dtype=np.int64))


def test_nothing_to_compare():
    none = np.zeros((0, 4))
    assert similarity(none).shape == (0, 0)
    assert similarity(none, np.zeros((3, 4))).shape == (0, 3)
    assert condensed_similarity(none).shape == (0,)
    assert condensed_similarity(np.zeros((1, 4))).shape == (0,)
    assert most_similar(none, 1).indices.shape == (0, 1)
    assert farthest_points(none, 0).shape == (0,)
    assert parent_weights(np.zeros((0, 2)), none, epsilon=0.1).shape == (0,)
    for dtype in (np.float64, np.float32, np.bool_):
        assert (similarity(np.zeros((3, 0), dtype=dtype)) == 1).all()
    assert (similarity(np.zeros((3, 0), dtype=np.uint8), levels=2) == 1).all()
    assert farthest_points(np.zeros((5, 0)), 3).tolist() == [0, 1, 2]
    assert parent_weights([[0.9, 0.1], [0.1, 0.1]], np.zeros((2, 0)), epsilon=0.1).tolist() == [0, -1]


def test_arrays_of_every_layout():
    whole = np.random.default_rng(1).random((20, 12))
    before = whole.copy()
    view = whole[::2, ::3]
    expected = similarity(np.ascontiguousarray(view))
    frozen = view.copy()
    frozen.setflags(write=False)
    for rows in (view, np.asfortranarray(view), frozen, view.astype(">f8"), view.tolist()):
        assert np.array_equal(similarity(rows), expected)
        assert farthest_points(rows, 4).tolist() == farthest_points(view.copy(), 4).tolist()
    assert np.array_equal(similarity((view > 0.5)[:, ::-1]), similarity(np.ascontiguousarray(view > 0.5)))
    assert np.array_equal(whole, before)
