"""Small algorithms as MSCCL XML, written here and not by the exporter."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest


@dataclass
class Tb:
    """A thread block during writing."""

    send: int = -1
    recv: int = -1
    chan: int = 0
    steps: list[str] = field(default_factory=list)

    def add(
        self,
        kind: str,
        src: str = "i0",
        dst: str = "o0",
        cnt: int = 1,
        dep: tuple[int, int] = (-1, -1),
        flag: int = 0,
    ) -> int:
        """Appends a step; buffers are given as ``o3``.  Returns its position."""
        position = len(self.steps)
        self.steps.append(
            f'<step s="{position}" type="{kind}" srcbuf="{src[0]}" srcoff="{src[1:]}" '
            f'dstbuf="{dst[0]}" dstoff="{dst[1:]}" cnt="{cnt}" depid="{dep[0]}" deps="{dep[1]}" '
            f'hasdep="{flag}"/>'
        )
        return position


def write(
    coll: str,
    chunks: int,
    sizes: tuple[int, int, int],
    ranks: list[list[Tb]],
    *,
    inplace: int = 0,
    proto: str = "Simple",
    outofplace: int | None = None,
) -> str:
    """The file of an algorithm."""
    channels = 1 + max(tb.chan for tbs in ranks for tb in tbs)
    out = 1 - inplace if outofplace is None else outofplace
    lines = [
        f'<algo name="x" proto="{proto}" nchannels="{channels}" nchunksperloop="{chunks}" '
        f'ngpus="{len(ranks)}" coll="{coll}" inplace="{inplace}" outofplace="{out}" '
        'minBytes="0" maxBytes="134217728">'
    ]
    for r, tbs in enumerate(ranks):
        lines.append(
            f'  <gpu id="{r}" i_chunks="{sizes[0]}" o_chunks="{sizes[1]}" s_chunks="{sizes[2]}">'
        )
        for t, tb in enumerate(tbs):
            lines.append(f'    <tb id="{t}" send="{tb.send}" recv="{tb.recv}" chan="{tb.chan}">')
            lines += [f"      {step}" for step in tb.steps]
            lines.append("    </tb>")
        lines.append("  </gpu>")
    lines.append("</algo>")
    return "\n".join(lines) + "\n"


def ring_allgather(ranks: int = 4, k: int = 1, proto: str = "Simple") -> str:
    """One thread block a rank, with fused steps."""
    gpus = []
    for r in range(ranks):
        tb = Tb((r + 1) % ranks, (r - 1) % ranks)
        tb.add("cpy", "i0", f"o{r * k}", k)
        tb.add("s", "i0", f"o{r * k}", k)
        for step in range(1, ranks):
            slot = f"o{(r - step) % ranks * k}"
            tb.add("rcs" if step < ranks - 1 else "r", slot, slot, k)
        gpus.append([tb])
    return write("allgather", ranks * k, (k, ranks * k, 0), gpus, proto=proto)


def ring_allreduce(ranks: int = 4) -> str:
    """In place, with all fused steps."""
    gpus = []
    for r in range(ranks):
        tb = Tb((r + 1) % ranks, (r - 1) % ranks)
        tb.add("s", f"i{r}", f"i{r}")
        for step in range(1, ranks):
            slot = f"i{(r - step) % ranks}"
            tb.add("rrs" if step < ranks - 1 else "rrcs", slot, slot)
        for step in range(ranks - 1):
            slot = f"i{(r - step) % ranks}"
            tb.add("rcs" if step < ranks - 2 else "r", slot, slot)
        gpus.append([tb])
    return write("allreduce", ranks, (ranks, ranks, 0), gpus, inplace=1)


def split_allreduce(ranks: int = 4) -> str:
    """In place without fused steps: one block receives and reduces, another one sends."""
    gpus = []
    for r in range(ranks):
        receiver = Tb(-1, (r - 1) % ranks)
        sender = Tb((r + 1) % ranks, -1)
        sender.add("s", f"i{r}", f"i{r}")
        for step in range(1, ranks):
            slot, scratch = f"i{(r - step) % ranks}", f"s{step - 1}"
            receiver.add("r", scratch, scratch)
            done = receiver.add("re", scratch, slot, flag=1)
            sender.add("s", slot, slot, dep=(0, done))
        for step in range(ranks - 1):
            slot = f"i{(r - step) % ranks}"
            done = receiver.add("r", slot, slot, flag=int(step < ranks - 2))
            if step < ranks - 2:
                sender.add("s", slot, slot, dep=(0, done))
        gpus.append([receiver, sender])
    return write("allreduce", ranks, (ranks, ranks, ranks - 1), gpus, inplace=1)


def direct_alltoall(ranks: int = 3) -> str:
    """A thread block for every other rank, and one for the rank's own chunk."""
    gpus = []
    for r in range(ranks):
        tbs = []
        for d in range(1, ranks):
            to, source = (r + d) % ranks, (r - d) % ranks
            tb = Tb(to, source, d - 1)
            tb.add("s", f"i{to}", f"o{r}")
            tb.add("r", f"i{r}", f"o{source}")
            tbs.append(tb)
        local = Tb()
        local.add("cpy", f"i{r}", f"o{r}")
        gpus.append([*tbs, local])
    return write("alltoall", ranks, (ranks, ranks, 0), gpus)


