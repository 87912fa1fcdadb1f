"""System: the contents of a topology XML as flat lists.

::

    <system version="1">
      <cpu numaid="0" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">
        <pci busid="0000:18:00.0" class="0x060400" link_speed="32.0 GT/s PCIe" link_width="16">
          <pci busid="0000:1b:00.0" class="0x030200" …>
            <gpu dev="0" sm="90" rank="0" gdr="1">
              <nvlink target="0000:03:00.0" count="4" tclass="0x068000"/>

A bus address is unique only on one host; a file of several hosts (``host_hash`` of its CPUs) has
the same ones again, so that places are pairs of host and address.  The host is empty if there is
only one.
"""

import re
from dataclasses import dataclass, field
from fractions import Fraction
from xml.etree.ElementTree import Element

from syncoll.importing.description import TextError
from syncoll.importing.json_text import shown
from syncoll_nccl_xml.speeds import pcie_bandwidth

Place = tuple[str, str]
"""(host, bus address), the address in its usual form: ``0000:1b:00.0``; a CPU has ``cpu 0``."""

_BUS = re.compile(r"([0-9a-f]{1,8}):([0-9a-f]{1,2}):([0-9a-f]{1,2})\.([0-9a-f])", re.IGNORECASE)
_SWITCH_TARGET = "fffffff:ff:ff.0"
_MOST_LINKS = 4096
_UNKNOWN_NET = 10_000
_MOST_CPUS = 1024
_MOST_DEVICES = 1 << 17
GPU_CLASSES = ("0x03", "0x12")
_BROADCOM_4 = re.compile(r"0x1000 0xc010 0x1000 0xa...")
_BROADCOM_5 = re.compile(r"0x1000 0xc030 0x1000 0x([01])...")

DUMP = (
    "the file that a job on all GPUs, with one rank each, writes if it runs with "
    "NCCL_TOPO_DUMP_FILE=topo.xml"
)


@dataclass(frozen=True)
class Cpu:
    """A socket or NUMA node (``cpu N`` of a host), with its CPUID; empty or 0 if unknown."""

    place: Place
    arch: str
    vendor: str
    family: int
    model: int


@dataclass(frozen=True)
class Device:
    """A PCI device or bridge.

    Args:
        parent: the bridge or CPU above it.
        bandwidth: bandwidth of the link to the parent, GB/s.
        device_class: the class in lower case; may be empty.
        same_switch: whether it and its parent are two levels of one switch chip.
        peers: bridges that form one switch with it (``pcilink``).
    """

    place: Place
    parent: Place
    bandwidth: Fraction
    device_class: str
    same_switch: bool
    peers: tuple[Place, ...]


@dataclass(frozen=True)
class GpuLink:
    """The links of a GPU, NVLink, xGMI or C2C, to one other device: gpu, switch or cpu.  The
    bandwidth is of all together (C2C); None if the file has none."""

    kind: str
    to: str
    target: Place
    count: int
    bandwidth: Fraction | None = None


@dataclass(frozen=True)
class Gpu:
    """A GPU of a job: rank, number on its host, NVIDIA's or AMD's generation, and links."""

    place: Place
    rank: int | None
    dev: int | None
    compute_capability: int | None
    gcn: str
    links: tuple[GpuLink, ...]


@dataclass(frozen=True)
class Net:
    """A network interface of the PCI device or CPU at a place; GB/s in each direction."""

    name: str
    place: Place
    bandwidth: Fraction


