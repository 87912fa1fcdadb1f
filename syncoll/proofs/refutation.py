"""Refutations: the claim that an instance has no algorithm, in a folder with its proof.

Three files; the first one names the others::

    NAME.refutation.json    the instance, and how it becomes clauses
    NAME-HASH.drat[.gz]     the proof that the clauses are unsatisfiable
    NAME.cnf[.gz]           the clauses, for other checkers; never read here

`check_refutation` encodes the file's instance anew, lowers it to clauses, and checks the proof
against these by `syncoll.trust.drat`, without a solver.  No other entry of the file can make a
wrong claim pass; the hashes only distinguish a damaged file, or another version's encoding, from a
wrong proof.

A refutation is about chunks, nodes, links and bandwidths.  The names of topology and collective,
and C, are labels, which `check_refutation` compares with a given topology and collective.
"""

import gzip
import hashlib
import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from syncoll.certificates import ChunkClasses
from syncoll.documents.document import digest, read_document
from syncoll.documents.outcome import (
    FormulaRecord,
    QuestionRecord,
    RefutationProofRecord,
    RefutationRecord,
)
from syncoll.documents.problem import instance_of, topology_of
from syncoll.documents.record import written
from syncoll.documents.versions import versioned
from syncoll.documents.written_problem import file_entries, interconnect_record, problem_entries
from syncoll.errors import FileFormatError, ModelError, SyncollError, UsageError, VerificationError
from syncoll.formula import Feature, Formula, FormulaBuilder
from syncoll.lowerings import lower
from syncoll.model import Collective, Instance, Topology
from syncoll.plugins import Options, PluginManager, resolve_options
from syncoll.results import Frontier, Refuted, refuted_instance
from syncoll.trust.drat import ProofCheck, check_rup
from syncoll.trust.same_problem import require_same_instance, require_same_topology
from syncoll.version import __version__
from syncoll.wording import argument, counted

LARGEST_PROOF = 1 << 30
"""Bytes, unzipped, of the largest proof that is read."""

_MOST_CELLS = 50_000_000
"""Chunks x links x steps, and steps x rounds, of the largest instance that is encoded."""


@dataclass(frozen=True, eq=False)
class Clauses:
    """An instance as clauses, with literals as in DIMACS without the closing 0, and the encoding, a
    value for each of its options, and the lowerings, in order, that made them."""

    encoding: str
    options: Options
    lowerings: tuple[str, ...]
    num_variables: int
    clauses: list[list[int]]

    def formula(self) -> Formula:
        """The clauses as a formula, for a solver."""
        builder = FormulaBuilder()
        builder.booleans(self.num_variables)
        for clause in self.clauses:
            builder.clause(clause)
        return builder.build()

    def dimacs(self) -> bytes:
        """The DIMACS text: a head, then a clause a line, each closed by 0."""
        lines = [" ".join(map(str, (*clause, 0))) for clause in self.clauses]
        head = f"p cnf {self.num_variables} {len(lines)}"
        return "\n".join([head, *lines, ""]).encode("ascii")


@dataclass(frozen=True, eq=False)
class CheckedRefutation:
    """A refutation whose proof was checked: its instance has no algorithm, not even with fewer
    steps or rounds.  Topology and collective may be compared with given ones."""

    instance: Instance
    clauses: Clauses
    proof: ProofCheck
    record: RefutationRecord
    compared: bool = False

    @property
    def encoding(self) -> str:
        """The name of the encoding."""
        return self.clauses.encoding

    @property
    def claim(self) -> str:
        """The claim in words; it attributes labels to the file unless they were compared."""
        i = self.instance
        costs = (
            f"no algorithm of at most {counted(i.steps, 'step')} and {counted(i.rounds, 'round')}"
        )
        if self.compared:
            return f"{i.collective} on {i.topology.name} with C = {i.chunks} has {costs}"
        return (
            f"{costs} meets the demands in the file on its {counted(i.num_chunks, 'chunk')}; it "
            f"calls this {i.collective} on {i.topology.name} with C = {i.chunks}"
        )


