"""Pools, moves, resampling and the outer loops that optimizer programs are made of."""

import itertools
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evocore import optim
from evocore.optim.newton import SaddleFreeModel
from evocore.optim.pool import Member, Pool
from evocore.problems import problem

FAR = 1e9


def member(value: float, shape: np.ndarray) -> Member:
    return Member(np.zeros(4), value, shape)


def flat(height: float) -> np.ndarray:
    shape = np.ones(64)
    shape[:32] += height
    shape[32:] -= height
    return shape


@given(
    values=st.lists(st.floats(-100, 100), min_size=1, max_size=60),
    n=st.integers(1, 200),
)
@settings(max_examples=60, deadline=None)
def test_resampling_keeps_the_mean_and_the_bounds(values, n):
    x = np.array(values)
    y = optim.resample(x, n)
    assert len(y) == n
    assert y.mean() == pytest.approx(x.mean(), abs=1e-9)
    assert y.min() >= x.min() - 1e-9
    assert y.max() <= x.max() + 1e-9


def test_resampling_to_a_multiple_is_exact():
    x = np.array([0.1, 0.7, 0.3])
    assert np.array_equal(optim.resample(x, 9), np.repeat(x, 3))
    np.testing.assert_allclose(optim.resample(optim.resample(x, 12), 3), x)


def test_pool_keeps_members_apart():
    pool = Pool(size=3, radius=0.05)
    assert pool.insert(member(1.0, flat(0.0)))
    assert not pool.insert(member(1.1, flat(0.01))), "a worse twin"
    assert pool.insert(member(0.9, flat(0.01))), "a better twin takes the place"
    assert len(pool.members) == 1
    assert pool.insert(member(2.0, flat(0.3)))
    assert pool.insert(member(3.0, flat(0.6)))
    assert not pool.insert(member(4.0, flat(0.9))), "full, and worse than the worst"
    assert pool.insert(member(1.5, flat(0.9)))
    assert [m.value for m in pool.members] == [0.9, 1.5, 2.0]
    assert not pool.insert(member(float("nan"), flat(0.5)))


def test_mirror_images_are_the_same():
    assert optim.distance(flat(0.4), flat(0.4)[::-1]) == 0.0


@pytest.mark.parametrize("name", sorted(optim.ALL_MOVES))
@given(seed=st.integers(0, 10_000), n=st.integers(8, 120))
@settings(max_examples=20, deadline=None)
def test_moves_change_something_and_leave_the_parent_alone(name, seed, n):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(n)
    before = x.copy()
    moved = optim.ALL_MOVES[name](rng, x, 1.0)
    assert np.array_equal(x, before)
    assert np.isfinite(moved).all()
    if name != "resize":
        assert len(moved) == n


def test_bandit_prefers_what_pays():
    rng = np.random.default_rng(0)
    bandit = optim.MoveBandit(("good", "bad"))
    for _ in range(300):
        name = bandit.draw(rng)
        bandit.reward(name, name == "good")
    drawn = [bandit.draw(rng) for _ in range(300)]
    assert drawn.count("good") > 200
    assert drawn.count("bad") > 0


@pytest.mark.parametrize("slug", sorted(optim.KINDS))
def test_a_search_hands_in_feasible_and_ever_better_constructions(slug):
    task = problem(slug)
    handed = []
    search = optim.Search(task, task.start(40, 1), 1, time.monotonic() + FAR, lambda x: handed.append(x.copy()))
    assert not search.is_warm
    rng = search.rng
    for _ in range(6):
        x = rng.standard_normal(40) + (1.0 if search.kind == "signed" else 0.0)
        search.consider(search.quench(x, optim.ladder(30, 1e4, 6), 40, FAR + time.monotonic()))
    scores = [task.fast(x) for x in handed]
    assert len(handed) >= 1
    assert all(task.better(b, a) for a, b in itertools.pairwise(scores))
    assert all(task.exact(x).valid for x in handed)
    best = search.construction(search.best)
    assert task.fast(task.project(best)) == pytest.approx(scores[-1], rel=1e-12)
    warm = optim.Search(task, best, 2, time.monotonic() + FAR, lambda x: None)
    assert warm.is_warm
    assert warm.best.value == pytest.approx(search.best.value, rel=1e-9)


