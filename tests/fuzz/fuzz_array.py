"""The numeric buffer of hand-ins: exactly one array, or InvalidConstruction; what is read is written back the same."""

from evocore.errors import InvalidConstruction
from evocore.verifiers.arrays import DTYPES, MAX_NDIM, decode, encode


def check(data):
    try:
        x = decode(data)
    except InvalidConstruction as error:
        assert 0 < len(str(error)) < 300
        return
    assert x.dtype in DTYPES.values()
    assert 1 <= x.ndim <= MAX_NDIM
    assert x.nbytes < len(data)
    assert encode(x) == data
