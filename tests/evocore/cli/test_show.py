"""`evocore show` on a run that really was: while it works, at its end, killed, moved, and broken."""

import json
import os
import pty
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

EVOCORE = Path(sys.executable).with_name("evocore")


def show(*arguments, cwd):
    return subprocess.run(
        [EVOCORE, "show", *map(str, arguments)], cwd=cwd, capture_output=True, text=True, timeout=60, check=False
    )


def has_found_something(run):
    ledger = run / "ledger.jsonl"
    return ledger.exists() and b'"kind":"discovery"' in ledger.read_bytes()


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    """A run that was shown while it worked and then killed; and what was shown."""
    folder = tmp_path_factory.mktemp("runs")
    run = folder / "run"
    command = [EVOCORE, "run", "erdos-min-overlap", "--budget", "10m", "--seed", "3", "--out", run, "--quiet"]
    process = subprocess.Popen(command, cwd=folder, start_new_session=True)
    try:
        give_up = time.monotonic() + 60
        while not has_found_something(run):
            assert process.poll() is None
            assert time.monotonic() < give_up
            time.sleep(0.05)
        while_running = json.loads(show(run, "--json", cwd=folder).stdout)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    return run, while_running


def test_a_run_that_works_is_shown_as_running(killed):
    _, while_running = killed
    assert while_running["status"] == "running"
    assert while_running["best"]["arena_score"] < 0.5


def test_a_killed_run_is_shown_with_what_it_had_and_how_to_go_on(killed):
    run, while_running = killed
    shown = show(run, cwd=run.parent)
    assert shown.returncode == 0, shown.stderr
    assert "stopped after" in shown.stdout
    lines = shown.stdout.splitlines()
    assert any(line.endswith(f"evocore resume {run}") for line in lines)  # not wrapped: this is no terminal
    assert lines == [line.rstrip() for line in lines]
    told = json.loads(show(run, "--json", cwd=run.parent).stdout)
    assert told["status"] == "stopped"
    assert told["best"]["arena_score"] <= while_running["best"]["arena_score"]
    assert (run / told["best"]["file"]).is_file()


def test_a_moved_run_is_shown_from_where_it_is(killed, tmp_path):
    run, _ = killed
    moved = shutil.copytree(run, tmp_path / "elsewhere")
    before, after = (json.loads(show(path, "--json", cwd=tmp_path).stdout) for path in (run, moved))
    assert after.pop("run") == str(moved)
    assert before.pop("run") == str(run)
    assert after == before


def test_a_broken_ledger_is_one_line_with_its_place(killed, tmp_path):
    run, _ = killed
    broken = shutil.copytree(run, tmp_path / "broken")
    lines = (broken / "ledger.jsonl").read_text().splitlines(keepends=True)
    (broken / "ledger.jsonl").write_text("".join(lines[:2] + lines[3:]))
    shown = show(broken, cwd=tmp_path)
    assert shown.returncode == 3
    assert shown.stdout == ""
    (line,) = shown.stderr.splitlines()
    assert f"line 3 of {broken}/ledger.jsonl" in line


def test_what_is_no_run_is_one_line(tmp_path):
    for arguments in (["nowhere"], ["."], []):
        shown = show(*arguments, cwd=tmp_path)
        assert shown.returncode == 2
        assert len(shown.stderr.splitlines()) == 1


def test_the_table_fits_a_narrow_terminal(killed):
    run, _ = killed
    leader, follower = pty.openpty()
    environment = {**os.environ, "COLUMNS": "80", "TERM": "xterm"}
    with open(follower, "wb") as stream:
        process = subprocess.Popen([EVOCORE, "show", "run"], cwd=run.parent, stdout=stream, env=environment)
    text = b""
    while True:
        try:
            text += os.read(leader, 65536)
        except OSError:  # the command has closed its end
            break
    os.close(leader)
    assert process.wait(60) == 0
    assert b"Haugland 2016" in text


def test_what_the_problem_says_of_its_best_is_shown(tmp_path):
    made = subprocess.run(
        [
            EVOCORE,
            "run",
            "second-autocorrelation-inequality",
            "--budget",
            "8s",
            "--seed",
            "1",
            "--out",
            "run",
            "--quiet",
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert made.returncode == 0, made.stderr
    told = json.loads(show("run", "--json", cwd=tmp_path).stdout)
    lost = float(told["diagnosis"][0].split("= ")[1].split(";")[0])
    assert lost == pytest.approx(1.0 - told["best"]["arena_score"], abs=1e-6)
    shown = show("run", cwd=tmp_path)
    assert "\n".join(told["diagnosis"]) in shown.stdout
    best = tmp_path / "run" / told["best"]["file"]
    for content in ("not JSON", '{"values": "none"}', '{"values": [0, 0]}'):
        best.write_text(content)
        assert json.loads(show("run", "--json", cwd=tmp_path).stdout)["diagnosis"] == []
    best.unlink()
    assert json.loads(show("run", "--json", cwd=tmp_path).stdout)["diagnosis"] == []


def test_a_problem_that_says_nothing_adds_nothing(killed):
    run, _ = killed
    assert json.loads(show(run, "--json", cwd=run.parent).stdout)["diagnosis"] == []