def test_a_mirrored_search_quenches_to_mirrored_ends_alone():
    task = problem("erdos-min-overlap")
    search = optim.Search(task, task.start(41, 1), 1, FAR, lambda x: None, mirrored=0.35)
    x = search.rng.standard_normal(41)
    found = search.quench(x, optim.ladder(30, 1e4, 5), 30, FAR + time.monotonic()).x
    assert np.array_equal(found[:14], found[::-1][:14])
    assert (found[14:20] != found[::-1][14:20]).all()
    assert search.member(x).value > search.member(found).value, "members are what they are"


@pytest.mark.parametrize("slug", sorted(optim.KINDS))
def test_refining_to_a_multiple_keeps_the_score(slug):
    task = problem(slug)
    search = optim.Search(task, task.start(30, 1), 1, time.monotonic() + FAR, lambda x: None)
    rng = search.rng
    coarse = search.quench(rng.standard_normal(30) + 2.0, optim.ladder(30, 1e4, 5), 30, FAR + time.monotonic())
    fine = search.member(search.upsample(coarse, 60))
    if search.kind == "spread":
        assert fine.value == pytest.approx(coarse.value, abs=0.02)
    else:
        assert fine.value == pytest.approx(coarse.value, rel=1e-9), "the same step function on a finer grid"


def test_a_multistart_gives_up_those_that_lag_and_tells_how_well_early_values_rank_them(capsys):
    task = problem("third-autocorrelation-inequality")
    search = optim.Search(task, task.start(60, 1), 1, time.monotonic() + 60.0, lambda x: None)
    made = []

    def start():
        made.append(1 + search.rng.standard_normal(60))
        return made[-1]

    finished = []
    search.is_over = lambda until: len(made) >= 60
    search.consider = finished.append
    optim.multistart(search, FAR, start, optim.ladder(20, 1e5, 16), 120, keep_early=0.2, keep_middle=0.1)
    assert 20 < len(finished) < 40
    told = capsys.readouterr().err
    assert told.startswith("rank correlation of early values with the ends: ")
    early, later = (float(part.split()[-3]) for part in told.split(": ")[1].split(" of ")[0].split(","))
    assert early > 0.3
    assert later > 0.3
    finished.clear()
    made.clear()
    optim.multistart(search, FAR, start, optim.ladder(20, 1e4, 2), 20)
    assert len(finished) == 60
    assert capsys.readouterr().err == ""


def test_stages_share_the_time_and_stop_at_the_deadline():
    task = problem("erdos-min-overlap")
    begun = time.monotonic()
    search = optim.Search(task, task.start(30, 1), 1, begun + 0.4, lambda x: None)
    ends = []
    optim.run_stages([(lambda s, until: ends.append(until - begun), 1.0)] * 4, search)
    assert len(ends) == 4
    assert ends == sorted(ends)
    assert ends[0] < 0.2
    assert ends[-1] == pytest.approx(0.39, abs=0.05)


@pytest.mark.parametrize("damping", [1e-9, 1e-3, 1.0])
def test_saddle_free_steps_have_the_absolute_eigenvalues(damping):
    rng = np.random.default_rng(3)
    basis, _ = np.linalg.qr(rng.standard_normal((30, 30)))
    matrix = basis * (np.geomspace(1e-3, 30, 30) * rng.choice((-1.0, 1.0), 30)) @ basis.T
    gradient = rng.standard_normal(30)
    scale = 1 / np.sqrt(np.abs(matrix.diagonal()))
    allowed = np.linalg.svd(scale[None])[2][1:].T  # scaled changes without a sum
    values, vectors = np.linalg.eigh(allowed.T @ (matrix * scale[:, None] * scale) @ allowed)
    parts = vectors.T @ (allowed.T @ (scale * gradient)) / (np.abs(values) + damping)
    expected = -scale * (allowed @ (vectors @ parts))
    half = np.asfortranarray(np.tril(matrix))
    found = SaddleFreeModel(half, gradient).step(damping)
    assert np.abs(found - expected).max() < 1e-3 * np.abs(expected).max()
    assert abs(found.sum()) < 1e-12 * np.abs(found).max()