def nop_reducescatter(coll: str = "reducescatter") -> str:
    """Three ranks; both messages go to scratch and are added together, after a nop."""
    gpus = []
    for r in range(3):
        tbs = []
        for d in (1, 2):
            to = (r + d) % 3
            tb = Tb(to, (r - d) % 3, d - 1)
            tb.add("s", f"i{to}", f"s{d - 1}")
            tb.add("r", "i0", f"s{d - 1}", flag=1)
            tbs.append(tb)
        local = Tb()
        local.add("cpy", f"i{r}", "o0")
        local.add("nop", "i0", "o0", dep=(0, 1))
        local.add("re", "s0", "o0", dep=(1, 1))
        local.add("re", "s1", "o0")
        gpus.append([*tbs, local])
    return write(coll, 3, (3, 1, 2), gpus)


def chain_broadcast(ranks: int = 3, root: int = 1) -> str:
    """Out of place, two chunks at a time from the root along the ranks."""
    gpus: list[list[Tb]] = []
    for r in range(ranks):
        away = (r - root) % ranks
        last = away == ranks - 1
        tb = Tb(-1 if last else (r + 1) % ranks, -1 if away == 0 else (r - 1) % ranks)
        if away == 0:
            tb.add("s", "i0", "o0", 2)
            tb.add("cpy", "i0", "o0", 2)
        else:
            tb.add("r" if last else "rcs", "o0", "o0", 2)
        gpus.append([tb])
    return write("broadcast", 2, (2, 2, 0), gpus)


def star_reduce(ranks: int = 3, root: int = 2) -> str:
    """Out of place: all ranks send to the root, which adds."""
    gpus: list[list[Tb]] = [[] for _ in range(ranks)]
    before: tuple[int, int] = (-1, -1)
    first = Tb()
    first.add("cpy", "i0", "o0", flag=1)
    gpus[root].append(first)
    before = (0, 0)
    for r in range(ranks):
        if r == root:
            continue
        sender = Tb(root)
        sender.add("s", "i0", "o0")
        gpus[r].append(sender)
        receiver = Tb(-1, r)
        receiver.add("rrc", "o0", "o0", dep=before, flag=1)
        before = (len(gpus[root]), 0)
        gpus[root].append(receiver)
    return write("reduce", 1, (1, 1, 0), gpus)


ALGORITHMS: dict[str, Callable[..., str]] = {
    "ring_allgather": ring_allgather,
    "ring_allreduce": ring_allreduce,
    "split_allreduce": split_allreduce,
    "direct_alltoall": direct_alltoall,
    "nop_reducescatter": nop_reducescatter,
    "chain_broadcast": chain_broadcast,
    "star_reduce": star_reduce,
}


@pytest.fixture(scope="session")
def algorithms() -> dict[str, Callable[..., str]]:
    """Functions that write a small file each, by name."""
    return ALGORITHMS
