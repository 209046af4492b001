"""What leaves the project: the wheel holds the whole tree and nothing else, and the sdist builds that same wheel."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

# Everything is compiled here once, at full optimisation: a minute of two idle cores, several of a busy machine.
pytestmark = pytest.mark.timeout(1200)
FOLDERS = {
    "evocore": "evocore",
    "kernels": "evocore/kernels",
    "verifiers": "evocore/verifiers",
    "problems": "evocore/problems",
    "bench": "evocore/bench",
}
SUFFIX = sysconfig.get_config_var("EXT_SUFFIX")
LITTER = shutil.ignore_patterns(
    ".git", ".venv", "build", "dist", "*.so", "*.py[cod]", "__pycache__", "*.egg-info", ".*_cache", "evocore-runs"
)


def run(*command, cwd, **more):
    done = subprocess.run([*map(str, command)], cwd=cwd, capture_output=True, text=True, **more)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout


def expected_files(root):
    """Every file of the tree that a wheel has to hold, under its name there: all but the records, which are large."""
    names = set()
    for folder, package in FOLDERS.items():
        for path in (root / folder).rglob("*"):
            if path.parent.name == "records":
                continue
            name = f"{package}/{path.relative_to(root / folder)}"
            is_data = path.parent.name == "starts" and not path.name.startswith(".")
            if path.suffix in (".py", ".pyi") or path.name == "py.typed" or is_data:
                names.add(name)
            elif path.suffix == ".pyx":
                names.add(name.removesuffix(".pyx") + SUFFIX)
    return names


def wheel_files(wheel):
    with zipfile.ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if ".dist-info/" not in name}


@pytest.fixture(scope="session")
def built(tmp_path_factory):
    """Build the sdist from a clean copy of the tree, and the wheel from that sdist; nothing is fetched."""
    source = tmp_path_factory.mktemp("source") / "evocore"
    shutil.copytree(ROOT, source, ignore=LITTER)
    for generated in (source / "kernels").glob("_*.c"):
        generated.unlink()
    out = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-P", "-m", "build", "--no-isolation", "--outdir", out, source, cwd=out)
    (sdist,) = out.glob("*.tar.gz")
    (wheel,) = out.glob("*.whl")
    return source, sdist, wheel


def test_the_wheel_holds_the_tree_and_nothing_else(built):
    source, _, wheel = built
    assert wheel_files(wheel) == expected_files(source)


def test_the_wheel_is_not_pure_and_names_its_licence_and_command(built):
    *_, wheel = built
    assert wheel.name.startswith("evocore_engine-")
    assert not wheel.name.endswith("-none-any.whl")
    with zipfile.ZipFile(wheel) as archive:
        named = {Path(n).name: n for n in archive.namelist() if ".dist-info/" in n}
        assert "LICENSE" in named
        assert "evocore = evocore.cli.main:main" in archive.read(named["entry_points.txt"]).decode()


def test_the_sdist_keeps_the_top_level_folders_and_what_the_tests_need(built):
    source, sdist, _ = built
    with tarfile.open(sdist) as archive:
        names = {n.partition("/")[2] for n in archive.getnames()}
    wanted = {
        str(path.relative_to(source))
        for folder in (*FOLDERS, "tests", ".ci")
        for path in (source / folder).rglob("*")
        if path.is_file()
    }
    wanted |= {"pyproject.toml", "setup.py", "README.md", "LICENSE", "CHANGELOG.md", "CONTRIBUTING.md", "Makefile"}
    assert wanted <= names
    assert not [n for n in names if n.endswith((".so", ".pyc"))]


def test_the_wheel_works_where_it_is_installed(built, tmp_path):
    *_, wheel = built
    site = tmp_path / "site"
    zipfile.ZipFile(wheel).extractall(site)  # what an installer does with a wheel that has no scripts of its own
    environment = {**os.environ, "PYTHONPATH": str(site)}
    script = (
        "import evocore, evocore.kernels, json, importlib, pkgutil\n"
        "names = [m.name for m in pkgutil.iter_modules(evocore.kernels.__path__)]\n"
        "for name in names: importlib.import_module('evocore.kernels.' + name)\n"
        "print(json.dumps([evocore.__file__, sorted(evocore.problems()), names]))"
    )
    found, problems, names = json.loads(run(sys.executable, "-P", "-c", script, cwd=tmp_path, env=environment))
    assert Path(found).is_relative_to(site)
    assert "erdos-min-overlap" in problems
    helped = run(sys.executable, "-P", "-m", "evocore.cli.main", "--help", cwd=tmp_path, env=environment)
    assert "verify" in helped
    assert {n.removesuffix(SUFFIX).rpartition("/")[2] for n in wheel_files(wheel) if n.endswith(SUFFIX)} <= set(names)


@pytest.mark.parametrize("missing", ["compiler", "headers"])
def test_a_build_without_compiler_says_what_to_install(missing, tmp_path):
    source = tmp_path / "evocore"
    shutil.copytree(ROOT, source, ignore=LITTER)
    environment = dict(os.environ)
    script = "import runpy, sys; sys.argv = ['setup.py', '-q', 'build_ext']; "
    if missing == "compiler":
        environment["CC"] = "no-such-compiler"
    else:
        script += "import sysconfig; sysconfig.get_path = lambda *a, **k: '/nonexistent/include'; "
    script += "runpy.run_path('setup.py', run_name='__main__')"
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=source, capture_output=True, text=True, env=environment, check=False
    )
    assert done.returncode == 1
    said = done.stderr.strip().splitlines()[-1]
    assert said.startswith("evocore: its kernels need ")
    assert "apt install" in said
    assert "python3-dev" in said
    assert "Traceback" not in done.stderr
