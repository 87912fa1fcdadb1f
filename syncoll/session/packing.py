"""Forests of optimal throughput: asked of the seeds that pack them, and checked."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from syncoll.deadline import Deadline, interrupted_at
from syncoll.errors import PluginError, UsageError
from syncoll.model import Fabric
from syncoll.plugins import ForestPacker, PluginManager, SeedRecord
from syncoll.results import ForestCollective, Forests, PackedForest
from syncoll.session.settings import require_whole
from syncoll.trust.forest import verify_any_roots, verify_packed
from syncoll.wording import argument

if TYPE_CHECKING:
    from syncoll.session.session import Session

__all__ = ["pack_forests", "require_root"]


def pack_forests(
    session: Session,
    fabric: Fabric,
    collective: str,
    root: int | None,
    fixed_k: int | None,
    backend: str | None,
    until: Deadline,
) -> Forests:
    """See `Session.forest`."""
    for name, value, least in (("root", root, 0), ("k", fixed_k, 1)):
        if value is not None:
            require_whole(name, value, least)
    kind = require_root(collective, root)
    candidates = _seeds(session.plugins, backend)
    if root is not None and not 0 <= root < fabric.num_nodes:
        raise UsageError(
            f"{argument('root', root)}: {fabric.name} has the nodes 0 to {fabric.num_nodes - 1}"
        )
    with interrupted_at(until):
        began = time.perf_counter()
        packer = _packer(candidates, session.tell)
        phases = packer.pack(fabric, kind, root=root or 0, fixed_k=fixed_k)
        at = (root or 0) if kind.rooted else None
        checked = tuple(_checked(phase, fabric, at) for phase in phases)
        any_roots = packer.any_roots(fabric) if len(checked) > 1 else None
        seconds = time.perf_counter() - began
    found = Forests(fabric.name, str(kind), checked, seconds, fixed_k=fixed_k)
    if any_roots is None:
        return found
    # The halves are a way to have any roots: what was rounded below them is known to be more.
    any_roots = max(any_roots[0], found.algbw), any_roots[1]
    verify_any_roots(any_roots, found.algbw)
    return replace(found, any_roots=any_roots)


def require_root(collective: str, root: int | None) -> ForestCollective:
    """The collective of a name, for which it makes sense to give this root.

    Raises:
        UsageError: when it does not, or there is no such collective.
    """
    try:
        kind = ForestCollective(collective)
    except ValueError:
        known = ", ".join(ForestCollective)
        raise UsageError(f"{collective!r} is not one of {known}, for which forests are") from None
    if root is not None and not kind.rooted:
        raise UsageError(
            f"{argument('root')} means nothing to {kind}, of which every node is a root"
        )
    return kind


def _packer(candidates: Sequence[SeedRecord], tell: Callable[[str], None]) -> ForestPacker:
    """What packs forests: that of the first seed which can be loaded.

    Raises:
        PluginError: when the last one cannot.
    """
    for record in candidates[:-1]:
        assert record.forest is not None
        try:
            return record.forest()
        except PluginError as error:
            tell(f"{error}; going on with another seed")
    last = candidates[-1]
    assert last.forest is not None
    return last.forest()


def _seeds(plugins: PluginManager, name: str | None) -> list[SeedRecord]:
    """The seeds that pack forests and can run here: the named one, or all, ours first.

    Raises:
        PluginError: when there is no such seed.
    """
    able = {key: seed for key, seed in plugins.seeds.items() if seed.forest is not None}
    known = f"those that do: {', '.join(sorted(able)) or 'none is installed'}"
    if name is not None:
        record = plugins.seeds[name]
        if record.forest is None:
            raise PluginError(f"seed {name} packs no forests; {known}")
        chosen = [record]
    else:
        if not able:
            raise PluginError(f"no seed packs forests; {known}")
        chosen = sorted(able.values(), key=lambda seed: not plugins.is_ours(seed))
    installed = [seed for seed in chosen if seed.installed().ok]
    if not installed:
        answer = chosen[0].installed()
        raise PluginError(f"seed {chosen[0].name} cannot run here: {answer.reason}")
    return installed


def _checked(phase: PackedForest, fabric: Fabric, root: int | None) -> PackedForest:
    """The phase once it has passed its check, with the seconds of that."""
    began = time.perf_counter()
    verify_packed(phase, fabric, root)
    return replace(phase, seconds={**phase.seconds, "check": time.perf_counter() - began})
