"""The directory of a run: what lies where, and how it is written so that a kill at any moment leaves whole files.

::

    evocore-runs/<problem>-<date>-<n>/
        ledger.jsonl     config.toml      best.json      verdict.json
        report.png       report.md
        programs/<sha>.py                 every program, named by the SHA-256 of its text
        constructions/<sha>.json          every discovery, in the arena's schema, named by the SHA-256 of the file
        snapshots/                        what the orchestrator saw
        winners/                          the programs that led to the best construction, and their lineage

Nothing in it names a place outside (a problem folder of one's own excepted), so it can be moved.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import os
from pathlib import Path
from typing import Any

from evocore.errors import ConfigError, InfrastructureError, InputError
from evocore.ledger import sync_folder, write_file

_DERIVED = ("snapshots", "winners")
_FOLDERS = ("programs", "constructions", *_DERIVED)


class RunDir:
    """Paths and whole-file writes of one run."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path).resolve()

    @classmethod
    def create(
        cls, slug: str, out: str | os.PathLike[str] | None = None, *, today: datetime.date | None = None
    ) -> RunDir:
        """Make a new run directory: `out`, or the next free name in `evocore-runs/` below the working directory.

        Raises
        ------
        ConfigError
            There is a run in `out` already, or it cannot be written.
        """
        try:
            path = _fresh(slug, today) if out is None else _given(Path(out))
            run = cls(path)
            for folder in _FOLDERS:
                (run.path / folder).mkdir(exist_ok=True)
        except OSError as error:
            where = error.filename or out
            raise ConfigError(
                f"expected a folder that can be written, got {(error.strerror or '').lower()}: {where}; "
                "choose another with --out"
            ) from None
        return run

    @classmethod
    def existing(cls, path: str | os.PathLike[str]) -> RunDir:
        """Take a run directory that is there.

        Raises
        ------
        InputError
            There is no run.
        """
        run = cls(path)
        if not run.ledger.is_file():
            raise InputError(f"expected a run directory (one with a ledger.jsonl), got none: {Path(path)}")
        return run

    def make_derived(self) -> None:
        """Make the folders again whose files are, should somebody have cleared them away."""
        for folder in _DERIVED:
            (self.path / folder).mkdir(exist_ok=True)

    @property
    def ledger(self) -> Path:
        """The ledger."""
        return self.path / "ledger.jsonl"

    @property
    def config(self) -> Path:
        """The resolved settings."""
        return self.path / "config.toml"

    @property
    def best(self) -> Path:
        """The best construction, ready to submit."""
        return self.path / "best.json"

    @property
    def verdict(self) -> Path:
        """The verdict on the best construction."""
        return self.path / "verdict.json"

    def save_program(self, source: str) -> str:
        """Keep a program's text; returns its SHA-256. `sync_programs` makes sure of its place in the folder."""
        content = source.encode()
        sha = hashlib.sha256(content).hexdigest()
        path = self.path / self.program_file(sha)
        if not path.exists():
            write_file(path, content, sync_entry=False)
        return sha

    def sync_programs(self) -> None:
        """Put the entries of all programs on the disk."""
        sync_folder(self.path / "programs")

    def save_construction(self, payload: dict[str, Any]) -> str:
        """Keep a construction in the arena's schema; returns the SHA-256 of the file."""
        content = json_bytes(payload)
        sha = hashlib.sha256(content).hexdigest()
        path = self.path / self.construction_file(sha)
        if not path.exists():
            write_file(path, content)
        return sha

    def program(self, sha: str) -> str:
        """Read a program back.

        Raises
        ------
        InfrastructureError
            The file is missing or was changed.
        """
        return self._read(self.program_file(sha), sha).decode()

    def construction(self, sha: str) -> dict[str, Any]:
        """Read a construction back.

        Raises
        ------
        InfrastructureError
            The file is missing or was changed.
        """
        payload: dict[str, Any] = json.loads(self._read(self.construction_file(sha), sha))
        return payload

    @staticmethod
    def program_file(sha: str) -> str:
        """Where a program lies, relative to the run directory."""
        return f"programs/{sha}.py"

    @staticmethod
    def construction_file(sha: str) -> str:
        """Where a construction lies, relative to the run directory."""
        return f"constructions/{sha}.json"

    def write_json(self, path: Path, data: object, *, indent: int | None = None) -> None:
        """Write a JSON file whole."""
        write_file(path, json_bytes(data, indent=indent))

    def _read(self, file: str, sha: str) -> bytes:
        path = self.path / file
        try:
            content = path.read_bytes()
        except OSError as error:
            raise InfrastructureError(
                f"expected the file that the ledger names, got {(error.strerror or '').lower()}: {path}"
            ) from None
        if hashlib.sha256(content).hexdigest() != sha:
            raise InfrastructureError(f"expected a file with the hash that names it, got a changed one: {path}")
        return content


def json_bytes(data: object, *, indent: int | None = None) -> bytes:
    """Write JSON with shortest round-trip floats and a newline at the end."""
    return (json.dumps(data, allow_nan=False, indent=indent) + "\n").encode()


def _fresh(slug: str, today: datetime.date | None) -> Path:
    base = Path("evocore-runs")
    base.mkdir(exist_ok=True)
    day = (today or datetime.date.today()).isoformat()
    number = 1
    while True:
        path = base / f"{slug}-{day}-{number}"
        try:
            path.mkdir()
        except FileExistsError:
            number += 1
        else:
            return path


def _given(path: Path) -> Path:
    if (path / "ledger.jsonl").exists():
        raise ConfigError(
            f"expected a folder without a run, got one with a run in it: {path}; "
            f"continue it with `evocore resume {path}`, or choose another folder"
        )
    path.mkdir(parents=True, exist_ok=True)
    if any(path.iterdir()):
        raise ConfigError(f"expected an empty or a new folder for the run, got one with files in it: {path}")
    return path
