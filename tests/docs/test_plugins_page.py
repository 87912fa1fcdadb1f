"""docs/plugins.md: its packages are real, install, pass the kit, show and can be chosen."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import ROOT, blocks, commands, compare, plain, words, written_files

PAGE = ROOT / "docs" / "plugins.md"
EXAMPLE = ROOT / "tests" / "plugins" / "thirdparty" / "dpll-for-syncoll"


SCRIPTS = [b for b in blocks(PAGE) if b.language == "python" and not b.file]

Python = Callable[..., "subprocess.CompletedProcess[str]"]


def test_the_backend_on_the_page_is_the_tested_one() -> None:
    shown = {
        name.removeprefix("dpll-for-syncoll/"): text
        for name, text in written_files(PAGE).items()
        if name.startswith("dpll-for-syncoll/") and not name.endswith("/test_dpll.py")
    }
    files = {
        str(path.relative_to(EXAMPLE)): path.read_text("utf-8")
        for path in sorted(EXAMPLE.rglob("*"))
        if path.suffix in (".py", ".toml")
    }
    assert shown == files


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with every file of the page."""
    folder = tmp_path_factory.mktemp("copied")
    for name, text in written_files(PAGE).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def python(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Python:
    """An interpreter for which the packages of the page are installed."""
    site = tmp_path_factory.mktemp("site")
    packages = sorted(str(path) for path in source.iterdir() if path.is_dir())
    assert [Path(package).name for package in packages] == [
        f"{name}-for-syncoll" for name in ("cables", "dpll", "parts", "plain")
    ]
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    how = ["--no-index", "--no-deps", "--no-build-isolation", "--target", str(site)]
    subprocess.run([*pip, *how, *packages], check=True, timeout=120)
    path = os.pathsep.join([str(site), *filter(None, [os.environ.get("PYTHONPATH")])])

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *arguments],
            capture_output=True,
            encoding="utf-8",
            cwd=source,
            env={**os.environ, "PYTHONPATH": path, "PYTHONIOENCODING": "utf-8"},
            timeout=300,
            check=False,
        )

    return run


ALL_COMMANDS = """\
import contextlib, io, json, sys
from syncoll.cli.main import main

results = []
for arguments in json.loads(sys.argv[1]):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        code = main(arguments)
    results.append([int(code), out.getvalue()])
print(json.dumps(results))
"""


def test_commands_run(python: Python) -> None:
    """In their order, as one may read the file of another; in one process, which starts once."""
    shown = commands(PAGE)
    assert len(shown) >= 7
    done = python("-c", ALL_COMMANDS, json.dumps([words(command.text) for command in shown]))
    assert done.returncode == 0, done.stderr
    for command, (code, output) in zip(shown, json.loads(done.stdout), strict=True):
        assert code == 0, f"{command}: {done.stderr}"
        assert output, command
        if command.shown:
            compare(plain(command.shown), plain(output))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda block: f"line {block.line}")
def test_a_script_runs(script: object, python: Python, tmp_path: Path) -> None:
    file = tmp_path / "script.py"
    file.write_text(getattr(script, "text", ""), encoding="utf-8")
    done = python(str(file))
    assert done.returncode == 0, done.stderr
    assert done.stdout == "", "no failures are told"


def test_the_kit_runs_as_shown(python: Python, source: Path) -> None:
    done = python("-m", "pytest", "-q", "-p", "no:cacheprovider", "dpll-for-syncoll/test_dpll.py")
    assert done.returncode == 0, done.stdout
    from syncoll.testing import BACKEND_CHECKS

    assert f"{len(BACKEND_CHECKS)} passed" in done.stdout


def test_they_show_where_the_page_says(python: Python) -> None:
    shown = python("-m", "syncoll", "plugins", "--options").stdout
    encodings, _, rest = shown.partition("solver backends")
    backends, _, rest = rest.partition("lower bounds")
    bounds, _, rest = rest.partition("spec libraries")
    libraries, _, rest = rest.partition("\nimporters")
    importers, _, exporters = rest.partition("\nexporters")
    assert "plugin cables (cables-for-syncoll 0.1)" in importers
    assert "plugin cables (cables-for-syncoll 0.1)" in exporters
    assert "plugin plain (plain-for-syncoll 0.1)" in encodings
    assert "plugin dpll (dpll-for-syncoll 0.3)" in backends
    assert "first" in backends
    assert "plugin parts (parts-for-syncoll 0.1)" in bounds
    assert "plugin plain (plain-for-syncoll 0.1)" in libraries
    assert "corridor(rooms, doors = 1)" in python("-m", "syncoll", "spec", "list").stdout


def test_the_bound_shows_and_both_checkers_accept_it(python: Python) -> None:
    few = ["weak.syncoll", "allreduce", "--max-steps", "0"]
    done = python("-m", "syncoll", "bounds", *few, "-o", "weak.json", "--format", "json")
    assert json.loads(done.stdout)["bandwidth"] == "3/10"
    assert python("-m", "syncoll", "check", "weak.json").returncode == 0
    assert python("-m", "syncoll_check", "weak.json").returncode == 0
    kit = "from parts_for_syncoll import RECORD\nfrom syncoll.testing import check_bound\n"
    assert python("-c", f"{kit}print(check_bound(RECORD))").stdout == "[]\n"
