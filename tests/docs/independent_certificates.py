"""Machines, shapes and certificates as docs/certificates.md specifies them.

The part of `independent_checker` that knows nothing of points and claims.
"""

from __future__ import annotations

import heapq
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from functools import reduce
from itertools import combinations, pairwise, product
from math import ceil, inf
from typing import Any

Json = dict[str, Any]
Nodes = tuple[int, ...]
Demand = tuple[Nodes, Nodes, int]
"""Sources, destinations, count."""


class WrongError(Exception):
    """The file does not hold."""


def require(holds: bool, what: str) -> None:
    if not holds:
        raise WrongError(what)


# In a frontier's file -----------------------------------------------------------------------------


def count(value: Any) -> int:
    require(type(value) is int and value >= 0, f"{value!r} is not a count")
    return int(value)


def ratio(value: Any) -> Fraction:
    require(isinstance(value, str) and bool(re.fullmatch(r"\d+(/\d+)?", value)), f"{value!r}")
    return Fraction(value)


def common(a: Fraction, b: Fraction) -> Fraction:
    """The greatest ratio of which both are whole multiples."""
    while b:
        a, b = b, a % b
    return a


def maybe_count(value: Any) -> int | None:
    return None if value is None else count(value)


def maybe_ratio(value: Any) -> Fraction | None:
    return None if value is None else ratio(value)


def ascending(values: Sequence[Any]) -> bool:
    return all(a < b for a, b in pairwise(values))


def positions(values: Any, end: int) -> list[int]:
    found = [count(i) for i in values]
    require(all(i < end for i in found), f"{found}: only {end} are there")
    return found


def node_set(values: Any, end: int) -> list[int]:
    """A `pre` or a `post`."""
    found: list[int] = []
    for one in values:
        low, high = positions(one if isinstance(one, list) else [one, one], end)
        require(low <= high, "a run of nodes")
        found += range(low, high + 1)
    return found


class Machine:
    def __init__(
        self,
        nodes: int,
        links: list[tuple[int, int]],
        bounds: list[tuple[list[Any], Fraction]],
        counts: Sequence[str | None] = (),
    ) -> None:
        self.nodes, self.links, self.counting = nodes, links, counts or [None] * len(bounds)
        self.counts = any(self.counting)
        self.room = [b for _, b in bounds]
        number = {link: i for i, link in enumerate(links)}
        self.members = [[number[link] for link in members] for members, _ in bounds]
        self.bounds = bounds

    @classmethod
    def read(cls, document: Json) -> Machine:
        def read_links(written: Any) -> list[tuple[int, int]]:
            found = [(a, b) for a, b in (positions(link, nodes) for link in written)]
            require(ascending(found) and all(a != b for a, b in found), "links")
            return found

        nodes = count(document["nodes"])
        written = document["interconnect"]
        bounds = [
            (read_links(one["links"]), ratio(one["chunks_per_round"])) for one in written["bounds"]
        ]
        links = read_links(written["links"])
        require(nodes > 0 and all(members and b > 0 for members, b in bounds), "bounds")
        require({link for members, _ in bounds for link in members} == set(links), "no bound")
        counts = [one.get("counts") for one in written["bounds"]]
        require({*counts} <= {None, "sources", "destinations"}, "counts")
        return cls(nodes, links, bounds, counts)

    def reversed(self) -> Machine:
        def turned(links: list[tuple[int, int]]) -> list[tuple[int, int]]:
            return sorted((b, a) for a, b in links)

        other = {"sources": "destinations", "destinations": "sources"}
        return Machine(
            self.nodes,
            turned(self.links),
            [(turned(m), b) for m, b in self.bounds],
            [other.get(what, what) for what in self.counting],
        )

    def ways(self, to: int, price: dict[int, Fraction] | None = None) -> dict[int, Fraction]:
        """From each node that has one the cost of the cheapest path; without prices its links."""
        cost: dict[int, Fraction] = {}
        queue = [(Fraction(0), to)]
        while queue:
            now, node = heapq.heappop(queue)
            if node not in cost:
                cost[node] = now
                for i, (a, b) in enumerate(self.links):
                    if b == node:
                        more = Fraction(1) if price is None else price.get(i, Fraction(0))
                        heapq.heappush(queue, (now + more, a))
        return cost

    def distance(self, sources: Iterable[int], to: int) -> float | Fraction:
        ways = self.ways(to)
        return min((ways.get(n, inf) for n in sources), default=inf)


