"""The checks of this project: ``python -m tasks [NAME]``; without a name all that CI runs."""

import ast
import json
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
import venv
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from tasks.benchmarks import ages, nightly
from tasks.prose import KINDS, Flaw, files_with_prose, flaws, texts_of

ROOT = Path(__file__).parents[1]

_LINT = [["ruff", "check", "."], ["ruff", "format", "--check", "."], ["tasks", "prose"]]
_TYPES = [["mypy"]]
_DOCS = [["mkdocs", "build", "--strict", "--quiet"]]
_TESTS = [["pytest", "-q", "-n", "auto", "--dist", "loadfile"]]
_QUICK = [[*_TESTS[0], "-m", "not slow"]]

_LOWEST = [
    "model",
    "documents",
    "lowerings",
    "symmetry",
    "trust",
    "sends",
    "chakra",
    "planning",
    "backends",
]
"""Folders of tests that use the dependencies, for the run with the lowest versions of them."""


def run(commands: Sequence[Sequence[str]], python: str = sys.executable) -> int:
    """Runs modules with their arguments until one fails; its exit code."""
    # Some machines set Python to keep no compiled modules. The tests start hundreds of processes,
    # which would all compile the whole package again: a third of the suite's time.
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "", "NO_MKDOCS_2_WARNING": "1"}
    for command in commands:
        sys.stderr.write(f"+ {' '.join(command)}\n")
        whole = [python, "-m", *command]
        code = subprocess.run(whole, check=False, env=environment, cwd=ROOT).returncode
        if code:
            return code
    return 0


def coverage() -> int:
    """The lines that the tests run, by folder, without lines that only child processes run."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "coverage.json")
        code = run([["pytest", "-q", "-n", "auto", "--cov", f"--cov-report=json:{report}"]])
        if not report.is_file():
            return code
        files = json.loads(report.read_text("utf-8"))["files"]
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for name, file in files.items():
        for row in ("/".join(Path(name).parts[:2]) if name.count("/") > 1 else "syncoll", "all"):
            counts[row][0] += file["summary"]["num_statements"]
            counts[row][1] += file["summary"]["covered_lines"]
    sys.stdout.write("lines   run     %  folder\n")
    for row, (lines, covered) in sorted(counts.items(), key=lambda item: (item[0] == "all", item)):
        share = 100 * covered / lines if lines else 100.0
        sys.stdout.write(f"{lines:5} {covered:5} {share:5.1f}  {row}\n")
    return code


def lowest_versions() -> list[str]:
    """A constraint ``NAME==VERSION`` for each bound of pyproject.toml."""
    from packaging.requirements import Requirement

    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"].values()
    constraints: dict[str, str] = {}
    for text in [*project["dependencies"], *(one for extra in extras for one in extra)]:
        requirement = Requirement(text)
        for bound in requirement.specifier:
            if bound.operator == ">=":
                known = constraints.setdefault(requirement.name, bound.version)
                if known != bound.version:
                    raise SystemExit(
                        f"{requirement.name} is bounded by {known} and {bound.version}"
                    )
    return [f"{name}=={version}" for name, version in sorted(constraints.items())]


def lowest() -> int:
    """A part of the tests with the lowest versions that pyproject.toml allows."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    with tempfile.TemporaryDirectory() as folder:
        constraints = Path(folder, "lowest.txt")
        constraints.write_text("\n".join(lowest_versions()) + "\n", encoding="utf-8")
        venv.create(Path(folder, "venv"), with_pip=True)
        python = str(Path(folder, "venv", "Scripts" if os.name == "nt" else "bin", "python"))
        what = f".[{','.join(project['optional-dependencies'])}]"
        tests = [f"tests/{name}" for name in _LOWEST]
        return run(
            [
                ["pip", "install", "--quiet", "--constraint", str(constraints), "--editable", what],
                *_DOCS,
                ["pytest", "-q", "-m", "not slow", *tests],
            ],
            python,
        )


def mutations() -> int:
    """Compares both checkers of files on 10,000 files with random errors."""
    os.environ["SYNCOLL_MUTATIONS"] = "10000"
    return run([["pytest", "-q", "tests/docs/test_certificates_page.py", "-k", "mutated"]])


