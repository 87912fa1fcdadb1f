"""A fabric from InfraGraph's data (``openapi.yaml`` of the package ``infragraph``).

::

    {"devices": [{"name": "host", "components": [{"name": "xpu", "count": 8, "choice": "xpu"}, …],
                  "links": [{"name": "pcie"}], "edges": [{"ep1": {"component": "xpu[0:4]"}, …}]}],
     "instances": [{"name": "host", "device": "host", "count": 2}],
     "links": [{"name": "cable", "physical": {"bandwidth": {"gigabits_per_second": 400}}}],
     "edges": [{"ep1": {"instance": "host[0]", "component": "nic[0]"}, "ep2": {…},
                "scheme": "one2one", "link": "cable"}]}

Components of the kind xpu are the compute nodes, and all others pass data on.  A component may be a
device again.  Two components have at most one edge, as in the package's own graph.
"""

import importlib
import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import product
from typing import Annotated, Any, Literal

import msgspec
from networkx.utils import UnionFind

from syncoll.errors import OptionError
from syncoll.importing import Machine, TextError, parse_rate
from syncoll.importing.json_text import exact_number, parse_json, shown
from syncoll.plugins import Imported, Options
from syncoll.wording import few

_MOST = 1 << 16
_DEEPEST = 8
_ELEMENT = re.compile(r"([^\[\].]+)(?:\[([^\[\]]*)\])?")
_COMPUTE = ("xpu", "nic", "cpu")
_UNITS = {
    "gigabits_per_second": "Gb/s",
    "gigabytes_per_second": "GB/s",
    "gigatransfers_per_second": "GT/s",
}
_EXPECTED = "data as infragraph's services write it"

_Name = Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
_Count = Annotated[int, msgspec.Meta(ge=0, le=_MOST)]


class _Component(msgspec.Struct):
    name: _Name
    count: _Count
    choice: str
    custom: dict[str, Any] = {}

    @property
    def kind(self) -> str:
        return str(self.custom.get("type", self.choice))


class _Physical(msgspec.Struct):
    bandwidth: dict[str, Any] = {}


class _Link(msgspec.Struct):
    name: _Name
    physical: _Physical = msgspec.field(default_factory=_Physical)


class _End(msgspec.Struct):
    component: _Name
    device: str = ""
    instance: str = ""


class _Edge(msgspec.Struct):
    ep1: _End
    ep2: _End
    link: _Name
    scheme: Literal["one2one", "many2many"] = "many2many"


class _Device(msgspec.Struct):
    name: _Name
    components: list[_Component] = []
    links: list[_Link] = []
    edges: list[_Edge] = []


class _Instance(msgspec.Struct):
    name: _Name
    device: _Name
    count: _Count


class _Data(msgspec.Struct):
    devices: list[_Device]
    instances: list[_Instance]
    links: list[_Link] = []
    edges: list[_Edge] = []


class InfragraphImporter:
    """Reads JSON and YAML of InfraGraph."""

    def read(self, text: str, label: str, options: Options) -> Imported:
        """See `syncoll.plugins.Importer`."""
        try:
            data = msgspec.convert(_value(text), _Data)
        except msgspec.ValidationError as error:
            raise TextError(str(error), _EXPECTED) from None
        return _Reader(data, options).imported()


def _value(text: str) -> Any:
    if text.removeprefix("\ufeff").lstrip().startswith(("{", "[")):
        return parse_json(text)
    try:
        yaml: Any = importlib.import_module("yaml")
    except ImportError:
        raise TextError("YAML is read with pyyaml", "`pip install pyyaml`, or the JSON") from None
    try:
        if any(isinstance(token, yaml.AliasToken) for token in yaml.scan(text)):
            raise TextError("it has aliases, which may grow without bounds", "YAML without *name")
        return yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        what = str(getattr(error, "problem", None) or "an error")
        raise TextError(f"not YAML: {what}", _EXPECTED, mark.line + 1 if mark else 0) from None
    except (ValueError, RecursionError) as error:  # a date or a number out of range; deep nesting
        raise TextError(f"not YAML: {error}", _EXPECTED) from None


