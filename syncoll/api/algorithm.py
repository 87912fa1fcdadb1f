"""An algorithm in the hands of a user: to look at, export and run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from syncoll.api.shown import Shown, dressed
from syncoll.documents import StoredAlgorithm
from syncoll.errors import UsageError
from syncoll.model import Algorithm, Instance
from syncoll.pages import Page
from syncoll.pages.algorithm import algorithm_page
from syncoll.results import Point
from syncoll.runtime import SavedExport, label
from syncoll.session.settings import require_whole
from syncoll.trust.data import Execution, ReduceOp, Workload, execute
from syncoll.wording import counted

if TYPE_CHECKING:
    from pandas import DataFrame

    from syncoll.session import Session

_SHORT = {"fp16": "float16", "bf16": "bfloat16", "fp32": "float32", "fp64": "float64"}

__all__ = ["AlgorithmVerbs", "ExecutionResult", "ExportResult", "PointResult", "StoredResult"]


@dataclass(frozen=True, eq=False, repr=False)
class ExecutionResult(Shown, Execution):
    """What an algorithm did to data, compared with the collective's definition."""

    def page(self) -> Page:
        """Whether it was right, and what it sent."""
        if self.mismatch is not None:
            return Page().text(f"WRONG: {self.mismatch.message}")
        return Page().text(
            f"OK: {self.steps} steps, {self.bytes_sent} bytes sent, largest error "
            f"{self.largest_error:.3g}"
        )


@dataclass(frozen=True, repr=False)
class ExportResult(Shown, SavedExport):
    """Files of a runtime, which its format's checker has executed."""

    def page(self) -> Page:
        """Where they are, and what they were found to do."""
        checked = self.export.checked
        facts = ", ".join(f"{name} {value}" for name, value in checked.facts.items())
        page = Page().text(f"{', '.join(str(path) for path in self.files)}")
        page.text(f"executed: {checked.format}, {checked.collective}; {facts}")
        for note in self.export.exported.notes:
            page.text(f"note: {note}")
        return page


class AlgorithmVerbs(Shown):
    """What can be done with a verified algorithm of an instance."""

    instance: Instance
    algorithm: Algorithm

    @property
    def sends(self) -> npt.NDArray[np.int64]:
        """``[send, 4]``: chunk, source, destination, step; a copy."""
        return np.array(self.algorithm.sends)

    def page(self) -> Page:
        """Every step with its sends."""
        return algorithm_page(self.instance, self.algorithm)

    def sends_to_pandas(self) -> DataFrame:
        """The sends as a table with the columns chunk, source, destination and step.

        Raises:
            UsageError: when pandas is not installed.
        """
        from syncoll.api.tables import data_frame

        names = ("chunk", "source", "destination", "step")
        return data_frame({name: self.sends[:, i] for i, name in enumerate(names)})

    def run(
        self,
        size: int | str = "1MiB",
        *,
        dtype: str = "float32",
        op: str = "sum",
        seed: int = 0,
    ) -> ExecutionResult:
        """Runs it on random data, all nodes in this process, and compares with the definition.

        Args:
            size: bytes of one node's data, as a number or a text such as ``1MiB``.
            dtype: such as ``float32``, ``bfloat16`` or ``int8``.
            op: ``sum``, ``prod``, ``max`` or ``min``, for what is reduced.
            seed: of the data.

        Raises:
            UsageError: on a size or a type that makes no sense.
        """
        from syncoll.api.units import bytes_of

        try:
            operation = ReduceOp(op)
        except ValueError:
            known = ", ".join(ReduceOp)
            raise UsageError(f"op {op!r} is not one of {known}") from None
        require_whole("seed", seed)
        workload = Workload(bytes_of(size), _SHORT.get(dtype, dtype), operation, seed)
        return dressed(ExecutionResult, execute(self.instance, self.algorithm, workload))

    def export(
        self,
        to: str,
        path: str | Path,
        *,
        in_place: bool = False,
        min_bytes: int | str = 0,
        max_bytes: int | str | None = None,
        options: Mapping[str, object] | None = None,
    ) -> ExportResult:
        """Writes it in a format of a runtime, after the format's checker has executed it.

        Args:
            to: the exporter, such as ``mscclpp``, ``msccl-xml``, ``chakra``, ``csv``.
            path: the file to write, or a folder for it.
            in_place: for calls whose input and output are one buffer.
            min_bytes: the smallest message for which the runtime should choose it.
            max_bytes: the largest one; None for no limit.
            options: of the exporter, by name.

        Raises:
            ExportError: when the format cannot express it.
            UsageError: when the file cannot be written.
        """
        from syncoll.api.sessions import session_of
        from syncoll.api.units import bytes_of
        from syncoll.plugins.exporters import UNLIMITED

        done = session_of(self).export(
            StoredAlgorithm(self.instance, self.algorithm, self._where),
            to,
            Path(path),
            in_place=in_place,
            min_bytes=bytes_of(min_bytes) if min_bytes else 0,
            max_bytes=UNLIMITED if max_bytes is None else bytes_of(max_bytes),
            options=options or {},
        )
        return dressed(ExportResult, done)

    def export_into(self, to: str, folder: Path, **how: Any) -> ExportResult:
        """As `export`, under a name that tells it from other algorithms in a folder."""
        from syncoll.api.sessions import session_of

        one = StoredAlgorithm(self.instance, self.algorithm, self._where)
        name = label(one, self.instance.collective, in_place=how.get("in_place", False))
        many = session_of(self).plugins.exporters[to].folder
        return self.export(to, folder / name if many else folder, **how)

    @property
    def _where(self) -> str:
        return "algorithm"


@dataclass(frozen=True, eq=False, repr=False)
class PointResult(AlgorithmVerbs, Point):
    """A point of a frontier.

    Args:
        number: its position in the frontier.
        session: that asked.
    """

    number: int = 0
    session: Session | None = None

    def __repr__(self) -> str:
        """In a line, for lists of points; `print` shows every send."""
        return (
            f"<point {self.number}: S = {self.steps}, R = {self.rounds}, C = {self.chunks}, "
            f"R/C = {self.bandwidth}, {counted(len(self.algorithm.sends), 'send')}>"
        )

    @property
    def _where(self) -> str:
        return f"points[{self.number}]"


@dataclass(frozen=True, eq=False, repr=False)
class StoredResult(AlgorithmVerbs, StoredAlgorithm):
    """An algorithm out of a file, or of an answer.

    Args:
        session: that asked or read it.
    """

    session: Session | None = None

    @property
    def _where(self) -> str:
        return self.where
