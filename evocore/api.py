"""The public scoring functions: `score`, `score_many`, `verify`, `certify`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from evocore.errors import InvalidConstruction
from evocore.problems.registry import problem as find
from evocore.verifiers.client import Verifier
from evocore.verifiers.payload import read

if TYPE_CHECKING:
    from evocore.verifiers.client import Construction, Which
    from evocore.verifiers.verdict import Verdict


def score(problem: Which, x: Construction) -> float:
    """Score a construction as the arena does, in this process.

    Parameters
    ----------
    problem : str, path or Problem
        Name of a built-in problem, folder of one's own, or the problem itself.
    x : (n,) array of numbers, dict, str or bytes
        The numbers, or a submission in the arena's schema, decoded or as JSON text.

    Returns
    -------
    float
        The arena's float. For the exact value and everything else, see `verify`.

    Raises
    ------
    UnknownProblem
        Names the near ones.
    InvalidConstruction
        It cannot be read, or the arena rejects it; says which value, where, and why.

    Examples
    --------
    >>> score("third-autocorrelation-inequality", [1.0, 1.0, 1.0])
    2.0
    """
    found = find(problem)
    return found.score(read(found, x))


def score_many(problem: Which, xs: Iterable[Construction]) -> npt.NDArray[np.float64]:
    """Score a batch of constructions as the arena does, in this process.

    Parameters
    ----------
    problem : str, path or Problem
        Name of a built-in problem, folder of one's own, or the problem itself.
    xs : (m, n) array, or iterable of m constructions
        They may differ in length.

    Returns
    -------
    (m,) float64 array
        The arena's floats.

    Raises
    ------
    InvalidConstruction
        At the first that cannot be read or that the arena rejects; says which.

    Examples
    --------
    >>> score_many("third-autocorrelation-inequality", [[1.0, 1.0], [1.0, 0.0]])
    array([2., 4.])
    """
    found = find(problem)
    scores = []
    for i, x in enumerate(xs):
        try:
            scores.append(found.score(read(found, x)))
        except InvalidConstruction as error:
            raise InvalidConstruction(f"construction {i}: {error}") from error
    return np.array(scores, dtype=np.float64)


def verify(problem: Which, payload: Construction, verifier: Verifier | None = None) -> Verdict:
    """Judge a construction in a protected process: validity, arena score, exact score, alarms.

    Parameters
    ----------
    problem : str, path or Problem
        Name of a built-in problem, folder of one's own, or the problem itself.
    payload : bytes, str, dict or (n,) array
        JSON text in the arena's schema, bare or inside ``{"solution": ...}``; the same decoded; or the numbers.
    verifier : Verifier, optional
        The process to ask. Without one, a process is started for this one construction, which takes about 0.3 s.

    Returns
    -------
    Verdict
        A construction that breaks a condition has a verdict too: `valid` is False and `reasons` says why.

    Raises
    ------
    UnknownProblem, InvalidConstruction
        No such problem, or nothing that could be judged.
    VerifierUnavailable
        The process does not start or does not answer.

    Examples
    --------
    >>> verdict = verify("third-autocorrelation-inequality", {"values": [1, 1, 1]})
    >>> verdict.valid, verdict.exact_score
    (True, Fraction(2, 1))
    """
    if verifier is not None:
        return verifier.verify(problem, payload)
    with Verifier(problem) as own:
        return own.verify(problem, payload)


def certify(problem: Which, payload: Construction, verifier: Verifier | None = None) -> str:
    """Prove the exact score of a construction to anyone: one Python file of integers that checks itself.

    Parameters
    ----------
    problem, payload, verifier
        As for `verify`.

    Returns
    -------
    str
        The text of the file. It has been run once: `python3 FILE` says that the score is true, without imports.

    Raises
    ------
    UnknownProblem, InvalidConstruction
        No such problem, nothing that could be judged, or a construction that is not valid.
    InputError
        The problem has no certificates.
    InfrastructureError
        What was written does not check; nothing is handed out then.

    Examples
    --------
    >>> text = certify("third-autocorrelation-inequality", {"values": [1, 1, 1]})
    >>> text.partition("SCORE = ")[2].split()[:3]
    ['[', '2,', '1']
    """
    from evocore.verifiers.certificate import check, proof_file

    found = find(problem)
    verdict = verify(problem, payload, verifier)
    if not verdict.valid:
        raise InvalidConstruction(f"expected a valid construction, got one that is not: {'; '.join(verdict.reasons)}")
    text = proof_file(found, found.certificate(read(found, payload)), verdict)
    check(text)
    return text
