"""Proof files: they run by themselves, say the exact score, and notice every change."""

import ast
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest

from evocore.api import certify
from evocore.errors import InfrastructureError, InputError, InvalidConstruction
from evocore.problems import problem, problems
from evocore.problems.base import ExactResult, Problem
from evocore.problems.certificate import PRODUCT
from evocore.verifiers.certificate import check
from evocore.verifiers.client import Verifier

PUBLISHED = [
    ("erdos-min-overlap", "haugland_2016"),
    ("erdos-min-overlap", "together_ai_2026"),
    ("first-autocorrelation-inequality", "together_ai_2026"),
    ("second-autocorrelation-inequality", "alphaevolve_arena_baseline"),
    ("third-autocorrelation-inequality", "together_ai_2026"),
]


@pytest.fixture(scope="module", params=problems())
def proof(request):
    """Problem, a construction of 61 random numbers, its verdict and its proof file."""
    found = problem(request.param)
    x = found.start(61, 5)
    with Verifier(found) as verifier:
        return found, x, verifier.verify(found, x), certify(found, x, verifier)


def run(text):
    ended = subprocess.run([sys.executable, "-I", "-S", "-"], input=text, capture_output=True, text=True, check=False)
    return ended.returncode, ended.stdout + ended.stderr


def names(text):
    """Literals that a proof file assigns."""
    return {
        node.targets[0].id: ast.literal_eval(node.value)
        for node in ast.parse(text).body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id.isupper()
    }


def test_a_proof_runs_without_imports_and_states_the_exact_score(proof):
    _, _, verdict, text = proof
    code, said = run(text)
    assert code == 0
    assert said.startswith("true: the score is exactly the stated rational, about ")
    assert float(said.split()[-1]) == pytest.approx(float(verdict.exact_score), abs=2e-16)
    assert Fraction(*names(text)["SCORE"]) == verdict.exact_score
    assert not [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Import | ast.ImportFrom)]
    assert verdict.construction_sha256 in text
    assert verdict.verifier_digest in text


def test_the_integers_are_the_construction(proof):
    _, x, _, text = proof
    told = names(text)
    values = [Fraction(v) for v in told["VALUES"]]
    if "DENOMINATOR" in told:
        np.testing.assert_allclose([float(v / told["DENOMINATOR"]) for v in values], x, rtol=1e-15)
        assert sum(values) * 2 == len(x) * told["DENOMINATOR"]
    else:
        (power,) = {Fraction(float(v)) / w for v, w in zip(x, values, strict=True) if w}
        assert (power.numerator & (power.numerator - 1), power.denominator & (power.denominator - 1)) == (0, 0)


def test_every_changed_integer_is_noticed(proof):
    _, _, _, text = proof
    told = names(text)
    changed = text.replace(str(told["VALUES"][7]), str(told["VALUES"][7] + 1), 1)
    assert changed != text
    assert run(changed)[1].strip().startswith("false")
    assert run(changed)[0] == 1
    with pytest.raises(InfrastructureError, match="does not check: false"):
        check(changed)
    for number in told["SCORE"]:
        assert "the score is another one" in run(text.replace(str(number), str(number + 1), 1))[1]


@pytest.mark.parametrize(
    ("a", "b"), [([3], [-4]), ([0, 0], [0, 0, 0]), ([-1, 2, -3], [5, -7]), ([2**70, -1], [1, -(2**80)])]
)
def test_the_product_of_the_proof_files(a, b):
    space = {}
    exec(PRODUCT, space)
    plain = [sum(a[i] * b[k - i] for i in range(len(a)) if 0 <= k - i < len(b)) for k in range(len(a) + len(b) - 1)]
    assert space["product"](a, b) == plain


def test_the_product_of_random_polynomials():
    space = {}
    exec(PRODUCT, space)
    rng = np.random.default_rng(3)
    for most in (1, 2, 127, 128, 255, 256, 2**31):
        a, b = (rng.integers(-most, most, n, endpoint=True).tolist() for n in rng.integers(1, 40, 2))
        assert space["product"](a, b) == np.convolve(np.array(a, object), np.array(b, object)).tolist()


@pytest.mark.parametrize(("slug", "name"), PUBLISHED)
def test_published_constructions(constructions, slug, name):
    loaded = constructions(slug, name)
    with Verifier(slug) as verifier:
        verdict = verifier.verify(slug, loaded)
        text = certify(slug, loaded, verifier)
    assert Fraction(*names(text)["SCORE"]) == verdict.exact_score


def test_a_size_for_which_the_verdict_has_an_enclosure_alone():
    found = problem("second-autocorrelation-inequality")
    x = np.ones(20_000)
    x[::2] = 1e-300
    told = found.exact(x).value
    assert told.lo <= found.certificate(x).score <= told.hi


def test_what_is_not_valid_has_no_proof():
    with pytest.raises(InvalidConstruction, match=r"expected a valid construction.*values\[1\]"):
        certify("erdos-min-overlap", {"values": [0.5, 1.5]})
    with pytest.raises(InvalidConstruction, match="expected the key"):
        certify("erdos-min-overlap", {"numbers": [0.5]})


def test_a_problem_without_certificates_says_so():
    class Plain(Problem):
        slug = "plain"

        def exact(self, x):
            return ExactResult(Fraction(1))

    with pytest.raises(InputError, match="plain has no certificates: write its method certificate"):
        Plain().certificate(np.ones(2))
