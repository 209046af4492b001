"""Every parser of foreign bytes: the seeds of its fuzz target, and a short run guided by coverage."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

HERE = Path(__file__).parent
TARGETS = sorted(path.stem.removeprefix("fuzz_") for path in HERE.glob("fuzz_*.py"))
SEEDS = [(target, path.name) for target in TARGETS for path in sorted((HERE / "corpus" / target).iterdir())]
N_RUNS = {"sandbox": 1500, "verdict": 1000}
"""Of those that take milliseconds; the others get twice as many."""


@pytest.fixture(scope="session")
def check():
    """Give a target's function by name."""
    functions = {}

    def load(target):
        if target not in functions:
            spec = importlib.util.spec_from_file_location(f"fuzz_{target}", HERE / f"fuzz_{target}.py")
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            functions[target] = module.check
        return functions[target]

    return load


@pytest.mark.parametrize(("target", "seed"), SEEDS)
def test_seeds_and_what_once_failed(check, target, seed):
    check(target)((HERE / "corpus" / target / seed).read_bytes())


@pytest.mark.parametrize("target", TARGETS)
@given(data=st.data())
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes_and_seeds_with_a_piece_changed(check, target, data):
    seeds = [path.read_bytes() for path in sorted((HERE / "corpus" / target).iterdir())]
    content = data.draw(st.just(b"") | st.sampled_from(seeds))
    start, length = data.draw(st.integers(0, len(content))), data.draw(st.integers(0, 40))
    check(target)(content[:start] + data.draw(st.binary(max_size=60)) + content[start + length :])


@pytest.mark.skipif(importlib.util.find_spec("atheris") is None, reason="atheris is not installed: pip install atheris")
@pytest.mark.parametrize("target", TARGETS)
def test_a_short_run_guided_by_coverage(tmp_path, target):
    command = [sys.executable, HERE / "run.py", target, f"-runs={N_RUNS.get(target, 3000)}", "-seed=1"]
    environment = {**os.environ, "EVOCORE_FUZZ_FOLDER": str(tmp_path)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=280, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    assert re.search(r"cov: [1-9]\d", done.stderr), "nothing was instrumented"
