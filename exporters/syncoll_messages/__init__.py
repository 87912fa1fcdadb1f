"""Ranks that exchange messages: operations that wait for one another, played and followed.

Formats for simulators have no buffers: every rank has sends, receives and computations, each of
which starts when its predecessors are done.  A checker reads a `RankGraph` for each rank and asks
whether all of them end, and whether the data of the messages become the collective's result.

::

    [RankGraph] --play--> Played --require_achieved(Expected)--> ok
"""

from syncoll_messages.expected import *
from syncoll_messages.play import *
