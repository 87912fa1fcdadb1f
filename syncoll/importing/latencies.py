"""Latencies of an imported machine's links, as assumed by its library, since no dump has them.

NCCL and RCCL choose among their algorithms by a table of latencies from GPU to GPU (``hwLat`` in
``src/graph/tuning.cc``).  Its entries of rings in protocol LL contain only the hardware's latency.
A path over NVLinks has half on each port of the switch.  A path over PCIe has half on the link of
each GPU, since both libraries treat all PCIe paths alike.  The links of network cards share the
network's excess over PCIe.
"""

from dataclasses import dataclass, replace
from fractions import Fraction

from syncoll.importing.clusters import CARD, LANES, REACH
from syncoll.model import Fabric
from syncoll.plugins import Imported


@dataclass(frozen=True)
class _Hardware:
    """The latencies that a library assumes, in nanoseconds from GPU to GPU."""

    source: str
    direct_name: str
    direct: int
    pcie: int
    network: int


_KNOWN = {
    "NVLink": _Hardware("NCCL 2.8", "NVLink", 470, 1000, 2700),
    "xGMI": _Hardware("RCCL of ROCm 6", "xGMI", 800, 2200, 9500),
}
_BETWEEN = ("PCIe", "between CPU")
"""Labels of links that lie between bridges, CPUs and sockets."""


def with_latencies(imported: Imported) -> Imported:
    """Adds the documented latencies of the links, and a note; nothing if any link has none."""
    machine, hardware = imported.machine, _KNOWN.get(imported.interconnect)
    if not isinstance(machine, Fabric) or hardware is None:
        return imported
    found = []
    for link in machine.links:
        gpus = (link.source < machine.num_nodes) + (link.destination < machine.num_nodes)
        nanoseconds = _latency(link.label, gpus, hardware)
        if nanoseconds is None:
            note = (
                f"No latencies: none is documented for {link.label!r}; --alpha sets the latency "
                "of a send."
            )
            return replace(imported, notes=(*imported.notes, note))
        found.append(replace(link, latency=Fraction(nanoseconds, 10**9)))
    labels = " ".join(link.label for link in found)
    times = [
        f"{time / 1000:g} us {how}"
        for time, how, there in (
            (hardware.direct, f"over {hardware.direct_name}", hardware.direct_name in labels),
            (hardware.pcie, "over PCIe", "PCIe" in labels),
            (hardware.network, "from box to box", CARD in labels),
        )
        if there
    ]
    note = (
        f"Assumed: latencies of GPU to GPU by which {hardware.source} chooses its algorithms "
        f"(src/graph/tuning.cc, hwLat of rings, protocol LL): {', '.join(times)}, divided over "
        "the links on the way. The latencies of the real machine must be measured (--alpha)."
    )
    return replace(
        imported, machine=replace(machine, links=tuple(found)), notes=(*imported.notes, note)
    )


def _latency(label: str, gpus: int, hardware: _Hardware) -> Fraction | None:
    """The documented nanoseconds of a link with this number of GPUs as ends, or None."""
    if label == CARD:
        return Fraction(hardware.network - hardware.pcie, 2)
    if label in (REACH, LANES):  # on a bridge the GPU's own link has the latency
        return Fraction(hardware.pcie, 2) if gpus else Fraction(0)
    if not gpus:
        return Fraction(0) if label.startswith(_BETWEEN) else None
    if hardware.direct_name in label:
        return Fraction(hardware.direct, 3 - gpus) if "C2C" not in label else None
    return Fraction(hardware.pcie, 3 - gpus) if label.startswith("PCIe") else None
