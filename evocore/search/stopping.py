"""When a run ends: the clock over all its sessions, and the one reason that came first."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Literal

Reason = Literal["time", "target", "interrupted", "evaluations", "rounds", "exhausted", "failed"]


class Stopped(Exception):
    """The run is ending: raised where the search would otherwise begin something new."""


class Clock:
    """Seconds of a run over all its sessions.

    Parameters
    ----------
    before_seconds : float
        What earlier sessions took.
    now : callable
        A monotonic clock.
    """

    def __init__(self, before_seconds: float = 0.0, now: Callable[[], float] = time.monotonic) -> None:
        self._before = before_seconds
        self._now = now
        self._begun = now()

    def elapsed(self) -> float:
        """Seconds of the run so far."""
        return self._before + self._now() - self._begun

    def session(self) -> float:
        """Seconds of this session so far."""
        return self._now() - self._begun


class Stop:
    """A latch that every thread of a run looks at; the first reason stays."""

    def __init__(self) -> None:
        self._event = threading.Event()
        self._lock = threading.Lock()
        self._reason: Reason | None = None
        self.error: Exception | None = None

    def set(self, reason: Reason, error: Exception | None = None) -> None:
        """Ask everything to end. An error is kept for the thread that started the run, whatever the reason."""
        with self._lock:
            if self._reason is None:
                self._reason = reason
            if error is not None and self.error is None:
                self.error = error
        self._event.set()

    @property
    def reason(self) -> Reason | None:
        """Why the run ends, or None while it goes on."""
        return self._reason

    def is_set(self) -> bool:
        """Whether the run is ending."""
        return self._event.is_set()

    def wait(self, seconds: float) -> bool:
        """Wait until the run is ending, at most so long; tells whether it is."""
        return self._event.wait(seconds)
