import contextlib
import io
import json
import os
import signal
import subprocess
import sys
from fractions import Fraction

import pytest

from evocore.cli import main as cli
from evocore.cli.main import COMMANDS, main
from evocore.cli.verify import read, report
from evocore.errors import InputError
from evocore.verifiers import Standing, Verdict

THIRD = "third-autocorrelation-inequality"
FIRST = "first-autocorrelation-inequality"


@pytest.fixture
def write(tmp_path):
    """`write(text or bytes or object, name)`: a file with that in it."""

    def one(content, name="x.json"):
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        (tmp_path / name).write_bytes(data)
        return str(tmp_path / name)

    return one


def test_a_valid_construction(capsys, write):
    assert main(["verify", THIRD, write({"values": [1, 1, 1]})]) == 0
    told = capsys.readouterr()
    assert told.err == ""
    lines = dict(line.strip().split("  ", 1) for line in told.out.splitlines()[1:])
    assert told.out.startswith(THIRD + "\n")
    assert lines["valid"].strip() == "yes"
    assert lines["arena score"].strip() == "2.0"
    assert lines["exact score"].strip().startswith("2.0000000000000000000 = 2 / 1")
    assert "no: " in lines["first place"]


def test_json_has_the_documented_keys(capsys, write):
    assert main(["verify", THIRD, write({"solution": {"values": [1, 1, 1]}, "source": "x"}), "--json"]) == 0
    told = capsys.readouterr().out
    assert told.count("\n") == 1
    found = json.loads(told)
    assert (found["problem"], found["valid"], found["reasons"]) == (THIRD, True, [])
    assert (found["arena_score"], found["exact_score"], found["first_place"]) == (2.0, "2/1", False)
    assert {"alarms", "verifier_digest", "standing", "construction_sha256"} <= found.keys()
    assert found["file"].endswith("x.json")


