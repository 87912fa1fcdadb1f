"""MSCCL++ plans of machines: thread blocks, bytes, seconds, and the sizes that the runtime takes.

Each machine and collective has a frontier, searched with a time limit or read from ``--frontiers``,
and the files of ``syncoll plan --to mscclpp``.  The checker executes each file against its
instance.  A row is a file; seconds are of the processor, for the export and for its check.  Sizes
are the powers of two from 64 KiB to 1 GiB as nccl-tests counts them.

::

    python benchmarks/plans.py                     # all machines, into results: half an hour
    python benchmarks/plans.py --row dgx1 --time-limit 20 --frontiers kept/ -o dgx1.md
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import syncoll
from benchmarks.exports import frontier
from benchmarks.tables import Page, add_options, add_rows, is_asked, made_at
from syncoll.planning import PlannedExport
from syncoll.plugins import ExporterRecord, ExportRequest, PluginManager
from syncoll.plugins.exporters import UNLIMITED
from syncoll.runtime import export_verified
from syncoll.units import format_size

MACHINES = (
    *("dgx1", "dgx_h100", "dgx_h100(nvls=true)", "dgx_h100(boxes=2)", "a100(boxes=2)"),
    *("ring(8)", "torus(4,4)", "hypercube(3)", "fully_connected(8)", "mi300x", "mi300x(boxes=2)"),
    *("mi250(boxes=1)", "dgx_h100(boxes=4)"),
)
COLLECTIVES = ("allgather", "reducescatter", "allreduce", "alltoall")
POWERS = tuple(1 << bits for bits in range(16, 31))
MODEL = {"alpha": "0.7us", "beta": "25GB/s"}
"""For machines without units of their own."""


def rows(machine: str, collective: str, file: Path, record: ExporterRecord) -> Iterator[str]:
    """A row for each plan, and one for each algorithm without one."""
    units = syncoll.topology(machine).fabric
    model: dict[str, Any] = {} if units is not None and units.measure == "GB/s" else MODEL
    how: dict[str, Any] = {"to": record.name, "skip_refused": True, "progress": "none"}
    made = syncoll.plan(file, **how, **model).made
    assert made is not None
    for one in made.exports:
        yield f"| {machine} | {collective} | {' | '.join(measured(one, record))} |"
    for left, reason in made.refused:
        yield f"| {machine} | {collective} | {left.where}: {reason} |||||||||||"


def measured(one: PlannedExport, record: ExporterRecord) -> Iterator[str]:
    """The cells of a plan."""
    stored, most = one.algorithm, UNLIMITED if one.max_bytes is None else one.max_bytes
    about = "x", stored.instance.collective, stored.instance, stored.algorithm, False
    (content,) = one.handed_out.exported.files.values()
    protocol = json.loads(content)["protocol"]
    request = ExportRequest(*about, one.min_bytes, most, most if protocol == "LL" else 0)
    began = time.process_time()
    exported = export_verified(record, request, {}).exported
    export = time.process_time() - began
    record.load_checker().check(exported.files, {}, stored.instance)
    check = time.process_time() - began - export
    ((_, content),) = exported.files.items()
    gpus, counts = json.loads(content)["gpus"], exported.counts
    assert counts is not None
    least, most = max(counts.min_bytes, one.min_bytes, POWERS[0]), min(most, counts.max_bytes)
    sizes = [size for size in POWERS if least <= size <= most]
    kinds = {channel["channel_type"] for gpu in gpus for channel in gpu["channels"]}
    last = "" if one.max_bytes is None else format_size(one.max_bytes + 1)
    yield f"{stored.steps}, {stored.bandwidth}, {stored.chunks}"
    yield f"{format_size(one.min_bytes)} - {last}"
    yield f"{counts.thread_blocks}"
    yield f"{max(len(block['ops']) for gpu in gpus for block in gpu['threadblocks'])}"
    yield f"{len(content) / 1024 / len(gpus):.0f}"
    yield f"{export:.1f}"
    yield f"{check:.1f}"
    yield f"{counts.multiple_of}"
    yield f"{sum(not size % counts.multiple_of for size in sizes)} of {len(sizes)}"
    yield " and ".join(sorted(kinds))
    yield protocol


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_rows(parser)
    parser.add_argument("--time-limit", type=float, default=30.0, help="seconds for each search")
    parser.add_argument("--frontiers", type=Path, help="a folder that keeps the frontiers' files")
    add_options(parser, "plans")
    arguments = parser.parse_args()
    page, record = Page(arguments.output), PluginManager.discover().exporters["mscclpp"]
    page.say("# MSCCL++ plans of machines", "", made_at("exporters", "syncoll/runtime"))
    page.say("Made by `benchmarks/plans.py`. All files of `syncoll plan --to mscclpp`, executed by")
    page.say(
        "the checker. Seconds are of the processor, and an export includes its check. Sizes are"
    )
    page.say(
        "the powers of two from 64 KiB to 1 GiB in the range of a plan, and how many of them the"
    )
    page.say("runtime takes. A row without numbers is an algorithm without a plan, and why.", "")
    page.conditions(arguments.time_limit)
    page.say(
        "| machine | collective | S, R/C, C | messages | thread blocks | operations | KiB a rank "
        "| export (s) | check (s) | multiple of | sizes | channels | protocol |"
    )
    page.say("|---|---|---|---|--:|--:|--:|--:|--:|--:|--:|---|---|")
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.frontiers or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for machine in MACHINES:
            for collective in COLLECTIVES:
                if is_asked(arguments, machine, collective):
                    frontier(machine, collective, arguments.time_limit, folder)
                    name = f"{machine}-{collective}"
                    name = "".join(c for c in name if c.isalnum() or c in "._-")
                    page.say(*rows(machine, collective, folder / f"{name}.json", record))
    page.write(None)


if __name__ == "__main__":
    main()
