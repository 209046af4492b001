"""Whole runs with real programs in the sandbox: targets, starts, problems of one's own, scores that cannot be true."""

import json
import shutil
from fractions import Fraction

import pytest

from evocore.config import RunConfig
from evocore.errors import (
    ConfigError,
    InfrastructureError,
    InputError,
    InvalidConstruction,
    LedgerCorrupt,
    SandboxUnavailable,
)
from evocore.ledger import read_ledger
from evocore.sandbox import offered_tier
from evocore.search.loop import Run, run
from evocore.verifiers import lockdown

PROBLEM = '''
"""Make numbers equal."""
from fractions import Fraction
from evocore.problems.base import ExactResult, Problem


class Flat(Problem):
    slug = "flat"
    title = "Largest over mean"
    statement = "Give positive numbers; the score is the largest over the mean."
    direction = "minimize"
    min_length, max_length, default_size = 2, 50, 8
    target = 1.0
    gain_floor = 1e-3
    {extra}

    def score(self, x):
        return float(max(x) * len(x) / sum(x))

    def exact(self, x):
        values = [Fraction(v) for v in x.tolist()]
        if min(values) <= 0:
            return ExactResult.invalid("a number is not positive")
        return ExactResult(max(values) * len(values) / sum(values))


problem = Flat()
'''
PROGRAM = '''
"""Pull every number a little towards the mean."""
from typing import Annotated
import time
import numpy as np
from evocore.optim import Range

STEP: Annotated[float, Range(0.01, 0.9)] = 0.2


def optimize(problem, start, seed, deadline, offer):
    x = np.array(start)
    while time.monotonic() < deadline and np.ptp(x) > 1e-3:
        x = x + STEP * (x.mean() - x)
        offer(x)
        time.sleep(0.02)
    return x
'''


def written(folder, extra=""):
    """Write a problem of one's own."""
    (folder / "optimizers").mkdir(parents=True)
    (folder / "problem.py").write_text(PROBLEM.format(extra=extra))
    (folder / "optimizers" / "pull.py").write_text(PROGRAM)
    return folder


def short(folder, out, **settings):
    """A run that ends by what it has done, however slow the machine is."""
    return run(folder, out=out, **{"budget": "2m", "task_seconds": 0.4, "seed": 1, "max_rounds": 1, **settings})


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A problem of one's own, and a run of one round on it."""
    home = tmp_path_factory.mktemp("own")
    return short(written(home / "flat"), home / "run")


@pytest.fixture
def copied(finished, tmp_path):
    """A copy of the run's directory, elsewhere, with settings changed as asked."""

    def copy(**settings):
        path = tmp_path / "moved"
        shutil.copytree(finished.run, path)
        config = RunConfig.from_toml(path / "config.toml")
        (path / "config.toml").write_text(config.changed(**settings).to_toml())
        return path

    return copy


def test_a_problem_of_ones_own_from_nothing_to_a_verified_construction(finished):
    assert finished.problem == "flat"
    assert (finished.reason, finished.exit_code) == ("rounds", 0)
    assert finished.arena_score < 1.2
    assert Fraction(finished.exact_score) == pytest.approx(finished.arena_score)
    assert finished.evaluations >= 5
    assert finished.hand_ins > finished.evaluations
    assert json.loads(finished.best_file.read_text()).keys() == {"values"}
    for name in ("ledger.jsonl", "config.toml", "verdict.json", "report.md", "report.png", "winners/lineage.md"):
        assert (finished.run / name).stat().st_size > 0
    assert json.loads((finished.run / "verdict.json").read_text())["valid"]
    kinds = [event.kind for event in read_ledger(finished.run / "ledger.jsonl")]
    assert kinds[0] == "run"
    assert kinds[-1] == "end"
    assert {"program", "task", "epoch", "island", "node", "proposal", "round", "chain", "discovery"} <= set(kinds)


def test_a_start_that_reaches_the_target_ends_the_run(finished, tmp_path):
    start = tmp_path / "start.json"
    start.write_text(json.dumps({"values": [1.0] * 5 + [1.0625]}))
    result = short(finished.run.parent / "flat", tmp_path / "run", start=str(start), target=1.2)
    assert (result.reason, result.target_reached, result.exit_code) == ("target", True, 0)
    first = next(e for e in read_ledger(result.run / "ledger.jsonl") if e.kind == "discovery")
    assert first.data["source"] == "the start that was given"
    assert result.arena_score <= first.data["arena_score"]
    assert json.loads(result.best_file.read_text()) == {"values": [1.0] * 5 + [1.0625]}


