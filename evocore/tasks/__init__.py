"""What candidates are scored on: the tasks, one attempt at one, and the evaluation of a program on several."""

from evocore.tasks.attempt import AttemptResult, Checkpoint, Trace, attempt
from evocore.tasks.evaluate import ProgramEvaluation, TaskAttempts, evaluate_program
from evocore.tasks.task import OptimizerTask, gain

__all__ = [
    "AttemptResult",
    "Checkpoint",
    "OptimizerTask",
    "ProgramEvaluation",
    "TaskAttempts",
    "Trace",
    "attempt",
    "evaluate_program",
    "gain",
]
