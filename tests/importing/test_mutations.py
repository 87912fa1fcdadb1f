"""Thousands of damaged files for every importer: each imports, or is rejected in words, and
soon."""

from __future__ import annotations

import itertools
import json
import random
import re
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import networkx as nx
import pytest

from syncoll.errors import ImportFormatError
from syncoll.importing import import_machine, import_spec
from syncoll.plugins import Imported, ImporterRecord, PluginManager
from syncoll.testing import IMPORTER_CHECKS, ImporterConformance, check_importer

IMPORTERS = dict(PluginManager.discover().importers)
EACH = 200
SPECS_OF = 16
"""One mutant in this number is also written as a spec and read back, which takes longer."""

MOST_SECONDS = 2.0


# One or more healthy files of each kind ---------------------------------------------------------


def matrix(names: list[str], cell: Callable[[int, int], str], width: int = 13) -> str:
    rows = ["".join(["", *names][i].ljust(width) for i in range(len(names) + 1))]
    for i, name in enumerate(names):
        cells = (cell(i, j).ljust(width) for j in range(len(names)))
        rows.append(name.ljust(width) + "".join(cells))
    return "\n".join(rows) + "\n"


def nvidia_smi(cell: Callable[[int, int], str], gpus: int, nic: bool) -> str:
    names = [f"GPU{i}" for i in range(gpus)] + ["NIC0"] * nic
    lines = ["\t\x1b[4m" + "\t".join([*names, "CPU Affinity", "NUMA Affinity", "GPU NUMA ID"])]
    lines[0] += "\x1b[0m"
    for i, name in enumerate(names):
        cells = [" X " if i == j else cell(i, j) for j in range(len(names))]
        tail = [] if name.startswith("NIC") else ["0-23,48-71", "0", "N/A"]
        lines.append("\t".join([name, *cells, *tail]))
    return "\n".join(
        [*lines, "", "Legend:", "", "  X    = Self", "  NV#  = bonded NVLinks", "NIC Legend:",
         "  NIC0: mlx5_0", ""]
    )  # fmt: skip


def mesh_cell(i: int, j: int) -> str:
    return ("NV1", "NV2", "SYS", "NV2")[(i - j) % 4] if max(i, j) < 4 else "NODE"


def rocm_smi() -> str:
    gpus = [f"GPU{i}" for i in range(4)]
    parts = ["=" * 28 + " ROCm System Management Interface " + "=" * 28]
    for title, own, other in (
        ("Weight between two GPUs", "0", "15"),
        ("Hops between two GPUs", "0", "1"),
        ("Link Type between two GPUs", "0", "XGMI"),
    ):
        table = matrix(gpus, lambda i, j, own=own, other=other: own if i == j else other)  # type: ignore[misc]
        parts.append(f"{'=' * 30} {title} {'=' * 30}\n{table}")
    parts.append("=" * 38 + " Numa Nodes " + "=" * 38)
    parts += [f"GPU[{i}]\t\t: (Topology) Numa Node: {i // 2}" for i in range(4)]
    parts.append("=" * 34 + " End of ROCm SMI Log " + "=" * 34)
    return "\n".join(parts) + "\n"


def amd_smi() -> str:
    names = [f"0000:{bus}:00.0" for bus in ("0c", "22", "38", "5c")]
    tables = {
        "ACCESS": ("ENABLED", "ENABLED"),
        "WEIGHT": ("0", "15"),
        "HOPS": ("0", "1"),
        "LINK TYPE": ("SELF", "XGMI"),
        "NUMA BW": ("N/A", "50000-50000"),
    }
    return "\n".join(
        f"{title} TABLE:\n"
        + matrix(names, lambda i, j, own=own, other=other: own if i == j else other)  # type: ignore[misc]
        for title, (own, other) in tables.items()
    )


