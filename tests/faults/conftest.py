"""What the tests of faults share: starting runs, telling their processes apart, and what must hold after any fault."""

import hashlib
import json
import shutil
import signal
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import pytest

from evocore.ledger import read_ledger
from evocore.search.history import History
from evocore.verifiers.verdict import exact_from_wire

HERE = Path(__file__).parent
SETTINGS = """
problem = "third-autocorrelation-inequality"
budget_seconds = {budget}
task_seconds = 0.3
epoch_seconds = 2.0
seed = 11
"""
PATIENCE_SECONDS = 120.0


def launch(arguments, folder, **environment):
    """Start `evocore`, quietly; its stderr can be read."""
    command = [sys.executable, "-P", "-m", "evocore.cli.main", *map(str, arguments), "--quiet"]
    return subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True, **environment)


def started(folder, budget, extra="", **environment):
    """Start a run of the usual settings, and others if need be, in `folder/run`."""
    settings = folder / "settings.toml"
    settings.write_text(SETTINGS.format(budget=budget) + extra)
    return launch(["run", "--config", settings, "--out", folder / "run"], folder, **environment)


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


def still_there(processes_then, seconds=10.0):
    """Those that are not gone after a while: they may need a moment to notice."""
    end = time.monotonic() + seconds
    while (left := processes_then & processes().keys()) and time.monotonic() < end:
        time.sleep(0.05)
    return left


def of_role(role, controller):
    """Processes of a controller: its verifiers, its runners, or the candidates, the last below the runners."""
    parents = processes()
    children = {one for one, parent in parents.items() if parent == controller}
    named = {"verifier": "evocore.verifiers", "runner": "evocore.sandbox.runner"}
    if role != "candidate":
        return {one for one in children if named[role] in _command(one[0])}
    runners = {one[0] for one in children if named["runner"] in _command(one[0])}
    below = set().union(*map(descendants, runners))
    return {one for one in below if one[0] not in parents.values()}


def _command(pid):
    try:
        return (Path("/proc") / str(pid) / "cmdline").read_text().replace("\0", " ")
    except OSError:
        return ""


def n_lines(ledger):
    """How many whole lines a ledger has; 0 where there is none."""
    return ledger.read_bytes().count(b"\n") if ledger.exists() else 0


def wait_for(condition, process=None, seconds=PATIENCE_SECONDS):
    """Wait until a condition holds; tells whether it does before the process, if one is given, has ended."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        if process is not None and process.poll() is not None:
            return False
        time.sleep(0.01)
    raise AssertionError(f"waited {seconds:g} seconds in vain")


def grown(process, ledger, n_events):
    """Wait until a ledger has grown by so many lines; False where the process ended before."""
    before = n_lines(ledger)
    return wait_for(lambda: n_lines(ledger) >= before + n_events, process)


def kill_controller(process, ledger, n_events, delay):
    """Kill a controller once the ledger has grown by so many lines, and a moment later; nothing may survive."""
    grown(process, ledger, n_events)
    try:
        process.wait(timeout=delay)
    except subprocess.TimeoutExpired:
        left = descendants(process.pid)
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert not still_there(left)


def check(run):
    """Check what must hold after any fault; returns the best exact score so far, or None."""
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


def check_end(run):
    """Check a run that came to its end: the best is verified and reported; returns its exact score."""
    best = check(run)
    assert best is not None
    verdict = json.loads((run / "verdict.json").read_text())
    assert verdict["valid"]
    assert Fraction(verdict["exact_score"]) == best
    assert (run / "report.png").stat().st_size > 0
    assert (run / "winners" / "lineage.md").exists()
    return best


def one_line(stderr, *words):
    """Check that what went wrong is said in one line, with these words in it."""
    told = [line for line in stderr.splitlines() if line.startswith("evocore: ")]
    assert len(told) == 1, stderr
    assert "Traceback" not in stderr
    for word in words:
        assert word in told[0]


def counted(arguments, folder, **environment):
    """Start a run in which nothing depends on how fast the machine is: see counted.py."""
    command = [sys.executable, "-P", str(HERE / "counted.py"), *map(str, arguments)]
    return subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True, **environment)


def calls(run):
    """The attempts that counted runs have begun in a run directory, one key a try, in order."""
    return (run / "attempts.log").read_text().split()


def story(run):
    """A ledger without what time and interruptions leave in it: events are named by their places, not by numbers."""
    told, places = [], {}
    for event in read_ledger(run / "ledger.jsonl"):
        if event.kind in ("session", "note"):
            continue
        data = {name: value for name, value in event.data.items() if name not in ("elapsed", "version", "python")}
        for name in ("parent", "co_parent", "root"):
            if data.get(name) is not None:
                data[name] = places[data[name]]
        text = json.dumps(data, sort_keys=True)
        for seq, place in places.items():
            text = text.replace(f"node {seq} ", f"node {place} ").replace(f'node {seq}"', f'node {place}"')
        places[event.seq] = f"#{len(told)}"
        told.append(f"{event.kind} {text}")
    return told


@pytest.fixture(scope="session")
def faults():
    """Give the tools."""
    return SimpleNamespace(
        **{
            one.__name__: one
            for one in (
                launch, started, descendants, still_there, of_role, n_lines, wait_for, grown, kill_controller, check,
                check_end, one_line, counted, calls, story,
            )
        }
    )  # fmt: skip


@pytest.fixture(scope="session")
def whole(tmp_path_factory):
    """One counted run that nothing disturbs; not to be changed."""
    folder = tmp_path_factory.mktemp("whole")
    process = counted(["run", folder / "run"], folder)
    _, stderr = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 0, stderr
    return folder / "run"


@pytest.fixture
def copy_of_whole(whole, tmp_path):
    """A copy of that run, to be spoilt."""
    return shutil.copytree(whole, tmp_path / "run")
