"""What the kernels take as numbers."""

import numpy as np
import pytest

from evocore.kernels import blas, exact, fourier, smoothmax


@pytest.mark.parametrize("values", [[1j, 2.0], [None, 1.0], ["1", "2"], np.array(["2020-01-01"], "M8[D]")])
def test_only_real_numbers_are_taken(values):
    for take in (
        fourier.autoconvolve,
        fourier.autoconvolution_maximum,
        exact.ExactVector,
        smoothmax.SmoothedMaximum("signed", 2).parameters,
        smoothmax.exp,
        lambda x: blas.convolve(x, x),
    ):
        with pytest.raises(TypeError, match="as real numbers, got dtype"):
            take(values)


def test_error_bounds_are_for_lengths_that_there_are():
    assert fourier.error_bound(1) < fourier.error_bound(fourier.MAX_VALUES) < 1e-13
    for n in (0, -1, 2**62):
        with pytest.raises(ValueError, match="expected n from 1"):
            fourier.error_bound(n)
