"""Importers: they make a topology from a tool's description of a machine.

An importer reads text and returns a `Fabric` or a `Topology`, with notes on its assumptions.  The
core writes a spec from these and reads it again: a search uses the text that a user can read and
edit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Protocol

from syncoll.plugins import fields
from syncoll.plugins.code import Code
from syncoll.plugins.guard import Guard, Loader, Recogniser, Returns
from syncoll.plugins.options import Option, Options
from syncoll.plugins.record import Record

if TYPE_CHECKING:
    from syncoll.model import Fabric, Topology

CLUSTER_OPTIONS = (
    Option(
        "boxes", 1, "how many such machines; more than one are joined by their network cards", low=1
    ),
    Option(
        "card",
        "",
        "speed of each network card in each direction, with its unit: 50GB/s or 400Gb/s; by "
        "default the speed in the file",
    ),
    Option(
        "cards",
        "",
        "the network cards that join boxes, by name with + between: mlx5_0+mlx5_1; by default all "
        "that are nearest to a GPU and not slower than half the fastest",
    ),
    Option(
        "domain",
        0,
        "the boxes whose NVLinks lead to the same NVSwitches, such as 18 in a rack of GB200; "
        "0: as the description says, else 1",
        low=0,
    ),
    Option(
        "rails",
        "no",
        "whether the network has a switch of its own for each card of a box, with that card of "
        "all boxes; no: one switch for all cards",
        choices=("no", "yes"),
    ),
)
"""For importers whose tools name network cards: the core makes the cluster."""

NETWORK_OPTION = Option(
    "network",
    "auto",
    "which links: NVLink/xGMI, PCIe and CPUs, both; auto takes NVLink/xGMI if they connect all "
    "GPUs, else both",
    choices=("auto", "nvlink", "pcie", "all"),
)


@dataclass(frozen=True)
class NetworkCard:
    """A network card, which can join a machine to others.

    Args:
        name: the tool's name for it.
        distances: distance from each compute node on any scale; smaller is nearer.
        bandwidth: GB/s in each direction; None if the tool does not print it.
        switch: the switch of the machine through which nodes reach the card; None if the nearest
            nodes reach it directly.
        own: further nodes, which reach it directly.
        lanes: GB/s in each direction of its link to the machine; None for the card's own bandwidth.
        alias: another name; empty for none.
    """

    name: str
    distances: tuple[int, ...]
    bandwidth: Fraction | None = None
    switch: int | None = None
    lanes: Fraction | None = None
    alias: str = ""
    own: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        fields.check_fields(self, switch=fields.or_none(fields.at_least(0, fields.whole)))


@dataclass(frozen=True)
class Imported:
    """A machine that a tool described.

    Args:
        machine: a fabric if there are switches or bandwidths in GB/s; a topology if links are in
            chunks per round, or share bandwidth in ways that a fabric cannot express.
        notes: assumptions and omissions, one sentence each: link speeds, directions, devices that
            are no compute nodes.
        names: the tool's names of node 0, node 1, …; empty if it has no names.
        switch_names: its names of switch 0, switch 1, …; empty if it has no names.
        cards: the network cards that the tool lists; they are no part of the machine.
        boxes: the number of equal machines in it, with consecutive numbers of nodes and of
            switches.  An importer makes one; the core repeats it (`syncoll.importing.clusters`).
        hubs: the number of switches, the last ones, that join the boxes.
        interconnect: ``NVLink`` or ``xGMI`` if the library of the GPUs' maker documents latencies,
            which the core then adds (`syncoll.importing.latencies`); else empty.
        shared: the switches that may lead out of a box, as NVSwitches of a rack do.
        domain: the number of boxes that share them, as far as the description shows.
    """

    machine: Fabric | Topology
    notes: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    switch_names: tuple[str, ...] = ()
    cards: tuple[NetworkCard, ...] = ()
    boxes: int = 1
    hubs: int = 0
    interconnect: str = ""
    shared: tuple[int, ...] = ()
    domain: int = 1

    def __post_init__(self) -> None:
        boxes, hubs = (fields.at_least(least, fields.whole) for least in (1, 0))
        fields.check_fields(self, boxes=boxes, hubs=hubs)


class Importer(Protocol):
    """Reads descriptions of machines.  It ends quickly for every text."""

    def read(self, text: str, label: str, options: Options) -> Imported:
        """The machine that a text describes.

        Args:
            text: a file's content.
            label: the user's name of the file, for messages.
            options: a value for every option of the record's table.

        Raises:
            ImportFormatError: if the text is malformed, truncated, or does not define the links
                between the compute nodes; it says how to get a better one.
            OptionError: if an option that must be a bandwidth is not one.
        """


@dataclass(frozen=True)
class ImporterRecord(Record):
    """An importer's entry.

    Args:
        name: as written after ``syncoll import`` and before the colon of a topology: a word of
            lower-case letters, digits and ``-``.
        summary: one line: the format, and the command that prints it.
        recognises: whether a text looks like this format; cheap, and only used in messages to users
            who chose another format.
    """

    guards: ClassVar[Mapping[str, Guard]] = {
        "recognises": Recogniser,
        "load": partial(Loader, methods={"read": Returns(Imported)}),
    }

    load: Code[Callable[[], Importer]] = Code()
    recognises: Code[Callable[[str], bool]] = Code(lambda _: False)
    options: tuple[Option, ...] = ()
