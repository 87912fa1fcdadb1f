"""The layout that lets plugins live in folders which are no packages; see pyproject.toml."""

from __future__ import annotations

import ast
import tomllib
from importlib.metadata import entry_points
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("backends", "encodings", "exporters", "importers", "specs")
PACKAGES = sorted(path for folder in FOLDERS for path in (ROOT / folder).iterdir() if path.is_dir())
REQUIRED = {
    "syncoll_cpsat",
    "syncoll_gurobi",
    "syncoll_highs",
    "syncoll_path",
    "syncoll_pysat",
    "syncoll_specs",
    "syncoll_step",
    "syncoll_z3",
}
LIBRARIES = [
    ROOT / "exporters" / f"syncoll_{name}" for name in ("messages", "tables", "threadblocks")
]
"""Code that several plugins of a folder share; no plugins themselves."""

PLUGINS = [path for path in PACKAGES if path not in LIBRARIES]
ENTRY_POINTS: dict[str, str] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
    "entry-points"
]["syncoll"]


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_folder_is_no_package(folder: str) -> None:
    inside = {path.name for path in (ROOT / folder).iterdir()} - {"__pycache__"}
    allowed = {"README.md", ".keep"}
    assert all(name.startswith("syncoll_") or name in allowed for name in inside), inside


def test_the_packages_are_there() -> None:
    assert {path.name for path in PACKAGES} >= REQUIRED


@pytest.mark.parametrize("package", PACKAGES, ids=lambda path: path.name)
def test_a_package_is_complete(package: Path) -> None:
    assert (package / "__init__.py").is_file()
    assert (package / "py.typed").is_file()
    assert (package.name in ENTRY_POINTS.values()) == (package not in LIBRARIES)


SOLVERS = [path for path in PACKAGES if (path / "backend.py").is_file()]
SEEDS = [path for path in PACKAGES if (path / "seed.py").is_file()]


def test_every_backend_is_a_solver_or_a_seed() -> None:
    backends = [path for path in PACKAGES if path.parent.name == "backends"]
    assert sorted([*SOLVERS, *SEEDS]) == backends


@pytest.mark.parametrize("package", SOLVERS, ids=lambda path: path.name)
def test_a_solver_backend_is_record_and_code(package: Path) -> None:
    inside = {path.name for path in package.iterdir()} - {"__pycache__"}
    assert inside == {"__init__.py", "backend.py", "py.typed"}


def test_every_entry_point_has_its_package_and_is_installed() -> None:
    assert set(ENTRY_POINTS.values()) == {path.name for path in PLUGINS}
    for name, package in ENTRY_POINTS.items():
        assert package == f"syncoll_{name}"
    installed = {p.name: p.value for p in entry_points(group="syncoll")}
    assert installed.items() >= ENTRY_POINTS.items(), "pyproject.toml changed; install again"


def imports(file: Path) -> set[str]:
    """The modules that a file imports anywhere in it, dotted."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            found.add(node.module or "")
    return found


CORE = sorted((ROOT / "syncoll").rglob("*.py"))


@pytest.mark.parametrize("file", CORE, ids=lambda file: str(file.relative_to(ROOT)))
def test_the_core_imports_no_plugin_and_no_solver(file: Path) -> None:
    solvers = {"gurobipy", "highspy", "ortools", "pysat", "z3"}
    # Two of them are also the libraries for linear and integer programs, and for flows in graphs.
    libraries = {
        "linear": {"highspy"},
        "packing": {"ortools"},
        "routing": {"ortools"},
        "scheduling": {"highspy"},
    }
    solvers -= libraries.get(file.parent.name, set())
    names = {module.partition(".")[0] for module in imports(file)}
    # Texts of theorems come from the trusted checker's reading of a file.
    trusted = {"syncoll_check"} if file.parent.name == "proofs" else set()
    assert not {name for name in names if name.startswith("syncoll_")} - trusted
    assert not names & solvers
    assert not names & set(FOLDERS)


def require_imports(package: Path, allowed: tuple[str, ...]) -> None:
    for file in package.rglob("*.py"):
        for module in imports(file):
            if module.partition(".")[0] == "syncoll":
                assert module.startswith(allowed), f"{file.name} imports {module}"
            elif module.startswith("syncoll_"):
                shared = [path.name for path in LIBRARIES if path.parent == package.parent]
                assert module.partition(".")[0] in (package.name, *shared)


FORMATS = [path for path in PACKAGES if path.parent.name in ("exporters", "importers")]


@pytest.mark.parametrize("package", FORMATS, ids=lambda path: path.name)
def test_plugins_of_formats_only_import_their_own_floors(package: Path) -> None:
    own = {
        "exporters": (
            "protobuf",
            "importing",
            "planning",
            "routing",
            "runtime",
            "simulating",
            "trust",
            "documents.problem",
            "documents.record",
            "documents.written_problem",
        ),
        "importers": ("importing",),
    }
    floors = ("errors", "wording", "arrays", "model", "plugins", *own[package.parent.name])
    require_imports(package, tuple(f"syncoll.{floor}" for floor in floors))


@pytest.mark.parametrize("package", FORMATS, ids=lambda path: path.name)
def test_a_checker_shares_no_code_with_its_writer(package: Path) -> None:
    if package.parent.name != "exporters":
        pytest.skip("only exporters")
    checkers = [
        *package.glob("*checker*.py"),
        *package.glob("reading.py"),
        *package.glob("reading/*.py"),
    ]
    if package in LIBRARIES:  # of checkers
        checkers = [*package.glob("*.py")]
    assert checkers
    for file in checkers:
        for module in imports(file):
            assert "writer" not in module, f"{file.name} imports {module}"
            assert not module.startswith("syncoll.runtime"), f"{file.name} imports {module}"


@pytest.mark.parametrize("package", SOLVERS, ids=lambda path: path.name)
def test_a_solver_backend_imports_only_formula_and_plugins(package: Path) -> None:
    require_imports(package, ("syncoll.formula", "syncoll.plugins", "syncoll.linear.effort"))


@pytest.mark.parametrize("package", SEEDS, ids=lambda path: path.name)
def test_a_seed_only_imports_floors_below_the_plugins(package: Path) -> None:
    floors = (
        "errors",
        "wording",
        "arrays",
        "clock",
        "deadline",
        "progress",
        "model",
        "certificates",
        "results",
        "linear",
        "routing",
        "symmetry",
        "scheduling",
        "packing",
        "bounding",
        "plugins",
        "trust.forest",
    )
    require_imports(package, tuple(f"syncoll.{floor}" for floor in floors))