_MUTATED_TEXTS = "400"


def theorems() -> int:
    """Compiles the proofs in `theorems/`, and compares the verified checker with `syncoll_check`
    on files with random errors.  Installs Coq if that needs no permission."""
    if not all(map(shutil.which, ("coqc", "ocamlopt", "make"))):
        command = ["apt-get", "install", "-qq", "--no-install-recommends", "coq", "make"]
        able = hasattr(os, "geteuid") and os.geteuid() == 0 and shutil.which("apt-get")
        limited = ["timeout", "100", *command]  # a mirror may not answer
        if not able or subprocess.run(limited, check=False, stdout=subprocess.DEVNULL).returncode:
            sys.stderr.write(f"theorems: NOT checked, without Coq: {' '.join(command)}\n")
            return 0
    os.environ.setdefault("SYNCOLL_THEOREMS", _MUTATED_TEXTS)
    return run([["pytest", "-q", "tests/proofs/test_theorem.py"]])


_BUSY_PROCESSES = 8
_SPIN = "import os, sys\nwhile os.getppid() == int(sys.argv[1]): sum(range(100_000))"


def busy(arguments: Sequence[str]) -> int:
    """Tests next to processes that keep every core busy; the exit code of the first that fails.

    Args:
        arguments: pytest's, such as files of tests; ``--times N`` first runs them N times.
    """
    times = 1
    if arguments[:1] == ["--times"]:
        if len(arguments) < 2 or not arguments[1].isdecimal():
            raise SystemExit("--times: expected a number; for example: busy --times 20 tests/model")
        times, arguments = int(arguments[1]), arguments[2:]
    if not arguments:
        raise SystemExit("busy: expected tests; for example: busy tests/cli/test_store.py -k time")
    spin = [sys.executable, "-c", _SPIN, str(os.getpid())]  # they end with this process
    others = [subprocess.Popen(spin) for _ in range(_BUSY_PROCESSES)]
    try:
        codes = (run([["pytest", "-q", *arguments]]) for _ in range(times))
        return next((code for code in codes if code), 0)
    except KeyboardInterrupt:
        return 130
    finally:
        for other in others:
            other.kill()
            other.wait()


_PRODUCT = ("syncoll", "syncoll_check", "backends", "encodings", "exporters", "importers", "specs")


def _product_files() -> Iterator[tuple[str, Path]]:
    """Each Python file of the product with its folder, such as syncoll/model."""
    for top in _PRODUCT:
        for file in sorted((ROOT / top).rglob("*.py")):
            yield "/".join(file.relative_to(ROOT).parts[:-1][:2]), file


def _print_counts(counts: Counter[str], unit: str) -> int:
    """Prints a row for each folder, for each top folder and for all."""
    for folder, number in list(counts.items()):
        if "/" in folder:
            counts[folder.partition("/")[0] + "/"] += number
        else:
            counts[folder + "/"] += number
    for folder, number in sorted(counts.items()):
        if "/" in folder:
            sys.stdout.write(f"{number:7}  {folder}\n")
    total = sum(number for folder, number in counts.items() if folder.endswith("/"))
    sys.stdout.write(f"{total:7}  {unit}\n")
    return 0


def lines() -> int:
    """Prints the lines of Python by folder, blank lines and comments included."""
    counts: Counter[str] = Counter()
    for folder, file in _product_files():
        counts[folder] += len(file.read_text("utf-8").splitlines())
    return _print_counts(counts, "lines of Python")


def _is_number(node: ast.expr | None) -> bool:
    """Whether an expression consists of numeric literals, such as ``1 << 20``."""
    match node:
        case ast.Constant(value=value):
            return isinstance(value, (int, float)) and not isinstance(value, bool)
        case ast.UnaryOp(operand=operand):
            return _is_number(operand)
        case ast.BinOp(left=left, right=right):
            return _is_number(left) and _is_number(right)
        case ast.Tuple(elts=elements):
            return bool(elements) and all(map(_is_number, elements))
        case ast.Call(func=ast.Name(id="Fraction" | "Deadline"), args=args):
            return bool(args) and all(map(_is_number, args))
    return False


