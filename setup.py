"""The compiler and the folder map; everything else about the package stands in pyproject.toml.

Three top-level folders are sub-packages of `evocore` under shorter names than PyPI would leave them. Every
`kernels/_topic.pyx` becomes the extension `evocore.kernels._topic`.
"""

import os
from pathlib import Path

from setuptools import Extension, find_packages, setup

ROOT = Path(__file__).parent
FOLDERS = {
    "evocore": "evocore",
    "evocore.kernels": "kernels",
    "evocore.verifiers": "verifiers",
    "evocore.problems": "problems",
    "evocore.bench": "bench",
}

# -ffp-contract=off: a compiler that fuses a*b+c changes the last bit from one machine to the next.
COMPILE_FLAGS = ["-O3", "-std=gnu11", "-ffp-contract=off", "-fno-math-errno", "-Wno-unused-function"]
if os.environ.get("EVOCORE_SANITIZE"):
    COMPILE_FLAGS += ["-g", "-O1", "-fno-omit-frame-pointer", f"-fsanitize={os.environ['EVOCORE_SANITIZE']}"]
LINK_FLAGS = [f for f in COMPILE_FLAGS if f.startswith("-fsanitize")]

packages = []
for name, folder in FOLDERS.items():
    if (ROOT / folder / "__init__.py").exists():
        packages += [name, *(f"{name}.{sub}" for sub in find_packages(str(ROOT / folder)))]

headers = sorted(str(p.relative_to(ROOT)) for p in (ROOT / "kernels").glob("*.h"))


def extension(pyx: Path) -> Extension:
    """One extension a .pyx; the C units of a topic stand beside it as `topic_*.c`."""
    topic = pyx.stem
    units = sorted(str(p.relative_to(ROOT)) for p in pyx.parent.glob(f"{topic.lstrip('_')}_*.c"))
    return Extension(
        f"evocore.kernels.{topic}",
        [str(pyx.relative_to(ROOT)), *units],
        include_dirs=["kernels"],
        depends=headers,
        extra_compile_args=COMPILE_FLAGS,
        extra_link_args=LINK_FLAGS,
    )


setup(
    packages=packages,
    package_dir=FOLDERS,
    ext_modules=[extension(p) for p in sorted((ROOT / "kernels").glob("_*.pyx"))],
)
