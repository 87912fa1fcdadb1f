"""Checks a proof of unsatisfiability by unit propagation, without a solver.

A proof in the DRUP or DRAT format lists lemmas (learnt clauses) and deletions, and ends when the
empty clause follows.  A lemma has reverse unit propagation (RUP) if assuming all its literals false
leads to a conflict by unit propagation: it follows from the clauses before it (Goldberg and
Novikov, DATE 2003).  A lemma with the resolution asymmetric tautology property (RAT) on its first
literal preserves satisfiability: every resolvent with an active clause on that literal has RUP
(Jaervisalo, Heule and Biere, IJCAR 2012).

The proof is checked backwards (Heule, Hunt and Wetzler, FMCAD 2013).  A forward pass adds lemmas
unchecked until top-level propagation meets a conflict.  A backward pass removes them, last first,
and only checks lemmas that a later check used; marked clauses are propagated first, to mark few.

With hints the result can be written as LRAT, which verified checkers read (Cruz-Filipe et al., CADE
2017): for each lemma the clauses that become unit one after the other, up to the conflict.

Deletions of absent clauses, and of reasons for top-level literals, are ignored: the proof without
them proves the same.  Pure Python visits some hundred thousand clauses a second.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from syncoll.errors import VerificationError

_ADD, _DELETE = 0, 1
_LONGEST_SHOWN = 60
_STEPS_BETWEEN_LOOKS = 50


class ProofVerdict(StrEnum):
    """The verdict on a proof."""

    PROVED = "proved"
    NOT_PROVED = "not proved"
    STOPPED = "stopped"  # without a result


@dataclass(frozen=True)
class ProofCheck:
    """The result of a check of a proof.

    Args:
        verdict: proved only if the clauses are unsatisfiable.
        message: the error; empty when proved.
        line: the failing line of the proof, from 1; None if no single line fails.
        lemmas: number of lemmas in the proof, up to the conflict.
        lemmas_checked: the lemmas that the conflict depends on.
        rat_lemmas: checked lemmas that needed RAT.
        core_lines: the lines that suffice for a proof, in order; see `trimmed`.
        hinted: with hints, for each of these lemmas its number, its literals and the numbers of
            the clauses of its conflict; clauses of the formula have the numbers from 1 on.
    """

    verdict: ProofVerdict
    message: str = ""
    line: int | None = None
    lemmas: int = 0
    lemmas_checked: int = 0
    rat_lemmas: int = 0
    core_lines: tuple[int, ...] = field(default=(), repr=False)
    hinted: tuple[tuple[int, tuple[int, ...], tuple[int, ...]], ...] = field(default=(), repr=False)

    @property
    def proved(self) -> bool:
        """Whether the clauses are unsatisfiable."""
        return self.verdict is ProofVerdict.PROVED


def trimmed(proof: Sequence[str], check: ProofCheck) -> list[str]:
    """The lines of a proof that its conflict depends on: a proof by itself.  Raises
    `VerificationError` if the check did not pass."""
    if not check.proved:
        raise VerificationError(f"a proof that is {check.verdict} has no part that proves")
    lines = [" ".join(proof[line - 1].split()) for line in check.core_lines]
    return lines if lines and lines[-1] == "0" else [*lines, "0"]


def lrat(check: ProofCheck) -> str:
    """A proof that was checked with hints as LRAT.  Raises `VerificationError` if the check did not
    pass, or a lemma needed RAT."""
    if not check.proved or check.rat_lemmas:
        raise VerificationError("lemmas follow by RAT" if check.proved else "it is not proved")
    lines = [
        " ".join(map(str, (number, *literals, 0, *hints, 0)))
        for number, literals, hints in check.hinted
    ]
    return "\n".join([*lines, ""])


def check_rup(
    num_variables: int,
    clauses: Iterable[Sequence[int]],
    proof: Iterable[str],
    *,
    every_lemma: bool = False,
    hints: bool = False,
    should_stop: Callable[[], bool] | None = None,
) -> ProofCheck:
    """Whether a proof in the textual DRUP or DRAT format proves that clauses are unsatisfiable.
    Raises `VerificationError` if a literal of the formula is not one of its variables.

    Args:
        num_variables: variables are 1 to this; a RAT lemma may bring new ones.
        clauses: the formula, literals as in DIMACS without the closing 0.
        proof: its lines: ``1 -2 0`` a lemma, ``d 1 -2 0`` a deletion, ``c …`` a comment.
        every_lemma: also check lemmas that the conflict does not depend on; the first wrong one is
            reported.
        hints: whether to collect hints, see `lrat`.
        should_stop: polled; True ends the check without an answer.
    """
    formula = [list(dict.fromkeys(clause)) for clause in clauses]
    for clause in formula:
        for literal in clause:
            if not 1 <= abs(literal) <= num_variables:
                raise VerificationError(f"{literal} is not a literal of {num_variables} variables")
    steps: list[Step] = []
    for number, text in enumerate(proof, 1):
        step = _parse(number, text)
        if isinstance(step, str):
            return ProofCheck(ProofVerdict.NOT_PROVED, step, number)
        if step is not None:
            steps.append(step)
    widest = max((abs(x) for _, _, literals in steps for x in literals), default=0)
    if widest > num_variables + len(steps):
        message = f"variable {widest} is named, but the formula has {num_variables}"
        return ProofCheck(ProofVerdict.NOT_PROVED, message)
    checker = _Checker(max(num_variables, widest), formula, should_stop or (lambda: False))
    checker.hints = {} if hints else None
    return checker.check(steps, every_lemma)


Step = tuple[int, int, list[int]]
"""The line, `_ADD` or `_DELETE`, and the literals."""


def _parse(number: int, text: str) -> Step | str | None:
    """A parsed line of a proof; an error text; or None for an empty line or a comment."""
    words = text.split()
    if not words or words[0] == "c":
        return None
    kind = _DELETE if words[0] == "d" else _ADD
    try:
        literals = list(map(int, words[kind == _DELETE :]))
    except ValueError:
        shown = text.strip()[:_LONGEST_SHOWN]
        return f"{shown!r} is not a line of a proof; expected literals and 0"
    if not literals or literals.pop() != 0 or 0 in literals:
        return "a line must end with its only 0"
    return number, kind, list(dict.fromkeys(literals))


class _Checker:
    """The state of a check.  Literals index lists directly: a list of ``2 * n + 1`` cells has its
    negative literals at its end.  A clause has no repeated literals and watches its first two."""

    def __init__(
        self, num_variables: int, formula: list[list[int]], should_stop: Callable[[], bool]
    ) -> None:
        cells = 2 * num_variables + 1
        self.clauses = formula
        self.num_formula = len(formula)
        self.should_stop = should_stop
        self.false = [False] * cells
        self.seen = [False] * (num_variables + 1)
        self.reasons: list[int] = [-1] * (num_variables + 1)
        self.watches: list[list[int]] = [[] for _ in range(cells)]
        self.core_watches: list[list[int]] = [[] for _ in range(cells)]
        self.marked = [False] * len(formula)
        self.active = [False] * len(formula)
        self.trail: list[int] = []
        self.rat_lemmas = 0
        self.checked = 0
        self.hints: dict[int, list[int]] | None = None
        self.latest: list[int] = []  # hints of the latest conflict

    # The passes.

    def check(self, steps: list[Step], every_lemma: bool) -> ProofCheck:
        """Forward until a conflict, then backward."""
        conflict = self._add_formula()
        applied: list[tuple[int, int, int, int]] = []  # line, kind, clause, trail before
        firsts: dict[int, int] = {}
        lemmas = 0
        by_literals: dict[tuple[int, ...], list[int]] = {}
        for i, clause in enumerate(self.clauses):
            by_literals.setdefault(tuple(sorted(clause)), []).append(i)
        for at, (line, kind, literals) in enumerate(steps):
            if conflict >= 0:
                break
            if at % _STEPS_BETWEEN_LOOKS == 0 and self.should_stop():
                return _stopped(lemmas)
            same = by_literals.setdefault(tuple(sorted(literals)), [])
            before = len(self.trail)
            if kind == _ADD:
                lemmas += 1
                i = len(self.clauses)
                self.clauses.append(literals)
                self.marked.append(every_lemma)
                self.active.append(False)
                firsts[i] = literals[0] if literals else 0
                same.append(i)
                applied.append((line, kind, i, before))
                conflict = self._add_clause(i)
            elif same and not self._is_reason(same[-1]):
                i = same.pop()
                applied.append((line, kind, i, before))
                self._detach(i)
        if conflict < 0:
            message = "the proof ends before the empty clause follows"
            return ProofCheck(ProofVerdict.NOT_PROVED, message, lemmas=lemmas)
        self._mark(conflict)
        self._mark_reasons(self.clauses[conflict])
        self._collect(self.clauses[conflict], conflict, ())
        if self.hints is not None and (self.clauses[conflict] or conflict < self.num_formula):
            self.hints[len(self.clauses)] = self.latest
        return self._backward(applied, firsts, every_lemma, lemmas)

    def _backward(
        self,
        applied: list[tuple[int, int, int, int]],
        firsts: dict[int, int],
        every_lemma: bool,
        lemmas: int,
    ) -> ProofCheck:
        wrong = 0, -1
        for at, (line, kind, i, before) in enumerate(reversed(applied)):
            if at % _STEPS_BETWEEN_LOOKS == 0 and self.should_stop():
                return _stopped(lemmas)
            if kind == _DELETE:
                self._attach(i)
                continue
            self._detach(i)
            self._undo(before)
            if not self.marked[i]:
                continue
            self.checked += 1
            if not self._lemma_holds(i, firsts[i]):
                wrong = line, i
                if not every_lemma:
                    break
        line, i = wrong
        if line:
            literals = self.clauses[i]
            shown = " ".join(map(str, sorted(literals, key=lambda x: x != firsts[i])))
            shown = shown if len(shown) < _LONGEST_SHOWN else f"{shown[:_LONGEST_SHOWN]} …"
            what = f"lemma ({shown})" if literals else "the empty clause"
            message = f"{what} follows neither by unit propagation nor as RAT"
            return ProofCheck(ProofVerdict.NOT_PROVED, message, line, lemmas, self.checked)
        return ProofCheck(
            ProofVerdict.PROVED,
            lemmas=lemmas,
            lemmas_checked=self.checked,
            rat_lemmas=self.rat_lemmas,
            core_lines=tuple(line for line, _, i, _ in applied if self.marked[i]),
            hinted=tuple(
                (i + 1, tuple(self.clauses[i]) if i < len(self.clauses) else (), tuple(own))
                for i, own in sorted((self.hints or {}).items())
            ),
        )

    # Clauses.

    def _add_formula(self) -> int:
        """Attaches the formula, propagates its units; the conflicting clause or -1."""
        units: list[int] = []
        for i, clause in enumerate(self.clauses):
            if not clause:
                return i
            if len(clause) == 1:
                self.active[i] = True
                units.append(i)
            else:
                self._attach(i)
        for i in units:
            literal = self.clauses[i][0]
            if self.false[literal]:
                return i
            if not self.false[-literal]:
                self._assign(literal, i)
        return self._propagate(0)

    def _add_clause(self, i: int) -> int:
        """Attaches a lemma with the right watches, propagates it; the conflicting clause or -1."""
        clause, false = self.clauses[i], self.false
        clause.sort(key=false.__getitem__)  # stable: the literals that are not false come first
        start = len(self.trail)
        if not clause or false[clause[0]]:
            self.active[i] = True
            if len(clause) > 1:
                self._attach(i)
            return i
        self._attach(i)
        if (len(clause) == 1 or false[clause[1]]) and not false[-clause[0]]:
            self._assign(clause[0], i)
            return self._propagate(start)
        return -1

    def _watching(self, i: int) -> list[list[int]]:
        clause = self.clauses[i]
        lists = self.core_watches if self.marked[i] else self.watches
        return [lists[literal] for literal in clause[:2]] if len(clause) > 1 else []

    def _attach(self, i: int) -> None:
        self.active[i] = True
        for watching in self._watching(i):
            watching.append(i)

    def _detach(self, i: int) -> None:
        self.active[i] = False
        for watching in self._watching(i):
            watching.remove(i)

    def _is_reason(self, i: int) -> bool:
        """Whether a top-level literal depends on a clause, which then must stay."""
        clause = self.clauses[i]
        return any(self.reasons[abs(x)] == i and self.false[-x] for x in clause[:2])

    # Propagation.

    def _assign(self, literal: int, reason: int) -> None:
        self.false[-literal] = True
        self.reasons[abs(literal)] = reason
        self.trail.append(literal)

    def _undo(self, length: int) -> None:
        false, seen = self.false, self.seen
        for literal in self.trail[length:]:
            false[-literal] = False
            seen[abs(literal)] = False
        del self.trail[length:]

    def _propagate(self, start: int) -> int:
        """Propagates the trail from a position on, marked clauses first; the conflict or -1."""
        trail, false, clauses, reasons = self.trail, self.false, self.clauses, self.reasons
        core_next = other_next = start
        while True:
            if core_next < len(trail):
                lists = self.core_watches
                literal = -trail[core_next]
                core_next += 1
            elif other_next < len(trail):
                lists = self.watches
                literal = -trail[other_next]
                other_next += 1
            else:
                return -1
            watching = lists[literal]
            if not watching:
                continue
            kept: list[int] = []
            lists[literal] = kept
            keep = kept.append
            rest = iter(watching)
            for i in rest:
                clause = clauses[i]
                other = clause[0]
                if other == literal:
                    other = clause[1]
                    if false[-other]:
                        keep(i)
                        continue
                    clause[0] = other
                    clause[1] = literal
                elif false[-other]:
                    keep(i)
                    continue
                for k in range(2, len(clause)):
                    new = clause[k]
                    if not false[new]:
                        clause[1] = new
                        clause[k] = literal
                        lists[new].append(i)
                        break
                else:
                    keep(i)
                    if false[other]:
                        kept.extend(rest)
                        return i
                    false[-other] = True
                    reasons[abs(other)] = i
                    trail.append(other)

    # Checks.

    def _mark(self, i: int) -> None:
        if not self.marked[i]:
            attached = self.active[i] and len(self.clauses[i]) > 1
            if attached:
                self._detach(i)
            self.marked[i] = True
            if attached:
                self._attach(i)

    def _mark_reasons(self, literals: Iterable[int]) -> None:
        """Marks the clauses that the values of literals depend on."""
        seen, reasons, clauses = self.seen, self.reasons, self.clauses
        todo = [abs(x) for x in literals]
        while todo:
            variable = todo.pop()
            if seen[variable]:
                continue
            seen[variable] = True
            reason = reasons[variable]
            if reason >= 0:
                self._mark(reason)
                todo.extend([abs(x) for x in clauses[reason]])

    def _lemma_holds(self, i: int, pivot: int) -> bool:
        """Whether a lemma, already taken away, has RUP, else RAT on its first literal."""
        start = len(self.trail)
        literals = self.clauses[i]
        if self._refuted(literals, start):
            self._undo(start)
            if self.hints is not None:
                self.hints[i] = self.latest
            return True
        good = pivot != 0 and self._rat(pivot)
        self.rat_lemmas += good
        self._undo(start)
        return good

    def _refuted(self, literals: Iterable[int], start: int) -> bool:
        """Whether assuming literals false meets a conflict; marks the clauses in it."""
        false = self.false
        for literal in literals:
            if false[-literal]:  # it is true: assuming it false is the conflict
                self._mark_reasons((literal,))
                self._collect((literal,), -1, literals)
                return True
            if not false[literal]:
                self._assign(-literal, -1)
        conflict = self._propagate(start)
        if conflict < 0:
            return False
        self._mark(conflict)
        self._mark_reasons(self.clauses[conflict])
        self._collect(self.clauses[conflict], conflict, literals)
        return True

    def _collect(self, literals: Iterable[int], conflict: int, assumed: Iterable[int]) -> None:
        """Collects the numbers of the reasons of literals, in the order of their assignment, and of
        the conflict; literals that are assumed false, and are false, need no reason."""
        if self.hints is None:
            return
        known = {abs(x) for x in assumed if self.false[x]}
        todo = [abs(x) for x in literals]
        used = set[int]()
        while todo:
            variable = todo.pop()
            if variable not in known:
                known.add(variable)
                if (reason := self.reasons[variable]) >= 0:
                    used.add(variable)
                    todo.extend([abs(x) for x in self.clauses[reason]])
        ordered = [self.reasons[abs(x)] for x in self.trail if abs(x) in used]
        self.latest = [one + 1 for one in (*ordered, conflict) if one >= 0]

    def _rat(self, pivot: int) -> bool:
        """Whether all resolvents on the pivot have RUP, the lemma being assumed false."""
        start = len(self.trail)
        for i, clause in enumerate(self.clauses):
            if self.active[i] and -pivot in clause:
                rest = [x for x in clause if x != -pivot]
                refuted = self._refuted(rest, start)
                self._undo(start)
                if not refuted:
                    return False
        return True


def _stopped(lemmas: int) -> ProofCheck:
    return ProofCheck(ProofVerdict.STOPPED, "stopped on request", lemmas=lemmas)