@dataclass
class System:
    """A whole file in its order; devices follow their parents."""

    several_hosts: bool
    cpus: list[Cpu] = field(default_factory=list)
    devices: list[Device] = field(default_factory=list)
    gpus: list[Gpu] = field(default_factory=list)
    nets: list[Net] = field(default_factory=list)
    seen: set[Place] = field(default_factory=set)

    def _number(self, element: Element, name: str, where: str) -> int | None:
        """A whole number in decimal or, with 0x, hexadecimal notation."""
        text = element.get(name)
        if text is None:
            return None
        if re.fullmatch(r"\s*-?(0[xX][0-9a-fA-F]{1,8}|[0-9]{1,9})\s*", text) is None:
            raise TextError(f"{where}: {name} is {shown(text)}", "a whole number")
        return int(text, 16) if "x" in text.lower() else int(text)

    def _place(self, host: str, element: Element, name: str, where: str) -> Place:
        """A bus address."""
        text = element.get(name)
        match = _BUS.fullmatch((text or "").strip())
        if match is None:
            raise TextError(
                f"{where}: {name} is {shown(text) if text else 'missing'}",
                "a bus address such as 0000:1b:00.0",
            )
        domain, bus, device, function = (int(part, 16) for part in match.groups())
        return host, f"{domain:04x}:{bus:02x}:{device:02x}.{function:x}"

    def _new(self, place: Place) -> Place:
        if place in self.seen:
            raise TextError(f"{place[1]} occurs twice" + (" on one host" if place[0] else ""))
        self.seen.add(place)
        return place

    def add_cpu(self, element: Element) -> None:
        """Adds a CPU with all that it has."""
        host = _host(element) if self.several_hosts else ""
        numa = self._number(element, "numaid", "a <cpu>")
        if numa is None:
            raise TextError("a <cpu> without numaid", "the number of its NUMA node")
        where = f"cpu {numa}"
        cpu = Cpu(
            self._new((host, where)),
            (element.get("arch") or "").strip(),
            element.get("vendor") or "",
            self._number(element, "familyid", where) or 0,
            self._number(element, "modelid", where) or 0,
        )
        self.cpus.append(cpu)
        for child in element:
            if child.tag == "pci":
                self._pci(child, cpu.place, None)
            elif child.tag == "nic":
                self._nic(child, cpu.place, where)

    def _nic(self, element: Element, place: Place, where: str) -> None:
        """The interfaces of a network card; speeds are in Mb/s, and 10 Gb/s if missing."""
        for net in element.iter("net"):
            name = " ".join((net.get("name") or "").split())[:40] or "a network interface"
            speed = self._number(net, "speed", f"{where}: {name}") or 0
            rate = Fraction(speed if speed > 0 else _UNKNOWN_NET, 8000)
            self.nets.append(Net(name, place, rate))

    def _pci(self, element: Element, parent: Place, above: Element | None) -> None:
        host = parent[0]
        place = self._place(host, element, "busid", "a <pci>")
        where = place[1]
        nics = element.findall("nic")
        if nics and place in self.seen and element.find("gpu") is None:
            for nic in nics:  # the ports of one network card, which NCCL also merges
                self._nic(nic, place, where)
            return
        self._new(place)
        width = self._number(element, "link_width", where) or 0
        if not 0 <= width <= 64:
            raise TextError(f"{where}: link_width is {width}", "0 to 64 lanes")
        gpus = element.findall("gpu")
        if len(gpus) > 1:
            raise TextError(
                f"{where}: {len(gpus)} ranks on one GPU", "a job that runs one rank on each GPU"
            )
        self.devices.append(
            Device(
                place,
                parent,
                pcie_bandwidth(element.get("link_speed") or "", width),
                (element.get("class") or "").strip().lower(),
                above is not None and _two_levels(above, element),
                tuple(
                    self._place(host, link, "target", f"{where}: a <pcilink>")
                    for link in element.findall("pcilink")
                ),
            )
        )
        for nic in nics:
            self._nic(nic, place, where)
        if gpus:
            self._gpu(gpus[0], place)
            return
        for child in element:
            if child.tag == "pci":
                self._pci(child, place, element)

    def _gpu(self, element: Element, place: Place) -> None:
        where = f"the GPU at {place[1]}"
        if "," in (element.get("rank") or ""):
            raise TextError(
                f"{where}: ranks {shown(element.get('rank'))} share it",
                "a job that runs one rank on each GPU",
            )
        links = [
            self._link(child, place, where) for child in element if child.tag in ("nvlink", "xgmi")
        ]
        links += [self._c2c(child, place, where) for child in element if child.tag == "c2c"]
        self.gpus.append(
            Gpu(
                place,
                self._number(element, "rank", where),
                self._number(element, "dev", where),
                self._number(element, "sm", where),
                (element.get("gcn") or "").strip(),
                tuple(links),
            )
        )

    def _link(self, element: Element, place: Place, where: str) -> GpuLink:
        kind = "xGMI" if element.tag == "xgmi" else "NVLink"
        where = f"{where}: an {kind} entry"
        count = self._number(element, "count", where)
        if count is None or not 1 <= count <= _MOST_LINKS:
            raise TextError(
                f"{where}: count is {'missing' if count is None else count}", "1 or more links"
            )
        target_class = (element.get("tclass") or "").strip().lower()
        target = (element.get("target") or "").strip().lower()
        if target_class.startswith("0x068001"):
            return GpuLink(kind, "cpu", (place[0], target), count)
        if target_class.startswith("0x0680") or target == _SWITCH_TARGET:
            return GpuLink(kind, "switch", (place[0], target), count)
        if target_class.startswith(GPU_CLASSES):
            return GpuLink(kind, "gpu", self._place(place[0], element, "target", where), count)
        raise TextError(
            f"{where}: tclass is {shown(target_class) if target_class else 'missing'}",
            "the class of a GPU (0x03…, 0x12…), of an NVSwitch (0x068000) or of a CPU (0x068001)",
        )

    def _c2c(self, element: Element, place: Place, where: str) -> GpuLink:
        where = f"{where}: a c2c entry"
        count = self._number(element, "count", where)
        bandwidth = self._number(element, "bw", where)
        if not count or not bandwidth or count < 1 or bandwidth < 1:
            raise TextError(f"{where} without a count and bw above 0", "links, and MB/s of each")
        return GpuLink("C2C", "cpu", place, count, Fraction(count * bandwidth, 1000))