def to_clauses(
    manager: PluginManager, instance: Instance, encoding: str, options: Mapping[str, object]
) -> Clauses:
    """An instance as clauses; imports no solver.  Raises `UsageError` if the encoding does not take
    instances of this kind, or the rounds of each step are given, which proves nothing about others.
    Raises `FormulaTooLargeError` if the formula would not fit in memory, and `PluginError` for an
    unknown encoding or option."""
    if instance.rounds_per_step is not None:
        raise UsageError(
            "the rounds of each step are given, so that nothing follows for other rounds"
        )
    record = manager.encodings[encoding]
    if record.combining != instance.combining:
        takes = "combining" if record.combining else "non-combining"
        raise UsageError(f"encoding {encoding} takes only {takes} collectives")
    if instance.topology.counts_copies and not record.counts_copies:
        raise UsageError(
            f"encoding {encoding} counts every send, and switches of {instance.topology.name} "
            "copy or add up some of them: its formulas prove nothing there"
        )
    values = resolve_options(record.options, options, f"encoding {encoding}")
    instance = instance.in_grains
    lowered = lower(record.load().encode(instance, values).formula, frozenset({Feature.CLAUSE}))
    return Clauses(
        encoding,
        values,
        tuple(stage.name for stage in lowered.stages),
        lowered.formula.num_booleans,
        clause_lists(lowered.formula),
    )


def clause_lists(formula: Formula) -> list[list[int]]:
    """The clauses, each with the negation of its enforcer as its last literal.  Raises `UsageError`
    if the formula has rows of another kind, or integers."""
    others = formula.size().features - {Feature.CLAUSE}
    if others:
        raise UsageError(f"a formula with {', '.join(sorted(others))} has more than clauses")
    return [
        [*literals, -enforcer] if enforcer else literals for literals, enforcer in formula.clauses()
    ]


