"""A folder for SimGrid's SMPI: a platform, its hosts, a program in C for MPI, and a script.

The writer is in `syncoll_simgrid.writer`.  The checker, in `syncoll_simgrid.checker`, reads the
platform as XML, and compares it with the links and bounds of the topology.
"""

from syncoll.plugins import ExporterRecord, Option

OPTIONS = (
    Option(
        "bandwidth",
        0.0,
        "GB/s of a link of one chunk per round; 0 for the machine's own, or 1 if it states none",
        low=0.0,
        high=1e9,
    ),
    Option(
        "latency",
        0.0,
        "microseconds of each link; 0 for the machine's own, or 1 if it states none",
        low=0.0,
        high=1e9,
    ),
)

RECORD = ExporterRecord(
    name="simgrid",
    summary="a platform and a program in C for SimGrid, next to the collectives of MPI libraries",
    load="syncoll_simgrid.writer:SimgridExporter",
    load_checker="syncoll_simgrid.checker:SimgridChecker",
    options=OPTIONS,
    folder=True,
    recognises=lambda path, head: path.suffix == ".c" and b"syncoll-simgrid " in head,
)
