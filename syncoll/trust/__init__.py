"""Checks the results of searches, bounds and solvers, with code of its own.

The verifier replays an algorithm against its instance (`replay`, `holdings`, `sums`), and `data`
runs it on data.  `claims` checks the proofs of a frontier, `drat` a solver's proof that no
algorithm exists, `forest` packed trees.  All of it imports only results, certificates, model and
formula.
"""

from syncoll.trust.holdings import Violation
from syncoll.trust.replay import require_valid, violations

__all__ = ["Violation", "require_valid", "violations"]
