"""Reports: one page to look at, to send and to print."""

from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from syncoll.documents import write_atomically, write_folder
from syncoll.pages import Page
from syncoll.planning import Picture
from syncoll.planning.plot import PictureFormat
from syncoll.reporting import Subject, Times, figures, framed
from syncoll.verbs.result import Displayable
from syncoll.wording import counted


@dataclass(frozen=True, eq=False, repr=False)
class ReportResult(Displayable):
    """A report, which a notebook shows in a frame.

    Args:
        subject: the verified frontier or algorithms.
        times: the model, and its times.
        html: the page.
    """

    subject: Subject
    times: Times
    html: str

    def page(self) -> Page:
        """Its subject, in a few lines."""
        found = counted(len(self.subject.entries), "algorithm")
        size = f"{len(self.html.encode()) / 1000:.0f} kB"
        text = f"{self.subject.title}: a report of {size} with {found}; {self.times.words}"
        return Page().text(text)

    def _repr_html_(self) -> str:
        return framed(self.html)

    def figures(self) -> dict[str, Picture]:
        """Pictures for papers by name: the frontier, times, and steps on the network.

        Raises `UsageError` if matplotlib is not installed, or there is no algorithm.
        """
        return figures(self.subject, self.times)

    def save_figures(self, folder: str | Path) -> None:
        """Writes each picture as SVG and as PNG.

        Raises `UsageError` as `figures`, and if they cannot be written.
        """
        pictures, styles = self.figures().items(), get_args(PictureFormat)
        files = {f"{name}.{s}": made.content(s) for name, made in pictures for s in styles}
        write_folder(Path(folder), files)

    def save(self, path: str | Path) -> None:
        """Writes the page.  Raises `UsageError` if it cannot be written."""
        write_atomically(Path(path), self.html)
