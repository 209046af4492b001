"""The protected scoring process, and what it says.

`Verifier` starts the process and talks to it; `judge` and `Ratchet` do the same in the caller's own process. Names
load on first use: the controller's side of the process needs no NumPy.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evocore.verifiers.client import OfferReply, Verifier
    from evocore.verifiers.ratchet import Ratchet
    from evocore.verifiers.scoring import judge
    from evocore.verifiers.verdict import Standing, Verdict

_HOMES = {
    "OfferReply": "client",
    "Ratchet": "ratchet",
    "Standing": "verdict",
    "Verdict": "verdict",
    "Verifier": "client",
    "judge": "scoring",
}

__all__ = ["OfferReply", "Ratchet", "Standing", "Verdict", "Verifier", "judge"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"evocore.verifiers.{_HOMES[name]}"), name)
