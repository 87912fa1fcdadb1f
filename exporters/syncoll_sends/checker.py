"""Checks a CSV table of sends: reads it, and replays it if its instance is known."""

import csv
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from syncoll.errors import VerificationError
from syncoll.model import Algorithm, Instance
from syncoll.model.grains import Rounds, exact
from syncoll.plugins import CheckedExport, Options
from syncoll.trust import require_valid
from syncoll_sends import NODES, NUMBERS

_MOST_DIGITS = 9


class CsvChecker:
    """Reads a table with columns and rows in any order."""

    def check(
        self, files: Mapping[str, bytes], options: Options, instance: Instance | None = None
    ) -> CheckedExport:
        """See `syncoll.plugins.ExportChecker`; without an instance the rows must be sends."""
        (content,) = files.values()
        rows = _read(content)
        _require_sane(rows)
        if instance is not None:
            _require_solves(rows, instance)
        nodes = {node for row in rows for node in (row.source, row.destination, *row.contributors)}
        facts: dict[str, int | str] = {
            "sends": len(rows),
            "steps": len({row.step for row in rows}),
            "chunks": len({row.chunk for row in rows}),
            "solves": "not checked: the table has no instance" if instance is None else "replayed",
        }
        return CheckedExport(
            "CSV",
            "not stated" if instance is None else instance.collective,
            max(nodes, default=-1) + 1 if instance is None else instance.topology.num_nodes,
            None,
            facts,
            instance is not None,
            links=frozenset((row.source, row.destination) for row in rows),
            all_nodes=instance is not None,
            num_chunks=max((row.chunk + 1 for row in rows), default=0),
            steps=max((row.step + 1 for row in rows), default=0),
            rounds=exact(sum({row.step: row.rounds for row in rows}.values())),
        )


@dataclass(frozen=True)
class SendRow:
    """A send in the line `line`, as in ``line 7``; without `contributors` it carries plain data."""

    line: str
    step: int
    rounds: Rounds
    chunk: int
    source: int
    destination: int
    contributors: tuple[int, ...]

    def wrong(self, message: str) -> VerificationError:
        """An error in this row, to be raised."""
        return VerificationError(f"{self.line}: {message}")


def _read(content: bytes) -> list[SendRow]:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise VerificationError(f"byte {error.start} is not UTF-8") from None
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        header = next(reader, [])
        _require_columns(header)
        return [_row(header, row, f"line {reader.line_num}") for row in reader if row]
    except csv.Error as error:
        raise VerificationError(f"line {reader.line_num}: {error}") from None


def _row(header: list[str], values: list[str], line: str) -> SendRow:
    if len(values) != len(header):
        raise VerificationError(f"{line}: {len(values)} values in a table of {len(header)} columns")
    given = dict(zip(header, values, strict=True))
    step, chunk, source, destination = (
        _number(given[column], column, line) for column in NUMBERS if column != "rounds"
    )
    nodes = [_number(text, NODES, line) for text in given.get(NODES, "").split(" ") if text]
    rounds = _rounds(given["rounds"], line)
    return SendRow(line, step, rounds, chunk, source, destination, tuple(nodes))


def _number(text: str, column: str, line: str) -> int:
    """A number of ASCII digits alone, which `int` does not require."""
    if not (text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS):
        raise VerificationError(
            f"{line}: {column} is {text[:40]!r}; expected a number of at most {_MOST_DIGITS} digits"
        )
    return int(text)


def _require_columns(names: Sequence[str]) -> None:
    """Raises VerificationError unless a header has every required column, and each column once."""
    for name in names:
        if name not in (*NUMBERS, NODES):
            expected = ", ".join((*NUMBERS, NODES))
            raise VerificationError(
                f"line 1: no column is called {name[:40]!r}; expected {expected}"
            )
        if names.count(name) > 1:
            raise VerificationError(f"line 1: two columns are called {name}")
    for name in NUMBERS:
        if name not in names:
            raise VerificationError(f"line 1: there is no column {name}")


def _rounds(text: str, line: str) -> Rounds:
    digits = f"[0-9]{{1,{_MOST_DIGITS}}}"
    match = re.fullmatch(f"({digits})(?:/({digits}))?", text, re.ASCII)
    if match is None or not int(match[2] or 1):
        raise VerificationError(
            f"{line}: rounds is {text[:40]!r}; expected a number of at most {_MOST_DIGITS} "
            "digits, or a ratio such as 7/9"
        )
    return exact(Fraction(text))


def _require_sane(rows: Sequence[SendRow]) -> None:
    """Raises VerificationError unless rows are sends of some instance."""
    rounds: dict[int, Rounds] = {}
    seen: dict[tuple[int, ...], str] = {}
    for row in rows:
        if row.source == row.destination:
            raise row.wrong(f"node {row.source} sends to itself")
        if rounds.setdefault(row.step, row.rounds) != row.rounds:
            raise row.wrong(
                f"step {row.step} has {row.rounds} rounds here and {rounds[row.step]} above"
            )
        if len(set(row.contributors)) < len(row.contributors):
            raise row.wrong("a contributor is named twice")
        if bool(row.contributors) != bool(rows[0].contributors):
            raise row.wrong("contributors in some rows and none in others; expected all or none")
        key = (row.step, row.chunk, row.source, row.destination, *sorted(row.contributors))
        if key in seen:
            raise row.wrong(f"the same send as in {seen[key]}")
        seen[key] = row.line


def _require_solves(rows: Sequence[SendRow], instance: Instance) -> None:
    """Raises VerificationError unless rows solve an instance; see `syncoll.trust`.  Steps without
    sends get the remaining rounds."""
    nodes = instance.topology.num_nodes
    if rows and bool(rows[0].contributors) != instance.combining:
        what = "needs" if instance.combining else "has no"
        raise VerificationError(f"{instance.collective} {what} contributors")
    rounds: dict[int, Rounds] = {}
    for row in rows:
        if row.step >= instance.steps:
            raise row.wrong(f"step {row.step}; there are {instance.steps}, from 0 on")
        rounds[row.step] = row.rounds
        for node in row.contributors:
            if node >= nodes:
                raise row.wrong(f"contributor {node}; there are {nodes} nodes")
    sends = np.array(
        [(row.chunk, row.source, row.destination, row.step) for row in rows], dtype=np.int64
    ).reshape(-1, 4)
    carried = None
    if instance.combining:
        carried = np.zeros((len(rows), nodes), dtype=bool)
        for i, row in enumerate(rows):
            carried[i, list(row.contributors)] = True
    require_valid(instance, Algorithm(_rounds_per_step(rounds, instance), sends, carried))


def _rounds_per_step(rounds: dict[int, Rounds], instance: Instance) -> tuple[Rounds, ...]:
    """The rounds of every step; the first one without sends gets the remaining rounds."""
    given = instance.rounds_per_step or (0,) * instance.steps
    result: list[Rounds] = [rounds.get(step, given[step]) for step in range(instance.steps)]
    idle = [step for step in range(instance.steps) if step not in rounds]
    if instance.rounds_per_step is None and idle:
        result[idle[0]] += max(0, instance.rounds - sum(result))
    return tuple(result)
