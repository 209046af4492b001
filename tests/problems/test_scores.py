"""Arena scores: the same bits as the arena's operations, rejections, boundaries, alarms; fast scores."""

import math
import os
import platform
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import scipy.fft
import scipy.signal
from hypothesis import given, settings
from hypothesis import strategies as st

from evocore.errors import InvalidConstruction
from evocore.problems.autocorrelation import (
    fft_autoconvolution,
    fft_correlation,
    good_length,
    peak_convolution,
    peak_correlation,
)

ULP = 2.0**-52

# What facts measured for the arena's own operations with OpenBLAS' Haswell kernel, one thread.
MEASURED = {
    ("erdos-min-overlap", "alphaevolve_arena_baseline"): 0.38092303510845016,
    ("erdos-min-overlap", "haugland_2016"): 0.38092685343308713,
    ("erdos-min-overlap", "together_ai_2026"): 0.3808703105862199,
    ("first-autocorrelation-inequality", "alphaevolve_arena_baseline"): 1.5052939684401607,
    ("first-autocorrelation-inequality", "alphaevolve_repo_1.5032"): 1.5031635546815607,
    ("first-autocorrelation-inequality", "alphaevolve_repo_1.5036"): 1.5035598601465192,
    ("first-autocorrelation-inequality", "alphaevolve_repo_1.5040"): 1.503952812118346,
    ("first-autocorrelation-inequality", "matolcsi_vinuesa_human"): 1.509720150745879,
    ("first-autocorrelation-inequality", "thetaevolve_wo_rl"): 1.5068026727114594,
    ("first-autocorrelation-inequality", "together_ai_2026"): 1.5028628587053097,
    ("second-autocorrelation-inequality", "alphaevolve_arena_baseline"): 0.9610210777840238,
    ("second-autocorrelation-inequality", "alphaevolve_b2_50"): 0.8962799441554079,
    ("second-autocorrelation-inequality", "together_ai_2026"): 0.9612055422690106,
    ("third-autocorrelation-inequality", "alphaevolve_arena_baseline"): 1.4556427953745403,
    ("third-autocorrelation-inequality", "together_ai_2026"): 1.4545548626983327,
}
DEFINED_TO_THE_LAST_BIT = {k for k in MEASURED if k[0].startswith(("erdos", "second"))}


def array(values):
    return np.array(values, dtype=np.float64)


# ---- the arena's numbers ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", MEASURED, ids="/".join)
def test_published_scores(request, published, key):
    problem = request.getfixturevalue(key[0].split("-")[0])
    x = published(*key)
    score, measured = problem.score(x), MEASURED[key]
    if key in DEFINED_TO_THE_LAST_BIT:
        assert score == measured
    else:
        assert abs(score - measured) <= 4 * ULP * measured
    assert problem.fast(x) == pytest.approx(measured, rel=1e-13)
    assert float(problem.exact(x).value) == pytest.approx(measured, rel=1e-14)
    assert problem.alarms(x, score, problem.exact(x)) == ()


@pytest.mark.parametrize("key", [k for k in MEASURED if not k[0].startswith("second")], ids="/".join)
def test_possible_scores_hold_what_was_measured_elsewhere(request, published, key):
    """Whatever kernel this machine's BLAS has: the score that another one gave is among the possible ones."""
    problem = request.getfixturevalue(key[0].split("-")[0])
    possible = problem.possible_scores(published(*key))
    assert MEASURED[key] in possible
    assert list(possible) == sorted(possible)
    assert possible[-1] - possible[0] <= 16 * ULP * possible[0]


IN_HASWELL = """
import json, sys
import numpy as np
from evocore.problems import problem
for slug, path, measured in json.load(sys.stdin):
    x = np.array(json.load(open(path))["solution"]["values"], dtype=np.float64)
    score = problem(slug).score(x)
    if score != measured:
        print(slug, path, score, measured)
"""


