"""Checks every claim of a frontier's file with exact arithmetic and shortest paths, no solver.

Each number is computed anew, and must equal the stated one: docs/certificates.md, "The check", is
the list.  `syncoll.results.frontier`, which searches use too, derives claims from proofs; the
package `syncoll_check` shares no code with either.  `unchecked` has the claims that a file cannot
prove by itself.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import numpy as np

from syncoll.certificates import Certificate, ChunkClasses
from syncoll.errors import UsageError, VerificationError
from syncoll.model import Collective, Topology
from syncoll.model.grains import in_rounds
from syncoll.progress import tracked
from syncoll.results import BY_CUTTING, Evidence, Frontier, OpenClaim, Point, Proof, Refuted, Scope
from syncoll.results.family import Part
from syncoll.results.frontier import better_left, known_cost, open_regions
from syncoll.results.proof import covers
from syncoll.trust.families import require_consistent
from syncoll.trust.same_problem import require_same_collective, require_same_topology
from syncoll.trust.unchecked import Unchecked, unchecked

Witness = Callable[[Refuted, Frontier], object]
"""Checks the proof file of a refutation; raises `VerificationError`."""

_MOST_RATIOS = 10_000_000
"""The number of (R, C) that a check visits; a file that needs more would stall its reader."""


@dataclass(frozen=True)
class Checked:
    """The result of a check that found no wrong claim.

    Args:
        proved_by_file: refutations whose proof file was checked.
        on_word: refutations that rely on the word of a solver.
        scales: why one C stands for every C; None without a given collective.
        unchecked: empty when every claim of the file was proved.
        compared: the name of the collective that the file was compared with; empty for none.
        machine: the name of the topology that the file was compared with; empty for none.
    """

    frontier: Frontier
    proved_by_file: tuple[Refuted, ...]
    on_word: tuple[Refuted, ...]
    scales: str | None = None
    unchecked: tuple[Unchecked, ...] = ()
    compared: str = ""
    machine: str = ""


def check_claims(
    frontier: Frontier,
    witness: Witness | None = None,
    *,
    topology: Topology | None = None,
    collective: Collective | None = None,
    by_name: bool = False,
) -> Checked:
    """Checks that a frontier proves all its claims; reading the file has replayed its algorithms.
    Raises `VerificationError` with the first wrong claim.

    Args:
        witness: checks the proof files that refutations name; without one a refutation counts as
            the word of a solver.
        topology: the expected topology; None for any.
        collective: the expected collective; None for any: the file then defines for which C its
            chunks stand.
        by_name: whether `collective` was looked up by the name in the file; one that differs is
            ignored.
    """
    evidence = frontier.evidence
    if evidence is None:
        raise VerificationError(
            "the file carries no proofs (it was written by an older syncoll, or they were taken "
            "out); search again to get them"
        )
    _Check(frontier, evidence).run()
    if topology is not None:
        require_same_topology(frontier.topology, topology)
    if collective is not None:
        instances = [point.instance for point in (*frontier.points, *frontier.timed)]
        about = frontier.collective, frontier.topology, instances, evidence
        try:
            require_same_collective(*about, collective)
        except (VerificationError, UsageError):
            if not by_name:
                raise
            collective = None
    used = dict.fromkeys(r for proof in evidence.proofs for r in proof.refuted)
    with_file = [r for r in used if r.file is not None and witness is not None]
    for one in tracked(with_file, lambda refuted: f"checking {refuted.file}"):
        assert witness is not None
        witness(one, frontier)
    on_word = tuple(r for r in used if r not in with_file)
    return Checked(
        frontier,
        tuple(with_file),
        on_word,
        None if collective is None else BY_CUTTING,
        tuple(unchecked(frontier, evidence, on_word, known=collective is not None)),
        "" if collective is None else collective.name,
        "" if topology is None else topology.name,
    )


def _require(holds: bool, message: str) -> None:
    if not holds:
        raise VerificationError(message)


class _Check:
    def __init__(self, frontier: Frontier, evidence: Evidence) -> None:
        self.frontier, self.evidence = frontier, evidence
        self.topology = frontier.topology
        self.families = frontier.families if frontier.counts_members else ()
        self.least_steps = {
            one.shape: _least_steps(one.shape, self.topology) for one in evidence.shapes
        }
        self.shape_of: dict[int, ChunkClasses] = {}

    def run(self) -> None:
        self._shapes()
        for point in self.frontier.points:
            self._point(point)
        for i, part in enumerate(self.frontier.timed):
            self._timed(f"timed[{i}]", part)
        self._steps()
        numbered = list(enumerate(self.evidence.certificates))
        for i, certificate in tracked(numbered, lambda one: f"checking certificate {one[0]}"):
            try:
                certificate.check(self.topology)
            except VerificationError as error:
                raise VerificationError(f"evidence.certificates[{i}]: {error}") from error
        self._bandwidth()
        numbers = [proof.steps for proof in self.evidence.proofs]
        _require(
            _ascending(numbers) and all(n >= self.frontier.least_steps for n in numbers),
            f"the proofs are about {numbers} steps, in that order",
        )
        for proof in self.evidence.proofs:
            try:
                self._proof(proof)
            except VerificationError as error:
                where = f"proof for {proof.steps} steps"
                raise VerificationError(f"{where}: {error}") from error
        self._open()
        require_consistent(self.frontier)

    def _shapes(self) -> None:
        shapes, most = self.evidence.shapes, self.evidence.max_chunks
        _require(bool(shapes), "evidence.shapes is empty: proofs about nothing")
        for one in shapes:
            in_it = one.shape.chunks in one.compared
            _require(in_it, f"the shape for C = {one.shape.chunks} does not say so")
            for chunks in one.compared:
                fits = chunks >= 1 and one.shape.allows(chunks)
                _require(fits, f"C = {chunks} cannot have that shape")
                new = chunks not in self.shape_of and chunks not in self.evidence.undefined
                _require(new, f"C = {chunks} is said to have two shapes")
                self.shape_of[chunks] = one.shape
        alone = len(shapes) == 1 or not any(one.scales for one in shapes)
        _require(alone, "several shapes, and one of them stands for every C")
        alike = len({one.shape.combining for one in shapes}) == 1
        _require(alike, "one shape combines and another does not")
        wanted = {*self._domain(), *(point.chunks for point in self.frontier.points)}
        _require(
            wanted == set(self.shape_of),
            f"the shapes are compared for C in {sorted(self.shape_of)}; the search was about "
            f"{sorted(wanted)}",
        )
        undefined = self.evidence.undefined
        _require(
            _ascending(undefined) and all(1 <= c <= most for c in undefined),
            f"C that are named as undefined are not from 1 to {most}, each once in ascending order",
        )
        allowed = all(self._allowed(c) for c in undefined)
        _require(allowed, "C that are named as undefined could not have a shape anyway")
        left_out = [c for c, _ in self.frontier.left_out]
        _require(
            _ascending(left_out)
            and all(1 <= c <= most and c not in self.shape_of for c in left_out),
            f"C = {', '.join(map(str, left_out))} are said to be left out; expected C up to "
            f"{most} without a shape, each once in ascending order",
        )

    def _timed(self, where: str, part: Part) -> None:
        self._chunks(where, part)
        _require(
            part.steps >= self.frontier.least_steps
            and part.bandwidth >= self.frontier.least_bandwidth,
            f"{where} costs ({part.steps}, {part.bandwidth}), below the file's bounds",
        )

    def _chunks(self, name: str, one: Point | Part) -> None:
        found = ChunkClasses.of(one.instance, one.chunks, combining=one.instance.combining)
        shape = self.evidence.shape(one.chunks)
        same = shape is not None and found.proportional(shape)
        _require(same, f"{name} is about other chunks than the proofs")

    def _point(self, point: Point) -> None:
        name = f"the point ({point.steps}, {point.bandwidth})"
        self._chunks(name, point)
        proof = self.evidence.proof(point.steps)
        bound = None if proof is None else proof.bound
        _require(
            proof is not None and point.bound == bound,
            f"{name} states the bound {point.bound}; its proof is about {bound}",
        )

    def _steps(self) -> None:
        least = min(self.least_steps.values())
        stated, witness = self.frontier.least_steps, self.evidence.distance
        text = f"the least number of steps is stated as {stated}; distances say {least}"
        _require(stated == least, text)
        if witness is None:
            _require(not least, "no distance proves the least number of steps")
            return
        way = f"from nodes {witness.sources} to node {witness.destination}"
        inside = max((*witness.sources, witness.destination)) < self.topology.num_nodes
        journey = witness.sources, witness.destination
        needed = inside and any(_is_journey(o.shape, *journey) for o in self.evidence.shapes)
        _require(needed, f"nothing must get {way}")
        far = min(int(self.topology.distances[n, witness.destination]) for n in witness.sources)
        _require(
            witness.steps == far == least,
            f"{way} it takes {far} steps; the file says {witness.steps}, and {least} as the least "
            "number of steps",
        )

    def _bandwidth(self) -> None:
        proved = self._bound(self.evidence.bandwidth, None)
        stated = self.frontier.least_bandwidth
        _require(
            proved == stated,
            f"the bandwidth bound is stated as {stated}; its certificates prove {proved}",
        )

    def _bound(self, certificates: Sequence[Certificate], steps: int | None) -> Fraction:
        """The bound that certificates prove together for at most S steps (None: any number)."""
        best: dict[ChunkClasses, Fraction] = {
            one.shape: Fraction(0)
            for one in self.evidence.shapes
            if steps is None or self.least_steps[one.shape] <= steps
        }
        for certificate in certificates:
            if _speaks_of(certificate, steps) and certificate.shape in best:
                known = best[certificate.shape]
                best[certificate.shape] = max(known, certificate.bandwidth)
        return min(best.values(), default=Fraction(0))

    def _proof(self, proof: Proof) -> None:
        best = known_cost(proof.steps, self.frontier.points, self.families)
        _equal("the best cost found", proof.best, best)
        bound = self._bound(proof.certificates, proof.steps)
        _require(proof.bound == bound, f"the certificates prove R/C >= {bound}, not {proof.bound}")
        _equal("bound_chunks", proof.bound_chunks, self.frontier.max_chunks)
        above = best is None or best >= bound
        _require(above, f"an algorithm costs {best}, below the bound {bound}")
        if proof.scope is Scope.ALL:
            proved = best is not None and best <= bound and self.evidence.scaling
            _require(proved, "it claims more than the certificates prove")
            _equal("low", proof.low, best)
        elif best is None and proof.max_rounds is None:
            _equal("low", proof.low, bound)
            is_open = proof.scope is Scope.OPEN
            _require(is_open, "nothing was found and R is not limited: that proves nothing")
        else:
            self._exclusions(proof, best)
            return
        free = not proof.refuted and proof.max_chunks is None and proof.max_rounds is None
        _require(free, "limits or refutations that the claim does not need")

    def _contradictions(self, proof: Proof) -> None:
        """Checks that no refutation rules out an algorithm of the file."""
        for answer, family in product(proof.refuted, self.frontier.families):
            last = family.within(answer.steps)
            if last is None:
                continue
            # A member has as many grains as waves at least.
            last = min(last, int(answer.rounds * self.topology.grains))
            _require(last - family.first <= _MOST_RATIOS, "too many members to look at one by one")
            for m in range(family.first, last + 1):
                times = -(-answer.chunks // family.chunks.at(m))
                _require(
                    family.rounds_needed.at(m) * times > answer.rounds,
                    f"S = {answer.steps}, R = {answer.rounds}, C = {answer.chunks} is said to be "
                    f"impossible, but a family has the member {m}",
                )
        for answer, point in product(proof.refuted, self.frontier.points):
            asked, had = self._shape(answer.chunks), self._shape(point.chunks)
            copies = _copies(asked, had)
            _require(
                copies is None
                or point.steps > answer.steps
                or point.rounds * copies > answer.rounds,
                f"S = {answer.steps}, R = {answer.rounds}, C = {answer.chunks} is said to be "
                f"impossible, but the file has the point ({point.steps}, {point.bandwidth}) "
                f"with C = {point.chunks}",
            )

    def _shape(self, chunks: int) -> ChunkClasses:
        """The chunks for C = `chunks`."""
        shape = self.evidence.shape(chunks)
        if shape is None:
            raise VerificationError(
                f"a refutation is about C = {chunks}, and the file does not describe its chunks"
            )
        return shape.scaled(chunks)

    def _exclusions(self, proof: Proof, best: Fraction | None) -> None:
        """Checks `low`, `scope` and `max_chunks` against the R that are ruled out for each C."""
        self._contradictions(proof)
        bound = self._bound(proof.certificates, proof.steps)
        looked, needed = 0, set[Refuted]()

        def least(chunks: int, limit: int) -> int | None:
            nonlocal looked
            rounds = limit
            while rounds >= 0 and not self._ruled_out(proof, chunks, rounds, needed):
                rounds -= 1
                looked += 1
                _require(looked <= _MOST_RATIOS, "too many candidates to be checked one by one")
            return None if rounds == limit else rounds + 1

        low, closed, is_closed = better_left(
            self._domain(), best, proof.max_rounds, least, grains=self.topology.grains
        )
        _equal("low", proof.low, low)
        used = set(proof.refuted) == needed
        _require(used, "it names refutations that the claim does not need")
        if proof.scope is Scope.OPEN:
            _require(not closed, f"more is proved than the file says: C up to {closed}")
            _equal("max_chunks", proof.max_chunks, None)
            return
        _require(closed > 0, "for no C is something better ruled out")
        if is_closed:
            closed = self.evidence.max_chunks
        if proof.max_chunks is None:
            # A C beyond R / bound would cost less than the bound allows.
            reaches = self.evidence.scaling and bound > 0 and proof.max_rounds is not None
            every = is_closed and reaches and Fraction(proof.max_rounds or 0) / bound <= closed
            _require(every, f"every C is claimed; C up to {closed} is proved")
        else:
            text = f"C up to {proof.max_chunks} is claimed; C up to {closed} is proved"
            _require(proof.max_chunks == closed, text)

    def _domain(self) -> list[int]:
        """Every C up to the search's limit for which the collective is defined."""
        found = []
        for chunks in range(1, self.evidence.max_chunks + 1):
            if chunks in self.shape_of:
                found.append(chunks)
            elif chunks not in self.evidence.undefined and self._allowed(chunks):
                raise VerificationError(f"nothing is said about C = {chunks}")
        return found

    def _allowed(self, chunks: int) -> bool:
        """Whether the collective may be defined for C = `chunks`, according to the file."""
        return not self.evidence.scaling or self.evidence.shapes[0].shape.allows(chunks)

    def _ruled_out(self, proof: Proof, chunks: int, grains: int, needed: set[Refuted]) -> bool:
        steps = min(proof.steps, grains)  # a step without rounds does nothing
        rounds = in_rounds(grains, self.topology.grains)
        shape = self.shape_of[chunks]
        if self.least_steps[shape] > steps:
            return True
        if any(
            one.shape == shape
            and _speaks_of(one, steps)
            and Fraction(rounds, chunks) < one.bandwidth
            for one in proof.certificates
        ):
            return True
        # In the order in which a search chooses among several that suffice.
        for answer in sorted(proof.refuted, key=lambda r: (-r.steps, r.chunks, -r.rounds)):
            same = self.evidence.scaling or answer.chunks == chunks
            if same and covers(answer, steps, rounds, chunks):
                needed.add(answer)
                return True
        return False

    def _open(self) -> None:
        """Checks that the open regions follow from the proofs."""
        least = self.frontier.least_steps, self.frontier.least_bandwidth
        expected = list(open_regions(self.frontier, self.evidence.proofs, *least))
        stated = [(c.least_steps, c.most_steps, c.low, c.high) for c in self.frontier.open]
        _require(
            stated == expected,
            f"the open regions are stated as {_shown(stated)}; the proofs leave open "
            f"{_shown(expected)}",
        )