def xml(links: Callable[[int], str], tag: str, model: str) -> str:
    lines = ['<?xml version="1.0"?>', "<!-- a comment -->", '<system version="1">']
    for cpu in range(2):
        lines.append(
            f'  <cpu numaid="{cpu}" affinity="00ff" arch="x86_64" vendor="GenuineIntel" '
            'familyid="6" modelid="85">'
        )
        lines.append(
            f'    <pci busid="0000:0{cpu}:00.0" class="0x060400" link_speed="8 GT/s" '
            'link_width="16">'
        )
        for gpu in (2 * cpu, 2 * cpu + 1):
            lines.append(
                f'      <pci busid="0000:1{gpu}:00.0" class="0x030200" link_speed="16.0 GT/s PCIe" '
                'link_width="16">'
            )
            lines.append(f'        <gpu dev="{gpu}" {model} rank="{gpu}" gdr="1">')
            lines.append(f"          {links(gpu)}")
            lines += ["        </gpu>", "      </pci>"]
        lines += [
            f'      <pci busid="0000:2{cpu}:00.0" class="0x020000" link_speed="" link_width="0">',
            f'        <nic><net name="mlx5_{cpu}" dev="{cpu}" speed="100000" port="1"/></nic>',
            "      </pci>",
            "    </pci>",
            "  </cpu>",
        ]
    return "\n".join([*lines, "</system>", ""])


def link(tag: str, target: int, count: int) -> str:
    return f'<{tag} target="0000:1{target}:00.0" count="{count}" tclass="0x030200"/>'


def hwloc() -> str:
    lines = ['<?xml version="1.0"?>', '<!DOCTYPE topology SYSTEM "hwloc2.dtd">',
             '<topology version="3.0">', '<object type="Machine" gp_index="1">']  # fmt: skip
    for cpu in range(2):
        lines.append(f'<object type="Package" os_index="{cpu}" gp_index="{cpu + 2}">')
        lines.append('<object type="Bridge" bridge_type="0-1" gp_index="9">')
        for gpu in (2 * cpu, 2 * cpu + 1):
            lines.append(
                f'<object type="PCIDev" gp_index="{gpu + 50}" pci_busid="0000:1{gpu}:00.0" '
                'pci_type="0302 [10de:1db8] a1" pci_link_speed="15.753846">'
            )
            lines.append(f'<object type="OSDev" gp_index="{gpu + 80}" name="nvml{gpu}"/>')
            lines.append("</object>")
        lines.append(
            f'<object type="PCIDev" pci_busid="0000:2{cpu}:00.0" pci_type="0207 [15b3:101b]" '
            f'pci_link_speed="15.7"><object type="OSDev" name="mlx5_{cpu}"/></object>'
        )
        lines += ["</object>", "</object>"]
    cells = " ".join("25000" if a != b else "1000000" for a in range(4) for b in range(4))
    return "\n".join(
        [*lines, "</object>", '<distances2hetero nbobjs="4" name="NVLinkBandwidth">',
         f'<indexes>{" ".join(f"OSDev:{g + 80}" for g in range(4))}</indexes>',
         f"<u64values>{cells} </u64values>", "</distances2hetero>", "</topology>", ""]
    )  # fmt: skip


def nccl_log(before: str = "") -> str:
    lines = ["=== System : maxBw 24.0 totalBw 300.0 ==="]
    for cpu in range(2):
        lines += [f"CPU/0-{cpu} (1/1/2)", f"+ SYS[10.0] - CPU/0-{1 - cpu}"]
        lines.append(f"+ PCI[12.0] - NIC/0-{cpu}2000")
        lines.append(f"              + NET[25.0] - NET/0-{cpu} (0/d4f/1/25.000000)")
        for gpu in (2 * cpu, 2 * cpu + 1):
            lines.append(f"+ PCI[24.0] - GPU/0-{gpu}a000 ({gpu})")
            lines.append("              + NVL[300.0] - NVS/0-0")
    return "\n".join(before + line for line in [*lines, "=" * 42, "done", ""])


def pod() -> nx.Graph[str]:
    graph: nx.Graph[str] = nx.Graph(name="pod", unit="Gb/s")
    for leaf in ("s0", "s1"):
        graph.add_node(leaf, switch=True, label=f"Switch {leaf}")
    for gpu in range(4):
        graph.add_node(f"g{gpu}", type="gpu")
        graph.add_edge(f"g{gpu}", f"s{gpu // 2}", bandwidth=200)
    graph.add_edge("s0", "s1", bandwidth=400.5, label="trunk")
    return graph