def test_a_score_that_cannot_be_true_is_kept_apart(tmp_path):
    folder = written(tmp_path / "flat", "proven_bound = 1.1")
    result = short(folder, tmp_path / "run", max_evaluations=2, target=0.5)
    assert (result.reason, result.target_reached, result.exit_code) == ("evaluations", False, 1)
    found = [e.data for e in read_ledger(result.run / "ledger.jsonl") if e.kind == "discovery"]
    apart = [data for data in found if data["quarantined"]]
    assert apart
    assert all(data["arena_score"] < 1.1 for data in apart)
    assert all((result.run / data["file"]).exists() for data in apart)
    assert result.arena_score >= 1.1


@pytest.mark.parametrize(("lie", "counts"), [("", True), (" / 2", False)])
def test_a_leap_beyond_the_best_known_counts_once_the_exact_score_clears_it(tmp_path, lie, counts):
    folder = written(
        tmp_path / "flat", 'references = (Reference("Nobody", 1.9, 2020, "paper", ""),)\n    alarm_margin = 0.1'
    )
    code = (folder / "problem.py").read_text().replace("import ExactResult,", "import ExactResult, Reference,")
    (folder / "problem.py").write_text(code.replace("/ sum(x))", f"/ sum(x)){lie}"))
    result = short(folder, tmp_path / "run", max_evaluations=2)
    found = [e.data for e in read_ledger(result.run / "ledger.jsonl") if e.kind == "discovery"]
    leaps = [data for data in found if any(alarm.startswith("leap") for alarm in data["alarms"])]
    assert leaps
    assert {data["quarantined"] for data in leaps} == {not counts}
    assert (result.best_file is not None) is counts
    pool = [e.data["sha"] for e in read_ledger(result.run / "ledger.jsonl") if e.kind == "construction"]
    assert counts or not {data["sha"] for data in leaps} & set(pool)


def test_a_moved_run_goes_on(copied, finished):
    path = copied(max_rounds=2)
    result = Run.resume(path).go()
    assert result.run == path
    assert result.seconds > finished.seconds - 1.5
    assert result.evaluations > finished.evaluations
    events = read_ledger(path / "ledger.jsonl")
    assert [e.data["number"] for e in events if e.kind == "session"] == [2]
    assert [e.data["number"] for e in events if e.kind == "round"] == [1, 2]
    keys = [e.data["key"] for e in events if e.kind == "evaluation"]
    assert len(keys) == len(set(keys))


def test_a_run_says_how_its_programs_are_confined(finished):
    tier = offered_tier(None)
    assert RunConfig.from_toml(finished.run / "config.toml").sandbox == tier
    begun = read_ledger(finished.run / "ledger.jsonl")[0]
    assert (begun.kind, begun.data["sandbox"]) == ("run", tier)
    assert f"- sandbox: {tier}\n" in (finished.run / "report.md").read_text()


def test_a_resumed_run_confines_as_before_unless_it_is_asked_for_less(copied):
    with pytest.raises(ConfigError, match=r"confined as before .*, got unsafe in config.toml; .*--sandbox"):
        Run.resume(copied(max_rounds=2, sandbox="unsafe"))


def test_what_is_asked_for_is_recorded_and_shown(copied):
    path = copied(max_rounds=2)
    run = Run.resume(path, sandbox="unsafe")
    assert run.poll().sandbox == "unsafe"
    run.go()
    assert RunConfig.from_toml(path / "config.toml").sandbox == "unsafe"
    assert [e.data["sandbox"] for e in read_ledger(path / "ledger.jsonl") if e.kind == "session"] == ["unsafe"]
    assert "then unsafe: programs were not confined" in (path / "report.md").read_text()


def test_a_machine_without_a_sandbox_refuses_to_run(finished, copied, tmp_path, monkeypatch):
    monkeypatch.setattr(lockdown, "landlock_version", lambda: 0)
    for begin in (lambda: short(finished.run.parent / "flat", tmp_path / "run"), lambda: Run.resume(copied())):
        with pytest.raises(SandboxUnavailable, match=r"Landlock.*--sandbox"):
            begin()
    assert not (tmp_path / "run").exists()


def test_a_run_without_time_left_asks_for_some(copied):
    path = copied(budget_seconds=1.0)
    with pytest.raises(ConfigError, match=r"used up its 1s.*--budget"):
        Run.resume(path)
    assert Run.resume(path, budget="1m").plan.budget_seconds > 60.0


def test_changed_scoring_code_is_no_silent_continuation(copied, tmp_path):
    folder = written(tmp_path / "flat", "alarm_margin = 3.0")
    path = copied(problem=str(folder))
    with pytest.raises(InfrastructureError, match=r"digest.*begin a new run with --start"):
        Run.resume(path)


