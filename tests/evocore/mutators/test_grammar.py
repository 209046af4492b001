"""The three mutators on programs of known shape."""

import ast
import difflib
import re
import subprocess
import sys
import types
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evocore.mutators import (
    MUTATORS,
    Contract,
    GrammarCross,
    GrammarStages,
    GrammarTune,
    NoChild,
    check_program,
    fingerprint,
)
from evocore.mutators.declarations import is_stage_list, read_stages, read_tunable

HEAD = """\
from typing import Annotated

from evocore.optim import Choice, Range

"""
# Stages of these programs write into a list: what a program does is what stands in the list in the end.
OPTIMIZE = """\


def optimize(problem, start, seed, deadline, offer):
    for stage, _ in STAGES:
        stage(start, deadline)
    return start
"""


def child(mutator, parent, seed=0, *, co_parent=None, donors=(), rejected=()):
    return mutator.mutate(
        parent, co_parent=co_parent, donors=donors, rng=np.random.default_rng(seed), rejected=rejected
    )


def children(mutator, parent, n=60, **others):
    return [child(mutator, parent, seed, **others) for seed in range(n)]


def run(source):
    module = types.ModuleType("candidate")
    exec(compile(source, "candidate", "exec"), module.__dict__)
    return module


def log_of(source):
    return run(source).optimize(None, [], 0, 0.0, None)


def tunables(source):
    found = (read_tunable(statement) for statement in ast.parse(source).body)
    return {one.name: one for one in found if one is not None}


def stages(source):
    (statement,) = (one for one in ast.parse(source).body if is_stage_list(one))
    return [(stage.function, stage.share) for stage in read_stages(statement)]


def functions(source):
    return [function for function, _ in stages(source)]


def changed_lines(before, after):
    lines = list(difflib.ndiff(before.splitlines(), after.splitlines()))
    return [line[2:] for line in lines if line[0] == "-"], [line[2:] for line in lines if line[0] == "+"]


# ---- what all mutators keep ----


def all_pairs(anneal, comb):
    return [(mutator, *pair) for mutator in MUTATORS.values() for pair in ((anneal, comb), (comb, anneal))]


def test_the_table_of_mutators():
    assert {name: type(mutator) for name, mutator in MUTATORS.items()} == {
        "grammar-tune": GrammarTune,
        "grammar-stages": GrammarStages,
        "grammar-cross": GrammarCross,
    }
    assert all(name == mutator.name for name, mutator in MUTATORS.items())


def test_children_keep_the_contract_and_can_be_imported(anneal, comb):
    for mutator, parent, other in all_pairs(anneal, comb):
        for seed in range(12):
            made = child(mutator, parent, seed, co_parent=other)
            assert check_program(made.source) == []
            assert made.operator == mutator.name
            assert "\n" not in made.description
            assert callable(run(made.source).optimize)


def test_children_of_children_keep_the_contract(anneal, comb):
    rng = np.random.default_rng(5)
    population = [anneal, comb]
    for _ in range(40):
        mutator = list(MUTATORS.values())[int(rng.integers(3))]
        parent, other = (population[int(rng.integers(len(population)))] for _ in range(2))
        try:
            made = mutator.mutate(parent, co_parent=None, donors=[other], rng=rng, rejected=())
        except NoChild:
            continue
        assert check_program(made.source) == []
        population.append(made.source)
    assert len(population) > 32
    for source in population[-10:]:
        run(source)


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_same_state_same_child(anneal, comb, seed):
    for mutator, parent, other in all_pairs(anneal, comb):
        assert child(mutator, parent, seed, donors=[other]) == child(mutator, parent, seed, donors=[other])


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_a_child_is_new(anneal, comb, seed):
    for mutator, parent, other in all_pairs(anneal, comb):
        first = child(mutator, parent, seed, co_parent=other)
        second = child(mutator, parent, seed, co_parent=other, rejected=[fingerprint(first.source)])
        prints = {fingerprint(source) for source in (parent, other, first.source, second.source)}
        assert len(prints) == 4


