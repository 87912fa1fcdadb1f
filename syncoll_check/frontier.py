"""Checks frontiers and bounds: docs/certificates.md, "The check"."""

import hashlib
import json
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import product
from math import inf
from operator import le
from typing import Any

from .algorithms import Replay
from .certificates import Certificate
from .families import Family
from .layout import Json, at, require
from .machine import Machine, Nodes, Shape, ascending

MOST_RATIOS = 10_000_000
Region = tuple[int, int | None, Fraction, Fraction | None]
"""Least and most steps, least R/C and the R/C that it is below; None for no limit."""


def digest(document: Json) -> str:
    """The entry `digest` of a document."""
    rest = {key: value for key, value in document.items() if key != "digest"}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"))
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


class FrontierCheck:
    """A frontier whose claims are all correct."""

    def __init__(self, document: Json, version: int) -> None:
        self.document, self.machine = document, Machine.read(document)
        self.evidence, self.bounds = document["evidence"], document["bounds"]
        self.accepted: list[str] = []
        self.points: list[tuple[int, Fraction, Json]] = []
        self.replays: list[Replay] = []
        self.shapes: list[Shape] = []
        self.certificates: list[Certificate] = []
        self.families: list[Family] = []
        self._algorithms()
        self._shapes()
        self._steps()
        self._certificates()
        self._families()
        self.counted = self.families if version >= 4 else []
        own: dict[int, Json] = {}
        for s, _, point in self.points:
            same = own.setdefault(s, point["proof"]) == point["proof"]
            require(same, f"two proofs for points of S = {s}")
        listed = [*own.items(), *((one["steps"], one["proof"]) for one in document["between"])]
        self.proofs: list[tuple[int, Json]] = sorted(listed, key=lambda entry: entry[0])
        self._proofs()
        self._open()
        self._better_families()
        self._timed()

    def _algorithms(self) -> None:
        """Steps 2 and 3."""
        for i, point in enumerate(self.document["points"]):
            with at("points", i):
                self.replays.append(Replay(point, self.machine))
                self.replays[-1].check()
                steps, cost = point["steps"], point["bandwidth"]
                require(steps >= self.bounds["steps"], "fewer steps than the least")
                require(cost >= self.bounds["bandwidth"], "costs less than the bound")
                if "messages" in point:
                    count = self.replays[-1].messages()
                    require(point["messages"] == count, f"it has {count} messages")
                for _, _, other in self.points:
                    known = ["steps", "bandwidth"]
                    if "messages" in point and "messages" in other:
                        known += ["chunks", "messages"]
                    two = [[one[key] for key in known] for one in (point, other)]
                    worse = any(all(map(le, *pair)) for pair in (two, two[::-1]))
                    require(not worse, "a point dominates another")
                self.points.append((steps, cost, point))
                self.accepted.append(f"points[{i}]: an algorithm of S = {steps}, R/C = {cost}")

    @property
    def scales(self) -> bool:
        """Whether one shape stands for every C."""
        return len(self.shapes) == 1 and self.shapes[0].scales is not None

    def _shapes(self) -> None:
        """Steps 4 and 5."""
        self.limit: int = self.evidence["max_chunks"]
        for i, written in enumerate(self.evidence["shapes"]):
            with at("evidence", "shapes", i):
                one = Shape(written, self.machine)
                self.shapes.append(one)
                require(one.chunks in one.compared, "a shape without its C")
                require(all(c > 0 and one.allows(c) for c in one.compared), "compared")
                require(one.combining is self.shapes[0].combining, "combining differs")
        with at("evidence"):
            require(self.scales or not any(one.scales for one in self.shapes), "one of them scales")
            self.of = {c: one for one in self.shapes for c in one.compared}  # the shape of each C
            self.domain = sorted(c for c in self.of if c <= self.limit)
            several = sum(len(one.compared) for one in self.shapes) > len(self.of)
            require(self.shapes and not several, "no shapes, or a C with two")
            undefined = self.evidence["undefined"]
            require(ascending(undefined), "undefined")
            for c in undefined:
                fits = 1 <= c <= self.limit and c not in self.of and self._possible(c)
                require(fits, f"C = {c} is undefined")
            said = {*self.of, *undefined}
            for c in range(1, self.limit + 1):
                require(c in said or not self._possible(c), f"nothing is said about C = {c}")
            own = {point["chunks"] for _, _, point in self.points}
            require(self.of.keys() == {*self.domain, *own}, "C that are compared without a point")
        require(self.bounds.get("max_chunks", self._most) == self._most, "bounds.max_chunks")
        left_out = [one["chunks"] for one in self.document.get("left_out", [])]
        fits = all(1 <= c <= self.limit and c not in self.of for c in left_out)
        require(ascending(left_out) and fits, "left_out")
        for i, ((_, _, point), replay) in enumerate(zip(self.points, self.replays, strict=True)):
            with at("points", i):
                self._require_chunks(point, replay, self.of[point["chunks"]])

    @property
    def _most(self) -> int | None:
        """The C up to which claims are proved; None: every C."""
        return None if self.scales else self.limit

    def _possible(self, chunks: int) -> bool:
        return not self.scales or self.shapes[0].allows(chunks)

    def _require_chunks(self, part: Json, replay: Replay, shape: Shape) -> None:
        same = replay.kinds == shape.scaled(part["chunks"])
        require(same and replay.combining is shape.combining, "other chunks than the shape's")

    def _scaled(self, chunks: int) -> dict[tuple[Nodes, Nodes], int]:
        shape = self.shapes[0] if self.scales else self.of.get(chunks)
        if shape is None:
            raise LookupError(f"C = {chunks}")
        return shape.scaled(chunks)

    def _steps(self) -> None:
        """Step 6."""
        least = min(one.steps for one in self.shapes)
        require(self.bounds["steps"] == least, f"bounds.steps is {least}")
        distance = self.evidence["distance"]
        require(distance is not None or least == 0, "evidence.distance is missing")
        if distance is not None:
            with at("evidence", "distance"):
                start, to = tuple(distance["from"]), distance["to"]
                require(any(one.is_journey(start, to) for one in self.shapes), "not a journey")
                far = self.machine.distances(start)[to]
                require(far == distance["steps"] == least, f"it is {far} links")
        self.accepted.append(f"bounds.steps: no algorithm has fewer than {least} steps")

    def _certificates(self) -> None:
        """Step 7."""
        for i, one in enumerate(self.evidence["certificates"]):
            with at("evidence", "certificates", i):
                found = Certificate(one, self.machine, self.shapes)
            self.certificates.append(found)
            among = "" if found.steps is None else f" in at most {found.steps} steps"
            text = f"R/C >= {found.bandwidth}{among}, by {found.method}"
            self.accepted.append(f"evidence.certificates[{i}]: {text}")
        with at("bounds", "bandwidth"):
            proved = self._bound(self.evidence["bandwidth"], None)
            require(proved == self.bounds["bandwidth"], f"it is {proved}")
        self.accepted.append(f"bounds.bandwidth: R/C >= {proved}")

    def _bound(self, numbers: Sequence[int], steps: int | None) -> Fraction:
        """Step 8."""
        chosen, least = [self.certificates[i] for i in numbers], []
        for shape in self.shapes:
            if steps is None or shape.steps <= steps:
                own = [c.bandwidth for c in chosen if c.shape is shape and c.speaks_of(steps)]
                least.append(max(own, default=Fraction(0)))
        return min(least, default=Fraction(0))

    def _known(self, steps: int) -> Fraction | None:
        """The best R/C known for at most S steps."""
        costs = [cost for s, cost, _ in self.points if s <= steps]
        costs += [cost for one in self.counted if (cost := one.within(steps)) is not None]
        return min(costs, default=None)

    def _proofs(self) -> None:
        """Step 9."""
        named = {i for _, proof in self.proofs for i in proof["certificates"]}
        useless = set(range(len(self.certificates))) - named - {*self.evidence["bandwidth"]}
        require(not useless, f"evidence.certificates {sorted(useless)}: no claim names them")
        numbers = [steps for steps, _ in self.proofs]
        require(ascending(numbers), "two proofs about one number of steps")
        require(min(numbers, default=inf) >= self.bounds["steps"], "a proof about too few steps")
        for steps, proof in self.proofs:
            with at(f"proof for S = {steps}"):
                self._proof(steps, proof)
            self.accepted.append(f"proof for S = {steps}: {proof['words']}")

    def _proof(self, steps: int, proof: Json) -> None:
        """Steps 9 to 11."""
        best, bound = self._known(steps), self._bound(proof["certificates"], steps)
        require(proof["best"] == best, f"the best that is known is {best}")
        require(proof["bound"] == bound, f"its certificates prove {bound}")
        require(best is None or bound <= best, f"{best} is known, below the bound")
        for s, _, point in self.points:
            require(s != steps or point["bound"] == bound, "a point states another bound")
        require(proof["bound_chunks"] == self._most, f"bound_chunks is {self._most}")
        certificates = [self.certificates[i] for i in proof["certificates"]]
        older = re.sub(r"\b(1 (?:step|chunk|round))s\b", r"\1", proof["words"])
        for key, stated, right in (
            ("scope", proof["scope"], _scope(proof)),
            ("method", proof["method"], _method(proof, certificates)),
            ("words", older, _words(steps, proof)),
        ):
            require(stated == right, f"{key} amounts to {right!r}")
        free = not proof["refuted"] and proof["max_chunks"] is None
        if proof["scope"] == "all":
            proved = best is not None and best == bound == proof["low"] and self.scales
            require(proved and free and proof["max_rounds"] is None, "that is not proved for all")
        elif best is None and proof["max_rounds"] is None:
            nothing = proof["scope"] == "open" and proof["low"] == bound
            require(nothing and free, "nothing is known, which proves nothing")
        else:
            self._contradictions(proof["refuted"])
            self._better(steps, proof, best, bound)

    def _better(self, steps: int, proof: Json, best: Fraction | None, bound: Fraction) -> None:
        """Step 10."""
        limit: float = inf if proof["max_rounds"] is None else proof["max_rounds"]
        counted: list[Json] = []
        low, closed, all_closed, looked = best, 0, bool(self.domain), 0
        d = self.machine.grains  # r counts grains; each step has at least one
        for c in self.domain:
            most = r = int(limit * d if best is None else min(limit * d, -(-best * c * d // 1) - 1))
            while r >= 0 and not self._ruled_out(proof, min(steps, r), Fraction(r, d), c, counted):
                r, looked = r - 1, looked + 1
                require(looked <= MOST_RATIOS, "too many (R, C) to check")
            if r < most:
                left = Fraction(r + 1, c * d)
                low, all_closed = left if low is None else min(low, left), False
            elif all_closed:
                closed = c
        n = self.limit if all_closed else closed
        require(proof["low"] == low, f"low is {low}")
        require(all(one in counted for one in proof["refuted"]), "a refutation too many")
        if proof["scope"] == "open":
            require(n == 0 and proof["max_chunks"] is None, f"C up to {n} is proved")
        elif proof["max_chunks"] is None:
            every = all_closed and self.scales and limit < inf and bound > 0 and limit / bound <= n
            require(every, "that is not proved for every C")
        else:
            require(proof["max_chunks"] == n > 0, f"C up to {n} is proved")

    def _ruled_out(self, proof: Json, s: int, r: Fraction, c: int, counted: list[Json]) -> bool:
        shape = self.of[c]
        if shape.steps > s:
            return True
        for one in (self.certificates[i] for i in proof["certificates"]):
            if one.shape is shape and one.speaks_of(s) and r < one.bandwidth * c:
                return True
        order = sorted(proof["refuted"], key=lambda x: (-x["steps"], x["chunks"], -x["rounds"]))
        for given in order:
            m, odd = divmod(given["chunks"], c)
            same = not odd and (m == 1 or self.scales)
            if same and given["steps"] >= s and given["rounds"] >= m * r:
                counted.append(given)
                return True
        return False

    def _contradictions(self, refuted: Sequence[Json]) -> None:
        """Step 11."""
        combining = self.shapes[0].combining
        for one, (s, _, point) in product(refuted, self.points):
            asked, had = self._scaled(one["chunks"]), self._scaled(point["chunks"])
            moving = [(a, b) for a, b in asked if b and (combining or not set(b) <= set(a))]
            if all(key in had for key in moving):
                m = max([1, *(-(-asked[key] // had[key]) for key in moving)])
                possible = s <= one["steps"] and m * point["rounds"] <= one["rounds"]
                require(not possible, f"a point contradicts a refutation for C = {one['chunks']}")
        for one, family in product(refuted, self.families):
            last = min(family.last_within(one["steps"]), int(one["rounds"] * self.machine.grains))
            require(last - family.first <= MOST_RATIOS, "too many members to check")
            for _, r, c in map(family.costs, range(family.first, last + 1)):
                possible = r * -(-one["chunks"] // c) <= one["rounds"]
                require(not possible, "a member of a family contradicts a refutation")

    def _open(self) -> None:
        """Step 12."""
        expected: list[Region] = []
        first, least = self.bounds["steps"], self.bounds["bandwidth"]
        for s, proof in self.proofs:
            last = self._last_open(first, s - 1, proof["bound"])
            if last >= first:
                expected.append((first, last, proof["bound"], self._known(first)))
            if proof["low"] not in (None, proof["best"]):
                expected.append((s, s, proof["low"], proof["best"]))
            first = s + 1
        if self._last_open(first, first, least) == first:
            expected.append((first, None, least, self._known(first)))
        stated = [(*one["steps"], *one["bandwidth"]) for one in self.document["open"]]
        regions = list(map(_region, expected)) or ["nothing"]
        require(stated == expected, f"open is {'; '.join(regions)}")
        self.accepted += [f"open: only {one}" for one in regions]

    def _last_open(self, first: int, last: int, bound: Fraction) -> int:
        """The last of these S whose best known R/C, which falls with S, is above a bound."""

        def is_met(steps: int) -> bool:
            best = self._known(steps)
            return best is not None and best <= bound

        return first - 1 + bisect_left(range(first, last + 1), True, key=is_met)

    def _families(self) -> None:
        """Step 13: each is a family."""
        forms = []
        for i, written in enumerate(self.document.get("families", [])):
            with at("families", i):
                family = Family(written, self.machine)
                require(self.scales, "a family whose shape does not scale")
                for key, part in family.replays.items():
                    self._require_chunks(written[key], part, self.shapes[0])
                forms.append((family.first, family.costs(0), family.costs(1)))
                require(forms[-1] not in forms[:-1], "it costs the same as an earlier one")
                self.families.append(family)
                self.accepted.append(f"families[{i}]: algorithms for m >= {family.first}")

    def _better_families(self) -> None:
        """Step 13: no family beats a bound or a point."""
        for i, one in enumerate(self.families):
            with at("families", i):
                few = one.costs(one.first)[0] < self.bounds["steps"]
                require(not few and one.limit >= self.bounds["bandwidth"], "below the bounds")
                for steps, proof in self.proofs:
                    cost = one.within(steps)
                    require(cost is None or cost >= proof["bound"], f"below that for S = {steps}")
                for steps, cost, point in self.points:
                    beaten = one.beats(steps, cost, point["chunks"])
                    require(not beaten, f"it beats the point of S = {steps}")

    def _timed(self) -> None:
        """Step 14: each is an algorithm of the collective."""
        for i, part in enumerate(self.document.get("timed", [])):
            with at("timed", i):
                replay = Replay(part, self.machine)
                replay.check()
                steps, cost = part["steps"], part["bandwidth"]
                require(steps >= self.bounds["steps"], "fewer steps than the least")
                require(cost >= self.bounds["bandwidth"], "costs less than the bound")
                shape = self.shapes[0] if self.scales else self.of[part["chunks"]]
                self._require_chunks(part, replay, shape)
                self.accepted.append(f"timed[{i}]: an algorithm of S = {steps}, R/C = {cost}")

    def unchecked(self) -> Iterator[tuple[str, str]]:
        """The kind and the words of claims that no file can prove."""
        believed = set(self.of) - {point["chunks"] for _, _, point in self.points}
        if self.scales:
            yield "scales", "that the proofs for its own C hold for every C"
        elif believed:
            yield "shapes", f"the chunks of C = {_some(sorted(believed))}"
        if undefined := self.evidence["undefined"]:
            yield "undefined", f"that the collective is not defined for C = {_some(undefined)}"
        refuted = [one for _, proof in self.proofs for one in proof["refuted"]]
        if refuted:
            count = len({json.dumps(one, sort_keys=True, default=str) for one in refuted})
            by = ", ".join(dict.fromkeys(one["backend"] for one in refuted))
            yield "refutations", f"refutations ({count}), on the word of {by}"


def _some(numbers: Sequence[Any]) -> str:
    return ", ".join(map(str, numbers[:8])) + (", …" if len(numbers) > 8 else "")


def _region(one: Region) -> str:
    least, most, low, high = one
    steps = f"{least}" + ("" if most == least else " or more" if most is None else f" to {most}")
    return f"S = {steps} with {low} <= R/C" + ("" if high is None else f" < {high}")


def _limits(proof: Json, form: str) -> Iterable[str]:
    for noun, key in (("chunk", "max_chunks"), ("round", "max_rounds")):
        if (n := proof[key]) is not None:
            yield form.format(noun=noun, n=n, s="" if n == 1 else "s")


def _scope(proof: Json) -> str:
    if proof["scope"] in ("all", "open"):
        return str(proof["scope"])
    return " and ".join(_limits(proof, "{noun}s<={n}"))


def _method(proof: Json, certificates: Sequence[Certificate]) -> str:
    kinds = {one.method for one in certificates if one.rounds}
    if proof["refuted"]:
        return "unsat"
    return "distance" if not kinds else str(*kinds) if len(kinds) == 1 else "prices"


def _words(steps: int, proof: Json) -> str:
    best, most = proof["best"], proof["bound_chunks"]
    text = f"no algorithm of at most {steps} step{'s' * (steps != 1)} has a bandwidth cost below "
    text += f"{proof['bound']}, "
    if most is None:
        text += "whatever its chunks and rounds"
    else:
        text += f"with at most {most} chunk{'s' * (most != 1)} per node"
    if proof["scope"] in ("all", "open") or best == proof["bound"]:
        return text
    limits = " and ".join(_limits(proof, "at most {n} {noun}{s}"))
    limits = re.sub(r"(chunks?)", r"\1 per node", limits)
    text += f"; none with {limits} " + ("exists" if best is None else f"has one below {best}")
    return text + (", on the word of a solver" if proof["refuted"] else "")