def question_of(instance: Instance, encoding: str, options: Options) -> str:
    """A SHA-256 of the instance and the way to clauses, for names of files."""
    question = QuestionRecord(
        **problem_entries(instance),
        interconnect=interconnect_record(instance.topology),
        nodes=instance.topology.num_nodes,
        encoding=encoding,
        encoding_options=dict(options),
    )
    text = json.dumps(written(question), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def refutation_document(
    instance: Instance,
    clauses: Clauses,
    solver: str,
    proof: bytes,
    proof_file: str,
    formula_file: str,
) -> dict[str, Any]:
    """A refutation as the document ``syncoll/refutation/N``, of the proof in textual DRAT and the
    names of its file and of the DIMACS file.  The solver is in words."""
    record = RefutationRecord(
        **file_entries(instance.topology, instance.collective),
        **problem_entries(instance),
        encoding=clauses.encoding,
        encoding_options=dict(clauses.options),
        lowerings=clauses.lowerings,
        solver=solver,
        formula=FormulaRecord(
            clauses.num_variables,
            len(clauses.clauses),
            hashlib.sha256(clauses.dimacs()).hexdigest(),
            formula_file,
        ),
        proof=RefutationProofRecord(
            "drat", proof_file, len(proof), hashlib.sha256(proof).hexdigest()
        ),
        digest="",
    )
    document = versioned("refutation", record)
    return {**document, "digest": digest(document)}


def check_refutation(
    path: Path,
    manager: PluginManager | None = None,
    *,
    topology: Topology | None = None,
    collective: Collective | None = None,
    hints: bool = False,
) -> CheckedRefutation:
    """Reads ``NAME.refutation.json`` and checks the proof in the same folder; needs no solver.

    Args:
        topology: the expected topology; None for any.
        collective: the expected collective; None for any.
        hints: whether to collect hints for `syncoll.trust.drat.lrat`.

    Raises:
        FileFormatError: if a file cannot be read, or is no refutation.
        PluginError: if the encoding is not installed.
        VerificationError: if the files do not belong together, are about another topology or
            collective, or the proof does not prove the claim.
    """
    kind, entries, record = read_document(path)
    if kind != "refutation":
        raise FileFormatError(f"{path}: expected a refutation, but this is a file of kind {kind}")
    if record.digest != digest(entries):
        raise VerificationError(f"{path}: the file was changed after it was written (digest)")
    try:
        instance = instance_of(record, topology_of(record), record.collective)
        _require_small(instance)
    except (FileFormatError, ModelError) as error:
        raise FileFormatError(f"{path}: {error}") from error
    try:
        if topology is not None:
            require_same_topology(instance.topology, topology)
        if collective is not None:
            require_same_instance(instance, collective)
    except SyncollError as error:
        raise VerificationError(f"{path}: {error}") from error
    proof = read_proof(path.parent, record.proof)
    try:
        clauses = to_clauses(
            manager or PluginManager.discover(), instance, record.encoding, record.encoding_options
        )
        _compare_formula(record, clauses)
    except UsageError as error:
        raise FileFormatError(f"{path}: {error}") from error
    except SyncollError as error:
        raise type(error)(f"{path}: {error}") from error
    lines = proof.decode("latin-1").splitlines()
    check = check_rup(clauses.num_variables, clauses.clauses, lines, hints=hints)
    name = path.parent / record.proof.file
    if not check.proved:
        where = f"{name}:{check.line}" if check.line is not None else str(name)
        raise VerificationError(f"{where}: not a proof: {check.message}")
    compared = topology is not None and collective is not None
    return CheckedRefutation(instance, clauses, check, record, compared)


def _require_small(instance: Instance) -> None:
    """Raises an error if the instance's formula would be too large for any solver."""
    cells = instance.steps * max(instance.num_chunks * len(instance.topology.links), 1)
    if max(cells, instance.steps * instance.rounds) > _MOST_CELLS:
        raise FileFormatError(
            f"the refuted formula has {instance.steps} steps, {instance.rounds} rounds, "
            f"{counted(instance.num_chunks, 'chunk')} and "
            f"{counted(len(instance.topology.links), 'link')}; expected at most {_MOST_CELLS:,} "
            "steps times chunks times links, and as many steps times rounds"
        )


def _compare_formula(record: RefutationRecord, clauses: Clauses) -> None:
    """Checks that the clauses are the solver's: otherwise the proof would fail without a reason."""
    stated = record.formula
    if dict(clauses.options) != record.encoding_options:
        raise VerificationError(
            f"encoding {clauses.encoding} has the options {dict(clauses.options)} here, not "
            f"{record.encoding_options}"
        )
    made = (clauses.lowerings, clauses.num_variables, len(clauses.clauses))
    same = made == (record.lowerings, stated.variables, stated.clauses)
    if not same or hashlib.sha256(clauses.dimacs()).hexdigest() != stated.sha256:
        raise VerificationError(
            f"the instance's clauses by encoding {clauses.encoding} differ from the file's: it "
            f"was changed, or written by another version (syncoll {record.version or '?'}, this "
            f"is {__version__}); write the proof anew, or check it with that version"
        )


def read_proof(folder: Path, stated: RefutationProofRecord) -> bytes:
    """The proof, unzipped.  Raises `FileFormatError` if it cannot be read, and `VerificationError`
    if its size or hash differs."""
    path = folder / stated.file
    if stated.bytes > LARGEST_PROOF:
        raise FileFormatError(f"{path}: a proof of more than {LARGEST_PROOF >> 20} MiB is not read")
    try:
        with path.open("rb") as file:
            if path.suffix == ".gz":
                with gzip.open(file) as unzipped:
                    proof = unzipped.read(stated.bytes + 1)
            else:
                proof = file.read(stated.bytes + 1)
    except (OSError, EOFError, zlib.error) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise FileFormatError(f"cannot read {path}: {reason}") from None
    if len(proof) != stated.bytes or hashlib.sha256(proof).hexdigest() != stated.sha256:
        raise VerificationError(f"{path}: not the proof that the refutation names (size or hash)")
    return proof


class FileWitness:
    """Checks the proof files of refutations in a folder; a `syncoll.trust.claims.Witness`.  Raises
    `UsageError` if there is no such folder: a frontier without refutations would pass."""

    def __init__(self, folder: Path, manager: PluginManager | None = None) -> None:
        if not folder.is_dir():
            raise UsageError(f"{argument('proofs')}: there is no folder {folder}")
        self.folder, self.manager = folder, manager

    def __call__(
        self, refuted: Refuted, frontier: Frontier, *, hints: bool = False
    ) -> CheckedRefutation:
        """The checked file, with hints if asked for.  Raises `VerificationError` if it does not
        prove that the algorithm does not exist, or is about another algorithm, and
        `FileFormatError` if it cannot be read."""
        assert refuted.file is not None
        assert frontier.evidence is not None
        if Path(refuted.file).name != refuted.file:
            raise VerificationError(f"the proof file {refuted.file!r} is not the name of a file")
        path = self.folder / refuted.file
        meant = refuted_instance(frontier.evidence, refuted, frontier.topology, frontier.collective)
        found = check_refutation(path, self.manager, topology=meant.topology, hints=hints)
        proved = found.instance
        shapes = {
            ChunkClasses.of(one, meant.chunks, combining=meant.combining) for one in (proved, meant)
        }
        same = proved.combining == meant.combining and len(shapes) == 1
        if not same or proved.steps < refuted.steps or proved.rounds < refuted.rounds:
            raise VerificationError(
                f"{path} does not prove that there is no algorithm with S = {refuted.steps}, R "
                f"= {refuted.rounds}, C = {refuted.chunks}"
            )
        return found
