"""GOAL schedules: one text for all ranks, for LogGOPSim and htsim.

The writer is in `syncoll_goal.writer`.  The checker, in `syncoll_goal.checker`, reads the text as
``txt2bin`` of LogGOPSim does, and shares no code with the writer.
"""

from syncoll.plugins import MESSAGE_OPTIONS, ExporterRecord, Option

OPTIONS = (
    *MESSAGE_OPTIONS,
    Option(
        "reduction",
        0.0,
        "GB/s at which a rank reduces, written as calc in nanoseconds; 0: reductions take no time",
        low=0.0,
        high=1e9,
    ),
    Option(
        "nics",
        "one",
        "one: all messages of a rank share one network interface; peer: it has one for each rank "
        "with which it exchanges messages, as where links go from node to node",
        choices=("one", "peer"),
    ),
)


RECORD = ExporterRecord(
    name="goal",
    summary="GOAL schedules, for LogGOPSim and htsim",
    load="syncoll_goal.writer:GoalExporter",
    load_checker="syncoll_goal.checker:GoalChecker",
    options=OPTIONS,
    recognises=lambda path, head: path.suffix == ".goal" and b"num_ranks" in head,
)
