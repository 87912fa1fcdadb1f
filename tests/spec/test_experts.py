"""Tokens that go to the ranks of their experts."""

from __future__ import annotations

import random

import pytest

from syncoll.errors import LocatedError
from syncoll.spec import SpecLibrary

from .conftest import SpecFile

ROUTING = "# rank, experts\n0,1,2\n1,3,3\n1,0,2\n"


def test_tokens_go_to_the_ranks_of_their_experts(library: SpecLibrary, spec_file: SpecFile) -> None:
    rng = random.Random(3)
    for ranks, experts in ((2, 4), (3, 6), (5, 5)):
        placed = [rng.randrange(ranks) for _ in range(experts)]
        rows = [
            [rng.randrange(ranks), *(rng.randrange(experts) for _ in range(3))] for _ in range(40)
        ]
        spec_file("\n".join(",".join(map(str, row)) for row in rows), "routing.csv")
        spec_file("\n".join(f"{e},{r}" for e, r in enumerate(placed)), "experts.csv")
        for given, rank_of in (
            ("", [e // (experts // ranks) for e in range(experts)]),
            (', placement="experts.csv"', placed),
        ):
            call = f'("routing.csv", experts={experts}, bytes=7168{given})'
            table = library.collective(f"dispatch{call}").tabulate(ranks, 1)
            back = library.collective(f"combine{call}")
            for pre, post, (rank, *chosen) in zip(table.pre, table.post, rows, strict=True):
                assert pre.nonzero()[0].tolist() == [rank]
                assert post.nonzero()[0].tolist() == sorted({rank_of[e] for e in chosen})
            assert back.combining
            assert (back.tabulate(ranks, 1).pre == table.post).all()
            assert (back.tabulate(ranks, 1).post == table.pre).all()
            pieces = library.collective(f"dispatch{call}").tabulate(ranks, 2)
            assert (pieces.post == table.post.repeat(2, axis=0)).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ('"r.csv", 4, bytes=1/2', "expected whole bytes of a token, from 1"),
        ('"r.csv", 3', "3 experts cannot be dealt to 2 ranks in equal blocks"),
        ('"r.csv", 2', 'row 1 of "r.csv" names expert 2'),
        ("[[2, 0]], 4", "row 1 of .* names rank 2"),
        ("[[0], [1]], 4", "rows of 1 number"),
        ("[[0, 1], [1]], 4", "`routing` is no matrix"),
        ('"r.csv", 4, placement=[[0, 0], [1, 1], [2, 1]]', "gives expert 3 no rank"),
        ('"r.csv", 2, placement=[[0, 0], [1, 1], [0, 1]]', "gives expert 0 2 ranks"),
        ('"r.csv", 2, placement=[[0, 0], [1, 2]]', "row 2 of .* names rank 2"),
        ('"r.csv", 2, placement=[[0, 0, 1]]', "rows of 3 numbers"),
    ],
)
def test_invalid_routings_are_errors(
    call: str, message: str, library: SpecLibrary, spec_file: SpecFile
) -> None:
    spec_file(ROUTING, "r.csv")
    with pytest.raises(LocatedError, match=message):
        library.collective(f"dispatch({call})").tabulate(2, 1)
