"""Bandwidths that NCCL and RCCL assume, in GB/s and direction; the files only have PCIe's.

The figures are from the two libraries' own topology code (NCCL 2.2x `src/graph/topo.h`, RCCL for
ROCm 6): bandwidths that their authors measured, lower than in the data sheets.
"""

from fractions import Fraction

_NVLINK = (
    (100, Fraction("40.1")),
    (90, Fraction("20.6")),
    (87, Fraction(20)),
    (86, Fraction(12)),
    (70, Fraction(20)),
    (60, Fraction(18)),
)
"""Least compute capability, bandwidth of one link; the first that fits."""

_PCIE = (("2.5", 15), ("5", 30), ("8", 60), ("16", 120), ("32", 240), ("64", 480))
"""Start of the speed in GT/s, units of 100 Mb/s a lane."""

_INTEL = ((0xCF, 40), (0x8F, 22), (0x55, 10))
_INTEL_NEWER = (0xAD, 0xAE, 0xAF)
"""Granite Rapids and Sierra Forest have smaller model numbers than their elders."""

_AMD = {0xBF: 32, 26: 32, 0xAF: 24, 25: 24}


def nvlink_bandwidth(compute_capability: int | None) -> Fraction:
    """Bandwidth of one NVLink by the GPU's ``sm``, 80 for 8.0; by default 80."""
    for least, bandwidth in _NVLINK:
        if compute_capability is not None and compute_capability >= least:
            return bandwidth
    return Fraction(20)


def xgmi_bandwidth(gcn: str) -> Fraction:
    """Bandwidth of one xGMI link by RCCL's architecture: ``906``, ``910`` (gfx90a), ``gfx942``."""
    name = gcn.lower().removeprefix("gfx").partition(":")[0]
    if name.startswith(("94", "95")):
        return Fraction(48)
    return Fraction(36) if name in ("910", "90a") else Fraction(24)


def pcie_bandwidth(speed: str, width: int) -> Fraction:
    """Bandwidth of a PCIe link: speed such as ``16.0 GT/s PCIe`` (default 8), lanes (0: 16)."""
    number = speed.partition(" ")[0].removesuffix(".0")
    units = dict(_PCIE).get(number, 60) if " GT/s" in speed else 60
    return Fraction((width or 16) * units, 80)


def between_cpus(arch: str, vendor: str, family: int, model: int) -> Fraction | None:
    """Between two sockets or NUMA nodes; None if such CPUs are unknown.  Vendor, family and model
    are as in CPUID; family also as older numbers of injected files."""
    if arch == "ppc64":
        return Fraction(32)
    if arch == "arm64":
        return Fraction(6)
    if arch != "x86_64":
        return None
    if vendor == "GenuineIntel":
        if family != 6:
            return Fraction(6)
        if model in _INTEL_NEWER:
            return Fraction(40)
        return Fraction(next((speed for least, speed in _INTEL if model >= least), 6))
    if vendor == "AuthenticAMD":
        return Fraction(_AMD.get(family, 16))
    if vendor in ("CentaurHauls", "  Shanghai  "):
        return Fraction(9 if (family, model) == (7, 0x5B) else 6)
    return None
