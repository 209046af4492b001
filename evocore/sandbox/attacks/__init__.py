"""Programs that attack the sandbox, and what has to become of each. They are data: read and run, never imported.

`evocore.sandbox.selftest` runs them, for the test suite and for `evocore sandbox selftest`. A program stands behind
``_prelude.py`` and finds there whom it may attack: files, a process and sockets that the harness has put up for this
one attack. What it gets through with it prints; what it changes is also looked for from outside.

The rows are those of the list that the sandbox was designed by: 1 to 48 in order of kind (time, processes, memory,
disk, output, hand-ins, other processes, files, network, kernel, claims), 49 to 64 what the evaluators of other search
programs were seen to let through, 65 what neither list has. Row 45, a verifier that is edited on disk, needs no
program: tests/attacks/test_controller.py.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evocore.sandbox.base import Limits, Status, Tier

OK, INVALID, CRASH = Status.OK, Status.INVALID, Status.CRASH
TIMEOUT, OUT_OF_MEMORY, VIOLATION = Status.TIMEOUT, Status.OUT_OF_MEMORY, Status.VIOLATION

BUDGET_SECONDS = 0.5
PATIENCE_SECONDS = 10.0
LIMITS = Limits(
    wall_seconds=20.0,
    cpu_seconds=10.0,
    memory_bytes=768 << 20,
    offer_bytes=1 << 20,
    offers_bytes=16 << 20,
    grace_seconds=0.3,
)
FEW_CPU_SECONDS = Limits(wall_seconds=20.0, cpu_seconds=0.7, memory_bytes=768 << 20, grace_seconds=0.3)

CONFINED = (Tier.LINUX, Tier.LINUX_STRICT, Tier.DOCKER)
"""The tiers that promise more than limits and a clean end."""


@dataclass(frozen=True)
class Attack:
    """One attack.

    Attributes
    ----------
    name : str
        The program's file, without .py.
    rows : tuple of int
        Which rows of the list it stands for.
    ends : Status, or tuple of Status
        What may become of it.
    unsafe_ends : Status, tuple of Status or None
        The same under the tier ``unsafe``, where most things that it tries work; None where they would do harm: there
        it is not run.
    budget_seconds : float
    limits : Limits
    promised_by : tuple of Tier
        Tiers that promise to let it through with nothing. ``unsafe`` promises of every attack that it ends in time,
        that nothing of it is left, and that scores, verifier and neighbours are as before.
    n_runs : int
        How often it is run: some attack a later evaluation.
    is_alone : bool
        Whether nothing else may run at the time under ``unsafe``: it takes the runner down, and all others with it.
    text : callable
        Makes the source of a program that is too long for a file.
    """

    name: str
    rows: tuple[int, ...]
    ends: Status | tuple[Status, ...] = OK
    unsafe_ends: Status | tuple[Status, ...] | None = ()
    budget_seconds: float = PATIENCE_SECONDS
    limits: Limits = LIMITS
    promised_by: tuple[Tier, ...] = CONFINED
    n_runs: int = 1
    is_alone: bool = False
    text: Callable[[], str] | None = None

    def statuses(self, tier: Tier) -> tuple[Status, ...]:
        """What may become of it under a tier; nothing where it is not run."""
        ends = self.unsafe_ends if tier is Tier.UNSAFE and self.unsafe_ends != () else self.ends
        return () if ends is None else (ends,) if isinstance(ends, Status) else ends

    def source(self, targets: dict[str, Any]) -> str:
        """Write the program, with those it may attack."""
        if self.text is not None:
            return self.text()
        prelude = _read("_prelude").replace("TARGETS = {}", f"TARGETS = {json.dumps(targets)}", 1)
        return f"{prelude}\n\n{_read(self.name)}"

    @property
    def purpose(self) -> str:
        """Say in one line what it does."""
        if self.text is not None:
            return (self.text.__doc__ or "").strip()
        return _read(self.name).partition("\n")[0].strip('"')


def _read(name: str) -> str:
    return (Path(__file__).parent / f"{name}.py").read_text(encoding="utf-8")


# ---- sources that attack whoever reads them ---------------------------------------------------------------------

_HONEST = "\ndef optimize(problem, start, seed, deadline, offer):\n    return start\n"


def _megabytes() -> str:
    """A source of 16 megabytes."""
    return "#" * (16 << 20) + _HONEST


def _parentheses() -> str:
    """A source of 100 000 nested parentheses."""
    return "x = " + "(" * 100_000 + ")" * 100_000 + _HONEST


def _signs() -> str:
    """A source of 400 000 signs before a number."""
    return "x = " + "-" * 400_000 + "1" + _HONEST


def _sums() -> str:
    """A source that adds 100 000 numbers in one expression."""
    return "x = 1" + "+1" * 100_000 + _HONEST


def _lines() -> str:
    """A source of 240 000 lines."""
    return "x=1\n" * 240_000 + _HONEST


def _zero_byte() -> str:
    """A source with a zero byte in it."""
    return "x = 1\n\0" + _HONEST


def _cookie() -> str:
    """A source that says it is written in an encoding that does not exist."""
    return "# -*- coding: evocore-no-such-encoding -*-\n" + _HONEST


def _surrogate() -> str:
    """A source with half a character in it."""
    return "x = '\ud800'\n" + _HONEST


# ---- the list ---------------------------------------------------------------------------------------------------

ATTACKS = (
    # time
    Attack("burn_cpu", (1, 49), TIMEOUT, limits=FEW_CPU_SECONDS),
    Attack("hold_the_lock", (1, 57), TIMEOUT, budget_seconds=BUDGET_SECONDS),
    Attack("backtrack", (1,), TIMEOUT, budget_seconds=BUDGET_SECONDS),
    Attack("spell_out_a_number", (1,), TIMEOUT, budget_seconds=BUDGET_SECONDS),
    Attack("sleep_for_ever", (2, 44), TIMEOUT, budget_seconds=BUDGET_SECONDS),
    Attack("stop_itself", (2,), TIMEOUT, budget_seconds=BUDGET_SECONDS),
    Attack("ignore_signals", (3,), TIMEOUT, budget_seconds=BUDGET_SECONDS),
    Attack("ignore_the_cpu_limit", (3,), TIMEOUT, limits=FEW_CPU_SECONDS),
    Attack("play_with_clocks", (43,), OK, None),
    Attack("outlive_the_controller", (37,), TIMEOUT, budget_seconds=BUDGET_SECONDS),
    # processes and threads
    Attack("fork_bomb", (4,)),
    Attack("use_multiprocessing", (4,)),
    Attack("leave_daemon", (5, 56, 59)),
    Attack("leave_family", (5, 56)),
    Attack("hold_output", (5, 60)),
    Attack("run_programs", (6,), OK, (OK, CRASH)),
    Attack("thread_bomb", (7,), (OK, CRASH, OUT_OF_MEMORY, TIMEOUT), budget_seconds=3.0),
    Attack("leave_threads", (7,)),
    # memory
    Attack("eat_memory", (8, 50), OUT_OF_MEMORY),
    Attack("ask_for_a_huge_array", (8, 50), OUT_OF_MEMORY),
    Attack("map_memory", (8,)),
    Attack("recurse", (9,), CRASH),
    Attack("recurse_without_limit", (9,), (CRASH, OUT_OF_MEMORY)),
    Attack("crash_the_interpreter", (9, 58), CRASH),
    Attack("dump_core", (9, 65), CRASH),
    # disk and files of the own
    Attack("fill_folder", (10,)),
    Attack("dig_folders", (10,)),
    Attack("lure_the_cleaner", (20, 65)),
    Attack("make_immutable", (10, 65), OK, None),
    Attack("fill_memory_files", (11,)),
    Attack("hoard_pipes", (11, 65)),
    Attack("exhaust_files", (12,), CRASH),
    Attack("hostile_names", (40,), CRASH),
    # output
    Attack("flood_output", (13, 54)),
    Attack("flood_warnings", (13, 63)),
    Attack("raise_a_huge_error", (13, 63), (CRASH, TIMEOUT)),
    Attack("forge_output", (41,)),
    Attack("inject_instructions", (46,), CRASH),
    # hand-ins
    Attack("hand_in_too_much", (14, 63), VIOLATION),
    Attack("hand_in_without_end", (14, 63), VIOLATION),
    Attack("flood_frames", (14, 65), TIMEOUT, budget_seconds=BUDGET_SECONDS),
    Attack("offer_for_ever", (14, 19), (TIMEOUT, VIOLATION), budget_seconds=BUDGET_SECONDS),
    Attack("pickle_a_result", (15, 16, 62)),
    Attack("return_an_object", (15, 62), (OK, INVALID)),
    Attack("claim_huge_frame", (17,), VIOLATION),
    Attack("claim_huge_shape", (17,)),
    Attack("hand_in_bad_numbers", (18, 55)),
    Attack("hand_in_bad_shapes", (19,)),
    Attack("write_garbage", (19,), VIOLATION),
    Attack("hand_in_a_record", (47,)),
    # how it ends, and what it claims
    Attack("forge_failure", (44,), VIOLATION),
    Attack("forge_start", (43,), VIOLATION),
    Attack("nest_a_claim", (19, 65), VIOLATION),
    Attack("end_twice", (19,), OK, budget_seconds=BUDGET_SECONDS),
    Attack("wait_at_exit", (19,)),
    Attack("exit_at_once", (19, 51, 58), CRASH),
    Attack("exit_politely", (58,), CRASH),
    Attack("kill_itself", (58,), CRASH),
    Attack("close_every_file", (39,), CRASH),
    Attack("reopen_the_pipe", (39,), (CRASH, OK)),
    Attack("forge_a_result_path", (51, 61), (OK, CRASH)),
    Attack("forge_verdict", (42,)),
    # other processes
    Attack("read_other_processes", (21,)),
    Attack("attach_to_processes", (22,), OK, (OK, TIMEOUT)),
    Attack("signal_others", (23,)),
    Attack("kill_runner", (23,), OK, VIOLATION, is_alone=True),
    Attack("stop_runner", (23,), OK, TIMEOUT, BUDGET_SECONDS, is_alone=True),
    Attack("kill_group", (23,), CRASH),
    # code and secrets of others
    Attack("read_environment", (24, 25)),
    Attack("plant_modules", (26, 52)),
    Attack("poison_caches", (27, 64), n_runs=2),
    Attack("patch_everything", (28, 53)),
    Attack("patch_next_evaluation", (28, 53, 64), (OK, CRASH), n_runs=2),
    Attack("search_memory", (29, 31)),
    Attack("spy_on_neighbours", (31,)),
    Attack("read_files", (30, 31)),
    Attack("look_at_names", (30,), promised_by=(Tier.LINUX_STRICT, Tier.DOCKER)),
    Attack("tamper_with_files", (20, 30, 52)),
    Attack("use_inherited_files", (38,)),
    # network and kernel
    Attack("open_sockets", (32,)),
    Attack("leave_messages", (33,), n_runs=2),
    Attack("reach_the_kernel", (34,), OK, None),
    Attack("make_namespaces", (34, 36), OK, None),
    Attack("write_kernel_settings", (34, 65), OK, None),
    Attack("call_as_32_bit", (35,), OK, (OK, CRASH)),
    Attack("call_as_x32", (35,)),
    Attack("survive_the_filter", (35, 65)),
    Attack("raise_limits", (36,)),
    Attack("take_priority", (36, 65), OK, None),
    Attack("undo_protection", (36,), OK, None),
    Attack("use_powers_of_root", (36, 65)),
    # sources
    Attack("source_of_megabytes", (48,), INVALID, text=_megabytes),
    Attack("source_of_parentheses", (48,), INVALID, text=_parentheses),
    Attack("source_of_signs", (48,), (INVALID, CRASH), text=_signs),
    Attack("source_of_sums", (48,), (INVALID, CRASH), text=_sums),
    Attack("source_of_lines", (48,), (OK, INVALID), text=_lines),
    Attack("source_with_a_zero_byte", (48,), INVALID, text=_zero_byte),
    Attack("source_in_no_encoding", (48,), INVALID, text=_cookie),
    Attack("source_with_half_a_character", (48,), INVALID, text=_surrogate),
)
