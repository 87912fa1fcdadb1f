"""A design as CSV, Parquet and a picture."""

from __future__ import annotations

import csv
from fractions import Fraction
from pathlib import Path

import pytest

import syncoll
from syncoll.cli.main import main
from syncoll.errors import UsageError


def test_tables_have_the_rows_of_the_design(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import pyarrow.parquet as pq

    given = ["design", "circulant(n,1,i)", "--where", "P == 6", "allgather", "alltoall"]
    names = {suffix: tmp_path / f"t.{suffix}" for suffix in ("csv", "parquet", "svg")}
    for suffix, name in names.items():
        option = "--plot" if suffix == "svg" else "--table"
        assert main([*given, option, str(name)]) == 0
    capsys.readouterr()
    found = syncoll.design("circulant(n,1,i)", ["allgather", "alltoall"], where="P == 6")
    meant = found.rows()
    assert len(meant) == 2 * len(found.assessed) == 4
    assert pq.read_table(names["parquet"]).to_pylist() == meant
    with names["csv"].open(newline="") as file:
        read = list(csv.DictReader(file))
    assert read == [{k: "" if v is None else str(v) for k, v in row.items()} for row in meant]
    for row in meant:
        assert Fraction(row["exact_least_bandwidth"]) == Fraction(
            row["least_bandwidth"]
        ).limit_denominator(99)
    assert list(read[0]) == list(found.columns)
    assert names["svg"].read_text() == found.plot().svg
    assert "circulant(6,1,3)" in names["svg"].read_text()


def test_file_names_decide_the_format(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["design", "ring(4)", "allgather", "--table", "t.xlsx"]) == 2
    assert "expected a name that ends in .csv or .parquet" in capsys.readouterr().err
    assert main(["design", "ring(4)", "allgather", "--plot", "t.pdf"]) == 2
    assert "expected a name that ends in .png or .svg" in capsys.readouterr().err
    with pytest.raises(UsageError, match="no bounds are proved"):
        syncoll.design("ring(1)", "broadcast(root=3)").plot()
