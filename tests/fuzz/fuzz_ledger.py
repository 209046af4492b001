"""A ledger of any bytes: whole events, or LedgerCorrupt with the line; reading and continuing agree.

The first byte says what the rest is: the file itself, or contents of lines that are given a chain that holds, so that
what comes behind the chain is reached as well.
"""

import json
import os
import re
import tempfile
from pathlib import Path

from evocore.errors import LedgerCorrupt
from evocore.ledger import Ledger, read_ledger, replay
from evocore.search.history import History
from evocore.search.memory import Forest

FOLDER = Path(tempfile.mkdtemp(prefix="evocore-fuzz-"))
FILE = FOLDER / f"ledger-{os.getpid()}.jsonl"


def check(data):
    FILE.unlink(missing_ok=True)
    if data[:1] == b"c":
        chained(data[1:])
    else:
        FILE.write_bytes(data[1:])
    events = outcome(lambda: read_ledger(FILE))
    continued = outcome(goes_on)
    assert (events is None) == (continued is None)
    if events is None or continued is None:
        return
    assert continued[: len(events)] == events
    assert [event.kind for event in continued[len(events) :]] in (["more"], ["note", "more"])
    assert outcome(lambda: replay(FILE, events, Forest().apply, History("minimize").apply)) in (events, None)


def chained(lines):
    """Write events whose kind and data are the lines, as far as they are JSON."""
    with Ledger.create(FILE, clock=lambda: 0.0) as ledger:
        for line in lines.split(b"\n"):
            kind, _, text = line.partition(b" ")
            try:
                data = json.loads(text)
                ledger.append(kind.decode(), data)
            except (ValueError, RecursionError):
                continue


def goes_on():
    with Ledger.open(FILE) as ledger:
        ledger.append("more", {})
        return list(ledger)


def outcome(read):
    try:
        return read()
    except LedgerCorrupt as error:
        assert re.search(r"line \d+ of ", str(error))
        assert len(str(error)) < 1000
        return None
