"""Runs untrusted programs: each in a process of its own, limited, and with nothing of it left afterwards."""

from evocore.sandbox.base import Job, Limits, Offer, Outcome, Status
from evocore.sandbox.process import ProcessSandbox

__all__ = ["Job", "Limits", "Offer", "Outcome", "ProcessSandbox", "Status"]
