"""The papers' figures: the frame on the smallest of them, and the fit of alpha and beta."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from benchmarks.figures import FIGURES, main
from benchmarks.papers.figure import Compared, Holds
from benchmarks.papers.fitting import fit, lockstep
from benchmarks.papers.forestcoll import PRINTED
from benchmarks.papers.forestcoll_scaling import grow
from benchmarks.papers.pages import read_figure
from benchmarks.papers.platforms import Network, Platform
from benchmarks.papers.sccl_race import SIZES
from benchmarks.papers.schedules import Raced, library_ring
from syncoll.session import Session
from tests.oracles.fabrics import a100


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("figures")
    assert main(["sccl-6", "--output", str(made)]) == 0
    return made


def test_a_figure_is_a_page_a_plot_and_data(folder: Path) -> None:
    figure = read_figure(folder / "figures" / "sccl-6.json")
    assert {path.name for path in folder.rglob("*.*")} == {
        *("figures.md", "sccl-6.json", "sccl-6.svg")
    }
    drawn = (folder / "figures" / "sccl-6.svg").read_text()
    assert drawn.startswith("<?xml")
    assert drawn.count('<g id="axes_') == len(figure.panels)
    page = (folder / "figures.md").read_text()
    assert "![allgather on a Gigabyte Z52, speed-up over RCCL](figures/sccl-6.svg)" in page
    for claim in figure.claims:
        assert (
            f"| sccl-6 | {claim.says} | {claim.where} | {claim.holds} | {claim.because} |" in page
        )
    for line in page.splitlines():
        assert "nan" not in line
        if line.startswith("|"):
            assert line.endswith("|")
    assert page.count("| 3.5 | 3.5 | none |") == 3


def test_algorithms_have_the_costs_of_the_paper(folder: Path) -> None:
    figure = read_figure(folder / "figures" / "sccl-6.json")
    lockstep_panel = figure.panels[0]
    ring = lockstep(7, Fraction(7, 2))
    alpha, beta = 0.7e-6, 1 / 27e9
    for line in lockstep_panel.lines:
        chunks, steps, rounds = map(int, re.findall(r"\d+", line.label))
        model = lockstep(steps, Fraction(rounds, chunks))
        wanted = [ring(alpha, beta, size) / model(alpha, beta, size) for size in SIZES]
        assert line.ys == pytest.approx(wanted)
    verdicts = {claim.says: claim.holds for claim in figure.claims}
    assert verdicts["SCCL is slower than RCCL for small and medium sizes"] is Holds.NO
    # From 7/4 of RCCL's latency on, as 4 steps then cost as much as its 7.
    assert [row[-1] for row in figure.tables[1].rows] == ["no"] * 3 + ["yes"] * 6


def test_one_is_shown_without_being_made_anew(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = folder / "figures" / "sccl-6.json"
    (tmp_path / "figures").mkdir()
    copy = tmp_path / "figures" / "sccl-6.json"
    copy.write_text(kept.read_text())
    assert main(["--show", "--output", str(tmp_path)]) == 0
    assert (tmp_path / "figures.md").read_text() == (folder / "figures.md").read_text()
    drawn = (folder / "figures" / "sccl-6.svg").read_bytes()
    assert (tmp_path / "figures" / "sccl-6.svg").read_bytes() == drawn
    other = json.loads(kept.read_text())
    for changed, words in (
        ({**other, "version": 0}, "is not of version 1; make the figure anew"),
        ({**other, "figure": {"title": "something"}}, "is no figure: Object missing"),
        ([1], "is no figure: Expected `object`"),
    ):
        copy.write_text(json.dumps(changed))
        with pytest.raises(SystemExit):
            main(["--show", "--output", str(tmp_path)])
        assert words in capsys.readouterr().err


def test_an_unknown_name_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["sccl-7", "--output", str(tmp_path)])
    assert f"there is no figure 'sccl-7'; there are {', '.join(FIGURES)}" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@given(
    steps=st.integers(1, 100),
    cost=st.fractions(min_value=Fraction(1, 100), max_value=100),
    nanoseconds=st.integers(1, 10**6),
    megabytes=st.integers(1, 10**6),
    sizes=st.lists(st.integers(1, 1 << 32), min_size=2, max_size=2, unique=True),
)
def test_two_points_of_exact_data_give_alpha_and_beta_back(
    steps: int, cost: Fraction, nanoseconds: int, megabytes: int, sizes: list[int]
) -> None:
    model = lockstep(steps, cost)
    alpha, beta = nanoseconds / 1e9, 1 / megabytes / 1e6
    small, large = sorted(sizes)
    one, other = ((size, model(alpha, beta, size)) for size in (small, large))
    fitted = fit(model, one, other)
    assert fit(model, other, one) == fitted
    # As exactly as two times that may differ little can say.
    unsure = 1e-12 * other[1] * large / (large - small)
    assert fitted[0] * steps == pytest.approx(alpha * steps, rel=1e-9, abs=unsure)
    assert fitted[1] * large * float(cost) == pytest.approx(
        beta * large * float(cost), rel=1e-9, abs=unsure
    )


def test_fitting_returns_the_simulated_alpha_and_beta() -> None:
    model = lockstep(15, Fraction(15, 8))
    points = [(size, model(21e-6, 1 / 20e9, size)) for size in (1 << 16, 1 << 26)]
    assert fit(model, *points) == pytest.approx((21e-6, 1 / 20e9))


@pytest.mark.parametrize("grown", [0.9, 1.1 * 1024])
def test_times_that_no_alpha_and_beta_explain(grown: float) -> None:
    with pytest.raises(ValueError, match="by alpha and beta they grow by 1 to 1024"):
        fit(lockstep(3, Fraction(7, 6)), (1 << 10, 1e-6), (1 << 20, grown * 1e-6))


def test_deviations() -> None:
    assert Compared("one", 2.0, 3.0).deviation == 0.5
    assert Compared("one", None, 3.0).deviation is None
    assert Compared("one", 2.0, None).deviation is None


def test_two_points_give_alpha_and_the_share_of_bandwidths() -> None:
    session = Session()
    topology = session.topology("a100(boxes=1)")
    ring = Raced([library_ring(session, topology)])
    ends = [1 << 20, 1 << 30]
    small, large = ring.algbw(20e-6, 0.8, ends).tolist()
    printed = {"allgather": {"NCCL Ring": [small, 0.0, 0.0, large, 0.0]}}
    platform = Platform("1 box", "NCCL", topology, {"allgather": {"NCCL Ring": ring}}, printed)
    found = Network.of(platform)
    assert found.alpha == pytest.approx(20e-6, rel=1e-6)
    assert found.efficiency == pytest.approx(0.8, rel=1e-6)
    # The ring is bound by 7 sends, and by the 7/8 of the data that come in at 300 GB/s.
    assert ends[0] / small / 1e9 > 7 * 20e-6
    assert 0.9 * 0.8 * 300 * 8 / 7 < large < 0.8 * 300 * 8 / 7


def test_printed_tables_are_read_off_rightly() -> None:
    for name in ("table-2", "table-3"):
        for machine in PRINTED[name].values():
            for algorithms in machine.values():
                for row in algorithms.values():
                    # A larger message never has less bandwidth; most of the sizes are small.
                    assert row[:4] == sorted(row[:4])
                    assert row[1] * 0.9 < row[4] < row[3]


def test_a_cluster_of_the_scaling_figure() -> None:
    notes: list[str] = []
    one = grow(notes.append, "A100", a100, 2)
    assert (one.gpus, one.bound, one.forest) == (16, one.forest, float(Fraction(1040, 3)))
    assert one.ring == float(Fraction(640, 3))
    assert one.simulated is not None
    assert one.ring < one.simulated < one.bound
    assert len(notes) == 1
