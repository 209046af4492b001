"""Kill the controller at random moments and go on: nothing verified is lost, nothing finished is done again."""

import contextlib
import datetime
import random
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from evocore.ledger import read_ledger

HERE = Path(__file__).parent
LONG = HERE / "LONG.md"
HEAD = """# The last long run of tests/faults

Written by `make long`, a row a seed; a row of the same clean commit is not run again, so that a run that is broken off
goes on where it was. Each kill is a SIGKILL to the controller at a random moment, and a resume; checked after each:
every discovery is there with its file, no evaluation twice, no process left; at the end a fresh verifier agrees on the
best.

| seed | kills | seconds | outcome | date | commit |
|---:|---:|---:|---|---|---|
"""
N_SEEDS, N_KILLS = 20, 10


def killed_and_resumed(faults, folder, kills, budget, seed):
    """Kill a run so often; returns how often it was alive to be killed, its directory and its best score."""
    rng = random.Random(seed)
    run, best, events, n_killed = folder / "run", None, [], 0
    for _ in range(kills):
        if (run / "ledger.jsonl").exists():
            # with time on top: on a slow machine the sessions before may have used theirs up
            process = faults.launch(["resume", run, "--budget", f"{budget}s"], folder)
        else:
            process = faults.started(folder, budget)
        with process:
            faults.kill_controller(process, run / "ledger.jsonl", rng.randrange(12), rng.uniform(0.0, 0.5))
            stderr = process.stderr.read()
        assert process.returncode in (0, -signal.SIGKILL), stderr
        n_killed += process.returncode == -signal.SIGKILL
        if not (run / "ledger.jsonl").exists():
            # killed before there was a run: what lies there is no run, and a new one wants an empty folder
            shutil.rmtree(run, ignore_errors=True)
            continue
        now = faults.check(run)
        assert best is None or (now is not None and now <= best)
        later = read_ledger(run / "ledger.jsonl")
        assert later[: len(events)] == events
        best, events = now, later
    return n_killed, run, best


def finish(faults, run, best):
    process = faults.launch(["resume", run, "--budget", "20s"], run.parent)
    faults.grown(process, run / "ledger.jsonl", 5)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=120)
    assert process.returncode == 0, stderr
    last = faults.check_end(run)
    assert best is None or last <= best


def test_ten_kills(tmp_path, faults):
    n_killed, run, best = killed_and_resumed(faults, tmp_path, kills=10, budget=60.0, seed=1)
    assert n_killed > 5
    finish(faults, run, best)


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("seed", range(100, 100 + N_SEEDS))
def test_two_hundred_kills(tmp_path, faults, seed):
    commit = this_commit()
    if row_of(seed, commit):
        pytest.skip(f"done at this commit: {LONG.name}")
    with written_down(seed, commit) as kills:
        n_killed, run, best = killed_and_resumed(faults, tmp_path, kills=N_KILLS, budget=60.0, seed=seed)
        kills.append(n_killed)
        assert n_killed > N_KILLS // 2
        finish(faults, run, best)


# ---- the record of the long run -----------------------------------------------------------------------------------


def git(*arguments):
    done = subprocess.run(["git", *arguments], cwd=HERE, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else None


def this_commit():
    """The commit, with a plus where something but the record differs from it; "unknown" outside of a clone."""
    commit = git("rev-parse", "--short", "HEAD")
    if not commit:
        return "unknown"
    return commit + ("+" if git("status", "--porcelain", ":/", f":!{LONG.name}") else "")


def rows():
    """The record's rows by seed, each a list of its fields."""
    if not LONG.exists():
        return {}
    lines = [line.strip("| ").split(" | ") for line in LONG.read_text().splitlines() if line.startswith("| ")][1:]
    return {int(fields[0]): fields for fields in lines}


def row_of(seed, commit):
    fields = rows().get(seed)
    return fields is not None and "+" not in commit and commit in fields[5:] and fields[3] == "passed"


@contextlib.contextmanager
def written_down(seed, commit):
    """Write a seed's row when it is over, however it ends; gives a list for the number of kills."""
    kills, begun = [], time.monotonic()
    outcome = "broken off"
    try:
        yield kills
        outcome = "passed"
    except Exception as error:
        outcome = f"failed: {type(error).__name__}: {' '.join(str(error).split())[:80]}".replace("|", "/")
        raise
    finally:
        today = datetime.datetime.now(datetime.UTC).date().isoformat()
        found = rows()
        found[seed] = [str(seed), str(sum(kills)), f"{time.monotonic() - begun:.0f}", outcome, today, commit]
        fresh = LONG.with_suffix(".part")
        fresh.write_text(HEAD + "".join(f"| {' | '.join(found[one])} |\n" for one in sorted(found)))
        fresh.replace(LONG)
