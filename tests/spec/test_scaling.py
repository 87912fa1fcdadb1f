"""Proofs that a collective's tables are proportional to C: what they claim is true, and they do."""

from __future__ import annotations

import pickle
import random
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import syncoll_specs
from syncoll.errors import SpecError
from syncoll.model import Collective, RelationTable
from syncoll.spec import SpecLibrary
from syncoll.spec.forms import Form, Forms, Unproved
from syncoll.spec.module import Module
from syncoll.spec.parser import parse_file
from syncoll.spec.refinement import Budget, Refinement
from syncoll.spec.source import Source
from syncoll.spec.values import Scope

LIBRARY = SpecLibrary.load([Path(syncoll_specs.__file__).parent])

Write = Callable[..., Path]
Shares = dict[bytes, Fraction]


def shares_of(table: RelationTable, chunks: int) -> Shares:
    """How many chunks, per C, have each pair of rows."""
    rows = Counter(row.tobytes() for row in np.concatenate([table.pre, table.post], axis=1))
    return {row: Fraction(count, chunks) for row, count in rows.items()}


def tabulated(collective: Collective, nodes: int, most: int) -> dict[int, Shares]:
    """The shares for every C up to the most that is admitted and has a table."""
    found = {}
    for chunks in range(1, most + 1):
        try:
            if collective.admits(nodes, chunks):
                found[chunks] = shares_of(collective.tabulate(nodes, chunks), chunks)
        except SpecError:
            continue
    return found


def is_proportional(shares: dict[int, Shares]) -> bool:
    first = next(iter(shares.values()), None)
    return all(share == first for share in shares.values())


def made(path: Path, body: str) -> Collective:
    path.write_text(f"collective x {{ {body} }}\n")
    return LIBRARY.collective(str(path))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "x.syncoll"


ARGUMENTS = {
    "broadcast": ["broadcast", "broadcast(2)"],
    "gather": ["gather", "gather(3)"],
    "multi_broadcast": ["multi_broadcast(0)", "multi_broadcast(1, 3, 0)"],
    "multi_gather": ["multi_gather(0)", "multi_gather(1, 3)"],
    "multi_scatter": ["multi_scatter(0)", "multi_scatter(2, 0, 1)"],
    "reduce": ["reduce", "reduce(1)"],
    "scatter": ["scatter", "scatter(1)"],
}
SHIPPED = [
    reference
    for summary in LIBRARY.names("collective")
    for reference in ARGUMENTS.get(summary.name, [summary.name])
]


class TestShipped:
    @pytest.mark.parametrize("nodes", range(1, 10))
    @pytest.mark.parametrize("reference", SHIPPED)
    def test_every_collective_is_proved(self, reference: str, nodes: int) -> None:
        collective = LIBRARY.collective(reference)
        shares = tabulated(collective, nodes, 40)
        reason = collective.scales(nodes)
        assert (reason is None) == (not shares), "no proof just where it has no meaning"
        assert is_proportional(shares)

    @pytest.mark.parametrize(
        ("reference", "reason"),
        [
            ("broadcast", "all chunks start and end alike, and there are C chunks"),
            ("allgather", "chunk c + 8 starts and ends like chunk c, and there are 8 C chunks"),
            (
                "alltoall",
                "chunk c + 64 starts and ends like chunk c, and there are 8 C chunks, "
                "C a multiple of 8",
            ),
            (
                "scatter",
                "chunk c + 8 starts and ends like chunk c, and there are C chunks, "
                "C a multiple of 8",
            ),
            (
                "reducescatter",
                "it is the inverse of allgather, where chunk c + 8 starts and ends like chunk c, "
                "and there are 8 C chunks",
            ),
            (
                "allreduce",
                "it is reducescatter then allgather or reduce then broadcast, and what each part "
                "asks for is proportional to C",
            ),
        ],
    )
    def test_reasons_are_in_words(self, reference: str, reason: str) -> None:
        assert LIBRARY.collective(reference).scales(8) == reason

    @pytest.mark.parametrize("reference", SHIPPED)
    def test_what_could_be_pickled_still_can(self, reference: str) -> None:
        collective = LIBRARY.collective(reference)
        again = pickle.loads(pickle.dumps(collective))
        assert again.scales(8) == collective.scales(8) is not None

    def test_many_nodes_take_no_longer(self) -> None:
        """The number of expressions that are looked at does not grow with P."""
        assert LIBRARY.collective("alltoall").scales(8192) is not None


