"""Times of algorithms on their physical networks, and of classics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from syncoll import values
from syncoll.documents import StoredAlgorithm, write_atomically
from syncoll.errors import SpecError, UsageError
from syncoll.model import Instance
from syncoll.pages import Page
from syncoll.pages.simulation import simulation_page
from syncoll.runtime import kind_of
from syncoll.session import Session
from syncoll.simulating import Comparison, simulation_document, trace_content
from syncoll.verbs.asking import What
from syncoll.verbs.result import Tabular, columns_of
from syncoll.wording import argument

__all__ = ["SimulationResult", "classics_of"]


@dataclass(frozen=True, eq=False, repr=False)
class SimulationResult(Tabular, Comparison):
    """Times of algorithms for sizes, and of classics.

    Args:
        collective: its name.
    """

    collective: str = ""

    columns: ClassVar = columns_of(
        "str where classic, int steps rounds chunks size count, "
        "float bandwidth per_node seconds algbw busbw"
    )

    def records(self) -> list[dict[str, Any]]:
        """A row for each algorithm and size; sizes are bytes, rates bytes per second."""
        each = self.document()["algorithms"]
        return [{**one, **row} for one in each for row in one["measurements"]]

    def page(self, *, all_classics: bool = False) -> Page:
        """Tables as nccl-tests prints them, and the fastest for each size.

        Args:
            all_classics: whether each form of a classic has a table of its own.
        """
        return simulation_page(self, self.collective, all_classics=all_classics)

    def document(self) -> dict[str, Any]:
        """The times as JSON."""
        return simulation_document(self, self.collective)

    def trace(
        self, path: str | Path, size: int | str = "1MiB", names: Sequence[str] = ()
    ) -> tuple[str, ...]:
        """Writes the events of simulations as a file for ui.perfetto.dev.

        Args:
            path: the file, such as ``out.pftrace``.
            size: of the message.
            names: of algorithms, such as ``points[1]`` or ``ring[0]``; without names the fastest
                algorithm and the fastest classic at that size.

        Returns:
            The names of the algorithms in it.

        Raises:
            UsageError: on an unknown name, if there are too many sends to show, or the file cannot
                be written.
        """
        chosen, exact = tuple(names), values.bytes_of(size)
        if exact < 1:
            raise UsageError(f"{argument('trace_size')}: {size!r}; expected at least 1 byte")
        if not chosen:
            fastest = (self.fastest(group, exact) for group in (self.algorithms, self.classics))
            chosen = tuple(one.name for one in fastest if one is not None)
        write_atomically(
            Path(path), trace_content({one: self.simulation(one, exact) for one in chosen})
        )
        return chosen


def classics_of(
    session: Session, instance: Instance, wanted: bool | Sequence[str], meant: What | None
) -> tuple[dict[str, list[StoredAlgorithm]], dict[str, str]]:
    """The classics for an instance's collective, by name, and the reasons without others."""
    if wanted is False or wanted == []:
        return {}, {}
    try:
        collective = session.collective(instance.collective if meant is None else meant)
        table = collective.tabulate(instance.topology.num_nodes, instance.chunks)
        same = table.matching(instance.table) is not None
    except SpecError as error:
        if meant is not None:
            raise
        return {}, {"every classic": f"{instance.collective} is unknown: {error}"}
    if not same:
        why = f"{collective.name} is another collective than {instance.collective} in the file"
        if meant is not None:
            raise UsageError(f"{argument('collective')}: {why}")
        return {}, {"every classic": why}
    names = None if wanted is True else list(wanted)
    found, reasons = session.classics(instance.topology, collective, names)
    stored = {
        name: [StoredAlgorithm(*one, f"{name}[{i}]") for i, one in enumerate(each)]
        for name, each in found.items()
    }
    kinds = kind_of(instance).kind
    for name, each in stored.items():
        assert all(kind_of(one.instance).kind is kinds for one in each), name
    return stored, reasons
