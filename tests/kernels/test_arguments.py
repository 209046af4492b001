"""Every argument of every public function with values that it was not made for: refused in the kernels' own words."""

import importlib
import inspect
import math
import pkgutil
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import evocore.kernels
from evocore.kernels import blas, dominance, exact, fourier, geometry, hypervolume, points, similarity, smoothmax
from evocore.kernels.archive import HypervolumeArchive

NOT_KERNELS = {"points", "reference"}  # the checks themselves, and what the tests compare with

HOSTILE = (
    *("a", "", b"a", None, True, np.True_, 1j, np.complex128(1), object(), {}, (), [1], [[1], [1, 2]], [10**5000]),
    *(1.5, 0, -1, 2**70, -(2**70), 10**5000, math.nan, math.inf, -math.inf, Decimal(1), Fraction(1, 3)),
    *(np.ones(2), np.array("a"), np.datetime64("2020-01-01"), np.float32(0.5), np.array(None)),
)
NO_NUMBERS = ("a", "", b"a", True, np.True_, 1j, np.complex128(1), object(), {}, [1], Decimal(1), np.ones(2))

ROWS = np.random.default_rng(0).random((6, 3))
COUNTS = np.arange(18, dtype=np.uint8).reshape(6, 3)
X = np.array([0.5, 0.25, 1.0, 0.75])
VECTOR = exact.ExactVector(X)
OBJECTIVE = smoothmax.SmoothedMaximum("signed", 4)
ARCHIVE = HypervolumeArchive([2.0, 2.0, 2.0])
ARCHIVE.insert_all(ROWS)