BLOCKS = "each block of C chunks starts and ends alike, and there are 4 C chunks"
ROUND = "chunk c + 4 starts and ends like chunk c, and there are 4 C chunks"
PROVED = {
    "chunks P * C pre { (c, n) : n == c div C } post All": BLOCKS,
    "chunks P * C pre { (c, n) : n == c div (G div P) } post All": BLOCKS,
    "chunks P * C pre { (i * C + j, i) for i in nodes, j in range(C) } post All": BLOCKS,
    "chunks P * C pre { (j, i) for i in nodes, j in range(i * C, i * C + C) } post All": BLOCKS,
    "chunks P * C pre { (c, n) : n * C <= c < (n + 1) * C } post All": BLOCKS,
    "chunks P * C pre { (c, n) : c in range(n * C, (n + 1) * C) } post All": BLOCKS,
    "chunks P * C pre { (c, n) : n == (G - 1 - c) div C } post All": BLOCKS,
    "chunks C * P pre { (P * j + i, i) for i in nodes, j in range(C) } post All": ROUND,
    "chunks P * C pre { (i, i mod P) for i in range(G) } post All": ROUND,
    "chunks P * C pre Scattered post { (c, n) : any(n == (c + i) mod P for i in range(2)) }": ROUND,
    "chunks P * C pre Scattered post { (c, n) : n == [3, 2, 1, 0][c mod 4] }": ROUND,
    "chunks P * C pre Scattered post { (c, n) : n != 0 and c mod P mod n == 0 }": ROUND,
    "let half = P div 2 chunks P * C pre Scattered post { (c, n) : n div half == c mod half }": (
        ROUND
    ),
    "let at(c) = c mod P chunks P * C pre { (c, n) : at(c) == n } post { (c, n) : (c, at(n)) in "
    "Scattered | Root(0) }": ROUND,
    "require C mod P == 0 chunks P * C pre { (c, n) : n == c div C } "
    "post { (c, n) : n == c mod P }": (
        "chunk c + 4 starts and ends like chunk c within each block of C chunks, and there are "
        "4 C chunks, C a multiple of 4"
    ),
    "require C mod P == 0 chunks P * C pre { (c, n) : n == c div C } "
    "post { (c, n) : n == (c mod C) div (C div P) }": (
        "each block of C / 4 chunks starts and ends alike, and there are 4 C chunks, "
        "C a multiple of 4"
    ),
    "let fits(q) = C mod q == 0 require fits(2) and C >= 6 chunks C pre Root(0) "
    "post { (c, n) : c < C div 2 or n == 0 }": (
        "each block of C / 2 chunks starts and ends alike, and there are C chunks, C a multiple "
        "of 2"
    ),
    "chunks P * P * C pre { (c, n) : n == c div (P * C) } post { (c, n) : n == c div C mod P }": (
        "each block of C chunks starts and ends alike, and there are 16 C chunks"
    ),
}

IRREGULAR = [
    "chunks C + 1 pre Root(0) post All",
    "chunks C * C pre Root(0) post All",
    "chunks C pre { (0, 0) } post All",
    "chunks C pre Scattered post All",
    "chunks C pre Root(0) post { (c, n) : c < P }",
    "chunks P * C pre Scattered post { (c, n) : C > 3 }",
    "chunks P * C pre Scattered post { (c, n) : n <= C mod 3 }",
    "chunks P * C pre Scattered post { (c, n) : c <= C }",
    "chunks P * C pre Scattered post { (c, n) : n == c div C }",
    "chunks P * C pre Scattered post { (c, n) : c == G - 1 }",
    "chunks P * C pre { (c, n) : n == (c + 1) div C } post All",
    "chunks P * C pre Scattered post { (c, n) : sum(1 for i in range(c)) > 5 }",
    "chunks P * C pre Scattered post { (i, 0) for i in range(3) }",
    "require C mod 3 == 0 or C > 4 chunks C pre { (c, n) : n == c mod 3 } post All",
    "require C mod 2 == 0 and C mod 4 == 0 chunks C pre { (c, n) : n == c mod 8 } post All",
    "require (2 * C) mod 4 == 0 chunks C pre { (c, n) : n == c mod 4 } post All",
    "chunks P * C pre { (c, n) : n == (c + c) div C } post All",
    "chunks P * C pre Scattered post { (c, n) : n == abs(c - 3) mod P }",
    "chunks P * C pre Root(0) post { (c, n) : n == (if c < 3 then 0 else 1) }",
    "chunks P * C pre Root(0) post { (c, n) : n <= sum(1 for i in nodes if i > c) }",
]


