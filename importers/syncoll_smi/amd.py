"""``amd-smi topology``: tables of access, weights, hops, link types and bandwidths, or as JSON."""

from __future__ import annotations

import re
from collections.abc import Mapping

from syncoll.importing import complaint
from syncoll.plugins import Imported, OptionValue
from syncoll_smi.amd_json import is_json, tables_of_json
from syncoll_smi.matrices import DeviceMatrix, Line, lines_of
from syncoll_smi.options import link_speed, pcie_option
from syncoll_smi.pcie import named
from syncoll_smi.xgmi import SmiReport, machine_of, titled_matrices

__all__ = ["AmdSmiImporter"]

_OWNER = "importer amd-smi"
_COMMAND = "amd-smi topology"
_TITLE = re.compile(r"([A-Z][A-Z -]{0,30}) TABLE:?")
_DEVICE = re.compile(
    r"(?:[0-9a-fA-F]{4,8}:)?[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-9a-fA-F]|GPU_?\d{1,4}"
)
_NEEDED = ("LINK TYPE", "HOPS", "WEIGHT", "NUMA BW")
"""Other tables say whether pairs have access, coherence, atomics, DMA and both directions."""


class AmdSmiImporter:
    """Reads the tables, or the JSON, of ``amd-smi topology``."""

    def read(self, text: str, label: str, options: Mapping[str, OptionValue]) -> Imported:
        """See `syncoll.plugins.Importer`."""
        pcie = pcie_option(options, _OWNER)
        speed = link_speed(options, _OWNER)
        found = tables_of_json(text, label) if is_json(text) else _printed(text, label)
        types, hops, weights, bandwidths = (found.get(title) for title in _NEEDED)
        assert types is not None
        report = SmiReport(types, hops, weights, bandwidths, (), _COMMAND)
        return machine_of(report, speed, pcie, label)


def _printed(text: str, label: str) -> dict[str, DeviceMatrix]:
    """The tables that are needed, of a text as people read it, by the words of their titles."""

    def title_of(line: Line) -> tuple[str, str] | None:
        kind = _title(line)
        return (kind, f"{kind} TABLE") if kind in _NEEDED else None

    def ends(line: Line) -> bool:
        return bool(_title(line)) or line.words[-1].upper() == "LEGEND:"

    lines = lines_of(text)
    found = titled_matrices(lines, label, title_of, _DEVICE, ends, _COMMAND)
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


def _title(line: Line) -> str:
    """The words of a table's title before ``TABLE:``; empty when the line is not one."""
    match = _TITLE.fullmatch(" ".join(line.words))
    if match is None:
        return ""
    glued = match[1].replace(" ", "")  # a paste may have lost the blank between two words
    return next((title for title in _NEEDED if title.replace(" ", "") == glued), match[1])
