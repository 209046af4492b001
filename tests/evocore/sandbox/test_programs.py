"""What becomes of programs that mean no harm: they return, they fail, they are late, they hand in nonsense."""

import json
import os
import resource
import time

import numpy as np
import pytest

from evocore.sandbox import Limits, Status, Tier
from evocore.sandbox.base import MOST_SOURCE_BYTES
from evocore.verifiers.arrays import decode


def values(offers):
    return [decode(o.buffer).tolist() for o in offers]


# ---- handing in --------------------------------------------------------------------------------------------------


def test_an_honest_program(play, sandbox):
    outcome, offers = play("offer(start)\noffer(start / 2)\nprint('hello')\nreturn start / 4")
    assert outcome.status is Status.OK
    assert (outcome.detail, outcome.tier) == ("", sandbox.tier)
    assert outcome.stdout == "hello\n"
    assert outcome.stderr == ""
    assert values(offers) == [[1, 2, 3], [0.5, 1, 1.5], [0.25, 0.5, 0.75]]
    assert (outcome.n_offers, outcome.n_late) == (3, 0)
    assert outcome.peak_memory_bytes > 10_000_000


def test_only_improvements_are_sent(play):
    outcome, offers = play("print([offer(start * s) for s in (1, 1, 2, 0.5, 0.75, 0.25)])\nreturn start")
    assert json.loads(outcome.stdout.lower()) == [True, False, False, True, False, True]
    assert [v[0] for v in values(offers)] == [1, 0.5, 0.25]


def test_stamps_are_of_the_outside_clocks(play):
    before = time.monotonic()
    _, offers = play("import time\noffer(start)\nwhile time.process_time() < 0.2: pass\noffer(start / 2)")
    wall = time.monotonic() - before
    (first, second) = offers
    assert 0 <= first.seconds < second.seconds <= wall
    assert 0 <= first.cpu_seconds < second.cpu_seconds
    assert second.cpu_seconds > 0.1


def test_bits_survive_and_a_long_construction_passes(play):
    start = np.random.default_rng(1).random(200_000) + 1e-9
    outcome, offers = play("return start", start=start)
    assert outcome.status is Status.OK
    np.testing.assert_array_equal(decode(offers[0].buffer), start)


def test_a_program_may_change_its_start(play):
    outcome, offers = play("start /= 2\nreturn start")
    assert (outcome.status, values(offers)) == (Status.OK, [[0.5, 1, 1.5]])


def test_a_hundred_thousand_hand_ins(play):
    """However many are skipped on the way, the order stays and the last one arrives."""
    outcome, offers = play("for i in range(100_000):\n    offer(start / (i + 1))", budget=30.0)
    assert outcome.status is Status.OK
    assert outcome.n_offers == 100_000
    firsts = [v[0] for v in values(offers)]
    assert firsts == sorted(firsts, reverse=True)
    assert firsts[-1] == 1 / 100_000


@pytest.mark.parametrize(
    ("what", "reason"),
    [
        ("start * float('nan')", "finite"),
        ("[1, float('inf'), 2]", "finite"),
        ("start.astype(complex)", "dtype complex128"),
        ("start.astype(object)", "dtype object"),
        ("'abc'", "dtype"),
        ("start.reshape(1, 3)", "shape (1, 3)"),
        ("start[:0]", "values"),
        ("-start", "positive"),
        ("[[1], [2, 3]]", ""),
        ("{'values': [1.0]}", "dtype object"),
    ],
)
def test_what_is_no_construction_is_refused_with_a_reason(play, what, reason):
    outcome, offers = play(f"assert not offer({what})\nassert offer(start)\nreturn start")
    assert (outcome.status, len(offers)) == (Status.OK, 1)
    assert "hand-in refused" in outcome.stderr
    assert reason in outcome.stderr


def test_integers_and_other_layouts_are_taken(play):
    _, offers = play("offer([9, 9])\noffer((3, 4))\noffer(start[::2])\noffer(start[:2].astype('f4'))\n")
    assert values(offers) == [[9, 9], [3, 4], [1, 3], [1, 2]]


def test_returning_nonsense_and_nothing_else_is_invalid(play):
    outcome, offers = play("return start * float('nan')")
    assert (outcome.status, offers) == (Status.INVALID, [])
    assert "finite" in outcome.detail


def test_returning_none_is_fine(play):
    assert play("offer(start)")[0].status is Status.OK


