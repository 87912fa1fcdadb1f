"""Pictures, drawn without a screen and reproducible.

They are drawn with matplotlib's own canvases and independent of the user's settings: the same
values give the same SVG, byte for byte.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from syncoll.documents import write_atomically
from syncoll.errors import UsageError
from syncoll.units import format_size, format_time

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "Picture",
    "PictureFormat",
    "picture_format",
    "require_matplotlib",
    "show_sizes",
    "show_times",
]

PictureFormat = Literal["png", "svg"]

_SETTINGS: dict[Any, Any] = {
    "font.size": 9,
    "axes.grid": True,
    "axes.grid.which": "major",
    "grid.alpha": 0.3,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "svg.hashsalt": "syncoll",
    "text.parse_math": False,  # a name may have a dollar in it
}


@dataclass(frozen=True)
class Picture:
    """A picture that a notebook shows: the function that paints it, and its size in inches."""

    paint: Callable[[Figure], None]
    size: tuple[float, float] = (8, 7.5)

    def content(self, style: PictureFormat) -> bytes:
        """The picture as a file's content."""
        import matplotlib as mpl
        from matplotlib.figure import Figure

        with mpl.rc_context():
            mpl.rcdefaults()
            mpl.rcParams.update(_SETTINGS)
            figure = Figure(figsize=self.size, layout="constrained")
            self.paint(figure)
            file = io.BytesIO()
            # Without a date, and without the version of the library that drew it.
            empty: dict[str, Any] = {"Date": None, "Creator": None} if style == "svg" else {}
            figure.savefig(file, format=style, dpi=144, metadata=empty or {"Software": None})
        return file.getvalue()

    @property
    def svg(self) -> str:
        """The picture as the text of an SVG file."""
        return self.content("svg").decode()

    def save(self, path: str | Path) -> None:
        """Writes it to a file whose name ends in ``.png`` or ``.svg``.

        Raises:
            UsageError: on another name, or when it cannot be written.
        """
        style = picture_format(Path(path))
        write_atomically(Path(path), self.content(style))

    def _repr_svg_(self) -> str:
        return self.svg


def picture_format(path: Path) -> PictureFormat:
    """The format of a file, by its name.

    Raises:
        UsageError: when its name ends neither in ``.png`` nor in ``.svg``, or matplotlib is not
            installed.
    """
    suffix = path.suffix.lower()
    if suffix not in (".png", ".svg"):
        raise UsageError(f"cannot draw {path}: expected a name that ends in .png or .svg")
    require_matplotlib(str(path))
    return "png" if suffix == ".png" else "svg"


def require_matplotlib(what: str) -> None:
    """Passes where pictures can be drawn; raises `UsageError` when matplotlib is not installed."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise UsageError(
            f"cannot draw {what}: matplotlib is not installed; `pip install 'syncoll[plot]'`"
        ) from None


def show_sizes(axes: Axes, low: float, high: float) -> None:
    """Scales the x-axis in powers of two, with sizes in bytes from `low` to `high`."""
    axes.set_xscale("log", base=2)
    axes.set_xlim(low, high)
    axes.xaxis.set_major_formatter(lambda size, _: format_size(Fraction(size)))


def show_times(axes: Axes) -> None:
    """Scales the y-axis in powers of ten, with times in seconds."""
    axes.set_yscale("log")
    axes.set_ylabel("time")
    # A float of a power of ten may be a little below it: 1 us, and not 1000 ns.
    axes.yaxis.set_major_formatter(
        lambda seconds, _: format_time(Fraction(seconds).limit_denominator(10**15))
    )
