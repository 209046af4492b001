"""What an isolated evaluation costs, and what it survives: `python -m evocore.bench.bench_sandbox --peers PYTHON`.

The evaluators of OpenEvolve, ShinkaEvolve and GEPA get the same program in the same run, called as they document it
(`bench/peer_evaluators.py`), from an environment of their own whose interpreter `--peers` names; without one they are
named as missing. Before anything is timed, all must give the same score.

S1  a trivial NumPy program: processor time of all processes together, and programs a second on all cores. Ours: forked
    from the warm runner, confined, its hand-in scored exactly by the verifier process.
S2  a hand-in of 600 values of Erdős' problem, from offer to sealed reply, that floats reject.
S3  the same, each strictly better than the one before: sealed exact verdicts.
S4  eight faults: how many each survives, which takes the right verdict in time, nothing left behind, bounded memory in
    the controller, and the next honest program scored as before.
S5  `--evaluations N`, and nothing else: memory, open files and processes of the controller over N evaluations.

Times of a busy machine are longer, processor times somewhat so; the load is told.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from evocore.bench import peer_evaluators, suite, timing
from evocore.bench.sandbox_entrants import Gone, Ours, Peer, installed, program, resident_bytes
from evocore.problems import problem as find
from evocore.sandbox import linux, offered_tier
from evocore.verifiers import Verifier
from evocore.verifiers.arrays import encode

LATE_SECONDS = 5.0  # a busy machine; the claim itself, limit + 1 s, is what the tests hold
CONTROLLER_GROWTH_BYTES = 64 << 20
OURS = "evocore"
MARK = "evocore-bench-survivor"

HONEST = program("x = np.linspace(0.0, 1.0, 100)\nfloat(np.max(np.convolve(x, x)))")


@dataclass(frozen=True)
class Fault:
    """A program that misbehaves, and whether it may have a score all the same."""

    letter: str
    title: str
    body: str
    may_score: bool


# `sentinel` and `evaluator` stand for a file of the user's, and for the file that scores.
FAULTS = (
    Fault("a", "loops for ever", "while True:\n    pass", False),
    Fault("b", "reserves 8 GB", "return np.zeros(2**30)[:3] + [1.0, 1.25, 1.0]", False),
    Fault("c", "os._exit(0)", "os._exit(0)", False),
    Fault(
        "d",
        "writes outside, edits the evaluator",
        "for name, text in (({sentinel!r}, 'was here'), ({evaluator!r}, {forgery!r})):\n"
        "    try:\n        with open(name, 'a') as file:\n            file.write(text)\n"
        "    except OSError:\n        pass",
        True,
    ),
    Fault(
        "e",
        "patches NumPy",
        "np.max = np.amax = lambda *a, **k: -1e9\nnp.convolve = lambda *a, **k: np.full(3, -1e9)\n"
        "np.sum = lambda *a, **k: 1e-9",
        True,
    ),
    Fault("f", "prints 100 MB", "for _ in range(100):\n    print('x' * 2**20)", True),
    Fault("g", "NaN and infinity", "return np.array([np.nan, np.inf, 1.0])", False),
    Fault(
        "h",
        "leaves a process",
        "command = [sys.executable, '-c', 'import time; time.sleep(600)', {mark!r}]\n"
        "try:\n    subprocess.Popen(command, start_new_session=True)\nexcept OSError:\n    pass",
        True,
    ),
)


# ---- S4: faults -------------------------------------------------------------------------------------------------


def survives(fault: Fault, evaluator: Ours | Peer, folder: Path) -> tuple[bool, str]:
    """Let an evaluator meet a fault between two honest programs; say whether all was as it should be, or what was not.

    Parameters
    ----------
    fault : Fault
    evaluator : Ours or Peer
        Started for this, as the fault may be its last.
    folder : Path
        For a file that no program has a right to.
    """
    sentinel = folder / "sentinel"
    sentinel.write_text("untouched")
    if not evaluator.evaluator.exists():
        evaluator.evaluator.write_text("")
    content = evaluator.evaluator.read_bytes()
    mark = f"{MARK}-{hashlib.sha256(str(folder).encode()).hexdigest()[:12]}"
    names = {"sentinel": str(sentinel), "evaluator": str(evaluator.evaluator), "forgery": evaluator.forgery}
    source = program(fault.body.format(mark=mark, **names))
    wrong = []
    try:
        before = evaluator.evaluate(HONEST)
        done = evaluator.evaluate(source)
        wrong += [f"score {done.score!r}"] * (not _is_right(fault, done.score, before.score))
        wrong += [f"verdict after {done.seconds:.0f} s"] * (done.seconds > evaluator.limit_seconds + LATE_SECONDS)
        wrong += ["its memory grew"] * (done.peak_bytes - before.peak_bytes > CONTROLLER_GROWTH_BYTES)
        after = evaluator.evaluate(HONEST)
        wrong += [f"next honest program: {after.score!r}"] * (after.score != before.score)
    except Gone as error:
        wrong.append(str(error))
    if isinstance(evaluator, Peer):
        wrong += [f"{evaluator.n_bytes >> 20} MB on its own stdout"] * (evaluator.n_bytes > 1 << 20)
    wrong += ["wrote outside"] * (sentinel.read_text() != "untouched")
    wrong += ["evaluator edited"] * (evaluator.evaluator.read_bytes() != content)
    left = list(_marked(mark))
    wrong += ["process left"] * bool(left)
    for pid in left:
        linux.kill(pid)
    return not wrong, ", ".join(wrong)


def _is_right(fault: Fault, score: float | None, honest: float | None) -> bool:
    if score is None:
        return True
    return fault.may_score and honest is not None and math.isclose(score, honest, rel_tol=1e-12)


def _marked(mark: str) -> Iterator[int]:
    """Processes with the mark among their arguments."""
    for entry in Path("/proc").iterdir():
        with suppress(OSError):
            if entry.name.isdigit() and mark.encode() in (entry / "cmdline").read_bytes().split(b"\0"):
                yield int(entry.name)


def faults(peers: Sequence[str], python: str, folder: Path, letters: str) -> dict[str, dict[str, str]]:
    """What each evaluator does with each fault: an empty text where it survives, or what went wrong."""
    found: dict[str, dict[str, str]] = {}
    for fault in (one for one in FAULTS if one.letter in letters):
        for name in (OURS, *peers):
            place = folder / f"{fault.letter}-{name}"
            place.mkdir()
            _say(f"{fault.letter} {fault.title}: {name}")
            (place / "scoring").mkdir()
            evaluator = Ours(place / "scoring") if name == OURS else Peer(name, python, place / "scoring")
            try:
                found.setdefault(name, {})[fault.letter] = survives(fault, evaluator, place)[1]
            finally:
                evaluator.close()
    return found


# ---- S1: cost ---------------------------------------------------------------------------------------------------


def costs(peers: Sequence[str], python: str, folder: Path, *, rounds: int, count: int) -> dict[str, dict[str, Any]]:
    """Evaluate the honest program in turns: processor and wall milliseconds each, medians over the rounds."""
    evaluators: dict[str, Ours | Peer] = {OURS: Ours()}
    try:
        for name in peers:
            (folder / name).mkdir()
            evaluators[name] = Peer(name, python, folder / name)
        scores = {name: one.evaluate(HONEST).score for name, one in evaluators.items()}
        for name, score in scores.items():
            if score is None or not math.isclose(score, scores[OURS] or math.nan, rel_tol=1e-12):
                raise AssertionError(f"expected all evaluators to give one score, got {scores} (see {name})")
        samples: dict[str, list[tuple[float, float]]] = {name: [] for name in evaluators}
        for _ in range(rounds):
            for name, one in evaluators.items():
                _say(f"S1 {name}")
                samples[name].append(_threaded(one, count) if isinstance(one, Ours) else _one_by_one(one))
    finally:
        for one in evaluators.values():
            one.close()
    return {
        name: {
            "version": evaluators[name].version,
            "cpu_ms": 1000 * statistics.median(cpu for cpu, _ in pairs),
            "a_second": 1 / statistics.median(wall for _, wall in pairs),
        }
        for name, pairs in samples.items()
    }


def _threaded(ours: Ours, count: int) -> tuple[float, float]:
    """Processor and wall seconds a program, as many at a time as there are cores."""
    begun, used = time.monotonic(), ours.cpu_seconds()
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for answer in pool.map(ours.evaluate, [HONEST] * count):
            if answer.score is None:
                raise AssertionError(f"expected a score, got none: {answer.error}")
    return (ours.cpu_seconds() - used) / count, (time.monotonic() - begun) / count


def _one_by_one(peer: Peer) -> tuple[float, float]:
    answers = [peer.evaluate(HONEST) for _ in range(3 if peer.name != "ShinkaEvolve" else 1)]
    return (statistics.mean(a.cpu_seconds for a in answers), statistics.mean(a.seconds for a in answers))


# ---- S2, S3: hand-ins -------------------------------------------------------------------------------------------


def hand_ins(count: int) -> dict[str, dict[str, float]]:
    """Hand in constructions of 600 values, one after the other: those that floats reject, and improvements."""
    name, n = "erdos-min-overlap", 600
    erdos, rng = find(name), np.random.default_rng(0)
    first = erdos.start(n, 0)
    last = erdos.project(np.clip(0.5 + 0.35 * np.cos(2 * np.pi * ((np.arange(n) + 0.5) / n - 0.5)), 0.0, 1.0))
    rejected = [encode(erdos.project(np.clip(first + rng.normal(0.0, 0.05, n), 0.0, 1.0))) for _ in range(100)]
    better, best = [], math.inf
    for step in np.linspace(0.0, 1.0, count + 1)[1:]:
        x = erdos.project(first + (last - first) * step)
        score = erdos.fast(x)
        if score < best - 1e-9:
            best = score
            better.append(encode(x))
    found = {}
    for label, start, buffers in (
        ("rejected", last, [rejected[i % len(rejected)] for i in range(count)]),
        ("exact", first, better),
    ):
        with Verifier(name) as verifier:
            verifier.restore_run(name, start)
            verifier.open_attempt("a", name, start)
            begun, used = time.monotonic(), time.process_time() + linux.cpu_seconds(verifier.pid)
            replies = [verifier.offer("a", name, buffer) for buffer in buffers]
            seconds = time.monotonic() - begun
            cpu = time.process_time() + linux.cpu_seconds(verifier.pid) - used
        expected = (False, True) if label == "rejected" else (True, False)
        if any((r.improved_attempt, r.verdict is None and r.score is not None) != expected for r in replies[1:]):
            raise AssertionError(f"expected every hand-in to be {label}, got another reply")
        found[label] = {"n": len(buffers), "a_second": len(buffers) / seconds, "cpu_us": 1e6 * cpu / len(buffers)}
    return found


# ---- S5: leaks --------------------------------------------------------------------------------------------------


def leaks(evaluations: int) -> list[dict[str, int]]:
    """Make so many evaluations in one process; what it holds at the beginning and after every twentieth of them."""
    ours = Ours()
    samples: list[dict[str, int]] = []
    try:
        with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            done = 0
            while True:
                samples.append(_held(ours, done))
                _say(json.dumps(samples[-1]))
                if done >= evaluations:
                    return samples
                batch = min(max(1, evaluations // 20), evaluations - done)
                for answer in pool.map(ours.evaluate, [HONEST] * batch):
                    if answer.score is None:
                        raise AssertionError(f"expected a score, got none: {answer.error}")
                done += batch
    finally:
        ours.close()


def _held(ours: Ours, done: int) -> dict[str, int]:
    time.sleep(1.0)  # a runner that has had its jobs ends by itself
    verifier = Path(f"/proc/{ours.verifier.pid}/statm").read_text().split()[1]
    return {
        "evaluations": done,
        "memory_kb": resident_bytes() >> 10,
        "verifier_kb": int(verifier) * os.sysconf("SC_PAGE_SIZE") >> 10,
        "descriptors": len(os.listdir("/proc/self/fd")),
        "threads": len(os.listdir("/proc/self/task")),
        "processes": len(linux.descendants(os.getpid())),
    }


def is_flat(samples: Sequence[dict[str, int]]) -> bool:
    """Whether, after a first quarter to warm up in, the second half grew over what was before it.

    The most of each is compared, since a sample may fall on the moment when a fresh runner stands beside the old one:
    memory may be 5 % more, descriptors, threads and processes none.
    """
    end = samples[-1]["evaluations"]
    early = [one for one in samples if end <= 4 * one["evaluations"] < 2.5 * end]
    late = [one for one in samples if 4 * one["evaluations"] >= 2.5 * end]

    def most(name: str, among: list[dict[str, int]]) -> int:
        return max(one[name] for one in among)

    counts = all(most(name, late) <= most(name, early) for name in ("descriptors", "threads", "processes"))
    return counts and all(most(name, late) <= 1.05 * most(name, early) for name in ("memory_kb", "verifier_kb"))


# ---- all of it --------------------------------------------------------------------------------------------------


def _say(words: str) -> None:
    if sys.stderr.isatty():
        print(words, file=sys.stderr)


def text(report: dict[str, Any]) -> str:
    """Write a report as Markdown."""
    at = report["machine"]
    title = (
        "What many evaluations leave behind" if "leaks" in report else "What an isolated evaluation costs and survives"
    )
    machine = f"{at['cpu']}, {at['n_cpus']} cores, load {at['load']}; Python {at['python']}"
    lines = [f"# {title}", "", suite.stamp_text(report), "", machine, ""]
    if "leaks" in report:
        names = list(report["leaks"][0])
        lines += [f"| {' | '.join(names)} |", "|--" * len(names) + "|"]
        lines += [f"| {' | '.join(str(one[name]) for name in names)} |" for one in report["leaks"]]
        return "\n".join([*lines, "", "Flat." if is_flat(report["leaks"]) else "NOT flat."])
    lines += ["| id | what | reach | measured |", "|--|--|--|--|"]
    for name, cost in report["costs"].items():
        goal = f"at most 15 ms CPU, at least 50 a second (tier {report['tier']})" if name == OURS else ""
        measured = f"{cost['cpu_ms']:.3g} ms CPU, {cost['a_second']:.3g} a second"
        lines.append(f"| S1 | trivial program: {name} {cost['version']} | {goal} | {measured} |")
    for row, label, least in (("S2", "rejected", 5000), ("S3", "exact", 1000)):
        got = report["hand_ins"][label]
        measured = f"{got['a_second']:.0f} a second, {got['cpu_us']:.0f} µs CPU"
        lines.append(f"| {row} | hand-in, 600-point Erdős, {label} | at least {least} a second | {measured} |")
    for name, cells in report["faults"].items():
        told = "; ".join(f"({letter}) {wrong}" for letter, wrong in cells.items() if wrong)
        goal = "all" if name == OURS else ""
        measured = f"{sum(not wrong for wrong in cells.values())} of {len(cells)}{': ' * bool(told)}{told}"
        lines.append(f"| S4 | faults survived: {name} | {goal} | {measured} |")
    lines += ["", *(f"({fault.letter}) {fault.title}" for fault in FAULTS)]
    if report["missing"]:
        lines += ["", f"Not installed: {', '.join(report['missing'])}; name an interpreter that has them with --peers."]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print. Exit code 1 where a fault was not survived, or something grew."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", default=sys.executable, metavar="PYTHON", help="interpreter that has the peers")
    parser.add_argument("--evaluations", type=int, metavar="N", help="S5 alone, over N evaluations")
    parser.add_argument("--quick", action="store_true", help="one round, fewer programs and hand-ins")
    parser.add_argument("--faults", default="abcdefgh", metavar="LETTERS", help="only these faults")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    begun, machine = time.time(), timing.machine()
    report: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="evocore-bench-") as name:
        folder = Path(name)
        if options.evaluations is not None:
            report["leaks"] = leaks(options.evaluations)
            has_failed = not is_flat(report["leaks"])
        else:
            peers = installed(options.peers)
            report["tier"] = str(offered_tier(None))
            report["missing"] = [one for one in peer_evaluators.PEERS if one not in peers]
            count = 40 if options.quick else 200
            report["costs"] = costs(peers, options.peers, folder, rounds=1 if options.quick else 3, count=count)
            report["hand_ins"] = hand_ins(500 if options.quick else 4000)
            report["faults"] = faults(peers, options.peers, folder, options.faults)
            has_failed = any(report["faults"][OURS].values())
    given = sys.argv[1:] if arguments is None else arguments
    shown = ["PYTHON" if previous == "--peers" else one for previous, one in zip(["", *given], given, strict=False)]
    report |= {"machine": machine, **suite.stamp(" ".join(["bench_sandbox", *shown]), begun)}
    print(json.dumps(report, indent=1) if options.json else text(report))
    return int(has_failed)


if __name__ == "__main__":
    sys.exit(main())
