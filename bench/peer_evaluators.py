"""The evaluators of other frameworks, called as they document it; run by `bench_sandbox` in their own environment.

``python peer_evaluators.py PEER FOLDER`` reads one JSON object a line, ``{"source": ...}``, evaluates that program, and
answers with one line ``{"score", "seconds", "cpu_seconds", "error"}``. Imports nothing of evocore. All peers get the
same program, whose `optimize()` returns numbers, and score them by the same formula with NumPy, the evaluator's own.

No model is called. What is used, and where it is documented:

* OpenEvolve: `openevolve.evaluator.Evaluator.evaluate_program` on an evaluation file in the idiom of its
  circle_packing example: the program runs in a child, which pickles what it returns into a file.
* ShinkaEvolve: `shinka.launch.JobScheduler` with a `LocalJobConfig`, on an `evaluate.py` that calls
  `shinka.core.run_shinka_eval`, as its getting-started page has it.
* GEPA: `gepa.utils.code_execution.execute_code` in a subprocess, scored by the caller, as its module text has it.
"""

from __future__ import annotations

import asyncio
import importlib
import importlib.metadata
import json
import os
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

LIMIT_SECONDS = 4

FORMULA = """
def score(values):
    x = np.asarray(values, dtype=float)
    if x.ndim != 1 or len(x) == 0:
        raise ValueError("expected a list of numbers")
    return float(2 * len(x) * np.max(np.convolve(x, x)) / np.sum(x) ** 2)
"""

OPENEVOLVE = f'''
import os, pickle, subprocess, sys, tempfile
import numpy as np
{FORMULA}
CHILD = """
import pickle, sys
sys.path.insert(0, {{folder!r}})
spec = __import__("importlib.util").util.spec_from_file_location("program", {{path!r}})
program = __import__("importlib.util").util.module_from_spec(spec)
spec.loader.exec_module(program)
result = program.optimize()
with open({{out!r}}, "wb") as file:
    pickle.dump({{{{"values": result}}}}, file)
"""


def evaluate(program_path):
    with tempfile.NamedTemporaryFile("w", suffix=".py", delete=False) as file:
        out = file.name + ".results"
        file.write(CHILD.format(folder=os.path.dirname(program_path), path=program_path, out=out))
    try:
        child = subprocess.Popen([sys.executable, file.name], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            child.communicate(timeout={LIMIT_SECONDS})
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
            return {{"combined_score": 0.0, "error": "timeout"}}
        if child.returncode != 0 or not os.path.exists(out):
            return {{"combined_score": 0.0, "error": "no result"}}
        with open(out, "rb") as file_out:
            values = pickle.load(file_out)["values"]
        return {{"combined_score": score(values)}}
    finally:
        for name in (file.name, out):
            if os.path.exists(name):
                os.unlink(name)
'''

SHINKA = f"""
import argparse
import numpy as np
from shinka.core import run_shinka_eval
{FORMULA}

def main(program_path, results_dir):
    run_shinka_eval(
        program_path=program_path,
        results_dir=results_dir,
        experiment_fn_name="optimize",
        num_runs=1,
        get_experiment_kwargs=lambda run_index: {{}},
        validate_fn=lambda values: (True, None),
        aggregate_metrics_fn=lambda results: {{"combined_score": score(results[0])}},
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--program_path")
    parser.add_argument("--results_dir")
    arguments = parser.parse_args()
    main(arguments.program_path, arguments.results_dir)
"""

Evaluate = Callable[[str], Any]
"""Gives the score that the framework would go on with, or raises or returns None where it takes it for failed."""


def openevolve(folder: Path) -> Evaluate:
    """Make OpenEvolve's evaluator."""
    config = importlib.import_module("openevolve.config").EvaluatorConfig(timeout=LIMIT_SECONDS + 2, max_retries=0)
    config.cascade_evaluation = False
    file = folder / "evaluator.py"
    file.write_text(OPENEVOLVE)
    evaluator = importlib.import_module("openevolve.evaluator").Evaluator(config, str(file))
    loop = asyncio.new_event_loop()

    def evaluate(source: str) -> Any:
        metrics = loop.run_until_complete(evaluator.evaluate_program(source, f"p{time.monotonic_ns()}"))
        return None if "error" in metrics else metrics.get("combined_score")

    return evaluate


def shinka(folder: Path) -> Evaluate:
    """Make ShinkaEvolve's local job scheduler."""
    launch = importlib.import_module("shinka.launch")
    file = folder / "evaluate.py"
    file.write_text(SHINKA)
    limit = time.strftime("%H:%M:%S", time.gmtime(LIMIT_SECONDS + START_SECONDS))
    config = launch.LocalJobConfig(eval_program_path=str(file), time=limit)
    scheduler = launch.JobScheduler(job_type="local", config=config)

    def evaluate(source: str) -> Any:
        place = folder / f"job-{time.monotonic_ns()}"
        place.mkdir()
        (place / "main.py").write_text(source)
        job_id = scheduler.submit_async(str(place / "main.py"), str(place / "results"))
        job = SimpleNamespace(job_id=job_id, start_time=time.time(), generation=0)
        while scheduler.check_job_status(job):  # which ends a job that has used up its time
            time.sleep(0.05)
        results = scheduler.get_job_results(job_id, str(place / "results")) or {}
        if not results.get("correct", {}).get("correct"):
            return None
        return results["metrics"].get("combined_score")

    return evaluate


START_SECONDS = 60
"""ShinkaEvolve's time limit counts the loading of its own library, some ten seconds of processor time."""


def gepa(folder: Path) -> Evaluate:
    """Make an evaluator with GEPA's subprocess execution."""
    import numpy as np

    tools = importlib.import_module("gepa.utils.code_execution")
    scope: dict[str, Any] = {"np": np}
    exec(FORMULA, scope)

    def evaluate(source: str) -> Any:
        done = tools.execute_code(
            source, timeout=LIMIT_SECONDS, mode=tools.ExecutionMode.SUBPROCESS, entry_point="optimize"
        )
        return scope["score"](done.variables["__return__"]) if done.success else None

    return evaluate


PEERS = {"OpenEvolve": openevolve, "ShinkaEvolve": shinka, "GEPA": gepa}
FILES = {"OpenEvolve": "evaluator.py", "ShinkaEvolve": "evaluate.py", "GEPA": "none.py"}
"""Where the scoring stands; GEPA's is in the calling process."""
DISTRIBUTIONS = {"OpenEvolve": "openevolve", "ShinkaEvolve": "shinka-evolve", "GEPA": "gepa"}


def cpu_seconds() -> float:
    """Processor time of this process and of the children that it has waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def main() -> None:
    """Answer line by line, on a copy of stdout: what a program prints to the framework's own must not be an answer."""
    peer, folder = sys.argv[1], Path(sys.argv[2])
    with os.fdopen(os.dup(1), "w") as answers:
        evaluate = PEERS[peer](folder)
        print(json.dumps({"version": importlib.metadata.version(DISTRIBUTIONS[peer])}), file=answers, flush=True)
        for line in sys.stdin:
            begun, used = time.monotonic(), cpu_seconds()
            error = None
            try:
                score = evaluate(json.loads(line)["source"])
            except Exception as raised:
                score, error = None, f"{type(raised).__name__}: {str(raised)[:200]}"
            answer = {
                "score": None if score is None else repr(float(score)),
                "seconds": time.monotonic() - begun,
                "cpu_seconds": cpu_seconds() - used,
                "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10,
                "error": error,
            }
            print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
