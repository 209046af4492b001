"""Building blocks that optimizer programs import; runs in the sandbox only.

Tunables and stages: `Range`, `Choice`, `run_stages`. The shared state of a program: `Search`, `Pool`, `Ratchet`.
Outer loops: `multistart`, `hops`, `pools`, `climb`, `anneal`, `race`, `refine`, `recast`, `grow`, `polish`.
Disturbances: `ALL_MOVES`, `cross`. Combs: `lattice_period`, `more_teeth`, `trimmed`.
"""

from evocore.optim.blocks import anneal, climb, hops, ladder, multistart, polish, pools, race, recast, refine
from evocore.optim.lattice import grow, lattice_period, more_teeth, trimmed
from evocore.optim.moves import ALL_MOVES, MoveBandit, cross
from evocore.optim.newton import NewtonResult, barrier_newton
from evocore.optim.pool import Member, Pool, distance, outline
from evocore.optim.ratchet import Ratchet, score_or_none
from evocore.optim.resampling import resample, stretch
from evocore.optim.search import KINDS, Search, run_stages
from evocore.optim.tunables import Choice, Range

__all__ = [
    "ALL_MOVES",
    "KINDS",
    "Choice",
    "Member",
    "MoveBandit",
    "NewtonResult",
    "Pool",
    "Range",
    "Ratchet",
    "Search",
    "anneal",
    "barrier_newton",
    "climb",
    "cross",
    "distance",
    "grow",
    "hops",
    "ladder",
    "lattice_period",
    "more_teeth",
    "multistart",
    "outline",
    "polish",
    "pools",
    "race",
    "recast",
    "refine",
    "resample",
    "run_stages",
    "score_or_none",
    "stretch",
    "trimmed",
]
