"""The Docker sandbox against a real engine: what a container is given, what it is not, and what is left of it."""

import gc
import io
import os
import select
import signal
import socket
import subprocess
import sys
import tarfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
import pytest

from evocore.cli.main import main
from evocore.errors import ConfigError, SandboxUnavailable
from evocore.sandbox import Job, Limits, Status, docker_container, docker_image
from evocore.sandbox.docker import DockerSandbox
from evocore.sandbox.docker_container import OWNER, engine, new_label, sweep
from evocore.sandbox.docker_image import NOBODY, Content

LIMITS = Limits(60.0, 60.0)
HANG = """
import time
def optimize(problem, start, seed, deadline, offer):
    offer(start)
    time.sleep(60)
"""
ECHO = "def optimize(problem, start, seed, deadline, offer):\n    return start\n"


def job(folder, source=ECHO, value=1.0):
    return Job(source, str(folder), np.array([value]), 0, 60.0)


@pytest.fixture(scope="module")
def client(docker_engine):
    with engine() as opened:
        yield opened


@pytest.fixture(scope="module")
def docker_sandbox(docker_engine):
    with DockerSandbox() as opened:
        yield opened


def containers(client, label):
    return [c["Id"] for c in client.api.containers(all=True, filters={"label": f"{OWNER}={label}"})]


def wait_until(check, seconds=30.0):
    give_up = time.monotonic() + seconds
    while not (done := check()) and time.monotonic() < give_up:
        select.select([], [], [], 0.05)
    return done


# ---- what a container is given ------------------------------------------------------------------------------------


