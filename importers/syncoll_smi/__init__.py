"""The output of ``nvidia-smi``, ``rocm-smi`` and ``amd-smi`` about the links between GPUs.

It names the links, not their speeds; the notes of an imported machine state the assumptions.
"""

import re

from syncoll.plugins import ImporterRecord
from syncoll_smi.options import AMD_OPTIONS, NVIDIA_OPTIONS

_GLANCE = 200_000
"""Characters in which an importer looks for its own marks."""

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

NVIDIA_SMI = ImporterRecord(
    name="nvidia-smi",
    summary="the matrix that `nvidia-smi topo -m` prints",
    load="syncoll_smi.nvidia:NvidiaSmiImporter",
    recognises=lambda text: _NVIDIA.search(text, 0, _GLANCE) is not None,
    options=NVIDIA_OPTIONS,
)
ROCM_SMI = ImporterRecord(
    name="rocm-smi",
    summary="the matrices that `rocm-smi --showtopo` prints",
    load="syncoll_smi.xgmi:RocmSmiImporter",
    recognises=lambda text: _ROCM.search(text, 0, _GLANCE) is not None,
    options=AMD_OPTIONS,
)
AMD_SMI = ImporterRecord(
    name="amd-smi",
    summary="the tables that `amd-smi topology` prints, or its JSON (--json)",
    load="syncoll_smi.amd:AmdSmiImporter",
    recognises=lambda text: _AMD.search(text, 0, _GLANCE) is not None,
    options=AMD_OPTIONS,
)
RECORDS = (NVIDIA_SMI, ROCM_SMI, AMD_SMI)
