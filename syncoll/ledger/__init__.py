"""What one search knows: what was found, what is proved about it, and what is left to try.

It imports no engine of the search and no plugin.
"""

from typing import TYPE_CHECKING

from syncoll.lazy import lazily

if TYPE_CHECKING:
    from syncoll.ledger.aim import Aim as Aim
    from syncoll.ledger.bounds_table import BoundsTable as BoundsTable
    from syncoll.ledger.candidates import CandidateSource as CandidateSource
    from syncoll.ledger.request import *
else:  # a single question needs a part of it
    __getattr__ = lazily(__name__)
