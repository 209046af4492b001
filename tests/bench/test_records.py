"""Records come from runs alone, with a proof that runs, and only forwards."""

import json
import shutil
import subprocess
import sys
import tomllib
from fractions import Fraction
from pathlib import Path

import pytest

from evocore.bench.records import BEGIN, END, add, main, records_of, table
from evocore.bench.results_table import replace_block
from evocore.errors import InputError
from evocore.problems import problem, problems
from evocore.search.loop import run
from evocore.verifiers.client import Verifier

ROOT = Path(__file__).parents[2]
SLUG = "third-autocorrelation-inequality"


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "run"
    run(SLUG, budget="3s", seed=3, out=folder)
    return folder


@pytest.fixture
def root(tmp_path):
    (tmp_path / "problems" / SLUG.replace("-", "_")).mkdir(parents=True)
    return tmp_path


def test_a_run_becomes_a_record_once(finished, root, capsys):
    written = add(finished, "0123abc", root)
    facts = tomllib.loads(written.read_text())
    said = subprocess.run(
        [sys.executable, "-I", "-S", written.with_suffix(".certificate.py")], capture_output=True, text=True, check=True
    )
    assert said.stdout.startswith("true")
    assert facts["commit"] == "0123abc"
    assert facts["command"] == f"evocore run {SLUG} --budget 3s --seed 3"
    x = problem(SLUG).parse(json.loads(written.with_suffix(".json").read_bytes()))
    assert problem(SLUG).exact(x).value == Fraction(facts["exact_score"])
    assert [one["exact_score"] for one in records_of(SLUG, root)] == [facts["exact_score"]]
    assert f"[{facts['arena_score']:.10f}]" in table(root)
    assert main(["--root", str(root), "add", str(finished), "--commit", "x"]) == 2
    assert "expected a score better than" in capsys.readouterr().err


def test_a_run_from_a_construction_is_no_record(finished, root, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(finished, copy)
    settings = copy / "config.toml"
    settings.write_text(settings.read_text() + 'start = "best.json"\n')
    with pytest.raises(InputError, match=r"or from a record, got one that began from best\.json"):
        add(copy, "x", root)


def test_a_run_may_go_on_from_a_record(finished, root, tmp_path):
    first = add(finished, "0123abc", root)
    folder = tmp_path / "further"
    better = records_of(SLUG, root)[0]["arena_score"] - 1e-6
    run(SLUG, budget="2m", seed=4, out=folder, start=first.with_suffix(".json"), target=better)
    facts = tomllib.loads(add(folder, "0123abc", root).read_text())
    assert facts["start"] == f"the record {first.stem}"
    assert facts["command"].endswith(f"--seed 4 --start problems/{SLUG.replace('-', '_')}/records/{first.stem}.json")
    best, before = records_of(SLUG, root)
    assert Fraction(best["exact_score"]) < Fraction(before["exact_score"])
    assert before["start"] == "random numbers"
    for file in first.parent.glob(f"{first.stem}*"):
        file.unlink()
    assert add(finished, "0123abc", root) == first, "it need not beat what went on from a record"


@pytest.mark.parametrize("slug", problems())
def test_the_records_of_the_project_are_what_they_say(slug):
    folder = ROOT / "problems" / slug.replace("-", "_") / "records"
    with Verifier(slug) as verifier:
        for facts in records_of(slug, ROOT):
            name = f"{facts['arena_score']:.12f}"
            verdict = verifier.verify(slug, (folder / f"{name}.json").read_bytes())
            assert verdict.valid
            assert verdict.exact_score == Fraction(facts["exact_score"])
            assert verdict.construction_sha256 == facts["construction_sha256"]
            proof = (folder / f"{name}.certificate.py").read_text()
            assert facts["construction_sha256"] in proof
            score = Fraction(*(int(v) for v in proof.partition("SCORE = [")[2].partition("]")[0].split(",")))
            assert score == verdict.exact_score
    assert len(list(folder.glob("[!.]*"))) == 3 * len(records_of(slug, ROOT))


def test_the_readme_has_the_table_of_the_records():
    text = (ROOT / "README.md").read_text()
    assert replace_block(text, table(ROOT), BEGIN, END) == text
