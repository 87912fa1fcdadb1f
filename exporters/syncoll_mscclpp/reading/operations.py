"""The operations, and the buffers and channels that each needs.

The loader does not check operations; one of a wrong signature reads fields that were never set.
"""

from collections.abc import Callable
from dataclasses import dataclass

from syncoll_mscclpp.limits import MOST_BUFFERS, MOST_CHANNELS
from syncoll_mscclpp.reading.plan import PlanOperation, PlanReference

PACKETS = ("ppkt", "rppkt", "cpkt", "upkt", "repkt", "recpkt", "respkt", "recspkt", "gstorepkt")
"""Operations on data with a flag in every packet, as in protocol LL."""

MULTICAST = ("glres", "gstore")
"""Operations through a switch on plain data, to the memory of a group of ranks at once."""


@dataclass(frozen=True)
class Signature:
    """The needs of an operation.

    Args:
        sources: kinds of its sources: l local, r remote, s switch, L, R and S for packets in
            scratch; a ``*`` repeats the kind before it, at least once.
        targets: kinds of its targets, likewise.
        channel_types: the types to choose from; empty if it needs none or takes any.
        ids: whether it needs channels by number.
        paired: whether the n-th source is moved to the n-th target.
    """

    sources: str = ""
    targets: str = ""
    channel_types: tuple[str, ...] = ()
    ids: bool = False
    paired: bool = False


_BOTH = ("memory", "port")

SIGNATURES = {
    "nop": Signature(),
    "barrier": Signature(),
    "sem_acquire": Signature(),
    "sem_release": Signature(),
    "pipeline": Signature(),
    "signal": Signature(channel_types=_BOTH, ids=True),
    "wait": Signature(channel_types=_BOTH, ids=True),
    "rlxsignal": Signature(channel_types=_BOTH, ids=True),
    "rlxwait": Signature(channel_types=_BOTH, ids=True),
    "flush": Signature(channel_types=("port",), ids=True),
    "put": Signature("l*", "r*", _BOTH, paired=True),
    "pws": Signature("l*", "r*", ("port",), ids=True, paired=True),
    "get": Signature("r*", "l*", ("memory",), paired=True),
    "copy": Signature("l", "l"),
    "re": Signature("ll*", "l"),
    "rre": Signature("lr*", "l", ("memory",)),
    "res": Signature("ll*", "lr*", ("memory",)),
    "rres": Signature("lr*", "lr*", ("memory",)),
    "glres": Signature("s", "s", ("switch",)),
    "gstore": Signature("l", "s", ("switch",)),
    "ppkt": Signature("l*", "R*", _BOTH, paired=True),
    "rppkt": Signature("L", "R*", _BOTH),
    "gstorepkt": Signature("L", "S", ("switch",)),
    "cpkt": Signature("l", "L"),
    "upkt": Signature("L", "l"),
    "repkt": Signature("lL*", "l"),
    "respkt": Signature("lL*", "lR*", ("memory",)),
    "recpkt": Signature("lL*", "lL"),
    "recspkt": Signature("lL*", "lLR*", ("memory",)),
}
"""All operations that the checker follows, by name."""

_BY_PROXY = {"ppkt": Signature("L*", "R*", ("port",), paired=True)}
"""Operations that move other data over port channels: a proxy makes no packets."""


def _signature(op: PlanOperation) -> Signature:
    """The signature of an operation over its type of channel."""
    special = _BY_PROXY if op.channel_type == "port" else {}
    return special.get(op.name, SIGNATURES[op.name])


def in_packets(op: PlanOperation) -> list[bool]:
    """Which pieces of an operation of a right signature are packets."""
    signature, result = _signature(op), list[bool]()
    for pattern, given in ((signature.sources, op.sources), (signature.targets, op.targets)):
        kinds = pattern.removesuffix("*")
        result += [kinds[min(i, len(kinds) - 1)].isupper() for i in range(len(given))]
    return result


def wrong_signature(op: PlanOperation) -> str | None:
    """The error in the fields of an operation of a known name, or None."""
    signature = _signature(op)
    if signature.channel_types and op.channel_type not in signature.channel_types:
        return (
            f"channel_type is {op.channel_type!r}; expected {' or '.join(signature.channel_types)}"
        )
    by_port = op.channel_type == "port" and bool(op.targets)
    if (signature.ids or by_port) and not op.channels:
        return "channel_ids is missing"
    if len(op.channels) > MOST_CHANNELS:
        return f"{len(op.channels)} channels; an operation has at most {MOST_CHANNELS}"
    for key, pattern, given in (
        ("src_buff", signature.sources, op.sources),
        ("dst_buff", signature.targets, op.targets),
    ):
        if op.name == "flush":
            continue
        if len(given) > MOST_BUFFERS:
            return f"{len(given)} entries of {key}; an operation has at most {MOST_BUFFERS}"
        if (wrong := _mismatch(pattern, given)) is not None:
            return f"{key}: {wrong}"
    return _wrong_sizes(op, signature)


def _wrong_sizes(op: PlanOperation, signature: Signature) -> str | None:
    sizes = {one.size for one in op.pieces}
    if 0 in sizes:
        return "a piece of 0 chunks"
    if op.channel_type == "port" and op.targets and len(op.channels) != len(op.targets):
        return f"{len(op.channels)} channels for {len(op.targets)} targets; expected one each"
    if signature.paired:
        if len(op.sources) != len(op.targets):
            return f"{len(op.sources)} sources for {len(op.targets)} targets; expected one for each"
        for source, target in zip(op.sources, op.targets, strict=True):
            if source.size != target.size:
                return f"moves {source.size} chunks to a piece of {target.size} chunks"
            if op.name == "get" and source.index != target.index:
                return (
                    f"gets chunk {source.index} as chunk {target.index}; the runtime swaps the "
                    "offsets of both sides, so they must be the same"
                )
        if op.channel_type == "memory" and len({one.buffer for one in op.sources}) > 1:
            return (
                "its sources are in several buffers; the runtime takes all of them from the buffer "
                "of the first"
            )
    elif len(sizes) > 1:
        return f"its pieces have different sizes: {', '.join(map(str, sorted(sizes)))} chunks"
    if op.group.number >= op.group.size:
        return f"tbg_info: number {op.group.number} of a group of {op.group.size}"
    return None


_KINDS: dict[str, tuple[str, Callable[[PlanReference], bool]]] = {
    "l": ("a buffer of this rank ('type')", lambda one: one.buffer is not None),
    "r": ("a remote buffer ('buffer_id')", lambda one: one.remote is not None),
    "s": ("a switch channel ('switch_channel_id')", lambda one: one.switch is not None),
    "L": ("scratch of this rank ('type' s), which holds packets", lambda one: one.buffer == "s"),
}
_KINDS |= {"R": _KINDS["r"], "S": _KINDS["s"]}


def _mismatch(pattern: str, given: tuple[PlanReference, ...]) -> str | None:
    many = pattern.endswith("*")
    kinds = pattern.removesuffix("*")
    if len(given) < len(kinds) or (len(given) > len(kinds) and not many):
        expected = f"at least {len(kinds)}" if many else f"{len(kinds)}"
        return f"{len(given)} entries; expected {expected}"
    for i, one in enumerate(given):
        name, fits = _KINDS[kinds[min(i, len(kinds) - 1)]]
        if not fits(one):
            return f"entry {i} should be {name}"
    return None
