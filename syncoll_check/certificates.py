"""Recomputes lower bounds: the methods of docs/certificates.md, "Certificates"."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache
from itertools import combinations, product
from math import ceil, gcd, inf, lcm
from typing import Any

from .exchanges import exchange
from .layout import Json, at, require
from .machine import Machine, Nodes, Shape

Prices = dict[tuple[int, int], Fraction]  # of a link in a step; 0 by default
Total = Fraction | int
Table = list[list[Any]]  # for each step the price of each link, times the scale
MOST_DESTINATIONS, MOST_UNINFORMED, MOST_BOXES, MOST_STEPS = 10, 15, 4, 64


def distinct(rows: Iterable[Sequence[Any]]) -> dict[Any, Any]:
    """The last entry of each row by the others, which no two rows share."""
    found: dict[Any, Any] = {}
    for *place, value in rows:
        require(tuple(place) not in found, f"{place} twice")
        found[tuple(place)] = value
    return found


def tabulated(machine: Machine, prices: Prices, steps: int) -> tuple[int, Table]:
    """The scale, and the prices as whole numbers."""
    scale = lcm(*(price.denominator for price in prices.values()))
    table = [[0] * len(machine.links) for _ in range(steps)]
    for (link, step), price in prices.items():
        table[step][link] = int(price * scale)
    return scale, table


def ways(machine: Machine, goal: int, table: Table, steps: int | None) -> list[Any]:
    """For each node the cost of the cheapest path to a goal in at most S steps, inf without one.

    With S = None it has any number of steps, at the prices of step 0.
    """
    cost: list[Any] = [inf] * machine.nodes
    cost[goal] = 0
    # No cheapest path visits a node twice.
    for prices in [table[0]] * machine.nodes if steps is None else reversed(table[:steps]):
        before = cost[:]
        for (v, w), price in zip(machine.links, prices, strict=True):
            if cost[w] + price < before[v]:
                before[v] = cost[w] + price
        if steps is None and before == cost:
            break
        cost = before
    return cost


def cheapest_tree(
    machine: Machine, sources: Nodes, goals: Nodes, prices: Prices, steps: int
) -> Fraction:
    """The cost of the cheapest tree in S steps."""
    few, lacking = len(goals) <= MOST_DESTINATIONS, machine.nodes - len(sources)
    require(sources and (few or lacking <= MOST_UNINFORMED), "a tree with too many destinations")
    informed = 3**lacking <= machine.nodes * 3 ** len(goals) and lacking <= MOST_UNINFORMED
    scale, table = tabulated(machine, prices, steps)
    cost = (_by_informed if informed or not few else _by_goals)(machine, sources, goals, table)
    require(cost < inf, f"no tree from nodes {sources} in {steps} steps")
    return Fraction(int(cost), scale)


def _by_goals(machine: Machine, sources: Nodes, goals: Nodes, table: Table) -> Any:
    """By sets of destinations (Dreyfus & Wagner 1971)."""
    sets = range(1 << len(goals))

    def joined(costs: list[Any]) -> list[Any]:
        """Adds the splits of each set in two; subsets have smaller numbers."""
        costs[0] = 0
        for whole in sets:
            part = (whole - 1) & whole
            while part > whole ^ part:
                costs[whole] = min(costs[whole], costs[part] + costs[whole ^ part])
                part = (part - 1) & whole
        return costs

    cost: list[list[Any]] = []
    for v in range(machine.nodes):
        own = sum(1 << i for i, goal in enumerate(goals) if goal == v)
        cost.append([0 if d in (0, own) else inf for d in sets])
    for prices in reversed(table):
        before = [costs[:] for costs in cost]
        for (v, w), price in zip(machine.links, prices, strict=True):
            before[v] = [min(a, b + price) for a, b in zip(before[v], cost[w], strict=True)]
        cost = [joined(costs) for costs in before]
    return joined([min(cost[v][d] for v in sources) for d in sets])[-1]


def _by_informed(machine: Machine, sources: Nodes, goals: Nodes, table: Table) -> Any:
    """By sets of nodes that have the chunk; one step adds a set."""
    least: dict[int, Any] = {sum(1 << n for n in sources): 0}
    for prices in table:
        after = dict(least)
        for have, cost in least.items():
            into: dict[int, Any] = {}
            for (v, w), price in zip(machine.links, prices, strict=True):
                if have >> v & 1 and not have >> w & 1:
                    into[w] = min(into.get(w, price), price)
            for size in range(1, len(into) + 1):
                for new in combinations(into, size):
                    both, now = have | sum(1 << w for w in new), cost + sum(into[w] for w in new)
                    after[both] = min(after.get(both, now), now)
        least = after
    wanted = sum(1 << n for n in goals)
    return min((cost for have, cost in least.items() if not wanted & ~have), default=inf)


def alike(written: Json, machine: Machine, shape: Shape) -> tuple[list[int], list[int]]:
    """For each node and each link the least one of its orbit, under stated automorphisms."""
    orbits = list(range(machine.nodes)), list(range(len(machine.links)))
    if not written["automorphisms"]:
        return orbits
    dear: dict[int, set[Any]] = defaultdict(set)
    for one in written["prices"]:
        if one["price"]:
            dear[one["bound"]].add((one["step"], one["price"]))
    known = Counter(
        (frozenset(some), machine.room[j], machine.counting[j], frozenset(dear[j]))
        for j, some in enumerate(machine.members)
    )
    for goes in written["automorphisms"]:
        require(sorted(goes) == list(range(machine.nodes)), "not a permutation of the nodes")
        images = [machine.number[goes[a], goes[b]] for a, b in machine.links]
        moved: Counter[Any] = Counter()
        for (some, *rest), n in known.items():
            moved[frozenset(images[i] for i in some), *rest] += n
        require(moved == known, "an automorphism does not keep bounds and prices")
        for nodes in {nodes for both in shape.counts for nodes in both}:
            require({goes[n] for n in nodes} == set(nodes), "an automorphism moves chunks")
        for own, targets in zip(orbits, (goes, images), strict=True):
            for one, other in enumerate(targets):
                low, high = sorted((own[one], own[other]))
                if low < high:
                    own[:] = [low if x == high else x for x in own]
    return orbits


class Certificate:
    """A correct certificate: no algorithm of at most S steps (None: any) has a lower R/C."""

    def __init__(self, written: Json, machine: Machine, shapes: Sequence[Shape]) -> None:
        self.written, self.method, self.steps = written, written["method"], written["steps"]
        self.shape, self.machine = shapes[written["shape"]], machine
        self.rounds: Fraction = written["rounds"]
        self.bandwidth = self.rounds / self.shape.chunks
        reading = written["reading"]
        if self.method in ("prices", "trees", "cut"):
            self.demands = self.shape.demands(reading, written["node"])
            if reading in ("inverse", "collect"):
                self.machine = machine.reversed
        elif self.method != "nothing":
            require(self.shape.combining, "a proof about sums, but the collective does not combine")
        if self.method in ("trees", "completions", "gossip", "sends", "boxes"):
            priced = (machine.counting[one["bound"]] for one in written["prices"])
            require(not any(priced), "a price for sends that may count as one")
        proved: Total = getattr(self, f"_{self.method}")()
        require(proved == self.rounds, f"it proves R >= {proved}, not R >= {self.rounds}")

    def speaks_of(self, steps: int | None) -> bool:
        """Whether it is about algorithms of at most S steps (None: any number)."""
        return self.steps is None or (steps is not None and self.steps >= steps)

    def _nothing(self) -> Total:
        return 0

    def _link_prices(self) -> Prices:
        """Rules 1 and 2 of `prices`: the price of each link in each step."""
        price: Prices = defaultdict(Fraction)
        spent = [Fraction(0)] * (1 if self.steps is None else self.steps)
        rows = ((one["bound"], one["step"], one["price"]) for one in self.written["prices"])
        for (i, t), each in distinct(rows).items():
            spent[t] += self.machine.room[i] * each
            for link in self.machine.members[i]:
                price[link, t] += each
        require(max(spent, default=0) <= 1, "a round costs more than 1")
        return price

    def _prices(self) -> Total:
        price, paid = self._link_prices(), defaultdict[tuple[int, int, int], Fraction](Fraction)
        claimed: set[tuple[int, int]] = set()
        proved: Total = 0
        for i, share in enumerate(self.written["shares"]):
            with at("shares", i):
                goal, own = share["destination"], distinct(share["prices"])
                steps = 1 if self.steps is None else self.steps
                scale, table = tabulated(self.machine, own, steps)
                cost = ways(self.machine, goal, table, self.steps)
                for k in share["demands"]:
                    sources, destinations, n = self.demands[k]
                    require(goal in destinations and (k, goal) not in claimed, f"demand {k}")
                    alone = not self.machine.counts or all(other != k for other, _ in claimed)
                    require(alone, "several shares of sends that may count as one")
                    claimed.add((k, goal))
                    for place, part in own.items():
                        paid[k, *place] += part
                    least: Any = min((cost[s] for s in sources), default=inf)
                    require(least < inf, f"no way from nodes {sources} to node {goal}")
                    proved += Fraction(least, scale) * n
        for (_, link, t), part in paid.items():
            require(part <= price[link, t], f"shares of link {link} in step {t} exceed its price")
        return proved

    def _trees(self) -> Total:
        price = self._link_prices()
        return sum(
            cheapest_tree(self.machine, sources, goals, price, self.steps) * n
            for sources, goals, n in self.demands
        )

    def _cut(self) -> Total:
        require(self.steps is None, "a cut with steps")
        nodes, cover = self.written["nodes"], self.written["cover"]
        inside, everyone = set(nodes), range(self.machine.nodes)
        named = len(inside) == len(nodes) and len(set(cover)) == len(cover)
        require(named and inside.issubset(everyone), "a node or a bound twice, or unknown")
        covered = {i for j in cover for i in self.machine.members[j]}
        for i, (a, b) in enumerate(self.machine.links):
            stays = a not in inside or b in inside or i in covered
            require(stays, f"the link {a} to {b} leaves the nodes, and is not covered")
        must = sum(n for a, b, n in self.demands if inside >= set(a) and not inside >= set(b))
        return _over(must, sum(self.machine.room[j] for j in cover))

    def _sends(self) -> Total:
        require(self.steps is None, "sends with steps")
        machine, parts = self.machine, self.written["parts"]
        moved = "moved" in self.written
        require(len(parts) == machine.nodes, "not a part for each node")
        price: Prices = defaultdict(Fraction)
        each = distinct((one["bound"], one["price"]) for one in self.written["prices"])
        for (i,), value in each.items():
            for link in machine.members[i]:
                price[link, 0] += value
        for k, (a, b) in enumerate(machine.links):
            inside = parts[a] == parts[b] or price[k, 0] >= 1
            require(inside, f"a send from {a} to {b} costs less than 1")
        turned, paid = machine.reversed, Fraction(0)
        back = {(turned.number[b, a], 0): price[k, 0] for k, (a, b) in enumerate(machine.links)}
        scale, table = tabulated(turned, back, 1)
        far = cache(lambda source: ways(turned, source, table, None))
        for (pre, post), n in self.shape.counts.items():
            if pre and post:
                given, needed = ({parts[x] for x in nodes} for nodes in (pre, post))
                costs = [Fraction(len(given) + len(needed) - 2 + (moved and not given & needed))]
                if moved and len(pre) == 1:
                    some = (far(pre[0])[d] for d in post)
                    costs += [Fraction(one, scale) for one in some if one < inf]
                paid += n * max(costs)
        return _over(paid, sum(machine.room[i] * value for (i,), value in each.items()))

    def _in_sends(self, price: Prices, costs: Mapping[int, Total]) -> Total:
        """The cost of classes together; a chunk's is a whole multiple of the prices' unit."""
        scale = lcm(*(one.denominator for one in price.values()))
        unit = Fraction(gcd(*(int(one * scale) for one in price.values())), scale)
        counts = list(self.shape.counts.values())
        return sum(
            (ceil(one / unit) * unit if unit else one) * counts[k] for k, one in costs.items()
        )

    def _completions(self) -> Total:
        price = self._link_prices()
        orbit, _ = alike(self.written, self.machine, self.shape)
        classes, least = list(self.shape.counts), dict[int, Fraction]()
        given: dict[tuple[int, int, int], dict[int, list[Any]]] = defaultdict(dict)
        for i, case in enumerate(self.written["cases"]):
            with at("cases", i):
                k, v, t = case["chunks"], case["node"], case["after"]
                require(1 <= t <= self.steps, f"after {t} steps")
                own = case.get("automorphisms", [])
                stays = not case.get("sends") and all(goes[v] == v for goes in own)
                require(not own or stays, f"automorphisms move node {v} or sends of its case")
                _, links = alike({**self.written, "automorphisms": own}, self.machine, self.shape)
                cost = self._case(case, classes[k], price, links)
                if cost < inf:
                    least[k] = min(least.get(k, cost), cost)
                given[k, orbit[v], t].setdefault(v, []).append(case.get("sends", []))
        for k in least:
            for v in range(self.machine.nodes):
                first = max(self.machine.distances((u,))[v] for u in classes[k][0])
                for t in range(1, self.steps + 1):
                    some = given[k, orbit[v], t].values()
                    there = t < first or any(map(is_all, some))
                    require(there, f"no case of class {k}, node {v}, after {t} steps")
        return self._in_sends(price, least)

    def _case(self, case: Json, ends: tuple[Nodes, Nodes], price: Prices, links: list[int]) -> Any:
        """The cost of a chunk in a case, averaged over links with the same number in `links`."""
        pre, post = ends
        require(len(pre) > 1 and len(post) > 0, "not combined")
        v, rest, steps = case["node"], defaultdict[tuple[int, int], Fraction](Fraction), self.steps
        size = Counter(links)
        for (link, t), each in price.items():
            rest[links[link], t] += each
        made, never = set[tuple[int, int]](), set[tuple[int, int]]()
        for link, t, is_made in case.get("sends", []):
            require(link < len(self.machine.links) and t < steps, f"a send over link {link}")
            (made if is_made else never).add((link, t))

        def paid(shares: list[Json], end: int) -> Iterator[Any]:
            """The cost of each path in at most `end` steps; takes its shares from the rest."""
            for share in shares:
                own = distinct(share["prices"])
                scale, table = tabulated(self.machine, own, steps)
                for link, t in never:
                    table[t][link] = inf
                for place, part in own.items():
                    rest[links[place[0]], place[1]] -= part
                cost = ways(self.machine, share["destination"], table, end)[share["source"]]
                yield cost if cost == inf else Fraction(cost, scale)

        pairs = [
            [(x["source"], x["destination"]) for x in case[key]] for key in ("ways", "collects")
        ]
        for a, b in pairs[0]:
            require(a in pre and b in post and a != b, f"no way leads from {a} to {b}")
        for a, b in pairs[1]:
            require(a in pre and b == v != a, f"node {a} sends nothing to node {v}")
        require(all(len(set(some)) == len(some) for some in pairs), "a way twice")
        costs = list(paid(case["ways"], steps))
        left = dict(rest)
        costs += paid(case["collects"], case["after"])
        require(min(rest.values(), default=0) >= 0, "shares exceed a price")
        require(made or never or inf not in costs, "no way")
        for d in set(post) - {v}:
            into = [i for i, (_, b) in enumerate(self.machine.links) if b == d]
            require(into, f"no link into node {d}")
            late = {(i, t) for i in into for t in range(case["after"] - 1, steps)}
            if not late & made:
                free = ((links[i], t) for i, t in late - never)
                least = (Fraction(left.get(place, 0)) / size[place[0]] for place in free)
                costs.append(min(least, default=inf))
        return sum(costs) + sum(rest.get(place, 0) for place in made)

    def _gossip(self) -> Total:
        price = self._link_prices()
        orbit, links = alike(self.written, self.machine, self.shape)
        machine, turned = self.machine, self.machine.reversed
        classes, costs = list(self.shape.counts), defaultdict[int, Fraction](Fraction)
        paid: dict[tuple[int, int, int], Fraction] = defaultdict(Fraction)
        seen = set()
        for i, tree in enumerate(self.written["trees"]):
            with at("trees", i):
                k, v, into = tree["chunks"], tree["node"], tree["into"]
                here, there = classes[k][::-1] if into else classes[k]
                others = tuple(n for n in there if n != v)
                require(v in here and others, f"no tree of node {v}")
                require((k, orbit[v], into) not in seen, "trees of nodes that are alike")
                seen.add((k, orbit[v], into))
                own, times, where = distinct(tree["prices"]), orbit.count(orbit[v]), machine
                for (link, t), part in own.items():
                    require(t < self.steps, f"a share in step {t}")
                    paid[k, links[link], t] += part * times
                if into:
                    where = turned
                    own = {
                        (turned.number[machine.links[link][::-1]], self.steps - 1 - t): part
                        for (link, t), part in own.items()
                    }
                costs[k] += cheapest_tree(where, (v,), others, own, self.steps) * times
        for (_, link, t), part in paid.items():
            room = price[link, t] * links.count(link)
            require(part <= room, f"shares of links like {link} in step {t} exceed their prices")
        return self._in_sends(price, costs)

    def _switches(self) -> Total:
        require(self.steps > 0, "it is about no step")
        self._link_prices()
        machine, price = self.machine, defaultdict[tuple[str, int, int], Fraction](Fraction)
        copying = [set(one["links"]) for one in machine.bounds if one.get("counts") == "sources"]
        for node in range(machine.nodes):
            own = {machine.links[i] for i, _ in machine.onward[node]}
            copied = own and any(own <= links for links in copying)
            require(copied, f"copies over all links of node {node} count apart")
        for one in self.written["prices"]:
            bound = machine.bounds[one["bound"]]
            tails, heads = ({link[end] for link in bound["links"]} for end in (0, 1))
            side = "out" if len(tails) == 1 else "in" if len(heads) == 1 else "neither"
            side = {"sources": "out", "destinations": "in"}.get(bound.get("counts"), side)
            for i in machine.members[one["bound"]]:
                price[side, i, one["step"]] += one["price"]
        links, steps = range(len(machine.links)), range(self.steps)
        out, into = (
            [min(price[side, i, s] for i in links) for s in steps] for side in ("out", "in")
        )
        sums = [(len(a), n) for (a, b), n in self.shape.counts.items() if a == b and len(a) > 1]
        require(sums, "no sums for their contributors")
        costs: list[Fraction] = [n * sum_in_switches(nodes, out, into) for nodes, n in sums]
        return sum(costs)

    def _boxes(self) -> Total:
        price, parts, steps = self._link_prices(), self.written["parts"], range(self.steps)
        machine, boxes = self.machine, set(parts)
        numbers = f"{len(parts)} nodes in {len(boxes)} boxes, {self.steps} steps"
        require(len(parts) == machine.nodes and 2 <= len(boxes) <= MOST_BOXES, numbers)
        require(1 <= self.steps <= MOST_STEPS, numbers)
        crosses = [parts[a] != parts[b] for a, b in machine.links]
        require(any(crosses) and not all(crosses), "no link within a box, or between boxes")
        scale = lcm(*(one.denominator for one in price.values()))
        inner, outer = (
            [
                min(int(price[i, t] * scale) for i, x in enumerate(crosses) if x is side)
                for t in steps
            ]
            for side in (False, True)
        )
        costs = dict[int, Fraction]()
        for k, ends in enumerate(self.shape.counts):
            fewest = [min([parts[n] for n in nodes].count(x) for x in boxes) for nodes in ends]
            if min(fewest):
                costs[k] = Fraction(exchange(len(boxes), inner, outer, *fewest), scale)
        return self._in_sends(price, costs)


def sum_in_switches(nodes: int, out: Sequence[Fraction], into: Sequence[Fraction]) -> Any:
    """The cost of a chunk if switches add up: rule 3 of `switches`."""
    steps = range(len(out))
    later_in = [min(into[t:]) for t in steps]

    def late(t: int, r: int) -> Any:
        some = (out[s] + into[s] + (r - 1) * later_in[s] for s in steps[t + 1 :])
        return min(some, default=inf) if r else 0

    costs: list[Any] = []
    for t in steps:
        later = [late(t, r) for r in range(nodes)]
        costs.append((nodes - 1) * min(out[: t + 1]) + into[t] + later[nodes - 1])
        for k in range(2, nodes + 1):
            if t == 0:
                entered = k * (nodes - 1) * into[0]
                costs.append(nodes * out[0] + entered + later[nodes - k])
                continue
            a, b = min(out[:t]), min(into[:t])
            for n, v in product(range(nodes + 1), range(1, k)):
                h = Fraction(n * (k - v), 2) if n > 2 and v < k - 1 else 0
                if v <= 2 ** (nodes - n):
                    sent = (nodes - n) * a + n * (v * out[t] + (v - 1).bit_length() * b)
                    costs.append(sent + (k + h) * into[t] + later[nodes - k])
    return min(costs)


def is_all(divided: list[Any], place: int = 0) -> bool:
    """Whether cases cover all choices to make sends or not, from a place on."""
    if any(len(sends) == place for sends in divided):
        return True
    if len({sends[place][:2] for sends in divided}) != 1:
        return False
    parts = [[s for s in divided if s[place][2] is made] for made in (False, True)]
    return all(part and is_all(part, place + 1) for part in parts)


def _over(need: Total, room: Total) -> Total:
    """The rounds of a need if a round has this room."""
    require(not need or room, "a moving chunk has no room")
    return Fraction(need) / room if need else 0
