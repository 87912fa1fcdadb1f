"""Programs of MPICH in the namespaces of a network."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

from benchmarks.network.layout import FABRIC
from benchmarks.network.namespaces import DEVICE, Network
from syncoll.documents import StoredAlgorithm
from syncoll.errors import ExecutionError
from syncoll.mpi.launcher import find_mpiexec
from syncoll.plugins import ExportRequest
from syncoll.runtime import export_verified
from syncoll_mpi_c import RECORD

__all__ = ["point_to_point", "run_mpich"]

_LAUNCHER = Path(__file__).with_name("launch.sh")
_VARIABLES = {
    "MPIR_CVAR_NOLOCAL": "1",
    "MPIR_CVAR_CH4_NETMOD": "ofi",
    "FI_PROVIDER": "tcp",
    "FI_TCP_IFACE": DEVICE,
    # Ranks share cores, so a rank that waits leaves its core to others.
    "MPIR_CVAR_POLLS_BEFORE_YIELD": "1",
    "MPIR_CVAR_ENABLE_HEAVY_YIELD": "1",
}
_ROW = re.compile(r"^ *(\d+) +([\d.]+)(?: +([\d.]+) +[\d.]+)?$", re.MULTILINE)


def run_mpich(
    network: Network, stored: StoredAlgorithm, counts: list[int], repeats: int, seconds: float
) -> list[tuple[float, float]]:
    """Median seconds of the exported C file, and of MPICH's own collective, for each count.

    Args:
        counts: doubles of a block.

    Raises:
        ExecutionError: if a result is wrong, a rank failed, or the time was up.
    """
    request = ExportRequest(
        "exported", stored.instance.collective, stored.instance, stored.algorithm
    )
    (content,) = export_verified(RECORD, request, {}).exported.files.values()
    source = network.folder / "exported.c"
    source.write_bytes(content)
    program = _compiled(network, source)
    found = []
    for count in counts:
        output = _started(network, program, [count, repeats, count], seconds)
        row = _ROW.search(output)
        if row is None or "OK" not in output:
            raise ExecutionError(f"{stored.where} over MPICH:\n{output}")
        found.append((1e-6 * float(row[2]), 1e-6 * float(row[3] or "nan")))
    return found


def point_to_point(
    network: Network, sizes: Sequence[int], repeats: int, seconds: float
) -> list[float]:
    """Median seconds of a message from node 0 to node 1, which has waited for it, for sizes in
    bytes.  Raises as `run_mpich`."""
    program = _compiled(network, Path(__file__).with_name("pingpong.c"))
    output = _started(network, program, [repeats, *sizes], seconds)
    return [float(line.split()[1]) for line in output.splitlines()]


def _compiled(network: Network, source: Path) -> Path:
    program = network.folder / source.stem
    compiler = Path(find_mpiexec().command[0]).with_name("mpicc")
    options = ["-std=gnu99", "-O2", "-DSYNCOLL_TEST", "-DSYNCOLL_IN_ORDER"]
    _run([str(compiler), *options, str(source), "-o", str(program)], 60)
    return program


def _started(network: Network, program: Path, arguments: Sequence[int], seconds: float) -> str:
    """The output of a program with a rank in each node."""
    command = ["ip", "netns", "exec", network.space(FABRIC), find_mpiexec().command[0]]
    command += ["-iface", "mgmt", "-launcher", "ssh", "-launcher-exec", str(_LAUNCHER)]
    command += ["-hosts", ",".join(network.hosts), "-n", str(network.layout.nodes), "-ppn", "1"]
    for name, value in _VARIABLES.items():
        command += ["-genv", name, value]
    command += [str(program), *map(str, arguments)]
    return _run(command, seconds, SYNCOLL_NETWORK=network.name)


def _run(command: list[str], seconds: float, **variables: str) -> str:
    try:
        made = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=seconds,
            env={**os.environ, **variables},
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise ExecutionError(f"{command[0]} took more than {seconds:g} s") from None
    if made.returncode:
        raise ExecutionError(f"{' '.join(command)} failed:\n{made.stdout}{made.stderr}")
    return made.stdout
