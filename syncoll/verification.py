"""Verification of files: files of syncoll, exports of any format, and algorithms of other tools."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from syncoll.documents import StoredAlgorithm, StoredFile, algorithm_document, read_file
from syncoll.documents.folder import INDEX
from syncoll.documents.sniff import kind_in
from syncoll.errors import FileFormatError, LocatedError, ModelError, UsageError, VerificationError
from syncoll.importing.fitting import fitted
from syncoll.model import Collective, Topology
from syncoll.plugins import CheckedExport, ExporterRecord, PluginManager
from syncoll.plugins.foreign import Meant
from syncoll.runtime.exported import VerifiedExports, contents, exporter_of, verify_exports
from syncoll.runtime.plan_folder import FRONTIER, read_index, verify_plan
from syncoll.trust import require_valid
from syncoll.trust.same_problem import require_same_collective, require_same_topology
from syncoll.values import picked
from syncoll.wording import argument

if TYPE_CHECKING:
    from syncoll.proofs.refutation import CheckedRefutation

Verified: TypeAlias = "VerifiedExports | CheckedRefutation | StoredFile"
_COSTS = "chunks steps rounds"

Find: TypeAlias = "Callable[[str], Collective]"
"""Returns the collective of a name; raises `LocatedError` without one."""


def opened(
    find: Find,
    file: Path,
    record: ExporterRecord | None,
    kinds: Sequence[str],
    taker: str,
    topology: Topology | None = None,
    collective: Collective | None = None,
) -> StoredFile:
    """The verified algorithms of a file of syncoll, or of another tool whose format has a reader.

    Args:
        find: returns the collective that a file of another tool names.
        record: the format of the file; None for a file of syncoll.
        kinds: the expected kinds of files of syncoll.
        taker: the verb that takes them, for errors.
        topology: of a file of another tool, which may state none; others are not compared.
        collective: the same.

    Raises:
        FileFormatError: if it is no such file, or contradicts itself.
        VerificationError: if an algorithm is wrong, or for another machine or collective.
        UsageError: if the file does not state its machine or collective, and none was named.
    """
    read = None if record is None else getattr(record.load_checker(), "read", None)
    if record is None or read is None or "algorithm" not in kinds:
        return read_file(file, kinds, taker)
    try:
        found = read(contents(file), Meant(topology, collective))
        if topology is not None and found.topology is not None:
            require_same_topology(found.topology, topology, finer=True)
        machine = topology or found.topology or Meant().machine()
        if collective is None:
            with suppress(LocatedError):  # else the file's own collective
                collective = find(found.collective)
        instance, algorithm = fitted(found, machine, collective)
        require_valid(instance, algorithm)
    except (VerificationError, UsageError) as error:
        raise type(error)(f"{file}: {error}") from error
    except (FileFormatError, ModelError) as error:
        raise FileFormatError(f"{file}: {error}") from error
    one = StoredAlgorithm(instance, algorithm, "algorithm")
    if found.waves:
        from syncoll.simulating.dispatch import in_few_steps

        one = in_few_steps(one)
    one = replace(one, derived=found.derived)
    about = "algorithm", machine, instance.collective, (one,), (one.instance,)
    return StoredFile(*about, algorithm_document(one.instance, one.algorithm))


def exporter_for(
    plugins: PluginManager, tell: Callable[[str], None], file: Path, to: str | None
) -> ExporterRecord | None:
    """The exporter of a file, by its name or content; None for a file of syncoll or the folder of a
    plan.  Raises `UsageError` on a folder of no known format."""
    record = plugins.exporters[to] if to is not None else exporter_of(file, plugins, tell)
    if record is None and file.is_dir() and kind_in(file / INDEX) != "plan":
        raise UsageError(
            f"{file} is a folder without files of any exporter and without the index.json of a "
            "plan; name a file, or the folder's format"
        )
    return record


def verified(
    plugins: PluginManager,
    find: Find,
    file: Path,
    record: ExporterRecord | None,
    *,
    topology: Topology | None,
    collective: Collective | None,
    chunks: int | None,
    in_order: bool,
    options: Mapping[str, object],
) -> Verified:
    """The verified contents of a file; of exports also errors; see `verify` and `opened`."""
    if in_order and (record is not None or file.is_dir()):
        exported = "a folder of exports" if record is None else f"an export ({record.name})"
        raise UsageError(f"{file} is {exported}, to which {argument('in_order')} does not apply")
    if record is not None and record.replayed and file.is_file():
        if options or chunks is not None:
            raise UsageError(f"{file} is an algorithm; options of formats and C have no effect")
        return opened(find, file, record, ("algorithm",), "verify", topology, collective)
    if record is not None:
        return verify_exports(
            file, record, options, topology=topology, collective=collective, chunks=chunks
        )
    if options:
        raise UsageError(f"{file} is not an export; options of formats have no effect")
    if chunks is not None:
        raise UsageError(f"{file} has its own C; {argument('chunks')} is for exports")
    if file.is_dir():
        return _verified_plan(file, plugins, topology, collective)
    stored = read_file(file, taker="verify")
    if stored.kind == "refutation":  # its check needs encodings and lowerings
        from syncoll.proofs.refutation import check_refutation

        return check_refutation(file, plugins, topology=topology, collective=collective)
    _compare(stored, topology, collective)
    for one in stored.algorithms if in_order else ():
        if one.instance.combining:
            require_valid(one.instance, one.algorithm, in_order=True)
    return stored


def _compare(stored: StoredFile, topology: Topology | None, collective: Collective | None) -> None:
    if topology is not None:
        require_same_topology(stored.topology, topology, finer=True)
    if collective is not None:
        evidence = None if stored.frontier is None else stored.frontier.evidence
        require_same_collective(
            stored.collective, stored.topology, stored.instances, evidence, collective
        )


def _verified_plan(
    folder: Path, plugins: PluginManager, topology: Topology | None, collective: Collective | None
) -> VerifiedExports:
    """The exports of a plan's folder, and its frontier as if it were one."""
    found = verify_plan(
        folder, read_index(folder), plugins, topology=topology, collective=collective
    )
    file = folder / FRONTIER
    if not file.exists():
        if not (found.checked or found.wrong or found.unchecked):
            raise UsageError(f"{folder}: the plan has neither exports nor a {FRONTIER}")
        return found
    try:
        stored = read_file(file, ("frontier",), "verify")
        _compare(stored, topology, collective)
    except (FileFormatError, VerificationError) as error:
        return replace(found, wrong=((file, str(error)), *found.wrong))
    facts = {"algorithms": len(stored.algorithms)}
    replayed = CheckedExport("frontier", stored.collective, stored.topology.num_nodes, None, facts)
    return replace(found, checked=((file, replayed), *found.checked))


