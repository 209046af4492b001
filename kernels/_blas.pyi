import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

HAS_FMA: bool
ADDRESSES: dict[str, int]

def dot(kernel: int, x: Array, y: Array, y_is_odd: bool, n_threads: int, fast: bool) -> float: ...
def lags(
    kernel: int, a: Array, v: Array, which: npt.NDArray[np.int64], n_threads: int, out: Array, fast: bool
) -> None: ...
