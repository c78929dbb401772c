"""Schelling diagrams as pictures (SVG, PNG), drawn with matplotlib."""

import base64
import importlib.util
import io
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sociarium.core.errors import BadArgument, MissingExtra
from sociarium.evaluation.schelling import Diagram
from sociarium.metrics.bootstrap import Estimate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = (".svg", ".png")
COOPERATING, DEFECTING = "#0072B2", "#D55E00"  # told apart by every kind of colour vision
COLOURS = (COOPERATING, DEFECTING, "#009E73", "#CC79A7", "#E69F00", "#56B4E9")  # of many curves
INK, FAINT, PAPER = "#222222", "#8a8a8a", "#ffffff"


def checked(path: Path) -> Path:
    """The path, if a picture can be written there."""
    if path.suffix not in FORMATS:
        raise BadArgument(f"--out must end in {' or '.join(FORMATS)}; given {path}")
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise MissingExtra("matplotlib", "plots") from error
    return path


def save(diagram: Diagram, path: Path, *, title: str, footnote: str = "") -> None:
    """Writes the picture; the same diagram gives the same file."""
    checked(path)
    write(draw(diagram, title=title, footnote=footnote), path)


def write(figure: "Figure", path: Path) -> None:
    """Writes a figure; the same figure gives the same file."""
    checked(path).parent.mkdir(parents=True, exist_ok=True)
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


def inline(diagram: Diagram) -> str:
    """The picture inside a page of HTML; nothing where matplotlib is not installed."""
    if not can_draw():
        return ""
    title = f"{diagram.players} players: {diagram.kind}"
    return page(draw(diagram, title=title))


def page(figure: "Figure") -> str:
    """A figure inside a page of HTML."""
    data = base64.b64encode(rendered(figure, "png")).decode()
    width = round(figure.get_figwidth() * 80)
    return f'<img width="{width}" src="data:image/png;base64,{data}">'


def draw(diagram: Diagram, *, title: str, footnote: str = "") -> "Figure":
    """The two curves with their intervals, fear and greed at the ends, the class as a caption."""
    from matplotlib.ticker import MaxNLocator

    figure = new_figure(7.0, 4.6)
    axes = figure.add_axes((0.105, 0.15, 0.735, 0.655))
    last = diagram.players - 1
    width = max(last, 1)
    for curve, colour in ((diagram.r_d, DEFECTING), (diagram.r_c, COOPERATING)):
        _curve(axes, curve, colour)
    axes.axhline(0, color="#c4c4c4", linewidth=1, zorder=0.5)
    axes.set_xlim(-0.11 * width, last + 0.11 * width)
    axes.margins(y=0.1)
    _name(axes, diagram, last + 0.13 * width)
    left, right = (diagram.r_c[0], diagram.r_d[0]), (diagram.r_c[-1], diagram.r_d[-1])
    _temptation(axes, "fear", diagram.fear, left, at=0, aside=-0.05 * width)
    _temptation(axes, "greed", diagram.greed, right, at=last, aside=0.05 * width)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.yaxis.set_major_locator(MaxNLocator(nbins=6))
    axes.set_xlabel("cooperating co-players", color=INK, fontsize=10)
    axes.set_ylabel("mean return of one player", color=INK, fontsize=10)
    plain_axes(axes, 9)
    figure.text(0.03, 0.935, title, fontsize=14, fontweight="bold", color=INK)
    figure.text(0.03, 0.87, caption(diagram), fontsize=10, color=INK)
    figure.text(0.03, 0.025, footnote, fontsize=7.5, color=FAINT)
    return figure


def plain_axes(axes: Any, letters: int) -> None:
    """Quiet axes: two sides, horizontal lines behind the curves, letters of this size."""
    axes.tick_params(colors=INK, labelsize=letters, length=3, width=0.8)
    axes.grid(axis="y", color="#ebebeb", linewidth=0.8)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(FAINT)


def wrapped(note: str, inches: float) -> str:
    """A footnote in lines that fit a figure so wide."""
    return "\n".join(textwrap.wrap(note, int(16.5 * inches)))


def caption(diagram: Diagram) -> str:
    """The class in words, and whether the world is a dilemma at all."""
    found = "no fear, no greed" if diagram.kind == "none" else diagram.kind
    parts = [f"fear {_signed(diagram.fear)}", f"greed {_signed(diagram.greed)}"]
    verdict = "a social dilemma" if diagram.dilemma else "not a social dilemma"
    return f"{found[0].upper()}{found[1:]}: {', '.join(parts)}; {verdict}"


def _curve(axes: Any, curve: tuple[Estimate, ...], colour: str) -> None:
    at = range(len(curve))
    axes.fill_between(
        at, [p.low for p in curve], [p.high for p in curve], color=colour, alpha=0.18, linewidth=0
    )
    axes.plot(
        at,
        [p.mean for p in curve],
        color=colour,
        linewidth=2.2,
        marker="o",
        markersize=6,
        markeredgecolor=PAPER,
        markeredgewidth=1.2,
        clip_on=False,
        zorder=3,
    )


def _name(axes: Any, diagram: Diagram, at: float) -> None:
    """Names the curves at their right ends, apart from each other however near they end."""
    low, high = axes.get_ylim()
    c, d = diagram.r_c[-1].mean, diagram.r_d[-1].mean
    room = 0.075 * (high - low)
    middle, apart = (c + d) / 2, max(abs(c - d), room) / 2
    up = middle + apart, middle - apart
    for word, colour, y in zip(
        ("cooperate", "defect"),
        (COOPERATING, DEFECTING),
        up if c > d else up[::-1],
        strict=True,
    ):
        axes.text(at, y, word, color=colour, fontsize=11, fontweight="bold", va="center")


def _temptation(
    axes: Any,
    word: str,
    size: Estimate,
    ends: tuple[Estimate, Estimate],
    *,
    at: int,
    aside: float,
) -> None:
    """A bracket outside the curves' ends where defecting is measured to pay more."""
    if not size.above_zero:
        return
    c, d = (end.mean for end in ends)
    near, far = at + aside * 0.7, at + aside
    axes.plot([near, far, far, near], [c, c, d, d], color=INK, linewidth=1.1, clip_on=False)
    axes.annotate(
        word,
        (far, (c + d) / 2),
        xytext=(4 if aside > 0 else -4, 0),
        textcoords="offset points",
        ha="left" if aside > 0 else "right",
        va="center",
        rotation=90,
        fontsize=9,
        fontstyle="italic",
        color=INK,
    )


def _signed(size: Estimate) -> str:
    digits = size.digits
    text = f"{size.mean:+.{digits}f} [{size.low:+.{digits}f}, {size.high:+.{digits}f}]"
    return text.replace("-", "\N{MINUS SIGN}")
