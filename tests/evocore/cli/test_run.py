"""`evocore run` and `evocore resume` from the outside: the last JSON line, exit codes, signals, bad input."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from evocore.cli.main import main
from evocore.config import RunConfig
from evocore.ledger import read_ledger

EVOCORE = Path(sys.executable).with_name("evocore")
PROBLEM = "third-autocorrelation-inequality"


def evocore(*arguments, cwd):
    return subprocess.run(
        [EVOCORE, *map(str, arguments)], cwd=cwd, capture_output=True, text=True, timeout=120, check=False
    )


def wait_for(ledger, kind, process):
    """Wait until a run has recorded an event of a kind."""
    give_up = time.monotonic() + 60
    while not (ledger.exists() and f'"kind":"{kind}"'.encode() in ledger.read_bytes()):
        assert process.poll() is None
        assert time.monotonic() < give_up
        time.sleep(0.02)


def begin(run, *arguments):
    command = [EVOCORE, "run", PROBLEM, "--budget", "5m", "--out", run, "--quiet", *arguments]
    return subprocess.Popen(command, cwd=run.parent, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.fixture(scope="module")
def short(tmp_path_factory):
    """A run of some seconds, called as a user would."""
    folder = tmp_path_factory.mktemp("short")
    (folder / "settings.toml").write_text('budget = "9m"\ntask_seconds = 0.5\nmax_evaluations = 2\n')
    result = evocore("run", PROBLEM, "--config", "settings.toml", "--budget", "1m", "--seed", "4", "--json", cwd=folder)
    return folder, result


def test_the_last_line_is_one_object_with_what_was_found(short):
    folder, result = short
    assert result.returncode == 0, result.stderr
    told = json.loads(result.stdout.splitlines()[-1])
    assert len(result.stdout.splitlines()) == 1
    assert {"run", "problem", "best", "evaluations", "hand_ins", "seconds"} <= told.keys()
    assert told["problem"] == PROBLEM
    assert told["evaluations"] >= 2
    assert Path(told["run"]).parent == folder / "evocore-runs"
    best = json.loads(Path(told["best"]["file"]).read_text())
    verified = evocore("verify", PROBLEM, told["best"]["file"], "--json", cwd=folder)
    verdict = json.loads(verified.stdout)
    assert verdict["arena_score"] == told["best"]["arena_score"]
    assert verdict["exact_score"] == told["best"]["exact_score"]
    assert best.keys() == {"values"}


def test_options_win_over_the_settings_file_and_both_are_kept(short):
    _, result = short
    run = Path(json.loads(result.stdout.splitlines()[-1])["run"])
    config = (run / "config.toml").read_text()
    assert "budget_seconds = 60.0" in config
    assert "task_seconds = 0.5" in config
    assert "seed = 4" in config


def test_ctrl_c_ends_in_order_with_everything_saved(tmp_path):
    run = tmp_path / "run"
    process = begin(run)
    wait_for(run / "ledger.jsonl", "discovery", process)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 0, stderr
    events = read_ledger(run / "ledger.jsonl")
    assert (events[-1].kind, events[-1].data["reason"]) == ("end", "interrupted")
    for name in ("best.json", "verdict.json", "report.md", "report.png", "winners/lineage.md"):
        assert (run / name).exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_an_interrupt_before_anything_was_found_is_130(tmp_path, number):
    run = tmp_path / "run"
    process = begin(run)
    wait_for(run / "ledger.jsonl", "run", process)
    process.send_signal(number)
    _, stderr = process.communicate(timeout=60)
    found = any(event.kind == "discovery" for event in read_ledger(run / "ledger.jsonl"))
    assert process.returncode == (0 if found else 130), stderr
    assert read_ledger(run / "ledger.jsonl")[-1].data["reason"] == "interrupted"


def test_a_second_ctrl_c_quits_at_once_and_the_run_can_go_on(tmp_path):
    run = tmp_path / "run"
    process = begin(run)
    wait_for(run / "ledger.jsonl", "run", process)
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGINT)
    while process.poll() is None:
        process.send_signal(signal.SIGINT)
        time.sleep(0.01)
    _, stderr = process.communicate()
    assert process.returncode in (0, 130)
    if process.returncode == 130:
        assert stderr.splitlines() == [f"evocore: quit at once; the run is in {run}, go on: evocore resume {run}"]
    read_ledger(run / "ledger.jsonl")
    config = RunConfig.from_toml(run / "config.toml").changed(max_evaluations=1)
    (run / "config.toml").write_text(config.to_toml())
    resumed = evocore("resume", run, "--json", cwd=tmp_path)
    assert resumed.returncode == 0, resumed.stderr
    assert json.loads(resumed.stdout)["best"]["arena_score"] > 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run", "erdos-min-overlop"], ["erdos-min-overlap"]),
        (["run"], ["problem"]),
        (["run", PROBLEM, "--budget", "0"], ["above zero", "2m"]),
        (["run", PROBLEM, "--budget", "soon"], ["2m"]),
        (["run", PROBLEM, "--budget", "-5m"], ["2m"]),
        (["run", PROBLEM, "--target", "nan"], ["target"]),
        (["run", PROBLEM, "--islands", "0"], ["islands"]),
        (["run", PROBLEM, "--preset", "mylo"], ["milo"]),
        (["run", PROBLEM, "--config", "none.toml"], ["none.toml: expected a file, found none"]),
        (["run", PROBLEM, "--config", "wrong.toml"], ["'island'", "islands", "wrong.toml"]),
        (["run", PROBLEM, "--config", "broken.toml"], ["expected TOML", "broken.toml"]),
        (["run", PROBLEM, "--program", "none.py"], ["none.py"]),
        (["run", PROBLEM, "--start", "wrong.toml"], ["expected JSON", "wrong.toml"]),
        (["run", PROBLEM, "--config", "/dev/zero"], ["/dev/zero: expected a file, got a device"]),
        (["run", PROBLEM, "--program", "/dev/zero"], ["/dev/zero: expected a file, got a device"]),
        (["run", PROBLEM, "--start", "."], ["expected a file, got a directory"]),
        (["run", PROBLEM, "--start", "huge"], ["huge: expected a file of at most 64 MiB"]),
        (["run", PROBLEM, "--program", "huge"], ["huge: expected a file of at most 1 MiB"]),
        (["run", PROBLEM, "--config", "huge"], ["huge: expected a file of at most 1 MiB"]),
        (["resume", "nowhere"], ["nowhere"]),
        (["resume", "."], ["run directory"]),
    ],
)
def test_bad_input_is_one_line_and_leaves_nothing(tmp_path, arguments, words):
    (tmp_path / "wrong.toml").write_text("island = 3\n")
    (tmp_path / "broken.toml").write_text("islands = \n")
    with open(tmp_path / "huge", "wb") as file:
        file.truncate(2 << 30)
    before = sorted(os.listdir(tmp_path))
    result = evocore(*arguments, cwd=tmp_path)
    assert result.returncode == 2, result.stderr
    told = result.stderr.strip().splitlines()
    assert len(told) == 1, result.stderr
    assert told[0].startswith("evocore: ")
    for word in words:
        assert word in told[0]
    assert sorted(os.listdir(tmp_path)) == before


def test_a_run_inside_its_problems_folder_is_refused(problem_folder, tmp_path, monkeypatch, capsys):
    shutil.copy(problem_folder / "problem.py", tmp_path)  # alone: other tests leave programs beside it
    monkeypatch.chdir(tmp_path)
    assert main(["run", ".", "--budget", "1s"]) == 2
    assert "expected a run outside the problem's folder" in capsys.readouterr().err
    assert not (tmp_path / "evocore-runs").exists()
