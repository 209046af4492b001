"""What the documents say is so: commands, links, names, and the examples, which are run."""

import doctest
import importlib
import json
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

import evocore

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
SCRIPT = Path(sys.executable).with_name("evocore")
DOCUMENTS = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")


def section(title):
    """Text of one section of the README, its sub-sections included."""
    _, _, rest = README.partition(f"\n## {title}\n")
    assert rest, f"the README has no section {title}"
    return re.split(r"\n## ", rest)[0]


def blocks(language, text):
    return re.findall(rf"^```{language}\n(.*?)^```", text, flags=re.S | re.M)


def first_cells(title):
    """Backticked texts of the first column of a section's table."""
    return re.findall(r"^\| `([^`]+)`", section(title), flags=re.M)


def call(*arguments, cwd, timeout=120):
    return subprocess.run(
        [SCRIPT, *map(str, arguments)], cwd=cwd, capture_output=True, text=True, timeout=timeout, check=False
    )


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_relative_link_resolves(document):
    text = (ROOT / document).read_text()
    targets = [t for t in re.findall(r"\]\(([^)#\s]+)", text) if "://" not in t]
    assert [t for t in targets if not (ROOT / t).exists()] == []


def test_the_table_of_public_names_is_the_public_interface():
    assert sorted(first_cells("Library")) == sorted(evocore.__all__)
    for name in evocore.__all__:
        assert getattr(evocore, name) is not None


COMMANDS = [" ".join(re.findall(r" ([a-z][a-z-]*)", cell)) for cell in first_cells("Commands")]


def test_every_command_of_the_program_is_in_the_table(tmp_path):
    shown = call("--help", cwd=tmp_path)
    assert shown.returncode == 0, shown.stderr
    listed = re.findall(r"^[│\s]*([a-z]+)\s{2,}\S", shown.stdout.partition("Commands")[2], flags=re.M)
    assert sorted(listed) == sorted({command.split()[0] for command in COMMANDS})


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_of_the_table_explains_itself_and_has_the_options_named(command, tmp_path):
    shown = call(*command.split(), "--help", cwd=tmp_path)
    assert shown.returncode == 0, shown.stderr
    (row,) = [r for r in section("Commands").splitlines() if r.startswith(f"| `evocore {command}")]
    for option in re.findall(r"`(--[a-z]+)", row):
        assert option in shown.stdout


def test_the_make_targets_that_the_documents_name_exist():
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), flags=re.M))
    for document in DOCUMENTS:
        named = set(re.findall(r"(?:`|^)make ([a-z]+)", (ROOT / document).read_text(), flags=re.M))
        assert named <= targets, document


def test_the_library_example_runs(tmp_path):
    (example,) = blocks("python", section("Library"))
    done = subprocess.run(
        [sys.executable, "-P", "-c", example], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_the_problem_of_the_readme_runs_like_a_built_in_one(tmp_path):
    (source,) = blocks("python", section("A problem of your own"))
    (tmp_path / "my_problem").mkdir()
    (tmp_path / "my_problem" / "problem.py").write_text(source)
    done = call("run", "./my_problem", "--budget", "6s", "--seed", "1", "--json", "--out", "run", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    last = json.loads(done.stdout.splitlines()[-1])
    assert last["problem"] == "seven-points"
    assert 0.01 < last["best"]["arena_score"] < 0.0839
    again = call("verify", "./my_problem", tmp_path / "run" / "best.json", "--json", cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    assert json.loads(again.stdout)["exact_score"] == last["best"]["exact_score"]


def modules():
    """Names of all modules; the mapped folders are named, because an editable install hides them from a walk."""
    names = set()
    for package in ("evocore", "evocore.kernels", "evocore.verifiers", "evocore.problems"):
        path = importlib.import_module(package).__path__
        names |= {found.name for found in pkgutil.walk_packages(path, f"{package}.")}
    parts = {name: name.split(".") for name in names}
    data = "evocore.sandbox.attacks."  # programs, as those of optimizers
    return sorted(n for n in names if not ({"optimizers", "bench", "__main__"} & {*parts[n]} or n.startswith(data)))


@pytest.mark.parametrize("name", modules())
def test_the_examples_in_docstrings_give_what_they_say(name):
    module = importlib.import_module(name)
    finder = doctest.DocTestFinder(exclude_empty=True)
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    for example in finder.find(module, name):
        runner.run(example)
    assert runner.failures == 0