class _Reader:
    def __init__(self, data: _Data, options: Options) -> None:
        self.data = data
        self.lanes = int(options["lanes"])
        self.given = _given(str(options["speeds"]))
        self.devices = {device.name: device for device in data.devices}
        self.instances = {instance.name: instance for instance in data.instances}
        if len(self.devices) < len(data.devices) or len(self.instances) < len(data.instances):
            raise TextError("two devices, or two instances, have one name", "each name once")
        self.inner: dict[str, dict[str, Fraction | None]] = {}
        self.kinds: dict[str, str] = {}
        self.edges: dict[tuple[str, str], tuple[str, Fraction | None, bool]] = {}
        self.machine = Machine()

    def _speeds(self, links: Sequence[_Link]) -> dict[str, Fraction | None]:
        found: dict[str, Fraction | None] = {}
        for link in links:
            rate = None
            for unit, value in link.physical.bandwidth.items():
                if unit not in _UNITS:
                    continue
                lanes, number = "", exact_number(value)
                if _UNITS[unit] == "GT/s":
                    lanes = f" x{self.lanes}"
                    self.machine.note(f"Speeds in GT/s are of {self.lanes} lanes (option lanes).")
                rate = number and parse_rate(f"{float(number):.9f}{_UNITS[unit]}{lanes}")
                if not rate:
                    raise TextError(f"link {link.name}: {unit} is {shown(value)}", "more than 0")
            found[link.name] = self.given.get(link.name, rate)
        return found

    def imported(self) -> Imported:
        for name, instance in self.instances.items():
            device = self._device(instance.device)
            passive = not any(part.kind in ("xpu", "device") for part in device.components)
            for i in range(instance.count):
                self._expand(f"{name}.{i}", device, passive, 0)
        speeds = self._speeds(self.data.links)
        for edge in self.data.edges:
            self._join("", edge, self._placed(edge.ep1), self._placed(edge.ep2), speeds, False)
        return self._lowered()

    def _device(self, name: str) -> _Device:
        if name not in self.devices:
            raise TextError(f"no device is called {shown(name)}", few(list(self.devices)))
        return self.devices[name]

    def _expand(self, prefix: str, device: _Device, passive: bool, depth: int) -> None:
        if depth > _DEEPEST:
            raise TextError(f"device {device.name} contains itself", "devices of other devices")
        for part in device.components:
            for i in range(part.count):
                key = f"{prefix}.{part.name}.{i}"
                if part.kind == "device":
                    self._expand(key, self._device(part.name), passive, depth + 1)
                else:
                    self.kinds[key] = part.kind
                self._require_few(len(self.kinds))
        if device.name not in self.inner:
            self.inner[device.name] = self._speeds(device.links)
        for edge in device.edges:
            one, other = (
                self._named(device, f"{end.device}.{end.component}".lstrip("."))
                for end in (edge.ep1, edge.ep2)
            )
            self._join(f"{prefix}.", edge, one, other, self.inner[device.name], passive)

    def _require_few(self, number: int) -> None:
        if number > _MOST:
            raise TextError(f"more than {_MOST} components, or edges")

    def _join(
        self,
        prefix: str,
        edge: _Edge,
        ones: list[str],
        others: list[str],
        speeds: Mapping[str, Fraction | None],
        inside: bool,
    ) -> None:
        if edge.link not in speeds:
            raise TextError(f"an edge has the link {shown(edge.link)}", few(list(speeds)) or "one")
        self._require_few(len(ones) * len(others))
        rate = speeds[edge.link]
        one2one = edge.scheme == "one2one"
        for a, b in zip(ones, others, strict=False) if one2one else product(ones, others):
            if a != b:
                ends = (prefix + min(a, b), prefix + max(a, b))
                self.edges[ends] = edge.link, rate, inside and rate is None
        self._require_few(len(self.edges))

    def _placed(self, end: _End) -> list[str]:
        match = _ELEMENT.fullmatch(end.instance)
        if match is None or match[1] not in self.instances:
            raise TextError(
                f"no instance is called {shown(end.instance)}", few(list(self.instances))
            )
        instance = self.instances[match[1]]
        paths = self._named(self._device(instance.device), end.component)
        numbers = _indices(match[2], instance.count, end.instance)
        self._require_few(len(numbers) * len(paths))
        return [f"{match[1]}.{i}.{path}" for i in numbers for path in paths]

    def _named(self, device: _Device, text: str) -> list[str]:
        """The components that ``cx5[0:2].port[0]`` names."""
        found = [""]
        for element in text.split("."):
            match = _ELEMENT.fullmatch(element)
            parts = {part.name: part for part in device.components}
            if match is None or match[1] not in parts:
                what = f"device {device.name} has no component {shown(element)}"
                raise TextError(what, few(list(parts)) or "components")
            part = parts[match[1]]
            numbers = _indices(match[2], part.count, text)
            self._require_few(len(found) * len(numbers))
            found = [f"{path}{part.name}.{i}." for path in found for i in numbers]
            device = self._device(part.name) if part.kind == "device" else device
        return [path[:-1] for path in found]

    def _lowered(self) -> Imported:
        machine = self.machine
        compute = next((kind for kind in _COMPUTE if kind in self.kinds.values()), "")
        if not compute:
            raise TextError("it has no components of the kind xpu, nic or cpu", _EXPECTED)
        rated = any(rate is not None for _, rate, _ in self.edges.values())
        slow = [link for link, rate, within in self.edges.values() if rate is None and not within]
        remedy = "option speeds=" + "+".join(f"{name}:50GB/s" for name in dict.fromkeys(slow))
        merged: UnionFind[str] = UnionFind(self.kinds)
        for (a, b), (_, _, within) in self.edges.items():
            if within and rated and compute not in (self.kinds[a], self.kinds[b]):
                merged.union(a, b)
                machine.note("Links without a speed inside switches are non-blocking.")
        first: dict[str, str] = {}
        for key, kind in self.kinds.items():
            if first.setdefault(merged[key], key) == key:
                (machine.node if kind == compute else machine.switch)(key, key)
        for (a, b), (link, rate, _) in self.edges.items():
            if merged[a] != merged[b]:
                machine.join(first[merged[a]], first[merged[b]], rate, link)
        machine.note(
            f"Nodes are the components of the kind {compute}; others pass data on, or are left out "
            "if they lead nowhere."
        )
        if self.given:
            speeds = [f"{name} {float(rate):g} GB/s" for name, rate in self.given.items()]
            machine.note(f"As given with the option speeds: {', '.join(speeds)}.")
        machine.speeds(None, remedy)
        return machine.imported(thin=True)


def _indices(text: str | None, count: int, where: str) -> Sequence[int]:
    """The numbers that a Python slice leaves of `count`; all without one."""
    parts = [part.strip() for part in (text or ":").split(":")]
    if len(parts) <= 3 and all(re.fullmatch(r"(-?\d{1,6})?", part) for part in parts):
        bounds = [int(part) if part else None for part in [*parts, "", ""][:3]]
        if len(parts) == 1 and bounds[0] is not None and -count <= bounds[0] < count:
            return [bounds[0] % count]
        if len(parts) > 1 and bounds[2] != 0:
            return range(*slice(*bounds).indices(count))
    raise TextError(f"[{text}] in {where} is no slice of its {count}", "such as [0], [0:4] or [:]")


def _given(text: str) -> dict[str, Fraction]:
    found = {}
    for part in text.split("+") if text.strip() else ():
        name, _, speed = part.rpartition(":")
        rate = parse_rate(speed)
        if not name.strip() or rate is None:
            raise OptionError(
                f"option speeds of importer infragraph has {part!r}; it must be a link's name and "
                "its bandwidth, such as nvlink:450GB/s"
            )
        found[name.strip()] = rate
    return found
