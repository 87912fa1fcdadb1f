"""SearchSpec: a search with its bounds, as a spec file writes it."""

from __future__ import annotations

from dataclasses import dataclass, field

from syncoll.errors import Origin
from syncoll.model import Collective, Fabric, Topology

__all__ = ["SearchSpec"]


@dataclass(frozen=True)
class SearchSpec:
    """A search with its bounds, R <= S + k; None where the file sets none."""

    name: str
    topology: Topology | Fabric
    collective: Collective
    k: int | None = None
    steps: int | None = None
    rounds: int | None = None
    chunks: int | None = None
    seconds: float | None = None
    encoding: str | None = None
    backend: str | None = None
    origin: Origin | None = field(default=None, compare=False)
