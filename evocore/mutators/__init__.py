"""What turns a program into a child: the contract that programs keep, and the mutators of the embedded grammar.

`check_program` looks at a program's text alone. `MUTATORS` holds the mutators by name: `grammar-tune` moves annotated
constants, `grammar-stages` edits the stage list, `grammar-cross` crosses two programs.
"""

from evocore.mutators.base import Child, Mutator, NoChild
from evocore.mutators.contract import Contract, check_program, fingerprint, source_sha256
from evocore.mutators.grammar import GrammarCross, GrammarStages, GrammarTune

MUTATORS: dict[str, Mutator] = {one.name: one for one in (GrammarTune(), GrammarStages(), GrammarCross())}

__all__ = [
    "MUTATORS",
    "Child",
    "Contract",
    "GrammarCross",
    "GrammarStages",
    "GrammarTune",
    "Mutator",
    "NoChild",
    "check_program",
    "fingerprint",
    "source_sha256",
]
