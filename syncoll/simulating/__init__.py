"""The time of algorithms on physical networks, with lanes, latencies and dependencies of sends."""

from syncoll.simulating.comparison import *
from syncoll.simulating.dispatch import *
from syncoll.simulating.document import *
from syncoll.simulating.floors import *
from syncoll.simulating.lanes import *
from syncoll.simulating.network import *
from syncoll.simulating.runtime_files import *
from syncoll.simulating.runtimes import *
from syncoll.simulating.semantics import *
from syncoll.simulating.simulation import *
from syncoll.simulating.trace import *
from syncoll.simulating.urgency import *
