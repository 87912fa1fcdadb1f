"""Importers: what turns a tool's description of a machine into a topology.

An importer reads text and returns a `Fabric` or a `Topology` with notes on what it assumed.  The
core writes a spec from these and reads that again, so what a search sees is what a user can read
and edit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from syncoll.model import Fabric, Topology
from syncoll.plugins.options import Option, OptionValue

__all__ = ["Imported", "Importer", "ImporterRecord"]


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
    """

    machine: Fabric | Topology
    notes: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    switch_names: tuple[str, ...] = ()


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
        """


def _never(_: str) -> bool:
    return False


@dataclass(frozen=True)
class ImporterRecord:
    """An importer's entry.

    Args:
        name: as written after ``syncoll import`` and before the colon of a topology: a word of
            lower-case letters, digits and ``-``.
        summary: one line: what it reads, and the command that prints it.
        load: imports and returns the importer.
        recognises: whether a text looks like something for it; cheap, and used only to tell a user
            who chose another one.
        options: its option table.
    """

    name: str
    summary: str
    load: Callable[[], Importer]
    recognises: Callable[[str], bool] = field(default=_never)
    options: tuple[Option, ...] = ()
