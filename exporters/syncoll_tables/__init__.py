"""Self-contained modules that carry out an algorithm: a table of messages and sums, and a loop.

The writers fill a template with a table of the core (`syncoll.runtime.tables`).  A module replays
its table when it is loaded.  The checker reads the table from the text, replays it, compares it
with the collective, and compares the rest of the text with the template.
"""

from syncoll_tables.checker import *
from syncoll_tables.module import *
from syncoll_tables.mpi import *
from syncoll_tables.replay import digest as digest, replay as replay
