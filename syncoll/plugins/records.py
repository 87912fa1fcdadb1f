"""What a plugin registers: light records.  Importing one loads no solver.

A record names the plugin, says what it can do and answers four questions in words: is it installed,
is it licensed, can it run this, and should it?  Its summary is one line.  Each field that takes a
function takes the name of one too, `syncoll.plugins.code`.  The heavy part is made on first use by
`load`, usually the name of its class; its methods are given, as `options`, a value for every option
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
from syncoll.plugins.options import Option, OptionValue
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

__all__ = [
    "Answer",
    "Backend",
    "BackendRecord",
    "Bound",
    "BoundRecord",
    "Encoded",
    "Encoding",
    "EncodingRecord",
    "EstimatesSize",
    "ForestPacker",
    "LabelsVariables",
    "Proposal",
    "Rank",
    "Seed",
    "SeedLimits",
    "SeedRecord",
    "SpecLibraryRecord",
    "TakesHints",
    "installed_distribution",
    "up_to",
]


def up_to(measure: str, most: int, too_many: str, few: str) -> Callable[[FormulaSize], Answer]:
    """Whether a formula is small enough to be worth a run, for `BackendRecord.should_run`.

    Args:
        measure: an attribute of `FormulaSize`.
        too_many: the words that follow ``30,000 variables`` where there are more than `most`.
        few: the words where there are not.
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
        extra: the extra of syncoll that brings it, empty when a plain install does.
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
    """What an `Encoded` may be besides: it can say an algorithm in the variables of its formula."""

    def hint(self, algorithm: Algorithm) -> npt.NDArray[np.int64]:
        """Literals that hold for an algorithm, as far as there are variables for what it does.

        Args:
            algorithm: of the instance's topology and chunks, perhaps with fewer steps, and with
                more rounds than the instance has; a solver may find a better one near it.
        """


@runtime_checkable
class LabelsVariables(Protocol):
    """What an `Encoded` may be besides: it says what its variables are about.

    Then syncoll can look for symmetric algorithms alone, with one variable for each orbit.
    """

    def labels(self) -> Labels | None:
        """A row for every variable; None where the formula, as by an option that puts chunks in
        an order, has no longer the symmetry of its instance."""


class Encoding(Protocol):
    """Turns instances into formulas."""

    def encode(self, instance: Instance, options: Mapping[str, OptionValue]) -> Encoded:
        """The formula of an instance."""


@runtime_checkable
class EstimatesSize(Protocol):
    """What an `Encoding` may be besides: it can say how large a formula becomes, and build none."""

    def literals(self, instance: Instance, options: Mapping[str, OptionValue]) -> int:
        """About how many literals all rows of the instance's formula have together.

        Must be quick and small in memory: an instance whose formula would not fit is not begun.
        """


class Backend(Protocol):
    """Decides formulas.  Runs in a process of its own, so it may crash but must not lie."""

    def solve(
        self, formula: Formula, limits: Limits, options: Mapping[str, OptionValue]
    ) -> Outcome:
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
        rank: of those for its kind of instance ``auto`` takes the highest; None for an encoding
            that is used only when it is named.  What comes with syncoll has ranks from 10 to 20.
        counts_copies: whether its formulas are exact where bounds count other than every send
            (`syncoll.model.Counting`).  Others are given the instance with every send counted, and
            that no algorithm was found is unknown then.
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
    """A backend's place among those that ``auto`` chooses from, by the kind of the instance.

    What comes with syncoll has ranks from 10 to 20, and spares below 10.

    Args:
        moving: for instances that only move data; the highest are asked, the highest first.
        combining: for instances that combine what they move.
        spare: whether it is asked only where no backend is installed that is not a spare, and
            then alone.
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
        load: makes the backend; a worker process calls it, so it is named, or importable.
        features: what formulas may use; the rest is lowered before the backend sees it.
        installed: whether its library is here, answered without importing it.
        licensed: whether it may run here at all; may import the library.
        can_run: whether it can run a (lowered) formula of this size.
        should_run: whether it is a sensible choice for it; ``auto`` leaves what is not to others.
        rank: its place in ``auto``; None for a backend that is asked only when it is named.
        writes_proofs: whether, of clauses that are unsat, it writes a proof where `Limits.proof`
            says; at least with its default options.
        counts_work: whether it keeps to `Limits.work` and reports its work in `Outcome.work`.
    """

    # `load` stays as it is: a worker process imports it by its name, and is its guard.
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
    """How far a seed may go.

    Args:
        max_steps: S at most; None, as of the others, for no limit.
        max_rounds: R at most.
        max_chunks: C at most.
        seconds: of work, CPU time as `Deadline.working` measures it; after these it should begin
            nothing more, and yield what it has.
        until: when it is stopped, however little a busy machine let it work.
        known: algorithms of the collective near which good ones may lie, for a seed that can begin
            with some.  They need not work: sends may lead over links that there are not.
        is_part: whether what comes out becomes a part of other algorithms, which have many times
            its sends: then a fraction of a percent is not worth several times the chunks.
    """

    max_steps: int | None = None
    max_rounds: int | None = None
    max_chunks: int | None = None
    seconds: float | None = None
    until: Deadline = NEVER
    known: tuple[Proposal, ...] = ()
    is_part: bool = False

    def allow(self, *, steps: int = 0, rounds: int = 0, chunks: int = 0) -> bool:
        """Whether these are within the limits on S, R and C."""
        most = self.max_steps, self.max_rounds, self.max_chunks
        costs = steps, rounds, chunks
        return all(top is None or cost <= top for cost, top in zip(costs, most, strict=True))

    def deadline(self) -> Deadline:
        """For a seed that begins now: both limits of time in one."""
        return self.until.working(self.seconds)


