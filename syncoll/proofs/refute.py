"""Writes refutations: solves an instance without an algorithm once more, with proof tracing.

The backend runs in a worker process and writes its proof into a temporary folder next to the
target.  The proof is checked and trimmed before the files get their names, the document last.  An
interrupted run therefore leaves no file that looks like a refutation.
"""

import gzip
import hashlib
import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from syncoll.deadline import Deadline
from syncoll.documents.atomic import remove_empty, write_atomically, write_document
from syncoll.documents.document import digest, read_document
from syncoll.documents.problem import instance_of, topology_of
from syncoll.errors import (
    BackendError,
    FileFormatError,
    FormulaTooLargeError,
    ModelError,
    PluginError,
    UsageError,
    VerificationError,
)
from syncoll.formula import Limits, Verdict
from syncoll.model import Instance
from syncoll.plugins import PluginManager, resolve_options
from syncoll.proofs.refutation import (
    LARGEST_PROOF,
    Clauses,
    question_of,
    read_proof,
    refutation_document,
    to_clauses,
)
from syncoll.solving import SolverProcess
from syncoll.solving.members import AUTO, choose_encoding, choose_prover
from syncoll.trust.drat import ProofVerdict, check_rup, trimmed

_ZIPPED_FROM = 1 << 20
"""Larger proofs and formulas, in bytes, are gzipped."""


@dataclass(frozen=True)
class Refuting:
    """The result of writing a refutation.

    Args:
        reason: why there is no file, or why its proof is unchecked; may be empty.
        reused: whether the file was there before.
        checked: whether its proof was checked before it was written.
    """

    file: Path | None
    reason: str = ""
    reused: bool = False
    checked: bool = False


def refute_with_proof(
    instance: Instance,
    folder: Path,
    manager: PluginManager,
    *,
    encoding: str | None = None,
    encoding_options: Mapping[str, object] | None = None,
    seconds: float | None = None,
    memory_bytes: int | None = None,
    largest_proof: int = 128 << 20,
    seed: int = 0,
) -> Refuting:
    """Writes a refutation of an instance that is known to have no algorithm.

    Its name has a hash of the instance and the encoding: an existing refutation is kept, and
    processes may write the same one at once.

    Args:
        instance: without given rounds of each step.
        folder: created if missing.
        encoding: None for the default.
        seconds: time limit for solving and checking together; a proof that is not checked in time
            is written unchecked and untrimmed, and the reason says so.
        memory_bytes: limit of the solver's process.
        largest_proof: bytes at which the solver is stopped; checking takes twenty times as much
            memory.

    Raises:
        BackendError: if the backend found an algorithm, or wrote a proof that proves nothing.
        PluginError: for an unknown encoding, or an option that it does not have.
        UsageError: if the folder cannot be written, or the instance cannot be refuted.
        KeyboardInterrupt: passed on, without remaining files.
    """
    try:
        prover = choose_prover(manager, combining=instance.combining)
    except PluginError as error:  # the answer stands without a proof
        return Refuting(None, str(error))
    own_options = resolve_options(prover.options, {}, f"backend {prover.name}")
    until = Deadline.after(seconds)

    record = choose_encoding(manager, encoding or AUTO, combining=instance.combining)
    name = record.name
    options = resolve_options(record.options, encoding_options or {}, f"encoding {name}")
    question = question_of(instance, name, options)
    base = _base_name(instance, question)
    target = folder / f"{base}.refutation.json"
    if _is_there(target, question):
        return Refuting(target, reused=True)
    try:
        clauses = to_clauses(manager, instance, name, options)
    except (FormulaTooLargeError, MemoryError) as error:
        return Refuting(None, str(error) or "no memory was left for the formula")
    new = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".", suffix=".part", dir=folder) as own:
            traced = Path(own).resolve() / "proof"
            limits = Limits(until.seconds, memory_bytes, seed=seed, proof=traced)
            most = min(largest_proof, LARGEST_PROOF)
            try:
                with SolverProcess(prover) as process:
                    outcome = process.solve(
                        clauses.formula(),
                        limits,
                        own_options,
                        should_stop=lambda: _size(traced) > most,
                    )
            except PluginError as error:  # the answer stands without a proof
                return Refuting(None, str(error))
            if outcome.verdict is Verdict.SAT:
                raise BackendError(
                    f"backend {prover.name} found a model of a formula that was refuted: one of "
                    "the two is wrong"
                )
            if _size(traced) > most:
                return Refuting(None, f"the proof grew larger than {most >> 20} MiB")
            if outcome.verdict is Verdict.UNKNOWN:
                why = f": {outcome.message}" if outcome.message else ""
                return Refuting(None, f"backend {prover.name} stopped ({outcome.reason}{why})")
            if outcome.proof is None:
                reason = f"backend {prover.name} wrote no proof, though its record says it does"
                return Refuting(None, reason)
            proof, reason = _checked(clauses, traced, until, prover.name)
            parts = [f"backend {prover.name}", prover.installed().reason]
            parts += [f"{name}={value}" for name, value in own_options.items()]
            described = ", ".join(part for part in (*parts, outcome.message) if part)
            _write(instance, clauses, described, proof, target, base)
    except OSError as error:
        raise UsageError(f"cannot write into {folder}: {error.strerror or error}") from error
    finally:
        for path in new:  # empty folders
            remove_empty(path)
    return Refuting(target, reason, checked=not reason)


