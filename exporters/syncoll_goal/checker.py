"""Checks GOAL schedules: reads them, plays all ranks together, and follows the data.

The text is read as strictly as ``src/LogGOPSim/txt2bin.re`` of spcl/LogGOPSim does.  Labels are
local to a rank, and stand above the dependencies that name them.  The simulator matches messages by
source and tag.  docs/goal.md has the comments that begin with ``//@``.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from syncoll.errors import UncheckedError, VerificationError
from syncoll.model import Instance
from syncoll.plugins import CheckedExport, Options
from syncoll_messages import Expected, MessageNode, NodeKind, RankGraph, checked, require_stated


class GoalChecker:
    """Reads schedules as txt2bin does, and plays them."""

    def check(
        self, files: Mapping[str, bytes], options: Options, instance: Instance | None = None
    ) -> CheckedExport:
        """See `syncoll.plugins.ExportChecker`; of a schedule without a stated purpose, only the end
        of all ranks and the receipt of all messages are checked."""
        ((where, content),) = files.items()
        graphs, notes = read_schedule(content, where)
        expected = notes.expected(len(graphs))
        if expected is not None:
            require_stated(expected, notes.collective, where)
        # LogGOPSim uses rendezvous for messages above a size that its user sets.
        return checked("GOAL", graphs, expected, instance, rendezvous=True)


_MOST_BYTES = (1 << 63) - 1
_HEAD = re.compile(r"collective ([a-z]+) chunks ([0-9]{1,9}) combining (yes|no)")
_RUN = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9}))?")
_READ = re.compile(r"chunk ([0-9]{1,9}(?:-[0-9]{1,9})?)|([a-zA-Z][a-zA-Z0-9_]*)")


@dataclass
class Notes:
    """The notes read so far: of the collective, and of the next operation."""

    where: str
    collective: str = ""
    chunks: int = 0
    combining: bool = False
    starts: dict[int, frozenset[int]] = field(default_factory=dict)
    ends: dict[int, frozenset[int]] = field(default_factory=dict)
    reads: str | None = None
    moves: tuple[int, ...] | None = None
    sizes: tuple[int, ...] | None = None

    def take(self, text: str, rank: int | None, line: int) -> None:
        """Takes a note, in a rank's lines or (None) outside; VerificationError if out of place."""
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
        if word == "sizes" and rank is None and not self.starts and self.sizes is None:
            self.sizes = self._sizes(rest.split(), place)
            return
        if rank is None or word not in ("starts", "ends", "reads", "chunks"):
            raise VerificationError(
                f"{place}: unexpected note {word[:40]!r}; in the lines "
                "of a rank there are //@ starts, //@ ends, //@ chunks and //@ reads"
            )
        if word in ("reads", "chunks"):
            if (self.reads if word == "reads" else self.moves) is not None:
                raise VerificationError(f"{place}: two notes //@ {word} for one operation")
            if word == "reads":
                self.reads = rest
            else:
                self.moves = tuple(self._numbers(rest, place))
            return
        table = self.starts if word == "starts" else self.ends
        if rank in table:
            raise VerificationError(f"{place}: rank {rank} has two notes {word}")
        table[rank] = frozenset(self._numbers(rest, place))

    def _sizes(self, words: list[str], place: str) -> tuple[int, ...]:
        found: dict[int, int] = {}
        for chunks, size in zip(words[::2], words[1::2], strict=False):
            if not size.isdecimal() or len(size) > 19 or not 0 < int(size) <= _MOST_BYTES:
                raise VerificationError(f"{place}: {size[:40]!r} is no size of a chunk, in bytes")
            found.update(dict.fromkeys(self._numbers(chunks, place), int(size)))
        if len(words) % 2 or sorted(found) != list(range(self.chunks)):
            raise VerificationError(f"{place}: expected a size for each of {self.chunks} chunks")
        return tuple(found[chunk] for chunk in range(self.chunks))

    def _numbers(self, text: str, place: str) -> dict[int, None]:
        found: dict[int, None] = {}
        for part in text.split():
            run = _RUN.fullmatch(part)
            first, last = (int(run[1]), int(run[2] or run[1])) if run else (0, -1)
            if not first <= last < self.chunks:
                raise VerificationError(
                    f"{place}: {part[:40]!r} is neither a chunk nor a range; expected numbers "
                    f"below {self.chunks}, or FIRST-LAST"
                )
            if not found.keys().isdisjoint(range(first, last + 1)):
                raise VerificationError(f"{place}: a chunk is named twice")
            found.update(dict.fromkeys(range(first, last + 1)))
        return found

    def read(
        self, labels: Mapping[str, int], place: str
    ) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...] | None]:
        """The inputs of the next operation: operations of its rank by their labels, and own chunks;
        and its chunks, None if not stated.

        Raises VerificationError at `place` on an unknown label or chunk, or one named twice.
        """
        text, self.reads = self.reads or "", None
        moves, self.moves = self.moves, None
        nodes, chunks, at = list[int](), list[int](), 0
        while at < len(text):
            match = _READ.match(text, at)
            if match is None or text[match.end() : match.end() + 1] not in ("", " "):
                raise VerificationError(
                    f"{place}: it reads {text[:40]!r}; expected labels, `chunk NUMBER` and "
                    "`chunk FIRST-LAST`"
                )
            at = match.end() + 1
            if match[1] is not None:
                chunks += self._numbers(match[1], place)
            elif match[2] in labels:
                nodes.append(labels[match[2]])
            else:
                raise VerificationError(
                    f"{place}: it reads {match[2]}, which is no label above it in its rank"
                )
        if len(set(nodes)) < len(nodes) or len(set(chunks)) < len(chunks):
            raise VerificationError(f"{place}: it reads one input twice")
        return tuple(nodes), tuple(chunks), moves

    def expected(self, num_ranks: int) -> Expected | None:
        """The demands, None if not stated; VerificationError if only some ranks have any."""
        if not self.collective:
            return None
        for word, table in (("starts", self.starts), ("ends", self.ends)):
            for rank in range(num_ranks):
                if rank not in table:
                    raise VerificationError(f"{self.where}: rank {rank} has no note //@ {word}")
        starts, ends = (
            tuple(table[rank] for rank in range(num_ranks)) for table in (self.starts, self.ends)
        )
        return Expected(self.combining, self.chunks, starts, ends, self.sizes)


