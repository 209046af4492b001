"""Scoring any numbers: a verdict within bounds on every problem, and the same one after its way through the pipe."""

import json

import numpy as np

from evocore.errors import InvalidConstruction
from evocore.problems import problem, problems
from evocore.verifiers import Verdict, judge

PROBLEMS = [problem(slug) for slug in problems()]
LONGEST = 64


def check(data):
    x = np.frombuffer(data[: len(data) // 8 * 8][: 8 * LONGEST], dtype="<f8")
    for one in PROBLEMS:
        try:
            numbers = one.check(x)
        except InvalidConstruction:
            continue
        before = numbers.tobytes()
        verdict = judge(one, numbers)
        assert numbers.tobytes() == before
        assert verdict.valid == (not verdict.reasons)
        assert not verdict.is_true or verdict.exact_score is not None
        assert Verdict.from_wire(json.loads(json.dumps(verdict.to_wire(), allow_nan=False))) == verdict
        json.dumps(verdict.to_json(), allow_nan=False)
        if verdict.exact_score is not None:
            assert np.isfinite(one.descriptor(numbers)).all()
            assert one.check(one.project(numbers)).shape == numbers.shape
