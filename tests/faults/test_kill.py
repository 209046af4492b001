"""Kill the controller at random moments and go on: nothing verified is lost, nothing finished is done again."""

import hashlib
import json
import random
import shutil
import signal
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path

import pytest

from evocore.ledger import read_ledger
from evocore.search.history import History
from evocore.verifiers.verdict import exact_from_wire

SETTINGS = """
problem = "third-autocorrelation-inequality"
budget_seconds = {budget}
task_seconds = 0.3
epoch_seconds = 2.0
seed = 11
"""


def launch(arguments, folder):
    command = [sys.executable, "-P", "-m", "evocore.cli.main", *arguments, "--quiet"]
    return subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True)


def processes():
    """All processes that run: (pid, start time) to the parent's pid; zombies left out."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if fields[0] != "Z":
                found[int(entry.name), fields[19]] = int(fields[1])
    return found


def descendants(pid):
    """Processes below one, whatever session or group they are in."""
    parents = processes()
    found, level = set(), {pid}
    while level:
        below = {one for one, parent in parents.items() if parent in level}
        found |= below
        level = {one[0] for one in below}
    return found


def still_there(started, seconds=10.0):
    """Those that are not gone after a while: they may need a moment to notice."""
    end = time.monotonic() + seconds
    while (left := started & processes().keys()) and time.monotonic() < end:
        time.sleep(0.05)
    return left


def check(run):
    """Check what must hold after any kill; returns the best exact score so far, or None."""
    events = read_ledger(run / "ledger.jsonl")
    keys = [event.data["key"] for event in events if event.kind == "evaluation"]
    assert len(keys) == len(set(keys))
    best = None
    for event in events:
        if event.kind != "discovery":
            continue
        content = (run / event.data["file"]).read_bytes()
        assert hashlib.sha256(content).hexdigest() == event.data["sha"]
        exact = exact_from_wire(event.data["exact_hex"])
        if best is None or exact < best:
            best = exact
    history = History("minimize")
    for event in events:
        history.apply(event)
    assert (history.best.exact if history.best else None) == best
    for event in events:
        if event.kind == "program":
            content = (run / event.data["file"]).read_bytes()
            assert hashlib.sha256(content).hexdigest() == event.data["sha"]
    return best


def kill_after(process, ledger, n_events, delay):
    """Kill a controller once the ledger has grown by so many lines, and a random moment later; nothing may survive."""
    before = ledger.read_bytes().count(b"\n") if ledger.exists() else 0
    end = time.monotonic() + 60.0
    while process.poll() is None and time.monotonic() < end:
        if ledger.exists() and ledger.read_bytes().count(b"\n") >= before + n_events:
            break
        time.sleep(0.01)
    try:
        process.wait(timeout=delay)
    except subprocess.TimeoutExpired:
        started = descendants(process.pid)
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert not still_there(started)


def killed_and_resumed(folder, kills, budget, seed):
    rng = random.Random(seed)
    settings = folder / "settings.toml"
    settings.write_text(SETTINGS.format(budget=budget))
    run, best, events = folder / "run", None, []
    for _ in range(kills):
        is_there = (run / "ledger.jsonl").exists()
        arguments = ["resume", str(run)] if is_there else ["run", "--config", str(settings), "--out", str(run)]
        with launch(arguments, folder) as process:
            kill_after(process, run / "ledger.jsonl", rng.randrange(12), rng.uniform(0.0, 0.5))
            stderr = process.stderr.read()
        assert process.returncode in (0, -signal.SIGKILL) or "--budget" in stderr, stderr
        if not (run / "ledger.jsonl").exists():
            # killed before there was a run: what lies there is no run, and a new one wants an empty folder
            shutil.rmtree(run, ignore_errors=True)
            continue
        now = check(run)
        assert best is None or (now is not None and now <= best)
        later = read_ledger(run / "ledger.jsonl")
        assert later[: len(events)] == events
        best, events = now, later
    return run, best


def finish(run, best):
    process = launch(["resume", str(run), "--budget", "2s"], run.parent)
    _, stderr = process.communicate(timeout=120)
    assert process.returncode == 0, stderr
    last = check(run)
    assert last is not None
    assert best is None or last <= best
    verdict = json.loads((run / "verdict.json").read_text())
    assert verdict["valid"]
    assert Fraction(verdict["exact_score"]) == last
    assert (run / "report.png").stat().st_size > 0
    assert (run / "winners" / "lineage.md").exists()


def test_ten_kills(tmp_path):
    finish(*killed_and_resumed(tmp_path, kills=10, budget=6.0, seed=1))


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("seed", range(10))
def test_a_hundred_kills(tmp_path, seed):
    finish(*killed_and_resumed(tmp_path, kills=10, budget=6.0, seed=100 + seed))
