"""A run that depends on no clock, broken off in every way there is: in the end its ledger tells the very same."""

import random
import signal

import pytest

SECONDS = 240


def finished(faults, run):
    process = faults.counted(["resume", run], run.parent)
    _, stderr = process.communicate(timeout=SECONDS)
    assert process.returncode == 0, stderr
    return faults.story(run)


def test_it_is_the_same_after_kills_and_moves(tmp_path, faults, whole):
    rng = random.Random(5)
    run, n_killed = tmp_path / "0" / "run", 0
    run.parent.mkdir()
    done = {}
    for number in range(4):
        is_there = (run / "ledger.jsonl").exists()
        with faults.counted(["resume" if is_there else "run", run], tmp_path) as process:
            faults.kill_controller(process, run / "ledger.jsonl", rng.randrange(5, 25), rng.uniform(0.0, 0.3))
            assert process.returncode in (0, -signal.SIGKILL), process.stderr.read()
        n_killed += process.returncode == -signal.SIGKILL
        faults.check(run)
        done[number] = (len(faults.calls(run)), keys(faults, run))
        # stopped, so it can be moved, the problem of its own with it or not
        moved = tmp_path / str(number + 1) / "run"
        moved.parent.mkdir()
        run = run.rename(moved)
    assert n_killed >= 1
    assert finished(faults, run) == faults.story(whole)
    attempts = faults.calls(run)
    for n_attempts, finished_then in done.values():
        assert not set(attempts[n_attempts:]) & finished_then
    assert keys(faults, run) == keys(faults, whole)


def keys(faults, run):
    """The keys of finished evaluations."""
    return {line.split('"key": "')[1][:64] for line in faults.story(run) if line.startswith("evaluation ")}


@pytest.mark.parametrize("seed", [1, 2])
def test_it_is_the_same_after_the_ledger_was_cut_anywhere(faults, whole, copy_of_whole, seed):
    ledger = copy_of_whole / "ledger.jsonl"
    content = ledger.read_bytes()
    cut = random.Random(seed).randrange(content.index(b'"kind":"epoch"'), len(content))
    ledger.write_bytes(content[:cut])
    assert finished(faults, copy_of_whole) == faults.story(whole)


def test_it_is_the_same_without_what_can_be_made_again(faults, whole, copy_of_whole):
    ledger = copy_of_whole / "ledger.jsonl"
    lines = ledger.read_bytes().splitlines(keepends=True)
    ledger.write_bytes(b"".join(lines[:-5]))
    for name in ("snapshots", "winners"):
        for file in (copy_of_whole / name).iterdir():
            file.unlink()
        (copy_of_whole / name).rmdir()
    for name in ("best.json", "verdict.json", "report.md", "report.png"):
        (copy_of_whole / name).unlink()
    assert finished(faults, copy_of_whole) == faults.story(whole)
    for name in ("best.json", "verdict.json", "report.md", "report.png", "winners/lineage.md"):
        assert (copy_of_whole / name).stat().st_size > 0
    assert (copy_of_whole / "best.json").read_bytes() == (whole / "best.json").read_bytes()


@pytest.mark.parametrize("folder", ["constructions", "programs"])
def test_what_cannot_be_made_again_is_named_and_goes_on_once_it_is_back(tmp_path, faults, whole, copy_of_whole, folder):
    ledger = copy_of_whole / "ledger.jsonl"
    lines = ledger.read_bytes().splitlines(keepends=True)
    ledger.write_bytes(b"".join(lines[:-12]))
    (copy_of_whole / folder).rename(tmp_path / "elsewhere")
    before = ledger.read_bytes()
    process = faults.launch(["resume", copy_of_whole, "--budget", "1m"], tmp_path)
    _, stderr = process.communicate(timeout=SECONDS)
    assert process.returncode == 3, stderr
    faults.one_line(stderr, f"{copy_of_whole}/{folder}", "no such file or directory")
    assert ledger.read_bytes().startswith(before)
    (tmp_path / "elsewhere").rename(copy_of_whole / folder)
    ledger.write_bytes(before)
    assert finished(faults, copy_of_whole) == faults.story(whole)


def test_a_folder_that_goes_while_a_run_writes_ends_it_in_order(tmp_path, faults, whole):
    run = tmp_path / "run"
    with faults.counted(["run", run], tmp_path) as process:
        faults.grown(process, run / "ledger.jsonl", 20)
        (run / "constructions").rename(tmp_path / "elsewhere")
        _, stderr = process.communicate(timeout=SECONDS)
    assert process.returncode != 0
    assert "no such file or directory" in stderr.splitlines()[-1]
    assert "evocore resume" in stderr.splitlines()[-1]
    (tmp_path / "elsewhere").rename(run / "constructions")
    assert finished(faults, run) == faults.story(whole)
