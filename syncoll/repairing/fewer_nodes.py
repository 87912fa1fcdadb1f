"""What a collective means where nodes are gone.

A node that is gone takes no part: nobody waits for its data, and it needs none.  So of each chunk's
pre and post the nodes that are left count, and a chunk that nobody has, or nobody needs, is no
longer there.  That is the collective of the same name on fewer nodes, where its numbers of nodes
(a root, the groups of ``within``) are those of the nodes that remain; and it is looked at whether
that is so.  Where it is not, as for sizes that a file gives, it is the whole collective ``without``
these nodes, for the same C as on the whole machine; see `syncoll.model.fewer_nodes`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import islice, product

import numpy as np

from syncoll.arrays import BoolArray
from syncoll.damage.damaged import Damaged
from syncoll.errors import ImpossibleError, LocatedError, UsageError
from syncoll.model import Collective
from syncoll.model.fewer_nodes import rest_of, without, words_without

__all__ = ["on_fewer_nodes"]

_MOST_SPELLINGS = 64

_NUMBERS = re.compile(r"(\[\[[0-9.,\s\[\]]*\]\])|(?<![\w.])([0-9]+)(?![\w.])")
"""Lists of groups, and numbers that stand alone."""


def on_fewer_nodes(
    machine: Damaged, collective: Collective, find: Callable[[str], Collective]
) -> Collective:
    """The collective whose table is what remains of the whole machine's.

    Raises:
        ImpossibleError: when all of it starts, or ends, at nodes that are gone.
        UsageError: when it is defined for no C on the whole machine.
    """
    nodes = machine.whole.num_nodes
    least = collective.least_chunks(nodes)
    if least is None:
        raise UsageError(f"{collective.name} is defined for no C on {nodes} nodes")
    table = collective.tabulate(nodes, least)
    pre, post, kept = rest_of(table, machine.nodes)
    needed = post.any(axis=1)
    if (needed & ~pre.any(axis=1)).all() or not kept.any():
        raise ImpossibleError(
            f"nothing is left of {collective.name} {words_without(machine.lost_nodes)}, where all "
            "its data starts or ends"
        )
    wanted = _kinds(pre[kept], post[kept], least if collective.in_units else 0)
    for rest in _spellings(machine, collective, find):
        if _is_asked(rest, len(machine.nodes), wanted, collective):
            return rest
    return without(collective, machine.lost_nodes)


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


def _kinds(pre: BoolArray, post: BoolArray, chunks: int) -> dict[bytes, Fraction]:
    """How many chunks start and end alike, for each of these.

    Args:
        chunks: C, whose part that is, where C counts pieces of a unit; 0 for their share of all
            chunks, where C counts those of a node, of whose data there may be less.
    """
    rows = np.packbits(np.concatenate([pre, post], axis=1), axis=1)
    counts = Counter(row.tobytes() for row in rows)
    return {row: Fraction(count, chunks or len(rows)) for row, count in counts.items()}


# By another name ---------------------------------------------------------------------------------


def _spellings(
    machine: Damaged, collective: Collective, find: Callable[[str], Collective]
) -> Iterator[Collective]:
    """The collective itself, and with numbers in its name that may be those of nodes.

    Terms of a sum of which nothing is left are left out; those whose C is another on fewer nodes
    are called ``without`` these, each by itself, so that the sum is still one of such terms.
    """
    yield collective
    number = {node: i for i, node in enumerate(machine.nodes)}
    terms = [[*dict.fromkeys(_spelled(term, number)), ""] for term in _terms(collective.name)]
    if len(terms) > 1:
        gone = words_without(machine.lost_nodes)
        for term, spelled in zip(_terms(collective.name), terms, strict=True):
            spelled.insert(-1, f"{term} {gone}")
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
        members = _members(group)
        found.append([str(number[node]) for node in members if node in number])
    choices = []
    for least in (1, 2):
        listed = ["[" + ",".join(group) + "]" for group in found if len(group) >= least]
        if listed:
            choices.append("[" + ",".join(listed) + "]")
    return list(dict.fromkeys(choices))


def _members(group: str) -> list[int]:
    """The nodes of ``0, 2..4``."""
    found: list[int] = []
    for first, last in re.findall(r"([0-9]+)(?:\s*\.\.\s*([0-9]+))?", group):
        found += range(int(first), int(last or first) + 1)
    return found
