"""How a program says which of its constants may be moved, and how far.

A tunable is a module-level constant whose annotation carries a `Range` or a `Choice`::

    BETA_START: Annotated[float, Range(30, 3000, log=True)] = 100.0
    N_STARTS: Annotated[int, Range(8, 512, log=True)] = 64
    KIND: Annotated[str, Choice("white", "smooth")] = "smooth"

At run time the annotation does nothing. Mutators read it from the source, so its arguments are plain literals.
"""

from dataclasses import dataclass

from evocore.errors import ConfigError

Literal = bool | int | float | str

_LARGEST = 1e300


@dataclass(frozen=True)
class Range:
    """Bounds of a numeric constant, both included.

    Parameters
    ----------
    lo, hi : int or float
        Finite, with `lo < hi`.
    log : bool
        The constant moves by factors instead of differences; needs `lo > 0`.

    Examples
    --------
    >>> Range(30, 3000, log=True).contains(100.0)
    True
    >>> Range(8, 512).contains(4)
    False
    """

    lo: float
    hi: float
    log: bool = False

    def __post_init__(self) -> None:
        for name, bound in (("lo", self.lo), ("hi", self.hi)):
            is_number = isinstance(bound, int | float) and not isinstance(bound, bool)
            if not is_number or not -_LARGEST <= bound <= _LARGEST:
                raise ConfigError(f"Range needs finite numbers as bounds, got {name} = {bound!r:.40}")
        if not isinstance(self.log, bool):
            raise ConfigError(f"Range needs True or False for log, got {self.log!r}")
        if self.lo >= self.hi:
            raise ConfigError(f"Range needs lo < hi, got Range({self.lo}, {self.hi})")
        if self.log and self.lo <= 0:
            raise ConfigError(f"Range needs lo > 0 on a logarithmic scale, got lo = {self.lo}")

    def contains(self, value: object) -> bool:
        """Say whether `value` is a number between the bounds."""
        return isinstance(value, int | float) and not isinstance(value, bool) and self.lo <= value <= self.hi


@dataclass(frozen=True, init=False)
class Choice:
    """The values that a constant may take.

    Parameters
    ----------
    *values : str, int, float or bool
        At least two, all of one type, no two equal.

    Examples
    --------
    >>> Choice("white", "smooth").contains("pink")
    False
    """

    values: tuple[Literal, ...]

    def __init__(self, *values: Literal) -> None:
        if len(values) < 2:
            raise ConfigError(f"Choice needs at least two values, got {len(values)}")
        types = {type(value) for value in values}
        if len(types) > 1 or not types <= {bool, int, float, str}:
            raise ConfigError(f"Choice needs values of one type out of bool, int, float and str, got {values!r}")
        if len(set(values)) < len(values):
            raise ConfigError(f"Choice needs different values, got {values!r}")
        object.__setattr__(self, "values", values)

    def contains(self, value: object) -> bool:
        """Say whether `value` is one of the values, and of their type."""
        return type(value) is type(self.values[0]) and value in self.values
