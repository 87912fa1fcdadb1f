"""Labels: what the variables of a formula are about, so that permutations act on them."""

from __future__ import annotations

from dataclasses import dataclass

from syncoll.arrays import IntArray

__all__ = ["Labels"]


@dataclass(frozen=True, eq=False)
class Labels:
    """The meaning of each variable, as a row of whole numbers from -1 on, no two rows alike.

    A permutation of the nodes, and of the chunks with them, takes each variable to the one whose
    row has the images of its nodes and chunks.  -1 stands for nothing and stays.

    Args:
        columns: a letter for each column: ``c`` for chunks, ``n`` for nodes, any other for
            constants such as the kind of the variable or its step.
        booleans: ``[num_booleans, columns]``, the row of variable 1 first.
        integers: ``[num_integers, columns]``.

    Raises:
        ValueError: on arrays of another shape.
    """

    columns: str
    booleans: IntArray
    integers: IntArray

    def __post_init__(self) -> None:
        for array in (self.booleans, self.integers):
            if array.ndim != 2 or array.shape[1] != len(self.columns):
                raise ValueError(f"labels of shape {array.shape} for {len(self.columns)} columns")