def _checked(clauses: Clauses, traced: Path, until: Deadline, backend: str) -> tuple[bytes, str]:
    """The trimmed proof; if it was not checked in time, the whole one and a reason."""
    whole = traced.read_bytes()
    lines = whole.decode("latin-1").splitlines()
    about = clauses.num_variables, clauses.clauses, lines
    check = check_rup(*about, should_stop=lambda: until.passed)
    if check.proved:
        return "\n".join([*trimmed(lines, check), ""]).encode("ascii"), ""
    if check.verdict is ProofVerdict.STOPPED:
        return whole, "the proof was not checked in time; check the file"
    raise BackendError(
        f"backend {backend} wrote a proof that proves nothing: line {check.line}: {check.message}"
    )


def _write(
    instance: Instance, clauses: Clauses, solver: str, proof: bytes, target: Path, base: str
) -> None:
    """Writes proof and formula first: the document never names a missing file."""
    # Another process may write another proof of the same question.
    proof_name = f"{base}-{hashlib.sha256(proof).hexdigest()[:8]}.drat"
    proof_name = _put(proof, target.parent, proof_name)
    formula_name = _put(clauses.dimacs(), target.parent, f"{base}.cnf")
    document = refutation_document(instance, clauses, solver, proof, proof_name, formula_name)
    write_document(target, document)


def _put(content: bytes, folder: Path, name: str) -> str:
    """Writes a file, gzipped when it is large; returns its name."""
    if len(content) >= _ZIPPED_FROM:
        name, content = f"{name}.gz", gzip.compress(content, mtime=0)
    write_atomically(folder / name, content)
    return name


def _base_name(instance: Instance, question: str) -> str:
    """A readable name of the files, with a hash of the question."""
    words = re.sub(r"[^A-Za-z0-9]+", "-", f"{instance.topology.name}-{instance.collective}")
    words = words.strip("-")[:60].rstrip("-") or "instance"
    numbers = f"C{instance.chunks}-S{instance.steps}-R{instance.rounds}".replace("/", "_")
    return f"{words}-{numbers}-{question[:12]}"


def _is_there(target: Path, question: str) -> bool:
    """Whether the file is a whole refutation of this question; a broken one is written anew."""
    try:
        kind, entries, record = read_document(target)
        if kind != "refutation" or record.digest != digest(entries):
            return False
        read_proof(target.parent, record.proof)
        instance = instance_of(record, topology_of(record), record.collective)
    except (FileFormatError, ModelError, VerificationError):
        return False
    return question == question_of(instance, record.encoding, record.encoding_options)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
