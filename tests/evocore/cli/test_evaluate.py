"""The command `evaluate`, on a problem of one's own."""

import json
import signal
import subprocess
import sys
from fractions import Fraction

import pytest

from evocore.cli.evaluate import read_seeds
from evocore.cli.main import main
from evocore.errors import ConfigError, InputError
from evocore.tasks import evaluate_program

HALVE = """
def optimize(problem, start, seed, deadline, offer):
    offer(start / 2)
    return start / (4 + seed)
"""


@pytest.fixture
def program(tmp_path):
    file = tmp_path / "halve.py"
    file.write_text(HALVE)
    return file


@pytest.fixture
def start(tmp_path):
    file = tmp_path / "start.json"
    file.write_text('{"values": [1.0, 3.0]}')
    return file


def test_json(program, start, problem_folder, capsys):
    words = ["--k", "2", "--seeds", "4", "--budget", "2s", "--start", str(start), "--json"]
    assert main(["evaluate", str(program), str(problem_folder), *words]) == 0
    printed, talk = capsys.readouterr()
    told = json.loads(printed)
    assert told["problem"] == "smallest-sum"
    assert len(told["verifier_digest"]) == 64
    assert [t["kind"] for t in told["tasks"]] == ["cold", "warm"]
    warm = told["tasks"][1]
    assert (warm["start_exact"], warm["target"], warm["budget_seconds"]) == ("4/1", 0.5, 2.0)
    assert [a["seed"] for a in warm["attempts"]] == [4, 5]
    assert [Fraction(a["exact_score"]) for a in warm["attempts"]] == [Fraction(1, 2), Fraction(1 / 9) + Fraction(3 / 9)]
    assert [a["gain"] for a in warm["attempts"]] == [1.0, 1.0]
    assert {a["status"] for t in told["tasks"] for a in t["attempts"]} == {"ok"}
    assert [m["threshold"] for m in told["metrics"]] == [0.9, 1.0]
    assert told["metrics"][0]["k"] == 2
    assert told["metrics"][0]["pass_at_k"]["value"] in (0.5, 1.0)
    assert "warm seed 5: ok, gain 1.0000" in talk


def test_report(program, problem_folder, capsys):
    assert (
        main(["evaluate", str(program), str(problem_folder), "--tasks", "cold", "--seeds", "1,7", "--budget", "2s"])
        == 0
    )
    printed, _ = capsys.readouterr()
    lines = printed.splitlines()
    assert lines[0].split()[:4] == ["task", "seed", "status", "gain"]
    assert [line.split()[:3] for line in lines[1:3]] == [["cold", "1", "ok"], ["cold", "7", "ok"]]
    assert "cold start: random numbers, seed 0" in printed
    assert "pass@2 (gain >= 0.9)" in printed


def test_the_last_lines_that_a_program_wrote_are_shown(tmp_path, problem_folder, capsys):
    file = tmp_path / "talks.py"
    file.write_text(HALVE.replace("    return", "    offer('x')\n    return"))
    assert main(["evaluate", str(file), str(problem_folder), "--tasks", "cold", "--k", "1", "--budget", "2s"]) == 0
    said = [line for line in capsys.readouterr().out.splitlines() if " said: " in line]
    assert len(said) == 1
    assert said[0].startswith("cold seed 0 said: hand-in refused: ")


def test_no_improvement_is_exit_code_1(tmp_path, problem_folder, capsys):
    file = tmp_path / "fails.py"
    file.write_text("def optimize(problem, start, seed, deadline, offer):\n    raise ValueError('oh')\n")
    assert main(["evaluate", str(file), str(problem_folder), "--tasks", "cold", "--k", "1", "--budget", "1s"]) == 1
    printed = capsys.readouterr().out
    assert "crash" in printed
    assert "ValueError: oh (program.py, line 2)" in printed


