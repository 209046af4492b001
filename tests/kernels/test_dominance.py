import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evocore.kernels import _dominance, reference
from evocore.kernels.dominance import epsilon_indicator, excess, non_dominated, outdoes, ranks

PATHS = [False, True] if _dominance.HAS_AVX2 else [False]

# By hand, minimising: points, who stays, fronts.
TABLE = [
    ([[3], [1], [1], [2]], [0, 1, 1, 0], [2, 0, 0, 1]),
    ([[1, 3], [2, 2], [3, 1]], [1, 1, 1], [0, 0, 0]),
    ([[1, 3], [2, 2], [3, 1], [3, 3], [2, 2]], [1, 1, 1, 0, 1], [0, 0, 0, 1, 0]),
    ([[1, 1], [1, 2], [2, 1]], [1, 0, 0], [0, 1, 1]),  # a tie in one objective still dominates
    ([[0, 0, 0], [0, 0, 1], [0, 1, 0], [0, 0, 0]], [1, 0, 0, 1], [0, 1, 1, 0]),
    ([[1, 2, 3], [3, 1, 2], [2, 3, 1], [3, 3, 3]], [1, 1, 1, 0], [0, 0, 0, 1]),
    ([[0, 0, 0, 1], [0, 0, 1, 0], [1, 1, 1, 1], [0, 0, 1, 1]], [1, 1, 0, 0], [0, 0, 2, 1]),
    ([[-1e308, 1e308], [1e308, -1e308], [1e308, 1e308]], [1, 1, 0], [0, 0, 1]),
    ([[5e-324, 0.0], [0.0, 5e-324], [0.0, -0.0]], [0, 0, 1], [1, 1, 0]),
]


@st.composite
def sets(draw, max_d=6, max_n=40):
    """Points with many ties and duplicates, or any doubles."""
    d = draw(st.integers(1, max_d))
    number = draw(
        st.sampled_from(
            [
                st.integers(0, 3).map(float),
                st.integers(-20, 20).map(float),
                st.floats(allow_nan=False, allow_infinity=False),
                st.sampled_from([0.0, -0.0, 5e-324, 1e-308, 1.0, 1 + 2**-52, -1e308, 1e308]),
            ]
        )
    )
    rows = draw(st.lists(st.lists(number, min_size=d, max_size=d), max_size=max_n))
    return np.array(rows, dtype=np.float64).reshape(-1, d)


def clouds():
    """Larger sets than Hypothesis likes to make: they fill the windows, the bit sets and several chunks of them."""
    rng = np.random.default_rng(7)
    for n, d in [(300, 3), (400, 4), (900, 5), (260, 8), (150, 40)]:
        uniform = rng.random((n, d))
        yield uniform
        yield uniform / np.linalg.norm(uniform, axis=1)[:, None]
        yield np.floor(uniform * 5)
        yield np.exp(30 * (uniform - 0.5))  # one histogram bucket holds nearly all
        yield np.column_stack((uniform[:, : d - 1], np.zeros(n)))
        ties = np.floor(12 * uniform / np.linalg.norm(uniform, axis=1)[:, None])
        yield ties
        yield np.exp(9 * ties)


@pytest.mark.parametrize("fast", PATHS)
@pytest.mark.parametrize(("points", "stays", "fronts"), TABLE)
def test_table(points, stays, fronts, fast):
    array = np.array(points, dtype=np.float64)
    assert non_dominated(points, use_avx2=fast).tolist() == [bool(v) for v in stays]
    assert ranks(points, use_avx2=fast).tolist() == fronts
    assert reference.non_dominated(points=array) == [bool(v) for v in stays]
    assert reference.ranks(points=array) == fronts


@settings(max_examples=200, deadline=None)
@given(sets(), st.data())
def test_filter_and_ranks_are_the_references(points, data):
    d = points.shape[1]
    maximize = data.draw(st.lists(st.booleans(), min_size=d, max_size=d))
    flipped = np.where(maximize, -points, points)
    for fast in PATHS:
        mask = non_dominated(points, maximize=maximize, use_avx2=fast)
        assert mask.tolist() == reference.non_dominated(points=flipped)
        assert ranks(points, maximize=maximize, use_avx2=fast).tolist() == reference.ranks(points=flipped)
        first = non_dominated(points, maximize=maximize, keep="first", use_avx2=fast)
        seen = [p.tolist() for p in points]
        assert first.tolist() == [
            bool(m) and seen.index(p) == i for i, (m, p) in enumerate(zip(mask, seen, strict=True))
        ]


