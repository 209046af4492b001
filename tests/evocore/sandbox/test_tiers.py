"""Tiers by name: what is read, what is offered, and that nobody gets another one than was asked for."""

import sys

import pytest

from evocore.errors import ConfigError, SandboxUnavailable
from evocore.sandbox import Tier, offered_tier, open_sandbox, read_tier, tiers
from evocore.verifiers import lockdown


def test_names_and_their_order():
    assert [str(t) for t in Tier] == ["docker", "linux-strict", "linux", "unsafe"]
    assert Tier.LINUX.is_weaker_than(Tier.DOCKER)
    assert Tier.UNSAFE.is_weaker_than(Tier.LINUX)
    assert not Tier.LINUX.is_weaker_than(Tier.LINUX)
    assert not Tier.LINUX_STRICT.is_weaker_than(Tier.LINUX)


@pytest.mark.parametrize("name", ["", "Linux", "none", "gvisor"])
def test_a_name_that_is_none_names_the_others(name):
    with pytest.raises(ConfigError, match="docker, linux-strict, linux, unsafe"):
        offered_tier(name)


def test_without_a_name_it_is_the_strongest_that_is_offered(monkeypatch):
    def check(tier):
        if tier is Tier.LINUX_STRICT:
            raise SandboxUnavailable("no namespaces")

    assert offered_tier(None) in (Tier.LINUX_STRICT, Tier.LINUX)
    monkeypatch.setattr(tiers, "check_tier", check)
    assert offered_tier(None) is Tier.LINUX


@pytest.mark.parametrize("name", ["linux", "linux-strict", None])
def test_a_machine_without_landlock_says_what_to_do_and_is_given_nothing_weaker(monkeypatch, name):
    monkeypatch.setattr(lockdown, "landlock_version", lambda: 0)
    with pytest.raises(SandboxUnavailable, match=r"Linux 5\.13.*Docker"):
        offered_tier(name)
    if name is not None:
        with pytest.raises(SandboxUnavailable):
            open_sandbox(read_tier(name))
    with open_sandbox(offered_tier("unsafe")) as sandbox:
        assert sandbox.tier is Tier.UNSAFE


def test_another_system_is_pointed_to_docker(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(SandboxUnavailable, match=r"got darwin.*--sandbox docker.*--sandbox unsafe"):
        offered_tier(None)