@dataclass(frozen=True, eq=False)
class Proposal:
    """What a seed constructed; it is verified before anything is done with it.

    Args:
        chunks: C.
        algorithm: for the collective with C chunks, its chunks numbered as in the collective's
            table.
        note: how it was made, in a few words: ``3 trees, 4 segments``.
        family: algorithms for every m of which this is one, verified as well, for all m.
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
        self,
        topology: Topology,
        collective: Collective,
        limits: SeedLimits,
        options: Mapping[str, OptionValue],
    ) -> Iterator[Proposal | None]:
        """Algorithms for the collective, the most useful first; none where it has no idea.

        A seed that becomes better for as long as it is let run (`SeedRecord.resumes`) is a
        generator that yields None when its time is over.  It is asked again when there is more,
        and what that ``yield`` returns are the `SeedLimits` of its next turn; None where there is
        none.

        Args:
            topology: P and B.
            collective: with a pre and a post, combining or not; inverses and compositions of what
                is proposed for their parts are made by the search.
            limits: how far to go.
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
        """The forests of a collective's phases, which follow each other.

        Args:
            fabric: any network.
            collective: what for; allreduce has two phases.
            root: of a collective that has one.
            fixed_k: trees for each root; as many as the optimum needs when left out.

        Raises:
            ModelError: when the network has no such forest.
            UsageError: on a k below 1, or when numbers become too large.
            VerificationError: when what was packed does not hold.
        """

    def any_roots(self, fabric: Fabric) -> tuple[Fraction, Fraction] | None:
        """How fast an allreduce can be that reduces to roots and broadcasts from them at once.

        The roots may have any shares of the data, and the two halves may share the bandwidth in any
        way (ForestColl paper, appendix E).

        Args:
            fabric: in which every node reaches every other.

        Returns:
            A throughput that is attained, and one that nothing exceeds; None where the network is
            too large to tell soon.
        """


@dataclass(frozen=True)
class SeedRecord(Record):
    """A seed backend's entry.

    Args:
        name: as written after ``--backend`` and ``--seeds``.
        installed: whether what it needs is here, answered without importing it.
        fits: whether it has an idea for this collective on this topology, or why not, in words.
            Must be cheap.
        by_default: whether a search starts from it unless it is told otherwise.
        forest: imports and returns a packer of forests, for ``syncoll forest``; None where the seed
            has none to offer.
        first_seconds: about how long its first algorithm takes, say for an allgather among 64
            nodes.  A search asks the quick ones first.
        weight: how much of the time that seeds share is worth giving it, beside 1 for most; more
            for one that becomes better for as long as it is let run.
        resumes: whether it yields None when its turn is over, and goes on when it is asked again.
            It looks at the clock itself, and is cut short only when the time of all seeds is over.
            Where there is a core for it, and `load` can be imported elsewhere, it may work in a
            process of its own, with one turn from beginning to end.  Others may yield None and go
            on as well, but are stopped for good where their turn is over before they do.
        classic: whether it is an algorithm that everybody knows, and simulations compare with.
        counts_copies: whether it knows of bounds that count other than every send
            (`syncoll.model.Counting`); others are given the topology with every send counted.
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
    counts_copies: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.weight > 0:
            raise PluginError(f"seed {self.name}: its weight is {self.weight}; it must be above 0")


class Bound(Protocol):
    """Proves lower bounds on R; the proof is checked before it counts."""

    def find(
        self, topology: Topology, asked: Sequence[Any], steps: int | None, until: Deadline
    ) -> Priced | None:
        """Prices on bandwidth bounds in steps, and an argument for what chunks pay at these.

        `syncoll.plugins.priced_bound.PricedBound` makes one of an oracle.

        Args:
            topology: with all links reversed, for what a combining collective collects.
            asked: demands (`syncoll.certificates.Demand`): chunks, from where to where.  For a
                record with `of_sums` classes of chunks that are combined (`ChunkClass`).
            steps: S, for algorithms of at most S steps, within which all is in reach; None for
                algorithms of any number.
            until: when it is stopped.

        Returns:
            A proof about at least S steps, with an argument of `syncoll.certificates`; None where
            there is none.
        """


@dataclass(frozen=True)
class BoundRecord(Record):
    """A lower bound's entry; it is asked where the bounds of syncoll leave a gap.

    Args:
        fits: whether it may prove something for this collective on this topology.  Must be cheap.
        of_sums: whether its argument is about chunks that are combined, as they are.  Others are
            asked about demands: of a combining collective, what one node's contribution or result
            asks for.
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
        name: of the library.
        folder: where the files are; searched with its subfolders.
    """

    folder: Path
