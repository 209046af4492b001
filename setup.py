"""The compiler and the folder map; everything else about the package stands in pyproject.toml.

Three top-level folders are sub-packages of `evocore`: their own names belong to other people's packages. Every
`kernels/_topic.pyx` becomes the extension `evocore.kernels._topic`.
"""

import os
import shutil
import sysconfig
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, find_packages, setup
from setuptools.command.build_ext import build_ext

ROOT = Path(__file__).parent
FOLDERS = {
    "evocore": "evocore",
    "evocore.kernels": "kernels",
    "evocore.verifiers": "verifiers",
    "evocore.problems": "problems",
    "evocore.bench": "bench",
}

# -ffp-contract=off: a compiler that fuses a*b+c changes the last bit from one machine to the next.
COMPILE_FLAGS = ["-O3", "-g0", "-std=gnu11", "-ffp-contract=off", "-fno-math-errno"]
COMPILE_FLAGS += ["-Wno-unused-function", "-Wno-psabi"]
# What Cython writes only converts arguments: optimising it takes longer than all of the kernels.
GLUE_FLAGS = ["-O1"]
if os.environ.get("EVOCORE_SANITIZE"):
    COMPILE_FLAGS += ["-g", "-O1", "-fno-omit-frame-pointer", f"-fsanitize={os.environ['EVOCORE_SANITIZE']}"]
LINK_FLAGS = [f for f in COMPILE_FLAGS if f.startswith("-fsanitize")]


class BuildExtensions(build_ext):
    """Compile on all cores; say in one sentence what is missing when nothing can be compiled here."""

    def build_extensions(self):
        """Look for the compiler and for Python's headers, translate one by one, compile side by side."""
        command = self.compiler.compiler_so[0]
        headers = Path(sysconfig.get_path("include"), "Python.h")
        if shutil.which(command) is None:
            raise SystemExit(
                f"evocore: its kernels need a C compiler and '{command}' is not there: install one "
                "(Debian, Ubuntu: apt install gcc python3-dev; Fedora: dnf install gcc python3-devel) and try again."
            )
        if not headers.exists():
            raise SystemExit(
                f"evocore: its kernels need Python's C headers and {headers} is not there: install them "
                "(Debian, Ubuntu: apt install python3-dev; Fedora: dnf install python3-devel) and try again."
            )
        self._optimise_glue_less()
        for one in self.extensions:  # here, because Cython does not work in several threads
            (translated,) = cythonize(one, quiet=True)
            one.sources = translated.sources
        self.parallel = self.parallel or os.cpu_count()
        super().build_extensions()

    def _optimise_glue_less(self):
        compile_one = self.compiler._compile

        def compile_with_its_flags(obj, src, ext, cc_args, extra_postargs, pp_opts):
            flags = [*extra_postargs, *GLUE_FLAGS] if Path(src).name.startswith("_") else extra_postargs
            compile_one(obj, src, ext, cc_args, flags, pp_opts)

        self.compiler._compile = compile_with_its_flags


def extension(pyx: Path) -> Extension:
    """One extension a .pyx; the C units of a topic stand beside it as `topic_*.c`."""
    topic = pyx.stem
    units = sorted(str(p.relative_to(ROOT)) for p in pyx.parent.glob(f"{topic.lstrip('_')}_*.c"))
    return Extension(
        f"evocore.kernels.{topic}",
        [str(pyx.relative_to(ROOT)), *units],
        include_dirs=["kernels"],
        depends=sorted(str(p.relative_to(ROOT)) for p in pyx.parent.glob("*.h")),
        extra_compile_args=COMPILE_FLAGS,
        extra_link_args=LINK_FLAGS,
    )


packages = []
for name, folder in FOLDERS.items():
    packages += [name, *(f"{name}.{sub}" for sub in find_packages(str(ROOT / folder)))]

setup(
    packages=packages,
    package_dir=FOLDERS,
    ext_modules=[extension(p) for p in sorted((ROOT / "kernels").glob("_*.pyx"))],
    cmdclass={"build_ext": BuildExtensions},
)
