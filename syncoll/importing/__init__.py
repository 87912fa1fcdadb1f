"""The core of importing: from a tool's description of a machine to a spec that people can edit.

Functions for importers::

    from syncoll.importing import Machine, TextError, rate_option

    class MyImporter:                                   # returned by ImporterRecord.load
        def read(self, text, label, options):           # -> Imported; text is str, options are
            speed = rate_option(options, "link", "importer mine")   # complete; Fraction, GB/s
            ...
            raise TextError("the row of GPU3 has 5 cells", "8, one for each column", 12, row)
            machine = Machine()
            machine.node(0, "GPU0")                     # any keys; nodes are numbered in order
            machine.switch("s", "NVSwitch")
            machine.join(0, "s", 12 * speed, "12 NVLinks")  # both ways; parallel links add up
            machine.note("…")
            return machine.imported()

For a machine with network cards an importer adds ``*CLUSTER_OPTIONS`` to its table of options and
``cards=(NetworkCard(…), …)`` to the result; the core makes the cluster that ``boxes=4`` asks for.

An importer may also build a `Fabric` or a `Topology` itself; its name does not matter.  The core
checks the size of the file (`LARGEST_FILE` characters), its encoding, at least two nodes and a path
from each to each.  An importer that knows a better reason, and a remedy, raises it itself.  A
`ModelError` or a `RecursionError` becomes an error of this file.  The core also suggests another
importer whose `recognises` says yes, replaces odd characters in names, labels and notes, and reads
the spec back to compare the network.
"""

from typing import TYPE_CHECKING

from syncoll.lazy import lazily

if TYPE_CHECKING:
    from syncoll.importing.clusters import used_cards as used_cards, wants_cards as wants_cards
    from syncoll.importing.description import (
        LARGEST_FILE as LARGEST_FILE,
        TextError as TextError,
        read_description as read_description,
    )
    from syncoll.importing.importing import *
    from syncoll.importing.machine import Machine as Machine, speed_option as speed_option
    from syncoll.importing.rates import parse_rate as parse_rate, rate_option as rate_option
    from syncoll.importing.writer import spec_text as spec_text, topology_name as topology_name
else:
    __getattr__ = lazily(__name__)
