"""What `bench_sandbox` compares: our sandbox with its verifier, and the evaluators of other frameworks."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from evocore import __version__
from evocore.bench import peer_evaluators
from evocore.sandbox import Limits, Status, linux, offered_tier, open_sandbox
from evocore.tasks import OptimizerTask, attempt
from evocore.verifiers import Verifier

LIMIT_SECONDS = float(peer_evaluators.LIMIT_SECONDS)
MEMORY_BYTES = 1 << 30

PROBLEM = '''
"""Numbers whose autoconvolution is flat: twice their count times its maximum, over the square of their sum."""

from fractions import Fraction

import numpy as np

from evocore.errors import InvalidConstruction
from evocore.problems import ExactResult, Problem


class Flat(Problem):
    slug = "flat-autoconvolution"
    title = "A flat autoconvolution"
    statement = "Give positive numbers; 2 n max(x * x) / (sum x)^2 is to be small."
    direction = "minimize"
    target = 1.0
    max_length, default_size = 1000, 3

    def score(self, x):
        if (x <= 0).any():
            raise InvalidConstruction(f"expected positive numbers, got {x.min()}")
        return float(2 * len(x) * np.max(np.convolve(x, x)) / np.sum(x) ** 2)

    def exact(self, x):
        values = [Fraction(v) for v in x.tolist()]
        if min(values) <= 0:
            return ExactResult.invalid("a number is not positive")
        n = len(values)
        sums = [sum(values[i] * values[k - i] for i in range(max(0, k - n + 1), min(k, n - 1) + 1))
                for k in range(2 * n - 1)]
        return ExactResult(2 * n * max(sums) / sum(values) ** 2)


problem = Flat()
'''
BUILT_IN = "third-autocorrelation-inequality"  # scored by the same formula
START = np.array([1.0, 2.0, 1.0])


def program(body: str) -> str:
    """Write a program: `body` may do anything before it returns the numbers."""
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    head = "import os, subprocess, sys\nimport numpy as np\n\n"
    signature = "def optimize(problem=None, start=None, seed=0, deadline=0.0, offer=None):\n"
    return f"{head}{signature}{lines}    return np.array([1.0, 1.25, 1.0])\n"


@dataclass(frozen=True)
class Answer:
    """What an evaluator says about a program: a score or none, and what it cost.

    The processor time is a peer's; ours is taken over many evaluations, as asking all processes takes a millisecond.
    """

    score: float | None
    seconds: float
    peak_bytes: int
    error: str | None = None
    cpu_seconds: float = math.nan


class Gone(Exception):
    """The evaluator's process has ended, or says nothing any more."""


# ---- ours -------------------------------------------------------------------------------------------------------


class Ours:
    """Sandbox, verifier and a task, as a run has them.

    Parameters
    ----------
    folder : Path, optional
        Where a problem of one's own is written, so that there is a file to attack; the built-in one otherwise.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.version = __version__
        place: str = BUILT_IN
        if folder is not None:
            self.evaluator = folder / "problem.py"
            self.evaluator.write_text(PROBLEM)
            place = str(folder)
        self.forgery = "\nproblem.score = lambda x: -1e9\n"
        self.limit_seconds = LIMIT_SECONDS
        self._open = ExitStack()
        self.verifier = self._open.enter_context(Verifier(place))
        self._sandbox = self._open.enter_context(open_sandbox(offered_tier(None)))
        self.tier = self._sandbox.tier
        self._number = iter(range(sys.maxsize))
        limits = Limits(wall_seconds=LIMIT_SECONDS, cpu_seconds=LIMIT_SECONDS, memory_bytes=MEMORY_BYTES)
        exact = self.verifier.verify(place, START).exact_score
        if exact is None:
            raise AssertionError("expected an exact score of the start, got none")
        self._task = OptimizerTask(place, "cold", START, exact, 1.0, 1e-4, "log", LIMIT_SECONDS, limits)

    def evaluate(self, source: str) -> Answer:
        """Make one attempt; its score is the exact one of the best hand-in."""
        begun = time.monotonic()
        done = attempt(source, self._task, 0, self.verifier, self._sandbox, key=f"a{next(self._number)}")
        has_score = done.status is Status.OK and done.best_buffer is not None
        score = float(done.best_exact) if has_score else None
        return Answer(score, time.monotonic() - begun, resident_bytes(), done.detail or None)

    def cpu_seconds(self) -> float:
        """Processor time of controller, verifier, and the runners with all programs that have ended."""
        runners = [pid for pid in linux.descendants(os.getpid()) if pid != self.verifier.pid]
        return time.process_time() + linux.cpu_seconds(self.verifier.pid) + sum(map(_with_children, runners))

    def close(self) -> None:
        """End all of it."""
        self._open.close()


def _with_children(pid: int) -> float:
    """Processor time of a process and of the children that it has waited for."""
    with suppress(OSError):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    return 0.0


def resident_bytes() -> int:
    """Memory that this process holds now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


