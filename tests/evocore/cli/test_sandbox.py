"""`evocore sandbox selftest`: what it prints and how it exits. The attacks themselves: tests/attacks."""

import json

import pytest

from evocore.cli.main import main
from evocore.errors import SandboxUnavailable
from evocore.sandbox import selftest
from evocore.sandbox.attacks import ATTACKS


@pytest.fixture(autouse=True)
def few(monkeypatch):
    few = tuple(a for a in ATTACKS if a.name in ("exit_at_once", "tamper_with_files", "look_at_names"))
    monkeypatch.setattr(selftest, "ATTACKS", few)


def test_a_tier_that_holds(capsys):
    assert main(["sandbox", "selftest", "--tier", "linux", "--json"]) == 0
    (tier,) = json.loads(capsys.readouterr().out)["tiers"]
    assert (tier["tier"], tier["available"], tier["lacks"], tier["holds"]) == ("linux", True, "", True)
    assert [a["attack"] for a in tier["attacks"]] == ["exit_at_once", "look_at_names", "tamper_with_files"]
    assert [a["ends"] for a in tier["attacks"]] == [["crash"], ["ok"], ["ok"]]
    assert all(a["stopped"] and a["broken"] == [] for a in tier["attacks"])
    assert "learnt that a file exists" in tier["attacks"][1]["through"]


def test_what_is_not_promised_is_told_and_is_no_failure(capsys):
    assert main(["sandbox", "selftest", "--tier", "unsafe"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "unsafe"
    assert any(line.split()[:2] == ["stopped", "exit_at_once"] for line in lines)
    assert any(line.startswith("not promised  tamper_with_files") for line in lines)
    assert any(line.endswith("more (--json has all)") for line in lines)
    assert "unsafe: 1 of 3 attacks stopped, 2 not promised" in lines


def test_what_does_not_hold_is_told_and_fails(capsys, monkeypatch):
    monkeypatch.setattr(selftest, "LATE_SECONDS", -1e9)
    assert main(["sandbox", "selftest", "--tier", "linux"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert any(line.split()[:3] == ["NOT", "STOPPED", "exit_at_once"] for line in lines)
    assert any("- the verdict took" in line for line in lines)
    assert "linux: 0 of 3 attacks stopped, 3 NOT STOPPED" in lines


def test_a_machine_without_any_tier(capsys, monkeypatch):
    def refuse(tier):
        raise SandboxUnavailable(f"expected something for {tier}, got nothing")

    monkeypatch.setattr(selftest, "open_sandbox", refuse)
    monkeypatch.setattr(selftest, "DockerSandbox", lambda **options: refuse("docker"))
    assert main(["sandbox", "selftest"]) == 3
    lines = capsys.readouterr().out.splitlines()
    assert "linux: not on this machine: expected something for linux, got nothing" in lines
    assert [line.partition(":")[0] for line in lines if line] == ["docker", "linux-strict", "linux"]


def test_a_tier_that_does_not_exist(capsys):
    assert main(["sandbox", "selftest", "--tier", "moon"]) == 2
    assert "expected a sandbox of docker, linux-strict, linux, unsafe, got 'moon'" in capsys.readouterr().err
