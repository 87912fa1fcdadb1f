"""Classic algorithms as seeds: constructions from textbooks, NCCL and MPICH for any topology.

Sends between nodes without a link are routed over shortest paths, and congestion is counted link by
link.
"""

from dataclasses import replace

from syncoll.plugins import Option, SeedRecord

_SEGMENTS = Option("segments", 16, "pieces of a pipeline, at most", low=1, high=4096)
_MORE_SEGMENTS = replace(_SEGMENTS, default=128)
"""A tree has few links, so that its large messages have many pieces."""

_BY_DEFAULT = ("all_pairs", "ring", "two_hop")
"""Classics whose points are seldom dominated; see benchmarks/seeds.py."""

_IN_LIBRARIES = ("nccl_ring", "nccl_tree", "nvls", "pairwise", "pat")

_FIRST_SECONDS = {"all_pairs": 0.6, "ring": 0.05}
"""Seconds until the first algorithm on 64 nodes: all_pairs routes far more sends."""


def _record(name: str, summary: str, *options: Option) -> SeedRecord:
    seed = f"syncoll_classics.seed:{name.upper()}"
    return SeedRecord(
        name,
        summary,
        seed,
        options,
        fits=f"{seed}.fits",
        by_default=name in _BY_DEFAULT,
        first_seconds=_FIRST_SECONDS.get(name, 0.2),
        classic=True,
        in_libraries=name in _IN_LIBRARIES,
        counts_copies=name == "nvls",
    )


RECORDS = (
    _record(
        "all_pairs",
        "every node sends its data directly to each node that needs it: one step, most data a link",
    ),
    _record(
        "binomial",
        "binomial tree: each step doubles the nodes with the data; broadcast, gather, scatter",
    ),
    _record(
        "bruck", "Bruck: step t sends to the node 2^t places before; ceil(log2 P) steps for any P"
    ),
    _record(
        "double_binary_tree",
        "two binary trees, leaves of one inner nodes of the other, half the data each",
        _MORE_SEGMENTS,
    ),
    _record(
        "halving_doubling",
        "pairs exchange halves and reduce them, then gather; ranks mapped on a BiGraph",
        Option("bigraph", "", "SWITCHESxNODES if nodes are numbered by switch; empty: detect it"),
    ),
    _record(
        "nccl_ring",
        "NCCL's rings: one for each network card, one way; P - 1 steps",
        Option("seconds", 5.0, "seconds for finding rings in a single box", low=0.0),
        _SEGMENTS,
    ),
    _record(
        "nccl_tree",
        "NCCL's trees for allreduce: chains in boxes, double binary trees of boxes",
        _SEGMENTS,
    ),
    _record(
        "nvls",
        "NVLS and NVLSTree of NCCL: switches add up and copy; double binary trees of boxes",
        _SEGMENTS,
    ),
    _record(
        "pairwise", "one peer a step, the next rank first: P - 1 steps; alltoall of MPI libraries"
    ),
    _record("pat", "NCCL's PAT: binomial trees of all sources at once, farthest ranks first"),
    _record(
        "recursive_doubling",
        "pairs that differ in one binary digit exchange all they have: log2 P steps, P = 2^k",
    ),
    _record(
        "ring",
        "the best set of Hamiltonian rings, as NCCL uses: least data on every link, P - 1 steps",
        Option("seconds", 5.0, "seconds for finding more rings", low=0.0),
        _SEGMENTS,
    ),
    _record(
        "ring2d",
        "rings in the rows, then the columns, of a mesh or torus: few steps, up to twice the data",
        Option(
            "closing",
            "fold",
            "how a line becomes a ring: fold it, or connect its ends over the line",
            choices=("fold", "route"),
        ),
    ),
    _record(
        "swing",
        "Swing and Bine trees: pairs exchange to either side in turn, on rings and tori of 2^k",
    ),
    _record(
        "two_hop",
        "first over the network to the own card's peer in each box, then inside the box; "
        "DeepEP's dispatch for experts",
    ),
)
