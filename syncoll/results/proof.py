"""Proof: the algorithms of at most S steps among which the best one found is optimal, and why.

It is optimal for every C if certificates reach its cost, and for C up to a limit if a solver
refuted the rest.  Otherwise the certificates only bound the costs.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction

from syncoll.certificates import Certificate
from syncoll.model.grains import Rounds, exact
from syncoll.wording import counted


class Scope(StrEnum):
    """For which algorithms a point is proved optimal."""

    ALL = "all"
    CHUNKS = "chunks"
    OPEN = "open"


class Method(StrEnum):
    """The argument that proves the bound, or closes the gap to it."""

    PRICES = "prices"
    CUT = "cut"
    SENDS = "sends"
    TREES = "trees"
    COMPLETIONS = "completions"
    GOSSIP = "gossip"
    BOXES = "boxes"
    SWITCHES = "switches"
    UNSAT = "unsat"
    DISTANCE = "distance"


@dataclass(frozen=True, order=True)
class Refuted:
    """A solver's answer that no algorithm of at most S steps and R rounds with C chunks exists.

    Args:
        encoding: its name.
        backend: its name.
        file: name of the refutation file that proves it, if requested.
    """

    steps: int
    rounds: Rounds
    chunks: int
    encoding: str
    backend: str
    file: str | None = None

    def scaled(self, factor: Fraction) -> "Refuted":
        """The same with `factor` times the rounds."""
        return replace(self, rounds=exact(self.rounds * factor))


def covers(refuted: Refuted, steps: int, rounds: Rounds, chunks: int) -> bool:
    """Whether a refutation rules out S = `steps`, R = `rounds`, C = `chunks` too.  Fewer steps or
    rounds are harder; m parallel copies of an algorithm have m times its R and C."""
    copies, odd = divmod(refuted.chunks, chunks)
    return not odd and refuted.steps >= steps and rounds * copies <= refuted.rounds


def most_covered(refuted: Refuted, steps: int, chunks: int) -> int:
    """The largest whole R that a refutation rules out for an S and a C, see `covers`; -1 for
    none."""
    copies, odd = divmod(refuted.chunks, chunks)
    if odd or refuted.steps < steps:
        return -1
    return int(refuted.rounds // copies)


@dataclass(frozen=True)
class Proof:
    """The claim about algorithms of at most S steps, and its proof.

    Args:
        steps: S.
        best: the least R/C found with at most S steps; None without one.
        bound: the proved lower bound on R/C.
        certificates: prove the bound, one for each shape, and rule out single C.
        scope: the algorithms among which `best` is optimal.
        low: the least R/C not ruled out for C up to the search's limit; `best` if no better one can
            exist there, None if no algorithm can.
        bound_chunks: the bound holds for C up to this; None: for every C.
        max_chunks: for `Scope.CHUNKS`, C up to this; None if every C is covered.
        max_rounds: the proof covers algorithms of at most this R; None for any R.
        refuted: for `Scope.CHUNKS`, the refutations that close the gap to the bound.
    """

    steps: int
    best: Fraction | None
    bound: Fraction
    certificates: tuple[Certificate, ...]
    scope: Scope
    low: Fraction | None
    bound_chunks: int | None = None
    max_chunks: int | None = None
    max_rounds: Rounds | None = None
    refuted: tuple[Refuted, ...] = ()

    @property
    def method(self) -> Method:
        """The argument of the proof."""
        if self.refuted:
            return Method.UNSAT
        bounds = (one.bound for one in self.certificates)
        kinds = {one.method for one in bounds if one.rounds and one.certificate is not None}
        if not kinds:
            return Method.DISTANCE
        return Method(kinds.pop()) if len(kinds) == 1 else Method.PRICES

    @property
    def scope_text(self) -> str:
        """The scope as written in files: ``all``, ``chunks<=24``, ``rounds<=6`` or ``open``."""
        if self.scope is not Scope.CHUNKS:
            return str(self.scope)
        limits = [
            f"{name}<={limit}"
            for name, limit in (("chunks", self.max_chunks), ("rounds", self.max_rounds))
            if limit is not None
        ]
        return " and ".join(limits) or "all"

    def scaled(self, factor: Fraction) -> "Proof":
        """The proof with `factor` times the rounds, on a topology of as much less bandwidth."""
        return replace(
            self,
            best=None if self.best is None else self.best * factor,
            bound=self.bound * factor,
            low=None if self.low is None else self.low * factor,
            certificates=tuple(one.scaled(factor) for one in self.certificates),
            max_rounds=None if self.max_rounds is None else exact(self.max_rounds * factor),
            refuted=tuple(one.scaled(factor) for one in self.refuted),
        )

    def inverse(self, factor: Fraction) -> "Proof":
        """The proof for the inverse collective on the reversed topology.

        Args:
            factor: C of the inverse divided by C of this collective, the same for each C.
        """
        return replace(
            self,
            best=None if self.best is None else self.best / factor,
            bound=self.bound / factor,
            low=None if self.low is None else self.low / factor,
            certificates=tuple(
                one.inverse(int(one.shape.chunks * factor)) for one in self.certificates
            ),
            max_chunks=None if self.max_chunks is None else int(self.max_chunks * factor),
            refuted=tuple(replace(one, chunks=int(one.chunks * factor)) for one in self.refuted),
        )

    @property
    def words(self) -> str:
        """The claim as a sentence."""
        return self.sentence()

    def sentence(self, checked: Collection[Refuted] = ()) -> str:
        """The claim as a sentence; refutations without a checked proof are a solver's word."""
        steps = counted(self.steps, "step")
        limits = [
            f"at most {counted(limit, noun)}{each}"
            for limit, noun, each in (
                (self.max_chunks, "chunk", " per node"),
                (self.max_rounds, "round", ""),
            )
            if limit is not None
        ]
        among = f"no algorithm of at most {steps}"
        whatever = "whatever its chunks and rounds"
        if self.bound_chunks is not None:
            whatever = f"with at most {counted(self.bound_chunks, 'chunk')} per node"
        if self.scope is not Scope.CHUNKS or self.best == self.bound:
            return f"{among} has a bandwidth cost below {self.bound}, {whatever}"
        what = "exists" if self.best is None else f"has one below {self.best}"
        ground = ""
        if self.refuted:
            on_word = any(one not in checked for one in self.refuted)
            ground = f", {'on the word of a solver' if on_word else 'by refutations checked here'}"
        return (
            f"{among} has a bandwidth cost below {self.bound}, {whatever}; none with "
            f"{' and '.join(limits)} {what}{ground}"
        )
