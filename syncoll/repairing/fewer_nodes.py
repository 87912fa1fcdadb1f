"""What a collective means where nodes are gone.

A node that is gone takes no part: nobody waits for its data, and it needs none.  So of each chunk's
pre and post the nodes that are left count, and a chunk that nobody has, or nobody needs, is no
longer there.  That is the collective of the same name on fewer nodes, where its numbers of nodes (a
root, the groups of ``within``) are those of the nodes that remain; and it is looked at whether that
is so.  Where it is not, as for sizes that a file gives, it is what is left of the table, for the
same C as on the whole machine.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice, product

import numpy as np
import numpy.typing as npt

from syncoll.errors import ImpossibleError, LocatedError, ModelError, UsageError
from syncoll.model import Collective, RelationTable
from syncoll.model.derived import dual_of
from syncoll.repairing.damaged import Damaged

__all__ = ["on_fewer_nodes", "rest_of"]

BoolArray = npt.NDArray[np.bool_]

_MOST_SPELLINGS = 64

_NUMBERS = re.compile(r"(\[\[[0-9,\s\[\]]*\]\])|(?<![\w.])([0-9]+)(?![\w.])")
"""Lists of groups, and numbers that stand alone."""


def on_fewer_nodes(
    machine: Damaged, collective: Collective, find: Callable[[str], Collective]
) -> Collective:
    """The collective whose table is what remains of the whole machine's.

    Args:
        find: a collective by its name.

    Raises:
        ImpossibleError: when all of it starts, or ends, at nodes that are gone.
        UsageError: when it is defined for no C on the whole machine.
    """
    nodes = machine.whole.num_nodes
    least = collective.least_chunks(nodes)
    if least is None:
        raise UsageError(f"{collective.name} is defined for no C on {nodes} nodes")
    table = collective.tabulate(nodes, least)
    pre, post, kept = rest_of(table, machine)
    needed = post.any(axis=1)
    if not collective.irregular and ((needed & ~pre.any(axis=1)).all() or not kept.any()):
        raise ImpossibleError(
            f"nothing is left of {collective.name} without {_gone(machine)}, where all its data "
            "starts or ends"
        )
    if not collective.irregular:
        wanted = _kinds(pre[kept], post[kept], least if collective.in_units else 0)
        for rest in _spellings(machine, collective, find):
            if _is_asked(rest, len(machine.nodes), wanted, collective):
                return rest
    return _left_of(collective, machine, least)


def _is_asked(
    rest: Collective, nodes: int, wanted: dict[bytes, Fraction], whole: Collective
) -> bool:
    """Whether a collective on the nodes that are left is what remains."""
    if rest.irregular or rest.combining is not whole.combining:
        return False
    try:
        least = rest.least_chunks(nodes)
        if least is None:
            return False
        table = rest.tabulate(nodes, least)
    except LocatedError:  # it makes no sense on so many nodes
        return False
    return _kinds(table.pre, table.post, least if whole.in_units else 0) == wanted


def rest_of(table: RelationTable, machine: Damaged) -> tuple[BoolArray, BoolArray, BoolArray]:
    """Pre and post of the nodes that are left, and which chunks somebody has and somebody needs."""
    nodes = list(machine.nodes)
    pre, post = table.pre[:, nodes], table.post[:, nodes]
    kept: BoolArray = np.logical_and(pre.any(axis=1), post.any(axis=1))
    return pre, post, kept


def _kinds(pre: BoolArray, post: BoolArray, chunks: int) -> dict[bytes, Fraction]:
    """How many chunks start and end alike, for each of these.

    Args:
        chunks: C, whose part that is, where C counts pieces of a unit; 0 for their share of all
            chunks, where C counts those of a node, of whose data there may be less.
    """
    rows = np.packbits(np.concatenate([pre, post], axis=1), axis=1)
    counts = Counter(row.tobytes() for row in rows)
    return {row: Fraction(count, chunks or len(rows)) for row, count in counts.items()}


def _gone(machine: Damaged) -> str:
    return " and ".join(f"node {node}" for node in machine.lost_nodes)


# By another name ---------------------------------------------------------------------------------


def _spellings(
    machine: Damaged, collective: Collective, find: Callable[[str], Collective]
) -> Iterator[Collective]:
    """The collective itself, and with numbers in its name that may be those of nodes.

    Terms of a sum of which nothing is left are left out.
    """
    yield collective
    number = {node: i for i, node in enumerate(machine.nodes)}
    terms = [[*_spelled(term, number), ""] for term in _terms(collective.name)]
    for chosen in islice(product(*terms), _MOST_SPELLINGS):
        name = " + ".join(term for term in chosen if term)
        if name and name != collective.name:
            try:
                yield find(name)
            except LocatedError:
                continue


def _terms(name: str) -> list[str]:
    """What stands between the signs of a sum, those within brackets aside."""
    terms, depth = [""], 0
    for part in re.split(r"( \+ |[()\[\]])", name):
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(part, 0)
        if part == " + " and not depth:
            terms.append("")
        else:
            terms[-1] += part
    return terms


def _spelled(term: str, number: dict[int, int]) -> Iterator[str]:
    """A term with its numbers as they are, and as those of the nodes that are left."""
    parts, end = list[list[str]](), 0
    for match in _NUMBERS.finditer(term):
        parts.append([term[end : match.start()]])
        end = match.end()
        if match[1]:
            parts.append(_regrouped(match[1], number))
        else:
            own = int(match[2])
            parts.append(sorted({match[2], str(number.get(own, own))}))
    yield from ("".join(words) for words in product(*parts, [term[end:]]))


def _regrouped(text: str, number: dict[int, int]) -> list[str]:
    """Groups without the nodes that are gone; with and without those of which one node is left."""
    found = []
    for group in re.findall(r"\[([^\[\]]*)\]", text):
        members = [int(node) for node in re.findall(r"[0-9]+", group)]
        found.append([str(number[node]) for node in members if node in number])
    choices = []
    for least in (1, 2):
        listed = ["[" + ",".join(group) + "]" for group in found if len(group) >= least]
        if listed:
            choices.append("[" + ",".join(listed) + "]")
    return list(dict.fromkeys(choices))


# What is left of the table -----------------------------------------------------------------------


def _left_of(collective: Collective, machine: Damaged, least: int) -> Collective:
    """What remains of each of its tables, under a name of its own."""
    name = f"{collective.name} without {_gone(machine)}"
    left = _Left(collective, name, machine)
    dual, per_dual = None, None
    if collective.dual is not None and not collective.irregular:
        nodes = machine.whole.num_nodes
        chunks = dual_of(collective, collective.dual, nodes, least)
        per_dual = _Same(Fraction(least, chunks))
        dual = _left_of(collective.dual, machine, chunks)
    return Collective(
        name,
        left.tabulate,
        left.admits,
        collective.requirement,
        combining=collective.combining,
        dual=dual,
        irregular=collective.irregular,
        in_units=collective.in_units,
        per_dual=per_dual,
    )


@dataclass(frozen=True, eq=False, repr=False)
class _Left:
    """The tables; it can be pickled when those of the whole collective can."""

    whole: Collective
    name: str
    machine: Damaged

    def admits(self, nodes: int, chunks: int) -> bool:
        """Whether the whole collective is defined for this C."""
        if nodes != len(self.machine.nodes):
            return False
        return self.whole.admits(self.machine.whole.num_nodes, chunks)

    def tabulate(self, nodes: int, chunks: int) -> RelationTable:
        """The rows of the chunks that somebody has and somebody needs."""
        if nodes != len(self.machine.nodes):
            raise ModelError(
                f"collective {self.name} is defined for {len(self.machine.nodes)} nodes only, "
                f"this topology has {nodes}"
            )
        pre, post, kept = rest_of(
            self.whole.tabulate(self.machine.whole.num_nodes, chunks), self.machine
        )
        return RelationTable(pre[kept], post[kept])


@dataclass(frozen=True)
class _Same:
    """The same for any P."""

    value: Fraction

    def __call__(self, _nodes: int) -> Fraction:
        return self.value
