"""No text may crash or hang: only SpecError and ModelError leave the package.

Texts are shipped files mutated by characters, by tokens and by splicing, and programs drawn from
a grammar.  Each is checked as a file, and its definitions are expanded with small arguments.
"""

from __future__ import annotations

import random
import re
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import pytest

import syncoll_specs
from syncoll.errors import ModelError, SpecError
from syncoll.model import Collective
from syncoll.spec import SpecLibrary, check_file

SHIPPED = [
    path.read_text(encoding="utf-8")
    for path in sorted(Path(syncoll_specs.__file__).parent.rglob("*.syncoll"))
]
HANG_AFTER = 20
"""Seconds after which a text counts as hanging: far more than any takes on a busy machine."""

TOKEN = re.compile(r'"[^"\n]*"|[A-Za-z_]\w*|\d+|[<>=!]=|\*\*|\.\.\.|#[^\n]*|\s+|.')
TOKENS = sorted(
    {token for text in SHIPPED for token in TOKEN.findall(text) if token[0] not in '#"'}
    | {"inverse", "then", "or", "=", "(", ")", "allgather", "reduce", "allreduce"}
)
ODD = [
    "\0",
    "\t",
    "\r\n",
    "\r",
    "é",
    "\u2028",
    "\U0001d4b3",
    "\x1b",
    '"',
    "\\",
    "{",
    "}",
    "((",
    "..",
    "…",
]
NUMBERS = [
    "0",
    "1",
    "2",
    "3",
    "5",
    "8",
    "17",
    "-1",
    "10 ** 9",
    "2 ** 70",
    "1.5",
    "7/3",
    "99999999999999999999",
]
ARITHMETIC = ["+", "-", "*", "/", "div", "mod", "**"]
COMPARISONS = ["==", "!=", "<", "<=", ">", ">="]
Draw = random.Random


def mutate_characters(draw: Draw) -> str:
    text = list(draw.choice(SHIPPED))
    for _ in range(draw.randint(1, 8)):
        at = draw.randrange(len(text) + 1)
        action = draw.randrange(4)
        if action == 0:
            text[at : at + draw.randint(1, 6)] = []
        elif action == 1:
            text.insert(at, draw.choice([*ODD, chr(draw.randrange(32, 127))]))
        elif action == 2:
            text[at : at + 1] = [chr(draw.randrange(32, 127))]
        else:
            piece = text[at : at + draw.randint(1, 30)]
            other = draw.randrange(len(text) + 1)
            text[other:other] = piece
    return "".join(text)


def mutate_tokens(draw: Draw) -> str:
    tokens = TOKEN.findall(draw.choice(SHIPPED))
    for _ in range(draw.randint(1, 6)):
        at = draw.randrange(len(tokens))
        action = draw.randrange(5)
        if action == 0:
            del tokens[at]
        elif action == 1:
            tokens[at] = draw.choice(TOKENS)
        elif action == 2:
            tokens.insert(at, f" {draw.choice(TOKENS)} ")
        elif action == 3:
            other = draw.randrange(len(tokens))
            tokens[at], tokens[other] = tokens[other], tokens[at]
        else:
            numbers = [i for i, token in enumerate(tokens) if token.isdigit()]
            if numbers:
                tokens[draw.choice(numbers)] = f"({draw.choice(NUMBERS)})"
        if not tokens:
            break
    return "".join(tokens)


def splice(draw: Draw) -> str:
    pieces = []
    for _ in range(draw.randint(2, 4)):
        tokens = TOKEN.findall(draw.choice(SHIPPED))
        start = draw.randrange(len(tokens))
        pieces.append("".join(tokens[start : start + draw.randint(1, 80)]))
    return " ".join(pieces)


