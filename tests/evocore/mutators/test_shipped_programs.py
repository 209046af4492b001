"""Every optimizer program that ships with a problem, as a parent and as a donor."""

import contextlib
import io
import tokenize
import types
from pathlib import Path

import numpy as np
import pytest

import evocore.problems
from evocore.mutators import MUTATORS, NoChild, check_program, fingerprint

FOLDER = Path(evocore.problems.__file__).parent
PROGRAMS = sorted(path for path in FOLDER.glob("**/optimizers/*.py") if path.name != "__init__.py")
NAMES = [f"{path.parent.parent.name}/{path.stem}" for path in PROGRAMS]


def siblings(path):
    others = (other for other in PROGRAMS if other.parent == path.parent and other != path)
    return [other.read_text() for other in others]


def breed(path, n, *, seed):
    """Draw n children of every mutator that has something to work on, none like another."""
    source = path.read_text()
    rng = np.random.default_rng(seed)
    seen = {fingerprint(source)}
    names = ["grammar-tune"]
    if "STAGES = " in source:
        names += ["grammar-stages", "grammar-cross"] if siblings(path) else ["grammar-stages"]
    for name in names:
        n_found = 0
        with contextlib.suppress(NoChild):
            while n_found < n:
                child = MUTATORS[name].mutate(source, co_parent=None, donors=siblings(path), rng=rng, rejected=seen)
                assert fingerprint(child.source) not in seen
                seen.add(fingerprint(child.source))
                n_found += 1
                yield child
        # Two parents of few stages have few different children; nothing else may run out.
        assert n_found == n or (name == "grammar-cross" and n_found > 20)


def check(child, parent):
    assert check_program(child.source) == []
    module = types.ModuleType("candidate")
    exec(compile(child.source, "candidate", "exec"), module.__dict__)
    assert callable(module.optimize)
    if child.operator == "grammar-tune":
        assert comments(child.source) == comments(parent)


def comments(source):
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return [token.string for token in tokens if token.type == tokenize.COMMENT]


@pytest.mark.parametrize("path", PROGRAMS, ids=NAMES)
def test_it_keeps_the_contract_and_so_do_its_children(path):
    parent = path.read_text()
    assert check_program(parent) == []
    for child in breed(path, 4, seed=0):
        check(child, parent)


@pytest.mark.long
@pytest.mark.parametrize("path", PROGRAMS, ids=NAMES)
def test_two_hundred_children_of_every_mutator(path):
    parent = path.read_text()
    for child in breed(path, 200, seed=1):
        check(child, parent)
