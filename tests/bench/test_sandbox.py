"""The sandbox benchmark's own judgement: what it calls survived, and what flat."""

import json
import subprocess
import sys

import pytest

from evocore.bench import bench_sandbox
from evocore.bench.bench_sandbox import FAULTS, HONEST, OURS, faults, is_flat, survives
from evocore.bench.sandbox_entrants import Answer, Ours, program


@pytest.mark.parametrize("letters", ["cg", "de", "h"])
def test_ours_survives(tmp_path, letters):
    assert faults((), sys.executable, tmp_path, letters) == {OURS: dict.fromkeys(letters, "")}


def test_an_evaluation_costs_something_and_scores(tmp_path):
    ours = Ours()
    try:
        answer = ours.evaluate(HONEST)
        assert answer.score == pytest.approx(6 * 3.5625 / 3.25**2)
        used = ours.cpu_seconds()
        ours.evaluate(program("import time\nwhile time.process_time() < 1.0:\n    pass"))
        assert ours.cpu_seconds() - used >= 0.9  # the program's own is among it, in whatever namespace it ran
        assert answer.seconds > 0
        assert ours.evaluate(program("raise ValueError")).score is None
    finally:
        ours.close()


class Naive:
    """An evaluator without any protection: runs programs in a process, and believes what they return."""

    limit_seconds = 4.0
    forgery = "forged"

    def __init__(self, folder):
        self.evaluator = folder / "scoring.py"
        self.evaluator.write_text("honest")

    def evaluate(self, source):
        command = [sys.executable, "-c", f"{source}\nprint(optimize()[1])"]
        out = self.evaluator.with_name("out")
        with out.open("w") as file:  # no pipe: a process that is left would hold it
            subprocess.run(command, stdout=file, check=True, timeout=120)
        return Answer(float(out.read_text()) + self.evaluator.read_text().count("forged"), 0.1, 0)


def test_what_is_not_survived_is_said(tmp_path):
    by_letter = {fault.letter: fault for fault in FAULTS}
    for letter, wrong in (
        ("d", "score 2.25, next honest program: 2.25, wrote outside, evaluator edited"),
        ("g", "score inf"),
        ("h", "process left"),
    ):
        folder = tmp_path / letter
        folder.mkdir()
        assert survives(by_letter[letter], Naive(folder), folder) == (False, wrong)


def test_flat_is_what_does_not_grow_after_the_first_quarter():
    first = {"evaluations": 0, "memory_kb": 10, "verifier_kb": 10, "descriptors": 1, "threads": 1, "processes": 1}
    warm = {**first, "evaluations": 25, "memory_kb": 1000, "verifier_kb": 100}
    last = {**warm, "evaluations": 100, "memory_kb": 1040}
    assert is_flat([first, warm, last])
    assert not is_flat([first, warm, {**last, "memory_kb": 1060}])
    assert not is_flat([first, warm, {**last, "descriptors": 2}])
    exchange = {**warm, "evaluations": 50, "descriptors": 2, "processes": 3}
    assert is_flat([first, warm, exchange, {**last, "descriptors": 2, "processes": 3}])
    assert not is_flat([first, warm, exchange, {**last, "descriptors": 3, "processes": 3}])


def test_missing_peers_are_named(capsys, monkeypatch):
    cost = {"version": "1", "cpu_ms": 9.0, "a_second": 99.0}
    monkeypatch.setattr(bench_sandbox, "costs", lambda *a, **k: {OURS: cost})
    told = {"n": 10, "a_second": 6000.0, "cpu_us": 150.0}
    monkeypatch.setattr(bench_sandbox, "hand_ins", lambda count: {"rejected": told, "exact": told})
    monkeypatch.setattr(bench_sandbox, "faults", lambda *a: {OURS: {"a": "", "b": "its memory grew"}})
    monkeypatch.setattr(bench_sandbox, "installed", lambda python: ["GEPA"])
    assert bench_sandbox.main([]) == 1
    told = capsys.readouterr().out
    assert "| 1 of 2: (b) its memory grew |" in told
    assert "Not installed: OpenEvolve, ShinkaEvolve; name an interpreter that has them with --peers." in told
    assert bench_sandbox.main(["--json"]) == 1
    assert json.loads(capsys.readouterr().out)["missing"] == ["OpenEvolve", "ShinkaEvolve"]
