"""The time of algorithms on physical networks, with lanes, latencies and dependencies of sends."""

from typing import TYPE_CHECKING

from syncoll.lazy import lazily

if TYPE_CHECKING:
    from syncoll.simulating.comparison import *
    from syncoll.simulating.dispatch import *
    from syncoll.simulating.document import *
    from syncoll.simulating.floors import (
        floor_proofs as floor_proofs,
        floors_by_cuts as floors_by_cuts,
        timed_network as timed_network,
        with_floors as with_floors,
    )
    from syncoll.simulating.lanes import *
    from syncoll.simulating.network import *
    from syncoll.simulating.runtime_files import *
    from syncoll.simulating.runtimes import *
    from syncoll.simulating.semantics import *
    from syncoll.simulating.simulation import *
    from syncoll.simulating.trace import *
    from syncoll.simulating.urgency import *
else:
    __getattr__ = lazily(__name__)
