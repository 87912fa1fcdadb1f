"""Ranks that exchange messages: operations that wait for one another, played and followed.

Formats for simulators have no buffers: every rank has sends, receives and computations, each of
which starts when what it waits for is done.  A checker of such a format reads a `RankGraph` for
each rank and asks whether all of them end, and whether the data that the messages carry become what
a collective asks for.

::

    [RankGraph] --play--> Played --require_achieved(Expected)--> ok
"""

from syncoll_messages.contents import require_achieved
from syncoll_messages.expected import Expected, expected_of_instance, require_same, require_told
from syncoll_messages.graph import Node, NodeKind, RankGraph
from syncoll_messages.play import Played, play, waits_for
from syncoll_messages.summary import summary

__all__ = [
    "Expected",
    "Node",
    "NodeKind",
    "Played",
    "RankGraph",
    "expected_of_instance",
    "play",
    "require_achieved",
    "require_same",
    "require_told",
    "summary",
    "waits_for",
]
