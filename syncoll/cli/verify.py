"""``syncoll verify FILE``: replays what a file claims."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from syncoll.cli.arguments import Subparsers, add_format
from syncoll.cli.exits import Exit
from syncoll.cli.exporting import add_exporter_options

if TYPE_CHECKING:
    from syncoll.plugins import ExporterRecord

__all__ = ["add_parser"]

_DESCRIPTION = """\
Replays every algorithm of a file (a frontier, an outcome or an algorithm) step by step and checks
the costs that the file states.  Needs no solver.  A file that does not hold what it says ends with
exit code 2 and the reason.

The file brings its own machine and collective.  To make sure that they are the ones you mean, name
them: they are compared link by link and chunk by chunk.

Files for a runtime, as `syncoll export` or another tool writes them, are read as that runtime would
and executed: limits, deadlocks, races, messages that nobody receives, and whether the result is the
collective that the file names.  A format of several files is checked by its folder.

  syncoll verify frontier.json
  syncoll verify frontier.json --topology dgx1 --collective allgather
  syncoll verify allgather.xml --dialect rccl
"""


def add_parser(commands: Subparsers[argparse.ArgumentParser]) -> None:
    """Adds the command."""
    parser = commands.add_parser(
        "verify",
        help="replay every algorithm of a file",
        description=_DESCRIPTION,
    )
    parser.add_argument("file", metavar="FILE", type=Path, help="saved with -o")
    parser.add_argument(
        "--topology", metavar="TOPOLOGY", help="the machine that the file must be about"
    )
    parser.add_argument(
        "--collective", metavar="COLLECTIVE", help="the collective that the file must be about"
    )
    parser.add_argument(
        "--in-order",
        action="store_true",
        help="combining collectives: the reduction is not commutative, so order must be kept",
    )
    parser.add_argument(
        "--as",
        dest="exporter",
        metavar="FORMAT",
        help="read it as an export of this format (default: found out from the file)",
    )
    add_exporter_options(parser)
    add_format(parser)
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    from syncoll.checking import compare
    from syncoll.cli.arguments import library, manager
    from syncoll.cli.exporting import exporter_of
    from syncoll.cli.output import counted, print_json, print_text
    from syncoll.errors import UsageError
    from syncoll.files import read_file
    from syncoll.verify import require_valid

    plugins = manager()
    if arguments.exporter is not None:
        return _check_exported(arguments, plugins.exporter(arguments.exporter))
    if (exporter := exporter_of(arguments.file, plugins)) is not None:
        return _check_exported(arguments, exporter)
    if arguments.file.is_dir():
        raise UsageError(
            f"{arguments.file} is a folder without files of any exporter; name a file, or with "
            "--as the format of the folder"
        )
    given = [*arguments.option, arguments.dialect, arguments.proto, arguments.instances]
    if any(given):
        raise UsageError(f"{arguments.file} is no export; options of formats say nothing about it")
    stored = read_file(arguments.file)
    if stored.kind == "refutation":
        return _check_refutation(arguments)
    if arguments.topology is not None or arguments.collective is not None:
        specs = library(plugins)
        compare(
            stored,
            None if arguments.topology is None else specs.topology(arguments.topology),
            None if arguments.collective is None else specs.collective(arguments.collective),
        )
    if arguments.in_order:
        for one in stored.algorithms:
            if one.instance.combining:
                require_valid(one.instance, one.algorithm, in_order=True)
    if arguments.format == "json":
        print_json(
            {
                "schema": "syncoll/verification/1",
                "file": str(arguments.file),
                "kind": stored.kind,
                "topology": stored.topology.name,
                "collective": stored.collective,
                "verified": [
                    {
                        "where": one.where,
                        "chunks": one.instance.chunks,
                        "steps": one.instance.steps,
                        "rounds": one.instance.rounds,
                    }
                    for one in stored.algorithms
                ],
            }
        )
        return Exit.OK
    print_text(f"{stored.kind}: {stored.collective} on {stored.topology.name}")
    for one in stored.algorithms:
        instance = one.instance
        print_text(
            f"  {one.where}: verified, C = {instance.chunks}, S = {instance.steps}, "
            f"R = {instance.rounds}, {counted(len(one.algorithm.sends), 'send')}"
        )
    if not stored.algorithms:
        print_text("  no algorithm in it; nothing to verify")
    return Exit.OK


def _check_refutation(arguments: argparse.Namespace) -> int:
    from syncoll.cli.arguments import library, manager
    from syncoll.cli.output import counted, print_json, print_text
    from syncoll.files.refutation import check_refutation

    plugins = manager()
    topology, collective = None, None
    if arguments.topology is not None or arguments.collective is not None:
        specs = library(plugins)
        topology = specs.topology(arguments.topology) if arguments.topology else None
        collective = specs.collective(arguments.collective) if arguments.collective else None
    checked = check_refutation(arguments.file, plugins, topology=topology, collective=collective)
    instance, proof = checked.instance, checked.proof
    if arguments.format == "json":
        print_json(
            {
                "schema": "syncoll/verification/1",
                "file": str(arguments.file),
                "kind": "refutation",
                "topology": instance.topology.name,
                "collective": instance.collective,
                "refuted": {
                    "chunks": instance.chunks,
                    "steps": instance.steps,
                    "rounds": instance.rounds,
                    "lemmas": proof.lemmas_checked,
                },
                "verified": [],
            }
        )
        return Exit.OK
    print_text(f"refutation: {checked.claim}")
    print_text(
        f"  proved: {counted(proof.lemmas_checked, 'lemma')} checked, encoding {checked.encoding}"
    )
    return Exit.OK


def _check_exported(arguments: argparse.Namespace, record: ExporterRecord) -> int:
    """Checks exports: of a format of several files a folder, of others each file by itself."""
    from syncoll.cli.exporting import exporter_options, read_exported
    from syncoll.cli.output import note, print_json, print_text
    from syncoll.errors import UsageError, VerificationError
    from syncoll.plugins import resolve_options

    path: Path = arguments.file
    for name in ("topology", "collective", "in_order"):
        if getattr(arguments, name):
            raise UsageError(
                f"{path} is an export ({record.name}), to which --{name.replace('_', '-')} does "
                "not apply"
            )
    for name in ("proto", "instances"):
        if getattr(arguments, name) is not None:
            raise UsageError(f"--{name} says how a file is written; {path} says that itself")
    given = exporter_options(arguments, record)
    resolved = resolve_options(record.options, given, f"exporter {record.name}")
    # Only what was said: a file of another tool need not be of the dialect that we write.
    options = {name: value for name, value in resolved.items() if name in given}
    if not (answer := record.installed()).ok:
        raise UsageError(f"exporter {record.name} is not installed: {answer.reason}")
    checker = record.load_checker()
    files = read_exported(path)
    groups = [files] if record.folder else [{name: text} for name, text in files.items()]
    checked, wrong = [], []
    for group in groups:
        where = str(path if len(groups) == 1 else path / next(iter(group)))
        try:
            checked.append((where, checker.check(group, options)))
        except VerificationError as error:
            # A checker of several files names the one; that of a single file need not.
            wrong.append((where, str(error).removeprefix(f"{Path(where).name}: ")))
    if arguments.format == "json":
        print_json(
            {
                "schema": "syncoll/verification/1",
                "file": str(path),
                "kind": record.name,
                "verified": [
                    {
                        "where": where,
                        "format": one.format,
                        "collective": one.collective,
                        "nodes": one.num_nodes,
                        "in_place": one.in_place,
                        "result_checked": one.result_checked,
                        "facts": dict(one.facts),
                    }
                    for where, one in checked
                ],
                "wrong": [{"where": where, "reason": reason} for where, reason in wrong],
            }
        )
    else:
        for where, one in checked:
            placement = {None: "", True: ", in place", False: ", out of place"}[one.in_place]
            facts = ", ".join(f"{name} {value}" for name, value in one.facts.items())
            done = "executed" if one.result_checked else "read, but its result was NOT checked"
            print_text(
                f"{where}: {done}, {one.format}: {one.collective} of {one.num_nodes} "
                f"ranks{placement}" + (f"; {facts}" if facts else "")
            )
    for where, reason in wrong:
        note(f"syncoll: {where}: {reason}")
    return Exit.BAD_INPUT if wrong else Exit.OK
