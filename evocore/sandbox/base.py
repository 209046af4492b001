"""The records of the sandbox: what is run, under which limits, what it hands in, and what became of it."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from evocore.errors import ConfigError

# NumPy, SciPy and Numba alone reserve about 450 MB of addresses; with less, OpenBLAS spins instead of failing.
LEAST_MEMORY_BYTES = 512 << 20

# Nobody writes a program of a megabyte; what is longer carries data.
MOST_SOURCE_BYTES = 1_000_000


class Tier(StrEnum):
    """How a program is confined; the strongest first.

    ``docker`` a container · ``linux-strict`` as the next, and other processes, other files and the network are out of
    sight · ``linux`` Landlock and seccomp: no file can be read but the libraries', none written, no process started or
    signalled, no connection made · ``unsafe`` limits and clean-up, but no wall around files and network.
    """

    DOCKER = "docker"
    LINUX_STRICT = "linux-strict"
    LINUX = "linux"
    UNSAFE = "unsafe"

    def is_weaker_than(self, other: Tier) -> bool:
        """Whether this one keeps less away from a program."""
        order = list(Tier)
        return order.index(self) > order.index(other)


class Status(StrEnum):
    """What became of a program. Never a number, and never turned into one.

    ``ok`` returned before its deadline and grace (or was stopped on purpose) · ``invalid`` is no optimizer program, or
    handed in nothing that is a construction · ``timeout`` wall or CPU time ran out · ``crash`` raised, exited or died
    of a signal · ``out_of_memory`` · ``violation`` broke the rules of the sandbox · ``infrastructure`` the machine
    failed, not the program.
    """

    OK = "ok"
    INVALID = "invalid"
    TIMEOUT = "timeout"
    CRASH = "crash"
    OUT_OF_MEMORY = "out_of_memory"
    VIOLATION = "violation"
    INFRASTRUCTURE = "infrastructure"


@dataclass(frozen=True)
class Limits:
    """What a program may use.

    Attributes
    ----------
    wall_seconds : float
        Longest time to the deadline, whatever the job's budget.
    cpu_seconds : float
        CPU time of all its threads together, counted in whole seconds (rounded up) and with the grace on top.
    memory_bytes : int
        Address space, about 450 MB of which the preloaded libraries take.
    output_bytes : int
        How much of stdout and of stderr is kept, from the end. What is before is read and dropped.
    offer_bytes : int
        Longest single hand-in.
    offers_bytes : int
        All hand-ins together.
    grace_seconds : float
        From the deadline to the kill. A program that returns within it is not late.
    late_seconds : float
        A hand-in that arrives up to this much after the deadline still counts: the delay of a busy machine, not time
        to work in.
    file_bytes : int
        Longest file that the program may write. None by default: hand-ins travel through a pipe.
    """

    wall_seconds: float
    cpu_seconds: float
    memory_bytes: int = 2 << 30
    output_bytes: int = 64 << 10
    offer_bytes: int = 64 << 20
    offers_bytes: int = 4 << 30
    grace_seconds: float = 1.0
    late_seconds: float = 0.25
    file_bytes: int = 0

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            least = LEAST_MEMORY_BYTES if field.name == "memory_bytes" else 0
            if not math.isfinite(value) or value < least:
                raise ConfigError(f"expected {field.name} of at least {least}, got {value}")
        if self.wall_seconds == 0 or self.cpu_seconds == 0:
            raise ConfigError("expected wall_seconds and cpu_seconds above 0, got 0")

    @classmethod
    def for_budget(cls, budget_seconds: float) -> Limits:
        """Return the usual limits of a program that may work for so many seconds on one core."""
        return cls(wall_seconds=budget_seconds, cpu_seconds=budget_seconds)


@dataclass(frozen=True, eq=False)
class Job:
    """One program to run on one start.

    Attributes
    ----------
    source : str
        Text of the optimizer program.
    problem : str
        Name of a problem, or path of its folder.
    start : (n,) float64 array
        The construction to improve.
    seed : int
        Handed to the program; the usual random generators are seeded with it as well.
    budget_seconds : float
        Time to the deadline.
    """

    source: str
    problem: str
    start: npt.NDArray[np.float64]
    seed: int
    budget_seconds: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.budget_seconds) and self.budget_seconds > 0):
            raise ConfigError(f"expected a budget above 0 seconds, got {self.budget_seconds}")
        if not 0 <= self.seed < 2**63:
            raise ConfigError(f"expected a seed from 0 to 2^63 - 1, got {self.seed}")
        if self.start.dtype != np.float64 or self.start.ndim != 1:
            raise ConfigError(f"expected start to be a (n,) float64 array, got {self.start.dtype} {self.start.shape}")


@dataclass(frozen=True)
class Offer:
    """One hand-in as it was read from the pipe. Nothing in it has been checked.

    Attributes
    ----------
    buffer : bytes
        Meant to be an array in the layout of `evocore.verifiers.arrays`.
    seconds : float
        Since the program's start, by the reader's clock.
    cpu_seconds : float
        CPU time of the program so far, by the kernel's clock, read when the hand-in was read.
    """

    buffer: bytes
    seconds: float
    cpu_seconds: float


@dataclass(frozen=True)
class Outcome:
    """What became of a job.

    Attributes
    ----------
    status : Status
    wall_seconds, cpu_seconds : float
        From the program's start to its end; CPU time of all its threads and of the children it waited for.
    peak_memory_bytes : int
        Peak resident memory, with the preloaded libraries.
    n_offers : int
        Hand-ins that arrived in time. A program that hands in faster than they are checked has some in between
        counted but not passed on, and what is left a second after its end as well; the newest always is.
    n_late : int
        Hand-ins that came too late to count.
    stdout, stderr : str
        Their last `output_bytes`; undecodable bytes are replaced.
    detail : str
        One sentence on the status; empty where there is nothing to say.
    tier : Tier
        How it was confined.
    """

    status: Status
    wall_seconds: float
    cpu_seconds: float
    peak_memory_bytes: int
    n_offers: int
    n_late: int
    stdout: str
    stderr: str
    detail: str
    tier: Tier


def environment(folder: str) -> dict[str, str]:
    """Return the whole environment of a candidate: literal, nothing of the controller's is in it."""
    one_thread = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
    return {"HOME": folder, "TMPDIR": folder, "LANG": "C.UTF-8", "PATH": "", **one_thread}
