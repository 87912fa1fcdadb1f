"""A fabric of GPUs from a topology XML, as NCCL itself would see them.

docs/topology-files.md has the meaning of each device.  If NVLinks connect all GPUs, PCIe is left
out: no collective of such a machine uses it.  A bridge above a single GPU and nothing else is part
of that GPU's link.
"""

from collections import Counter
from fractions import Fraction
from itertools import combinations
from operator import attrgetter

from networkx.utils import UnionFind

from syncoll.errors import ImportFormatError
from syncoll.importing import Machine, TextError, speed_option
from syncoll.importing.json_text import foreign_text
from syncoll.importing.xml_text import parse_xml
from syncoll.plugins import Imported, NetworkCard, Options
from syncoll.wording import counted, few
from syncoll_nccl_xml.speeds import between_cpus, nvlink_bandwidth, xgmi_bandwidth
from syncoll_nccl_xml.system import DUMP, GPU_CLASSES, Cpu, Gpu, Place, System, read_system

_OWNER = "importer nccl-xml"
_SLOWEST_SOCKETS = Fraction(6)
_KINDS = {"NVLink": "NVLink", "xGMI": "xGMI link", "C2C": "C2C link"}
_SWITCH: Place = ("", "NVSwitch")
_HOW = (
    f"{DUMP}; or the output of `nvidia-smi topo -m` (importer nvidia-smi) or `rocm-smi --showtopo` "
    "(importer rocm-smi) on the machine"
)


class NcclXmlImporter:
    """Reads topology XML of NCCL and RCCL."""

    def read(self, text: str, label: str, options: Options) -> Imported:
        """See `syncoll.plugins.Importer`."""
        other = foreign_text(text)
        if other:
            raise TextError(f"it is {other}")
        return _Lowering(read_system(parse_xml(text)), label, options).imported()


