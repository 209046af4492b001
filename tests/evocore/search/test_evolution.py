"""The islands' rounds over made-up attempts: replay, order of completion, resume, presets, epochs."""

import itertools

import numpy as np
import pytest

from evocore.config import RunConfig
from evocore.errors import ConfigError
from evocore.ledger import read_ledger
from evocore.search.history import History
from evocore.search.memory import Forest
from evocore.search.presets import PRESETS


def kinds(run_dir):
    return [event.kind for event in read_ledger(run_dir / "ledger.jsonl")]


@pytest.fixture(scope="module")
def whole(tmp_path_factory, made_up):
    """One undisturbed run of four rounds."""
    path = tmp_path_factory.mktemp("whole") / "run"
    made_up.run(path, made_up.Recording(), max_rounds=4)
    return path


def test_same_seed_and_same_results_give_the_same_decisions(tmp_path, made_up, whole):
    made_up.run(tmp_path / "again", made_up.Recording(), max_rounds=4)
    told = made_up.decisions(tmp_path / "again")
    assert told == made_up.decisions(whole)
    assert sum(kind == "node" for kind, _ in told) > 8


def test_another_seed_decides_otherwise(tmp_path, made_up, whole):
    made_up.run(tmp_path / "other", made_up.Recording(), max_rounds=4, seed=6)
    operators = [
        [data["description"] for kind, data in made_up.decisions(path) if kind == "proposal"]
        for path in (whole, tmp_path / "other")
    ]
    assert operators[0] != operators[1]


def test_the_order_of_completion_does_not_show(tmp_path, made_up, whole):
    made_up.run(tmp_path / "many", made_up.Recording(jitter=True), max_rounds=4, evaluation_slots=6)
    assert made_up.decisions(tmp_path / "many") == made_up.decisions(whole)


@pytest.mark.parametrize("fails_at", [1, 5, 12, 19])
def test_a_run_that_breaks_off_anywhere_goes_on_to_the_same_decisions(tmp_path, made_up, whole, fails_at):
    with pytest.raises(OSError, match="went away"):
        made_up.run(tmp_path / "broken", made_up.Recording(fails_at=fails_at), max_rounds=4)
    assert "end" not in kinds(tmp_path / "broken")
    recording = made_up.Recording()
    made_up.resume(tmp_path / "broken", recording)
    assert made_up.decisions(tmp_path / "broken") == made_up.decisions(whole)
    events = read_ledger(tmp_path / "broken" / "ledger.jsonl")
    keys = [event.data["key"] for event in events if event.kind == "evaluation"]
    assert len(keys) == len(set(keys))
    assert not set(recording.calls) & set(keys[: fails_at - 1])


def test_a_replayed_forest_is_the_forest(whole):
    events = read_ledger(whole / "ledger.jsonl")
    forest = Forest().apply_all(events)
    assert forest.round == 4
    assert len(forest.nodes) == sum(event.kind == "node" for event in events)
    for seq, node in forest.nodes.items():
        assert events[seq].data["sha"] == node.source_sha
        assert node.parent is None or node.parent < seq
    history = History("minimize")
    for event in events:
        history.apply(event)
    assert history.evaluations == len(forest.finished)
    assert len(history.pool) > 0


def test_nodes_are_committed_in_island_order_and_each_has_a_verdict(made_up, whole):
    by_round = {}
    for kind, data in made_up.decisions(whole):
        if kind == "node":
            by_round.setdefault(data["round"], []).append(data["island"])
            assert data["verdict"]
            assert len(data["fitness"]) == 3
    assert all(islands == sorted(islands) for islands in by_round.values())
    assert sorted(by_round) == [0, 1, 2, 3, 4]


def test_epochs_bring_new_warm_tasks_and_score_the_fronts_again(tmp_path, made_up):
    made_up.run(tmp_path / "run", made_up.Recording(), max_rounds=5, epoch_seconds=2.0)
    told = made_up.decisions(tmp_path / "run")
    epochs = [data for kind, data in told if kind == "epoch"]
    assert len(epochs) >= 4
    assert [data["number"] for data in epochs] == list(range(len(epochs)))
    assert len(epochs[0]["search"]) == 1
    assert all(len(data["search"]) == 2 for data in epochs[1:])
    cold = epochs[0]["search"][0]
    assert all(data["search"][0] == cold for data in epochs)
    changes = sum(old["search"] != new["search"] for old, new in itertools.pairwise(epochs[1:]))
    assert sum(kind == "rescored" for kind, _ in told) == 1 + changes


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_every_preset_runs(tmp_path, made_up, name):
    made_up.run(tmp_path / "run", made_up.Recording(), max_rounds=5 if name == "adaptive" else 3, preset=name)
    told = made_up.decisions(tmp_path / "run")
    islands = [data for kind, data in told if kind == "island"]
    assert len(islands) == (PRESETS[name].islands or 3)
    nodes = [data for kind, data in told if kind == "node" and data["round"] > 0]
    assert nodes
    roots = {(0, data["island"], data["sha"]) for kind, data in told if kind == "node" and data["round"] == 0}
    if name == "best-of-n":
        assert all(data["parent"] in roots for data in nodes)
    if name == "refine":
        best = {}
        for kind, data in told:
            if kind == "node" and data["admitted"] and data["round"] > 0:
                assert data["parent"] in {*roots, *best}
                best[data["round"], data["island"], data["sha"]] = data["fitness"][0]