def test_a_hand_in_over_the_limit_is_refused(play):
    limits = Limits(30.0, 30.0, offer_bytes=100)
    outcome, offers = play("offer([1.0] * 50)\nreturn start", limits=limits)
    assert (outcome.status, len(offers)) == (Status.OK, 1)
    assert "at most 100 bytes" in outcome.stderr


def test_hand_ins_over_the_total_are_a_violation(play):
    limits = Limits(30.0, 30.0, offers_bytes=1000)
    outcome, _ = play("for i in range(100): offer(start / (i + 1))\nwhile True: pass", limits=limits)
    assert outcome.status is Status.VIOLATION
    assert "1000 bytes" in outcome.detail


# ---- ending ------------------------------------------------------------------------------------------------------


def test_deadline_and_grace(play):
    wait = "import time\nwhile time.monotonic() < deadline + {}: pass\nreturn start"
    in_time, offers = play(wait.format(0.02), budget=0.2)
    assert (in_time.status, len(offers)) == (Status.OK, 1)
    late, offers = play(wait.format(0.4), budget=0.2, limits=Limits(30.0, 30.0, grace_seconds=5.0, late_seconds=0.2))
    assert (late.status, late.n_offers, late.n_late, offers) == (Status.OK, 0, 1, [])
    hangs, offers = play("import time\noffer(start)\ntime.sleep(60)", budget=0.2)
    assert (hangs.status, len(offers)) == (Status.TIMEOUT, 1)
    assert hangs.wall_seconds >= 0.7


def test_the_wall_limit_binds_a_longer_budget(play):
    body = "import time\nprint(deadline - time.monotonic() < 0.3)\ntime.sleep(60)"
    outcome, _ = play(body, limits=Limits(0.3, 30.0, grace_seconds=0.1))
    assert outcome.status is Status.TIMEOUT
    assert outcome.stdout == "True\n"


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        ("raise ValueError('no luck')", "ValueError: no luck"),
        ("1 / 0", "ZeroDivisionError"),
        ("import sys\nsys.exit(0)", "SystemExit: 0"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt"),
        ("import os\nos._exit(7)", "exited with code 7"),
        ("import os\nos.abort()", "SIGABRT"),
        ("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)", "SIGKILL"),
        ("def f(): return f()\nf()", "RecursionError"),
        ("class E(Exception):\n    def __str__(self): raise E\nraise E", "E: <exception str() failed>"),
    ],
)
def test_crashes(play, body, detail):
    outcome, offers = play("offer(start)\n" + body)
    assert (outcome.status, len(offers)) == (Status.CRASH, 1)
    assert detail in outcome.detail


def test_the_traceback_shows_the_programs_own_lines(play):
    outcome, _ = play("x = 1\nraise ValueError(x)")
    assert "raise ValueError(x)" in outcome.stderr
    assert "candidate.py" not in outcome.stderr


def test_out_of_memory(play):
    outcome, offers = play("import numpy\noffer(start)\nnumpy.ones(1 << 40)")
    assert (outcome.status, len(offers)) == (Status.OUT_OF_MEMORY, 1)


@pytest.mark.parametrize(
    ("program", "detail"),
    [
        ("def optimize(:", "not valid Python: SyntaxError"),
        ("x = '\0'", "not valid Python"),
        ("(" * 100_000, "not valid Python"),
        ("# coding: nonsense\n", "not valid Python"),
        ("x = 1", "found none"),
        ("optimize = 1", "found none"),
        ("import nonsense", "does not load: ModuleNotFoundError"),
        ("def optimize(problem): pass", "expected optimize to take"),
        ("# \ud800", "Unicode"),
        ("#" * (MOST_SOURCE_BYTES + 1), f"at most {MOST_SOURCE_BYTES} bytes"),
    ],
    ids=range(10),
)
def test_what_is_no_program_is_invalid(play, program, detail):
    outcome, offers = play(program, whole=True)
    assert (outcome.status, offers) == (Status.INVALID, [])
    assert detail in outcome.detail


# ---- stopping ----------------------------------------------------------------------------------------------------


def test_a_hand_in_may_stop_the_program(play):
    outcome, offers = play("for i in range(9): offer(start / (i + 1))\nwhile True: pass", on_offer=lambda offer: False)
    assert (outcome.status, outcome.detail, len(offers)) == (Status.OK, "stopped early", 1)