def test_a_negative_verdict_is_exit_code_1(capsys, write):
    assert main(["verify", FIRST, write({"values": [1, -1, 1]})]) == 1
    assert "values[1]" in capsys.readouterr().out
    assert main(["verify", FIRST, write({"values": [1, -1, 1]}), "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert (found["valid"], found["exact_score"]) == (False, None)
    assert found["reasons"]


def test_standard_input(capsys, monkeypatch, tmp_path):
    with open(tmp_path / "in", "w+") as file:
        file.write('{"values": [1, 1]}')
        file.seek(0)
        monkeypatch.setattr(sys, "stdin", file)
        assert main(["verify", THIRD, "-"]) == 0
    assert "yes" in capsys.readouterr().out


BAD = [
    (b"", "the input is empty"),
    (b"values: 1", "expected JSON, got 'values: 1'"),
    (b"\x89PNG\r\n", "byte 0x89 at offset 0"),
    (b"[1]", "got a list"),
    (b'{"value": [1]}', 'expected the key "values", got the key "value"'),
    (b'{"values": [[1], [2]]}', "number at values[0], got a list"),
    (b'{"values": {"a": 1}}', "list of numbers at values, got an object"),
    (b'{"values": [1, NaN]}', "finite number at values[1], got nan"),
    (b'{"values": [1, 1, -Infinity]}', "finite number at values[2], got -inf"),
    (b'{"values": [1e999]}', "finite number at values[0], got inf"),
    (b'{"values": [1, "1"]}', 'number at values[1], got the string "1"'),
    (b'{"values": [1, null]}', "number at values[1], got null"),
    (b'{"values": []}', "got 0"),
    (b'{"values": [' + b"1," * 100_000 + b"1]}", "expected 1 to 100000 values at values, got 100001"),
    (b'{"values": [1], "values": [1]}', '"values" twice'),
    (b"[" * 10**5, "nested too deep"),
    (b"[" * 10**6, "expected at most 100000 values, got a text with 1000000 commas and opening brackets"),
    (b'{"values": [1]', "the end of the input"),
]


def test_bad_files_are_one_line_each_and_the_others_are_judged(capsys, write):
    files = [write(content, f"{i}.json") for i, (content, _) in enumerate(BAD)]
    good = write({"values": [1, 1]}, "good.json")
    assert main(["verify", THIRD, *files, good]) == 2
    told = capsys.readouterr()
    lines = told.err.splitlines()
    assert len(lines) == len(BAD)
    for line, file, (_, message) in zip(lines, files, BAD, strict=True):
        assert line.startswith(f"evocore: {file}: expected")
        assert message in line
    assert f"{THIRD}  {good}" in told.out


def test_several_files_as_json_are_a_line_each(capsys, write):
    files = [write({"values": [1, 1]}, "a"), write({"values": [1, -1]}, "b"), write(b"", "c")]
    assert main(["verify", FIRST, *files, "--json"]) == 2
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [f["file"] for f in found] == files
    assert [f.get("valid") for f in found] == [True, False, None]
    assert "empty" in found[2]["error"]
    assert main(["verify", FIRST, *files[:2], "--json"]) == 1


def test_files_that_cannot_be_read(capsys, write, tmp_path):
    with open(tmp_path / "huge", "wb") as file:
        file.truncate(2 << 30)  # sparse: 2 GiB that take no room
    cases = {
        str(tmp_path / "none.json"): "expected a file, found none of that name",
        str(tmp_path): "expected a file, got a directory",
        str(tmp_path / "huge"): "expected a file of at most 64 MiB, got 2,147,483,648 bytes",
        "/dev/zero": "expected a file, got a device",
        write({}) + "/x": "Not a directory",
        "a\0b": "null byte",
        "/proc/self/mem": "Input/output error",
    }
    assert main(["verify", THIRD, *cases]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == len(cases)
    for line, (file, message) in zip(lines, cases.items(), strict=True):
        assert line.startswith(f"evocore: {file}: expected")
        assert message in line


def test_a_file_without_permission(write):
    file = write({"values": [1]})
    os.chmod(file, 0)
    user = os.geteuid()
    if user == 0:
        os.chmod(os.path.dirname(file), 0o755)
        os.seteuid(65534)  # root may read anything
    try:
        with pytest.raises(InputError, match="Permission denied"):
            read(file)
    finally:
        os.seteuid(user)


def test_a_fifo_is_refused_without_waiting_for_a_writer(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(InputError, match="expected a file, got a pipe"):
        read(str(tmp_path / "fifo"))


def test_one_file_that_cannot_be_read_is_an_object_with_the_keys_of_several(capsys, write):
    assert main(["verify", THIRD, write(b""), "--json"]) == 2
    one = json.loads(capsys.readouterr().out)
    assert main(["verify", THIRD, write(b""), write({"values": [1]}, "good"), "--json"]) == 2
    assert one == json.loads(capsys.readouterr().out.splitlines()[0])
    assert one.keys() == {"file", "error", "problem"}
    assert one["problem"] == THIRD


def test_a_closed_standard_input_is_one_sentence():
    command = f'"{sys.executable}" -P -m evocore.cli.main verify {THIRD} - <&-'
    told = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=60, check=False)
    assert (told.returncode, told.stdout) == (2, "")
    assert told.stderr == "evocore: -: expected a construction on standard input, which is closed\n"


@pytest.mark.parametrize(
    ("rank", "n", "words"),
    [(6, 5, "6, behind all 5"), (1, 5, "1, of 5 references none is better"), (3, 5, "3, behind 2 of 5 references")],
)
def test_the_rank_says_how_many_are_better(rank, n, words):
    assert words in report(verdict(standing=Standing(rank, n, "Ann", 0.5, -0.1, 0.25)))


def test_unknown_problems(capsys, write, tmp_path):
    file = write({"values": [1]})
    assert main(["verify", "third-autocorelation", file]) == 2
    assert "did you mean third-autocorrelation-inequality" in capsys.readouterr().err
    assert main(["verify", str(tmp_path / "none"), file]) == 2
    assert "no folder" in capsys.readouterr().err


def test_a_problem_of_ones_own_works_like_a_built_in_one(capsys, tmp_path, write, monkeypatch):
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "problem.py").write_text(
        "from fractions import Fraction\n"
        "from evocore.problems import ExactResult, Problem\n"
        "class Own(Problem):\n"
        "    slug, title, statement, direction, target = 'own', 'Own', 'Make it small.', 'minimize', 0.0\n"
        "    schema_key = 'numbers'\n"
        "    def score(self, x): return float(x.sum())\n"
        "    def exact(self, x):\n"
        "        if x[0] == 7: raise ArithmeticError('sevens\\nare not supported')\n"
        "        return ExactResult(sum(map(Fraction, x.tolist())))\n"
        "problem = Own()\n"
    )
    monkeypatch.chdir(tmp_path)
    assert main(["verify", "./own", write({"numbers": [0.5, 0.25]}), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["exact_score"] == "3/4"
    # Its own defect: no verdict, one line, exit code 3.
    assert main(["verify", "own/", write({"numbers": [7.0]})]) == 3
    told = capsys.readouterr()
    assert told.out == ""
    assert "ArithmeticError: sevens are not supported" in told.err
    assert told.err.count("\n") == 1


# ---- what people read -----------------------------------------------------------------------------------------------


def verdict(**changes):
    standing = Standing(1, 2, "Ann", 0.5, 0.125, 0.25)
    fields = dict(problem="p", valid=True, reasons=(), arena_valid=True, arena_score=0.375, exact_score=Fraction(3, 8))
    fields |= dict(alarms=(), extras={}, first_place=False, standing=standing, construction_sha256="c", seconds=0.0)
    return Verdict(**{**fields, "verifier_digest": "d", **changes})


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"first_place": True}, "yes: 0.125 ahead, 0.25 is asked for"),
        ({}, "no: only 0.125 ahead, 0.25 is asked for"),
        ({"standing": Standing(2, 2, "Ann", 0.5, -0.125, 0.25)}, "no: 0.125 behind, and 0.25 ahead is asked for"),
        ({"standing": Standing(1, 2, "Ann", 0.5, 0.3, 0.25)}, "but the arena's float would not be accepted"),
        ({"standing": Standing(None, 2, "Ann", 0.5, None, 0.25)}, "none; best of 2 references: Ann 0.5"),
        ({"standing": None}, "the problem has no references"),
        ({"alarms": ("scale: a", "leap: b")}, "alarms        scale: a\n                leap: b"),
        ({"valid": False, "reasons": ("one", "two")}, "no\n                one\n                two"),
        ({"extras": {"sup of |f*f|": "1.5"}}, "sup of |f*f|  1.5"),
        ({"exact_score": None}, "exact score   none"),
        ({"exact_score": Fraction(1, 3)}, "0.33333333333333333333... = 1 / 3"),
        ({"exact_score": Fraction(10**30, 10**30 + 1)}, "10000000...00000000 (31 digits) / 10000000...00000001 (31"),
    ],
)
def test_the_report_says_it_in_words(changes, expected):
    assert expected in report(verdict(**changes))


