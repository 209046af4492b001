import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evocore.kernels import _hypervolume
from evocore.kernels.archive import HypervolumeArchive
from evocore.kernels.hypervolume import hypervolume, hypervolume_contributions


def sphere(n, d, seed=0):
    p = np.abs(np.random.default_rng(seed).standard_normal((n, d)))
    return p / np.linalg.norm(p, axis=1)[:, None]


class Plain:
    """The same, by recomputing everything."""

    def __init__(self, reference):
        self.r = reference
        self.rows = np.empty((0, len(reference)))

    def volume(self, *more):
        return hypervolume(np.vstack([self.rows, *(m[None, :] for m in more)]), self.r)

    def insert(self, p):
        gain = self.volume(p) - self.volume()
        if gain > 0:
            self.rows = np.vstack([self.rows[~(self.rows >= p).all(1)], p])
        return gain


@given(st.integers(1, 5), st.data())
@settings(max_examples=150, deadline=None)
def test_against_recomputing(d, data):
    """Whole numbers, so that all volumes are exact; ties and duplicates are the rule."""
    signs = np.array(data.draw(st.lists(st.sampled_from([-1.0, 1.0]), min_size=d, max_size=d)))
    r = np.full(d, 5.0)
    archive, plain = HypervolumeArchive(r * signs, maximize=(signs < 0).tolist()), Plain(r)
    rows = st.lists(st.integers(-2, 6), min_size=d, max_size=d).map(lambda v: np.array(v, dtype=float))
    for action in data.draw(st.lists(st.sampled_from(["insert", "insert", "gain", "batch", "remove"]), max_size=25)):
        p = data.draw(rows)
        if action == "insert":
            assert archive.insert(p * signs) == plain.insert(p)
        elif action == "gain":
            assert archive.gain(p * signs) == plain.volume(p) - plain.volume()
        elif action == "batch":
            batch = np.array([p, data.draw(rows), p])
            assert archive.gains(batch * signs).tolist() == [plain.volume(q) - plain.volume() for q in batch]
            assert archive.insert_all(batch * signs).tolist() == [plain.insert(q) for q in batch]
        elif len(plain.rows):
            at = data.draw(st.integers(0, len(plain.rows) - 1))
            assert plain.rows[at] * signs in archive
            archive.remove(plain.rows[at] * signs)
            plain.rows = np.delete(plain.rows, at, axis=0)
        assert (archive.front() == plain.rows * signs).all()
        assert archive.volume == plain.volume()
        assert len(archive) == len(plain.rows)
    parts = hypervolume_contributions(plain.rows, r)
    assert archive.contributions().tolist() == parts.tolist()
    if len(parts):
        point, least = archive.least_contributor()
        assert least == parts.min()
        assert (point == plain.rows[parts.argmin()] * signs).all()


@pytest.mark.parametrize(("d", "n"), [(1, 50), (2, 2000), (3, 2000), (4, 600), (5, 200), (7, 40), (9, 15), (12, 8)])
def test_large_archives(d, n):
    """Many buckets, and gains below what a difference of volumes shows."""
    r = np.full(d, 1.1)
    archive, p, queries = HypervolumeArchive(r), sphere(n, d), sphere(20, d, seed=1) * 0.999
    archive.insert_all(p)
    assert archive.volume == pytest.approx(hypervolume(p, r), rel=1e-14)
    for q, gain in zip(queries, archive.gains(queries), strict=True):
        rows = np.vstack([p, q])
        assert gain == pytest.approx(hypervolume_contributions(rows, r)[-1], rel=1e-12)
        assert archive.gain(q) == gain
    for q in p[:3]:
        if q in archive:
            archive.remove(q)
            assert archive.gain(q) == pytest.approx(hypervolume_contributions(np.vstack([archive.front(), q]), r)[-1])


def test_a_population_that_improves_for_long():
    """Thousands of members come and go; the boxes must not remember them."""
    rng = np.random.default_rng(4)
    archive, r = HypervolumeArchive([1.0, 1.0, 1.0]), np.ones(3)
    for step in range(300):
        archive.insert_all(sphere(20, 3, seed=step) * (0.99**step) * rng.uniform(0.9, 1.0, (20, 1)))
    assert len(archive) < 400
    assert archive.volume == pytest.approx(hypervolume(archive.front(), r), rel=1e-13)
    assert archive.n_boxes == 2 * len(archive) + 1  # of points in general position


