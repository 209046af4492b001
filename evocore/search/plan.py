"""How a run divides its budget and its cores, worked out before it starts, printed, recorded, and open to settings."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from evocore.config import RunConfig, format_duration

HOUR_SECONDS = 3600.0
_EPOCHS = 6
_MIN_TASK_SECONDS, _MAX_TASK_SECONDS = 2.0, 60.0


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run does with its time.

    Attributes
    ----------
    budget_seconds : float
        Wall time of the run.
    cores, chain_slots, evaluation_slots : int
        Cores, and how many programs run at once as chains and as evaluations.
    task_seconds : float
        Budget of one attempt.
    attempts : int
        Attempts on each task (k).
    epoch_seconds : float
        How long warm starts stay frozen.
    n_cold, n_warm : int
        Tasks of the search set: from random numbers, from constructions of the pool.
    n_reserve, n_validation : int
        Further tasks for a curriculum to bring in, and held-out ones.
    """

    budget_seconds: float
    cores: int
    chain_slots: int
    evaluation_slots: int
    task_seconds: float
    attempts: int
    epoch_seconds: float
    n_cold: int = 1
    n_warm: int = 1
    n_reserve: int = 1
    n_validation: int = 0

    def to_json(self) -> dict[str, Any]:
        """Give the plan as JSON types."""
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Plan:
        """Make the plan that `to_json` wrote down."""
        return cls(**data)

    def text(self) -> str:
        """Say the plan in one sentence."""
        slots = f"{self.chain_slots} chain{'' if self.chain_slots == 1 else 's'} and {self.evaluation_slots}"
        held_out = f", {self.n_validation} held-out tasks" if self.n_validation else ""
        return (
            f"{format_duration(self.budget_seconds)} on {self.cores} core{'' if self.cores == 1 else 's'}: "
            f"{slots} evaluation{'' if self.evaluation_slots == 1 else 's'} at a time; "
            f"{self.n_cold} cold and {self.n_warm} warm task{'' if self.n_warm == 1 else 's'} of "
            f"{format_duration(self.task_seconds)}, {self.attempts} attempt{'' if self.attempts == 1 else 's'} each"
            f"{held_out}; new warm starts every {format_duration(self.epoch_seconds)}"
        )


def make_plan(config: RunConfig, cores: int) -> Plan:
    """Plan a run from its budget and the cores that it may use; what the settings say by hand wins.

    Half of the cores run the best programs as uninterrupted chains, the other half evaluate children; on one core one
    of each share it. One attempt lasts clamp(B/120, 2 s, 60 s), an epoch B/6. From an hour on there are three attempts
    on each task, and held-out tasks.

    Examples
    --------
    >>> plan = make_plan(RunConfig(problem="erdos-min-overlap"), 2)
    >>> plan.task_seconds, plan.attempts, plan.epoch_seconds, plan.chain_slots, plan.evaluation_slots
    (2.0, 1, 20.0, 1, 1)
    """
    budget = config.budget_seconds
    cores = config.workers or cores
    is_long = budget >= HOUR_SECONDS
    chains = max(1, cores // 2) if config.chain_slots is None else config.chain_slots
    return Plan(
        budget_seconds=budget,
        cores=cores,
        chain_slots=chains,
        evaluation_slots=config.evaluation_slots or max(1, cores - chains),
        task_seconds=config.task_seconds or min(max(budget / 120.0, _MIN_TASK_SECONDS), _MAX_TASK_SECONDS),
        attempts=config.attempts or (3 if is_long else 1),
        epoch_seconds=config.epoch_seconds or budget / _EPOCHS,
        n_reserve=2 if is_long else 1,
        n_validation=2 if is_long else 0,
    )
