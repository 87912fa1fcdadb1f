"""``syncoll verify FILE``: replays what a file claims."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from syncoll.cli.arguments import Subparsers, add_format, count
from syncoll.cli.exits import Exit
from syncoll.cli.exporting import add_exporter_options, flags_given

if TYPE_CHECKING:
    from syncoll.plugins import ExporterRecord
    from syncoll.runtime.exported import VerifiedExports

__all__ = ["add_parser"]

_DESCRIPTION = """\
Replays every algorithm of a file (a frontier, an outcome or an algorithm) step by step and checks
the costs that the file states.  Needs no solver.  A file that does not hold what it says ends with
exit code 2 and the reason.

The file brings its own machine and collective.  To make sure that they are the ones you mean, name
them: they are compared link by link and chunk by chunk.

Files for a runtime, as `syncoll export` or another tool writes them, are read as that runtime would
and executed: limits, deadlocks, races, messages that nobody receives, and whether the result is the
collective that the file names, or, with --collective, the one that you name.  With --topology data
may go over its links alone.  A format of several files is checked by its folder.  Exit codes of
these: 1 when something is wrong, 4 when something could not be checked.

  syncoll verify frontier.json
  syncoll verify frontier.json --topology dgx1 --collective allgather
  syncoll verify allgather.xml --dialect rccl
  syncoll verify sends.csv --topology dgx1 --collective allgather -C 6
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
        "-C",
        "--chunks",
        type=count,
        metavar="C",
        help="exports: chunks per node of --collective (default: as many as the file has)",
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
    parser.set_defaults(run=_run, kinds={"topology": "topology", "collective": "collective"})


def _run(arguments: argparse.Namespace) -> int:
    from syncoll.cli.output import counted, print_json, print_text
    from syncoll.documents import read_file
    from syncoll.errors import UsageError
    from syncoll.runtime.exported import exporter_of
    from syncoll.trust import require_valid
    from syncoll.trust.same_problem import require_same_collective, require_same_topology

    plugins = arguments.session.plugins
    exporter = exporter_of(arguments.file, plugins, arguments.session.tell)
    if arguments.exporter is not None:
        chosen = plugins.exporters[arguments.exporter]
        return _check_exported(arguments, chosen, recognised=exporter is chosen)
    if exporter is not None:
        return _check_exported(arguments, exporter, recognised=True)
    if arguments.file.is_dir():
        raise UsageError(
            f"{arguments.file} is a folder without files of any exporter; name a file, or with "
            "--as the format of the folder"
        )
    if arguments.option or flags_given(arguments):
        raise UsageError(
            f"{arguments.file} is not an export; options of formats say nothing about it"
        )
    if arguments.chunks is not None:
        raise UsageError(f"{arguments.file} says its C itself; -C is for exports")
    stored = read_file(arguments.file)
    if stored.kind == "refutation":
        return _check_refutation(arguments)
    if arguments.topology is not None or arguments.collective is not None:
        specs = arguments.session.specs
        if arguments.topology is not None:
            require_same_topology(stored.topology, arguments.session.topology(arguments.topology))
        if arguments.collective is not None:
            require_same_collective(
                stored.collective,
                stored.topology,
                stored.instances,
                None if stored.frontier is None else stored.frontier.evidence,
                specs.collective(arguments.collective),
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
    from syncoll.cli.output import counted, print_json, print_text
    from syncoll.proofs.refutation import check_refutation

    plugins = arguments.session.plugins
    topology, collective = None, None
    if arguments.topology is not None or arguments.collective is not None:
        session = arguments.session
        topology = session.topology(arguments.topology) if arguments.topology else None
        collective = session.collective(arguments.collective) if arguments.collective else None
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


def _check_exported(
    arguments: argparse.Namespace, record: ExporterRecord, *, recognised: bool
) -> int:
    """Checks exports, and says what they do."""
    from syncoll.cli.exporting import exporter_options
    from syncoll.cli.output import note, print_json, print_page
    from syncoll.errors import UsageError
    from syncoll.pages.exports import exports_page
    from syncoll.runtime.exported import verify_exports

    session = arguments.session
    if arguments.in_order:
        raise UsageError(
            f"{arguments.file} is an export ({record.name}), to which --in-order does not apply"
        )
    topology, collective = arguments.topology, arguments.collective
    found = verify_exports(
        arguments.file,
        record,
        exporter_options(arguments, record, reading=True),
        topology=None if topology is None else session.topology(topology),
        collective=None if collective is None else session.collective(collective),
        chunks=arguments.chunks,
    )
    if arguments.format == "json":
        print_json(_exports_document(arguments.file, collective, found))
    else:
        print_page(exports_page(found))
    for where, reason in found.wrong:
        note(f"syncoll: {where}: {reason}")
    for where, reason in found.unchecked:
        note(f"syncoll: {where}: not checked in full: {reason}")
    if found.wrong:
        return Exit.IMPOSSIBLE if recognised else Exit.BAD_INPUT
    return Exit.OK if found.ok else Exit.UNCHECKED


def _exports_document(
    file: Path, collective: str | None, found: VerifiedExports
) -> dict[str, object]:
    return {
        "schema": "syncoll/verification/1",
        "file": str(file),
        "kind": found.exporter,
        "meant": collective,
        "verified": [
            {
                "where": str(where),
                "format": one.format,
                "collective": one.collective,
                "nodes": one.num_nodes,
                "in_place": one.in_place,
                "result_checked": one.result_checked,
                "facts": dict(one.facts),
            }
            for where, one in found.checked
        ],
        "wrong": [{"where": str(where), "reason": reason} for where, reason in found.wrong],
        "unchecked": [{"where": str(where), "reason": reason} for where, reason in found.unchecked],
    }