def test_published_scores_bit_for_bit_on_the_kernel_they_were_measured_with(published, tmp_path):
    flags = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    if platform.machine() != "x86_64" or " avx2 " not in flags or " fma " not in flags:
        pytest.skip("needs an x86-64 processor with AVX2 and FMA, for OpenBLAS' Haswell kernel")
    import json

    jobs = []
    for i, (key, measured) in enumerate(MEASURED.items()):
        path = tmp_path / f"{i}.json"
        path.write_text(json.dumps({"solution": {"values": published(*key).tolist()}}))
        jobs.append((key[0], str(path), measured))
    env = {**os.environ, "OPENBLAS_CORETYPE": "Haswell", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-P", "-c", IN_HASWELL], input=json.dumps(jobs), env=env, text=True, capture_output=True
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


LONG_VECTORS = """
import numpy as np
from evocore.problems.autocorrelation import DIRECT_LENGTH, peak_convolution, peak_correlation
rng = np.random.default_rng(11)
for n in (DIRECT_LENGTH + 1, 5000, 9999, 10001, 12288, 20000):
    bumps = np.convolve(rng.random(n + 40), np.hanning(41), "valid")
    for f in (rng.random(n), 2 * rng.random(n) - 0.4, np.exp(6 * rng.standard_normal(n)), bumps):
        if peak_convolution(f) != np.convolve(f, f).max():
            print("convolve", n)
    h = rng.random(n)
    if peak_correlation(h, 1.0 - h) != np.correlate(h, 1.0 - h, "full").max():
        print("correlate", n)
# Coefficients of (1-z)^(-1/2): f*f is 1 at every lag below n up to rounding: more lags compete than are computed.
k = np.arange(1, 20000)
flat = np.concatenate([[1.0], np.cumprod((k - 0.5) / k)])
if abs(peak_convolution(flat) - np.convolve(flat, flat).max()) > 4 * 2.0**-52:
    print("flat")
"""


def test_long_vectors_get_the_bits_of_numpy():
    """One thread: OpenBLAS splits dot products of more than 10,000 values."""
    env = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, "-P", "-c", LONG_VECTORS], env=env, text=True, capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@given(st.lists(st.floats(-10, 10), min_size=1, max_size=40))
def test_short_vectors_get_the_bits_of_numpy(values):
    f = array(values)
    with np.errstate(under="ignore"):
        assert peak_convolution(f) == np.convolve(f, f).max()
        assert peak_correlation(f, 1.0 - f) == np.correlate(f, 1.0 - f, "full").max()


@given(st.integers(1, 5_000_000))
def test_good_length_is_that_of_scipy(n):
    assert good_length(n) == scipy.fft.next_fast_len(n, real=True)


@pytest.mark.parametrize("n", [1, 2, 3, 7, 50, 97, 600, 1319, 4096, 29999])
def test_fft_has_the_bits_of_the_arena_for_the_second(n):
    rng = np.random.default_rng(n)
    for f in (rng.random(n), np.exp(8 * rng.standard_normal(n))):
        assert np.array_equal(fft_autoconvolution(f), scipy.signal.oaconvolve(f, f, "full"))


def test_second_is_the_arena_formula(second):
    f = np.random.default_rng(2).random(1000)
    g = scipy.signal.oaconvolve(f, f, "full")
    y = np.concatenate(([0.0], g, [0.0]))
    widths = np.diff(np.linspace(-0.5, 0.5, len(g) + 2))
    squared = np.sum((widths / 3) * (y[:-1] ** 2 + y[:-1] * y[1:] + y[1:] ** 2))
    assert second.score(f) == float(squared) / (float(np.sum(np.abs(g)) / (len(g) + 1)) * float(np.max(np.abs(g))))


def test_fft_correlation_by_hand():
    a, b = array([1, 2, 3]), array([4, 5, 6])
    assert fft_correlation(a, b) == pytest.approx(np.correlate(a, b, "full"), abs=1e-13)