# ---- the command itself ---------------------------------------------------------------------------------------------


def test_version_and_help(capsys):
    from evocore import __version__

    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"evocore {__version__}\n"
    assert main(["--help"]) == 0
    told = capsys.readouterr().out
    for name in ("verify", "problems"):
        assert f"  {name} " in told
        assert COMMANDS[name] in told
    assert main([]) == 2
    assert "Usage: evocore" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["verfy"], 'expected a command, got "verfy"; did you mean verify?; see evocore --help'),
        (["nonsense"], "commands: "),
        (["verify"], "see evocore verify --help"),
        (["verify", THIRD], "see evocore verify --help"),
        (["verify", THIRD, "x", "--jsn"], "--jsn"),
        (["--nonsense"], "--nonsense"),
    ],
)
def test_usage_errors_are_one_line_and_exit_code_2(capsys, words, message):
    assert main(words) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("evocore: ")
    assert message in told.err
    assert told.err.count("\n") == 1


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(capsys, name):
    assert main([name, "--help"]) == 0
    assert f"Usage: evocore {name}" in capsys.readouterr().out


def start(*words, **options):
    code = "import sys; from evocore.cli.main import main; sys.exit(main())"
    return subprocess.Popen([sys.executable, "-c", code, *words], stderr=subprocess.PIPE, text=True, **options)


def test_help_loads_neither_numbers_nor_commands():
    code = "import sys; from evocore.cli.main import main; main(['--help']); print(*sys.modules)"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd="/")
    assert not {"numpy", "rich", "matplotlib", "evocore.cli.verify"} & set(told.stdout.splitlines()[-1].split())


def test_ctrl_c_is_one_line_and_exit_code_130():
    with start("verify", THIRD, "-", stdin=subprocess.PIPE) as process:
        # More than a pipe holds: writing it returns once the command reads.
        process.stdin.write("[" + "1, " * 100_000)
        process.stdin.flush()
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
        assert process.stderr.read() == "evocore: interrupted\n"
        process.stdin.close()


def test_a_reader_that_goes_away_is_no_error(write):
    with start("problems", THIRD, stdout=subprocess.PIPE) as process:
        process.stdout.close()
        assert process.wait(60) == 141
        assert process.stderr.read() == ""


def test_a_defect_is_one_line_without_a_traceback(capsys, monkeypatch):
    monkeypatch.setattr(cli, "_run", lambda words: 1 // 0)
    assert main(["verify"]) == 3
    told = capsys.readouterr().err
    assert told.startswith("evocore: a defect of evocore: ZeroDivisionError")
    assert told.count("\n") == 1
    with pytest.raises(ZeroDivisionError):
        main(["--traceback", "verify"])


def test_output_that_cannot_be_written_is_one_line(write):
    with open("/dev/full", "w") as full, contextlib.closing(io.StringIO()), start("problems", stdout=full) as process:
        assert process.wait(60) == 3
        assert process.stderr.read() == "evocore: No space left on device\n"
