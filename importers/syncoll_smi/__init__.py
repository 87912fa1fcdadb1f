"""The output of ``nvidia-smi``, ``rocm-smi`` and others about the links between accelerators.

It names the links, not their speeds; the notes of an imported machine state the assumptions.
"""

import re

from syncoll.plugins import ImporterRecord
from syncoll_smi.options import AMD_OPTIONS, NPU_OPTIONS, NVIDIA_OPTIONS, XPU_OPTIONS

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

_NPU = re.compile(
    _BEFORE + r"(?:NPU|Phy-ID)\d+[ \t|]+(?:X|HCCS|SIO|P[IX][XB]|PHB|SYS)", re.MULTILINE
)
_XPU = re.compile(_BEFORE + r"GPU \d+(?:/\d+)?[ \t|]+(?:S|MDF|XL|SYS|NODE)\b", re.MULTILINE)

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
NPU_SMI = ImporterRecord(
    name="npu-smi",
    summary="Ascend's matrix that `npu-smi info -t topo` prints",
    load="syncoll_smi.others:npu_smi",
    recognises=lambda text: _NPU.search(text, 0, _GLANCE) is not None,
    options=NPU_OPTIONS,
)
XPU_SMI = ImporterRecord(
    name="xpu-smi",
    summary="Intel's matrix that `xpu-smi topology -m` prints",
    load="syncoll_smi.others:xpu_smi",
    recognises=lambda text: _XPU.search(text, 0, _GLANCE) is not None,
    options=XPU_OPTIONS,
)
RECORDS = (NVIDIA_SMI, ROCM_SMI, AMD_SMI, NPU_SMI, XPU_SMI)
