"""Search strategies as data: one engine, and for each preset what it switches on.

The ladder goes from no memory at all to the full search, so that each rung can be measured against the next.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import Literal

from evocore.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Preset:
    """What a strategy does at each step of a round.

    Attributes
    ----------
    parents : str
        `"softmax"`: by dominance and similarity within the island; `"best"`: the island's best; `"front"`: evenly
        among its members that no other dominates; `"initial"`: evenly among the initial programs.
    admission : str
        `"setting"`: the run's admission rule; `"better"`: only a higher accuracy than the island's best.
    mutators : str
        `"drawn"`: each island draws one at the start and keeps it; `"schedule"`: one after the other, by round;
        `"bandit"`: the one with the best upper confidence bound on the share of admitted children.
    orchestrator : bool
        Whether stalled islands are diagnosed and helped.
    migrate_rounds : int
        Every so many rounds an island breeds its child with its neighbour's best; 0 never.
    islands : int or None
        A fixed number of islands, whatever the setting says.
    roots : str
        `"dissimilar"`: one initial candidate an island, the least alike (with one island, the best); `"all"`: all
        initial candidates start the one island.
    """

    name: str
    parents: Literal["softmax", "best", "front", "initial"]
    admission: Literal["setting", "better"] = "setting"
    mutators: Literal["drawn", "schedule", "bandit"] = "drawn"
    orchestrator: bool = False
    migrate_rounds: int = 0
    islands: int | None = None
    roots: Literal["dissimilar", "all"] = "dissimilar"


PRESETS = {
    one.name: one
    for one in (
        Preset("best-of-n", "initial", mutators="schedule", islands=1, roots="all"),
        Preset("refine", "best", admission="better", mutators="schedule", islands=1),
        Preset("population", "front", mutators="schedule", islands=1, roots="all"),
        Preset("adaptive", "softmax", mutators="bandit", migrate_rounds=5),
        Preset("milo", "softmax", orchestrator=True),
    )
}


def preset(name: str) -> Preset:
    """Return a preset by name.

    Raises
    ------
    ConfigError
        There is none of that name; names the known ones.
    """
    if name not in PRESETS:
        near = difflib.get_close_matches(name, PRESETS, n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise ConfigError(f"expected a preset among {', '.join(sorted(PRESETS))}, got {name!r}{hint}")
    return PRESETS[name]