def test_comments_survive_what_is_left_of_the_code(anneal, comb):
    """A comment goes only with a function or constant that goes, or with a stage that is replaced."""
    owned = Counter(line.strip() for line in anneal.splitlines() if line.strip().startswith("# "))
    assert len(owned) == 6
    for made in children(GrammarTune(), anneal, 20):
        assert all(line in made.source for line in owned)
    for made in children(GrammarStages(), anneal, 40, donors=[comb]):
        for line in ("# ---- constants that mutators may move ----", "# ---- stages ----"):
            assert made.source.count(line) == 1
        if "def smooth" in made.source:
            assert "# A running mean; compiled because it is called for every start." in made.source


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("end", ["", "\n", "\n\n# the end\n"])
def test_odd_layout_comes_through(newline, end):
    parent = (
        "#!/usr/bin/env python\n# -*- coding: utf-8 -*-\n" + HEAD + "A  :Annotated[ int,Range( 1 , 99 ) ]=7 # sévén\n"
        "def a(log, until):\n\tlog.append( A )  \n\n\n\n"
        "STAGES = [ (a,0.5) ]\n" + OPTIMIZE.rstrip("\n") + end
    ).replace("\n", newline)
    source = child(GrammarTune(), parent).source
    value = tunables(source)["A"].value
    expected = parent.replace("=7 #", f"={value} #")
    assert source == (expected if expected.endswith(newline) else expected + "\n")


def test_a_parent_that_breaks_the_contract_has_no_children(anneal):
    for mutator in MUTATORS.values():
        with pytest.raises(NoChild, match=r"expected a program that keeps the contract.*line 1: import of os"):
            child(mutator, "import os\n" + anneal, co_parent=anneal)


def test_a_stricter_contract_holds_for_children(anneal, comb):
    strict = Contract(max_bytes=len(anneal.encode()))
    for made in children(GrammarStages(strict, n_tries=200), anneal, 10, donors=[comb]):
        assert len(made.source.encode()) <= strict.max_bytes


def test_importing_the_mutators_does_not_import_libcst():
    code = "import sys, evocore.mutators; print('libcst' in sys.modules, 'numba' in sys.modules)"
    out = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.split() == ["False", "False"]


# ---- grammar-tune ----


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_tuned_values_stay_in_their_ranges_and_all_else_stays_as_it_is(anneal, seed):
    made = child(GrammarTune(), anneal, seed)
    before, after = tunables(anneal), tunables(made.source)
    assert list(before) == list(after)
    changed = [name for name in before if before[name].value != after[name].value]
    assert all(after[name].limits.contains(after[name].value) for name in after)
    assert functions(made.source) == functions(anneal)
    n_shares = sum(a != b for a, b in zip(stages(anneal), stages(made.source), strict=True))
    assert 1 <= len(changed) + n_shares <= 3
    gone, come = changed_lines(anneal, made.source)
    assert len(gone) == len(come) == len(changed) + n_shares
    for old, new in zip(gone, come, strict=True):  # nothing but one literal differs in a line
        pattern = r"(.* = |    \(\w+, )([^ )]+)(.*)"
        (head, _, tail), (new_head, _, new_tail) = (re.fullmatch(pattern, line).groups() for line in (old, new))
        assert (head, tail) == (new_head, new_tail)


def test_every_tunable_and_share_is_moved_some_time(anneal):
    moved = Counter()
    for made in children(GrammarTune(), anneal, 80):
        before, after = tunables(anneal), tunables(made.source)
        moved.update(name for name in before if before[name].value != after[name].value)
        pairs = zip(stages(anneal), stages(made.source), strict=True)
        moved.update(k for k, (old, new) in enumerate(pairs) if old != new)
    assert set(moved) == {"BETA_START", "BETA_END", "N_STARTS", "N_TRIES", "KIND", "MELT", 0, 1, 2, 3}


def test_the_description_of_a_move_names_old_and_new_value(anneal):
    for made in children(GrammarTune(), anneal, 30):
        for part in made.description.split("; "):
            subject, new = part.split(" -> ")
            assert new in made.source
            if not subject.startswith("share of stage "):
                name, old = subject.split(" ")
                assert ast.literal_eval(old) == tunables(anneal)[name].value
                assert ast.literal_eval(new) == tunables(made.source)[name].value


def test_a_finite_space_is_used_up_without_repetition():
    parent = HEAD + "A: Annotated[int, Range(1, 3)] = 2\nB: Annotated[bool, Choice(True, False)] = True\n"
    parent += "def a(log, until):\n    pass\nSTAGES = [(a, 1.0)]\n" + OPTIMIZE
    seen = {fingerprint(parent)}
    for seed in range(5):
        made = child(GrammarTune(n_tries=300), parent, seed, rejected=seen)
        assert fingerprint(made.source) not in seen
        seen.add(fingerprint(made.source))
    with pytest.raises(NoChild, match="most often: the child is a program that was there before"):
        child(GrammarTune(), parent, rejected=seen)


