"""The shell's part of recommendations."""

import argparse
from dataclasses import replace

from syncoll.cli import Exit, note, print_json, print_page, resolve_names
from syncoll.cli.exporter_options import add_exporter_options, exporter_options, flags_given
from syncoll.documents import to_text, write_new_folder
from syncoll.errors import SyncollError, UsageError
from syncoll.runtime.plan_folder import FRONTIER
from syncoll.simulating import given_runtime
from syncoll.values import picked
from syncoll.verbs.pareto.shell import ended
from syncoll.verbs.plan.shell import print_exports
from syncoll.verbs.recommend.recommending import frontier_for, recommendation_for
from syncoll.verbs.recommend.result import require_possible

more = add_exporter_options


def run(arguments: argparse.Namespace) -> int:
    """Runs the command; its exit code."""
    to, folder = arguments.to, arguments.output
    if to is None and (flags_given(arguments) or arguments.option or arguments.in_place):
        raise UsageError("options of exports need --to and -o")
    record = require_possible(arguments.session, to, folder)
    options = {} if record is None else exporter_options(arguments, record)
    runtime = given_runtime(arguments.runtime, record=record, options=options)[0]
    if arguments.collective is not None:
        arguments.topology = arguments.source
        arguments.kinds = {name: name for name in ("topology", "collective")}
        resolve_names(arguments)
    how = picked(arguments, "source collective sizes alpha beta time_limit work progress")
    frontier = frontier_for(**how, runtime=runtime)
    arguments.output = None
    if not frontier:
        code = ended(arguments, frontier, lambda: print_page(frontier.page()))
        return Exit.UNDECIDED if code is None else code
    found, made, trouble = None, None, None
    try:
        how = picked(arguments, "source sizes alpha beta progress to in_place")
        found = recommendation_for(frontier, options=options, runtime=runtime, **how)
        if arguments.format == "table":
            print_page(found.page())
        if folder is not None:
            how = picked(arguments, "in_place progress")
            made = found.export(folder, to, options=options, **how)
    except KeyboardInterrupt:
        frontier = replace(frontier, interrupted=True)
        if found is None and folder is not None:
            write_new_folder(folder, {FRONTIER: f"{to_text(frontier.document())}\n".encode()})
    except SyncollError as error:  # an export that fails must not cost the answer
        if found is None:
            raise
        trouble = error
    exports = None if made is None else made.made
    if found is not None and arguments.format == "json":
        document = found.document()
        if made is not None and exports is not None:
            document["exports"] = made.document()["exports"]
        print_json(document)
    if folder is not None and (folder / FRONTIER).is_file():
        arguments.output = folder / FRONTIER
    code = ended(arguments, frontier, lambda: None) or Exit.OK
    if exports is not None:
        if arguments.format == "table":
            print_exports(exports, folder)
        for one, reason in exports.refused:
            note(f"syncoll: {one.where}: left out: {reason}")
    if trouble is not None:
        raise trouble
    return Exit.INTERRUPTED if exports is not None and exports.interrupted else code
