"""Outputs of benchmarks, as people paste them."""

from __future__ import annotations

import pytest

from syncoll.errors import UsageError
from syncoll.measuring import read_log
from syncoll.runtime import Kind

from .tables import HEAD, nccl_tests

ROWS = [(8, 24.5), (1 << 20, 71.5), (1 << 30, 4480.0)]
TABLE = nccl_tests("all_reduce", ROWS, 16)


def test_a_table_of_nccl_tests() -> None:
    (run,) = read_log(TABLE, "log")
    assert (run.program, run.kind, run.ranks, run.per_process) == ("nccl-tests", "allreduce", 16, 1)
    assert run.times("out-of-place") == tuple((x, y / 1e6) for x, y in ROWS)
    assert TABLE.split("\n")[run.line - 1].lstrip().startswith("8 ")


def test_a_process_with_eight_gpus() -> None:
    (run,) = read_log(nccl_tests("all_gather", ROWS, 8, gpus=8), "log")
    assert (run.kind, run.ranks, run.per_process) == (Kind.ALLGATHER, 8, 8)


def test_gpus_of_amd_show_rccl_tests() -> None:
    (run,) = read_log(TABLE.replace("device  0", "device  0 [0000:03:00] AMD Instinct"), "log")
    assert run.program == "rccl-tests"


@pytest.mark.parametrize(
    "prefix",
    [
        "{n:5d}  ",
        "{n}: ",
        "{n} | ",
        "node-3: ",
        "[1,0]<stdout>:",
        "2024-05-01T10:11:12.3Z stdout F ",
    ],
)
def test_prefixes_of_terminals_and_launchers(prefix: str) -> None:
    lines = TABLE.splitlines()
    pasted = "\n".join(prefix.format(n=n) + line for n, line in enumerate(lines, 1))
    (run,) = read_log(f"\x1b[32muser@host\x1b[0m:~$ ./run.sh\r\n{pasted}\r\n", "log")
    assert run.ranks == 16
    assert run.times("in-place") == tuple((x, y / 1e6) for x, y in ROWS)


@pytest.mark.parametrize("width", [80, 97])
def test_rows_that_a_terminal_wrapped(width: int) -> None:
    wrapped = "\n".join(
        line[i : i + width]
        for line in TABLE.splitlines()
        for i in range(0, max(1, len(line)), width)
    )
    (run,) = read_log(wrapped, "log")
    assert [size for size, _ in run.times("in-place")] == [size for size, _ in ROWS]


def test_a_repeated_size_counts_with_its_least_time() -> None:
    (run,) = read_log(nccl_tests("all_reduce", [*ROWS, (1 << 20, 70.5)], 16), "log")
    assert run.times("out-of-place")[1] == (1 << 20, 70.5 / 1e6)
    assert len(run.times("in-place")) == len(ROWS)


def test_several_runs_in_one_file() -> None:
    second = nccl_tests("reduce_scatter", ROWS[1:], 4)
    first, other = read_log(TABLE + second, "log")
    assert (first.kind, other.kind, other.ranks) == (Kind.ALLREDUCE, Kind.REDUCESCATTER, 4)
    assert len(other.times("out-of-place")) == 2


def test_rows_alone_show_collective_and_ranks() -> None:
    rows = "".join(line for line in TABLE.splitlines(keepends=True) if line.startswith("  "))
    (run,) = read_log(rows, "log")
    assert (run.kind, run.ranks) == (Kind.ALLREDUCE, 16)


def test_rows_of_another_collective_than_the_command() -> None:
    row = " 33554432 524288 float none -1 1000.0 33.55 31.46 0 N/A N/A N/A N/A\n"
    (run,) = read_log(f"$ mpirun -np 16 ./all_reduce_perf -b 32M -g 1\n{HEAD}{row}", "log")
    assert (run.kind, run.ranks) == (Kind.ALLTOALL, 16)
    assert "though the command is of allreduce" in run.remark


def test_mscclpp_test_begins_with_the_column_in_place() -> None:
    text = """\
# minBytes 1024 maxBytes 2048 step: 2(factor) warmup iters: 10 iters: 100 graph: 0 kernel num: 2
#                                    in-place                       out-of-place
#       size         count     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong
#        (B)    (elements)     (us)  (GB/s)  (GB/s)             (us)  (GB/s)  (GB/s)
        1024           256     7.13    0.14    0.25       0     8.00    0.13    0.22       0
        2048           512     7.25    0.28    0.49       0     8.10    0.25    0.44       0
"""
    (run,) = read_log(text, "log")
    assert run.program == "mscclpp-test"
    assert run.times("in-place")[0] == (1024, pytest.approx(7.13e-6))
    assert run.times("out-of-place")[1] == (2048, pytest.approx(8.1e-6))


def test_sizes_with_units_in_a_table_of_mscclpp() -> None:
    text = """\
+----------+-----------+--------------+-------------+----------------+
| Size     | Time (us) | AlgBW (GB/s) | Correctness | NCCL Time (us) |
+----------+-----------+--------------+-------------+----------------+
|  1.5 KiB |      6.40 |         0.24 |     PASS    |          12.31 |
"""
    (run,) = read_log(text, "log")
    assert run.times("out-of-place") == ((1536, pytest.approx(6.4e-6)),)


def test_osu_counts_the_bytes_of_one_rank() -> None:
    text = """\
$ srun -n 4 ./osu_allgather -d cuda

# OSU MPI-CUDA Allgather Latency Test v7.0
# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations
1024                   30.50             30.10             31.02         10
[node1:mpi_rank_0] a warning
2048                   31.50             31.10             32.02         10
$ srun -n 4 ./osu_allreduce

# OSU MPI Allreduce Latency Test v5.9
# Size       Avg Latency(us)
1024                   10.50
"""
    gathered, reduced = read_log(text, "log")
    assert (gathered.program, gathered.kind, gathered.ranks) == ("osu", Kind.ALLGATHER, 4)
    assert gathered.times("out-of-place")[0] == (4096, pytest.approx(30.5e-6))
    assert reduced.times("out-of-place")[0] == (1024, pytest.approx(10.5e-6))


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("-1   4480.0", "-1    448.0", "line 26"),
        ("  449.39      0\n", "\n", "line 26: the row lacks columns"),
        ("   71.50", "    0.00", "line 25"),
    ],
)
def test_a_broken_row_is_refused_with_its_line(old: str, new: str, words: str) -> None:
    assert old in TABLE
    with pytest.raises(UsageError, match=words):
        read_log(TABLE.replace(old, new, 1), "log")


def test_a_file_without_a_table_is_refused() -> None:
    with pytest.raises(UsageError, match="no table of nccl-tests"):
        read_log("NCCL INFO Channel 00 : 0 1 2 3\n", "log")
