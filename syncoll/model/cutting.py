"""Cutting: a definition describes the least C, and a larger C cuts every chunk.

A lower bound on R/C counts the chunks, per C, that must get from one set of nodes to another.  If a
larger C only cuts the chunks of the least C, a bound for one C holds for every C.  A definition has
this meaning unless it is irregular (and solved for one C at a time):

* The least C is the first for which its requirements hold.
* All other C are multiples of it for which the requirements hold as well.
* For m times the least C each chunk of the least C becomes m chunks with the same start and end.

A definition still numbers the chunks of a larger C: a runtime without this collective lays out
buffers in that order.  A definition that differs in other ways is refused: for the first multiples
of the least C at its first use, and for each other C when its table is made.  So no C is ever
searched, or exported, for which definition and cutting disagree.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from syncoll.errors import LocatedError, ModelError, SpecLimitError
from syncoll.model.node_sets import paired
from syncoll.model.rows import MOST_CELLS, RelationTable
from syncoll.wording import counted

_LARGEST_LEAST_CHUNKS = 100_000
"""The largest C tried in a search for the least one, which takes some seconds."""

_MOST_TIMES = 8
"""Multiples of the least C that are compared before the definition is used."""

_FEW_CHUNKS = 64
"""Each C up to this, or twice the least, must be a multiple of the least before it is used."""

_FEW_CELLS = 1 << 15
"""Cells of a cheap table; up to this size more than one multiple is compared."""


@dataclass(frozen=True, eq=False, repr=False)
class Cutting:
    """The tables of a definition in which a larger C cuts every chunk.

    Args:
        refuse: makes the error for a definition: from the guilty statement (``require``,
            ``chunks``, ``pre`` or ``post``), the message, and the expected.
        hint: the way to declare a definition irregular, as the end of ``expected …, or …``.
    """

    name: str
    table: Callable[[int, int], RelationTable]
    meets: Callable[[int, int], bool]
    refuse: Callable[[str, str, str], LocatedError]
    hint: str
    _least: dict[int, int] = field(init=False, default_factory=dict)
    _bases: dict[int, RelationTable] = field(init=False, default_factory=dict)

    def admits(self, nodes: int, chunks: int) -> bool:
        """Whether the collective is defined for C = `chunks`.  Raises `LocatedError` if the
        requirements hold for it, but it is no multiple of the least C."""
        if not self.meets(nodes, chunks):
            return False
        self._require_multiple(nodes, chunks)
        return True

    def tabulate(self, nodes: int, chunks: int) -> RelationTable:
        """The table for one P and one C.  Raises `LocatedError` if there is no table, or it differs
        from the cut table of the least C."""
        if not self.admits(nodes, chunks):
            return self.table(nodes, chunks)  # states the reason, if it is known
        base, least = self._base(nodes, chunks), self._least[nodes]
        if chunks == least:
            return base
        table = self._said(nodes, chunks)
        self._compare(base, table, nodes, chunks)
        return table

    def _require_multiple(self, nodes: int, chunks: int) -> None:
        """Finds the least C, and raises unless `chunks` is a multiple of it."""
        where = counted(nodes, "node")
        if nodes not in self._least:
            tried = range(1, min(chunks, _LARGEST_LEAST_CHUNKS) + 1)
            found = next((one for one in tried if self.meets(nodes, one)), None)
            if found is None:
                raise self.refuse(
                    "require",
                    f"{self.name} is defined for C = {chunks} on {where}, but for no C up to "
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
        """The table of the least C, once it agrees with the tables of the next C."""
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
                    except SpecLimitError:  # this C has no table
                        break
                    most = _FEW_CELLS
            self._bases[nodes] = base.cut(1)  # read-only
        return self._bases[nodes]

    def _said(self, nodes: int, chunks: int) -> RelationTable:
        """The definition's table for a C that the user may not have asked for."""
        try:
            return self.table(nodes, chunks)
        except SpecLimitError:
            raise
        except (LocatedError, ArithmeticError, LookupError, TypeError, ValueError) as error:
            told = error if isinstance(error, LocatedError) else ModelError(repr(error))
            raise type(told)(
                f"{self.name} cannot be evaluated for C = {chunks} ({counted(nodes, 'node')}), "
                f"although its requirements hold for it: {told.message}",
                told.origin,
                f"{told.expected}, or {self.hint}".removeprefix(", or "),
            ) from error

    def _compare(self, base: RelationTable, table: RelationTable, nodes: int, chunks: int) -> None:
        """Raises unless a table is the least C's with every chunk cut, in any order."""
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
