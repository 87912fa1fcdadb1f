"""Ranks that exchange messages: their operations are played, and their data followed.

Formats for simulators have no buffers: every rank has sends, receives and computations, each of
which starts when its predecessors are done.  A checker reads a `RankGraph` for each rank, and
checks that all ranks end and that the data of the messages become the collective's result.

::

    [RankGraph] --play--> Played --require_achieved(Expected)--> ok
"""

from syncoll_messages.expected import *
from syncoll_messages.play import *
