"""What a problem is: the class to subclass, and the small records that its methods return."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from evocore.errors import InputError, InvalidConstruction
from evocore.kernels.fourier import value_range

if TYPE_CHECKING:
    from pydantic import BaseModel

    from evocore.problems.certificate import Certificate

Vector: TypeAlias = npt.NDArray[np.float64]
Direction: TypeAlias = Literal["minimize", "maximize"]

DESCRIPTOR_CELLS = 64
LARGEST_EXACT_INTEGER = 2**53


@dataclass(frozen=True)
class Reference:
    """A published score to compare with.

    Attributes
    ----------
    who : str
        Author, group or agent.
    score : float
        The published value.
    year : int
        Year of publication.
    kind : str
        Where it stands: "paper", "arena", "repository".
    source : str
        Enough to find it: arXiv id, repository, leaderboard and date.
    """

    who: str
    score: float
    year: int
    kind: str
    source: str


@dataclass(frozen=True)
class Enclosure:
    """A closed interval of rationals that is proven to contain the value.

    Attributes
    ----------
    lo, hi : Fraction
        The ends, `lo <= hi`.
    """

    lo: Fraction
    hi: Fraction

    def __post_init__(self) -> None:
        if self.lo > self.hi:
            raise ValueError(f"expected lo <= hi, got lo={float(self.lo)!r}, hi={float(self.hi)!r}")

    @property
    def width(self) -> Fraction:
        """`hi - lo`."""
        return self.hi - self.lo

    def __float__(self) -> float:
        return float((self.lo + self.hi) / 2)


Exact: TypeAlias = Fraction | Enclosure


@dataclass(frozen=True)
class ExactResult:
    """The true value of the submitted numbers, and whether they are what the problem asks for.

    Attributes
    ----------
    value : Fraction or Enclosure or None
        Exact score of the numbers, or of their canonical repair; None if and only if they are not valid.
    valid : bool
        Whether the numbers (after the canonical repair, where there is one) satisfy every condition exactly.
    reasons : tuple of str
        Why not, one sentence each; empty when valid.
    extras : mapping of str to str
        Further named values in words or digits.
    repair : mapping of str to Fraction, or None
        What the canonical repair changed, by name; None where nothing had to be changed.
    """

    value: Exact | None
    valid: bool = True
    reasons: tuple[str, ...] = ()
    extras: Mapping[str, str] = field(default_factory=dict)
    repair: Mapping[str, Fraction] | None = None

    @classmethod
    def invalid(
        cls, *reasons: str, extras: Mapping[str, str] | None = None, repair: Mapping[str, Fraction] | None = None
    ) -> ExactResult:
        """Make the result for numbers that break a condition."""
        return cls(None, False, reasons, extras or {}, repair)


def lower(value: Exact | float) -> Fraction | float:
    """Return the lower end of an exact value, or the number itself."""
    return value.lo if isinstance(value, Enclosure) else value


def upper(value: Exact | float) -> Fraction | float:
    """Return the upper end of an exact value, or the number itself."""
    return value.hi if isinstance(value, Enclosure) else value


def _is_less(a: Fraction | float, b: Fraction | float) -> bool:
    """Whether a < b, exactly. Rounding to doubles keeps the order, so only equal doubles need the fractions."""
    try:
        x, y = float(a), float(b)
    except OverflowError:
        return bool(a < b)
    return bool(x < y if x != y else a < b)


def to_float(value: Exact | float) -> float:
    """Return the nearest double, infinite where the value is beyond all of them; the middle of an enclosure."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if upper(value) > 0 else -math.inf


