"""Fuzz one target, guided by coverage: `python tests/fuzz/run.py TARGET [libFuzzer options]`.

A target is a file fuzz_TARGET.py with a function `check(data)`, which raises where the property does not hold. What the
run finds on its way goes to build/fuzz/TARGET/ (EVOCORE_FUZZ_FOLDER names another place for build/fuzz), which it also
begins from, beside the seeds in corpus/TARGET/. An input that fails lies there as well: mend the code, and put the
input among the seeds.
"""

import importlib.util
import os
import sys
import warnings
from pathlib import Path

HERE = Path(__file__).parent
FOUND = Path(os.environ.get("EVOCORE_FUZZ_FOLDER", HERE.parent.parent / "build" / "fuzz"))
LONGEST_BYTES = 4096
LONGEST_SECONDS = 20
MOST_MEGABYTES = 2048
INSTRUMENTED = ["evocore", "tomllib", "json", "fractions"]


def load(target):
    """Import a target; gives its function `check`."""
    spec = importlib.util.spec_from_file_location(f"fuzz_{target}", HERE / f"fuzz_{target}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.check


def main():
    """Fuzz until libFuzzer's options say that it is enough, or the property fails."""
    import atheris

    target, *options = sys.argv[1:]
    with atheris.instrument_imports(include=INSTRUMENTED):
        check = load(target)
    warnings.simplefilter("error")  # as under pytest
    found = FOUND / target
    (found / "corpus").mkdir(parents=True, exist_ok=True)
    bounds = [f"-max_len={LONGEST_BYTES}", f"-timeout={LONGEST_SECONDS}", f"-rss_limit_mb={MOST_MEGABYTES}"]
    folders = [str(found / "corpus"), str(HERE / "corpus" / target)]
    atheris.Setup([sys.argv[0], f"-artifact_prefix={found}{os.sep}", *bounds, *options, *folders], check)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
