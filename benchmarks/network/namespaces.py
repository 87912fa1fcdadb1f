"""Networks of namespaces: made, removed, and removed after a process that was killed.

All names begin with the process that owns them and its start.  Devices and addresses lie within the
namespaces, so several networks exist at the same time.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType

from benchmarks.network.layout import FABRIC, Layout
from syncoll.errors import ExecutionError, UsageError
from syncoll.mpi.launcher import find_mpiexec
from syncoll.processes import LivingProcess

__all__ = ["Network", "clean", "missing"]

DEVICE = "d0"
"""The device with a node's own address."""

_NAME = re.compile(r"syncoll-net-(\d+)-(\d+)")
_MAC, _NEIGHBOUR = "02:00:00:00:00:01", "10.255.255.254"
_MTU, _BURST, _QUEUE = 9000, 20_000, 2_000_000
"""Bytes of a packet, of the bucket of tokens, and of the packets that wait for tokens."""

_SETTINGS = (
    "net.ipv4.ip_forward=1",
    "net.ipv4.conf.all.rp_filter=0",
    "net.ipv4.conf.default.rp_filter=0",
    "net.ipv4.tcp_congestion_control=reno",
    "net.ipv4.tcp_slow_start_after_idle=0",
)


def missing() -> str | None:
    """The reason why networks, or programs in them, cannot be started here; None if they can."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    if absent := [name for name in ("ip", "tc", "sysctl") if shutil.which(name) is None]:
        return f"{' and '.join(absent)} not found"
    try:
        mpiexec = Path(find_mpiexec().command[0])
    except UsageError as error:
        return str(error)
    if mpiexec.name != "mpiexec.hydra" or not mpiexec.with_name("mpicc").exists():
        return "it needs MPICH with mpicc: pip install 'syncoll[mpi]'"
    if find_spec("torch") is None:
        return "it needs PyTorch: pip install 'syncoll[torch]'"
    try:  # containers may forbid networks, and kernels may lack the token bucket
        for line in _PROBE:
            _run(*line.format(f"{_PROBED}{os.getpid()}").split())
    except ExecutionError as error:
        return str(error)
    finally:
        subprocess.run(["ip", "netns", "del", f"{_PROBED}{os.getpid()}"], capture_output=True)
    return None


_PROBED, _PROBE = (
    "syncoll-probe-",
    (
        "ip netns add {0}",
        "ip -n {0} link add left type veth peer name right",
        "tc -n {0} qdisc add dev left root tbf rate 1mbit burst 16kb latency 50ms",
        "ip netns exec {0} sysctl -w net.ipv4.ip_forward=1",
    ),
)
"""A network that is made to see whether one can be."""


def _run(*command: str, text: str | None = None) -> str:
    made = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if made.returncode:
        raise ExecutionError(f"{' '.join(command)} failed: {made.stderr.strip()}")
    return made.stdout


def _batch(program: str, lines: Iterable[str], space: str | None = None) -> None:
    within = ("-n", space) if space else ()
    _run(program, *within, "-batch", "-", text="".join(f"{line}\n" for line in lines))


class Network:
    """The namespaces of a layout, between ``with`` and its end.

    Args:
        layout: its hops and routes.

    Attributes:
        name: the beginning of the names of its namespaces.
        folder: for files of programs that run in it; removed with it.
    """

    def __init__(self, layout: Layout) -> None:
        this = LivingProcess.this()
        self.layout = layout
        self.name = f"syncoll-net-{this.pid}-{int(this.born)}"
        self.folder = Path(tempfile.gettempdir(), self.name)

    @property
    def hosts(self) -> list[str]:
        """The addresses of the nodes, by which programs are started in them."""
        return [f"10.210.{node >> 8}.{node & 255}" for node in range(1, self.layout.nodes + 1)]

    def space(self, place: int) -> str:
        """The namespace of a node or of the fabric."""
        return f"{self.name}-{'fabric' if place == FABRIC else self.hosts[place]}"

    def __enter__(self) -> Network:
        try:
            self.folder.mkdir(mode=0o700)
            self._make()
        except BaseException:
            _remove(self.name)
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        _remove(self.name)

    def _make(self) -> None:
        hops, places = self.layout.hops, [*range(self.layout.nodes), FABRIC]
        _batch("ip", (f"netns add {self.space(place)}" for place in places))
        _batch(
            "ip",
            (
                f"link add out{i} netns {self.space(hop.source)} type veth "
                f"peer name in{i} netns {self.space(hop.destination)}"
                for i, hop in enumerate(hops)
            ),
        )
        # mpiexec runs in the fabric and has a bridge to all nodes.
        fabric = ["link add mgmt type bridge", "addr add 10.210.255.254/16 dev mgmt"]
        _batch("ip", [*fabric, "link set mgmt up"], self.space(FABRIC))
        for node, host in enumerate(self.hosts):
            own = _address(node)
            _batch(
                "ip",
                (
                    f"link add eth0 type veth peer name m{node} netns {self.space(FABRIC)}",
                    f"addr add {host}/16 dev eth0",
                    "link set eth0 up",
                    f"link add {DEVICE} type veth peer name d1",
                    f"addr add {own}/32 dev {DEVICE}",
                    f"link set {DEVICE} mtu {_MTU} up",
                    f"link set d1 mtu {_MTU} up",
                ),
                self.space(node),
            )
        members = (f"link set m{node} master mgmt up" for node in range(self.layout.nodes))
        _batch("ip", members, self.space(FABRIC))
        for place in places:
            _run("ip", "netns", "exec", self.space(place), "sysctl", "-qw", *_SETTINGS)
            lines, limits = ["link set lo up"], []
            for i, hop in enumerate(hops):
                if hop.source == place:
                    lines.append(f"link set out{i} address {_MAC} mtu {_MTU} up")
                    lines.append(f"neigh add {_NEIGHBOUR} lladdr {_MAC} dev out{i} nud permanent")
                    if hop.rate is not None:
                        limits.append(
                            f"qdisc add dev out{i} root tbf rate {int(hop.rate * 8)}bit "
                            f"burst {_BURST} limit {_QUEUE}"
                        )
                if hop.destination == place:
                    lines.append(f"link set in{i} address {_MAC} mtu {_MTU} up")
                    if place == FABRIC:
                        lines.append(f"rule add iif in{i} lookup {1000 + i}")
            for (at, before, to), hop_on in self.layout.onward.items():
                if at == place:
                    table = "main" if before is None else 1000 + before
                    source = f" src {_address(at)}" if before is None else ""
                    lines.append(
                        f"route add {_address(to)}/32 via {_NEIGHBOUR} dev out{hop_on} onlink"
                        f"{source} table {table}"
                    )
            _batch("ip", lines, self.space(place))
            _batch("tc", limits, self.space(place))


def _address(node: int) -> str:
    """The address for data."""
    return f"10.200.{node + 1 >> 8}.{node + 1 & 255}"


def _remove(name: str) -> None:
    """Ends the programs of a network, and removes its namespaces and its folder."""
    spaces = [one for one in _spaces() if one.startswith(f"{name}-")]
    for _ in range(50):
        found = [pid for one in spaces for pid in _run("ip", "netns", "pids", one).split()]
        if not found:
            break
        for pid in found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)
        time.sleep(0.1)
    _batch("ip", (f"netns del {one}" for one in spaces))
    shutil.rmtree(Path(tempfile.gettempdir(), name), ignore_errors=True)


def _spaces() -> list[str]:
    return [line.split()[0] for line in _run("ip", "netns", "list").splitlines() if line.split()]


def clean() -> list[str]:
    """Removes networks whose process has ended; returns their names."""
    folders = [one.name for one in Path(tempfile.gettempdir()).glob("syncoll-net-*")]
    names = {found[0]: found for one in [*_spaces(), *folders] if (found := _NAME.match(one))}
    dead = [
        name
        for name, found in sorted(names.items())
        if not LivingProcess(int(found[1]), float(found[2])).lives()
    ]
    for name in dead:
        _remove(name)
    return dead