def _equal(what: str, stated: object, computed: object) -> None:
    _require(stated == computed, f"{what} is {computed}, not {stated}")


def _ascending(numbers: Sequence[int]) -> bool:
    return list(numbers) == sorted(set(numbers))


def _copies(asked: ChunkClasses, had: ChunkClasses) -> int | None:
    """The number of parallel copies of an algorithm for one shape that solve another, without
    chunks that the other lacks; None: none."""
    counts = {(pre, post): count for pre, post, count in had.classes.triples()}
    copies = 1
    for pre, post, count in asked.classes.triples():
        if not post or (not asked.combining and set(post) <= set(pre)):
            continue  # no chunk has to get anywhere
        if (pre, post) not in counts:
            return None
        copies = max(copies, -(-count // counts[pre, post]))
    return copies


def _speaks_of(certificate: Certificate, steps: int | None) -> bool:
    """Whether a certificate holds for algorithms of at most S steps (None: any number)."""
    return certificate.steps is None or (steps is not None and certificate.steps >= steps)


def _shown(claims: Sequence[tuple[int, int | None, Fraction, Fraction | None]]) -> str:
    return "; ".join(str(OpenClaim(*claim, "")).rstrip(": ") for claim in claims) or "nothing"


def _is_journey(shape: ChunkClasses, sources: tuple[int, ...], to: int) -> bool:
    """Whether a chunk must get to a node from one of these: all together suffice, fewer do not."""
    if shape.combining:
        return len(sources) == 1 and any(
            sources[0] in one.pre and to in one.post for one in shape.classes
        )
    return any(one.pre == sources and to in one.post for one in shape.classes)


def _least_steps(shape: ChunkClasses, topology: Topology) -> int:
    """The longest of the shortest paths that chunks, or contributions, must take."""
    own, least = shape.classes, 0
    sets = [np.array(one, dtype=np.int64) for one in own.sets]
    order = np.argsort(own.first, kind="stable")  # distances are taken once for each pre
    last, far = -1, topology.distances[0]
    for i, j in zip(own.first[order].tolist(), own.second[order].tolist(), strict=True):
        if not len(sets[j]):
            continue
        if len(sets[i]):
            if i != last:
                last, ways = i, topology.distances[sets[i]]
                far = ways.max(axis=0) if shape.combining else ways.min(axis=0)
            least = max(least, int(far[sets[j]].max()))
        elif not shape.combining:
            to = own.sets[j][0]
            raise VerificationError(f"a shape needs a chunk at node {to} that starts nowhere")
    return least
