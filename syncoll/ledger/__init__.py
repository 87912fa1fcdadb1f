"""What one search knows: what was found, what is proved about it, and what is left to try.

It imports no engine of the search and no plugin.
"""

from typing import TYPE_CHECKING

from syncoll.lazy import lazily

if TYPE_CHECKING:
    from syncoll.ledger.aim import Aim
    from syncoll.ledger.bounds_table import BoundsTable
    from syncoll.ledger.candidates import CandidateSource
    from syncoll.ledger.request import Candidate, Observer, SearchRequest, Strategy
else:  # a single question needs a part of it
    __getattr__ = lazily(
        __name__,
        {
            "aim": "Aim",
            "bounds_table": "BoundsTable",
            "candidates": "CandidateSource",
            "request": "Candidate Observer SearchRequest Strategy",
        },
    )

__all__ = [
    "Aim",
    "BoundsTable",
    "Candidate",
    "CandidateSource",
    "Observer",
    "SearchRequest",
    "Strategy",
]
