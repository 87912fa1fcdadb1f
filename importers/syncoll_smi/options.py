"""Options of the importers: speeds that the tools do not print, with defaults.

Speeds are from the makers' data sheets, of one link in each direction.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from syncoll.errors import OptionError
from syncoll.importing.rates import parse_rate, rate_option
from syncoll.plugins import CLUSTER_OPTIONS, Option, OptionValue

__all__ = ["AMD_OPTIONS", "NVIDIA_OPTIONS", "Pcie", "Speed", "link_speed", "pcie_option"]

_NVLINK = {
    "p100": Fraction(20),
    "v100": Fraction(25),
    "a100": Fraction(25),
    "a6000": Fraction("14.0625"),
    "h100": Fraction(25),
    "b200": Fraction(50),
}
_XGMI = {
    "mi50": Fraction(46),
    "mi100": Fraction(46),
    "mi250": Fraction(50),
    "mi300": Fraction(64),
    "mi350": Fraction("76.8"),
}
_PCIE = Fraction("31.5")
"""Of 16 lanes of PCIe 4.0: 16 GT/s each, 128 bits of 130."""


def _told(speeds: Mapping[str, Fraction]) -> str:
    return ", ".join(f"{name} {float(speed):g}" for name, speed in speeds.items())


_SHARED_OPTIONS = (
    Option(
        "pcie",
        "auto",
        "GB/s in each direction of the PCIe lanes of a GPU or PCIe switch; auto takes PCIe, at "
        f"{float(_PCIE):g}, only if GPUs are not joined otherwise; no never does",
    ),
    Option("socket", "16", "GB/s in each direction between CPU sockets, where PCIe is taken"),
    *CLUSTER_OPTIONS,
)
NVIDIA_OPTIONS = (
    Option(
        "gpu",
        "a100",
        f"whose NVLinks these are, in GB/s of one link in each direction: {_told(_NVLINK)}",
        choices=tuple(_NVLINK),
    ),
    Option("link", "", "GB/s of one NVLink in each direction, for any GPU"),
    Option(
        "nvswitch",
        "auto",
        "whether NVLinks lead to NVSwitches; auto: if a GPU seems to have more than it can have",
        choices=("auto", "yes", "no"),
    ),
    *_SHARED_OPTIONS,
)
AMD_OPTIONS = (
    Option(
        "gpu",
        "mi300",
        f"whose xGMI links these are, in GB/s of one link in each direction: {_told(_XGMI)}",
        choices=tuple(_XGMI),
    ),
    Option("link", "", "GB/s of one xGMI link in each direction, for any GPU"),
    *_SHARED_OPTIONS,
)


@dataclass(frozen=True)
class Speed:
    """A link's GB/s in each direction, its source in words, and whether a user gave it."""

    rate: Fraction
    reason: str
    given: bool


def link_speed(options: Mapping[str, OptionValue], owner: str) -> Speed:
    """The speed of one NVLink or xGMI link; raises OptionError if it is no bandwidth."""
    if str(options["link"]).strip():
        return Speed(rate_option(options, "link", owner), "as given with the option link", True)
    gpu = str(options["gpu"])
    table = _NVLINK if gpu in _NVLINK else _XGMI
    rate = table[gpu]
    alike = [name.upper() for name, other in table.items() if other == rate]
    return Speed(rate, f"as on {', '.join(alike)} (options gpu and link change it)", False)


@dataclass(frozen=True)
class Pcie:
    """PCIe options: when to use it, GB/s of lanes and between sockets, whether a user gave them."""

    use: str
    rate: Fraction
    socket: Fraction
    given: bool


def pcie_option(options: Mapping[str, OptionValue], owner: str) -> Pcie:
    """The PCIe options; raises OptionError if one is no bandwidth."""
    socket = rate_option(options, "socket", owner)
    word = str(options["pcie"]).strip().lower()
    if word in ("auto", "no"):
        return Pcie("auto" if word == "auto" else "never", _PCIE, socket, False)
    rate = parse_rate(str(options["pcie"]))
    if rate is None:
        raise OptionError(
            f"option pcie of {owner} is {options['pcie']!r}; it must be auto, no, or a bandwidth "
            "above 0 such as 16 or 31.5GB/s"
        )
    return Pcie("always", rate, socket, True)
