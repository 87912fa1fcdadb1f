"""Whether a refutation's proof file proves what a frontier's claim rests on."""

from __future__ import annotations

from pathlib import Path

from syncoll.certificates import Shape
from syncoll.errors import VerificationError
from syncoll.plugins import PluginManager
from syncoll.proofs.refutation import check_refutation
from syncoll.results import Frontier, Refuted, refuted_instance

__all__ = ["FileWitness"]


class FileWitness:
    """Checks the proof files of refutations, each once; a `syncoll.trust.claims.Witness`."""

    def __init__(self, folder: Path, manager: PluginManager | None = None) -> None:
        self.folder, self.manager = folder, manager

    def __call__(self, refuted: Refuted, frontier: Frontier) -> None:
        """Passes when the file proves that the refuted algorithm does not exist.

        Raises:
            VerificationError: when it does not, or is about something else.
            FileFormatError: when it cannot be read.
        """
        assert refuted.file is not None
        assert frontier.evidence is not None
        if Path(refuted.file).name != refuted.file:
            raise VerificationError(f"the proof file {refuted.file!r} is no name of a file")
        path = self.folder / refuted.file
        meant = refuted_instance(frontier.evidence, refuted, frontier.topology, frontier.collective)
        proved = check_refutation(path, self.manager, topology=meant.topology).instance
        chunks = meant.chunks
        same = proved.combining == meant.combining and (
            Shape.of(proved, chunks, combining=meant.combining)
            == Shape.of(meant, chunks, combining=meant.combining)
        )
        if not same or proved.steps < refuted.steps or proved.rounds < refuted.rounds:
            raise VerificationError(
                f"{path} proves something else than that there is no algorithm with "
                f"S = {refuted.steps}, R = {refuted.rounds}, C = {refuted.chunks}"
            )
