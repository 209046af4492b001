"""The compiled smoothed maximum against its plain twin, its laws, and hostile input."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evocore.kernels import _smoothmax, reference
from evocore.kernels.smoothmax import KINDS, SmoothedMaximum, exp, log_sum_exp

SIZES = (2, 3, 5, 16, 31, 32, 33, 100, 257, 640, 1001)


def parameters(kind: str, n: int, seed: int) -> np.ndarray:
    x = np.random.default_rng(seed).standard_normal(n)
    return x + 2.0 if kind == "signed" else x


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", SIZES)
def test_agrees_with_the_reference(kind, n):
    x = parameters(kind, n, n)
    objective = SmoothedMaximum(kind, n)
    for beta in (1.0, 30.0, 1e4):
        value, peak, _ = objective.evaluate(x, beta)
        f = reference.construction(kind=kind, x=x)
        np.testing.assert_allclose(objective.construction(x), f, rtol=1e-11, atol=1e-14)
        objective.evaluate(x, beta)
        np.testing.assert_allclose(objective.lags(), reference.lags(kind=kind, f=f), rtol=1e-11, atol=1e-12)
        assert peak == pytest.approx(reference.peak(kind=kind, f=f), rel=1e-12)
        assert value == pytest.approx(reference.smoothed(kind=kind, x=x, beta=beta), rel=1e-11)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [5, 33, 100, 257])
def test_gradient_is_the_derivative(kind, n):
    x = parameters(kind, n, 7)
    objective = SmoothedMaximum(kind, n)
    if kind == "spread":
        # beta is relative to the maximum at x: hold the level fixed while differences are taken
        level = reference.lags(kind=kind, f=reference.construction(kind=kind, x=x)).max()

        def value(point):
            c = reference.lags(kind=kind, f=reference.construction(kind=kind, x=point))
            smooth = c.max() + math.log(np.exp(20 / level * (c - c.max())).sum()) * level / 20
            return math.log(3 * c.sum() * smooth / (2 * c @ c + c[1:] @ c[:-1]))
    else:

        def value(point):
            return reference.smoothed(kind=kind, x=point, beta=20.0)

    _, _, gradient = objective.evaluate(x, 20.0)
    step = 1e-5
    for i in np.random.default_rng(1).choice(n, 5):
        ahead, behind = x.copy(), x.copy()
        ahead[i] += step
        behind[i] -= step
        slope = (value(ahead) - value(behind)) / (2 * step)
        assert gradient[i] == pytest.approx(slope, abs=2e-5 * np.abs(gradient).max())


CURVED = ("autoconvolution", "signed", "overlap")


@pytest.mark.parametrize("kind", CURVED)
@pytest.mark.parametrize("n", [2, 5, 16])
def test_hessian_products_agree_with_the_reference(kind, n):
    x = parameters(kind, n, 7)
    direction = np.random.default_rng(n).standard_normal(n)
    found = SmoothedMaximum(kind, n).hessian_product(x, 5.0, direction)
    expected = reference.hessian_product(kind=kind, x=x, beta=5.0, direction=direction)
    np.testing.assert_allclose(found, expected, atol=3e-6 * np.abs(expected).max() + 1e-9)


@pytest.mark.parametrize("kind", CURVED)
@given(n=st.integers(2, 300), seed=st.integers(0, 1000), beta=st.sampled_from([1.0, 30.0, 1000.0]))
@settings(max_examples=25, deadline=None)
def test_hessian_products_are_linear_and_symmetric(kind, n, seed, beta):
    x = parameters(kind, n, seed)
    u, v = np.random.default_rng(seed).standard_normal((2, n))
    objective = SmoothedMaximum(kind, n)
    hu, hv, both = objective.hessian_product(x, beta, [u, v, 2 * u - v])
    size = max(np.abs(hu).max(), np.abs(hv).max()) + 1e-12
    np.testing.assert_allclose(both, 2 * hu - hv, atol=1e-10 * size)
    assert u @ hv == pytest.approx(v @ hu, abs=1e-9 * size * n)
    assert np.array_equal(objective.hessian_product(x, beta, u), hu)


@pytest.mark.parametrize("kind", CURVED)
def test_hessian_products_predict_the_gradient(kind):
    n = 400
    x = parameters(kind, n, 3)
    v = np.random.default_rng(4).standard_normal(n)
    objective = SmoothedMaximum(kind, n)
    step = 1e-5
    ahead, behind = (objective.evaluate(x + s * step * v, 30.0)[2] for s in (1, -1))
    expected = (ahead - behind) / (2 * step)
    found = objective.hessian_product(x, 30.0, v)
    np.testing.assert_allclose(found, expected, atol=1e-6 * np.abs(expected).max())


def test_hessian_products_refuse_what_they_cannot():
    with pytest.raises(ValueError, match="spread"):
        SmoothedMaximum("spread", 4).hessian_product(np.ones(4), 1.0, np.ones(4))
    objective = SmoothedMaximum("signed", 4)
    with pytest.raises(ValueError, match=r"\(4,\) or \(k, 4\), got \(3,\)"):
        objective.hessian_product(np.ones(4), 1.0, np.ones(3))
    with pytest.raises(ValueError, match="finite"):
        objective.hessian_product(np.ones(4), 1.0, np.full(4, np.inf))
    assert objective.hessian_product(np.ones(4), 1.0, np.empty((0, 4))).shape == (0, 4)
    assert not objective.hessian_product([1.0, -1.0, 1.0, -1.0], 1.0, np.ones(4)).any()  # no sum to scale by


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.skipif(not _smoothmax.HAS_AVX2, reason="this processor has no AVX2, so there is one path only")
def test_both_instruction_sets_give_the_same_bits(kind):
    for n in (5, 100, 333, 1200):
        x = parameters(kind, n, 3)
        fast, plain = SmoothedMaximum(kind, n), SmoothedMaximum(kind, n, use_avx2=False)
        for a, b in zip(fast.evaluate(x, 50.0), plain.evaluate(x, 50.0), strict=True):
            assert np.array_equal(a, b)
        if kind in CURVED:
            assert np.array_equal(*(o.hessian_product(x, 50.0, np.cos(x)) for o in (fast, plain)))
        one, two = (o.quench(x, [30.0, 300.0, 3000.0], 20) for o in (fast, plain))
        assert one.peak == two.peak
        assert np.array_equal(one.x, two.x)


@pytest.mark.parametrize("kind", KINDS)
def test_quench_returns_the_best_point_of_its_last_stage(kind):
    n = 60
    x = parameters(kind, n, 11)
    before = x.copy()
    objective = SmoothedMaximum(kind, n)
    start = reference.peak(kind=kind, f=reference.construction(kind=kind, x=x))
    found = objective.quench(x, np.geomspace(30, 1e5, 10), 60)
    assert np.array_equal(x, before), "the start was changed"
    assert found.peak < start
    assert found.n_iterations > 50
    f = reference.construction(kind=kind, x=found.x)
    assert reference.peak(kind=kind, f=f) == pytest.approx(found.peak, rel=1e-12)
    again = objective.quench(found.x, [1.0, 1.0], 60)
    assert again.peak > found.peak, "a good start comes back as it was"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("n", "mirrored"), [(2, 1), (9, 4), (41, 13), (100, 50)])
def test_mirrored_values_stay_mirror_images(kind, n, mirrored):
    x = np.random.default_rng(n).uniform(0.5, 1.5, n)
    before, ends = x.copy(), []
    for fast in {False, _smoothmax.HAS_AVX2}:
        objective = SmoothedMaximum(kind, n, use_avx2=fast)
        found = objective.quench(x, [5.0, 50.0], 30, mirrored=mirrored)
        ends.append(found.x.tobytes())
        assert np.array_equal(x, before)
        assert np.array_equal(found.x[:mirrored], found.x[::-1][:mirrored])
        folded = x.copy()
        folded[n - mirrored :] = x[:mirrored][::-1]
        assert found.peak < objective.evaluate(folded, 50.0)[1] or n == 2
        assert found.peak == pytest.approx(objective.evaluate(found.x, 50.0)[1], rel=1e-12)
    assert len(set(ends)) == 1


@pytest.mark.parametrize("seed", [1868, 2820])  # one of a thousand did, up to 300
def test_logits_do_not_run_away(seed):
    n, rng = 122, np.random.default_rng(seed)
    x = rng.standard_normal(n) * rng.uniform(0.3, 1.6)
    x[np.abs((np.arange(n) + 0.5) / n * 2 - 1) > rng.uniform(0.7, 0.82)] -= 4
    found = SmoothedMaximum("overlap", n).quench(x, [100.0], 60, mirrored=42)
    assert np.abs(found.x).max() < 40
    assert found.peak < 0.39


def test_overlaps_without_a_shift_to_the_right_sum_are_worth_nothing():
    objective = SmoothedMaximum("overlap", 5)
    assert math.isinf(objective.evaluate([1e5, 1e5, -1e5, -1e5, -1e5], 10.0)[1])
    assert math.isinf(objective.quench([1e5, 1e5, -1e5, -1e5, -1e5], [10.0], 5).peak)


def test_quench_reaches_a_known_level():
    """Erdos at 50 cells: every reasonable local optimum is below 0.3825 and none below the proven bound 0.379005."""
    rng = np.random.default_rng(0)
    objective = SmoothedMaximum("overlap", 50)
    best = min(objective.quench(rng.standard_normal(50), np.geomspace(100, 1e6, 8), 60).peak for _ in range(10))
    assert 0.379005 < best < 0.3825


def test_a_passed_deadline_ends_the_quench_at_once():
    found = SmoothedMaximum("signed", 400).quench(np.ones(400), [10.0] * 5, 100_000, deadline=0.0)
    assert found.n_iterations == 0
    assert found.peak == pytest.approx(2.0)


@pytest.mark.parametrize("kind", ["autoconvolution", "signed", "spread"])
@given(scale=st.floats(1e-6, 1e6), seed=st.integers(0, 1000))
@settings(max_examples=25, deadline=None)
def test_scale_does_not_matter(kind, scale, seed):
    x = parameters(kind, 40, seed)
    objective = SmoothedMaximum(kind, 40)
    _, one, _ = objective.evaluate(x, 10.0)
    _, two, _ = objective.evaluate(scale * x, 10.0)
    assert two == pytest.approx(one, rel=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@given(seed=st.integers(0, 1000), n=st.integers(2, 70))
@settings(max_examples=25, deadline=None)
def test_reversal_and_the_upper_bound_of_the_smoothing(kind, seed, n):
    x = parameters(kind, n, seed)
    objective = SmoothedMaximum(kind, n)
    value, peak, gradient = objective.evaluate(x, 100.0)
    mirrored = objective.evaluate(x[::-1], 100.0)
    assert mirrored[1] == pytest.approx(peak, rel=1e-9)
    np.testing.assert_allclose(mirrored[2][::-1], gradient, atol=1e-8 * max(1.0, np.abs(gradient).max()))
    if kind != "spread":
        assert peak <= value * (1 + 1e-12) + 1e-12
        assert value <= peak + math.log(2 * n - 1) / 100.0 + 1e-12


@pytest.mark.parametrize("kind", KINDS)
def test_parameters_invert_the_construction(kind):
    objective = SmoothedMaximum(kind, 64)
    f = objective.construction(parameters(kind, 64, 5))
    again = objective.construction(objective.parameters(f))
    np.testing.assert_allclose(again, f, rtol=1e-9, atol=1e-12)


def test_hostile_input():
    objective = SmoothedMaximum("overlap", 8)
    with pytest.raises(ValueError, match=r"shape \(8,\), got \(7,\)"):
        objective.evaluate(np.zeros(7), 1.0)
    with pytest.raises(ValueError, match=r"expected finite values, got x\[3\] = nan"):
        objective.evaluate([0, 0, 0, math.nan, 0, 0, 0, 0], 1.0)
    with pytest.raises(ValueError, match="kind"):
        SmoothedMaximum("other", 8)
    with pytest.raises(ValueError, match="expected n from 2"):
        SmoothedMaximum("overlap", 1)
    for extreme in (np.full(8, 1e300), np.full(8, -1e300), np.zeros(8), np.full(8, 5e-324)):
        for kind in KINDS:
            found = SmoothedMaximum(kind, 8).quench(extreme, [10.0, 100.0], 5)
            assert found.x.shape == (8,)
    read_only = np.linspace(0.1, 0.9, 16)[::2]
    read_only.flags.writeable = False
    assert objective.evaluate(read_only, 1.0)[1] > 0


# ---- exponentials ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("beta", [0.1, 30.0, 1e5])
def test_log_sum_exp_agrees_with_the_reference(n, beta):
    values = np.random.default_rng(n).standard_normal(n)
    value, weights = log_sum_exp(values, beta)
    expected, p = reference.log_sum_exp(values=values, beta=beta)
    assert value == pytest.approx(expected, rel=1e-14, abs=1e-14)
    np.testing.assert_allclose(weights, p, rtol=1e-12 * max(beta, 1.0), atol=1e-18)
    assert values.max() <= value <= values.max() + math.log(n) / beta
    assert weights.sum() == pytest.approx(1.0, rel=1e-14)


def test_log_sum_exp_moves_with_its_values():
    values = np.random.default_rng(0).standard_normal(40)
    (a, p), (b, q) = log_sum_exp(values, 5.0), log_sum_exp(values + 1024.0, 5.0)
    assert b == pytest.approx(a + 1024.0, rel=1e-14)
    np.testing.assert_allclose(p, q, rtol=1e-11)


@given(st.lists(st.floats(-745.0, 709.0), max_size=70))
@settings(deadline=None)
def test_exp_is_within_its_error(x):
    given_values = np.array(x)
    found = exp(given_values)
    expected = np.array([math.exp(v) for v in x])  # itself within 0.5 ulp and a little
    normal = np.abs(given_values) <= 700.0
    np.testing.assert_array_less(np.abs(found - expected)[normal], 2.01 * np.spacing(expected[normal]))
    np.testing.assert_array_equal(found[~normal], expected[~normal])


def test_exp_of_what_is_far_out():
    x = np.array([[math.inf, -math.inf, math.nan], [800.0, -800.0, 0.0]])
    np.testing.assert_array_equal(exp(x), [[math.inf, 0.0, math.nan], [math.inf, 0.0, 1.0]])
    assert exp(0.0).shape == ()


@pytest.mark.skipif(not _smoothmax.HAS_AVX2, reason="needs AVX2")
@pytest.mark.parametrize("n", SIZES)
def test_both_paths_give_the_same_exponentials(n):
    x = np.random.default_rng(n).uniform(-710, 710, n)
    np.testing.assert_array_equal(exp(x), exp(x, use_avx2=False))
    for a, b in zip(log_sum_exp(x, 0.01), log_sum_exp(x, 0.01, use_avx2=False), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    ("values", "beta"), [([], 1.0), ([[1.0]], 1.0), ([1.0], 0.0), ([1.0], math.nan), ([math.nan], 1.0)]
)
def test_log_sum_exp_refuses(values, beta):
    with pytest.raises(ValueError, match="expected"):
        log_sum_exp(values, beta)
