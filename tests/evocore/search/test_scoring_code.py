"""What decides the scores may not change under a run: not before it goes on, not in its middle, not at its end."""

import os
import signal
from pathlib import Path

import pytest

from evocore.config import RunConfig
from evocore.errors import InfrastructureError
from evocore.ledger import read_ledger
from evocore.search.inputs import check_scoring_code
from evocore.search.loop import Run
from evocore.search.rundir import RunDir
from evocore.verifiers import Verifier
from evocore.verifiers.digest import total

FOLDER = """
from fractions import Fraction
from evocore.problems.base import ExactResult, Problem
from .table import WEIGHT


class Mean(Problem):
    slug = "weighted-mean"
    title = "A mean"
    statement = "Give positive numbers; the score is their mean."
    direction = "minimize"
    target = 0.0
    max_length, default_size = 50, 8

    def score(self, x):
        return float(WEIGHT * sum(x) / len(x))

    def exact(self, x):
        return ExactResult(WEIGHT * sum(map(Fraction, x.tolist()), Fraction(0)) / len(x))


problem = Mean()
"""
PROGRAM = "def optimize(problem, start, seed, deadline, offer):\n    offer(start / 2)\n    return start / 4\n"


@pytest.fixture
def folder(tmp_path):
    """A problem's folder with a table beside it, and one program."""
    folder = tmp_path / "weighted"
    (folder / "optimizers").mkdir(parents=True)
    (folder / "problem.py").write_text(FOLDER)
    (folder / "table.py").write_text("WEIGHT = 1\n")
    (folder / "optimizers" / "halve.py").write_text(PROGRAM)
    return folder


def begun(folder, out, **settings):
    settings = {"budget": "1h", "task_seconds": 0.2, "chain_slots": 0, "max_evaluations": 3, **settings}
    return Run.create(RunConfig.create({"problem": str(folder), **settings}), out=out)


def on_first_discovery(run, act):
    """Have something done in the middle of the run: when its first discovery has been recorded."""
    record = run.journal.record

    def recorded(kind, data, *, sync=False):
        seq = record(kind, data, sync=sync)
        if kind == "discovery" and not done:
            done.append(seq)
            act()
        return seq

    done = []
    run.journal.record = recorded


def edit(folder):
    table = folder / "table.py"
    before = table.read_text()
    table.write_text("WEIGHT = 1  # or 2\n")
    return lambda: table.write_text(before)


def test_the_ledger_tells_every_file_that_the_run_began_with(folder, tmp_path):
    run = begun(folder, tmp_path / "run")
    run.go()
    data = read_ledger(tmp_path / "run" / "ledger.jsonl")[0].data
    assert total(data["verifier_parts"]) == data["verifier_digest"]
    assert {"weighted-mean/table.py", "weighted-mean/problem.py", "numpy", "python"} <= data["verifier_parts"].keys()


def test_a_resumed_run_says_which_file_has_changed(folder, tmp_path):
    begun(folder, tmp_path / "run").go()
    undo = edit(folder)
    for _ in range(2):
        with pytest.raises(InfrastructureError, match=r"changed: weighted-mean/table\.py; undo the change.*--start"):
            Run.resume(tmp_path / "run", budget="1h")
    undo()
    assert Run.resume(tmp_path / "run", budget="1h").go().evaluations >= 3


def test_a_verifier_that_dies_over_a_changed_file_ends_the_run_and_what_was_found_is_kept(folder, tmp_path):
    run = begun(folder, tmp_path / "run")
    on_first_discovery(run, lambda: (edit(folder), os.kill(run._verifier.pid, signal.SIGKILL)))
    with pytest.raises(InfrastructureError, match=r"finds changed: weighted-mean/table\.py; .*evocore resume"):
        run.go()
    events = read_ledger(tmp_path / "run" / "ledger.jsonl")
    assert {event.kind for event in events if event.kind in ("discovery", "end")} == {"discovery"}


def test_a_run_whose_file_changed_on_the_way_is_not_called_checked(folder, tmp_path):
    """The process that scores has loaded what the run began with; the fresh one that checks the winner has not."""
    undo = []
    run = begun(folder, tmp_path / "run")
    on_first_discovery(run, lambda: undo.append(edit(folder)))
    with pytest.raises(InfrastructureError, match=r"changed: weighted-mean/table\.py; undo the change"):
        run.go()
    undo[0]()
    assert Run.resume(tmp_path / "run").go().best_file == Path(tmp_path / "run" / "best.json")


def test_a_run_of_a_time_when_no_files_were_noted_is_told_by_its_digest(folder, tmp_path):
    rundir = RunDir(tmp_path / "run")
    with Verifier(folder) as verifier, pytest.raises(InfrastructureError, match="changed: nobody noted which"):
        check_scoring_code({"verifier_digest": "0" * 64}, verifier, rundir)
