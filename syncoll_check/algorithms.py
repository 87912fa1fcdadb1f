"""Replays algorithms: step 2 of docs/certificates.md, "The check".

Sets of nodes are integers, see `mask_of`.  The loads of a link or a bound in all steps are one
integer with `WIDTH` bits for each step; a delay shifts them.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from functools import cached_property, reduce
from itertools import pairwise
from operator import or_
from typing import Any

from .layout import Json, WrongError, at, require
from .machine import Machine, in_runs, mask_of

WIDTH, MOST_REMAINDERS = 64, 100_000
MOST_CELLS = 1 << 28  # chunks times nodes, and sends
Send = tuple[int, int, int, int, int]  # chunk, source, destination, step, contributions


def bits(mask: int) -> Iterator[int]:
    """The nodes of a set."""
    return (n for n in range(mask.bit_length()) if mask >> n & 1)


def require_room(machine: Machine, rounds: Sequence[int | Fraction], loads: Sequence[int]) -> None:
    """Checks that no step sends more over a bound than its rounds allow."""
    for j, (packed, room) in enumerate(zip(loads, machine.room, strict=True)):
        for step in range(-(-packed.bit_length() // WIDTH)):
            load, have = packed >> WIDTH * step & (1 << WIDTH) - 1, room * rounds[step]
            require(load <= have, f"{load} sends in step {step}, and bound {j} has room for {have}")


class Replay:
    """A point, or a part of a family."""

    def __init__(self, part: Json, machine: Machine) -> None:
        self.machine, self.combining = machine, part.get("combining", False)
        self.reproducible = part.get("reproducible", False)
        require(self.combining or not self.reproducible, "reproducible, but not combining")
        self.rounds: list[int | Fraction] = part["algorithm"]["rounds_per_step"]
        require(part["rounds"] == part["bandwidth"] * part["chunks"], "bandwidth is not R/C")
        fits = len(self.rounds) == part["steps"] and sum(self.rounds) == part["rounds"]
        require(fits, "rounds_per_step do not fit S steps and R rounds")
        self._read_chunks(part["chunk_classes"])
        with at("algorithm"):
            self._read_sends(part["algorithm"])
            # Of carriers: where nodes go, and the delay.
            self.elements = [(list(range(machine.nodes)), 0)]
            own = sorted({send[0] for send in self.sends})
            self.maps = [dict(zip(own, own, strict=True))]  # where the chunks of own sends go
            self.watched: Iterable[int] = range(len(self.ends))  # the chunks that are replayed
            if "carriers" in part["algorithm"]:
                self._carry(**part["algorithm"]["carriers"])
        for c, a, b, t, _ in self.sends:
            there = (a, b) in machine.number and 0 <= t < len(self.rounds)
            require(there, f"a send of chunk {c} from {a} to {b} in step {t}")

    def _read_chunks(self, classes: list[Json]) -> None:
        nodes, ends = self.machine.nodes, dict[int, tuple[int, int]]()
        listed = in_runs([run for one in classes for run in one["chunks"]], MOST_CELLS // nodes)
        for i, one in enumerate(classes):
            with at("chunk_classes", i):
                kind = mask_of(one["pre"], nodes), mask_of(one["post"], nodes)
                ends.update(dict.fromkeys(in_runs(one["chunks"], MOST_CELLS), kind))
        every = sorted(listed) == list(range(len(listed)))
        require(every, "chunk_classes do not name each chunk once")
        self.ends = [ends[c] for c in range(len(ends))]  # pre and post
        require(any(post for _, post in self.ends), "no data has to move")
        require(all(pre or not post for pre, post in self.ends), "a chunk that starts nowhere")

    @property
    def kinds(self) -> dict[tuple[tuple[int, ...], tuple[int, ...]], int]:
        """The number of chunks with each pre and post."""
        counts = Counter(self.ends).items()
        return {(tuple(bits(pre)), tuple(bits(post))): n for (pre, post), n in counts}

    def _read_sends(self, algorithm: Json) -> None:
        rows, whose = algorithm["sends"], algorithm.get("contributions")
        require((whose is not None) == self.combining, "contributions")
        chunks = in_runs([row[0] for row in rows], MOST_CELLS)
        moves = [row[1:] for row in rows for _ in range(row[0][0], row[0][1] + 1)]
        carried = [[]] * len(moves) if whose is None else whose
        require(len(carried) == len(moves), "contributions for each send")
        known = {own: mask_of(own, self.machine.nodes) for own in set(map(tuple, carried))}
        self.sends: list[Send] = [
            (c, *move, known[tuple(own)])
            for c, move, own in zip(chunks, moves, carried, strict=True)
        ]
        self._own = self.sends  # without images
        require(len(set(self.sends)) == len(self.sends), "a send twice")
        require(all(c < len(self.ends) for c in chunks), "a send of no chunk")

    def _carry(
        self,
        nodes: list[list[int]],
        chunks: list[list[int]],
        products: list[tuple[int, int]],
        delays: list[int] | None = None,
    ) -> None:
        """Reads carriers."""
        links, every = self.machine.number, list(range(self.machine.nodes))
        waits = [0] * len(nodes) if delays is None else delays
        require(0 < len(nodes) == len(chunks) == len(waits), "carriers of different lengths")
        for p, q in zip(nodes, chunks, strict=True):
            permutes = sorted(p) == every and sorted(q) == list(range(len(self.ends)))
            require(permutes, "a generator does not permute nodes and chunks")
            require(all((p[a], p[b]) in links for a, b in links), "a link goes to no link")
            image = {one: moved(one, p) for one in {one for kind in self.ends for one in kind}}
            for c, (pre, post) in enumerate(self.ends):
                kept = self.ends[q[c]] == (image[pre], image[post])
                require(kept, f"chunk {c} goes to one of another pre or post")
        own = list(self.maps[0])
        require(max(1, len(own)) * (1 + len(products)) <= len(self.ends), "too many elements")
        maps = self.maps
        for i, (generator, earlier) in enumerate(products):
            require(earlier <= i, f"products[{i}] is after a later element")
            (before, waited), q = self.elements[earlier], chunks[generator]
            p = nodes[generator]
            self.elements.append(([p[n] for n in before], waited + waits[generator]))
            maps.append({c: q[image] for c, image in maps[earlier].items()})
        images = {c for some in maps for c in some.values()}
        require(len(images) == len(own) * len(maps), "two chunks are carried to one")
        self.watched = {*own} | {*range(len(self.ends))} - images
        times, later = {send[3] for send in self.sends}, {d for _, d in self.elements}
        inside = all(0 <= t + d < len(self.rounds) for t in times for d in later)
        require(inside, "an image before the first or after the last step")
        if self.machine.counts or self.reproducible:  # single sends count as one, or have an order
            self.sends = [
                (q[c], p[a], p[b], t + d, moved(who, p))
                for (p, d), q in zip(self.elements, maps, strict=True)
                for c, a, b, t, who in self.sends
            ]
            self.elements, self.watched = self.elements[:1], range(len(self.ends))

    def messages(self) -> int:
        """The number of messages, as the page defines them."""
        first = dict[tuple[int, int], int]()
        for c, kind in enumerate(self.ends):
            first.setdefault(kind, c)
        order = sorted(range(len(self.ends)), key=lambda c: (first[self.ends[c]], c))
        place = dict(zip(order, range(len(order)), strict=True))
        rows = sorted(((a, b, t, own), place[c], c) for c, a, b, t, own in self._own)
        joined = Counter(
            (x[2], y[2]) for x, y in pairwise(rows) if x[0] == y[0] and x[1] + 1 == y[1]
        )
        count = len(rows) * len(self.maps)
        for q in self.maps:
            count -= sum(n for (x, y), n in joined.items() if place[q[x]] + 1 == place[q[y]])
        return count

    def check(self) -> None:
        """Replays with the sums of switches, or else without."""
        if not self.holds_summed():
            self._hold(summed=False)

    def holds_summed(self) -> bool:
        """Whether it is valid if switches add up all that they can; False without such switches."""
        if self.reproducible or not (self.combining and "destinations" in self.machine.counting):
            return False
        try:
            self._hold(summed=True)
        except WrongError:
            return False
        return True

    def _hold(self, *, summed: bool) -> None:
        with at("algorithm"):
            if self.combining:
                self._hold_sums(summed)
            else:
                self._hold_copies()
            require_room(self.machine, self.rounds, self.loads(summed=summed))

    @cached_property
    def by_step(self) -> list[list[Send]]:
        """The sends of each step; not the images of carriers."""
        found: list[list[Send]] = [[] for _ in self.rounds]
        for send in self.sends:
            found[send[3]].append(send)
        return found

    def _hold_copies(self) -> None:
        held = [pre for pre, _ in self.ends]
        for now in self.by_step:
            for c, a, _, t, _ in now:
                require(held[c] >> a & 1, f"node {a} does not hold chunk {c} in step {t}")
            for c, _, b, _, _ in now:
                held[c] |= 1 << b
        for c in self.watched:
            require(not self.ends[c][1] & ~held[c], f"chunk {c} does not reach its post")

    def _hold_sums(self, summed: bool) -> None:
        held: dict[tuple[int, int], set[int]] = defaultdict(set)
        orders = self._orders() if self.reproducible else {}

        def formed(have: set[int], c: int, own: int) -> bool:
            order = orders.get(self.ends[c][0])
            return forms(have, own) if order is None else forms_in(order, have, own)

        for c in self.watched:
            for n in bits(self.ends[c][0]):
                held[c, n].add(1 << n)
        for now in self.by_step:
            for c, a, _, t, own in now:
                inside = own and not own & ~self.ends[c][0] and formed(held[c, a], c, own)
                require(
                    inside, f"node {a} cannot form the data that it sends of chunk {c} in step {t}"
                )
            for group in self.arrivals(now, summed):
                c, _, b, _, _ = group[0]
                held[c, b].add(reduce(or_, (send[4] for send in group)))
        for c in self.watched:
            for n in bits(self.ends[c][1]):
                whole = formed(held[c, n], c, self.ends[c][0])
                require(whole, f"node {n} cannot form the sum of chunk {c}")

    def _orders(self) -> dict[int, dict[int, tuple[int, int]]]:
        """For the contributors of chunks the operands of their partial sums: the carried sets are
        nested or disjoint, and inside one the largest are added in the order of their nodes."""
        carried = defaultdict[int, set[int]](set)
        for c, _, _, _, own in self.sends:
            carried[self.ends[c][0]].add(own)
        orders = dict[int, dict[int, tuple[int, int]]]()
        for whole, _ in self.ends:
            if whole in orders:
                continue
            pieces, found = [1 << n for n in bits(whole)], orders.setdefault(whole, {})
            for own in sorted({*carried[whole], whole}, key=int.bit_count):
                inside = [one for one in pieces if one & own]
                require(sum(inside) == own, "chunks are added up in different associations")
                pieces = [one for one in pieces if not one & own]
                while len(inside) > 1:
                    left, right, *rest = sorted(inside, key=lambda one: one & -one)
                    found[left | right], inside = (left, right), [left | right, *rest]
                pieces += inside
        return orders

    def arrivals(self, now: list[Send], summed: bool) -> Iterator[list[Send]]:
        """The sends of a step, grouped by the sum that switches make of them."""
        copied, groups = set[Send](), defaultdict[tuple[int, ...], list[Send]](list)
        if not summed:
            yield from ([send] for send in now)
            return
        number = self.machine.number
        for own, counting in zip(self.machine.members, self.machine.counting, strict=True):
            values: dict[tuple[int, ...], list[Send]] = defaultdict(list)
            inside = set(own if counting == "sources" else ())
            for send in now:
                if number[send[1:3]] in inside:
                    values[send[0], send[1], send[4]].append(send)
            copied.update(send for some in values.values() if len(some) > 1 for send in some)
        for send in now:
            joint = self._joint.get(number[send[1:3]])
            if joint is None or send in copied:
                yield [send]
            else:
                groups[joint, send[0]].append(send)
        for some in groups.values():
            whose = [send[4] for send in some]
            disjoint = sum(whose) == reduce(or_, whose)
            yield from [some] if disjoint else [[send] for send in some]

    @cached_property
    def _joint(self) -> dict[int, int]:
        """A common number for links into one node that share bounds with `destinations`."""
        found: dict[int, int] = {}
        for own, counting in zip(self.machine.members, self.machine.counting, strict=True):
            for head in {self.machine.links[i][1] for i in own if counting == "destinations"}:
                into = {i for i in own if self.machine.links[i][1] == head}
                names = {found[i] for i in into if i in found}
                into.update(i for i, name in found.items() if name in names)
                found.update(dict.fromkeys(into, min(into)))
        return found

    def loads(self, *, summed: bool) -> list[int]:
        """For each bound the load that it counts in all steps."""
        machine = self.machine
        packed = defaultdict[tuple[int, int], int](int)
        for (a, b, t), n in Counter(send[1:4] for send in self.sends).items():
            packed[a, b] += n << WIDTH * t
        total = [0] * len(machine.links)
        for p, d in self.elements:
            for (a, b), load in packed.items():
                later = load << WIDTH * d if d >= 0 else load >> WIDTH * -d
                total[machine.number[p[a], p[b]]] += later
        found = [
            0 if kind else sum(total[i] for i in own)
            for own, kind in zip(machine.members, machine.counting, strict=True)
        ]
        counted = defaultdict[int, list[int]](list)
        for j, kind in enumerate(machine.counting):
            for i in machine.members[j] if kind else ():
                counted[i].append(j)
        for t, now in enumerate(self.by_step if counted else ()):
            values = defaultdict[int, set[Any]](set)
            for i, group in enumerate(self.arrivals(now, summed)):
                for c, a, b, _, whose in group:
                    for j in counted[machine.number[a, b]]:
                        alike = (c, a, whose) if machine.counting[j] == "sources" else i
                        values[j].add(alike)
            for j, some in values.items():
                found[j] += len(some) << WIDTH * t
        return found


def moved(mask: int, p: list[int]) -> int:
    """The image of a set under a permutation."""
    return sum(1 << p[n] for n in bits(mask))


def forms_in(order: dict[int, tuple[int, int]], held: set[int], whole: int) -> bool:
    """Whether a set is held, or both of its operands are formed."""
    left = [whole]
    while left:
        if (own := left.pop()) not in held:
            if own not in order:
                return False
            left += order[own]
    return True


def forms(held: set[int], whole: int) -> bool:
    """Whether a set is a disjoint union of held sets (an exact cover, depth first)."""
    parts = [part for part in held if not part & ~whole]
    if whole in parts or sum(parts) == whole:
        return True
    if reduce(or_, parts, 0) != whole:
        return False
    dead = set[int]()

    def cover(rest: int) -> bool:
        require(len(dead) <= MOST_REMAINDERS, "too many overlapping sets")
        if not rest or rest in dead:
            return not rest
        lowest = rest & -rest
        if any(p & lowest and not p & ~rest and cover(rest & ~p) for p in parts):
            return True
        dead.add(rest)
        return False

    return cover(whole)
