"""Writes modules for JAX."""

from __future__ import annotations

from collections.abc import Mapping

from syncoll.plugins import Exported, ExportRequest, OptionValue
from syncoll.runtime import function_of, head_of, table_of
from syncoll_jax.format import FORMAT
from syncoll_tables import Table

__all__ = ["JaxExporter"]


class JaxExporter:
    """Writes ``NAME.py``."""

    def export(self, request: ExportRequest, options: Mapping[str, OptionValue]) -> Exported:
        """See `syncoll.plugins.Exporter`."""
        table = table_of(request)
        name, head = function_of(request, table), head_of(request, table)
        text = FORMAT.text(Table(*vars(table).values()), name, head)
        return Exported({f"{request.name}.py": text.encode()})
