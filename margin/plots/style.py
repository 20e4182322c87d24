"""What all plots share: colours, axes, and a logarithmic scale with readable numbers.

The colours come from the palette of Okabe and Ito, which people with any colour vision can tell
apart. No fact is shown by colour alone.
"""

from typing import TYPE_CHECKING

from ..errors import MarginError
from ..interrupts.shortage import raise_shortage

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["BLUE", "GREY", "INK", "ORANGE", "TITLE", "axes_of", "log_errors", "new_figure", "plain"]

BLUE = "#0072B2"
ORANGE = "#E69F00"
GREY = "#9a9a9a"
INK = "#222222"

TITLE = 10
"""Font size of titles, in points."""


def axes_of(axes: "Axes | None", size: tuple[float, float] = (7, 4.5)) -> "Axes":
    """The given axes, or the axes of a new figure of this size in inches.

    Raises
    ------
    MarginError
        If matplotlib is not installed.
    """
    if axes is not None:
        return axes
    drawn: Axes = new_figure(size).subplots()
    return drawn


def new_figure(size: tuple[float, float]) -> "Figure":
    """A new figure of this size in inches.

    Raises
    ------
    MarginError
        If matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise_shortage(error)
        raise MarginError(
            "plots need the package matplotlib, but it is not installed; run pip install matplotlib"
        ) from None
    return Figure(figsize=size, layout="constrained")


def plain(axes: "Axes") -> "Axes":
    """Apply the common style: no frame, a light grid behind the data."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(
        axis="both",
        color="#dddddd",
        linewidth=0.6,
    )
    axes.set_axisbelow(True)
    return axes


def log_errors(axes: "Axes") -> None:
    """Give the horizontal axis a logarithmic scale, with plain numbers that do not overlap."""
    from matplotlib.ticker import LogLocator, NullFormatter, NullLocator

    axes.set_xscale("log")
    low, high = axes.get_xlim()
    # More than three decades have room for powers of ten only.
    steps = (1.0,) if high > 1000 * low else (1.0, 2.0, 5.0)
    axes.xaxis.set_major_locator(LogLocator(subs=steps))
    axes.xaxis.set_major_formatter(lambda error, _: f"{error:g}")
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_minor_formatter(NullFormatter())
