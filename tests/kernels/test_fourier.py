"""Convolutions by FFT: twiddles, the error bound, laws, every length, both instruction sets, the self-check."""

import math
import threading

import numpy as np
import pytest
from flint import arb, ctx, fmpz_poly
from hypothesis import given, settings
from hypothesis import strategies as st

from evocore.errors import KernelFault
from evocore.kernels import _fourier, fourier, reference
from evocore.kernels.fourier import (
    autoconvolution_maximum,
    autoconvolve,
    convolve,
    cross_correlate,
    error_bound,
    overlap_maximum,
    rfft_length,
    sums_hold,
    value_range,
)

U = 2.0**-53
# n values: sums of 2n - 1. One of every odd factor, several numbers of passes, and their neighbours.
LENGTHS = (1, 2, 3, 8, 15, 16, 17, 48, 80, 99, 128, 144, 200, 239, 240, 256, 400, 512, 600, 720, 1024, 1200, 1500, 2048)
CALLS = (
    lambda f, **k: convolve(f, f[: len(f) // 2 + 1], **k),
    lambda f, **k: autoconvolve(f, **k),
    lambda f, **k: cross_correlate(f, f[: len(f) // 2 + 1], **k),
    lambda f, **k: cross_correlate(f[: len(f) // 2 + 1], f, **k),
    lambda f, **k: autoconvolution_maximum(f, **k),
    lambda f, **k: overlap_maximum(np.abs(f) / np.abs(f).max(), **k),
)


def vector(n, seed=0):
    return np.random.default_rng(seed).standard_normal(n)


# ---- twiddle factors ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [64, 192, 320, 576, 960, 1600, 2880, 4800, 16384])
def test_roots_of_unity_are_correctly_rounded(n):
    """Half an ulp: no other double is nearer than the one in the table."""
    re, im = np.empty(n), np.empty(n)
    _fourier.roots(re, im)
    before, ctx.prec = ctx.prec, 160
    try:
        for k in range(n):
            angle = arb(-2 * k) / n
            for value, true in ((re[k], angle.cos_pi()), (im[k], angle.sin_pi())):
                distance = abs(arb(float(value)) - true)
                half_ulp = arb(math.ulp(float(value))) / 2
                assert distance < half_ulp or distance.contains(0), (n, k)
    finally:
        ctx.prec = before


def test_roots_of_long_transforms_are_correctly_rounded():
    n = 1 << 20
    re, im = np.empty(n), np.empty(n)
    _fourier.roots(re, im)
    before, ctx.prec = ctx.prec, 160
    try:
        for k in [1, 2, 3, n // 8 - 1, n // 8, n // 4 - 1, *np.random.default_rng(0).integers(0, n, 3000).tolist()]:
            angle = arb(-2 * k) / n
            for value, true in ((re[k], angle.cos_pi()), (im[k], angle.sin_pi())):
                assert abs(arb(float(value)) - true) <= arb(math.ulp(float(value))) / 2, k
    finally:
        ctx.prec = before


# ---- against the reference, and the bound ---------------------------------------------------------------------------


@given(
    x=st.lists(st.floats(-10, 10), min_size=1, max_size=40),
    y=st.lists(st.floats(-10, 10), min_size=1, max_size=40),
    is_binary=st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_agrees_with_exact_sums(x, y, is_binary):
    bound = error_bound(64) * math.hypot(*x) * math.hypot(*y) + 1e-300
    for call, is_correlation in ((convolve, False), (cross_correlate, True)):
        found = call(x, y, is_binary=is_binary)
        exact = reference.sums_of_products(x=x, y=y, is_correlation=is_correlation)
        assert len(found) == len(exact)
        assert max(abs(a - b) for a, b in zip(map(float, found), exact, strict=True)) <= 4 * bound


@pytest.mark.parametrize("n", LENGTHS)
def test_every_length_agrees_with_numpy(n):
    f, g = vector(n), vector(n // 3 + 1, 1)
    scale = np.linalg.norm(f) * np.linalg.norm(g)
    for is_binary in (False, True):
        assert np.abs(convolve(f, g, is_binary=is_binary) - np.convolve(f, g)).max() <= 20 * U * scale
        assert np.abs(convolve(g, f, is_binary=is_binary) - np.convolve(g, f)).max() <= 20 * U * scale
        assert np.abs(autoconvolve(f, is_binary=is_binary) - np.convolve(f, f)).max() <= 20 * U * (f @ f)
        found = cross_correlate(f, g, is_binary=is_binary)
        assert np.abs(found - np.correlate(f, g, "full")).max() <= 20 * U * scale
        found = cross_correlate(g, f, is_binary=is_binary)
        assert np.abs(found - np.correlate(g, f, "full")).max() <= 20 * U * scale


@pytest.mark.parametrize("n", [16, 100, 1024, 5000, 32768])
def test_error_bound_holds_and_is_not_idle(n):
    """Against exact integer products. Errors seen are a fraction of u: the bound is that of the worst case."""
    rng = np.random.default_rng(n)
    for integers in (rng.integers(0, 1 << 40, n), rng.integers(-(1 << 40), 1 << 40, n)):
        f = integers.astype(np.float64)
        exact = fmpz_poly(integers.tolist()) ** 2
        found = autoconvolve(f, is_binary=True)
        worst = max(abs(int(v) - int(exact[k])) for k, v in enumerate(found.tolist()))
        bound = error_bound(n) * float(f @ f)
        assert worst + 1 <= bound
        assert bound <= 140 * U * float(f @ f)


def test_error_bound_is_the_formula_of_the_docstring():
    def by_hand(log2_m, n_products):
        g = (1 + U * (1 + 2.0**-42)) * (1 + math.sqrt(5) * U) - 1
        t = log2_m * math.log1p(U) + n_products * (math.log1p(U) + math.log1p(math.sqrt(5) * U))
        assert g > 3 * U
        return math.expm1(3 * t + math.log1p(math.sqrt(5) * U))

    # m = 16: radix 4, 4 and the weights; m = 65536: eight passes of radix 4 and the weights
    for n, log2_m, n_products in ((16, 4, 3), (65536, 16, 9)):
        expected = by_hand(log2_m, n_products)
        assert expected <= error_bound(n) <= 1.01 * expected


def test_maxima_by_hand():
    assert autoconvolution_maximum([1.0, 2.0, 1.0]) == pytest.approx(6.0, abs=1e-14)
    assert overlap_maximum([1.0, 0.0]) == pytest.approx(1.0, abs=1e-15)
    assert overlap_maximum([0.5]) == pytest.approx(0.5, abs=1e-15)


@given(h=st.lists(st.floats(0, 1), min_size=1, max_size=24))
@settings(max_examples=60, deadline=None)
def test_overlap_agrees_with_the_reference(h):
    assert overlap_maximum(h) == pytest.approx(float(reference.overlap_maximum(h=h)), abs=1e-14)


# ---- laws -----------------------------------------------------------------------------------------------------------


@given(n=st.integers(1, 300), seed=st.integers(0, 1000), power=st.integers(-900, 900))
@settings(max_examples=60, deadline=None)
def test_laws(n, seed, power):
    x, y = vector(n, seed), vector(n // 2 + 1, seed + 1)
    close = 40 * U * np.linalg.norm(x) * np.linalg.norm(y)
    assert np.abs(convolve(x, y) - convolve(y, x)).max() <= close
    assert np.abs(convolve(x[::-1], y[::-1]) - convolve(x, y)[::-1]).max() <= close
    assert np.abs(cross_correlate(x, y) - convolve(x, y[::-1])).max() <= close
    assert np.abs(cross_correlate(x, y) - cross_correlate(y, x)[::-1]).max() <= close
    assert np.abs(convolve(x, y + y) - 2 * convolve(x, y)).max() <= 2 * close
    shifted = convolve(x, [0.0, 1.0])
    assert np.abs(shifted[1 : n + 1] - x).max() <= 20 * U * np.linalg.norm(x)
    # a power of two scales every result by itself, however far
    scaled = np.ldexp(convolve(np.ldexp(x, power), y), -power)
    assert np.abs(scaled - convolve(x, y)).max() <= close
    assert autoconvolution_maximum(np.ldexp(x, power // 2)) == pytest.approx(
        math.ldexp(autoconvolution_maximum(x), 2 * (power // 2)), rel=1e-12
    )


@pytest.mark.skipif(not _fourier.HAS_AVX2, reason="this processor has no AVX2, so there is one path only")
@pytest.mark.parametrize("n", LENGTHS)
def test_both_instruction_sets_give_the_same_bits(n):
    f = vector(n, n)
    for call in CALLS:
        for is_binary in (False, True):
            one, two = (call(f, is_binary=is_binary, use_avx2=fast) for fast in (True, False))
            assert np.array_equal(one, two)


@pytest.mark.parametrize("call", [autoconvolution_maximum, overlap_maximum])
def test_a_batch_is_its_rows(call):
    rows = np.random.default_rng(2).random((7, 333))
    assert call(rows).tolist() == [call(row) for row in rows]
    assert call(np.empty((0, 5))).shape == (0,)


def test_lengths():
    for n in range(1, 3000, 7):
        length = rfft_length(n)
        odd = length // 32
        while odd % 2 == 0:
            odd //= 2
        assert length >= n
        assert length % 32 == 0
        assert odd in (1, 3, 5, 9, 15, 25, 45, 75)
        binary = rfft_length(n, is_binary=True)
        assert binary >= length
        assert binary & (binary - 1) == 0


def test_calls_from_many_threads_do_not_disturb_each_other():
    inputs = [vector(500, seed) for seed in range(8)]
    expected = [autoconvolve(f) for f in inputs]
    wrong = []

    def work(k):
        wrong.extend(k for _ in range(200) if not np.array_equal(autoconvolve(inputs[k]), expected[k]))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


# ---- the self-check ----------------------------------------------------------------------------------------------


@given(n=st.integers(1, 400), seed=st.integers(0, 100), at=st.integers(0, 10**6), is_correlation=st.booleans())
@settings(max_examples=60, deadline=None)
def test_a_fault_in_any_sum_is_seen(n, seed, at, is_correlation):
    """A fault of 1e-8 of the norms, the size of the disagreement that was once seen, in one sum."""
    x, y = vector(n, seed), vector(n // 2 + 1, seed + 1)
    sums = np.correlate(x, y, "full") if is_correlation else np.convolve(x, y)
    assert sums_hold(x, y, sums, is_correlation=is_correlation)
    broken = sums.copy()
    broken[at % len(sums)] += 1e-8 * np.linalg.norm(x) * np.linalg.norm(y)
    assert not sums_hold(x, y, broken, is_correlation=is_correlation)
    assert not sums_hold(x, y, sums[::-1] + 1e-6, is_correlation=is_correlation)


@pytest.mark.parametrize(("n", "fault"), [(600, 6e-11), (4096, 4e-10), (65536, 8e-9)])
def test_the_least_fault_that_is_certain_to_be_seen(n, fault):
    """As `evocore.kernels.fourier` promises it, wherever the fault is; no false alarm without it."""
    f = np.random.default_rng(n).random(n)
    sums = autoconvolve(f)
    assert sums_hold(f, f, sums)
    for at in (0, 1, 255, 256, n - 1, len(sums) - 1):
        for sign in (1, -1):
            broken = sums.copy()
            broken[at] += sign * fault * sums.max()
            assert not sums_hold(f, f, broken)


@given(n=st.integers(1, 3000), spread=st.integers(0, 30), seed=st.integers(0, 10**6))
@settings(max_examples=60, deadline=None)
def test_no_honest_transform_is_accused(n, spread, seed):
    rng = np.random.default_rng(seed)
    f = rng.standard_normal(n) * np.exp(spread * rng.standard_normal(n))
    autoconvolve(f)
    cross_correlate(f, f[: n // 3 + 1])


def test_the_sum_of_the_sums_would_not_see_it():
    """Two opposite faults leave the total as it is; the check sees them."""
    x = np.ones(100)
    sums = np.convolve(x, x)
    sums[7] += 1e-6
    sums[90] -= 1e-6
    assert sums.sum() == pytest.approx(x.sum() ** 2, rel=1e-15)
    assert not sums_hold(x, x, sums)


# ---- hostile input -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("call", CALLS[:5])
def test_hostile_values(call):
    for extreme in (5e-324, 1e-300, 1e150, 1.7e308):
        f = extreme * np.array([1.0, 0.5, 0.25, 1.0])
        with np.errstate(all="ignore"):
            found = np.atleast_1d(call(f))
        assert not np.isnan(found).any()
    assert not np.any(call(np.zeros(50)))


def test_a_wide_spread_keeps_what_the_norms_allow():
    f = np.array([1e300, 1e-300, 1e200, -1e300])
    with np.errstate(over="ignore"):
        assert np.isinf(autoconvolve(f)).any()
    assert autoconvolve(np.ldexp(f, -1000))[0] == pytest.approx(math.ldexp(1e300, -1000) ** 2, rel=1e-14)


def test_hostile_arguments():
    with pytest.raises(ValueError, match=r"finite values, got f\[2\] = nan"):
        autoconvolve([1.0, 2.0, math.nan])
    with pytest.raises(ValueError, match=r"finite values, got x\[1, 0\] = inf"):
        autoconvolution_maximum([[1.0, 2.0], [math.inf, 0.0]])
    with pytest.raises(ValueError, match="one or more values"):
        convolve([], [1.0])
    with pytest.raises(ValueError, match="got shape"):
        convolve([[1.0]], [1.0])
    with pytest.raises(ValueError, match="expected n from 1"):
        rfft_length(0)
    with pytest.raises(ValueError, match=r"in \[0, 1\]"):
        overlap_maximum([0.5, 1.5])
    with pytest.raises(ValueError, match="backend out of"):
        autoconvolve([1.0], backend="mkl")
    with pytest.raises(ValueError, match="expected 3 sums, got 2"):
        sums_hold([1.0, 2.0], [1.0, 2.0], [1.0, 2.0])
    read_only = np.arange(20, dtype=np.float64)[::2]
    read_only.flags.writeable = False
    assert autoconvolve(read_only) == pytest.approx(np.convolve(read_only, read_only), abs=1e-11)
    assert autoconvolve(np.arange(5)).dtype == np.float64
    assert issubclass(KernelFault, Exception)


def test_value_range():
    assert value_range(np.array([3.0, -1.0, 2.0, 7.5, -8.0, 0.0])) == (-8.0, 7.5)
    assert value_range(np.arange(50.0)[::-2]) == (1.0, 49.0)
    for n in (1, 3, 4, 9, 100):
        for at in {0, n // 2, n - 1}:
            for bad in (math.nan, math.inf, -math.inf):
                x = vector(n)
                x[at] = bad
                assert math.isnan(value_range(x)[1])
    assert math.isnan(value_range(np.empty(0))[1])


# ---- backends ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", fourier.BACKENDS)
def test_backends_agree(backend):
    if backend == "fftw":
        pytest.importorskip("pyfftw", reason="pyFFTW is not installed (extra fftw)")
    f = np.abs(vector(700))
    h = f / f.max()
    assert np.abs(autoconvolve(f, backend=backend) - np.convolve(f, f)).max() <= 20 * U * (f @ f)
    assert np.abs(cross_correlate(f, h, backend=backend) - np.correlate(f, h, "full")).max() <= 1e-11
    assert overlap_maximum(h, backend=backend) == pytest.approx(overlap_maximum(h), abs=1e-14)
    assert autoconvolution_maximum(np.stack([f, h]), backend=backend)[1] == pytest.approx(autoconvolution_maximum(h))
