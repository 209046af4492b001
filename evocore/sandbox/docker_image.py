"""The image that candidates run in: this Python, its shared libraries and what programs may import, nothing else.

It is made of the files of this very installation and needs no registry. Its tag is a digest of their contents: what
has changed gets a new image, what has not is found again. The files of others are the layer below, evocore's the one
above.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import importlib.util
import io
import os
import py_compile
import re
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING

from evocore.errors import SandboxUnavailable

if TYPE_CHECKING:
    from docker import DockerClient

REPOSITORY = "evocore-runner"
NOBODY = 65534

# What optimizer programs import, with what these import themselves; the latter only where they are installed.
PACKAGES = ("numpy", "scipy", "numba", "llvmlite")
MORE_PACKAGES = ("flint", "mpmath", "pyfftw")

# The parts of evocore that a candidate's process loads. Optimizer programs, records and the verifier stay outside.
_PARTS = {
    "evocore": ("__init__.py", "_version.py", "errors.py", "optim", "sandbox"),
    "evocore.kernels": (".",),
    "evocore.problems": (".",),
    "evocore.verifiers": ("__init__.py", "arrays.py", "lockdown.py"),
}
_HOME = "opt/runner"
_PREFIX = "usr/local"
_SKIPPED_FOLDERS = {"__pycache__", "tests", "test", "optimizers", "records", "attacks", "include"}
_SKIPPED_LIBRARY = {"site-packages", "dist-packages", "idlelib", "tkinter", "turtledemo", "ensurepip", "lib2to3"}
_SKIPPED_ENDINGS = (".pyc", ".pyi", ".pyx", ".pxd", ".c", ".h", ".a", ".o", ".md", ".rst")
_ACCOUNTS = {
    "etc/passwd": f"root:x:0:0:root:/:\nnobody:x:{NOBODY}:{NOBODY}:nobody:/tmp:\n",
    "etc/group": f"root:x:0:\nnogroup:x:{NOBODY}:\n",
}
_RECIPE = f"""\
FROM {{below}}
ADD layer.tar /
USER {NOBODY}:{NOBODY}
WORKDIR /
ENV PYTHONPATH=/{_HOME}
ENTRYPOINT ["/{_PREFIX}/bin/python3", "-P", "-s", "-B", "-m", "evocore.sandbox.docker_runner"]
"""
_FOLDERS = {"tmp": 0o1777, "proc": 0o755, "sys": 0o755, "dev": 0o755, "run": 0o755}


@dataclass(frozen=True)
class Content:
    """What goes into a layer of the image: files by their place in it."""

    files: dict[str, Path]

    @functools.cached_property
    def digest(self) -> str:
        """SHA-256 over all names and contents, and over the way they are put together."""
        total = hashlib.sha256(Path(__file__).read_bytes())
        for name, path in sorted(self.files.items()):
            with path.open("rb") as file:
                total.update(f"{name}\0{hashlib.file_digest(file, 'sha256').hexdigest()}\n".encode())
        return total.hexdigest()

    def write(self, stream: IO[bytes]) -> None:
        """Write the tree as a tar archive, modules compiled."""
        with tarfile.open(fileobj=stream, mode="w|") as tar, tempfile.TemporaryDirectory() as scratch:
            for name, mode in _FOLDERS.items():
                tar.addfile(_entry(name, mode, tarfile.DIRTYPE))
            for name, text in _ACCOUNTS.items():
                _add(tar, name, text.encode())
            for name, path in sorted(self.files.items()):
                _add_file(tar, name, path)
                if name.endswith(".py"):
                    _add_compiled(tar, name, path, Path(scratch, "module.pyc"))


@dataclass(frozen=True)
class Image:
    """An image, by its name and by the engine's digest of it."""

    name: str
    id: str


@functools.cache
def layers() -> tuple[Content, Content]:
    """Collect the files of the running Python with what others wrote for it, and those of evocore.

    Raises
    ------
    SandboxUnavailable
        A package or a shared library cannot be found.
    """
    base, own = {**_python(), **_packages()}, _own()
    return Content({**base, **_shared_libraries({**base, **own})}), Content(own)


def ensure(client: DockerClient) -> Image:
    """Find the image of this installation, or build it, saying so on stderr."""
    base, own = layers()
    below = f"{REPOSITORY}-base:{base.digest[:16]}"
    name = f"{REPOSITORY}:{hashlib.sha256((base.digest + own.digest).encode()).hexdigest()[:16]}"
    if not _is_there(client, name):
        is_half_done = _is_there(client, below)
        print(f"evocore: building the image {name}{'' if is_half_done else ', some 20 seconds'}", file=sys.stderr)
        if not is_half_done:
            _import(client, base, below)
        _put_on_top(client, own, below, name)
    return Image(name, str(client.images.get(name).id))


def _is_there(client: DockerClient, name: str) -> bool:
    from docker.errors import ImageNotFound

    try:
        client.images.get(name)
    except ImageNotFound:
        return False
    return True


def _import(client: DockerClient, base: Content, name: str) -> None:
    repository, tag = name.split(":")
    with tempfile.TemporaryFile() as archive:
        base.write(archive)
        archive.seek(0)
        chunks = iter(lambda: archive.read(1 << 20), b"")
        client.api.import_image_from_stream(chunks, repository=repository, tag=tag)