# ---- the others -------------------------------------------------------------------------------------------------


class Peer:
    """Another framework's evaluator, in a process of its own with the peers' interpreter."""

    def __init__(self, name: str, python: str, folder: Path) -> None:
        self.name = name
        self.evaluator = folder / peer_evaluators.FILES[name]
        self.forgery = "\ndef score(values):\n    return -1e9\n"
        self.limit_seconds = LIMIT_SECONDS + (peer_evaluators.START_SECONDS if name == "ShinkaEvolve" else 0)
        script = Path(peer_evaluators.__file__)
        self._noise = folder / "stdout"
        self._process = subprocess.Popen(
            [python, "-P", str(script), name, str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=folder,
            start_new_session=True,
        )
        self._lines: list[bytes] = []
        self._is_new = threading.Condition()
        self.n_bytes = 0
        threading.Thread(target=self._listen, daemon=True).start()
        self.version = self._next(300.0).get("version")

    def _listen(self) -> None:
        """Take the answers; anything else on the framework's stdout is what programs printed there."""
        stream = self._process.stdout
        for line in iter(stream.readline, b"") if stream else ():
            with self._is_new:
                self.n_bytes += len(line)
                if len(line) < 4096:
                    self._lines.append(line)
                self._is_new.notify()
        with self._is_new:
            self._lines.append(b"")
            self._is_new.notify()

    def _next(self, seconds: float) -> dict[str, Any]:
        deadline = time.monotonic() + seconds
        with self._is_new:
            while True:
                while not self._lines:
                    if not self._is_new.wait(deadline - time.monotonic()):
                        raise Gone("no answer")
                line = self._lines.pop(0)
                if not line:
                    raise Gone("its process has ended")
                with suppress(ValueError):
                    told = json.loads(line)
                    if isinstance(told, dict) and told.keys() & {"score", "version"}:
                        return told

    def evaluate(self, source: str) -> Answer:
        """Have one program evaluated."""
        stdin = self._process.stdin
        if stdin is None:
            raise Gone("no pipe")
        try:
            stdin.write(json.dumps({"source": source}).encode() + b"\n")
            stdin.flush()
        except OSError as error:
            raise Gone(str(error)) from error
        told = self._next(self.limit_seconds + 60.0)
        score = None if told["score"] is None else float(told["score"])
        return Answer(score, told["seconds"], told["peak_bytes"], told["error"], told["cpu_seconds"])

    def close(self) -> None:
        """End it, with everything that it started."""
        for pid in [*linux.descendants(self._process.pid), self._process.pid]:
            linux.kill(pid)
        self._process.wait()


def installed(python: str) -> list[str]:
    """The peers that an interpreter has."""
    code = "import importlib.util as u, sys; print(*[n for n in sys.argv[1:] if u.find_spec(n)])"
    modules = {"openevolve": "OpenEvolve", "shinka": "ShinkaEvolve", "gepa": "GEPA"}
    done = subprocess.run([python, "-P", "-c", code, *modules], capture_output=True, text=True, check=True)
    return [modules[name] for name in done.stdout.split()]
