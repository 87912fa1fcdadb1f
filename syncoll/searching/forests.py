"""Forests of optimal throughput, packed by seeds and checked."""

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from syncoll.deadline import Deadline, interrupted_at
from syncoll.errors import PluginError, UsageError
from syncoll.model import Fabric
from syncoll.plugins import ForestPacker, PluginManager, SeedRecord
from syncoll.progress import report
from syncoll.results import ForestCollective, Forests, PackedForest
from syncoll.trust.forest import verify_any_roots, verify_packed
from syncoll.values import require_whole
from syncoll.wording import argument, counted

_STAGES = 5
"""Of packing a forest, as progress is reported: its bound, switches, trees, check, heights."""

_NAME = re.compile(r"\s*(\w+)\s*(?:\(\s*(?:root\s*=\s*)?([0-9]{1,9})\s*\)\s*)?")


def pack_forests(
    plugins: PluginManager,
    tell: Callable[[str], None],
    fabric: Fabric,
    collective: str,
    root: int | None,
    fixed_k: int | None,
    backend: str | None,
    until: Deadline,
) -> Forests:
    """Packs spanning trees of optimal throughput and checks them edge by edge.

    Args:
        tell: receives messages about seeds that cannot be loaded.
        collective: a `ForestCollective`.
        root: of broadcast and reduce; None for node 0.
        fixed_k: trees for each root; None for as many as the optimum needs.
        backend: the seed that packs; None for the first that can.

    Raises:
        UsageError: on a root that does not exist, or for a collective without a root.
        PluginError: if no seed packs forests.
        OutOfTimeError: after the deadline.
    """
    for name, value, least in (("root", root, 0), ("k", fixed_k, 1)):
        if value is not None:
            require_whole(name, value, least)
    kind, root = forest_collective(collective, root)
    candidates = _seeds(plugins, backend)
    if root is not None and not 0 <= root < fabric.num_nodes:
        raise UsageError(
            f"{argument('root', root)}: {fabric.name} has the nodes 0 to {fabric.num_nodes - 1}"
        )
    words = f"forest of {kind} on {fabric.name}, {counted(fabric.num_nodes, 'node')}"
    report(0, _STAGES, words)
    with interrupted_at(until):
        began = time.perf_counter()
        packer = _packer(candidates, tell)
        phases = packer.pack(fabric, kind, root=root or 0, fixed_k=fixed_k)
        at = (root or 0) if kind.rooted else None
        checked = tuple(_checked(phase, fabric, at) for phase in phases)
        any_roots = packer.any_roots(fabric) if len(checked) > 1 else None
        seconds = time.perf_counter() - began
    report(_STAGES, _STAGES, "packed and verified")
    found = Forests(fabric.name, str(kind), checked, seconds, fixed_k=fixed_k)
    if any_roots is None:
        return found
    # The halves are one way to have any roots, so a value below theirs is a rounding error.
    any_roots = max(any_roots[0], found.algbw), any_roots[1]
    verify_any_roots(any_roots, found.algbw)
    return replace(found, any_roots=any_roots)


def forest_collective(
    collective: str, root: int | None = None
) -> tuple[ForestCollective, int | None]:
    """The collective of a name such as ``allgather`` or ``broadcast(root=3)``, and its root.
    Raises `UsageError` if forests are not packed for it, it takes no root, or has another root."""
    match = _NAME.fullmatch(collective) if isinstance(collective, str) else None
    if match is None or match[1] not in tuple(ForestCollective):
        *others, last = ForestCollective
        raise UsageError(
            f"forests are not packed for {collective!r}, only for {', '.join(others)} and {last}; "
            "pareto finds algorithms for other collectives"
        )
    kind = ForestCollective(match[1])
    if match[2] is not None:
        if root not in (None, int(match[2])):
            raise UsageError(f"{argument('root', root)} contradicts {collective}; give one root")
        root = int(match[2])
    if root is not None and not kind.rooted:
        raise UsageError(f"{argument('root')} has no effect on {kind}: every node is a root")
    return kind, root


def _packer(candidates: Sequence[SeedRecord], tell: Callable[[str], None]) -> ForestPacker:
    """The packer of the first seed that can be loaded; a `PluginError` if none can."""
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
    """The seeds that pack forests and can run here: the named one, or all, ours first.  Raises
    `PluginError` if there is no such seed."""
    able = {key: seed for key, seed in plugins.seeds.items() if seed.forest is not None}
    known = f"these seeds do: {', '.join(sorted(able)) or 'none is installed'}"
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
    """The phase after its check, with the seconds of the check."""
    began = time.perf_counter()
    verify_packed(phase, fabric, root)
    return replace(phase, seconds={**phase.seconds, "check": time.perf_counter() - began})
