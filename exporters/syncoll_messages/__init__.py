"""Ranks that exchange messages: operations that wait for one another, played and followed.

Formats for simulators have no buffers: every rank has sends, receives and computations, each of
which starts when what it waits for is done.  A checker of such a format reads a `RankGraph` for
each rank and asks whether all of them end, and whether the data that the messages carry become what
a collective asks for.

::

    [RankGraph] --play--> Played --require_achieved(Expected)--> ok
"""

from syncoll_messages.contents import *
from syncoll_messages.expected import *
from syncoll_messages.graph import *
from syncoll_messages.play import *
from syncoll_messages.summary import *