def test_a_program_without_annotations_is_told_what_to_do(single):
    with pytest.raises(NoChild, match=r"Annotated\[float, Range.*annotate what may be moved"):
        child(GrammarTune(), single)
    with pytest.raises(NoChild, match=r"STAGES = .*split the program into stages"):
        child(GrammarStages(), single, donors=[single])
    with pytest.raises(NoChild, match="a second parent that differs"):
        child(GrammarCross(), single, donors=[single])


# ---- grammar-stages ----


def program(body, stage_list, head=HEAD):
    return head + body + f"\n\nSTAGES = {stage_list}\n" + OPTIMIZE


def stage(name, *, value=None):
    return f"\n\ndef {name}(log, until):\n    log.append({name if value is None else value!r})\n".replace(
        f"append({name})", f"append({name!r})"
    )


def test_edits_without_donors():
    names = ["a", "b", "c"]
    parent = program("".join(stage(name) for name in names), "[(a, 0.5), (b, 0.25), (c, 0.25)]")
    seen = set()
    for made in children(GrammarStages(), parent, 80):
        verb = made.description.split()[0]
        result = functions(made.source)
        assert sum(share for _, share in stages(made.source)) == pytest.approx(1, abs=0.01)
        assert log_of(made.source) == result
        if verb == "insert":
            assert len(result) == 4
            shorter = [result[:k] + result[k + 1 :] for k in range(4)]
            assert names in shorter
        elif verb == "delete":
            assert len(result) == 2
            assert [name for name in names if name in result] == result
            (gone,) = set(names) - set(result)
            assert f"def {gone}" not in made.source
        else:
            assert sorted(result) == names
            assert result != names
        seen.add(verb)
    assert seen == {"insert", "delete", "swap"}


def test_one_stage_always_stays():
    parent = program(stage("a"), "[(a, 1.0)]")
    assert all(functions(made.source) == ["a", "a"] for made in children(GrammarStages(), parent, 20))


def test_the_list_has_a_longest_length():
    parent = program(stage("a"), "[(a, 0.5), (a, 0.5)]")
    assert all(len(stages(made.source)) == 1 for made in children(GrammarStages(max_stages=2), parent, 5))


def replaced(parent, donor, n=80):
    """Children in which a stage of the donor took the place of one of the parent's."""
    found = [made for made in children(GrammarStages(), parent, n, donors=[donor]) if "replace" in made.description]
    assert found
    return found