def samples(name: str) -> list[str]:
    """Healthy files for an importer; a new importer needs some here."""
    if name == "nvidia-smi":
        return [nvidia_smi(mesh_cell, 4, True), nvidia_smi(lambda i, j: "NV12", 8, False)]
    if name == "rocm-smi":
        return [rocm_smi()]
    if name == "amd-smi":
        return [amd_smi()]
    if name == "npu-smi":
        text = nvidia_smi(lambda i, j: "HCCS", 4, False)
        return [text.replace("GPU", "NPU"), text.replace("GPU", "Phy-ID")]
    if name == "xpu-smi":
        cells = ("S", "MDF", "XL*", "XL16")
        names = [f"GPU {i // 2}/{i % 2}" for i in range(4)]
        rows = [f"{name} |" + "".join(f"{cells[i ^ j]:7}|" for j in range(4)) + "0-23"
                for i, name in enumerate(names)]  # fmt: skip
        return ["\n".join([" " * 9 + "|".join([*names, "CPU Affinity"]), *rows, ""])]
    if name == "ibnetdiscover":
        lines = ['Switch\t3 "S-5"\t\t# "leaf" enhanced port 0 lid 1 lmc 0']
        lines += [f'[{i}]\t"H-{i}a"[1](3a) \t\t# "host{i} mlx5_0" lid 7 4xHDR' for i in range(3)]
        for i in range(3):
            lines += ["", "vendid=0x2c9", f'Ca\t1 "H-{i}a"\t\t# "host{i} mlx5_0"']
            lines.append(f'[1](3a) \t"S-5"[{i}]\t\t# lid 7 lmc 0 "leaf" lid 1 4xHDR')
        return ["\n".join([*lines, ""])]
    if name == "slurm":
        return [
            "# tree\nSwitchName=s0 Nodes=n[0-1]\nSwitchName=s1 Nodes=n[2-3]\n"
            "SwitchName=t Switches=s[0-1]\n",
            "BlockName=b0 Nodes=n[00-03]\nBlockName=b1 Nodes=n[04-07]\nBlockSizes=4,8\n",
        ]
    if name == "infragraph":
        cable = {"bandwidth": {"choice": "gigabits_per_second", "gigabits_per_second": 100}}
        end = lambda **one: one  # noqa: E731
        data = {
            "devices": [
                {"name": "host", "components": [{"name": "xpu", "count": 2, "choice": "xpu"},
                                                {"name": "nic", "count": 1, "choice": "nic"}],
                 "links": [{"name": "pcie", "physical": cable}],
                 "edges": [{"ep1": end(component="xpu"), "ep2": end(component="nic[0]"),
                            "link": "pcie", "scheme": "many2many"}]},
                {"name": "tor", "components": [{"name": "port", "count": 4, "choice": "port"},
                                               {"name": "asic", "count": 1, "choice": "switch"}],
                 "links": [{"name": "ic"}],
                 "edges": [{"ep1": end(component="port[:]"), "ep2": end(component="asic"),
                            "link": "ic"}]},
            ],
            "instances": [{"name": "host", "device": "host", "count": 3},
                          {"name": "tor", "device": "tor", "count": 1}],
            "links": [{"name": "cable", "physical": cable}],
            "edges": [{"ep1": end(instance="host", component="nic[0]"),
                       "ep2": end(instance="tor[0]", component="port[0:3]"),
                       "link": "cable", "scheme": "one2one"}],
        }  # fmt: skip
        return [json.dumps(data), json.dumps(data, indent=1)]
    if name == "lstopo":
        return [hwloc()]
    if name == "nccl-log":
        return [nccl_log(), nccl_log("host:12:34 [0] NCCL INFO ")]
    if name == "nccl-xml":
        hive = lambda gpu: link("xgmi", gpu ^ 1, 1)  # noqa: E731
        port = '<nvlink target="fffffff:ff:ff.0" count="6" tclass="0x068000"/>'
        return [
            xml(lambda gpu: port, "nvlink", 'sm="80"'),
            xml(hive, "xgmi", 'sm="64" gcn="906" arch="38911"'),
        ]
    if name == "msccl-topology":
        full = [[int(i != j) for i in range(4)] for j in range(4)]
        caps = [[[i], [j for j in range(4) if j != i], 2, f"out of {i}"] for i in range(4)]
        data = {"msccl_type": "topology", "name": "Hub", "switches": caps, "links": full}
        return [json.dumps(data), json.dumps(data, indent=1)]
    if name == "node-link":
        directed: nx.MultiDiGraph[int] = nx.MultiDiGraph(nx.cycle_graph(4))
        return [
            json.dumps(nx.node_link_data(pod(), edges="edges")),
            json.dumps(nx.node_link_data(directed, edges="links"), indent=1),
        ]
    if name == "graphml":
        return ["\n".join(nx.generate_graphml(pod()))]
    pytest.fail(f"there are no samples for the importer {name}: add some")


