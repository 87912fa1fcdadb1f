"""Options of the importers: speeds that the tools do not print, with defaults.

Speeds are from the makers' data sheets, of one link in each direction.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from syncoll.errors import OptionError
from syncoll.importing.rates import parse_rate, rate_option
from syncoll.plugins import CLUSTER_OPTIONS, Option, Options

_NVLINK = {
    "p100": Fraction(20),
    "v100": Fraction(25),
    "a100": Fraction(25),
    "a6000": Fraction("14.0625"),
    "a40": Fraction("14.0625"),
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
_LANES = {3: Fraction("15.75"), 4: Fraction("31.5"), 5: Fraction(63)}
"""Of 16 lanes by the generation of PCIe: 8, 16 and 32 GT/s each, 128 bits of 130."""
_GENERATIONS = {"p100": 3, "v100": 3, "mi50": 4, "h100": 5, "b200": 5, "mi300": 5, "mi350": 5}


def _listed(speeds: Mapping[str, Fraction]) -> str:
    return ", ".join(f"{name} {float(speed):g}" for name, speed in speeds.items())


_PCIE_OPTIONS = (
    Option(
        "pcie",
        "auto",
        "GB/s in each direction of the PCIe lanes of a GPU or PCIe switch; auto takes PCIe, at the "
        "speed of 16 lanes, only if GPUs are not joined otherwise; no never does",
    ),
    Option(
        "lanes",
        "",
        "GB/s in each direction of the PCIe lanes, where PCIe or a network card is taken; by "
        "default of 16 lanes of the GPU's PCIe",
    ),
    Option("socket", "16", "GB/s in each direction between CPU sockets, where PCIe is taken"),
    Option("sockets", 0, "CPU sockets of a box; 0: two for more than two NUMA nodes", low=0),
)
_SHARED_OPTIONS = (*_PCIE_OPTIONS, *CLUSTER_OPTIONS)
_UNKNOWN = "; without any speed, each link carries one chunk per round"
NPU_OPTIONS = (
    Option("link", "", "GB/s of an HCCS link in each direction" + _UNKNOWN),
    Option("sio", "", "GB/s between the dies of a chip (SIO) in each direction"),
    *_PCIE_OPTIONS,
)
XPU_OPTIONS = (
    Option("link", "", "GB/s of one lane of Xe Link in each direction" + _UNKNOWN),
    Option("mdf", "", "GB/s between the tiles of a card (MDF) in each direction"),
    *_PCIE_OPTIONS,
)
NVIDIA_OPTIONS = (
    Option(
        "gpu",
        "auto",
        "auto: as the matrix looks, else a100; "
        f"whose NVLinks these are, in GB/s of one link in each direction: {_listed(_NVLINK)}",
        choices=("auto", *_NVLINK),
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
        f"whose xGMI links these are, in GB/s of one link in each direction: {_listed(_XGMI)}",
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


def link_speed(options: Options, owner: str, looks: str = "") -> Speed:
    """The speed of one NVLink or xGMI link; raises OptionError if it is no bandwidth.  The model of
    ``gpu=auto`` is `looks`, or A100."""
    if str(options["link"]).strip():
        return Speed(rate_option(options, "link", owner), "as given with the option link", True)
    gpu = str(options["gpu"])
    gpu = (looks or "a100") if gpu == "auto" else gpu
    table = _NVLINK if gpu in _NVLINK else _XGMI
    rate = table[gpu]
    alike = [name.upper() for name, other in table.items() if other == rate]
    return Speed(rate, f"as on {', '.join(alike)} (options gpu and link change it)", False)


@dataclass(frozen=True)
class Pcie:
    """PCIe options: when to use it, GB/s of lanes, their source in words, GB/s between sockets, and
    the number of sockets; 0 if it is to be found."""

    use: str
    rate: Fraction
    reason: str
    socket: Fraction
    sockets: int = 0


def pcie_option(options: Options, owner: str, looks: str = "") -> Pcie:
    """The PCIe options; raises OptionError if one is no bandwidth."""
    socket, sockets = rate_option(options, "socket", owner), int(options["sockets"])
    word = str(options["pcie"]).strip().lower()
    given = "lanes" if word in ("auto", "no") else "pcie"
    rate = parse_rate(str(options[given]))
    if rate is None and str(options[given]).strip():
        choices = "auto, no, or " if given == "pcie" else ""
        raise OptionError(
            f"option {given} of {owner} is {options[given]!r}; it must be {choices}a bandwidth "
            "above 0 such as 16 or 31.5GB/s"
        )
    gpu = str(options["gpu"]) if "gpu" in options else ""
    generation = _GENERATIONS.get(looks if gpu in ("auto", "") else gpu, 4)
    reason = f"as given; option {given}"
    if rate is None:
        rate, reason = _LANES[generation], f"16 lanes of PCIe {generation}.0; option lanes"
    use = {"auto": "auto", "no": "never"}.get(word, "always")
    return Pcie(use, rate, reason, socket, sockets)
