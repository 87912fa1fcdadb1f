"""Families: conditions on all values at once give the same members as one by one."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from syncoll.errors import SpecError
from syncoll.session import Session
from syncoll.spec import applying, conditions_of, members

OWN = """
let twice(x) = 2 * x
topology ladder(n, rung = 1) {
    let rails = twice(n)
    nodes if n mod 2 == 0 then rails else n + 3
    link (i, i + 1) both ways for i in range(P - 1) bandwidth rung
}
"""


@pytest.mark.parametrize(
    ("reference", "where"),
    [
        ("torus(a,b,c)", "P == 24 and a < b"),
        ("twisted_torus(a, 2 * a)", "P <= 40"),
        ("circulant(n,1,i)", "n + i == P + 2 and P mod 3 == 1"),
        ("hypercube(d)", "2 <= P and P < 100 or d == 9"),
        ("own.syncoll:ladder(n, rung=r)", "P == 10 and r != n"),
        ("dgx1", "P == 8"),
        ("dgx1", "P == 9"),
        ("torus(a,b)", "a > 2 and P div (a - 2) == 8"),
    ],
)
def test_members_match_a_check_one_by_one(
    reference: str, where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("own.syncoll").write_text(OWN)
    family, most = Session().specs.family(reference), 12
    parts = conditions_of(where)
    (own,) = applying(parts, [family], ["P"])

    def meant(values: dict[str, int]) -> bool:
        try:
            known = {**values, "P": family.nodes(values)}
        except SpecError:
            return False
        return all(bool(condition.holds(known)) for condition in parts)

    every = [
        dict(zip(family.parameters, numbers, strict=True))
        for numbers in product(range(1, most + 1), repeat=len(family.parameters))
    ]
    assert [v for v in members(family, own, most) if meant(v)] == [v for v in every if meant(v)]


def test_conditions_on_p_are_not_checked_one_by_one() -> None:
    """A cube of values is not enumerated if P admits few of them."""
    family = Session().specs.family("torus(a,b,c)")
    (own,) = applying(conditions_of("P == 64"), [family], ["P"])
    assert len(list(members(family, own, 64))) == 28  # ways to write 2 ** 6 as three factors
