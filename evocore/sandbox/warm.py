"""What the runner loads and compiles once, so that no candidate has to."""

from __future__ import annotations

import importlib
import warnings
from typing import TYPE_CHECKING

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from evocore.problems import Problem

# What optimizer programs import, and what those parts load only when they are first called.
LIBRARIES = (
    "numpy.fft",
    "numpy.linalg",
    "numpy.random",
    "scipy.fft",
    "scipy.interpolate",
    "scipy.linalg",
    "scipy.ndimage",
    "scipy.optimize",
    "scipy.signal",
    "scipy.sparse.linalg",
    "scipy.special",
    "evocore.kernels",
    "evocore.optim",
)

# The problems that come with the project, by name; filled by `warm_up`.
built_in: dict[str, Problem] = {}


@njit()
def seed_numba(seed: int) -> None:
    """Seed the random generator of compiled code, which is not NumPy's."""
    np.random.seed(seed)  # noqa: NPY002 (the only way to reach that generator)


@njit()
def _peak(x: np.ndarray, y: np.ndarray) -> float:
    """A loop of the kind that programs compile: the first compilation loads the whole compiler."""
    best = -np.inf
    for k in range(x.size):
        total = 0.0
        for i in range(y.size - k):
            total += x[i] * y[i + k]
        best = max(best, total)
    return best


def warm_up() -> None:
    """Load the libraries, compile what can be compiled, and load the built-in problems."""
    from scipy import optimize

    from evocore.optim import jit

    for name in LIBRARIES:
        importlib.import_module(name)
    _forget_caches()
    warnings.filterwarnings("ignore", "Could not obtain multiprocessing lock")  # there are no other processes
    seed_numba(0)
    x = np.linspace(0.0, 1.0, 8)
    _peak(x, x)
    optimize.minimize(lambda v: (float(v @ v), 2 * v), x, jac=True, method="L-BFGS-B")
    optimize.linprog(np.ones(2), A_ub=-np.eye(2), b_ub=-np.ones(2))
    jit.warm_up()
    _load_problems()


def _forget_caches() -> None:
    """Have `cache=True` mean nothing: code that outlives its program would be a letter to the next one."""
    from numba.core import ccallback, dispatcher
    from numba.core.caching import NullCache
    from numba.np.ufunc import ufuncbuilder

    for module in (ccallback, dispatcher, ufuncbuilder):
        module.FunctionCache = lambda function: NullCache()  # type: ignore[attr-defined]


def _load_problems() -> None:
    from evocore.problems import problem, problems

    for slug in problems():
        found = problem(slug)
        found.fast(found.start(found.default_size, 0))
        built_in[slug] = found
