"""OpenBLAS' orders of adding: NumPy itself, told to use each kernel in a process of its own, gives the same bits."""

import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evocore.kernels import _blas, blas
from evocore.kernels.blas import (
    KERNELS,
    convolution_maximum,
    convolve,
    correlate,
    correlation_maximum,
    ddot,
    numpy_kernel,
    possible_maxima,
)

CORE_NAMES = {  # OPENBLAS_CORETYPE, and what the library then calls itself
    "haswell": ("Haswell", "Haswell"),
    "skylakex": ("SkylakeX", "SkylakeX"),
    "sandybridge": ("Sandybridge", "Sandybridge"),
    "nehalem": ("Nehalem", "Nehalem"),
    "prescott": ("Prescott", "Katmai"),
}

COMPARE = """
import sys
import numpy as np
from evocore.kernels.blas import convolve, convolution_maximum, correlate, correlation_maximum, numpy_kernel
kernel, n_threads, lengths = sys.argv[1], int(sys.argv[2]), map(int, sys.argv[3].split(","))
rng, wrong, total = np.random.default_rng(7), 0, 0
how = {"kernel": kernel, "n_threads": n_threads}
for n in lengths:
    f, h = rng.standard_normal(n), rng.random(n)
    pairs = [(np.convolve, convolve, f, f), (np.correlate, correlate, h, 1.0 - h)]
    if n < 700:
        short = rng.random(n // 3 + 1)
        pairs += [(np.convolve, convolve, f, short), (np.convolve, convolve, short, f)]
        pairs += [(np.correlate, correlate, f, short), (np.correlate, correlate, short, f)]
    for theirs, ours, x, y in pairs:
        a = theirs(x, y, "full")
        wrong += int((a != ours(x, y, **how)).sum())
        total += len(a)
    wrong += np.convolve(f, f).max() != convolution_maximum(f, **how)
    wrong += np.correlate(h, 1.0 - h, "full").max() != correlation_maximum(h, 1.0 - h, **how)
print(wrong, total, numpy_kernel())
"""

LENGTHS = "1,2,3,5,7,8,10,11,12,13,15,16,17,23,24,31,32,33,40,47,48,49,63,64,65,100,257,600,1001"


def core_name(core_type):
    """What NumPy's OpenBLAS calls itself when told to use a kernel, or None where there is none to ask."""
    script = (
        "import ctypes, glob, os, numpy as np\n"
        "found = glob.glob(os.path.join(os.path.dirname(np.__file__), '..', 'numpy.libs', '*openblas*'))\n"
        "lib = ctypes.CDLL(found[0]); f = lib.scipy_openblas_get_corename64_; f.restype = ctypes.c_char_p\n"
        "print(f().decode())"
    )
    env = {**os.environ, "OPENBLAS_CORETYPE": core_type}
    done = subprocess.run([sys.executable, "-c", script], env=env, text=True, capture_output=True)
    return done.stdout.strip() if done.returncode == 0 else None


def mismatches(kernel, lengths, n_threads=1):
    core_type, expected = CORE_NAMES[kernel]
    found = core_name(core_type)
    if found is None or found.lower() not in {expected.lower(), core_type.lower()}:
        pytest.skip(f"NumPy's OpenBLAS cannot be told to use {core_type} here (it says {found})")
    flags = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    needed = {"haswell": (" avx2 ", " fma "), "skylakex": (" avx512vl ",), "sandybridge": (" avx ",)}.get(kernel, ())
    if not all(flag in flags for flag in needed):
        pytest.skip(f"this processor cannot run the kernel {kernel}")
    env = {**os.environ, "OPENBLAS_CORETYPE": core_type, "OPENBLAS_NUM_THREADS": str(n_threads)}
    done = subprocess.run(
        [sys.executable, "-P", "-c", COMPARE, kernel, str(n_threads), lengths], env=env, text=True, capture_output=True
    )
    assert done.returncode == 0, done.stderr
    wrong, total, named = done.stdout.split()
    assert int(total) > 1000
    assert named == kernel
    return int(wrong)


@pytest.mark.parametrize("kernel", KERNELS)
def test_no_bit_differs_from_numpy(kernel):
    assert mismatches(kernel, LENGTHS) == 0


@pytest.mark.parametrize("kernel", ["haswell", "skylakex"])
def test_no_bit_differs_with_two_threads(kernel):
    if (os.cpu_count() or 1) < 2:
        pytest.skip("needs two processors for OpenBLAS to use two threads")
    assert mismatches(kernel, "9999,10001,10500", n_threads=2) == 0


@given(x=st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=90), y_is_odd=st.booleans())
@settings(max_examples=80, deadline=None)
@pytest.mark.parametrize("kernel", KERNELS)
def test_both_builds_give_the_same_bits_and_a_good_sum(kernel, x, y_is_odd):
    y = [math.sin(i + v) for i, v in enumerate(x)]
    found = ddot(x, y, kernel=kernel, y_is_odd=y_is_odd)
    if _blas.HAS_FMA:
        assert ddot(x, y, kernel=kernel, y_is_odd=y_is_odd, use_fma=False) == found
    exact = math.fsum(p * q for p, q in zip(x, y, strict=True))
    assert abs(found - exact) <= 100 * 2.0**-53 * sum(abs(p * q) for p, q in zip(x, y, strict=True)) + 1e-300


