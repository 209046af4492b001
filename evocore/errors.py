"""What evocore raises. This module imports nothing, so that every part may import it.

::

    EvocoreError
    ├── InputError                 what was handed in cannot be read, or makes no sense (exit code 2)
    │   ├── InvalidConstruction    a value, shape or type that the problem refuses; says which and where
    │   ├── UnknownProblem         no problem of that name; names the near ones
    │   └── ConfigError            a setting that does not exist or is out of its range
    └── InfrastructureError        the machine failed, not the input (exit code 3)
        ├── VerifierUnavailable    the verifier process does not start or does not answer
        ├── SandboxUnavailable     no sandbox can be had on this machine
        ├── LedgerCorrupt          the ledger's hash chain is broken; says at which line
        └── KernelFault            a compiled kernel failed its own check

Messages are one sentence: expected what, got what, at which place, and the remedy where the cause is known.
"""


class EvocoreError(Exception):
    """Root of everything that evocore raises on purpose."""

    exit_code = 3


class InputError(EvocoreError):
    """What was handed in cannot be read or makes no sense."""

    exit_code = 2


class InvalidConstruction(InputError):
    """A construction that the problem refuses: the message says which value, where, and which bound."""


class UnknownProblem(InputError):
    """No problem of that name."""


class ConfigError(InputError):
    """A setting that does not exist, has the wrong type or is out of its range."""


class InfrastructureError(EvocoreError):
    """The machine failed, not what was handed in."""


class VerifierUnavailable(InfrastructureError):
    """The verifier process does not start, or does not answer any more."""


class SandboxUnavailable(InfrastructureError):
    """No sandbox can be had on this machine."""


class LedgerCorrupt(InfrastructureError):
    """The ledger's hash chain is broken."""


class KernelFault(InfrastructureError):
    """A compiled kernel failed its own check: the machine computed wrongly."""
