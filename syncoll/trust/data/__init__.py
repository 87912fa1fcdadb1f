"""Runs algorithms on data: a second check that shares no code with the verifier.

It is also the readable semantics: `execute` of nodes and steps, `definition` of collectives.
"""

from syncoll.trust.data.execute import *
from syncoll.trust.data.workload import *
