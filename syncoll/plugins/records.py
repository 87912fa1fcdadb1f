"""The records that plugins register; importing one loads no solver.

A record names the plugin, states its abilities and answers four questions in words.  Is it
installed, is it licensed, can it run this, and should it?  Its summary is one line.  Each field for
a function also takes the name of one (`syncoll.plugins.code`).  The heavy part is made on first use
by `load`, usually the name of its class.  Its methods get `options`, with a value for every option
of the record's table.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

from syncoll.deadline import NEVER, Deadline
from syncoll.errors import PluginError
from syncoll.formula.features import Feature
from syncoll.plugins import fields
from syncoll.plugins.code import Code
from syncoll.plugins.guard import Answer, Guard, GuardedQuestion, Loader, Returns
from syncoll.plugins.options import Option, Options
from syncoll.plugins.record import Record

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from syncoll.certificates import Priced
    from syncoll.formula import Assignment, Formula, FormulaSize, Labels, Limits, Outcome
    from syncoll.model import Algorithm, Collective, Instance, Topology
    from syncoll.model.fabric import Fabric
    from syncoll.results.family import Family
    from syncoll.results.forest import ForestCollective, PackedForest


def up_to(measure: str, most: int, too_many: str, few: str) -> Callable[[FormulaSize], Answer]:
    """Whether a formula is small enough to be worth a run, for `BackendRecord.should_run`.

    Args:
        measure: an attribute of `FormulaSize`.
        too_many: the words after ``30,000 variables`` if there are more than `most`.
        few: the words if there are not.
    """

    def should_run(size: FormulaSize) -> Answer:
        number = getattr(size, measure)
        return Answer(number <= most, few if number <= most else f"{number:,} {measure} {too_many}")

    return should_run


def installed_distribution(distribution: str, module: str, extra: str = "") -> Answer:
    """Whether a distribution is installed, without importing it.

    Args:
        distribution: its name for pip: ``z3-solver``.
        module: the module that it provides: ``z3``.
        extra: the extra of syncoll that brings it; empty if a plain install does.
    """
    try:
        version = importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        version = ""
    if version and importlib.util.find_spec(module) is not None:
        return Answer(True, f"{distribution} {version}")
    how = f"pip install 'syncoll[{extra}]'" if extra else f"pip install {distribution}"
    return Answer(False, f"{distribution} is not installed; {how}")


class Encoded(Protocol):
    """An instance as a formula, and the way back."""

    @property
    def formula(self) -> Formula:
        """Satisfiable exactly when the instance has an algorithm."""

    def decode(self, assignment: Assignment) -> Algorithm:
        """The algorithm that a model of the formula describes."""


@runtime_checkable
class TakesHints(Protocol):
    """Optional ability of an `Encoded`: it expresses an algorithm in its formula's variables."""

    def hint(self, algorithm: Algorithm) -> npt.NDArray[np.int64]:
        """Literals that hold for an algorithm, as far as variables exist for its sends.

        Args:
            algorithm: an algorithm for the instance's topology and chunks.  It may have fewer steps
                and more rounds than the instance; a solver may find a better one near it.
        """


@runtime_checkable
class LabelsVariables(Protocol):
    """Optional ability of an `Encoded`: it labels its variables.

    syncoll can then search only symmetric algorithms, with one variable for each orbit.
    """

    def labels(self) -> Labels | None:
        """A row for every variable; None if an option has broken the symmetry of the instance, for
        instance by an order of the chunks."""


class Encoding(Protocol):
    """Turns instances into formulas."""

    def encode(self, instance: Instance, options: Options) -> Encoded:
        """The formula of an instance."""


@runtime_checkable
class EstimatesSize(Protocol):
    """Optional ability of an `Encoding`: it estimates the size of a formula without building it."""

    def literals(self, instance: Instance, options: Options) -> int:
        """Approximate number of literals in all rows of the instance's formula.

        It must be fast and need little memory: an instance is skipped if its formula would not fit.
        """


class Backend(Protocol):
    """Decides formulas.  It runs in a process of its own: it may crash, but must not lie."""

    def solve(self, formula: Formula, limits: Limits, options: Options) -> Outcome:
        """Decides a formula that uses only features of the record.

        Returns unknown, with the reason, whenever a limit ends the run; never unsat then.
        """


