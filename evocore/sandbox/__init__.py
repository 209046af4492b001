"""Runs untrusted programs: each in a process of its own, confined, limited, and with nothing of it left afterwards."""

from evocore.sandbox.base import Job, Limits, Offer, Outcome, Status, Tier
from evocore.sandbox.process import ProcessSandbox
from evocore.sandbox.tiers import Sandbox, offered_tier, open_sandbox, read_tier

__all__ = [
    "Job",
    "Limits",
    "Offer",
    "Outcome",
    "ProcessSandbox",
    "Sandbox",
    "Status",
    "Tier",
    "offered_tier",
    "open_sandbox",
    "read_tier",
]