# each public function with arguments that it takes; those with defaults where another value is more telling
CALLS = [
    (blas.ddot, {"x": X, "y": X}),
    (blas.convolve, {"x": X, "y": X}),
    (blas.correlate, {"x": X, "y": X}),
    (blas.convolution_maximum, {"f": X}),
    (blas.correlation_maximum, {"x": X, "y": X}),
    (blas.numpy_kernel, {}),
    (blas.possible_maxima, {"x": X}),
    (blas.possible_maxima, {"x": np.ones(10_001), "n_threads": (1,)}),
    (dominance.non_dominated, {"points": ROWS}),
    (dominance.ranks, {"points": ROWS}),
    (dominance.excess, {"p": ROWS, "q": ROWS}),
    (dominance.epsilon_indicator, {"p": ROWS, "q": ROWS}),
    (dominance.outdoes, {"f": ROWS, "epsilon": 0.5}),
    (exact.ExactVector, {"x": X}),
    (exact.exact_autoconvolution_maximum, {"f": X}),
    (exact.exact_autoconvolution_extremes, {"f": X}),
    (exact.exact_cross_correlation_maximum, {"f": X, "g": X}),
    (exact.exact_overlap_maximum, {"h": X}),
    (exact.exact_sum, {"x": X}),
    (VECTOR.total, {}),
    (VECTOR.autoconvolution_maximum, {}),
    (VECTOR.autoconvolution_extremes, {}),
    (VECTOR.cross_correlation_maximum, {"other": VECTOR}),
    (VECTOR.overlap_maximum, {}),
    (VECTOR.clipped_overlap_maximum, {"clipped": X > 0.8}),
    (fourier.rfft_length, {"n": 5}),
    (fourier.error_bound, {"n": 5}),
    (fourier.sums_hold, {"x": X, "y": X, "sums": np.convolve(X, X)}),
    (fourier.value_range, {"x": X}),
    (fourier.convolve, {"x": X, "y": X}),
    (fourier.autoconvolve, {"f": X}),
    (fourier.cross_correlate, {"f": X, "g": X}),
    (fourier.autoconvolution_maximum, {"f": X}),
    (fourier.overlap_maximum, {"h": X}),
    (geometry.gram_matrix, {"points": [[1, 2], [3, 4]]}),
    (geometry.minimum_squared_distance, {"points": [[1, 2], [3, 4]]}),
    (geometry.riesz_energy, {"points": ROWS}),
    (geometry.distance_extremes, {"points": ROWS}),
    (geometry.least_triangle, {"points": ROWS[:, :2]}),
    (geometry.floor_sum_maximum, {"keys": [1, 2], "values": [1.0, -2.0], "limit": 9}),
    (geometry.least_sign_vector, {"matrix": ROWS}),
    (hypervolume.hypervolume, {"points": ROWS, "reference": [2.0, 2.0, 2.0]}),
    (hypervolume.hypervolume_contributions, {"points": ROWS, "reference": [2.0, 2.0, 2.0]}),
    (hypervolume.as_reference, {"reference": [2.0, 2.0]}),
    (HypervolumeArchive, {"reference": [2.0, 2.0]}),
    (ARCHIVE.front, {}),
    (ARCHIVE.gain, {"point": [0.5, 0.5, 0.5]}),
    (ARCHIVE.gains, {"points": ROWS}),
    (ARCHIVE.insert, {"point": [0.5, 0.5, 0.5]}),
    (ARCHIVE.insert_all, {"points": ROWS}),
    (ARCHIVE.remove, {"point": [1.0, 1.0, 1.0]}),
    (ARCHIVE.contributions, {}),
    (ARCHIVE.least_contributor, {}),
    (similarity.similarity, {"behaviours": ROWS}),
    (similarity.similarity, {"behaviours": COUNTS, "levels": 20}),
    (similarity.condensed_similarity, {"behaviours": ROWS}),
    (similarity.condensed_similarity, {"behaviours": COUNTS, "levels": 20}),
    (similarity.most_similar, {"behaviours": ROWS, "k": 2}),
    (similarity.most_similar, {"behaviours": COUNTS, "k": 2, "levels": 20}),
    (similarity.most_similar, {"behaviours": np.zeros((0, 3)), "k": 2}),
    (similarity.farthest_points, {"behaviours": ROWS, "k": 2}),
    (similarity.farthest_points, {"behaviours": COUNTS, "k": 2, "levels": 20}),
    (similarity.farthest_points, {"behaviours": np.zeros((0, 3)), "k": 0}),
    (similarity.most_dispersed, {"distance": np.ones((4, 4)), "k": 2}),
    (similarity.parent_weights, {"fitness": ROWS, "behaviours": ROWS, "epsilon": 0.5}),
    (similarity.parent_weights, {"fitness": ROWS, "behaviours": COUNTS, "epsilon": 0.5, "levels": 20}),
    (smoothmax.log_sum_exp, {"values": X, "beta": 2.0}),
    (smoothmax.exp, {"x": X}),
    (smoothmax.SmoothedMaximum, {"kind": "signed", "n": 4}),
    (OBJECTIVE.evaluate, {"x": X, "beta": 2.0}),
    (OBJECTIVE.hessian_product, {"x": X, "beta": 2.0, "directions": X}),
    (OBJECTIVE.lags, {}),
    (OBJECTIVE.construction, {"x": X}),
    (OBJECTIVE.parameters, {"construction": X}),
    (OBJECTIVE.quench, {"x": X, "betas": [1.0, 2.0], "n_iterations": 2}),
    (OBJECTIVE.quench, {"x": X, "betas": [1.0, 2.0], "n_iterations": [2, 3], "deadline": 0.0}),
]

FOR_ARRAYS_ONLY = {(fourier.value_range, "x")}  # called by other kernels with what they have checked


def annotations(function):
    """Names of the arguments and their types as text."""
    signature = inspect.signature(function, eval_str=True)
    return {name: inspect.formatannotation(p.annotation) for name, p in signature.parameters.items()}


def cases(of_type):
    """Triples of a function, its arguments and the name of one whose type is wanted."""
    return [
        pytest.param(function, arguments, name, id=f"{function.__qualname__}-{name}")
        for function, arguments in CALLS
        for name, kind in annotations(function).items()
        if of_type(kind) and (function, name) not in FOR_ARRAYS_ONLY
    ]


def value_of(function, arguments, name):
    """The value that a call has for one of its arguments."""
    return arguments.get(name, inspect.signature(function).parameters[name].default)


def is_count(kind):
    return kind in ("int", "int | None")


def is_number(kind):
    return is_count(kind) or kind == "float"


def refusal(function, arguments):
    """What a call raises, or None."""
    try:
        function(**arguments)
    except Exception as error:
        return error
    return None