class Problem:
    """One problem: schema, scores, references. Subclass it, and put one object of the subclass into `problem.py`.

    A subclass states `slug`, `title`, `statement` and `direction`, and writes `score` and `exact`; it says what to
    beat, by `references` or by a number `target`. Everything else has a default that fits a problem whose
    construction is one list of numbers.

    Whatever scoring needs, tables and modules, has to be loaded with `problem.py`, or by scoring the problem's own
    start: the verifier process gives up files, network and new processes before it reads a construction.

    Attributes
    ----------
    slug : str
        Name on the command line: lower case words with hyphens.
    title : str
        One line.
    statement : str
        Markdown: what is asked and how it is scored.
    direction : "minimize" or "maximize"
        Which scores are better.
    arena_id : int or None
        Number of the problem on EinsteinArena.
    schema_key : str
        Key of the list of numbers in a submission.
    min_length, max_length : int
        Bounds on the number of values.
    references : tuple of Reference
        Published scores.
    min_improvement : float
        By how much a score must beat the best reference to count as first place.
    gain_floor : float
        Floor of the logarithmic gain: differences from the target below it hardly count.
    proven_bound : float or None
        No construction can score beyond it; a score that does is a defect of the scoring.
    alarm_margin : float
        A score better than the best reference by more than this raises an alarm.
    default_size : int
        A sensible number of values to start a search with.
    folder : Path or None
        Where the problem was loaded from; set by the loader.

    Examples
    --------
    >>> from fractions import Fraction
    >>> class FlattestPair(Problem):
    ...     slug = "flattest-pair"
    ...     title = "Two numbers in proportion"
    ...     statement = "Give two positive numbers; the score is larger over smaller."
    ...     direction = "minimize"
    ...     min_length = max_length = default_size = 2
    ...     target = 1.0
    ...
    ...     def score(self, x):
    ...         return float(max(x) / min(x))
    ...
    ...     def exact(self, x):
    ...         return ExactResult(Fraction(max(x)) / Fraction(min(x)))
    >>> pair = FlattestPair()
    >>> pair.score(pair.parse({"values": [3, 2]})), pair.exact([3.0, 2.0]).value
    (1.5, Fraction(3, 2))
    """

    slug: str
    title: str
    statement: str
    direction: Direction
    arena_id: int | None = None
    schema_key: str = "values"
    min_length: int = 1
    max_length: int = 100_000
    references: tuple[Reference, ...] = ()
    min_improvement: float = 0.0
    gain_floor: float = 1e-4
    proven_bound: float | None = None
    alarm_margin: float = math.inf
    default_size: int = 100
    folder: Path | None = None

    # ---- what a subclass must write -------------------------------------------------------------------------------

    def score(self, x: Vector) -> float:
        """Score a construction as the arena does, operation for operation.

        Parameters
        ----------
        x : (n,) float64 array
            What `parse` or `check` returned.

        Returns
        -------
        float
            The arena's float.

        Raises
        ------
        InvalidConstruction
            Where the arena refuses the construction.
        """
        raise NotImplementedError(f"{type(self).__name__} has no method score")

    def exact(self, x: Vector) -> ExactResult:
        """Score the very numbers, without rounding.

        Parameters
        ----------
        x : (n,) float64 array
            What `parse` or `check` returned.

        Returns
        -------
        ExactResult
            A rational, or an enclosure where the score is irrational or too large to write down.
        """
        raise NotImplementedError(f"{type(self).__name__} has no method exact")

    # ---- what has a default ---------------------------------------------------------------------------------------

    def fast(self, x: Vector) -> float:
        """Score a construction fast, for use inside a search; `score` unless a subclass knows better."""
        return self.score(x)

    def parse(self, payload: object) -> Vector:
        """Read a submission.

        Parameters
        ----------
        payload : dict
            Decoded JSON: `{schema_key: [numbers]}` and nothing else.

        Returns
        -------
        (n,) float64 array
            The numbers that are scored.

        Raises
        ------
        InvalidConstruction
            Says what was expected and what stands there, with the index.
        """
        key = self.schema_key
        if not isinstance(payload, dict):
            raise InvalidConstruction(f'expected an object {{"{key}": [numbers]}}, got {_kind(payload)}')
        if key not in payload:
            inside = next((str(k) for k, v in payload.items() if isinstance(v, dict) and key in v), None)
            hint = "" if inside is None else f"; it stands inside {quoted(inside)}: submit that part alone"
            raise InvalidConstruction(f'expected the key "{key}", got {_keys(payload)}{hint}')
        if len(payload) > 1:
            raise InvalidConstruction(f'expected the key "{key}" and no other, got {_keys(payload)}')
        return self._read_numbers(payload[key])

    def _read_numbers(self, values: object) -> Vector:
        key = self.schema_key
        if not isinstance(values, list):
            raise InvalidConstruction(f"expected a list of numbers at {key}, got {_kind(values)}")
        self._check_length(len(values))
        kinds = set(map(type, values))
        if not kinds <= {float, int}:
            i = next(i for i, v in enumerate(values) if type(v) not in (float, int))
            raise InvalidConstruction(f"expected a number at {key}[{i}], got {_kind(values[i])}")
        for i, v in enumerate(values if int in kinds else ()):
            if type(v) is int and abs(v) > LARGEST_EXACT_INTEGER:
                shown = str(v) if abs(v) < 10**30 else f"one of {v.bit_length()} bits"
                raise InvalidConstruction(
                    f"expected integers up to 2^53 in size at {key}[{i}], got {shown}: larger ones are rounded on "
                    f"their way to the arena, write them as decimals"
                )
        return self.check(np.array(values, dtype=np.float64))

    def check(self, x: object) -> Vector:
        """Return an array as `parse` would have returned it, or say what is wrong with it.

        Parameters
        ----------
        x : (n,) array of real numbers
            Any numeric dtype that fits into float64.

        Returns
        -------
        (n,) float64 array, C order
            The same numbers; the same array where it is of that kind already.

        Raises
        ------
        InvalidConstruction
            For a wrong shape, dtype or length, or a value that is not finite.
        """
        key = self.schema_key
        try:
            array = np.asarray(x)
        except ValueError as error:  # lists of unequal lengths
            raise InvalidConstruction(f"expected one list of numbers at {key}, got nested lists") from error
        if array.dtype.kind not in "fiu" or array.dtype.itemsize > 8:
            raise InvalidConstruction(f"expected float64 numbers at {key}, got an array of dtype {array.dtype}")
        if array.ndim != 1:
            raise InvalidConstruction(f"expected one list of numbers at {key}, got an array of shape {array.shape}")
        self._check_length(len(array))
        if array.dtype.kind != "f" and np.abs(array.astype(np.float64)).max() > LARGEST_EXACT_INTEGER:
            raise InvalidConstruction(f"expected integers up to 2^53 in size at {key}, got larger ones")
        array = np.ascontiguousarray(array, dtype=np.float64)
        if math.isnan(value_range(array)[1]):
            i = int(np.argmin(np.isfinite(array)))
            raise InvalidConstruction(f"expected a finite number at {key}[{i}], got {float(array[i])}")
        return array

    def _check_length(self, n: int) -> None:
        if not self.min_length <= n <= self.max_length:
            raise InvalidConstruction(
                f"expected {self.min_length} to {self.max_length} values at {self.schema_key}, got {n}"
            )

    def payload(self, x: Vector) -> dict[str, Any]:
        """Write a construction as the arena takes it: exactly the numbers that are scored, ready for `json.dumps`."""
        return {self.schema_key: self.check(x).tolist()}

    @cached_property
    def solution(self) -> type[BaseModel]:
        """The strict pydantic model of a submission."""
        from pydantic import ConfigDict, Field, create_model

        number = Field(allow_inf_nan=False)
        values = Field(min_length=self.min_length, max_length=self.max_length, description="the numbers, in order")
        kind: Any = Annotated[list[Annotated[float, number]], values]
        name = "".join(part.capitalize() for part in self.slug.split("-")) + "Solution"
        fields: dict[str, Any] = {self.schema_key: (kind, ...)}
        return create_model(name, __config__=ConfigDict(extra="forbid", strict=True), **fields)

    def alarms(self, x: Vector, arena: float | None, exact: ExactResult) -> tuple[str, ...]:
        """Say what is suspicious about a score.

        Parameters
        ----------
        x : (n,) float64 array
            The construction.
        arena : float or None
            What `score` returned; None where it refused.
        exact : ExactResult
            What `exact` returned.

        Returns
        -------
        tuple of str
            Sentences that begin with one leading word and a colon.
        """
        return score_alarms(self, arena, exact)

    def project(self, x: Vector) -> Vector:
        """Return the nearest construction that is valid; a copy where the problem has no conditions."""
        return np.array(x, dtype=np.float64)

    def start(self, size: int, seed: int) -> Vector:
        """Return random numbers that form a valid construction.

        Parameters
        ----------
        size : int
            How many values.
        seed : int
            The same seed gives the same numbers.

        Returns
        -------
        (size,) float64 array
        """
        self._check_length(size)
        return self.project(np.random.default_rng(seed).random(size))

    def descriptor(self, x: Vector) -> Vector:
        """Describe a construction for comparison with others, whatever their lengths.

        Returns
        -------
        (64,) float64 array
            The step function averaged over 64 equal cells, scaled to mean 1.
        """
        return unit_mean(cell_means(near_one(x), DESCRIPTOR_CELLS))

    def diagnose(self, x: Vector) -> tuple[str, ...]:
        """Say in lines of text where a construction falls short, for `evocore show`; nothing by default.

        Parameters
        ----------
        x : (n,) float64 array
            What `parse` or `check` returned.
        """
        return ()

    def certificate(self, x: Vector) -> Certificate:
        """Return what proves the exact score of a valid construction to anyone, without this package.

        Parameters
        ----------
        x : (n,) float64 array
            What `parse` or `check` returned, and `exact` calls valid.

        Raises
        ------
        InputError
            The problem has no certificates.
        """
        raise InputError(f"{self.slug} has no certificates: write its method certificate (evocore.problems.Problem)")

    # ---- comparing ------------------------------------------------------------------------------------------------

    def better(self, a: Exact | float, b: Exact | float) -> bool:
        """Tell whether a is proven to be strictly better than b; False where two enclosures overlap."""
        if self.direction == "minimize":
            return _is_less(upper(a), lower(b))
        return _is_less(upper(b), lower(a))

    @property
    def best_reference(self) -> Reference | None:
        """The best of the references, or None where there are none."""
        pick = min if self.direction == "minimize" else max
        return pick(self.references, key=lambda r: r.score, default=None)

    @property
    def target(self) -> float:
        """The score to reach: one minimum improvement beyond the best reference, unless the subclass states one."""
        best = self.best_reference
        if best is None:
            raise AttributeError(f"problem {self.slug} has neither references nor a target")
        sign = -1.0 if self.direction == "minimize" else 1.0
        return best.score + sign * self.min_improvement

    def takes_first_place(self, score: float) -> bool:
        """Tell whether a score would be accepted as first against the best reference.

        The arena subtracts doubles and asks for at least `min_improvement`; so does this.
        """
        best = self.best_reference
        if best is None:
            return True
        margin = best.score - score if self.direction == "minimize" else score - best.score
        return margin > 0 and margin >= self.min_improvement

    @property
    def location(self) -> str:
        """What to hand to `problem()`, in any process, to get this problem: slug of a built-in, path of a folder."""
        return self.slug if self.folder is None else str(self.folder)

    def __repr__(self) -> str:
        return f"<problem {self.location}>"


