"""JSON of a construction: finite numbers, or InvalidConstruction in few words; what is read can be written and read."""

import json

import numpy as np

from evocore.errors import InvalidConstruction
from evocore.problems import problem, problems
from evocore.verifiers.payload import read

PROBLEMS = [problem(slug) for slug in problems()]


def check(data):
    for one in PROBLEMS:
        try:
            x = read(one, data)
        except InvalidConstruction as error:
            assert 0 < len(str(error)) < 1000
            continue
        assert x.dtype == np.float64
        assert x.ndim == 1
        assert one.min_length <= len(x) <= one.max_length
        assert np.isfinite(x).all()
        assert read(one, json.dumps(one.payload(x))).tobytes() == x.tobytes()
