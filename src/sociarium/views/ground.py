"""The ground of a map: tiles side by side, neighbours of different height with rounded edges."""

import math
from functools import cached_property, lru_cache

import numpy as np
from jaxtyping import Bool, Float32, Int, UInt8
from PIL import Image, ImageFilter

from sociarium.views import colours, sprites
from sociarium.views.brush import DETAILED
from sociarium.views.sprites import VARIANTS

REACH = 2  # cells: how far away a cell can change the picture
PATCH = 0.13  # opacity of the shade that marks the cells of a region
PATCH_ROUND = 0.26

Box = tuple[int, int, int, int]  # top, left, bottom, right, in cells


class Land:
    """The ground of one map at one size, which draws anew only what changed since it was drawn.

    `under` names the grounds, `patches` are the cells of regions.
    """

    def __init__(
        self, under: tuple[str, ...], patches: Bool[np.ndarray, "rows cols"], size: int
    ) -> None:
        self.under, self.patches, self.size = under, patches, size
        self.heights = np.array([sprites.ground(name).height for name in under])
        self._last: tuple[np.ndarray, Image.Image, int] | None = None

    def picture(self, cells: Int[np.ndarray, "rows cols"]) -> Image.Image:
        """The land whose cells are these grounds, by number."""
        lowest = int(min(np.unique(cells), key=self.heights.__getitem__))
        if self._last is None or self._last[2] != lowest:
            image = self.drawn(cells, (0, 0, *cells.shape), lowest)
        else:
            known, image = self._last[0], self._last[1].copy()
            for box in _boxes(known != cells):
                part = self.drawn(cells, box, lowest)
                image.paste(part, (box[1] * self.size, box[0] * self.size))
        self._last = cells, image, lowest
        return image.copy()

    def drawn(self, cells: Int[np.ndarray, "rows cols"], box: Box, lowest: int) -> Image.Image:
        """A part of the land, drawn with all around it that can be seen there."""
        around = _grown(box, cells.shape)
        image = self._layers(cells, around, lowest)
        left, top = (box[1] - around[1]) * self.size, (box[0] - around[0]) * self.size
        wide, tall = (box[3] - box[1]) * self.size, (box[2] - box[0]) * self.size
        return image.crop((left, top, left + wide, top + tall))

    def _layers(self, whole: Int[np.ndarray, "rows cols"], box: Box, lowest: int) -> Image.Image:
        """The grounds in a box, from low to high; under them the lowest of the whole land."""
        size, cells = self.size, _part(whole, box)
        present = np.setdiff1d(cells, [lowest])
        image = _tiled(self.under[lowest], box, size)
        for code in present[np.argsort(self.heights[present], kind="stable")].tolist():
            name = self.under[code]
            look, tiles = sprites.ground(name), _tiled(name, box, size)
            if size < DETAILED:
                image.paste(tiles, mask=blocks(cells == code, size))
                continue
            shape = _undercut(cells == code, self.heights[cells] > look.height)
            field = blurred(shape, size, look.roundness)
            if look.wobble:
                field = _wandering(field, look.wobble, self._hills_in(box))
            for rim in look.rims:
                mask = within(field, rim.reach, look.roundness, size, rim.opacity)
                image.paste(rim.colour, (0, round(rim.drop * size)), mask)
            image.paste(tiles, mask=within(field, 0.0, look.roundness, size))
        marked = _part(self.patches, box)
        if marked.any():
            field = blurred(marked, size, PATCH_ROUND)
            mask = within(field, 0.0, PATCH_ROUND, size, PATCH)
            image.paste(colours.darker(colours.TILES["orchard"], 0.35), mask=mask)
        return image

    @cached_property
    def _hills(self) -> Float32[np.ndarray, "height width"]:
        """What makes edges wander, as shores do."""
        rows, cols = self.patches.shape
        coarse = Image.fromarray(scattered((0, 0, 2 * rows + 1, 2 * cols + 1), 256).astype("u1"))
        extent = cols * self.size, rows * self.size
        return np.asarray(coarse.resize(extent, Image.Resampling.BICUBIC), np.float32)

    def _hills_in(self, box: Box) -> Float32[np.ndarray, "height width"]:
        top, left, bottom, right = (edge * self.size for edge in box)
        return self._hills[top:bottom, left:right]


@lru_cache(maxsize=16)
def land(under: tuple[str, ...], patches: bytes, shape: tuple[int, int], size: int) -> Land:
    """The land of maps of one kind, which remembers how it was drawn last."""
    return Land(under, np.frombuffer(patches, bool).reshape(shape), size)


def _boxes(changed: Bool[np.ndarray, "rows cols"]) -> list[Box]:
    """Boxes that hold all that a change can be seen in; two are one where that is less to draw."""
    found: list[Box] = []
    for row, col in np.argwhere(changed).tolist():
        box = _grown((row, col, row + 1, col + 1), changed.shape)
        for other in tuple(found):
            both = _around(box, other)
            if _drawn_cells(both) <= _drawn_cells(box) + _drawn_cells(other):
                found.remove(other)
                box = both
        found.append(box)
    return found


