"""A machine from hwloc's XML (hwloc's documentation, ``hwloc2.dtd``).

::

    <object type="Package" gp_index="3">
      <object type="Bridge" bridge_type="0-1">                           part of the CPU
        <object type="Bridge" bridge_type="1-1" pci_link_speed="15.75">
          <object type="PCIDev" pci_type="0302 […]" pci_link_speed="15.75">
            <object type="OSDev" gp_index="802" name="nvml0"/>
    <distances2hetero nbobjs="2" name="NVLinkBandwidth">                 MB/s from row to column
      <indexes length="20">OSDev:802 OSDev:803 </indexes>
      <u64values length="24">1000000 25000 25000 1000000 </u64values>
"""

import re
from fractions import Fraction
from itertools import combinations
from xml.etree.ElementTree import Element

from syncoll.importing import Machine, TextError, rate_option
from syncoll.importing.json_text import exact_number, shown
from syncoll.importing.xml_text import parse_xml
from syncoll.plugins import Imported, NetworkCard, Options
from syncoll.wording import few

_OWNER = "importer lstopo"
_GPU = ("0302", "0380", "12")
_COMPUTE = re.compile(r"(?:cuda|nvml|rsmi|opencl|ze)\d")
_MATRICES = {"NVLinkBandwidth": "NVLink", "XGMIBandwidth": "xGMI", "XeLinkBandwidth": "Xe Link"}
_SWITCH = "NVSwitch"
_WHOLE = "the whole file that `lstopo --of xml topo.xml` writes on the machine"


class LstopoImporter:
    """Reads XML of ``lstopo``."""

    def read(self, text: str, label: str, options: Options) -> Imported:
        """See `syncoll.plugins.Importer`."""
        root = parse_xml(text, doctype=True)
        if root.tag != "topology":
            raise TextError(
                f"its root element is <{shown(root.tag)[1:-1]}>", f"<topology>: {_WHOLE}"
            )
        reader = _Reader(options, label)
        for child in root.findall("object"):
            reader.object(child, "")
        return reader.imported(root)


