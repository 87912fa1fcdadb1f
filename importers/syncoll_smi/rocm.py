"""``rocm-smi --showtopo``: matrices of weights, hops and link types, then NUMA nodes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from syncoll.importing import complaint
from syncoll.plugins import Imported, OptionValue
from syncoll_smi.matrices import Line, Matrix, lines_of, read_matrix
from syncoll_smi.options import link_speed, pcie_option
from syncoll_smi.xgmi import Told, columns_of, machine_of, require_same

__all__ = ["RocmSmiImporter"]

_OWNER = "importer rocm-smi"
_COMMAND = "rocm-smi --showtopo"
_GPU = re.compile(r"GPU\d{1,4}")
_TITLE = re.compile(
    r"\b(Weight|Hops|Link Type|Link accessibility) between two GPUs\b", re.IGNORECASE
)
_NUMA = re.compile(r"GPU\s*\[?\s*(\d{1,4})\s*\]?\s*:\s*\(Topology\)\s*Numa Node:\s*(\d{1,4})\b")


class RocmSmiImporter:
    """See the module."""

    def read(self, text: str, label: str, options: Mapping[str, OptionValue]) -> Imported:
        """The machine that the matrices describe.

        Args:
            text: what ``rocm-smi --showtopo`` or ``--showtopotype`` printed.
            label: what the user calls the file.
            options: values of `AMD_OPTIONS`.

        Raises:
            ImportFormatError: when there is no whole matrix of link types, or nothing joins all
                GPUs.
            OptionError: when an option is no bandwidth.
        """
        pcie = pcie_option(options, _OWNER)
        speed = link_speed(options, _OWNER)
        lines = lines_of(text)
        found = _matrices(lines, label)
        if "link type" not in found:
            what = "only " + " and ".join(found) if found else "no matrix at all"
            raise complaint(
                label,
                f"no matrix `Link Type between two GPUs`, but {what}",
                expected=f"the output of `{_COMMAND}`",
            )
        types = found["link type"]
        for other in ("hops", "weight"):
            require_same(types, found.get(other), label)
        numa = {f"GPU{int(m[1])}": m[2] for line in lines if (m := _NUMA.search(line.text))}
        sockets = tuple(numa.get(name, "") for name in types.names)
        told = Told(
            types,
            found.get("hops"),
            found.get("weight"),
            {},
            sockets if all(sockets) else (),
            _COMMAND,
        )
        return machine_of(told, speed, pcie, label)


def _matrices(lines: Sequence[Line], label: str) -> dict[str, Matrix]:
    """The matrices by the word of their title, in lower case.

    Raises:
        ImportFormatError: when one is cut off, or there twice.
    """
    found: dict[str, Matrix] = {}
    for i, line in enumerate(lines):
        title = _TITLE.search(line.text)
        if title is None:
            continue
        kind = title[1].lower()
        if kind in found:
            raise complaint(
                label,
                f"a second matrix `{title[0]}`",
                line=line.number,
                text=line.text,
                expected="the output of one command on one machine",
            )
        start = next((j for j in range(i + 1, len(lines)) if lines[j].words), len(lines))
        columns = columns_of(lines[start], _GPU) if start < len(lines) else ()
        if not columns:
            raise complaint(
                label,
                f"below `{title[0]}` no line names the GPUs",
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
            ends=lambda line: "==" in line.text or _TITLE.search(line.text) is not None,
            again=_COMMAND,
        )
    return found
