"""docs/certificates.md and docs/proofs.md: their examples prove their claims."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from syncoll.certificates import (
    Certificate,
    ChunkClasses,
    Cut,
    DemandView,
    Priced,
    RoundsBound,
    Share,
    Ways,
)
from syncoll.errors import VerificationError
from syncoll.model import Topology
from syncoll.plugins import PluginManager
from syncoll.results import Method, Scope
from syncoll.spec import SpecLibrary

from .conftest import ROOT, blocks

CERTIFICATES = ROOT / "docs" / "certificates.md"
PROOFS = ROOT / "docs" / "proofs.md"
TEXT = CERTIFICATES.read_text("utf-8")
SHOWN = [
    json.loads(block.text)
    for block in blocks(CERTIFICATES)
    if block.mark == "certificate: dgx1 allgather"
]


@pytest.fixture(scope="module")
def library() -> SpecLibrary:
    records = PluginManager.discover().spec_libraries.values()
    return SpecLibrary([record.folder for record in records])


@pytest.fixture(scope="module")
def dgx1(library: SpecLibrary) -> Topology:
    return library.topology("dgx1")


@pytest.fixture(scope="module")
def shape(library: SpecLibrary) -> ChunkClasses:
    """Of allgather, for C = 1, as in the files."""
    return ChunkClasses.of(library.collective("allgather").tabulate(8, 1), 1)


def read(written: dict[str, Any], shape: ChunkClasses) -> Certificate:
    """The certificate of a block, written anew with other code than the files'."""
    proof: Priced
    if written["method"] == "cut":
        proof = Cut.covered(written["nodes"], written["cover"])
    else:
        assert written["method"] == "prices"
        shares = tuple(
            Share(
                one["destination"],
                tuple(one["demands"]),
                {(link, step): Fraction(price) for link, step, price in one["prices"]},
            )
            for one in written["shares"]
        )
        totals = {(p["bound"], p["step"]): Fraction(p["price"]) for p in written["prices"]}
        proof = Priced(written["steps"], totals, Ways(shares))
    bound = RoundsBound(
        Fraction(written["rounds"]),
        written["steps"],
        proof,
        DemandView(written["reading"]),
        written["node"],
    )
    return Certificate(shape, bound)


def test_two_certificates_are_shown() -> None:
    assert [one["method"] for one in SHOWN] == ["prices", "cut"]


@pytest.mark.parametrize("written", SHOWN, ids=lambda one: one["method"])
def test_a_certificate_on_the_page_proves_its_bound(
    written: dict[str, Any], dgx1: Topology, shape: ChunkClasses
) -> None:
    read(written, shape).check(dgx1)
    higher = {**written, "rounds": str(Fraction(written["rounds"]) + Fraction(1, 7))}
    with pytest.raises(VerificationError):
        read(higher, shape).check(dgx1)


def test_the_table_has_the_prices_of_the_file(dgx1: Topology) -> None:
    rows = re.findall(r"^\| (\d)→(\d) \| ([\d/]*) ?\| ([\d/]*) ?\|$", TEXT, re.MULTILINE)
    table = {
        ((int(a), int(b)), step): Fraction(price)
        for a, b, *prices in rows
        for step, price in enumerate(prices)
        if price
    }
    (written,) = [one for one in SHOWN if one["method"] == "prices"]
    files = {
        (link, p["step"]): Fraction(p["price"])
        for p in written["prices"]
        for link in dgx1.bounds[p["bound"]].links
    }
    assert table == files
    assert len(table) == 4


def test_the_table_has_all_paths_and_their_costs(dgx1: Topology) -> None:
    """Every way of at most two sends to node 6, by brute force."""
    (written,) = [one for one in SHOWN if one["method"] == "prices"]
    price = {
        (dgx1.links[link], step): Fraction(p)
        for share in written["shares"]
        for link, step, p in share["prices"]
    }
    cheapest = {}
    for source in {*range(8)} - {6}:
        found = []
        if (source, 6) in dgx1.links:
            found = [price.get(((source, 6), step), Fraction(0)) for step in (0, 1)]
        for via in range(8):
            if (source, via) in dgx1.links and (via, 6) in dgx1.links:
                found.append(
                    price.get(((source, via), 0), Fraction(0))
                    + price.get(((via, 6), 1), Fraction(0))
                )
        cheapest[source] = min(found)
    rows = re.findall(r"^\| ([\d, ]+) \| .* \| (0|1/2) \|$", TEXT, re.MULTILINE)
    stated = {int(n): Fraction(cost) for nodes, cost in rows for n in nodes.split(", ")}
    assert stated == cheapest


def test_allgather_scales_as_it_says(folder: Path) -> None:
    document = json.loads((folder / "frontier.json").read_text("utf-8"))
    (shape,) = document["evidence"]["shapes"]
    assert f'"{shape["scales"]}"' in " ".join(TEXT.split())


def test_the_tables_name_every_key(folder: Path) -> None:
    document = json.loads((folder / "frontier.json").read_text("utf-8"))
    stated = set(re.findall(r"`(\w+)`", TEXT[TEXT.index("## In a frontier's file") :]))
    assert set(document["points"][0]["proof"]) <= stated
    assert set(document["evidence"]) <= stated
    assert {str(method) for method in Method} <= stated
    assert {str(scope) for scope in Scope} - {"chunks"} <= stated
    assert {str(reading) for reading in DemandView} <= set(re.findall(r"`(\w+)`", TEXT))


def test_the_python_of_the_proofs_page_runs(tmp_path: Path) -> None:
    (block,) = [block for block in blocks(PROOFS) if block.language == "python"]
    script = tmp_path / "script.py"
    script.write_text(block.text, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(script)],
        capture_output=True,
        encoding="utf-8",
        cwd=tmp_path,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    *_, stated = block.text.strip().splitlines()
    assert done.stdout.strip() == stated.removeprefix("# ")
    assert list((tmp_path / "proofs").glob("*.refutation.json"))
