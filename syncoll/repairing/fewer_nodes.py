"""The rest of a machine and of a collective on it, which may have lost nodes.

A lost node takes no part: its data is neither sent nor awaited.  So the remaining nodes of each
chunk's pre and post count, and a chunk without one of them is dropped.  The result is usually the
collective of the same name on fewer nodes, with node numbers (a root, the groups of ``within``)
renumbered; this is checked.  Otherwise, as for sizes from a file, it is the whole collective
``without`` these nodes, for the same C as on the whole machine; see `syncoll.model.fewer_nodes`.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import islice, product

import numpy as np

from syncoll.arrays import Bools
from syncoll.damage.damage import Damage
from syncoll.damage.damaged import Damaged, connections, damaged
from syncoll.errors import ImpossibleError, LocatedError, ModelError, UsageError
from syncoll.model import Collective, Topology
from syncoll.model.fewer_nodes import rest_of, terms_of, without, words_without
from syncoll.model.reach import Reach

_MOST_SPELLINGS = 64

_NUMBERS = re.compile(r"(\[\[[0-9.,\s\[\]]*\]\])|(?<![\w.])([0-9]+)(?![\w.])")
"""Lists of groups, and separate numbers."""


Find = Callable[[str], Collective]


def left(
    topology: Topology, damages: Sequence[Damage], collective: Collective, find: Find
) -> tuple[Damaged, Collective]:
    """The damaged machine, and the collective on it.  Raises `ImpossibleError` if nodes no longer
    reach each other, or the root of a broadcast is lost.  Raises another `SyncollError` if the rest
    cannot be described, which proves nothing."""
    try:
        try:
            machine = damaged(topology, damages)
        except ModelError:
            collective_of_the_rest(connections(topology, damages), collective, find)
            raise
        return machine, collective_of_the_rest(machine, collective, find)
    except LocatedError as error:  # its origin is not a text of the user
        raise type(error)(error.message, None, error.expected) from None


def collective_of_the_rest(machine: Damaged, collective: Collective, find: Find) -> Collective:
    """The collective on the damaged machine."""
    collective.require_regular()
    nodes = machine.topology.num_nodes
    rest = _on_fewer_nodes(machine, collective, find) if machine.lost_nodes else collective
    least = rest.least_chunks(nodes)
    if least is None:
        raise UsageError(
            f"{rest.name} admits no C on the {nodes} remaining nodes of {machine.whole.name}"
        )
    table = rest.tabulate(nodes, least)
    if not table.ends.sets.any():
        raise UsageError(f"{rest.name} needs no sends {machine.words}")
    try:
        Reach(machine.topology, table, rest.combining).require(rest.name, None)
    except ModelError as error:
        raise ImpossibleError(
            f"{rest.name} is impossible {machine.words}: {error.message}",
            None,
            "a machine whose nodes still reach each other",
        ) from None
    return rest


def _on_fewer_nodes(machine: Damaged, collective: Collective, find: Find) -> Collective:
    """The collective whose table is the rest of the whole machine's.  Raises `ImpossibleError` if
    all its data starts, or ends, at lost nodes, and `UsageError` if it admits no C on the whole
    machine."""
    nodes = machine.whole.num_nodes
    least = collective.least_chunks(nodes)
    if least is None:
        raise UsageError(f"{collective.name} admits no C on {nodes} nodes")
    table = collective.tabulate(nodes, least)
    pre, post, kept = rest_of(table, machine.nodes)
    needed = post.any(axis=1)
    if (needed & ~pre.any(axis=1)).all() or not kept.any():
        raise ImpossibleError(
            f"{collective.name} is empty {words_without(machine.lost_nodes)}, where all its data "
            "starts or ends"
        )
    wanted = _kinds(pre[kept], post[kept], least if collective.in_units else 0)
    for rest in _spellings(machine, collective, find):
        if _is_asked(rest, len(machine.nodes), wanted, collective):
            return rest
    return without(collective, machine.lost_nodes)


def _is_asked(
    rest: Collective, nodes: int, wanted: dict[bytes, Fraction], whole: Collective
) -> bool:
    """Whether a collective on the remaining nodes has the wanted kinds of chunks."""
    if rest.irregular or rest.combining is not whole.combining:
        return False
    try:
        least = rest.least_chunks(nodes)
        if least is None:
            return False
        table = rest.tabulate(nodes, least)
    except LocatedError:  # it is not defined on these nodes
        return False
    return _kinds(table.pre, table.post, least if whole.in_units else 0) == wanted


def _kinds(pre: Bools, post: Bools, chunks: int) -> dict[bytes, Fraction]:
    """The number of chunks with each pre and post, over C if C counts pieces of a unit.  If C
    counts chunks of a node, whose data may shrink, `chunks` is 0 and their number divides."""
    rows = np.packbits(np.concatenate([pre, post], axis=1), axis=1)
    counts = Counter(row.tobytes() for row in rows)
    return {row: Fraction(count, chunks or len(rows)) for row, count in counts.items()}


# By another name ---------------------------------------------------------------------------------


def _spellings(machine: Damaged, collective: Collective, find: Find) -> Iterator[Collective]:
    """The collective itself, and its name with possible node numbers replaced.

    Empty terms of a sum are dropped; terms whose C changes with fewer nodes get a ``without`` of
    their own, so that the sum keeps its form.
    """
    yield collective
    number = {node: i for i, node in enumerate(machine.nodes)}
    terms = [[*dict.fromkeys(_spelled(term, number)), ""] for term in terms_of(collective.name)]
    if len(terms) > 1:
        gone = words_without(machine.lost_nodes)
        for term, spelled in zip(terms_of(collective.name), terms, strict=True):
            spelled.insert(-1, f"{term} {gone}")
    for chosen in islice(product(*terms), _MOST_SPELLINGS):
        name = " + ".join(term for term in chosen if term)
        if name and name != collective.name:
            try:
                yield find(name)
            except LocatedError:
                continue


def _spelled(term: str, number: dict[int, int]) -> Iterator[str]:
    """A term with its original numbers, and with numbers of remaining nodes."""
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
    """Groups without lost nodes; once with and once without groups of a single node."""
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
