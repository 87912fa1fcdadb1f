"""Collective: where chunks start and where they must end (SCCL paper, section 3.2.2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from syncoll.arrays import Bools
from syncoll.errors import ModelError, Origin, UsageError
from syncoll.lazy import displays
from syncoll.model.grains import Rounds
from syncoll.model.instance import Instance, nothing_to_do
from syncoll.model.reach import Reach
from syncoll.model.rows import RelationTable
from syncoll.model.topology import Topology
from syncoll.wording import counted


class Share(NamedTuple):
    """A collective on some nodes as part of a sum, see `Collective.shares`."""

    collective: Collective
    nodes: tuple[int, ...]
    scale: Fraction


@dataclass(frozen=True)
class Collective:
    """A collective: a relation table for every P and C.

    Build one with `from_relations` or `from_arrays`, in a spec file, or out of others with
    `syncoll.model.inverse_of` and `syncoll.model.sequence_of`.

    Args:
        name: its name as people write it, arguments included: ``broadcast(root=3)``.
        tabulate: (P, C) to the relation table; raises `ModelError` for an impossible P.
        admits: (P, C) to whether the collective is defined for C chunks per node; alltoall, say,
            needs a multiple of P.  Must be cheap: the search asks it for every candidate C.
        requirement: the condition of ``admits`` in words.
        origin: where a spec file defines it: its post, if it has one.
        requirement_origin: where a spec file states the requirement.
        combining: whether the nodes of pre contribute to a chunk rather than hold copies of it,
            and the nodes of post need the reduction of all contributions.
        dual: the collective whose inverse this one is, if any.
        ways: for a composed collective all sequences of collectives that give the same result.
        terms: for a sum that is neither an inverse nor composed its terms, each on all P nodes; its
            chunks are the terms' chunks for the same C, one term after the other.
        irregular: whether a larger C may do more than cut every chunk of the least C.  If not, a
            bound on R/C for one C holds for every C, see `syncoll.model.cutting`; if so, only
            single instances are decided.
        in_units: whether C counts the pieces of one unit of its sizes instead of one node's input;
            its inverse then has the same C.
        shares: for a sum, P to the collectives that it consists of: each with its nodes, in the
            order of their numbers in it, and its C over that of the sum.
        per_dual: for an inverse, P to C divided by the dual's C; None if C is the number of chunks
            with which a node of the dual ends.
        plain: for a reproducible collective (`syncoll.model.associations`) the same without that
            demand; None for others.
    """

    name: str
    tabulate: Callable[[int, int], RelationTable]
    admits: Callable[[int, int], bool] = field(default=lambda _nodes, _chunks: True)
    requirement: str = ""
    origin: Origin | None = field(default=None, compare=False)
    requirement_origin: Origin | None = field(default=None, compare=False)
    combining: bool = False
    dual: Collective | None = None
    ways: tuple[tuple[Collective, ...], ...] = ()
    terms: tuple[Collective, ...] = ()
    irregular: bool = True
    in_units: bool = False
    per_dual: Callable[[int], Fraction] | None = None
    shares: Callable[[int], Sequence[Share]] | None = None
    plain: Collective | None = None

    def __repr__(self) -> str:
        return f"<collective {self.name}>"

    def _repr_html_(self) -> str:
        return str(displays().html_of(self))

    def plot(self, nodes: int | None = None, chunks: int | None = None) -> Any:
        """A `Picture` of pre and post, chunk by node; the least P and C by default.

        Raises:
            UsageError: when matplotlib is not installed, or it is not defined for P and C.
        """
        return displays().drawing_of(self, nodes, chunks)

    def least_chunks(self, nodes: int, most: int = 4096) -> int | None:
        """The least C, up to `most`, that is admitted on P nodes; None if no C is."""
        return next((c for c in range(1, most + 1) if self.admits(nodes, c)), None)

    @classmethod
    def from_relations(
        cls,
        name: str,
        chunks: Callable[[int, int], int],
        pre: Callable[..., Any],
        post: Callable[..., Any],
        *,
        admits: Callable[[int, int], bool] = lambda _nodes, _chunks: True,
        requirement: str = "",
        irregular: bool = False,
    ) -> Collective:
        """Builds a collective from functions that describe its least C.

        For larger C every chunk is cut; functions that disagree for a C in use are refused.

        Args:
            chunks: ``(P, C)`` to the number of global chunks G.
            pre: ``(c, n, P, C)`` to whether chunk c starts at node n.  Called once with index
                arrays that broadcast to ``[G, P]``; when it cannot work on arrays (it uses
                ``and``, say), once for each pair.
            post: the same for where chunks must end.
            irregular: whether larger C may do more than cut every chunk.  Then only single
                instances are decided, see `require_regular`.

        Raises:
            ModelError: if a table shows that the collective is irregular, unless `irregular` is
                set.

        Examples:
            >>> from syncoll.api import Collective
            >>> shift = Collective.from_relations(
            ...     "shift",
            ...     chunks=lambda P, C: P * C,
            ...     pre=lambda c, n, P, C: n == c % P,
            ...     post=lambda c, n, P, C: n == (c + 1) % P,
            ... )
            >>> shift.tabulate(3, 1).post.astype(int).tolist()
            [[0, 1, 0], [0, 0, 1], [1, 0, 0]]
        """

        def tabulate(nodes: int, per_node: int) -> RelationTable:
            count = chunks(nodes, per_node)
            return RelationTable(*(_tabulate(f, count, nodes, per_node) for f in (pre, post)))

        if irregular:
            return cls(name, tabulate, admits, requirement)
        from syncoll.model.cutting import Cutting  # not needed to read and check a file

        def refusal(_guilty: str, message: str, expected: str) -> ModelError:
            return ModelError(message, None, expected)

        cutting = Cutting(name, tabulate, admits, refusal, "`irregular=True`")
        return cls(name, cutting.tabulate, cutting.admits, requirement, irregular=False)

    @classmethod
    def from_arrays(
        cls, name: str, pre: npt.ArrayLike, post: npt.ArrayLike, sizes: npt.ArrayLike | None = None
    ) -> Collective:
        """Builds a collective from Boolean arrays ``[chunk, node]`` for C = 1.

        For larger C every chunk is cut into C chunks with the same pre and post.

        Args:
            sizes: ``[G]``, whole numbers of units from 0; then C counts the pieces of a unit, and
                a chunk of size 2 is 2 C chunks.

        Raises:
            ModelError: unless the arrays have one two-dimensional shape, and a size per chunk.
        """
        first, last = _booleans(name, pre), _booleans(name, post)
        if first.ndim != 2 or first.shape != last.shape:
            raise ModelError(
                f"collective {name}: pre of shape {first.shape}, post {last.shape}",
                None,
                "two arrays of one shape [chunk, node]",
            )

        times = None if sizes is None else _whole_sizes(name, sizes, len(first))

        def tabulate(nodes: int, per_node: int) -> RelationTable:
            if first.shape[1] != nodes:
                raise ModelError(
                    f"collective {name} is defined for {first.shape[1]} nodes only, "
                    f"this topology has {nodes}"
                )
            table = RelationTable(first, last)
            return table.cut(per_node) if times is None else table.repeated(times * per_node)

        return cls(name, tabulate, irregular=False, in_units=times is not None)

    def within(self, groups: object) -> Collective:
        """This collective on each of some groups of nodes at once; see `syncoll.model.sums.within`.

        Examples:
            >>> from syncoll.api import collective
            >>> collective("allgather").within([[0, 1], [2, 3]]).name
            'allgather within [[0,1],[2,3]]'
        """
        from syncoll.model.sums import within

        return within(self, groups)

    def __add__(self, other: object) -> Collective:
        """Both at the same time, sharing the links; raises ModelError unless both are collectives.

        Examples:
            >>> from syncoll.api import collective
            >>> (2 * collective("allgather") + collective("alltoall")).name
            '2 * allgather + alltoall'
        """
        from syncoll.model.sums import Term, sum_of

        if not isinstance(other, Collective):
            raise ModelError(
                f"{self.name} and {other!r} cannot be added",
                None,
                "two collectives, as `syncoll.collective(…)` makes them",
            )
        return sum_of([Term(self), Term(other)])

    def __radd__(self, other: object) -> Collective:
        """Lets `sum`, which begins with 0, add collectives."""
        if isinstance(other, int) and other == 0:
            return self
        return self.__add__(other)

    def __mul__(self, weight: object) -> Collective:
        """A weighted collective: `weight` units of it, a whole number from 1."""
        from syncoll.model.sums import Term, sum_of

        if not isinstance(weight, int):
            raise ModelError(
                f"{self.name} has the weight {weight!r}", None, "a whole number from 1"
            )
        return sum_of([Term(self, weight)])

    __rmul__ = __mul__

    def require_regular(self) -> None:
        """Raises UsageError for an irregular collective, which only `solve` takes."""
        if self.irregular:
            raise UsageError(
                f"{self.name} is irregular: an algorithm or a bound for one C proves nothing "
                "for other C; decide each C by itself, with `syncoll solve ... --chunks`"
            )

    def table_on(self, topology: Topology, chunks: int) -> RelationTable:
        """The table for C = `chunks`.

        Raises:
            ModelError: if C is not admitted, or post is empty or cannot be reached.
        """
        table = self._table(topology, chunks)
        if not table.ends.sets.any():
            raise nothing_to_do(self.name, self.origin)
        Reach.of(topology, table, self.combining).require(self.name, self.origin)
        return table

    def instantiate(
        self, topology: Topology, *, chunks: int, steps: int, rounds: Rounds
    ) -> Instance:
        """The synthesis problem (G, S, R, P, B, pre, post) for C = `chunks`.

        Raises:
            ModelError: if C is not admitted, post is empty, a post cannot be reached on this
                topology, or pre and post are too large for a search.
        """
        table = self._table(topology, chunks)
        return Instance(
            topology,
            self.name,
            chunks,
            steps,
            rounds,
            table.pre,
            table.post,
            combining=self.combining,
            reproducible=self.plain is not None,
            origin=self.origin,
        )

    def _table(self, topology: Topology, chunks: int) -> RelationTable:
        nodes = topology.num_nodes
        if chunks < 1 or not self.admits(nodes, chunks):
            origin = self.requirement_origin or self.origin
            requirement = self.requirement or "at least 1 chunk"
            raise not_defined(self.name, nodes, chunks, origin, requirement)
        return self.tabulate(nodes, chunks)


def not_defined(
    name: str, nodes: int, chunks: int, origin: Origin | None, expected: str = ""
) -> ModelError:
    """The error for a C that a collective does not admit on P nodes."""
    message = f"collective {name} is not defined for C = {chunks} on {counted(nodes, 'node')}"
    return ModelError(message, origin, expected)


def _tabulate(relation: Callable[..., Any], count: int, nodes: int, chunks: int) -> Bools:
    c, n = np.arange(count)[:, None], np.arange(nodes)[None, :]
    try:
        whole = np.asarray(relation(c, n, nodes, chunks), dtype=bool)
        if whole.ndim:  # one answer for all may be a mistake: `n in an_array` asks for any of them
            return np.broadcast_to(whole, (count, nodes)).copy()
    except (TypeError, ValueError):  # the relation is written for single numbers
        pass
    # numpy's integers: `~` and `&` of their comparisons mean the same as for arrays.
    rows, columns = (np.arange(size, dtype=np.int64) for size in (count, nodes))
    cells = [[_truth(relation(i, j, nodes, chunks)) for j in columns] for i in rows]
    return np.array(cells, dtype=bool).reshape(count, nodes)


def _truth(value: object) -> bool:
    """The answer for one chunk and node; raises ModelError unless it is true or false."""
    if isinstance(value, bool | np.bool_) or (
        isinstance(value, int | np.integer) and value in (0, 1)
    ):
        return bool(value)
    raise ModelError(f"a relation gave {value!r}", None, "True or False for each chunk and node")


def _whole_sizes(name: str, sizes: npt.ArrayLike, count: int) -> npt.NDArray[np.int64]:
    """``[G]``: sizes; raises ModelError unless they are whole numbers from 0 and not all 0."""
    found = np.asarray(sizes)
    if found.shape != (count,) or found.dtype.kind not in "iu" or (found < 0).any():
        raise ModelError(
            f"collective {name}: sizes {sizes!r}", None, f"{count} whole numbers from 0"
        )
    if not found.any():
        raise ModelError(
            f"collective {name}: all sizes are 0", None, "at least one chunk of a size above 0"
        )
    return found.astype(np.int64)


def _booleans(name: str, table: npt.ArrayLike) -> Bools:
    """An array of truth values; raises ModelError for values other than True, False, 0 and 1."""
    try:
        found = np.asarray(table)
    except ValueError:  # its rows differ in length
        found = np.array(None)
    if found.dtype.kind not in "buif" or not np.isin(found, (0, 1)).all():
        raise ModelError(
            f"collective {name}: an array of {found.dtype}", None, "True and False, or 0 and 1"
        )
    return found.astype(bool)