def read_system(root: Element) -> System:
    """Reads the root element; ImportFormatError if it is no topology, or contradicts itself."""
    if root.tag == "graphs":
        raise TextError(
            "it holds the rings and trees that NCCL chose (NCCL_GRAPH_DUMP_FILE), which "
            "`syncoll verify` and `syncoll simulate` read with --topology; it describes no machine",
            DUMP,
        )
    if root.tag != "system":
        raise TextError(f"its root element is <{shown(root.tag)[1:-1]}>", f"<system>: {DUMP}")
    cpus = root.findall("cpu")
    system = System(len({_host(cpu) for cpu in cpus}) > 1)
    for cpu in cpus:
        system.add_cpu(cpu)
    if not system.cpus:
        raise TextError("it lists no <cpu>, and so no devices", DUMP)
    if len(system.cpus) > _MOST_CPUS or len(system.devices) > _MOST_DEVICES:
        raise TextError(
            f"{len(system.cpus)} CPUs and {len(system.devices)} PCI devices; at most {_MOST_CPUS} "
            f"and {_MOST_DEVICES} can be handled"
        )
    return system


def _host(cpu: Element) -> str:
    return (cpu.get("host_hash") or "").strip()[:40]


def _two_levels(above: Element, below: Element) -> bool:
    """Whether two bridges are the levels of one Broadcom switch, which is non-blocking inside."""
    ids = [
        " ".join(
            (element.get(name) or "").lower()
            for name in ("vendor", "device", "subsystem_vendor", "subsystem_device")
        )
        for element in (above, below)
    ]
    if all(_BROADCOM_4.fullmatch(text) for text in ids):
        return True
    levels = [_BROADCOM_5.fullmatch(text) for text in ids]
    return [match and match[1] for match in levels] == ["0", "1"]
