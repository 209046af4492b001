"""The settings of a run: typed, checked, read from TOML and written back to it in full.

An unknown key is an error that names the near ones. What the run made of its settings (defaults filled in) is written
to its directory, so that `evocore resume` and a reader see the same.
"""

from __future__ import annotations

import difflib
import math
import os
import re
import tomllib
from collections.abc import Mapping
from typing import Any, Literal

import pydantic
from pydantic import ConfigDict, Field, field_validator
from pydantic_core import PydanticCustomError

from evocore.errors import ConfigError, InputError
from evocore.files import read_text, shown

MOST_BUDGET_SECONDS = 10 * 365.25 * 86400.0
_BOUNDS = {"ge": "of at least", "gt": "above", "le": "of at most", "lt": "below"}
_ASKED = re.compile(r"^(Input should be |Value error, )|, unable to parse.*$")
_DURATION = re.compile(r"(?:(\d+(?:\.\d+)?)h)?(?:(\d+(?:\.\d+)?)m)?(?:(\d+(?:\.\d+)?)s?)?")


class RunConfig(pydantic.BaseModel):
    """Settings of `evocore run`.

    Attributes
    ----------
    problem : str
        Slug of a built-in problem, or the path of a problem folder.
    budget_seconds : float
        Wall time of the whole run, all sessions together. In TOML also `budget = "2m"`.
    target : float or None
        Stop when a construction is at least this good by its arena score.
    islands, seed, preset, admission, epsilon, patience, temperature
        The search (spec: islands K, dominance tolerance, stall patience P, selection temperature T).
    workers : int or None
        Cores to use; default: all that this process may run on.
    task_seconds, attempts, epoch_seconds, chain_slots, evaluation_slots : or None
        The plan by hand; None leaves each to the plan made from budget and cores.
    sandbox : "docker", "linux-strict", "linux", "unsafe" or None
        How programs are confined; None: as strongly as the machine allows with nothing to install. A run writes down
        what it took.
    mutators : tuple of str
        Mutators that the islands draw from; empty means every one that there is.
    program, start : paths
        Programs and constructions of one's own to begin from.
    max_evaluations, max_rounds : int or None
        Further limits; whichever comes first ends the run.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    problem: str
    budget_seconds: float = Field(120.0, gt=0.0, le=MOST_BUDGET_SECONDS)
    target: float | None = None
    islands: int = Field(3, ge=1, le=64)
    seed: int = Field(0, ge=0, lt=2**63)
    preset: str = "milo"
    admission: Literal["dominance", "hypervolume"] = "dominance"
    epsilon: float = Field(0.02, ge=0.0, lt=1.0)
    patience: int = Field(3, ge=1)
    temperature: float = Field(1.0, gt=0.0)
    workers: int | None = Field(None, ge=1, le=4096)
    task_seconds: float | None = Field(None, gt=0.0)
    attempts: int | None = Field(None, ge=1, le=100)
    epoch_seconds: float | None = Field(None, gt=0.0)
    chain_slots: int | None = Field(None, ge=0, le=4096)
    evaluation_slots: int | None = Field(None, ge=1, le=4096)
    memory_bytes: int = Field(2 * 1024**3, ge=64 * 1024**2)
    sandbox: Literal["docker", "linux-strict", "linux", "unsafe"] | None = None
    mutators: tuple[str, ...] = ()
    program: tuple[str, ...] = ()
    start: str | None = None
    max_evaluations: int | None = Field(None, ge=1)
    max_rounds: int | None = Field(None, ge=1)

    @field_validator("*", mode="before")
    @classmethod
    def _no_bool(cls, value: object) -> object:
        if isinstance(value, bool):  # no setting is one, and as numbers they would pass for 0 and 1
            raise PydanticCustomError("bool", "Input should be a number or text, not a boolean")
        return value

    @field_validator("start", "program", mode="before")
    @classmethod
    def _paths(cls, value: object) -> object:
        if isinstance(value, list | tuple):
            return tuple(os.fspath(one) if isinstance(one, os.PathLike) else one for one in value)
        return os.fspath(value) if isinstance(value, os.PathLike) else value

    @field_validator("preset")
    @classmethod
    def _known_preset(cls, name: str) -> str:
        from evocore.search.presets import preset

        return preset(name).name

    @classmethod
    def create(cls, settings: Mapping[str, Any], *, where: str = "settings") -> RunConfig:
        """Check settings; `budget` may stand for `budget_seconds` and be text such as `"1h30m"`.

        Raises
        ------
        ConfigError
            Says which key, what was expected there and what was found.
        """
        values = dict(settings)
        if "budget" in values:
            if "budget_seconds" in values:
                raise ConfigError(f"expected budget or budget_seconds, got both, in {where}")
            values["budget_seconds"] = parse_duration(values.pop("budget"))
        _refuse_unknown(values, cls, where)
        try:
            return cls(**values)
        except pydantic.ValidationError as error:
            raise ConfigError(_first_problem(error, where)) from None

    @classmethod
    def from_toml(cls, path: str | os.PathLike[str], **overrides: Any) -> RunConfig:
        """Read settings from a file; keyword arguments win over what it says.

        Raises
        ------
        ConfigError
            The file cannot be read, is not TOML, or a setting is wrong.
        """
        return cls.create({**read_toml(path), **overrides}, where=str(path))

    def to_toml(self) -> str:
        """Write the settings as TOML that `from_toml` reads back to the same; unset ones are left out."""
        lines = ["# Settings of this run, defaults filled in."]
        for key, value in self.model_dump().items():
            if value is not None:
                lines.append(f"{key} = {_toml(value)}")
        return "\n".join(lines) + "\n"

    def changed(self, **settings: Any) -> RunConfig:
        """Return a copy with some settings changed, checked anew."""
        return RunConfig.create({**self.model_dump(), **settings})


def read_toml(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read a flat TOML file.

    Raises
    ------
    ConfigError
        The file cannot be read or is not TOML.
    """
    try:
        return tomllib.loads(read_text(path))
    except InputError as error:
        raise ConfigError(str(error)) from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ConfigError(f"{shown(path)}: expected TOML, got something else ({error})") from None


