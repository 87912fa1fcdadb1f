"""Logs of benchmarks: nccl-tests, rccl-tests, mscclpp-test and the OSU micro-benchmarks.

A log may be a paste: with colours, prompts, line numbers, prefixes of launchers, rows that the
terminal wrapped, and several runs.  Each row states its rate, so a row that lost a digit or a
column is an error.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Literal

from syncoll.errors import UsageError
from syncoll.runtime import Kind
from syncoll.simulating import bus_factor
from syncoll.units import parse_size

Column = Literal["out-of-place", "in-place"]

_Row = tuple[int, str | None, list[list[float | None]]]
"""The size, the reduction if the row has a type, and by column time, rates and errors."""

_NOISE = re.compile(
    r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07\n]*\x07|[\r\x08]|^\s*\d{4}-\d\d-\d\d[T ]\S+\s+"
    r"|\bstd(?:out|err) [FP] |^\s*\[[\d,]+\]<std\w+>:|^\s*(?:\d+\s*[:|]|[A-Za-z][\w.-]*:)(?=[ #\d])"
)
_BEGINS = re.compile(
    r"# nThread|# Collective test starting|# OSU|# minBytes|_perf\b.* -|\bosu_\w+"
    r"|^\s*#?\s*size\s+(?:count|time|.*latency)",
    re.IGNORECASE,
)
_NUMBER = r"(?:-?\d+(?:\.\d*)?(?:e[+-]?\d+)?|N/A)"
_TYPE = r"(?:u?int\d+|float\w*|double|half|b?float16|bfloat\w*|f?p?8\w+|fp\d+|char)"
_ROW = re.compile(rf"(\d+)\s+\d+\s+{_TYPE}(?:\s+(sum|prod|max|min|avg|all|none|mulsum))?(.*)$")
_PLAIN = re.compile(rf"\s*{_NUMBER}(?:\s+{_NUMBER})*\s*")
_WITHOUT_TYPE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?i?B)?(?:\s+(-?\d.*)|\s*)$")
_PROGRAM = re.compile(
    r"\b([a-z][a-z_]*?)_(?:test_)?perf(?:_mpi)?\b|# OSU MPI\S* (.+?) Latency Test|\bosu_i?([a-z_]+)"
)
_RANK = re.compile(r"#\s+Rank\s+(\d+)(?:.*?Pid\s+(\d+) on\s+(\S+))?")
_COLLECTIVES = {str(one): one for one in Kind if one is not Kind.CUSTOM} | {"bcast": Kind.BROADCAST}
_UNKNOWN = ("sendrecv", "hypercube")
"""Tests of nccl-tests that are no collectives."""

_BY_RANK = (Kind.ALLGATHER, Kind.ALLTOALL, Kind.GATHER, Kind.SCATTER)
"""OSU counts the bytes of one rank or pair of these, nccl-tests the whole buffer."""

_FAR = 0.02
"""A rate and the rate of its time may differ by this share, and by the rounding."""


@dataclass(frozen=True)
class Run:
    """The table of one run of a benchmark.

    Args:
        program: ``nccl-tests``, ``rccl-tests``, ``mscclpp-test`` or ``osu``.
        kind: the collective; None if the log does not show it.
        ranks: their number; None if the log does not show it.
        per_process: GPUs of a process.
        line: of the first row.
        columns: bytes of messages, as nccl-tests count them, with seconds, ascending.
        remark: on a contradiction in the log, or empty.
    """

    program: str
    kind: Kind | None
    ranks: int | None
    per_process: int
    line: int
    columns: Mapping[Column, tuple[tuple[int, float], ...]]
    remark: str = ""

    def times(self, column: Column) -> tuple[tuple[int, float], ...]:
        """The times of a column, or of the other one if the run lacks it."""
        return self.columns.get(column) or next(iter(self.columns.values()))


def read_log(text: str, name: str, ranks: int | None = None) -> list[Run]:
    """The runs of a log.

    Args:
        name: of the file, for errors.
        ranks: their number where the log does not show it.

    Raises:
        UsageError: if it has no table, or a row that contradicts itself, with its line.
    """
    tables, waiting, at = [_Table()], "", 0
    for number, raw in enumerate(f"{text}\n#".split("\n"), 1):
        line = re.sub(r"[|│]", " ", _NOISE.sub("", _NOISE.sub("", raw)))
        at = at if waiting else number
        if waiting:
            both = (waiting + line, f"{waiting} {line}") if _PLAIN.fullmatch(line) else ()
            line = next((one for one in both if (row := _row(one, ())) and row[2]), "")
        elif tables[-1].times and _BEGINS.search(line):
            tables.append(_Table())
        tables[-1].read_header(line)
        row = _row(line, tables[-1].head)
        wraps = row is not None and row[1] is not None and not row[2]
        if (waiting and not line) or (row and not row[2] and not wraps):
            why = "the row lacks columns, or its time and its rate contradict each other"
            raise UsageError(f"{name}, line {at}: {why}; paste the table again")
        waiting = line if wraps else ""
        if row and not wraps:
            tables[-1].add(row, at)
    runs = [run for one in tables if (run := one.run(ranks)).columns]
    if not runs:
        raise UsageError(
            f"{name} has no table of nccl-tests, rccl-tests, mscclpp-test or the OSU "
            "micro-benchmarks; expected rows such as those under `# size count type redop`"
        )
    return runs


def _numbers(text: str) -> list[float | None]:
    """The numbers in a text; None for N/A."""
    return [None if one == "N/A" else float(one) for one in re.findall(_NUMBER, text)]


def _row(line: str, head: Sequence[str]) -> _Row | None:
    """A row; without columns if numbers are missing, or a rate is not the size over the time."""
    typed, starts = None if line.lstrip().startswith("#") else _ROW.search(line), list[int]()
    if typed:
        size, cells, wide = int(typed[1]), _numbers(typed[3]), 4
        cells = cells[len(cells) in (5, 9) :]  # the root
        starts = [*range(0, len(cells), 4)] if len(cells) in (4, 8) else []
    elif head and (words := _WITHOUT_TYPE.match(line)):
        size, cells = parse_size(f"{words[1]}{words[2] or ''}"), _numbers(words[3] or "")
        wide = 4 if "algbw" in head else 1
        starts = [i - 1 for i, one in enumerate(head) if re.match(r"time|.*latency", one)]
    else:
        return None
    groups = [cells[i : i + wide] for i in starts[: 2 if wide > 1 else 1]]
    sound = all(len(one) >= min(wide, 2) and _agrees(size, *one[:2]) for one in groups)
    return size, typed and (typed[2] or ""), groups if sound else []


def _agrees(size: int, time: float | None, algbw: float | None = None) -> bool:
    """Whether a time in us is one, and a rate in GB/s is its rate, up to the rounding of both."""
    if not size or time is None or time <= 0:
        return not size or time is None
    rate = size / time / 1e3
    return algbw is None or abs(rate - algbw) <= 0.006 + _FAR * rate


@dataclass
class _Table:
    """A run while its lines are read.

    Args:
        rates: (algbw, busbw) of rows.
        reductions: words in the rows.
    """

    program: str = ""
    named: str = ""
    command_ranks: int | None = None
    listed: set[int] = field(default_factory=set)
    processes: set[str] = field(default_factory=set)
    per_process: int = 1
    in_place_first: bool = False
    head: tuple[str, ...] = ()
    times: list[tuple[int, list[float | None]]] = field(default_factory=list)
    line: int = 0
    rates: list[tuple[float, float]] = field(default_factory=list)
    reductions: set[str] = field(default_factory=set)

    def read_header(self, line: str) -> None:
        """Keeps the collective, the ranks and the columns, as far as a line shows them."""
        if (found := _PROGRAM.search(line)) and "concluded" not in line:
            self.named = (found[1] or found[2] or found[3]).lower()
            self.program = self.program if found[1] else "osu"
            launched = re.search(r"\s(?:-np|-n|--ntasks)[ =]*(\d+)\s", line[: found.start()])
            each = [re.search(rf"\s-{one}\s*(\d+)", line[found.end() :]) for one in "gt"]
            if any(each):
                self.per_process = prod(int(one[1]) for one in each if one)
            if launched or each[0]:
                self.command_ranks = int(launched[1] if launched else 1) * self.per_process
        if found := re.search(r"nThread\s+(\d+)\s+nGpus\s+(\d+)", line):
            self.per_process = int(found[1]) * int(found[2])
        if found := _RANK.search(line):
            self.listed.add(int(found[1]))
            self.processes.add(f"{found[3]} {found[2]}")
        self.in_place_first |= re.search(r"in-place.*out-of-place", line) is not None
        if re.search(r"\bkernel num\b|mscclpp", line):
            self.program = "mscclpp-test"
        elif re.search(r"rccl|# +Rank.*\b(?:AMD|MI\d\d\d)", line):
            self.program = "rccl-tests"
        titles = re.split(r"\s{2,}", line.strip(" #\t").lower())
        if titles[0] == "size" and len(titles) > 1:
            self.head = tuple(titles)

    def add(self, row: _Row, line: int) -> None:
        """Adds a row; a size of 0 shows only the reduction."""
        size, redop, groups = row
        self.reductions |= set() if redop is None else {redop}
        if size:
            self.line = self.line or line
            self.rates += [(x[1], x[2]) for x in groups if len(x) > 2 and x[1] and x[2]]
            self.times.append((size, [None if x[0] is None else x[0] / 1e6 for x in groups]))

    def run(self, ranks: int | None) -> Run:
        """The finished run; the rows go before the command line."""
        kind: Kind | None = _COLLECTIVES.get(re.sub(r"[\s_-]", "", re.sub(r"v$", "", self.named)))
        listed = max(self.listed) + 1 if self.listed else None
        per_process, found, remark = self.per_process, listed or self.command_ranks, ""
        if listed == len(self.listed) and len(self.processes) > 1 and per_process == 1:
            per_process = listed // len(self.processes)
        shown = None if self.named in _UNKNOWN else self._shown_kind()
        if shown and kind and shown is not kind and not self._fitting(kind, [found or 0]):
            remark = f"The rows are of {shown}, though the command is of {kind}."
            kind = shown
        kind = kind or shown
        if kind is not None and self.rates:
            if found and found != listed and not self._fitting(kind, [found]):
                found = None
            alone = self._fitting(kind, range(2, 1025))
            found = found or (alone[0] if len(alone) == 1 else None)
        found = found or ranks
        scale = found if self.program == "osu" and kind in _BY_RANK and found else 1
        names: tuple[Column, Column] = ("out-of-place", "in-place")
        columns = dict[Column, tuple[tuple[int, float], ...]]()
        for i, column in enumerate(names[::-1] if self.in_place_first else names):
            known = [(size * scale, each[i]) for size, each in self.times if len(each) > i]
            pairs = [(size, time) for size, time in known if time is not None]
            if pairs:  # the least time of a size that the log has several times
                columns[column] = tuple(sorted(dict(sorted(pairs, reverse=True)).items()))
        typed = "nccl-tests" if self.reductions else "mscclpp-test"
        return Run(self.program or typed, kind, found, per_process, self.line, columns, remark)

    def _fitting(self, kind: Kind, ranks: Sequence[int]) -> list[int]:
        """The numbers of ranks whose factor between the two rates is the table's."""
        algbw, busbw = max(self.rates, default=(1.0, 0.0))
        near = 0.005 / algbw * (1 + busbw / algbw) + (0.004 if len(ranks) == 1 else 0)
        factors = [(n, float(bus_factor(kind, n) or 0)) for n in ranks if n > 1]
        return [n for n, factor in factors if abs(factor - busbw / algbw) <= near]

    def _shown_kind(self) -> Kind | None:
        """The collective by the reduction, the factor of rates and the columns."""
        algbw, busbw = max(self.rates, default=(1.0, 1.0))
        sums = bool(self.reductions - {"none", ""})
        if not self.reductions or abs(busbw - algbw) <= 0.01 or (busbw > algbw and not sums):
            return None
        if sums:
            return Kind.ALLREDUCE if busbw > algbw else Kind.REDUCESCATTER
        full = all(time is not None for _, times in self.times for time in times)
        return Kind.ALLGATHER if full else Kind.ALLTOALL
