"""The kind of a reference: a topology, a collective, or a file of results."""

from pathlib import Path

from syncoll.errors import SpecError, UsageError
from syncoll.spec.keywords import list_words
from syncoll.spec.library import SpecLibrary
from syncoll.spec.module import close_names


def kind_of(specs: SpecLibrary, reference: str) -> str:
    """Whether the reference names a topology, a collective or a file of results.

    Raises:
        SpecError: on an error in the reference.
        UsageError: if no definition or file has this name, or more than one.
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
    unknown = ("there is no", "does not exist")
    if others := [e for e in failures.values() if not any(map(e.message.__contains__, unknown))]:
        raise others[0]  # more than an unknown name
    if ".syncoll" in reference:
        raise failures["topology"]
    known = [n for kind in ("topology", "collective") for n in sorted(specs.known_names(kind))]
    close = list_words(close_names(reference.partition("(")[0].strip(), known))
    hint = f"; did you mean {close}?" if close else ""
    raise UsageError(
        f"there is no machine, collective or file {reference!r}{hint}\n"
        f"expected a file, or one of {', '.join(known)}"
    )
