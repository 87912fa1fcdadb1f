"""Writes the claims of a frontier as a theorem: a plain text, and a program that accepts only
claims that hold.  The soundness of this program is proved in Coq.  A reader who trusts Coq and the
page Definitions.v, which states the claims, need not trust syncoll.

The folder has the text, the proofs and a Makefile.  `make -C theorem` compiles the proofs and
checks the text; --check does the same.  `make -C theorem theorem` lets Coq itself check it, without
the extracted program, and ends with the axioms of the theorem: none.  Both need coqc and ocamlopt.

Covered are algorithms, the least number of steps, and all bounds but those by switches that add up.
A point whose bound they prove is proved to be optimal.  With --proofs, so are clauses of solvers'
refutations to have no model; that each algorithm is a model of them is assumed.  Assumptions and
claims that are left out are named, and with --check the exit code is 4 then.  A claim that does not
hold is refused with its place, and the exit code is 2.  docs/theorems.md explains the text.

  syncoll theorem frontier.json -o theorem
  syncoll theorem frontier.json -o theorem --check
  syncoll theorem frontier.json -o theorem --proofs proofs
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from syncoll.errors import UsageError, VerificationError
from syncoll.verbs.asking import session_for, verb
from syncoll.verbs.declaration import Shell

if TYPE_CHECKING:
    from syncoll.documents import read_file
    from syncoll.documents.document import read_text
    from syncoll.proofs.theorem import theorem_text
    from syncoll.proofs.verified import proved_claims, refutation_files, write_theorem
    from syncoll.results import Refuted
    from syncoll.verbs.theorem.result import TheoremResult

SHELL = Shell(
    {
        "source": ("source FILE", "a frontier or bounds, saved with -o"),
        "folder": "-o, --output FOLDER = theorem",
    }
)


@verb
def theorem(
    source: str | Path,
    folder: str | Path = "theorem",
    *,
    proofs: str | Path | None = None,
    check: bool = False,
) -> TheoremResult:
    """A frontier as a theorem that a verified program accepts.

    Args:
        source: the file of a frontier or of bounds.
        folder: where the text, the proofs and a Makefile are written; files of the same names are
            replaced.
        proofs: the folder of the proof files that refutations name; without it refutations are left
            out.
        check: whether to compile the proofs and to check the text.

    Raises:
        UsageError: if it is no frontier, its machine is not covered, or a program is missing.
        VerificationError: if the verified program refuses a claim, an entry of the file is not as
            specified, or a proof does not hold or needs RAT.
        ExecutionError: if the proofs do not compile.
    """
    path, where = Path(source), Path(folder)
    try:
        refuted, files = list[Refuted](), dict[str, bytes]()
        if proofs is not None:
            frontier = read_file(path, ("frontier",), "theorem").claims()
            refuted, files = refutation_files(frontier, Path(proofs), session_for().plugins)
        text = theorem_text(read_text(path).encode(), len(refuted))
        write_theorem(where, text.text, files)
        claims = tuple(proved_claims(where)) if check else None
    except (UsageError, VerificationError) as error:
        raise type(error)(f"{source}: {error}") from error
    return TheoremResult(path, where, text, tuple(refuted), claims)