class Program:
    """A program drawn from the grammar: well formed, rarely meaningful."""

    def __init__(self, draw: Draw) -> None:
        self.draw = draw
        self.names = ["c", "n", "P", "C", "G", "nodes", "x", "f", "R0", "All"]

    def text(self) -> str:
        parts = [self.definition(i) for i in range(self.draw.randint(1, 4))]
        return "\n".join(parts)

    def definition(self, i: int) -> str:
        draw = self.draw
        params = draw.choice(["", "", "(x = 3)", "(x)", "(x..., y = 2)"])
        return draw.choice(
            [
                lambda: f"relation R{i}{params} = {self.relation(3)}",
                lambda: f"let f{params} = {self.expr(3)}",
                lambda: f"topology t{i}{params} {{ nodes {self.small()} {self.statements()} }}",
                lambda: f"collective c{i}{params} {{ {self.collective()} }}",
                lambda: f"collective c{i}{params} = {self.combination(3)}",
                lambda: f"search s{i}{params} {{ {self.search()} }}",
            ]
        )()

    def small(self) -> str:
        return self.draw.choice(["1", "2", "4", "5", "x", self.expr(2)])

    def expr(self, depth: int) -> str:
        draw = self.draw
        if depth == 0 or draw.random() < 0.15:
            return draw.choice([*self.names, *NUMBERS, "true", "false", "[]", "[0, 2]"])
        e = self.expr
        return draw.choice(
            [
                lambda: f"{e(depth - 1)} {draw.choice(ARITHMETIC)} {e(depth - 1)}",
                lambda: f"{e(depth - 1)} {draw.choice(COMPARISONS)} {e(depth - 1)}",
                lambda: f"({e(depth - 1)} {draw.choice(['and', 'or'])} {e(depth - 1)})",
                lambda: f"(if {e(depth - 1)} then {e(depth - 1)} else {e(depth - 1)})",
                lambda: f"{draw.choice(['-', 'not '])}{e(depth - 1)}",
                lambda: (
                    f"{draw.choice(['min', 'max', 'sum', 'abs', 'len', 'range', 'any', 'f'])}"
                    f"({e(depth - 1)})"
                ),
                lambda: f"({e(depth - 1)}, {e(depth - 1)}) in {self.relation(depth - 1)}",
                lambda: f"[{e(depth - 1)} {self.loops(depth - 1)}]",
                lambda: f"{e(depth - 1)}[{e(depth - 1)}]",
                lambda: f"{e(depth - 1)} in {e(depth - 1)}",
                lambda: self.relation(depth - 1),
            ]
        )()

    def loops(self, depth: int) -> str:
        draw = self.draw
        name = draw.choice(["a", "b", "n"])
        self.names.append(name)
        source = draw.choice(["nodes", "range(3)", "[0, 1, 1]", f"range({self.expr(depth)})"])
        condition = draw.choice(["", f" if {self.expr(depth)}"])
        return f"for {name} in {source}{condition}"

    def relation(self, depth: int) -> str:
        draw = self.draw
        if depth <= 0:
            return draw.choice(["All", "Scattered", "Root(0)", "R0", "{}", "{ (0, 0) }"])
        return draw.choice(
            [
                lambda: f"{{ (c, n) : {self.expr(depth)} }}",
                lambda: f"{{ ({self.expr(1)}, {self.expr(1)}) {self.loops(1)} }}",
                lambda: (
                    f"({self.relation(depth - 1)} {draw.choice('|&-')} {self.relation(depth - 1)})"
                ),
            ]
        )()

    def statements(self) -> str:
        draw = self.draw
        parts = []
        for _ in range(draw.randint(0, 4)):
            loops = draw.choice(
                ["", self.loops(1), f"for a in nodes, b in nodes if {self.expr(2)}"]
            )
            pair = draw.choice(["(0, 1)", "(a, b)", "(a, (a + 1) mod P)", f"({self.expr(1)}, 1)"])
            tail = draw.choice(["", "both ways"])
            bandwidth = draw.choice(
                ["", "bandwidth 1", "bandwidth 3/2", f"bandwidth {self.expr(2)}"]
            )
            label = draw.choice(["", 'label "of {a}"'])
            parts.append(
                draw.choice(
                    [
                        f"link {pair} {tail} {loops} {bandwidth} {label}",
                        f"shared {{ links from {self.expr(1)} }} {loops} bandwidth 2 {label}",
                        f"shared {{ {pair} {loops} }} bandwidth 2",
                        "shared { links } bandwidth 1",
                        f"let x = {self.expr(2)}",
                        f"require {self.expr(2)}",
                    ]
                )
            )
        return " ".join(parts)

    def collective(self) -> str:
        chunks = self.draw.choice(["C", "P * C", "3", self.expr(2)])
        irregular = self.draw.choice(["", "irregular"])
        require = self.draw.choice(["", f"require {self.expr(2)}", f"let x = {self.expr(2)}"])
        return (
            f"{irregular} {require} chunks {chunks} pre {self.relation(3)} post {self.relation(3)}"
        )

    def combination(self, depth: int) -> str:
        draw = self.draw
        if depth == 0 or draw.random() < 0.2:
            shipped = ["allgather", "broadcast", "scatter(1)", "gather", "reduce", "allreduce"]
            own = ["c0", "c1", "c0(2)", f"c1({self.expr(1)})", f"broadcast({self.expr(1)})"]
            return draw.choice(shipped + own)
        return draw.choice(
            [
                lambda: f"inverse {self.combination(depth - 1)}",
                lambda: f"{self.combination(depth - 1)} then {self.combination(depth - 1)}",
                lambda: f"{self.combination(depth - 1)} or {self.combination(depth - 1)}",
                lambda: f"({self.combination(depth - 1)})",
            ]
        )()

    def search(self) -> str:
        steps = self.draw.choice(["", f"steps <= {self.expr(2)}", f"time <= {self.expr(1)} min"])
        subject = self.draw.choice(["ring(4)", "t0", f"ring({self.expr(1)})", "dgx1"])
        return f"collective {self.draw.choice(['allgather', 'c0'])} topology {subject} {steps}"


