"""Verification of files: files of syncoll, and exports of any format."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from syncoll.documents import StoredFile, read_file
from syncoll.errors import UsageError
from syncoll.model import Collective, Instance, Topology
from syncoll.plugins import ExporterRecord, PluginManager
from syncoll.runtime.exported import VerifiedExports, exporter_of, verify_exports
from syncoll.trust import require_valid
from syncoll.trust.same_problem import require_same_collective, require_same_topology
from syncoll.wording import argument

if TYPE_CHECKING:
    from syncoll.proofs.refutation import CheckedRefutation

__all__ = ["Verified", "exporter_for", "verification_document", "verified"]

Verified: TypeAlias = "VerifiedExports | CheckedRefutation | StoredFile"


def exporter_for(
    plugins: PluginManager, tell: Callable[[str], None], file: Path, to: str | None
) -> ExporterRecord | None:
    """The exporter of a file, by its name or content; None for a file of syncoll.

    Raises `UsageError` on a folder of no known format.
    """
    record = plugins.exporters[to] if to is not None else exporter_of(file, plugins, tell)
    if record is None and file.is_dir():
        planned = file / "algorithms"
        hint = f"verify {planned}" if planned.is_dir() else "name a file, or the folder's format"
        raise UsageError(f"{file} is a folder without files of any exporter; {hint}")
    return record


def verified(
    plugins: PluginManager,
    file: Path,
    record: ExporterRecord | None,
    *,
    topology: Topology | None,
    collective: Collective | None,
    chunks: int | None,
    in_order: bool,
    options: Mapping[str, object],
) -> Verified:
    """The verified contents of a file; of exports also errors; see `verify`."""
    if record is not None:
        if in_order:
            raise UsageError(
                f"{file} is an export ({record.name}), to which {argument('in_order')} does not "
                "apply"
            )
        return verify_exports(
            file, record, options, topology=topology, collective=collective, chunks=chunks
        )
    if options:
        raise UsageError(f"{file} is not an export; options of formats have no effect")
    if chunks is not None:
        raise UsageError(f"{file} has its own C; {argument('chunks')} is for exports")
    stored = read_file(file, taker="verify")
    if stored.kind == "refutation":  # its check needs encodings and lowerings
        from syncoll.proofs.refutation import check_refutation

        return check_refutation(file, plugins, topology=topology, collective=collective)
    if topology is not None:
        require_same_topology(stored.topology, topology)
    if collective is not None:
        evidence = None if stored.frontier is None else stored.frontier.evidence
        require_same_collective(
            stored.collective, stored.topology, stored.instances, evidence, collective
        )
    for one in stored.algorithms if in_order else ():
        if one.instance.combining:
            require_valid(one.instance, one.algorithm, in_order=True)
    return stored


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
                    "format": one.format,
                    "collective": one.collective,
                    "in_place": one.in_place,
                    "result_checked": one.result_checked,
                    "nodes": one.num_nodes,
                    "facts": dict(one.facts),
                }
                for where, one in found.checked
            ],
            "wrong": [{"where": str(where), "reason": why} for where, why in found.wrong],
            "unchecked": [{"where": str(where), "reason": why} for where, why in found.unchecked],
        }
    if isinstance(found, StoredFile):
        algorithms = [{"where": one.where, **_costs(one.instance)} for one in found.algorithms]
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
        "refuted": {**_costs(found.instance), "lemmas": found.proof.lemmas_checked},
        "verified": [],
    }


def _costs(instance: Instance) -> dict[str, int]:
    return {"chunks": instance.chunks, "steps": instance.steps, "rounds": instance.rounds}
