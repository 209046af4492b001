"""What compiled programs get from the kernels has the bits that everybody else gets, and the same refusals."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numba import TypingError, njit

from evocore.kernels import blas, dominance, fourier, geometry, smoothmax
from evocore.kernels import hypervolume as volumes
from evocore.kernels import similarity as alike
from evocore.optim import jit
from evocore.sandbox import Job, Limits, Status

RNG = np.random.default_rng(5)
SIZES = (2, 3, 17, 64, 301)
KINDS = dict(zip(smoothmax.KINDS, (jit.AUTOCONVOLUTION, jit.SIGNED, jit.SPREAD, jit.OVERLAP), strict=True))


def vectors(n):
    """Contiguous, strided, and read-only."""
    x = RNG.random(2 * n)
    frozen = x[:n].copy()
    frozen.flags.writeable = False
    return x[:n], x[::2], frozen


def same(ours, theirs):
    np.testing.assert_array_equal(np.asarray(ours), np.asarray(theirs), strict=True)


@pytest.mark.parametrize("n", SIZES)
def test_sums_of_products(n):
    for x in vectors(n):
        y = RNG.random(2 * n + 1)
        same(jit.convolve(x, y), fourier.convolve(x, y))
        same(jit.cross_correlate(x, y), fourier.cross_correlate(x, y))
        same(jit.autoconvolve(x), fourier.autoconvolve(x))
        assert jit.autoconvolution_maximum(x) == fourier.autoconvolution_maximum(x)
        assert jit.overlap_maximum(x) == fourier.overlap_maximum(x)
        assert jit.ddot(x, y[:n]) == blas.ddot(x, y[:n])


@pytest.mark.parametrize("kind", smoothmax.KINDS)
@pytest.mark.parametrize("n", SIZES)
def test_smoothed_maxima(kind, n):
    for x in vectors(n):
        gradient = np.empty(n)
        for beta in (3.0, 1e4):
            value, peak, slope = smoothmax.SmoothedMaximum(kind, n).evaluate(x, beta)
            assert jit.smoothed_maximum(KINDS[kind], x, beta, gradient) == (value, peak)
            same(gradient, slope)


@pytest.mark.parametrize("n", SIZES)
def test_exponentials(n):
    for x in vectors(n):
        weights = np.empty(n)
        value, p = smoothmax.log_sum_exp(x, 20.0)
        assert jit.log_sum_exp(x, 20.0, weights) == value
        same(weights, p)
        same(jit.exp(100 * x), smoothmax.exp(100 * x))
    square = RNG.random((n, 3))
    same(jit.exp(square), smoothmax.exp(square))


@pytest.mark.parametrize("d", [2, 3, 4, 6])
@pytest.mark.parametrize("n", [1, 2, 5, 40])
def test_sets_of_points(n, d):
    whole = RNG.integers(0, 9, (2 * n, d)).astype(np.float64)
    for p in (whole[:n], whole[::2], np.asfortranarray(whole[:n])):
        reference = np.full(d, 8.5)
        same(jit.non_dominated(p), dominance.non_dominated(p))
        same(jit.outdoes(p[0], whole, 1.0), dominance.outdoes(p[0], whole, epsilon=1.0))
        same(jit.similarity(p, whole), alike.similarity(p, whole))
        same(jit.similarity(p, p), alike.similarity(p))
        assert jit.hypervolume(p, reference) == volumes.hypervolume(p, reference)
        same(jit.hypervolume_contributions(p, reference), volumes.hypervolume_contributions(p, reference))


@pytest.mark.parametrize("n", [2, 3, 4, 5, 30])
def test_distances(n):
    p = RNG.standard_normal((n, 3))
    energy, gradient = jit.riesz_energy(p, 1.0)
    expected, slope = geometry.riesz_energy(p, 1.0)
    assert energy == expected
    same(gradient, slope)
    assert jit.distance_extremes(p) == tuple(geometry.distance_extremes(p))
    if n > 2:
        flat = np.ascontiguousarray(p[:, :2])
        assert jit.least_triangle(flat) == geometry.least_triangle(flat)


def test_no_points():
    nothing = np.empty((0, 3))
    assert jit.hypervolume(nothing, np.ones(3)) == 0.0
    assert jit.non_dominated(nothing).shape == (0,)
    assert jit.similarity(nothing, np.ones((2, 3))).shape == (0, 2)
    same(jit.similarity(np.empty((1, 0)), np.empty((2, 0))), np.ones((1, 2)))
    assert jit.exp(np.empty(0)).shape == (0,)


BAD = np.array([1.0, np.nan])


@pytest.mark.parametrize(
    "call",
    [
        lambda: jit.autoconvolution_maximum(BAD),
        lambda: jit.autoconvolution_maximum(np.empty(0)),
        lambda: jit.overlap_maximum(np.array([0.5, 1.5])),
        lambda: jit.convolve(np.ones(3), BAD),
        lambda: jit.smoothed_maximum(jit.SIGNED, BAD, 1.0, np.empty(2)),
        lambda: jit.smoothed_maximum(jit.SIGNED, np.ones(2), 1.0, np.empty(3)),
        lambda: jit.smoothed_maximum(4, np.ones(2), 1.0, np.empty(2)),
        lambda: jit.log_sum_exp(BAD, 1.0, np.empty(2)),
        lambda: jit.log_sum_exp(np.ones(2), 0.0, np.empty(2)),
        lambda: jit.ddot(np.ones(2), np.ones(3)),
        lambda: jit.non_dominated(BAD[None, :]),
        lambda: jit.similarity(BAD[None, :], np.ones((1, 2))),
        lambda: jit.similarity(np.ones((1, 3)), np.ones((1, 2))),
        lambda: jit.hypervolume(BAD[None, :], np.ones(2)),
        lambda: jit.hypervolume(np.ones((1, 3)), np.ones(2)),
        lambda: jit.hypervolume_contributions(BAD[None, :], np.ones(2)),
        lambda: jit.riesz_energy(np.zeros((2, 2)), 1.0),
        lambda: jit.riesz_energy(BAD[None, :].repeat(2, axis=0), 1.0),
        lambda: jit.least_triangle(np.zeros((2, 2))),
        lambda: jit.distance_extremes(np.zeros((1, 2))),
    ],
)
def test_what_the_kernels_refuse_is_refused(call):
    with pytest.raises(ValueError, match="expected"):
        call()


def test_outputs_need_not_lie_in_one_piece():
    x = np.random.default_rng(3).random(40)
    for call in (
        lambda out: jit.log_sum_exp(x, 3.0, out),
        lambda out: jit.smoothed_maximum(jit.SIGNED, x, 30.0, out),
    ):
        plain, wide = np.empty(40), np.full(120, 7.0)
        call(plain)
        call(wide[39::-1])
        same(wide[39::-1].copy(), plain)
        assert (wide[40:] == 7.0).all()
        frozen = np.zeros(40)
        frozen.setflags(write=False)
        with pytest.raises(TypingError):
            call(frozen)
        assert not frozen.any()


def test_shapes_are_checked_before_memory_is_read():
    rows = np.ones((3, 2))
    for f, epsilon in (
        (np.ones(9), 0.1),
        (np.ones(0), 0.1),
        (np.ones(1), 0.1),
        (np.ones(2), -1.0),
        (np.array([1.0, np.nan]), 0.1),
    ):
        with pytest.raises(ValueError, match="expected"):
            jit.outdoes(f, rows, epsilon)
    with pytest.raises(ValueError, match="expected finite"):
        jit.outdoes(np.ones(2), np.array([[1.0, np.inf]]), 0.1)
    for call in (jit.autoconvolve, jit.autoconvolution_maximum, lambda x: jit.convolve(x, np.ones(2))):
        with pytest.raises(ValueError, match="expected a vector"):
            call(rows)


def test_another_dtype_is_refused_when_compiling():
    with pytest.raises(TypingError):
        jit.autoconvolution_maximum(np.ones(3, dtype=np.float32))


@njit(nogil=True)
def many_maxima(x, n):
    for i in range(n):
        x[i % x.size] += 1e-3
        best = jit.autoconvolution_maximum(x)
    return best


def test_threads_without_the_lock_do_not_disturb_each_other():
    starts = [np.random.default_rng(seed).random(100) for seed in range(4)]
    alone = [many_maxima(x.copy(), 500) for x in starts]
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(lambda x: many_maxima(x.copy(), 500), starts)) == alone


PROGRAM = """
import numpy as np
from numba import TypingError, njit
from evocore.optim import jit

