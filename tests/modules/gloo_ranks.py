"""Real processes with Gloo: ``python gloo_ranks.py CASES RESULTS``.

CASES is a pickle of (ranks, [(name, text of the module, instance, algorithm, groups), ...]).  The
first rank writes to RESULTS a JSON object from each name to the errors of all ranks.
"""

from __future__ import annotations

import json
import os
import pickle
import sys
import tempfile
import traceback
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

sys.path.insert(0, str(Path(__file__).parents[2]))

from syncoll.model import Algorithm, Instance
from syncoll.runtime import Buffer, Kind, layout_of
from tests.modules import oracle

DTYPES = (torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64)
SINGLE = (Kind.ALLREDUCE, Kind.REDUCE, Kind.BROADCAST)


def load(text: str) -> Any:
    module = types.ModuleType("exported")
    exec(compile(text, "exported.py", "exec"), module.__dict__)
    return module


def drawn(chunk: int, rank: int, length: int, dtype: torch.dtype) -> torch.Tensor:
    generator = torch.Generator().manual_seed(chunk * 1009 + rank)
    if dtype is torch.int64:
        return torch.randint(-(2**62), 2**62, (length,), generator=generator)
    return torch.randn(length, generator=generator, dtype=torch.float64).to(dtype)


def check(
    module: Any,
    name: str,
    instance: Instance,
    algorithm: Algorithm,
    total: int,
    dtype: Any,
    how: str,
) -> Iterator[str]:
    """One call; `how` is plain, async or in place."""
    rank = dist.get_rank()
    layout = layout_of(instance, in_place=False)
    groups = how.startswith("groups")
    module.SLICE_BYTES = 1 << (9 if how.endswith("in slices") else 20)
    sizes = oracle.lengths(layout, total)
    if groups:  # each group cuts its own buffer
        share = int(instance.pre.sum(axis=0).max())
        parts = [total // share + (i < total % share) for i in range(share)]
        for node in range(instance.topology.num_nodes):
            for part, chunk in zip(parts, layout.chunks_in(Buffer.INPUT, node), strict=True):
                sizes[chunk] = part
    inputs = {
        (c, r): drawn(c, r, sizes[c], dtype)
        for c in range(instance.num_chunks)
        for r in range(instance.topology.num_nodes)
        if instance.pre[c, r]
    }
    wanted = oracle.results(instance, algorithm, inputs, torch.add)

    def whole(data: Any, buffer: Buffer) -> torch.Tensor | None:
        parts = oracle.joined(layout, rank, data, buffer)
        return torch.cat(parts) if parts else None

    send, right = whole(inputs, Buffer.INPUT), whole(wanted, Buffer.OUTPUT)
    function = getattr(module, name)
    kept = None if send is None else send.clone()
    more = {} if layout.collective.kind in SINGLE or groups else {"total": total}
    if layout.collective.kind in SINGLE or groups:
        receive = torch.full((total,), 77, dtype=dtype) if send is None else send
        arguments: tuple[Any, ...] = (receive,)
    else:
        receive = None if right is None else torch.full((len(right),), 77, dtype=dtype)
        if how == "in place" and send is not None and receive is not None:
            kind = layout.collective.kind
            if kind is Kind.ALLTOALL and len(send) == len(receive):
                receive = send
            elif kind in (Kind.ALLGATHER, Kind.REDUCESCATTER):
                start = sum(total // 8 + (r < total % 8) for r in range(rank))
                large, small = max(send, receive, key=len), min(send, receive, key=len)
                own = large[start : start + len(small)]
                if kind is Kind.ALLGATHER:
                    own.copy_(send)
                    send = own
                else:
                    receive = own
        arguments = (receive, send)
    if how == "async":
        handle = function(*arguments, async_op=True, **more)
        ones = torch.ones(3)
        dist.all_reduce(ones)  # collectives of torch keep the order of the program
        assert ones[0] == dist.get_world_size()
        assert handle.wait()
        assert handle.is_completed()
    else:
        assert function(*arguments, **more) is None
    if right is not None and not torch.equal(receive, right):
        at = int((receive != right).nonzero()[0])
        yield f"rank {rank}: element {at} is {receive[at]}, not {right[at]}"
    if (
        receive is not send
        and how != "in place"
        and kept is not None
        and not torch.equal(send, kept)
    ):
        yield f"rank {rank}: the input was written"


def refused(module: Any, name: str) -> Iterator[str]:
    """Calls that all ranks refuse, with the words of the error."""
    rank = dist.get_rank()
    function = getattr(module, name)
    for tensor, words in (
        (torch.zeros(24 + (rank == 3)), "rank 0 with 24 elements of torch.float32"),
        (torch.zeros(16, dtype=torch.float64 if rank == 2 else torch.float32), "torch.float64"),
        (torch.zeros(8, 8).t(), "contiguous"),
    ):
        try:
            function(tensor)
            yield f"rank {rank}: no error with {words}"
        except ValueError as error:
            if words not in str(error):
                yield f"rank {rank}: {error} lacks {words}"
    function(torch.zeros(16, requires_grad=True))  # goes on, as torch's own does
    small = dist.new_group([0, 1])
    try:
        function(torch.zeros(8), group=small)
        yield f"rank {rank}: no error in a small group"
    except ValueError as error:
        if "for a group of 8 ranks" not in str(error):
            yield f"rank {rank}: {error}"


def main(cases_file: str, results_file: str, rank: int, store: str) -> None:
    ranks, cases = pickle.loads(Path(cases_file).read_bytes())
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=ranks)
    results: dict[str, list[str]] = {}
    for name, function, text, instance, algorithm, calls in cases:
        module = load(text)
        errors: list[str] = []
        for total, dtype, how in calls:
            try:
                if how == "refused":
                    errors.extend(refused(module, function))
                else:
                    errors.extend(
                        check(module, function, instance, algorithm, total, DTYPES[dtype], how)
                    )
            except Exception:
                errors.append(f"rank {rank}, {total}, {how}: {traceback.format_exc()}")
        every: list[Any] = [None] * ranks
        dist.all_gather_object(every, errors)
        results[name] = [error for one in every for error in one]
    if rank == 0:
        Path(results_file).write_text(json.dumps(results))
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        ranks, _ = pickle.loads(Path(sys.argv[1]).read_bytes())
        children = []
        for rank in range(ranks):
            child = os.fork()
            if not child:
                code = 1
                try:
                    main(*sys.argv[1:], rank, f"{folder}/store")
                    code = 0
                except BaseException:
                    traceback.print_exc()
                finally:
                    sys.stderr.flush()
                    os._exit(code)
            children.append(child)
        codes = [os.waitpid(child, 0)[1] for child in children]
    sys.exit(any(codes))
