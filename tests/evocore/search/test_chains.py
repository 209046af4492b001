"""What a chain does next."""

from fractions import Fraction

import numpy as np
import pytest

from evocore.search.chains import COLD_SHARE, ChainProgram, Ran, derived_seed, good_for, next_segment
from evocore.search.pool import Member, Pool

COLD = ChainProgram("cold", "cold", ("cold",))
WARM = ChainProgram("warm", "warm", ("warm",))
BOTH = ChainProgram("both", "both")


def pool(count):
    made = Pool("minimize")
    for number in range(count):
        descriptor = np.zeros(64)
        descriptor[number * 4 : number * 4 + 4] = 16.0
        made = made.offer(Member(f"c{number}", Fraction(number + 1), descriptor, 64))
    assert len(made) == count
    return made


def played(programs, made, *, slot=0, budget=100.0, improves=lambda n: True, has_start=False):
    """Play a whole chain in which every segment takes its time."""
    history, elapsed = [], 0.0
    while True:
        segment = next_segment(
            slot,
            programs=programs,
            pool=made,
            history=history,
            elapsed_seconds=elapsed,
            budget_seconds=budget,
            seed=3,
            has_start=has_start,
        )
        if segment is None:
            return [one.segment for one in history]
        history.append(Ran(segment, improves(len(history))))
        elapsed += segment.seconds


@pytest.mark.parametrize("budget", [2.0, 20.0, 120.0, 600.0])
def test_a_chain_uses_its_budget_to_the_end_and_no_more(budget):
    segments = played([COLD, WARM], pool(3), budget=budget)
    assert sum(one.seconds for one in segments) == pytest.approx(budget)
    assert segments[0].kind == "cold"
    assert segments[0].seconds == pytest.approx(COLD_SHARE * budget)
    assert all(one.kind == "warm" for one in segments[1:])
    assert len(segments) == 3


def test_long_runs_have_segments_of_half_an_hour_at_most():
    segments = played([BOTH], pool(3), budget=36000.0)
    assert max(one.seconds for one in segments) <= 1800.0
    assert sum(one.seconds for one in segments) == pytest.approx(36000.0)


def test_programs_run_what_they_are_good_for():
    segments = played([WARM, COLD], pool(2))
    assert [one.program for one in segments] == ["cold", "warm", "warm"]


def test_what_was_measured_comes_before_what_was_listed():
    weak = ChainProgram("weak", "", ("warm",), warm_gain=0.1)
    strong = ChainProgram("strong", "", ("warm",), warm_gain=0.6)
    assert played([COLD, WARM, weak, strong], pool(2))[1].program == "strong"


def test_a_program_stays_while_it_improves_and_gives_way_when_it_does_not():
    other = ChainProgram("other", "", ("warm",))
    stays = played([COLD, WARM, other], pool(2), improves=lambda n: True)
    assert {one.program for one in stays[1:]} == {"warm"}
    changes = played([COLD, WARM, other], pool(2), improves=lambda n: False)
    assert [one.program for one in changes[1:]] == ["warm", "other"]


def test_warm_segments_begin_from_the_best_and_from_others_in_turn():
    starts = [one.start for one in played([BOTH], pool(4), budget=10000.0)[1:]]
    assert starts[0] == "c0"
    assert len(set(starts)) > 2
    assert all(start == "c0" for start in starts[::2])


def test_an_empty_pool_means_cold():
    assert all(one.kind == "cold" and one.start is None for one in played([BOTH], pool(0)))


def test_a_given_start_is_where_the_first_chain_begins():
    assert played([BOTH], pool(1), has_start=True)[0].start == "c0"
    assert played([BOTH], pool(1), slot=1, has_start=True)[0].start is None


def test_slots_have_seeds_and_programs_of_their_own():
    other = ChainProgram("other", "", ("cold",))
    first, second = (played([COLD, other], pool(1), slot=slot)[0] for slot in (0, 1))
    assert first.program != second.program
    assert first.seed != second.seed


def test_no_time_or_no_program_means_no_segment():
    def at(elapsed, programs):
        return next_segment(
            0, programs=programs, pool=pool(0), history=[], elapsed_seconds=elapsed, budget_seconds=10.0, seed=0
        )

    assert at(9.9, [BOTH]) is None
    assert at(0.0, []) is None
    assert at(9.0, [BOTH]).seconds == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ('GOOD_FOR = ("cold",)', ("cold",)),
        ('GOOD_FOR: tuple = ("warm", "cold")', ("warm", "cold")),
        ('GOOD_FOR = ("other", 3)', ()),
        ("GOOD_FOR = f()", ("cold", "warm")),
        ("def optimize(): ...", ("cold", "warm")),
    ],
)
def test_what_programs_say_of_themselves(source, expected):
    assert good_for(source) == expected


def test_seeds_depend_on_every_part():
    seeds = {derived_seed(1, "chain", 0, 1), derived_seed(1, "chain", 1, 0), derived_seed(2, "chain", 0, 1)}
    assert len(seeds) == 3
    assert all(0 <= seed < 2**63 for seed in seeds)
    assert derived_seed(1, "chain", 0, 1) in seeds
