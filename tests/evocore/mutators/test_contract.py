import warnings

import pytest

from evocore.errors import ConfigError
from evocore.mutators import Contract, check_program, fingerprint, source_sha256
from evocore.optim.tunables import Choice, Range

OPTIMIZE = "def optimize(problem, start, seed, deadline, offer):\n    return start\n"
TYPING = "from typing import Annotated\nfrom evocore.optim import Choice, Range\n"


def with_line(line):
    """A good program and one more line, its third."""
    return OPTIMIZE + line + "\n"


def tunable(line):
    return check_program(TYPING + line + "\n" + OPTIMIZE)


def test_good_programs_keep_the_contract(anneal, comb, single):
    assert [check_program(source) for source in (anneal, comb, single, OPTIMIZE)] == [[], [], [], []]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("def f(:", "line 1: not valid Python: invalid syntax"),
        ("x = 1\x00", ""),  # a SyntaxError or a ValueError, by Python version
        (with_line("return 1"), "line 3: not valid Python: 'return' outside function"),
        (with_line("x = " + "(" * 300 + ")" * 300), "line 3: not valid Python: too many nested parentheses"),
        (with_line("x = " + "-" * 100_000 + "1"), "nested too deeply"),
        (with_line("x = '\ud800'"), "the program is not text: character 75 cannot be written as UTF-8"),
    ],
)
def test_what_is_not_python(source, expected):
    (reason,) = check_program(source)
    assert reason.startswith(expected)


def test_size_is_counted_in_bytes():
    source = with_line("# ü")
    n_bytes = len(source.encode())
    assert check_program(source, max_bytes=n_bytes) == []
    assert check_program(source, max_bytes=n_bytes - 1) == [
        f"the program has {n_bytes} bytes, the limit is {n_bytes - 1}"
    ]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("x = 1\n", "line 1: expected def optimize(problem, start, seed, deadline, offer) at module level"),
        ("class A:\n    " + OPTIMIZE.replace("\n", "\n    "), "found none"),
        (
            OPTIMIZE.replace(", offer", ""),
            "offer), got def optimize(problem, start, seed, deadline)",
        ),
        (OPTIMIZE.replace("start,", "begin,").replace("return start", "pass"), "line 1: expected def optimize("),
        (
            OPTIMIZE.replace("offer)", "offer, **more)"),
            "got def optimize(problem, start, seed, deadline, offer, **more",
        ),
        ("async " + OPTIMIZE, "line 1: optimize is not a plain function"),
        ("optimize = print\n", "line 1: optimize is not a plain function"),
        (OPTIMIZE + OPTIMIZE, "line 3: optimize is bound a second time"),
        (with_line("optimize = None"), "line 3: optimize is bound a second time"),
        (with_line("from math import sin as optimize"), "line 3: optimize is bound a second time"),
    ],
)
def test_entry_point(source, expected):
    (reason,) = check_program(source)
    assert expected in reason


@pytest.mark.parametrize(
    "line",
    [
        "import os",
        "import numpy, subprocess",
        "import evocore",
        "import evocore.problems",
        "import numpyx",
        "from evocore import verifiers",
        "from evocore.verifiers import judge",
        "def f():\n    import sys",
    ],
)
def test_imports_off_the_list(line):
    (reason,) = check_program(with_line(line))
    assert reason.startswith(f"line {3 + line.count(chr(10))}: import of ")
    assert "only these may be imported: collections, dataclasses, evocore.kernels, evocore.optim" in reason


