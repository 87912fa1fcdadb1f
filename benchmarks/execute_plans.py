"""MSCCL++ plans in MSCCL++'s own executor: every element of every output is compared.

`mscclpp/build.sh` builds the program that executes one plan with all ranks on one GPU.  This script
needs nothing but Python and that program:

    python benchmarks/execute_plans.py deploy/ --program build/execute_plan
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SIZES = tuple(1 << power for power in (16, 18, 20, 22, 24))
"""Message bytes, as in nccl-tests."""

RESIDENT = 1 << 15
"""Threads of all ranks together.  All thread blocks must be resident on the GPU, and leave room for
the copies of proxies: with 2^17 threads, plans with port channels stalled on an H100."""


def plans(places: list[str]) -> Iterator[Path]:
    """The plans in folders and their folders, without the index."""
    for place in map(Path, places):
        files = [place] if place.is_file() else sorted(place.rglob("*.json"))
        yield from (file for file in files if file.name != "index.json")


def sizes_of(plan: dict[str, Any]) -> list[int]:
    """The sizes among `SIZES` that the plan takes, after its least size."""
    ranks, first = len(plan["gpus"]), plan["gpus"][0]
    chunks = {"allgather": "output_chunks"}.get(plan["collective"], "input_chunks")
    unit = first[chunks] * plan["buffer_alignment"]
    if plan["collective"] == "reducescatter":
        unit = max(unit, first["output_chunks"] * plan["buffer_alignment"] * ranks)
    least = max(unit, -(-plan["min_message_size"] // unit) * unit)
    taken = (size for size in SIZES if size % unit == 0)
    return [s for s in dict.fromkeys((least, *taken)) if least <= s <= plan["max_message_size"]]


def row(file: Path, program: str, calls: int, seconds: float) -> dict[str, Any]:
    """The result of one plan."""
    plan = json.loads(file.read_text())
    ranks = len(plan["gpus"])
    blocks = max(len(gpu["threadblocks"]) for gpu in plan["gpus"])
    kinds = {one["channel_type"] for gpu in plan["gpus"] for one in gpu["channels"]}
    sizes, threads = sizes_of(plan), plan["num_threads_per_block"]
    while threads > 32 and threads * blocks * ranks > RESIDENT:
        threads //= 2
    plan["num_threads_per_block"] = threads
    with tempfile.NamedTemporaryFile("w", suffix=".json") as copy:
        json.dump(plan, copy)
        copy.flush()
        command = [program, copy.name, str(calls), *map(str, sizes)]
        environment = {**os.environ, "CUDA_DEVICE_MAX_CONNECTIONS": "32"}
        environment["CUDA_MODULE_LOADING"] = "EAGER"
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=seconds, env=environment
            )
            result, said = "right" if done.returncode == 0 else "wrong", done.stdout + done.stderr
        except subprocess.TimeoutExpired as error:
            result, said = f"not done in {seconds:g} s", str(error.stdout or b"")
    return {
        "plan": file.stem,
        "collective": plan["collective"],
        "ranks": ranks,
        "thread blocks": blocks,
        "operations": max(len(b["ops"]) for gpu in plan["gpus"] for b in gpu["threadblocks"]),
        "channels": " and ".join(sorted(kinds)),
        "protocol": plan["protocol"],
        "in place": "yes" if plan["inplace"] else "no",
        "KiB a rank": round(file.stat().st_size / 1024 / ranks),
        "sizes": len(sizes),
        "least": sizes[0],
        "result": result,
        "said": "" if result == "right" else said[-400:],
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("places", nargs="+", help="plans, or folders of plans")
    parser.add_argument("--program", required=True, help="execute_plan, built by mscclpp/build.sh")
    parser.add_argument("--calls", type=int, default=3, help="calls per size (default: 3)")
    parser.add_argument("--seconds", type=float, default=60.0, help="limit per plan (default: 60)")
    asked = parser.parse_args()
    wrong = 0
    for number, file in enumerate(plans(asked.places)):
        one = row(file, asked.program, asked.calls, asked.seconds)
        said = one.pop("said")
        if number == 0:
            print(f"| {' | '.join(one)} |\n|{'---|' * len(one)}")
        print(f"| {' | '.join(map(str, one.values()))} |", flush=True)
        if one["result"] != "right":
            wrong += 1
            print(said, file=sys.stderr, flush=True)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
