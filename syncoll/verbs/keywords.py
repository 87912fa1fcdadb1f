"""Keywords of several verbs: the sentence of a parameter whose verb states none of its own.

Args:
    alpha: latency of each send, such as ``0.7us``; None for the latencies of the machine.
    beta: bandwidth of a link of one chunk per round, such as ``25GB/s``; None for the bandwidth in
        the description of the machine.
    chunks: C, the chunks into which the data of a node is cut.
    classics: whether to compare with all classics, or the names of some.
    collective: such as ``allgather``, ``"broadcast(root=3)"`` or ``FILE:NAME``, or an object.
    column: the measured calls.
    in_place: for calls whose input and output are one buffer.
    machine: as for `pareto`; with one name without a value, the member of a family that has the
        ranks of each run.
    options: of the exporter, by name.
    output: saves the frontier as JSON as it grows.
    progress: ``auto``, ``live``, ``plain`` or ``none``.
    proofs: a folder for a checkable proof of each refutation that a claim rests on; the search
        solves these once more.
    ranks: of runs that do not show theirs.
    rounds: R, the largest number of rounds of all steps together; such as ``23/9`` on a machine
        with several grains in a round.
    runtime: whose costs count: ``wire`` for none, ``nccl``, ``rccl``, ``mscclpp``, ``mpi``, or a
        file; ``nccl:LL`` for one of its protocols.
    source: a frontier, an algorithm, or a file of one.
    steps: S, the largest number of steps.
    strategy: ``certified`` searches from the proved bound for each S upwards; ``paper`` is
        Algorithm 1 of the SCCL paper, without default limits; its `k` is by default the least that
        can reach the bound on R/C.
    symmetric: whether the search also looks for symmetric algorithms, and near known ones.
    timing: a send leaves when its data is there and its lane is free, or with its step.
    topology: such as ``dgx1`` or ``"ring(8)"``, ``FILE:NAME``, or ``IMPORTER:FILE`` such as
        ``nvidia-smi:topo.txt``, or an object.
    work: in place of `time_limit`: units of work, each about one second of one core, counted by
        solvers, bounds and seeds.  The search runs in one thread and without the store, so that
        every run finds the same under any load.
"""