@pytest.mark.parametrize(
    "line",
    [
        "import numpy as np, scipy.fft",
        "from numba import njit",
        "import evocore.optim",
        "from evocore import optim, kernels",
        "from evocore.kernels.smoothmax import SmoothedMaximum",
        "from __future__ import annotations",
        "import collections.abc",
    ],
)
def test_imports_on_the_list(line):
    assert check_program(line + "\n" + OPTIMIZE) == []


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("from . import x", "line 3: relative import"),
        ("from numpy import *", "line 3: import * from numpy"),
        ("f = open", "line 3: open is a forbidden name"),
        ("eval('1')", "line 3: eval is a forbidden name"),
        ("__import__('os')", "line 3: __import__ is a forbidden name"),
        ("().__class__", "line 3: __class__ is a forbidden name"),
        ("optimize.__globals__", "line 3: __globals__ is a forbidden name"),
        ("__builtins__", "line 3: __builtins__ is a forbidden name"),
        ("getattr(optimize, '__code__')", "line 3: getattr takes the plain name of an attribute"),
        ("getattr(optimize, 'a' + 'b')", "line 3: getattr takes the plain name of an attribute"),
    ],
)
def test_forbidden(line, expected):
    reasons = check_program(with_line(line))
    assert any(reason.startswith(expected) for reason in reasons)


@pytest.mark.parametrize(
    "line",
    [
        "class A:\n    def __init__(self): super().__init__()\n    def __lt__(self, other): return True",
        "n = getattr(optimize, 'default_size', 100)",
        "if __name__ == 'x': pass",
    ],
)
def test_ordinary_python_is_not_forbidden(line):
    assert check_program(with_line(line)) == []


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("def f():\n    return stort", ["line 4: stort is not defined"]),
        ("x = later\nlater = 1", ["line 3: later is used before it is defined"]),
        ("def f(a=later): pass\nlater = 1", ["line 3: later is used before it is defined"]),
        ("class A(B): pass\nclass B: pass", ["line 3: B is used before it is defined"]),
        ("def f():\n    return later\nlater = 1", []),
        ("if True:\n    a = 1\n    b = a", []),
        ("b = (a := 1) + a", []),
        ("def f():\n    global n\n    n = 1\ndef g():\n    return n", []),
        ("@f\ndef f(): pass", ["line 3: f is used before it is defined"]),
    ],
)
def test_names_that_would_not_be_found(line, expected):
    assert check_program(with_line(line)) == expected


def test_lazy_annotations_are_not_evaluated():
    source = "def f(x: Later): pass\nclass Later: pass\n" + OPTIMIZE
    assert check_program(source) == ["line 1: Later is used before it is defined"]
    assert check_program("from __future__ import annotations\n" + source) == []


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("A: Annotated[float, Range(1, 2)] = 1", None),
        ("A: Annotated[float, Range(1, 2)] = 2.0", None),
        ("A: Annotated[int, Range(-3, -1)] = -2", None),
        ("A: Annotated[int, 'unit', Range(lo=1, hi=2)] = 1", None),
        ("A: Annotated[bool, Choice(True, False)] = True", None),
        ("A: Annotated[int, 'nothing to move'] = 7", None),
        ("A: Annotated[float, Range(1, 2)] = 2.1", "A is between 1 and 2 by its own annotation, got 2.1"),
        ("A: Annotated[str, Choice('x', 'y')] = 'z'", "A is one of 'x', 'y' by its own annotation, got 'z'"),
        ("A: Annotated[int, Range(1, 2)] = 1.0", "A is an int, got 1.0"),
        ("A: Annotated[int, Range(0, 2)] = True", "A is an int, got True"),
        ("A: Annotated[float, Range(2, 1)] = 1", "the range of A is wrong: Range needs lo < hi"),
        ("A: Annotated[float, Range(0, 1, log=True)] = 1", "Range needs lo > 0 on a logarithmic scale, got lo = 0"),
        ("A: Annotated[float, Range(1)] = 1", "the range of A is wrong: "),
        ("A: Annotated[float, Range(1, 10**2)] = 1", "the arguments of Range of A are plain literals"),
        ("A: Annotated[float, Range(1, 2)] = 1 + 1", "the value of the tunable A is a plain literal"),
        ("A: Annotated[float, Range(1, 2)]", "the value of the tunable A is a plain literal"),
        ("A: Annotated[complex, Range(1, 2)] = 1", "the type of A is int, float, str or bool, got complex"),
        ("A: Annotated[str, Range(1, 2)] = '1'", "A has a Range, so its type is int or float, got str"),
        ("A: Annotated[str, Choice(1, 2)] = 1", "the choices of A are not of its type str"),
        ("A: Annotated[int, Choice(1)] = 1", "Choice needs at least two values"),
        ("A: Annotated[int, Range(1, 2), Range(1, 3)] = 1", "A has 2 ranges"),
        (
            "A: Annotated[int, Range(1, 2)] = 1\nA: Annotated[int, Range(1, 2)] = 2",
            "line 4: A is declared a second time, after line 3",
        ),
    ],
)
def test_tunables(line, expected):
    reasons = tunable(line)
    if expected is None:
        assert reasons == []
    else:
        assert any(expected in reason for reason in reasons), reasons
        assert all(reason.startswith("line ") for reason in reasons)