@njit
def climb(x, n):
    gradient = np.empty_like(x)
    for _ in range(n):
        value, peak = jit.smoothed_maximum(jit.SIGNED, x, 100.0, gradient)
        x = x - 1e-3 * gradient
    return x, peak, jit.autoconvolution_maximum(x)

def optimize(problem, start, seed, deadline, offer):
    x, peak, largest = climb(start, 20)
    print(x.tobytes().hex(), peak, largest)
    return start
"""


def test_a_program_in_the_sandbox_gets_the_same(sandbox, problem_folder):
    start = np.linspace(1.0, 2.0, 50)
    outcome = sandbox.run(Job(PROGRAM, str(problem_folder), start, 1, 60.0), Limits(60.0, 60.0))
    assert outcome.status is Status.OK, outcome.stderr
    x, objective = start, smoothmax.SmoothedMaximum("signed", 50)
    for _ in range(20):
        _, peak, gradient = objective.evaluate(x, 100.0)
        x = x - 1e-3 * gradient
    told = outcome.stdout.split()
    assert told == [x.tobytes().hex(), str(peak), str(fourier.autoconvolution_maximum(x))]


def test_importing_the_blocks_does_not_load_the_compiler():
    code = "import sys, evocore.optim; print('numba' in sys.modules)"
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