@pytest.mark.parametrize("short", ["erdos", "first", "second", "third"])
@given(seed=st.integers(0, 10**6), size=st.integers(1, 300), power=st.integers(-160, 160))
@settings(max_examples=40)
def test_fast_agrees_with_exact_at_every_scale(request, short, seed, size, power):
    problem = request.getfixturevalue(short)
    x = problem.start(size, seed)
    if short in ("first", "second"):
        x = x * 10.0**power
    if short == "third":
        x = np.abs(x) + 0.1
    assert problem.fast(x) == pytest.approx(float(problem.exact(x).value), rel=1e-12)


# ---- by hand ------------------------------------------------------------------------------------------------------


def test_scores_by_hand(erdos, first, second, third):
    assert first.score(array([1, 1])) == 2.0
    assert first.score(array([1, 2])) == pytest.approx(16 / 9, rel=1e-15)
    assert second.score(array([3])) == pytest.approx(2 / 3, rel=1e-15)
    assert third.score(array([2, -1])) == 16.0
    assert erdos.score(array([0.5, 0.5])) == 0.5
    assert erdos.score(array([1, 0])) == 1.0
    assert erdos.score(array([0.25, 0.25])) == 0.5


def test_negative_sums_are_admitted_by_the_third(third):
    """The arena squares the integral: f and -f are the same construction."""
    f = array([1.0, 2.0, -0.25])
    assert third.score(-f) == third.score(f)
    assert third.exact(-f).value == third.exact(f).value


# ---- rejections and boundaries ------------------------------------------------------------------------------------


def refuses(problem, values, match):
    with pytest.raises(InvalidConstruction, match=match):
        problem.score(array(values))
    with pytest.raises(InvalidConstruction):
        problem.fast(array(values))


def test_first_rejections(first):
    refuses(first, [1.0, -5e-324, 1.0], r"values\[1\] >= 0, got -5e-324")
    refuses(first, [0.0, -0.0], "all zeros")
    assert first.exact(array([1.0, -1e-300])).reasons == ("expected values[1] >= 0, got -1e-300",)
    assert first.score(array([0.0, 1.0])) == 4.0  # zero itself is admitted


def test_second_clips_from_minus_1e_6(second):
    below = np.nextafter(-1e-6, -1.0)
    assert second.score(array([1.0, -1e-6])) == second.score(array([1.0, 0.0]))
    assert second.exact(array([1.0, -1e-6])).value == second.exact(array([1.0, 0.0])).value
    refuses(second, [1.0, below], r"values\[1\]")
    assert not second.exact(array([1.0, below])).valid
    refuses(second, [0.0, -1e-7], "above 0")
    assert not second.exact(array([0.0, -1e-7])).valid


def test_third_integral_boundary(third):
    n = 10
    least = math.sqrt(1e-9) * 2 * n
    x = np.zeros(n)
    x[0] = least * (1 + 1e-12)
    assert third.score(x) == pytest.approx(2 * n)
    x[0] = least * (1 - 1e-12)
    refuses(third, x, ">= 1e-9")
    assert third.exact(x).value == 2 * n  # the shape itself is sound: the exact score knows no scale
    refuses(third, [1.0, -1.0], ">= 1e-9")
    assert third.exact(array([1.0, -1.0])).reasons == ("expected a sum of values that is not zero, got exactly zero",)


def test_erdos_rejections(erdos):
    refuses(erdos, [0.5, -5e-324], r"0 <= values\[1\] <= 1")
    refuses(erdos, [0.5, np.nextafter(1.0, 2.0)], r"values\[1\] <= 1, got 1.0000000000000002")
    refuses(erdos, [0.0, 0.0], "all zeros")
    assert erdos.score(array([1.0, 0.0])) == 1.0  # both bounds are admitted