# Mutations --------------------------------------------------------------------------------------

NASTY = (
    "", "0", "-1", "1e999", "NaN", "Infinity", "9" * 40, "9" * 5000, "0x", "None", "null", "true",
    "[]", "{}", "X", "GPU", "GPU0", "NV", "NV0", "NV99999999999", "SYS", "N/A", "½", "٣", "\u202e",
    "\ufeff", "\x00", "\x1b[4m", "%s", "{0}", "&x;", "<!DOCTYPE x>", "<gpu/>", "]]>", '"', "'",
    "\\", "\n", "\t", " " * 3000, "(" * 3000, "[" * 3000, "<a>" * 300, "=" * 2000, "1/0", "1e-99",
)  # fmt: skip
TOKEN = re.compile(r"[\w.:-]+")


def mutant(text: str, others: list[str], generator: random.Random) -> str:
    """A text with one to four kinds of damage."""
    for _ in range(generator.choice((1, 1, 1, 2, 4))):
        text = generator.choice(DAMAGES)(text, others, generator)
    return text


def some_token(text: str, generator: random.Random) -> tuple[int, int]:
    tokens = [match.span() for match in TOKEN.finditer(text[:20_000])]
    return generator.choice(tokens) if tokens else (0, 0)


def replace_token(text: str, others: list[str], generator: random.Random) -> str:
    start, end = some_token(text, generator)
    return text[:start] + generator.choice(NASTY) + text[end:]


def copy_token(text: str, others: list[str], generator: random.Random) -> str:
    start, end = some_token(text, generator)
    first, last = some_token(text, generator)
    return text[:start] + text[first:last] + text[end:]


def change_number(text: str, others: list[str], generator: random.Random) -> str:
    numbers = [match.span() for match in re.finditer(r"\d+", text[:20_000])]
    if not numbers:
        return text
    start, end = generator.choice(numbers)
    return text[:start] + str(generator.choice((0, 1, 3, 17, 65, 10**6, 10**12))) + text[end:]


def truncate(text: str, others: list[str], generator: random.Random) -> str:
    return text[: generator.randrange(len(text) + 1)]


def drop_line(text: str, others: list[str], generator: random.Random) -> str:
    lines = text.split("\n")
    start = generator.randrange(len(lines))
    del lines[start : start + generator.choice((1, 1, 3))]
    return "\n".join(lines)


def repeat_line(text: str, others: list[str], generator: random.Random) -> str:
    lines = text.split("\n")
    at = generator.randrange(len(lines))
    return "\n".join(lines[:at] + [lines[at]] * generator.choice((2, 2, 40)) + lines[at + 1 :])


def swap_lines(text: str, others: list[str], generator: random.Random) -> str:
    lines = text.split("\n")
    a, b = generator.randrange(len(lines)), generator.randrange(len(lines))
    lines[a], lines[b] = lines[b], lines[a]
    return "\n".join(lines)


def change_character(text: str, others: list[str], generator: random.Random) -> str:
    at = generator.randrange(len(text) + 1)
    new = generator.choice(["", *'<>"&[]{},:0X \n\t\\', chr(generator.randrange(1, 0xD800))])
    return text[:at] + new + text[at + generator.choice((0, 1)) :]


def cross(text: str, others: list[str], generator: random.Random) -> str:
    other = generator.choice(others)
    return truncate(text, others, generator) + other[generator.randrange(len(other)) :]


def reflow(text: str, others: list[str], generator: random.Random) -> str:
    new = generator.choice((" ", "\n", "\t", "\r\n", "  "))
    return re.sub(generator.choice((r"[ \t]+", r"\n", r"\t")), lambda _: new, text)


def dress(text: str, others: list[str], generator: random.Random) -> str:
    """A text as terminals, mails and editors leave it."""
    lines = text.split("\n")
    at = generator.randrange(len(lines))
    kind = generator.randrange(7)
    if kind == 0:
        return "\ufeff" + text
    if kind == 1:
        return "\r\n".join(lines)
    if kind == 2:
        lines[at] = f"\x1b[1;4m{lines[at]}\x1b[0m"
    elif kind == 3:
        lines.insert(0, "user@host:~$ a command --with=options > file")
    elif kind == 4:
        lines = [f"> {line}" for line in lines]
    elif kind == 5:  # a narrow terminal wraps all long lines
        wide = generator.choice((40, 79, 120))
        lines = [line[i : i + wide] for line in lines for i in range(0, max(1, len(line)), wide)]
    else:
        lines[at] = lines[at].expandtabs(generator.choice((2, 4, 8)))
    return "\n".join(lines)


