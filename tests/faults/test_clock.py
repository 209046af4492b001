"""Step the wall clock by hours while a run goes on: budgets run on the monotonic clock, and nothing else minds."""

import itertools
import os
import random
import shutil
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest

from evocore.ledger import read_ledger

HOUR = 3600
BUDGET_SECONDS = 12.0


@pytest.fixture(scope="module")
def clock(tmp_path_factory):
    """Give what starts processes under a wall clock of their own, and steps it."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None or sys.platform != "linux":
        pytest.skip("stepping the clock of one process takes Linux and a C compiler")
    folder = tmp_path_factory.mktemp("clock")
    library, file = folder / "clock.so", folder / "shift"
    source = Path(__file__).parent / "clock.c"
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", library, source], check=True)

    def step(hours):
        with open(file, "r+b" if file.exists() else "wb") as stream:
            stream.write(struct.pack("<q", hours * HOUR))

    step(0)
    step.environment = {**os.environ, "LD_PRELOAD": str(library), "EVOCORE_TEST_CLOCK": str(file)}
    return step


def test_the_clock_of_a_process_really_steps(clock):
    clock(5)
    program = "import time; print(time.time(), time.monotonic())"
    done = subprocess.run([sys.executable, "-c", program], env=clock.environment, capture_output=True, check=True)
    wall, monotonic = map(float, done.stdout.split())
    assert wall - time.time() == pytest.approx(5 * HOUR, abs=60)
    assert time.monotonic() - monotonic < 60


def test_a_run_minds_no_step_of_the_wall_clock(tmp_path, faults, clock):
    rng, ledger = random.Random(4), tmp_path / "run" / "ledger.jsonl"
    clock(0)
    with faults.started(tmp_path, BUDGET_SECONDS, env=clock.environment) as process:
        faults.grown(process, ledger, 3)
        begun = time.monotonic()
        while process.poll() is None:
            clock(rng.choice([-30, -2, 0, 1, 26]))
            time.sleep(0.1)
        seconds = time.monotonic() - begun
        stderr = process.stderr.read()
    assert process.returncode == 0, stderr
    assert seconds < BUDGET_SECONDS + 100
    best = faults.check_end(tmp_path / "run")
    events = read_ledger(ledger)
    assert min(b.time - a.time for a, b in itertools.pairwise(events)) < -HOUR
    assert_on_one_clock(events, BUDGET_SECONDS)
    # and a session that begins a day before the one that it follows
    clock(-24)
    resumed = faults.launch(["resume", tmp_path / "run", "--budget", "3s"], tmp_path, env=clock.environment)
    _, stderr = resumed.communicate(timeout=240)
    assert resumed.returncode == 0, stderr
    assert faults.check_end(tmp_path / "run") <= best
    assert_on_one_clock(read_ledger(ledger), BUDGET_SECONDS + 100)


def assert_on_one_clock(events, most_seconds):
    """What the run counts its time by goes on, and by no hours."""
    last = [event.data["elapsed"] for event in events if "elapsed" in event.data]
    assert all(b - a > -1.0 for a, b in itertools.pairwise(last))
    assert BUDGET_SECONDS - 2 < last[-1] < most_seconds + 100