def from_grammar(draw: Draw) -> str:
    return Program(draw).text()


MAKERS: list[Callable[[Draw], str]] = [mutate_characters, mutate_tokens, splice, from_grammar]


@contextmanager
def no_hang(text: str) -> Iterator[None]:
    def stop(_number: int, _frame: FrameType | None) -> None:
        raise AssertionError(f"still running after {HANG_AFTER} s:\n{text}")

    if not hasattr(signal, "SIGALRM"):  # a platform without alarms has no guard
        yield
        return
    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(HANG_AFTER)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def exercise(text: str, path: Path, library: SpecLibrary, draw: Draw) -> tuple[int, int]:
    """Checks a text, and expands its definitions.

    Returns:
        Number of expansions that succeeded, and number of errors.
    """
    path.write_bytes(text.encode("utf-8", errors="surrogatepass"))
    report = check_file(path, library)
    for error in report.errors:
        assert isinstance(error, (SpecError, ModelError))
        empty = ("is empty", "contains comments only")
        assert error.origin or error.message.endswith(empty), f"{error} has no place"
        assert str(error)
    made = refused = 0
    if report.errors and draw.random() < 0.5:
        return made, refused
    for definition in report.definitions[:3]:
        arguments = ", ".join(
            draw.choice(["1", "2", "4", "3", "0", "[0, 1]"]) for _ in range(draw.randrange(3))
        )
        reference = f"{path}:{definition.name}({arguments})"
        try:
            if definition.kind == "topology":
                library.topology(reference)
            elif definition.kind == "collective":
                expand(library.collective(reference), library)
            elif definition.kind == "search":
                library.search(reference)
            made += 1
        except (SpecError, ModelError) as error:
            if error.origin is None or not error.origin.excerpt():
                raise AssertionError(f"{error} has no place") from error
            refused += 1
    return made, refused


def expand(collective: Collective, library: SpecLibrary) -> None:
    machine = library.topology("ring(4)")
    for chunks in (1, 4):
        if collective.admits(4, chunks):
            collective.instantiate(machine, chunks=chunks, steps=3, rounds=4)


def run(count: int, seed: int, path: Path, library: SpecLibrary) -> None:
    made = refused = 0
    for i in range(count):
        draw = random.Random(f"{seed}/{i}")
        text = MAKERS[i % len(MAKERS)](draw)
        with no_hang(text):
            try:
                one, two = exercise(text, path, library, draw)
            except Exception as error:
                raise AssertionError(f"text {seed}/{i} raised {error!r}:\n{text}") from error
        made, refused = made + one, refused + two
    assert made > count / 50, "the texts are too broken to test expansion"
    assert refused > count / 50, "the texts are too tame"


def test_hundreds_of_texts(tmp_path: Path, library: SpecLibrary) -> None:
    run(200, 1, tmp_path / "fuzz.syncoll", library)


@pytest.mark.slow
def test_thousands_of_texts(tmp_path: Path, library: SpecLibrary) -> None:
    run(300, 2, tmp_path / "fuzz.syncoll", library)


def test_random_bytes(tmp_path: Path, library: SpecLibrary) -> None:
    draw = random.Random(6)
    for _ in range(100):
        path = tmp_path / "bytes.syncoll"
        path.write_bytes(draw.randbytes(draw.randrange(200)))
        with no_hang(repr(path.read_bytes())):
            for error in check_file(path, library).errors:
                assert error.origin is not None or error.message.endswith("is empty")