def test_barrier_newton_descends_and_stays_feasible():
    rng = np.random.default_rng(0)
    for kind, start in (
        ("overlap", rng.random(30)),
        ("autoconvolution", rng.random(30)),
        ("signed", 1 + rng.random(30)),
    ):
        found = optim.barrier_newton(
            kind, start, mu_start=0.1 / 30, mu_end=1e-6 / 30, mu_factor=0.2, sloppiness=0.03, n_steps=80
        )
        f = found.construction
        if kind == "overlap":
            assert f.sum() == pytest.approx(15.0, rel=1e-9)
            assert f.min() >= 0.0
            assert f.max() <= 1.0
            assert found.peak == pytest.approx(np.correlate(1 - f, f, "full").max() / 15)
            assert found.peak < 0.384
        else:
            assert found.peak == pytest.approx(np.convolve(f, f).max() * 60 / f.sum() ** 2)
            assert found.peak < 1.56
        if kind == "autoconvolution":
            assert f.min() >= 0.0


def test_pinned_cells_stay_at_zero_and_the_rest_descends():
    rng = np.random.default_rng(1)
    start = np.concatenate((np.zeros(5), rng.uniform(0.2, 0.9, 30), np.full(5, 1e-5)))
    found = optim.barrier_newton(
        "overlap",
        start,
        mu_start=1e-2 / 40,
        mu_end=1e-9 / 40,
        mu_factor=0.3,
        sloppiness=0.05,
        n_steps=60,
        pin_below=1e-3,
        margin=1e-9,
    )
    h = found.construction
    assert (h[:5] == 0).all()
    assert (h[-5:] == 0).all()
    assert (h[5:-5] > 0).all()
    assert h.sum() == pytest.approx(20.0)
    assert found.peak < np.correlate(1 - start, start, "full").max() / 20


@pytest.mark.parametrize("slug", ["erdos-min-overlap", "first-autocorrelation-inequality"])
def test_polishing_converges_what_a_quench_leaves(slug):
    task = problem(slug)
    rng = np.random.default_rng(2)
    search = optim.Search(task, task.start(40, 1), 1, time.monotonic() + 60.0, lambda x: None)
    x = rng.standard_normal(40) if search.kind == "overlap" else np.abs(1 + 0.5 * rng.standard_normal(40))
    search.consider(search.quench(x, optim.ladder(100.0, 1e4, 6), 60, time.monotonic() + 60.0))
    before = search.best
    settings = {"mu_start": 1e-3, "mu_factor": 0.5, "pin_below": 1e-4, "n_steps": 100}
    after = optim.polish(search, before, np.inf, **settings, n_max=100)
    assert after.value < before.value - 1e-6
    assert task.exact(task.project(search.construction(after))).valid
    assert optim.polish(search, after, np.inf, **settings, n_max=39) is after, "too long to be polished"


def test_refining_climbs_every_level_and_finishes_on_each():
    task = problem("first-autocorrelation-inequality")
    search = optim.Search(task, task.start(20, 1), 1, time.monotonic() + 60.0, lambda x: None)
    start = np.abs(1 + 0.5 * search.rng.standard_normal(20))
    search.consider(search.quench(start, optim.ladder(30.0, 1e4, 6), 60, FAR))
    finished = []

    def finish(_, member, until):
        finished.append(member.n)
        return member

    settings = {"beta_first": 100.0, "beta_low": 60.0, "beta_high": 3e3, "beta_end": 1e5, "n_iterations": 20}
    before, asked = search.best.value, itertools.count(1)
    search.is_over = lambda until: next(asked) % 10 == 0  # nine reheats a level, however fast the machine is
    optim.refine(search, time.monotonic() + 60.0, factor=2, n_max=90, finish=finish, **settings)
    assert list(dict.fromkeys(finished)) == [40, 80]
    assert search.best.n == 80
    assert search.best.value < before
    back = optim.recast(search, search.best, 20, FAR, optim.ladder(100.0, 1e4, 6), 60)
    assert back.n == 20
    assert back.value < before + 0.01