def glue(text: str, others: list[str], generator: random.Random) -> str:
    gaps = [match.span() for match in re.finditer(r"(?<=\S)[ \t]+(?=\S)", text[:20_000])]
    start, end = generator.choice(gaps) if gaps else (0, 0)
    return text[:start] + text[end:]


DAMAGES = (
    dress, dress, glue, replace_token, replace_token, copy_token, change_number, truncate,
    drop_line, repeat_line, swap_lines, change_character, change_character, cross, reflow,
)  # fmt: skip


# Devices ----------------------------------------------------------------------------------------


def distinct(pattern: str) -> Callable[[str], int]:
    return lambda text: len(set(re.findall(pattern, text, re.MULTILINE)))


def in_json(count: Callable[[dict[str, Any]], int]) -> Callable[[str], int]:
    return lambda text: count(json.loads(text.removeprefix("\ufeff")))


def xpus(data: dict[str, Any]) -> int:
    each = {
        device["name"]: sum(p["count"] for p in device["components"] if p["choice"] == "xpu")
        for device in data["devices"]
    }
    return sum(each[one["device"]] * one["count"] for one in data["instances"])


ROW = r"^(?:[\s>|]|\x1b\[[0-9;]*m)*"
DEVICES: dict[str, Callable[[str], int]] = {
    "nvidia-smi": distinct(ROW + r"(GPU\d+)[ \t|]+(?:X\b|NV\d|SYS|NODE)"),
    "npu-smi": distinct(ROW + r"((?:NPU|Phy-ID)\d+)[ \t|]+(?:X\b|HCCS)"),
    "xpu-smi": distinct(ROW + r"GPU (\d/\d)[ \t|]+(?:S\b|MDF|XL)"),
    "rocm-smi": distinct(ROW + r"(GPU\d+)[ \t|]+(?:0|15|1|XGMI)\b"),
    "amd-smi": distinct(ROW + r"(0000:\w\w:00\.0)[ \t|]+(?:0|15|1|XGMI|SELF)\b"),
    "nccl-xml": lambda text: text.count("<gpu "),
    "ibnetdiscover": distinct(r'^Ca\t1 "(H-\w+)"'),
    "slurm": lambda text: len(
        {
            number
            for first, last in re.findall(r"^\w+=\w+ Nodes=n\[(\d+)-(\d+)\]$", text, re.MULTILINE)
            for number in range(int(first), int(last) + 1)
        }
    ),
    "lstopo": lambda text: text.count('pci_type="0302 '),
    "nccl-log": lambda text: distinct(r"\] - (GPU/\S+)")(text.partition("====" * 9)[0]),
    "infragraph": in_json(xpus),
    "node-link": in_json(lambda data: sum(not node.get("switch") for node in data["nodes"])),
    "graphml": lambda text: text.count("<node ") - text.count(">True<"),
    "msccl-topology": in_json(lambda data: len(data["links"])),
}
"""A count of compute nodes by other means, for texts that are read."""
CARDS: dict[str, Callable[[str], int]] = {
    "nvidia-smi": distinct(ROW + r"(NIC\d+)[ \t|]+(?:X\b|NV\d|SYS|NODE)"),
    "nccl-xml": lambda text: text.count("<net "),
    "lstopo": lambda text: text.count('pci_type="0207 '),
    "nccl-log": lambda text: distinct(r"\] - (NIC/\S+)")(text.partition("====" * 9)[0]),
}
"""The same of network cards."""


def require_all(name: str, text: str, found: Imported) -> None:
    """No device of a text vanishes without a word."""
    notes = " ".join(found.notes)
    left = re.search(r"Left out: \d+ (?:adapter|component)", notes)
    assert found.machine.num_nodes >= DEVICES[name](text) or left, notes
    shown = len(found.cards) + len(re.findall(r"Left out: (?:NIC/|mlx5_)", notes))
    assert name not in CARDS or shown >= CARDS[name](text), notes


