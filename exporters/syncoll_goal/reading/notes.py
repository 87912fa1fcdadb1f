"""Comments that begin with ``//@``: the purpose of a schedule, and the inputs of operations."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from syncoll.errors import VerificationError
from syncoll_messages import Expected

__all__ = ["Notes"]

_HEAD = re.compile(r"collective ([a-z]+) chunks ([0-9]{1,9}) combining (yes|no)")
_RUN = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9}))?")
_READ = re.compile(r"chunk ([0-9]{1,9})|([a-zA-Z][a-zA-Z0-9_]*)")


@dataclass
class Notes:
    """The notes read so far.

    Args:
        collective: the name of the schedule's collective; empty if not stated.
        combining: whether a chunk that starts at several ranks is to be reduced.
        starts: of each rank, the chunks that it has at the start.
        ends: of each rank, the chunks that it must have at the end.
        reads: the inputs of the next operation, word by word; None if not stated.
    """

    where: str
    collective: str = ""
    chunks: int = 0
    combining: bool = False
    starts: dict[int, frozenset[int]] = field(default_factory=dict)
    ends: dict[int, frozenset[int]] = field(default_factory=dict)
    reads: str | None = None

    def take(self, text: str, rank: int | None, line: int) -> None:
        """Takes a note.

        Args:
            rank: in whose lines it stands; None outside.

        Raises:
            VerificationError: if it is unknown, or out of place.
        """
        word, _, rest = text.strip().partition(" ")
        place = f"{self.where}, line {line}"
        if word == "collective" and rank is None and not self.starts and not self.collective:
            head = _HEAD.fullmatch(text.strip())
            if head is None or int(head[2]) < 1:
                raise VerificationError(
                    f"{place}: expected //@ collective NAME chunks NUMBER combining yes|no"
                )
            self.collective, self.chunks = head[1], int(head[2])
            self.combining = head[3] == "yes"
            return
        if not self.collective:
            raise VerificationError(
                f"{place}: a note without //@ collective before it; expected that above num_ranks"
            )
        if rank is None or word not in ("starts", "ends", "reads"):
            raise VerificationError(
                f"{place}: no note is expected here that begins with {word[:40]!r}; in the lines "
                "of a rank there are //@ starts, //@ ends and //@ reads"
            )
        if word == "reads":
            if self.reads is not None:
                raise VerificationError(f"{place}: two notes say what one operation reads")
            self.reads = rest
            return
        table = self.starts if word == "starts" else self.ends
        if rank in table:
            raise VerificationError(f"{place}: rank {rank} has two notes {word}")
        table[rank] = self._numbers(rest, place)

    def _numbers(self, text: str, place: str) -> frozenset[int]:
        found: set[int] = set()
        for part in text.split():
            run = _RUN.fullmatch(part)
            first, last = (int(run[1]), int(run[2] or run[1])) if run else (0, -1)
            if not first <= last < self.chunks:
                raise VerificationError(
                    f"{place}: {part[:40]!r} is no chunk, nor a run of them; expected numbers "
                    f"below {self.chunks}, or FIRST-LAST"
                )
            if not found.isdisjoint(range(first, last + 1)):
                raise VerificationError(f"{place}: a chunk is named twice")
            found.update(range(first, last + 1))
        return frozenset(found)

    def read(
        self, labels: Mapping[str, int], place: str
    ) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The inputs of the next operation: operations of its rank, and chunks of its own.

        Args:
            labels: the operations of the rank so far, by label.
            place: of the operation, for errors.

        Raises:
            VerificationError: on an unknown label or chunk, or one that is named twice.
        """
        text, self.reads = self.reads or "", None
        nodes, chunks, at = list[int](), list[int](), 0
        while at < len(text):
            match = _READ.match(text, at)
            if match is None or text[match.end() : match.end() + 1] not in ("", " "):
                raise VerificationError(
                    f"{place}: it reads {text[:40]!r}; expected labels and `chunk NUMBER`"
                )
            at = match.end() + 1
            if match[1] is not None:
                chunks.append(int(match[1]))
            elif match[2] in labels:
                nodes.append(labels[match[2]])
            else:
                raise VerificationError(
                    f"{place}: it reads {match[2]}, which is no label above it in its rank"
                )
        if len(set(nodes)) < len(nodes) or len(set(chunks)) < len(chunks):
            raise VerificationError(f"{place}: it reads something twice")
        return tuple(nodes), tuple(chunks)

    def expected(self, num_ranks: int) -> Expected | None:
        """The demands of the schedule; None if not stated.

        Raises:
            VerificationError: if they are stated for some ranks only.
        """
        if not self.collective:
            return None
        for word, table in (("starts", self.starts), ("ends", self.ends)):
            for rank in range(num_ranks):
                if rank not in table:
                    raise VerificationError(f"{self.where}: rank {rank} has no note //@ {word}")
        starts, ends = (
            tuple(table[rank] for rank in range(num_ranks)) for table in (self.starts, self.ends)
        )
        return Expected(self.combining, self.chunks, starts, ends)
