"""NCCL graph files: rings and trees are read, performed, written and read again."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

import syncoll
from syncoll.cli.main import main
from syncoll.errors import ExportError, SyncollError, UncheckedError, UsageError, VerificationError
from syncoll.model import Algorithm
from syncoll.plugins import ExportRequest
from syncoll.verbs.frontier import loaded
from syncoll_nccl_graph import RECORD
from syncoll_nccl_graph.wiring import tree_of


def graph(
    *orders: str, number: int = 0, pattern: int = 4, cross: int = 0, net: bool = False
) -> str:
    """A graph of channels, with one digit for each GPU."""
    card = '      <net dev="0"/>\n' * net
    channels = [
        f"    <channel>\n{card}"
        + "".join(f'      <gpu dev="{gpu}"/>\n' for gpu in order)
        + "    </channel>\n"
        for order in orders
    ]
    return (
        f'  <graph id="{number}" pattern="{pattern}" crossnic="{cross}" '
        f'nchannels="{len(orders)}" speedintra="20" speedinter="20" latencyinter="0" '
        f'typeintra="NVL" typeinter="PIX" samechannels="0">\n{"".join(channels)}  </graph>\n'
    )


def saved(tmp_path: Path, *graphs: str) -> Path:
    file = tmp_path / "graph.xml"
    file.write_text(f'<graphs version="1">\n{"".join(graphs)}</graphs>\n')
    return file


def test_every_verb_takes_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = saved(tmp_path, graph("0123", "3210"), graph("0123", number=1, pattern=3))
    given = ["--topology", "ring(4)", "--collective", "allreduce"]
    assert main(["verify", str(file), *given]) == 0
    assert "verified, C = 8, S = 6, R = 6, 48 sends" in capsys.readouterr().out
    cost = ["--alpha", "1us", "--beta", "1GB/s", "--sizes", "1MiB", "--classics", "none"]
    assert main(["simulate", str(file), *given, *cost]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "its 2 rings share the data equally. Its trees are not used." in out
    how = {"topology": "ring(4)", "collective": "allreduce"}
    assert "The file has rings" in syncoll.report(file, classics=False, **how).html
    for to in ("mscclpp", "nccl-graph"):
        (made,) = syncoll.export(file, to, tmp_path / to, **how)
        assert made.export.checked.collective == "allreduce"
    done = syncoll.repair(file, "link 0->1", work=0.3, progress="none", **how)
    assert done.losses[-1].whole == Fraction(3, 4)


@pytest.mark.parametrize(
    ("collective", "costs"),
    [
        ("allgather", (2, 3, Fraction(3, 2))),
        ("reducescatter", (8, 3, Fraction(3, 8))),
        ("broadcast(root=3)", (32, 18, Fraction(18, 32))),
        ("reduce(root=2)", (32, 18, Fraction(18, 32))),
    ],
)
def test_rings_perform_a_collective(
    collective: str, costs: tuple[int, int, Fraction], tmp_path: Path
) -> None:
    file = saved(tmp_path, graph("0123", "3210"))
    found = loaded(file, "load", topology="ring(4)", collective=collective)
    instance, algorithm = found.instance, found.algorithm
    assert instance.collective == collective
    assert (instance.chunks, algorithm.steps) == costs[:2]
    assert Fraction(algorithm.rounds, instance.chunks) == costs[2]


def test_a_collective_that_nccl_does_not_run_is_refused(tmp_path: Path) -> None:
    file = saved(tmp_path, graph("0123"))
    for collective in ("alltoall", "scatter", "gather"):
        with pytest.raises(UncheckedError, match=f"NCCL does not run {collective} on rings"):
            loaded(file, "load", topology="ring(4)", collective=collective)
    file = saved(tmp_path, graph("0123", number=1, pattern=3))
    with pytest.raises(UncheckedError, match="NCCL does not run allgather on trees"):
        loaded(file, "load", topology="ring(4)", collective="allgather")
    with pytest.raises(UsageError, match="does not state its machine"):
        loaded(file, "load")
    with pytest.raises(UsageError, match="does not state its collective"):
        loaded(file, "load", topology="ring(4)")
    with pytest.raises(VerificationError, match="4 GPUs, and ring"):
        loaded(file, "load", topology="ring(5)", collective="allreduce")
    file = saved(tmp_path, graph("0213"))
    with pytest.raises(VerificationError, match="rank 0 to rank 2, but ring"):
        loaded(file, "load", topology="ring(4)", collective="allreduce")


def test_trees_of_hosts_are_like_nccl_s() -> None:
    # ncclGetDtree: of 4 hosts 0 -> 2 -> {1, 3} and its mirror; of 3 hosts 0 -> 2 -> 1 and shifted.
    four, three = [[0], [1], [2], [3]], [[0], [1], [2]]
    assert tree_of((0,), four, 3, 0) == (-1, 2, 0, 2)
    assert tree_of((0,), four, 3, 1) == (1, 3, 1, -1)
    assert tree_of((0,), three, 3, 0) == (-1, 2, 0)
    assert tree_of((0,), three, 3, 1) == (1, -1, 0)
    pair = [[0, 1, 2], [3, 4, 5]]
    # The chain of host 1 hangs on GPU 0 (tree), on GPU 1 as a first child (split), or by its turn.
    assert tree_of((0, 1, 2), pair, 3, 0) == (-1, 0, 1, 0, 3, 4)
    assert tree_of((0, 1, 2), pair, 2, 0) == (-1, 0, 1, 1, 3, 4)
    assert tree_of((0, 1, 2), pair, 1, 0) == (-1, 0, 1, 0, 3, 4)


@pytest.mark.parametrize(
    ("machine", "collective", "orders", "how", "attributes"),
    [
        ("ring(4)", "allreduce", ("0123", "3210"), {}, 'nchannels="2" speedintra="1"'),
        ("fully_connected(4)", "reduce(root=1)", ("0213",), {}, 'samechannels="1"'),
        ("a100(boxes=2)", "allgather", ("01723654", "45632710"), {"cross": 2}, 'crossnic="2"'),
        ("a100(boxes=2)", "allreduce", ("40127653",), {"number": 1, "pattern": 3}, 'id="1"'),
    ],
)
def test_a_graph_is_written_as_it_was_read(
    machine: str,
    collective: str,
    orders: tuple[str, ...],
    how: dict[str, int],
    attributes: str,
    tmp_path: Path,
) -> None:
    file = saved(tmp_path, graph(*orders, **how))
    given = {"topology": machine, "collective": collective}
    (made,) = syncoll.export(file, "nccl-graph", tmp_path / "again.xml", apart=False, **given)
    text = (tmp_path / "again.xml").read_text()
    assert attributes in text
    assert ("<net dev=" in text) is ("boxes" in machine)
    channels = ["".join(re.findall(r'gpu dev="0x(.)"', one)) for one in text.split("<channel>")[1:]]
    assert all(any(one in order * 2 for order in orders) for one in channels)
    assert len(channels) == len(orders)
    assert made.export.checked.facts["pattern"] == how.get("pattern", 4)


def test_an_algorithm_of_neither_rings_nor_trees_is_refused(tmp_path: Path) -> None:
    found = syncoll.pareto("ring(4)", "allgather", max_steps=2, progress="none")
    with pytest.raises(ExportError, match="neither rings nor NCCL's trees: 0 of 8 chunks"):
        found[0].export("nccl-graph", tmp_path / "g.xml")
    file = saved(tmp_path, graph("0123", "3210"))
    given = {"topology": "ring(4)", "collective": "allgather"}
    both = loaded(file, "load", **given)
    uneven = both.sends[both.sends[:, 0] != both.sends[0, 0]]
    one = Algorithm(both.algorithm.rounds_per_step, uneven)
    request = ExportRequest("x", "allgather", both.instance, one)
    with pytest.raises(ExportError, match="neither rings nor NCCL's trees: 7 of 8 chunks"):
        RECORD.load().export(request, {})
    turned = both.sends.copy()
    chunk, home = turned[0, :2]
    turned[turned[:, 0] == chunk, 1:3] = (2 * home - turned[turned[:, 0] == chunk, 1:3]) % 4
    one = Algorithm(both.algorithm.rounds_per_step, turned)
    with pytest.raises(ExportError, match="its rings do not share the data of each node equally"):
        RECORD.load().export(replace(request, algorithm=one), {})
    circle = Algorithm((1, 1, 1), [[0, 0, 1, 0], [0, 1, 2, 1], [0, 2, 1, 2]])
    with pytest.raises(ExportError, match="0 of 8 chunks"):
        RECORD.load().export(replace(request, algorithm=circle), {})


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ('version="1"', 'version="2"', "line 1: <graphs> of version 2"),
        ('pattern="4"', 'pattern="3"', "line 2: graph 0 has pattern 3"),
        ('nchannels="2"', 'nchannels="3"', "line 2: nchannels is 3, and there are 2"),
        ('<gpu dev="3"/>', '<gpu dev="2"/>', "line 3: GPU 2 is not once in this channel"),
        ('<gpu dev="0"/>\n    </channel>', "</channel>", "line 9: GPU 0 is not once"),
        ('<gpu dev="1"/>', '<gpu dev="one"/>', "line 3: dev of gpu is 'one'"),
        ('id="0" ', "", "line 2: id of graph is ''"),
        ('samechannels="0"', 'samechannels="1"', "samechannels is 1, and the channels differ"),
        ("</channel>", "</chanel>", "line 8: not XML: mismatched tag"),
        ('id="0"', 'id="3"', "it has neither rings"),
        ('nchannels="2"', 'nchannels="20"', "line 2: nchannels is 20, and there are 2"),
        ("</graphs>", '<other/><graph id="7"/></graphs>', "line 16: pattern of graph is ''"),
    ],
)
def test_an_error_names_its_line(old: str, new: str, reason: str, tmp_path: Path) -> None:
    file = saved(tmp_path, graph("0123", "3210"))
    file.write_text(file.read_text().replace(old, new, 1))
    with pytest.raises(SyncollError, match=reason):
        syncoll.verify(file, topology="ring(4)", collective="allgather")


def test_a_mutant_is_refused_or_performs_the_collective(tmp_path: Path) -> None:
    rng, file = random.Random(4), tmp_path / "graph.xml"
    whole = saved(tmp_path, graph("0123", "3210")).read_text()
    refused = 0
    for _ in range(50):
        at = rng.choice([x.start() for x in re.finditer(r"(?<=dev=\")[0-9]|<gpu|[0-9]", whole)])
        new = rng.choice([str(rng.randrange(5)), "", "x"])
        file.write_text(whole[:at] + new + whole[at + 1 :])
        try:
            found = loaded(file, "load", topology="ring(4)", collective="allgather")
        except SyncollError:
            refused += 1
            continue
        sends = found.algorithm.sends.tolist()
        held = [{c for c in range(8) if found.instance.pre[c, n]} for n in range(4)]
        for chunk, source, destination, _ in sends:
            assert chunk in held[source]
            held[destination].add(chunk)
        assert all(len(one) == found.instance.num_chunks for one in held)
    assert 15 < refused < 50


def test_the_importer_of_machines_names_the_verbs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = saved(tmp_path, graph("0123"))
    assert main(["import", "nccl-xml", str(file)]) == 2
    assert "`syncoll verify` and `syncoll simulate` read" in capsys.readouterr().err
