"""The system that NCCL prints into its log."""

from __future__ import annotations

import pytest

from syncoll.errors import ImportFormatError
from syncoll.importing import import_machine
from syncoll.model import Fabric
from syncoll.plugins import Imported
from syncoll_nccl_log import RECORD


def tree(switch: bool = True, gpus: int = 4, *, ranks: str = "") -> str:
    """Two CPUs, each with a bridge, a card and half of the GPUs."""
    lines = ["=== System : maxBw 48.0 totalBw 300.0 ==="]
    for cpu in range(2):
        lines += [f"CPU/0-{cpu} (1/1/2)", f"+ SYS[10.0] - CPU/0-{1 - cpu}"]
        lines.append(f"+ PCI[24.0] - PCI/0-{cpu}1000 (1000c01010000000)")
        inner = " " * len("+ PCI[24.0] - ")
        lines.append(f"{inner}+ PCI[24.0] - NIC/0-{cpu}2000")
        lines.append(f"{inner * 2}+ NET[25.0] - NET/0-{cpu} (0/d4f9fc0003ae6d94/1/25.000000)")
        for n in range(gpus // 2):
            me = 2 * cpu + n
            rank = (ranks or "0123456789")[me]
            lines.append(f"{inner}+ PCI[24.0] - GPU/0-{cpu}{n}a000 ({rank})")
            if switch:
                lines.append(f"{inner * 2}+ NVL[300.0] - NVS/0-0")
                continue
            for other in range(gpus):
                if other != me and other // 2 == cpu:
                    lines.append(f"{inner * 2}+ NVL[40.0] - GPU/0-{cpu}{other % 2}a000")
    return "\n".join([*lines, "=" * 42, "GPU/0-a000 :GPU/0-a000 (0/5000.0/LOC)"])


def logged(text: str, rank: int = 0) -> list[str]:
    return [f"node-1:425{rank}:432 [{rank}] NCCL INFO {line}" for line in text.split("\n")]


def imported(text: str, **options: str) -> Imported:
    return import_machine(RECORD, text, "job.log", options)


def fabric(text: str, **options: str) -> Fabric:
    machine = imported(text, **options).machine
    assert isinstance(machine, Fabric)
    return machine


def both(links: dict[tuple[int, int], object]) -> dict[tuple[int, int], object]:
    return links | {(b, a): rate for (a, b), rate in links.items()}


def test_gpus_on_a_switch() -> None:
    text = "\n".join(["job starts", *logged(tree()), "job ends"])
    assert RECORD.recognises(text)
    assert fabric(text).bandwidths == both({(n, 4): 300 for n in range(4)})
    assert fabric(tree()).bandwidths == fabric(text).bandwidths  # without the log's own words
    two = fabric(text, boxes="2")
    assert two.num_nodes == 8
    hub = two.num_vertices - 1
    assert [rate for (_, b), rate in two.bandwidths.items() if b == hub] == [25] * 4
    assert imported(tree(ranks="3210")).names[0] == "GPU/0-11a000 (0)"


def test_pairs_and_pcie() -> None:
    machine = imported("\n".join(logged(tree(switch=False))))
    assert machine.switch_names == ("PCI/0-01000", "PCI/0-11000")
    links = {(0, 1): 40, (2, 3): 40, (4, 5): 10} | {(n, 4 + n // 2): 24 for n in range(4)}
    assert isinstance(machine.machine, Fabric)
    assert machine.machine.bandwidths == both(links)


def test_a_card_without_its_network_is_named() -> None:
    lines = tree().split("\n")
    (net,) = [line for line in lines if "NET/0-1" in line]
    lines.remove(net)
    assert (
        "Left out: NIC/0-12000, without a line of its network (NET)."
        in imported("\n".join(lines)).notes
    )
    alone = "\n".join(line for line in lines if "NET/" not in line)
    assert not any("NIC/" in note for note in imported(alone).notes)  # as of a job on one host


def test_ranks_whose_lines_mix() -> None:
    """The first whole system is taken; that of another host is named."""
    one, other = logged(tree(), 0), logged(tree(), 1)
    mixed = "\n".join(line for pair in zip(one, other, strict=True) for line in pair)
    assert fabric(mixed) == fabric(tree())
    assert not any("Left out" in note and "other" in note for note in imported(mixed).notes)
    apart = "\n".join([*one, *logged(tree(switch=False), 1)])
    assert "Left out: 1 other system in the log, of other ranks." in imported(apart).notes
    cut = "\n".join([*logged(tree(switch=False), 1)[:7], *one])
    assert fabric(cut) == fabric(tree())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("\n".join(tree().split("\n")[:-2]), "without a whole system: it is cut off"),
        ("NCCL INFO hello\n", "no line `=== System`"),
        (tree().replace("CPU/0-1 (1/1/2)", "oops"), r"is no link of a device\n11 \| oops"),
        (tree().replace("+ PCI[24.0] - PCI/0-01000", "+ PCI[0.0] - PCI/0-01000"), "is no link"),
        (
            tree().replace("              + PCI[24.0] - NIC", "     + PCI[24.0] - NIC", 1),
            "belongs to",
        ),
        (tree().replace(f"{' ' * 14}+ PCI[24.0] - GPU/0-00a000 (0)\n", ""), "belongs to no device"),
        (
            tree().replace(f"{' ' * 14}+ PCI[24.0] - GPU/0-01a000 (1)\n", ""),
            "GPU/0-00a000 - NVS/0-0 NVL occurs twice",
        ),
        (tree(switch=False).replace("+ NVL[40.0] - GPU/0-00a000", "", 1), "is no link|none back"),
        (tree().replace("GPU/0-01a000", "GPU/0-00a000", 1), "GPU/0-00a000 occurs twice"),
        (tree().replace("SYS[10.0] - CPU/0-1", "SYS[10.0] - CPU/0-7", 1), "CPU/0-7, which is not"),
        (tree(gpus=0), "it describes 0 GPUs"),
    ],
)
def test_logs_that_are_refused(text: str, words: str) -> None:
    with pytest.raises(ImportFormatError, match=words):
        imported(text)
