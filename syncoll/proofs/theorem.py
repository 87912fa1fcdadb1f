"""Frontiers as plain text for the verified checker in `theorems/`; docs/theorems.md describes it.

Certificates on the reversed machine become ones on the machine itself: a way from node a to node b
there is a way from b to a here, and step t is step S - 1 - t.  Chunks are numbered by class.
The text knows no automorphisms: for a tree it has the maps of nodes that make its images, and where
one case stands for many, it has them all.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import gcd, lcm
from typing import Any

from syncoll.errors import UsageError, VerificationError
from syncoll.wording import counted
from syncoll_check.algorithms import Replay, Send, bits
from syncoll_check.certificates import alike, distinct
from syncoll_check.families import Family
from syncoll_check.layout import FileError, WrongError, at, parse, read, require
from syncoll_check.machine import Machine, Shape

COVERED = ("prices", "cut", "sends", "nothing", "trees", "gossip", "completions")
"""The methods of certificates that the checker verifies."""

_MOST_SYMMETRIES = 1000
"""Certificates whose automorphisms have more products are left out."""

_COUNTED = {None: "sends", "sources": "copies", "destinations": "sums"}
"""The words of the text for the counting of bounds, by the words of the file."""

Rows = dict[tuple[int, int], Fraction]  # prices of a link or a bound in a step
# Class, root, whether it leads there, shares of links, images.
Tree = tuple[int, int, bool, Rows, list[str]]
Symmetry = tuple[Sequence[int], list[int]]  # where each node and each link goes


@dataclass(frozen=True)
class TheoremText:
    """The text of a frontier.

    Args:
        claims: number of certificates and points in the text, and 1 for the least number of steps.
        optimal: positions of the points that a certificate in the text proves to be optimal.
        left_out: claims of the file that are not in the text, in words.
    """

    text: str
    claims: int
    optimal: tuple[int, ...]
    left_out: tuple[str, ...]


def theorem_text(content: bytes, refuted: int = 0) -> TheoremText:
    """The text of the claims of a frontier's file.

    Only the layout of the file and its positions are checked; the verified checker judges the
    claims.

    Args:
        content: of the file.
        refuted: number of refutations that are proved apart, see `syncoll.proofs.verified`.

    Raises:
        UsageError: if it is no frontier, or its machine or shapes are not covered.
        VerificationError: if an entry is not as specified, with its place.
    """
    try:
        document, name, version = parse(content)
        if name != "frontier":
            raise UsageError(f"it is of kind {name}; only frontiers and bounds become theorems")
        with at():
            return _Text(read(document, name, version), refuted).written()
    except FileError as error:
        raise UsageError(str(error)) from None
    except WrongError as error:
        raise VerificationError(str(error)) from None


def _list(items: Iterable[object], between: str = " ") -> str:
    listed = [str(one) for one in items]
    return between.join([str(len(listed)), *listed])


def _lines(items: Iterable[str]) -> str:
    return _list(items, "\n")


def _users(classes: Iterable[int], start: int) -> list[str]:
    return [f"{k} {start}" for k in classes]


def _ends(sources: Sequence[int], goal: int, turned: bool) -> tuple[int, int]:
    """Where a class starts and where it must get to, on the machine itself."""
    start = sources[0] if sources else 0
    return (goal, start) if turned else (start, goal)


def _table(rows: Rows, unit: int, last: int, *, turned: bool = False) -> str:
    """Prices as whole numbers, in the steps of the machine itself."""
    require(all(0 <= t <= last for _, t in rows), "a price in a step that does not exist")
    return _list(
        f"{i} {last - t if turned else t} {int(price * unit)}"
        for (i, t), price in rows.items()
        if price
    )


def _of_bounds(one: Any) -> Rows:
    return distinct((row["bound"], row["step"], row["price"]) for row in one["prices"])


def _unit(every: Iterable[Rows]) -> int:
    return lcm(*(price.denominator for rows in every for price in rows.values()))


def _moved(rows: Rows, to: Sequence[int]) -> Rows:
    return dict(sorted(((to[link], t), share) for (link, t), share in rows.items()))


class _Text:
    """The parts of a frontier's text."""

    def __init__(self, document: Any, refuted: int) -> None:
        self.document, self.machine, self.refuted = document, Machine.read(document), refuted
        shapes = document["evidence"]["shapes"]
        if len(shapes) != 1:
            raise UsageError(f"it has {counted(len(shapes), 'shape')}; one stands for every C")
        with at("evidence", "shapes", 0):
            self.shape = Shape(shapes[0], self.machine)
        self.classes = list(self.shape.counts)

    def written(self) -> TheoremText:
        """The whole text."""
        machine, shape, evidence = self.machine, self.shape, self.document["evidence"]
        links = [f"{a} {b}" for a, b in machine.links]
        bounds = [
            f"{_COUNTED[counting]} {room} {_list(own)}"
            for counting, room, own in zip(
                machine.counting, machine.room, machine.members, strict=True
            )
        ]
        classes = [f"{n} {_list(pre)} {_list(post)}" for (pre, post), n in shape.counts.items()]
        known = dict[int, int]()  # certificates by their position in the file
        certificates, left_out = list[str](), defaultdict[str, int](int)
        for i, one in enumerate(evidence["certificates"]):
            with at("evidence", "certificates", i):
                require(one["shape"] == 0, "a certificate about another shape")
                text = self._certificate(one) if one["method"] in COVERED else None
                if text is not None:
                    known[i] = len(certificates)
                    certificates.append(f"certificate {text}")
                else:
                    left_out[f"by {one['method']}"] += 1
        points, optimal = [], []
        for i, point in enumerate(self.document["points"]):
            with at("points", i):
                proof = self._proof(point, known)
                optimal += [] if proof == "open" else [i]
                costs = f"{point['chunks']} {point['rounds']}"
                points.append(f"point {costs} {proof} {self._algorithm(point)}")
        families = list[str]()
        for i, written in enumerate(self.document.get("families", ())):
            with at("families", i):
                families.append(self._family(written))
        distance = self._distance()
        parts = [
            f"syncoll-theorem 2\nnodes {machine.nodes} grains {machine.grains}",
            f"links {_list(links)}",
            f"bounds {_lines(bounds)}",
            f"collective {'combining' if shape.combining else 'copying'} per {shape.chunks}",
            f"classes {_lines(classes)}\ndistance {_list(distance)}",
            f"certificates {_lines(certificates)}\npoints {_lines(points)}",
            f"families {_lines(families)}\nend\n",
        ]
        unproved = [
            counted(n, f"certificate {method}", f"certificates {method}")
            for method, n in left_out.items()
        ]
        entries = [*self.document["points"], *self.document["between"]]
        refuted = len({str(one) for entry in entries for one in entry["proof"]["refuted"]})
        refuted -= self.refuted
        unproved += [counted(refuted, "refutation")] if refuted else []
        claims = len(certificates) + len(points) + len(families) + len(distance)
        return TheoremText("\n".join(parts), claims, tuple(optimal), tuple(unproved))

    def _distance(self) -> list[str]:
        """A class and two nodes that prove the least number of steps."""
        distance = self.document["evidence"]["distance"]
        if distance is None:
            return []
        start, to = tuple(distance["from"]), distance["to"]
        with at("evidence", "distance"):
            for k, (pre, post) in enumerate(self.classes):
                own = {(node,) for node in pre} if self.shape.combining else {pre}
                if to in post and start in own and start:
                    return [f"{k} {start[0]} {to} {distance['steps']}"]
            raise WrongError("not a journey")

    def _members(
        self, reading: str, node: int | None
    ) -> list[tuple[tuple[int, ...], Any, list[int]]]:
        """The demands of a certificate: sources, destinations and classes."""
        found = defaultdict[Any, list[int]](list)
        for k, kind in enumerate(self.classes):
            alone = Shape.__new__(Shape)
            alone.combining, alone.counts = self.shape.combining, {kind: 1}
            for sources, destinations, _ in alone.demands(reading, node):
                found[sources, destinations].append(k)
        return [(*ends, found[ends]) for ends in sorted(found)]

    def _certificate(self, one: Any) -> str | None:
        """Its text; None if it has too many symmetries, or cases have their own."""
        method, steps = one["method"], one["steps"]
        if method == "nothing":
            return f"prices rounds {one['rounds']} steps any unit 1 0\nshares 0"
        of_sums = method in ("sends", "gossip", "completions")
        require(self.shape.combining or not of_sums, "a proof about sums, but nothing is combined")
        if method == "sends":
            require(steps is None, "sends with steps")
            each = distinct((row["bound"], row["price"]) for row in one["prices"])
            unit = lcm(*(price.denominator for price in each.values()))
            require(all(i < len(self.machine.room) for (i,) in each), "a price of no bound")
            row = [int(each.get((i,), 0) * unit) for i in range(len(self.machine.room))]
            moved = int("moved" in one)
            parts = f"parts {_list(one['parts'])} moved {moved} one {unit} prices {_list(row)}"
            return f"sends rounds {one['rounds']} {parts}"
        if of_sums:
            symmetries = self._symmetries(one)
            if symmetries is None or any(
                case.get("automorphisms") for case in one.get("cases", ())
            ):
                return None
            if method == "completions":
                return self._completions(one, symmetries)
            return self._trees(one, self._shared(one, symmetries), False)
        turned = one["reading"] in ("inverse", "collect")
        demands = self._members(one["reading"], one["node"])
        if method == "cut":
            require(steps is None, "a cut with steps")
            return f"cut rounds {one['rounds']} {self._cut(one, demands, turned)}"
        if method == "trees":
            rows, roots = self._of_links(one, turned), [(*own, 0)[0] for own, *_ in demands]
            trees = [
                (k, root, turned, rows, [f"{root} 0"])
                for root, (_, _, classes) in zip(roots, demands, strict=True)
                for k in classes
            ]
            return self._trees(one, trees, turned)
        return f"prices rounds {one['rounds']} {self._prices(one, demands, turned)}"

    def _cut(self, one: Any, demands: Sequence[Any], turned: bool) -> str:
        nodes, inside = one["nodes"], set(one["nodes"])
        leaving = defaultdict[int, list[str]](list)
        for sources, destinations, classes in demands:
            out = [n for n in destinations if n not in inside]
            if inside.issuperset(sources) and out:
                start, goal = _ends(sources, out[0], turned)
                leaving[goal] += _users(classes, start)
        if turned:
            require(len(nodes) == len(inside) <= self.machine.nodes, "a node twice")
            nodes = [n for n in range(self.machine.nodes) if n not in inside]
        users = [f"{goal} {_list(own)}" for goal, own in leaving.items()]
        return f"inside {_list(nodes)} cover {_list(one['cover'])}\nleaving {_lines(users)}"

    def _prices(self, one: Any, demands: Sequence[Any], turned: bool) -> str:
        steps, machine = one["steps"], self.machine
        last = 0 if steps is None else steps - 1
        prices = _of_bounds(one)
        shares: list[tuple[int, list[str], Rows]] = []
        claimed = set[tuple[int, int]]()
        for i, share in enumerate(one["shares"]):
            with at("shares", i):
                goal, own = share["destination"], distinct(share["prices"])
                if turned:
                    links = machine.reversed.links
                    own = {
                        (machine.number[links[link][::-1]], t): price
                        for (link, t), price in own.items()
                    }
                users = defaultdict[int, list[str]](list)
                for k in share["demands"]:
                    sources, destinations, classes = demands[k]
                    require(goal in destinations and (k, goal) not in claimed, f"demand {k}")
                    claimed.add((k, goal))
                    start, end = _ends(sources, goal, turned)
                    users[end] += _users(classes, start)
                shares += [(end, some, own) for end, some in users.items()]
        unit = _unit([prices, *(own for *_, own in shares)])

        def table(rows: Rows) -> str:
            return _table(rows, unit, last, turned=turned)

        texts = [f"{end} {_list(users)} {table(own)}" for end, users, own in shares]
        most = "any" if steps is None else steps
        return f"steps {most} unit {unit} {table(prices)}\nshares {_lines(texts)}"

    def _of_links(self, one: Any, turned: bool) -> Rows:
        """The prices of links."""
        last, found = one["steps"] - 1, defaultdict[tuple[int, int], Fraction](Fraction)
        for row in one["prices"]:
            for link in self.machine.members[row["bound"]]:
                found[link, last - row["step"] if turned else row["step"]] += row["price"]
        return found

    def _priced(self, one: Any, unit: int, turned: bool) -> str:
        """The prices, which count ``1/unit``."""
        prices = _table(_of_bounds(one), unit, one["steps"] - 1, turned=turned)
        multiple = gcd(*(int(price * unit) for price in self._of_links(one, turned).values()))
        head = f"{'completions' if 'cases' in one else 'trees'} rounds {one['rounds']}"
        return f"{head} steps {one['steps']} unit {unit} multiple {multiple} prices {prices}"

    def _trees(self, one: Any, trees: Sequence[Tree], turned: bool) -> str:
        unit = _unit([_of_bounds(one), *(tree[3] for tree in trees)])
        texts = [
            f"{k} {root} {into:d} {_table(own, unit, one['steps'] - 1)} {_lines(images)}"
            for k, root, into, own, images in trees
        ]
        return f"{self._priced(one, unit, turned)}\ntrees {_lines(texts)}"

    def _symmetries(self, one: Any) -> list[Symmetry] | None:
        """All products of a certificate's automorphisms; None if there are too many."""
        found = [tuple(range(self.machine.nodes))]
        known = set(found)
        alike(one, self.machine, self.shape)  # checks them
        for goes in found:
            new = {tuple(own[n] for n in goes) for own in one["automorphisms"]} - known
            found += sorted(new)
            known |= new
            if len(found) > _MOST_SYMMETRIES:
                return None
        number, links = self.machine.number, self.machine.links
        return [(goes, [number[goes[a], goes[b]] for a, b in links]) for goes in found]

    def _shared(self, one: Any, symmetries: Sequence[Symmetry]) -> list[Tree]:
        """Trees, each with its part of the shares of the trees that are alike; an image for each
        symmetry, so that they have the mean of these."""
        trees, seen = list[Tree](), set[tuple[int, int, bool]]()
        for tree in one["trees"]:
            k, v, into = tree["chunks"], tree["node"], tree["into"]
            nodes = {goes[v] for goes, _ in symmetries}
            require((k, min(nodes), into) not in seen, "trees of nodes that are alike")
            seen.add((k, min(nodes), into))
            part = Fraction(len(nodes), len(symmetries))
            own = {place: share * part for place, share in distinct(tree["prices"]).items()}
            images = [f"{goes.index(v)} {_list(goes)}" for goes, _ in symmetries]
            trees.append((k, v, into, own, images))
        return trees

    def _completions(self, one: Any, symmetries: Sequence[Symmetry]) -> str:
        """Cases, and their images for all nodes that are alike."""
        cases, last = one["cases"], one["steps"] - 1
        ways = [way for case in cases for way in (*case["ways"], *case["collects"])]
        unit = _unit([_of_bounds(one), *(distinct(way["prices"]) for way in ways)])
        texts = []
        for case in cases:
            images = {goes[case["node"]]: (goes, to) for goes, to in symmetries}
            for node, (goes, to) in images.items():
                sends = _list(f"{to[link]} {t} {made:d}" for link, t, made in case.get("sends", ()))
                texts.append(f"{case['chunks']} {node} {case['after']} {sends}")
                for kind in ("ways", "collects"):
                    texts[-1] += "\n" + _list(
                        f"{goes[way['source']]} {goes[way['destination']]} "
                        + _table(_moved(distinct(way["prices"]), to), unit, last)
                        for way in case[kind]
                    )
        return f"{self._priced(one, unit, False)}\ncases {_lines(texts)}"

    def _proof(self, point: Any, known: dict[int, int]) -> str:
        """The certificate that proves that the point is optimal, or ``open``."""
        certificates = self.document["evidence"]["certificates"]
        for i in point["proof"]["certificates"]:
            one = certificates[i]
            covers = one["steps"] is None or one["steps"] >= point["steps"]
            if i in known and covers and one["rounds"] / self.shape.chunks == point["bandwidth"]:
                return str(known[i])
        return "open"

    def _family(self, written: Any) -> str:
        family = Family(written, self.machine)
        parts = {
            key: f"part {written[key]['chunks']} {self._replayed(replay, written[key]['chunks'])}"
            for key, replay in family.replays.items()
        }
        head, tail = (_lines([parts[key]] if key in parts else []) for key in ("head", "tail"))
        ramps = " ".join(map(_list, (family.up, family.usual, family.down)))
        return f"family {family.first} {ramps}\n{parts['wave']}\n{head}\n{tail}"

    def _algorithm(self, point: Any) -> str:
        return self._replayed(Replay(point, self.machine), point["chunks"])

    def _replayed(self, replay: Replay, chunks: int) -> str:
        """The steps of an algorithm."""
        numbers = {kind: k for k, kind in enumerate(self.classes)}
        kinds = [(tuple(bits(pre)), tuple(bits(post))) for pre, post in replay.ends]
        require(all(kind in numbers for kind in kinds), "other chunks than the shape's")
        require(replay.kinds == self.shape.scaled(chunks), "other chunks than the shape's")
        require(replay.combining is self.shape.combining, "combining differs")
        order = sorted(range(len(kinds)), key=lambda c: numbers[kinds[c]])
        place = {c: i for i, c in enumerate(order)}
        steps: list[list[str]] = [[] for _ in replay.rounds]
        for arrival in _arrivals(replay):
            c, a, b, t, _ = arrival[0]
            sources = [f"{n} {_list(bits(own))}" for _, n, _, _, own in arrival]
            steps[t].append(f"{place[c]} {b} {_list(sources) if replay.combining else a}")
        return _lines(
            f"step {rounds} {_list(now)}" for rounds, now in zip(replay.rounds, steps, strict=True)
        )


def _arrivals(replay: Replay) -> Iterator[list[Send]]:
    """The sends, those together that switches add up."""
    if replay.holds_summed():
        for now in replay.by_step:
            yield from replay.arrivals(now, summed=True)
    else:
        for (p, later), q in zip(replay.elements, replay.maps, strict=True):
            for c, a, b, t, whose in replay.sends:  # and the images of carriers
                yield [(q[c], p[a], p[b], t + later, sum(1 << p[n] for n in bits(whose)))]
