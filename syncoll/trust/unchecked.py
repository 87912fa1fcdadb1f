"""The assumptions of a file's claims that no file can prove by itself."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from syncoll.results import Evidence, Frontier, Refuted
from syncoll.wording import argument, few


@dataclass(frozen=True)
class Unchecked:
    """An unchecked assumption of a claim, and the way to check it, in words.  Its kind is
    ``scales``, ``shapes``, ``undefined`` or ``refutations``."""

    kind: str
    what: str
    how: str


def unchecked(
    frontier: Frontier, evidence: Evidence, on_word: Sequence[Refuted], *, known: bool
) -> Iterator[Unchecked]:
    """The assumptions taken from the file, or from a solver: `on_word` has the refutations without
    a checked proof, and `known` says whether the collective was given."""
    if not known:
        how = f"name the collective with {argument('collective')}"
        if evidence.scaling:
            text = "that the proofs for its own C hold for every C"
            yield Unchecked("scales", text, how)
        seen = {c for one in evidence.shapes for c in one.compared}
        believed = sorted(seen - {point.chunks for point in frontier.points})
        if believed and not evidence.scaling:
            yield Unchecked("shapes", f"the chunks of C = {few(believed)}", how)
        lost = [
            c
            for c in range(1, evidence.max_chunks + 1)
            if c not in seen and (not evidence.scaling or evidence.shapes[0].shape.allows(c))
        ]
        if lost:
            text = f"that the collective is not defined for C = {few(lost)}"
            yield Unchecked("undefined", text, how)
    if on_word:
        how = f"search again with {argument('proofs', 'DIR')}"
        if any(one.file is not None for one in on_word):
            how = f"name the folder of their proofs with {argument('proofs')}"
        count = f"{len(on_word)} refutation{'s' if len(on_word) > 1 else ''}"
        backends = ", ".join(dict.fromkeys(one.backend for one in on_word))
        yield Unchecked("refutations", f"{count}, on the word of {backends}", how)
