"""The figures and tables of the papers: their values, ours, the deviation and the reason.

::

    python benchmarks/figures.py                 # all: results/figures.md and results/figures
    python benchmarks/figures.py sccl-6          # one figure anew; the others as they are kept
    python benchmarks/figures.py --show          # nothing anew: the page from kept figures

Each figure is kept as JSON and drawn as SVG below ``figures``; ``figures.md`` has all of them.  How
far it is goes to standard error.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.papers import forestcoll, forestcoll_scaling, multitree, sccl
from benchmarks.papers.drawing import picture
from benchmarks.papers.figure import Make
from benchmarks.papers.pages import page, read_figure, write_figure
from benchmarks.tables import made_at
from syncoll.documents import write_atomically
from syncoll.errors import SyncollError
from syncoll.planning import require_matplotlib

RESULTS = Path(__file__).parent / "results"
FIGURES: dict[str, Make] = {
    **sccl.FIGURES,
    **forestcoll.FIGURES,
    **forestcoll_scaling.FIGURES,
    **multitree.FIGURES,
}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(FIGURES))
    parser.add_argument("--output", type=Path, default=RESULTS, metavar="DIR")
    parser.add_argument("--show", action="store_true", help="make nothing anew")
    given = parser.parse_args(arguments)
    for name in given.names:
        if name not in FIGURES:
            parser.error(f"there is no figure {name!r}; there are {', '.join(FIGURES)}")
    folder = given.output / "figures"
    try:
        require_matplotlib("figures")
        folder.mkdir(parents=True, exist_ok=True)
        for name in () if given.show else given.names or FIGURES:
            _make(name, folder)
        kept = {name: folder / f"{name}.json" for name in FIGURES}
        figures = {name: read_figure(path) for name, path in kept.items() if path.is_file()}
        for name, figure in figures.items():
            picture(figure).save(folder / f"{name}.svg")
        write_atomically(given.output / "figures.md", f"{made_at()}\n{page(figures)}")
    except (SyncollError, OSError, ValueError) as error:
        parser.error(str(error))
    return 0


def _make(name: str, folder: Path) -> None:
    began = time.perf_counter()

    def tell(words: str) -> None:
        print(f"[{time.perf_counter() - began:6.1f} s] {name}: {words}", file=sys.stderr)

    write_figure(folder / f"{name}.json", FIGURES[name](tell))
    tell("done")


if __name__ == "__main__":
    sys.exit(main())
