"""Settings: what is accepted, what is refused and with which words, and the way through TOML and back."""

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evocore.config import RunConfig, format_duration, parse_duration
from evocore.errors import ConfigError


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("2m", 120.0),
        ("90s", 90.0),
        ("90", 90.0),
        ("1h30m", 5400.0),
        ("10h", 36000.0),
        ("1h5s", 3605.0),
        ("0.5h", 1800.0),
        (" 1H 30M ", 5400.0),
        (45, 45.0),
        (1.5, 1.5),
    ],
)
def test_durations(text, seconds):
    assert parse_duration(text) == seconds


NO_DURATIONS = ["", "m", "2x", "-5m", "1m2h", "0", "0s", 0, -1, float("inf"), float("nan"), True, None]


@pytest.mark.parametrize("text", NO_DURATIONS)
def test_what_is_no_duration_is_refused_with_the_remedy(text):
    with pytest.raises(ConfigError, match="2m"):
        parse_duration(text)


@given(st.integers(1, 10**6))
def test_durations_are_written_as_they_are_read(seconds):
    assert parse_duration(format_duration(seconds)) == seconds


def test_defaults():
    config = RunConfig.create({"problem": "erdos-min-overlap"})
    assert (config.budget_seconds, config.islands, config.preset, config.epsilon) == (120.0, 3, "milo", 0.02)


def test_an_unknown_key_names_the_near_ones():
    with pytest.raises(ConfigError, match=r"'bugdet'.*did you mean.*budget"):
        RunConfig.create({"problem": "p", "bugdet": "2m"})
    with pytest.raises(ConfigError, match=r"'qqq'.*known: problem"):
        RunConfig.create({"problem": "p", "qqq": 1})


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("budget", "0", "above zero"),
        ("budget_seconds", -1, "budget_seconds"),
        ("target", float("inf"), "target"),
        ("target", float("nan"), "target"),
        ("islands", 0, "expected islands of at least 1, got 0, in settings"),
        ("target", True, "expected target to be a number or text, not a boolean"),
        ("budget", "100000h", "at most 10 years"),
        ("budget_seconds", 4e8, "budget_seconds of at most"),
        ("islands", "three", "islands"),
        ("seed", -1, "seed"),
        ("preset", "mylo", "did you mean milo"),
        ("admission", "all", "admission"),
        ("epsilon", -0.1, "epsilon"),
        ("workers", 0, "workers"),
    ],
)
def test_values_out_of_range_say_which(key, value, words):
    with pytest.raises(ConfigError, match=words):
        RunConfig.create({"problem": "p", key: value})


def test_paths_may_be_path_objects():
    config = RunConfig(problem="p", start=Path("a.json"), program=[Path("b.py"), "c.py"])
    assert (config.start, config.program) == ("a.json", ("b.py", "c.py"))


def test_a_missing_problem_and_two_budgets_are_refused():
    with pytest.raises(ConfigError, match="value for problem"):
        RunConfig.create({})
    with pytest.raises(ConfigError, match="both"):
        RunConfig.create({"problem": "p", "budget": "2m", "budget_seconds": 1})


@given(
    text=st.text(st.characters(codec="utf-8")),
    seed=st.integers(0, 2**63 - 1),
    target=st.none() | st.floats(allow_nan=False, allow_infinity=False),
    program=st.lists(st.text(st.characters(codec="utf-8")), max_size=3),
)
def test_toml_round_trip(tmp_path_factory, text, seed, target, program):
    config = RunConfig(problem=text, seed=seed, target=target, program=tuple(program))
    assert tomllib.loads(config.to_toml())["problem"] == text
    path = tmp_path_factory.mktemp("config") / "config.toml"
    path.write_bytes(config.to_toml().encode())
    assert RunConfig.from_toml(path) == config


def test_a_file_of_settings_gives_way_to_keywords(tmp_path):
    path = tmp_path / "settings.toml"
    path.write_text('problem = "p"\nbudget = "2m"\nseed = 5\n')
    config = RunConfig.from_toml(path, seed=6)
    assert (config.budget_seconds, config.seed) == (120.0, 6)


def test_a_file_that_cannot_be_read_says_so(tmp_path):
    with pytest.raises(ConfigError, match=r"none\.toml: expected a file, found none"):
        RunConfig.from_toml(tmp_path / "none.toml")
    broken = tmp_path / "broken.toml"
    broken.write_text("problem = ")
    with pytest.raises(ConfigError, match="expected TOML"):
        RunConfig.from_toml(broken)
    broken.write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="expected text in UTF-8"):
        RunConfig.from_toml(broken)


def test_settings_are_frozen_and_changed_copies_are_checked():
    config = RunConfig(problem="p")
    assert config.changed(seed=3).seed == 3
    with pytest.raises(ConfigError, match="islands"):
        config.changed(islands=0)
