"""Make the picture that a run publishes from what its journal holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from evocore.search.discoveries import shown_exact
from evocore.search.state import BestState, ChainState, IslandState, Passed, RunState

if TYPE_CHECKING:
    from evocore.problems.base import Problem
    from evocore.search.chains import Segment
    from evocore.search.history import Discovery
    from evocore.search.journal import Journal
    from evocore.search.memory import Forest
    from evocore.search.rundir import RunDir


def picture(
    problem: Problem,
    rundir: RunDir,
    journal: Journal,
    *,
    phase: str,
    budget_seconds: float,
    elapsed_seconds: float,
    target: float | None,
    sandbox: str,
    references: tuple[Passed, ...],
    chains: Mapping[int, tuple[Segment, float]],
    running_evaluations: int,
    messages: tuple[str, ...],
) -> RunState:
    """Return the run at this moment; the caller holds the journal's lock."""
    forest, history = journal.forest, journal.history
    return RunState(
        problem=problem.slug,
        title=problem.title,
        direction=problem.direction,
        run_dir=str(rundir.path),
        phase=phase,
        budget_seconds=budget_seconds,
        elapsed_seconds=elapsed_seconds,
        target=target,
        round=forest.round,
        epoch=forest.epoch,
        best=None if history.best is None else _best(history.best),
        references=references,
        islands=tuple(_island(forest, number) for number in sorted(forest.islands)),
        chains=tuple(_chain(forest, slot, *chains[slot]) for slot in sorted(chains)),
        evaluations=history.evaluations,
        running_evaluations=running_evaluations,
        rejected=history.rejected,
        hand_ins=history.hand_ins,
        trace=history.trace(),
        messages=messages,
        sandbox=sandbox,
    )


def _best(best: Discovery) -> BestState:
    exact = shown_exact(best)
    text = exact if isinstance(exact, str) else f"[{exact[0]}, {exact[1]}]"
    return BestState(best.arena_score, text, best.elapsed, best.source, best.file, best.first_place)


def _island(forest: Forest, number: int) -> IslandState:
    island = forest.islands[number]
    best = forest.best(number)
    accuracy = None if best is None else forest.accuracy(best)
    return IslandState(
        number=number,
        mutator=island.mutator,
        n_nodes=len(island.nodes),
        n_admitted=len(island.admitted),
        n_rejected=len(island.rejections),
        best_accuracy=island.best if accuracy is None else accuracy,
        stall=island.stall,
        best_program="" if best is None else forest.nodes[best].source_sha,
    )


def _chain(forest: Forest, slot: int, segment: Segment, begun: float) -> ChainState:
    title = forest.programs[segment.program].title if segment.program in forest.programs else segment.program[:12]
    start = "random numbers" if segment.start is None else f"construction {segment.start[:8]}"
    return ChainState(slot, title, segment.kind, start, begun, segment.seconds)
