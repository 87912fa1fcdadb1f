"""Algorithms in files of other tools, as checkers of exports read them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from syncoll.errors import UsageError
from syncoll.wording import argument

if TYPE_CHECKING:
    from syncoll.arrays import Bools
    from syncoll.model import Algorithm, Collective, Topology

_T = TypeVar("_T")


@dataclass(frozen=True)
class Meant:
    """The machine and the collective that a user named for a file; None where the file has them."""

    topology: Topology | None = None
    collective: Collective | None = None

    def machine(self) -> Topology:
        """The machine.  Raises `UsageError` if none was named."""
        return _named(self.topology, "machine", "topology")

    def result(self) -> Collective:
        """The collective.  Raises `UsageError` if none was named."""
        return _named(self.collective, "collective", "collective")


def _named(value: _T | None, noun: str, name: str) -> _T:
    if value is None:
        raise UsageError(f"the file does not state its {noun}; name it with {argument(name)}")
    return value


@dataclass(frozen=True, eq=False)
class ForeignAlgorithm:
    """An algorithm of a file, not yet verified.  Its chunks may have any order.

    Args:
        collective: the collective of the file as the library names it, such as
            ``broadcast(root=2)``, or else its own name.
        algorithm: its sends, with any rounds if `derived`.
        pre: ``[G, P]``: chunk c starts at node n.
        post: ``[G, P]``: chunk c must end at node n.
        combining: whether chunks are reduced.
        chunks: C, of a collective that the library does not have.
        topology: the machine of the file; None if it states none.
        derived: the origin of steps and rounds, in a sentence; empty if the file states them.
        waves: whether steps are only an order: a send has a later one than the sends that it waits
            for, and than the sends before it on its link.
    """

    collective: str
    algorithm: Algorithm
    pre: Bools
    post: Bools
    combining: bool
    chunks: int = 1
    topology: Topology | None = None
    derived: str = ""
    waves: bool = False
