"""The shell's part of designs: topologies and collectives in any order."""

import argparse

from syncoll.cli import STANDARD_OUTPUT, command
from syncoll.errors import SpecError, UsageError
from syncoll.spec import SpecLibrary


def run(arguments: argparse.Namespace) -> int:
    """Runs the command; its exit code."""
    if arguments.report == STANDARD_OUTPUT:
        raise UsageError("the table goes to standard output; --report needs the name of a file")
    topologies, collectives = _by_kind(arguments.named, arguments.session.specs)
    return command.run(arguments, topologies=topologies, collectives=collectives)


def _by_kind(words: list[str], specs: SpecLibrary) -> tuple[list[str], list[str]]:
    """The topologies and the collectives among words.

    Raises:
        SpecError: on a word that is neither.
        UsageError: if one kind is missing.
    """
    found: dict[str, list[str]] = {"topology": [], "collective": []}
    for word in words:
        try:
            specs.expect("collective", word)
            found["collective"].append(word)
        except SpecError as refusal:
            try:
                specs.expect("topology", word)
            except SpecError as error:  # the error with a suggestion
                raise (refusal if "did you mean" in refusal.message else error) from None
            found["topology"].append(word)
    for kind, such in (("topology", '"torus(a,b)"'), ("collective", "allgather")):
        if not found[kind]:
            raise UsageError(f"no {kind} among {', '.join(words)}; name one, such as {such}")
    return found["topology"], found["collective"]
