"""The content of an MSCCL XML file: ranks, thread blocks, steps, and numbers as runtimes read them.

A rank reads only its own part of the file, so only this rank sees an error there; here every rank's
part is read.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

from syncoll.errors import VerificationError
from syncoll_msccl_xml.reading.scanner import Tag, scan

_NUMBER = re.compile(r"[+-]?(0[xX][0-9a-fA-F]+|[0-9]+)")
_DEEPEST = 64
_INT32, _INT64 = 1 << 31, 1 << 63


@dataclass(frozen=True, slots=True)
class XmlStep:
    """A step; the fields are its attributes."""

    line: int
    s: int
    type: str
    srcbuf: str
    srcoff: int
    dstbuf: str
    dstoff: int
    cnt: int
    depid: int
    deps: int
    hasdep: int


@dataclass(frozen=True)
class XmlBlock:
    """A thread block: its peers (-1 for none), its channel and its steps in order."""

    line: int
    id: int
    send: int
    recv: int
    chan: int
    steps: list[XmlStep]


@dataclass(frozen=True)
class XmlGpu:
    """A rank: the chunks of its buffers and its thread blocks, by number."""

    line: int
    id: int
    i_chunks: int
    o_chunks: int
    s_chunks: int
    blocks: list[XmlBlock] = field(default_factory=list)


@dataclass(frozen=True)
class XmlAlgorithm:
    """A file; None stands for missing attributes that only some runtimes need."""

    line: int
    name: str | None
    proto: str
    nchannels: int
    nchunksperloop: int
    ngpus: int
    coll: str
    inplace: int
    outofplace: int | None
    min_bytes: int | None
    max_bytes: int | None
    nthreads: int | None
    gpus: list[XmlGpu]


def place(rank: int, block: XmlBlock | None = None, position: int | None = None) -> str:
    """A place in errors: ``rank 1, thread block 0, step 3 (rrc), line 57``."""
    text = f"rank {rank}"
    if block is None:
        return text
    text += f", thread block {block.id}"
    if position is None:
        return f"{text}, line {block.line}"
    step = block.steps[position]
    return f"{text}, step {position} ({step.type}), line {step.line}"


_Read = TypeVar("_Read", XmlStep, XmlBlock, XmlGpu, XmlAlgorithm)
_ENDS = {"minBytes": _INT64, "maxBytes": _INT64}


class _Element:
    """A tag's attributes, read as runtimes do but more strictly."""

    def __init__(self, tag: Tag, where: str) -> None:
        self.tag = tag
        self.where = f"{where}, line {tag.line}" if where else f"line {tag.line}"

    def text(self, key: str) -> str:
        value = self.tag.attributes.get(key)
        if value is None:
            extra = " (only the first 16 attributes count, and each extra space is one)"
            many = extra if self.tag.dropped else ""
            raise VerificationError(
                f"{self.where}: attribute {key} of {self.tag.name} not found{many}"
            )
        return value

    def number(self, key: str, end: int = _INT32) -> int:
        """As C's strtol with base 0 reads it; other text, which strtol reads as 0, is an error."""
        text = self.text(key)
        if _NUMBER.fullmatch(text) is None:
            raise VerificationError(
                f"{self.where}: {key} of {self.tag.name} is {text[:40]!r}, not a whole number"
            )
        try:  # Python marks octal numbers by 0o, C by 0
            value = int(re.sub(r"^([+-]?0)(?=[0-9])", r"\1o", text), 0)
        except ValueError:
            raise VerificationError(
                f"{self.where}: {key} of {self.tag.name} is {text[:40]!r}; a number that "
                "begins with 0 is read as octal"
            ) from None
        if not -end <= value < end:
            raise VerificationError(
                f"{self.where}: {key} of {self.tag.name} is {text[:40]}, beyond all limits"
            )
        return value

    def read(self, kind: type[_Read], **known: Any) -> _Read:
        """The record of the tag: fields that are not in `known` are read from attributes."""
        for one in fields(kind):
            if one.name in (*known, "line"):
                continue
            kinds, key = str(one.type).split(" | "), one.name.replace("_bytes", "Bytes")
            value: str | int | None = None
            if kinds[-1] != "None" or key in self.tag.attributes:
                end = _ENDS.get(key, _INT32)
                value = self.text(key) if kinds[0] == "str" else self.number(key, end)
            known[one.name] = value
        return kind(line=self.tag.line, **known)


class _Reader:
    """The remaining tags."""

    def __init__(self, content: bytes) -> None:
        self.tags: Iterator[Tag] = scan(content)

    def children(self, parent: Tag, known: str | None, depth: int = 0) -> Iterator[Tag]:
        """The elements of a known name within another one; unknown ones are skipped."""
        if parent.closes:
            return
        for tag in self.tags:
            if not tag.opens:
                if tag.name != parent.name:
                    raise VerificationError(
                        f"line {tag.line}: </{tag.name}> cannot close <{parent.name}> of line "
                        f"{parent.line}"
                    )
                return
            if tag.name == known:
                yield tag
                continue
            if depth == _DEEPEST and not tag.closes:
                raise VerificationError(f"line {tag.line}: elements nested too deeply")
            deque(self.children(tag, None, depth + 1), maxlen=0)
        raise VerificationError(f"line {parent.line}: <{parent.name}> is not closed")

    def algorithm(self) -> XmlAlgorithm:
        tag = next(self.tags, None)
        if tag is None:
            raise VerificationError("the file is empty; expected <algo …>")
        if not tag.opens or tag.name != "algo":
            raise VerificationError(f"line {tag.line}: <{tag.name}>; <algo …> must come first")
        result = _Element(tag, "").read(XmlAlgorithm, gpus=[])
        result.gpus.extend(self.gpu(child) for child in self.children(tag, "gpu"))
        after = next(self.tags, None)
        if after is not None:
            raise VerificationError(f"line {after.line}: <{after.name}> after the end of <algo>")
        return result

    def gpu(self, tag: Tag) -> XmlGpu:
        rank = _Element(tag, "").number("id")
        blocks = [self.block(child, rank) for child in self.children(tag, "tb")]
        blocks.sort(key=lambda block: block.id)
        return _Element(tag, f"rank {rank}").read(XmlGpu, id=rank, blocks=blocks)

    def block(self, tag: Tag, rank: int) -> XmlBlock:
        number = _Element(tag, f"rank {rank}").number("id")
        where = f"rank {rank}, thread block {number}"
        steps = [
            self.step(child, f"{where}, step {position}")
            for position, child in enumerate(self.children(tag, "step"))
        ]
        return _Element(tag, where).read(XmlBlock, id=number, steps=steps)

    def step(self, tag: Tag, where: str) -> XmlStep:
        e = _Element(tag, where)
        for _ in self.children(tag, "step"):
            raise VerificationError(f"{e.where}: a step within a step")
        return e.read(XmlStep)


def read_algorithm(content: bytes) -> XmlAlgorithm:
    """Reads a file; VerificationError if a scanner refuses it, or an attribute is missing."""
    return _Reader(content).algorithm()
