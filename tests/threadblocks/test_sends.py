"""Files of runtimes as algorithms: the collective, the order and the times that they have."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import syncoll
from syncoll.cli.main import main
from syncoll.errors import ExportError, UncheckedError, UsageError, VerificationError
from syncoll.model import Topology
from syncoll.plugins import ExportRequest, PluginManager
from syncoll.runtime import export_verified
from syncoll.testing.instances import random_case
from syncoll.verbs.frontier import loaded
from syncoll_threadblocks import STANDARD

NAMES = {"msccl-xml": "a.xml", "mscclpp": "a.json"}
BOTH = pytest.mark.parametrize("to", list(NAMES))

_GPUS = """
gpu 0: send 1 recv -1: s i 1 o 1 1, s i 0 o 0 1; send -1 recv -1: cpy i 0 o 0 2
gpu 1: send 2 recv 0: rcs o 1 o 1 1, rcs o 0 o 0 1
gpu 2: send -1 recv 1: r o 1 o 1 1, r o 0 o 0 1
"""


def pipeline() -> str:
    """A broadcast along a line, chunk 1 before chunk 0, as MSCCL XML."""
    head = {"name": "p", "proto": "Simple", "nchannels": 1, "nchunksperloop": 2, "ngpus": 3}
    lines = [tag("algo", **head, coll="broadcast", inplace=0)]
    for line in _GPUS.strip().split("\n"):
        gpu, _, blocks = line.partition(": ")
        lines.append(tag("gpu", id=gpu[4:], i_chunks=2, o_chunks=2, s_chunks=0))
        for number, block in enumerate(blocks.split("; ")):
            _, send, _, recv = block.partition(":")[0].split(" ")
            lines.append(tag("tb", id=number, send=send, recv=recv, chan=0))
            for s, step in enumerate(block.partition(": ")[2].split(", ")):
                names = ("type", "srcbuf", "srcoff", "dstbuf", "dstoff", "cnt")
                what = dict(zip(names, step.split(" "), strict=True))
                lines.append(tag("step", s=s, **what, depid=-1, deps=-1, hasdep=0) + "</step>")
            lines.append("</tb>")
        lines.append("</gpu>")
    return "\n".join([*lines, "</algo>"])


def tag(element: str, **values: object) -> str:
    return f"<{element} " + " ".join(f'{key}="{value}"' for key, value in values.items()) + ">"


def test_the_order_of_a_thread_block_becomes_steps(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "p.xml"
    file.write_text(pipeline())
    found = loaded(file, "load", topology="line(3)")
    assert found.instance.collective == "broadcast"
    assert found.sends.tolist() == [[1, 0, 1, 0], [0, 0, 1, 1], [1, 1, 2, 1], [0, 1, 2, 2]]
    given = ["--topology", "line(3)", "--alpha", "1us", "--beta", "1GB/s", "--sizes", "1MiB"]
    assert main(["simulate", str(file), *given, "--classics", "none"]) == 0
    out = capsys.readouterr().out
    assert "S = 3, R/C = 3/2, C = 2" in out
    assert "a step ends before the first send" in " ".join(out.split())
    report = syncoll.report(file, topology="line(3)", classics=False)
    assert "The file has thread blocks and no steps." in report.html


@BOTH
@pytest.mark.parametrize(
    ("machine", "collective", "point"),
    [("ring(4)", "allgather", 0), ("ring(4)", "reducescatter", 0), ("hub(4)", "reduce(root=1)", 1)],
)
def test_an_export_is_read_as_an_algorithm_of_its_costs(
    to: str, machine: str, collective: str, point: int, tmp_path: Path
) -> None:
    one = syncoll.pareto(machine, collective, max_steps=2, work=1, progress="none")[point]
    file = tmp_path / NAMES[to]
    one.export(to, file)
    how = {"alpha": "1us", "beta": "1GB/s", "sizes": "1MiB", "classics": False}
    times = [syncoll.simulate(x, topology=machine, **how) for x in (one, file)]
    first, again = (each.algorithms[0] for each in times)
    assert times[1].collective == collective
    assert again.algorithm.bandwidth == one.bandwidth
    assert again.algorithm.steps == one.steps
    assert float(again.seconds[0]) == pytest.approx(float(first.seconds[0]), rel=0.01)
    (back,) = syncoll.export(file, to, tmp_path / "back", topology=machine)
    assert back.export.checked.collective == collective.partition("(")[0]


@BOTH
def test_random_exports_are_right_when_they_are_read(to: str, tmp_path: Path) -> None:
    rng, record, done = random.Random(3), PluginManager.discover().exporters[to], 0
    while done < 12:
        instance, algorithm = random_case(rng)
        request = ExportRequest("a", instance.collective, instance, algorithm)
        try:
            (content,) = export_verified(record, request, {}).exported.files.values()
        except ExportError:
            continue
        (tmp_path / NAMES[to]).write_bytes(content)
        try:
            found = loaded(tmp_path / NAMES[to], "load", topology=instance.topology)
        except UncheckedError:  # a collective that XML does not know
            assert instance.collective not in STANDARD
            continue
        done += 1
        assert found.instance.combining is instance.combining
        assert len(found.sends) > 0


def test_a_file_without_a_machine_asks_for_it(tmp_path: Path) -> None:
    file = tmp_path / "p.xml"
    file.write_text(pipeline())
    with pytest.raises(UsageError, match=r"p\.xml: the file does not state its machine; name it"):
        syncoll.export(file, "csv", tmp_path / "out")
    with pytest.raises(VerificationError, match=r"for 3 ranks, but ring\(5\) has 5 nodes"):
        syncoll.report(file, topology="ring(5)")
    with pytest.raises(VerificationError, match="from rank 1 to rank 2, but v has no such link"):
        syncoll.report(file, topology=Topology.from_links("v", 3, {(0, 1): 1, (0, 2): 1}))
    with pytest.raises(VerificationError, match="for no C do the chunks of allgather"):
        syncoll.report(file, topology="line(3)", collective="allgather")
    file.write_text(pipeline().replace('cnt="2"', 'cnt="3"'))
    with pytest.raises(VerificationError, match="line 8: out of bounds"):
        syncoll.report(file, topology="line(3)")


def test_a_repair_starts_from_an_exported_file(tmp_path: Path) -> None:
    ring = syncoll.pareto("ring(4)", "allgather", max_steps=2, progress="none")
    ring[0].export("msccl-xml", tmp_path / "a.xml")
    done = syncoll.repair(
        tmp_path / "a.xml", "link 0->1", topology="ring(4)", work=0.3, progress="none"
    )
    assert done.losses[0].whole == ring[0].bandwidth
    assert done.frontier
