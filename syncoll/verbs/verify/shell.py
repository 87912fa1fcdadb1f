"""The shell's part of verification: errors of exports do not end it."""

import argparse

from syncoll.cli import Exit, note, print_value
from syncoll.cli.exporter_options import add_exporter_options, exporter_options, options_given
from syncoll.runtime.exported import VerifiedExports, exporter_of
from syncoll.values import picked
from syncoll.verbs.verify import examined
from syncoll.verification import exporter_for

more = add_exporter_options


def run(arguments: argparse.Namespace) -> int:
    """Runs the command; its exit code."""
    session, file = arguments.session, arguments.path
    record = exporter_for(session.plugins, session.tell, file, arguments.to)
    how = picked(arguments, "topology collective chunks in_order")
    if record is None:
        how["options"] = options_given(arguments)
    else:
        how["options"] = exporter_options(arguments, record, reading=file)
    done = examined(file, record, **how)
    print_value(arguments, done)
    found = done.found
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
