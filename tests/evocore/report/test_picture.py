"""The picture of a run: a PNG for every kind of problem and length, and the choices that make it legible."""

import struct
import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evocore.problems import ExactResult, Problem, Reference, problem, problems
from evocore.report.picture import draw, interesting_range, spread


class Sphere(Problem):
    slug, title, statement, direction = "sphere", "Nearest to zero", "the sum of squares", "minimize"
    target = 0.0

    def score(self, x):
        return float(x @ x)

    def exact(self, x):
        return ExactResult(sum(Fraction(v) ** 2 for v in x.tolist()))


class Curved(Sphere):
    def curve(self, x):
        return np.arange(len(x)), x**2, "squares"


def png_size(path):
    head = path.read_bytes()[:24]
    assert head[:8] == b"\x89PNG\r\n\x1a\n"
    return struct.unpack(">II", head[16:24])


@pytest.mark.parametrize("slug", problems())
@pytest.mark.parametrize("size", [51, 6000])
def test_every_problem_is_drawn_at_every_length(slug, size, tmp_path):
    p = problem(slug)
    x = p.start(size, 5)
    best = p.score(x)
    worse = best * (1.5 if p.direction == "minimize" else 0.5)
    draw(tmp_path / "report.png", p, x, [(0.5, worse), (3.0, best)], 12.0)
    width, height = png_size(tmp_path / "report.png")
    assert width == 1080
    assert height > 1000


def test_a_problem_without_a_curve_has_two_panels_and_one_with_has_three(tmp_path):
    heights = []
    for p in (Sphere(), Curved()):
        draw(tmp_path / "report.png", p, np.linspace(-1, 1, 9), [(1.0, 3.75)], 2.0)
        heights.append(png_size(tmp_path / "report.png")[1])
    assert heights[0] < heights[1]


def test_a_run_without_improvement_is_drawn(tmp_path):
    draw(tmp_path / "report.png", Sphere(), np.zeros(1), [], 0.0)
    assert png_size(tmp_path / "report.png")[0] == 1080


def test_drawing_leaves_pyplot_alone(tmp_path):
    draw(tmp_path / "report.png", Sphere(), np.ones(5), [(0.0, 5.0)], 1.0)
    assert "matplotlib.pyplot" not in sys.modules


def test_the_range_of_scores_shows_the_best_and_leaves_out_the_first_fall():
    p = Sphere()
    p.references = (Reference("A", 1.0, 2000, "paper", ""), Reference("B", 1.2, 1990, "paper", ""))
    low, high = interesting_range(p, [(0.1, 50.0), (30.0, 1.3), (60.0, 1.1)], 100.0)
    assert low < 1.0
    assert 1.2 < high < 3.0


@given(st.lists(st.floats(0.1, 10), min_size=1, max_size=8), st.booleans(), st.lists(st.floats(0.1, 10), max_size=4))
def test_the_range_holds_the_final_score_whatever_the_run_was_like(scores, is_minimized, published):
    p = Sphere()
    p.direction = "minimize" if is_minimized else "maximize"
    p.references = tuple(Reference("A", r, 2000, "paper", "") for r in published)
    progress = [(float(i), s) for i, s in enumerate(sorted(scores, reverse=is_minimized))]
    low, high = interesting_range(p, progress, len(scores))
    assert low < progress[-1][1] < high


@given(st.lists(st.floats(0, 1), min_size=1, max_size=9))
def test_labels_are_apart_and_keep_their_order(values):
    places = spread(values, 0.1, 0.0, 1.0)
    order = np.argsort(values, kind="stable")
    assert np.all(np.diff(np.array(places)[order]) >= 0.1 - 1e-9)
    assert min(places) >= -1e-9
    assert max(places) <= 1.0 + 1e-9


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("size", [2.78e-161, 1e-310, 1e150, 1e300])
@pytest.mark.parametrize("n", [50, 5000])
def test_tiny_and_huge_values_are_drawn(tmp_path, size, n):
    x = np.linspace(0.5, 1.0, n) * size
    draw(tmp_path / "a.png", problem("first-autocorrelation-inequality"), x, [(1.0, 1.6), (2.0, 1.55)], 3.0)
    assert (tmp_path / "a.png").stat().st_size > 10_000


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("score", [1e-300, 1e300, 1e308])
def test_tiny_and_huge_scores_are_drawn(tmp_path, score):
    draw(tmp_path / "a.png", Sphere(), np.array([1.0, 2.0]), [(1.0, score), (2.0, score / 2)], 3.0)
