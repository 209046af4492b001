"""A disk that is full, a folder that cannot be written: one clear line, and nothing that was recorded is lost."""

import json
import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from evocore.config import RunConfig
from evocore.ledger import read_ledger

EVOCORE = Path(sys.executable).with_name("evocore")
PROBLEM = "third-autocorrelation-inequality"


def evocore(*arguments, cwd, file_bytes=None, **environment):
    """Run a command; with `file_bytes`, no file of it or of what it starts may grow beyond that."""

    def limit():
        if file_bytes is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (file_bytes, file_bytes))

    return subprocess.run(
        [EVOCORE, *map(str, arguments)],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        preexec_fn=limit,
        env={**os.environ, **environment},
    )


def one_line(result, code, *words):
    assert result.returncode == code, result.stderr
    told = [line for line in result.stderr.splitlines() if line.startswith("evocore: ")]
    assert len(told) == 1, result.stderr
    for word in words:
        assert word in told[0]


def one_more(run, cwd):
    """Let a run make one more evaluation."""
    config = RunConfig.from_toml(run / "config.toml").changed(max_evaluations=1)
    (run / "config.toml").write_text(config.to_toml())
    result = evocore("resume", run, "--json", cwd=cwd)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout.splitlines()[-1])


def goes_on(run, cwd):
    before = [event for event in read_ledger(run / "ledger.jsonl") if event.kind == "discovery"]
    told = one_more(run, cwd)
    after = [event for event in read_ledger(run / "ledger.jsonl") if event.kind == "discovery"]
    assert after[: len(before)] == before
    assert told["best"]["arena_score"] <= before[-1].data["arena_score"]


def test_a_ledger_that_cannot_grow_stops_the_run_in_order(tmp_path):
    run = tmp_path / "run"
    result = evocore("run", PROBLEM, "--budget", "1m", "--out", run, "--quiet", cwd=tmp_path, file_bytes=40_000)
    one_line(result, 3, "file too large", f"evocore resume {run}")
    assert any(event.kind == "discovery" for event in read_ledger(run / "ledger.jsonl"))
    assert not list(run.rglob("*.part"))
    goes_on(run, tmp_path)


@pytest.fixture
def mounted(tmp_path):
    """Mount a small file system; gives the function that does."""
    places = []

    def mount(options):
        place = tmp_path / f"disk{len(places)}"
        place.mkdir()
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", options, "tmpfs", place], capture_output=True, text=True, check=False
        )
        if done.returncode:
            pytest.skip(f"this machine does not let the tests mount a file system: {done.stderr.strip()}")
        places.append(place)
        return place

    yield mount
    for place in places:
        subprocess.run(["umount", place], check=True)


@pytest.mark.skipif(shutil.which("mount") is None or os.getuid() != 0, reason="mounting a file system needs root")
def test_a_full_disk_stops_the_run_in_order_and_room_lets_it_go_on(tmp_path, mounted):
    disk = mounted("size=160k")
    run = disk / "run"
    result = evocore("run", PROBLEM, "--budget", "1m", "--out", run, "--quiet", cwd=tmp_path)
    one_line(result, 3, "no space left on device", f"evocore resume {run}")
    assert any(event.kind == "discovery" for event in read_ledger(run / "ledger.jsonl"))
    subprocess.run(["mount", "-o", "remount,size=20m", disk], check=True)
    goes_on(run, tmp_path)


@pytest.mark.skipif(shutil.which("mount") is None or os.getuid() != 0, reason="mounting a file system needs root")
@pytest.mark.parametrize("pages", [4, 14, 60])
def test_a_disk_that_is_full_at_any_moment_loses_nothing(tmp_path, mounted, pages):
    disk = mounted(f"size={4 * pages}k")
    run = disk / "run"
    result = evocore("run", PROBLEM, "--budget", "1m", "--out", run, "--quiet", cwd=tmp_path)
    assert result.returncode in (2, 3)
    one_line(result, result.returncode, "no space left on device")
    assert not list(run.rglob("*.part"))
    subprocess.run(["mount", "-o", "remount,size=20m", disk], check=True)
    if result.returncode == 3:
        one_line(result, 3, f"evocore resume {run}")
        before = read_ledger(run / "ledger.jsonl")
        one_more(run, tmp_path)
        assert read_ledger(run / "ledger.jsonl")[: len(before)] == before


@pytest.mark.skipif(shutil.which("mount") is None or os.getuid() != 0, reason="mounting a file system needs root")
def test_a_full_temporary_folder_is_one_line_and_the_run_goes_on_with_another(tmp_path, mounted):
    disk = mounted("size=4k,nr_inodes=3")
    (disk / "full").touch()
    run = tmp_path / "run"
    result = evocore("run", PROBLEM, "--budget", "1m", "--out", run, "--quiet", cwd=tmp_path, TMPDIR=str(disk))
    one_line(result, 3, "space left on device", str(disk), f"evocore resume {run}")
    one_more(run, tmp_path)


@pytest.mark.skipif(shutil.which("mount") is None or os.getuid() != 0, reason="mounting a file system needs root")
def test_a_read_only_disk_is_bad_input_for_a_new_run_and_for_a_resume(tmp_path, mounted):
    disk = mounted("size=1m")
    (disk / "run").mkdir()
    (disk / "run" / "ledger.jsonl").touch()
    (disk / "run" / "config.toml").write_text(f'problem = "{PROBLEM}"\n')
    subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
    result = evocore("run", PROBLEM, "--out", disk / "new", cwd=tmp_path)
    one_line(result, 2, "read-only file system", "--out")
    one_line(evocore("resume", disk / "run", cwd=tmp_path), 2, "read-only file system")


def test_a_folder_in_a_place_of_a_file_is_bad_input(tmp_path):
    (tmp_path / "file").touch()
    result = evocore("run", PROBLEM, "--out", tmp_path / "file" / "run", cwd=tmp_path)
    one_line(result, 2, "not a directory", "--out")


@pytest.mark.skipif(os.getuid() == 0, reason="root may write anywhere")
def test_a_folder_without_permission_is_bad_input(tmp_path):
    (tmp_path / "closed").mkdir(mode=0o500)
    result = evocore("run", PROBLEM, "--out", tmp_path / "closed" / "run", cwd=tmp_path)
    one_line(result, 2, "permission denied", "--out")