def test_bounded_archive_keeps_the_large_contributors():
    archive = HypervolumeArchive([1.0, 1.0], maximize=[False, False])
    for p in sphere(200, 2) * 0.9:
        archive.insert(p)
        if len(archive) > 10:
            before, (worst, least) = archive.volume, archive.least_contributor()
            archive.remove(worst)
            assert archive.volume == pytest.approx(before - least, rel=1e-12)
            assert worst not in archive
    assert len(archive) == 10


def test_both_instruction_sets_give_the_same_bits():
    p, queries = sphere(400, 4), sphere(50, 4, seed=2)
    results = []
    try:
        for fast in (False, True):
            _hypervolume.select(fast)
            archive = HypervolumeArchive(np.full(4, 1.1))
            gains = archive.insert_all(p).tolist()
            results.append((gains, archive.gains(queries).tolist(), archive.volume, archive.front().tolist()))
    finally:
        _hypervolume.select(True)
    assert results[0] == results[1]


@pytest.mark.parametrize("scale", [5e-324, 1e-300, 1e-30, 1e30, 1e140])
def test_scales(scale):
    archive = HypervolumeArchive([4 * scale, 4.0])
    assert archive.insert_all([[1 * scale, 3.0], [2 * scale, 2.0], [3 * scale, 1.0]]).sum() == pytest.approx(6 * scale)
    assert len(archive) == 3


def test_members_whose_gain_is_below_all_doubles():
    archive = HypervolumeArchive([1e-200, 1e-200])
    assert archive.insert([5e-201, 5e-201]) == 0.0
    assert len(archive) == 1


def test_edges():
    archive = HypervolumeArchive((2.0, 2.0))
    assert len(archive) == 0
    assert archive.volume == 0.0
    assert archive.front().shape == (0, 2)
    assert archive.contributions().shape == (0,)
    assert archive.gains([]).shape == (0,)
    assert archive.insert_all(np.empty((0, 2))).shape == (0,)
    assert archive.insert([2.0, 0.0]) == 0.0
    assert archive.insert([3.0, 0.0]) == 0.0
    assert archive.insert(np.array([1, 1], dtype=np.int8)) == 1.0
    assert archive.insert([1.0, 1.0]) == 0.0
    assert archive.reference.tolist() == [2.0, 2.0]
    assert repr(archive) == "HypervolumeArchive(1 points, 2 objectives, volume 1)"
    archive.front()[0, 0] = 9.0
    archive.contributions()[0] = 9.0
    assert [1.0, 1.0] in archive
    archive.remove([1.0, 1.0])
    assert archive.volume == 0.0
    assert archive.gain([1.0, 1.0]) == 1.0


def test_refused():
    archive = HypervolumeArchive([1.0, 1.0])
    with pytest.raises(ValueError, match="with members"):
        archive.least_contributor()
    with pytest.raises(KeyError, match=r"\[0.5, 0.5\]"):
        archive.remove([0.5, 0.5])
    with pytest.raises(ValueError, match=r"points\[1, 1\]"):
        archive.insert_all([[0.0, 0.0], [0.0, np.nan]])
    with pytest.raises(ValueError, match="shape"):
        archive.insert([0.0])
    with pytest.raises(ValueError, match="shape"):
        archive.gains([[0.0, 0.0, 0.0]])
    with pytest.raises(TypeError, match="real"):
        archive.gain([1j, 0])
    with pytest.raises(ValueError, match="reference"):
        HypervolumeArchive([1.0, np.inf])
    with pytest.raises(ValueError, match="32"):
        HypervolumeArchive(np.ones(33))
    assert len(archive) == 0


def test_too_little_memory_leaves_the_archive_as_it_was():
    archive = HypervolumeArchive(np.full(6, 1.1))
    archive.insert_all(sphere(10, 6))
    front, volume = archive.front(), archive.volume
    old = _hypervolume.limit_memory(1 << 20)
    try:
        with pytest.raises(MemoryError, match="MiB"):
            archive.insert_all(sphere(500, 6, seed=1))
        assert (archive.front() == front).all()
        assert archive.volume == pytest.approx(volume, rel=1e-15)
    finally:
        _hypervolume.limit_memory(old)
