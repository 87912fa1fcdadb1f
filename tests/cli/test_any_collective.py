"""Any collective on a small machine gets an answer or a refusal with a reason."""

from __future__ import annotations

import os
import re
from pathlib import Path

import hypothesis
from hypothesis import strategies as st

from tests.cli.conftest import Result, Run

CASES = int(os.environ.get("SYNCOLL_COLLECTIVE_CASES", "3"))
"""Number of random collectives; five hundred take an hour of one core."""

SPEC = """
topology one_way(n) { nodes n  link (i, (i + 1) mod n) for i in nodes if n > 1 bandwidth 1 }
topology apart { nodes 4  link (0, 1), (2, 3) both ways bandwidth 1 }
topology sink { nodes 3  link (0, 1) both ways bandwidth 2  link (0, 2) bandwidth 1/2 }
topology pod(gpus, sharp = true) {
    nodes gpus
    switches 1
    link (g, switch(0)) both ways for g in nodes bandwidth 1
    multicast switch(s) for s in range(1) if sharp
    reduce switch(s) for s in range(1) if sharp
}
collective still { chunks C  pre Root(0)  post Root(0) }
collective nowhere { chunks C  pre Root(0)  post All - All }
collective from_nowhere { chunks C  pre All - All  post All }
collective no_chunks { chunks 0  pre Root(0)  post All }
collective two_roots { chunks C  pre { (c, n) : n < 2 }  post All }
collective others { chunks P * C  pre { (c, n) : n == c mod P }  post { (c, n) : n != c mod P } }
collective spread = scatter then allgather
collective back_again = inverse reducescatter
collective sum_up = inverse allgather then allgather or reduce then broadcast
collective header { irregular  chunks C  pre Root(0)  post { (c, n) : n == P - 1 or c == 0 } }
collective header_back = inverse header
collective headed = header_back then header
collective ragged { irregular  chunks C + 1  pre Scattered  post { (c, n) : n <= c } }
collective ragged_back = inverse ragged
collective gappy { irregular  require C mod 3 != 1 "not 1, 4, 7, …"  chunks C  pre Root(0)  post Scattered }
collective unequal { chunks P  size c  pre Scattered  post All }
"""  # noqa: E501
MACHINES = {
    "line(1)": 1, "own.syncoll:pod(1)": 1, "own.syncoll:one_way(1)": 1,
    "line(2)": 2, "bus(2)": 2, "own.syncoll:one_way(2)": 2, "own.syncoll:pod(2)": 2,
    "ring(3)": 3, "line(3)": 3, "hub(3)": 3, "own.syncoll:one_way(3)": 3, "own.syncoll:sink": 3,
    "own.syncoll:pod(3)": 3, "own.syncoll:pod(3, sharp=false)": 3,
    "star(4)": 4, "fully_connected(4)": 4, "de_bruijn(2,2)": 4, "own.syncoll:apart": 4,
    "own.syncoll:pod(4)": 4,
}  # fmt: skip
FORMATS = ("msccl-xml", "mscclpp", "goal", "chakra")
OWN = re.findall(r"^collective (\w+)", SPEC, re.MULTILINE)


@st.composite
def collectives(draw: st.DrawFn, nodes: int) -> str:
    """A collective in the language on `nodes` nodes; some are invalid."""

    def numbers(count: int) -> str:
        return str(draw(st.lists(st.sampled_from((0, 1, 1, 2)), min_size=count, max_size=count)))

    def named(count: int) -> str:
        root, more = draw(st.integers(0, count - 1)), draw(st.integers(0, count - 1))
        return draw(
            st.sampled_from(
                ["allgather", "allreduce", "alltoall", "reducescatter"]
                + [f"{name}({root})" for name in ("broadcast", "gather", "reduce", "scatter")]
                + [f"multi_{name}({root}, {more})" for name in ("broadcast", "gather", "scatter")]
                + [f"{name}v({numbers(count)})" for name in ("allgather", "reducescatter")]
                + [f"gatherv({numbers(count)}, root={root})"]
                + [f"alltoallv([{', '.join(numbers(count) for _ in range(count))}])"]
                + [f"own.syncoll:{name}" for name in OWN]
            )
        )

    def term() -> str:
        how = draw(st.sampled_from(("whole", "within", "within", "without")))
        if how == "within":
            size = draw(st.integers(1, nodes))
            group = st.permutations(range(nodes)).map(lambda order: list(order[:size]))
            text = f"{named(size)} within {draw(st.lists(group, min_size=1, max_size=2))}"
        elif how == "without":
            text = f"{named(nodes + 1)} without node {draw(st.integers(0, nodes))}"
        else:
            text = named(nodes)
        if draw(st.integers(0, 3)) == 0:
            text = f"(inverse {text})"
        return draw(st.sampled_from(("", "", "2 * ", "3 * "))) + text

    text = " + ".join(term() for _ in range(draw(st.sampled_from((1, 1, 2, 3)))))
    return f"{text} then {term()}" if draw(st.integers(0, 7)) == 0 else text


@st.composite
def questions(draw: st.DrawFn) -> tuple[str, str, tuple[int, int, int], str]:
    """A machine, a collective, C, S and R, and a format."""
    machine = draw(st.sampled_from(sorted(MACHINES)))
    size = draw(st.tuples(st.integers(1, 3), st.integers(0, 3), st.integers(0, 3)))
    return machine, draw(collectives(MACHINES[machine])), size, draw(st.sampled_from(FORMATS))


@hypothesis.settings(
    max_examples=CASES,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=list(hypothesis.HealthCheck),
)
@hypothesis.given(question=questions())
@hypothesis.example(("line(2)", "3 * reduce within [[0, 1]]", (1, 1, 3), "goal"))
@hypothesis.example(("own.syncoll:sink", "reduce(3) without node 1", (2, 2, 3), "mscclpp"))
@hypothesis.example(("line(1)", "allreduce + 2 * reducescatter", (1, 0, 0), "chakra"))
def test_an_answer_or_a_refusal_with_a_reason(
    run: Run, question: tuple[str, str, tuple[int, int, int], str]
) -> None:
    machine, collective, (chunks, steps, rounds), format_name = question
    Path("own.syncoll").write_text(SPEC, encoding="utf-8")
    saved = [Path(f"{name}.json") for name in ("bounds", "outcome", "frontier")]
    for file in saved:
        file.unlink(missing_ok=True)

    def ask(*words: object, codes: tuple[int, ...] = (0, 1, 2, 3, 4)) -> Result:
        result = run(*words)
        said = result.err
        assert result.code in codes, (words, result.code, said)
        assert "bug of" not in said, (words, said)
        assert " failed in " not in said, (words, said)  # a plugin with an error of Python
        return result

    meant = machine, collective
    ask("bounds", *meant, "--max-steps", 3, "-o", "bounds.json")
    ask("show", collective, "--nodes", MACHINES[machine])
    ask("show", "--symmetry", *meant)
    point = "-C", chunks, "-S", steps, "-R", rounds
    ask("solve", *meant, *point, "--work", 2, "-o", "outcome.json")
    limits = "--max-chunks", chunks, "--max-steps", 3, "--work", 2, "--progress", "none"
    ask("pareto", *meant, *limits, "-o", "frontier.json")
    for file in saved:
        if not file.exists():
            continue
        if file.name != "outcome.json":
            about = "--topology", machine, "--collective", collective
            ask("check", file, *about, codes=(0, 4))
        if file.name != "bounds.json":
            ask("verify", file, codes=(0,))
            ask("show", file, codes=(0,))
            ask("export", file, "--to", format_name, "-o", "out")
