"""The plan from budget and cores, and the settings that override it."""

import json

import pytest

from evocore.config import RunConfig
from evocore.search.plan import Plan, make_plan


def planned(budget, cores=2, **settings):
    return make_plan(RunConfig.create({"problem": "p", "budget": budget, **settings}), cores)


@pytest.mark.parametrize(
    ("budget", "task", "attempts", "epoch"),
    [
        ("2m", 2.0, 1, 20.0),
        ("10m", 5.0, 1, 100.0),
        ("1h", 30.0, 3, 600.0),
        ("10h", 60.0, 3, 6000.0),
        ("30s", 2.0, 1, 5.0),
    ],
)
def test_tasks_and_epochs_follow_from_the_budget(budget, task, attempts, epoch):
    plan = planned(budget)
    assert (plan.task_seconds, plan.attempts, plan.epoch_seconds) == (task, attempts, epoch)
    assert plan.n_cold >= 1
    assert plan.n_warm >= 1


@pytest.mark.parametrize(("cores", "slots"), [(1, (1, 1)), (2, (1, 1)), (3, (1, 2)), (8, (4, 4))])
def test_half_of_the_cores_run_chains(cores, slots):
    plan = planned("2m", cores)
    assert (plan.chain_slots, plan.evaluation_slots) == slots


def test_only_long_runs_hold_tasks_out():
    assert planned("59m").n_validation == 0
    assert planned("1h").n_validation > 0


def test_settings_win():
    plan = planned("2m", task_seconds=0.5, attempts=2, epoch_seconds=7, chain_slots=0, evaluation_slots=3, workers=4)
    assert (plan.task_seconds, plan.attempts, plan.epoch_seconds) == (0.5, 2, 7.0)
    assert (plan.cores, plan.chain_slots, plan.evaluation_slots) == (4, 0, 3)


def test_a_plan_goes_through_json_and_says_itself():
    plan = planned("2m")
    assert Plan.from_json(json.loads(json.dumps(plan.to_json()))) == plan
    assert plan.text() == (
        "2m on 2 cores: 1 chain and 1 evaluation at a time; 1 cold and 1 warm task of 2s, 1 attempt each; "
        "new warm starts every 20s"
    )
    assert "3 attempts each, 2 held-out tasks" in planned("1h").text()
