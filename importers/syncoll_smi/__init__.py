"""What ``nvidia-smi``, ``rocm-smi`` and ``amd-smi`` print about the links between GPUs.

They tell which GPUs are joined by what, not how fast that is; what is assumed stands in the notes
of every machine that is imported.
"""

from __future__ import annotations

import re

from syncoll.plugins import Importer, ImporterRecord, hookimpl
from syncoll_smi.options import AMD_OPTIONS, NVIDIA_OPTIONS

__all__ = ["AMD_SMI", "NVIDIA_SMI", "ROCM_SMI", "syncoll_importers"]

_GLANCE = 200_000
"""Characters in which an importer looks for its own."""

_BEFORE = r"^(?:[^\w\n\x1b]|\x1b?\[[0-9;]{0,16}m)*"
_NVIDIA = re.compile(
    _BEFORE + r"GPU\d+(?:[^\w\n\x1b]|\x1b\[[0-9;]*m)+(?:X|NV\d+|PIX|PXB|PHB|NODE|SYS|SOC)\b",
    re.MULTILINE,
)
_ROCM = re.compile(r"\b(?:Weight|Hops|Link Type|Link accessibility) between two GPUs\b")
_AMD = re.compile(
    r'"gpu"\s*:\s*\d+\s*,\s*"(?:bdf|link_accessibility|link_type|weight|hops)"|'
    + _BEFORE
    + r"(?:ACCESS|WEIGHT|HOPS|LINK TYPE|NUMA BW|CACHE COHER[AE]NCY|ATOMICS|DMA|"
    r"BI-DIRECTIONAL) TABLE\b",
    re.MULTILINE,
)


def _load_nvidia() -> Importer:
    from syncoll_smi.nvidia import NvidiaSmiImporter

    return NvidiaSmiImporter()


def _load_rocm() -> Importer:
    from syncoll_smi.rocm import RocmSmiImporter

    return RocmSmiImporter()


def _load_amd() -> Importer:
    from syncoll_smi.amd import AmdSmiImporter

    return AmdSmiImporter()


NVIDIA_SMI = ImporterRecord(
    name="nvidia-smi",
    summary="the matrix that `nvidia-smi topo -m` prints",
    load=_load_nvidia,
    recognises=lambda text: _NVIDIA.search(text, 0, _GLANCE) is not None,
    options=NVIDIA_OPTIONS,
)
ROCM_SMI = ImporterRecord(
    name="rocm-smi",
    summary="the matrices that `rocm-smi --showtopo` prints",
    load=_load_rocm,
    recognises=lambda text: _ROCM.search(text, 0, _GLANCE) is not None,
    options=AMD_OPTIONS,
)
AMD_SMI = ImporterRecord(
    name="amd-smi",
    summary="the tables that `amd-smi topology` prints, or its JSON (--json)",
    load=_load_amd,
    recognises=lambda text: _AMD.search(text, 0, _GLANCE) is not None,
    options=AMD_OPTIONS,
)


@hookimpl
def syncoll_importers() -> list[ImporterRecord]:
    """The importers of this package."""
    return [NVIDIA_SMI, ROCM_SMI, AMD_SMI]