def count_constants(text: str) -> int:
    """Counts numeric constants of a module's text.

    These are numbers, tuples and fractions of numbers that a module or class assigns to a name
    (several names at once count each).  Numeric defaults of the parameters of private functions,
    and of private parameters, also count.
    """
    found = 0
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef)):
            for line in node.body:
                if isinstance(line, (ast.Assign, ast.AnnAssign)) and _is_number(line.value):
                    first = line.targets[0] if isinstance(line, ast.Assign) else line.target
                    found += len(first.elts) if isinstance(first, ast.Tuple) else 1
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            positional = [*node.args.posonlyargs, *node.args.args]
            defaults = [None] * (len(positional) - len(node.args.defaults)) + node.args.defaults
            pairs = [*zip(positional, defaults, strict=True)]
            pairs += zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
            private = node.name.startswith("_")
            found += sum(
                _is_number(default) and (private or parameter.arg.startswith("_"))
                for parameter, default in pairs
            )
    return found


def constants() -> int:
    """Prints the numeric constants by folder."""
    counts: Counter[str] = Counter()
    for folder, file in _product_files():
        counts[folder] += count_constants(file.read_text("utf-8"))
    return _print_counts(counts, "numeric constants")


def benchmarks() -> int:
    """Prints the pages of the benchmarks, the oldest first: later commits, commit, date, page."""
    pages = sorted(
        ages(ROOT / "benchmarks" / "results", _PRODUCT), key=lambda x: (x.day, -x.commits)
    )
    for one in pages:
        age = f"{one.commits:5}  {one.commit:8}  {one.day}" if one.commit else "no line 'Made at'"
        sys.stdout.write(f"{age:27}  {one.page}\n")
    return 0


_PROSE = (*_PRODUCT, "tests", "docs", "benchmarks", "tasks", "README.md", "CONTRIBUTING.md")
"""Folders and files whose texts keep the rules of docs/style.md."""


def prose(paths: Sequence[str] = (), kept: Sequence[str] = KINDS) -> int:
    """Prints each text that does not keep a rule, and their number by kind of text.

    Args:
        paths: files and folders; none for all texts of the project.
        kept: kinds of text in which a flaw is an error.
    """
    found: list[Flaw] = []
    for one in paths or _PROSE:
        path = ROOT / one
        if not path.exists():
            raise SystemExit(f"prose: there is no {one}; expected files and folders")
        for file in files_with_prose(path, ROOT):
            found += [flaw for text in texts_of(file, ROOT) for flaw in flaws(text)]
    sys.stdout.writelines(f"{flaw}\n" for flaw in found)
    number = Counter(flaw.text.kind for flaw in found)
    sys.stdout.writelines(f"{number[kind]:7}  {kind}\n" for kind in KINDS)
    return int(any(number[kind] for kind in kept))


_TASKS: dict[str, Callable[[], int]] = {
    "lint": lambda: run(_LINT),
    "types": lambda: run(_TYPES),
    "docs": lambda: run(_DOCS),
    "tests": lambda: run(_TESTS),
    "quick": lambda: run([*_LINT, *_TYPES, *_QUICK]),
    "all": lambda: run([*_LINT, *_TYPES, *_DOCS, *_TESTS]),
    "coverage": coverage,
    "lowest": lowest,
    "mutations": mutations,
    "theorems": theorems,
    "lines": lines,
    "constants": constants,
    "benchmarks": benchmarks,
    "nightly": lambda: nightly(ROOT),
}


_WITH_ARGUMENTS: dict[str, Callable[[Sequence[str]], int]] = {"busy": busy, "prose": prose}


def main() -> int:
    """Runs a task; its exit code."""
    name, *more = sys.argv[1:] or ["all"]
    if name in _WITH_ARGUMENTS:
        return _WITH_ARGUMENTS[name](more)
    if more:
        sys.stderr.write(f"{name} takes no arguments\n")
        return 2
    if name not in _TASKS:
        sys.stderr.write(f"no task {name!r}; there are: {', '.join([*_TASKS, *_WITH_ARGUMENTS])}\n")
        return 2
    return _TASKS[name]()