def test_fewer_programs_than_islands_are_made_up_by_children(tmp_path, made_up):
    made_up.run(tmp_path / "run", made_up.Recording(), max_rounds=1, islands=5)
    roots = [data for kind, data in made_up.decisions(tmp_path / "run") if kind == "node" and data["round"] == 0]
    assert [data["island"] for data in roots] == [0, 1, 2, 3, 4]
    assert sum(data["operator"] != "initial" for data in roots) == 2


def test_held_out_tasks_are_scored_and_decide_no_admission(tmp_path, made_up):
    recording = made_up.Recording()
    made_up.run(tmp_path / "run", recording, max_rounds=2, attempts=3)
    events = read_ledger(tmp_path / "run" / "ledger.jsonl")
    held_out = {e.data["hash"] for e in events if e.kind == "task" and e.data["role"] == "validation"}
    assert len(held_out) == 2
    scored = [event for event in events if event.kind == "evaluation" and event.data["task"] in held_out]
    assert scored
    assert {event.data["attempt"] for event in scored} == {0, 1, 2}
    forest = Forest().apply_all(events)
    for task in held_out:
        assert np.isnan(forest.table.accuracy[:, forest.table.columns[task]]).all()
        assert any(task in scores for scores in forest.held_out.values())


def test_limits_end_the_run(tmp_path, made_up):
    result = made_up.run(tmp_path / "rounds", made_up.Recording(), max_rounds=2)
    assert (result.reason, result.best_file, result.exit_code) == ("rounds", None, 0)
    result = made_up.run(tmp_path / "evaluations", made_up.Recording(), max_evaluations=12)
    assert result.reason == "evaluations"
    assert result.evaluations >= 12
    result = made_up.run(tmp_path / "time", made_up.Recording(), budget="5s")
    assert result.reason == "time"
    assert result.evaluations <= 20


def test_mutators_can_be_chosen_and_unknown_ones_are_named(tmp_path, made_up):
    made_up.run(tmp_path / "run", made_up.Recording(), max_rounds=2, mutators=("grammar-tune",))
    told = made_up.decisions(tmp_path / "run")
    assert {data["operator"] for kind, data in told if kind == "proposal"} == {"grammar-tune"}
    with pytest.raises(ConfigError, match=r"among .*grammar-tune.*, got grammer"):
        made_up.run(tmp_path / "other", made_up.Recording(), mutators=("grammer",))


def test_unknown_presets_are_named():
    with pytest.raises(ConfigError, match=r"adaptive, best-of-n, milo, population, refine.*did you mean refine"):
        RunConfig.create({"problem": "p", "preset": "refined"})


def test_stalled_islands_get_what_the_orchestrator_decides(tmp_path, made_up):
    settings = {"max_rounds": 6, "patience": 1}
    made_up.run(tmp_path / "whole", made_up.Recording(), **settings)
    told = made_up.decisions(tmp_path / "whole")
    carried_out = {"graft", "reassign", "speciate", "curriculum"}
    due = [finding["action"]["kind"] for kind, data in told if kind == "decision" for finding in data["findings"]]
    assert due
    assert [kind for kind, _ in told if kind in carried_out] == due
    grafted = [(data["island"], data["donor"]) for kind, data in told if kind == "graft"]
    crossed = [data for kind, data in told if kind == "proposal" and data["co_parent"] is not None]
    assert any(data["operator"] == "grammar-cross" for data in crossed)
    assert grafted
    with pytest.raises(OSError, match="went away"):
        made_up.run(tmp_path / "broken", made_up.Recording(fails_at=25), **settings)
    made_up.resume(tmp_path / "broken", made_up.Recording())
    assert made_up.decisions(tmp_path / "broken") == told
    assert (tmp_path / "whole" / "snapshots" / "population.md").read_text().startswith("# Population")


def test_presets_without_an_orchestrator_only_start_counting_anew(tmp_path, made_up):
    made_up.run(tmp_path / "run", made_up.Recording(), max_rounds=4, patience=1, preset="adaptive")
    decisions = [data for kind, data in made_up.decisions(tmp_path / "run") if kind == "decision"]
    assert decisions
    assert all(data["findings"] == [] for data in decisions)