def test_large_sets_are_the_reference():
    for points in clouds():
        le = (points[:, None] <= points[None]).all(axis=2)
        beaten = (le & ~le.T).any(axis=0)
        for fast in PATHS:
            assert np.array_equal(non_dominated(points, use_avx2=fast), ~beaten)
            found = ranks(points, use_avx2=fast)
            assert np.array_equal(found == 0, ~beaten)
            # a point's rank is one more than the largest of those that dominate it
            dominators = le & ~le.T
            expected = np.where(dominators, found[:, None] + 1, 0).max(axis=0)
            assert np.array_equal(found, expected)


@pytest.mark.parametrize("d", [2, 3, 4, 7])
def test_a_front_of_many_chunks(d):
    rng = np.random.default_rng(3)
    points = np.abs(rng.standard_normal((8300, d)))  # the last chunk has just begun
    points /= np.linalg.norm(points, axis=1)[:, None]
    behind = points[:300].copy()
    behind[:, 0] += 0.3  # far behind their dominators in the order of the sums
    both = np.concatenate((behind, points))
    mask = non_dominated(both)
    assert mask[300:].all()
    assert not mask[:300].any()
    assert np.array_equal(ranks(both) == 0, mask)


@settings(max_examples=60, deadline=None)
@given(sets(), st.integers(0, 2**32 - 1))
def test_laws(points, seed):
    rng = np.random.default_rng(seed)
    n, d = points.shape
    mask, fronts = non_dominated(points), ranks(points)
    order, axes = rng.permutation(n), rng.permutation(d)
    assert np.array_equal(non_dominated(points[order]), mask[order])
    assert np.array_equal(ranks(points[:, axes]), fronts)
    assert np.array_equal(non_dominated(-points, maximize=True), mask)
    assert np.array_equal(non_dominated(np.concatenate((points, points))), np.tile(mask, 2))
    assert non_dominated(points[mask]).all()
    for front in range(1, fronts.max(initial=0) + 1):  # each front is the first of what the earlier ones leave
        left = fronts >= front
        assert np.array_equal(np.flatnonzero(left)[non_dominated(points[left])], np.flatnonzero(fronts == front))


def test_a_chain_has_as_many_fronts_as_points():
    for d in (1, 2, 3, 5):
        chain = np.repeat(np.arange(500.0)[:, None], d, axis=1)
        order = np.random.default_rng(d).permutation(500)
        assert np.array_equal(ranks(chain[order]), order)


def test_a_million_points_in_the_plane():
    rng = np.random.default_rng(0)
    x = rng.random(1_000_000)
    front = np.column_stack((x, 1 - x))
    assert non_dominated(front).all()
    cloud = rng.random((1_000_000, 2))
    stays = cloud[non_dominated(cloud)]
    stays = stays[np.argsort(stays[:, 0])]
    assert (np.diff(stays[:, 1]) < 0).all()
    steps = np.searchsorted(stays[:, 0], cloud[:, 0], side="right") - 1
    assert (cloud[steps >= 0, 1] >= stays[steps[steps >= 0], 1]).all()
    assert (steps < 0).sum() == 0
    assert non_dominated(np.zeros((1_000_000, 2))).all()
    assert non_dominated(np.zeros((1_000_000, 2)), keep="first").sum() == 1


# ---- epsilon dominance ---------------------------------------------------------------------------------------------