def _put_on_top(client: DockerClient, own: Content, below: str, name: str) -> None:
    """Add what changes often as a layer of its own: it takes a second, and megabytes instead of hundreds of them."""
    layer, context = io.BytesIO(), io.BytesIO()
    own.write(layer)
    with tarfile.open(fileobj=context, mode="w") as tar:
        _add(tar, "Dockerfile", _RECIPE.format(below=below).encode())
        _add(tar, "layer.tar", layer.getvalue())
    context.seek(0)
    client.images.build(fileobj=context, custom_context=True, tag=name, rm=True, network_mode="none")


# ---- which files ------------------------------------------------------------------------------------------------


def _python() -> dict[str, Path]:
    """The interpreter and its library, at places where it finds itself."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    binary = Path(sys.executable).resolve()
    library = Path(sysconfig.get_path("stdlib"))
    extensions = Path(sysconfig.get_path("platstdlib"))
    files = {f"{_PREFIX}/bin/python3": binary}
    for root in dict.fromkeys((library, extensions)):
        for path in _walk(root, _SKIPPED_LIBRARY):
            files[f"{_PREFIX}/{sys.platlibdir}/{version}/{path.relative_to(root)}"] = path
    return files


def _packages() -> dict[str, Path]:
    files = {}
    distributions = importlib.metadata.packages_distributions()
    for name in (*PACKAGES, *(name for name in MORE_PACKAGES if importlib.util.find_spec(name))):
        folder = _folder(name)
        wheels = (d.replace("-", "_") for d in distributions.get(name, ()))
        for root in (folder, *(folder.parent / f"{wheel}.libs" for wheel in wheels)):
            for path in _walk(root):
                files[f"{_HOME}/{root.name}/{path.relative_to(root)}"] = path
    return files


def _own() -> dict[str, Path]:
    files = {}
    for name, parts in _PARTS.items():
        root = _folder(name)
        for part in parts:
            for path in _walk(root / part):
                files[f"{_HOME}/{name.replace('.', '/')}/{path.relative_to(root)}"] = path
    return files


def _folder(package: str) -> Path:
    found = importlib.util.find_spec(package)
    if found is None or not found.submodule_search_locations:
        raise SandboxUnavailable(f"expected the package {package} to be installed for the image, found none")
    return Path(next(iter(found.submodule_search_locations)))


def _walk(root: Path, skipped: set[str] | frozenset[str] = frozenset()) -> Iterator[Path]:
    if root.is_file():
        yield root
        return
    for folder, names, files in os.walk(root):
        names[:] = [n for n in names if n not in _SKIPPED_FOLDERS | skipped and not n.startswith("config-")]
        for name in files:
            path = Path(folder, name)
            if not name.endswith(_SKIPPED_ENDINGS) and not name.startswith("_tkinter") and path.is_file():
                yield path


def _shared_libraries(files: dict[str, Path]) -> dict[str, Path]:
    """What the interpreter and the compiled modules load, as the dynamic linker says.

    They come into the folder of the C library, where the linker looks by itself. What packages bring along is found
    by a path relative to themselves, and is in the image already.
    """
    there = {str(path.resolve()) for path in files.values()}
    compiled = [str(p) for n, p in files.items() if n.endswith("/bin/python3") or ".so" in p.name]
    listing = subprocess.run(["ldd", *compiled], capture_output=True, text=True, env={"PATH": os.environ["PATH"]})
    found = {Path(m) for m in re.findall(r"(?:=> |^\s+)(/\S+) \(0x", listing.stdout, re.MULTILINE)}
    libc = next((p for p in found if p.name.startswith("libc.so")), None)
    if libc is None:
        raise SandboxUnavailable(f"expected ldd to list the C library, got: {listing.stderr.strip() or 'nothing'}")
    libraries = {}
    for path in found:
        if str(path.resolve()) not in there:
            home = path.parent if path.name.startswith("ld-") else libc.parent
            libraries[str(home / path.name).lstrip("/")] = path.resolve()
    return libraries


# ---- the archive ------------------------------------------------------------------------------------------------


def _entry(name: str, mode: int, kind: bytes = tarfile.REGTYPE) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.mode, entry.type = mode, kind
    return entry


def _add(tar: tarfile.TarFile, name: str, content: bytes) -> None:
    entry = _entry(name, 0o644)
    entry.size = len(content)
    tar.addfile(entry, io.BytesIO(content))


def _add_file(tar: tarfile.TarFile, name: str, path: Path) -> None:
    status = path.stat()
    entry = _entry(name, 0o755 if status.st_mode & 0o111 else 0o644)
    entry.size, entry.mtime = status.st_size, int(status.st_mtime)
    with path.open("rb") as file:
        tar.addfile(entry, file)


def _add_compiled(tar: tarfile.TarFile, name: str, path: Path, scratch: Path) -> None:
    """Add a module's compiled form: the installation's own, or one made now. Without it every container compiles."""
    folder, _, file = name.rpartition("/")
    compiled = Path(importlib.util.cache_from_source(str(path), optimization=""))
    if not compiled.is_file() or compiled.stat().st_mtime < path.stat().st_mtime:
        try:
            py_compile.compile(
                str(path), str(scratch), f"/{name}", doraise=True,
                invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
            )  # fmt: skip
        except (py_compile.PyCompileError, UnicodeError):  # a template, or another version's syntax
            return
        compiled = scratch
    _add(tar, f"{folder}/__pycache__/{file[:-3]}.{sys.implementation.cache_tag}.pyc", compiled.read_bytes())
