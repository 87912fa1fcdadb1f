"""The verified checker of `theorems/`: its sources in a folder of their own, and a run of it."""

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import syncoll
from syncoll.documents import write_folder
from syncoll.errors import ExecutionError, UsageError, VerificationError
from syncoll.plugins import PluginManager
from syncoll.proofs.refutation import FileWitness
from syncoll.results import Frontier, Refuted
from syncoll.trust.drat import lrat

TEXT = "frontier.txt"
"""The name of the text in a folder; the Makefile has it, too."""

_TOOLS = {"make": "make", "coqc": "coq", "ocamlopt": "ocaml-nox"}
"""By program the package of Debian that has it."""

_SHIPPED = ("*.v", "main.ml", "Makefile")


def _sources() -> Path:
    """The folder of the proofs: in a checkout it is next to the package, else inside."""
    package = Path(syncoll.__file__).parent
    return next(one for one in (package / "theorems", package.parent / "theorems") if one.is_dir())


def refutation_files(
    frontier: Frontier, proofs: Path, manager: PluginManager
) -> tuple[list[Refuted], dict[str, bytes]]:
    """The refutations of a frontier that have a proof, and for each its clauses in DIMACS and its
    proof in LRAT, by the names of their files.

    Raises:
        VerificationError: if a proof is wrong, or needs RAT.
        FileFormatError: if a proof cannot be read.
    """
    proved = () if frontier.evidence is None else frontier.evidence.proofs
    used = dict.fromkeys(one for proof in proved for one in proof.refuted if one.file is not None)
    witness, files = FileWitness(proofs, manager), dict[str, bytes]()
    for i, one in enumerate(used):
        found = witness(one, frontier, hints=True)
        files[f"refuted-{i}.cnf"] = found.clauses.dimacs()
        try:
            files[f"refuted-{i}.lrat"] = lrat(found.proof).encode()
        except VerificationError as error:
            raise VerificationError(f"{one.file}: {error}") from error
    return list(used), files


def write_theorem(folder: Path, text: str, refutations: Mapping[str, bytes]) -> None:
    """Writes a text, the files of refutations, the proofs and their Makefile into a folder.  Raises
    `UsageError` if they cannot be written there."""
    sources = _sources()
    files = {one.name: one.read_bytes() for kind in _SHIPPED for one in sources.glob(kind)}
    names = [name.removesuffix(".cnf") for name in refutations if name.endswith(".cnf")]
    made = {TEXT: text.encode(), "refuted.mk": f"REFUTED = {' '.join(names)}\n".encode()}
    new = {  # files that stay are not compiled again
        name: content
        for name, content in {**files, **refutations, **made}.items()
        if not (folder / name).is_file() or (folder / name).read_bytes() != content
    }
    write_folder(folder, new)


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
    built = _make(folder, "checker")
    if built.returncode != 0:
        lines = built.stderr.strip().splitlines()[-12:]
        raise ExecutionError("\n".join([f"the proofs in {folder} do not compile", *lines]))
    judged = _make(folder, "check")
    if judged.returncode != 0:
        raise VerificationError(judged.stderr.strip().splitlines()[0])
    lines = judged.stdout.splitlines()
    return [line.removeprefix("proved: ") for line in lines if line.startswith("proved: ")]


def _make(folder: Path, target: str) -> subprocess.CompletedProcess[str]:
    command = ["make", "-s", "-C", str(folder), target]
    return subprocess.run(command, capture_output=True, text=True, check=False)
