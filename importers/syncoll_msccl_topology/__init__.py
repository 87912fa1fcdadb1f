"""MSCCL topology JSON: what msccl-tools' ``msccl`` command takes and its encoder writes."""

from __future__ import annotations

import re

from syncoll.plugins import Importer, ImporterRecord, hookimpl

__all__ = ["RECORD", "syncoll_importers"]

_TYPE = re.compile(r'"msccl_type"\s*:\s*"topology"')


def _load() -> Importer:
    from syncoll_msccl_topology.importer import MscclTopologyImporter

    return MscclTopologyImporter()


def _recognises(text: str) -> bool:
    return _TYPE.search(text) is not None


RECORD = ImporterRecord(
    name="msccl-topology",
    summary="topology JSON of msccl-tools: links in chunks per round, and switches that cap sums",
    load=_load,
    recognises=_recognises,
)


@hookimpl
def syncoll_importers() -> list[ImporterRecord]:
    """The one importer of this package."""
    return [RECORD]
