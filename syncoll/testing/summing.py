"""The truth about tiny combining instances by exhaustive search.

A state gives the partial results, as sets of contributors, that each node holds of each chunk;
every disjoint union of them can be sent.  A step is any set of sends within the bounds.  If
switches copy and add up, the sends may include useless ones, which may prevent others from being
added up.  An algorithm is then valid if it is valid with all possible sums formed, or with none.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations

from syncoll.model import Counting, Instance, Topology

_Parts = frozenset[frozenset[int]]
"""Partial results, as sets of contributors."""

_State = Mapping[tuple[int, int], _Parts]
_Send = tuple[int, int, int, frozenset[int]]
"""Chunk, source, destination, contributions."""


def _formable(held: _Parts) -> list[frozenset[int]]:
    """All sums of some partial results."""
    found = set(held)
    grew = True
    while grew:
        new = {a | b for a in found for b in held if not a & b} - found
        grew = bool(new)
        found |= new
    return sorted(found, key=sorted)


def has_combining_algorithm(instance: Instance, spend: Callable[[], None]) -> bool:
    """Whether an algorithm of exactly the instance's S and R exists.

    Args:
        spend: called for each choice; may raise an error.
    """
    ways = (True, False) if instance.topology.counts_copies else (False,)
    return any(_Search(instance, spend, summed=summed).found() for summed in ways)


class _Search:
    """The search with all possible sums formed, or with none."""

    def __init__(self, instance: Instance, spend: Callable[[], None], *, summed: bool) -> None:
        self._instance, self._spend, self._summed = instance, spend, summed
        self._nodes = range(instance.topology.num_nodes)
        self._everyone = [
            frozenset(i for i in self._nodes if row[i]) for row in instance.pre.tolist()
        ]
        self._seen: set[tuple[int, int, object]] = set()

    def found(self) -> bool:
        """Whether post is reached."""
        start: dict[tuple[int, int], _Parts] = {
            (c, n): frozenset([frozenset([n])]) if n in everyone else frozenset()
            for c, everyone in enumerate(self._everyone)
            for n in self._nodes
        }
        return self._reaches(0, self._instance.rounds, start)

    def _done(self, state: _State) -> bool:
        return all(
            everyone in _formable(state[c, n])
            for c, everyone in enumerate(self._everyone)
            for n in self._nodes
            if self._instance.post[c, n]
        )

    def _reaches(self, step: int, rounds: int, state: _State) -> bool:
        if self._done(state):
            return self._instance.steps > 0 or rounds == 0
        key = step, rounds, frozenset(state.items())
        if step == self._instance.steps or key in self._seen:
            return False
        self._seen.add(key)
        topology = self._instance.topology
        options = [
            (c, a, b, some)
            for a, b in topology.links
            for c in range(len(self._everyone))
            for some in _formable(state[c, a])
            if topology.counts_copies or some not in state[c, b]
        ]
        last = step == self._instance.steps - 1
        for r in [rounds] if last else range(rounds + 1):
            room = [bound.capacity(r) for bound in topology.bounds]
            tried: set[object] = set()
            for sends in self._choices(options, 0, room, []):
                after = self._after(sends, state)
                if (one := frozenset(after.items())) not in tried:
                    tried.add(one)
                    if self._reaches(step + 1, rounds - r, after):
                        return True
        return False

    def _choices(
        self, options: Sequence[_Send], at: int, room: Sequence[int], made: list[_Send]
    ) -> Iterator[list[_Send]]:
        """Every set of sends within the bounds."""
        self._spend()
        if at == len(options):
            if all(self._load(i, made) <= most for i, most in enumerate(room)):
                yield made
            return
        yield from self._choices(options, at + 1, room, made)
        more = [*made, options[at]]
        # More sends never lower the counts of these bounds.
        if all(
            self._load(i, more) <= room[i]
            for i, bound in enumerate(self._instance.topology.bounds)
            if bound.counts is not Counting.DESTINATIONS or not self._summed
        ):
            yield from self._choices(options, at + 1, room, more)

    def _load(self, number: int, made: Sequence[_Send]) -> int:
        bound = self._instance.topology.bounds[number]
        within = [send for send in made if send[1:3] in bound.links]
        if bound.counts is Counting.SOURCES:
            return len({(c, a, some) for c, a, _, some in within})
        if bound.counts is Counting.DESTINATIONS and self._summed:
            sums = _sums(self._instance.topology, made)
            return len({sums[send] for send in within})
        return len(within)

    def _after(self, made: Sequence[_Send], state: _State) -> dict[tuple[int, int], _Parts]:
        sums = _sums(self._instance.topology, made)
        after = dict(state)
        for send in made:
            c, _, b, some = send
            if self._summed:
                some = frozenset().union(*(other[3] for other in sums[send]))
            after[c, b] |= {some}
        return after


def _sums(topology: Topology, made: Sequence[_Send]) -> dict[_Send, frozenset[_Send]]:
    """The set of sends with which each send is added up, itself included."""

    def share(one: _Send, other: _Send, counts: Counting) -> bool:
        ends = {one[1:3], other[1:3]}
        return any(b.counts is counts and ends <= {*b.links} for b in topology.bounds)

    copied = {
        send
        for one, other in combinations(made, 2)
        if (one[:2], one[3]) == (other[:2], other[3]) and share(one, other, Counting.SOURCES)
        for send in (one, other)
    }
    group = {send: frozenset([send]) for send in made}
    heads: dict[tuple[int, int], list[_Send]] = {}
    for send in made:
        if send not in copied:
            heads.setdefault((send[0], send[2]), []).append(send)
    for some in heads.values():
        for one, other in combinations(some, 2):
            if _joined(topology, one[1:3], other[1:3]):
                joined = group[one] | group[other]
                group |= dict.fromkeys(joined, joined)
    return {
        send: others if _disjoint(others) else frozenset([send]) for send, others in group.items()
    }


def _joined(topology: Topology, one: tuple[int, int], other: tuple[int, int]) -> bool:
    """Whether a chain of bounds that count sums leads from one link to another into its node."""
    into = [
        {link for link in bound.links if link[1] == one[1]}
        for bound in topology.bounds
        if bound.counts is Counting.DESTINATIONS
    ]
    found = {one}
    for _ in into:
        found = found.union(*(links for links in into if links & found))
    return other in found and any(one in links for links in into)


def _disjoint(sends: frozenset[_Send]) -> bool:
    return sum(len(send[3]) for send in sends) == len(frozenset().union(*(s[3] for s in sends)))
