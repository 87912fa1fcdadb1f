"""The verified checker of `theorems/`: its sources in a folder of their own, and a run of it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import syncoll
from syncoll.documents import write_folder
from syncoll.errors import ExecutionError, UsageError, VerificationError

__all__ = ["TEXT", "proved_claims", "write_theorem"]

TEXT = "frontier.txt"
"""The name of the text in a folder; the Makefile has it, too."""

_TOOLS = {"make": "make", "coqc": "coq", "ocamlopt": "ocaml-nox"}
"""By program the package of Debian that has it."""

_SHIPPED = ("*.v", "main.ml", "Makefile")


def _sources() -> Path:
    """The folder of the proofs: in a checkout it is next to the package, else inside."""
    package = Path(syncoll.__file__).parent
    return next(one for one in (package / "theorems", package.parent / "theorems") if one.is_dir())


def write_theorem(folder: Path, text: str) -> None:
    """Writes a text, the proofs and their Makefile into a folder.  Raises `UsageError` if they
    cannot be written there."""
    sources = _sources()
    files = {one.name: one.read_bytes() for kind in _SHIPPED for one in sources.glob(kind)}
    files[TEXT] = text.encode()
    if folder.is_dir():  # files that stay are not compiled again
        present = {name: folder / name for name in files if (folder / name).is_file()}
        files = {
            name: content
            for name, content in files.items()
            if name not in present or present[name].read_bytes() != content
        }
    write_folder(folder, files)


def proved_claims(folder: Path) -> list[str]:
    """The claims that the verified checker accepts, after compiling the proofs.

    Raises:
        UsageError: if a program is missing.
        VerificationError: if the checker refuses the text.
        ExecutionError: if the proofs do not compile.
    """
    missing = [program for program in _TOOLS if shutil.which(program) is None]
    if missing:
        packages = " ".join(_TOOLS[program] for program in missing)
        raise UsageError(
            f"{', '.join(missing)}: not found, and the proofs need it; on Debian, "
            f"apt-get install --no-install-recommends {packages}"
        )
    built = _run(["make", "-s", "-C", str(folder), "checker"])
    if built.returncode != 0:
        lines = built.stderr.strip().splitlines()[-12:]
        raise ExecutionError("\n".join([f"the proofs in {folder} do not compile", *lines]))
    judged = _run([str(folder.absolute() / "checker"), str(folder / TEXT)])
    if judged.returncode != 0:
        raise VerificationError(judged.stderr.strip())
    lines = judged.stdout.splitlines()
    return [line.removeprefix("proved: ") for line in lines if line.startswith("proved: ")]


def _run(command: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False)
