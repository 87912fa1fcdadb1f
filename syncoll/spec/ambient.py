"""What `P`, `C` and `G` are while something is evaluated."""

from __future__ import annotations

from dataclasses import dataclass

from syncoll.spec.source import Span

__all__ = ["Ambient"]

_AMBIENT_HINT = {
    "P": "`P` only in collectives in braces, and in topologies behind `nodes`",
    "C": "`C` only in collectives in braces",
    "G": "`G` only in collectives in braces, behind `chunks`",
}


@dataclass
class Ambient:
    """What `P`, `C` and `G` are, as far as they are known yet."""

    owner: str
    nodes: int | None = None
    chunks: int | None = None
    total: int | None = None
    switches: int | None = None

    def get(self, name: str, span: Span) -> int:
        """The value of `P`, `C` or `G`.

        Raises:
            SpecError: when it has none here.
        """
        value = {"P": self.nodes, "C": self.chunks, "G": self.total}[name]
        if value is None:
            raise span.error(f"`{name}` has no value here, in {self.owner}", _AMBIENT_HINT[name])
        return value