class _ReturnsFormula(Returns):
    def check(self, value: Any) -> None:
        from syncoll.formula import Formula  # registering an encoding must not need it

        if not isinstance(value.formula, Formula):
            raise TypeError(f"its formula is a {type(value.formula).__name__}, not a Formula")


class _ReturnsProof(Returns):
    def check(self, value: Any) -> None:
        from syncoll.certificates import Priced  # registering a bound must not need it

        if not (value is None or isinstance(value, Priced)):
            raise TypeError(f"it returned a {type(value).__name__}, not a Priced or None")


def _yes(*_: object) -> Answer:
    return Answer(True)


@dataclass(frozen=True)
class EncodingRecord(Record):
    """An encoding's entry.

    Args:
        name: as written after ``--encoding``.
        combining: whether it takes combining instances, and only these.
        rank: ``auto`` takes the encoding of the highest rank for its kind of instance; None for an
            encoding that is only used by name.  The encodings of syncoll have ranks from 10 to 20.
        counts_copies: whether its formulas are exact for bounds that do not count every send
            (`syncoll.model.Counting`).  Other encodings get the instance with every send counted;
            an answer of no algorithm is then unknown.
    """

    guards: ClassVar[Mapping[str, Guard]] = {
        "load": partial(Loader, methods={"encode": _ReturnsFormula(object)})
    }

    load: Code[Callable[[], Encoding]] = Code()
    options: tuple[Option, ...] = ()
    combining: bool = False
    rank: float | None = None
    counts_copies: bool = False


@dataclass(frozen=True)
class Rank:
    """A backend's place in the choice of ``auto``, by the kind of the instance.

    The backends of syncoll have ranks from 10 to 20, and spares below 10.

    Args:
        moving: rank for instances that only move data; ``auto`` asks the highest ranks in
            descending order.
        combining: rank for instances that combine data.
        spare: whether it is only asked, and alone, if no other backend is installed.
    """

    moving: float
    combining: float
    spare: bool = False

    def __post_init__(self) -> None:
        fields.check_fields(self)


@dataclass(frozen=True)
class BackendRecord(Record):
    """A solver backend's entry.

    Args:
        name: as written after ``--backend``.
        load: makes the backend; a worker process calls it, so it must have a name or be importable.
        features: the features that formulas may use; other features are lowered before.
        installed: whether its library is installed; answers without importing it.
        licensed: whether it may run here at all; may import the library.
        can_run: whether it can run a (lowered) formula of this size.
        should_run: whether it is a sensible choice for such a formula; ``auto`` skips it otherwise.
        rank: its place in ``auto``; None for a backend that is only used by name.
        writes_proofs: whether it writes a proof to `Limits.proof` if clauses are unsat, at least
            with its default options.
        counts_work: whether it obeys `Limits.work` and reports its work in `Outcome.work`.
    """

    # `load` stays unwrapped: a worker process imports it by its name and guards it there.
    guards: ClassVar[Mapping[str, Guard]] = dict.fromkeys(
        ("installed", "licensed", "can_run", "should_run"), GuardedQuestion
    )

    load: Code[Callable[[], Backend]] = Code()
    features: frozenset[Feature]  # type: ignore[misc]  # `load` has no default either
    installed: Code[Callable[[], Answer]] = Code()
    options: tuple[Option, ...] = ()
    licensed: Code[Callable[[], Answer]] = Code(_yes)
    can_run: Code[Callable[[FormulaSize], Answer]] = Code(_yes)
    should_run: Code[Callable[[FormulaSize], Answer]] = Code(_yes)
    rank: Rank | None = None
    writes_proofs: bool = False
    counts_work: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.writes_proofs and Feature.CLAUSE not in self.features:
            raise PluginError(f"backend {self.name} takes no clauses, so it can write no proofs")