class _Lowering:
    """From the devices of a file to a machine, with the speeds that NCCL assumes.  With more than
    one of `boxes` a single GPU is enough."""

    def __init__(self, system: System, label: str, options: Options) -> None:
        self.system = system
        self.above = {device.place: device.parent for device in system.devices}
        self.merged = self._merged()
        self.network = str(options["network"])
        self.given_link = speed_option(options, "link", _OWNER)
        self.given_socket = speed_option(options, "socket", _OWNER)
        self.machine = Machine(options, label, _OWNER)
        self.notes = self.machine.notes
        self.gpus = self._gpus()
        for gpu in self.gpus:
            self.machine.node(gpu.place, _gpu_name(gpu))
        kinds = {link.kind for gpu in self.gpus for link in gpu.links} - {"C2C"}
        self.direct = " and ".join(f"{_KINDS[kind]}s" for kind in sorted(kinds)) or "NVLinks"
        self.options = options
        self.number = {gpu.place: i for i, gpu in enumerate(self.gpus)}

    def imported(self) -> Imported:
        if self.network != "pcie":
            self._require_known_links()
            self._join_gpus()
        host = self.machine.takes_host(self.direct, "NCCL leaves out GPUs that the job did not use")
        assumed = self._join_pcie()
        self._add_cards()
        assumed += self._join_cpus()
        if host:
            self.notes += [note for note in assumed if note not in self.notes]
        hosts = len({gpu.place[0] for gpu in self.gpus})
        found = self.machine.reached(host=host)
        if found < len(self.gpus):
            raise TextError(
                f"its links reach {found} of {len(self.gpus)} GPUs from GPU 0"
                + (f"; the GPUs are on {hosts} hosts, and no NVSwitch joins them" * (hosts > 1)),
                "links between all; such files do not have the links between network cards",
            )
        if int(self.options["boxes"]) > 1 and hosts > 1 and self.system.nets:
            raise TextError(
                f"boxes={self.options['boxes']}, but its GPUs are on several hosts already",
                "the file of one host, or boxes=1",
            )
        return self.machine.imported(
            host=host,
            thin=True,
            interconnect="xGMI" if any(gpu.gcn for gpu in self.gpus) else "NVLink",
            shared=[_SWITCH],
        )

    def _add_cards(self) -> None:
        """The interfaces that are PCI devices; without any, the others."""
        rates = {device.place: device.bandwidth for device in self.system.devices}
        nets = [net for net in self.system.nets if net.place in rates] or self.system.nets
        for net in nets:
            above = self.above.get(net.place, net.place)
            card = NetworkCard(net.name, (), net.bandwidth, lanes=rates.get(net.place))
            self.machine.card(card, self.merged.get(above, above))
        others = [net.name for net in self.system.nets if net not in nets]
        if others:
            self.notes.append(
                f"Left out: network interfaces that are no PCI devices ({few(others)})."
            )

    def _gpus(self) -> tuple[Gpu, ...]:
        """The compute nodes, numbered; PCI devices if requested for a file without `gpu`."""
        gpus = list(self.system.gpus)
        by_class = [
            device.place
            for device in self.system.devices
            if device.device_class.startswith(GPU_CLASSES)
        ]
        if not gpus:
            if self.network != "pcie" or len(by_class) < 2:
                raise self._lacks_gpus(len(by_class))
            self.notes.append(
                "The file has only PCI devices; class 0x03 or 0x12 means a GPU.  GPUs are numbered "
                "in the order of the file."
            )
            return tuple(Gpu(place, None, None, None, "", ()) for place in by_class)
        unused = len(set(by_class) - {gpu.place for gpu in gpus})
        if unused:
            self.notes.append(f"Left out: {unused} GPUs that the job which wrote this did not use.")
        for name, noun in (("rank", "ranks"), ("dev", "device numbers")):
            numbers = [getattr(gpu, name) for gpu in gpus]
            if None not in numbers and len(set(numbers)) == len(gpus):
                self.notes.append(f"Nodes are the GPUs in the order of their {noun}.")
                return tuple(sorted(gpus, key=attrgetter(name)))
        self.notes.append(
            "Nodes are the GPUs as they come in the file: it gives neither each a rank nor each a "
            "device number of its own."
        )
        return tuple(gpus)

    def _lacks_gpus(self, by_class: int) -> ImportFormatError:
        devices = len(self.system.devices)
        what = f"it lists {devices} PCI devices" + (
            f", {by_class} of them GPUs by their class," if by_class else ""
        )
        return TextError(
            f"{what} but no <gpu> and none of its links: NCCL takes such a file (NCCL_TOPO_FILE) "
            "for PCIe and finds the NVLinks itself, on the machine",
            _HOW + (". The option network=pcie imports only its PCIe" if by_class > 1 else ""),
        )

    def _require_known_links(self) -> None:
        for gpu in self.gpus:
            own = sum(
                link.count for link in gpu.links if link.to == "gpu" and link.target == gpu.place
            )
            if own:
                raise TextError(
                    f"{_gpu_name(gpu)} has {own} links to itself: the file hides which GPUs "
                    "they join, as files of virtual machines do",
                    "the other GPU as target. Correct the targets with the output of "
                    "`nvidia-smi topo -m`, or import that (importer nvidia-smi), or "
                    "only PCIe with the option network=pcie",
                )

    def _join_gpus(self) -> None:
        """Links between GPUs, and to NVSwitches."""
        counts: Counter[tuple[Place, Place]] = Counter()
        to_switch: Counter[Place] = Counter()
        named: set[str] = set()
        absent = 0
        for gpu in self.gpus:
            for link in gpu.links:
                if link.to == "switch":
                    to_switch[gpu.place] += link.count
                    named.add(link.target[1])
                elif link.to == "gpu" and link.target in self.number:
                    counts[gpu.place, link.target] += link.count
                elif link.to == "gpu":
                    absent += link.count
        speeds: set[str] = set()
        for (one, other), count in counts.items():
            self._require_mutual(one, other, counts)
            if self.number[one] < self.number[other]:
                ends = [self.gpus[self.number[place]] for place in (one, other)]
                speed = min(self._link_bandwidth(gpu, speeds) for gpu in ends)
                what = counted(count, _KINDS[_kind(ends[0])])
                self.machine.join(one, other, count * speed, what)
        for place, count in to_switch.items():
            gpu = self.gpus[self.number[place]]
            self.machine.switch(_SWITCH, "NVSwitch")
            rate = count * self._link_bandwidth(gpu, speeds)
            self.machine.join(place, _SWITCH, rate, counted(count, _KINDS[_kind(gpu)]))
        if to_switch:
            self.notes.append(
                "All NVSwitches are one non-blocking switch, whose ports are each GPU's "
                f"NVLinks (the file names {len(named)} of them)."
            )
        if absent:
            self.notes.append(f"Left out: {absent} links to GPUs that are not in the file.")
        self.notes += sorted(speeds)

    def _require_mutual(
        self, one: Place, other: Place, counts: Counter[tuple[Place, Place]]
    ) -> None:
        there, back = counts[one, other], counts[other, one]
        if there != back:
            names = [_gpu_name(self.gpus[self.number[place]]) for place in (one, other)]
            raise TextError(
                f"{names[0]} lists {there} links to {names[1]}, which lists {back} to it",
                "as many both ways; the file is incomplete, or was edited by hand",
            )

    def _link_bandwidth(self, gpu: Gpu, speeds: set[str]) -> Fraction:
        """The bandwidth of one link; an assumption is added to the notes."""
        if self.given_link is not None:
            rate = f"{float(self.given_link):g} GB/s"
            speeds.add(f"Each link carries {rate} in each direction (option link).")
            return self.given_link
        kind = _kind(gpu)
        if kind == "xGMI":
            bandwidth, who = xgmi_bandwidth(gpu.gcn), f"RCCL of gcn {gpu.gcn or 'unknown'}"
        else:
            sm = gpu.compute_capability
            bandwidth, who = nvlink_bandwidth(sm), f"NCCL of sm {sm if sm else 'unknown'}"
        speeds.add(
            f"Assumed: {float(bandwidth):g} GB/s for each {_KINDS[kind]} and direction, as does "
            f"{who}; counts are the file's."
        )
        return bandwidth

    def _join_pcie(self) -> list[str]:
        """Bridges, CPUs, and the links of GPUs to their CPUs; returns the assumptions."""
        for device in self.system.devices:
            child = self.merged[device.place]
            parent = self.merged.get(device.parent, device.parent)
            for place in {child, parent} - self.number.keys():
                self.machine.names[place] = _switch_name(place)
            if child != parent:
                self.machine.join(child, parent, device.bandwidth, "PCIe", below=True)
        speeds: set[str] = set()
        for gpu in self.gpus:
            cpu = self.machine.root(gpu.place)
            for link in gpu.links:
                if link.to == "cpu":
                    bandwidth = link.bandwidth or link.count * self._link_bandwidth(gpu, speeds)
                    what = counted(link.count, _KINDS[link.kind])
                    self.machine.join(gpu.place, cpu, bandwidth, what, host=True)
        return sorted(speeds)

    def _merged(self) -> dict[Place, Place]:
        """The first in the file of the bridges that are one switch, for each of them."""
        joined: UnionFind[Place] = UnionFind(device.place for device in self.system.devices)
        for device in self.system.devices:
            others = [peer for peer in device.peers if peer in self.above]
            joined.union(device.place, *others, *[device.parent] * device.same_switch)
        first: dict[Place, Place] = {}
        return {place: first.setdefault(joined[place], place) for place in self.above}

    def _join_cpus(self) -> list[str]:
        """CPUs of a host that have GPUs or used cards, each with each; returns assumptions."""
        hooks = self.machine.hooks().values()
        used = {self.machine.root(place) for place in (*self.number, *hooks)}
        assumed: set[str] = set()
        for one, other in combinations([cpu for cpu in self.system.cpus if cpu.place in used], 2):
            if one.place[0] == other.place[0]:
                bandwidth = min(self._socket(one, assumed), self._socket(other, assumed))
                self.machine.join(one.place, other.place, bandwidth, "between CPUs", host=True)
        return [
            *sorted(assumed),
            "PCIe bridges and CPUs are switches; PCIe has the bandwidth that NCCL computes from "
            "speed and width, without allowance for its protocol.",
        ]

    def _socket(self, cpu: Cpu, assumed: set[str]) -> Fraction:
        if self.given_socket is not None:
            assumed.add(
                f"Each CPU has {float(self.given_socket):g} GB/s to each other one (option socket)."
            )
            return self.given_socket
        bandwidth = between_cpus(cpu.arch, cpu.vendor, cpu.family, cpu.model)
        why = "as NCCL assumes for such CPUs"
        if bandwidth is None:
            bandwidth, why = _SLOWEST_SOCKETS, "the least that NCCL assumes: the CPUs are unknown"
        assumed.add(
            f"Assumed: {float(bandwidth):g} GB/s from each CPU to each other one of its host, "
            f"{why}."
        )
        return bandwidth


def _kind(gpu: Gpu) -> str:
    return next((link.kind for link in gpu.links if link.kind != "C2C"), "NVLink")


def _gpu_name(gpu: Gpu) -> str:
    """``GPU 3 (0000:1b:00.0)``, the number being that on its host."""
    host, address = gpu.place
    number = f"GPU {gpu.dev}" if gpu.dev is not None else "GPU"
    return f"{number} ({address})" if not host else f"{number} ({address} on {host})"


def _switch_name(switch: Place) -> str:
    host, address = switch
    name = (
        f"CPU {address.removeprefix('cpu ')}" if address.startswith("cpu ") else f"PCIe {address}"
    )
    return f"{name} on {host}" if host else name
