"""The table of results says what the run directories say."""

from pathlib import Path

import pytest

from evocore.bench.results_table import BEGIN, END, replace_block, table
from evocore.errors import InputError
from evocore.report.summary import Best, Summary
from evocore.search.state import Passed

README = Path(__file__).parents[2] / "README.md"


def a_run(score, *, direction="minimize", budget=120.0):
    best = None if score is None else Best("constructions/x.json", score, "1/2", 3.0, "chain", False)
    return Summary(
        run_dir=Path("run"),
        problem="erdos-min-overlap",
        title="Erdős minimum overlap",
        direction=direction,
        status="finished",
        ended="budget",
        budget_seconds=budget,
        elapsed_seconds=budget,
        sessions=1,
        seed=0,
        verifier_digest="",
        best=best,
        references=(Passed("Haugland", 0.380927, 2016),),
        trace=(),
        islands=(),
        lineage=(),
        path_of_construction=(),
        programs=0,
        rounds=0,
        evaluations=0,
        hand_ins=0,
        rejected=0,
        quarantined=0,
        tiers=("linux",),
    )


def test_a_row_has_median_and_best_in_the_problems_direction():
    row = table([a_run(0.5), a_run(0.375), a_run(0.4375)]).splitlines()[2]
    assert row == ("| erdos-min-overlap (min) | 2:00 | 3 | 0.43750000 | 0.3750000000 | Haugland 2016 0.380927 |")
    row = table([a_run(s, direction="maximize") for s in (0.5, 0.375, 0.4375)]).splitlines()[2]
    assert "| 0.43750000 | 0.5000000000 |" in row


def test_a_run_that_found_nothing_counts_against_the_median():
    row = table([a_run(0.5), a_run(None), a_run(None)]).splitlines()[2]
    assert "| 3 | inf | 0.5000000000 |" in row


def test_budgets_are_rows_of_their_own():
    assert len(table([a_run(0.5), a_run(0.5, budget=600.0)]).splitlines()) == 4


def test_the_block_of_a_document_is_replaced_and_the_rest_kept():
    text = f"before\n{BEGIN}\nold\n{END}\nafter\n"
    assert replace_block(text, "new") == f"before\n{BEGIN}\nnew\n{END}\nafter\n"
    with pytest.raises(InputError, match="got 0 such blocks"):
        replace_block("nothing here", "new")


def test_the_readme_has_the_block():
    assert "new table" in replace_block(README.read_text(), "new table")
