"""The sandbox itself: several jobs at once, runners that come and go, and what is left at the end: nothing."""

import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import numpy as np
import pytest

from evocore.errors import ConfigError, SandboxUnavailable
from evocore.sandbox import Job, Limits, ProcessSandbox, Status, linux, offered_tier
from evocore.sandbox.runner import Runner
from evocore.sandbox.wire import FrameReader, Kind
from evocore.verifiers.arrays import decode

LIMITS = Limits(30.0, 30.0)
ECHO = """
import os
def optimize(problem, start, seed, deadline, offer):
    print(os.getppid(), hash("x"))
    return start
"""
HANG = """
import time
def optimize(problem, start, seed, deadline, offer):
    offer(start)
    time.sleep(60)
"""


def job(folder, source=ECHO, value=1.0):
    return Job(source, str(folder), np.array([value]), 0, 30.0)


def test_jobs_at_once_do_not_mix(sandbox, problem_folder):
    def one(i):
        offers = []
        outcome = sandbox.run(job(problem_folder, value=i + 1.0), LIMITS, offers.append)
        return outcome.status, [decode(o.buffer).tolist() for o in offers]

    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(one, range(40))) == [(Status.OK, [[i + 1.0]]) for i in range(40)]


def test_a_relative_folder_and_a_problem_that_does_not_load(sandbox, problem_folder, tmp_path, monkeypatch):
    monkeypatch.chdir(problem_folder.parent)
    assert sandbox.run(job(f"./{problem_folder.name}"), LIMITS).status is Status.OK
    (tmp_path / "problem.py").write_text("raise ValueError('broken')")
    outcome = sandbox.run(job(tmp_path), LIMITS)
    assert outcome.status is Status.INFRASTRUCTURE
    assert "broken" in outcome.detail


def test_runners_are_recycled_and_close_leaves_nothing(problem_folder, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    n_files = len(os.listdir("/proc/self/fd"))
    sandbox = ProcessSandbox("linux", recycle_after=2)
    seen = []
    while len({pid for pid, _ in seen}) < 2:
        seen.append(sandbox.run(job(problem_folder), LIMITS).stdout.split())
    assert len({text_hash for _, text_hash in seen}) == 1  # sets iterate alike in every runner
    hanging, errors = threading.Event(), []

    def hang():
        try:
            sandbox.run(job(problem_folder, HANG), LIMITS, lambda offer: hanging.set())
        except SandboxUnavailable as error:
            errors.append(str(error))

    thread = threading.Thread(target=hang)
    thread.start()
    hanging.wait()
    sandbox.close()
    thread.join()
    assert len(errors) == 1
    assert "closed" in errors[0]
    assert sandbox.runner_pids() == []
    assert [pid for pid, _ in seen if os.path.exists(f"/proc/{pid}")] == []
    assert len(os.listdir("/proc/self/fd")) == n_files
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(SandboxUnavailable, match="closed"):
        sandbox.run(job(problem_folder), LIMITS)
    sandbox.close()


@pytest.mark.parametrize("tier", ["linux", "linux-strict"])
@pytest.mark.parametrize("signum", [signal.SIGKILL, signal.SIGTERM])
def test_a_job_whose_runner_dies_is_run_once_more(problem_folder, signum, tier):
    offers = []

    def kill_then_stop(offer):
        offers.append(offer)
        if len(offers) == 2:
            return False
        os.kill(sandbox.runner_pids()[0], signum)
        return True

    with ProcessSandbox(tier) as sandbox:
        outcome = sandbox.run(job(problem_folder, HANG), LIMITS, kill_then_stop)
        assert (outcome.status, outcome.detail, len(offers)) == (Status.OK, "stopped early", 2)
        assert sandbox.run(job(problem_folder), LIMITS).status is Status.OK


def test_a_runner_that_cannot_fork_says_so_and_goes_on(monkeypatch):
    def fork():
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(os, "fork", fork)
    offers, far_offers = os.pipe()
    nothing = [os.open(os.devnull, os.O_RDONLY) for _ in range(3)]
    ends = socket.socketpair()
    control, far_control = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ends[0], ends[1], control, open(offers, "rb", buffering=0) as said:
        runner = Runner(ends[0], offers, None)
        job = {"problem": "x", "folder_bytes": 0}
        runner._begin(job, [nothing[0], far_offers, *nothing[1:], far_control.detach()])
        [(kind, why)] = FrameReader(0).feed(said.read())
        assert kind is Kind.FAIL
        assert b"cannot fork" in why
        assert json.loads(control.recv(4096))["event"] == "ended"
        assert control.recv(4096) == b""
        assert runner._running == {}


def test_a_runner_that_does_not_start_is_an_error_with_its_words(problem_folder, tmp_path, monkeypatch):
    fake = tmp_path / "python"
    fake.write_text("#!/bin/sh\necho 'no such module' >&2\nexit 9\n")
    fake.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(fake))
    with (
        ProcessSandbox("linux") as sandbox,
        pytest.raises(SandboxUnavailable, match="exit code 9; it said: no such module"),
    ):
        sandbox.run(job(problem_folder), LIMITS)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "missing"))
    with ProcessSandbox("linux") as sandbox, pytest.raises(SandboxUnavailable):
        sandbox.run(job(problem_folder), LIMITS)