def parse_duration(text: object) -> float:
    """Turn `"90s"`, `"2m"`, `"1h30m"`, `"10h"`, `"45"` or a number of seconds into seconds.

    Raises
    ------
    ConfigError
        It is not a duration, or not a positive finite one.

    Examples
    --------
    >>> parse_duration("1h30m")
    5400.0
    >>> parse_duration(90)
    90.0
    """
    remedy = 'write it like "90s", "2m", "1h30m" or "10h"'
    if isinstance(text, bool) or not isinstance(text, int | float | str):
        raise ConfigError(f"expected a duration, got {type(text).__name__}, as budget; {remedy}")
    if isinstance(text, str):
        found = _DURATION.fullmatch(text.strip().lower().replace(" ", ""))
        if found is None or not any(found.groups()):
            raise ConfigError(f"expected a duration, got {text!r}, as budget; {remedy}")
        hours, minutes, seconds = (float(part or 0) for part in found.groups())
        value = 3600.0 * hours + 60.0 * minutes + seconds
    else:
        value = float(text)
    if not (0.0 < value < math.inf):
        raise ConfigError(f"expected a budget above zero, got {text!r}; {remedy}")
    if value > MOST_BUDGET_SECONDS:
        raise ConfigError(f"expected a budget of at most 10 years, got {text!r}; {remedy}")
    return value


def format_duration(seconds: float) -> str:
    """Write seconds the way that `parse_duration` reads them, to the second.

    Examples
    --------
    >>> format_duration(5400), format_duration(7.25), format_duration(75)
    ('1h30m', '7.25s', '1m15s')
    """
    if seconds < 60:
        return f"{seconds:.3g}s" if seconds != round(seconds, 1) else f"{seconds:g}s"
    whole = round(seconds)
    parts = ((whole // 3600, "h"), (whole % 3600 // 60, "m"), (whole % 60, "s"))
    return "".join(f"{count}{unit}" for count, unit in parts if count)


def _refuse_unknown(values: Mapping[str, Any], model: type[pydantic.BaseModel], where: str) -> None:
    for key in values:
        if key not in model.model_fields:
            near = difflib.get_close_matches(key, [*model.model_fields, "budget"], n=3, cutoff=0.5)
            hint = f"did you mean {', '.join(near)}?" if near else f"known: {', '.join(model.model_fields)}"
            raise ConfigError(f"expected a known setting, got {key!r}, in {where}; {hint}")


def _first_problem(error: pydantic.ValidationError, where: str) -> str:
    first = error.errors(include_url=False)[0]
    key = ".".join(str(part) for part in first["loc"]) or "settings"
    if first["type"] == "missing":
        return f"expected a value for {key}, got none, in {where}"
    bound = next(
        (f"{words} {first['ctx'][name]}" for name, words in _BOUNDS.items() if name in first.get("ctx", {})), ""
    )
    if bound:
        return f"expected {key} {bound}, got {first['input']!r}, in {where}"
    asked = _ASKED.sub("", first["msg"])
    return f"expected {key} to be {asked[0].lower() + asked[1:]}, got {first['input']!r}, in {where}"


def _toml(value: object) -> str:
    """Write one value of a flat table."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str):
        return _toml_text(value)
    if isinstance(value, tuple | list):
        return "[" + ", ".join(_toml(one) for one in value) + "]"
    raise TypeError(f"expected a boolean, number, text or list of these, got {type(value).__name__}")


def _toml_text(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(one if one >= " " and one != "\x7f" else f"\\u{ord(one):04x}" for one in escaped) + '"'
