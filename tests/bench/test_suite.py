"""The benchmark report: results are compared before anything is timed, and what is missing is told."""

import json

import pytest

from evocore.bench import suite, timing
from evocore.cli.main import main


def row(ours, entrants, **more):
    return timing.Row("H2", "numbers", ours, entrants, (2.0, 4.0), lambda a, b: a == b, **more)


def measure(one):
    return timing.measure(one, turns=3, budget_seconds=0.05)


def spin(n):
    def call():
        for _ in range(n):
            pass
        return 7

    return call


def test_the_fastest_entrant_is_the_anchor():
    told = measure(row(spin(1_000), {"slow": spin(1_000_000), "fast": spin(100_000)}))
    assert told["anchor"] == "fast"
    assert 1 < told["measured"] < told["ratios"]["slow"]["median"]
    spread = told["ratios"]["fast"]
    assert spread["q25"] <= spread["median"] <= spread["q75"]


def test_a_batch_counts_one_unit():
    one, batch = (measure(row(spin(100_000), {"other": spin(100_000)}, work=work)) for work in (1.0, 1000.0))
    assert batch["measured"] > 100 * one["measured"]
    assert batch["ours_seconds"] < one["ours_seconds"] / 100


def test_an_entrant_that_disagrees_is_told_and_not_timed():
    told = measure(row(spin(10), {"wrong": lambda: 8, "right": spin(10)}))
    assert told["wrong"] == ["wrong"]
    assert list(told["seconds"]) == ["right"]
    assert suite.has_failed({"rows": [told]})


def test_an_entrant_that_is_not_installed_is_named():
    told = measure(row(spin(10), {"moocore": None}))
    assert told["not_installed"] == ["moocore"]
    assert told["measured"] is None
    assert not suite.has_failed({"rows": [told]})


def test_what_was_measured_elsewhere_is_an_anchor_where_the_result_is_right():
    told = measure(row(spin(100), {}, work=4.0, elsewhere=("prototype", 1.0, 7)))
    assert told["anchor"] == "prototype"
    assert told["measured"] == pytest.approx(1.0 / told["ours_seconds"], rel=0.5)
    told = measure(row(spin(100), {}, elsewhere=("prototype", 1.0, 8)))
    assert told["wrong"] == ["prototype"]
    assert told["measured"] is None


@pytest.mark.parametrize(("count", "failed"), [(lambda: (0, 5), False), (lambda: (1, 5), True), (lambda: None, False)])
def test_a_count_fails_only_where_something_differs(count, failed):
    told = measure(timing.Count("R", "bits", count))
    assert suite.has_failed({"rows": [told]}) is failed


def test_the_command_reports_every_row(capsys):
    assert main(["bench", "fft", "--quick", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert {r["id"] for r in report["rows"]} == {"A", "L", "others"}
    assert all(r["ours_seconds"] > 0 and r["measured"] > 0 for r in report["rows"])
    assert report["machine"]["fma_gflops"] > 0
    lines = suite.text(report).splitlines()
    table = [line for line in lines if line.startswith("| ")]
    assert len(table) == 1 + len(report["rows"])
    assert {line.count("|") for line in table} == {9}
    assert report["command"] == "evocore bench fft --quick"


def test_an_unknown_topic_is_bad_usage(capsys):
    assert main(["bench", "fourier"]) == 2
    assert "fft" in capsys.readouterr().err
