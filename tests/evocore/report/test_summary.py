"""What a run directory tells: read back from a ledger with every kind of event that the report uses."""

import io
import itertools
import json

import numpy as np
import pytest
from rich.console import Console

from evocore.config import RunConfig
from evocore.errors import InputError, LedgerCorrupt
from evocore.ledger import Ledger, write_file
from evocore.problems import problem
from evocore.report.summary import passed, read_summary
from evocore.report.text import final_table, headline, markdown, standing, write_report
from evocore.search.rundir import RunDir
from evocore.verifiers.verdict import exact_to_wire

SLUG = "erdos-min-overlap"
FLAT = np.full(8, 0.5)  # scores 1/2
HILL = np.array([0, 0.5, 0.75, 0.75, 0.75, 0.75, 0.5, 0])  # scores 13/32


def discover(run, x, program, start, elapsed):
    p = problem(SLUG)
    sha = run.save_construction(p.payload(x))
    return {
        "sha": sha,
        "file": run.construction_file(sha),
        "arena_score": p.score(x),
        "exact_hex": exact_to_wire(p.exact(x).value),
        "size": len(x),
        "descriptor": p.descriptor(x).tolist(),
        "program": program,
        "start": start,
        "source": "chain hop.py",
        "quarantined": False,
        "first_place": False,
        "elapsed": elapsed,
    }


@pytest.fixture
def events():
    """A run of two programs: the second one, a child of the first, found the best construction."""

    def write(path, *, ended=True):
        run = RunDir.create(SLUG, path)
        write_file(run.config, RunConfig.create({"problem": SLUG, "budget": "2m", "seed": 5}).to_toml().encode())
        first, second = run.save_program("def optimize(): 1\n"), run.save_program("def optimize(): 2\n")
        ledger = Ledger.create(run.ledger, clock=itertools.count(1_700_000_000).__next__)
        one = discover(run, FLAT, first, None, 3.0)
        two = discover(run, HILL, second, one["sha"], 61.5)
        scored = {"task": "t", "attempt": 0, "seconds_to_best": 1.0, "peak_memory": 1, "status": "ok", "trace": []}
        scored |= {"hand_ins": 1000, "best": None, "start": None}
        node = {
            "round": 1,
            "island": 1,
            "co_parent": None,
            "fitness": [0.5],
            "gains": [],
            "admitted": True,
            "verdict": "ok",
        }
        for kind, data in [
            ("run", {"problem": SLUG, "seed": 5, "verifier_digest": "abc", "plan": {}}),
            ("program", {"sha": first, "file": run.program_file(first), "origin": "melt.py"}),
            ("program", {"sha": second, "file": run.program_file(second), "origin": "child", "title": "hop.py"}),
            ("task", {"hash": "t", "name": "cold", "task_kind": "cold", "role": "search", "epoch": 0}),
            ("epoch", {"number": 0, "search": ["t"], "reserve": [], "validation": []}),
            ("island", {"number": 1, "mutator": "grammar-tune", "origin": "start"}),
            ("evaluation", {**scored, "key": "k1", "sha": first, "accuracy": 0.25}),
            ("node", {**node, "sha": first, "parent": None, "operator": "seed", "description": "melt.py"}),
            ("discovery", one),
            ("evaluation", {**scored, "key": "k2", "sha": second, "accuracy": 0.75}),
            ("node", {**node, "sha": second, "parent": 7, "operator": "grammar-tune", "description": "BETA 1 -> 2"}),
            ("discovery", two),
            *([("end", {"reason": "time", "elapsed": 120.0})] if ended else []),
        ]:
            ledger.append(kind, {"elapsed": 0.0, **data})
        return run, ledger

    return write