@contextmanager
def limited() -> Iterator[None]:
    """Ends work that takes too long, even a regular expression that does not end."""

    def stop(number: int, frame: object) -> None:
        raise TimeoutError(f"more than {MOST_SECONDS} s")

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, MOST_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def verdict(record: ImporterRecord, text: str, thorough: bool) -> str:
    """Imports a mutant; fails for any exception except a rejection, and if it takes long."""
    try:
        with limited():
            if thorough:
                import_spec(record, text, "mutant")
            found = import_machine(record, text, "mutant", others=IMPORTERS)
    except ImportFormatError as error:
        message = str(error)
        assert message.startswith("mutant"), message
        assert len(message) < 2000, message
        return "refused"
    require_all(record.name, text, found)
    return "imported"


@pytest.mark.parametrize("name", sorted(IMPORTERS))
def test_damaged_files_import_or_are_rejected_in_words(name: str) -> None:
    record = IMPORTERS[name]
    healthy = samples(name)
    others = [text for other in sorted(IMPORTERS) for text in samples(other)]
    for text in healthy:
        assert record.recognises(text)
        assert import_machine(record, text, "whole").machine.num_nodes == DEVICES[name](text)
        assert verdict(record, text, True) == "imported"
    found: Counter[str] = Counter()
    for i in range(EACH):
        text = mutant(healthy[i % len(healthy)], others, random.Random(f"{name} {i}"))
        try:
            found[verdict(record, text, i % SPECS_OF == 0)] += 1
        except Exception as error:
            error.add_note(f"mutant {i} of {name}:\n{text[:3000]!r}")
            raise
    assert found["imported"] >= EACH // 50, found
    assert found["refused"] >= EACH // 5, found


HOSTILE = (
    "<!-- a -->\n" * 2000,
    "<!--" * 5000,
    "<!-- -->" * 2000 + "<system",
    "<?xml " + "?>" * 5000,
    "<?xml" * 3000,
    '"nodes": ' * 3000,
    '"nodes"' + " " * 20_000,
    '"msccl_type"' * 2000,
    "GPU0 X " * 3000,
    "GPU0" + " NV1" * 5000 + "?",
    "| " * 10_000,
    " \t" * 10_000 + "\n",
    "=" * 20_000,
    "Weight between " * 2000,
    "ACCESS" * 3000,
)


@pytest.mark.parametrize("name", sorted(IMPORTERS))
def test_lookalikes_of_a_file_are_rejected_soon(name: str) -> None:
    record = IMPORTERS[name]
    for text in HOSTILE:
        with limited():
            record.recognises(text)
        assert verdict(record, text, False) == "refused"


def test_there_are_enough_of_them() -> None:
    assert len(IMPORTERS) * EACH >= 2500


# The kit ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("check", IMPORTER_CHECKS)
@pytest.mark.parametrize("name", sorted(IMPORTERS))
def test_our_importers_pass_the_kit(name: str, check: str) -> None:
    class Tested(ImporterConformance):
        record = IMPORTERS[name]

    Tested.samples = samples(name)
    getattr(Tested(), f"test_{check}")()


CABLES = samples("node-link")
NODE_LINK = IMPORTERS["node-link"]
CALLS = itertools.count()


def reading(read: Callable[..., Imported]) -> ImporterRecord:
    """An importer that reads by this function, which gets the right importer's `read`."""
    right = NODE_LINK.load().read

    class Wrong:
        def read(self, *given: object) -> Imported:
            return read(right, *given)

    return replace(NODE_LINK, load=Wrong)


def never_refusing(right: Callable[..., Imported], *given: object) -> Imported:
    try:
        return right(*given)
    except ImportFormatError:
        return right(CABLES[0], *given[1:])


def another_each_time(right: Callable[..., Imported], *given: object) -> Imported:
    one = right(*given)
    return right(CABLES[next(CALLS) % 2], *given[1:]) if one.machine else one


def not_catching(right: Callable[..., Imported], text: str, *given: object) -> Imported:
    json.loads(text)
    return right(text, *given)


@pytest.mark.parametrize(
    ("record", "check", "says"),
    [
        (reading(never_refusing), "junk", "it reads a machine from"),
        (replace(NODE_LINK, recognises=lambda text: True), "junk", "it recognises"),
        (replace(NODE_LINK, recognises=lambda text: False), "samples", "does not recognise"),
        (reading(another_each_time), "samples", "another machine each time"),
        (reading(not_catching), "mutants", "JSONDecodeError"),
    ],
)
def test_wrong_importers_fail(record: ImporterRecord, check: str, says: str) -> None:
    failed = {failure.check: failure.message for failure in check_importer(record, CABLES)}
    assert says in failed[check]
