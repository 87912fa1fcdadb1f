"""The wheel for users: it is built, inspected, installed by itself and run."""

from __future__ import annotations

import configparser
import importlib.metadata
import json
import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

from syncoll import __version__

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
FOLDERS = ("backends", "encodings", "exporters", "importers", "specs")


def packages() -> list[str]:
    """The import packages of the checkout."""
    inside = [path.parent.name for f in FOLDERS for path in (ROOT / f).glob("*/__init__.py")]
    return sorted([*inside, "syncoll", "syncoll_check"])


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("hatchling")
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=120)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def names(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as archive:
        assert archive.testzip() is None
        return archive.namelist()


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with nothing but the wheel's content."""
    folder = tmp_path_factory.mktemp("installed")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    subprocess.run(
        [*pip, "--target", str(folder), str(wheel)], check=True, capture_output=True, timeout=120
    )
    return folder


def run(installed: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs the installed program, in a folder from which the checkout cannot be imported."""
    return subprocess.run(
        [sys.executable, "-m", "syncoll", *arguments],
        env={**os.environ, "PYTHONPATH": str(installed), "PYTHONSAFEPATH": "1"},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_packages_lie_at_the_top_without_their_folder(names: list[str]) -> None:
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == set(packages())
    assert not any(name.startswith(f"{folder}/") for name in names for folder in FOLDERS)
    assert not any(name.startswith(("tests/", "benchmarks/", "docs/")) for name in names)


def test_every_file_of_the_checkout_is_in_it(names: list[str]) -> None:
    expected, unshipped = set(), {"pyproject.toml"}
    for package in packages():
        (home,) = (p for p in (ROOT, *(ROOT / f for f in FOLDERS)) if (p / package).is_dir())
        for path in (home / package).rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts and path.name not in unshipped:
                expected.add(path.relative_to(home).as_posix())
    assert expected <= set(names)
    assert not any("__pycache__" in name or name.endswith(".keep") for name in names)


def test_data_and_types_are_in_it(names: list[str]) -> None:
    assert "syncoll/spec/grammar.lark" in names
    for part in ("topologies/dgx", "collectives/one_root", "collectives/many_roots"):
        assert f"syncoll_specs/{part}.syncoll" in names
    assert {f"{package}/py.typed" for package in packages()} <= set(names)


def test_the_proofs_are_in_it(names: list[str]) -> None:
    kinds = ("*.v", "main.ml", "Makefile")
    files = {one.name for kind in kinds for one in (ROOT / "theorems").glob(kind)} - {"Frontier.v"}
    shipped = {name for name in names if name.startswith("syncoll/theorems/")}
    assert shipped == {f"syncoll/theorems/{name}" for name in files}


LIBRARIES = ("messages", "tables", "threadblocks")


def test_entry_points(wheel: Path, names: list[str]) -> None:
    (name,) = (name for name in names if name.endswith(".dist-info/entry_points.txt"))
    with zipfile.ZipFile(wheel) as archive:
        parser = configparser.ConfigParser()
        parser.read_string(archive.read(name).decode())
        (licence,) = (name for name in names if ".dist-info/licenses/" in name)
        assert b"Apache License" in archive.read(licence)
    assert dict(parser["console_scripts"]) == {"syncoll": "syncoll.__main__:main"}
    # No plugins themselves.
    libraries = {"syncoll", "syncoll_check", *(f"syncoll_{name}" for name in LIBRARIES)}
    assert {
        "syncoll_torch/module.py.txt",
        "syncoll_tables/mpi.c.txt",
        "syncoll_simgrid/run.sh.txt",
    } <= set(names)
    assert set(parser["syncoll"].values()) == set(packages()) - libraries


def test_it_runs(installed: Path, tmp_path: Path) -> None:
    assert run(installed, tmp_path, "--version").stdout == f"syncoll {__version__}\n"
    assert "diameter 2" in run(installed, tmp_path, "show", "dgx1").stdout
    solve = ("solve", "ring(3)", "allgather", "-C", "1", "-S", "1", "-R", "1", "-o", "a.json")
    done = run(installed, tmp_path, *solve, "--format", "json")
    assert done.returncode == 0, done.stderr
    content: dict[str, Any] = json.loads(done.stdout)
    assert content["verdict"] == "sat"
    assert run(installed, tmp_path, "verify", "a.json").returncode == 0
    assert json.loads(run(installed, tmp_path, "schema", "outcome").stdout)["$defs"][
        "AlgorithmRecord"
    ]


def declared(distribution: str, found: set[str]) -> set[str]:
    """Adds the dependencies of a distribution, without extras, and their dependencies."""
    for text in importlib.metadata.requires(distribution) or ():
        one = Requirement(text)
        needed = one.marker is None or one.marker.evaluate({"extra": ""})
        if needed and one.name not in found:
            found.add(one.name)
            declared(one.name, found)
    return found


def test_it_runs_with_its_declared_dependencies_alone(wheel: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "venv", with_pip=False, symlinks=os.name != "nt")
    python = tmp_path / "venv" / ("Scripts" if os.name == "nt" else "bin") / "python"
    site = Path(
        subprocess.run(
            [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
    )
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-deps"]
    subprocess.run([*pip, "--no-index", str(wheel)], check=True, capture_output=True, timeout=120)
    for name in declared("syncoll", set()):
        for file in importlib.metadata.files(name) or ():
            top = site / file.parts[0]
            if file.parts[0] != ".." and not top.exists():
                top.symlink_to(Path(str(file.locate())).parents[len(file.parts) - 1] / top.name)
    for words in (
        ("pareto", "ring(4)", "allgather", "-o", "f.json"),
        ("check", "f.json"),
        ("simulate", "f.json", "--alpha", "1us", "--beta", "25GB/s"),
        ("plugins",),
    ):
        done = subprocess.run(
            [python.with_name("syncoll"), *words],
            env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, (words, done.stdout, done.stderr)


def test_the_checker_is_a_wheel_of_its_own(
    installed: Path, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("checker")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    own = ROOT / "syncoll_check"
    subprocess.run(build, cwd=own, check=True, capture_output=True, timeout=120)
    (built,) = folder.glob(f"syncoll_check-{__version__}-*.whl")
    with zipfile.ZipFile(built) as archive:
        names = archive.namelist()
        (metadata,) = (name for name in names if name.endswith(".dist-info/METADATA"))
        assert b"Requires-Dist" not in archive.read(metadata)
        archive.extractall(folder / "alone")
    shipped = {path.name for path in own.iterdir() if path.is_file()} - {"pyproject.toml"}
    assert {name for name in names if ".dist-info" not in name} == {
        f"syncoll_check/{name}" for name in shipped
    }
    bounds = ("bounds", "ring(3)", "allgather", "-o", "bounds.json")
    assert run(installed, tmp_path, *bounds).returncode == 0
    for place in (installed, folder / "alone"):
        done = subprocess.run(
            [sys.executable, "-S", "-m", "syncoll_check", "bounds.json"],
            env={**os.environ, "PYTHONPATH": str(place), "PYTHONSAFEPATH": "1"},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.stdout.startswith("bounds.json: accepted: "), done.stderr


def test_it_is_the_wheel_that_runs(installed: Path, tmp_path: Path) -> None:
    modules = [*packages(), "syncoll.solving.worker"]
    code = f"import {', '.join(modules)}\nprint(*({', '.join(f'{m}.__file__' for m in modules)},))"
    done = subprocess.run(
        [sys.executable, "-P", "-c", code],
        env={**os.environ, "PYTHONPATH": str(installed)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert all(Path(file).is_relative_to(installed) for file in done.stdout.split())


def test_each_plugin_is_found_once(installed: Path, tmp_path: Path) -> None:
    done = run(installed, tmp_path, "plugins", "--format", "json")
    content = json.loads(done.stdout)
    assert content["broken"] == []
    keys = [(entry["point"], entry["name"]) for entry in content["plugins"]]
    assert len(keys) == len(set(keys))
    assert ("backend", "cpsat") in keys
