"""Which sandbox: one of a tier that was asked for, or the strongest that this machine offers by itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from typing import Protocol

from evocore.errors import ConfigError, SandboxUnavailable
from evocore.sandbox.base import Job, Limits, Offer, Outcome, Tier
from evocore.sandbox.docker import DockerSandbox
from evocore.sandbox.docker_container import engine
from evocore.sandbox.process import ProcessSandbox
from evocore.verifiers import lockdown


class Sandbox(AbstractContextManager["Sandbox"], Protocol):
    """What every tier's sandbox can do; see `ProcessSandbox`."""

    tier: Tier

    def run(
        self,
        job: Job,
        limits: Limits,
        on_offer: Callable[[Offer], bool | None] | None = None,
        *,
        checkpoints: Sequence[float] = (),
        on_checkpoint: Callable[[float, float], bool | None] | None = None,
    ) -> Outcome:
        """Run a program to its end."""

    def close(self) -> None:
        """End everything."""


def read_tier(name: str) -> Tier:
    """Read the name of a tier.

    Raises
    ------
    ConfigError
        Names the tiers.
    """
    try:
        return Tier(name)
    except ValueError:
        raise ConfigError(f"expected a sandbox of {', '.join(Tier)}, got {name!r}") from None


def strongest_tier() -> Tier:
    """Find the strongest tier that this machine offers without anything to install.

    Raises
    ------
    SandboxUnavailable
        Says what is missing and what would help.
    """
    with suppress(SandboxUnavailable):
        check_tier(Tier.LINUX_STRICT)
        return Tier.LINUX_STRICT
    try:
        check_tier(Tier.LINUX)
    except SandboxUnavailable as error:
        raise SandboxUnavailable(
            f"{error} (--sandbox docker); with --sandbox unsafe programs run unconfined, as you, which the run records"
        ) from None
    return Tier.LINUX


def check_tier(tier: Tier) -> None:
    """Find out whether this machine offers a tier.

    Raises
    ------
    SandboxUnavailable
        Says what is missing.
    """
    if tier is Tier.DOCKER:
        with engine() as client:
            client.ping()
    elif tier is not Tier.UNSAFE:
        lockdown.check_machine()
        lockdown.Ruleset().close()
    if tier is Tier.LINUX_STRICT:
        raise SandboxUnavailable(f"expected a {tier} backend, got a version of evocore without one")


def offered_tier(name: str | None) -> Tier:
    """Read the name of a tier, or take `strongest_tier` where there is none, and make sure that the machine offers it.

    Raises
    ------
    ConfigError
        There is no such tier.
    SandboxUnavailable
        The machine does not offer it.
    """
    if name is None:
        return strongest_tier()
    tier = read_tier(name)
    check_tier(tier)
    return tier


def open_sandbox(tier: Tier) -> Sandbox:
    """Open a sandbox of a tier, and never of another.

    Raises
    ------
    SandboxUnavailable
        The machine does not offer it.
    """
    if tier is Tier.DOCKER:
        return DockerSandbox()
    check_tier(tier)
    return ProcessSandbox(tier)
