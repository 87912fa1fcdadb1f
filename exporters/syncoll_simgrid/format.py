"""The parts of a folder for SimGrid that its writer and its checker agree on."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import groupby
from math import gcd
from pathlib import Path
from typing import Any

from syncoll.model import Topology
from syncoll.planning import unit_bandwidth
from syncoll.plugins import Options
from syncoll.simulating import physical_network
from syncoll_tables import mpi_format

FORMAT = mpi_format("simgrid")

_MOST_MESSAGES = 1 << 17
"""Messages are not cut into more pieces; limits the time of a simulation."""


def program(table: Any, function: str, head: str) -> str:
    """The text of a `syncoll.runtime.MessageTable`, whose messages are cut to `equal_pieces`."""
    return FORMAT.text(replace(table, messages=equal_pieces(table.messages)), function, head)


def equal_pieces(messages: Sequence[tuple[int, ...]]) -> Sequence[tuple[int, ...]]:
    """The messages of each step, cut into pieces of equal numbers of slots.

    SimGrid gives all messages on a link the same rate, small and large ones.  So a step of unequal
    messages takes longer than its load; a step of equal ones does not.

    Args:
        messages: rows as in `syncoll_tables.module`, ordered by message and step.
    """
    sizes: dict[int, list[int]] = {}
    for message, rows in groupby(messages, lambda row: row[:4]):
        sizes.setdefault(message[0], []).append(sum(row[6] for row in rows))
    each = {step: gcd(*found) for step, found in sizes.items()}
    most = max((max(found) // each[step] for step, found in sizes.items()), default=1)
    pieces = sum(sum(found) // each[step] for step, found in sizes.items())
    if most == 1 or pieces > _MOST_MESSAGES:
        return messages
    cut: list[tuple[int, ...]] = []
    for (step, *ends, tag), rows in groupby(messages, lambda row: row[:4]):
        done = 0
        for *_, sent, stored, count in rows:
            while count:
                piece, used = divmod(done, each[step])
                part = min(count, each[step] - used)
                cut.append((step, *ends, tag * most + piece, sent, stored, part))
                done, sent, stored, count = done + part, sent + part, stored + part, count - part
    return cut


def script(name: str, nodes: int) -> str:
    """The script that runs ``NAME.c``."""
    text = Path(__file__).with_name("run.sh.txt").read_text("utf-8")
    return text.replace("@NAME@", name).replace("@NODES@", str(nodes))


def link_speeds(topology: Topology, options: Options) -> tuple[Fraction, list[Fraction]]:
    """Bytes per second of a chunk per round, and seconds of each link."""
    alpha = Fraction(str(options["latency"])) / 10**6
    unit = Fraction(str(options["bandwidth"])) * 10**9
    unit = unit or unit_bandwidth(topology) or Fraction(10**9)
    if not alpha and topology.fabric is not None and topology.fabric.states_latencies:
        return unit, list(physical_network(topology, None, unit).link_latencies)
    return unit, [alpha or Fraction(1, 10**6)] * len(topology.links)