@pytest.mark.parametrize(
    ("stages", "expected"),
    [
        ("[(a, 0.5), (b, 1)]", []),
        ("((a, 0.5),)", []),
        ("[(a, 0.5), (c, 1)]", ["line 6: c is not defined", "line 6: the stage c is not a function of this module"]),
        ("[(int, 0.5)]", ["line 6: the stage int is not a function of this module"]),
        ("[]", ["line 6: STAGES is a list of (function, share) with at least one entry"]),
        ("[a, b]", ["line 6: an entry of STAGES is (function, share), got a"]),
        ("[(a, 0)]", ["line 6: the share of a stage is a positive number, got 0"]),
        ("[(a, -0.5)]", ["line 6: the share of a stage is a positive number, got -0.5"]),
        ("[(a, 1e999)]", ["line 6: the share of a stage is a positive number, got 1e309"]),
        ("[(one, 0.5)]", ["line 6: the stage one takes (search, until), got (search)"]),
        (f"[{'(a, 0.5), ' * 33}]", ["line 6: STAGES has 33 entries, the limit is 32"]),
    ],
)
def test_stages(stages, expected):
    functions = "def a(search, until): pass\ndef b(search, until, more=None): pass\ndef one(search): pass\n"
    assert check_program(OPTIMIZE + functions + f"STAGES = {stages}\n") == sorted(expected)


def test_stages_may_be_imported():
    source = "from evocore.optim import hops\nSTAGES = [(hops, 1.0)]\n" + OPTIMIZE
    assert check_program(source) == []


HARD_CODED = "line 3: hard_coded: more than 64 numeric literals"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (f"x = [{'0.5, ' * 64}]", []),
        (f"x = [{'0.5, ' * 65}]", [HARD_CODED]),
        (f"x = [{'0, ' * 65}]", [HARD_CODED]),
        (f"x = {{{', '.join(f'{k}: None' for k in range(65))}}}", [HARD_CODED]),
        (f"x = {'+ 1' * 100}", []),
        (f"x = {'+ 3' * 65}", [HARD_CODED]),
        (f"def f(a): return {' + '.join(f'a[{k}, 1]' for k in range(65))}", []),
        (f"x = {10**1200}", []),
        (f"x = {10**1300}", [HARD_CODED]),
        (f"x = {'y' * 4001!r}", ["line 3: hard_coded: more than 4000 characters of text in strings"]),
        (f"x = {b'y' * 4001!r}", ["line 3: hard_coded: more than 4000 characters of text in strings"]),
        (f"def f():\n    {'y' * 4001!r}", []),
    ],
)
def test_programs_that_carry_an_answer(line, expected):
    assert check_program(with_line(line)) == expected


