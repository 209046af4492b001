import hashlib
import importlib.util
import os
import py_compile
import sys
from pathlib import Path

import flint
import numpy as np
import pytest

from evocore.problems import problem
from evocore.verifiers import Verifier
from evocore.verifiers.digest import changes, parts, shown_changes, total


def sha256(path):
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


@pytest.fixture(scope="module")
def found(verifier):
    """The parts of a running process with a problem of one's own and a built-in one."""
    return verifier.parts


def test_every_verdict_carries_the_digest_of_the_parts(verifier, mean_folder):
    assert verifier.verify(mean_folder, [1.0]).verifier_digest == verifier.digest == total(verifier.parts)


def test_parts_are_the_files_by_name(found, mean_folder):
    assert found["mean/problem.py"] == sha256(Path(mean_folder, "problem.py"))
    for name in ("digest", "process", "__main__", "lockdown", "ratchet"):
        assert found[f"evocore.verifiers.{name}"] == sha256(
            importlib.util.find_spec(f"evocore.verifiers.{name}").origin
        )
    assert found["python"] == sys.version


def test_built_in_problems_are_covered_by_their_modules(found):
    names = {"evocore", "evocore.errors", "evocore.problems.base", "evocore.problems.exact", "evocore.kernels._exact"}
    assert {"evocore.problems.third_autocorrelation_inequality.problem", *names} <= found.keys()


@pytest.mark.parametrize(("module", "distribution"), [(np, "numpy"), (flint, "python_flint")])
def test_the_libraries_below_count_with_record_and_bytes(found, module, distribution):
    home = Path(module.__file__).parents[1]
    record = home / f"{distribution}-{module.__version__}.dist-info" / "RECORD"
    assert found[module.__name__] == f"{module.__version__} {sha256(record)}"
    ours = [name for name in found if name.startswith((f"{module.__name__}/", f"{distribution}.libs/"))]
    assert {Path(name).suffix for name in ours} >= {".py", ".so"}
    for name in ours:
        assert found[name] == sha256(home / name)


def test_shared_objects_and_the_interpreter_count(found):
    system = {name: digest for name, digest in found.items() if name.startswith("system/")}
    assert sha256(os.path.realpath(sys.executable)) in system.values()
    assert any(name.startswith("system/libc.so") for name in system)
    assert any("openblas" in name or "libcblas" in name for name in found)
    assert any("libflint" in name for name in found)


def test_the_standard_library_counts(found):
    for name in ("fractions", "json/decoder", "hmac"):
        assert found[f"python/{name}.py"] == sha256(Path(os.__file__).parent / f"{name}.py")


def test_nothing_is_named_by_where_it_is_and_no_cache_counts(found):
    assert not [name for name in found if name.startswith("/") or "__pycache__" in name or name.endswith(".pyc")]


def test_two_starts_give_the_same_parts(found, mean_folder):
    with Verifier([mean_folder, "third-autocorrelation-inequality"]) as again:
        assert changes(found, again.parts) == []


def test_the_digest_does_not_depend_on_the_place(mean_folder, tmp_path):
    copy = tmp_path / "elsewhere"
    copy.mkdir()
    (copy / "problem.py").write_bytes(Path(mean_folder, "problem.py").read_bytes())
    with Verifier(copy) as elsewhere, Verifier(mean_folder) as here:
        assert changes(elsewhere.parts, here.parts) == []
        assert elsewhere.digest == here.digest


def started(folder):
    with Verifier(folder) as verifier:
        return verifier.parts


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


def test_what_a_problem_imports_and_opens_to_score_its_start_counts(trapped):
    folder = Path(trapped("from .deeper import more", load="open(__path__[0] + '/table.csv').close()"))
    (folder / "deeper").mkdir()
    (folder / "deeper" / "more.py").write_text("")
    (folder / "table.csv").write_text("1")
    found = started(folder)
    assert found["mean/deeper/more.py"] == sha256(folder / "deeper" / "more.py")
    assert found["mean/table.csv"] == sha256(folder / "table.csv")


def test_what_runs_is_what_is_digested_whatever_a_cache_says(trapped):
    """A cache beside a module, of the source's time and size, as whoever may write there would put it."""
    folder = Path(trapped("x = x if VALUE == 1 else 1 / 0", load="from .table import VALUE"))
    table = folder / "table.py"
    table.write_text("VALUE = 0\n")
    py_compile.compile(str(table))
    stat = table.stat()
    table.write_text("VALUE = 1\n")
    os.utime(table, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    with Verifier(folder) as verifier:
        assert verifier.verify(folder, [1.0]).valid
        assert verifier.parts["mean/table.py"] == sha256(table)


def test_a_file_that_changes_while_it_is_loaded_is_noticed(trapped):
    from evocore.errors import ConfigError

    load = "with open(__file__, 'a') as file:\n    file.write('# changed\\n')"
    with pytest.raises(ConfigError, match=r"stay as they are while they are loaded, got a change in .*mean"):
        Verifier(trapped("pass", load))


def test_programs_do_not_count(trapped):
    folder = Path(trapped("pass"))
    before = started(folder)
    (folder / "optimizers").mkdir()
    (folder / "optimizers" / "one.py").write_text("")
    assert changes(before, started(folder)) == []


def test_total_depends_on_names_and_values_alone():
    assert total({"a": "1", "b": "2"}) == total({"b": "2", "a": "1"})
    assert len({total(p) for p in ({}, {"a": "1"}, {"a": "2"}, {"b": "1"}, {"a": "1", "b": "1"})}) == 5
    assert changes({"a": "1", "b": "1"}, {"b": "2", "c": "1"}) == ["a", "b", "c"]


def test_many_changes_are_told_in_one_line():
    assert shown_changes(["a", "b"]) == "a, b"
    assert shown_changes(list("abcdefgh")) == "a, b, c, d, e and 3 more"
