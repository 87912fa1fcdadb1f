"""Islands: GPUs that NVLinks join, either directly or through NVSwitches."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import comb

from syncoll.importing import Machine
from syncoll.wording import counted
from syncoll_smi.matrices import DeviceMatrix, groups
from syncoll_smi.pcie import named

MOST_NVLINKS = 18
"""Greatest number of NVLinks of a GPU: P100 4, V100 6, A100 12, H100 and B200 18."""

Counts = Mapping[tuple[int, int], int]


@dataclass(frozen=True)
class Island:
    """GPUs that NVLinks join: the NVLinks of each pair, or of each GPU to NVSwitches (ports)."""

    gpus: tuple[int, ...]
    counts: Counts
    ports: tuple[int, ...] = ()

    def add(self, machine: Machine, rate: Fraction) -> None:
        """Adds the links at a rate per NVLink and direction; a switch is ``("NVSwitch", GPU)``."""
        if not self.ports:
            for (a, b), count in self.counts.items():
                machine.join(a, b, count * rate, counted(count, "NVLink"))
            return
        switch = ("NVSwitch", self.gpus[0])
        machine.switch(switch, f"NVSwitches of {named([machine.names[gpu] for gpu in self.gpus])}")
        for gpu, count in zip(self.gpus, self.ports, strict=True):
            machine.join(gpu, switch, count * rate, f"{counted(count, 'NVLink')} to NVSwitches")

    def notes(self, names: Sequence[str]) -> list[str]:
        """The assumptions about these GPUs."""
        mine = named([names[gpu] for gpu in self.gpus])
        if self.ports:
            ports = sorted(set(self.ports))
            links = (
                counted(ports[0], "NVLink")
                if len(ports) == 1
                else f"{ports[0]} to {ports[-1]} NVLinks"
            )
            return [
                f"{mine} are joined by NVSwitches, taken as one switch: each GPU sends and "
                f"receives over its {links}, to and from any GPUs (option nvswitch)."
            ]
        uniform = len(set(self.counts.values())) == 1
        if uniform and len(self.gpus) > 2 and len(self.counts) == comb(len(self.gpus), 2):
            (count,) = set(self.counts.values())
            return [
                f"Every pair of {mine} is assumed to have {counted(count, 'NVLink')} of its own; "
                "if they lead to NVSwitches, set nvswitch=yes."
            ]
        return []


def islands(matrix: DeviceMatrix, counts: Counts, nvswitch: str) -> list[Island]:
    """The islands of a machine, by the NVLinks of pairs; `nvswitch` is auto, yes or no.

    Raises ImportFormatError if a GPU has more NVLinks than it can have without NVSwitches, or
    NVSwitches are demanded and impossible.
    """
    near: dict[int, dict[int, int]] = {}
    for (a, b), count in counts.items():
        near.setdefault(a, {})[b] = count
        near.setdefault(b, {})[a] = count
    result = []
    for members in groups(counts, len(matrix.names)):
        if len(members) > 1:
            own = {pair: count for pair, count in counts.items() if pair[0] in members}
            ports = _ports(members, near, matrix, nvswitch)
            result.append(Island(tuple(members), own, ports))
    return result


def _ports(
    gpus: Sequence[int], near: Mapping[int, Mapping[int, int]], matrix: DeviceMatrix, nvswitch: str
) -> tuple[int, ...]:
    """NVLinks from each GPU to NVSwitches, the most of its pairs; empty if pairs are direct."""
    busiest = max(gpus, key=lambda gpu: sum(near[gpu].values()))
    total = sum(near[busiest].values())
    if nvswitch == "no" or len(gpus) < 3 or (nvswitch == "auto" and total <= MOST_NVLINKS):
        return ()
    ports = {gpu: max(near[gpu].values()) for gpu in gpus}
    for i, a in enumerate(gpus):
        for b in gpus[i + 1 :]:
            there = near[a].get(b, 0)
            if there != min(ports[a], ports[b]):
                names, line = matrix.names, matrix.lines[a]
                reason = (
                    f"{names[busiest]} would have {total} NVLinks, more than any GPU"
                    if nvswitch == "auto"
                    else "nvswitch=yes"
                )
                raise line.wrong(
                    f"{reason}, but NVSwitches would give {names[a]} and {names[b]} "
                    f"{counted(min(ports[a], ports[b]), 'NVLink')}, and they have {there}",
                    "a matrix as the tool printed it; nvswitch=no takes it literally",
                )
    return tuple(ports[gpu] for gpu in gpus)
