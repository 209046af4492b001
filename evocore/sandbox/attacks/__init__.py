"""Programs that attack the sandbox, and what has to become of each. They are data: read and run, never imported.

The test suite runs all of them. Each is run on a small start with `LIMITS`; its seed is the number in the marker
``evocore-attack-SEED`` that the processes it leaves behind carry on their command line.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from evocore.sandbox.base import Limits, Status

BUDGET_SECONDS = 0.5
LIMITS = Limits(wall_seconds=10.0, cpu_seconds=10.0, memory_bytes=768 << 20, grace_seconds=0.3)


@dataclass(frozen=True)
class Attack:
    """One attack.

    Attributes
    ----------
    name : str
        The program's file, without .py.
    status : Status
        What has to become of it.
    budget_seconds : float
    limits : Limits
    """

    name: str
    status: Status
    budget_seconds: float = BUDGET_SECONDS
    limits: Limits = LIMITS

    @property
    def source(self) -> str:
        """Text of the program."""
        return (Path(__file__).parent / f"{self.name}.py").read_text(encoding="utf-8")


_LONG = 10.0

ATTACKS = (
    Attack("burn_cpu", Status.TIMEOUT, _LONG, Limits(wall_seconds=20.0, cpu_seconds=0.7, grace_seconds=0.3)),
    Attack("claim_huge_frame", Status.VIOLATION, _LONG),
    Attack("close_every_file", Status.CRASH, _LONG),
    Attack("crash_the_interpreter", Status.CRASH, _LONG),
    Attack("dig_folders", Status.OK, _LONG),
    Attack("eat_memory", Status.OUT_OF_MEMORY, _LONG),
    Attack("exit_at_once", Status.CRASH, _LONG),
    Attack("exhaust_files", Status.CRASH, _LONG),
    Attack("fill_folder", Status.CRASH, _LONG),
    Attack("flood_output", Status.OK, _LONG),
    Attack("forge_failure", Status.VIOLATION, _LONG),
    Attack("forge_start", Status.VIOLATION, _LONG),
    Attack("ignore_signals", Status.TIMEOUT),
    Attack("kill_group", Status.CRASH, _LONG),
    Attack("kill_runner", Status.VIOLATION, _LONG),
    Attack("leave_daemon", Status.OK, _LONG),
    Attack("leave_family", Status.OK, _LONG),
    Attack("leave_threads", Status.OK, _LONG),
    Attack("offer_for_ever", Status.TIMEOUT),
    Attack("patch_everything", Status.OK, _LONG),
    Attack("recurse", Status.CRASH, _LONG),
    Attack("stop_runner", Status.TIMEOUT),
    Attack("stop_itself", Status.TIMEOUT),
    Attack("wait_at_exit", Status.OK, _LONG),
    Attack("write_garbage", Status.VIOLATION, _LONG),
)
