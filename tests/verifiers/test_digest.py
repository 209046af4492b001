import hashlib
import sys
from pathlib import Path

import numpy as np
import pytest

from evocore.problems import problem
from evocore.verifiers.digest import changes, parts, total


def test_parts_are_the_files_by_name(mean, mean_folder):
    found = parts([mean])
    assert found["mean/problem.py"] == hashlib.sha256(Path(mean_folder, "problem.py").read_bytes()).hexdigest()
    here = sys.modules["evocore.verifiers.digest"]
    assert found["evocore.verifiers.digest"] == hashlib.sha256(Path(here.__file__).read_bytes()).hexdigest()
    assert found["python"] == sys.version
    version, record = found["numpy"].split()
    assert version == np.__version__
    assert len(record) == 64


def test_built_in_problems_are_covered_by_their_modules():
    found = parts([problem("erdos-min-overlap")])
    assert {"evocore.problems.erdos_min_overlap.problem", "evocore.problems.base", "evocore.errors"} <= found.keys()


def test_the_digest_does_not_depend_on_the_place(mean, mean_folder, tmp_path):
    copy = tmp_path / "elsewhere"
    copy.mkdir()
    (copy / "problem.py").write_bytes(Path(mean_folder, "problem.py").read_bytes())
    assert total(parts([problem(copy)])) == total(parts([mean]))


@pytest.mark.parametrize("name", ["problem.py", "tables.py", "deeper/__init__.py"])
def test_every_file_of_a_problem_counts(trapped, name):
    folder = Path(trapped("pass"))
    before = parts([problem(folder)])
    (folder / name).parent.mkdir(exist_ok=True)
    with (folder / name).open("a") as file:
        file.write("# changed\n")
    after = parts([problem(folder)])
    assert changes(before, after) == [f"mean/{name}"]
    assert total(before) != total(after)


def test_what_a_problem_imports_while_it_scores_counts(trapped):
    folder = Path(trapped("from .deeper import more"))
    (folder / "deeper").mkdir()
    (folder / "deeper" / "more.py").write_text("")
    found = problem(folder)
    assert "mean/deeper/more.py" not in parts([found])
    found.exact(np.array([1.0]))
    assert "mean/deeper/more.py" in parts([found])


def test_programs_do_not_count(trapped):
    folder = Path(trapped("pass"))
    before = parts([problem(folder)])
    (folder / "optimizers").mkdir()
    (folder / "optimizers" / "one.py").write_text("")
    assert changes(before, parts([problem(folder)])) == []


def test_total_depends_on_names_and_values_alone():
    assert total({"a": "1", "b": "2"}) == total({"b": "2", "a": "1"})
    assert len({total(p) for p in ({}, {"a": "1"}, {"a": "2"}, {"b": "1"}, {"a": "1", "b": "1"})}) == 5
    assert changes({"a": "1", "b": "1"}, {"b": "2", "c": "1"}) == ["a", "b", "c"]
