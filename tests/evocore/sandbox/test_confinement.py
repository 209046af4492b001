"""What a confined program can still do, which is all that honest ones need, and what it cannot."""

import json
import os
import shutil
import socket
import subprocess
import sys
import sysconfig
from pathlib import Path

import numpy as np
import pytest

from evocore.sandbox import Job, Limits, Status, Tier
from evocore.sandbox.confinement import visible
from evocore.sandbox.tiers import offered_tier, open_sandbox
from evocore.verifiers import lockdown

REFUSED = ("PermissionError", "FileNotFoundError", "OSError")


@pytest.fixture
def attempts(sandbox, play):
    """Evaluate expressions inside, one after the other: what comes out of each, or the name of its error."""
    if sandbox.tier is Tier.UNSAFE:
        pytest.skip("an unconfined program is refused nothing")

    def run(*expressions):
        body = f"""
import ctypes, json, mmap, os, signal, socket, threading
said = []
for expression in {list(expressions)!r}:
    try:
        value = eval(expression)
        said.append(value if isinstance(value, (int, str, list)) else repr(type(value)))
    except BaseException as error:
        said.append(type(error).__name__)
print(json.dumps(said))
"""
        outcome, _ = play(body)
        assert outcome.status is Status.OK, outcome
        return json.loads(outcome.stdout)

    return run


def problems_folder() -> Path:
    import evocore.problems

    return Path(next(iter(evocore.problems.__path__)))


