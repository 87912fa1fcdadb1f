"""Importers: what turns a tool's description of a machine into a topology.

An importer reads text and returns a `Fabric` or a `Topology` with notes on what it assumed.  The
core writes a spec from these and reads that again, so what a search sees is what a user can read
and edit.
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
from syncoll.plugins.options import Option, OptionValue
from syncoll.plugins.record import Record

if TYPE_CHECKING:
    from syncoll.model import Fabric, Topology

__all__ = ["CLUSTER_OPTIONS", "Imported", "Importer", "ImporterRecord", "NetworkCard"]

CLUSTER_OPTIONS = (
    Option(
        "boxes",
        1,
        "how many such machines; more than one are joined by their network cards",
        low=1,
    ),
    Option(
        "card",
        "",
        "speed of each network card in each direction, with its unit: 50GB/s or 400Gb/s; empty for "
        "what the file says",
    ),
    Option(
        "cards",
        "",
        "the network cards that join boxes, by name with + between: mlx5_0+mlx5_1; empty for all",
    ),
    Option(
        "rails",
        "no",
        "whether the network has a switch of its own for each card of a box, with that card of all "
        "boxes; no has one switch for all cards",
        choices=("no", "yes"),
    ),
)
"""For the tables of importers whose tools name network cards: the core makes the cluster."""


@dataclass(frozen=True)
class NetworkCard:
    """A network card, by which a machine can be joined to others like it.

    Args:
        name: what the tool calls it.
        distances: from each compute node, in whatever tells near from far; smaller is nearer.
        bandwidth: GB/s in each direction; None where the tool does not tell.
        switch: the switch of the machine on which it hangs, so that all nodes reach it that way;
            None where those that are nearest to it reach it directly.
        lanes: GB/s in each direction of its link to the machine; None for as much as the card.
        alias: another name; empty for none.
    """

    name: str
    distances: tuple[int, ...]
    bandwidth: Fraction | None = None
    switch: int | None = None
    lanes: Fraction | None = None
    alias: str = ""

    def __post_init__(self) -> None:
        fields.check_fields(self, switch=fields.or_none(fields.at_least(0, fields.whole)))


@dataclass(frozen=True)
class Imported:
    """A machine that some tool described.

    Args:
        machine: a fabric where bandwidths are known in GB/s or there are switches; a topology where
            links are in chunks per round, or share bandwidth in ways that a fabric cannot say.
        notes: what was assumed and what was left out, a sentence each: link speeds, directions,
            devices that are no compute nodes.
        names: what the tool calls node 0, node 1, …; empty where it has no names.
        switch_names: what it calls switch 0, switch 1, …; empty where it has no names.
        cards: those of which the tool tells; they are no part of the machine.
        boxes: of how many equal machines it consists, one behind the other in numbers of nodes and
            of switches.  An importer makes one; the core makes more of it
            (`syncoll.importing.clusters`).
        hubs: the last so many switches join the boxes.
        interconnect: ``NVLink`` or ``xGMI``, where its GPUs are of a maker whose library documents
            latencies, which the core then adds (`syncoll.importing.latencies`); else empty.
    """

    machine: Fabric | Topology
    notes: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    switch_names: tuple[str, ...] = ()
    cards: tuple[NetworkCard, ...] = ()
    boxes: int = 1
    hubs: int = 0
    interconnect: str = ""

    def __post_init__(self) -> None:
        boxes, hubs = (fields.at_least(least, fields.whole) for least in (1, 0))
        fields.check_fields(self, boxes=boxes, hubs=hubs)


class Importer(Protocol):
    """Reads descriptions of machines.  Whatever the text is, it ends, and soon."""

    def read(self, text: str, label: str, options: Mapping[str, OptionValue]) -> Imported:
        """The machine that a text describes.

        Args:
            text: a file's content.
            label: what the user calls the file, for messages.
            options: a value for every option of the record's table.

        Raises:
            ImportFormatError: when the text is not what it should be, is truncated, or does not
                hold enough to know the links between the compute nodes; it says what to do.
            OptionError: when an option is no bandwidth and should be.
        """


@dataclass(frozen=True)
class ImporterRecord(Record):
    """An importer's entry.

    Args:
        name: as written after ``syncoll import`` and before the colon of a topology: a word of
            lower-case letters, digits and ``-``.
        summary: one line: what it reads, and the command that prints it.
        recognises: whether a text looks like something for it; cheap, and used only to tell a user
            who chose another one.
    """

    guards: ClassVar[Mapping[str, Guard]] = {
        "recognises": Recogniser,
        "load": partial(Loader, methods={"read": Returns(Imported)}),
    }

    load: Code[Callable[[], Importer]] = Code()
    recognises: Code[Callable[[str], bool]] = Code(lambda _: False)
    options: tuple[Option, ...] = ()