_ITEM = re.compile(
    r"""[ \t]*(?:
    (?P<nl>\r?\n)
  | //(?P<comment>[^\n]*)\n
  | /\*(?P<block>.*?)\*/
  | num_ranks[ \t]*(?P<num_ranks>[0-9]+)
  | rank[ \t]*(?P<rank>[0-9]+)[ \t]*\{
  | (?P<end>\})
  | (?:(?P<label>[a-zA-Z][a-zA-Z0-9_]*)[ \t]*:[ \t]*)?
    (?: (?P<verb>send|recv)[ \t]*(?P<size>[0-9]+)[ \t]*b[ \t]*(?P<way>to|from)[ \t]*
        (?P<peer>-1|[0-9]+)[ \t]*(?:tag[ \t]*(?P<tag>-1|[0-9]+)[ \t]*)?
        (?:cpu[ \t]*(?P<cpu>[0-9]+)[ \t]*)?(?:nic[ \t]*(?P<nic>[0-9]+)[ \t]*)?\r?\n
      | calc[ \t]*(?P<time>[0-9]+)[ \t]*(?:cpu[ \t]*(?P<core>[0-9]+)[ \t]*)?\r?\n )
  | (?P<later>[a-zA-Z][a-zA-Z0-9_]*)[ \t]+(?P<how>i?requires)[ \t]+
    (?P<earlier>[a-zA-Z][a-zA-Z0-9_]*)[ \t]*\r?\n
    )""",
    re.VERBOSE | re.DOTALL,
)
_KEYWORDS = {"send", "recv", "calc", "rank", "num_ranks"}
_ANY = "-1"
_MOST_RANKS = 1 << 24
_LARGEST = {"size": (1 << 63) - 1, "time": (1 << 63) - 1, "tag": (1 << 32) - 2}
_LARGEST |= dict.fromkeys(("cpu", "core", "nic"), 255)


def read_schedule(content: bytes, where: str) -> tuple[list[RankGraph], Notes]:
    """The ranks of a schedule in order, and the notes of its comments.

    Raises VerificationError naming the line if txt2bin could not read it, or LogGOPSim would play
    something else; UncheckedError if the message of a receive depends on timing.
    """
    try:
        text = content.decode("ascii")
    except UnicodeDecodeError as error:
        raise VerificationError(f"{where}: byte {error.start} is not ASCII") from None
    return _Reader(where).read(text if text.endswith("\n") else f"{text}\n")