def test_a_file_that_was_changed_is_noticed(copied):
    path = copied(max_rounds=2)
    for file in (path / "programs").iterdir():
        file.write_text("# nothing\n")
    with pytest.raises(InfrastructureError, match=r"got a changed one.*evocore resume"):
        Run.resume(path).go()


def test_bad_input_is_found_before_anything_is_written(finished, tmp_path):
    folder = finished.run.parent / "flat"
    (tmp_path / "broken.py").write_text("def optimize(x): ...")
    (tmp_path / "start.json").write_text("[1, 2")
    (tmp_path / "negative.json").write_text('{"values": [1.0, -1.0, 2.0]}')
    (tmp_path / "nan.json").write_text('{"values": [1.0, NaN]}')
    cases = [
        ({"program": [str(tmp_path / "none.py")]}, InputError, "expected a file, found none"),
        ({"program": [str(tmp_path / "broken.py")]}, InputError, "breaks the contract"),
        ({"start": str(tmp_path / "none.json")}, InputError, "expected a file, found none"),
        ({"start": str(tmp_path / "start.json")}, InputError, "expected JSON"),
        ({"start": str(tmp_path / "negative.json")}, InputError, "not positive"),
        ({"start": str(tmp_path / "nan.json")}, InvalidConstruction, r"values\[1\]"),
        ({"preset": "none"}, ConfigError, "preset"),
        ({"budgte": "2m"}, ConfigError, "budget"),
        ({"mutators": ("none",)}, ConfigError, "mutators"),
        ({"sandbox": "jail"}, ConfigError, "sandbox to be 'docker', 'linux-strict', 'linux' or 'unsafe'"),
    ]
    for settings, kind, words in cases:
        with pytest.raises(kind, match=words):
            short(folder, tmp_path / "run", **settings)
        assert not (tmp_path / "run").exists()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    with pytest.raises(ConfigError, match="with files in it"):
        short(folder, tmp_path / "full")
    assert [path.name for path in (tmp_path / "full").iterdir()] == ["file"]


def test_a_second_run_into_the_same_folder_is_sent_to_resume(finished):
    with pytest.raises(ConfigError, match="evocore resume"):
        short(finished.run.parent / "flat", finished.run)


def test_an_emptied_ledger_is_not_taken_for_a_new_run(copied):
    run = copied()
    (run / "ledger.jsonl").write_bytes(b"")
    best = (run / "best.json").read_bytes()
    with pytest.raises(LedgerCorrupt, match="--start"):
        Run.resume(run, budget="1m")
    assert (run / "best.json").read_bytes() == best


def test_a_problem_whose_scores_disagree_finds_nothing_that_counts(tmp_path):
    folder = written(tmp_path / "flat")
    source = (folder / "problem.py").read_text()
    (folder / "problem.py").write_text(source.replace("ExactResult(max", "ExactResult(2 * max"))
    result = short(folder, tmp_path / "run", max_evaluations=2, target=5.0)
    assert (result.best_file, result.target_reached, result.exit_code) == (None, False, 1)
    found = [e.data for e in read_ledger(result.run / "ledger.jsonl") if e.kind in ("discovery", "construction")]
    assert found
    assert all(data["quarantined"] for data in found)
    report = (result.run / "report.md").read_text()
    assert "nothing that counts found" in report
    assert "disagreement: the arena score" in report


POISON = """
import numpy as np


def optimize(problem, start, seed, deadline, offer):
    x = np.array(start)
    offer(x / x.max() * 2.78e-161)
    offer(x)
    return x / x.max() * 2.78e-161
"""


def test_underflow_is_no_discovery(tmp_path):
    program = tmp_path / "poison.py"
    program.write_text(POISON)
    slug = "first-autocorrelation-inequality"
    settings = {"program": (str(program),), "max_evaluations": 2, "target": 1.28}
    result = short(slug, tmp_path / "run", **settings)
    assert (result.target_reached, result.exit_code) == (False, 1)
    found = [e.data for e in read_ledger(result.run / "ledger.jsonl") if e.kind == "discovery"]
    assert any(data["quarantined"] for data in found)
    assert all(data["quarantined"] == bool(data["alarms"]) for data in found)
    assert result.arena_score > 1.5


def test_an_untrue_start_is_refused(tmp_path):
    start = tmp_path / "start.json"
    start.write_text(json.dumps({"values": [3.3e-162] * 100}))
    with pytest.raises(InvalidConstruction, match=r"alarm (impossible|underflow)"):
        short("first-autocorrelation-inequality", tmp_path / "run", start=str(start))
    assert not (tmp_path / "run").exists()
