"""``amd-smi topology``: tables of access, weights, hops, link types and bandwidths, or as JSON."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction

from syncoll.importing import complaint
from syncoll.plugins import Imported, OptionValue
from syncoll_smi.amd_json import is_json, tables_of_json
from syncoll_smi.matrices import Line, Matrix, lines_of, read_matrix
from syncoll_smi.options import link_speed, pcie_option
from syncoll_smi.pcie import named
from syncoll_smi.xgmi import Told, columns_of, machine_of, require_same

__all__ = ["AmdSmiImporter"]

_OWNER = "importer amd-smi"
_COMMAND = "amd-smi topology"
_TITLE = re.compile(r"([A-Z][A-Z -]{0,30}) TABLE:?")
_DEVICE = re.compile(
    r"(?:[0-9a-fA-F]{4,8}:)?[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-9a-fA-F]|GPU_?\d{1,4}"
)
_NEEDED = {"LINK TYPE", "HOPS", "WEIGHT", "NUMA BW"}
"""Other tables say whether pairs have access, coherence, atomics, DMA and both directions."""
_RANGE = re.compile(r"([0-9]{1,9})-([0-9]{1,9})")


class AmdSmiImporter:
    """See the module."""

    def read(self, text: str, label: str, options: Mapping[str, OptionValue]) -> Imported:
        """The machine that the tables describe.

        Args:
            text: what ``amd-smi topology`` printed, with ``--json`` or without.
            label: what the user calls the file.
            options: values of `AMD_OPTIONS`.

        Raises:
            ImportFormatError: when there is no whole table of link types, or nothing joins all
                GPUs.
            OptionError: when an option is no bandwidth.
        """
        pcie = pcie_option(options, _OWNER)
        speed = link_speed(options, _OWNER)
        found = tables_of_json(text, label) if is_json(text) else _printed(text, label)
        types = found["LINK TYPE"]
        for other in ("HOPS", "WEIGHT", "NUMA BW"):
            require_same(types, found.get(other), label)
        told = Told(
            types,
            found.get("HOPS"),
            found.get("WEIGHT"),
            _rates(found.get("NUMA BW")),
            (),
            _COMMAND,
        )
        return machine_of(told, speed, pcie, label)


def _printed(text: str, label: str) -> dict[str, Matrix]:
    """The tables that are needed, of a text as people read it.

    Raises:
        ImportFormatError: when the one of link types is missing, or one is cut off or there twice.
    """
    lines = lines_of(text)
    found = _tables(lines, label)
    if "LINK TYPE" in found:
        return found
    titles = list(dict.fromkeys(t for line in lines if (t := _title(line))))
    what = (
        f"only {named(titles)}: none of these tells xGMI from PCIe" if titles else "no table at all"
    )
    raise complaint(
        label,
        f"no LINK TYPE TABLE, but {what}",
        expected=f"the output of `{_COMMAND}`; its options -t, -o, -w and -b print the tables of "
        "link types, hops, weights and bandwidths",
    )


def _rates(table: Matrix | None) -> dict[tuple[int, int], Fraction]:
    """GB/s of the pairs of which the table has both directions; cells are MB/s, least-most."""
    rates: dict[tuple[int, int], Fraction] = {}
    for a, b in table.pairs if table is not None else ():
        assert table is not None
        there, back = (_RANGE.fullmatch(table.cells[x][y]) for x, y in ((a, b), (b, a)))
        if there is not None and back is not None:
            most = min(max(int(m[1]), int(m[2])) for m in (there, back))
            if most:  # some drivers write 0-0 where they do not know
                rates[a, b] = Fraction(most, 1000)
    return rates


def _title(line: Line) -> str:
    """The words of a table's title before ``TABLE:``; empty when the line is none."""
    match = _TITLE.fullmatch(" ".join(line.words))
    return match[1] if match else ""


def _tables(lines: Sequence[Line], label: str) -> dict[str, Matrix]:
    """The tables that are needed, by the words of their titles.

    Raises:
        ImportFormatError: when one is cut off, or there twice.
    """
    found: dict[str, Matrix] = {}
    for i, line in enumerate(lines):
        kind = _title(line)
        if kind not in _NEEDED:
            continue
        if kind in found:
            raise complaint(
                label,
                f"a second {kind} TABLE",
                line=line.number,
                text=line.text,
                expected="the output of one command on one machine",
            )
        start = next((j for j in range(i + 1, len(lines)) if lines[j].words), len(lines))
        columns = columns_of(lines[start], _DEVICE) if start < len(lines) else ()
        if not columns:
            raise complaint(
                label,
                f"below `{kind} TABLE:` no line names the GPUs",
                line=line.number,
                text=line.text,
                expected=f"the whole output of `{_COMMAND}`",
            )
        found[kind] = read_matrix(
            label,
            lines[start],
            columns,
            columns,
            lines[start + 1 :],
            ends=lambda line: bool(_title(line)) or line.words[-1].upper() == "LEGEND:",
            again=_COMMAND,
        )
    return found
