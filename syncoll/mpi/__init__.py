"""Synthesised algorithms as collectives over MPI, run between real processes.

In a user's program, started with ``mpiexec -n 8 python program.py``::

    from pathlib import Path

    import numpy as np
    from mpi4py import MPI
    from syncoll.api import read_file
    from syncoll.mpi import MpiCollective

    allreduce = MpiCollective(read_file(Path("frontier.json")).algorithms[0])
    sendbuf = np.full(1000, MPI.COMM_WORLD.rank, dtype=np.float32)
    recvbuf = np.empty_like(sendbuf)
    allreduce(MPI.COMM_WORLD, sendbuf, recvbuf)

Buffers have the layout of MPI's own collective, so one call can replace the other.  ``syncoll run
FILE --via mpi`` compares the two.  Importing this package needs no MPI; calling a collective needs
the extra ``syncoll[mpi]``.
"""

from syncoll.mpi.collective import MpiCollective as MpiCollective
from syncoll.mpi.exported import run_exported as run_exported
from syncoll.mpi.launcher import launch as launch, run_job as run_job
from syncoll.mpi.measuring import (
    Job as Job,
    MpiComparison as MpiComparison,
    Result as Result,
    Run as Run,
    measure as measure,
)