@dataclass(frozen=True)
class SeedLimits:
    """Limits on the algorithms and on the time of a seed.

    Args:
        max_steps: the largest S; None, also in the next fields, for no limit.
        max_rounds: the largest R.
        max_chunks: the largest C.
        seconds: CPU time of work, as `Deadline.working` measures it; after these it should only
            yield its current results.
        until: the time when it is stopped, even if a busy machine let it work little.
        known: algorithms of the collective, for a seed that can start near one.  They may be
            broken: their sends may use links that do not exist.
        is_part: whether the result becomes a part of algorithms with many times its sends; a gain
            of under a percent is then not worth several times the chunks.
        budgets: limits on C in ascending order.  The search wants the least R/C for each of them
            and without them, for each S; a proposal with fewer chunks is kept even if another one
            has a lower R/C.  Empty for `max_chunks` alone.
    """

    max_steps: int | None = None
    max_rounds: int | None = None
    max_chunks: int | None = None
    seconds: float | None = None
    until: Deadline = NEVER
    known: tuple[Proposal, ...] = ()
    is_part: bool = False
    budgets: tuple[int, ...] = ()

    def allow(self, *, steps: int = 0, rounds: int = 0, chunks: int = 0) -> bool:
        """Whether these are within the limits on S, R and C."""
        most = self.max_steps, self.max_rounds, self.max_chunks
        costs = steps, rounds, chunks
        return all(top is None or cost <= top for cost, top in zip(costs, most, strict=True))

    def deadline(self) -> Deadline:
        """Both limits of time as one deadline, for a seed that begins now."""
        return self.until.working(self.seconds)


@dataclass(frozen=True, eq=False)
class Proposal:
    """An algorithm that a seed constructed; it is verified before use.

    Args:
        chunks: C.
        algorithm: an algorithm for the collective with C chunks, numbered as in the collective's
            table.
        note: how it was made, in a few words: ``3 trees, 4 segments``.
        family: a family of algorithms, one for each m, with this one in it; verified for all m.
    """

    chunks: int
    algorithm: Algorithm
    note: str = ""
    family: Family | None = None

    def __post_init__(self) -> None:
        fields.check_fields(self)


class Seed(Protocol):
    """Constructs algorithms without a search: a heuristic, fast and often far from optimal."""

    def propose(
        self, topology: Topology, collective: Collective, limits: SeedLimits, options: Options
    ) -> Iterator[Proposal | None]:
        """Algorithms for the collective, the most useful first; empty if it finds none.

        A seed that improves with time (`SeedRecord.resumes`) is a generator that yields None at the
        end of its turn.  It is resumed if there is more time.  The ``yield`` then returns the
        `SeedLimits` of the next turn, or None without more time.

        Args:
            topology: P and B.
            collective: has a pre and a post, combining or not.  The search itself makes inverses
                and compositions of the seed's algorithms.
            limits: limits on the algorithms and on time.
        """


class ForestPacker(Protocol):
    """Packs optimal forests of spanning trees; a seed offers it through its record's `forest`."""

    def pack(
        self,
        fabric: Fabric,
        collective: ForestCollective,
        *,
        root: int = 0,
        fixed_k: int | None = None,
    ) -> tuple[PackedForest, ...]:
        """The forests of a collective's phases, in order.

        Args:
            fabric: any network.
            collective: the collective to pack for; allreduce has two phases.
            root: the root, if the collective has one.
            fixed_k: trees for each root; None for as many as the optimum needs.

        Raises:
            ModelError: if the network has no such forest.
            UsageError: if k is below 1, or numbers become too large.
            VerificationError: if the packed forest is wrong.
        """

    def any_roots(self, fabric: Fabric) -> tuple[Fraction, Fraction] | None:
        """Throughput of an allreduce that reduces to all roots at once and broadcasts from them.

        The roots may have any shares of the data, and the two halves may share the bandwidth in any
        way (ForestColl paper, appendix E).

        Args:
            fabric: a network in which every node reaches every other.

        Returns:
            A throughput that is attained, and an upper bound; None if the network is too large for
            a fast answer.
        """


