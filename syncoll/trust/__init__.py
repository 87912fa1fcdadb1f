"""Checks what searches, bounds and solvers find, with code of its own.

The verifier replays an algorithm against its instance (`replay`, `holdings`, `sums`), `data` runs
it on data, `claims` checks what a frontier says is proved, `drat` a solver's proof that no
algorithm exists, `forest` packed trees.  All of it imports results, certificates, model and formula
alone.
"""

from syncoll.trust.holdings import Violation
from syncoll.trust.replay import require_valid, violations

__all__ = ["Violation", "require_valid", "violations"]