CONTROLLER = """
import os, sys, time
import numpy as np
from evocore.sandbox import Job, Limits, ProcessSandbox

DAEMON = '''
import os, time
def optimize(problem, start, seed, deadline, offer):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(60)
        os._exit(0)
    os.wait()
    if os.fork() == 0:
        os.setsid()
        time.sleep(60)
    offer(start)
    time.sleep(60)
'''

HANG = '''
import time
def optimize(problem, start, seed, deadline, offer):
    offer(start)
    time.sleep(60)
'''

def up(offer=None):
    pid = sandbox.runner_pids()[0]
    token = next(v for v in open(f"/proc/{pid}/environ").read().split(chr(0)) if v.startswith("EVOCORE_SANDBOX"))
    print(pid, token, os.readlink(f"/proc/{pid}/cwd"), flush=True)

sandbox = ProcessSandbox(sys.argv[3])
if sys.argv[2] == "running":
    program = DAEMON if sys.argv[3] == "unsafe" else HANG
    sandbox.run(Job(program, sys.argv[1], np.ones(3), 0, 60.0), Limits(60.0, 60.0), up)
while not sandbox.runner_pids():
    pass
if sys.argv[2] == "listening":  # it loads and compiles for a second after it has asked to be told of our end
    status = f"/proc/{sandbox.runner_pids()[0]}/status"
    while not int(open(status).read().partition("SigCgt:")[2].split()[0], 16) & 1 << 14:
        pass
up()
time.sleep(60)
"""


@pytest.mark.parametrize(
    ("when", "tier", "n_processes"),
    [
        ("running", "unsafe", 3),  # runner, candidate, its child
        ("running", "linux", 2),
        ("running", "linux-strict", 3),  # the runner's two processes, candidate
        ("warming", "linux", 1),
        ("warming", "linux-strict", 1),
        ("listening", "linux", 1),
    ],
)
def test_nothing_survives_a_controller_that_is_killed(problem_folder, tmp_path, when, tier, n_processes):
    try:
        offered_tier(tier)
    except SandboxUnavailable as error:
        pytest.skip(str(error))
    program = tmp_path / "controller.py"
    program.write_text(CONTROLLER)
    command = [sys.executable, "-P", str(program), str(problem_folder), when, tier]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as controller:
        assert controller.stdout is not None
        pid, token, folder = controller.stdout.readline().split()
        assert len(list(linux.processes_with(token.encode()))) >= n_processes
        runner = os.pidfd_open(int(pid))
        controller.send_signal(signal.SIGKILL)
    poll = select.poll()
    poll.register(runner, select.POLLIN)
    give_up = time.monotonic() + 20.0
    while not poll.poll(0 if when == "listening" else 50) and time.monotonic() < give_up:
        if when == "listening":  # the kernel may tell it once for every thread of the controller
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(runner, signal.SIGTERM)
    has_ended = poll.poll(0)
    os.close(runner)
    assert has_ended
    assert list(linux.processes_with(token.encode())) == []
    assert not os.path.exists(os.path.dirname(folder))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Limits(0.0, 1.0), "above 0"),
        (lambda: Limits(float("nan"), 1.0), "wall_seconds"),
        (lambda: Limits(1.0, float("inf")), "cpu_seconds"),
        (lambda: Limits(1.0, 1.0, memory_bytes=1 << 20), "memory_bytes of at least"),
        (lambda: Limits(1.0, 1.0, output_bytes=-1), "output_bytes"),
        (lambda: Job("", "x", np.ones(2), -1, 1.0), "seed"),
        (lambda: Job("", "x", np.ones(2), 0, 0.0), "budget"),
        (lambda: Job("", "x", np.ones((2, 2)), 0, 1.0), "start"),
        (lambda: Job("", "x", np.ones(2, dtype="f4"), 0, 1.0), "start"),
        (lambda: ProcessSandbox("linux", recycle_after=0), "recycle_after"),
    ],
)
def test_settings_are_checked(make, message):
    with pytest.raises(ConfigError, match=message):
        make()
