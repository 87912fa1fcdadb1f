"""How many functions of syncoll a command enters: ``functions.py pareto dgx1 allgather``.

Distinct functions that the main process calls, by folder; comprehensions and lambdas do not count,
and the bodies of classes, which run when their modules are imported, are counted apart.
"""

from __future__ import annotations

import contextlib
import inspect
import sys
from collections import Counter
from pathlib import Path
from types import CodeType, FrameType

ROOT = Path(__file__).parents[1]


def entered(arguments: list[str]) -> set[CodeType]:
    """The code of syncoll and its plugins that a command runs."""
    seen: set[CodeType] = set()

    def note(frame: FrameType, event: str, _argument: object) -> None:
        if event == "call":
            seen.add(frame.f_code)

    sys.argv = ["syncoll", *arguments]
    sys.setprofile(note)
    try:
        from syncoll.cli.main import main

        with contextlib.suppress(SystemExit):
            main()
    finally:
        sys.setprofile(None)
    found = (path for path in ROOT.rglob("*.py") if path.relative_to(ROOT).parts[0] != ".venv")
    files = set(map(str, found))
    return {one for one in seen if one.co_filename in files and not one.co_name.startswith("<")}


def main() -> None:
    functions, classes = Counter[str](), Counter[str]()
    for one in entered(sys.argv[1:]):
        folder = "/".join(Path(one.co_filename).relative_to(ROOT).parts[:2])
        (functions if one.co_flags & inspect.CO_OPTIMIZED else classes)[folder] += 1
    print(f"{'functions':>10} {'classes':>8}", file=sys.stderr)
    for folder, number in (*functions.most_common(), ("in all", functions.total())):
        made = classes.total() if folder == "in all" else classes[folder]
        print(f"{number:>10} {made:>8}  {folder}", file=sys.stderr)


if __name__ == "__main__":
    main()