def test_a_finished_run_is_told_in_full(events, tmp_path):
    run, ledger = events(tmp_path / "run")
    ledger.close()
    summary = read_summary(run.path)
    assert summary.status == "finished"
    assert (summary.budget_seconds, summary.elapsed_seconds, summary.seed) == (120.0, 120.0, 5)
    assert summary.best.arena_score == 13 / 32
    assert summary.best.found_seconds == 61.5
    assert summary.trace == ((3.0, 0.5), (61.5, 13 / 32))
    assert (summary.evaluations, summary.hand_ins, summary.programs) == (2, 2000, 2)
    assert [one.best_accuracy for one in summary.islands] == [0.75]
    assert [step.title for step in summary.lineage] == ["hop.py", "melt.py"]
    assert [step.title for step in summary.path_of_construction] == ["melt.py", "hop.py"]
    assert all(r.passed_seconds is None for r in summary.references)
    assert headline(summary) == f"{problem(SLUG).title}: 0.4062500000, finished after 2:00 (the time is up)"
    assert standing(summary).startswith(f"beats 0 of {len(problem(SLUG).references)} published values, 2.5e-02")


def test_a_run_is_running_while_its_ledger_is_held_and_stopped_after(events, tmp_path):
    run, ledger = events(tmp_path / "run", ended=False)
    assert read_summary(run.path).status == "running"
    ledger.close()
    assert read_summary(run.path).status == "stopped"
    with Ledger.open(run.ledger):
        assert read_summary(run.path).status == "running"


def test_published_values_are_marked_from_the_moment_they_were_passed():
    p = problem(SLUG)
    worst, *others = sorted((r.score for r in p.references), reverse=True)
    trace = ((3.0, 0.5), (8.0, worst), (9.5, worst - 1e-9), (20.0, worst - 2e-9))
    rows = passed(p, trace)
    assert [r.score for r in rows] == [worst, *others]
    assert [r.passed_seconds for r in rows] == [9.5] + [None] * len(others)


def test_a_moved_directory_tells_the_same(events, tmp_path):
    run, ledger = events(tmp_path / "run")
    ledger.close()
    before = read_summary(run.path).to_json()
    moved = run.path.rename(tmp_path / "elsewhere")
    after = read_summary(moved).to_json()
    assert {**after, "run": before["run"]} == before
    assert json.loads(json.dumps(before)) == before


def test_the_report_is_written_and_its_links_resolve(events, tmp_path):
    run, ledger = events(tmp_path / "run")
    ledger.close()
    summary = write_report(run.path)
    text = (run.path / "report.md").read_text()
    assert text == markdown(summary)
    assert "`0.40625`" in text
    assert "`13/32`" in text
    assert "BETA 1 -> 2" in text
    assert (run.path / "report.png").read_bytes().startswith(b"\x89PNG")
    assert not list(run.path.glob(".*part"))
    for step in summary.lineage:
        assert (run.path / step.file).is_file()
        assert f"]({step.file})" in text


@pytest.mark.parametrize("width", [80, 120])
def test_the_final_table_fits(events, tmp_path, width):
    run, ledger = events(tmp_path / "run")
    ledger.close()
    console = Console(file=io.StringIO(), width=width)
    console.print(final_table(read_summary(run.path)))
    text = console.file.getvalue()
    assert max(map(len, text.splitlines())) <= width
    for words in ("finished after 2:00", "0.40625", "13/32", "Haugland 2016", "not yet", "grammar-tune", "0.7500"):
        assert words in text


def test_a_changed_ledger_is_told_with_its_line(events, tmp_path):
    run, ledger = events(tmp_path / "run")
    ledger.close()
    text = run.ledger.read_text()
    run.ledger.write_text(text.replace('"accuracy":0.25', '"accuracy":0.26'))
    with pytest.raises(LedgerCorrupt, match=r"line 7 of "):
        read_summary(run.path)


def test_a_torn_last_line_is_left_out(events, tmp_path):
    run, ledger = events(tmp_path / "run")
    ledger.close()
    whole = run.ledger.read_bytes()
    run.ledger.write_bytes(whole[:-9])
    summary = read_summary(run.path)
    assert summary.status == "stopped"
    assert summary.best.arena_score == 13 / 32
    assert run.ledger.read_bytes() == whole[:-9], "reading changes nothing"


def test_a_folder_without_a_run_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"ledger\.jsonl"):
        read_summary(tmp_path)