def score_alarms(problem: Problem, arena: float | None, exact: ExactResult) -> tuple[str, ...]:
    """Return the alarms that need nothing but the scores: a proven bound broken, a leap beyond the best reference."""
    found = []
    bound = problem.proven_bound
    for name, value in (("exact", exact.value), ("arena", arena)):
        if value is None:
            continue
        if bound is not None and problem.better(value, bound):
            found.append(f"impossible: the {name} score {to_float(value)!r} is beyond the proven bound {bound!r}")
            continue
        best = problem.best_reference
        if best is None or not problem.better(value, best.score):
            continue
        if abs(to_float(value) - best.score) > problem.alarm_margin:
            found.append(
                f"leap: the {name} score {to_float(value)!r} beats the best known {best.score!r} ({best.who}) by more "
                f"than {problem.alarm_margin!r}"
            )
    return tuple(found)


def near_one(x: Vector) -> Vector:
    """Multiply by the power of two that brings the largest magnitude to [1/2, 1), so that no sum can overflow."""
    return np.asarray(np.ldexp(x, -math.frexp(float(np.max(np.abs(x))))[1]), dtype=np.float64)


def cell_means(x: Vector, cells: int) -> Vector:
    """Average a step function over equal cells; the integral is kept."""
    n = len(x)
    integral = np.concatenate(([0.0], np.cumsum(x)))
    edges = np.interp(np.linspace(0.0, n, cells + 1), np.arange(n + 1), integral)
    return np.asarray(np.diff(edges) * (cells / n), dtype=np.float64)


