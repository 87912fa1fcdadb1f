"""A collective on a real network of this machine: measured, predicted, and its lower bound.

python -m benchmarks.network "ring(4)" allgather --sizes 64KiB,1MiB,8MiB
python -m benchmarks.network --results    # results/network.md; rows are kept
python -m benchmarks.network --clean      # remove networks whose process was killed
"""

from __future__ import annotations

import argparse
import signal
import sys
from pathlib import Path

from benchmarks.network import page
from benchmarks.network.measurement import measure
from benchmarks.network.namespaces import clean, missing
from benchmarks.network.plots import plot
from syncoll import values
from syncoll.errors import SyncollError


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.network",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("machine", nargs="?", help='such as "ring(4)" or FILE:NAME')
    parser.add_argument("collective", nargs="?", help="such as allgather")
    parser.add_argument("--sizes", default="64KiB,1MiB,8MiB", help="bytes of a rank")
    parser.add_argument("--rate", type=int, help="Mbit/s of a link of one chunk per round")
    parser.add_argument("--results", action="store_true", help="make results/network.md")
    parser.add_argument("--row", help="only machines of the results whose name contains this")
    parser.add_argument("--plots", type=Path, metavar="FOLDER", help="draw the kept results")
    parser.add_argument("--clean", action="store_true", help="remove leftovers")
    asked = parser.parse_args()
    if not (asked.clean or asked.results or asked.plots or asked.collective):
        parser.error("give a machine and a collective, --results, --plots or --clean")
    if asked.plots:
        plot(page.kept_rows(), asked.plots)
        return 0
    if (reason := missing()) is not None:
        print(f"skipped: {reason}")
        return 0
    if asked.clean:
        removed = clean()
        print("removed:", ", ".join(removed) or "nothing")
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        sizes = values.sizes_of("sizes", asked.sizes)
        if asked.results:
            page.make(sizes, asked.row)
            return 0
        print(page.HEAD, flush=True)
        for row in measure(asked.machine, asked.collective, sizes, asked.rate):
            print(page.line(row), flush=True)
    except SyncollError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
