"""InfraGraph's data: devices, instances, slices, schemes, speeds."""

from __future__ import annotations

import json
from typing import Any

import pytest

from syncoll.errors import ImportFormatError, OptionError
from syncoll.importing import import_machine
from syncoll.model import Fabric
from syncoll.plugins import Imported
from syncoll_infragraph import RECORD


def part(name: str, count: int, choice: str = "") -> dict[str, Any]:
    return {"name": name, "count": count, "choice": choice or name}


def link(name: str, **bandwidth: float) -> dict[str, Any]:
    return {"name": name, "physical": {"bandwidth": bandwidth}} if bandwidth else {"name": name}


def edge(one: str, other: str, link: str, scheme: str = "many2many") -> dict[str, Any]:
    """Ends are ``component``, or ``instance/component``."""
    ends = []
    for text in (one, other):
        instance, slash, component = text.partition("/")
        ends.append(
            {"instance": instance, "component": component} if slash else {"component": text}
        )
    return {"ep1": ends[0], "ep2": ends[1], "link": link, "scheme": scheme}


def hall(hosts: int = 2) -> dict[str, Any]:
    """Hosts of four xpus on a switch, each pair with a card; all cards on one leaf."""
    host = {
        "name": "host",
        "components": [
            part("xpu", 4),
            part("nvsw", 1, "switch"),
            part("nic", 2),
            part("memory", 1),
        ],
        "links": [link("nvlink"), link("pcie", gigatransfers_per_second=16)],
        "edges": [
            edge("xpu", "nvsw", "nvlink"),
            edge("xpu[0:2]", "nic[0]", "pcie"),
            edge("xpu[2:]", "nic[-1]", "pcie"),
            edge("memory", "nic[0]", "pcie"),
        ],
    }
    leaf = {
        "name": "leaf",
        "components": [
            part("port", 2 * hosts),
            {**part("asic", 1, "custom"), "custom": {"type": "asic"}},
        ],
        "links": [link("circuit")],
        "edges": [edge("port", "asic", "circuit")],
    }
    return {
        "name": "hall",
        "devices": [host, leaf],
        "instances": [
            {"name": "h", "device": "host", "count": hosts},
            {"name": "tor", "device": "leaf", "count": 1},
        ],
        "links": [link("cable", gigabits_per_second=200)],
        "edges": [edge("h/nic", "tor[0]/port", "cable", "one2one")],
    }


def imported(data: Any, **options: str) -> Imported:
    text = data if isinstance(data, str) else json.dumps(data)
    return import_machine(RECORD, text, "hall.json", options)


def fabric(data: Any, **options: str) -> Fabric:
    machine = imported(data, **options).machine
    assert isinstance(machine, Fabric)
    return machine


def test_hosts_switches_and_slices() -> None:
    """Ports of the leaf are one switch, as its circuits have no speed; memory leads nowhere."""
    data = hall()
    assert RECORD.recognises(json.dumps(data))
    found = imported(data, speeds="nvlink:450GB/s")
    assert found.names == tuple(f"h.{h}.xpu.{x}" for h in range(2) for x in range(4))
    assert isinstance(found.machine, Fabric)
    labels = {x.label for x in found.machine.links}
    assert labels == {"nvlink", "pcie", "cable"}
    switch = {name: 8 + s for s, name in enumerate(found.switch_names)}
    rates = found.machine.bandwidths
    assert rates[0, switch["h.0.nvsw.0"]] == 450
    assert round(float(rates[3, switch["h.0.nic.1"]]), 2) == 31.51  # 16 lanes of 16 GT/s
    assert rates[switch["h.1.nic.0"], switch["tor.0.port.0"]] == 25
    assert "tor.0.port.1" not in switch
    assert "h.0.memory.0" not in switch
    assert (
        round(float(fabric(data, speeds="nvlink:1", lanes="8").bandwidths[3, switch["h.0.nic.1"]]))
        == 16
    )


