"""The live view: a page that fits a small terminal, lines off it, silence when asked."""

import io
import os
import pty
import re
import threading

import pytest
from rich.console import Console

from evocore.report.live import LiveView, improvement_line, page, shown_references
from evocore.search.state import BestState, ChainState, IslandState, Passed, RunState

REFERENCES = (
    Passed("Haugland", 0.38092685, 2016, 41.0),
    Passed("AlphaEvolve", 0.38092304, 2025, 55.0),
    Passed("Together AI", 0.38087031, 2026),
)


def state(elapsed=72.0, *, score=0.38091, phase="searching", references=REFERENCES, best=True, sandbox="linux"):
    return RunState(
        problem="erdos-min-overlap",
        title="Erdős minimum overlap",
        direction="minimize",
        run_dir="evocore-runs/erdos-min-overlap-2026-08-01-1",
        phase=phase,
        budget_seconds=120.0,
        elapsed_seconds=elapsed,
        round=7,
        best=BestState(score, "1/3", elapsed - 1, "chain hop.py", "best.json") if best else None,
        references=references,
        islands=tuple(IslandState(i, "grammar-stages", 14, 5, 2, 0.9312, i) for i in range(1, 4)),
        chains=(ChainState(0, "melt.py", "deepen", "pool 3", 60.0, 20.0, 0.380912),),
        evaluations=57,
        running_evaluations=2,
        hand_ins=12345,
        messages=("island 2: dry mutator, reassigned to grammar-cross",),
        sandbox=sandbox,
    )


def shown(one, width):
    console = Console(file=io.StringIO(), width=width, height=24, force_terminal=False)
    console.print(page(one))
    return console.file.getvalue()


def test_the_page_says_how_programs_are_confined():
    assert "sandbox: linux" in shown(state(), 120)
    assert "sandbox: unsafe: programs were not confined" in shown(state(sandbox="unsafe"), 120)


@pytest.mark.parametrize("width", [80, 120])
def test_the_page_says_everything_and_fits(width):
    text = shown(state(), width)
    rows = text.splitlines()
    assert len(rows) <= 23
    assert max(map(len, rows)) <= width
    for word in ("0.3809100000", "1:11", "✓", "Haugland 2016", "4.0e-05 to go", "grammar-stages", "0.9312"):
        assert word in text
    for word in ("57 evaluations (2 running)", "12,345 hand-ins", "1:12 of 2:00", "0:48 left", "melt.py on pool 3"):
        assert word in text


def test_the_page_of_a_run_that_has_found_nothing_says_so():
    assert "no valid construction yet" in shown(state(best=False, references=()), 80)


def test_many_references_are_cut_to_those_around_the_run():
    many = tuple(Passed(f"P{i}", 1.0 - i / 100, 2000 + i, 1.0 if i < 9 else None) for i in range(20))
    rows = [r.who for r in shown_references(many, "minimize")]
    assert rows == ["P8", "P9", "P10", "P11", "P12", "P19"]


def test_off_a_terminal_there_is_a_line_an_improvement():
    now = [state(10.0, score=0.4, references=())]
    stream = io.StringIO()
    with LiveView(lambda: now[0], stream=stream):
        pass
    assert stream.getvalue() == "    9.0 s  0.4000000000  chain hop.py\n"


def test_off_a_terminal_the_same_score_is_told_once_and_passing_is_told():
    stream = io.StringIO()
    told = threading.Event()
    polls = []

    def poll():
        polls.append(1)
        if len(polls) > 3:
            told.set()
        return state()

    with LiveView(poll, stream=stream):
        assert told.wait(30)
    (line,) = stream.getvalue().splitlines()
    assert line.endswith("passed Haugland 2016 (0.38092685), AlphaEvolve 2025 (0.38092304)")


def test_off_a_terminal_an_improvement_is_told_before_the_end_of_the_search():
    stream = io.StringIO()
    told = threading.Event()
    coming = iter([state(10.0, score=0.4, references=()), state(10.5, score=0.39, references=(), phase="checking")])
    now = []

    def poll():
        now[:] = [next(coming, None) or now[0]]
        if now[0].phase == "checking":
            told.set()
        return now[0]

    with LiveView(poll, stream=stream):
        assert told.wait(30)
    assert [line.split()[2] for line in stream.getvalue().splitlines()] == ["0.4000000000", "0.3900000000", "checking"]


def test_quiet_shows_nothing_and_never_polls():
    stream = io.StringIO()
    polls = []
    with LiveView(lambda: polls.append(1), stream=stream, quiet=True):
        pass
    assert stream.getvalue() == ""
    assert polls == []


def test_on_a_terminal_the_page_is_drawn_and_wiped():
    leader, follower = pty.openpty()
    drawn = threading.Event()
    read = []

    def reader():
        while True:
            try:
                read.append(os.read(leader, 65536))
            except OSError:  # the other end is closed
                return
            if b"Haugland" in b"".join(read):
                drawn.set()

    thread = threading.Thread(target=reader)
    thread.start()
    with open(follower, "w", encoding="utf-8") as stream, LiveView(state, stream=stream):
        assert drawn.wait(30)
    thread.join()
    os.close(leader)
    text = b"".join(read).decode()
    assert "\x1b[?25h" in text, "the cursor is visible again"
    assert re.search(r"\x1b\[2K", text), "the page is wiped"


def test_an_improvement_without_a_source_ends_at_the_score():
    assert improvement_line(BestState(1.5, "3/2", 75.0, "", "f"), []) == "     1:15  1.500000000"
