"""``syncoll verify FILE``: replays what a file claims."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from syncoll.cli.arguments import Subparsers, add_format, count
from syncoll.cli.exits import Exit
from syncoll.cli.exporting import add_exporter_options, flags_given

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from syncoll.model import Collective, Topology
    from syncoll.plugins import (
        CheckedExport,
        ExportChecker,
        ExporterRecord,
        OptionValue,
        PluginManager,
    )

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
    from syncoll.cli.exporting import exporter_of
    from syncoll.cli.output import counted, print_json, print_text
    from syncoll.documents import read_file
    from syncoll.errors import UsageError
    from syncoll.trust import require_valid
    from syncoll.trust.same_problem import require_same_collective, require_same_topology

    plugins = arguments.session.plugins
    exporter = exporter_of(arguments.file, plugins)
    if arguments.exporter is not None:
        chosen = plugins.exporters[arguments.exporter]
        return _check_exported(arguments, plugins, chosen, recognised=exporter is chosen)
    if exporter is not None:
        return _check_exported(arguments, plugins, exporter, recognised=True)
    if arguments.file.is_dir():
        raise UsageError(
            f"{arguments.file} is a folder without files of any exporter; name a file, or with "
            "--as the format of the folder"
        )
    if arguments.option or flags_given(arguments):
        raise UsageError(f"{arguments.file} is no export; options of formats say nothing about it")
    if arguments.chunks is not None:
        raise UsageError(f"{arguments.file} says its C itself; -C is for exports")
    stored = read_file(arguments.file)
    if stored.kind == "refutation":
        return _check_refutation(arguments)
    if arguments.topology is not None or arguments.collective is not None:
        specs = arguments.session.specs
        if arguments.topology is not None:
            require_same_topology(stored.topology, specs.topology(arguments.topology))
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
        specs = arguments.session.specs
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


def _check_exported(
    arguments: argparse.Namespace,
    plugins: PluginManager,
    record: ExporterRecord,
    *,
    recognised: bool,
) -> int:
    """Checks exports: of a format of several files a folder, of others each file by itself."""
    from syncoll.cli.exporting import exporter_options, read_exported
    from syncoll.cli.output import note
    from syncoll.errors import UncheckedError, UsageError, VerificationError
    from syncoll.plugins import resolve_options

    path: Path = arguments.file
    if arguments.in_order:
        raise UsageError(f"{path} is an export ({record.name}), to which --in-order does not apply")
    if arguments.chunks is not None and arguments.collective is None:
        raise UsageError("-C is the C of --collective; name the collective")
    given = exporter_options(arguments, record, reading=True)
    resolved = resolve_options(record.options, given, f"exporter {record.name}")
    # Only what was said: a file of another tool need not be of the dialect that we write.
    options = {name: value for name, value in resolved.items() if name in given}
    if not (answer := record.installed()).ok:
        raise UsageError(f"exporter {record.name} is not installed: {answer.reason}")
    checker = _Meant(arguments, plugins, record.load_checker())
    files = read_exported(path)
    groups = [files] if record.folder else [{name: text} for name, text in files.items()]
    checked: list[tuple[str, CheckedExport]] = []
    wrong: list[tuple[str, str]] = []
    unchecked: list[tuple[str, str]] = []
    for group in groups:
        where = str(path if len(groups) == 1 else path / next(iter(group)))
        try:
            checked.append((where, checker.check(group, options)))
        except VerificationError as error:
            # A checker of several files names the one; that of a single file need not.
            reason = str(error).removeprefix(f"{Path(where).name}: ")
            (unchecked if isinstance(error, UncheckedError) else wrong).append((where, reason))
    _report_exports(arguments, record, checked, wrong, unchecked)
    for where, reason in wrong:
        note(f"syncoll: {where}: {reason}")
    for where, reason in unchecked:
        note(f"syncoll: {where}: not checked in full: {reason}")
    if wrong:
        return Exit.IMPOSSIBLE if recognised else Exit.BAD_INPUT
    if unchecked or not all(one.result_checked for _, one in checked):
        return Exit.UNCHECKED
    return Exit.OK


class _Meant:
    """A format's checker, and what the files are meant to be."""

    def __init__(
        self, arguments: argparse.Namespace, plugins: PluginManager, checker: ExportChecker
    ) -> None:

        self.checker = checker
        self.chunks: int | None = arguments.chunks
        self.topology: Topology | None = None
        self.collective: Collective | None = None
        if arguments.topology is not None or arguments.collective is not None:
            specs = arguments.session.specs
            if arguments.topology is not None:
                self.topology = specs.topology(arguments.topology)
            if arguments.collective is not None:
                self.collective = specs.collective(arguments.collective)

    def check(
        self, files: Mapping[str, bytes], options: Mapping[str, OptionValue]
    ) -> CheckedExport:
        """First for what the files say of themselves, then for what is meant.

        Raises:
            VerificationError: when they are wrong, or something else.
            UncheckedError: when that cannot be told.
        """
        from syncoll.runtime.expected import (
            meant_instance,
            require_links,
        )

        found = self.checker.check(files, options)
        if self.topology is not None:
            require_links(found, self.topology)
        if self.collective is None:
            return found
        meant = meant_instance(self.collective, self.topology, self.chunks, found)
        return self.checker.check(files, options, meant)


def _report_exports(
    arguments: argparse.Namespace,
    record: ExporterRecord,
    checked: Sequence[tuple[str, CheckedExport]],
    wrong: Sequence[tuple[str, str]],
    unchecked: Sequence[tuple[str, str]],
) -> None:
    from syncoll.cli.output import print_json, print_text

    if arguments.format == "json":
        print_json(
            {
                "schema": "syncoll/verification/1",
                "file": str(arguments.file),
                "kind": record.name,
                "meant": arguments.collective,
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
                "unchecked": [{"where": where, "reason": reason} for where, reason in unchecked],
            }
        )
        return
    for where, one in checked:
        placement = {None: "", True: ", in place", False: ", out of place"}[one.in_place]
        facts = ", ".join(f"{name} {value}" for name, value in one.facts.items())
        done = "executed" if one.result_checked else "read, but its result was NOT checked"
        meant = f", as {arguments.collective} asks" if arguments.collective is not None else ""
        print_text(
            f"{where}: {done}, {one.format}: {one.collective} of {one.num_nodes} "
            f"ranks{placement}{meant}" + (f"; {facts}" if facts else "")
        )
