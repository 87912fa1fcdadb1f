"""Cutting: a definition describes the least C, and a larger C cuts every chunk.

What a lower bound on R/C speaks of is how many chunks, per C, have to get from where to where.
Where a larger C does nothing but cut the chunks of the least one, a bound for one C holds for every
C.  So that is what a definition means, unless it says that it is irregular (such a collective is
solved for one C at a time):

* The least C is the first for which its requirements hold.
* All other C are multiples of it, those for which the requirements hold as well.
* For m times the least C there are m chunks for each chunk of the least, which start and end as
  that one does.

What a definition says of a larger C still decides how the chunks are numbered (runtimes lay out
buffers of a collective that they do not know in that order).  It must not say anything else, and is
refused where it does: for the C that follow the least as soon as it is used, and for each other C
when its table is made.  So no C is ever searched, or exported, of which definition and cutting say
different things; a C for which they would is one for which the collective is not defined.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from syncoll.errors import LocatedError, ModelError, SpecLimitError
from syncoll.model.node_sets import paired
from syncoll.model.rows import MOST_CELLS, RelationTable
from syncoll.wording import counted

__all__ = ["Cutting"]

_LARGEST_LEAST_CHUNKS = 100_000
"""Up to where the least C is looked for: some seconds."""

_MOST_TIMES = 8
"""How many multiples of the least C are compared before the definition is used."""

_FEW_CHUNKS = 64
"""C up to this, or twice the least, must be multiples of the least before it is used."""

_FEW_CELLS = 1 << 15
"""Cells of a table that costs next to nothing, so that more than one multiple is compared."""


@dataclass(frozen=True, eq=False, repr=False)
class Cutting:
    """The tables of a definition in which a larger C cuts every chunk.

    Args:
        refuse: makes the error of a definition that is refused: of what is to blame (``require``,
            ``chunks``, ``pre`` or ``post``), what is wrong, and what would have been right.
        hint: how a definition says that it is irregular, as the end of ``expected …, or …``.
    """

    name: str
    table: Callable[[int, int], RelationTable]
    meets: Callable[[int, int], bool]
    refuse: Callable[[str, str, str], LocatedError]
    hint: str
    _least: dict[int, int] = field(init=False, default_factory=dict)
    _bases: dict[int, RelationTable] = field(init=False, default_factory=dict)

    def admits(self, nodes: int, chunks: int) -> bool:
        """Whether the collective is defined for C = `chunks`.

        Raises:
            LocatedError: when the requirements hold for it, but it is no multiple of the least C.
        """
        if not self.meets(nodes, chunks):
            return False
        self._require_multiple(nodes, chunks)
        return True

    def tabulate(self, nodes: int, chunks: int) -> RelationTable:
        """The table for one P and one C.

        Raises:
            LocatedError: when there is none, or the definition means something else for a larger C
                than cutting.
        """
        if not self.admits(nodes, chunks):
            return self.table(nodes, chunks)  # which says why, where it knows
        base, least = self._base(nodes, chunks), self._least[nodes]
        if chunks == least:
            return base
        table = self._said(nodes, chunks)
        self._compare(base, table, nodes, chunks)
        return table

    def _require_multiple(self, nodes: int, chunks: int) -> None:
        """Finds the least C, of which one that meets the requirements must be a multiple."""
        where = counted(nodes, "node")
        if nodes not in self._least:
            tried = range(1, min(chunks, _LARGEST_LEAST_CHUNKS) + 1)
            found = next((one for one in tried if self.meets(nodes, one)), None)
            if found is None:
                raise self.refuse(
                    "require",
                    f"{self.name} is defined for C = {chunks} on {where}, and for no C up to "
                    f"{_LARGEST_LEAST_CHUNKS}",
                    f"a smaller least C, or {self.hint}",
                )
            self._least[nodes] = found
        least = self._least[nodes]
        if chunks % least:
            raise self.refuse(
                "require",
                f"{self.name} is also defined for C = {chunks}, which is not a multiple of its "
                f"least C, {least} ({where})",
                f"requirements that only multiples of {least} meet, or {self.hint}",
            )

    def _base(self, nodes: int, asked: int) -> RelationTable:
        """The table of the least C, once it is clear that the next ones say no more than it."""
        if nodes not in self._bases:
            least = self._least[nodes]
            base = (self.table if asked == least else self._said)(nodes, least)
            for chunks in range(least + 1, max(2 * least, _FEW_CHUNKS) + 1):
                if chunks % least and self.meets(nodes, chunks):
                    self._require_multiple(nodes, chunks)
            most = MOST_CELLS
            for chunks in range(2 * least, _MOST_TIMES * least + 1, least):
                if base.cells * (chunks // least) > most:
                    break
                if self.meets(nodes, chunks):
                    try:
                        self._compare(base, self._said(nodes, chunks), nodes, chunks)
                    except SpecLimitError:  # for this C there is no table, whoever asks for it
                        break
                    most = _FEW_CELLS
            self._bases[nodes] = base.cut(1)  # which nobody can change
        return self._bases[nodes]

    def _said(self, nodes: int, chunks: int) -> RelationTable:
        """What the definition says of a C that nobody may have asked for."""
        try:
            return self.table(nodes, chunks)
        except SpecLimitError:
            raise
        except (LocatedError, ArithmeticError, LookupError, TypeError, ValueError) as error:
            told = error if isinstance(error, LocatedError) else ModelError(repr(error))
            raise type(told)(
                f"{self.name} cannot be evaluated for C = {chunks} ({counted(nodes, 'node')}), "
                f"for which its requirements hold: {told.message}",
                told.origin,
                f"{told.expected}, or {self.hint}".removeprefix(", or "),
            ) from error

    def _compare(self, base: RelationTable, table: RelationTable, nodes: int, chunks: int) -> None:
        """Passes when a table is that of the least C with every chunk cut, in whatever order."""
        least = self._least[nodes]
        cut = base.cut(chunks // least)
        if len(table) != len(cut):
            guilty = "chunks"
            what = f"{counted(len(table), 'chunk')} instead of {len(cut)}"
        elif table.same_as(cut):
            return
        elif paired((table.starts,), (cut.starts,)) is None:
            guilty, what = "pre", "chunks start elsewhere"
        else:
            guilty, what = "post", "chunks end elsewhere"
        raise self.refuse(
            guilty,
            f"{self.name} with C = {chunks} is not {self.name} with C = {least} and every chunk "
            f"cut ({counted(nodes, 'node')}): {what}",
            f"chunks, pre and post in proportion to C, or {self.hint}",
        )