CLASHES = {
    "a helper of another meaning gets a new name": (
        "def help():\n    return 'ours'\n\n\ndef a(log, until):\n    log.append(help())\n",
        "def help():\n    return 'theirs'\n\n\ndef b(log, until):\n    log.append(help())\n",
        "help_2",
    ),
    "a helper of the same meaning is used": (
        "def help():  # ours\n    return 'same'\n\n\ndef a(log, until):\n    log.append(help())\n",
        "def help():\n    '''Theirs.'''\n    return 'same'\n\n\ndef b(log, until):\n    log.append(help())\n",
        None,
    ),
    "the same text over another helper is not the same": (
        "def deep():\n    return 1\n\n\ndef help():\n    return deep()\n\n\n"
        "def a(log, until):\n    log.append(help())\n",
        "def deep():\n    return 2\n\n\ndef help():\n    return deep()\n\n\n"
        "def b(log, until):\n    log.append(help())\n",
        "help_2",
    ),
    "functions that call each other": (
        "def odd(n):\n    return n > 0 and even(n - 1)\n\n\ndef even(n):\n    return n == 0 or odd(n - 1)\n\n\n"
        "def a(log, until):\n    log.append(even(3))\n",
        "def odd(n):\n    return n > 0 and even(n - 1)\n\n\ndef even(n):\n    return n != 0 and odd(n - 1)\n\n\n"
        "def b(log, until):\n    log.append(even(3))\n",
        "even_2",
    ),
    "a plain constant of another value": (
        "SIZE = 1\n\n\ndef a(log, until):\n    log.append(SIZE)\n",
        "SIZE = 2\n\n\ndef b(log, until, SIZES=(SIZE,)):\n    log.append((SIZE, SIZES, dict(SIZE=SIZE)))\n",
        "SIZE_2",
    ),
    "a table that is filled later": (
        "T = {}\n\n\ndef a(log, until):\n    log.append(T)\n",
        "T = {}\nT['x'] = 1\n\n\ndef b(log, until):\n    log.append(T)\n",
        "T_2",
    ),
    "an import of another thing": (
        "from math import sin as f\n\n\ndef a(log, until):\n    log.append(f(1))\n",
        "from math import cos as f\n\n\ndef b(log, until):\n    log.append(f(1))\n",
        "cos as f_2",
    ),
    "an import of the same thing": (
        "from math import sin as f\n\n\ndef a(log, until):\n    log.append(f(1))\n",
        "from math import pi, sin as f\n\n\ndef b(log, until):\n    log.append(f(2))\n",
        None,
    ),
    "modules of one package": (
        "import collections\n\n\ndef a(log, until):\n    log.append(collections.Counter())\n",
        "import collections.abc\n\n\ndef b(log, until):\n    log.append(collections.abc.Sized)\n",
        "import collections.abc",
    ),
    "the stage itself": (
        "def a(log, until):\n    log.append('ours')\n",
        "def a(log, until):\n    log.append('theirs')\n",
        "a_2",
    ),
    "a class and a decorator": (
        "class Step:\n    x = 1\n\n\ndef a(log, until):\n    log.append(Step.x)\n",
        "import functools\n\n\nclass Base:\n    y = 2\n\n\nclass Step(Base):\n    x = 3\n\n\n"
        "@functools.cache\ndef get():\n    return Step.x + Step().y\n\n\ndef b(log, until):\n    log.append(get())\n",
        "class Step_2(Base)",
    ),
    "a counter that is declared global": (
        "count = 5\n\n\ndef a(log, until):\n    log.append(count)\n",
        "count = 0\n\n\ndef b(log, until):\n    global count\n    count += 1\n    log.append(count)\n",
        "global count_2",
    ),
    "a name that is a local of the newcomer": (
        "def x():\n    return 1\n\n\ndef a(log, until):\n    log.append(x())\n",
        "def x():\n    return 2\n\n\ndef b(log, until):\n    x_2 = 5\n    log.append(x() + x_2)\n",
        "x_3",
    ),
    "a newcomer that would hide a built-in": (
        "def a(log, until):\n    log.append(max(1, 2))\n",
        "def max(*values):\n    return 'theirs'\n\n\ndef b(log, until):\n    log.append(max(1, 2))\n",
        "max_2",
    ),
}


@pytest.mark.parametrize("case", CLASHES)
def test_a_stage_does_in_its_new_program_what_it_did_in_its_own(case):
    ours, theirs, expected = CLASHES[case]
    (name,) = (name for name in ("b", "a") if f"def {name}(" in theirs)
    parent = program(ours, "[(a, 0.5), (a, 0.5)]", head="")
    donor = program(theirs, f"[({name}, 1.0)]", head="")
    own, foreign = log_of(parent)[0], log_of(donor)[0]
    for made in replaced(parent, donor):
        assert sorted(map(repr, log_of(made.source))) == sorted(map(repr, (own, foreign)))
        if expected is None:
            assert "_2" not in made.source
        else:
            assert expected in made.source


def test_a_tunable_is_one_gene_in_both_programs():
    ours = "A: Annotated[int, Range(1, 9)] = 3\n" + "\n\ndef a(log, until):\n    log.append(A)\n"
    theirs = "A: Annotated[int, Range(1, 20)] = 5\n" + "\n\ndef b(log, until):\n    log.append(-A)\n"
    parent, donor = program(ours, "[(a, 0.5), (a, 0.5)]"), program(theirs, "[(b, 1.0)]")
    for made in replaced(parent, donor):
        assert sorted(log_of(made.source)) == [-3, 3]
        assert list(tunables(made.source)) == ["A"]


def test_a_tunable_of_another_kind_is_another_one():
    ours = "A: Annotated[int, Range(1, 9)] = 3\n" + "\n\ndef a(log, until):\n    log.append(A)\n"
    theirs = "A: Annotated[float, Range(1, 20)] = 5.5\n" + "\n\ndef b(log, until):\n    log.append(-A)\n"
    parent, donor = program(ours, "[(a, 0.5), (a, 0.5)]"), program(theirs, "[(b, 1.0)]")
    for made in replaced(parent, donor):
        assert sorted(log_of(made.source)) == [-5.5, 3]
        assert list(tunables(made.source)) == ["A", "A_2"]


