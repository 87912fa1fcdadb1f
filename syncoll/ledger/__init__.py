"""The state of one search: the algorithms found, the bounds proved and the candidates left to try.

It imports no engine of the search and no plugin.
"""

from typing import TYPE_CHECKING

from syncoll.lazy import lazily

if TYPE_CHECKING:
    from syncoll.ledger.aim import Aim as Aim
    from syncoll.ledger.bounds_table import BoundsTable as BoundsTable
    from syncoll.ledger.candidates import CandidateSource as CandidateSource
    from syncoll.ledger.request import *
else:  # a single question needs only a part of it
    __getattr__ = lazily(__name__)
