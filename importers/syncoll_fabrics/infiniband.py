"""``ibnetdiscover`` (infiniband-diags): each switch and adapter with its ports.

::

    Switch  65 "S-2c5eab0300b87b40"    # "leaf 4" enhanced port 0 lid 73 lmc 0
    [1]     "H-e09d7303007a4bd8"[1](e09d7303007a4bd8)   # "host-1 mlx5_5" lid 647 4xNDR

A cable stands at both of its ends.  Adapters are compute nodes, in the order of the file.
"""

import re
from fractions import Fraction

from syncoll.importing import Machine, TextError, speed_option
from syncoll.plugins import Imported, Options
from syncoll.wording import counted

_GIGABITS = {
    "SDR": Fraction(2),
    "DDR": Fraction(4),
    "QDR": Fraction(8),
    "FDR10": Fraction(10),
    "FDR": Fraction(150, 11),
    "EDR": Fraction(25),
    "HDR": Fraction(50),
    "NDR": Fraction(100),
    "XDR": Fraction(200),
}
"""Gb/s of data of one lane, after the line's code."""

_DEVICE = re.compile(r'(Switch|Ca|Rt)\s+\d+\s+"([SHR]-[0-9a-f]+)"(?:\s*#\s*"([^"]*)")?')
_PORT = re.compile(
    r'\[(\d+)\](?:\[ext \d+\])?(?:\([0-9a-f]+\))?\s+"([SHR]-[0-9a-f]+)"\[(\d+)\](.*)'
)
_SPEED = re.compile(r"\b(\d{1,2})x([A-Z]DR(?:10)?)\b")
_WHOLE = "the whole output of `ibnetdiscover`"

_End = tuple[str, str]


class IbnetdiscoverImporter:
    """Reads the output of ``ibnetdiscover``."""

    def read(self, text: str, label: str, options: Options) -> Imported:
        """See `syncoll.plugins.Importer`."""
        devices: dict[str, tuple[str, str]] = {}
        ports: dict[_End, tuple[_End, Fraction | None, int, str]] = {}
        current = ""
        for number, line in enumerate(text.split("\n"), 1):
            line = line.strip()
            device, port = _DEVICE.match(line), _PORT.match(line)
            if device is not None:
                current = device[2]
                if current in devices:
                    raise TextError(f"a second entry of {current}", "one fabric", number, line)
                devices[current] = device[1], " ".join((device[3] or current).split())[:80]
            elif port is not None:
                if not current or (current, port[1]) in ports:
                    what = "given twice" if current else "of no device"
                    raise TextError(f"port {port[1]} {what}", _WHOLE, number, line)
                ports[current, port[1]] = (port[2], port[3]), _rate(port[4]), number, line
            elif line and not line.startswith("#") and "=" not in line:
                raise TextError("neither a device nor a port", _WHOLE, number, line)
        if not devices:
            raise TextError('no line begins with Switch or Ca and "S-…" or "H-…"', _WHOLE)
        left = [key for key, (_, name) in devices.items() if "Aggregation Node" in name]
        machine = Machine()
        cabled = {one for end, (other, *_) in ports.items() for one in (end[0], other[0])}
        cabled -= set(left)
        loose = sum(kind == "Ca" for key, (kind, _) in devices.items() if key not in cabled)
        for key, (kind, name) in devices.items():
            if key in cabled:
                (machine.node if kind == "Ca" else machine.switch)(key, name)
        for end, (other, rate, number, line) in ports.items():
            back = ports.get(other)
            if other[0] not in devices or (back is not None and back[0] != end):
                why = "which ends at another port" if back else "which has no entry of its own"
                raise TextError(
                    f"a cable to {other[0]} port {other[1]}, {why}", _WHOLE, number, line
                )
            if end[0] in cabled and other[0] in cabled and (back is None or end < other):
                machine.join(end[0], other[0], rate or (back[1] if back else None))
        if not machine.size[0]:
            raise TextError("no adapter (Ca) has a cable", _WHOLE)
        if left:
            machine.note(f"Left out: {counted(len(left), 'aggregation node')} of switches.")
        if loose > len(left):
            machine.note(f"Left out: {counted(loose - len(left), 'adapter')} without a cable.")
        machine.note(
            "Nodes are the adapters; cables have the speed of their lanes after coding (NDR: 100 "
            "Gb/s), in each direction."
        )
        machine.speeds(
            speed_option(options, "link", "importer ibnetdiscover"), "option link=400Gb/s"
        )
        return machine.imported()


def _rate(text: str) -> Fraction | None:
    """GB/s of a port, from the last words of its line; None without one."""
    found = _SPEED.findall(text)
    if not found or found[-1][1] not in _GIGABITS or not int(found[-1][0]):
        return None
    return int(found[-1][0]) * _GIGABITS[found[-1][1]] / 8