def test_what_nothing_refers_to_any_more_goes():
    body = (
        "import math\nfrom heapq import (\n    heappop,  # smallest\n    heappush,  # to push\n)\n\n"
        "# Moved by stage a.\nA: Annotated[int, Range(1, 9)] = 3\nUNUSED = 4\n\n\n"
        "# -- helpers --\n\n\n# Of stage a.\ndef help(x):\n    return math.floor(x) + A\n\n\n"
        "def a(log, until):\n    heappush(log, help(1.5))\n\n\ndef b(log, until):\n    heappop(log)\n"
    )
    parent = program(body, "[(a, 0.5), (b, 0.5)]")
    (made,) = {one.source for one in children(GrammarStages(), parent, 60) if "delete stage 1" in one.description}
    gone, come = changed_lines(parent, made)
    assert [line for line in gone if line.strip()] == [
        "from typing import Annotated",
        "from evocore.optim import Choice, Range",
        "import math",
        "    heappush,  # to push",
        "# Moved by stage a.",
        "A: Annotated[int, Range(1, 9)] = 3",
        "# Of stage a.",
        "def help(x):",
        "    return math.floor(x) + A",
        "def a(log, until):",
        "    heappush(log, help(1.5))",
        "STAGES = [(a, 0.5), (b, 0.5)]",
    ]
    # Choice was never used: that is the author's business.
    assert come == ["from evocore.optim import Choice", "STAGES = [(b, 1.0)]"]
    assert "# -- helpers --" in made
    assert check_program(made) == []


def test_a_stage_that_needs_its_own_program_stays_there():
    parent = program(stage("a"), "[(a, 1.0)]")
    donor = program("def b(log, until):\n    log.append(len(STAGES))\n", "[(b, 1.0)]")
    for made in children(GrammarStages(), parent, 20, donors=[donor]):
        assert set(functions(made.source)) == {"a"}


def test_comments_go_with_their_stage():
    body = "".join(stage(name) for name in "ab")
    parent = program(body, "[\n    # of a\n    (a, 0.5),  # a's\n    (b, 0.25),  # b's\n    # at the end\n]")
    (swapped,) = {made.source for made in children(GrammarStages(), parent, 60) if "swap" in made.description}
    assert swapped == parent.replace(
        "    # of a\n    (a, 0.5),  # a's\n    (b, 0.25),  # b's\n",
        "    (b, 0.333),  # b's\n    # of a\n    (a, 0.667),  # a's\n",
    )


def test_broken_donors_are_passed_over():
    parent = program(stage("a"), "[(a, 1.0)]")
    assert children(GrammarStages(), parent, 5, donors=["def f(:", "import os\n"]) == children(
        GrammarStages(), parent, 5
    )


# ---- grammar-cross ----


def test_a_cross_takes_values_from_either_parent():
    def parent(a, b, c):
        lines = f"A: Annotated[int, Range(1, 9)] = {a}\nB: Annotated[int, Range(1, 9)] = {b}\n"
        return program(lines + f"C: Annotated[int, Range(1, {c})] = {c}\n" + stage("a"), "[(a, 1.0)]")

    first, second = parent(1, 2, 3), parent(8, 9, 7)
    found = set()
    for made in children(GrammarCross(), first, 40, co_parent=second):
        found.add(tuple(one.value for one in tunables(made.source).values())[:2])
        assert tunables(made.source)["C"].value == 3  # the other's 7 is outside of the range
    assert {(1, 9), (8, 2)} <= found <= {(1, 2), (1, 9), (8, 2), (8, 9)}


def test_a_cross_joins_head_and_tail():
    first = program("".join(stage(name) for name in "abc"), "[(a, 0.5), (b, 0.25), (c, 0.25)]")
    second = program("".join(stage(name) for name in "xyz"), "[(x, 0.5), (y, 0.25), (z, 0.25)]")
    heads = [list("abc"[:k]) for k in range(4)]
    tails = [list("xyz"[k:]) for k in range(4)]
    found = set()
    for made in children(GrammarCross(), first, 100, co_parent=second):
        result = functions(made.source)
        assert result in [head + tail for head in heads for tail in tails]
        assert log_of(made.source) == result
        assert sum(share for _, share in stages(made.source)) == pytest.approx(1, abs=0.01)
        found.add("".join(result))
    assert len(found) == 13  # 16 less the two parents and the empty list


def test_a_cross_draws_its_partner_from_the_donors(anneal, comb):
    assert children(GrammarCross(), anneal, 5, donors=[anneal, comb, "def f(:"]) == children(
        GrammarCross(), anneal, 5, co_parent=comb
    )


def test_two_programs_with_nothing_to_exchange(anneal, single):
    with pytest.raises(NoChild, match="no tunable and no stage list to exchange"):
        child(GrammarCross(), anneal, co_parent=single)
