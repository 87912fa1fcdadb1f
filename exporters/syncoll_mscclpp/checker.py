"""The checker of MSCCL++ execution plans: reads a plan as the runtime would, and executes it."""

from collections.abc import Mapping
from contextlib import suppress

from syncoll.errors import UncheckedError, VerificationError
from syncoll.model import Collective, Instance, Topology
from syncoll.plugins import CheckedExport, Options
from syncoll.plugins.foreign import ForeignAlgorithm, Meant
from syncoll_mscclpp.reading import (
    ExecutionPlan,
    Grid,
    links_of,
    read_plan,
    require_loadable,
    require_ordered,
    require_sizes,
    specification_of,
    threads_of,
    units_of,
    within_boxes_of,
)
from syncoll_threadblocks import OwnSpecification, Specification, algorithm_in, execute, schedule
from syncoll_threadblocks.execute import require_matched

_MOST_INSTRUCTIONS = 5_000_000

_IN_SWITCHES = "not reproducible: switches add up in no stated order"


class MscclppChecker:
    """Checks one file."""

    def check(
        self, files: Mapping[str, bytes], options: Options, instance: Instance | None = None
    ) -> CheckedExport:
        """See `syncoll.plugins.ExportChecker`; a plan needs no options."""
        (content,) = files.values()
        plan = read_plan(content)
        require_loadable(plan)
        found, doubt, added = _followed(plan, specification_of(plan))
        if instance is not None:
            if found is None:
                found = _assumed(plan, instance)
            found.require_same(instance, any_cut=True)
        if doubt is not None:
            raise UncheckedError(doubt)
        if added and _adds_in_switches(plan):
            added = _IN_SWITCHES
        return CheckedExport(
            "MSCCL++ execution plan",
            plan.collective,
            len(plan.gpus),
            plan.inplace,
            _facts(plan, found),
            found is not None,
            links=links_of(plan),
            within_boxes=within_boxes_of(plan),
            num_chunks=None
            if found is None or isinstance(found, Specification)
            else found.num_chunks,
            added=added,
        )

    def read(self, files: Mapping[str, bytes], meant: Meant) -> ForeignAlgorithm:
        """The algorithm of a plan; where it defines no collective, of the named one."""
        (content,) = files.values()
        plan = read_plan(content)
        self.check(files, {})
        asked = meant.collective
        if asked is not None and asked.plain is not None and _adds_in_switches(plan):
            raise VerificationError(_IN_SWITCHES)
        spec = specification_of(plan)
        if spec is None:
            spec = _fitting(plan, meant.result())
        units, scratch = units_of(plan)[-1]
        _require_followable(plan, units)
        threads = threads_of(plan, spec, units, scratch)
        require_matched(threads.program)
        starts = threads.firsts("i"), threads.firsts("o")
        run, found, _ = execute(
            threads.program, spec.cut(units), *starts, run=schedule(threads.program)
        )
        assert found is not None
        return algorithm_in(threads.program, run, found, starts[0], found.collective)


def _fitting(plan: ExecutionPlan, collective: Collective) -> OwnSpecification:
    """The collective of a plan that defines none, with the least C for which the plan performs it,
    with chunks in the order of their numbers.  Raises the error for the largest C."""
    ranks = len(plan.gpus)
    most = max(max(gpu.input_chunks, gpu.output_chunks) for gpu in plan.gpus)
    links = {(a, b): 1 for a in range(ranks) for b in range(ranks) if a != b}
    nodes = Topology.from_links(f"{ranks} ranks", ranks, links)
    error = UncheckedError(f"{collective.name} is not defined on {ranks} nodes")
    for chunks in range(1, most + 1):
        if collective.admits(ranks, chunks):
            try:
                one = collective.instantiate(nodes, chunks=chunks, steps=ranks, rounds=ranks)
                return _assumed(plan, one)
            except UncheckedError as found:
                error = found
    raise error


def _require_followable(plan: ExecutionPlan, units: int, *, pieces: bool = False) -> None:
    """Raises UncheckedError if a plan moves too many chunks of `units` each, or, with `pieces`, too
    many runs of `units` pieces."""
    moved = sum(
        (1 + sum(1 if pieces else one.size for one in inner.pieces)) * max(1, op.loop.chunks)
        for _, block in plan.blocks
        for op in block.operations
        for inner in (op, *op.inner)
    )
    if not pieces:
        moved += sum(g.input_chunks + g.output_chunks + g.scratch_chunks for g in plan.gpus)
    if moved * units > _MOST_INSTRUCTIONS:
        raise UncheckedError(f"it has and moves about {moved} chunks, too many to follow")


