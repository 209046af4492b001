import ast
import json
import re
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import evocore
from evocore.errors import InvalidConstruction, UnknownProblem

THIRD = "third-autocorrelation-inequality"


# ---- names ----------------------------------------------------------------------------------------------------------


def test_the_stub_names_what_the_package_names():
    stub = ast.parse(Path(evocore.__file__).with_suffix(".pyi").read_text())
    imported = {
        alias.asname: node.module for node in stub.body if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    assert imported.keys() == {*evocore.__all__, "__version__"}
    (stated,) = (node for node in stub.body if isinstance(node, ast.Assign))
    assert ast.literal_eval(stated.value) == evocore.__all__ == sorted(evocore.__all__)
    assert set(dir(evocore)) == {*evocore.__all__, "__version__"}


@pytest.mark.parametrize("name", evocore.__all__)
def test_names_load_on_first_use(name):
    found = getattr(evocore, name)
    assert callable(found)
    assert found is getattr(evocore, name)


def test_other_names_are_none():
    with pytest.raises(AttributeError, match="module 'evocore' has no attribute 'scores'"):
        _ = evocore.scores


def loaded(code):
    """Which modules a fresh interpreter has loaded after the code."""
    told = subprocess.run(
        [sys.executable, "-c", f"import sys\n{code}\nprint(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
        cwd="/",
    )
    return set(told.stdout.splitlines()[-1].split())


def test_importing_the_package_loads_nothing():
    new = loaded("import evocore") - loaded("import importlib")
    assert {name for name in new if not name.startswith("importlib")} == {"evocore", "evocore._version"}


def test_the_controllers_side_of_the_verifier_loads_no_numbers():
    code = f"import evocore\nwith evocore.Verifier('{THIRD}') as v: v.verify('{THIRD}', b'{{\"values\": [1, 1]}}')"
    assert not {"numpy", "scipy", "flint", "pydantic", "typer"} & loaded(code)


def test_the_process_loads_no_more_than_it_needs():
    with evocore.Verifier() as verifier:
        assert "scipy" not in verifier.parts
        assert {name for name in verifier.parts if name.startswith("evocore.")} <= {
            name
            for name in verifier.parts
            if re.match(r"evocore\.(errors|_version|verifiers|problems|kernels)\b", name)
        }


# ---- functions ------------------------------------------------------------------------------------------------------


def test_problems_is_the_list_and_the_package():
    names = evocore.problems()
    assert THIRD in names
    from evocore.problems.base import Problem

    assert evocore.problems() == names
    assert all(isinstance(evocore.problem(name), Problem) for name in names)


def test_score_is_the_arenas():
    assert evocore.score(THIRD, [1.0, 1.0, 1.0]) == 2.0
    assert evocore.score(THIRD, np.ones(3)) == 2.0
    assert evocore.score(THIRD, {"values": [1, 1, 1]}) == 2.0
    assert evocore.score(THIRD, '{"values": [1, 1, 1]}') == 2.0
    assert evocore.score(evocore.problem(THIRD), [1.0, 0.0]) == 4.0


def test_score_many_is_a_batch_of_score():
    batch = np.random.default_rng(0).random((5, 40))
    scores = evocore.score_many(THIRD, batch)
    assert scores.dtype == np.float64
    assert scores.tolist() == [evocore.score(THIRD, x) for x in batch]
    assert evocore.score_many(THIRD, [[1.0, 1.0], [1.0, 0.0, 0.0]]).tolist() == [2.0, 6.0]
    assert evocore.score_many(THIRD, []).shape == (0,)


def test_errors_say_what_and_where():
    with pytest.raises(UnknownProblem, match="did you mean third-autocorrelation-inequality"):
        evocore.score("third-autocorrelation-inequalit", [1.0])
    with pytest.raises(InvalidConstruction, match=r"values\[1\], got nan"):
        evocore.score(THIRD, [1.0, float("nan")])
    with pytest.raises(InvalidConstruction, match=r"construction 2: .*values\[0\], got inf"):
        evocore.score_many(THIRD, [[1.0], [2.0], [float("inf")]])


def test_verify_asks_a_process_of_its_own_or_the_one_given():
    verdict = evocore.verify(THIRD, {"values": [1, 1, 1]})
    assert (verdict.valid, verdict.exact_score) == (True, Fraction(2))
    assert len(verdict.verifier_digest) == 64
    with evocore.Verifier(THIRD) as verifier:
        again = evocore.verify(THIRD, np.ones(3), verifier)
        assert again.verifier_digest == verifier.digest == verdict.verifier_digest
        assert again.construction_sha256 == verdict.construction_sha256


def test_scores_in_process_and_in_the_process_agree(constructions):
    values = constructions("erdos-min-overlap", "together_ai_2026")["solution"]["values"]
    verdict = evocore.verify("erdos-min-overlap", json.dumps({"values": values}))
    assert verdict.arena_score == evocore.score("erdos-min-overlap", values) == 0.3808703105862199
    ratchet = evocore.Ratchet("erdos-min-overlap")
    assert ratchet.offer(values)
    assert ratchet.best_exact == verdict.exact_score