def test_climbing_takes_the_best_few_to_finer_grids_together():
    task = problem("first-autocorrelation-inequality")
    search = optim.Search(task, task.start(20, 1), 1, FAR, lambda x: None, radius=0.01)
    for _ in range(4):
        start = np.abs(1 + 0.5 * search.rng.standard_normal(20))
        search.consider(search.quench(start, optim.ladder(30.0, 1e4, 6), 60, FAR))
    before, levels = search.best.value, []

    def hop(search, until, factor):
        assert 3 <= len(search.pool.members) <= 6, "each as it is and quenched"
        levels.append((factor, {m.n for m in search.pool.members}, search.pool.radius))

    def doubled(search, member, until):
        return optim.recast(search, member, 2 * member.n, until, optim.ladder(100.0, 1e4, 6), 60)

    optim.climb(search, time.monotonic() + 60.0, doubled, hop, levels=2, entrants=3, radius=1e-4)
    assert levels == [(2, {40}, 1e-4), (4, {80}, 1e-4)]
    assert search.best.value < before


def test_hops_finish_their_best_fifth():
    task = problem("erdos-min-overlap")
    search = optim.Search(task, task.start(20, 1), 1, FAR, lambda x: None)
    search.consider(search.quench(search.rng.standard_normal(20), optim.ladder(100.0, 1e4, 4), 30, FAR))
    finished, hopped = [], []

    def finish(_, member, until):
        finished.append(member)
        return member

    insert = search.pool.insert
    search.pool.insert = lambda member: hopped.append(member) or insert(member)
    search.is_over = lambda until: len(hopped) == 200
    settings = {"beta_low": 100.0, "beta_high": 3e3, "beta_end": 1e4, "n_stages": 3, "n_iterations": 20}
    optim.hops(search, FAR, **settings, finish=finish)
    assert 0.1 * len(hopped) < len(finished) < 0.6 * len(hopped)


def test_a_polished_member_goes_to_a_finer_grid_as_it_is_where_a_quench_would_lose():
    task = problem("erdos-min-overlap")
    search = optim.Search(task, task.start(30, 1), 1, FAR, lambda x: None)
    member = search.quench(search.rng.standard_normal(30), optim.ladder(100.0, 1e6, 8), 200, FAR)
    spoiled = search.quench(search.upsample(member, 60), [3.0, 3.0], 20, FAR)
    assert spoiled.value > member.value, "the last stage counts alone"
    kept = optim.recast(search, member, 60, FAR, np.array([3.0, 3.0]), 20)
    assert kept.n == 60
    assert kept.value == pytest.approx(member.value, abs=1e-12)


def test_pinning_leaves_signed_values_alone():
    for slug, bound in (("erdos-min-overlap", 1e-5), ("first-autocorrelation-inequality", 0.0)):
        task = problem(slug)
        search = optim.Search(task, task.start(20, 1), 1, time.monotonic() + 10.0, lambda x: None)
        x = np.linspace(-6.0, 3.0, 20) if search.kind == "overlap" else np.linspace(0.01, 1.0, 20)
        before = search.objective(20).construction(x)
        after = search.objective(20).construction(search.pinned(x, 0.1))
        small = before < 0.1 * (1.0 if search.kind == "overlap" else before.mean())
        assert small.any()
        assert (after[small] <= bound).all()
    third = problem("third-autocorrelation-inequality")
    search = optim.Search(third, third.start(20, 1), 1, time.monotonic() + 10.0, lambda x: None)
    x = np.linspace(-1.0, 2.0, 20)
    assert search.pinned(x, 0.1) is x


def test_ratchet_projects_and_keeps_only_what_is_better():
    task = problem("erdos-min-overlap")
    handed = []
    ratchet = optim.Ratchet(task, handed.append)
    rough = np.linspace(-0.5, 1.7, 20)
    assert ratchet.offer(rough)
    assert task.exact(handed[0]).valid
    assert not ratchet.offer(rough)
    assert not ratchet.offer(np.full(20, np.nan))
    assert len(handed) == 1
