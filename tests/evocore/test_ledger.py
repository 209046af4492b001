"""The ledger: chain, recovery, locking, and what happens when the disk refuses."""

import json
import os
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evocore.errors import InfrastructureError, InputError, LedgerCorrupt
from evocore.ledger import Ledger, read_ledger, replay, write_file
from evocore.search.history import History

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def filled(path, count=5):
    with Ledger.create(path, clock=lambda: 12.5) as ledger:
        for number in range(count):
            ledger.append("step", {"number": number, "value": 0.1 * number}, sync=number == count - 1)
    return path


@given(datas=st.lists(st.dictionaries(st.text(), JSON, max_size=3), max_size=6))
@settings(max_examples=50, deadline=None)
def test_what_is_appended_is_read_back(tmp_path_factory, datas):
    path = tmp_path_factory.mktemp("ledger") / "ledger.jsonl"
    with Ledger.create(path) as ledger:
        assert [ledger.append("any", data) for data in datas] == list(range(len(datas)))
    assert [event.data for event in read_ledger(path)] == datas


def test_floats_are_shortest_round_trips_and_nan_is_refused(tmp_path):
    path = tmp_path / "ledger.jsonl"
    with Ledger.create(path) as ledger:
        ledger.append("score", {"value": 0.1 + 0.2})
        with pytest.raises(ValueError, match="JSON compliant"):
            ledger.append("score", {"value": float("nan")})
        ledger.append("score", {"value": 1.0})
    assert b'"value":0.30000000000000004' in path.read_bytes()
    assert [event.seq for event in read_ledger(path)] == [0, 1]


def test_opening_continues_the_chain(tmp_path):
    path = filled(tmp_path / "ledger.jsonl")
    with Ledger.open(path) as ledger:
        assert ledger.append("more", {}) == 5
        assert [event.kind for event in ledger] == ["step"] * 5 + ["more"]
    assert len(read_ledger(path)) == 6


@pytest.mark.parametrize("cut", [1, 20, -1])
def test_a_torn_last_line_is_dropped_and_noted(tmp_path, cut):
    path = filled(tmp_path / "ledger.jsonl")
    lines = path.read_bytes().splitlines(keepends=True)
    torn = lines[-1][:cut]
    path.write_bytes(b"".join(lines[:-1]) + torn)
    assert len(read_ledger(path)) == 4
    with Ledger.open(path) as ledger:
        ledger.append("step", {"number": 4})
    events = read_ledger(path)
    assert [event.kind for event in events] == ["step"] * 4 + ["note", "step"]
    assert events[4].data["bytes"] == len(torn)


@pytest.mark.parametrize("number", [0, 2, 5])
def test_a_changed_line_is_named_the_last_one_too(tmp_path, number):
    path = filled(tmp_path / "ledger.jsonl", 6)
    lines = path.read_text().splitlines()
    record = json.loads(lines[number])
    record["data"]["value"] = 9.0
    lines[number] = json.dumps(record, separators=(",", ":"))
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(LedgerCorrupt, match=f"line {number + 1} of"):
        read_ledger(path)
    with pytest.raises(LedgerCorrupt, match=f"line {number + 1} of"):
        Ledger.open(path)


@pytest.mark.parametrize("change", ["drop", "swap", "garbage", "fields"])
def test_missing_reordered_and_foreign_lines_are_corrupt(tmp_path, change):
    path = filled(tmp_path / "ledger.jsonl")
    lines = path.read_text().splitlines()
    if change == "drop":
        del lines[2]
    elif change == "swap":
        lines[1], lines[2] = lines[2], lines[1]
    elif change == "garbage":
        lines[2] = "not json"
    else:
        lines[2] = "{}"
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(LedgerCorrupt):
        read_ledger(path)


def test_an_event_that_tells_nothing_of_its_kind_is_corrupt_at_its_line(tmp_path):
    path = tmp_path / "ledger.jsonl"
    with Ledger.create(path) as ledger:
        ledger.append("run", {"problem": "p"})
        ledger.append("discovery", {"sha": "0"})
    taken = []
    with pytest.raises(LedgerCorrupt, match=r"kind 'discovery'.*line 2 of"):
        replay(path, read_ledger(path), taken.append, History("minimize").apply)
    assert [event.kind for event in taken] == ["run", "discovery"]


def test_a_second_controller_is_refused_until_the_first_is_gone(tmp_path):
    path = filled(tmp_path / "ledger.jsonl")
    program = "import sys; from evocore.ledger import Ledger; Ledger.open(sys.argv[1])"
    with Ledger.open(path), pytest.raises(InputError, match="another evocore process"):
        Ledger.open(path)
    with Ledger.open(path):
        command = [sys.executable, "-P", "-c", program, str(path)]
        other = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
        assert other.returncode == 1
        assert "another evocore process" in other.stderr
    Ledger.open(path).close()


def test_an_existing_ledger_and_a_missing_one_are_refused(tmp_path):
    path = filled(tmp_path / "ledger.jsonl")
    with pytest.raises(InputError, match="there already"):
        Ledger.create(path)
    with pytest.raises(InputError, match="no such file"):
        Ledger.open(tmp_path / "other.jsonl")
    with pytest.raises(InputError, match="no such file"):
        read_ledger(tmp_path / "other.jsonl")


def test_a_closed_ledger_takes_nothing(tmp_path):
    ledger = Ledger.create(tmp_path / "ledger.jsonl")
    ledger.close()
    with pytest.raises(InfrastructureError, match="closed"):
        ledger.append("step", {})


LIMITED = """
import resource, signal, sys
from evocore.errors import InfrastructureError
from evocore.ledger import Ledger
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
ledger, done = Ledger.create(sys.argv[1]), 0
try:
    while True:
        ledger.append("step", {"text": "x" * 100}, sync=True)
        done += 1
except InfrastructureError as error:
    print(done, error)
"""


def test_a_disk_that_takes_half_a_line_leaves_a_whole_chain(tmp_path):
    path = tmp_path / "ledger.jsonl"
    command = [sys.executable, "-P", "-c", LIMITED, str(path)]
    result = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    done, _, message = result.stdout.partition(" ")
    assert "nothing that was recorded before is lost" in message
    assert path.read_bytes().endswith(b"\n")
    assert len(read_ledger(path)) == int(done) > 2


def test_files_are_replaced_whole_and_leave_no_part(tmp_path):
    path = tmp_path / "best.json"
    write_file(path, b"old")
    write_file(path, b"new")
    assert path.read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["best.json"]


def test_a_file_that_cannot_be_written_says_where(tmp_path):
    with pytest.raises(InfrastructureError, match=r"no such file or directory: .*missing"):
        write_file(tmp_path / "missing" / "best.json", b"x")
