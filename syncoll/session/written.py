"""A search that is written in a spec file, with what whoever asks says otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from syncoll.routing import as_topology
from syncoll.searching import SearchRequest, Strategy

if TYPE_CHECKING:
    from syncoll.spec import SearchSpec, SpecLibrary

__all__ = ["written_search"]


def written_search(
    specs: SpecLibrary, reference: str, strategy: Strategy, given: Mapping[str, Any]
) -> tuple[SearchRequest, SearchSpec]:
    """What to search, and what the file says of it beside that.

    Args:
        reference: ``FILE:NAME``, or a shipped search.
        given: limits of a `SearchRequest` by name, which go before the file's; None for its own.

    Raises:
        SpecError: when there is no such search, or it is wrong.
        UsageError: on a limit that cannot be.
    """
    spec = specs.search(reference)
    limits: dict[str, Any] = {
        "k": spec.k,
        "max_steps": spec.steps,
        "max_rounds": spec.rounds,
        "max_chunks": spec.chunks,
        "time_limit": spec.seconds,
    }
    limits |= {name: value for name, value in given.items() if value is not None}
    topology = as_topology(spec.topology)
    return SearchRequest(topology, spec.collective, strategy, **limits), spec
