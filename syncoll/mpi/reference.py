"""The reference of a result: MPI's own collective, or the definition if MPI has none.

Copies, integers, maxima and minima must agree bit for bit.  MPI adds floats in an order of its own.
The rounding error of a sum of k numbers in any order is at most about k/2 * eps * sum |x_i| (see
`syncoll.trust.data.definition`), so two results differ by no more than k * eps * sum |x_i|;
products by k * eps times the product.  The sum of the magnitudes comes from MPI too: the same
collective on |x_i|.

MPI has no types for float16 and bfloat16: it moves them as integers of two bytes, and cannot reduce
them, so their reductions are compared with the definition.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from syncoll.mpi.collective import MpiCollective
from syncoll.mpi.mpi_reference import MpiReference, split_reference, whole_reference
from syncoll.runtime import Kind
from syncoll.trust.data import Workload
from syncoll.trust.data.definition import DataDemand, reduction
from syncoll.trust.data.workload import Array

if TYPE_CHECKING:
    from mpi4py import MPI

__all__ = ["DefinitionReference", "Reference", "reference_of"]


class DefinitionReference:
    """The collective's definition, computed at each rank from the inputs of all."""

    name = "the definition"

    def __init__(self, collective: MpiCollective, total: int, workload: Workload) -> None:
        self._instance, self._layout = collective.instance, collective.layout
        self._shares = collective.shares(total)
        self._workload = workload

    def demand(self, comm: MPI.Intracomm, send: Array, length: int) -> DataDemand:
        """The expected result at this rank, and its tolerance."""
        instance, lengths = self._instance, self._shares.chunks
        wanted = _in_order(self._layout.outputs[:, comm.rank])
        pieces: dict[int, list[Array]] = {chunk: [] for chunk in wanted}
        for node in np.flatnonzero(instance.pre[wanted].any(axis=0)).tolist():
            drawn = self._workload.draw(int(self._shares.inputs[node]), node)
            start = 0
            for chunk in _in_order(self._layout.inputs[:, node]):
                if chunk in pieces and (instance.combining or not pieces[chunk]):
                    pieces[chunk].append(drawn[start : start + int(lengths[chunk])])
                start += int(lengths[chunk])
        demands = [
            reduction(pieces[chunk], self._workload.operation)
            if instance.combining
            else DataDemand(pieces[chunk][0], None)
            for chunk in wanted
        ]
        if not demands:
            return DataDemand(np.empty(length, send.dtype), None)
        value = np.concatenate([one.value for one in demands])
        tolerances = [one.tolerance for one in demands if one.tolerance is not None]
        return DataDemand(value, np.concatenate(tolerances) if tolerances else None)


def _in_order(places: Array) -> list[int]:
    """The chunks in a rank's buffer, in their order there."""
    chunks: list[int] = np.argsort(places, kind="stable")[np.count_nonzero(places < 0) :].tolist()
    return chunks


Reference = MpiReference | DefinitionReference


def reference_of(collective: MpiCollective, total: int, workload: Workload) -> Reference:
    """The reference of a collective."""
    halves, instance = workload.dtype in ("float16", "bfloat16"), collective.instance
    if collective.collective.kind is Kind.CUSTOM and not (halves and instance.combining):
        lengths = collective.shares(total).chunks
        found = split_reference(instance, lengths, workload.operation)
        if found is not None:
            return found
    if collective.collective.kind is Kind.CUSTOM or (halves and collective.collective.combining):
        return DefinitionReference(collective, total, workload)
    return whole_reference(collective.collective, total, workload.operation)