def test_speeds_that_are_missing() -> None:
    with pytest.raises(
        ImportFormatError,
        match=r"from h.0.xpu.0 to h.0.nvsw.0, but others have one\nexpected option speeds=nvlink:",
    ):
        imported(hall())
    plain = json.loads(json.dumps(hall()).replace("gigabits_per_second", "choice"))
    plain = json.loads(json.dumps(plain).replace("gigatransfers_per_second", "choice"))
    machine = fabric(plain)
    assert machine.measure == "chunks per round"
    assert set(machine.bandwidths.values()) == {1}
    with pytest.raises(OptionError, match="option speeds of importer infragraph has 'nvlink=4'"):
        imported(hall(), speeds="nvlink=4")


@pytest.mark.parametrize("speed", ["0", "-4", "1e20", '"fast"'])
def test_speeds_out_of_range_are_refused(speed: str) -> None:
    text = json.dumps(hall()).replace(": 200", f": {speed}")
    with pytest.raises(ImportFormatError, match="link cable: gigabits_per_second is"):
        imported(text, speeds="nvlink:450GB/s")


def test_devices_within_devices() -> None:
    data = hall(1)
    card = {
        "name": "card",
        "components": [part("nic", 1), part("port", 2)],
        "links": [link("ic", gigabytes_per_second=100)],
        "edges": [edge("nic", "port", "ic")],
    }
    host = {"name": "host", "components": [part("xpu", 2), part("card", 2, "device")],
            "links": [link("pcie", gigabytes_per_second=32)],
            "edges": [edge("xpu", "card.nic[0]", "pcie", "one2one")]}  # fmt: skip
    data["devices"] = [host, card, data["devices"][1]]
    data["edges"] = [edge("h/card.port[1]", "tor/port", "cable", "one2one")]
    machine = fabric(data)
    assert machine.num_nodes == 2
    assert sorted(set(machine.bandwidths.values())) == [25]  # all else only passes on
    card["components"].append(part("card", 1, "device"))
    with pytest.raises(ImportFormatError, match="device card contains itself"):
        imported(data)


def test_yaml() -> None:
    yaml = pytest.importorskip("yaml")
    text = yaml.safe_dump(hall())
    assert RECORD.recognises(text)
    assert fabric(text, speeds="nvlink:450") == fabric(hall(), speeds="nvlink:450")
    for wrong, words in (
        ("a: &x [1]\nb: *x\n", "it has aliases"),
        ("a: [1\n", "not YAML"),
        ("- 1\n", "Expected `object`"),
    ):
        with pytest.raises(ImportFormatError, match=words):
            imported(wrong)


def changed(data: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    *above, last = (int(key) if key.isdigit() else key for key in path.split("."))
    inner: Any = data
    for key in above:
        inner = inner[key]
    inner[last] = value
    return data


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        ("instances.0.count", -1, r"Expected `int` >= 0 - at `\$.instances\[0\].count`"),
        ("devices.0.components.0.count", 10**9, "Expected `int` <= 65536"),
        ("instances.0.device", "guest", "no device is called 'guest'"),
        ("devices.0.edges.0.link", "rope", "an edge has the link 'rope'"),
        ("devices.0.edges.1.ep1.component", "xpu[0:", r"no component 'xpu\[0:'"),
        ("devices.0.edges.1.ep1.component", "xpu[9]", r"\[9\] in xpu\[9\] is no slice of its 4"),
        ("edges.0.ep1.instance", "g[0]", r"no instance is called 'g\[0\]'"),
        ("edges.0.scheme", "ring", "Invalid enum value 'ring'"),
        (
            "links.0.physical.bandwidth.gigabits_per_second",
            0,
            "link cable: gigabits_per_second is 0",
        ),
        ("devices.0.components", [], "no component 'xpu'"),
        ("instances", [], "no instance is called 'h'"),
    ],
)
def test_data_that_is_refused(path: str, value: Any, words: str) -> None:
    with pytest.raises(ImportFormatError, match=words):
        imported(changed(hall(), path, value), speeds="nvlink:450GB/s")
