"""A collective without some of its nodes, as a collective on the remaining nodes.

The lost nodes provide and need no data.  Each chunk's pre and post keep the other nodes, renumbered
from 0 in their order, and a chunk that no node has, or needs, disappears.  C is the C of the whole
collective, on all its nodes.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np

from syncoll.arrays import Bools
from syncoll.errors import ModelError, Origin
from syncoll.model.collective import Collective
from syncoll.model.derived import dual_of
from syncoll.model.rows import RelationTable
from syncoll.wording import counted


def without(
    collective: Collective,
    nodes: Sequence[int],
    name: str = "",
    origin: Origin | None = None,
    nodes_origin: Origin | None = None,
) -> Collective:
    """The collective without some nodes.

    Args:
        nodes: the lost nodes, as numbered in the whole collective.
        name: empty for its name in the spec language.
        origin: where a spec file asks for it.
        nodes_origin: where it names these nodes.

    Raises:
        ModelError: if `nodes` are no distinct nodes; when a table is made, if the collective has no
            such node, or no chunk remains.

    Examples:
        >>> from syncoll.api import collective
        >>> from syncoll.model.fewer_nodes import without
        >>> rest = without(collective("alltoall"), [1])
        >>> rest.name, rest.tabulate(2, 3).post.astype(int).tolist()
        ('alltoall without node 1', [[1, 0], [1, 0], [0, 1], [0, 1]])
    """
    gone = tuple(nodes)
    for node in gone:
        if isinstance(node, bool) or not isinstance(node, int) or node < 0:
            raise ModelError(f"node {node!r}", origin, "a whole number from 0")
    twice = next((node for node in gone if gone.count(node) > 1), None)
    if not gone or twice is not None:
        message = "no node is removed" if twice is None else f"node {twice} is named twice"
        raise ModelError(message, origin, "different nodes")
    name = name or f"{as_operand(collective.name)} {words_without(gone)}"
    place = nodes_origin or origin
    left = _Left(collective, name, gone, place)
    regular = not collective.irregular
    dual, per_dual = None, None
    if collective.dual is not None and regular:
        dual = without(collective.dual, gone, "", origin, place)
        per_dual = partial(_per_dual, collective, collective.dual, len(gone))
    return Collective(
        name,
        left.tabulate,
        left.admits,
        collective.requirement,
        origin,
        combining=collective.combining,
        dual=dual,
        irregular=collective.irregular,
        in_units=collective.in_units,
        per_dual=per_dual,
        plain=None if collective.plain is None else without(collective.plain, gone, name, origin),
    )


def words_without(nodes: Sequence[int]) -> str:
    """``without node 1 and node 3``."""
    return f"without {' and '.join(f'node {node}' for node in nodes)}"


def as_operand(name: str) -> str:
    """A name before ``without``: a sum gets brackets.

    >>> as_operand("allgather within [[0,1],[2,3]]"), as_operand("2 * allgather + alltoall")
    ('allgather within [[0,1],[2,3]]', '(2 * allgather + alltoall)')
    """
    binds = len(terms_of(name)) == 1 and not re.match(r"[0-9]+ \* ", name)
    return name if binds else f"({name})"


def terms_of(name: str) -> list[str]:
    """The terms in the name of a sum, brackets aside.

    >>> terms_of("2 * allgather + (alltoall + gather) within [[0,1]]")
    ['2 * allgather', '(alltoall + gather) within [[0,1]]']
    """
    terms, depth = [""], 0
    for part in re.split(r'("[^"]*"| \+ |[()\[\]])', name):
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(part, 0)
        if part == " + " and not depth:
            terms.append("")
        else:
            terms[-1] += part
    return terms


def rest_of(table: RelationTable, nodes: Sequence[int]) -> tuple[Bools, Bools, Bools]:
    """Pre and post of the remaining `nodes`, and ``[G]`` whether some have and need a chunk."""
    pre, post = table.pre[:, nodes], table.post[:, nodes]
    kept: Bools = np.logical_and(pre.any(axis=1), post.any(axis=1))
    return pre, post, kept


@dataclass(frozen=True, eq=False, repr=False)
class _Left:
    """The tables; they can be pickled if the whole collective can."""

    whole: Collective
    name: str
    gone: tuple[int, ...]
    origin: Origin | None

    def admits(self, nodes: int, chunks: int) -> bool:
        """Whether the whole collective is defined for C."""
        self._require_there(nodes)
        return self.whole.admits(nodes + len(self.gone), chunks)

    def tabulate(self, nodes: int, chunks: int) -> RelationTable:
        """The rows of the remaining nodes and chunks."""
        self._require_there(nodes)
        every = nodes + len(self.gone)
        left = [node for node in range(every) if node not in self.gone]
        pre, post, kept = rest_of(self.whole.tabulate(every, chunks), left)
        if not kept.any():
            raise ModelError(
                f"{self.name} has no chunks: all data of {self.whole.name} starts or ends at a "
                "removed node",
                self.origin,
            )
        return RelationTable(pre[kept], post[kept])

    def _require_there(self, nodes: int) -> None:
        every = nodes + len(self.gone)
        missing = next((node for node in self.gone if node >= every), None)
        if missing is not None:
            raise ModelError(
                f"{self.name}, on {counted(nodes, 'node')}: without "
                f"{counted(len(self.gone), 'node')} it is {self.whole.name} on "
                f"{counted(every, 'node')}, and there is no node {missing}",
                self.origin,
                f"a node of 0 to {every - 1}",
            )


def _per_dual(whole: Collective, dual: Collective, gone: int, nodes: int) -> Fraction:
    """C divided by the dual's C, on all nodes."""
    every = nodes + gone
    least = whole.least_chunks(every)
    if least is None:
        raise ModelError(f"collective {whole.name} is defined for no C on {counted(every, 'node')}")
    return Fraction(least, dual_of(whole, dual, every, least))
