from evocore._version import __version__ as __version__
from evocore.api import certify as certify
from evocore.api import score as score
from evocore.api import score_many as score_many
from evocore.api import verify as verify
from evocore.problems.registry import problem as problem
from evocore.problems.registry import problems as problems
from evocore.search.loop import run as run
from evocore.verifiers.client import Verifier as Verifier
from evocore.verifiers.ratchet import Ratchet as Ratchet

__all__ = ["Ratchet", "Verifier", "certify", "problem", "problems", "run", "score", "score_many", "verify"]