@dataclass(frozen=True)
class SeedRecord(Record):
    """A seed backend's entry.

    Args:
        name: as written after ``--backend`` and ``--seeds``.
        installed: whether its requirements are installed; answers without importing them.
        fits: whether it applies to this collective on this topology; a no has the reason.  Must be
            cheap.
        by_default: whether a search uses it unless the user chooses the seeds.
        forest: imports and returns a packer of forests, for ``syncoll forest``; None if the seed
            has no packer.
        first_seconds: approximate time to its first algorithm, for instance for an allgather among
            64 nodes.  A search starts with the fast seeds.
        weight: its share of the time of all seeds; 1 for most seeds, more for one that improves
            with time.
        resumes: whether it yields None at the end of its turn and continues in the next one.  It
            reads the clock itself, and is only interrupted when the time of all seeds is over.
            With a free core, and if `load` can be imported elsewhere, it may work in a process of
            its own, in one turn.  Other seeds may also yield None and continue, but are stopped for
            good if they overrun a turn.
        classic: whether it is a published algorithm that simulations compare with.
        in_libraries: whether libraries run it, so that measured times may be of it.
        counts_copies: whether it respects bounds that do not count every send
            (`syncoll.model.Counting`); others get the topology with every send counted.
        reproducible: whether its algorithms add up all chunks in one association; reproducible
            collectives have no other seeds.
    """

    guards: ClassVar[Mapping[str, Guard]] = {
        "installed": GuardedQuestion,
        "fits": GuardedQuestion,
        "load": partial(Loader, methods={"propose": Returns(Proposal, each=True, pauses=True)}),
        "forest": partial(
            Loader, methods={"pack": Returns(tuple), "any_roots": Returns(tuple, or_none=True)}
        ),
    }
    checks: ClassVar[Mapping[str, fields.Field]] = dict.fromkeys(
        ("first_seconds", "weight"), fields.at_least(0, fields.number)
    )

    load: Code[Callable[[], Seed]] = Code()
    options: tuple[Option, ...] = ()
    installed: Code[Callable[[], Answer]] = Code(_yes)
    fits: Code[Callable[[Topology, Collective], Answer]] = Code(_yes)
    by_default: bool = True
    forest: Code[Callable[[], ForestPacker] | None] = Code(None)
    first_seconds: float = 1.0
    weight: float = 1.0
    resumes: bool = False
    classic: bool = False
    in_libraries: bool = False
    counts_copies: bool = False
    reproducible: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.weight > 0:
            raise PluginError(f"seed {self.name}: its weight is {self.weight}; it must be above 0")


class Bound(Protocol):
    """Proves lower bounds on R; a proof is checked before it counts."""

    def find(
        self, topology: Topology, asked: Sequence[Any], steps: int | None, until: Deadline
    ) -> Priced | None:
        """Prices on bandwidth bounds in steps, and an argument for the payment of chunks.

        `syncoll.plugins.priced_bound.PricedBound` makes one from an oracle.

        Args:
            topology: has all links reversed for the reducing part of a combining collective.
            asked: demands (`syncoll.certificates.Demand`): chunks with their sources and
                destinations.  A record with `of_sums` gets classes of chunks that are combined
                (`ChunkClass`).
            steps: S, for algorithms of at most S steps, enough to reach all destinations; None for
                any number of steps.
            until: the time when it is stopped.

        Returns:
            A proof about at least S steps, with an argument of `syncoll.certificates`; else None.
        """


@dataclass(frozen=True)
class BoundRecord(Record):
    """A lower bound's entry; it is asked if the bounds of syncoll leave a gap.

    Args:
        fits: whether it may prove a bound for this collective on this topology.  Must be cheap.
        of_sums: whether its argument is about combined chunks.  Others get demands: for a combining
            collective, the demands of one node's contribution or result.
    """

    guards: ClassVar[Mapping[str, Guard]] = {
        "fits": GuardedQuestion,
        "load": partial(Loader, methods={"find": _ReturnsProof(object)}),
    }

    load: Code[Callable[[], Bound]] = Code()
    fits: Code[Callable[[Topology, Collective], Answer]] = Code(_yes)
    of_sums: bool = False


@dataclass(frozen=True)
class SpecLibraryRecord(Record):
    """A folder of ``.syncoll`` files whose definitions can be used by their bare names.

    Args:
        name: the library's name.
        folder: the folder with the files; subfolders are searched, too.
    """

    folder: Path
