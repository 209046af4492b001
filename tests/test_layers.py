"""Who may import whom: the contracts of pyproject.toml hold, and catch what they are for."""

import ast
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FOLDERS = ("evocore", "kernels", "verifiers", "problems", "bench")

# What each part may import besides the standard library and itself. The contracts name what is forbidden, this
# names what is allowed: a new dependency has to be added here on purpose.
ALLOWED = {
    "kernels": {"numpy", "pyfftw", "evocore.errors", "evocore.kernels"},  # pyfftw: an optional backend, on request
    "problems": {"numpy", "scipy", "flint", "pydantic", "evocore.errors", "evocore.kernels", "evocore.problems"},
    "verifiers": {"numpy", "flint", "evocore.errors", "evocore.problems", "evocore.verifiers", "evocore._version"},
    "evocore/optim": {"numpy", "scipy", "numba", "evocore.kernels", "evocore.optim", "evocore.errors"},
}


def sources(folder):
    return [p for p in sorted((ROOT / folder).rglob("*.py")) if "optimizers" not in p.relative_to(ROOT).parts[:-1]]


def imported(tree):
    """Full names of what a module imports, wherever in it the import stands."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def contracts(tree, *, config=ROOT / "pyproject.toml"):
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-logo", "--no-cache", str(config)]
    return subprocess.run(command, cwd=tree, capture_output=True, text=True, check=False)


def test_the_import_contracts_hold(tmp_path):
    subprocess.run([ROOT / ".ci" / "link-tree", tmp_path], check=True)
    done = contracts(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("file", "line", "broken"),
    [
        ("kernels/extra.py", "import scipy.fft", "kernels know arrays and nothing else"),
        ("problems/extra.py", "from evocore.verifiers import verdict", "controller -> verifiers"),
        ("verifiers/extra.py", "from evocore import ledger", "controller -> verifiers"),
        ("verifiers/extra.py", "import numba", "what the verifier process loads stays small"),
        ("evocore/optim/extra.py", "from evocore import problems", "optim runs in the sandbox"),
        (
            "evocore/search/extra.py",
            "from evocore.problems.erdos_min_overlap.optimizers import extra",
            "optimizer programs and attack programs are data",
        ),
    ],
)
def test_a_contract_catches_what_it_forbids(file, line, broken, tmp_path):
    for folder in FOLDERS:
        place = tmp_path / "tree" / "evocore" / ("" if folder == "evocore" else folder)
        shutil.copytree(ROOT / folder, place, ignore=shutil.ignore_patterns("*.so", "__pycache__"), dirs_exist_ok=True)
    package = tmp_path / "tree" / "evocore"
    (package / "problems/erdos_min_overlap/optimizers/extra.py").write_text("def optimize(): ...\n")
    (package / file.removeprefix("evocore/")).write_text(line + "\n")
    done = contracts(tmp_path / "tree")
    assert done.returncode == 1, done.stdout + done.stderr
    verdicts = [row for row in done.stdout.splitlines() if row.startswith(broken)]
    assert any("BROKEN" in row for row in verdicts), done.stdout


@pytest.mark.parametrize("folder", ALLOWED)
def test_a_part_imports_only_what_it_is_allowed(folder):
    strangers = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in sources(folder)
        for name in imported(ast.parse(path.read_text()))
        if name.partition(".")[0] not in sys.stdlib_module_names
        and not any(name == good or name.startswith(good + ".") for good in ALLOWED[folder])
    ]
    assert strangers == []


def test_nothing_imports_an_optimizer_program():
    guilty = [
        f"{path.relative_to(ROOT)}: {name}"
        for folder in FOLDERS
        for path in sources(folder)
        for name in imported(ast.parse(path.read_text()))
        if name.startswith("evocore.problems.") and "optimizers" in name.split(".")[2:-1]
    ]
    assert guilty == []


def loaded_by(script, tmp_path):
    """Names of the modules that a fresh interpreter holds after a script."""
    tail = "\nimport json, sys; print(json.dumps(sorted(sys.modules)))"
    command = [sys.executable, "-I", "-c", script + tail]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_what_scoring_loads_is_small(tmp_path):
    script = (
        "import evocore.verifiers, evocore.problems\n"
        "import numpy as np\n"
        "for name in evocore.problems.problems():\n"
        "    p = evocore.problems.problem(name)\n"
        "    x = p.start(p.default_size, 1)\n"
        "    p.score(x), p.fast(x), p.exact(x)\n"
    )
    names = loaded_by(script, tmp_path)
    assert "flint" in names
    heavy = ("numba", "scipy.optimize", "libcst", "matplotlib", "rich", "typer", "httpx", "evocore.search")
    assert [name for name in heavy if name in names] == []


def test_importing_evocore_loads_nothing_heavy(tmp_path):
    names = loaded_by("import evocore", tmp_path)
    assert not names & {"numpy", "scipy", "numba", "pydantic", "typer", "rich", "matplotlib", "libcst", "flint"}