class _Reader:
    def __init__(self, options: Options, label: str) -> None:
        self.unknown = rate_option(options, "pcie", _OWNER)
        self.socket = rate_option(options, "socket", _OWNER)
        self.machine = Machine(options, label, _OWNER)
        self.device: dict[str, str] = {}
        self.cpus: list[str] = []
        self.gpus: list[str] = []
        self.assumed = 0
        self.left: list[str] = []
        self.cards: list[tuple[NetworkCard, str]] = []

    def object(self, element: Element, above: str) -> None:
        """Adds an object and all below it; `above` is the bridge or CPU over it."""
        kind, key = element.get("type", ""), element.get("gp_index", f"#{len(self.cpus)}")
        bus = element.get("pci_busid", key)
        if kind in ("Machine", "System"):
            above = "Machine"
            self.machine.names[above] = "CPU"
        elif kind in ("Package", "Socket") or (
            # hwloc 1 has PCIe below NUMA nodes, which may be above sockets or below them.
            kind == "NUMANode" and element.find("object[@type='Bridge']") is not None
        ):
            above = self.device[f"Package:{key}"] = f"Package:{key}"
            self.cpus.append(above)
            self.machine.switch(above, f"CPU {element.get('os_index', len(self.cpus) - 1)}")
        elif kind == "Bridge" and element.get("bridge_type") != "0-1":
            self._below(element, f"PCIe {bus}", bus, above)
            above = bus
        elif "pci_type" in element.attrib:
            self._pci(element, key, bus, above)
        for child in element.findall("object"):
            self.object(child, above)

    def _rate(self, element: Element) -> Fraction:
        rate = exact_number(element.get("pci_link_speed", ""))
        self.assumed += not rate
        return rate or self.unknown

    def _below(self, element: Element, name: str, key: str, above: str) -> None:
        if key in self.machine.names:
            raise TextError(f"{key} occurs twice", "each PCI device once")
        self.machine.names[key] = name
        self.machine.join(key, above, self._rate(element), "PCIe", below=True)

    def _pci(self, element: Element, key: str, bus: str, above: str) -> None:
        kind = element.get("pci_type", "")
        named = [child.get("name", "") for child in element.findall("object")]
        self.device[f"PCIDev:{key}"] = bus
        computes = any(map(_COMPUTE.match, named))
        if element.get("subtype") == "NVSwitch":
            self.device[f"PCIDev:{key}"] = _SWITCH
        elif kind.startswith(_GPU) or (kind.startswith("0300") and computes):
            for child in element.findall("object"):
                self.device[f"OSDev:{child.get('gp_index', '')}"] = bus
            self.gpus.append(bus)
            name = next((one for one in named if _COMPUTE.match(one)), "GPU")
            self._below(element, name, bus, above)
            self.machine.node(bus, f"{name} ({bus})")
        elif kind.startswith("02"):
            alias = named[0] if named[1:] else ""
            name = named[-1] if named else bus
            card = NetworkCard(name, (), lanes=self._rate(element), alias=alias)
            self.cards.append((card, above))
        elif kind.startswith("03"):
            self.left.append(bus)

    def imported(self, root: Element) -> Imported:
        machine = self.machine
        widest = max((card.lanes or 0 for card, _ in self.cards), default=0)
        for card, above in self.cards:
            if 2 * (card.lanes or 0) >= widest or str(machine.options["cards"]).strip():
                machine.card(card, above)
            else:
                machine.note(f"Left out: {card.name}, whose PCIe is slow (option cards).")
        kinds = [kind for element in root for kind in self._matrix(element)]
        direct = " and ".join(f"{kind}s" for kind in dict.fromkeys(kinds)) or "NVLinks"
        host = machine.takes_host(direct, _WHOLE)
        hooks = machine.hooks().values()
        used = {machine.root(key) for key in (*self.gpus, *hooks)}
        cpus = [cpu for cpu in (*self.cpus, "Machine") if cpu in used]
        for one, other in combinations(cpus, 2):
            machine.join(one, other, self.socket, "between CPUs", host=True)
        if host or hooks:
            machine.note("PCIe links have the file's speeds; bridges and CPUs are switches.")
            if len(cpus) > 1:
                machine.note(f"Assumed: {float(self.socket):g} GB/s between CPUs (option socket).")
        if self.assumed:
            machine.note(
                f"Assumed: {float(self.unknown):g} GB/s for {self.assumed} PCIe links without a "
                "speed (option pcie)."
            )
        if self.left:
            machine.note(f"Left out: displays without a compute device ({few(self.left)}).")
        known = "xGMI" if "xGMI" in kinds else "" if "Xe Link" in kinds else "NVLink"
        return machine.imported(host=host, thin=True, interconnect=known, shared=[_SWITCH])

    def _matrix(self, element: Element) -> list[str]:
        """Adds the links of a matrix of bandwidths; its kind, if it is one."""
        kind = _MATRICES.get(element.get("name", ""))
        if kind is None or not element.tag.startswith("distances2"):
            return []
        words = " ".join(part.text or "" for part in element.findall("indexes")).split()
        cells = " ".join(part.text or "" for part in element.findall("u64values")).split()
        own = element.get("type", "")
        found = [self.device.get(word if ":" in word else f"{own}:{word}") for word in words]
        whole = all(cell.isdigit() and len(cell) < 10 for cell in cells)
        if len(cells) != len(words) ** 2 or element.get("nbobjs") != str(len(words)) or not whole:
            raise TextError(f"its matrix {element.get('name')} is incomplete", _WHOLE)
        if None in found:
            lost = words[found.index(None)]
            raise TextError(f"its matrix {element.get('name')} names {shown(lost)}", "its objects")
        for i, one in enumerate(found):
            for j, other in enumerate(found):
                rate = Fraction(int(cells[i * len(words) + j]), 1000)
                if not rate or one == other or one is None or other is None:
                    continue
                cpu = one in self.cpus or other in self.cpus
                self.machine.join(one, other, rate, kind, both_ways=False, host=cpu)
        self.machine.note(f"Links of {kind} have the file's bandwidths.")
        return [kind]
