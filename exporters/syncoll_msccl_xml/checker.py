"""The checker of MSCCL XML: reads a file as each runtime would, and executes it.

A file does not name its runtime.  If the options do not either (no ``dialect``, or ``any``), it is
read as each runtime, and is right if one of them runs it; the answer names these runtimes, and the
errors of the others.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from syncoll.errors import UncheckedError, VerificationError
from syncoll.model import Instance
from syncoll.model.groups import instance_within
from syncoll.plugins import CheckedExport, Options
from syncoll.plugins.foreign import ForeignAlgorithm, Meant
from syncoll_msccl_xml.limits import RUNTIMES, Runtime
from syncoll_msccl_xml.reading import (
    open_end,
    read_algorithm,
    require_loadable,
    specification_of,
    threads_of,
)
from syncoll_msccl_xml.reading.algorithm import XmlAlgorithm, XmlStep, place
from syncoll_msccl_xml.reading.rules import RECEIVES, SENDS
from syncoll_threadblocks import OwnSpecification, Schedule, Specification, algorithm_in, execute

_MOST_INSTRUCTIONS = 5_000_000


class MscclXmlChecker:
    """Checks one file."""

    def check(
        self, files: Mapping[str, bytes], options: Options, instance: Instance | None = None
    ) -> CheckedExport:
        """See `syncoll.plugins.ExportChecker`.

        Args:
            options: ``dialect``, the reader of the file, if known; else ``any`` or nothing.
                ``ends``: with ``same`` both ends of a message must state the same slots; otherwise
                differences, which runtimes ignore, are only reported.  ``group``: the group of the
                instance's nodes for which the file is.
            instance: the demands; None for the file's own.
        """
        (content,) = files.values()
        chosen = str(options.get("dialect", "any"))
        algorithm = read_algorithm(content)
        group = options.get("group", -1)
        if instance is not None and isinstance(group, int) and group >= 0:
            instance = instance_within(instance, group)
        check = _Check(algorithm, instance)
        found = check.as_dialect(RUNTIMES[chosen]) if chosen in RUNTIMES else check.as_any()
        differing, first = disagreements(algorithm)
        if first is None:
            return found
        if options.get("ends") == "same":
            raise first
        fact = "messages stated differently at their ends"
        return replace(found, facts={**found.facts, fact: f"{differing} ({first})"})

    def read(self, files: Mapping[str, bytes], meant: Meant) -> ForeignAlgorithm:
        """The algorithm of a file that some runtime runs."""
        (content,) = files.values()
        algorithm = read_algorithm(content)
        check = _Check(algorithm, None)
        check.as_any()
        for (spec, in_place, _, open_sends), result in check.results.items():
            if not isinstance(result, VerificationError):
                run, found, _ = result
                if spec is None or found is None:
                    raise UncheckedError(
                        f"line {algorithm.line}: coll {algorithm.coll} does not define the places "
                        "of chunks"
                    )
                program, inputs, _ = threads_of(algorithm, spec, in_place, open_sends=open_sends)
                return algorithm_in(program, run, found, inputs, found.collective)
        raise AssertionError  # `as_any` has accepted an execution


class _Check:
    """One file; an execution is shared by all dialects for which it is the same."""

    def __init__(self, algorithm: XmlAlgorithm, instance: Instance | None) -> None:
        self.algorithm = algorithm
        self.instance = instance
        self.results: dict[
            tuple[Specification | None, bool, int, bool],
            tuple[Schedule, OwnSpecification | None, str] | VerificationError,
        ] = {}

    def as_any(self) -> CheckedExport:
        """The verdict of the dialects that accept the file; the errors of all if none does."""
        accepted: dict[str, CheckedExport] = {}
        refusals: dict[str, VerificationError] = {}
        for dialect in RUNTIMES.values():
            try:
                accepted[dialect.name] = self.as_dialect(dialect)
            except VerificationError as error:
                refusals[dialect.name] = error
        if accepted:
            first = next(iter(accepted.values()))
            facts = {
                **first.facts,
                **{f"refused by {name}": str(why) for name, why in refusals.items()},
            }
            label = f"MSCCL XML ({', '.join(accepted)})"
            return replace(first, format=label, facts=facts)
        reasons = list(dict.fromkeys(map(str, refusals.values())))
        # An execution too long to follow might be right.
        unchecked = any(isinstance(why, UncheckedError) for why in refusals.values())
        kind = UncheckedError if unchecked else VerificationError
        if len(reasons) == 1:
            raise kind(reasons[0])
        raise kind(
            ("no runtime is known to run it; " if unchecked else "no runtime runs it; ")
            + "; ".join(f"{RUNTIMES[name].title}: {why}" for name, why in refusals.items())
        )

    def as_dialect(self, dialect: Runtime) -> CheckedExport:
        algorithm = self.algorithm
        require_loadable(algorithm, dialect)
        spec = specification_of(algorithm, dialect)
        placements = [bool(algorithm.inplace)]
        if "outofplace" in dialect.needs:
            placements = [True] * bool(algorithm.inplace) + [False] * bool(algorithm.outofplace)
        if True in placements and spec is not None and spec.collective in _NEVER_IN_PLACE:
            raise VerificationError(
                f"line {algorithm.line}: in place, the ranks would not all choose this file for "
                f"{algorithm.coll}: only the root has both buffers"
            )
        if self.instance is not None and spec is None:
            raise UncheckedError(
                f"line {algorithm.line}: coll {algorithm.coll} does not define the places of "
                f"chunks, so it cannot be compared with {self.instance.collective}"
            )
        pieces = _chunks_per_message(algorithm, dialect)
        added = ""
        for in_place in placements:
            run, found, words = self.execute(dialect, spec, in_place, pieces, len(placements) > 1)
            added = min(added or words, words)  # "not" comes first
        if self.instance is not None and found is not None:
            found.require_same(self.instance, any_cut=True)
        facts = _facts(algorithm, run, found, pieces)
        end, connected = open_end(algorithm, dialect)
        if end is not None and not connected:
            raise UncheckedError(
                f"{end}; {dialect.title} waits for the other end, unless its rings and trees have "
                "connected the two ranks before, which depends on the machine"
            )
        if end is not None:
            facts["open end"] = f"{end}; rings and trees of the runtime connect the ranks before"
        return CheckedExport(
            f"MSCCL XML ({dialect.name})",
            dialect.collectives[algorithm.coll],
            algorithm.ngpus,
            placements[0] if len(placements) == 1 else None,
            facts,
            found is not None,
            links=frozenset(
                (gpu.id, block.send)
                for gpu in algorithm.gpus
                for block in gpu.blocks
                if any(step.type in SENDS for step in block.steps)
            ),
            added=added,
        )

    def execute(
        self,
        dialect: Runtime,
        spec: Specification | None,
        in_place: bool,
        pieces: int,
        name_placement: bool,
    ) -> tuple[Schedule, OwnSpecification | None, str]:
        key = spec, in_place, pieces, self.algorithm.proto in dialect.open_sends
        if key not in self.results:
            try:
                self.results[key] = self._execute(*key)
            except VerificationError as error:
                self.results[key] = error
        result = self.results[key]
        if isinstance(result, VerificationError):
            placement = ("out of place: ", "in place: ")[in_place] if name_placement else ""
            raise type(result)(f"{placement}{result}")
        return result

    def _execute(
        self, spec: Specification | None, in_place: bool, pieces: int, open_sends: bool
    ) -> tuple[Schedule, OwnSpecification | None, str]:
        steps = (s for gpu in self.algorithm.gpus for block in gpu.blocks for s in block.steps)
        chunks = sum(step.cnt for step in steps)
        if chunks > _MOST_INSTRUCTIONS:
            raise UncheckedError(
                f"the steps move {chunks:,} chunks; expected at most {_MOST_INSTRUCTIONS:,}: the "
                "checker executes each"
            )
        program, *where = threads_of(self.algorithm, spec, in_place, open_sends=open_sends)
        return execute(program, spec, where[0], where[1], pieces)


_NEVER_IN_PLACE = ("gather", "scatter")


def _chunks_per_message(algorithm: XmlAlgorithm, dialect: Runtime) -> int:
    """The chunks in a message at the largest size for which the file is chosen."""
    most = 1 << 27 if algorithm.max_bytes is None else algorithm.max_bytes
    if most == 0:
        return 1
    chunk = -(-most // algorithm.nchunksperloop)
    longest = max(
        (s.cnt for gpu in algorithm.gpus for block in gpu.blocks for s in block.steps), default=1
    )
    room = dialect.chunks_per_message(algorithm.proto, dialect.collectives[algorithm.coll], chunk)
    return max(1, min(longest, room))


def _facts(
    algorithm: XmlAlgorithm, run: Schedule, found: OwnSpecification | None, pieces: int
) -> dict[str, int | str]:
    blocks = [block for gpu in algorithm.gpus for block in gpu.blocks]
    steps = [step for block in blocks for step in block.steps]
    facts: dict[str, Any] = {
        "protocol": algorithm.proto,
        "channels": algorithm.nchannels,
        "thread blocks": len(blocks),
        "steps": len(steps),
        "chunks": algorithm.nchunksperloop,
        "chunks moved": len(run),
        "chunks per message": pieces,
    }
    if found is None:
        facts["result"] = f"not checked: {algorithm.coll} does not define a result"
    elif found.root is not None:
        facts["root"] = found.root
    return facts


def disagreements(algorithm: XmlAlgorithm) -> tuple[int, VerificationError | None]:
    """The number of messages whose ends differ, and an error about the first of them.

    No runtime compares the source and the destination that the two ends of a message state; each
    rank reads its own part of a file, and of that only the slots that a step uses.  But msccl-tools
    writes the same on both ends, and other verifiers refuse a file in which they differ.  They also
    refuse an ``rcs``, which stores a chunk and sends it on from there, if its source is not its
    destination.

    All messages of the file are received in the order of their sends.
    """
    sends: defaultdict[tuple[int, int, int], list[tuple[str, XmlStep]]] = defaultdict(list)
    receives: defaultdict[tuple[int, int, int], list[tuple[str, XmlStep]]] = defaultdict(list)
    first: VerificationError | None = None
    for gpu in algorithm.gpus:
        for block in gpu.blocks:
            for position, step in enumerate(block.steps):
                here = place(gpu.id, block, position)
                if step.type in SENDS:
                    sends[gpu.id, block.send, block.chan].append((here, step))
                if step.type in RECEIVES:
                    receives[block.recv, gpu.id, block.chan].append((here, step))
                if step.type == "rcs" and _pair(step)[:2] != _pair(step)[2:] and first is None:
                    first = VerificationError(
                        f"{here}: it sends the chunk stored in {step.dstbuf}[{step.dstoff}], "
                        f"but states {step.srcbuf}[{step.srcoff}] as its source"
                    )
    number = int(first is not None)
    for connection, sent in sends.items():
        for (there, one), (here, other) in zip(sent, receives[connection], strict=False):
            if _pair(one) == _pair(other):
                continue
            number += 1
            first = first or VerificationError(
                f"{here}: it receives a message {_words(other)}, and {there} sends it {_words(one)}"
            )
    return number, first


def _pair(step: XmlStep) -> tuple[str, int, str, int]:
    return step.srcbuf, step.srcoff, step.dstbuf, step.dstoff


def _words(step: XmlStep) -> str:
    return f"from {step.srcbuf}[{step.srcoff}] to {step.dstbuf}[{step.dstoff}]"