def test_erdos_trap_one_ulp_short(erdos):
    """An entry of exactly 1 fails when the sum is an ulp short, because the arena scales it above 1."""
    short = array([1.0, 0.5 - 2.0**-52, 0.0])
    refuses(erdos, short, r"values\[0\] = 1.0000000000000002")
    over = array([1.0, 0.5 + 2.0**-52, 0.0])
    assert erdos.score(over) <= 1.0  # scaled down
    assert erdos.exact(short).valid  # the canonical repair moves 1e-16
    assert erdos.exact(short).repair["clipped_share"] > 0


def test_every_single_step_out_of_a_published_construction_is_refused(erdos, first, published):
    h = published("erdos-min-overlap", "haugland_2016")
    f = published("first-autocorrelation-inequality", "matolcsi_vinuesa_human")
    for i in range(len(h)):
        for bad in (-1e-18, 1.0 + ULP):
            broken = h.copy()
            broken[i] = bad
            refuses(erdos, broken, rf"values\[{i}\]")
            assert not erdos.exact(broken).valid
    for i in range(0, len(f), 9):
        broken = f.copy()
        broken[i] = -1e-18
        refuses(first, broken, rf"values\[{i}\]")
        assert not first.exact(broken).valid


@pytest.mark.parametrize("short", ["first", "third", "second"])
def test_overflow_is_refused(request, short):
    problem = request.getfixturevalue(short)
    with pytest.raises(InvalidConstruction, match="finite score"):
        problem.score(np.full(100, 1e200))
    with pytest.raises(InvalidConstruction, match="finite score"):
        problem.score(np.full(5000, 1e200))
    assert problem.exact(np.full(100, 1e200)).valid


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("short", ["erdos", "first", "second", "third"])
def test_values_that_are_not_finite_are_refused_by_every_score(request, short, value):
    problem = request.getfixturevalue(short)
    x = array([0.5, value, 0.5])
    for method in (problem.score, problem.fast, problem.exact, problem.check, problem.payload):
        with pytest.raises(InvalidConstruction, match=r"finite number at values\[1\]"):
            method(x)


@pytest.mark.parametrize("short", ["erdos", "first", "second", "third"])
def test_arguments_are_not_changed(request, short):
    problem = request.getfixturevalue(short)
    x = problem.start(70, 3)
    x.setflags(write=False)
    before = x.copy()
    exact = problem.exact(x)
    problem.alarms(x, problem.score(x), exact)
    for method in (problem.fast, problem.project, problem.descriptor, problem.payload):
        method(x)
    assert np.array_equal(x, before)


# ---- alarms -------------------------------------------------------------------------------------------------------


def leading_words(problem, x):
    return [a.split(":")[0] for a in problem.alarms(x, problem.score(x), problem.exact(x))]


def test_underflow_loophole_raises_alarms(first):
    x = np.full(600, 3.3e-162)
    assert first.score(x) == 1.0
    assert first.exact(x).value == 2
    assert leading_words(first, x) == ["impossible", "underflow", "scale"]
    assert "only that counts" in first.alarms(x, 1.0, first.exact(x))[1]


def test_underflow_loophole_raises_alarms_for_long_vectors(first):
    x = np.full(6000, 3.3e-162)
    assert "underflow" in leading_words(first, x)


@given(power=st.integers(-400, 400))
@settings(max_examples=30)
def test_harmless_scales_raise_no_alarm(first, power):
    x = np.ldexp(np.random.default_rng(1).random(50) + 0.5, power)
    assert leading_words(first, x) == []


def test_cancellation_raises_an_alarm(third):
    x = 1e8 * np.random.default_rng(4).standard_normal(1000)
    x[0] -= math.fsum(x) - 1.0  # the sum is about 1 now, and np.sum is wrong in its seventh digit
    assert "rounding" in leading_words(third, x)


def test_clipping_raises_an_alarm(second):
    x = array([1.0, -1e-7, 1.0, -1e-8])
    alarms = second.alarms(x, second.score(x), second.exact(x))
    assert alarms == ("clipping: 2 negative values down to -1e-07 are set to 0 before scoring",)


