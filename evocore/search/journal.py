"""The ledger and the two folds over it, kept in step: what is recorded is applied, in one order for all threads."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

from evocore.ledger import Event, Ledger, replay
from evocore.search.history import History
from evocore.search.memory import Forest


class Journal:
    """Record events of a run.

    Parameters
    ----------
    ledger : Ledger
        Open for appending; what is in it already is applied first.
    history : History
        Empty.
    elapsed : callable
        The run's seconds so far, over all sessions; written into every event.
    """

    def __init__(self, ledger: Ledger, history: History, elapsed: Callable[[], float]) -> None:
        self.ledger = ledger
        self.forest = Forest()
        self.history = history
        self.lock = threading.RLock()
        self._elapsed = elapsed
        replay(ledger.path, ledger, self._apply)

    def record(self, kind: str, data: Mapping[str, Any], *, sync: bool = False) -> int:
        """Append an event and apply it; with `sync`, it is on the disk before it counts. Returns its number.

        Raises
        ------
        InfrastructureError
            It cannot be written; then it is not applied either.
        """
        with self.lock:
            full = {**data, "elapsed": round(self._elapsed(), 3)}
            seq = self.ledger.append(kind, full, sync=sync)
            self._apply(Event(seq, 0.0, kind, full))
            return seq

    def _apply(self, event: Event) -> None:
        self.forest.apply(event)
        self.history.apply(event)