def test_a_container_has_nothing_but_what_it_needs(docker_sandbox, client, problem_folder):
    """Everything as the engine and the kernel see it, while a program runs."""
    seen = {}

    def look(offer):
        for pid in docker_sandbox.runner_pids():
            lines = Path(f"/proc/{pid}/status").read_text().splitlines()
            seen[pid] = dict(line.split(":\t", 1) for line in lines if ":\t" in line)
        for container in containers(client, docker_sandbox.label):
            with suppress(Exception):  # the spare's, which may not be made yet
                seen[container] = client.api.inspect_container(container)
        return False

    assert docker_sandbox.run(job(problem_folder, HANG), LIMITS, look).status is Status.OK
    processes = [one for key, one in seen.items() if isinstance(key, int)]
    assert processes
    for status in processes:
        assert set(status["Uid"].split()) == set(status["Gid"].split()) == {str(NOBODY)}
        assert {int(status[name], 16) for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")} == {0}
        assert (status["NoNewPrivs"], status["Seccomp"]) == ("1", "2")
        assert status["NSpid"].split()[-1] == "1"
    inspected = [one for key, one in seen.items() if isinstance(key, str)]
    assert inspected
    for container in inspected:
        host = container["HostConfig"]
        assert host["NetworkMode"] == "none"
        assert (host["ReadonlyRootfs"], host["Privileged"], host["AutoRemove"]) == (True, False, True)
        assert (host["CapDrop"], host["CapAdd"]) == (["ALL"], None)
        assert host["SecurityOpt"] == ["no-new-privileges:true"]
        assert host["LogConfig"]["Type"] == "none"
        assert host["PidsLimit"] == docker_container.MOST_PROCESSES
        assert host["NanoCpus"] == 10**9
        assert host["Memory"] == host["MemorySwap"] == LIMITS.memory_bytes + docker_container.RUNNER_BYTES
        assert host["ShmSize"] == 8 << 20
        assert list(host["Tmpfs"]) == ["/tmp"]
        assert [bind.split(":", 1)[1] for bind in host["Binds"]] == ["/run/evocore:ro"]


def test_every_program_has_a_container_of_its_own(docker_sandbox, problem_folder):
    def runner(i):
        seen = []
        outcome = docker_sandbox.run(
            job(
                problem_folder,
                "import os\n" + HANG.replace("offer(start)", "print(os.getpid()); offer(start)"),
                i + 1.0,
            ),
            LIMITS,
            lambda offer: seen.append(docker_sandbox.runner_pids()) or False,
        )
        return outcome.status, seen

    with ThreadPoolExecutor(4) as threads:  # more than the machine may have processors: the rest waits
        outcomes = list(threads.map(runner, range(4)))
    assert [status for status, _ in outcomes] == [Status.OK] * 4
    assert len({pid for _, seen in outcomes for pids in seen for pid in pids}) >= 4


def test_a_program_killed_for_lack_of_memory(docker_engine, problem_folder, monkeypatch):
    """The engine's limit, set below that of the address space, which usually comes first."""
    monkeypatch.setattr(docker_container, "RUNNER_BYTES", (400 << 20) - LIMITS.memory_bytes)
    eat = ECHO.replace("return start", "import numpy; offer(start); numpy.ones(1 << 27)")
    with DockerSandbox() as sandbox:
        outcome = sandbox.run(job(problem_folder, eat), LIMITS)
    assert outcome.status is Status.OUT_OF_MEMORY, outcome
    assert outcome.n_offers == 1


def test_a_program_may_have_more_memory_than_the_one_before(docker_sandbox, client, problem_folder):
    limits = Limits(60.0, 60.0, memory_bytes=3 << 30)
    seen = []

    def look(offer):
        seen.extend(
            client.api.inspect_container(c)["HostConfig"]["Memory"] for c in containers(client, docker_sandbox.label)
        )
        return False

    assert docker_sandbox.run(job(problem_folder, HANG), limits, look).status is Status.OK
    assert max(seen) == limits.memory_bytes + docker_container.RUNNER_BYTES


def test_a_folder_that_is_too_big_for_a_container_is_refused(docker_sandbox, tmp_path):
    (tmp_path / "big").write_bytes(bytes(9 << 20))
    with pytest.raises(ConfigError, match="at most 8388608 bytes"):
        docker_sandbox.run(job(tmp_path), LIMITS)


# ---- what is left -------------------------------------------------------------------------------------------------


CLOSED = """
import os, sys, tempfile, threading
import numpy as np
from evocore.errors import SandboxUnavailable
from evocore.sandbox import Job, Limits
from evocore.sandbox.docker import DockerSandbox

job, limits = Job(sys.argv[2], sys.argv[1], np.ones(3), 0, 60.0), Limits(60.0, 60.0)
n_files = len(os.listdir("/proc/self/fd"))
with DockerSandbox() as sandbox:
    assert sandbox.run(job, limits).status == "ok"
    print(sandbox.label, *sandbox.runner_pids())
assert threading.enumerate() == [threading.main_thread()], threading.enumerate()
assert len(os.listdir("/proc/self/fd")) == n_files
assert os.listdir(tempfile.gettempdir()) == []
try:
    sandbox.run(job, limits)
except SandboxUnavailable as error:
    assert "closed" in str(error)
"""


def test_closing_leaves_no_container_thread_file_or_descriptor(client, problem_folder, tmp_path):
    command = [sys.executable, "-P", "-c", CLOSED, str(problem_folder), ECHO]
    told = subprocess.run(
        command, env={**os.environ, "TMPDIR": str(tmp_path)}, stdout=subprocess.PIPE, text=True, check=True
    )
    label, *pids = told.stdout.split()
    assert containers(client, label) == []
    assert [pid for pid in pids if os.path.exists(f"/proc/{pid}")] == []


CONTROLLER = """
import sys, time
import numpy as np
from evocore.sandbox import Job, Limits
from evocore.sandbox.docker import DockerSandbox

def up(offer):
    print(sandbox.label, *sandbox.runner_pids(), flush=True)

sandbox = DockerSandbox()
sandbox.run(Job(sys.argv[2], sys.argv[1], np.ones(3), 0, 60.0), Limits(60.0, 60.0), up)
"""


def test_nothing_survives_a_controller_that_is_killed(client, problem_folder):
    """Nobody sweeps here: the runner is hung up on, and the engine removes what has ended."""
    command = [sys.executable, "-P", "-c", CONTROLLER, str(problem_folder), HANG]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as controller:
        label, *pids = controller.stdout.readline().split()
        assert pids
        assert containers(client, label)
        controller.send_signal(signal.SIGKILL)
    assert wait_until(lambda: containers(client, label) == [])
    assert [pid for pid in pids if os.path.exists(f"/proc/{pid}")] == []


def test_containers_of_processes_that_have_ended_are_swept(client, docker_sandbox, problem_folder):
    image = docker_image.ensure(client).id
    boot, namespace, pid, _, token = new_label().split("/")
    dead = f"{boot}/{namespace}/{pid}/1/{token}"  # this process' number, in an earlier life
    other = f"{boot}/1/{pid}/1/{token}"  # in another container's count
    made = [client.api.create_container(image, labels={OWNER: label})["Id"] for label in (dead, other)]
    try:
        sweep(client)
        assert containers(client, dead) == []
        assert containers(client, other) == [made[1]]
        assert docker_sandbox.run(job(problem_folder), LIMITS).status is Status.OK  # the living one's are left alone
    finally:
        client.api.remove_container(made[1], force=True)


# ---- what can go wrong --------------------------------------------------------------------------------------------


def remove_all(client, sandbox):
    for container in containers(client, sandbox.label):
        with suppress(Exception):
            client.api.remove_container(container, force=True)


def test_a_program_whose_container_is_removed_is_run_once_more(docker_sandbox, client, problem_folder):
    offers = []

    def remove_then_stop(offer):
        offers.append(offer)
        if len(offers) == 2:
            return False
        remove_all(client, docker_sandbox)
        return True

    outcome = docker_sandbox.run(job(problem_folder, HANG), LIMITS, remove_then_stop)
    assert (outcome.status, outcome.detail, len(offers)) == (Status.OK, "stopped early", 2)


def test_a_program_whose_container_is_removed_twice_is_not_blamed(docker_sandbox, client, problem_folder):
    outcome = docker_sandbox.run(job(problem_folder, HANG), LIMITS, lambda offer: remove_all(client, docker_sandbox))
    assert outcome.status is Status.INFRASTRUCTURE
    assert "ended twice" in outcome.detail


@contextmanager
def tunnel(path, target):
    """A socket that leads to another one until it is cut."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen()
    ends = []

    def pump(source, sink):
        with suppress(OSError):
            while chunk := source.recv(1 << 16):
                sink.sendall(chunk)
            sink.shutdown(socket.SHUT_WR)

    def serve():
        with suppress(OSError):
            while True:
                near, _ = listener.accept()
                far = socket.socket(socket.AF_UNIX)
                far.connect(target)
                ends.extend((near, far))
                for pair in ((near, far), (far, near)):
                    threading.Thread(target=pump, args=pair, daemon=True).start()

    def cut():
        path.unlink(missing_ok=True)
        for end in (listener, *ends):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield cut
    finally:
        cut()
        thread.join()
        for end in (listener, *ends):
            end.close()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_engine_that_dies_under_a_program_is_an_error(client, problem_folder, tmp_path, monkeypatch):
    target = os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock").removeprefix("unix://")
    with tunnel(tmp_path / "engine", target) as cut:
        monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/engine")
        with DockerSandbox() as sandbox, pytest.raises(SandboxUnavailable, match="expected a Docker engine"):
            sandbox.run(job(problem_folder, HANG), LIMITS, lambda offer: cut())
    assert wait_until(lambda: containers(client, sandbox.label) == [])
    gc.collect()  # the SDK forgets the sockets that it could not connect: they are not the next test's


def test_no_engine_is_an_error_that_says_what_to_do(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nothing")
    with pytest.raises(SandboxUnavailable, match="install Docker"):
        DockerSandbox()
    assert main(["sandbox", "build-image"]) == 3
    assert capsys.readouterr().err.count("\n") == 1


def test_an_engine_elsewhere_is_refused(monkeypatch):
    monkeypatch.setenv("DOCKER_HOST", "tcp://127.0.0.1:1")
    with pytest.raises(SandboxUnavailable, match="on this machine"):
        DockerSandbox()


def test_a_runtime_that_the_engine_does_not_know_is_an_error(docker_engine, problem_folder):
    with DockerSandbox(runtime="nonsense") as sandbox, pytest.raises(SandboxUnavailable, match="nonsense"):
        sandbox.run(job(problem_folder), LIMITS)


def test_gvisor(client, problem_folder):
    if "runsc" not in client.info()["Runtimes"]:
        pytest.skip("the engine has no runtime runsc (gVisor)")
    with DockerSandbox(runtime="runsc") as sandbox:
        outcome = sandbox.run(job(problem_folder), LIMITS)
    assert (outcome.status, outcome.n_offers) == (Status.OK, 1)


# ---- the image ----------------------------------------------------------------------------------------------------


def test_the_image_holds_what_programs_import_and_nothing_of_the_verifier():
    base, own = (layer.files for layer in docker_image.layers())
    assert {"usr/local/bin/python3", "opt/runner/numpy/__init__.py", "opt/runner/numba/__init__.py"} <= set(base)
    assert any("/libc.so" in name for name in base)
    modules = {name.removeprefix("opt/runner/") for name in own}
    assert {"evocore/sandbox/docker_runner.py", "evocore/verifiers/arrays.py", "evocore/errors.py"} <= modules
    assert any(name.startswith("evocore/kernels/_exact.") and name.endswith(".so") for name in modules)
    parts = {name.split("/")[1] for name in modules}
    assert parts <= {"__init__.py", "_version.py", "errors.py", "optim", "sandbox", "kernels", "problems", "verifiers"}
    of_verifier = {name.split("/")[2] for name in modules if name.startswith("evocore/verifiers/")}
    assert of_verifier == {"__init__.py", "arrays.py", "lockdown.py"}
    assert [name for name in modules if "/optimizers/" in name or "/records/" in name or "/attacks/" in name] == []


def test_the_digest_is_of_names_and_contents(tmp_path):
    for name, text in (("a", "1"), ("b", "2")):
        (tmp_path / name).write_text(text)
    a, b = tmp_path / "a", tmp_path / "b"
    digests = {Content(files).digest for files in ({"x": a}, {"x": b}, {"y": a}, {"x": a, "y": b}, {})}
    assert len(digests) == 5
    before = Content({"x": a, "y": b}).digest
    os.utime(a, (0, 0))
    assert Content({"y": b, "x": a}).digest == before


def test_the_archive_is_a_tree_with_compiled_modules(tmp_path):
    (tmp_path / "one.py").write_text("x = 1\n")
    (tmp_path / "broken.py").write_text("def (:\n")
    stream = io.BytesIO()
    Content({"opt/one.py": tmp_path / "one.py", "opt/broken.py": tmp_path / "broken.py"}).write(stream)
    with tarfile.open(fileobj=io.BytesIO(stream.getvalue())) as tar:
        entries = {entry.name: entry for entry in tar}
    assert f"opt/__pycache__/one.{sys.implementation.cache_tag}.pyc" in entries
    assert f"opt/__pycache__/broken.{sys.implementation.cache_tag}.pyc" not in entries
    assert (entries["tmp"].mode, entries["opt/one.py"].mode) == (0o1777, 0o644)
    assert {(entry.uid, entry.gid, entry.uname) for entry in entries.values()} == {(0, 0, "")}


def test_a_missing_image_is_built_and_one_that_is_there_is_not(client, tmp_path, monkeypatch, capsys):
    """With contents of its own, so that nobody else's image is touched; first both layers, then the upper one alone."""
    (tmp_path / "below").write_text(str(time.time_ns()))
    base = Content({"below": tmp_path / "below"})
    told = []
    for text in ("1", "2", "2"):
        (tmp_path / "above").write_text(text)
        layers = (base, Content({"opt/above": tmp_path / "above"}))
        monkeypatch.setattr(docker_image, "layers", lambda layers=layers: layers)
        assert main(["sandbox", "build-image"]) == 0
        told.append(capsys.readouterr())
    names = [t.out.strip() for t in told]
    try:
        assert "some 20 seconds" in told[0].err
        assert ("building" in told[1].err, "some 20 seconds" in told[1].err) == (True, False)
        assert told[2].err == ""
        assert names[0] != names[1] == names[2]
        first, second = (client.api.inspect_image(name) for name in names[:2])
        assert first["Config"]["User"] == f"{NOBODY}:{NOBODY}"
        assert first["Config"]["Entrypoint"][-1] == "evocore.sandbox.docker_runner"
        assert first["RootFS"]["Layers"][0] == second["RootFS"]["Layers"][0]
    finally:
        for name in (*dict.fromkeys(names), f"evocore-runner-base:{base.digest[:16]}"):
            client.api.remove_image(name)
