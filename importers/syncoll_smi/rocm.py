"""``rocm-smi --showtopo``: matrices of weights, hops and link types, then NUMA nodes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from syncoll.importing import complaint
from syncoll.plugins import Imported, OptionValue
from syncoll_smi.matrices import DeviceMatrix, Line, lines_of
from syncoll_smi.options import link_speed, pcie_option
from syncoll_smi.xgmi import SmiReport, machine_of, titled_matrices

__all__ = ["RocmSmiImporter"]

_OWNER = "importer rocm-smi"
_COMMAND = "rocm-smi --showtopo"
_GPU = re.compile(r"GPU\d{1,4}")
_TITLE = re.compile(
    r"\b(Weight|Hops|Link Type|Link accessibility) between two GPUs\b", re.IGNORECASE
)
_NUMA = re.compile(r"GPU\s*\[?\s*(\d{1,4})\s*\]?\s*:\s*\(Topology\)\s*Numa Node:\s*(-?\d{1,4})\b")


class RocmSmiImporter:
    """Reads the matrices of ``rocm-smi --showtopo`` or ``--showtopotype``."""

    def read(self, text: str, label: str, options: Mapping[str, OptionValue]) -> Imported:
        """See `syncoll.plugins.Importer`."""

        def title_of(line: Line) -> tuple[str, str] | None:
            title = _TITLE.search(line.text)
            return None if title is None else (title[1].lower(), title[0])

        def ends(line: Line) -> bool:
            return "==" in line.text or title_of(line) is not None

        pcie = pcie_option(options, _OWNER)
        speed = link_speed(options, _OWNER)
        lines = lines_of(text)
        found = titled_matrices(lines, label, title_of, _GPU, ends, _COMMAND)
        if "link type" not in found:
            what = "only " + " and ".join(found) if found else "no matrix at all"
            raise complaint(
                label,
                f"no matrix `Link Type between two GPUs`, but {what}",
                expected=f"the output of `{_COMMAND}`",
            )
        types = found["link type"]
        sockets = _sockets(lines, types, label)
        report = SmiReport(
            types,
            found.get("hops"),
            found.get("weight"),
            None,
            sockets,
            _COMMAND,
        )
        return machine_of(report, speed, pcie, label)


def _sockets(lines: Sequence[Line], types: DeviceMatrix, label: str) -> tuple[str, ...]:
    """The NUMA node of each GPU; empty where the text has none, or one that is not known (-1)."""
    numa = {f"GPU{int(m[1])}": m[2] for line in lines if (m := _NUMA.search(line.text))}
    odd = set(numa) ^ set(types.names) if numa else set()
    if odd:
        name = min(odd, key=lambda name: (len(name), name))
        raise types.header.wrong(
            label,
            f"{name} has a NUMA node, and no column in the matrix"
            if name in numa
            else f"{name} has no line `Numa Node`, and others have",
            f"the whole output of `{_COMMAND}`",
        )
    sockets = tuple(numa.get(name, "-") for name in types.names)
    return () if any(socket.startswith("-") for socket in sockets) else sockets
