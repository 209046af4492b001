from typing import Any

import numpy as np
import numpy.typing as npt

HAS_AVX2: bool
ADDRESSES: dict[str, int]
MAX_ARCHIVE_OBJECTIVES: int

def select(fast: bool) -> None: ...
def limit_memory(n_bytes: int) -> int: ...
def volume_at_once(points: Any, reference: Any, maximize: bool) -> float | None: ...
def volume(
    points: npt.NDArray[np.float64], reference: npt.NDArray[np.float64], signs: npt.NDArray[np.float64], method: int
) -> float: ...
def contributions(
    points: npt.NDArray[np.float64],
    reference: npt.NDArray[np.float64],
    signs: npt.NDArray[np.float64],
    out: npt.NDArray[np.float64],
    method: int,
) -> bool: ...

class Boxes:
    def __init__(self, reference: npt.NDArray[np.float64]) -> None: ...
    @property
    def n_boxes(self) -> int: ...
    @property
    def n_rows(self) -> int: ...
    @property
    def n_bytes(self) -> int: ...
    def reset(self, low: npt.NDArray[np.float64]) -> None: ...
    def gains(self, points: npt.NDArray[np.float64], out: npt.NDArray[np.float64]) -> None: ...
    def insert(
        self,
        points: npt.NDArray[np.float64],
        columns: npt.NDArray[np.float64],
        n_members: int,
        gains: npt.NDArray[np.float64],
    ) -> int: ...
