"""Change everything that a later evaluation in the same process would find changed."""

import builtins
import sys

import numpy as np

MARK = "_evocore_attack_was_here"


def optimize(problem, start, seed, deadline, offer):
    for where in (builtins, np, sys, type(problem), sys.modules["evocore.problems"]):
        if hasattr(where, MARK):
            through(f"found what an earlier run changed in {where}")
        setattr(where, MARK, True)
    for module in list(sys.modules.values()):
        if getattr(module, "__name__", "").startswith(("evocore.sandbox", "evocore.verifiers")):
            for name in list(vars(module)):
                if callable(getattr(module, name)) and not name.startswith("__") and name not in ("frame", "_write"):
                    quietly(setattr, module, name, lambda *arguments, **options: None)
    type(problem).fast = type(problem).score = lambda self, x: -1e9
    quietly(setattr, np.ndarray, "sum", None)
    np.sum = np.dot = np.isfinite = lambda *arguments, **options: -1e9
    return start
