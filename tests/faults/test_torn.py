"""A ledger that was cut at any byte, or has a bit flipped anywhere: recovered or refused with its line, never another.

The ledger is a real run's, as far as its first lines: short enough to try every byte of the last ones.
"""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evocore.errors import LedgerCorrupt
from evocore.ledger import Ledger, read_ledger
from evocore.search.rundir import RunDir

N_LINES, N_TRIED = 12, 3


@pytest.fixture(scope="module")
def lines(whole):
    return RunDir(whole).ledger.read_bytes().splitlines(keepends=True)[:N_LINES]


@pytest.fixture(scope="module")
def events(whole):
    return read_ledger(RunDir(whole).ledger)[:N_LINES]


def continued(path):
    with Ledger.open(path) as ledger:
        return list(ledger)


def test_a_cut_at_every_byte_leaves_the_whole_lines_before_it(tmp_path, lines, events):
    path, content = tmp_path / "ledger.jsonl", b"".join(lines)
    for length in range(len(b"".join(lines[:-N_TRIED])), len(content) + 1):
        path.write_bytes(content[:length])
        n_whole = content[:length].count(b"\n")
        assert read_ledger(path) == events[:n_whole]
        found = continued(path)
        assert found[:n_whole] == events[:n_whole]
        n_torn = length - len(b"".join(lines[:n_whole]))
        assert [(event.kind, event.data["bytes"]) for event in found[n_whole:]] == [("note", n_torn)] * (n_torn > 0)


def test_a_flipped_bit_in_the_last_lines_is_refused_with_its_line(tmp_path, lines, events):
    path, content = tmp_path / "ledger.jsonl", b"".join(lines)
    first = len(b"".join(lines[:-N_TRIED]))
    for position in range(first, len(content) - 1):
        for bit in range(8) if position % 40 == 0 else (position % 8,):
            refused(path, content, position, bit)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_flipped_bit_anywhere_is_refused_with_its_line(tmp_path, lines, data):
    content = b"".join(lines)
    position = data.draw(st.integers(0, len(content) - 2))
    refused(tmp_path / "ledger.jsonl", content, position, data.draw(st.integers(0, 7)))


def refused(path, content, position, bit):
    """Flip a bit, which is not one of the last line's end, and see that every reader names the line."""
    flipped = content[position] ^ 1 << bit
    path.write_bytes(content[:position] + bytes([flipped]) + content[position + 1 :])
    number = content[:position].count(b"\n") + 1
    with pytest.raises(LedgerCorrupt, match=rf"line {number} of ") as error:
        read_ledger(path)
    with pytest.raises(LedgerCorrupt, match=rf"line {number} of "):
        Ledger.open(path)
    assert len(str(error.value)) < 500


@pytest.mark.parametrize("bit", range(8))
def test_a_last_line_whose_end_is_gone_was_not_written_whole(tmp_path, lines, events, bit):
    path, content = tmp_path / "ledger.jsonl", b"".join(lines)
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1 << bit]))
    assert read_ledger(path) == events[:-1]
    assert [event.kind for event in continued(path)[N_LINES - 1 :]] == ["note"]


@pytest.mark.parametrize("behind", [b"\0" * 4096, b"\0\n", b"\n", b"{}\n", b"\xff" * 9 + b"\n"])
def test_what_a_power_cut_leaves_behind_is_dropped_or_refused(tmp_path, lines, events, behind):
    path = tmp_path / "ledger.jsonl"
    path.write_bytes(b"".join(lines) + behind)
    if behind.endswith(b"\n"):
        with pytest.raises(LedgerCorrupt, match=f"line {N_LINES + 1} of "):
            Ledger.open(path)
        return
    assert read_ledger(path) == events
    assert continued(path)[:N_LINES] == events


@pytest.mark.parametrize("spoil", [lambda s: s[:9] + s[10:], lambda s: s + s[-1:], lambda s: s[:4] + s[5:6] + s[4:5]])
def test_lines_that_are_missing_doubled_or_swapped_are_refused(tmp_path, lines, spoil):
    path = tmp_path / "ledger.jsonl"
    path.write_bytes(b"".join(spoil(lines)))
    with pytest.raises(LedgerCorrupt, match=r"line \d+ of "):
        read_ledger(path)
