"""Measurements: logs of benchmarks, the ceilings of a machine, and costs that fit the times."""

from syncoll.measuring.ceilings import *
from syncoll.measuring.findings import *
from syncoll.measuring.fit import *
from syncoll.measuring.logs import *
from syncoll.measuring.tuner import *
from syncoll.measuring.ways import *