@pytest.mark.skipif(not _blas.HAS_FMA, reason="this processor has no FMA, so there is one build only")
@pytest.mark.parametrize("kernel", KERNELS)
def test_both_builds_give_the_same_bits_for_long_vectors(kernel):
    rng = np.random.default_rng(3)
    x, y = rng.standard_normal(10_007), rng.standard_normal(10_007)
    for n_threads in (1, 2, 3, 8):
        one = ddot(x, y, kernel=kernel, n_threads=n_threads)
        assert ddot(x, y, kernel=kernel, n_threads=n_threads, use_fma=False) == one
    f = x[:300]
    assert np.array_equal(convolve(f, f, kernel=kernel), convolve(f, f, kernel=kernel, use_fma=False))


def test_fused_products_round_once():
    """1 - (1 + e)(1 - e) = e^2: the unfused product is exactly 1, so that all is lost."""
    e = 2.0**-30
    x, y = np.zeros(16), np.zeros(16)
    x[0], y[0] = 1.0, 1.0
    x = np.concatenate([x, np.zeros(16)])
    y = np.concatenate([y, np.zeros(16)])
    x[16], y[16] = -(1 + e), 1 - e
    assert ddot(x, y, kernel="haswell") == e * e
    assert ddot(x, y, kernel="sandybridge") == 0.0


def test_threads_split_in_equal_parts():
    n = 10_001
    x, y = np.random.default_rng(5).standard_normal((2, n))
    halves = ddot(x[:5001], y[:5001]) + ddot(x[5001:], y[5001:])
    assert ddot(x, y, n_threads=2) == halves
    assert ddot(x[:10_000], y[:10_000], n_threads=2) == ddot(x[:10_000], y[:10_000])


@pytest.mark.parametrize("n", [1, 5, 100, 513, 2000])
def test_maxima_are_those_of_all_lags(n):
    rng = np.random.default_rng(n)
    f, h = rng.standard_normal(n), rng.random(n)
    for kernel in KERNELS:
        assert convolution_maximum(f, kernel=kernel) == convolve(f, f, kernel=kernel).max()
        assert correlation_maximum(h, 1 - h, kernel=kernel) == correlate(h, 1 - h, kernel=kernel).max()
    found = possible_maxima(f)
    assert set(found) == set(KERNELS)
    assert max(found.values()) - min(found.values()) <= 100 * 2.0**-53 * float(f @ f)


def test_numpy_here_is_among_the_possible():
    """Whatever this machine's kernel, if it is one of the known ones."""
    name = core_name(os.environ.get("OPENBLAS_CORETYPE", ""))
    if name is None or name.lower() not in {*KERNELS, "zen", "cooperlake", "sapphirerapids", "katmai"}:
        pytest.skip(f"NumPy's BLAS here is not one of the known kernels ({name})")
    for n in (50, 600, 3000):
        f = np.random.default_rng(n).random(n)
        assert np.convolve(f, f).max() in possible_maxima(f).values()
        assert np.correlate(f, 1 - f, "full").max() in possible_maxima(f, 1 - f).values()


def test_no_two_kernels_agree_on_the_telling_vectors():
    x, y = blas._telling_vectors()
    seen = {(convolve(x, x, kernel=k).tobytes(), correlate(x, y, kernel=k).tobytes()) for k in KERNELS}
    assert len(seen) == len(KERNELS)


def test_the_kernel_of_numpy_gives_its_maximum():
    kernel = numpy_kernel()
    if kernel is None:
        pytest.skip("NumPy's BLAS here is not one of the known kernels")
    f = np.random.default_rng(1).random(2000)
    assert convolution_maximum(f, kernel=kernel) == np.convolve(f, f).max()


def test_another_blas_is_none_of_the_kernels(monkeypatch):
    def exact(x, y):
        return np.array([math.fsum(x[i] * y[k - i] for i in range(len(x)) if 0 <= k - i < len(y)) for k in range(199)])

    monkeypatch.setattr(np, "convolve", exact)
    assert numpy_kernel() is None


def test_long_vectors_name_their_threads():
    f = np.random.default_rng(0).random(10_001)
    found = possible_maxima(f, n_threads=(1, 4))
    assert set(found) == {*KERNELS, *(f"{k}/4" for k in KERNELS)}


def test_hostile_arguments():
    with pytest.raises(ValueError, match="one length, got 2 and 3"):
        ddot([1.0, 2.0], [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="a kernel out of haswell"):
        ddot([1.0], [1.0], kernel="zen9")
    with pytest.raises(ValueError, match="expected n_threads from 1"):
        ddot([1.0], [1.0], n_threads=0)
    with pytest.raises(ValueError, match="got shape"):
        convolve([[1.0]], [1.0])
    with pytest.raises(ValueError, match="one length"):
        correlation_maximum([1.0, 2.0], [1.0])
    with np.errstate(all="ignore"):
        assert math.isnan(ddot([math.inf], [0.0]))
        assert ddot([math.inf, 1.0], [1.0, 1.0]) == math.inf
    read_only = np.arange(40, dtype=np.float64)[::2]
    read_only.flags.writeable = False
    assert convolve(read_only, read_only).tolist() == np.convolve(read_only, read_only).tolist()
