"""pass@k, PR@k, RR@k: values that can be checked by hand, and laws."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evocore.errors import InputError
from evocore.search.metrics import Estimate, estimate, metrics

scores = st.integers(1, 4).flatmap(
    lambda k: st.lists(st.lists(st.floats(0, 1), min_size=k, max_size=k), min_size=1, max_size=6)
)


def test_by_hand():
    m = metrics([[1.0, 0.5, 0.0], [0.95, 0.2, 0.2], [0.0, 0.0, 0.0], [1.0, 1.0, 1.0]])
    assert (m.k, m.n_tasks, m.threshold) == (3, 4, 1.0)
    assert m.pass_at_k.value == 0.5
    assert m.pr_at_k.value == pytest.approx((0.5 + 0.45 + 0 + 1) / 4, abs=1e-15)
    assert m.rr_at_k.value == pytest.approx((1 / 3 + 0 + 0 + 1) / 4, abs=1e-15)
    lower = metrics([[1.0, 0.5, 0.0], [0.95, 0.2, 0.2], [0.0, 0.0, 0.0], [1.0, 1.0, 1.0]], threshold=0.9)
    assert lower.pass_at_k.value == 0.75
    assert lower.rr_at_k.value == pytest.approx((1 / 3 + 1 / 3 + 0 + 1) / 4, abs=1e-15)


def test_the_interval_by_hand():
    """Means 0.4, 0.5, 0.6: deviation 0.1; t(0.975, 2) = 4.302653 (any table of Student's distribution)."""
    e = estimate([0.4, 0.5, 0.6])
    assert e.value == pytest.approx(0.5)
    assert e.high - e.value == pytest.approx(4.302653 * 0.1 / 3**0.5, rel=1e-6)
    assert e.value - e.low == pytest.approx(e.high - e.value)


def test_attempts_on_one_task_do_not_narrow_the_interval():
    few, many = metrics([[0.2], [0.8], [0.5]]), metrics([[0.2] * 50, [0.8] * 50, [0.5] * 50])
    assert few.pr_at_k == many.pr_at_k


def test_one_task_says_nothing_about_others():
    assert metrics([[1.0, 1.0]]).pass_at_k == Estimate(1.0, 0.0, 1.0)


@given(scores, st.sampled_from([0.5, 0.9, 1.0]))
def test_laws(table, threshold):
    m = metrics(table, threshold=threshold)
    for e in (m.pass_at_k, m.pr_at_k, m.rr_at_k):
        assert 0 <= e.low <= e.value <= e.high <= 1
    assert m.rr_at_k.value <= m.pass_at_k.value
    assert m.rr_at_k.value * threshold <= m.pr_at_k.value + 1e-12
    assert metrics(table[::-1], threshold=threshold).pr_at_k.value == m.pr_at_k.value
    assert metrics([row[::-1] for row in table], threshold=threshold).rr_at_k.value == m.rr_at_k.value
    if len(table[0]) == 1:
        assert m.pass_at_k == m.rr_at_k


@given(st.lists(st.floats(0, 1), min_size=1, max_size=5), st.integers(1, 4))
def test_equal_tasks_have_an_interval_of_no_width(row, n):
    m = metrics([row] * (n + 1))
    assert m.pr_at_k.low == m.pr_at_k.value == m.pr_at_k.high


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ([], "at least one task"),
        ([[]], "same number"),
        ([[1.0], [1.0, 0.0]], r"\[1, 2\]"),
        ([[float("nan")]], "got nan for attempt 0 on task 0"),
        ([[0.5], [1.5]], "got 1.5 for attempt 0 on task 1"),
    ],
)
def test_undefined_input_is_an_error(table, message):
    with pytest.raises(InputError, match=message):
        metrics(table)