class Shape:
    """Chunks, shapes and demands."""

    def __init__(self, written: Json, machine: Machine) -> None:
        self.chunks, self.combining = count(written["chunks"]), written["combining"]
        require(self.chunks > 0 and type(self.combining) is bool, "a shape")
        self.compared = [count(c) for c in written["compared"]]
        self.scales = written["scales"]
        require(self.scales is None or isinstance(self.scales, str), "scales")
        self.counts: dict[tuple[Nodes, Nodes], int] = {}
        for one in written["classes"]:
            pre, post = (tuple(node_set(one[k], machine.nodes)) for k in ("pre", "post"))
            require(ascending(pre) and ascending(post) and count(one["count"]) > 0, "a class")
            each = one.get("each", False)
            require(type(each) is bool and ("each" not in one or each), "each")
            for alone in [(n,) for n in post] if each else [post]:
                require((pre, alone) not in self.counts, "a class twice")
                self.counts[pre, alone] = one["count"]
        require(ascending(list(self.counts)), "the order of classes")
        journeys = [
            (start, to)
            for pre, post in self.counts
            for to in post
            for start in ([(n,) for n in pre] if self.combining else [pre])
        ]
        require(all(start for start, _ in journeys), "a chunk that starts nowhere")
        self.journeys = set(journeys)
        self.steps = max((machine.distance(*one) for one in self.journeys), default=0)

    def allows(self, chunks: int) -> bool:
        return all(n * chunks % self.chunks == 0 for n in self.counts.values())

    def scaled(self, chunks: int) -> dict[tuple[Nodes, Nodes], int]:
        require(self.allows(chunks), f"C = {chunks} is not allowed")
        return {key: n * chunks // self.chunks for key, n in self.counts.items()}

    def demands(self, reading: str, node: int | None) -> list[Demand]:
        require((reading == "moving") != self.combining, "a reading of another kind")
        require((node is not None) == (reading in ("spread", "collect")), "a reading's node")
        found: Counter[tuple[Nodes, Nodes]] = Counter()
        for (pre, post), n in self.counts.items():
            if reading == "moving":
                ends = (pre, post)
            elif reading == "inverse":
                require(len(post) <= 1, "a post of several nodes")
                ends = (post, pre) if post else ((), ())
            else:
                require(reading in ("spread", "collect"), reading)
                some, others = (pre, post) if reading == "spread" else (post, pre)
                one = (node,) if node in some else some[:1]
                ends = (one, others if one else ())  # type: ignore[assignment]
            sources, destinations = ends
            if missing := tuple(d for d in destinations if d not in sources):
                found[sources, missing] += n
        return sorted((a, b, n) for (a, b), n in found.items())


# Certificates -------------------------------------------------------------------------------------

FIELDS = {
    "prices": {"prices", "shares"},
    "trees": {"prices"},
    "cut": {"nodes", "cover"},
    "sends": {"parts", "prices"},
    "completions": {"prices", "automorphisms", "cases"},
    "gossip": {"prices", "automorphisms", "trees"},
    "switches": {"prices"},
    "nothing": set(),
}
COMMON = {"shape", "steps", "rounds", "reading", "node", "method"}


class Certificate:
    def __init__(self, written: Json, machine: Machine, shapes: Sequence[Shape]) -> None:
        self.written, self.method, self.steps = written, written["method"], written["steps"]
        fields = set(written)
        if self.method == "sends" and written.get("moved") is True:
            fields.remove("moved")
        require(fields == COMMON | FIELDS[self.method], "its fields")
        maybe_count(self.steps)
        (number,) = positions([written["shape"]], len(shapes))
        self.shape = shapes[number]
        self.rounds = ratio(written["rounds"])
        self.bandwidth = self.rounds / self.shape.chunks
        reading, node = written["reading"], maybe_count(written["node"])
        require(reading in ("moving", "inverse", "spread", "collect"), "the reading")
        demands: list[Demand] = []
        if self.method not in ("sends", "completions", "gossip", "switches", "nothing"):
            demands = self.shape.demands(reading, node)
            machine = machine.reversed() if reading in ("inverse", "collect") else machine
        self.machine = machine
        if self.method not in ("cut", "prices", "switches", "nothing"):
            priced = (machine.counting[one["bound"]] for one in written["prices"])
            require(not any(priced), "sends that may count as one")
        proved = getattr(self, f"_{self.method}")(demands)
        require(proved == self.rounds, f"it proves {proved}, not {self.rounds}")

    def speaks_of(self, steps: int | None) -> bool:
        return self.steps is None or (steps is not None and self.steps >= steps)

    def _nothing(self, demands: list[Demand]) -> Fraction:
        return Fraction(0)

    def _link_prices(self, layers: int) -> dict[tuple[int, int], Fraction]:
        """Rules 1 and 2 of `prices`: the price of each link in each step."""
        spent: Counter[int] = Counter()
        price: dict[tuple[int, int], Fraction] = {}
        seen = set()
        for one in self.written["prices"]:
            (i,), (t,) = positions([one["bound"]], len(self.machine.room)), [count(one["step"])]
            require(t < layers and (i, t) not in seen, "a price")
            seen.add((i, t))
            spent[t] += self.machine.room[i] * ratio(one["price"])  # type: ignore[assignment]
            for link in self.machine.members[i]:
                price[link, t] = price.get((link, t), Fraction(0)) + ratio(one["price"])
        require(all(total <= 1 for total in spent.values()), "a round costs more than 1")
        return price

    def _prices(self, demands: list[Demand]) -> Fraction:
        price = self._link_prices(1 if self.steps is None else self.steps)
        paid: dict[tuple[int, int, int], Fraction] = {}
        claimed = set()
        proved = Fraction(0)
        for share in self.written["shares"]:
            (goal,) = positions([share["destination"]], self.machine.nodes)
            own = {(count(i), count(t)): ratio(p) for i, t, p in share["prices"]}
            require(len(own) == len(share["prices"]), "a row twice")
            cost = self._cheapest(goal, own)
            for k in positions(share["demands"], len(demands)):
                sources, destinations, n = demands[k]
                require(goal in destinations and (k, goal) not in claimed, "a share")
                alone = not self.machine.counts or all(other != k for other, _ in claimed)
                require(alone, "shares of sends that may count as one")
                claimed.add((k, goal))
                for at, part in own.items():
                    paid[k, *at] = paid.get((k, *at), Fraction(0)) + part
                proved += min(cost[s] for s in sources if s in cost) * n
        for (_, link, step), part in paid.items():
            require(part <= price.get((link, step), 0), "shares exceed a price")
        return proved

    def _cheapest(
        self, goal: int, own: dict[tuple[int, int], Fraction], end: int | None = None
    ) -> dict[int, Fraction]:
        if self.steps is None:
            return self.machine.ways(goal, {i: p for (i, _), p in own.items()})
        cost = {goal: Fraction(0)}
        for t in reversed(range(self.steps if end is None else end)):
            before = dict(cost)
            for i, (v, w) in enumerate(self.machine.links):
                if w in cost:
                    way = cost[w] + own.get((i, t), 0)
                    before[v] = min(before.get(v, way), way)
            cost = before
        return cost

    def _trees(self, demands: list[Demand]) -> Fraction:
        price = self._link_prices(self.steps)
        return sum((self._tree(self.machine, a, b, price) * n for a, b, n in demands), Fraction(0))

    def _tree(
        self,
        machine: Machine,
        sources: Sequence[int],
        destinations: Sequence[int],
        price: dict[tuple[int, int], Fraction],
    ) -> Fraction:
        """The cheapest tree."""
        if len(destinations) > 10:
            return self._informed(machine, sources, destinations, price)
        sets = range(1 << len(destinations))
        table: dict[int, list[Any]] = {
            v: [0 if d == 0 or d == own else inf for d in sets]
            for v in range(machine.nodes)
            for own in [sum(1 << i for i, d in enumerate(destinations) if d == v)]
        }
        for t in reversed(range(self.steps)):
            after, table = table, {v: list(costs) for v, costs in table.items()}
            for i, (v, w) in enumerate(machine.links):
                more = price.get((i, t), 0)
                table[v] = [min(a, b + more) for a, b in zip(table[v], after[w], strict=True)]
            table = {v: self._joined(costs) for v, costs in table.items()}
        first = self._joined([min(table[v][d] for v in sources) for d in sets])
        require(first[-1] < inf, "no tree")
        return Fraction(first[-1])

    def _informed(
        self,
        machine: Machine,
        sources: Sequence[int],
        destinations: Sequence[int],
        price: dict[tuple[int, int], Fraction],
    ) -> Fraction:
        """By sets of nodes that have the chunk; what one step adds is a set of its own."""
        require(machine.nodes - len(sources) <= 15, "too many destinations")
        least = {frozenset(sources): Fraction(0)}
        for t in range(self.steps):
            after = dict(least)
            for have, cost in least.items():
                into: dict[int, Fraction] = {}
                for i, (v, w) in enumerate(machine.links):
                    if v in have and w not in have:
                        into[w] = min(
                            into.get(w, Fraction(price.get((i, t), 0))), price.get((i, t), 0)
                        )
                for size in range(1, len(into) + 1):
                    for new in combinations(into, size):
                        now = cost + sum(into[w] for w in new)
                        both = have | set(new)
                        after[both] = min(after.get(both, now), now)
            least = after
        ends = [cost for have, cost in least.items() if have >= set(destinations)]
        require(bool(ends), "no tree")
        return min(ends)

    @staticmethod
    def _joined(costs: list[Any]) -> list[Any]:
        """With the splits of each set in two; what is in a set has a smaller number."""
        costs[0] = 0
        for whole in range(len(costs)):
            part = (whole - 1) & whole
            while part > 0:
                costs[whole] = min(costs[whole], costs[part] + costs[whole ^ part])
                part = (part - 1) & whole
        return costs

    def _cut(self, demands: list[Demand]) -> Fraction:
        require(self.steps is None, "a cut with steps")
        nodes = positions(self.written["nodes"], self.machine.nodes)
        cover = positions(self.written["cover"], len(self.machine.room))
        inside = set(nodes)
        require(len(inside) == len(nodes) and len(set(cover)) == len(cover), "named twice")
        covered = {i for j in cover for i in self.machine.members[j]}
        for i, (a, b) in enumerate(self.machine.links):
            require(a not in inside or b in inside or i in covered, "not covered")
        must = sum(n for a, b, n in demands if inside >= set(a) and not inside >= set(b))
        room = sum((self.machine.room[j] for j in cover), Fraction(0))
        return must / room if must else Fraction(0)

    def _completions(self, demands: list[Demand]) -> Fraction:
        require(self.steps is not None and self.shape.combining, "completions")
        price = self._link_prices(self.steps)
        alike = self._alike(price)
        classes = list(self.shape.counts.items())
        least: dict[int, Fraction] = {}
        given: dict[tuple[int, int, int], list[Any]] = {}
        for case in self.written["cases"]:
            k, v, t = positions([case["chunks"]], len(classes))[0], case["node"], case["after"]
            require(v in range(self.machine.nodes) and 1 <= count(t) <= self.steps, "a case")
            cost = self._case(case, *classes[k][0], price)
            if cost < inf:
                least[k] = min(least.get(k, cost), cost)
            for other in alike[v]:
                given.setdefault((k, other, t), []).append((v, case.get("sends", [])))
        for k in least:
            for v in range(self.machine.nodes):
                first = max(self.machine.distance([u], v) for u in classes[k][0][0])
                for t in range(1, self.steps + 1):
                    some = given.get((k, v, t), [])
                    parts = [[s for w, s in some if w == u] for u in {w for w, _ in some}]
                    require(t < first or any(map(self._is_all, parts)), "a case is missing")
        return self._in_sends(price, least)

    def _in_sends(
        self, price: dict[tuple[int, int], Fraction], cost: dict[int, Fraction]
    ) -> Fraction:
        """Of classes with these costs of a chunk."""
        step, counts = reduce(common, price.values(), Fraction(0)), list(self.shape.counts.values())
        return sum(
            ((ceil(one / step) * step if step else one) * counts[k] for k, one in cost.items()),
            Fraction(0),
        )

    def _gossip(self, demands: list[Demand]) -> Fraction:
        require(self.steps is not None and self.shape.combining, "gossip")
        price, machine = self._link_prices(self.steps), self.machine
        alike = self._alike(price)
        number = {link: i for i, link in enumerate(machine.links)}
        links = [{i} for i in range(len(machine.links))]
        for goes in self.written["automorphisms"]:
            for i, (a, b) in enumerate(machine.links):
                joined = links[i] | links[number[goes[a], goes[b]]]
                for j in joined:
                    links[j] = joined
        turned = machine.reversed()
        back = [number[b, a] for a, b in turned.links]
        classes, cost = list(self.shape.counts), dict[int, Fraction]()
        paid: dict[tuple[int, int, int], Fraction] = {}
        seen = set()
        for tree in self.written["trees"]:
            k, v, into = positions([tree["chunks"]], len(classes))[0], tree["node"], tree["into"]
            require(type(into) is bool and v in range(machine.nodes), "a tree")
            here, there = classes[k][::-1] if into else classes[k]
            others = [n for n in there if n != v]
            require(v in here and len(others) > 0, "a tree of nobody")
            for like in alike[v]:
                require((k, like, into) not in seen, "trees twice")
            seen.add((k, v, into))
            own = {(count(i), count(t)): ratio(p) for i, t, p in tree["prices"]}
            require(len(own) == len(tree["prices"]), "a row twice")
            for (i, t), part in own.items():
                require(i < len(machine.links) and t < self.steps, "a row of no link")
                at = k, min(links[i]), t
                paid[at] = paid.get(at, Fraction(0)) + part * len(alike[v])
            if into:
                last = self.steps - 1
                own = {
                    (j, last - t): part
                    for j, i in enumerate(back)
                    for t in range(self.steps)
                    if (part := own.get((i, t)))
                }
            one = self._tree(turned if into else machine, [v], others, own)
            cost[k] = cost.get(k, Fraction(0)) + one * len(alike[v])
        for (_, i, t), part in paid.items():
            room = sum((price.get((j, t), Fraction(0)) for j in links[i]), Fraction(0))
            require(part <= room, "shares exceed a price")
        return self._in_sends(price, cost)

    def _switches(self, demands: list[Demand]) -> Fraction:
        require(self.steps is not None and self.shape.combining, "switches")
        self._link_prices(self.steps)
        sizes = Counter[int]()
        for (pre, post), count in self.shape.counts.items():
            if pre == post and len(pre) > 1:
                sizes[len(pre)] += count
        require(bool(sizes), "no sums for their contributors")
        bounds = [
            ({a for a, _ in links}, {b for _, b in links}, what, set(links))
            for (links, _), what in zip(self.machine.bounds, self.machine.counting, strict=True)
        ]
        for node in range(self.machine.nodes):
            own = {link for link in self.machine.links if link[0] == node}
            copied = (links >= own for *_, what, links in bounds if what == "sources")
            require(bool(own) and any(copied), "nobody copies")
        price: dict[tuple[str, Any, int], Fraction] = {}
        for one in self.written["prices"]:
            tails, heads, what, links = bounds[one["bound"]]
            if what == "sources" or (not what and len(tails) == 1):
                side = "out"
            elif what == "destinations" or len(heads) == 1:
                side = "in"
            else:
                continue
            for link in links:
                at = side, link, one["step"]
                price[at] = price.get(at, Fraction(0)) + ratio(one["price"])
        out, into = (
            [
                min(price.get((side, link, s), Fraction(0)) for link in self.machine.links)
                for s in range(self.steps)
            ]
            for side in ("out", "in")
        )

        def late(t: int, r: int) -> Any:
            after = range(t + 1, self.steps)
            ways = [out[s] + into[s] + (r - 1) * min(into[s:]) for s in after]
            return min(ways, default=inf) if r else 0

        def cost(nodes: int) -> Fraction:
            costs: list[Any] = []
            for t in range(self.steps):
                costs.append((nodes - 1) * min(out[: t + 1]) + into[t] + late(t, nodes - 1))
                for k in range(2, nodes + 1):
                    if t == 0:
                        entered = k * (nodes - 1) * into[0]
                        costs.append(nodes * out[0] + entered + late(0, nodes - k))
                        continue
                    for n, v in product(range(nodes + 1), range(1, k)):
                        d = next(d for d in range(nodes) if 2**d >= v)
                        h = Fraction(n * (k - v), 2) if n > 2 and v < k - 1 else 0
                        if v <= 2 ** (nodes - n):
                            sent = (nodes - n) * min(out[:t]) + n * (v * out[t] + d * min(into[:t]))
                            costs.append(sent + (k + h) * into[t] + late(t, nodes - k))
            return Fraction(min(costs))

        return sum((count * cost(nodes) for nodes, count in sizes.items()), Fraction(0))

    def _case(
        self, case: Json, pre: Nodes, post: Nodes, price: dict[tuple[int, int], Fraction]
    ) -> Fraction:
        require(len(pre) > 1 and len(post) > 0, "not combined")
        v, rest, cost, seen = case["node"], Counter(price), Fraction(0), set()

        made, never = set(), set()
        for i, t, is_made in case.get("sends", []):
            positions([i], len(self.machine.links))
            require(type(is_made) is bool and count(t) < self.steps, "a send")
            (made if is_made else never).add((i, t))

        def pays(shares: list[Json], end: int) -> Iterator[tuple[int, int]]:
            nonlocal cost
            for share in shares:
                own = {(i, t): ratio(p) for i, t, p in share["prices"]}
                require(len(own) == len(share["prices"]), "a row twice")
                for at, part in own.items():
                    rest[at] -= part  # type: ignore[assignment]
                a, b = share["source"], share["destination"]
                barred: dict[Any, Any] = own | dict.fromkeys(never, inf)
                way = self._cheapest(b, barred, end).get(a, inf)
                require(way < inf or bool(made | never), "no way")
                cost += way
                yield a, b

        for a, b in pays(case["ways"], self.steps):
            require(a in pre and b in post and a != b and (a, b) not in seen, "a way")
            seen.add((a, b))
        require(min(rest.values(), default=0) >= 0, "ways pay too much")
        left = dict(rest)
        sources = []
        for a, b in pays(case["collects"], case["after"]):
            require(a in pre and b == v != a and a not in sources, "a way to the node")
            sources.append(a)
        require(min(rest.values(), default=0) >= 0, "shares exceed a price")
        for d in set(post) - {v}:
            late = {
                (i, t)
                for i, (_, b) in enumerate(self.machine.links)
                for t in range(case["after"] - 1, self.steps)
                if b == d
            }
            require(bool(late), "no link into a node")
            if not late & made:
                cost += min((left.get(at, 0) for at in late - never), default=inf)
        return cost + sum((rest.get(at, Fraction(0)) for at in made), Fraction(0))

    def _is_all(self, divided: list[Any], place: int = 0) -> bool:
        """Whether these are all ways to make some sends or not, from a place on."""
        if any(len(sends) == place for sends in divided):
            return True
        if len({tuple(sends[place][:2]) for sends in divided}) != 1:
            return False
        parts = [[s for s in divided if s[place][2] is made] for made in (False, True)]
        return all(part and self._is_all(part, place + 1) for part in parts)

    def _alike(self, price: dict[tuple[int, int], Fraction]) -> list[set[int]]:
        machine, everyone = self.machine, range(self.machine.nodes)
        dear = {(one["bound"], one["step"]): ratio(one["price"]) for one in self.written["prices"]}
        known = Counter(
            (frozenset(machine.links[i] for i in members), room, row)
            for j, (members, room) in enumerate(zip(machine.members, machine.room, strict=True))
            for row in [tuple(dear.get((j, t), 0) for t in range(self.steps))]
        )
        alike = [{v} for v in everyone]
        for goes in self.written["automorphisms"]:
            require(sorted(goes) == list(everyone), "a permutation")
            require({(goes[a], goes[b]) for a, b in machine.links} == set(machine.links), "links")
            moved: Counter[Any] = Counter()
            for (links, room, row), n in known.items():
                moved[frozenset((goes[a], goes[b]) for a, b in links), room, row] += n
            require(moved == known, "bounds")
            for some in [nodes for both in self.shape.counts for nodes in both]:
                require({goes[n] for n in some} == set(some), "chunks")
            for v in everyone:
                joined = alike[v] | alike[goes[v]]
                for n in joined:
                    alike[n] = joined
        return alike

    def _sends(self, demands: list[Demand]) -> Fraction:
        require(self.steps is None and self.shape.combining, "sends")
        parts = [count(i) for i in self.written["parts"]]
        require(len(parts) == self.machine.nodes, "parts")
        each: dict[int, Fraction] = {}
        for one in self.written["prices"]:
            (i,) = positions([one["bound"]], len(self.machine.room))
            require("step" not in one and i not in each, "a price")
            each[i] = ratio(one["price"])
        costs: dict[int, Fraction] = {}
        for k, (a, b) in enumerate(self.machine.links):
            costs[k] = sum(
                (p for i, p in each.items() if k in self.machine.members[i]), Fraction(0)
            )
            require(parts[a] == parts[b] or costs[k] >= 1, "a send costs less than 1")
        paid = Fraction(0)
        for (pre, post), n in self.shape.counts.items():
            if pre and post:
                given, needed = ({parts[x] for x in nodes} for nodes in (pre, post))
                least = Fraction(len(given) + len(needed) - 2)
                if "moved" in self.written:
                    least += not given & needed
                    for goal in post if len(pre) == 1 else ():
                        least = max(least, self.machine.ways(goal, costs).get(*pre, Fraction(0)))
                paid += n * least
        room = sum((self.machine.room[i] * p for i, p in each.items()), Fraction(0))
        return paid / room if paid else Fraction(0)