def test_literals_of_tunables_and_stages_do_not_count():
    tunables = "".join(f"A{k}: Annotated[float, Range(3, 9)] = {k}.5\n" for k in range(3, 9)) * 1
    stages = "def a(search, until): pass\nSTAGES = [(a, 0.5), (a, 0.25)]\n"
    source = TYPING + tunables + stages + OPTIMIZE
    assert check_program(source, max_literals=7) == []
    assert check_program(source, max_literals=6) == ["line 10: hard_coded: more than 6 tunables"]


def test_number_of_literals_is_settable():
    assert check_program(with_line("x = (3, 4)"), max_literals=2) == []
    assert check_program(with_line("x = (3, 4)"), max_literals=1) == [
        "line 3: hard_coded: more than 1 numeric literals"
    ]


@pytest.mark.parametrize(
    ("line", "is_found"),
    [
        ("x = 'warm-3'", True),
        ("x = f'{optimize} the WARM-3 one'", True),
        ("x = b'warm-3'", True),
        ("x = 'lukewarm-3'", False),
        ("x = 'warm-30'", False),
        ("# warm-3", False),
        ("def f():\n    'Made for warm-3.'", False),
    ],
)
def test_names_of_bank_tasks(line, is_found):
    expected = ["line 3: hard_coded: the name of the task warm-3 in a string"] if is_found else []
    assert check_program(with_line(line), bank_names=["warm-3"]) == expected


def test_reasons_come_in_the_order_of_the_file():
    reasons = check_program("import os\nx = open\n" + OPTIMIZE.replace("offer", "submit"))
    assert [reason.split(":")[0] for reason in reasons] == ["line 1", "line 2", "line 3"]


def test_checking_is_silent():
    source = with_line(r"x = '\d'") + "y = 1 is 1\n"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert check_program(source) == []


def test_contract_is_a_value():
    assert Contract(bank_names=["a"]) == Contract(bank_names=("a",))
    assert Contract(max_literals=0).broken_by(with_line("x = 3")) == check_program(with_line("x = 3"), max_literals=0)


def test_fingerprint_ignores_what_does_nothing():
    plain = "import math\n\ndef f(x):\n    return math.sin(x)\n\nclass A:\n    y = ('a', 1.0)\n"
    dressed = (
        '"""Title."""\nimport math  # maths\ndef f(x):\n    """Sine."""\n\n    return (math\n        .sin(x))\n'
        'class A:\n    """An a."""\n    y = u"a", 1e0\n'
    )
    assert fingerprint(plain) == fingerprint(dressed)
    assert source_sha256(plain) != source_sha256(dressed)


@pytest.mark.parametrize("change", [("1.0", "1.5"), ("1.0", "1"), ("sin", "cos"), ("'a'", "b'a'"), ("y =", "z =")])
def test_fingerprint_sees_what_does_something(change):
    source = "import math\nf = math.sin\ny = ('a', 1.0)\n"
    assert source.replace(*change) != source
    assert fingerprint(source.replace(*change)) != fingerprint(source)


def test_sha256_is_the_one_of_the_file():
    assert source_sha256("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


@pytest.mark.parametrize(
    "arguments", [(1, 1), (2, 1), (float("nan"), 1), (0, float("inf")), (True, 2), ("0", 1), (0, 10**400)]
)
def test_range_refuses(arguments):
    with pytest.raises(ConfigError, match="Range needs"):
        Range(*arguments)


def test_range_contains_its_bounds():
    limits = Range(1, 2.5)
    assert [limits.contains(x) for x in (1, 2.5, 0.999, 2.6, float("nan"), True, "1")] == [True, True] + [False] * 5


@pytest.mark.parametrize("values", [(), (1,), (1, 1), (1, 2.0), (None, None), (True, 0)])
def test_choice_refuses(values):
    with pytest.raises(ConfigError, match="Choice needs"):
        Choice(*values)


def test_choice_tells_types_apart():
    assert Choice(1, 2).contains(1)
    assert not Choice(1, 2).contains(True)
    assert not Choice(1, 2).contains(1.0)
    assert Choice("a", "b") == Choice("a", "b")
