"""The shell's part of verification: errors of exports do not end it."""

from __future__ import annotations

import argparse

from syncoll.cli.exits import Exit
from syncoll.cli.exporter_options import add_exporter_options, exporter_options, options_given
from syncoll.cli.output import note, print_value
from syncoll.pages.verified import verified_page
from syncoll.runtime.exported import VerifiedExports, exporter_of
from syncoll.verbs.result import Shown
from syncoll.verification import exporter_for, verification_document, verified

more = add_exporter_options


def run(arguments: argparse.Namespace) -> int:
    """Runs the command; its exit code."""
    session, file, name = arguments.session, arguments.path, arguments.collective
    record = exporter_for(session.plugins, session.tell, file, arguments.to)
    found = verified(
        session.plugins,
        file,
        record,
        topology=None if arguments.topology is None else session.topology(arguments.topology),
        collective=None if name is None else session.collective(name),
        chunks=arguments.chunks,
        in_order=arguments.in_order,
        options=options_given(arguments)
        if record is None
        else exporter_options(arguments, record, reading=file),
    )
    document = verification_document(file, found, name)
    print_value(arguments, Shown(verified_page(found), lambda: document))
    if not isinstance(found, VerifiedExports):
        return Exit.OK
    code = reported(found)
    recognised = not found.wrong or exporter_of(file, session.plugins, lambda _: None) is record
    return code if recognised else Exit.BAD_INPUT


def reported(found: VerifiedExports) -> Exit:
    """Prints the errors of exports and the reasons of unchecked ones; the exit code."""
    for where, reason in found.wrong:
        note(f"syncoll: {where}: {reason}")
    for where, reason in found.unchecked:
        note(f"syncoll: {where}: not checked in full: {reason}")
    if found.wrong:
        return Exit.IMPOSSIBLE
    return Exit.OK if found.ok else Exit.UNCHECKED
