"""Figures in one style: how results are laid out, rendered and written (matplotlib)."""

import base64
import importlib.util
import io
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sociarium.core.errors import BadArgument, MissingExtra

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from sociarium.evaluation.analyses.analysis import Result

FORMATS = (".svg", ".png")
COOPERATING, DEFECTING = "#0072B2", "#D55E00"  # distinguishable in every kind of colour vision
COLOURS = (COOPERATING, DEFECTING, "#009E73", "#CC79A7", "#E69F00", "#56B4E9")  # of many curves
INK, FAINT, PAPER = "#222222", "#8a8a8a", "#ffffff"
TITLE, CAPTION, NOTE = 13, 9.5, 7.5  # sizes of letters
LINE = 0.17  # inches of a line of the caption or the footnote


def check_path(path: Path) -> Path:
    """The path, if a figure can be written there."""
    if path.suffix not in FORMATS:
        raise BadArgument(f"--out must end in {' or '.join(FORMATS)}; given {path}")
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise MissingExtra("matplotlib", "plots") from error
    return path


def figure_of(results: "Sequence[Result]", footnote: str = "") -> "Figure":
    """All panels of results that belong together, with one scale where they allow it."""
    first, panels = results[0].layout(), []
    for one in results:
        panels += [(one, name) for name in one.layout().panels]
    width = max(first.panel_size[0] * len(panels), first.least_width)
    note = wrapped(" ".join(filter(None, [first.footnote, footnote])), width)
    caption = "\n".join(textwrap.wrap(first.caption, int(14 * width)))
    above = 0.45 + LINE * (caption.count("\n") + 1 if caption else 0)
    below = 0.12 + LINE * (note.count("\n") + 1 if note else 0)
    height = first.panel_size[1] + above + below
    figure = new_figure(width, height, layout="constrained")
    engine: Any = figure.get_layout_engine()
    engine.set(rect=(0.01, below / height, 0.98, 1 - (above + below) / height))
    axes = figure.subplots(1, len(panels), sharey=first.share_y, squeeze=False)[0]
    for place, (one, name) in zip(axes, panels, strict=True):
        one.draw(place, name)
        if name:
            place.set_title(name, color=INK, fontsize=10, loc="left")
    left = 0.15 / width
    figure.text(left, 1 - 0.29 / height, first.title, fontsize=TITLE, weight="bold", color=INK)
    top = 1 - 0.38 / height
    figure.text(left, top, caption, fontsize=CAPTION, color=INK, va="top", linespacing=1.25)
    figure.text(left, 0.06 / height, note, fontsize=NOTE, color=FAINT, va="bottom")
    _fix_layout(figure)
    return figure


def _fix_layout(figure: "Figure") -> None:
    """Computes the layout and rounds it, since the solver's last digits differ between runs."""
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    for axes in figure.axes:
        x, y, width, height = axes.get_position().bounds
        axes.set_position((round(x, 3), round(y, 3), round(width, 3), round(height, 3)))


def write(figure: "Figure", path: Path) -> None:
    """Writes a figure; the same figure gives the same file."""
    check_path(path).parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(rendered(figure, path.suffix.removeprefix(".")))


def rendered(figure: "Figure", kind: str) -> bytes:
    """A figure as svg or png; the same figure gives the same bytes."""
    import matplotlib

    file = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "sociarium", "svg.fonttype": "path"}):
        undated = {"Date": None} if kind == "svg" else {"Software": None}
        figure.savefig(file, format=kind, dpi=200, facecolor=PAPER, metadata=undated)
    return file.getvalue()


def new_figure(width: float, height: float, **options: Any) -> "Figure":
    """An empty figure of this size in inches, which a notebook shows as a picture."""
    from matplotlib.figure import Figure

    class Picture(Figure):
        def _repr_png_(self) -> bytes:
            return rendered(self, "png")

    return Picture(figsize=(width, height), **options)


def can_draw() -> bool:
    """Whether matplotlib is installed."""
    return importlib.util.find_spec("matplotlib") is not None


def html_image(figure: "Figure") -> str:
    """A figure as an element of an HTML page."""
    data = base64.b64encode(rendered(figure, "png")).decode()
    width = round(figure.get_figwidth() * 80)
    return f'<img width="{width}" src="data:image/png;base64,{data}">'


def plain_axes(axes: Any, letters: int) -> None:
    """Quiet axes: two sides, horizontal lines behind the curves, letters of this size."""
    axes.tick_params(colors=INK, labelsize=letters, length=3, width=0.8)
    axes.grid(axis="y", color="#ebebeb", linewidth=0.8)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(FAINT)


def no_frame(axes: Any) -> None:
    """Axes without sides, for heat maps."""
    axes.tick_params(colors=INK, labelsize=8, length=0)
    for side in axes.spines.values():
        side.set_visible(False)


def label_cells(axes: Any, texts: Sequence[Sequence[str]], dark: Any) -> None:
    """Writes a text into each cell of a heat map; in light letters where it is dark."""
    for row, cells in enumerate(texts):
        for col, text in enumerate(cells):
            colour = PAPER if dark[row][col] else INK
            axes.text(col, row, text, ha="center", va="center", color=colour, fontsize=8)


def wrapped(note: str, inches: float) -> str:
    """A footnote in lines that fit the width of a figure."""
    return "\n".join(textwrap.wrap(note, int(16.5 * inches)))
