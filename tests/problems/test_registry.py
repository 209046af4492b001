"""Finding and loading problems: built-in ones, folders, and every way in which a folder can be wrong."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from evocore import problems
from evocore.errors import ConfigError, InputError, UnknownProblem
from evocore.problems.base import Problem

GOOD = """
from fractions import Fraction

from evocore.problems.base import ExactResult, Problem


class Spread(Problem):
    slug = "spread"
    title = "Largest over smallest"
    statement = "Give positive numbers; the score is the largest over the smallest."
    direction = "minimize"
    min_length = 2
    target = 1.0

    def score(self, x):
        return float(x.max() / x.min())

    def exact(self, x):
        return ExactResult(Fraction(x.max()) / Fraction(x.min()))


problem = Spread()
"""


@pytest.fixture
def folder(tmp_path):
    def make(source=GOOD, name="my_problem", files=()):
        home = tmp_path / name
        home.mkdir(exist_ok=True)
        if source is not None:
            (home / "problem.py").write_text(source)
        for file, text in dict(files).items():
            path = home / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return home

    return make


# ---- built-in -----------------------------------------------------------------------------------------------------


def test_built_in_problems():
    assert problems.problems() == (
        "erdos-min-overlap",
        "first-autocorrelation-inequality",
        "second-autocorrelation-inequality",
        "third-autocorrelation-inequality",
    )
    for slug in problems.problems():
        found = problems.problem(slug)
        assert problems.problem(slug) is found
        assert problems.problem(found) is found
        assert problems.problem(found.location) is found
        assert found.location == slug


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("erdos-min-overlp", "erdos-min-overlap"),
        ("erdos", "erdos-min-overlap"),
        ("Erdos_Min_Overlap", "erdos-min-overlap"),
        ("first-autocorrelation", "first-autocorrelation-inequality"),
        ("second", "second-autocorrelation-inequality"),
        ("kissing", "known problems: erdos-min-overlap, first"),
        ("", "known problems"),
    ],
)
def test_unknown_names_get_the_near_ones(name, near):
    with pytest.raises(UnknownProblem, match=near) as caught:
        problems.problem(name)
    assert f'got "{name}"' in str(caught.value)


def test_folder_without_slash_is_told_how_to_write_it(folder, monkeypatch):
    home = folder()
    monkeypatch.chdir(home.parent)
    with pytest.raises(UnknownProblem, match=r'write "\./my_problem"'):
        problems.problem("my_problem")
    assert problems.problem("./my_problem").slug == "spread"
    assert problems.problem("my_problem/").slug == "spread"
    monkeypatch.chdir(home)
    assert problems.problem(".").slug == "spread"


IMPORTS = """
import sys
import evocore.problems
assert not {"numpy", "flint", "scipy", "pydantic"} & set(sys.modules), "importing the package"
from evocore.problems import problem, problems
assert len(problems()) == 4
assert "numpy" not in sys.modules, "listing"
p = problem("erdos-min-overlap")
x = p.start(50, 0)
p.score(x), p.fast(x)
loaded = [m for m in sys.modules if m.startswith("evocore.problems.") and m.endswith(".problem")]
assert loaded == ["evocore.problems.erdos_min_overlap.problem"], loaded
assert not {"flint", "scipy", "pydantic"} & set(sys.modules), "scoring"
p.exact(x)
assert not {"scipy", "pydantic"} & set(sys.modules), "exact scoring"
second = problem("second-autocorrelation-inequality")
second.score(second.start(50, 0))
assert "scipy" not in sys.modules, "scoring the second"
"""


def test_importing_is_lazy(tmp_path):
    done = subprocess.run([sys.executable, "-c", IMPORTS], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_public_names_are_there():
    assert set(problems.__all__) == {
        "Enclosure",
        "Exact",
        "ExactResult",
        "Problem",
        "Reference",
        "load_folder",
        "optimizers",
        "problem",
        "problem_files",
        "problems",
    }
    for name in problems.__all__:
        assert getattr(problems, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'Solver'"):
        _ = problems.Solver


# ---- folders ------------------------------------------------------------------------------------------------------


def test_a_folder_is_a_problem(folder):
    home = folder()
    found = problems.problem(str(home))
    assert isinstance(found, Problem)
    assert found.folder == home
    assert found.location == str(home)
    assert found.score(found.parse({"values": [3, 2]})) == 1.5
    assert problems.problem(home) is found
    assert problems.load_folder(home) is found


def test_loading_again_sees_an_edit_and_nothing_else(folder):
    home = folder()
    before = problems.problem(home)
    os.utime(home / "problem.py", (0, 0))
    assert problems.problem(home) is before
    folder(GOOD.replace("target = 1.0", "target = 2.0"))
    after = problems.problem(home)
    assert (before.target, after.target) == (1.0, 2.0)
    assert not list(home.rglob("*.pyc"))  # nothing was written into somebody else's folder


def test_folders_with_the_same_names_do_not_meet(folder):
    source = "from .tables import TITLE\n" + GOOD.replace('"Largest over smallest"', "TITLE")
    one = problems.problem(folder(source, "one", {"tables.py": "TITLE = 'one'"}))
    two = problems.problem(folder(source, "two", {"tables.py": "TITLE = 'two'"}))
    assert (one.title, two.title) == ("one", "two")
    folder(source, "one", {"tables.py": "TITLE = 'edited'"})
    assert problems.problem(one.location).title == "edited"


def test_links_lead_to_the_same_problem(folder, tmp_path):
    home = folder()
    (tmp_path / "link").symlink_to(home)
    assert problems.problem(tmp_path / "link") is problems.problem(home)


def test_files_and_programs_of_a_folder(folder):
    home = folder(
        files={
            "tables.py": "T = 1",
            "parts/__init__.py": "",
            "optimizers/__init__.py": "",
            "optimizers/hop.py": "",
            "evocore-runs/programs/a.py": "",
        }
    )
    names = {str(p.relative_to(home)) for p in problems.problem_files(home) if p.is_relative_to(home)}
    assert names == {"problem.py", "tables.py", "parts/__init__.py"}
    assert [p.name for p in problems.optimizers(home)] == ["hop.py"]


def test_files_of_a_built_in_problem_hold_the_shared_modules():
    files = problems.problem_files("erdos-min-overlap")
    assert {"base.py", "autocorrelation.py", "exact.py", "registry.py", "problem.py"} <= {p.name for p in files}
    assert len({p.parent.name for p in files if p.name == "problem.py"}) == 1
    assert files == sorted(files)
    assert all("optimizers" not in p.parts for p in files)


def test_a_folder_without_programs_gets_the_generic_ones(folder, monkeypatch, tmp_path):
    from evocore.problems import registry

    (tmp_path / "generic").mkdir()
    for name in ("walk.py", "hop.py", "__init__.py", "notes.txt"):
        (tmp_path / "generic" / name).write_text("")
    monkeypatch.setattr(registry, "GENERIC_OPTIMIZERS", tmp_path / "generic")
    assert [p.name for p in problems.optimizers(folder())] == ["hop.py", "walk.py"]


def test_built_in_folders_load_as_themselves():
    from evocore.problems import registry

    path = registry.HOME / "erdos_min_overlap"
    assert problems.problem(path) is problems.problem("erdos-min-overlap")


DEFECTS = {
    "syntax": (GOOD.replace("def score(self, x):", "def score(self, x)"), r"valid Python in .*problem\.py, line 15: "),
    "name": (GOOD.replace("Problem)", "Problm)"), r"got NameError in .*problem\.py, line 7: name 'Problm'"),
    "import": ("import no_such_module\n" + GOOD, r"got ModuleNotFoundError in .*problem\.py, line 1"),
    "exit": ("raise SystemExit(3)\n", r"got SystemExit in .*problem\.py, line 1: 3"),
    "raise": ("raise ValueError('a\\nb')\n", r"got ValueError in .*problem\.py, line 1: a b"),
    "no object": (GOOD.replace("problem = Spread()", ""), 'to define "problem"'),
    "class": (GOOD.replace("Spread()", "Spread"), r"got the class itself: write problem = Spread\(\)"),
    "other": (GOOD.replace("Spread()", "3"), "got a int"),
    "no slug": (GOOD.replace('slug = "spread"', ""), "the attribute slug, a text, got None"),
    "empty title": (GOOD.replace('"Largest over smallest"', '" "'), "the attribute title, a text, got ' '"),
    "no statement": (GOOD.replace("statement =", "about ="), "the attribute statement"),
    "no direction": (GOOD.replace("direction =", "way ="), "the attribute direction"),
    "direction": (GOOD.replace('"minimize"', '"min"'), 'direction "minimize" or "maximize", got \'min\''),
    "no score": (GOOD.replace("def score", "def points"), r"the method score\(self, x\)"),
    "no exact": (GOOD.replace("def exact", "def true"), r"the method exact\(self, x\)"),
    "lengths": (GOOD.replace("min_length = 2", "min_length = 200"), "got 200, 100, 100000"),
    "length kind": (GOOD.replace("min_length = 2", "min_length = 2.0"), "expected integers"),
    "no goal": (GOOD.replace("target = 1.0", ""), "expected references, or a number target to reach, found neither"),
    "goal kind": (GOOD.replace("target = 1.0", "target = 'best'"), "expected a number target, got 'best'"),
    "references": (GOOD.replace("target = 1.0", "references = (1.5,)"), "a tuple of Reference objects"),
    "bytes": ("\0", "problem.py"),
}


@pytest.mark.parametrize("defect", DEFECTS)
def test_every_defect_gets_one_clear_sentence(folder, defect):
    source, message = DEFECTS[defect]
    home = folder(source)
    for _ in range(2):  # a failed load leaves nothing behind that hides the defect the second time
        with pytest.raises(ConfigError, match=message) as caught:
            problems.problem(home)
        assert "\n" not in str(caught.value)
        assert isinstance(caught.value, InputError)
    folder(GOOD)
    assert problems.problem(home).slug == "spread"


def test_defect_in_a_module_of_the_folder_names_that_module(folder):
    home = folder("from .tables import T\n" + GOOD, files={"tables.py": "T = 1\nT += U\n"})
    with pytest.raises(ConfigError, match=r"NameError in .*tables\.py, line 2"):
        problems.problem(home)


def test_missing_folder_and_file(folder, tmp_path):
    with pytest.raises(UnknownProblem, match="which is no folder"):
        problems.problem(tmp_path / "nowhere")
    with pytest.raises(UnknownProblem, match="found none"):
        problems.problem(folder(None))
    with pytest.raises(UnknownProblem, match="which is no folder"):
        problems.problem(Path(folder()) / "problem.py")
