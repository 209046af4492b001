"""Combs: their period, more teeth, and growing them."""

import time
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evocore import optim
from evocore.kernels.smoothmax import Quenched
from evocore.problems import problem

SECOND = "second-autocorrelation-inequality"


def comb(period: int, n_teeth: int, solid: int) -> np.ndarray:
    """Teeth that widen and grow, then a solid end."""
    f = np.zeros(period * n_teeth)
    for k in range(n_teeth):
        width = 1 + (k * period) // (2 * n_teeth)
        f[k * period : k * period + width] = (1.0 + k) / width
    return np.concatenate((f, np.full(solid, f.mean())))


@given(period=st.integers(8, 40), n_teeth=st.integers(20, 60), solid=st.integers(0, 50), scale=st.floats(1e-6, 1e6))
@settings(max_examples=60, deadline=None)
def test_the_period_of_a_comb_is_found(period, n_teeth, solid, scale):
    assert optim.lattice_period(scale * comb(period, n_teeth, solid)) == period


def test_what_is_no_comb_has_no_period():
    rng = np.random.default_rng(0)
    assert optim.lattice_period(np.linspace(1.0, 2.0, 500)) is None
    assert optim.lattice_period(np.exp(-(np.linspace(-3, 3, 500) ** 2))) is None
    spikes = np.zeros(3000)
    spikes[rng.integers(0, 3000, 60)] = 1.0
    assert optim.lattice_period(spikes) is None


@given(period=st.integers(8, 30), n_teeth=st.integers(20, 40))
@settings(max_examples=30, deadline=None)
def test_more_teeth_keep_the_period_and_the_old_teeth(period, n_teeth):
    f = comb(period, n_teeth, 0)
    before = f.copy()
    finer = optim.more_teeth(f, period)
    assert np.array_equal(f, before)
    assert len(finer) == (2 * n_teeth - 1) * period
    assert optim.lattice_period(finer) == period
    rows = finer.reshape(-1, period)
    assert np.array_equal(rows[::2].ravel(), f)
    np.testing.assert_allclose(rows[1::2].sum(axis=1), (rows[:-1:2].sum(axis=1) + rows[2::2].sum(axis=1)) / 2)


def test_more_teeth_of_a_comb_that_ends_within_a_cell():
    assert optim.more_teeth(np.array([2.0, 1.0, 4.0]), 2).tolist() == [2.0, 1.0, 3.0, 0.5, 4.0, 0.0]


def test_only_the_ends_are_trimmed():
    f = np.array([0.0, 1e-9, 2.0, 0.0, 3.0, 1e-9, 0.0])
    assert optim.trimmed(f).tolist() == [2.0, 0.0, 3.0]
    assert optim.trimmed(np.zeros(3)).tolist() == [0.0, 0.0, 0.0]


def quenched(seconds: float = 60.0) -> tuple[optim.Search, optim.Member]:
    task = problem(SECOND)
    search = optim.Search(task, task.start(40, 1), 1, time.monotonic() + seconds, lambda x: None)
    f = comb(16, 20, 30)
    f = np.concatenate((f, np.zeros(60), np.full(40, 2.0 * f.mean())))
    x = search.objective(len(f)).parameters(f + 1e-3)
    member = search.quench(x, optim.ladder(60.0, 1e5, 6), 60, np.inf)
    search.consider(member)
    return search, member


def test_growing_a_comb_improves_it_up_to_the_size_that_is_allowed():
    search, member = quenched()
    found = optim.grow(
        search, member, np.inf, balance=2.0, betas=optim.ladder(200.0, 1e5, 5), least=20, most=60, n_max=2500
    )
    assert found.value < member.value - 1e-3
    assert search.best is found
    assert 1250 <= found.n <= 2500, "one more doubling does not fit"


def test_growing_needs_time():
    search, member = quenched()
    found = optim.grow(
        search, member, 0.0, balance=2.0, betas=optim.ladder(200.0, 1e5, 5), least=20, most=60, n_max=2500
    )
    assert found is member


def test_what_is_affordable_is_done_in_time():
    search, member = quenched()
    now = time.monotonic()
    short, long = (search.affordable(member.x, 100.0, now + seconds) for seconds in (1.0, 20.0))
    assert 0 < short < long
    assert search.affordable(member.x, 100.0, now - 1.0) == 0


def test_constructions_of_combs_have_few_digits():
    search, member = quenched()
    f = search.construction(member)
    exact = problem(SECOND).exact(f)
    quantum = Fraction(2) ** (int(np.floor(np.log2(f.max()))) + 1 - 40)
    assert all((Fraction(value) / quantum).denominator == 1 for value in f)
    assert exact.extras["kind"] == "rational"
    assert float(exact.value) == pytest.approx(-member.value, rel=1e-11)


def test_very_long_combs_have_fewer_digits_so_that_their_exact_score_stays_a_rational():
    n = 640_000
    start = np.repeat(np.random.default_rng(1).random(1000), n // 1000)
    search = optim.Search(problem(SECOND), start, 0, time.monotonic() + 60, lambda construction: None)
    f = search.construction(search.start)
    exact = problem(SECOND).exact(f)
    assert exact.extras["kind"] == "rational"
    assert float(exact.value) == pytest.approx(-search.start.value, rel=1e-7)


def test_quenches_leave_time_to_hand_in(monkeypatch):
    n, seen = 100_000, []
    deadline = time.monotonic() + 60
    search = optim.Search(problem(SECOND), np.random.default_rng(1).random(n), 0, deadline, lambda construction: None)

    def quench(x, betas, n_iterations, until, *, mirrored):
        seen.append(until)
        return Quenched(x, -0.5, 0)

    monkeypatch.setattr(search.objective(n), "quench", quench)
    search.quench(search.start.x, [100.0], 1, deadline + 1)
    search.quench(search.start.x, [100.0], 1, deadline - 10)
    assert seen[0] <= deadline - 0.1
    assert seen[1] == deadline - 10


def test_hops_may_be_reheats_alone_and_swells_keep_the_gaps():
    search, member = quenched()
    until = time.monotonic() + 0.5
    optim.hops(
        search,
        until,
        beta_low=60.0,
        beta_high=300.0,
        beta_end=1e5,
        n_stages=5,
        n_iterations=40,
        per_cell=0.0,
        moves=("none",),
    )
    assert search.best.value < member.value
    x = np.abs(np.sin(np.arange(200.0)))
    x[50:60] = 0.0
    swollen = optim.ALL_MOVES["swell"](np.random.default_rng(1), x, 1.0)
    assert (swollen[50:60] == 0).all()
    ratio = np.delete(swollen, np.s_[50:60])[1:] / np.delete(x, np.s_[50:60])[1:]
    assert np.abs(np.diff(np.log(ratio))).max() < 0.2, "by a smooth factor"
    assert np.ptp(ratio) > 0.01