class TestWaysToWriteIt:
    @pytest.mark.parametrize("body", PROVED)
    def test_a_usual_way_is_proved(self, body: str, file: Path) -> None:
        collective = made(file, body)
        shares = tabulated(collective, 4, 30)
        assert len(shares) > 3
        assert is_proportional(shares)
        assert collective.scales(4) == PROVED[body]

    @pytest.mark.parametrize("body", IRREGULAR)
    def test_what_does_not_scale_is_not_proved(self, body: str, file: Path) -> None:
        collective = made(file, body)
        assert not is_proportional(tabulated(collective, 4, 30))
        assert collective.scales(4) is None

    def test_no_proof_without_a_meaning(self, file: Path) -> None:
        collective = made(file, "require P == 4 chunks C pre Root(0) post All")
        assert collective.scales(4) is not None
        assert collective.scales(5) is None

    def test_work_is_bounded(self, file: Path) -> None:
        """A nest of loops ends without a proof, soon."""
        loops = ", ".join(f"i{k} in nodes" for k in range(12))
        body = f"chunks P * C pre Scattered post {{ (c, n) : any(c == i1 for {loops}) }}"
        assert made(file, body).scales(64) is None

    def test_a_circle_of_definitions_has_no_proof(self, file: Path) -> None:
        file.write_text(
            "let f(x) = g(x)\nlet g(x) = f(x)\n"
            "collective x { chunks C pre Root(0) post { (c, n) : f(c) == n } }\n"
        )
        assert LIBRARY.collective(f"{file}:x").scales(4) is None


NUMBERS = ["c", "c", "c", "n", "C", "G", "P", "0", "1", "2", "3"]
DIVISORS = ["C", "P", "2", "3", "G", "(2 * C)", "(C div 2)", "(P * 2)", "n"]
REQUIREMENTS = [
    "",
    "",
    "require C mod P == 0",
    "require C mod 2 == 0",
    "require C mod (2 * P) == 0",
    "require C >= 2 and (3 * C) mod 2 == 0",
    "require 0 == C mod 3 or C == 6",
]
PAIRS = [
    "{ (i, i mod P) for i in range(G) }",
    "{ (i * C + j, i) for i in nodes, j in range(C) if i * C + j < G }",
    "{ (P * j + i, (i + j) mod P) for i in nodes, j in range(C) if P * j + i < G }",
    "{ (i, i div C mod P) for i in range(G) if i mod C < C div 2 }",
    "{ (0, 0) }",
]