def test_excess_by_hand():
    assert excess([[1, 4], [2, 2]], [[1, 3], [0, 2]]).tolist() == [[1, 2], [1, 2]]
    assert epsilon_indicator([[1, 4], [2, 2]], [[1, 3], [0, 2]]) == 2
    assert epsilon_indicator([[1, 1]], [[1, 3]]) == 0
    assert epsilon_indicator([[0, 0]], [[1, 3]]) == -1
    assert epsilon_indicator([[3, 1]], [[1, 3]], maximize=True) == 2


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 6), st.integers(1, 40), st.integers(1, 40), st.booleans(), st.integers(0, 2**32 - 1))
def test_excess_is_the_reference(d, n, m, are_ties, seed):
    rng = np.random.default_rng(seed)
    p, q = rng.standard_normal((n, d)), rng.standard_normal((m, d))
    if are_ties:
        p, q = np.round(p), np.round(q)
    for fast in PATHS:
        out = np.empty((n, m))
        assert excess(p, q, out=out, use_avx2=fast) is out
        assert np.array_equal(out, reference.excess(p=p, q=q))
        assert epsilon_indicator(p, q, use_avx2=fast) == reference.epsilon_indicator(p=p, q=q)
    assert np.array_equal(excess(-p, -q, maximize=True), out)
    assert epsilon_indicator(p, p) == 0
    assert (epsilon_indicator(p, q) <= 0) == bool((excess(p, q) <= 0).any(axis=0).all())


# ---- the search's relation -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("f", "g", "epsilon", "expected"),
    [
        ([0.9, 0.1, 0.1], [0.8, 0.9, 0.9], 0.02, True),
        ([0.8, 0.5, 0.5], [0.81, 0.4, 0.4], 0.02, True),
        ([0.8, 0.5, 0.4], [0.81, 0.4, 0.4], 0.02, False),  # not better on every cost axis
        ([0.5, 0.9, 0.9], [0.75, 0.1, 0.1], 0.2, False),
        ([0.75, 0.1, 0.1], [0.5, 0.9, 0.9], 0.25, False),  # exactly epsilon ahead: within it
        ([0.5, 0.9, 0.9], [0.75, 0.1, 0.1], 0.25, True),  # exactly epsilon behind: within it
        ([0.75, 0.1, 0.1], [0.5, 0.9, 0.9], 0.2, True),
        ([0.5, 0.5, 0.5], [0.5, 0.5, 0.5], 0.0, False),
    ],
)
def test_relation_by_hand(f, g, epsilon, expected):
    assert bool(outdoes(f, g, epsilon=epsilon)) is expected
    assert reference.outdoes(f=np.array(f), g=np.array(g), epsilon=epsilon) is expected


@settings(max_examples=80, deadline=None)
@given(
    st.integers(2, 5),
    st.integers(1, 30),
    st.integers(1, 30),
    st.sampled_from([0.0, 0.02, 0.25, 1.0]),
    st.integers(0, 2**32 - 1),
)
def test_relation_is_the_reference(d, n, m, epsilon, seed):
    rng = np.random.default_rng(seed)
    f, g = (rng.integers(0, 5, (k, d)) / 4 for k in (n, m))
    expected = np.array([[reference.outdoes(f=a, g=b, epsilon=epsilon) for b in g] for a in f])
    for fast in PATHS:
        assert np.array_equal(outdoes(f, g, epsilon=epsilon, use_avx2=fast), expected)
    assert np.array_equal(outdoes(f[0], g, epsilon=epsilon), expected[0])
    assert np.array_equal(outdoes(f, g[0], epsilon=epsilon), expected[:, 0])
    own = outdoes(f, epsilon=epsilon)
    assert not own.diagonal().any()
    assert not (own & own.T).any()


# ---- what is refused -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("maximize", [False, True])
def test_values_that_are_not_finite(value, maximize):
    points = np.ones((9, 4))
    points[7, 2] = value
    for call in (
        lambda: non_dominated(points, maximize=maximize),
        lambda: ranks(points, maximize=maximize),
        lambda: excess(points, np.ones((1, 4)), maximize=maximize),
        lambda: epsilon_indicator(np.ones((1, 4)), points, maximize=maximize),
        lambda: outdoes(points, epsilon=0.1),
    ):
        with pytest.raises(ValueError, match=r"\[7, 2\] = (nan|-?inf)"):
            call()


@pytest.mark.parametrize("points", [[1.0, 2.0], [[[1.0]]], 3.0])
def test_wrong_shapes(points):
    with pytest.raises(ValueError, match=r"expected points of shape \(n, d\)"):
        non_dominated(points)