def _around(one: Box, other: Box) -> Box:
    tops, lefts, bottoms, rights = zip(one, other, strict=True)
    return min(tops), min(lefts), max(bottoms), max(rights)


def _drawn_cells(box: Box) -> int:
    """How many cells are drawn for a box, with what is within reach of it."""
    return (box[2] - box[0] + 2 * REACH) * (box[3] - box[1] + 2 * REACH)


def _grown(box: Box, shape: tuple[int, ...]) -> Box:
    """The box and what is within reach of it, on the map."""
    top, left, bottom, right = box
    low = min(shape[0], bottom + REACH), min(shape[1], right + REACH)
    return max(0, top - REACH), max(0, left - REACH), *low


def _part(cells: np.ndarray, box: Box) -> np.ndarray:
    return cells[box[0] : box[2], box[1] : box[3]]


def _undercut(
    cells: Bool[np.ndarray, "rows cols"], higher: Bool[np.ndarray, "rows cols"]
) -> Bool[np.ndarray, "rows cols"]:
    """The cells and the higher ones around them, so that rounded corners bare what lies beside."""
    rows, cols = cells.shape
    padded = np.pad(cells, 1)
    near = [padded[y : y + rows, x : x + cols] for y in range(3) for x in range(3)]
    return cells | (higher & np.any(near, axis=0))


def blocks(cells: Bool[np.ndarray, "rows cols"], size: int) -> Image.Image:
    """A mask of whole cells."""
    small = Image.fromarray(np.where(cells, np.uint8(255), np.uint8(0)))
    return small.resize((small.width * size, small.height * size), Image.Resampling.NEAREST)


def blurred(cells: Bool[np.ndarray, "rows cols"], size: int, roundness: float) -> Image.Image:
    """A mask that falls off across the edge of the cells, over about `roundness` of a cell."""
    return blocks(cells, size).filter(ImageFilter.GaussianBlur(roundness * size))


def _wandering(
    field: Image.Image, wobble: float, hills: Float32[np.ndarray, "height width"]
) -> Image.Image:
    """The mask with an edge that wanders."""
    level = np.asarray(field, np.float32) / 255
    near_edge = 4 * level * (1 - level)
    wandering = 255 * level + wobble * near_edge * (hills - 127.5)
    return Image.fromarray(np.clip(wandering, 0, 255).astype(np.uint8))


def within(
    field: Image.Image, reach: float, roundness: float, size: int, opacity: float = 1.0
) -> Image.Image:
    """The mask of what lies inside an edge, or at most `reach` cells outside it."""
    return field.point(_levels(reach, roundness, size, opacity))


@lru_cache(maxsize=256)
def _levels(reach: float, roundness: float, size: int, opacity: float) -> list[int]:
    """The opacity of each level of a blurred mask."""
    if roundness == 0:
        return [round(level * opacity) for level in range(256)]
    level = np.arange(256) / 255
    threshold = 0.5 * math.erfc(reach / (roundness * 2**0.5))
    steepness = max(2.5 * roundness * size, 0.5 / threshold)  # far away there is nothing
    inside = np.clip((level - threshold) * steepness + 0.5, 0, 1)
    return [round(share * 255 * opacity) for share in inside.tolist()]


def _tiled(name: str, box: Box, size: int) -> Image.Image:
    """A part of a map covered with one ground."""
    row, col = _indices(box)
    looks = scattered(box, VARIANTS) + VARIANTS * ((row + col) % 2)
    return Image.fromarray(_mosaic(sprites.ground_sprites(name, size), looks.astype(np.int64)))


def _indices(box: Box) -> tuple[np.ndarray, np.ndarray]:
    """The row and the column of every cell of a box."""
    top, left, bottom, right = box
    row, col = np.indices((bottom - top, right - left))
    return row + top, col + left


def scattered(box: Box, many: int) -> Int[np.ndarray, "rows cols"]:
    """A number below `many` for every cell, the same in every picture."""
    row, col = (index.astype(np.uint32) for index in _indices(box))
    mix = row * np.uint32(2654435761) ^ col * np.uint32(2246822519)
    mix = (mix ^ mix >> np.uint32(15)) * np.uint32(3266489917)
    return ((mix ^ mix >> np.uint32(13)) % np.uint32(many)).astype(np.int64)


def _mosaic(
    looks: UInt8[np.ndarray, "looks size size bands"], which: Int[np.ndarray, "rows cols"]
) -> UInt8[np.ndarray, "height width bands"]:
    """One look for every cell, side by side."""
    rows, cols = which.shape
    size, bands = looks.shape[1], looks.shape[3]
    return looks[which].swapaxes(1, 2).reshape(rows * size, cols * size, bands)