def unit_mean(x: Vector) -> Vector:
    """Scale to mean 1; to mean magnitude 1 where the mean vanishes, and zeros stay zeros."""
    mean = float(np.mean(x))
    if abs(mean) < 1e-9 * float(np.max(np.abs(x))):
        mean = float(np.mean(np.abs(x)))
    return x / mean if mean else np.zeros_like(x)


def _kind(value: object) -> str:
    """Name a JSON value the way JSON does."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f"the string {quoted(value)}" + ("..." if len(value) > 40 else "")
    if isinstance(value, list):
        return "a list"
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, int | float):
        return f"the number {value!r}"
    return f"a {type(value).__name__}"


def _keys(payload: dict[Any, Any]) -> str:
    if not payload:
        return "an empty object"
    names = [quoted(str(k)) for k in list(payload)[:5]]
    more = f" and {len(payload) - 5} more" if len(payload) > 5 else ""
    return ("the key " if len(payload) == 1 else "the keys ") + ", ".join(names) + more


def quoted(text: str) -> str:
    r"""Quote the first 40 characters of a stranger's text, so that nothing in it can command a terminal.

    Examples
    --------
    >>> print(quoted("values"), quoted("red \x1b[31m"))
    "values" "red \x1b[31m"
    """
    return f'"{"".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text[:40])}"'
