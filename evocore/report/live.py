"""What a person sees while a run goes on: a live page on a terminal, a line an improvement anywhere else.

The view polls: it calls `poll()` a few times a second, in a thread of its own, and draws the `RunState` that it gets.
Nothing reaches back into the run.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any, TextIO

from evocore.report.words import clock, confinement, distance, minutes, score_digits
from evocore.search.state import BestState, ChainState, IslandState, Passed, RunState

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.live import Live

REFRESH_SECONDS = 0.25
LINE_SECONDS = 1.0
"""Off a terminal, improvements that come faster than this share a line."""
MAX_ROWS = 6
"""Rows of a table on the live page: it has to fit into 24 lines."""


class LiveView:
    """Show a run while the `with` block runs.

    Parameters
    ----------
    poll : callable
        Returns the run's present state, or None before there is one.
    stream : text stream
        Where it is shown; standard error, so that standard output stays for data.
    quiet : bool
        Show nothing.
    now : callable
        The clock in seconds, for what goes on between two states.
    """

    def __init__(
        self,
        poll: Callable[[], RunState | None],
        *,
        stream: TextIO | None = None,
        quiet: bool = False,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._poll = poll
        self._stream = sys.stderr if stream is None else stream
        self._quiet = quiet
        self._now = now
        self._seen: tuple[RunState | None, float] = (None, 0.0)
        self._live: Live | None = None
        self._lines: _Lines | None = None

    def __enter__(self) -> LiveView:
        if self._quiet:
            return self
        if self._stream.isatty():
            from rich.console import Console
            from rich.live import Live

            console = Console(file=self._stream)
            self._live = Live(
                get_renderable=self._page,
                console=console,
                refresh_per_second=1 / REFRESH_SECONDS,
                transient=True,
                redirect_stdout=False,
                redirect_stderr=False,
            )
            self._live.start()
        else:
            self._lines = _Lines(self._poll, self._stream)
            self._lines.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()
        if self._lines is not None:
            self._lines.stop()

    def _page(self) -> RenderableType:
        state = self._poll()
        if state is not self._seen[0]:
            self._seen = (state, self._now())
        if state is None:
            return "starting"
        return page(state, since_seconds=self._now() - self._seen[1])


def page(state: RunState, *, since_seconds: float = 0.0) -> RenderableType:
    """Lay one state out as the live page.

    Parameters
    ----------
    state : RunState
        What to show.
    since_seconds : float
        How long ago the state was published: the clock goes on in between.
    """
    from rich.console import Group
    from rich.panel import Panel
    from rich.text import Text

    elapsed = state.elapsed_seconds + (since_seconds if state.phase != "finished" else 0.0)
    parts: list[Any] = [_best_line(state)]
    if state.references:
        parts += [Text(), _references(state)]
    if state.islands:
        parts += [Text(), _islands(state.islands)]
    parts += [Text(), _activity(state, elapsed), _time_line(state, elapsed)]
    if state.messages:
        parts.append(Text(state.messages[-1], style="dim"))
    kind = "smaller is better" if state.direction == "minimize" else "greater is better"
    title = Text.assemble((state.title, "bold"), f"  {kind}")
    footer = Text(state.run_dir, style="dim")
    if state.sandbox:
        is_unsafe = state.sandbox == "unsafe"
        footer.append(f"  sandbox: {confinement([state.sandbox])}", "bold red" if is_unsafe else "dim")
    return Panel(Group(*parts), title=title, title_align="left", subtitle=footer, subtitle_align="left")


def _best_line(state: RunState) -> RenderableType:
    from rich.text import Text

    best = state.best
    if best is None:
        return Text("no valid construction yet", style="dim")
    line = Text.assemble(
        "best  ", (score_digits(best.arena_score), "bold green"), "  found at ", clock(best.found_seconds)
    )
    if best.source:
        line.append(f" by {best.source}", "dim")
    if best.first_place:
        line.append("  beats every published value", "bold green")
    line.no_wrap, line.overflow = True, "ellipsis"
    return line


def shown_references(references: tuple[Passed, ...], direction: str) -> list[Passed]:
    """Choose the published values for a small table: worst first, around where the run stands.

    Examples
    --------
    >>> rows = tuple(Passed(f"p{i}", float(i), 2000 + i, 1.0 if i > 6 else None) for i in range(9))
    >>> [r.who for r in shown_references(rows, "minimize")]
    ['p7', 'p6', 'p5', 'p4', 'p3', 'p0']
    """
    rows = sorted(references, key=lambda r: r.score, reverse=direction == "minimize")
    if len(rows) <= MAX_ROWS:
        return rows
    n_passed = sum(r.passed_seconds is not None for r in rows)
    first = max(0, min(n_passed - 1, len(rows) - MAX_ROWS))
    return [*rows[first : first + MAX_ROWS - 1], rows[-1]]


def _references(state: RunState) -> RenderableType:
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    table.add_column(width=1)
    table.add_column(no_wrap=True, overflow="ellipsis")
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    for row in shown_references(state.references, state.direction):
        if row.passed_seconds is not None:
            mark, style, note = "✓", "green", f"passed at {clock(row.passed_seconds)}"
        else:
            mark, style = "·", ""
            note = f"{distance(state.best.arena_score, row.score)} to go" if state.best is not None else ""
        table.add_row(mark, f"{row.who} {row.year}", f"{row.score:.10g}", note, style=style)
    return table


def _islands(islands: tuple[IslandState, ...]) -> RenderableType:
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("island", justify="right")
    table.add_column("mutator", no_wrap=True)
    for name in ("nodes", "admitted", "rejected", "best gain", "stall"):
        table.add_column(name, justify="right", no_wrap=True)
    for one in islands[:MAX_ROWS]:
        table.add_row(
            str(one.number),
            one.mutator,
            str(one.n_nodes),
            str(one.n_admitted),
            str(one.n_rejected),
            f"{one.best_accuracy:.4f}",
            str(one.stall),
        )
    if len(islands) > MAX_ROWS:
        table.add_row("", f"and {len(islands) - MAX_ROWS} more", "", "", "", "", "")
    return table


def _activity(state: RunState, elapsed: float) -> RenderableType:
    from rich.console import Group
    from rich.text import Text

    counts = f"{state.evaluations:,} evaluations ({state.running_evaluations} running)  {state.hand_ins:,} hand-ins"
    if state.round:
        counts += f"  round {state.round}"
    lines = [Text(counts, no_wrap=True, overflow="ellipsis")]
    for chain in state.chains[:3]:
        lines.append(Text(_chain_line(chain, elapsed), no_wrap=True, overflow="ellipsis", style="cyan"))
    return Group(*lines)


def _chain_line(chain: ChainState, elapsed: float) -> str:
    spent = min(max(elapsed - chain.begun_seconds, 0.0), chain.seconds)
    reached = f", at {score_digits(chain.best_score)}" if chain.best_score is not None else ""
    return f"chain  {chain.program} on {chain.start}{reached}, {spent:.0f} of {chain.seconds:.0f} s"


def _time_line(state: RunState, elapsed: float) -> RenderableType:
    from rich.progress_bar import ProgressBar
    from rich.table import Table

    left = max(0.0, state.budget_seconds - elapsed)
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(width=24)
    grid.add_column(no_wrap=True)
    done = min(elapsed, state.budget_seconds)
    words = f"{minutes(elapsed)} of {minutes(state.budget_seconds)}, {minutes(left)} left"
    if state.phase != "searching":
        words = f"{state.phase}, {words}"
    grid.add_row(ProgressBar(total=state.budget_seconds, completed=done), words)
    return grid


class _Lines:
    """Off a terminal: one line an improvement, at most one a second, and one for each published value passed."""

    def __init__(self, poll: Callable[[], RunState | None], stream: TextIO) -> None:
        self._poll = poll
        self._stream = stream
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="evocore-progress", daemon=True)
        self._shown: BestState | None = None
        self._shown_at = -LINE_SECONDS
        self._passed: set[tuple[str, float]] = set()
        self._phase = ""

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Say what has not been said yet and end the thread."""
        self._stopped.set()
        self._thread.join()
        state = self._poll()
        if state is not None:
            self._tell(state, last=True)

    def _follow(self) -> None:
        while not self._stopped.wait(REFRESH_SECONDS):
            state = self._poll()
            if state is not None:
                self._tell(state)

    def _tell(self, state: RunState, *, last: bool = False) -> None:
        is_new_phase = state.phase != self._phase
        self._phase = state.phase
        best = state.best
        if best is not None and (self._shown is None or best.arena_score != self._shown.arena_score):
            passed = [r for r in state.references if r.passed_seconds is not None]
            news = [r for r in passed if (r.who, r.score) not in self._passed]
            if last or is_new_phase or news or best.found_seconds - self._shown_at >= LINE_SECONDS:
                self._passed.update((r.who, r.score) for r in news)
                self._shown, self._shown_at = best, best.found_seconds
                self._write(improvement_line(best, news))
        if is_new_phase and state.phase in ("stopping", "checking"):
            self._write(f"{clock(state.elapsed_seconds):>9}  {state.phase}")

    def _write(self, line: str) -> None:
        self._stream.write(line + "\n")
        self._stream.flush()


def improvement_line(best: BestState, passed: list[Passed]) -> str:
    """Write an improvement as one line.

    Examples
    --------
    >>> found = BestState(0.38092, "1/3", 12.34, "chain hop", "best.json")
    >>> improvement_line(found, [Passed("Haugland", 0.380927, 2016, 12.34)])
    '   12.3 s  0.3809200000  chain hop  passed Haugland 2016 (0.380927)'
    """
    line = f"{clock(best.found_seconds):>9}  {score_digits(best.arena_score)}  {best.source}".rstrip()
    if passed:
        line += "  passed " + ", ".join(f"{r.who} {r.year} ({r.score:.10g})" for r in passed)
    return line
