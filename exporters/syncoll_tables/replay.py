"""The replay of a table of messages and sums; the part after the imports is in exported modules."""

from collections.abc import Sequence

Rows = Sequence[tuple[int, ...]]


def digest(*tables: Rows) -> int:
    """The FNV-1a hash of the numbers of tables."""
    found = 2166136261
    for table in tables:
        for row in table:
            for number in row:
                found = ((found ^ (number & 0xFFFFFFFF)) * 16777619) & 0xFFFFFFFF
    return found


def replay(
    nodes: int, combining: bool, places: Rows, messages: Rows, sums: Rows, one: int = 1
) -> Rows:
    """Plays the tables of all ranks with sets of contributions in place of data.

    Returns the chunk, the rank and the contributions of each output, where `one` is the
    contribution of rank 0.  Raises ValueError with the step, the chunk and the rank of the first
    error.
    """
    chunks: list[list[int]] = [[] for _ in range(nodes)]
    holds: list[list[int]] = [[] for _ in range(nodes)]
    held: list[list[int]] = [[] for _ in range(nodes)]  # of each slot the ranks, as bits
    full: dict[int, int] = {}
    for rank, kind, first, count in places:
        if not 0 <= rank < nodes:
            raise ValueError(f"wrong table: a place at rank {rank} of {nodes}")
        for chunk in range(first, first + count):
            own = (one << rank if combining else 1) if kind in (0, 2) else 0
            chunks[rank].append(chunk)
            holds[rank].append(kind)
            held[rank].append(own)
            full[chunk] = full.get(chunk, 0) | own

    def at(step: int, chunk: int, rank: int, words: str) -> ValueError:
        return ValueError(f"wrong table: step {step}, chunk {chunk}, rank {rank}: {words}")

    def slots(step: int, rank: int, first: int, count: int) -> range:
        if not (0 <= rank < nodes and count > 0 and 0 <= first <= len(held[rank]) - count):
            raise at(step, -1, rank, f"there are no slots {first} to {first + count - 1}")
        return range(first, first + count)

    def read(step: int, rank: int, slot: int, chunk: int, words: str) -> int:
        if chunks[rank][slot] != chunk:
            raise at(step, chunk, rank, f"{words} chunk {chunks[rank][slot]} instead")
        if not held[rank][slot]:
            raise at(step, chunk, rank, f"{words} a chunk that has not arrived")
        return held[rank][slot]

    def write(step: int, rank: int, slot: int, value: int) -> None:
        if holds[rank][slot] == 0:
            raise at(step, chunks[rank][slot], rank, "the input is overwritten")
        held[rank][slot] = value

    def contributors(mask: int) -> str:
        return ", ".join(str(rank) for rank in range(nodes) if mask >> rank & 1)

    steps: dict[int, tuple[list[tuple[int, ...]], list[tuple[int, ...]]]] = {}
    for sort, rows in enumerate((messages, sums)):
        for row in rows:
            steps.setdefault(row[0], ([], []))[sort].append(row)
    for step in sorted(steps):
        sent: set[tuple[int, int]] = set()
        arriving: dict[tuple[int, int], int] = {}
        for _, source, target, _, first, to, count in steps[step][0]:
            stored = slots(step, target, to, count)
            for a, b in zip(slots(step, source, first, count), stored, strict=True):
                chunk = chunks[target][b]
                if (target, b) in arriving:
                    raise at(step, chunk, target, "two messages arrive in one slot")
                arriving[target, b] = read(step, source, a, chunk, f"rank {target} is sent")
                sent.add((source, a))
        for (rank, slot), value in arriving.items():
            if (rank, slot) in sent:
                raise at(step, chunks[rank][slot], rank, "it is overwritten while it is sent")
            write(step, rank, slot, value)
        for _, rank, to, left, right, count in steps[step][1]:
            stored = slots(step, rank, to, count)
            both = (left, right) if right != -1 else (left,)
            parts = [slots(step, rank, part, count) for part in both]
            for i, b in enumerate(stored):
                chunk, value = chunks[rank][b], 0
                if any(0 < abs(part[0] - to) < count for part in parts):
                    raise at(step, chunk, rank, "a sum overlaps its parts")
                for part in parts:
                    more = read(step, rank, part[i], chunk, "a sum has")
                    if value & more:
                        raise at(step, chunk, rank, f"rank {contributors(value & more)} twice")
                    value |= more
                write(step, rank, b, value)
    found = []
    for rank in range(nodes):
        for chunk, kind, value in zip(chunks[rank], holds[rank], held[rank], strict=True):
            if kind in (1, 2) and value != full[chunk]:
                missing = contributors(full[chunk] & ~value) if combining else "its source"
                raise at(
                    max(steps, default=0),
                    chunk,
                    rank,
                    f"the contribution of rank {missing} is missing",
                )
            if kind in (1, 2):
                found.append((chunk, rank, value))
    return found
