"""What a reference names: a topology, a collective, a file of results, or a written search."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from syncoll.errors import SpecError, UsageError
from syncoll.spec import SpecLibrary
from syncoll.spec.keywords import list_words
from syncoll.spec.module import close_names

if TYPE_CHECKING:  # a mistyped name is found before anything heavy is loaded
    from syncoll.ledger import SearchRequest, Strategy
    from syncoll.spec import SearchSpec

__all__ = ["kind_of", "written_search"]


def kind_of(specs: SpecLibrary, reference: str) -> str:
    """Whether the reference names a topology, a collective or a file of results.

    Raises:
        SpecError: what is wrong with it as a reference.
        UsageError: when nothing has this name, or more than one thing.
    """
    if specs.is_routed(reference):  # only a topology can be
        specs.expect("topology", reference)
        return "topology"
    if reference.lower().endswith(".json") and not specs.is_read(reference):
        return "file"
    found, failures = [], {}
    for kind in ("topology", "collective", "search", "relation"):
        try:
            specs.expect(kind, reference)
            found.append(kind)
        except SpecError as error:
            failures[kind] = error
    shown = [kind for kind in found if kind in ("topology", "collective")]
    if len(shown) == 1:
        return shown[0]
    if shown:
        raise UsageError(f"{reference} has a machine and a collective; name one: {reference}:NAME")
    if Path(reference).is_file() and not reference.endswith(".syncoll"):
        if specs.recognised(reference):  # of another tool
            raise failures["topology"]
        return "file"
    if "search" in found:
        raise UsageError(f"{reference} is a search; run it with `syncoll search {reference}`")
    if "relation" in found:
        raise UsageError(f"{reference} is a relation; show a collective that uses it")
    if reference and Path(reference).is_dir():
        raise UsageError(f"{reference} is a folder; name a file in it")
    if any("there is no" not in error.message for error in failures.values()):
        # Not just an unknown name: the first complaint of another kind says most.
        raise next(e for e in failures.values() if "there is no" not in e.message)
    if ".syncoll" in reference:
        raise failures["topology"]
    known = [n for kind in ("topology", "collective") for n in sorted(specs.known_names(kind))]
    close = list_words(close_names(reference.partition("(")[0].strip(), known))
    hint = f"; did you mean {close}?" if close else ""
    raise UsageError(
        f"there is no machine, collective or file {reference!r}{hint}\n"
        f"expected a file, or one of {', '.join(known)}"
    )


def written_search(
    specs: SpecLibrary, reference: str, strategy: Strategy, given: Mapping[str, Any]
) -> tuple[SearchRequest, SearchSpec]:
    """What to search, as a spec file has it, and what the file says beside that.

    Args:
        reference: ``FILE:NAME``, or a shipped search.
        given: limits of a `SearchRequest` by name, which go before the file's; None for its own.

    Raises:
        SpecError: when there is no such search, or it is wrong.
        UsageError: on a limit that cannot be.
    """
    from syncoll.ledger import SearchRequest
    from syncoll.routing import as_topology

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
