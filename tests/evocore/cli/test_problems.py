import json

import pytest

from evocore import problem, problems
from evocore.cli.main import main


def test_the_list_names_every_problem(capsys):
    assert main(["problems"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(problems())
    assert "minimize" in lines[0]


def test_the_list_as_json(capsys):
    assert main(["problems", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [p["problem"] for p in found] == list(problems())
    assert found[0]["best"]["score"] == problem(found[0]["problem"]).best_reference.score


@pytest.mark.parametrize("slug", problems())
def test_one_in_full(capsys, slug):
    assert main(["problems", slug]) == 0
    told = capsys.readouterr().out
    one = problem(slug)
    assert one.statement.strip() in told
    assert f'"{one.schema_key}"' in told
    assert repr(one.target) in told
    positions = [told.index(r.source) for r in sorted(one.references, key=lambda r: r.score)]
    assert positions == sorted(positions, reverse=one.direction == "maximize")


def test_one_in_full_as_json(capsys):
    assert main(["problems", "erdos-min-overlap", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["schema"]["required"] == ["values"]
    assert found["references"][0]["score"] == found["best"]["score"]
    assert found["min_improvement"] == 1e-7


def test_a_problem_of_ones_own(capsys, tmp_path):
    (tmp_path / "problem.py").write_text(
        "from fractions import Fraction\n"
        "from evocore.problems import ExactResult, Problem\n"
        "class Own(Problem):\n"
        "    slug, title, statement, direction, target = 'own', 'Own', 'Make it small.', 'minimize', 0.0\n"
        "    def score(self, x): return float(x[0])\n"
        "    def exact(self, x): return ExactResult(Fraction(float(x[0])))\n"
        "problem = Own()\n"
    )
    assert main(["problems", str(tmp_path)]) == 0
    told = capsys.readouterr().out
    assert "Make it small." in told
    assert "References: none" in told


def test_an_unknown_problem_is_one_line(capsys):
    assert main(["problems", "erdos"]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith('evocore: expected the name of a problem or a folder, got "erdos"; did you mean erdos-')
    assert told.err.count("\n") == 1