def test_a_checkpoint_comes_without_a_hand_in_and_may_stop_the_program(play):
    seen = []

    def check(seconds, cpu_seconds):
        seen.append((seconds, cpu_seconds))
        return len(seen) < 2

    outcome, _ = play("while True: pass", checkpoints=[0.3, 0.1, 0.2], on_checkpoint=check)
    assert (outcome.status, outcome.detail) == (Status.OK, "stopped early")
    assert [seconds for seconds, _ in seen] == [0.1, 0.2]
    assert 0 <= seen[0][1] <= seen[1][1]


def test_an_error_in_a_callback_ends_the_program_and_comes_out(play, sandbox):
    def fail(offer):
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        play("offer(start)\nwhile True: pass", on_offer=fail)
    assert play("return start")[0].status is Status.OK


# ---- surroundings ------------------------------------------------------------------------------------------------


THREADS = {f"{library}_NUM_THREADS" for library in ("OMP", "OPENBLAS", "MKL", "NUMBA")}


def test_surroundings(play, sandbox):
    outcome, _ = play(
        """
import json, os, resource, stat, sys, threading
print(json.dumps({
    "environ": dict(os.environ), "cwd": os.getcwd(), "session": os.getsid(0) == os.getpid(),
    "core": resource.getrlimit(resource.RLIMIT_CORE), "size": resource.getrlimit(resource.RLIMIT_FSIZE),
    "stdin": sys.stdin.read(), "threads": threading.active_count(), "name": __name__,
    "kinds": [stat.S_ISFIFO(os.fstat(i).st_mode) for i in range(4)],
}))
"""
    )
    seen = json.loads(outcome.stdout)
    folder = seen["cwd"]
    assert set(seen["environ"]) == {"HOME", "TMPDIR", "LANG", "PATH", *THREADS}
    assert seen["environ"]["HOME"] == seen["environ"]["TMPDIR"] == folder
    assert (seen["session"], seen["threads"]) == (True, 1)
    assert seen["kinds"] == [False, True, True, True]
    assert (seen["core"], seen["size"], seen["stdin"], seen["name"]) == ([0, 0], [0, 0], "", "program")
    if sandbox.tier is Tier.UNSAFE:
        assert not os.path.exists(folder)
    else:
        assert folder == "/"


def test_only_an_unconfined_program_has_a_folder_of_its_own(play, sandbox):
    body = "import os\nprint(os.listdir(), oct(os.stat('.').st_mode)[-3:])\nopen('x', 'w')"
    outcome, _ = play(body)
    if sandbox.tier is Tier.UNSAFE:
        assert (outcome.status, outcome.stdout) == (Status.OK, "[] 700\n")
    else:
        assert (outcome.status, outcome.stdout) == (Status.CRASH, "")
        assert "PermissionError" in outcome.detail


def test_no_file_but_its_own_is_open(play):
    outcome, _ = play(
        """
import os
open_files = []
for fd in range(4, 1024):
    try:
        os.fstat(fd)
    except OSError:
        continue
    open_files.append(fd)
print(open_files)
"""
    )
    assert outcome.stdout == "[]\n"


def test_limits_cannot_be_raised(play):
    own = resource.getrlimit(resource.RLIMIT_NOFILE)
    outcome, _ = play("import resource\nprint(resource.getrlimit(resource.RLIMIT_NOFILE))")
    assert outcome.stdout == "(256, 256)\n"
    assert resource.getrlimit(resource.RLIMIT_NOFILE) == own


RANDOM = """
import random
import numpy as np
from numba import njit

@njit
def compiled():
    return np.random.random()

def optimize(problem, start, seed, deadline, offer):
    print(seed, random.random(), np.random.random(), compiled(), list({"a", "b", "c", "d"}), hash("x"))
"""


def test_the_same_seed_gives_the_same_random_numbers(play):
    one, two, other = (play(RANDOM, whole=True, seed=s)[0].stdout.split() for s in (2**62, 2**62, 7))
    assert one == two
    assert all(a != b for a, b in zip(one[:4], other[:4], strict=True))


def test_dataclasses_and_stages_load(play):
    program = """
from __future__ import annotations
from dataclasses import dataclass
from typing import Annotated, get_type_hints

@dataclass
class Part:
    share: float

STAGES = [Part(0.5)]

def optimize(problem, start, seed, deadline, offer):
    print(get_type_hints(Part), STAGES)
    return start
"""
    assert play(program, whole=True)[0].status is Status.OK
