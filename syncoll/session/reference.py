"""What a reference names: a topology, a collective or a file of results."""

from __future__ import annotations

import difflib
from pathlib import Path

from syncoll.errors import SpecError, UsageError
from syncoll.spec import SpecLibrary

__all__ = ["kind_of"]


def kind_of(specs: SpecLibrary, reference: str) -> str:
    """Whether the reference names a topology, a collective or a file of results.

    Raises:
        SpecError: what is wrong with it as a reference.
        UsageError: when nothing has this name, or more than one thing.
    """
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
    close = difflib.get_close_matches(reference.partition("(")[0].strip(), known, n=1)
    hint = f"; did you mean {close[0]}?" if close else ""
    raise UsageError(
        f"there is no machine, collective or file {reference!r}{hint}\n"
        f"expected a file, or one of {', '.join(known)}"
    )