def test_no_file_of_the_machine_can_be_read(attempts, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("x")
    stored = problems_folder() / "third_autocorrelation_inequality"
    ours = [stored / "problem.py", next((stored / "optimizers").glob("*.py")), lockdown.__file__]
    paths = ["/etc/passwd", "/proc/self/environ", f"/proc/{os.getpid()}/mem", secret, *ours]
    got = attempts(*[f"open({str(path)!r}).read(1)" for path in paths])
    assert set(got) <= set(REFUSED), dict(zip(paths, got, strict=True))
    got = attempts(*[f"os.listdir({path!r})" for path in ("/", "/etc", "/proc", os.path.expanduser("~"), "/tmp")])
    assert set(got) <= set(REFUSED)


def test_no_file_can_be_written_or_changed(attempts, tmp_path):
    mine = tmp_path / "mine"
    mine.write_text("x")
    got = attempts(
        *[f"open({f'{folder}/evocore-new'!r}, 'w')" for folder in (".", "/tmp", "/dev/shm", tmp_path)],
        f"open({str(mine)!r}, 'a')",
        f"os.truncate({str(mine)!r}, 0)",
        f"os.unlink({str(mine)!r})",
        f"os.chmod({str(mine)!r}, 0)",
        f"os.utime({str(mine)!r})",
        f"os.rename({str(mine)!r}, {str(mine)!r} + '2')",
        f"os.symlink('/', {str(tmp_path / 'link')!r})",
        "os.mkdir('evocore-new')",
        "os.memfd_create('x')",
        "ctypes.CDLL(None).shm_open(b'/x', os.O_CREAT | os.O_RDWR, 0o600)",
    )
    assert set(got) <= {*REFUSED, -1}
    assert [p.name for p in tmp_path.iterdir()] == ["mine"]
    assert mine.read_text() == "x"


def test_no_process_is_started_or_reached(attempts):
    me = os.getpid()
    got = attempts(
        "os.fork()",
        "os.execv('/bin/true', ['true'])",
        "os.posix_spawn('/bin/true', ['true'], {})",
        "__import__('subprocess').run('true')",
        "os.kill(os.getppid(), 0)",
        f"os.kill({me}, 0)",
        "os.kill(-1, 0)",
        "os.killpg(0, 0)",
        "os.pidfd_open(os.getppid())",
        "os.setsid()",
        "os.setpriority(os.PRIO_USER, 0, 1)",
        f"__import__('resource').prlimit({me}, 7)",
        "__import__('resource').setrlimit(7, (1000, 1000))",
    )
    assert set(got) <= {*REFUSED, "ProcessLookupError", "ValueError"}


def test_nobody_is_talked_to(attempts):
    with socket.create_server(("127.0.0.1", 0)) as server:
        got = attempts(
            f"socket.create_connection({server.getsockname()!r})",
            "socket.socket(socket.AF_UNIX)",
            "socket.socketpair()",
            "ctypes.CDLL(None).shmget(1, 4096, 0o1600)",
            "ctypes.CDLL(None).mq_open(b'/x', os.O_CREAT, 0o600, None)",
            "__import__('fcntl').flock(0, 2)",
        )
    assert set(got) <= {*REFUSED, -1}


def test_nothing_is_undone(attempts):
    calls = ["prctl(1, 0)", "prctl(4, 1)", "prctl(22, 0)", "syscall(446, 4, 0)"]
    assert attempts(*[f"ctypes.CDLL(None).{call}" for call in calls]) == [-1] * 4


@pytest.mark.parametrize("call", ["ptrace(16, 1, 0, 0)", "unshare(0x10000000)", "mount(b'/', b'/', b'x', 0, 0)"])
def test_an_attack_on_the_kernel_is_a_violation(sandbox, play, call):
    if sandbox.tier is Tier.UNSAFE:
        pytest.skip("an unconfined program is refused nothing")
    outcome, offers = play(f"import ctypes\noffer(start)\nctypes.CDLL(None).{call}\nreturn start")
    assert (outcome.status, len(offers)) == (Status.VIOLATION, 1)
    assert "system call" in outcome.detail


def test_strictly_confined_nothing_else_is_there(sandbox, attempts):
    if sandbox.tier is not Tier.LINUX_STRICT:
        pytest.skip("only linux-strict hides what it refuses")
    home, me = os.path.expanduser("~/.profile"), f"/proc/{os.getpid()}"
    paths = ["/etc/passwd", "/home", "/var", "/sys", home, me, str(problems_folder().parent / "pyproject.toml")]
    assert attempts(*[f"os.stat({path!r})" for path in paths]) == ["FileNotFoundError"] * len(paths)
    assert attempts("os.getppid()") == [1]
    assert attempts("os.getuid()") == [65534 if os.getuid() == 0 else os.getuid()]


def test_what_a_runner_sees_is_the_libraries_and_nothing_of_the_user():
    import evocore

    home, own = Path.home(), [Path(p) for p in evocore.__path__]
    library = Path(sysconfig.get_path("platstdlib"))  # an environment's own holds the packages and nothing else
    packages = {library, *(library / name for name in ("site-packages", "dist-packages"))}
    for path in map(Path, visible()):
        assert path != home
        assert path not in home.parents
        assert path in packages or not any(path in one.parents for one in own), path


# ---- honest programs ---------------------------------------------------------------------------------------------

SCIPY = """
import numpy as np

def optimize(problem, start, seed, deadline, offer):
    from scipy import fft, integrate, linalg, ndimage, signal, sparse, spatial, special, stats
    from scipy.optimize import LinearConstraint, differential_evolution, linprog, milp, minimize
    from scipy.sparse.linalg import eigsh, spsolve
    a = np.random.default_rng(seed).random((200, 200))
    linalg.eigh(a @ a.T), np.linalg.svd(a), linalg.cho_factor(a @ a.T + np.eye(200))
    fft.rfft(a), signal.fftconvolve(a[0], a[1]), ndimage.gaussian_filter(a, 1.0), special.gamma(a)
    assert linprog(np.ones(3), A_ub=-np.eye(3), b_ub=-np.ones(3), method="highs").success
    assert milp(np.ones(3), constraints=LinearConstraint(np.eye(3), 1, 2), integrality=np.ones(3)).success
    differential_evolution(lambda v: float(v @ v), [(-1, 1)] * 2, maxiter=3, seed=1)
    for method in ("BFGS", "L-BFGS-B", "SLSQP", "Nelder-Mead", "trust-constr"):
        minimize(lambda v: float(v @ v), np.ones(3), method=method)
    spsolve(sparse.eye(10).tocsc(), np.ones(10)), eigsh(sparse.eye(30).tocsc(), k=2)
    integrate.quad(lambda t: t, 0, 1), spatial.ConvexHull(a[:20, :2]), stats.norm.cdf(0.3)
    return start
"""

NUMBA = """
import numpy as np
from numba import njit, prange, vectorize

@njit(cache=True)
def plain(x):
    return (x**0.5).sum()

@njit(parallel=True)
def parallel(x):
    total = 0.0
    for i in prange(x.size):
        total += np.sqrt(x[i])
    return total

@vectorize(["float64(float64)"])
def root(x):
    return np.sqrt(x)

def optimize(problem, start, seed, deadline, offer):
    np.testing.assert_allclose([plain(start), parallel(start)], root(start).sum())
    return start
"""

STANDARD = """
import asyncio, concurrent.futures, csv, ctypes, datetime, decimal, fractions, hashlib, inspect, json, logging
import multiprocessing, os, pickle, platform, queue, random, secrets, signal, sqlite3, ssl, statistics, subprocess
import threading, time, uuid, warnings, zlib

def optimize(problem, start, seed, deadline, offer):
    with concurrent.futures.ThreadPoolExecutor(4) as threads:
        assert list(threads.map(lambda i: i * i, range(9))) == [i * i for i in range(9)]
    decimal.getcontext().prec = 50
    decimal.Decimal(2).sqrt(), secrets.token_bytes(8), uuid.uuid4(), random.random(), os.urandom(8)
    signal.signal(signal.SIGALRM, lambda *_: None)
    signal.setitimer(signal.ITIMER_REAL, 0.001)
    time.sleep(0.01)
    datetime.datetime.now(), time.localtime(), platform.platform(), multiprocessing.cpu_count()
    logging.warning("said")
    warnings.warn("warned")
    with open(os.devnull, "w") as nowhere:
        print("nothing", file=nowhere)
    import sympy_is_not_here
"""

OWN = """
def optimize(problem, start, seed, deadline, offer):
    import evocore.kernels.exact, evocore.kernels.geometry, evocore.optim
    from evocore.problems import exact
    import flint
    offer(start)
    assert flint.fmpz(3) ** 5 == 243
    assert problem.exact(start).value > 0
"""


@pytest.mark.parametrize("program", [SCIPY, NUMBA], ids=["scipy", "numba"])
def test_the_libraries_work(play, program):
    outcome, offers = play(program, whole=True, budget=120.0, limits=Limits(120.0, 120.0))
    assert (outcome.status, len(offers)) == (Status.OK, 1), outcome


def test_pythons_own_library_works_and_a_missing_one_is_only_missing(play):
    outcome, _ = play(STANDARD, whole=True, budget=60.0, limits=Limits(60.0, 60.0))
    assert "ModuleNotFoundError: No module named 'sympy_is_not_here'" in outcome.detail, outcome
    assert "said" in outcome.stderr
    assert "UserWarning: warned" in outcome.stderr


def test_kernels_building_blocks_and_exact_scores_work(sandbox):
    job = Job(OWN, "third-autocorrelation-inequality", np.ones(9), 0, 60.0)
    outcome = sandbox.run(job, Limits(60.0, 60.0))
    assert outcome.status is Status.OK, outcome


def test_a_problem_may_read_its_own_folder_whenever_it_likes(sandbox, problem_folder, tmp_path):
    folder = tmp_path / "own"
    folder.mkdir()
    code = (problem_folder / "problem.py").read_text()
    late = 'float(sum(x)) + float(__import__("pathlib").Path(__file__).with_name("more.txt").read_text())'
    (folder / "problem.py").write_text(code.replace("float(sum(x))", late))
    (folder / "more.txt").write_text("1.5")
    program = (
        "def optimize(problem, start, seed, deadline, offer):\n    print(problem.score(start))\n    return start\n"
    )
    for _ in range(2):
        outcome = sandbox.run(Job(program, str(folder), np.ones(3), 0, 30.0), Limits(30.0, 30.0))
        assert (outcome.status, outcome.stdout) == (Status.OK, "4.5\n"), outcome
    other = sandbox.run(Job(program, str(problem_folder), np.ones(3), 0, 30.0), Limits(30.0, 30.0))
    assert other.stdout == "3.0\n", other


@pytest.mark.parametrize("tier", ["linux", "linux-strict"])
def test_a_problem_that_has_started_a_thread_is_refused(tmp_path, problem_folder, tier):
    folder = tmp_path / "threaded"
    shutil.copytree(problem_folder, folder)
    with (folder / "problem.py").open("a") as file:
        file.write("\nfrom concurrent.futures import ThreadPoolExecutor\npool = ThreadPoolExecutor(1)\n")
        file.write("pool.submit(int).result()\n")
    with open_sandbox(offered_tier(tier)) as sandbox:
        program = "def optimize(problem, start, seed, deadline, offer):\n    return start\n"
        outcome = sandbox.run(Job(program, str(folder), np.array([1.0]), 0, 5.0), Limits(30.0, 30.0))
        assert outcome.status is Status.INFRASTRUCTURE
        assert "one thread to confine, got 2" in outcome.detail


def test_signals_that_were_ignored_at_the_start_spoil_nothing(problem_folder):
    code = (
        "import signal, sys, numpy as np\n"
        "from evocore.sandbox import Job, Limits, ProcessSandbox\n"
        "with ProcessSandbox('linux') as sandbox:\n"
        "    program = 'import signal\\ndef optimize(problem, start, seed, deadline, offer):\\n'\n"
        "    program += '    print(signal.getsignal(signal.SIGQUIT) is signal.SIG_DFL)\\n    return start'\n"
        "    outcome = sandbox.run(Job(program, sys.argv[1], np.ones(1), 0, 5.0), Limits(30.0, 30.0))\n"
        "    print(outcome.status, outcome.stdout.strip())\n"
    )
    ignoring = (
        "import os, signal, sys\nfor n in (signal.SIGCHLD, signal.SIGQUIT):\n    signal.signal(n, signal.SIG_IGN)\n"
    )
    ignoring += "os.execv(sys.executable, [sys.executable, *sys.argv[1:]])"
    done = subprocess.run(
        [sys.executable, "-c", ignoring, "-c", code, str(problem_folder)], capture_output=True, text=True, check=False
    )
    assert done.stdout.split() == ["ok", "True"], done.stderr