class _Reader:
    """The part of a schedule read so far."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.line = 1
        self.num_ranks = 0
        self.graphs: list[RankGraph] = []
        self.inside = False
        self.nodes: list[MessageNode] = []
        self.waits: dict[int, dict[int, None]] = {}
        self.starts_after: dict[int, dict[int, None]] = {}
        self.labels: dict[str, int] = {}
        self.notes = Notes(where)

    def read(self, text: str) -> tuple[list[RankGraph], Notes]:
        at = 0
        while at < len(text):
            item = _ITEM.match(text, at)
            if item is None:
                if not text[at:].strip(" \t"):
                    break
                shown = text[at:].lstrip(" \t").partition("\n")[0][:60]
                raise self.wrong(
                    f"txt2bin does not know {shown!r}; expected num_ranks, rank, an "
                    "operation, a dependency or }"
                )
            self.take(item)
            self.line += text.count("\n", at, item.end())
            at = item.end()
        if self.inside:
            raise self.wrong(f"the file ends within rank {len(self.graphs)}; expected }}")
        if not self.num_ranks:
            raise VerificationError(f"{self.where}: num_ranks is missing")
        if len(self.graphs) < self.num_ranks:
            raise VerificationError(
                f"{self.where}: there are {len(self.graphs)} ranks; num_ranks is {self.num_ranks}"
            )
        return self.graphs, self.notes

    def wrong(self, message: str) -> VerificationError:
        return VerificationError(f"{self.where}, line {self.line}: {message}")

    def take(self, item: re.Match[str]) -> None:
        if (comment := item["comment"]) is not None:
            if comment.startswith("@"):
                rank = len(self.graphs) if self.inside else None
                self.notes.take(comment[1:].rstrip("\r"), rank, self.line)
        elif item["num_ranks"]:
            if self.num_ranks or self.inside:
                raise self.wrong("num_ranks occurs twice, or within a rank")
            self.num_ranks = self.number(item, "num_ranks", _MOST_RANKS)
            if not self.num_ranks:
                raise self.wrong("num_ranks is 0")
        elif item["rank"]:
            self.begin(item)
        elif item["end"]:
            self.end()
        elif item["verb"] or item["time"]:
            self.operation(item)
        elif item["later"]:
            self.dependency(item)

    def number(self, item: re.Match[str], name: str, most: int) -> int:
        digits = item[name]
        if len(digits) > 20 or int(digits) > most:
            shown = "cpu" if name == "core" else name
            raise self.wrong(f"{shown} is {digits[:30]}; expected at most {most}")
        return int(digits)

    def begin(self, item: re.Match[str]) -> None:
        expected = len(self.graphs)
        if self.inside:
            raise self.wrong(f"rank {expected} has not ended; expected }}")
        if not self.num_ranks:
            raise self.wrong("a rank before num_ranks")
        if expected == self.num_ranks:
            raise self.wrong(f"more ranks than num_ranks = {self.num_ranks}")
        if self.number(item, "rank", _MOST_RANKS) != expected:
            raise self.wrong(f"it is rank {item['rank']}; expected rank {expected}, in order")
        self.inside = True
        self.nodes, self.labels, self.waits, self.starts_after = [], {}, {}, {}

    def end(self) -> None:
        if not self.inside:
            raise self.wrong("} outside of a rank")
        if self.notes.reads is not None or self.notes.moves is not None:
            word = "chunks" if self.notes.reads is None else "reads"
            raise self.wrong(f"a note //@ {word} without an operation after it")
        nodes = {}
        for i, node in enumerate(self.nodes):
            waits = tuple(self.waits.get(i, ()))
            after = tuple(self.starts_after.get(i, ()))
            nodes[i] = replace(node, waits=waits, data_waits=waits, starts_after=after)
        self.graphs.append(RankGraph(len(self.graphs), self.where, nodes))
        self.inside = False

    def operation(self, item: re.Match[str]) -> None:
        if not self.inside:
            raise self.wrong("an operation outside of a rank")
        label = item["label"]
        if label in _KEYWORDS:
            raise self.wrong(f"{label} is a word of the format and cannot be a label")
        if label in self.labels:
            raise self.wrong(f"two operations are called {label}; only the first would count")
        place = f"{self.where}, line {self.line}"
        reads, inputs, moves = self.notes.read(self.labels, place)
        kind, peer, tag, size = NodeKind.COMPUTE, -1, -1, 0
        for name in ("cpu", "nic", "core", "time"):
            if item[name] is not None:
                self.number(item, name, _LARGEST[name])
        if item["verb"]:
            kind = NodeKind.SEND if item["verb"] == "send" else NodeKind.RECEIVE
            peer, tag, size = self.message(item)
        name = f"{label}, line {self.line}" if label else f"line {self.line}"
        if label:
            self.labels[label] = len(self.nodes)
        number = len(self.nodes)
        self.nodes.append(
            MessageNode(number, name, kind, (), (), peer, tag, size, reads, inputs, chunks=moves)
        )

    def message(self, item: re.Match[str]) -> tuple[int, int, int]:
        """Peer, tag and size."""
        sends = item["verb"] == "send"
        if (item["way"] == "to") != sends:
            raise self.wrong(f"{item['verb']} must name its peer by {'to' if sends else 'from'}")
        if _ANY in (item["peer"], item["tag"]):
            if sends:
                raise self.wrong("a send has a destination and a tag; -1 is for receives")
            raise UncheckedError(
                f"{self.where}, line {self.line}: the receive takes messages of any source or tag, "
                "so its message depends on timing"
            )
        peer = self.number(item, "peer", self.num_ranks - 1)
        size = self.number(item, "size", _LARGEST["size"])
        if not size:
            raise self.wrong("a message of 0 bytes; LogGOPSim subtracts 1 and waits forever")
        return peer, self.number(item, "tag", _LARGEST["tag"]) if item["tag"] else 0, size

    def dependency(self, item: re.Match[str]) -> None:
        if not self.inside:
            raise self.wrong("a dependency outside of a rank")
        for name in ("later", "earlier"):
            if item[name] not in self.labels:
                raise self.wrong(f"no operation above it in its rank is called {item[name]}")
        later, earlier = self.labels[item["later"]], self.labels[item["earlier"]]
        if later == earlier:
            raise self.wrong(f"{item['later']} waits for itself")
        table = self.waits if item["how"] == "requires" else self.starts_after
        table.setdefault(later, {})[earlier] = None
