"""What algorithms take on physical networks, in seconds: lanes, latencies, who waits for whom."""

from syncoll.simulating.comparison import *  # noqa: F403
from syncoll.simulating.document import *  # noqa: F403
from syncoll.simulating.floors import *  # noqa: F403
from syncoll.simulating.movements import *  # noqa: F403
from syncoll.simulating.network import *  # noqa: F403
from syncoll.simulating.semantics import *  # noqa: F403
from syncoll.simulating.simulation import *  # noqa: F403
from syncoll.simulating.trace import *  # noqa: F403
from syncoll.simulating.urgency import *  # noqa: F403