def test_impossible_scores_and_leaps_raise_alarms(erdos):
    from evocore.problems.base import ExactResult

    x = erdos.start(10, 0)
    assert [a.split(":")[0] for a in erdos.alarms(x, 0.379004, ExactResult(Fraction(1, 2)))] == [
        "impossible",
        "rounding",
    ]
    exact = ExactResult(Fraction(0.3807))
    assert [a.split(":")[0] for a in erdos.alarms(x, 0.3807, exact)] == ["leap", "leap"]
    at_bound = ExactResult(Fraction(0.379005))
    assert not [a for a in erdos.alarms(x, 0.379005, at_bound) if a.startswith("impossible")]
    assert erdos.alarms(x, None, ExactResult.invalid("x")) == ()


# ---- starts and projections ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("short", ["erdos", "first", "second", "third"])
@given(size=st.integers(1, 400), seed=st.integers(0, 2**32))
@settings(max_examples=40)
def test_starts_are_valid_and_repeatable(request, short, size, seed):
    problem = request.getfixturevalue(short)
    x = problem.start(size, seed)
    assert x.shape == (size,)
    assert x.dtype == np.float64
    assert np.array_equal(x, problem.start(size, seed))
    assert math.isfinite(problem.score(x))
    assert problem.exact(x).valid


@pytest.mark.parametrize("short", ["erdos", "first", "second", "third"])
@given(values=st.lists(st.floats(-3, 3), min_size=1, max_size=60))
@settings(max_examples=60)
def test_projections_are_valid(request, short, values):
    problem = request.getfixturevalue(short)
    x = problem.project(array(values))
    assert problem.exact(x).valid
    assert math.isfinite(problem.score(x))


@given(values=st.lists(st.one_of(st.sampled_from([0.0, 1.0]), st.floats(-1, 2)), min_size=1, max_size=200))
def test_erdos_projection_has_a_sum_that_the_arena_never_scales_up(erdos, values):
    h = erdos.project(array(values))
    assert float(np.sum(h)) >= len(h) / 2
    assert float(np.sum(h)) <= len(h) / 2 * (1 + 1e-12)
    assert h.min() >= 0.0
    assert h.max() <= 1.0


def test_erdos_projection_is_the_nearest_point(erdos):
    """By hand: (2, 0.5, 0.5, -1) to sum 2 in [0, 1]: 1 and 0 are pinned, the middle stays."""
    assert erdos.project(array([2.0, 0.5, 0.5, -1.0])) == pytest.approx([1.0, 0.5, 0.5, 0.0], abs=1e-12)
    assert erdos.project(array([0.9, 0.9])) == pytest.approx([0.5, 0.5], abs=1e-12)


# ---- descriptors --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("short", ["erdos", "first", "second", "third"])
@given(size=st.integers(1, 300), seed=st.integers(0, 1000))
@settings(max_examples=30)
def test_descriptors_do_not_see_symmetry_and_resolution(request, short, size, seed):
    problem = request.getfixturevalue(short)
    x = problem.start(size, seed)
    d = problem.descriptor(x)
    assert d.shape == (64,)
    assert float(np.mean(d)) == pytest.approx(1.0, abs=1e-9)
    close = {"abs": 1e-6, "rel": 1e-6}
    assert problem.descriptor(np.repeat(x, 3)) == pytest.approx(d, **close)
    slope = float(d @ (np.arange(64) - 31.5))
    if abs(slope) > 1e-6:  # which of two mirror images is told is arbitrary where both weigh the same
        assert problem.descriptor(x[::-1].copy()) == pytest.approx(d, **close)
    if short != "erdos":
        assert problem.descriptor(x * 8.0) == pytest.approx(d, **close)


def test_erdos_descriptor_does_not_see_the_complement(erdos):
    h = erdos.project(np.exp(-(np.linspace(-2, 2.2, 90) ** 2)))
    assert erdos.descriptor(1.0 - h) == pytest.approx(erdos.descriptor(h), abs=1e-9)
