"""A checker of frontiers written from docs/certificates.md alone: it shares no code with syncoll.

The numbers in comments are those of the page's steps.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import product
from math import inf
from typing import Any

from .independent_certificates import (
    Certificate,
    Json,
    Machine,
    Nodes,
    Shape,
    WrongError,
    ascending,
    count,
    maybe_count,
    maybe_ratio,
    node_set,
    positions,
    ratio,
    require,
)

__all__ = ["WrongError", "check", "digest"]

ENDS = ("pre", "post")
Send = tuple[int, int, int, int, frozenset[int]]


def check(document: Json) -> set[str]:
    """The kinds of what no file can prove; raises `WrongError`."""
    try:
        return _File(document).check()
    except (KeyError, TypeError, IndexError, ValueError, ZeroDivisionError, OverflowError) as error:
        raise WrongError(f"not as specified: {error!r}") from error


def digest(document: Json) -> str:
    rest = {key: value for key, value in document.items() if key != "digest"}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"))
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def chunk_run(entry: Any) -> range:
    """A chunk, or those of a run."""
    first, last = entry if isinstance(entry, list) else (entry, entry)
    require(count(first) <= count(last), "a run of chunks")
    return range(first, last + 1)


def members(one: Json) -> list[int]:
    """The chunks of a class."""
    return [c for entry in one["chunks"] for c in chunk_run(entry)]


class _File:
    def __init__(self, document: Json) -> None:
        versions = [f"syncoll/frontier/{n}" for n in (1, 2, 3, 4, 5)]
        require(document["schema"] in versions, "the schema")
        self.document, self.machine = document, Machine.read(document)
        self.evidence, self.bounds = document["evidence"], document["bounds"]
        self.limit = count(self.evidence["max_chunks"])
        self.shapes = [Shape(one, self.machine) for one in self.evidence["shapes"]]
        require(bool(self.shapes) and self.limit > 0, "evidence")
        self.scales = len(self.shapes) == 1 and self.shapes[0].scales is not None
        self.of = {c: one for one in self.shapes for c in one.compared}
        self.domain = sorted(c for c in self.of if 1 <= c <= self.limit)
        self.points = [
            (count(p["steps"]), Fraction(count(p["rounds"]), count(p["chunks"])), p)
            for p in document["points"]
        ]
        self.families = [_Family(one) for one in document.get("families", [])]
        self.counted = self.families if document["schema"] in versions[3:] else []
        self.proofs = sorted(
            [(one["steps"], one["proof"]) for one in document["between"]]
            + [(s, point["proof"]) for s, _, point in self.points],
            key=lambda entry: count(entry[0]),
        )

    def check(self) -> set[str]:
        if "digest" in self.document:
            require(self.document["digest"] == digest(self.document), "the digest")
        for steps, cost, point in self.points:
            require(cost == ratio(point["bandwidth"]), "bandwidth")
            require(steps >= self.bounds["steps"], "fewer steps than the least")
            require(cost >= ratio(self.bounds["bandwidth"]), "below the bound")
            better = [1 for s, r, _ in self.points if s <= steps and r <= cost]
            require(len(better) == 1, "one point dominates another")
            _Replay(point, self.machine).run()
        self._shapes()
        self._steps()
        self.certificates = []
        for i, one in enumerate(self.evidence["certificates"]):
            try:
                self.certificates.append(Certificate(one, self.machine, self.shapes))
            except WrongError as error:
                raise WrongError(f"certificate {i}: {error}") from error
        proved = self._bound(self._chosen(self.evidence["bandwidth"]), None)
        require(proved == ratio(self.bounds["bandwidth"]), f"bounds.bandwidth is {proved}")
        named = {i for _, proof in self.proofs for i in proof["certificates"]}
        named |= set(self.evidence["bandwidth"])
        require(len(named) == len(self.certificates), "a certificate of no use")
        steps_of = [s for s, _ in self.proofs]
        require(ascending(steps_of) and min([*steps_of, inf]) >= self.bounds["steps"], "proofs")
        for steps, proof in self.proofs:
            self._proof(steps, proof)
        self._open()
        self._families()
        return set(self._not_checked())

    def _shapes(self) -> None:
        """Steps 4 and 5."""
        compared = [c for one in self.shapes for c in one.compared]
        require(len(compared) == len(self.of), "a C with two shapes")
        require(len({one.combining for one in self.shapes}) == 1, "combining differs")
        for one in self.shapes:
            require(one.chunks in one.compared, "a shape without its C")
            require(all(c > 0 and one.allows(c) for c in one.compared), "compared")
            require(one.scales is None or self.scales, "one of several shapes scales")
        undefined = [count(c) for c in self.evidence["undefined"]]
        require(ascending(undefined) and not set(undefined) & set(compared), "undefined")
        require(all(1 <= c <= self.limit and self._possible(c) for c in undefined), "undefined")
        for c in range(1, self.limit + 1):
            require(c in self.of or c in undefined or not self._possible(c), f"C = {c}")
        require(set(compared) == {*self.domain, *(p["chunks"] for _, _, p in self.points)}, "C")
        most = None if self.scales else self.limit
        require(maybe_count(self.bounds.get("max_chunks", most)) == most, "bounds.max_chunks")
        left_out = [count(one["chunks"]) for one in self.document.get("left_out", [])]
        require(ascending(left_out), "left_out")
        require(all(1 <= c <= self.limit and c not in self.of for c in left_out), "left_out")
        for _, _, point in self.points:
            self._require_chunks(point, self.of[point["chunks"]])

    def _require_chunks(self, point: Json, shape: Shape) -> None:
        chunks: Counter[tuple[Nodes, Nodes]] = Counter()
        for one in point["chunk_classes"]:
            pre, post = (sorted({*node_set(one[k], self.machine.nodes)}) for k in ENDS)
            chunks[tuple(pre), tuple(post)] += len(members(one))
        require(+chunks == shape.scaled(point["chunks"]), "other chunks")
        require(point.get("combining", False) is shape.combining, "combining")

    def _possible(self, chunks: int) -> bool:
        return not self.scales or self.shapes[0].allows(chunks)

    def _steps(self) -> None:
        """Step 6."""
        least = min(one.steps for one in self.shapes)
        require(count(self.bounds["steps"]) == least, f"bounds.steps is {least}")
        distance = self.evidence["distance"]
        require(distance is not None or least == 0, "no distance")
        if distance is not None:
            way = tuple(distance["from"]), distance["to"]
            require(any(way in one.journeys for one in self.shapes), "not a journey")
            require(self.machine.distance(*way) == distance["steps"] == least, "distance")

    def _chosen(self, numbers: Any) -> list[Certificate]:
        return [self.certificates[i] for i in positions(numbers, len(self.certificates))]

    def _bound(self, certificates: list[Certificate], steps: int | None) -> Fraction:
        """Step 8."""
        return min(
            (
                max(
                    (c.bandwidth for c in certificates if c.shape is one and c.speaks_of(steps)),
                    default=Fraction(0),
                )
                for one in self.shapes
                if steps is None or one.steps <= steps
            ),
            default=Fraction(0),
        )

    def _proof(self, steps: int, proof: Json) -> None:
        """Steps 9 to 11."""
        best = self._known(steps)
        bound = self._bound(self._chosen(proof["certificates"]), steps)
        stated = ratio(proof["bound"]), maybe_ratio(proof["best"])
        require(stated == (bound, best), f"S = {steps}: bound {bound}, best {best}")
        require(best is None or bound <= best, "below the bound")
        for s, _, point in self.points:
            require(s != steps or ratio(point["bound"]) == bound, "a point's bound")
        most = None if self.scales else self.limit
        require(maybe_count(proof["bound_chunks"]) == most, "bound_chunks")
        words = re.sub(r"\b(1 (?:step|chunk|round))s\b", r"\1", proof["words"])
        told = proof["scope"], proof["method"], words
        amounts = _scope(proof), self._method(proof), _words(steps, proof)
        require(told == amounts, f"{told} instead of {amounts}")
        chunks, rounds = maybe_count(proof["max_chunks"]), maybe_count(proof["max_rounds"])
        low = maybe_ratio(proof["low"])
        if proof["scope"] == "all":
            require(best is not None and best == bound == low and self.scales, "scope all")
            require(chunks is None and rounds is None and not proof["refuted"], "scope all")
        elif best is None and rounds is None:
            require(proof["scope"] == "open" and low == bound, "nothing found")
            require(chunks is None and not proof["refuted"], "nothing found")
        else:
            self._contradictions(proof)
            self._better(steps, proof, best, bound)

    def _known(self, steps: int) -> Fraction | None:
        """The best known for so many steps."""
        costs = [cost for s, cost, _ in self.points if s <= steps]
        costs += [cost for one in self.counted if (cost := one.within(steps)) is not None]
        return min(costs, default=None)

    def _method(self, proof: Json) -> str:
        kinds = {c.method for c in self._chosen(proof["certificates"]) if c.rounds}
        if proof["refuted"]:
            return "unsat"
        if len(kinds) == 1 and kinds <= {
            "cut",
            "sends",
            "trees",
            "completions",
            "gossip",
            "switches",
        }:
            return str(*kinds)
        return "prices" if kinds else "distance"

    def _better(self, steps: int, proof: Json, best: Fraction | None, bound: Fraction) -> None:
        chunks, rounds = proof["max_chunks"], proof["max_rounds"]
        counted: list[Json] = []
        low, closed, all_closed = best, 0, bool(self.domain)
        for c in self.domain:
            limit = inf if best is None else -(-best * c // 1) - 1
            most = int(min(limit, inf if rounds is None else rounds))
            r = most
            while r >= 0 and not self._ruled_out(proof, min(steps, r), r, c, counted):
                r -= 1
            if r < most:
                left = Fraction(r + 1, c)
                low, all_closed = left if low is None else min(low, left), False
            elif all_closed:
                closed = c
        n = self.limit if all_closed else closed
        require(maybe_ratio(proof["low"]) == low, f"low is {low}")
        require(all(one in counted for one in proof["refuted"]), "a refutation too many")
        if proof["scope"] == "open":
            require(n == 0 and chunks is None, f"C up to {n} is proved")
        elif chunks is None:
            require(all_closed and self.scales and rounds is not None and bound > 0, "no limit")
            require(rounds / bound <= n, "no limit")
        else:
            require(chunks == n > 0, f"C up to {n} is proved")

    def _ruled_out(self, proof: Json, s: int, r: int, c: int, counted: list[Json]) -> bool:
        shape = self.of[c]
        if shape.steps > s:
            return True
        for one in self._chosen(proof["certificates"]):
            if one.shape is shape and one.speaks_of(s) and Fraction(r, c) < one.bandwidth:
                return True
        for one in sorted(proof["refuted"], key=lambda x: (-x["steps"], x["chunks"], -x["rounds"])):
            m, odd = divmod(count(one["chunks"]), c)
            if not odd and (m == 1 or self.scales) and one["steps"] >= s and one["rounds"] >= m * r:
                counted.append(one)
                return True
        return False

    def _contradictions(self, proof: Json) -> None:
        for one, (s, _, point) in product(proof["refuted"], self.points):
            asked = self._scaled(one["chunks"])
            had = self._scaled(point["chunks"])
            combining = self.shapes[0].combining
            moving = [
                (key, n)
                for key, n in asked.items()
                if key[1] and (combining or not set(key[1]) <= set(key[0]))
            ]
            if all(key in had for key, _ in moving):
                m = max([1, *(-(-n // had[key]) for key, n in moving)])
                possible = s <= one["steps"] and m * point["rounds"] <= one["rounds"]
                require(not possible, "a point is what is said to be impossible")
        for one, family in product(proof["refuted"], self.families):
            for m in range(family.first, family.first + one["rounds"] + 1):
                s, r, c = family.costs(m)
                possible = s <= one["steps"] and r * -(-one["chunks"] // c) <= one["rounds"]
                require(not possible, "a member is what is said to be impossible")

    def _scaled(self, chunks: Any) -> dict[tuple[Nodes, Nodes], int]:
        if self.scales:
            return self.shapes[0].scaled(count(chunks))
        return self.of[count(chunks)].scaled(chunks)

    def _open(self) -> None:
        """Step 12."""
        expected: list[tuple[int, int | None, Fraction, Fraction | None]] = []
        first, least = self.bounds["steps"], ratio(self.bounds["bandwidth"])

        def is_open(steps: int, bound: Fraction) -> bool:
            best = self._known(steps)
            return best is None or best > bound

        for s, proof in self.proofs:
            bound, low, found = (maybe_ratio(proof[key]) for key in ("bound", "low", "best"))
            assert bound is not None
            between = [t for t in range(first, s) if is_open(t, bound)]
            if between:
                expected.append((first, between[-1], bound, self._known(first)))
            if low is not None and low != found:
                expected.append((s, s, low, found))
            first = s + 1
        if is_open(first, least):
            expected.append((first, None, least, self._known(first)))
        stated = [
            (count(s), maybe_count(t), ratio(low), maybe_ratio(high))
            for one in self.document["open"]
            for (s, t), (low, high) in [(one["steps"], one["bandwidth"])]
        ]
        require(stated == expected, f"open: {stated}, not {expected}")

    def _families(self) -> None:
        """Step 13."""
        for one in self.families:
            require(self.scales, "a family of what does not scale")
            for part in one.parts:
                cost = Fraction(part["rounds"], part["chunks"])
                require(cost == ratio(part["bandwidth"]), "bandwidth")
                self._require_chunks(part, self.shapes[0])
                _Replay(part, self.machine).run()
            for member in one.members():
                _Replay(member, self.machine).run()
            require(one.costs(one.first)[0] >= self.bounds["steps"], "fewer steps than the least")
            require(one.limit >= ratio(self.bounds["bandwidth"]), "below the bound")
            for steps, proof in self.proofs:
                cost = one.within(steps)
                require(cost is None or cost >= ratio(proof["bound"]), "below a proof's bound")
            for steps, cost, _ in self.points:
                at_most, sooner = one.within(steps), one.within(steps - 1)
                require(at_most is None or at_most >= cost, "a member costs less than a point")
                require(sooner is None or sooner > cost, "a member as good with fewer steps")

    def _not_checked(self) -> Iterator[str]:
        if self.scales:
            yield "scales"
        else:
            compared = {c for one in self.evidence["shapes"] for c in one["compared"]}
            if compared - {point["chunks"] for point in self.document["points"]}:
                yield "shapes"
        if self.evidence["undefined"]:
            yield "undefined"
        if any(proof["refuted"] for _, proof in self.proofs):
            yield "refutations"


def _scope(proof: Json) -> str:
    if proof["scope"] in ("all", "open"):
        return str(proof["scope"])
    limits = [
        f"{noun}<={proof[key]}"
        for noun, key in (("chunks", "max_chunks"), ("rounds", "max_rounds"))
        if proof[key] is not None
    ]
    return " and ".join(limits)


def _words(steps: int, proof: Json) -> str:
    def some(n: int, noun: str) -> str:
        return f"{n} {noun}" if n == 1 else f"{n} {noun}s"

    bound, best, most = ratio(proof["bound"]), maybe_ratio(proof["best"]), proof["bound_chunks"]
    text = f"no algorithm of at most {some(steps, 'step')} has a bandwidth cost below {bound}, "
    text += (
        "whatever its chunks and rounds"
        if most is None
        else f"with at most {some(most, 'chunk')} per node"
    )
    if proof["scope"] in ("all", "open") or best == bound:
        return text
    limits = []
    if proof["max_chunks"] is not None:
        limits.append(f"at most {some(proof['max_chunks'], 'chunk')} per node")
    if proof["max_rounds"] is not None:
        limits.append(f"at most {some(proof['max_rounds'], 'round')}")
    text += f"; none with {' and '.join(limits)} "
    text += "exists" if best is None else f"has one below {best}"
    return text + (", on the word of a solver" if proof["refuted"] else "")


class _Family:
    """A family as the page says what it is."""

    def __init__(self, family: Json) -> None:
        self.first, self.usual = count(family["first"]), family["rounds_per_interval"]
        self.wave = family["wave"]
        self.fixed = [family[key] for key in ("head", "tail") if key in family]
        self.parts = [self.wave, *self.fixed]
        self.up, self.down = family.get("ramp_up", []), family.get("ramp_down", [])
        every = [*self.usual, *self.up, *self.down]
        require(bool(self.usual) and all(count(r) >= 1 for r in every), "rounds of a family")
        self.grows = {
            key: (family[key]["base"], count(family[key]["each"]))
            for key in ("steps", "rounds", "chunks")
        }
        self.tails = "tail" in family
        self.limit = ratio(family["limit"])
        for m in (self.first, self.first + 1):
            member = self.member(m)
            stated = member["steps"], member["rounds"], member["chunks"]
            require(stated == self.costs(m), "the closed form")
        _, rounds, chunks = (self.grows[key] for key in ("steps", "rounds", "chunks"))
        require(self.limit == Fraction(rounds[1], chunks[1]), "the limit")
        require(rounds[0] * chunks[1] > chunks[0] * rounds[1], "R/C does not fall")

    def costs(self, m: int) -> tuple[int, int, int]:
        """S, R, C."""
        s, r, c = (base + each * m for base, each in self.grows.values())
        return s, r, c

    def within(self, steps: int) -> Fraction | None:
        """The least R/C with at most so many steps."""
        base, each = self.grows["steps"]
        m = (steps - base) // each
        return None if m < self.first else Fraction(*self.costs(m)[1:])

    def members(self) -> Iterator[Json]:
        """Those that have to be looked at."""
        depth = self.wave["steps"]
        fixed = [part["steps"] for part in self.fixed]
        head, tail = (fixed[:-1], fixed[-1:]) if self.tails else (fixed, [])
        begins = max(depth, len(self.up), *head)
        ends = max(depth, len(self.down), *tail)
        m = self.first
        yield self.member(m)
        while depth + (m - 1) * len(self.usual) < begins + ends + len(self.usual):
            m += 1
            yield self.member(m)

    def member(self, m: int) -> Json:
        """As a point."""
        steps = self.wave["steps"] + (m - 1) * len(self.usual)
        placed = [(self.wave, k * len(self.usual)) for k in range(m)]
        for part in self.fixed:
            last = self.tails and part is self.fixed[-1]
            placed.append((part, steps - part["steps"] if last else 0))
        require(all(start >= 0 for _, start in placed), "a tail before the first step")
        rounds = [self.usual[t % len(self.usual)] for t in range(steps)]
        rounds[: len(self.up)] = self.up
        rounds[steps - len(self.down) :] = self.down
        require(len(rounds) == steps, "ramps without room")
        algorithm: Json = {"rounds_per_step": rounds, "sends": []}
        member = {"steps": steps, "rounds": sum(rounds), "algorithm": algorithm}
        classes: list[Json] = []
        before, chunks = 0, 0
        for part, start in placed:
            own = part["algorithm"]
            algorithm["sends"] += [[c + before, a, b, t + start] for c, a, b, t in own["sends"]]
            if "contributions" in own:
                algorithm.setdefault("contributions", []).extend(own["contributions"])
            for one in part["chunk_classes"]:
                classes.append({**one, "chunks": [c + before for c in one["chunks"]]})
            before += sum(len(one["chunks"]) for one in part["chunk_classes"])
            chunks += part["chunks"]
        combining = self.wave.get("combining", False)
        return {**member, "chunks": chunks, "chunk_classes": classes, "combining": combining}


class _Replay:
    """Step 2."""

    def __init__(self, point: Json, machine: Machine) -> None:
        self.machine, self.combining = machine, point.get("combining", False)
        algorithm = point["algorithm"]
        self.rounds = [count(r) for r in algorithm["rounds_per_step"]]
        require(len(self.rounds) == point["steps"] and sum(self.rounds) == point["rounds"], "Q")
        require(("contributions" in algorithm) == self.combining, "contributions")
        every = [[c, *row] for first, *row in algorithm["sends"] for c in chunk_run(first)]
        carried = algorithm.get("contributions", [[]] * len(every))
        self.sends = [
            (*map(count, send), frozenset(node_set(nodes, machine.nodes)))
            for send, nodes in zip(every, carried, strict=True)
        ]
        self.ends = {}
        for one in point["chunk_classes"]:
            pre, post = (frozenset(node_set(one[k], machine.nodes)) for k in ENDS)
            for c in members(one):
                require(c not in self.ends, "a chunk twice")
                self.ends[c] = pre, post
        require(set(self.ends) == set(range(len(self.ends))), "the numbers of chunks")
        require(any(post for _, post in self.ends.values()), "nothing is to do")
        if "carriers" in algorithm:
            self.sends = list(self._images(**algorithm["carriers"]))
        require(len(set(self.sends)) == len(self.sends), "a send twice")
        # A chunk that is not combined is held as one set with all of its pre.
        self.held = {
            (c, n): [frozenset([n]) if self.combining else pre]
            for c, (pre, _) in self.ends.items()
            for n in pre
        }

    def _images(self, nodes: Any, chunks: Any, products: Any, delays: Any = None) -> Iterator[Send]:
        """All sends, of the own ones."""
        links, whole = set(self.machine.links), range(self.machine.nodes)
        generators = []
        for p, q in zip(nodes, chunks, strict=True):
            require(sorted(map(count, p)) == list(whole), "a permutation of nodes")
            require(sorted(map(count, q)) == sorted(self.ends), "a permutation of chunks")
            require(all((p[a], p[b]) in links for a, b in links), "a link goes to none")
            for c, sets in self.ends.items():
                moved = tuple(frozenset(p[n] for n in one) for one in sets)
                require(self.ends[q[c]] == moved, "pre and post go elsewhere")
            generators.append((p, q))
        waits = [0] * len(generators) if delays is None else delays
        require(all(type(d) is int for d in waits), "a delay")
        require(len(waits) == len(generators), "a delay for each generator")
        elements = [(list(whole), sorted(self.ends), 0)]
        for generator, earlier in products:
            p, q = generators[count(generator)]
            before, chunks_before, waited = elements[count(earlier)]
            moved = [p[n] for n in before], [q[c] for c in chunks_before]
            elements.append((*moved, waited + waits[generator]))
        for c, a, b, _, _ in self.sends:
            require(c in self.ends and (a, b) in links, "an own send")
        own = {c for c, _, _, _, _ in self.sends}
        images = [q[c] for _, q, _ in elements for c in own]
        require(len(set(images)) == len(images), "two chunks are carried to one")
        for p, q, d in elements:
            for c, a, b, t, who in self.sends:
                require(t + d >= 0, "a send before the first step")
                yield q[c], p[a], p[b], t + d, frozenset(p[n] for n in who)

    def run(self) -> None:
        """Where switches add up: as if they did, or else as if they did not."""
        begin = {key: [*held] for key, held in self.held.items()}
        try:
            self._run(adding=True)
        except WrongError:
            if "destinations" not in self.machine.counting:
                raise
            self.held = begin
            self._run(adding=False)

    def _groups(self, now: list[Send], *, adding: bool) -> Iterator[tuple[Any, list[Send]]]:
        """The sends of a step, those that are added up together."""
        links = {a: i for i, a in enumerate(self.machine.links)}
        kinds = list(zip(self.machine.members, self.machine.counting, strict=True))

        def meet(one: Send, other: Send, kind: str) -> bool:
            own = {links[x[1], x[2]] for x in (one, other)}
            return any(named == kind and own <= {*members} for members, named in kinds)

        groups: dict[object, list[Send]] = {}
        for one in now:
            c, a, b, _, whose = one
            copied = any(
                x != one and (x[0], x[1], x[4]) == (c, a, whose) and meet(one, x, "sources")
                for x in now
            )
            alone = not adding or copied or not self.combining or not meet(one, one, "destinations")
            groups.setdefault(one if alone else (c, b), []).append(one)
        for key, group in groups.items():
            whose = [n for one in group for n in one[4]]
            parts = [group] if len(whose) == len(set(whose)) else [[one] for one in group]
            for i, part in enumerate(parts):
                yield (key, i), part

    def _run(self, *, adding: bool) -> None:
        number = {link: i for i, link in enumerate(self.machine.links)}
        for _, _, _, t, _ in self.sends:
            require(t < len(self.rounds), "a send after the last step")
        for step, rounds in enumerate(self.rounds):
            load: dict[int, list[tuple[object, object]]] = {i: [] for i in number.values()}
            arrives = []
            now = [one for one in self.sends if one[3] == step]
            # Nothing meets where every send counts, and there may be many.
            groups: Iterable[Any] = enumerate([one] for one in now)
            if self.machine.counts:
                groups = self._groups(now, adding=adding)
            for key, group in groups:
                together: frozenset[int] = frozenset()
                for c, a, b, _, nodes in group:
                    whole = nodes if self.combining else self.ends[c][0]
                    require(bool(whole) and self._forms(c, a, whole), "a send of what is not held")
                    load[number[a, b]].append(((c, a, nodes), key))
                    together |= whole
                    goes = c, b
                arrives.append((goes, together))
            for members, room, kind in zip(
                self.machine.members, self.machine.room, self.machine.counting, strict=True
            ):
                sends = [one for i in members for one in load[i]]
                found = len(sends)
                if kind is not None:
                    found = len({one[kind == "destinations"] for one in sends})
                require(found <= room * rounds, "too many sends")
            for key, whole in arrives:
                self.held.setdefault(key, []).append(whole)
        for c, (pre, post) in self.ends.items():
            for n in post:
                require(self._forms(c, n, pre), f"chunk {c} does not reach node {n}")

    def _forms(self, c: int, n: int, whole: frozenset[int]) -> bool:
        held = set(self.held.get((c, n), ()))
        if not self.combining:
            return bool(held)
        reached = {frozenset[int]()}
        for part in held:
            reached |= {one | part for one in reached if part <= whole and not one & part}
        return whole in reached