def test_ctrl_c_ends_it_at_once(tmp_path, problem_folder):
    file = tmp_path / "hangs.py"
    file.write_text("import time\ndef optimize(problem, start, seed, deadline, offer):\n    time.sleep(999)\n")
    command = [sys.executable, "-P", "-m", "evocore.cli.main", "evaluate", str(file), str(problem_folder)]
    with subprocess.Popen([*command, "--tasks", "cold", "--budget", "500s"], stderr=subprocess.PIPE, text=True) as run:
        assert run.stderr is not None
        assert run.stderr.readline().startswith("3 attempts of 500 s")
        run.send_signal(signal.SIGINT)
        assert run.wait(60) == 130
        assert run.stderr.read() == "evocore: interrupted\n"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"def optimize(", "line 1: not valid Python"),
        (b"x = 1", "expected def optimize(problem, start, seed, deadline, offer) at module level, found none"),
        (b"\xff\xfe", "UTF-8"),
        (b"x = '\0'", "not valid Python"),
        (b"def optimize(a): pass", "got def optimize(a)"),
        (b"#" * (1 << 20) + b"#", "at most 1 MiB"),
    ],
    ids=range(6),
)
def test_what_is_no_program_is_bad_input(tmp_path, problem_folder, capsys, content, message):
    file = tmp_path / "bad.py"
    file.write_bytes(content)
    assert main(["evaluate", str(file), str(problem_folder)]) == 2
    told = capsys.readouterr().err
    assert message in told
    assert "bad.py" in told
    assert told.count("\n") == 1


def test_bad_words_are_bad_input(program, tmp_path, problem_folder, capsys):
    for words, message in [
        (["missing.py", "x"], "missing.py: expected a file, found none"),
        ([str(tmp_path), "x"], "expected a file, got a directory"),
        ([str(program), "erdos"], "expected the name of a problem"),
        ([str(program), str(problem_folder), "--tasks", "hot"], "cold, warm or both"),
        ([str(program), str(problem_folder), "--budget", "0"], "budget above zero"),
        ([str(program), str(problem_folder), "--k", "0"], "--k of at least 1"),
        ([str(program), str(problem_folder), "--seeds", "one"], "whole numbers"),
        ([str(program), str(problem_folder), "--start", str(program)], "expected JSON"),
        ([str(program), str(problem_folder), "--start", "missing.json"], "missing.json"),
    ]:
        assert main(["evaluate", *words]) == 2
        assert message in capsys.readouterr().err


def test_seeds():
    assert read_seeds("0", None) == [0, 1, 2]
    assert read_seeds("7", 2) == [7, 8]
    assert read_seeds("3,5", 2) == read_seeds("3,5", None) == [3, 5]
    for text, k in (("3,5", 3), ("-1", 1), ("1,1", None), ("", None), (str(2**63), 1)):
        with pytest.raises(ConfigError):
            read_seeds(text, k)


def test_starts_are_read_as_verify_reads_them(program, start, problem_folder, capsys, monkeypatch):
    monkeypatch.chdir(start.parent)
    words = [str(program), str(problem_folder), "--tasks", "warm", "--k", "1", "--budget", "1s", "--start", str(start)]
    start.write_text('{"solution": {"values": [1.0, 3.0]}, "source": "a paper"}')
    assert main(["evaluate", *words]) == 0
    start.write_text('{"solution": {"values": [1.0, "3"]}}')
    for command in (["evaluate", *words], ["run", str(problem_folder), "--start", str(start)]):
        capsys.readouterr()
        assert main(command) == 2
        told = capsys.readouterr().err
        assert told.startswith("evocore: start.json: expected")
        assert "values[1]" in told


def test_a_broken_optimizer_of_the_problem_is_bad_input(program, problem_folder, capsys, monkeypatch):
    optimizers = problem_folder / "optimizers"
    optimizers.mkdir(exist_ok=True)
    (optimizers / "syntax.py").write_text("def optimize(\n")
    monkeypatch.chdir(problem_folder.parent)
    name = problem_folder.name
    for command in (["evaluate", str(program), f"./{name}", "--tasks", "warm"], ["run", f"./{name}"]):
        assert main(command) == 2
        told = capsys.readouterr().err
        assert f"{name}/optimizers/syntax.py: expected" in told
        assert "line 1" in told


def test_a_start_that_is_not_valid_is_refused(problem_folder):
    with pytest.raises(InputError, match="positive"):
        evaluate_program(HALVE, str(problem_folder), kinds=["warm"], start={"values": [1.0, -1.0]}, budget_seconds=1.0)
