"""Which sandbox: one of a tier that was asked for, or the strongest that this machine offers by itself."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from functools import cache
from typing import Protocol

from evocore.errors import ConfigError, SandboxUnavailable
from evocore.sandbox import namespaces
from evocore.sandbox.base import Job, Limits, Offer, Outcome, Tier
from evocore.sandbox.confinement import visible
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
        from evocore.sandbox.docker_container import engine  # it imports the runner, which is a program of its own

        with engine() as client:
            client.ping()
    elif tier is not Tier.UNSAFE:
        lockdown.check_machine()
        lockdown.Ruleset().close()
    if tier is Tier.LINUX_STRICT and (reason := _namespaces_refused()):
        raise SandboxUnavailable(
            f"expected a machine that lets {'root' if os.geteuid() == 0 else 'users'} have namespaces, got: {reason}; "
            "the sandbox linux does not need them"
        )


@cache
def _namespaces_refused() -> str:
    """Try out in another process whether a runner can have namespaces of its own; empty if so, else the reason."""
    tried = subprocess.run(
        [sys.executable, "-I", "-S", "-B", namespaces.__file__],
        input=json.dumps(visible()),
        capture_output=True,
        text=True,
        env={},
        check=False,
    )
    return "" if tried.returncode == 0 else (tried.stderr.splitlines() or ["no reason given"])[-1]


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
        from evocore.sandbox.docker import DockerSandbox

        return DockerSandbox()
    check_tier(tier)
    return ProcessSandbox(tier)