def test_every_public_function_is_called():
    called = {function.__qualname__ for function, _ in CALLS}
    for info in pkgutil.iter_modules(evocore.kernels.__path__):
        if info.name.startswith("_") or info.name in NOT_KERNELS:
            continue
        module = importlib.import_module(f"evocore.kernels.{info.name}")
        for name, thing in vars(module).items():
            if name.startswith(("_", "as_")) or getattr(thing, "__module__", None) != module.__name__:
                continue
            if inspect.isfunction(thing):
                assert thing.__qualname__ in called
            elif inspect.isclass(thing) and not issubclass(thing, (tuple, Exception)):
                methods = inspect.getmembers(thing, inspect.isfunction)
                assert {thing.__qualname__, *(m.__qualname__ for n, m in methods if n[0] != "_")} <= called


@pytest.mark.parametrize(("function", "arguments"), CALLS)
def test_the_calls_are_good_ones(function, arguments):
    error = refusal(function, arguments)
    assert error is None or isinstance(error, KeyError)  # a member to remove that is none


@pytest.mark.parametrize(("function", "arguments", "name"), cases(lambda kind: True))
def test_whatever_is_handed_in_is_taken_or_refused_in_our_words(function, arguments, name):
    for value in HOSTILE:
        if annotations(function)[name] == "bool" and isinstance(value, np.ndarray):
            continue  # anything with a truth value is taken, and NumPy says itself that arrays have none
        error = refusal(function, {**arguments, name: value})
        if error is not None:
            assert str(error.args[0]).startswith("expected "), f"{value!r:.60}: {error!r}"


@pytest.mark.parametrize(("function", "arguments", "name"), cases(is_number))
def test_only_numbers_are_numbers(function, arguments, name):
    if value_of(function, arguments, name) is None:  # levels, where the rows take none
        return
    kind = annotations(function)[name]
    no_counts = [None, math.nan, 1.5, np.float64(1), Fraction(1)]
    for value in [*NO_NUMBERS, *(no_counts if is_count(kind) else [None])]:
        if value is None and "None" in kind:
            continue
        error = refusal(function, {**arguments, name: value})
        assert isinstance(error, TypeError), f"{value!r}: {error!r}"
    for value in [-1, 2**70, -(2**70), 10**5000] if is_count(kind) else [math.nan, 10**5000]:
        error = refusal(function, {**arguments, name: value})
        assert isinstance(error, ValueError), f"{value!r:.60}: {error!r}"


@pytest.mark.parametrize(("function", "arguments", "name"), cases(is_number))
def test_numbers_of_numpy_are_numbers(function, arguments, name):
    kind, value = annotations(function)[name], value_of(function, arguments, name)
    if value is None or math.isinf(value):
        return
    for convert in (np.int8, np.uint64, np.int32) if is_count(kind) else (np.float64, np.float32, float, Fraction):
        assert refusal(function, {**arguments, name: convert(value)}) is None


def test_messages_are_short_whatever_they_show():
    for value in (list(range(1000)), "a" * 1000, np.ones(1000), {n: n for n in range(100)}, [10**5000], 10**5000):
        with pytest.raises((TypeError, ValueError)) as caught:
            points.as_count(value, "n", 1, 5)
        assert len(str(caught.value)) < 200
    assert "an integer of 16610 bits" in points.shown(10**5000)


def test_counts_in_sequences_are_named_by_place():
    with pytest.raises(TypeError, match=r"expected n_threads\[1\] as an integer, got 2.5"):
        blas.possible_maxima(X, n_threads=(1, 2.5))
    with pytest.raises(ValueError, match="one or more numbers of threads, got none"):
        blas.possible_maxima(X, n_threads=())
    with pytest.raises(ValueError, match=r"expected n_iterations\[0\] from 0 to"):
        OBJECTIVE.quench(X, [1.0], [-1])
    with pytest.raises(ValueError, match="as one number or 2, one a beta, got 1"):
        OBJECTIVE.quench(X, [1.0, 2.0], [5])
    with pytest.raises(ValueError, match=r"expected betas\[1\] finite and > 0, got 0.0"):
        OBJECTIVE.quench(X, [1.0, 0.0], 5)
    assert OBJECTIVE.quench(X, np.array([1.0, 2.0]), np.array([1, 1])).n_iterations <= 2


def test_masks_of_another_length_are_refused():
    for clipped in (np.True_, np.array([True]), np.ones(4), [True] * 4, np.ones(5, dtype=bool)):
        with pytest.raises(ValueError, match="expected clipped as an array of 4 bools"):
            VECTOR.clipped_overlap_maximum(clipped)