def _followed(
    plan: ExecutionPlan, spec: OwnSpecification | None
) -> tuple[OwnSpecification | None, str | None, str]:
    """Executes a plan; returns its collective, with its root, the doubts, and whether sums are
    reproducible in words."""
    found, doubt, added = None, None, ""
    every = units_of(plan)
    if every == ((1, 1),) and isinstance(spec, Specification):
        with suppress(VerificationError):  # whose error names chunks, if it is executed by chunks
            grid = Grid(plan, spec.pieces)
            _require_followable(plan, grid.longest, pieces=True)
            share = grid.pieces_of_part
            coarse = Specification(spec.collective, spec.num_ranks, share, spec.root)
            found, doubt, added = _executed(plan, spec, coarse, (1, 1), grid)
            return spec.of_root(None if found is None else found.root), doubt, added
    for units, scratch in every:
        _require_followable(plan, units)
        cut = None if spec is None else spec.cut(units)
        found, doubted, words = _executed(plan, spec, cut, (units, scratch))
        doubt, added = doubt or doubted, min(added or words, words)  # "not" comes first
    if isinstance(spec, Specification) and found is not None:
        spec = spec.of_root(found.root)
    return spec, doubt, added


def _executed(
    plan: ExecutionPlan,
    spec: OwnSpecification | None,
    cut: OwnSpecification | None,
    units: tuple[int, int],
    grid: Grid | None = None,
) -> tuple[OwnSpecification | None, str | None, str]:
    """Executes a plan in pieces, as `threads_of`; `cut` has the collective's pieces."""
    threads = threads_of(plan, spec, *units, grid)
    program = threads.program
    require_matched(program)
    run = schedule(program)
    doubt = require_ordered(threads, run, double_scratch=plan.double_scratch)
    firsts = threads.firsts("i"), threads.firsts("o")
    _, found, added = execute(program, cut, *firsts, run=run)
    return found, doubt, added


def _adds_in_switches(plan: ExecutionPlan) -> bool:
    """Whether a switch adds up the data of more than two ranks."""
    return any(
        op.name == "glres" and any(len(ranks) > 2 for ranks, _ in gpu.switches)
        for gpu, block in plan.blocks
        for _, op, _ in block.flat
    )


def _assumed(plan: ExecutionPlan, instance: Instance) -> OwnSpecification:
    """The collective of a plan without one, if chunks are in the order of their numbers."""
    asked = OwnSpecification.of_instance(instance)
    try:
        if asked.num_ranks != len(plan.gpus):
            raise VerificationError(
                f"the file is for {len(plan.gpus)} ranks, the instance for {asked.num_ranks} nodes"
            )
        pieces = [
            gpu.input_chunks // len(chunks)
            for gpu, chunks in zip(plan.gpus, asked.inputs, strict=True)
            if chunks
        ]
        asked = asked.in_pieces(max(1, min(pieces, default=1)))
        require_sizes(plan, asked)
        found, _, _ = _followed(plan, asked)
    except VerificationError as error:
        raise UncheckedError(
            f"collective {plan.collective!r} does not define the places of chunks, so it cannot be "
            f"compared with {instance.collective}; with the chunks in the order of their numbers: "
            f"{error}"
        ) from error
    assert found is not None
    return found


def _facts(plan: ExecutionPlan, found: OwnSpecification | None) -> dict[str, int | str]:
    blocks = [block for _, block in plan.blocks]
    facts: dict[str, int | str] = {
        "protocol": plan.protocol,
        "thread blocks": len(blocks),
        "operations": sum(len(block.operations) for block in blocks),
        "channels": sum(len(ids) for gpu in plan.gpus for ids in gpu.channels.values()),
        "chunks": max(max(gpu.input_chunks, gpu.output_chunks) for gpu in plan.gpus),
        "scratch chunks": max(gpu.scratch_chunks for gpu in plan.gpus),
    }
    if found is not None and plan.stated is not None and not isinstance(found, Specification):
        facts["stated collective"] = found.collective
    if found is None:
        facts["result"] = f"not checked: {plan.collective} does not define a result"
    elif found.root is not None:
        facts["root"] = found.root
    return facts
