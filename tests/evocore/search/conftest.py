"""A run whose attempts are made up: what a program reaches on a task follows from their hashes alone."""

import hashlib
import random
import re
import threading
import time
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from evocore.config import RunConfig
from evocore.ledger import read_ledger
from evocore.problems import problem
from evocore.sandbox import Status
from evocore.search.loop import Run
from evocore.tasks import AttemptResult
from evocore.verifiers import judge
from evocore.verifiers.arrays import encode

SLUG = "third-autocorrelation-inequality"


class Recording:
    """Stands where the sandbox stands: gives the same result for the same program, task and attempt.

    `fails_at` makes that call raise; `jitter` lets results come in in another order.
    """

    def __init__(self, *, fails_at=None, jitter=False):
        self.calls = []
        self._fails_at = fails_at
        self._jitter = jitter
        self._lock = threading.Lock()
        self._problem = problem(SLUG)

    def __call__(self, request):
        with self._lock:
            self.calls.append(request.key)
            if self._fails_at is not None and len(self.calls) == self._fails_at:
                raise OSError("the machine went away")
        if self._jitter:
            time.sleep(random.random() * 0.003)
        digest = hashlib.sha256(f"{request.sha}/{request.task.hash}/{request.attempt}".encode()).digest()
        rng = np.random.default_rng(list(digest))
        x = self._problem.start(12, int(rng.integers(2**31)))
        return AttemptResult(
            task_hash=request.task.hash,
            status=Status.OK,
            gain=float(rng.random()),
            best_exact=judge(self._problem, x).exact_score or Fraction(2),
            best_buffer=encode(x),
            seconds_to_best=float(rng.random()),
            peak_memory_bytes=int(rng.integers(10**8, 10**9)),
            cpu_seconds=1.0,
            wall_seconds=1.0,
            n_hand_ins=3,
            trace=((0.1, 2.0), (0.2, 1.9)),
            stderr="",
            detail="",
            stopped_early=False,
        )

    def now(self):
        """A clock that goes on by attempts and by nothing else."""
        return 0.25 * len(self.calls)


def made_up_run(out, recording, **settings):
    """Carry a run without chains to its end."""
    settings = {"problem": SLUG, "budget": "10h", "task_seconds": 1.0, "chain_slots": 0, "seed": 5, **settings}
    config = RunConfig.create(settings)
    return Run.create(config, out=out, evaluate=recording, now=recording.now).go()


def resumed(run_dir, recording):
    """Carry a run that was broken off to its end."""
    return Run.resume(run_dir, evaluate=recording, now=recording.now).go()


def decisions(run_dir):
    """The events that decide something, with node numbers replaced by places, and without the time."""
    events = read_ledger(run_dir / "ledger.jsonl")
    places = {
        event.seq: (event.data["round"], event.data["island"], event.data["sha"])
        for event in events
        if event.kind == "node"
    }
    kinds = {"island", "proposal", "node", "round", "epoch", "task", "curriculum", "decision", "reassign", "graft"}
    kinds |= {"speciate", "skipped", "rescored", "construction"}
    told = []
    for event in events:
        if event.kind in kinds:
            data = {key: value for key, value in event.data.items() if key != "elapsed"}
            for key in ("parent", "co_parent", "root"):
                if data.get(key) is not None:
                    data[key] = places[data[key]]
            if "verdict" in data:
                data["verdict"] = re.sub(r"node (\d+)", lambda m: str(places[int(m[1])]), data["verdict"])
            told.append((event.kind, data))
    return told


@pytest.fixture(scope="session")
def made_up():
    """Give the tools: `made_up.Recording`, `made_up.run(out, recording, **settings)`, `made_up.decisions(run_dir)`."""
    return SimpleNamespace(Recording=Recording, run=made_up_run, resume=resumed, decisions=decisions, slug=SLUG)
