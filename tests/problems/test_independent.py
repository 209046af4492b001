"""The second implementation has tests of its own: an oracle that is wrong proves nothing."""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

small = st.lists(st.integers(-(2**70), 2**70), min_size=1, max_size=12)


@given(a=small, b=small)
def test_coefficients_equal_the_direct_sum(independent, a, b):
    assert independent.coefficients(a=a, b=b) == independent.direct(a=a, b=b)


def test_common_integers_by_hand(independent):
    assert independent.common_integers([0.5, 3.0, 0.25, 0.0]) == ([2, 12, 1, 0], 4)


def test_first_by_hand(independent):
    # f = (1, 1): f*f = (1, 2, 1), so 2*2*2 / 4.
    assert independent.first(values=[1.0, 1.0]) == 2
    # f = (1, 2): f*f = (1, 4, 4), so 2*2*4 / 9.
    assert independent.first(values=[1.0, 2.0]) == Fraction(16, 9)
    assert independent.first(values=[0.0, 0.0]) is None
    assert independent.first(values=[1.0, -1.0]) is None


def test_second_by_hand(independent):
    # f = (1): f*f is one triangle of height 1 over two steps: (2/3) / (1 * 1).
    assert independent.second(values=[3.0]) == Fraction(2, 3)
    # f = (1, 1): y = 0 1 2 1 0; squares 1 + 7 + 7 + 1 = 16 over 3 steps, sum 4, maximum 2.
    assert independent.second(values=[1.0, 1.0]) == Fraction(16, 24)


def test_third_by_hand(independent):
    # f = (2, -1): f*f = (4, -4, 1), sum 1: 2*2*4 both ways.
    assert independent.third(values=[2.0, -1.0]) == (16, 16)
    # f = (1, -3, 1): f*f = (1, -6, 11, -6, 1), sum -1: 2*3*11.
    assert independent.third(values=[1.0, -3.0, 1.0]) == (66, 66)
    # f = (2, 1, -1) mirrored and shifted so that the lowest lag is the largest in size: (1, -4): (1, -8, 16).
    assert independent.third(values=[3.0, -1.0, 3.0, -6.0])[1] > independent.third(values=[3.0, -1.0, 3.0, -6.0])[0] / 2
    assert independent.third(values=[1.0, -1.0]) is None


def test_erdos_by_hand(independent):
    # h = 1/2 everywhere: every shift overlaps in (n - |k|) / 4 cells; the largest is 2/n * n/4.
    assert independent.erdos(values=[0.5] * 5) == (Fraction(1, 2), 1, 0)
    # h = (1, 0): h_0 meets 1 - h_1 = 1 at shift 1 and nothing else: 2/2 * 1.
    assert independent.erdos(values=[1.0, 0.0]) == (1, 1, 0)
    # Scaling up by two only.
    assert independent.erdos(values=[0.25, 0.25]) == (Fraction(1, 2), 2, 0)
    # (1, 1/4) scaled by 4/5 has nothing above 1.
    assert independent.erdos(values=[1.0, 0.25])[1:] == (Fraction(4, 5), 0)


def test_erdos_refuses_what_needs_much_clipping(independent):
    score, scale, share = independent.erdos(values=[1.0, 0.0, 0.0, 0.0])
    assert score is None
    assert scale == 2
    assert share == Fraction(1, 2)