def verification_document(
    file: Path, found: Verified, expected: str | None = None
) -> dict[str, Any]:
    """The verified algorithms or files as JSON; `expected`: name of the given collective."""
    head = {"schema": "syncoll/verification/1", "file": str(file)}
    if isinstance(found, VerifiedExports):
        return {
            **head,
            "kind": found.exporter,
            "meant": expected,
            "verified": [
                {
                    "where": str(where),
                    **picked(one, "format collective in_place result_checked"),
                    "nodes": one.num_nodes,
                    "facts": dict(one.facts),
                    "sums": one.added,
                }
                for where, one in found.checked
            ],
            "wrong": [{"where": str(where), "reason": why} for where, why in found.wrong],
            "unchecked": [{"where": str(where), "reason": why} for where, why in found.unchecked],
        }
    if isinstance(found, StoredFile):
        algorithms = [
            {"where": one.where, **picked(one.instance, _COSTS)} for one in found.algorithms
        ]
        return {
            **head,
            "kind": found.kind,
            "topology": found.topology.name,
            "collective": found.collective,
            "verified": algorithms,
        }
    return {
        **head,
        "kind": "refutation",
        "topology": found.instance.topology.name,
        "collective": found.instance.collective,
        "refuted": {**picked(found.instance, _COSTS), "lemmas": found.proof.lemmas_checked},
        "verified": [],
    }
