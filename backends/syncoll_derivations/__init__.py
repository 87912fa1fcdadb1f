"""Reproducible sums: every chunk is added up in one association, by derivations at many nodes.

A derivation has for each partial sum of the association the node that forms it, and the sends to
the next one.  Derivations are packed like trees: an exact oracle finds the cheapest under prices
(`derivations`), column generation and rounding are `syncoll.packing`'s.  The association is
improved by a local search (`local_search`).
"""

from syncoll.plugins import Option, SeedRecord

RECORD = SeedRecord(
    name="derivations",
    summary="sums in one association for all chunks: derivations packed by a linear program",
    load="syncoll_derivations.seed:DerivationSeed",
    options=(
        Option("seconds", 30.0, "time without a limit of the search", low=0.01),
        Option("chunks", 512, "largest C", low=1),
    ),
    fits="syncoll_derivations.seed:DerivationSeed.fits",
    first_seconds=0.05,
    resumes=True,
    counts_copies=False,
    reproducible=True,
)