class Writer:
    """Random expressions."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def number(self, depth: int, names: tuple[str, ...] = ()) -> str:
        rng = self.rng
        if depth <= 0 or rng.random() < 0.25:
            return rng.choice([*NUMBERS, *names, *names])
        kind = rng.randrange(12)
        one = self.number(depth - 1, names)
        if kind < 5:
            return f"({one} {rng.choice(['div', 'mod'])} {rng.choice(DIVISORS)})"
        other = self.number(depth - 1, names)
        if kind < 9:
            return f"({one} {rng.choice(['+', '-', '*', 'div', 'mod'])} {other})"
        if kind == 9:
            return f"(if {self.truth(depth - 1, names)} then {one} else {other})"
        if kind == 10:
            return f"{rng.choice(['min', 'max'])}({one}, {other})"
        inner = self.number(depth - 1, (*names, "i"))
        return f"{rng.choice(['sum', 'max', 'product'])}({inner} for i in {self.list()})"

    def list(self) -> str:
        return self.rng.choice(["nodes", "[0, 2]", "range(3)", "range(C)", "range(n + 1)"])

    def truth(self, depth: int, names: tuple[str, ...] = ()) -> str:
        rng = self.rng
        if depth <= 0 or rng.random() < 0.5:
            op = rng.choice(["==", "==", "!=", "<", "<=", ">", ">="])
            return f"{self.number(depth, names)} {op} {self.number(depth, names)}"
        one, other = self.truth(depth - 1, names), self.truth(depth - 1, names)
        kind = rng.randrange(5)
        if kind == 0:
            return f"({one} and {other})"
        if kind == 1:
            return f"({one} or not ({other}))"
        if kind == 2:
            inner = self.truth(depth - 1, (*names, "i"))
            return f"{rng.choice(['any', 'all'])}({inner} for i in {self.list()})"
        if kind == 3:
            return f"({self.number(depth - 1, names)} in {self.list()})"
        return f"(({self.number(depth - 1, names)}, n) in {self.relation(0)})"

    def relation(self, depth: int) -> str:
        kind = self.rng.randrange(8)
        if kind == 0:
            return self.rng.choice(["All", "Root(0)", "Scattered", "Transpose"])
        if kind == 1:
            return self.rng.choice(PAIRS)
        if kind == 2 and depth > 0:
            op = self.rng.choice("|&-")
            return f"({self.relation(depth - 1)} {op} {self.relation(depth - 1)})"
        if kind < 6:
            return f"{{ (c, n) : n == {self.number(depth)} mod P }}"
        return f"{{ (c, n) : {self.truth(depth)} }}"

    def collective(self) -> str:
        chunks = self.rng.choice(["P * C", "C", "2 * C", "P * P * C", "C div 2", "P * C + 1"])
        pre, post = self.relation(2), self.relation(2)
        return f"{self.rng.choice(REQUIREMENTS)} chunks {chunks} pre {pre} post {post}"


def survey(file: Path, rng: random.Random, nodes: int, most: int) -> tuple[bool, bool, bool]:
    """Whether a random collective has tables, has a proof, and is proportional."""
    body = Writer(rng).collective()
    collective = made(file, body)
    reason = collective.scales(nodes)
    shares = tabulated(collective, nodes, most)
    if reason is not None:
        assert is_proportional(shares), f"{body} on {nodes} nodes: {reason}"
    return len(shares) > 2, reason is not None, is_proportional(shares)


class TestRandomCollectives:
    @settings(max_examples=80, deadline=None)
    @given(st.randoms(use_true_random=False), st.sampled_from([1, 2, 3, 4, 6]))
    def test_a_proof_is_never_wrong(
        self, tmp_path_factory: pytest.TempPathFactory, rng: random.Random, nodes: int
    ) -> None:
        survey(tmp_path_factory.getbasetemp() / "random.syncoll", rng, nodes, 24)

    def test_proofs_are_found(self, file: Path) -> None:
        """Of those that are proportional, half; of the others none (see above)."""
        found = [survey(file, random.Random(seed), 3, 15) for seed in range(250)]
        scaling = [proved for tables, proved, proportional in found if tables and proportional]
        irregular = [1 for tables, _, proportional in found if tables and not proportional]
        assert len(irregular) > 40
        assert len(scaling) > 40
        assert sum(scaling) > len(scaling) / 2

    @pytest.mark.slow
    def test_a_proof_is_never_wrong_at_length(self, file: Path) -> None:
        for seed in range(250):
            survey(file, random.Random(seed), (1, 2, 3, 4, 6)[seed % 5], 24)


def form_of(text: str, nodes: int, unit: int, run: int, node: int) -> Form | None:
    """The form of an expression in c, n, C and P; None without one."""
    source = Source("x", f"let x = {text}")
    scope = Scope(
        Module(source, None, LIBRARY),
        {"c": Form(run, 0, 1, 0, run - 1), "n": Forms.constant(node)},
    )
    refinement = Refinement(nodes, unit, spelled=False, budget=Budget(10_000))
    definition = parse_file(source).definitions[0]
    try:
        return refinement.number(definition.body, scope)  # type: ignore[attr-defined]
    except Unproved:
        return None


def related(form: Form, u: int, v: int, t: int) -> bool:
    """Whether two values are related as a form says."""
    if form.step == 0:
        return u == v and form.first <= u <= form.last
    if form.of_chunks is not None and v != t * u:
        return False
    if (u - v) % form.step:
        return False
    if -float("inf") in (form.first, form.low):
        return True
    for rest in range(int(form.first), int(form.last) + 1):
        x, off = divmod(u - rest, form.step)
        y = (v - rest) // form.step
        if not off and form.low * (t - 1) <= y - t * x <= form.high * (t - 1):
            return True
    return False


class TestForms:
    @settings(max_examples=150, deadline=None)
    @given(
        st.randoms(use_true_random=False),
        st.integers(1, 4),
        st.sampled_from([1, 2, 3, 4, 6]),
        st.integers(1, 3),
    )
    def test_a_form_says_what_becomes_of_a_number(
        self, rng: random.Random, nodes: int, unit: int, high: int
    ) -> None:
        """Cuts chunks into t pieces, and compares both values of an expression."""
        text = whole_number(rng, 3)
        run = rng.randint(1, 12)
        node = rng.randrange(nodes)
        form = form_of(text, nodes, unit, run, node)
        if form is None or (form.step and not form.whole):
            return
        code = text.replace("div", "//").replace("mod", "%")
        for t in (1, 2, 3, 5):
            for x in range(high + 1):
                for low in range(run):
                    names = {"P": nodes, "n": node}
                    try:
                        u = eval(code, {**names, "c": run * x + low, "C": unit})
                    except ZeroDivisionError:
                        continue
                    for piece in range(t):
                        c = run * (t * x + piece) + low
                        try:
                            v = eval(code, {**names, "c": c, "C": unit * t})
                        except ZeroDivisionError:
                            continue
                        assert related(form, u, v, t), f"{text}: {u} for one, {v} for {t}: {form}"


def whole_number(rng: random.Random, depth: int) -> str:
    if depth == 0 or rng.random() < 0.2:
        return rng.choice(["c", "c", "c", "n", "C", "C", "P", "1", "2", "3"])
    op = rng.choice(["+", "-", "*", "div", "mod"])
    return f"({whole_number(rng, depth - 1)} {op} {whole_number(rng, depth - 1)})"
