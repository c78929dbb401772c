"""Pictures in a row: in time, as a film, or in space, as a strip."""

import base64
import importlib
import importlib.util
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import UInt8
from PIL import Image, ImageDraw

from sociarium.core.errors import BadArgument, MissingExtra
from sociarium.views import lettering

SAMPLED = 16  # frames that the palette is made from
COLOURS = 255  # one more is left for what did not change
FORMATS = (".gif", ".mp4", ".png")


@dataclass(frozen=True, repr=False)
class Film:
    """The pictures of an episode. A notebook plays it; `save` writes it.

    >>> film = episode.film()
    >>> film.save("clean_up.gif")
    """

    frames: tuple[Image.Image, ...]
    fps: float | int = 8

    def save(self, path: str | Path) -> Path:
        """Writes a film if the path ends in .gif or .mp4, the last picture if in .png."""
        path = checked(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".png":
            self.frames[-1].save(path)
        elif path.suffix == ".mp4":
            save_mp4(self.frames, path, fps=self.fps)
        else:
            save_gif(self.frames, path, fps=self.fps)
        return path

    def __repr__(self) -> str:
        width, height = self.frames[0].size
        return f"Film({len(self.frames)} pictures of {width} x {height}, {self.fps} a second)"

    def _repr_html_(self) -> str:
        """The film inside the page."""
        file = io.BytesIO()
        _write_gif(self.frames, file, self.fps)
        data = base64.b64encode(file.getvalue()).decode()
        return f'<img alt="{self!r}" src="data:image/gif;base64,{data}">'


def checked(path: str | Path) -> Path:
    """The path, if a film or a picture can be written there; else what is wrong."""
    path = Path(path)
    if path.suffix not in FORMATS:
        raise BadArgument(f"a film is written as .gif or .mp4, a picture as .png; given {path}")
    if path.suffix == ".mp4" and importlib.util.find_spec("imageio_ffmpeg") is None:
        raise MissingExtra("imageio-ffmpeg", "video")
    return path


def save_gif(frames: Iterable[Image.Image], path: str | Path, fps: float | int = 8) -> Path:
    """Writes an endless GIF and returns its path. All frames must have one size.

    The frames share one palette without dithering, and each stores only what changed. A frame
    equal to the one before it is not stored; the earlier one is shown for longer.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    buffer = io.BytesIO()
    _write_gif(frames, buffer, fps)
    path.write_bytes(buffer.getvalue())
    return path


def _write_gif(frames: Iterable[Image.Image], file: io.BytesIO, fps: float | int) -> None:
    reel = [frame if frame.mode == "RGB" else frame.convert("RGB") for frame in frames]
    if not reel:
        raise BadArgument("a film needs at least one frame; given none")
    if any(frame.size != reel[0].size for frame in reel):
        sizes = sorted({frame.size for frame in reel})
        raise BadArgument(f"the frames of a film must have one size; given {sizes}")
    palette = _palette(reel)
    first, *rest = (frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in reel)
    first.save(
        file,
        format="GIF",
        save_all=True,
        append_images=rest,
        duration=round(1000 / fps),
        loop=0,
        disposal=1,
        optimize=True,
    )


def save_mp4(frames: Iterable[Image.Image], path: str | Path, fps: float | int = 8) -> Path:
    """Writes a film that any browser plays, and returns its path."""
    try:
        ffmpeg = importlib.import_module("imageio_ffmpeg")
    except ImportError as error:
        raise MissingExtra("imageio-ffmpeg", "video") from error
    reel = [frame if frame.mode == "RGB" else frame.convert("RGB") for frame in frames]
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    writer = ffmpeg.write_frames(str(path), reel[0].size, fps=fps, macro_block_size=2)
    writer.send(None)
    for frame in reel:
        writer.send(frame.tobytes())
    writer.close()
    return path


def strip(
    pictures: Sequence[Image.Image], gap: int = 16, captions: Sequence[str] = ()
) -> Image.Image:
    """The pictures side by side, tops aligned, each under its caption if there are any."""
    if not pictures:
        raise BadArgument("a strip needs at least one picture; given none")
    head = lettering.LETTER + 16 if captions else 0
    width = sum(picture.width for picture in pictures) + gap * (len(pictures) - 1)
    tallest = max(picture.height for picture in pictures)
    image = Image.new("RGB", (width, head + tallest), lettering.BACK)
    draw, font = ImageDraw.Draw(image), lettering.font(lettering.LETTER + 3)
    x = 0
    for place, picture in enumerate(pictures):
        image.paste(picture, (x, head))
        if place < len(captions):
            middle = (x + picture.width // 2, head // 2 + 2)
            text = lettering.written(captions[place])
            draw.text(middle, text, font=font, fill=lettering.TEXT, anchor="mm")
        x += picture.width + gap
    return image


def _palette(reel: list[Image.Image]) -> Image.Image:
    """The colours of all frames; rare ones (a player, a beam) weigh more than their area."""
    step = max(1, len(reel) // SAMPLED)
    seen = np.concatenate([np.asarray(frame).reshape(-1, 3) for frame in reel[::step]])
    shades, counts = _counted(seen)
    weight = np.ceil(counts**0.4).astype(np.int64)
    pixels = np.repeat(shades, weight, axis=0)
    swatch = Image.fromarray(pixels[None])
    return swatch.quantize(COLOURS, method=Image.Quantize.MEDIANCUT, kmeans=2)


def _counted(
    pixels: UInt8[np.ndarray, "pixels 3"],
) -> tuple[UInt8[np.ndarray, "shades 3"], np.ndarray]:
    """The different colours and how often each occurs."""
    packed = pixels.astype(np.uint32) @ np.array([65536, 256, 1], np.uint32)
    shades, counts = np.unique(packed, return_counts=True)
    parts = np.stack([shades >> 16 & 255, shades >> 8 & 255, shades & 255], axis=1)
    return parts.astype(np.uint8), counts
