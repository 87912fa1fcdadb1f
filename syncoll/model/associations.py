"""Associations: the order in which a reproducible algorithm adds up the contributions of a chunk.

Sums of floats depend on the association, ``(a + b) + c`` or ``a + (b + c)``, but not on the order
of two operands.  An algorithm is reproducible if all chunks with the same contributors are added up
in one association, wherever the partial sums are formed: a binary tree, whose leaves are the
contributors.  The sends define it: of all these chunks together, the sets of contributors that they
carry are pairwise disjoint or nested, and these sets are subtrees.  The largest carried sets and
single nodes inside a set are added from left to right, in the order of their least nodes.  No other
tree needs to be stated: a partial sum that no send carries is formed and used at one node.

Sets are bit masks in Python integers, as in `syncoll.trust.holdings`.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from syncoll.errors import VerificationError
from syncoll.model.algorithm import Algorithm
from syncoll.model.instance import Instance
from syncoll.model.orbit_algorithm import OrbitAlgorithm

_LONGEST = 400
"""Characters of an association in words."""


@dataclass(frozen=True)
class Association:
    """A binary tree over contributors.

    Args:
        whole: the contributors.
        parts: for each partial sum of several contributors its two operands; the left one has the
            least contributor.
    """

    whole: int
    parts: dict[int, tuple[int, int]] = field(default_factory=dict)

    @classmethod
    def of(cls, whole: int, carried: Iterable[int]) -> "Association":
        """The tree in which sets of contributors, pairwise disjoint or nested, are subtrees."""
        pieces = [1 << n for n in range(whole.bit_length()) if whole >> n & 1]
        parts: dict[int, tuple[int, int]] = {}
        for mask in sorted({*carried, whole}, key=int.bit_count):
            first, *others = [piece for piece in pieces if piece & mask]
            for piece in others:
                parts[first | piece] = first, piece
                first |= piece
            pieces = sorted([first, *(piece for piece in pieces if not piece & mask)], key=_least)
        return cls(whole, parts)

    def forms(self, mask: int, held: Collection[int]) -> bool:
        """Whether a node with some partial sums can form another one."""
        left = [mask]
        while left:
            if (own := left.pop()) not in held:
                if own not in self.parts:
                    return False
                left += self.parts[own]
        return True

    def operands(self, nodes: frozenset[int]) -> tuple[frozenset[int], ...]:
        """The two operands of the partial sum of some contributors; empty for others."""
        parts = self.parts.get(sum(1 << node for node in nodes), ())
        return tuple(frozenset(n for n in nodes if part >> n & 1) for part in parts)

    def __str__(self) -> str:
        sums = {1 << n: PartialSum(1 << n) for n in range(self.whole.bit_length())}
        for mask, (left, right) in self.parts.items():
            sums[mask] = sums[left] | sums[right]
        return sums[self.whole].text.removeprefix("(").removesuffix(")")


class PartialSum(int):
    """Contributors as bits, and the association in which they were added: ``|`` adds two."""

    text: str

    def __new__(cls, mask: int, text: str = "") -> "PartialSum":
        """A contribution, or a partial sum whose association has a text."""
        found = super().__new__(cls, mask)
        found.text = text or getattr(mask, "text", str(int(mask).bit_length() - 1))
        return found

    def __or__(self, other: int) -> "PartialSum":
        if not other:
            return self
        both = sorted((self, PartialSum(other)), key=_least)
        text = f"({'+'.join(one.text for one in both)})"
        return PartialSum(int(self) | int(other), text)

    __ror__ = __or__

    def __lshift__(self, nodes: int) -> "PartialSum":
        return PartialSum(int(self) << nodes)


def in_words(results: Iterable[tuple[int, int, int]]) -> str:
    """Whether results are reproducible, in words; empty if nothing is added up.

    Args:
        results: chunk, node and `PartialSum`; others are single contributions.
    """
    first: dict[int, tuple[int, int, PartialSum]] = {}
    for chunk, node, mask in results:
        if not isinstance(mask, PartialSum) or mask.bit_count() < 2:
            continue
        known = first.setdefault(int(mask), (chunk, node, mask))
        if known[2].text != mask.text:
            ends = [
                f"chunk {c} at node {n} is {_short(one.text)}"
                for c, n, one in (known, (chunk, node, mask))
            ]
            return f"not reproducible: {ends[0]}, {ends[1]}"
    texts = sorted({one.text[1:-1]: 0 for _, _, one in first.values()}, key=len)
    return f"reproducible: {_listed(texts)}" if texts else ""


def all_in_words(found: Iterable[Association]) -> str:
    """Associations of chunks with several contributors, in words."""
    return _listed(sorted({str(one): 0 for one in found if one.parts}, key=len))


def _listed(texts: Sequence[str]) -> str:
    noun = "associations" if len(texts) > 1 else "association"
    return f"{noun} {', '.join(map(_short, texts))}"


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def associations(instance: Instance, algorithm: Algorithm) -> dict[int, Association]:
    """The association of each chunk of a combining algorithm, by its contributors.  Raises
    `VerificationError` if two chunks are added up in different associations."""
    if isinstance(algorithm, OrbitAlgorithm):
        algorithm = algorithm.expanded()
    assert algorithm.contributions is not None
    everyone = bit_masks(instance.pre)
    rows, kind = np.unique(algorithm.contributions, axis=0, return_inverse=True)
    masks, first = bit_masks(rows), dict[tuple[int, int], int]()
    kinds = kind.ravel().tolist()
    for chunk, of in zip(algorithm.sends[:, 0].tolist(), kinds, strict=True):
        first.setdefault((everyone[chunk], masks[of]), chunk)
    found = {}
    for whole in dict.fromkeys(everyone):
        carried = {mask: chunk for (own, mask), chunk in first.items() if own == whole}
        inside = [mask for mask in carried if mask and not mask & ~whole]
        _require_nested({mask: carried[mask] for mask in inside})
        found[whole] = Association.of(whole, inside)
    return found


def _require_nested(chunks: dict[int, int]) -> None:
    """Raises unless sets, each with a chunk that carries it, are pairwise disjoint or nested."""
    largest = list[int]()
    for one in sorted(chunks, key=int.bit_count):
        two = next((mask for mask in largest if mask & one and mask & ~one), None)
        if two is not None:
            a, b = sorted((chunks[one], chunks[two]))
            whose = f"chunks {a} and {b} are" if a != b else f"chunk {a} is"
            raise VerificationError(
                f"not reproducible: {whose} added up in different associations: chunk "
                f"{chunks[two]} has a partial sum of nodes {_nodes(two)}, chunk {chunks[one]} of "
                f"nodes {_nodes(one)}"
            )
        largest = [mask for mask in largest if not mask & one] + [one]


def _least(mask: int) -> int:
    return mask & -mask


def _nodes(mask: int) -> str:
    return ", ".join(str(n) for n in range(mask.bit_length()) if mask >> n & 1)


def bit_masks(rows: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> list[int]:
    """The entries of each row as bits of an integer."""
    packed = np.packbits(rows, axis=1, bitorder="little")
    return [int.from_bytes(row.tobytes(), "little") for row in packed]
