"""The text of a program: what is wrong with it in sentences, or a program that mutators take apart and put together."""

import numpy as np

from evocore.mutators import MUTATORS, NoChild, check_program, fingerprint
from evocore.mutators.program import read_program
from evocore.search.chains import good_for

PARTNER = """
from typing import Annotated

from evocore.optim import Range

STEP: Annotated[float, Range(0.01, 0.9)] = 0.2


def polish(search, until):
    return search


STAGES = [(polish, 1.0)]


def optimize(problem, start, seed, deadline, offer):
    return start
"""


def check(data):
    source = data.decode("utf-8", "surrogateescape" if data[:1] == b"#" else "replace")
    reasons = check_program(source)
    assert all(isinstance(one, str) and 0 < len(one) < 1000 for one in reasons)
    try:
        program = read_program(source)
    except NoChild as error:
        assert len(str(error)) < 1000
    else:
        assert program.header + "".join(item.text for item in program.items) + program.footer == program.source
    if reasons:
        return
    good_for(source)
    assert fingerprint(source) == fingerprint(source + "\n# a comment\n")
    for number, (name, mutator) in enumerate(MUTATORS.items()):
        try:
            child = mutator.mutate(
                source, co_parent=PARTNER, donors=[PARTNER], rng=np.random.default_rng(number), rejected=frozenset()
            )
        except NoChild:
            continue
        assert child.operator == name
        assert check_program(child.source) == []
