"""What a run shows of itself: an immutable picture that the loop publishes and live views poll.

The loop replaces `RunState` as a whole; nobody who holds one sees it change, and nothing that a view does reaches back
into the run.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Passed:
    """A published value: `passed_seconds` is when the run went beyond it, or None."""

    who: str
    score: float
    year: int
    passed_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class BestState:
    """The run's best construction.

    `exact_score` is `"p/q"`, or `"[lo, hi]"` for an enclosure; `source` says in a few words what found it;
    `first_place` whether it beats the best stored reference by the problem's minimum improvement.
    """

    arena_score: float
    exact_score: str
    found_seconds: float
    source: str
    file: str
    first_place: bool = False


@dataclass(frozen=True, slots=True)
class IslandState:
    """One island: its mutator, its nodes, and how long it has been without progress."""

    number: int
    mutator: str
    n_nodes: int
    n_admitted: int
    n_rejected: int
    best_accuracy: float
    stall: int
    best_program: str = ""


@dataclass(frozen=True, slots=True)
class ChainState:
    """One running chain segment: which program works on what, for how long."""

    slot: int
    program: str
    kind: str
    start: str
    begun_seconds: float
    seconds: float
    best_score: float | None = None


@dataclass(frozen=True, slots=True)
class RunState:
    """A run at one moment.

    Attributes
    ----------
    problem, title, direction : str
        What is searched; `direction` is `"minimize"` or `"maximize"`.
    run_dir : str
        Where the run writes.
    phase : str
        `"starting"`, `"searching"`, `"stopping"`, `"checking"` (the winner is verified again) or `"finished"`.
    budget_seconds, elapsed_seconds : float
        Wall time, counted over all sessions of the run.
    target : float or None
        The score that was asked for, if any.
    trace : tuple of (seconds, exact score as a float)
        The discoveries, in order.
    sandbox : str
        How programs are confined.
    messages : tuple of str
        The last things worth telling a person, oldest first.
    """

    problem: str
    title: str
    direction: str
    run_dir: str
    phase: str
    budget_seconds: float
    elapsed_seconds: float
    target: float | None = None
    round: int = 0
    epoch: int = 0
    best: BestState | None = None
    references: tuple[Passed, ...] = ()
    islands: tuple[IslandState, ...] = ()
    chains: tuple[ChainState, ...] = ()
    evaluations: int = 0
    running_evaluations: int = 0
    rejected: int = 0
    hand_ins: int = 0
    trace: tuple[tuple[float, float], ...] = field(default=())
    messages: tuple[str, ...] = ()
    sandbox: str = ""

    @property
    def left_seconds(self) -> float:
        """Wall time that is left of the budget."""
        return max(0.0, self.budget_seconds - self.elapsed_seconds)
