import json
import subprocess
import sys

import pytest

from evocore.cli.main import main

ERDOS = "erdos-min-overlap"


@pytest.fixture
def best(tmp_path):
    file = tmp_path / "best.json"
    file.write_text(json.dumps({"values": [0.25, 0.75, 0.5]}))
    return file


def test_the_file_stands_beside_the_construction_and_runs(best, capsys):
    assert main(["certify", ERDOS, str(best)]) == 0
    (proof,) = best.parent.glob("*.certificate.py")
    assert proof.name == "best.certificate.py"
    assert f"python3 {proof}" in capsys.readouterr().out
    said = subprocess.run([sys.executable, "-I", "-S", proof], capture_output=True, text=True, check=True).stdout
    assert said.startswith("true")
    assert sorted(p.name for p in best.parent.iterdir()) == ["best.certificate.py", "best.json"]


def test_nothing_is_written_over(best, capsys):
    proof = best.with_name("best.certificate.py")
    proof.write_text("mine")
    assert main(["certify", ERDOS, str(best)]) == 2
    assert "choose another with --out" in capsys.readouterr().err
    assert proof.read_text() == "mine"
    other = best.with_name("other.py")
    assert main(["certify", ERDOS, str(best), "--out", str(other), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"certificate": str(other)}


@pytest.mark.parametrize(
    ("content", "message"),
    [('{"values": [2, 3]}', "expected a valid construction"), ("{", "JSON"), ('{"values": []}', "1 to 100000 values")],
)
def test_a_wrong_file_is_one_line_and_leaves_nothing(tmp_path, capsys, content, message):
    file = tmp_path / "wrong.json"
    file.write_text(content)
    assert main(["certify", ERDOS, str(file)]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"evocore: {file}: ")
    assert message in said
    assert said.count("\n") == 1
    assert [p.name for p in tmp_path.iterdir()] == ["wrong.json"]


def test_standard_input_needs_a_name(capsys):
    assert main(["certify", ERDOS, "-"]) == 2
    assert "--out FILE" in capsys.readouterr().err
