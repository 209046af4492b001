"""The parts of the sandbox that are plain functions of their input."""

import fcntl
import os
import time
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evocore.sandbox import Job, Limits, Offer, Outcome, Status, Tier, linux
from evocore.sandbox.request import MOST_WAITING, SETTLE_SECONDS, Request
from evocore.sandbox.supervisor import ABANDONED_SECONDS, FOLDER_PREFIX, remove_abandoned
from evocore.sandbox.tries import Tail
from evocore.sandbox.wire import FRAME, MOST_NOTE_BYTES, FrameReader, Garbage, Kind, frame

frames = st.lists(st.tuples(st.sampled_from(Kind), st.binary(max_size=60)), max_size=8)


@given(frames, st.lists(st.integers(0, 400), max_size=20))
def test_frames_come_out_as_they_went_in_however_the_stream_is_cut(sent, cuts):
    stream = b"".join(frame(kind, content) for kind, content in sent)
    ends = [0, *sorted(min(c, len(stream)) for c in cuts), len(stream)]
    reader = FrameReader(60)
    read = [f for a, b in pairwise(ends) for f in reader.feed(stream[a:b])]
    assert read == sent


@given(st.binary(max_size=300), st.integers(0, 100))
def test_hostile_bytes_are_frames_or_garbage(stream, most):
    try:
        for kind, content in FrameReader(most).feed(stream):
            assert len(content) <= (most if kind is Kind.OFFER else MOST_NOTE_BYTES)
    except Garbage:
        pass


@pytest.mark.parametrize(
    ("length", "code", "fits"),
    [
        (60, Kind.OFFER, True),
        (61, Kind.OFFER, False),
        (4096, Kind.END, True),
        (4097, Kind.END, False),
        (0, 0, False),
        (0, 5, False),
    ],
)
def test_a_frame_is_refused_by_its_header_alone(length, code, fits):
    reader = FrameReader(60)
    if fits:
        assert list(reader.feed(FRAME.pack(length, code))) == []
    else:
        with pytest.raises(Garbage):
            list(reader.feed(FRAME.pack(length, code)))


@given(st.lists(st.binary(max_size=30), max_size=12), st.integers(0, 40))
def test_a_tail_is_the_end_of_all_that_was_added(chunks, most):
    tail = Tail(most)
    for chunk in chunks:
        tail.add(chunk)
    everything = b"".join(chunks)
    assert tail.text() == everything[max(0, len(everything) - most) :].decode("utf-8", "replace")


@pytest.fixture
def request_of_nobody():
    made = Request(Job("", "x", np.ones(1), 0, 1.0), Limits(1.0, 1.0), "x", b"", Tier.UNSAFE)
    yield made
    made.finish(OUTCOME)
    made.clear()


OUTCOME = Outcome(Status.OK, 0.0, 0.0, 0, 0, 0, "", "", "", Tier.UNSAFE)


@pytest.mark.parametrize("n", [0, 1, 2, MOST_WAITING, MOST_WAITING + 1, 1000])
def test_waiting_hand_ins_are_thinned_but_never_the_newest(request_of_nobody, n):
    for i in range(n):
        request_of_nobody.put(Offer(b"", float(i), 0.0))
    request_of_nobody.finish(OUTCOME)
    got = []
    while isinstance(one := request_of_nobody.next(None), Offer):
        got.append(int(one.seconds))
    assert got == sorted(got)
    assert len(got) == n if n <= MOST_WAITING else 0 < len(got) <= MOST_WAITING
    assert not n or got[-1] == n - 1


def test_of_what_waits_long_after_the_end_only_the_newest_is_handed_over(request_of_nobody, monkeypatch):
    for i in range(MOST_WAITING):
        request_of_nobody.put(Offer(b"", float(i), 0.0))
    request_of_nobody.finish(OUTCOME)
    first = request_of_nobody.next(None)
    later = time.monotonic() + 2 * SETTLE_SECONDS
    monkeypatch.setattr(time, "monotonic", lambda: later)
    assert [first.seconds, request_of_nobody.next(None).seconds] == [0.0, MOST_WAITING - 1]
    assert request_of_nobody.next(None) is OUTCOME


def test_folders_of_sandboxes_that_were_killed_are_removed_and_no_others(tmp_path):
    names = ("dead", "held", "young")
    dead, held, young = folders = [tmp_path / f"{FOLDER_PREFIX}{name}" for name in names]
    others = tmp_path / "others"
    for folder in (*folders, others):
        (folder / "1").mkdir(parents=True)
        if folder is not young:
            os.utime(folder, times=(0, time.time() - 2 * ABANDONED_SECONDS))
    (tmp_path / f"{FOLDER_PREFIX}link").symlink_to(others)
    fd = os.open(held, os.O_RDONLY)
    fcntl.flock(fd, fcntl.LOCK_EX)
    remove_abandoned(tmp_path)
    assert not dead.exists()
    assert [d.exists() for d in (held, young, others / "1")] == [True] * 3
    os.close(fd)
    remove_abandoned(tmp_path)
    assert [d.exists() for d in (held, young)] == [False, True]


def test_nothing_is_taken_after_a_stop(request_of_nobody):
    request_of_nobody.put(Offer(b"", 0.0, 0.0))
    request_of_nobody.stop()
    request_of_nobody.put(Offer(b"", 1.0, 0.0))
    request_of_nobody.finish(OUTCOME)
    assert request_of_nobody.next(None) is OUTCOME


def test_remove_tree_takes_anything_and_follows_no_link(tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_text("x")
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "link").symlink_to(outside)
    (tree / "dangling").symlink_to("nowhere")
    os.mkfifo(tree / "fifo")
    (tree / "b" / "c").mkdir(parents=True)
    (tree / "b" / "c" / "file").write_text("x")
    (tree / "b" / "back").symlink_to("..")
    here = os.open(tree, os.O_RDONLY)
    for _ in range(300):  # deeper than a path may be long
        os.mkdir("n" * 100, dir_fd=here)
        inner = os.open("n" * 100, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    os.close(here)
    (tree / "b" / "c").chmod(0)
    (tree / "b").chmod(0)
    tree.chmod(0)
    linux.remove_tree(tree)
    assert not tree.exists()
    assert (outside / "kept").read_text() == "x"
    linux.remove_tree(tree)  # once more: nothing to do


def test_cpu_clock_of_another_process():
    assert linux.cpu_seconds(os.getpid()) > 0
    with pytest.raises(OSError, match=r"\[Errno"):
        linux.cpu_seconds(2**22 - 1)