@pytest.mark.parametrize("points", [[["a"]], [[1j]], np.array([[None]]), np.array([["2020"]], dtype="M8[D]")])
def test_wrong_types(points):
    with pytest.raises(TypeError, match="expected points as real numbers"):
        ranks(points)


def test_wrong_arguments():
    points = np.zeros((2, 2))
    for maximize in ([True], [True] * 3, [[True, True]]):
        with pytest.raises(ValueError, match="expected maximize"):
            non_dominated(points, maximize=maximize)
    with pytest.raises(ValueError, match="expected maximize as bools"):
        non_dominated(points, maximize=[1, -1])
    with pytest.raises(ValueError, match="expected keep"):
        non_dominated(points, keep="last")
    for epsilon in (-0.1, np.nan, np.inf):
        with pytest.raises(ValueError, match="expected epsilon"):
            outdoes(points, epsilon=epsilon)
    with pytest.raises(ValueError, match="same 2 or more coordinates"):
        outdoes(np.zeros((2, 1)), epsilon=0.1)
    with pytest.raises(ValueError, match="same number of objectives"):
        excess(points, np.zeros((2, 3)))
    with pytest.raises(ValueError, match="at least one point"):
        epsilon_indicator(points, np.zeros((0, 2)))
    with pytest.raises(ValueError, match="at least one"):
        excess(np.zeros((2, 0)), np.zeros((2, 0)))
    for out in (np.empty((2, 3)), np.empty((2, 4))[:, ::2]):
        with pytest.raises(ValueError, match="expected out"):
            excess(points, points, out=out)
    with pytest.raises(TypeError, match="expected out"):
        excess(points, points, out=np.empty((2, 2), dtype=np.float32))
    with pytest.raises(ValueError, match="single vector"):
        outdoes(points[0], points, epsilon=0.1, out=np.empty((1, 2), dtype=bool))


def test_out_shares_no_memory():
    whole = np.arange(24.0)
    p, q, out = whole[:12].reshape(3, 4), np.ones((3, 4)), whole[8:17].reshape(3, 3)
    for arguments, name in (((p, q), "p"), ((q, p), "q"), ((p, p), "p")):
        with pytest.raises(ValueError, match=f"expected out in memory of its own, got an array that overlaps {name}"):
            excess(*arguments, out=out)
    beside = whole[12:21].reshape(3, 3)
    assert np.array_equal(excess(p, q, out=beside), excess(p.copy(), q))
    marks = whole.view(np.bool_)[90:99].reshape(3, 3)
    for arguments, name in (((p, q), "f"), ((q, p), "g"), ((p,), "f")):
        with pytest.raises(ValueError, match=f"expected out in memory of its own, got an array that overlaps {name}"):
            outdoes(*arguments, epsilon=0.1, out=marks)


def test_nothing_to_compare():
    assert non_dominated(np.zeros((0, 3))).shape == (0,)
    assert ranks(np.zeros((0, 3))).shape == (0,)
    assert non_dominated(np.zeros((3, 0))).tolist() == [True] * 3
    assert non_dominated(np.zeros((3, 0)), keep="first").tolist() == [True, False, False]
    assert ranks(np.zeros((3, 0))).tolist() == [0, 0, 0]
    assert excess(np.zeros((0, 2)), np.zeros((3, 2))).shape == (0, 3)
    assert outdoes(np.zeros((0, 2)), np.zeros((3, 2)), epsilon=0.1).shape == (0, 3)
    assert non_dominated([[1.0, 2.0]]).tolist() == [True]


def test_arrays_of_every_layout():
    rng = np.random.default_rng(1)
    whole = rng.random((60, 8))
    view = whole[::2, ::2]
    before = whole.copy()
    expected = non_dominated(np.ascontiguousarray(view))
    assert np.array_equal(non_dominated(view), expected)
    assert np.array_equal(non_dominated(np.asfortranarray(view)), expected)
    assert np.array_equal(non_dominated(view.astype(">f8")), expected)
    frozen = view.copy()
    frozen.setflags(write=False)
    assert np.array_equal(non_dominated(frozen), expected)
    assert np.array_equal(non_dominated((view * 9).astype(np.int8)), non_dominated(np.floor(view * 9)))
    assert np.array_equal(whole, before)
