import ast
import symtable
import sysconfig
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evocore.mutators import NoChild
from evocore.mutators.names import names_in, rename

STDLIB = Path(sysconfig.get_path("stdlib"))
# Modules with classes, closures, comprehensions, walruses, global statements and match statements among them.
# fmt: off
MODULES = [
    "ast", "bisect", "copy", "dataclasses", "enum", "fractions", "functools", "heapq", "inspect", "pprint", "random",
    "statistics", "textwrap",
]
# fmt: on


def reads(source):
    return sorted(set().union(*(one.reads for one in names_in(ast.parse(source)))))


def global_reads_by_symtable(source):
    """The same question, asked of the compiler."""
    found = set()
    pending = [symtable.symtable(source, "module", "exec")]
    while pending:
        table = pending.pop()
        pending.extend(table.get_children())
        for symbol in table.get_symbols():
            at_module_level = table.get_type() == "module"
            if symbol.is_referenced() and (symbol.is_global() or at_module_level):
                found.add(symbol.get_name())
    return found


@pytest.mark.parametrize("module", MODULES)
def test_reads_what_the_compiler_says(module):
    source = (STDLIB / f"{module}.py").read_text()
    assert set(reads(source)) == global_reads_by_symtable(source)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("def f(a, b=c): return a + d", ["c", "d"]),
        ("def f():\n x = y\n def g(): return x + z\n", ["y", "z"]),
        ("f = lambda x, y=z: x + w", ["w", "z"]),
        ("t = [x for x in x if x]", ["x"]),
        ("t = [a for b in c for a in b]", ["c"]),
        ("class A:\n x = 1\n def f(self): return x\n", ["x"]),
        ("def f():\n global n\n n = 1\n return n\n", ["n"]),
        ("def f():\n if any((y := x) for x in xs): return y\n", ["any", "xs"]),
        ("def f(x):\n match x:\n  case {'a': y, **z}: return y, z\n  case [w, *v]: return w, v\n", []),
        ("def f():\n try: pass\n except E as e: return e\n", ["E"]),
        ("@d(1)\nclass A(B, key=C): pass\n", ["B", "C", "d"]),
    ],
)
def test_reads(source, expected):
    assert reads(source) == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a, (b, *c) = d", ["a", "b", "c"]),
        ("import numpy as np, scipy.fft", ["np", "scipy"]),
        ("from x import y, z as w", ["y", "w"]),
        ("if c:\n def f(): pass\nelse:\n f = None\n", ["f"]),
        ("for i in x: pass", ["i"]),
        ("with a as b: pass", ["b"]),
        ("x: int = (y := 3)", ["x", "y"]),
        ("a.b = c[0] = 1", []),
    ],
)
def test_binds(source, expected):
    assert list(names_in(ast.parse(source))[0].binds) == expected


def test_alters_are_told_from_binds():
    one = names_in(ast.parse("table.rows[0] = x"))[0]
    assert (one.binds, one.alters) == ((), ("table",))


def test_rename_changes_the_global_and_nothing_else():
    source = (
        "step = 1  # step\n"
        "def step_up(x, step=step):\n    return x.step + step\n"
        "def use(é):\n    global step\n    é = 'ü'; step = f'{step}'\n    return dict(step=step), lambda step: 0\n"
    )
    names = [one for statement in names_in(ast.parse(source)) for one in statement.occurrences]
    assert rename(source, names, {"step": "pace", "use": "employ"}) == (
        "pace = 1  # step\n"
        "def step_up(x, step=pace):\n    return x.step + step\n"
        "def employ(é):\n    global pace\n    é = 'ü'; pace = f'{pace}'\n    return dict(step=pace), lambda step: 0\n"
    )


def test_rename_refuses_what_it_cannot_change():
    source = "try:\n    pass\nexcept E as error:\n    print(error)\n"
    names = [one for statement in names_in(ast.parse(source)) for one in statement.occurrences]
    with pytest.raises(NoChild, match="error in line 3"):
        rename(source, names, {"error": "fault"})


@settings(max_examples=8, deadline=None)
@given(st.sampled_from(MODULES), st.randoms(use_true_random=False))
def test_rename_is_undone_by_the_opposite(module, random):
    source = (STDLIB / f"{module}.py").read_text()
    found = names_in(ast.parse(source))
    imported = {one.name for names in found for one in names.occurrences if one.place in ("import", "other")}
    name = random.choice(sorted({name for names in found for name in names.binds} - imported))
    there = rename(source, [one for names in found for one in names.occurrences], {name: "a_new_name"})
    assert there != source
    again = [one for names in names_in(ast.parse(there)) for one in names.occurrences]
    assert rename(there, again, {"a_new_name": name}) == source
