"""Proof files: what a certificate holds, written as one Python file that checks itself."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from evocore.errors import InfrastructureError
from evocore.problems.base import to_float
from evocore.problems.certificate import PRODUCT, Certificate

if TYPE_CHECKING:
    from evocore.problems.base import Problem
    from evocore.verifiers.verdict import Verdict

LINE = 116
CHECK_SECONDS = 3600.0

_CLAIM = """\
if numerator * SCORE[1] != SCORE[0] * denominator:
    raise SystemExit("false: the score is another one")
print("true: the score is exactly the stated rational, about", SCORE[0] * 10**18 // SCORE[1] / 10**18)
"""


def proof_file(problem: Problem, certificate: Certificate, verdict: Verdict) -> str:
    """Write a certificate as a Python file that states the claim, the integers, and a checker of them.

    Parameters
    ----------
    problem : Problem
    certificate : Certificate
        What the problem gave for the construction.
    verdict : Verdict
        Of the same construction; names it and who judged it.

    Returns
    -------
    str
        `python3 FILE` prints one line that begins with "true" and exits with 0, or says what is false and exits with
        1. It imports nothing, and runs in a second for a few thousand values (100,000: about ten).
    """
    score = certificate.score
    statement = textwrap.indent(problem.statement.strip(), "# ", lambda line: True)
    head = f"""\
# Certificate: {" ".join(problem.title.split())}
#
# The construction below has the exact score SCORE[0] / SCORE[1], which is about {to_float(score)!r}.
# {certificate.meaning}
# To check it: python3 THIS_FILE. It imports nothing; all arithmetic is on integers.
#
# construction  sha256 {verdict.construction_sha256}
# judged by     evocore verifier {verdict.verifier_digest}
#
""".replace("# \n", "#\n")
    numbers = "".join(f"{name} = {_literal(value)}\n" for name, value in certificate.integers.items())
    claim = f"SCORE = {_literal([score.numerator, score.denominator])}\n"
    parts = [head + statement.replace("# \n", "#\n") + "\n", claim + numbers, PRODUCT, certificate.checker + _CLAIM]
    return "\n\n".join(part.strip("\n") + "\n" for part in parts)


def check(text: str) -> None:
    """Run a proof file in an interpreter of its own.

    Raises
    ------
    InfrastructureError
        It does not say that the claim is true.
    """
    command = [sys.executable, "-I", "-S", "-"]
    ended = subprocess.run(command, input=text, capture_output=True, text=True, timeout=CHECK_SECONDS, check=False)
    if ended.returncode != 0 or not ended.stdout.startswith("true"):
        said = (ended.stderr.strip() or ended.stdout.strip()).splitlines()
        raise InfrastructureError(f"the certificate does not check: {said[-1] if said else 'it says nothing'}")


def _literal(value: int | Sequence[int]) -> str:
    """Write integers as Python does, wrapped; hexadecimal where the decimal would be too long to be read back."""
    if isinstance(value, int):
        return _digits(value)
    return "[\n" + textwrap.fill(", ".join(map(_digits, value)), LINE, break_long_words=False) + "\n]"


def _digits(value: int) -> str:
    return hex(value) if value.bit_length() > 4096 else str(value)
