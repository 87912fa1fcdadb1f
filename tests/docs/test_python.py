"""The Python of the pages runs as its reader would run it: as a script."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

from syncoll.plugins.manager import PROJECT

from .conftest import ROOT, blocks

README = ROOT / "README.md"


OPTIONAL = ("gurobipy", "matplotlib", "mpi4py", "pyarrow")
"""Packages that `pip install syncoll` does not install."""


def test_readme_python_runs_in_default_install(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    hidden = f"import sys; sys.modules.update(dict.fromkeys({OPTIONAL!r}))\n"
    found = [hidden, *(block.text for block in blocks(README) if block.language == "python")]
    script.write_text("".join(found), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(script)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "broadcast on my ring" in done.stdout
    assert {"f.json", "f.html", "plan.json"} <= {path.name for path in tmp_path.iterdir()}


def test_the_readme_s_entry_point() -> None:
    (block,) = [block for block in blocks(README) if block.language == "toml"]
    assert list(tomllib.loads(block.text)["project"]["entry-points"]) == [PROJECT]
